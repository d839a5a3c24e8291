#![forbid(unsafe_code)]
//! A Z39.50 server (ANSI/NISO Z39.50-2003) with databases in memory, which also serves as a test partner for clients: it behaves,
//! or misbehaves, as scripted.
//!
//! ```
//! use z3950_server::testing::{TestServer, record};
//!
//! let server = TestServer::builder()
//!     .database("cat", [record("id7", "Emma")])
//!     .rule("on search nth=2: fail 2")
//!     .start();
//! let target = format!("{}/cat", server.addr());
//! // … have a client talk to it …
//! assert!(server.names().is_empty());
//! ```
//!
//! ```text
//!  listener ─▶ connection ─▶ fault ─▶ session ─▶ service ─▶ backend ◀─ memory
//!  sockets     octets        rules    state      requests   trait      MARC records
//! ```
//!
//! - [`Server`]: listens, serves and shuts down;
//! - [`MemoryBackend`]: MARC records from files or from memory, and the demo catalogue; saved to files with the feature `save`,
//!   searched by regular expressions with `regex`;
//! - [`backend`]: the trait for records that are stored elsewhere, and everything that an implementation needs;
//! - [`Target`]: the values that all sessions share: databases, limits, offered features, and access ([`access`]):
//!   users with hashed passwords (with the feature `passwords`), or a program's own check;
//! - [`fault`]: scripted misbehaviour; [`imitate`]: imitation of another server's deviations from the standard;
//! - [`metrics`]: counters of a running server;
//! - `sru`: SRU requests answered from the same databases, with the feature `sru`;
//! - `web`: other HTTP requests, such as those for pages, with the feature `sru`;
//! - [`transcript`]: recorded conversations, as values and as JSON, and their replay; [`recorded`]: a proxy for recording another
//!   server's conversations;
//! - `tls`: certificates and keys for listeners, with the feature `tls`;
//! - [`testing::TestServer`]: a complete server within a test, with a transcript.
//!
//! Some signatures use types of the packages `z3950-asn1` and `z3950-marc`; [`asn1`] and [`marc`] re-export these types.
//!
//! # Stability
//!
//! Documented items follow Semantic Versioning. Types marked `#[non_exhaustive]` gain fields and variants in minor versions:
//! create options with `default()` or `new`, set their fields, and end each `match` with an arm for unknown variants. The
//! language of fault rules and the lines of a [`transcript`] are covered as documented. Not covered: `Debug` output, log
//! messages, the wording of messages and of panics in [`testing`], and the contents of the demo catalogue. `bytes` 1, `http` 1,
//! `tokio` 1 and the trait `Stream` of `futures-core` 0.3 are part of the interface. The minimum Rust version is 1.90, as in the
//! manifest; raising it takes a minor version.

// Nothing that a peer sends may end the program; `.clippy.toml` makes an exception for tests.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

pub mod access;
pub mod asn1;
mod association;
pub mod backend;
mod budget;
mod caught;
mod connection;
mod diagnostic;
mod explain;
pub mod extended;
pub mod fault;
mod guesses;
mod headroom;
#[cfg(feature = "sru")]
mod http;
pub mod imitate;
mod limits;
mod listener;
mod lock;
mod logins;
pub mod marc;
pub mod memory;
pub mod metrics;
mod observer;
mod offer;
pub mod passwords;
pub mod recorded;
mod relay;
#[cfg(test)]
mod requests;
mod service;
mod session;
#[cfg(feature = "sru")]
mod shared_sets;
#[cfg(feature = "sru")]
pub mod sru;
mod target;
pub mod testing;
#[cfg(feature = "tls")]
pub mod tls;
pub mod transcript;
pub mod units;
#[cfg(feature = "sru")]
pub mod web;

pub use association::Interrupt;
pub use budget::KeptOctets;
pub use diagnostic::{Condition, Diagnostic, diagnostic};
pub use explain::{EXPLAIN_DATABASE, ExplainDatabase};
pub use headroom::{Headroom, HeadroomProbe};
pub use limits::Limits;
pub use listener::{Endpoint, Server, ServerHandle, Summary};
#[cfg(unix)]
pub use listener::{SocketFile, listen_unix};
// This item is public only for `z3950-front` and `z3950d`.
#[doc(hidden)]
pub use lock::lock;
pub use memory::{MemoryBackend, RecordOrder, TermOrder, forms, index_map};
pub use observer::{HttpMessage, Observer, Peer, SessionTotals, Unobserved};
pub use offer::Offer;
pub use session::{Reply, Session};
pub use target::Target;

/// Runs the code blocks of the README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
