//! Answers scan requests with the terms of an index around a start term.

use z3950_asn1::apdu::{Apdu, Entry, ScanRequest as Scan, ScanStatus, Term, TermInfo};
use z3950_asn1::sru::{
    ScanRequest, ScanResponse, SruCondition, SruDiagnostic, SruTerm, WhereInList,
};

use super::failure::{SruFailure, default_form};
use super::{Context, SruSession, query};
use crate::units::count;

/// The number of terms in an answer if the request does not give a number.
const DEFAULT_TERMS: usize = 10;

impl SruSession {
    /// Answers a scan.
    ///
    /// # Errors
    /// Diagnostic 120 for a position outside the list of terms, or the reason why there are no terms.
    pub(super) async fn scan(
        &mut self,
        context: &Context,
        scan: &ScanRequest,
    ) -> Result<ScanResponse, SruFailure> {
        let deadline = self.deadline();
        let limits = &self.target.limits;
        let start = query::start(scan, limits.query_text)?;
        let range = TermRange::of(scan, limits.scan_terms)?;
        let request = Scan {
            reference_id: None,
            database_names: context.databases(),
            attribute_set: None,
            term_list_and_start_point: start,
            step_size: None,
            number_of_terms_requested: count(range.asked()),
            preferred_position_in_response: Some(count(range.asked_position())),
            other_info: None,
        };
        let answer = match self.exchange(request.into(), deadline).await? {
            Apdu::ScanResponse(answer) => *answer,
            _ => return Err(SruFailure::unanswered()),
        };
        let list = answer.entries.unwrap_or_default();
        let mut diagnostics = list
            .nonsurrogate_diagnostics
            .into_iter()
            .flatten()
            .map(default_form);
        if answer.scan_status == ScanStatus::FAILURE {
            let why = diagnostics.next();
            return Err(why.map_or_else(SruFailure::unanswered, SruFailure::from));
        }
        let terms = list
            .entries
            .into_iter()
            .flatten()
            .filter_map(|entry| match entry {
                Entry::TermInfo(info) => Some(term(*info)),
                Entry::SurrogateDiagnostic(_) => None,
            });
        let place = answer.position_of_term.unwrap_or(1);
        let before = usize::try_from(place.saturating_sub(1)).unwrap_or(0);
        let is_cut = answer.scan_status == ScanStatus::PARTIAL_2;
        let terms = range.terms(terms.collect(), before, is_cut);
        let mut response = ScanResponse::new(context.version, terms);
        // The diagnostics say why some sources did not supply terms.
        response.diagnostics = diagnostics
            .map(|why| SruDiagnostic::from_bib1(&why))
            .collect();
        Ok(response)
    }
}

/// The range of terms in an answer.
struct TermRange {
    number: usize,
    /// The position of the start among the terms of the answer, from 1; 0 means before the first term.
    position: usize,
}

impl TermRange {
    /// Returns the range for a request. At most `limit` terms are requested from the backend, including the terms just before and
    /// just after the answer.
    ///
    /// # Errors
    /// Diagnostic 120 for a position that is neither in the requested list of terms nor next to it.
    fn of(scan: &ScanRequest, limit: usize) -> Result<Self, SruDiagnostic> {
        let wanted = scan.maximum_terms.map_or(DEFAULT_TERMS, natural);
        let position = scan.response_position.map_or(1, natural);
        if position > wanted.saturating_add(1) {
            let position = position.to_string();
            return Err(SruDiagnostic::new(
                SruCondition::RESPONSE_POSITION,
                position,
            ));
        }
        let number = wanted.min(limit.saturating_sub(2)).max(1);
        // If the limit shortens the list, a position beyond the shorter list becomes the position just after it.
        let position = if position > number {
            number + 1
        } else {
            position
        };
        Ok(Self { number, position })
    }

    /// Returns whether the term just before the answer is requested too, which shows whether the answer begins with the first
    /// term of the index. If the answer begins after the start, that term cannot be requested. The term just after the answer is
    /// always requested.
    fn has_margin(&self) -> bool {
        self.position > 0
    }

    fn asked(&self) -> usize {
        self.number + 1 + usize::from(self.has_margin())
    }

    fn asked_position(&self) -> usize {
        self.position + usize::from(self.has_margin())
    }

    /// Selects the terms of the answer from those found; `before` of them are before the start. `is_cut` tells whether the last
    /// terms are missing from `terms`.
    fn terms(&self, mut terms: Vec<SruTerm>, before: usize, is_cut: bool) -> Vec<SruTerm> {
        let is_first = if self.has_margin() {
            if before < self.asked_position() - 1 {
                Some(true)
            } else {
                terms.drain(..1.min(terms.len()));
                Some(false)
            }
        } else {
            None
        };
        let missing = self
            .asked_position()
            .saturating_sub(1)
            .saturating_sub(before);
        let missing = missing.saturating_sub(usize::from(self.has_margin()));
        let most = self.number.saturating_sub(missing);
        let is_last = !is_cut && terms.len() <= most;
        terms.truncate(most);
        let end = terms.len();
        for (place, term) in terms.iter_mut().enumerate() {
            let is_first = match place {
                0 => is_first,
                _ => Some(false),
            };
            let is_last = is_last && place + 1 == end;
            term.where_in_list = is_first.map(|is_first| match (is_first, is_last) {
                (true, true) => WhereInList::Only,
                (true, false) => WhereInList::First,
                (false, true) => WhereInList::Last,
                (false, false) => WhereInList::Inner,
            });
        }
        terms
    }
}

fn term(info: TermInfo) -> SruTerm {
    let value = match &info.term {
        Term::General(octets) => String::from_utf8_lossy(octets).into_owned(),
        Term::CharacterString(text) => text.to_string_lossy().into_owned(),
        Term::Numeric(number) => number.to_string(),
        _ => String::new(),
    };
    let records = info.global_occurrences;
    let records = records.and_then(|records| u64::try_from(records).ok());
    let mut term = SruTerm::new(value, records);
    term.display_term = info
        .display_term
        .map(|text| text.to_string_lossy().into_owned());
    term
}

fn natural(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
