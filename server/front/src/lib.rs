#![forbid(unsafe_code)]
//! Lets `z3950d` serve databases whose records are at other servers or in search engines, in the same way as its own
//! databases. It also contains the search page for people, and the gateway that RFC 1630 describes, which follows URLs.

// Nothing that a peer sends may end the program; `.clippy.toml` makes an exception for tests.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod choices;
pub mod engine;
mod files;
pub mod gateway;
mod layout;
mod own;
pub mod page;
pub mod remote;
mod shown;
mod text;
mod trouble;

pub use gateway::{Gateway, GatewayOptions};
pub use page::CataloguePage;
pub use z3950;
pub use z3950_server;

/// Runs the code blocks of the README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
