//! The same client without `async`: each call blocks until its result is available.
//!
//! ```no_run
//! use z3950::Query;
//! use z3950::blocking::Client;
//!
//! # fn example() -> Result<(), z3950::Error> {
//! let catalogue = Client::new().connect("lx2.loc.gov:210/LCDB")?;
//! let hits = catalogue.search(Query::title("war and peace") & Query::author("tolstoy"))?;
//! println!("{} found", hits.count());
//! for record in &hits {
//!     println!("{}", record?.title().unwrap_or_default());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The types have the same names as the asynchronous types, whose documentation has the details. [`Records`] and
//! [`Events`] are iterators, and a [`ResultSet`] can be iterated over. To create a client with credentials, profiles,
//! TLS options or routes, build the asynchronous client and convert it:
//! `Client::from(z3950::Client::builder().…build()?)`.
//!
//! Each client has one thread, which its clones, connections and result sets share. The thread starts with the first
//! request, and ends when the last of these handles is dropped. Between calls, this thread responds to servers and
//! closes sessions. Calls can be made from several threads at the same time.
//!
//! A client does not survive a fork: in the child process, its thread does not exist, so calls never return, and its
//! sockets belong to the parent. Create the client after the fork. In the child process, neither use nor drop a client
//! that was created before the fork.
//!
//! A call from asynchronous code works, but also blocks the other tasks on its thread. Use the asynchronous
//! [`Client`](crate::Client) there, or `tokio::task::spawn_blocking`.
//!
//! | file | holds |
//! |---|---|
//! | `client` | the client, and the events of a search at several targets |
//! | `connection` | searches, scans, lookups, retrievals, updates and orders |
//! | `result_set` | result sets, and iterators over their records |
//! | `runtime` | the thread that the client, its connections and result sets share |

mod client;
mod connection;
mod result_set;
mod runtime;
#[cfg(test)]
mod tests;

pub use self::client::{Client, Events};
pub use self::connection::Connection;
pub use self::result_set::{Records, ResultSet};
