//! A cache for records received from targets, which keeps the latest records up to a maximum size.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use z3950::Record;
use z3950_server::Diagnostic;
use z3950_server::lock;

use super::form::SourceForm;

/// The cached records, with a maximum size in octets; the oldest records are dropped first. A record with holdings can be
/// returned for any form. A failure is returned only once.
pub(super) struct RecordCache {
    most: usize,
    kept: Mutex<KeptRecords>,
}

#[derive(Default)]
struct KeptRecords {
    /// The entries by set number and rank. An entry without a record stands for a failure that has already been returned.
    by_place: HashMap<(u64, u64), KeptRecord>,
    order: VecDeque<(u64, u64)>,
    octets: usize,
}

struct KeptRecord {
    record: Option<Result<Record, Diagnostic>>,
    /// The form in which the record was requested from the target.
    form: SourceForm,
    octets: usize,
}

/// The octets that an entry takes in addition to its record.
const ENTRY: usize = 512;

impl RecordCache {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            kept: Mutex::default(),
        }
    }

    pub(super) fn keep(
        &self,
        set: u64,
        rank: u64,
        form: SourceForm,
        record: Result<Record, Diagnostic>,
    ) {
        let octets = record
            .as_ref()
            .map_or(0, |record| record.external().octets().len());
        let octets = octets.saturating_add(ENTRY);
        if octets > self.most {
            return;
        }
        let mut kept = lock(&self.kept);
        if record.is_err()
            && let Some(known) = kept.by_place.get_mut(&(set, rank))
            && matches!(known.record, Some(Ok(_)))
        {
            // A failure does not replace a cached record, whatever form the record has.
            known.form = form;
            return;
        }
        let record = KeptRecord {
            record: Some(record),
            form,
            octets,
        };
        match kept.by_place.insert((set, rank), record) {
            Some(before) => kept.octets = kept.octets.saturating_sub(before.octets),
            None => kept.order.push_back((set, rank)),
        }
        kept.octets = kept.octets.saturating_add(octets);
        while kept.octets > self.most {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            if let Some(gone) = kept.by_place.remove(&oldest) {
                kept.octets = kept.octets.saturating_sub(gone.octets);
            }
        }
    }

    /// Returns whether the record is cached in this form, or in one that can be used instead.
    pub(super) fn has(&self, set: u64, rank: u64, form: SourceForm) -> bool {
        let kept = lock(&self.kept);
        let known = kept.by_place.get(&(set, rank));
        known.is_some_and(|known| known.is_as(form) && matches!(known.record, Some(Ok(_))))
    }

    /// Returns the cached record, or the failure of the last attempt to fetch it; `None` if the record has to be fetched.
    pub(super) fn take(
        &self,
        set: u64,
        rank: u64,
        form: SourceForm,
    ) -> Option<Result<Record, Diagnostic>> {
        let mut kept = lock(&self.kept);
        let known = kept.by_place.get_mut(&(set, rank))?;
        if !known.is_as(form) {
            return None;
        }
        match &known.record {
            Some(Ok(record)) => Some(Ok(record.clone())),
            _ => known.record.take(),
        }
    }
}

impl KeptRecord {
    fn is_as(&self, form: SourceForm) -> bool {
        self.form == form || form == SourceForm::Plain
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::External;
    use z3950_asn1::bib1::diagnostics::Condition;
    use z3950_asn1::oid::XML;
    use z3950_server::diagnostic;

    use super::SourceForm::{Holdings, Plain};
    use super::*;

    fn failure() -> Diagnostic {
        diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")
    }

    fn record(octets: usize) -> Record {
        Record::new(External::octet_aligned(XML, vec![b' '; octets]), None)
    }

    #[test]
    fn the_oldest_records_give_way() {
        let cache = RecordCache::new(2 * (ENTRY + 100));
        for rank in 1..=2 {
            cache.keep(0, rank, Plain, Ok(record(100)));
        }
        assert!(cache.has(0, 1, Plain) && cache.has(0, 2, Plain));
        cache.keep(0, 3, Plain, Ok(record(100)));
        assert!(!cache.has(0, 1, Plain) && cache.has(0, 2, Plain) && cache.has(0, 3, Plain));
        cache.keep(0, 4, Plain, Ok(record(ENTRY + 201)));
        assert!(!cache.has(0, 4, Plain), "larger than all room");
        assert!(cache.has(0, 2, Plain) && cache.has(0, 3, Plain));
        cache.keep(0, 4, Plain, Ok(record(ENTRY + 200)));
        assert!(cache.has(0, 4, Plain), "it takes all room");
        cache.keep(0, 5, Plain, Err(failure()));
        assert!(matches!(cache.take(0, 5, Plain), Some(Err(_))));
        assert!(cache.take(0, 5, Plain).is_none(), "failures are told once");
    }

    #[test]
    fn records_with_holdings_serve_all_forms() {
        let cache = RecordCache::new(1 << 20);
        cache.keep(0, 1, Plain, Ok(record(1)));
        assert!(cache.has(0, 1, Plain) && !cache.has(0, 1, Holdings));
        assert!(cache.take(0, 1, Holdings).is_none());
        for _ in 0..2 {
            let taken = cache.take(0, 1, Plain);
            assert!(matches!(taken, Some(Ok(_))), "records stay");
        }
        // A failure to get holdings does not replace the plain record.
        cache.keep(0, 1, Holdings, Err(failure()));
        assert!(matches!(cache.take(0, 1, Holdings), Some(Ok(_))));
        cache.keep(0, 2, Holdings, Ok(record(1)));
        assert!(cache.has(0, 2, Plain) && cache.has(0, 2, Holdings));
    }
}
