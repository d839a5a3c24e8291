//! The programs `z3950` and `z3950d` as their users run them: arguments and input in, output and exit code out.

mod daemon;
mod decode;
mod get;
mod locators;
mod lookup;
mod open;
mod probe;
mod query;
mod search;
mod targets;
mod url;
