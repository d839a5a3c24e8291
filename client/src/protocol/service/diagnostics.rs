//! The diagnostics in a response, wherever they may be: instead of all records, in place of a single record, or in
//! format diag-1 in the additional information (Z39.50-2003 §3.2.2.1.8, §3.2.3.1.6, Appendix DIAG.2).

use z3950_asn1::apdu::{
    DiagRec, ExternalValue, Information, OtherInformation, OtherInformationUnit,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::diag1::DiagnosticFormat;

use super::ResultRecord;
use crate::error::Diagnostics;

/// The Bib-1 conditions that a request in another record syntax may avoid.
pub(crate) const OF_SYNTAX: [i64; 3] = [227, 238, 239];

/// The Bib-1 conditions that a request with another element set may avoid.
const OF_ELEMENT_SET: [i64; 2] = [
    Condition::ELEMENT_SET_NAME.0,
    Condition::GENERIC_ELEMENT_SET_NAME_ONLY.0,
];

/// Returns whether a diagnostic concerns the requested record form, so that a Present in the same form would fail
/// again.
pub(crate) fn is_of_form(diagnostic: &DiagRec) -> bool {
    is_one_of(diagnostic, &OF_SYNTAX) || is_one_of(diagnostic, &OF_ELEMENT_SET)
}

/// Returns whether a diagnostic has one of these conditions.
pub(crate) fn is_one_of(diagnostic: &DiagRec, conditions: &[i64]) -> bool {
    match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => conditions.contains(&diagnostic.condition),
        DiagRec::ExternallyDefined(_) => false,
    }
}

/// Adds diagnostics to the additional information of a response that has no other place for them.
pub(crate) fn inform(
    information: &mut Option<OtherInformation>,
    diagnostics: impl IntoIterator<Item = DiagRec>,
) {
    let information = information.get_or_insert_default();
    for diagnostic in diagnostics {
        let external = match diagnostic {
            DiagRec::DefaultFormat(diagnostic) => DiagnosticFormat::of(diagnostic).to_external(),
            DiagRec::ExternallyDefined(external) => Ok(external),
        };
        // Encoding cannot fail, because the value was decoded before.
        information
            .0
            .extend(external.ok().map(|external| OtherInformationUnit {
                category: None,
                information: Information::ExternallyDefinedInfo(external),
            }));
    }
}

/// Adds the diagnostics contained in additional information to `diagnostics`, without duplicates.
pub(super) fn with_information(
    mut diagnostics: Diagnostics,
    information: Option<&OtherInformation>,
) -> Diagnostics {
    let units = information
        .into_iter()
        .flat_map(|information| &information.0);
    for unit in units {
        if let Information::ExternallyDefinedInfo(external) = &unit.information
            && let Ok(format) = DiagnosticFormat::from_external(external)
        {
            let own = format.default_diagnostics().cloned();
            diagnostics.extend(own.map(DiagRec::DefaultFormat));
            if format.has_explicit() {
                // An explicit diagnostic is not in the default format, so it is added as it was received.
                diagnostics.extend([DiagRec::ExternallyDefined(external.clone())]);
            }
        }
    }
    diagnostics
}

/// Returns the reasons why a request failed: the diagnostics in the response, or if there are none, the diagnostics in
/// place of records.
pub(super) fn of_failure(diagnostics: Diagnostics, records: Vec<ResultRecord>) -> Diagnostics {
    if !diagnostics.is_empty() {
        return diagnostics;
    }
    let surrogates = records.into_iter().filter_map(|record| match record {
        ResultRecord::Diagnostic { diagnostic, .. } => Some(diagnostic),
        ResultRecord::Record { .. } => None,
    });
    Diagnostics(surrogates.collect())
}

/// Returns whether the diagnostics are a refusal. Diagnostic 13 alone is not: it only says that there is no record to
/// send, for example because nothing was found.
pub(super) fn is_refusal(diagnostics: &Diagnostics) -> bool {
    diagnostics.0.iter().any(|diagnostic| match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => diagnostic.condition != Condition::OUT_OF_RANGE.0,
        DiagRec::ExternallyDefined(_) => true,
    })
}
