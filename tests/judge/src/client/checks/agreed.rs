//! Rules about what was agreed on at Init: services, versions and sizes (Z39.50-2003 §3.2.1.1, §4.1).

use z3950_asn1::apdu::{
    Apdu, AttributeElement, AttributeValue, Operand, Options, PresentRequest, Query,
    RecordComposition, RpnQuery, Term,
};

use super::Judged;
use crate::client::rules::RuleId;

/// The only result set name that is allowed if the option namedResultSets is not in force.
const DEFAULT: &[u8] = b"default";

impl Judged<'_> {
    /// Checks the rules that apply to all requests.
    pub(super) fn agreed(&mut self) {
        let name = self.request.name();
        let is_of_client = self.request.is_of_client();
        self.mark(RuleId::ApduOfClient, is_of_client, || name.to_owned());
        if self.known.version == 0 || !is_of_client {
            return;
        }
        let granted = self.known.granted;
        if let Some(option) = option(self.request) {
            self.mark(RuleId::OptionsGranted, granted.contains(option), || {
                let names: Vec<&str> = option.names().collect();
                format!("{name} without the option {}", names.join(" "))
            });
        }
        let size = i64::try_from(self.message.octets.len()).unwrap_or(i64::MAX);
        let most = self.known.message_size;
        if most > 0 {
            self.mark(RuleId::ApduSize, size <= most, || {
                format!("{size} octets, where {most} were agreed on")
            });
        }
        if !granted.contains(Options::NAMED_RESULT_SETS) {
            let other = made(self.request).filter(|name| *name != DEFAULT);
            if made(self.request).is_some() {
                self.mark(RuleId::OptionsNamedSets, other.is_none(), || {
                    let name = String::from_utf8_lossy(other.unwrap_or_default());
                    format!("a result set named {name}")
                });
            }
        }
        if self.known.version < 3 {
            let found = of_version_3(self.request);
            self.mark(RuleId::VersionValues, found.is_none(), || {
                found.unwrap_or_default().to_owned()
            });
        }
    }
}

/// Returns the option that must be in force for a request; `None` if no option is needed.
fn option(request: &Apdu) -> Option<Options> {
    Some(match request {
        Apdu::SearchRequest(_) => Options::SEARCH,
        Apdu::PresentRequest(_) => Options::PRESENT,
        Apdu::DeleteResultSetRequest(_) => Options::DELETE,
        Apdu::ResourceReportRequest(_) => Options::RESOURCE_REPORT,
        Apdu::TriggerResourceControlRequest(_) => Options::TRIGGER_RESOURCE_CONTROL,
        Apdu::ScanRequest(_) => Options::SCAN,
        Apdu::SortRequest(_) => Options::SORT,
        Apdu::ExtendedServicesRequest(_) => Options::EXTENDED_SERVICES,
        Apdu::DuplicateDetectionRequest(_) => Options::DUPLICATE_DETECTION,
        _ => return None,
    })
}

/// Returns the name of the result set that a request creates, or `None` if it does not create a result set.
fn made(request: &Apdu) -> Option<&[u8]> {
    match request {
        Apdu::SearchRequest(search) => Some(search.result_set_name.as_bytes()),
        Apdu::SortRequest(sort) => Some(sort.sorted_result_set_name.as_bytes()),
        _ => None,
    }
}

/// Returns the name of an element of the request that, according to comments in the ASN.1, exists only in version 3, or `None` if
/// there is no such element.
fn of_version_3(request: &Apdu) -> Option<&'static str> {
    match request {
        Apdu::SearchRequest(search) => match &search.query {
            Query::Type1(query) | Query::Type101(query) => in_query(query),
            _ => None,
        },
        Apdu::PresentRequest(present) => in_present(present),
        Apdu::ScanRequest(scan) => {
            let start = &scan.term_list_and_start_point;
            in_attributes(&start.attributes).or_else(|| in_term(&start.term))
        }
        _ => None,
    }
}

fn in_query(query: &RpnQuery) -> Option<&'static str> {
    query.rpn.operands().find_map(|operand| match operand {
        Operand::AttributesPlusTerm(term) => {
            in_attributes(&term.attributes).or_else(|| in_term(&term.term))
        }
        Operand::ResultAttr(_) => Some("a result set with attributes in the query"),
        Operand::ResultSet(_) => None,
    })
}

fn in_attributes(attributes: &[AttributeElement]) -> Option<&'static str> {
    attributes.iter().find_map(|attribute| {
        if attribute.attribute_set.is_some() {
            return Some("an attribute with an attribute set of its own");
        }
        let is_complex = matches!(attribute.attribute_value, AttributeValue::Complex(_));
        is_complex.then_some("an attribute whose value is no number")
    })
}

fn in_term(term: &Term) -> Option<&'static str> {
    let is_general = matches!(term, Term::General(_));
    (!is_general).then_some("a term that is not general")
}

fn in_present(present: &PresentRequest) -> Option<&'static str> {
    let is_complex = matches!(
        *present.record_composition,
        Some(RecordComposition::Complex(_))
    );
    let has_segments = present.max_segment_count.is_some()
        || present.max_segment_size.is_some()
        || present.max_record_size.is_some();
    [
        (present.additional_ranges.is_some(), "additionalRanges"),
        (is_complex, "a complex recordComposition"),
        (has_segments, "sizes or counts of segments"),
    ]
    .into_iter()
    .find_map(|(is_there, what)| is_there.then_some(what))
}
