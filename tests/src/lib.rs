//! What the test programs share: random values, octets written as hex, the programs under test, and YAZ and Zebra as their
//! partners.

pub mod hex;
pub mod peer;
pub mod program;
pub mod random;
pub mod yaz;

/// The blocks of Rust in the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
