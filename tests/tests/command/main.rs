//! The programs `z3950` and `z3950d` as their users run them: arguments and input in, output and exit code out.

mod daemon;
mod get;
mod locators;
mod open;
mod query;
mod url;
