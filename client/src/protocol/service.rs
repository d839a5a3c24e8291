//! The services of Z39.50-2003 §3.2, with a file for each. Each service takes options and returns the server's answer.
//! This module itself contains the records in responses (§3.2.2.1.8, §3.2.3.1.6).

pub mod access;
pub mod delete;
pub(crate) mod diagnostics;
pub mod duplicate;
pub mod explain;
pub mod extended;
pub mod init;
pub mod present;
pub mod resource;
pub mod scan;
pub mod search;
pub mod sort;

use std::fmt;
use std::future::ready;

use z3950_asn1::apdu::{DiagRec, External, NamePlusRecord, OtherInformation, Record, Records};
use z3950_asn1::oid::Oid;
use z3950_asn1::sru::{RecordSource, RecordSources};
use z3950_asn1::types::InternationalString;

use crate::error::{Diagnostics, ProtocolFault};
use crate::transport::connect::BoxFuture;

/// The name of the default result set, which every server supports (Z39.50-2003 §3.2.2.1.4).
pub const DEFAULT_RESULT_SET: &str = "default";

/// A record, or the diagnostic in its place, at one position of a result set.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultRecord {
    /// A record. [`RetrievedRecord`](z3950_asn1::record::RetrievedRecord) decodes it according to its syntax.
    Record {
        /// The database that contains the record, if the server names it.
        database: Option<InternationalString>,
        /// The record, in an EXTERNAL that states its record syntax.
        external: External,
        /// The form in which the record was sent, if it differs from the requested form.
        substitute: Option<Box<SubstituteForm>>,
        /// The databases that contain the record, if the server reports that it was merged from several records.
        sources: Vec<RecordSource>,
    },
    /// A surrogate diagnostic, which states why the record is not available.
    Diagnostic {
        /// The database that contains the record, if the server names it.
        database: Option<InternationalString>,
        /// The reason why the record is not available.
        diagnostic: DiagRec,
    },
}

/// The form in which a record was sent, because it was too large or empty in the requested form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubstituteForm {
    /// The record was sent in this element set.
    ElementSet(InternationalString),
    /// The record was sent in this record syntax. `None` means the syntax that the server chose.
    Syntax(Option<Oid>),
}

impl SubstituteForm {
    /// Returns whether the form may lack fields of the record. This is true for every element set except `F`, the full
    /// record.
    pub fn is_reduced(&self) -> bool {
        matches!(self, Self::ElementSet(name) if !name.as_bytes().eq_ignore_ascii_case(b"F"))
    }

    /// Returns the element set, or `None` if the substitute form is a record syntax.
    pub fn element_set(&self) -> Option<&InternationalString> {
        match self {
            Self::ElementSet(name) => Some(name),
            Self::Syntax(_) => None,
        }
    }
}

impl fmt::Display for SubstituteForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ElementSet(name) => match name.to_string_lossy() {
                name if name.eq_ignore_ascii_case("B") => write!(f, "brief form ({name})"),
                name if name.eq_ignore_ascii_case("F") => write!(f, "full form ({name})"),
                name => write!(f, "element set {name}"),
            },
            Self::Syntax(Some(oid)) => write!(f, "record syntax {oid:?}"),
            Self::Syntax(None) => f.write_str("a record syntax of the server's choice"),
        }
    }
}

/// A handler for the questions that a server asks during an operation, for access control or resource control.
///
/// A closure that takes a question and returns the answer, without awaiting anything, is a handler too.
pub trait Handler<Q, A>: Send + Sync {
    /// Answers a question.
    ///
    /// The answer timeout of the operation restarts when this method has returned the answer. Until then, only
    /// [`Timeouts::deadline`](crate::Timeouts::deadline) applies.
    fn answer(&self, question: Q) -> BoxFuture<'_, A>;
}

impl<Q, A> fmt::Debug for dyn Handler<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl<Q, A: Send + 'static, F: Fn(Q) -> A + Send + Sync> Handler<Q, A> for F {
    fn answer(&self, question: Q) -> BoxFuture<'_, A> {
        Box::pin(ready(self(question)))
    }
}

/// Separates records from non-surrogate diagnostics. A response contains only one of the two. The driver has already
/// joined or removed fragments. The sources of records in the response are stored with the records.
fn separate(
    records: Option<Records>,
    information: Option<&OtherInformation>,
) -> (Vec<ResultRecord>, Diagnostics) {
    match records {
        None => Default::default(),
        Some(Records::ResponseRecords(records)) => {
            let mut records: Vec<ResultRecord> =
                records.into_iter().filter_map(result_record).collect();
            for named in information.into_iter().flat_map(RecordSources::all) {
                let number = named.record.and_then(|number| number.checked_sub(1));
                let number = number.and_then(|number| usize::try_from(number).ok());
                let record = number.and_then(|number| records.get_mut(number));
                if let Some(ResultRecord::Record { sources, .. }) = record {
                    *sources = named.sources;
                }
            }
            (records, Diagnostics::default())
        }
        Some(Records::NonSurrogateDiagnostic(diagnostic)) => {
            (Vec::new(), DiagRec::DefaultFormat(diagnostic).into())
        }
        Some(Records::MultipleNonSurDiagnostics(diagnostics)) => {
            (Vec::new(), Diagnostics(diagnostics))
        }
    }
}

fn result_record(named: NamePlusRecord) -> Option<ResultRecord> {
    let database = named.name.map(|name| name.0);
    match named.record {
        Record::RetrievalRecord(external) => Some(ResultRecord::Record {
            database,
            external,
            substitute: None,
            sources: Vec::new(),
        }),
        Record::SurrogateDiagnostic(diagnostic) => Some(ResultRecord::Diagnostic {
            database,
            diagnostic,
        }),
        Record::StartingFragment(_)
        | Record::IntermediateFragment(_)
        | Record::FinalFragment(_) => None,
    }
}

/// Counts the records, and checks that their number is `numberOfRecordsReturned`. Non-surrogate diagnostics do not
/// count as records, although some servers include them in that number.
pub(super) fn count(records: Option<&Records>, announced: i64) -> Result<usize, ProtocolFault> {
    if announced < 0 {
        let words = format!("numberOfRecordsReturned is {announced}");
        return Err(ProtocolFault::Count(words.into()));
    }
    let came = match records {
        Some(Records::ResponseRecords(records)) => {
            let is_whole = |record: &Record| {
                matches!(
                    record,
                    Record::RetrievalRecord(_) | Record::SurrogateDiagnostic(_)
                )
            };
            if !records.iter().all(|named| is_whole(&named.record)) {
                return Err(ProtocolFault::Fragment);
            }
            records.len()
        }
        Some(Records::NonSurrogateDiagnostic(_) | Records::MultipleNonSurDiagnostics(_)) => {
            return Ok(0);
        }
        None => 0,
    };
    match usize::try_from(announced) {
        Ok(announced) if announced == came => Ok(came),
        _ => Err(miscounted(announced, came)),
    }
}

/// Returns the fault for a response whose number of records differs from the stated number.
pub(super) fn miscounted(announced: i64, came: usize) -> ProtocolFault {
    let words = format!("numberOfRecordsReturned is {announced}, but {came} records came");
    ProtocolFault::Count(words.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::apdu::{DefaultDiagFormat, FragmentSyntax};
    use z3950_asn1::oid;

    fn named(record: Record) -> NamePlusRecord {
        NamePlusRecord { name: None, record }
    }

    fn record() -> NamePlusRecord {
        named(Record::RetrievalRecord(External::octet_aligned(
            oid::USMARC,
            "x",
        )))
    }

    #[test]
    fn announced_and_received_counts_must_agree() {
        let diagnostic = DefaultDiagFormat::bib1(14, "");
        let surrogate = named(Record::SurrogateDiagnostic(DiagRec::DefaultFormat(
            diagnostic.clone(),
        )));
        let fragment = named(Record::StartingFragment(
            FragmentSyntax::NotExternallyTagged("x".into()),
        ));
        let miscounted = |announced, came| Err(miscounted(announced, came));
        for (records, announced, expected) in [
            (None, 0, Ok(0)),
            (None, 1, miscounted(1, 0)),
            (
                None,
                -1,
                Err(ProtocolFault::Count("numberOfRecordsReturned is -1".into())),
            ),
            (Some(Records::ResponseRecords(vec![])), 0, Ok(0)),
            (
                Some(Records::ResponseRecords(vec![record(), surrogate])),
                2,
                Ok(2),
            ),
            (
                Some(Records::ResponseRecords(vec![record()])),
                0,
                miscounted(0, 1),
            ),
            (
                Some(Records::ResponseRecords(vec![record()])),
                i64::MAX,
                miscounted(i64::MAX, 1),
            ),
            (
                Some(Records::ResponseRecords(vec![fragment])),
                1,
                Err(ProtocolFault::Fragment),
            ),
            (
                Some(Records::NonSurrogateDiagnostic(diagnostic.clone())),
                0,
                Ok(0),
            ),
            (Some(Records::NonSurrogateDiagnostic(diagnostic)), 1, Ok(0)),
            (Some(Records::MultipleNonSurDiagnostics(vec![])), 0, Ok(0)),
        ] {
            assert_eq!(count(records.as_ref(), announced), expected);
        }
    }
}
