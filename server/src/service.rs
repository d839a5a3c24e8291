//! The services, a file each: from a request and the state of the session to the answer, without input or output
//! (Z39.50-2003 §3.2). The referenceId is not set here but in [`crate::session`].

pub(crate) mod access;
pub(crate) mod close;
pub(crate) mod composition;
pub(crate) mod delete;
pub(crate) mod explain;
pub(crate) mod extended;
pub(crate) mod init;
pub(crate) mod pack;
pub(crate) mod present;
mod query;
pub(crate) mod refuse;
pub(crate) mod resource;
pub(crate) mod scan;
pub(crate) mod search;
mod search_info;
pub(crate) mod sort;

/// A count as APDUs carry it.
fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
