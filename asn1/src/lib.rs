#![forbid(unsafe_code)]
//! Encodes and decodes Z39.50 (ANSI/NISO Z39.50-2003, ISO 23950), without sockets.
//!
//! - [`apdu`]: the 25 APDUs, with a type for each and the standard's names;
//! - [`concurrency`]: decides which requests may run concurrently;
//! - [`codec`]: encodes and decodes APDUs, finds the end of an APDU in a stream, and lists BER values for people;
//! - [`decoded`]: converts APDUs to JSON and to text;
//! - [`oid`], [`bib1`]: object identifiers, Bib-1 attributes and diagnostics by name;
//! - [`query`]: the query of a search as text, in several languages;
//! - [`record`]: the records in an APDU. MARC records are in `z3950-marc`, and [`marc`] re-exports the types that signatures of this
//!   package use;
//! - [`sru`]: the requests and responses of SRU, which offers the same services over HTTP; the HTTP itself is left to
//!   the caller;
//! - [`via`]: the servers that a request has passed through;
//! - [`describe`]: the elements of ASN.1 values, by name;
//! - [`es`], [`format`](mod@format): extended services, and other values that travel in an EXTERNAL.
//!
//! # Features
//!
//! - `codec` (by default): a `tokio-util` codec for streams of APDUs;
//! - `suggest`: errors about an unknown name suggest known names with a similar spelling.
//!
//! Octets from a peer are decoded within named limits. Octets that cannot be decoded are refused with an [`error`]
//! that names the place; they never cause a panic.
//!
//! # Stability
//!
//! Documented items keep to Semantic Versioning. Types marked `#[non_exhaustive]` gain fields and variants in minor
//! versions: create options with `default()` or `new` and set their fields, and end each `match` with a wildcard arm.
//! The ASN.1 types, in [`apdu`], [`es`], [`format`](mod@format) and [`record`], are exhaustive: they mirror a fixed
//! standard. Semantic Versioning does not cover what `Debug` prints, the wording of messages, or the fact that types
//! implement `rasn` traits; use [`codec`] to encode and decode. `bytes` 1, `serde_json` 1 and `tokio-util` 0.7 are part
//! of the interface. The minimum Rust version is 1.90, as in the manifest; raising it takes a minor version.

// Nothing that a peer sends may cause a panic; `.clippy.toml` exempts tests from these lints.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

pub mod apdu;
pub mod bib1;
pub mod codec;
pub mod concurrency;
pub mod decoded;
pub mod describe;
pub mod error;
pub mod es;
pub mod format;
pub mod marc;
pub mod oid;
pub mod optional;
mod production;
pub mod query;
pub mod record;
mod spelling;
pub mod sru;
pub mod types;
pub mod via;

/// Runs the code blocks of the README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
