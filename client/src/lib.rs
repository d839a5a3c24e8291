#![forbid(unsafe_code)]
//! Z39.50 client (ANSI/NISO Z39.50-2003, ISO 23950; RFC 2056): from a URL to a record, or to an open session.
//!
//! - [`url`]: the URLs of RFC 2056 as values that cannot be wrong;
//! - [`mod@plan`]: what a URL makes a client send, decided without a connection;
//! - [`Client`]: retrieves records and opens sessions by URL, keeps sessions open for reuse;
//! - [`retrieve`]: what became of a retrieval, in the words of RFC 2056;
//! - [`result_set`]: records that page by themselves;
//! - [`session`], [`service`]: a cheap handle on an open session, a method for each service;
//! - [`transport`]: names, sockets, how long to wait; `connection` is the task behind each session;
//! - [`error`]: what failed, in which phase, and what the server said.
//!
//! ```no_run
//! use z3950::{Client, retrieve::Outcome, url::{Mode, Z3950Url}};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let url = Z3950Url::parse("z39.50r://cnidr.org:2100/tmf?bkirch_rules__a1;esn=f;rs=marc", Mode::Strict)?;
//! let client = Client::new();
//! match client.retrieve(&url).await?.outcome {
//!     Outcome::Delivered(delivered) => println!("{:?}", delivered.record),
//!     outcome => eprintln!("{outcome}"),
//! }
//! # Ok(())
//! # }
//! ```

pub mod client;
mod connection;
pub mod error;
pub mod gopher;
pub mod lookup;
pub mod open;
pub mod pace;
pub mod plan;
mod pool;
mod protocol;
mod query;
mod record;
mod result_set;
pub mod retrieve;
mod scan_set;
pub mod target;
pub mod transport;
pub mod url;

#[cfg(test)]
mod testing;

pub use client::{Client, ClientOptions, Lease};
pub use connection::{Connection, Found};
pub use error::{Diagnostics, Error, Phase};
pub use open::{OpenError, Opened};
pub use plan::{Plan, PlanError, PlanOptions, plan};
pub use pool::TargetLimits;
pub use protocol::{pager, service, session};
pub use query::{Query, QueryError, QueryErrorKind};
pub use record::{Holding, Item, Record};
pub use result_set::{Records, ResultSet, SortKey, SortKeyError};
pub use retrieve::{Outcome, Retrieval};
pub use scan_set::{ScanSet, ScanTerm};
pub use session::{Session, SessionOptions};
pub use target::adapt::RecordForm;
pub use target::profile;
pub use transport::Timeouts;
