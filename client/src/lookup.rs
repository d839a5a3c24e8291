//! Lookup of known items by identifier, in any usual notation (Z39.50-2003 Appendix ATR.3; RFC 2056 §4 for docids).
//!
//! | file | holds |
//! |---|---|
//! | `identifier` | `isbn:…`, `issn:…` and so on, or the shape of a number |
//! | `attempts` | the searches for an identifier, most likely first |
//! | `matched` | the field of a record that contains the identifier |
//! | `of_record` | the identifiers of a record, to look up a better one |
//! | `merit` | which of several records is the best for copy cataloguing |

use std::future::ready;

use futures_util::TryStreamExt;
use z3950_asn1::apdu::Query;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::sources::SearchSources;

pub(crate) mod attempts;
pub(crate) mod identifier;
mod matched;
mod merit;
mod of_record;

pub use self::attempts::{Attempt, anywhere, attempts};
pub use self::identifier::{Identifier, IdentifierError, Kind};
pub(crate) use self::matched::has_docid;
pub use self::matched::{Match, matched};
pub use self::merit::{Merit, Preferences, SOURCES, cataloguing_language};
pub use self::of_record::{MAX_IDENTIFIERS, identifiers};
use crate::error::Error;
use crate::pool::SharedLease;
use crate::protocol::pager::PagerOptions;
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchOptions;
use crate::protocol::session::Session;

/// The options of a lookup.
#[derive(Clone, Debug)]
pub struct LookupOptions {
    /// How to search; the databases are required.
    pub search: SearchOptions,
    /// The form of the records.
    pub records: PagerOptions,
    /// The most records to fetch.
    pub count: u64,
}

/// The result of a lookup.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LookupHits<'a> {
    /// The search that found them.
    pub attempt: &'a Attempt,
    /// The number of matching records.
    pub hits: u64,
    /// The sources of the records, if they come from several and the server says so.
    pub sources: SearchSources,
    /// The first records.
    pub records: Vec<ResultRecord>,
    /// The error after the last record, if any.
    pub failure: Option<Error>,
}

/// Tries the searches in order until one finds something; `None` if none does.
///
/// If a search for several forms at once is refused, they are searched for one by one, unless the server has no such index.
///
/// # Errors
/// [`Error::Refused`] if every search was refused, or if the first record is; [`Error::Incomplete`] if nothing was found and a source
/// has failed at each search; others end the session. After the first
/// record, an error is in [`LookupHits::failure`].
pub async fn lookup<'a>(
    session: &Session,
    attempts: &'a [Attempt],
    options: &LookupOptions,
) -> Result<Option<LookupHits<'a>>, Error> {
    let page = options.count.min(options.records.chunk_size);
    let search = options.search.clone().with_records(page);
    let mut refusal = None;
    let mut has_answered = false;
    let mut one_by_one = false;
    let mut sources = SearchSources::default();
    for attempt in attempts {
        if attempt.is_single && !one_by_one {
            continue;
        }
        let query = Query::Type1(attempt.query.clone());
        let pager = session.pager(query, &search, options.records.clone());
        match pager.await {
            Ok(set) if set.count() == 0 => {
                has_answered = true;
                sources.join(set.found().sources());
                one_by_one &= attempt.is_single;
            }
            Ok(mut set) => {
                let hits = set.count();
                sources.join(set.found().sources());
                let mut records = Vec::new();
                let read = set
                    .stream_range(1, options.count)
                    .try_for_each(|record| {
                        records.push(record);
                        ready(Ok(()))
                    })
                    .await;
                return match read.err() {
                    Some(failure) if records.is_empty() => Err(failure),
                    failure => Ok(Some(LookupHits {
                        attempt,
                        hits,
                        sources,
                        records,
                        failure,
                    })),
                };
            }
            Err(Error::Refused { phase, diagnostics }) => {
                one_by_one = !diagnostics.has(Condition::USE.0);
                refusal = Some(Error::Refused { phase, diagnostics });
            }
            Err(error) => return Err(error),
        }
    }
    match refusal {
        Some(refusal) if !has_answered => Err(refusal),
        _ => match Error::of_nothing(&sources) {
            Error::NoMatch => Ok(None),
            incomplete => Err(incomplete),
        },
    }
}

/// Looks up an identifier in a session with other users. A record without the identifier may be the answer to another request, which
/// a server that confuses referenceIds gives: then the lookup is repeated while no other user makes a request. If records do not
/// contain docids, all lookups of docids are made so.
///
/// # Errors
/// Those of [`lookup`].
pub async fn lookup_shared<'a>(
    lease: &SharedLease,
    identifier: &Identifier,
    attempts: &'a [Attempt],
    options: &LookupOptions,
) -> Result<Option<LookupHits<'a>>, Error> {
    let request = |session: Session| async move { lookup(&session, attempts, options).await };
    let is_of_docid = identifier.kind == Kind::Docid;
    let is_foreign = |found: &Option<LookupHits<'_>>| has_others_records(found, identifier);
    lease.read_own(is_of_docid, is_foreign, request).await
}

/// Whether a record lacks the identifier by which it was found.
fn has_others_records(found: &Option<LookupHits<'_>>, identifier: &Identifier) -> bool {
    let records = found.iter().flat_map(|found| &found.records);
    let mut records = records.filter_map(|slot| match slot {
        ResultRecord::Record { external, .. } => Some(external),
        ResultRecord::Diagnostic { .. } => None,
    });
    records.any(|record| match identifier.kind {
        Kind::Docid => !has_docid(record, identifier.text.as_bytes()),
        _ => matched(identifier, record).is_none(),
    })
}

#[cfg(test)]
mod tests;
