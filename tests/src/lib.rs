//! Code shared by the test programs: random values, octets as hexadecimal digits, catalogues, records with known duplicates, the
//! programs under test, and other programs as peers: YAZ, Zebra, OpenSearch, Koha's index, Solr and Chromium.

pub mod browser;
pub mod catalogue;
pub mod editions;
pub mod hex;
pub mod koha;
pub mod opensearch;
pub mod peer;
pub mod ports;
pub mod program;
pub mod random;
pub mod screen;
pub mod solr;
pub mod surroundings;
pub mod yaz;

/// Sleeps briefly, so that other threads can run. Tests call this function between two checks of a condition that they are
/// waiting for.
pub fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(2));
}

/// Runs the Rust code blocks of the README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// Runs the Rust code blocks of the page on web services as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../client/docs/web-service.md")]
pub struct WebService;

/// Runs the Rust code blocks of the page on tests as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../client/docs/tests.md")]
pub struct Tests;
