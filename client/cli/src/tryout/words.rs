//! Explains each APDU in one sentence, and names the section of Z39.50-2003 that describes it.

use z3950::Record;
use z3950_asn1::apdu::{
    Apdu, AttributeValue, AttributesPlusTerm, Close, DatabaseName, ElementSetNames,
    InitializeRequest, InitializeResponse, NamePlusRecord, Operand, Options, PresentRequest,
    PresentResponse, Query, Record as ResponseRecord, RecordComposition, Records, RpnStructure,
    SearchRequest, SearchResponse,
};
use z3950_asn1::bib1::attributes::{USE, USE_DOC_ID, type_name};
use z3950_asn1::codec;
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use crate::render::{counted, listed, query, shown, term, text_of};

/// The maximum number of options that are named. Further options are only counted.
const NAMED_OPTIONS: usize = 2;

/// The explanation of an APDU.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    pub(super) name: &'static str,
    /// The section of Z39.50-2003 that describes the APDU.
    pub(super) section: &'static str,
    /// The explanation, on one line and without control characters.
    pub(super) words: String,
}

/// Returns the explanation of the APDU in these octets. The octets are empty if the APDU was too large to record.
pub(super) fn of(octets: &[u8]) -> Said {
    match codec::decode(octets) {
        Ok(apdu) => of_apdu(&apdu),
        Err(error) => Said {
            name: "Octets",
            section: "§4.1",
            words: one_line(&format!("Not shown here: {error}.")),
        },
    }
}

fn of_apdu(apdu: &Apdu) -> Said {
    let (name, section, words) = match apdu {
        Apdu::InitializeRequest(request) => ("Init request", "§3.2.1", init_request(request)),
        Apdu::InitializeResponse(response) => ("Init response", "§3.2.1", init_response(response)),
        Apdu::SearchRequest(request) => ("Search request", "§3.2.2", search_request(request)),
        Apdu::SearchResponse(response) => ("Search response", "§3.2.2", search_response(response)),
        Apdu::PresentRequest(request) => ("Present request", "§3.2.3", present_request(request)),
        Apdu::PresentResponse(response) => {
            ("Present response", "§3.2.3", present_response(response))
        }
        Apdu::Close(close) => ("Close", "§3.2.11", closed(close)),
        other => (
            other.name(),
            "§3.2",
            "It belongs to another service.".to_owned(),
        ),
    };
    Said {
        name,
        section,
        words: one_line(&words),
    }
}

/// Returns text without characters that could break or overwrite a line.
fn one_line(words: &str) -> String {
    shown(words.as_bytes())
}

fn init_request(request: &InitializeRequest) -> String {
    let versions = match request.protocol_version.highest() {
        Some(1) | None => "version 1".to_owned(),
        Some(highest) => format!("versions 1 to {highest}"),
    };
    let with = match &request.id_authentication {
        Some(_) => ", with credentials",
        None => "",
    };
    format!("Offers {versions}, {}{with}.", options(request.options))
}

fn init_response(response: &InitializeResponse) -> String {
    if !response.result {
        return "Refuses the session.".to_owned();
    }
    let version = response.protocol_version.highest().unwrap_or(1);
    let names = [
        &response.implementation_name,
        &response.implementation_version,
    ];
    let names: Vec<String> = names.into_iter().flatten().map(text_of).collect();
    let server = match names.join(" ") {
        name if name.is_empty() => name,
        name => format!(" The server is {name}."),
    };
    let options = options(response.options);
    format!("Accepts version {version}, {options}.{server}")
}

/// Returns a phrase with the names of the first options and the number of the others.
fn options(options: Options) -> String {
    let names: Vec<&str> = options.names().collect();
    let (first, others) = names.split_at(names.len().min(NAMED_OPTIONS));
    match (first, others.len()) {
        ([], _) => "no options".to_owned(),
        (_, 0) => first.join(" and "),
        (_, others) => format!(
            "{} and {}",
            first.join(", "),
            counted(others as i128, "more option")
        ),
    }
}

fn search_request(request: &SearchRequest) -> String {
    let databases: Vec<String> = request.database_names.iter().map(database).collect();
    let mut parts = vec![listed(&databases), asked(&request.query)];
    parts.extend(
        request
            .small_set_element_set_names
            .as_ref()
            .map(element_set),
    );
    parts.extend(request.preferred_record_syntax.map(syntax));
    let (small, some) = (
        request.small_set_upper_bound,
        request.medium_set_present_number,
    );
    let has_medium = request.large_set_lower_bound > small.saturating_add(1);
    let records = if some > 0 && has_medium {
        format!("Up to {} come with the answer.", counted(some, "record"))
    } else if small > 1 {
        format!("If at most {small} match, they come with the answer.")
    } else if small == 1 {
        "If one record matches, it comes with the answer.".to_owned()
    } else {
        "No record comes with the answer.".to_owned()
    };
    format!("Asks for {}. {records}", parts.join(", "))
}

fn database(name: &DatabaseName) -> String {
    text_of(&name.0)
}

/// Describes a query. A single term is shown with the names of its attribute types; any other query is shown in PQF.
fn asked(asked: &Query) -> String {
    let (Query::Type1(rpn) | Query::Type101(rpn)) = asked else {
        return query(asked);
    };
    match &rpn.rpn {
        RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => single_term(operand),
        _ => format!("query {}", query(asked)),
    }
}

fn single_term(operand: &AttributesPlusTerm) -> String {
    let mut what = "term";
    let mut attributes = Vec::new();
    for attribute in &operand.attributes {
        let AttributeValue::Numeric(value) = attribute.attribute_value else {
            continue;
        };
        if (attribute.attribute_type, value) == (USE, USE_DOC_ID) {
            what = "docid";
        }
        attributes.push(match type_name(attribute.attribute_type) {
            Some(name) => format!("{name} {value}"),
            None => format!("type {} {value}", attribute.attribute_type),
        });
    }
    let text = term(&operand.term);
    if attributes.is_empty() {
        format!("{what} {text}")
    } else {
        format!("{what} {text} ({})", attributes.join(", "))
    }
}

fn element_set(names: &ElementSetNames) -> String {
    match names {
        ElementSetNames::GenericElementSetName(name) => format!("element set {}", text_of(name)),
        ElementSetNames::DatabaseSpecific(_) => "an element set for each database".to_owned(),
    }
}

fn syntax(syntax: Oid) -> String {
    format!("record syntax {}", name_of(syntax))
}

fn name_of(oid: Oid) -> String {
    oid.name().map_or_else(|| oid.to_string(), str::to_owned)
}

fn search_response(response: &SearchResponse) -> String {
    let contents = contents(response.records.as_ref());
    if !response.search_status {
        return match contents {
            Contents::Diagnostics(why) => format!("Refuses: {why}."),
            _ => "Refuses.".to_owned(),
        };
    }
    let hits = match u64::try_from(response.result_count) {
        Ok(0) => "no record".to_owned(),
        Ok(hits) => counted(hits, "record"),
        Err(_) => "an unknown number of records".to_owned(),
    };
    match contents {
        Contents::Nothing => format!("Finds {hits}."),
        Contents::Records(records) => format!("Finds {hits} and brings {records}."),
        Contents::Diagnostics(why) => format!("Finds {hits}, but brings none: {why}."),
    }
}

fn present_request(request: &PresentRequest) -> String {
    let first = request.result_set_start_point;
    let last = first.saturating_add(request.number_of_records_requested.saturating_sub(1));
    let positions = if last > first {
        format!("records {first} to {last}")
    } else {
        format!("record {first}")
    };
    let set = text_of(&request.result_set_id.0);
    let mut parts = vec![format!("{positions} of result set {set}")];
    if let Some(RecordComposition::Simple(names)) = &*request.record_composition {
        parts.push(element_set(names));
    }
    parts.extend(request.preferred_record_syntax.map(syntax));
    format!("Asks for {}.", parts.join(", "))
}

fn present_response(response: &PresentResponse) -> String {
    match contents(response.records.as_ref()) {
        Contents::Nothing => format!("Brings no record; status: {}.", response.present_status),
        Contents::Records(records) => format!("Brings {records}."),
        Contents::Diagnostics(why) => format!("Refuses: {why}."),
    }
}

/// The contents of a response, apart from its counts.
enum Contents {
    Nothing,
    Records(String),
    Diagnostics(String),
}

fn contents(records: Option<&Records>) -> Contents {
    match records {
        None => Contents::Nothing,
        Some(Records::ResponseRecords(records)) => match records.as_slice() {
            [] => Contents::Nothing,
            [one] => Contents::Records(record(one)),
            [first, others @ ..] => {
                let others = counted(others.len() as i128, "more record");
                Contents::Records(format!("{}, and {others}", record(first)))
            }
        },
        Some(Records::NonSurrogateDiagnostic(diagnostic)) => {
            Contents::Diagnostics(diagnostic.to_string())
        }
        Some(Records::MultipleNonSurDiagnostics(diagnostics)) => {
            let diagnostics = diagnostics.iter().map(ToString::to_string);
            Contents::Diagnostics(diagnostics.collect::<Vec<_>>().join("; "))
        }
    }
}

fn record(came: &NamePlusRecord) -> String {
    match &came.record {
        ResponseRecord::RetrievalRecord(external) => {
            let record = Record::new(external.clone(), None);
            let size = counted(record.octets().len() as i128, "octet");
            let form = match record.syntax() {
                Some(syntax) => format!("{}, {size}", name_of(syntax)),
                None => size,
            };
            match record.title() {
                Some(title) => format!("“{title}” ({form})"),
                None => format!("a record ({form})"),
            }
        }
        ResponseRecord::SurrogateDiagnostic(diagnostic) => {
            format!("{diagnostic} instead of a record")
        }
        _ => "a part of a record".to_owned(),
    }
}

fn closed(close: &Close) -> String {
    let why = close
        .diagnostic_information
        .as_ref()
        .map(|text: &InternationalString| format!(" ({})", text_of(text)));
    format!(
        "Ends the session; reason: {}{}.",
        close.close_reason,
        why.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use z3950::service::init::{id_pass, offer};
    use z3950::service::search::SearchOptions;
    use z3950_asn1::apdu::{DefaultDiagFormat, DiagRec, External, PresentStatus, RpnQuery};
    use z3950_asn1::oid::SUTRS;

    use super::*;

    fn came(record: ResponseRecord) -> NamePlusRecord {
        NamePlusRecord { name: None, record }
    }

    fn text(text: &str) -> NamePlusRecord {
        let octets = text.as_bytes().to_vec();
        came(ResponseRecord::RetrievalRecord(External::octet_aligned(
            SUTRS, octets,
        )))
    }

    fn found(count: i64, records: Option<Records>) -> Apdu {
        SearchResponse {
            result_count: count,
            search_status: true,
            records: records.into(),
            ..SearchResponse::default()
        }
        .into()
    }

    #[test]
    fn apdus_are_described_in_words() {
        let diagnostic = || DefaultDiagFormat::bib1(14, "a\nb");
        let surrogate = ResponseRecord::SurrogateDiagnostic(DiagRec::DefaultFormat(diagnostic()));
        let refused = Records::NonSurrogateDiagnostic(diagnostic());
        let many = || Records::ResponseRecords(vec![text("one"), text("two"), text("three")]);
        let mut init = offer();
        init.id_authentication = Some(id_pass(Some("ann"), None, Some("geheim")));
        init.options = Options::SEARCH | Options::PRESENT;
        let rejected = InitializeResponse::default();
        let close = Close::new(
            z3950_asn1::apdu::CloseReason::SHUTDOWN,
            Some("back\r\nsoon"),
        );
        for (apdu, expected) in [
            (
                init.into(),
                "Offers versions 1 to 3, search and present, with credentials.",
            ),
            (rejected.into(), "Refuses the session."),
            (found(0, None), "Finds no record."),
            (found(-1, None), "Finds an unknown number of records."),
            (found(17, None), "Finds 17 records."),
            (
                found(17, Some(many())),
                "Finds 17 records and brings a record (sutrs, 3 octets), and 2 more records.",
            ),
            (
                found(1, Some(Records::ResponseRecords(vec![came(surrogate)]))),
                "Finds 1 record and brings diagnostic 14",
            ),
            (
                found(1, Some(refused.clone())),
                "Finds 1 record, but brings none: diagnostic 14",
            ),
            (
                SearchResponse {
                    records: Some(refused.clone()).into(),
                    ..SearchResponse::default()
                }
                .into(),
                "Refuses: diagnostic 14",
            ),
            (
                PresentRequest {
                    result_set_id: "a\tb".into(),
                    result_set_start_point: 3,
                    number_of_records_requested: 2,
                    ..PresentRequest::default()
                }
                .into(),
                "Asks for records 3 to 4 of result set a\\x09b.",
            ),
            (
                PresentResponse {
                    present_status: PresentStatus::FAILURE,
                    ..PresentResponse::default()
                }
                .into(),
                "Brings no record; status: failure.",
            ),
            (
                close.into(),
                "Ends the session; reason: shutdown (back\\x0d\\x0asoon).",
            ),
        ] {
            let octets = codec::encode(&apdu).expect("encodes");
            let said = of(&octets);
            assert!(said.words.starts_with(expected), "{expected}: {said:?}");
            assert!(said.section.starts_with("§3.2."), "{said:?}");
            assert!(!said.words.contains(char::is_control), "{said:?}");
            assert!(!said.words.contains("geheim"), "{said:?}");
        }
        let unread = of(b"\xb4");
        assert_eq!((unread.name, unread.section), ("Octets", "§4.1"));
    }

    /// Tests that the explanation of a search includes its bounds, which control how many records come with the
    /// response (Z39.50-2003 §3.2.2.1.6).
    #[test]
    fn the_bounds_of_a_search_are_described() {
        for ((small, large, medium), expected) in [
            ((0, 1, 0), "No record comes with the answer."),
            (
                (1, 2, 0),
                "If one record matches, it comes with the answer.",
            ),
            ((5, 6, 0), "If at most 5 match, they come with the answer."),
            ((1, 1000, 10), "Up to 10 records come with the answer."),
            ((0, 1000, 10), "Up to 10 records come with the answer."),
            ((0, 1, 10), "No record comes with the answer."),
        ] {
            let mut options = SearchOptions::default();
            options.databases = ["books", "maps"].map(DatabaseName::from).to_vec();
            options.small_set_upper_bound = small;
            options.large_set_lower_bound = large;
            options.medium_set_present_number = medium;
            let query: RpnQuery = "@attr 1=4 \"a b\"".parse().expect("PQF");
            let request = options.request(Query::Type1(query));
            let words = of_apdu(&request.into()).words;
            let asked = "Asks for databases \"books\", \"maps\", term a b (Use 4). ";
            assert_eq!(words, format!("{asked}{expected}"));
        }
    }
}
