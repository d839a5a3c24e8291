#![forbid(unsafe_code)]
//! Code that the client and the server share and that is not part of the protocol. It handles files, times, and octets
//! written as digits.
//!
//! - the root, with the feature `write`: files that appear only when they are complete, files that grow, locks and
//!   drafts;
//! - [`input`]: reading complete files;
//! - [`pem`]: the contents of a PEM file, for messages;
//! - [`moment`]: times as dates and times of day;
//! - [`hex`]: octets as hexadecimal digits.
//!
//! # Features
//!
//! - `write`: writing files;
//! - `size-limit`: writes beyond the limit on file sizes fail instead of killing the program.
//!
//! # Stability
//!
//! Documented items keep to Semantic Versioning. The minimum Rust version is 1.90, as in the manifest; raising it takes
//! a minor version.

// Nothing in a file may cause a panic; `.clippy.toml` exempts tests from these lints.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

pub mod hex;
pub mod input;
pub mod moment;
pub mod pem;
#[cfg(feature = "write")]
mod write;

#[cfg(feature = "size-limit")]
pub use write::survive_size_limit;
#[cfg(feature = "write")]
pub use write::{
    Draft, Error, Existing, Growing, Lock, Reserved, Stamp, Whole, is_named_pipe, same,
};

/// Runs the code blocks of the README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
