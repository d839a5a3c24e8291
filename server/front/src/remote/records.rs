//! Retrieves records from targets. All pages for a response are fetched at the same time, cached, and converted to the requested
//! syntax.

use std::ops::RangeInclusive;

use futures_util::future::join_all;
use z3950::Record;
use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::OPAC;
use z3950_asn1::record::is_marc;
use z3950_asn1::sru::with_sound_xml;
use z3950_server::backend::{RecordId, RecordSource, Retrieve, RetrieveMany, Retrieved};
use z3950_server::{Diagnostic, diagnostic};

use super::failure::foreign;
use super::form::{SourceForm, converted};
use super::hits::{HitsOfTarget, RemoteHits, position_of};
use super::merged::{SourceRecord, one_of};
use super::{RemoteDatabase, after};

impl RemoteDatabase {
    /// Fetches the records in a response that are not in the cache, from all targets at the same time. If a record cannot be
    /// fetched, this is reported when the record is retrieved.
    ///
    /// # Errors
    /// Fails if a list does not belong to this database.
    pub(super) async fn fetch_all(&self, wanted: RetrieveMany<'_>) -> Result<(), Diagnostic> {
        let hits = wanted.hits.downcast::<RemoteHits>().ok_or_else(foreign)?;
        let deadline = after(self.options.total_time);
        let form = SourceForm::of(wanted.composition.syntax);
        let mut ranks: Vec<Vec<u64>> = vec![Vec::new(); hits.parts.len()];
        let last = wanted.records.iter().max();
        let last = last.and_then(|last| position_of(*last));
        let positions = last.map_or(0, |last| last.saturating_add(1));
        self.reach(hits, (positions, form), deadline).await;
        let records = wanted
            .records
            .iter()
            .copied()
            .flat_map(|record| [record].into_iter().chain(hits.others(record)))
            .filter(|record| hits.refusal(*record).is_none());
        for place in records.filter_map(|record| hits.place(record)) {
            let (number, rank) = place;
            let part = hits.parts.get(number).zip(ranks.get_mut(number));
            if let Some((part, ranks)) = part
                && !self
                    .cache
                    .has(part.set.number, rank, part.upstream.form(form))
            {
                ranks.push(rank);
            }
        }
        let parts = hits.parts.iter().zip(ranks);
        let pages = parts.map(|(part, ranks)| async move {
            for run in runs(ranks) {
                let ranks = (run, form);
                let page = part.upstream.page(&part.set, ranks, &hits.caller, deadline);
                page.await;
            }
        });
        join_all(pages).await;
        Ok(())
    }

    /// Returns a record in the requested form, from the cache if possible.
    ///
    /// # Errors
    /// Fails if the list does not belong to this database, or the record cannot be retrieved.
    pub(super) async fn retrieve(&self, wanted: Retrieve<'_>) -> Result<Retrieved, Diagnostic> {
        let Retrieve {
            record,
            composition,
            ..
        } = wanted;
        let hits = wanted.hits.downcast::<RemoteHits>().ok_or_else(foreign)?;
        if let Some(why) = hits.refusal(record) {
            let database = DatabaseName::from(self.options.name.as_str());
            return Ok(Retrieved::new(database, Err(why)));
        }
        let (part, _) = of_record(hits, record).ok_or_else(foreign)?;
        let form = SourceForm::of(composition.syntax);
        let others: Vec<RecordId> = hits.others(record).collect();
        if others.is_empty() {
            let database = DatabaseName::from(part.upstream.name());
            let record = self.source_record(hits, record, form).await;
            let is_marc = record.as_ref().is_ok_and(is_in_marc);
            let record = record.and_then(|record| converted(&record, composition));
            let retrieved = Retrieved::new(database, record);
            return Ok(if is_marc {
                retrieved.written_here()
            } else {
                retrieved
            });
        }
        let mut failure = None;
        let mut sources = Vec::new();
        for id in [record].iter().chain(&others) {
            let Some((part, rank)) = of_record(hits, *id) else {
                continue;
            };
            match self.source_record(hits, *id, form).await {
                Ok(record) => sources.push(SourceRecord::new(part.upstream.name(), rank, record)),
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        // A source that fails is left out, unless all sources fail.
        let Some(merged) = one_of(&sources) else {
            let database = DatabaseName::from(part.upstream.name());
            let why = failure.unwrap_or_else(foreign);
            return Ok(Retrieved::new(database, Err(why)));
        };
        let database = DatabaseName::from(&*merged.chosen.source.database);
        let record = match composition.syntax {
            Some(OPAC) => merged.with_holdings(&composition.element_set),
            _ => merged.record(composition),
        };
        let named: Vec<RecordSource> = sources.iter().map(|one| one.source.clone()).collect();
        let retrieved = Retrieved::new(database, record).with_sources(named);
        Ok(if sources.iter().all(|one| is_in_marc(&one.record)) {
            retrieved.written_here()
        } else {
            retrieved
        })
    }

    /// Returns a record as sent by its target, from the cache if possible.
    ///
    /// # Errors
    /// Fails if the target does not send the record, or the record is incomplete.
    async fn source_record(
        &self,
        hits: &RemoteHits,
        record: RecordId,
        wanted: SourceForm,
    ) -> Result<Record, Diagnostic> {
        let (part, rank) = of_record(hits, record).ok_or_else(foreign)?;
        let form = part.upstream.form(wanted);
        let record = match self.cache.take(part.set.number, rank, form) {
            Some(record) => record,
            None => {
                let deadline = after(self.options.total_time);
                let ranks = (rank..=rank, form);
                let page = part.upstream.page(&part.set, ranks, &hits.caller, deadline);
                page.await
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| Err(foreign()))
            }
        };
        record.and_then(whole)
    }
}

/// Returns the record if it is complete and can be passed on.
///
/// # Errors
/// Fails with condition 14 for an incomplete record, because clients would take the part for the whole record, and for an XML
/// record that is not a single well-formed element, because it may not be the requested record.
fn whole(record: Record) -> Result<Record, Diagnostic> {
    let fault = if is_in_marc(&record) {
        None
    } else {
        with_sound_xml(record.external().clone()).err()
    };
    match fault
        .map(|fault| fault.to_string())
        .or_else(|| record.damage())
    {
        None => Ok(record),
        Some(why) => {
            let words = format!("the record is damaged: {why}");
            Err(diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words))
        }
    }
}

/// Returns whether a record was received as MARC, so that any XML form of it is generated by this server.
fn is_in_marc(record: &Record) -> bool {
    record.syntax().is_some_and(|syntax| is_marc(&syntax))
}

fn of_record(hits: &RemoteHits, record: RecordId) -> Option<(&HitsOfTarget, u64)> {
    let (number, rank) = hits.place(record)?;
    Some((hits.parts.get(number)?, rank))
}

/// Converts ranks to ascending ranges without gaps.
pub(super) fn runs(mut ranks: Vec<u64>) -> Vec<RangeInclusive<u64>> {
    ranks.sort_unstable();
    ranks.dedup();
    let mut runs: Vec<RangeInclusive<u64>> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some(run) if run.end().checked_add(1) == Some(rank) => *run = *run.start()..=rank,
            _ => runs.push(rank..=rank),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_fetched_as_ranges() {
        assert_eq!(runs(Vec::new()), []);
        assert_eq!(runs(vec![3, 1, 2, 7, 8, 3]), [1..=3, 7..=8]);
        assert_eq!(runs(vec![u64::MAX]), [u64::MAX..=u64::MAX]);
    }
}
