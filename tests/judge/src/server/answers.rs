//! What answers have in common: diagnostics, records, and numbers that must be consistent.

use z3950_asn1::apdu::{
    Apdu, DefaultDiagFormat, DiagRec, External, NamePlusRecord, PresentResponse, PresentStatus,
    Record, Records, ScanResponse, ScanStatus, SearchResponse, SortResponse, SortStatus,
};

use super::trial::summary;
use super::verdict::{Checked, Verdict, counted, want};

/// The server's reaction to a request that it cannot fulfil.
pub(super) enum Reaction {
    /// The request was refused with these diagnostics.
    Refused(Vec<DefaultDiagFormat>),
    /// The request was accepted.
    Accepted,
}

/// A response that has a status and may have diagnostics.
pub(super) trait Refusable: Clone + Into<Apdu> {
    /// Returns whether the service succeeded according to its status.
    fn succeeded(&self) -> bool;

    /// Returns the diagnostics that are sent instead of a result.
    fn diagnostics(&self) -> Vec<DefaultDiagFormat>;

    /// Formats the response on one line for messages.
    fn summary(&self) -> String {
        summary(&self.clone().into())
    }

    /// Returns whether the request was refused or accepted. Fails if it was refused without a diagnostic (Z39.50-2003 §3.2.2.1.8,
    /// §3.2.3.1.6, §3.2.8.1.9).
    fn reaction(&self) -> Checked<Reaction> {
        let diagnostics = self.diagnostics();
        if self.succeeded() {
            return Ok(Reaction::Accepted);
        }
        want(
            !diagnostics.is_empty(),
            "a diagnostic with the failure",
            || self.summary(),
        )?;
        Ok(Reaction::Refused(diagnostics))
    }

    /// Fails unless the request was refused with one of these conditions.
    fn refused_with(&self, conditions: &[i64]) -> Checked {
        let codes: Vec<String> = conditions.iter().map(i64::to_string).collect();
        let wanted = format!("a failure with diagnostic {}", codes.join(" or "));
        match self.reaction()? {
            Reaction::Refused(found) => {
                let is_one = found.iter().any(|one| conditions.contains(&one.condition));
                want(is_one, wanted, || self.summary())
            }
            Reaction::Accepted => Err(Verdict::fail(wanted, self.summary())),
        }
    }

    /// Fails unless the request was refused with any diagnostic.
    fn refused(&self) -> Checked {
        match self.reaction()? {
            Reaction::Refused(_) => Ok(()),
            Reaction::Accepted => Err(Verdict::fail("a failure with a diagnostic", self.summary())),
        }
    }

    /// Ends the check with the verdict "not offered" if the request was refused with one of these conditions, which mean that a
    /// feature is not available.
    fn not_offered_if(&self, conditions: &[i64]) -> Checked {
        let found = self.diagnostics();
        match found.iter().find(|one| conditions.contains(&one.condition)) {
            Some(found) => Err(Verdict::not_offered(found.to_string())),
            None => Ok(()),
        }
    }
}

impl Refusable for SearchResponse {
    fn succeeded(&self) -> bool {
        self.search_status
    }

    fn diagnostics(&self) -> Vec<DefaultDiagFormat> {
        of_records(self.records.as_ref())
    }
}

impl Refusable for PresentResponse {
    fn succeeded(&self) -> bool {
        self.present_status != PresentStatus::FAILURE
    }

    fn diagnostics(&self) -> Vec<DefaultDiagFormat> {
        of_records(self.records.as_ref())
    }
}

impl Refusable for ScanResponse {
    fn succeeded(&self) -> bool {
        self.scan_status != ScanStatus::FAILURE
    }

    fn diagnostics(&self) -> Vec<DefaultDiagFormat> {
        let entries = self.entries.as_ref();
        let listed = entries.and_then(|entries| entries.nonsurrogate_diagnostics.as_deref());
        in_default_format(listed.unwrap_or_default())
    }
}

impl Refusable for SortResponse {
    fn succeeded(&self) -> bool {
        self.sort_status != SortStatus::FAILURE
    }

    fn diagnostics(&self) -> Vec<DefaultDiagFormat> {
        in_default_format(self.diagnostics.as_deref().unwrap_or_default())
    }
}

/// Returns the non-surrogate diagnostics that are sent instead of records.
fn of_records(records: Option<&Records>) -> Vec<DefaultDiagFormat> {
    match records {
        Some(Records::NonSurrogateDiagnostic(diagnostic)) => vec![diagnostic.clone()],
        Some(Records::MultipleNonSurDiagnostics(several)) => in_default_format(several),
        _ => Vec::new(),
    }
}

/// Returns diagnostics in the default format. A diagnostic in another format is replaced by one with condition 100.
pub(super) fn in_default_format(diagnostics: &[DiagRec]) -> Vec<DefaultDiagFormat> {
    let known = diagnostics.iter().map(|diagnostic| match diagnostic {
        DiagRec::DefaultFormat(known) => known.clone(),
        DiagRec::ExternallyDefined(_) => DefaultDiagFormat::bib1(100, "in another format"),
    });
    known.collect()
}

/// A response with records.
pub(super) trait WithRecords: Refusable {
    /// Returns numberOfRecordsReturned.
    fn returned(&self) -> i64;

    /// Returns the records and surrogate diagnostics.
    fn records(&self) -> &[NamePlusRecord];

    /// Fails unless numberOfRecordsReturned equals the number of records (Z39.50-2003 §3.2.2.1.8, §3.2.3.1.7).
    fn counted(&self) -> Checked {
        let records = self.records().len();
        let wanted = format!("numberOfRecordsReturned {records}, as many as records came");
        want(
            usize::try_from(self.returned()) == Ok(records),
            wanted,
            || self.summary(),
        )
    }

    /// Fails unless exactly this many records were returned, and the numbers in the answer are consistent.
    fn has_records(&self, number: i64) -> Checked {
        let wanted = match number {
            0 => "no records".to_owned(),
            _ => counted(number, "record"),
        };
        let came = i64::try_from(self.records().len());
        want(came == Ok(number), wanted, || self.summary())?;
        self.counted()
    }

    /// Returns the first record. Fails if there is no record, or if the first one is a surrogate diagnostic.
    fn first_record(&self) -> Checked<&External> {
        match self.records().first().map(|first| &first.record) {
            Some(Record::RetrievalRecord(external)) => Ok(external),
            _ => Err(Verdict::fail("a record", self.summary())),
        }
    }

    /// Returns the surrogate diagnostics.
    fn surrogates(&self) -> Vec<DefaultDiagFormat> {
        let found = self.records().iter().filter_map(|one| match &one.record {
            Record::SurrogateDiagnostic(diagnostic) => Some(diagnostic.clone()),
            _ => None,
        });
        in_default_format(&found.collect::<Vec<_>>())
    }

    /// Returns all surrogate and non-surrogate diagnostics.
    fn all_diagnostics(&self) -> Vec<DefaultDiagFormat> {
        [self.surrogates(), self.diagnostics()].concat()
    }
}

impl WithRecords for SearchResponse {
    fn returned(&self) -> i64 {
        self.number_of_records_returned
    }

    fn records(&self) -> &[NamePlusRecord] {
        listed(self.records.as_ref())
    }
}

impl WithRecords for PresentResponse {
    fn returned(&self) -> i64 {
        self.number_of_records_returned
    }

    fn records(&self) -> &[NamePlusRecord] {
        listed(self.records.as_ref())
    }
}

fn listed(records: Option<&Records>) -> &[NamePlusRecord] {
    match records {
        Some(Records::ResponseRecords(records)) => records,
        _ => &[],
    }
}
