//! The programs `z3950` and `z3950d` as their users run them: arguments and input in, output and exit code out.

mod audit_urls;
mod batch;
mod copies;
mod daemon;
mod damaged;
mod decode;
mod every;
mod fallback;
mod files;
mod get;
mod locators;
mod lookup;
mod open;
mod order;
mod probe;
mod query;
mod readme;
mod scan;
mod search;
mod tables;
mod targets;
mod transport;
mod unusual;
mod update;
mod url;
mod words;
