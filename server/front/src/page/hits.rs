//! Searching a database, and reading some of the records found.

use std::ops::Range;

use z3950::asn1::oid::{OPAC, XML};
use z3950::service::search::SearchResult;
use z3950::{Error, Query, Record, RecordForm, ResultSet};
use z3950_server::web::WebClient;

use super::asked::PageQuery;
use super::facets::{FacetSource, Narrowing, narrowed};
use crate::own::connection;

/// What a search found.
pub(super) struct Hits {
    /// Where its facets are.
    pub(super) source: FacetSource,
    pub(super) count: u64,
    pub(super) is_estimate: bool,
    /// What the parts of the database have found.
    pub(super) found: SearchResult,
    /// In order; a failure is in the place of its record.
    pub(super) records: Vec<Result<Record, Error>>,
}

/// Searches a database, and reads some of the records, with holdings if the database has them.
pub(super) async fn hits(
    client: &WebClient,
    target: &str,
    (asked, narrowings): (&PageQuery, &[Narrowing]),
    (start, count): (u64, u64),
    with_holdings: bool,
) -> Result<Option<Hits>, Error> {
    let connection = connection(client, target).await?;
    let query = match asked {
        PageQuery::Url => return Ok(None),
        PageQuery::Query(query, _) => (**query).clone(),
        PageQuery::Identifier(identifier) => {
            let name = identifier.kind.name();
            let found = connection
                .lookup(&format!("{name}:{}", identifier.text))
                .await?;
            match found {
                Some(found) => Query::pqf(&found.query)?,
                None => return Ok(None),
            }
        }
    };
    let query = narrowed(query, narrowings);
    let form = |syntax| RecordForm::new(Some(syntax), None);
    let of_opac = with_holdings.then(|| form(OPAC));
    // XML holds what is too long for MARC (ISO 2709).
    let others = [RecordForm::default(), form(XML)];
    let mut hits: Option<Hits> = None;
    for form in of_opac.into_iter().chain(others) {
        let set = connection
            .clone()
            .with_form(form)
            .search(query.clone())
            .await?;
        let end = start.saturating_add(count);
        let end = end.min(set.count().saturating_add(1));
        let mut known = match hits.take() {
            Some(known) => known,
            None => Hits {
                source: FacetSource {
                    connection: connection.clone(),
                    query: query.clone(),
                },
                count: set.count(),
                is_estimate: set.is_estimate(),
                found: set.found().clone(),
                records: Vec::new(),
            },
        };
        known.fill(&set, start..end).await;
        let has_all = known.has_all(end.saturating_sub(start));
        hits = Some(known);
        if has_all {
            break;
        }
    }
    Ok(hits)
}

impl Hits {
    /// Whether there are this many records, and none is a failure.
    fn has_all(&self, wanted: u64) -> bool {
        let count = u64::try_from(self.records.len());
        count.is_ok_and(|count| count >= wanted) && self.records.iter().all(Result::is_ok)
    }

    /// Reads the records at these positions that are failures so far, or missing.
    async fn fill(&mut self, set: &ResultSet, positions: Range<u64>) {
        let known = self.records.iter().take_while(|record| record.is_ok());
        let known = known.count();
        let from = u64::try_from(known).unwrap_or(u64::MAX);
        let from = positions.start.saturating_add(from);
        if from >= positions.end {
            return;
        }
        let mut some = set.range(from..positions.end);
        let mut at = known;
        while let Some(record) = some.next().await {
            match self.records.get_mut(at) {
                Some(Ok(_)) => {}
                Some(failed) => {
                    if record.is_ok() {
                        *failed = record;
                    }
                }
                None => self.records.push(record),
            }
            at += 1;
        }
    }
}
