//! Asks whether to continue an operation: resource control (Z39.50-2003 §3.2.6), with reports in the formats resource-1
//! and resource-2 (Appendix RSC).

use z3950::error::Phase;
use z3950::service::resource::{Decision, ResourceQuestion};
use z3950_asn1::apdu::{PartialResultsAvailable, StringOrNumeric};
use z3950_asn1::format::resource_report1::{self, EstimateType};
use z3950_asn1::format::resource_report2;
use z3950_asn1::types::InternationalString;

use super::Person;
use crate::render::{shown, text_of};

/// Asks whether to continue an operation and, if not, whether to keep its results. Without an answer, the operation is
/// stopped. If the server does not require an answer, the report is only shown.
pub(super) fn decision(question: &ResourceQuestion, person: &mut dyn Person) -> Decision {
    person.show_message(&in_words(question));
    if !question.request.response_required {
        return Decision::GO_ON;
    }
    let no = |text: &str| text.trim().to_ascii_lowercase().starts_with('n');
    match person.answers("go on? [Y/n]: ", false) {
        Some(text) if !no(&text) => return Decision::GO_ON,
        None => return Decision::STOP,
        Some(_) => {}
    }
    let has_some = question
        .request
        .partial_results_available
        .is_some_and(|available| available != PartialResultsAvailable::NONE);
    if question.phase != Phase::Search || !has_some {
        return Decision::STOP;
    }
    let kept = person.answers("keep what it has found? [Y/n]: ", false);
    Decision {
        result_set_wanted: Some(kept.is_some_and(|text| !no(&text))),
        ..Decision::STOP
    }
}

/// Describes what the server asks or reports.
pub(super) fn in_words(question: &ResourceQuestion) -> String {
    let operation = match question.phase {
        Phase::Idle => "the session".to_owned(),
        phase => phase.to_string(),
    };
    let report = report(question).unwrap_or_else(|| "its report cannot be read".into());
    if question.request.response_required {
        format!("the server asks whether to continue {operation}: {report}")
    } else {
        format!("the server reports on {operation}: {report}")
    }
}

/// Returns the server's message in a report, or the figures of the report if it has no message.
fn report(question: &ResourceQuestion) -> Option<String> {
    if let Some(report) = question.value::<resource_report1::ResourceReport>() {
        let figures = report
            .estimates
            .iter()
            .map(|one| format!("{} {}", one.r#type, one.value));
        return Some(said_or(&report.message, figures.collect()));
    }
    let report = question.value::<resource_report2::ResourceReport>()?;
    let figures = report.estimates.iter().flatten().map(|one| {
        let kind = match &one.r#type {
            StringOrNumeric::String(name) => text_of(name),
            StringOrNumeric::Numeric(number) => EstimateType(*number).to_string(),
        };
        format!("{kind} {}", one.value.value)
    });
    Some(said_or(
        &report.message.unwrap_or_default(),
        figures.collect(),
    ))
}

fn said_or(message: &InternationalString, figures: Vec<String>) -> String {
    match (message.as_bytes(), &*figures) {
        ([], []) => "nothing".into(),
        ([], figures) => figures.join(", "),
        (message, _) => shown(message),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Scripted;
    use super::*;
    use z3950_asn1::apdu::{External, ExternalValue, IntUnit, ResourceControlRequest, Unit};

    fn question(report: Option<External>, partial: PartialResultsAvailable) -> ResourceQuestion {
        let request = ResourceControlRequest {
            reference_id: None,
            suspended_flag: Some(true),
            resource_report: report,
            partial_results_available: Some(partial),
            response_required: true,
            triggered_request_flag: None,
            other_info: None,
        };
        ResourceQuestion::new(Phase::Search, request)
    }

    #[test]
    fn a_person_decides_whether_an_operation_goes_on() {
        let keep = Decision {
            result_set_wanted: Some(true),
            ..Decision::STOP
        };
        let [subset, none] = [
            PartialResultsAvailable::SUBSET,
            PartialResultsAvailable::NONE,
        ];
        for (partial, lines, expected) in [
            (subset, &["y"][..], Decision::GO_ON),
            (subset, &[""], Decision::GO_ON),
            (subset, &["No", "y"], keep),
            (subset, &["n", ""], keep),
            (subset, &["n", "n"], Decision::STOP),
            (subset, &["n"], Decision::STOP),
            (none, &["n"], Decision::STOP),
            (subset, &[], Decision::STOP),
        ] {
            let mut person = Scripted {
                lines: lines.to_vec(),
                seen: Vec::new(),
            };
            let asked = question(None, partial);
            assert_eq!(decision(&asked, &mut person), expected, "{lines:?}");
            assert_eq!(
                person.seen.first().map(String::as_str),
                Some("the server asks whether to continue Search: its report cannot be read")
            );
            assert_eq!(
                person.lines, [""; 0],
                "lines that were not asked for: {:?}",
                person.seen
            );
        }
    }

    #[test]
    fn reports_show_the_servers_message_or_figures() {
        let first = |message: &str, estimates: &[(EstimateType, i64)]| {
            let estimate = |&(r#type, value): &(EstimateType, i64)| resource_report1::Estimate {
                r#type,
                value,
                currency_code: None,
            };
            let report = resource_report1::ResourceReport {
                estimates: estimates.iter().map(estimate).collect(),
                message: message.into(),
            };
            report.to_external().expect("encodes")
        };
        let figures = [
            (EstimateType::FINAL_SEARCH_RECORDS, 5),
            (EstimateType::PERCENT_COMPLETE, 40),
        ];
        let second = resource_report2::ResourceReport {
            estimates: Some(vec![resource_report2::Estimate {
                r#type: StringOrNumeric::Numeric(2),
                value: IntUnit {
                    value: 5,
                    unit_used: Unit::default(),
                },
            }]),
            message: None,
        };
        for (report, words) in [
            (first("5 found\x1b", &figures), "5 found\\x1b"),
            (
                first("", &figures),
                "finalSearchRecords 5, percentComplete 40",
            ),
            (first("", &[]), "nothing"),
            (
                second.to_external().expect("encodes"),
                "finalSearchRecords 5",
            ),
        ] {
            let mut person = Scripted::default();
            let mut told = question(Some(report), PartialResultsAvailable::NONE);
            told.request.response_required = false;
            assert_eq!(decision(&told, &mut person), Decision::GO_ON);
            assert_eq!(
                person.seen,
                [format!("the server reports on Search: {words}")]
            );
        }
    }
}
