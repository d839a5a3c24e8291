//! The commands, with a file for the arguments and the implementation of each command.

pub(crate) mod complete;
pub(crate) mod connection;
pub(crate) mod convert;
pub(crate) mod decode;
pub(crate) mod deferred;
pub(crate) mod explain;
pub(crate) mod facets;
pub(crate) mod fallback;
pub(crate) mod gateway;
pub(crate) mod get;
pub(crate) mod gopher;
pub(crate) mod lookup;
pub(crate) mod options;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod probe;
pub(crate) mod query;
pub(crate) mod register;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod target;
pub(crate) mod targets;
pub(crate) mod task;
pub(crate) mod update;
pub(crate) mod url;
