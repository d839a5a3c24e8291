//! All tests that need several packages, as one program: it is linked once, and keeps the processors busy to its end. `cargo test
//! --workspace --test all command::` runs those of a module. What the checks of the sources need is built sooner: they are `tidy`.

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
