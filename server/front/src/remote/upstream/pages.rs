//! Pages of records found at a target. The records are cached. If the target has dropped a result set, the search is repeated.

use std::ops::RangeInclusive;

use tokio::time::Instant;
use z3950::{Record, ResultSet};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::backend::Caller;
use z3950_server::{Diagnostic, diagnostic};

use super::Upstream;
use crate::remote::failure;
use crate::remote::form::{SourceForm, is_usable};
use crate::remote::queue::SessionTurn;
use crate::remote::set::{HeldSet, RemoteSet};

/// The number of octets after which a page ends, which is more than a response may have by default.
const PAGE_OCTETS: usize = 8 << 20;

impl Upstream {
    /// Returns records of a set in order, by rank from 1, and caches them. Returns fewer records than requested if they are too
    /// large for one response.
    pub(in crate::remote) async fn page(
        &self,
        set: &RemoteSet,
        (ranks, wanted): (RangeInclusive<u64>, SourceForm),
        caller: &Caller,
        deadline: Instant,
    ) -> Vec<Result<Record, Diagnostic>> {
        let form = self.form(wanted);
        let mut page = Vec::new();
        let fetch = async {
            let _operation = self.begin()?;
            Box::pin(self.fetch(set, (ranks.clone(), form), caller, &mut page)).await
        };
        let Err(why) = self.within(deadline, self.refusal(form), fetch).await else {
            return page;
        };
        // Each record that could not be fetched is replaced with the reason for the failure.
        for rank in ranks.skip(page.len()) {
            self.put(set, (rank, form), Err(why.clone()), &mut page);
        }
        page
    }

    /// Fetches records by rank, and adds them to `page`.
    ///
    /// # Errors
    /// Fails with the diagnostic that says why no records beyond those in `page` can be fetched.
    async fn fetch(
        &self,
        set: &RemoteSet,
        (ranks, form): (RangeInclusive<u64>, SourceForm),
        caller: &Caller,
        page: &mut Vec<Result<Record, Diagnostic>>,
    ) -> Result<(), Diagnostic> {
        let mut held = set.held.lock().await;
        let turn = self.turn(caller, held.slot()).await?;
        if held.session != self.session_of(&turn).await {
            held.result = None;
        }
        let fetched = self.fetch_in(&turn, &mut held, set, (ranks, form), page);
        let fetched = fetched.await;
        if form == SourceForm::Holdings {
            self.without_holdings.learn(page.iter().flatten());
        }
        drop(held);
        turn.done();
        fetched
    }

    async fn fetch_in(
        &self,
        turn: &SessionTurn,
        held: &mut HeldSet,
        set: &RemoteSet,
        (ranks, mut form): (RangeInclusive<u64>, SourceForm),
        page: &mut Vec<Result<Record, Diagnostic>>,
    ) -> Result<(), Diagnostic> {
        let (start, end) = ranks.into_inner();
        let mut octets: usize = 0;
        // If the target has dropped the set, the search is repeated once, and once more without holdings if they may have been
        // the cause.
        let mut may_renew = true;
        'reading: loop {
            let next =
                |page: &Vec<_>| start.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
            held.last_use = Instant::now();
            held.set_form(form);
            let mut lost = None;
            if let Some(result) = &held.result {
                let mut records = result.range(next(page)..=end);
                let mut failed = None;
                while octets < PAGE_OCTETS && next(page) <= end {
                    let rank = next(page);
                    // If another record follows the failure, only one record could not be read; otherwise, the set is lost.
                    let record = match Box::pin(records.next()).await {
                        Some(record) => {
                            if let Some(why) = failed.take() {
                                self.put(set, (rank, form), Err(failure::of_error(&why)), page);
                            }
                            record
                        }
                        None => {
                            lost = failed.take();
                            break;
                        }
                    };
                    match record {
                        Ok(record) if form == SourceForm::Holdings && !is_usable(&record) => {
                            self.without_holdings.note();
                            form = SourceForm::Plain;
                            continue 'reading;
                        }
                        Ok(record) => {
                            octets = octets.saturating_add(record.external().octets().len());
                            self.put(set, (next(page), form), Ok(record), page);
                        }
                        Err(why) => failed = Some(why),
                    }
                }
                if let Some(why) = failed {
                    self.put(set, (next(page), form), Err(failure::of_error(&why)), page);
                }
            }
            let is_lost = match (&held.result, &lost) {
                (None, _) => true,
                (_, Some(why)) => failure::is_set_lost(why),
                (_, None) if octets >= PAGE_OCTETS || next(page) > end => return Ok(()),
                (_, None) => return Err(fewer()),
            };
            if is_lost && !may_renew && form == SourceForm::Holdings {
                self.without_holdings.note();
                form = SourceForm::Plain;
            } else if !is_lost || !may_renew {
                return Err(lost.map_or_else(fewer, |why| failure::of_error(&why)));
            }
            may_renew = false;
            held.result = None;
            let again = Box::pin(self.open(turn, &set.query, (0, form)))
                .await
                .map_err(|error| failure::of_error(&error))?;
            let is_same = |result: &ResultSet| set.is_same(result);
            if !again.result.as_ref().is_some_and(is_same) {
                return Err(failure::changed());
            }
            *held = again;
        }
    }

    /// Caches the records that were sent with the search.
    pub(super) async fn keep_first(&self, set: &RemoteSet) {
        let held = set.held.lock().await;
        let Some(result) = &held.result else { return };
        let came = result.piggybacked();
        let mut records = result.range(..=came);
        let mut first = Vec::new();
        for rank in 1..=came {
            match Box::pin(records.next()).await {
                Some(Ok(record)) if is_usable(&record) => {
                    self.put(set, (rank, held.form), Ok(record), &mut first);
                }
                Some(Ok(_)) => return self.without_holdings.note(),
                _ => break,
            }
        }
        if held.form == SourceForm::Holdings {
            self.without_holdings.learn(first.iter().flatten());
        }
    }

    fn put(
        &self,
        set: &RemoteSet,
        (rank, form): (u64, SourceForm),
        record: Result<Record, Diagnostic>,
        page: &mut Vec<Result<Record, Diagnostic>>,
    ) {
        self.cache.keep(set.number, rank, form, record.clone());
        page.push(record);
    }
}

/// Creates the diagnostic for a target that sends fewer records than it reported.
fn fewer() -> Diagnostic {
    let words = "the server has fewer records than it counted";
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
}
