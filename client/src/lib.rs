#![forbid(unsafe_code)]
//! Z39.50 (ISO 23950) in Rust: searches library catalogues and retrieves the URLs of RFC 2056.
//!
//! ```no_run
//! use z3950::{Client, Query};
//!
//! # async fn example() -> Result<(), z3950::Error> {
//! let client = Client::new();
//! let catalogue = client.connect("lx2.loc.gov:210/LCDB").await?;
//! let hits = catalogue.search(Query::title("war and peace") & Query::author("tolstoy")).await?;
//! println!("{} found", hits.count());
//! let mut records = hits.stream();
//! while let Some(record) = records.next().await {
//!     println!("{}", record?.title().unwrap_or_default());
//! }
//! let one = client.get("z39.50r://lib.example/cat?id7;rs=marc").await?;
//! println!("{}", one.text());
//! # Ok(())
//! # }
//! ```
//!
//! A program supplies credentials, certificates and limits itself; nothing is read from files or the environment:
//!
//! ```no_run
//! # #[cfg(feature = "tls")]
//! # async fn example(authority: &str) -> Result<(), z3950::Error> {
//! use z3950::{Client, Credentials, Pem, TlsOptions};
//!
//! let client = Client::builder()
//!     .credentials("lib.example", Credentials::password("ann", "secret"))
//!     .tls(TlsOptions::new().with_roots(Pem::text(authority)))
//!     .build()?;
//! let catalogue = client.connect("ssl:lib.example:2100/books").await?;
//! # Ok(())
//! # }
//! ```
//!
//! The names come from ZOOM, the abstract API that Z39.50 bindings in other languages follow too:
//!
//! - [`Client`] connects to servers and keeps sessions for reuse. [`Client::new`] and [`Client::builder`] do not depend on
//!   the environment; with the feature `profiles`, `Client::from_user_config` reads the user's `targets.toml`.
//!   `blocking::Client` needs no `async`.
//! - [`Connection`] searches, scans, looks up, retrieves, updates and orders.
//! - [`Query`] is built from parts or read from PQF, CQL, CCL or words.
//! - [`ResultSet`] pages automatically; [`Record`] returns title, text, JSON, MARC and holdings; [`ScanSet`] lists terms.
//! - [`Error`] contains the cause, the phase, and the server's diagnostics.
//!
//! The following modules are for programs that need more:
//!
//! - [`url`], [`gopher`]: URLs of every scheme as values; Gopher requests and replies;
//! - [`mod@plan`], [`retrieve`], [`lookup`]: the requests for a URL or an identifier, and their outcome;
//! - [`target`]: the addresses and profiles of servers;
//! - [`session`], [`service`], [`pager`]: one Z39.50 session, with a method for each service;
//! - `sru`: the same services over HTTP;
//! - [`transport`]: names, sockets, TLS, proxies, timeouts.
//!
//! The types of arguments and results are at the root, so that an update or an order needs no other path:
//!
//! ```no_run
//! use z3950::{Action, Connection, MarcRecord, Order, ResultSet, TaskResult};
//!
//! # async fn example(books: &Connection, hits: &ResultSet, record: &MarcRecord) -> Result<(), z3950::Error> {
//! let inserted: TaskResult = books.update(Action::RECORD_INSERT, [record]).await?;
//! let ordered = books.order(hits, 1, Order::default()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`asn1`] and [`marc`] re-export the items of the packages `z3950-asn1` and `z3950-marc` that occur in these types.
//!
//! # Features
//!
//! - `tls` (on by default): TLS;
//! - `blocking` (on by default): the client without `async`;
//! - `sru`: the same searches at SRU servers, and retrieval through gateways;
//! - `profiles`: the built-in targets, the user's `targets.toml`, and the commands in it that print passwords;
//! - `proxy`: HTTP CONNECT and SOCKS5;
//! - `html`: URLs in HTML;
//! - `suggest`: errors about an unknown name suggest the nearest known one.
//!
//! The members of records in JSON are in alphabetical order, or in the order of the record if the feature
//! `preserve_order` of `serde_json` is enabled.
//!
//! # Stability
//!
//! Documented items follow Semantic Versioning. Types marked `#[non_exhaustive]` gain fields and variants in minor
//! versions: create options with `default()` or `new` and set their fields, and end each `match` with a wildcard arm.
//! Semantic Versioning covers the names of [`retrieve::OutcomeName`] and the results of methods called `code`, but not
//! `Debug` output, logs, and the wording of messages. `bytes` 1, `futures-core` 0.3, `serde_json` 1 and `tokio` 1 are
//! part of the interface. The minimum supported Rust version is 1.90; raising it requires a minor version.

// Nothing that a peer sends may cause a panic; `.clippy.toml` exempts tests from these lints.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

pub mod asn1;
#[cfg(feature = "blocking")]
pub mod blocking;
pub mod client;
mod connection;
pub mod error;
pub mod find;
#[cfg(feature = "sru")]
mod gateway;
pub mod gopher;
mod identifier;
pub mod lookup;
pub mod marc;
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
#[cfg(feature = "sru")]
pub mod sru;
pub mod target;
pub mod transport;
pub mod url;

#[cfg(test)]
mod testing;

pub use client::{Client, ClientBuilder, ClientOptions, ConnectOptions};
pub use connection::Connection;
pub use error::{Diagnostics, Error, Phase};
pub use find::{Event, Events, LookupResult, SearchTarget, Wanted};
#[cfg(feature = "sru")]
pub use gateway::{Gateway, GatewayAddressError};
pub use lookup::{Identifier, Preferences, Publication};
pub use open::Opened;
pub use plan::{Fallback, Plan, PlanError, PlanOptions, plan};
pub use pool::{Lease, PoolStatus, SessionDemand};
pub use protocol::{pager, service, session};
pub use query::{Query, QueryError, QueryErrorKind};
pub use record::{Holding, Record, RecordSource};
pub use result_set::{Records, ResultSet, SortKey, SortKeyError};
pub use retrieve::{Outcome, Retrieval};
pub use scan_set::{ScanSet, ScanTerm};
pub use service::explain::{ExplainOptions, ExplainResult};
pub use service::extended::{Order, TaskResult};
pub use service::scan::{ScanOptions, ScanResult};
pub use service::search::{SearchOptions, SearchResult};
pub use session::{Session, SessionOptions};
#[cfg(feature = "sru")]
pub use sru::SruDescription;
pub use target::adapt::RecordForm;
pub use target::profile::{self, Credentials, Profile, Profiles, Resolved, TargetLimits};
pub use target::{Endpoint, Target};
pub use transport::{Connect, Resolve, Routes, Timeouts};
#[cfg(feature = "proxy")]
pub use transport::{NoProxy, Proxy};
#[cfg(feature = "tls")]
pub use transport::{Pem, TlsOptions};
pub use url::{Host, Z3950Url};
pub use z3950_asn1::apdu::{
    AttributeElement, DiagRec, External, IdAuthentication, InitializeRequest, PresentRequest,
    RpnQuery, ScanRequest, SearchRequest, SortKeySpec,
};
pub use z3950_asn1::es::update::Action;
pub use z3950_asn1::format::facets::FacetList;
pub use z3950_asn1::oid::Oid;
pub use z3950_asn1::types::InternationalString;
pub use z3950_marc::MarcRecord;
pub use z3950_marc::charset::Charset;
pub use z3950_marc::crosswalk::Citation;

/// Includes the README, so that its code blocks are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
