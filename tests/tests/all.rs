//! All tests that need several packages, as one program, which is linked once and keeps the processors busy. `cargo test
//! --workspace --test all command::` runs the tests of a module. The checks of the sources are in `tidy`, which is built
//! sooner.

mod command;
mod conformance;
mod convert;
mod hostile;
mod interop;
mod library;
mod prompt;
mod query;
mod scenarios;
mod sru;
mod syntaxes;
mod url;
mod wire;
