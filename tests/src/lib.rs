//! Shared by the test programs: random values, octets written as hex, the programs under test, and YAZ and Zebra as peers.

pub mod hex;
pub mod peer;
pub mod program;
pub mod random;
pub mod yaz;

/// The blocks of Rust in the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
