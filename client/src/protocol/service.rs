//! The services of Z39.50-2003 §3.2, a file each: options in, the server's answer out; and records as responses carry them
//! (§3.2.2.1.8, §3.2.3.1.6).

pub mod access;
pub mod delete;
pub mod duplicate;
pub mod explain;
pub mod extended;
pub mod init;
pub mod present;
pub mod resource;
pub mod scan;
pub mod search;
pub mod sort;

use z3950_asn1::apdu::{DiagRec, External, NamePlusRecord, Record, Records};
use z3950_asn1::types::InternationalString;

use crate::error::Diagnostics;

/// The result set that needs no name (Z39.50-2003 §3.2.2.1.4).
pub const DEFAULT_RESULT_SET: &str = "default";

/// A record or the diagnostic in its place, at one position of a result set.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultRecord {
    /// A record; [`RetrievedRecord`](z3950_asn1::record::RetrievedRecord) sorts it by its syntax.
    Record {
        /// Its database, if the server says.
        database: Option<InternationalString>,
        /// The record in its syntax.
        external: External,
    },
    /// A surrogate diagnostic: why the record is not available.
    Diagnostic {
        /// Its database, if the server says.
        database: Option<InternationalString>,
        /// The reason.
        diagnostic: DiagRec,
    },
}

/// Separates records from non-surrogate diagnostics; one of the two is always empty. The driver lets no fragments through.
fn separate(records: Option<Records>) -> (Vec<ResultRecord>, Diagnostics) {
    match records {
        None => Default::default(),
        Some(Records::ResponseRecords(records)) => (
            records.into_iter().filter_map(result_record).collect(),
            Diagnostics::default(),
        ),
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
        Record::RetrievalRecord(external) => Some(ResultRecord::Record { database, external }),
        Record::SurrogateDiagnostic(diagnostic) => Some(ResultRecord::Diagnostic {
            database,
            diagnostic,
        }),
        Record::StartingFragment(_)
        | Record::IntermediateFragment(_)
        | Record::FinalFragment(_) => None,
    }
}
