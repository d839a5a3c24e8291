//! Looks up identifiers in the session of a connection.

use std::sync::Arc;

use z3950_asn1::apdu::InitializeRequest;
use z3950_asn1::format::sources::SearchSources;

use super::at_target::{AtTarget, TargetOutcome};
use super::course::Round;
use super::lending::{HeldRecords, Lender};
use super::wanted::{SearchTarget, Wanted};
use crate::connection::Connection;
use crate::connection::inner::Inner;
use crate::error::Error;
use crate::record::Record;

/// The maximum number of records that a lookup returns.
const SHOWN: u64 = 20;

/// The result of [`Connection::lookup`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LookupResult {
    /// The search that found the records, as PQF.
    pub query: String,
    /// The number of matching records.
    pub hits: u64,
    /// The sources of the records, if the server reports several sources.
    pub sources: SearchSources,
    /// The first records, at most 20. A diagnostic in place of a record is an error.
    pub records: Vec<Result<Record, Error>>,
}

impl Connection {
    /// Looks up an identifier: `isbn:0-14-143951-3`, `issn:`, `lccn:`, `oclc:`, `local:`, `docid:`, or a number whose
    /// kind is guessed from its form. The method makes several searches, one after the other, until one finds a record;
    /// it returns `None` if none does. [`Client::find`] does more: it searches at several targets, with fallbacks, and
    /// chooses the best record.
    ///
    /// # Errors
    /// [`Error::Identifier`]; [`Error::Refused`] if every search was refused; [`Error::Incomplete`] if nothing was
    /// found and a source of the records failed; or another error if the connection failed.
    ///
    /// [`Client::find`]: crate::Client::find
    pub async fn lookup(&self, identifier: &str) -> Result<Option<LookupResult>, Error> {
        let wanted = Wanted {
            count: SHOWN,
            form: self.form.clone(),
            ..Wanted::identifier(identifier)?
        };
        let outcome = look_up(&self.inner, &wanted).await;
        let Some(found) = outcome.found else {
            return match outcome.error {
                None | Some(Error::NoMatch) => Ok(None),
                Some(error) => Err(error),
            };
        };
        let records = outcome
            .records
            .into_iter()
            .map(|(position, record)| self.inner.record(record, position));
        Ok(Some(LookupResult {
            query: found.query.clone(),
            hits: found.result.hits,
            sources: found.sources.clone(),
            records: records.collect(),
        }))
    }
}

/// Looks up identifiers in the session of a connection, and returns the records instead of sending events.
async fn look_up(connection: &Arc<Inner>, wanted: &Wanted) -> TargetOutcome {
    let place = SearchTarget::new("", connection.target.clone(), InitializeRequest::default());
    let at_target = AtTarget {
        lender: Lender::Connection(connection),
        wanted,
        place: &place,
        target: 0,
        events: None,
        held: &HeldRecords::default(),
        keeps_records: true,
        round: Round::All,
    };
    at_target.carry_out().await
}
