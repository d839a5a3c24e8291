//! Scans all targets at the same time and merges their terms into one list (Z39.50-2003 §3.2.8.1). If a target fails, only its
//! own terms and counts are missing.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use z3950::ScanSet;
use z3950::service::scan::ScanOptions;
use z3950_asn1::apdu::{AttributesPlusTerm, Operand, RpnQuery, RpnStructure, ScanStatus, Term};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_marc::charset::utf8_or_latin1;
use z3950_server::backend::{Scan, ScanTerm, Scanned};
use z3950_server::memory::TermOrder;
use z3950_server::{Diagnostic, diagnostic};

use super::failure;
use super::{RemoteDatabase, after};

/// The maximum number of terms that are requested from a target.
const MAX_TERMS: usize = 2000;

impl RemoteDatabase {
    /// Scans all targets, and returns their terms as one list.
    ///
    /// # Errors
    /// Fails if a target does not exist, if the scan is within a result set (condition 228), if the step needs more than
    /// [`MAX_TERMS`] terms (condition 206), or if all targets failed.
    pub(super) async fn browse(&self, scan: Scan<'_>) -> Result<Scanned, Diagnostic> {
        let upstreams = self.named(scan.databases, &scan.caller)?;
        if scan.within.is_some() {
            let words = "servers scan whole databases";
            return Err(diagnostic(Condition::MALFORMED_SCAN, words));
        }
        let window = ScanWindow::of(&scan)?;
        let deadline = after(self.options.total_time);
        let query = &RpnQuery {
            attribute_set: scan.attribute_set,
            rpn: RpnStructure::Op(Operand::AttributesPlusTerm(scan.start.clone())),
        };
        let scans = upstreams.iter().map(|upstream| {
            let ask = |connection: z3950::Connection| async move {
                let options = window.options();
                connection.scan_with(query.clone(), options).await
            };
            upstream.ask(&scan.caller, deadline, ask)
        });
        let answers = join_all(scans).await;
        let mut list = MergedTerms::new(scan.start, window);
        let mut failures = Vec::new();
        let mut has_any = false;
        for (upstream, answer) in upstreams.iter().zip(&answers) {
            match answer {
                Ok(terms) => {
                    list.add(terms);
                    has_any = true;
                }
                Err(why) => {
                    let words = why.addinfo.to_string_lossy();
                    tracing::info!(target = upstream.name(), why = %words, "no answer to a scan");
                    failures.push((upstream.name(), why));
                }
            }
        }
        if !has_any {
            return Err(failure::of_all(failures.into_iter()));
        }
        let mut scanned = list.scanned(&scan);
        let failures = failures.into_iter();
        scanned.failures = failures
            .map(|(target, why)| failure::named(target, why))
            .collect();
        Ok(scanned)
    }
}

/// The number of terms needed from each target before and after the start. The step is applied to the merged list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScanWindow {
    before: usize,
    /// The number of terms from the start onwards. It is at least one, because some servers refuse to return a list that ends
    /// before the start.
    after: usize,
}

impl ScanWindow {
    fn of(scan: &Scan<'_>) -> Result<Self, Diagnostic> {
        let every = scan.step.saturating_add(1);
        let beyond = scan.after.saturating_sub(1).saturating_mul(every);
        let window = Self {
            before: scan.before.saturating_mul(every),
            after: beyond.saturating_add(1),
        };
        if window.before.saturating_add(window.after) <= MAX_TERMS {
            Ok(window)
        } else {
            let step = scan.step.to_string();
            Err(diagnostic(Condition::SCAN_STEP_SIZE, step))
        }
    }

    fn terms(self) -> usize {
        self.before.saturating_add(self.after)
    }

    fn options(self) -> ScanOptions {
        let number = |terms: usize| u64::try_from(terms).unwrap_or(u64::MAX);
        let mut options = ScanOptions::default();
        options.number_of_terms = number(self.terms());
        options.preferred_position = Some(number(self.before).saturating_add(1));
        options
    }
}

/// The terms of all targets, keyed by their folded form, because targets sort and spell terms differently.
struct MergedTerms {
    order: TermOrder,
    window: ScanWindow,
    terms: BTreeMap<String, ScanTerm>,
    /// The key of the start term.
    start: String,
    lists: Vec<ListOfTarget>,
}

/// The list of terms sent by a target.
struct ListOfTarget {
    keys: Vec<String>,
    /// Whether the target reported that its list is partial.
    is_cut: bool,
}

impl MergedTerms {
    fn new(start: &AttributesPlusTerm, window: ScanWindow) -> Self {
        let order = TermOrder::of(start);
        Self {
            order,
            window,
            terms: BTreeMap::new(),
            start: text_of(&start.term).map_or_else(String::new, |text| order.key(&text)),
            lists: Vec::new(),
        }
    }

    fn add(&mut self, list: &ScanSet) {
        let found = list.terms().iter().take(self.window.terms());
        let mut keys = Vec::new();
        for one in found {
            let key = self.order.key(&one.term);
            let count = one
                .count
                .map(|count| usize::try_from(count).unwrap_or(usize::MAX));
            let term = self.terms.entry(key.clone()).or_insert_with(|| {
                let mut new = ScanTerm::new(Term::General(one.term.as_bytes().into()));
                new.records = Some(0);
                new
            });
            term.records =
                { term.records.zip(count) }.map(|(known, count)| known.saturating_add(count));
            if term.display.is_none() {
                term.display.clone_from(&one.display);
            }
            keys.push(key);
        }
        // If a target lists individual words, its list begins with the first word of the starting term, so the merged list does
        // too.
        let first = list.position().and_then(|at| keys.get(at.checked_sub(1)?));
        if let Some(first) = first
            && let Some(rest) = self.start.strip_prefix(first.as_str())
            && rest.starts_with(' ')
        {
            self.start.clone_from(first);
        }
        let is_cut = [
            ScanStatus::PARTIAL_1,
            ScanStatus::PARTIAL_2,
            ScanStatus::PARTIAL_3,
            ScanStatus::PARTIAL_4,
        ]
        .contains(&list.result().status);
        self.lists.push(ListOfTarget { keys, is_cut });
    }

    fn scanned(mut self, scan: &Scan<'_>) -> Scanned {
        self.forget_partial_counts();
        let after = self.terms.split_off(&self.start);
        let exact = after
            .first_key_value()
            .is_some_and(|(key, _)| *key == self.start);
        let every = scan.step.saturating_add(1);
        let before = self.terms.into_values().rev();
        // In the backward direction, the steps are counted from the first term after the start.
        let before = before.skip(scan.step).step_by(every).take(scan.before);
        let mut before: Vec<ScanTerm> = before.collect();
        before.reverse();
        let after = after.into_values().step_by(every).take(scan.after);
        let mut scanned = Scanned::default();
        scanned.before = before;
        scanned.after = after.collect();
        scanned.exact = exact;
        scanned
    }

    /// Removes the count of each term that is outside the range of the terms sent by at least one target. That target may have
    /// the term too, so the count may be too low.
    fn forget_partial_counts(&mut self) {
        let (mut first, mut last): (Option<&String>, Option<&String>) = (None, None);
        for list in &self.lists {
            let is_before = |key: &&String| **key < self.start;
            let before = list.keys.iter().filter(is_before).count();
            let after = list.keys.len().saturating_sub(before);
            if before >= self.window.before {
                first = first.max(list.keys.iter().min());
            }
            if after >= self.window.after || list.is_cut {
                let ends = list.keys.iter().max().into_iter().chain(last);
                last = ends.min();
            }
        }
        for (key, term) in &mut self.terms {
            let is_before = first.is_some_and(|first| key < first && *key < self.start);
            if is_before || last.is_some_and(|last| key > last && *key >= self.start) {
                term.records = None;
            }
        }
    }
}

/// Returns the text of a term; `None` for a term of a type without text.
fn text_of(term: &Term) -> Option<String> {
    Some(match term {
        Term::General(octets) => utf8_or_latin1(octets.as_bytes()).into_owned(),
        Term::CharacterString(text) => utf8_or_latin1(text.as_bytes()).into_owned(),
        Term::Numeric(number) => number.to_string(),
        _ => return None,
    })
}
