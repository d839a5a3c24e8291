//! The protocol of Z39.50-2003 within a session: a handle that is cheap to clone, a file for each service, and the task
//! that owns the stream.

pub(crate) mod driver;
pub mod pager;
pub mod service;
pub mod session;
