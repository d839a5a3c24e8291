//! All tests that need several packages, in one program, which has to be linked only once and uses all processors. `cargo test
//! --workspace --test all command::` runs the tests of one module. The checks of the sources are in `tidy`, which is faster to
//! build.

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
