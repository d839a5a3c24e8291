//! Converts APDUs to JSON and to text, with the standard's names. Rarely used elements are left out.

mod text;

use serde_json::{Map, Value, json};
use z3950_marc::charset::utf8_or_latin1;

pub use self::text::to_text;
use crate::apdu::*;
use crate::codec::decode_value;
use crate::describe::Describe;
use crate::es::{TaskPackage, TaskParameters};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::spelling::standard_name;
use crate::types::{InternationalString, OctetString};

/// The version of the format of transcripts. Each line is a JSON object with the octets and the [value](to_json) of an
/// APDU. Programs refuse other versions; new members do not change the version.
pub const TRANSCRIPT_VERSION: u64 = 1;

/// Returns the elements of an APDU as a JSON object, in the standard's order. Secrets are redacted.
pub fn to_json(apdu: &Apdu) -> Value {
    let mut object = Map::new();
    put(&mut object, "reference_id", &apdu.reference_id());
    object.append(&mut elements(apdu));
    object.into()
}

/// Adds an element with its name in the standard, unless the element is absent.
fn put(object: &mut Map<String, Value>, name: &'static str, element: &impl ToJson) {
    match element.to_json() {
        Value::Null => {}
        value => drop(object.insert(standard_name(name).into_owned(), value)),
    }
}

/// Creates an object with the given fields of a value, followed by additional members.
macro_rules! object {
    ($($value:ident: $($field:ident),*)? $(; $name:literal: $element:expr)*) => {{
        let mut object = Map::new();
        $($(put(&mut object, stringify!($field), &$value.$field);)*)?
        $(put(&mut object, $name, &$element);)*
        object
    }};
}

#[rustfmt::skip]
fn elements(apdu: &Apdu) -> Map<String, Value> {
    match apdu {
        Apdu::InitializeRequest(init) => object!(
            init: protocol_version, options, preferred_message_size, exceptional_record_size, id_authentication,
            implementation_id, implementation_name, implementation_version
        ),
        Apdu::InitializeResponse(init) => object!(
            init: protocol_version, options, preferred_message_size, exceptional_record_size, result, implementation_id,
            implementation_name, implementation_version
        ),
        Apdu::SearchRequest(search) => object!(
            search: small_set_upper_bound, large_set_lower_bound, medium_set_present_number, replace_indicator,
            result_set_name, database_names, small_set_element_set_names, medium_set_element_set_names,
            preferred_record_syntax;
            "queryType": i64::from(search.query.type_number());
            "query": query_text(&search.query)
        ),
        Apdu::SearchResponse(search) => object!(
            search: result_count, number_of_records_returned, next_result_set_position, search_status, result_set_status,
            present_status, records
        ),
        Apdu::PresentRequest(present) => object!(
            present: result_set_id, result_set_start_point, number_of_records_requested, additional_ranges,
            record_composition, preferred_record_syntax, max_segment_count, max_record_size, max_segment_size
        ),
        Apdu::PresentResponse(present) => object!(
            present: number_of_records_returned, next_result_set_position, present_status, records
        ),
        Apdu::Segment(segment) => object!(segment: number_of_records_returned, segment_records),
        Apdu::DeleteResultSetRequest(delete) => object!(delete: delete_function, result_set_list),
        Apdu::DeleteResultSetResponse(delete) => object!(delete: delete_operation_status, delete_list_statuses),
        Apdu::ScanRequest(scan) => object!(
            scan: database_names, attribute_set, term_list_and_start_point, step_size, number_of_terms_requested,
            preferred_position_in_response
        ),
        Apdu::ScanResponse(scan) => object!(
            scan: scan_status, number_of_entries_returned, position_of_term;
            "entries": scan.entries.as_ref().map(|list| &list.entries);
            "nonsurrogateDiagnostics": scan.entries.as_ref().map(|list| &list.nonsurrogate_diagnostics)
        ),
        Apdu::SortRequest(sort) => object!(sort: input_result_set_names, sorted_result_set_name, sort_sequence),
        Apdu::SortResponse(sort) => object!(sort: sort_status, result_count, diagnostics),
        Apdu::AccessControlRequest(access) => match &access.security_challenge {
            SecurityChallenge::SimpleForm(challenge) => object!(; "simpleForm": challenge),
            SecurityChallenge::ExternallyDefined(_) => Map::new(),
        },
        Apdu::AccessControlResponse(access) => object!(access: security_challenge_response),
        Apdu::ResourceControlRequest(resource) => object!(
            resource: suspended_flag, response_required, triggered_request_flag
        ),
        Apdu::ResourceControlResponse(resource) => object!(resource: continue_flag, result_set_wanted),
        Apdu::TriggerResourceControlRequest(trigger) => object!(trigger: requested_action, result_set_wanted),
        Apdu::ResourceReportRequest(report) => object!(report: op_id),
        Apdu::ResourceReportResponse(report) => object!(report: resource_report_status),
        Apdu::ExtendedServicesRequest(extended) => object!(
            extended: function, package_type, package_name, user_id, description, wait_action;
            "taskSpecificParameters": extended.task_specific_parameters.as_ref().map(parameters)
        ),
        Apdu::ExtendedServicesResponse(extended) => object!(
            extended: operation_status, diagnostics;
            "taskPackage": extended.task_package.as_ref().map(package)
        ),
        Apdu::DuplicateDetectionRequest(duplicates) => object!(
            duplicates: input_result_set_ids, output_result_set_name
        ),
        Apdu::DuplicateDetectionResponse(duplicates) => object!(duplicates: status, result_set_count, diagnostics),
        Apdu::Close(close) => object!(close: close_reason, diagnostic_information),
    }
}

/// Returns a query as text: PQF, or the text written by the client.
fn query_text(query: &Query) -> Option<Value> {
    match query {
        Query::Type1(query) | Query::Type101(query) => Some(query.to_string().into()),
        Query::Type2(text) | Query::Type100(text) | Query::Type102(text) => Some(text.to_json()),
        Query::Type104(External { encoding, .. }) => match encoding {
            ExternalEncoding::OctetAligned(text) => Some(text.to_json()),
            ExternalEncoding::SingleAsn1Type(value) => {
                let text = decode_value::<InternationalString>(value.as_bytes());
                text.ok().map(|text| text.to_json())
            }
            ExternalEncoding::Arbitrary(_) => None,
        },
        Query::Type0(_) => None,
    }
}

/// Returns the parameters of a task (Z39.50-2003 Appendix EXT). If the service is unknown, returns only its identifier.
fn parameters(external: &External) -> Value {
    described(external, TaskParameters::from_external(external))
}

fn package(external: &External) -> Value {
    described(external, TaskPackage::from_external(external))
}

fn described<E>(external: &External, value: Result<impl Describe, E>) -> Value {
    match value {
        Ok(value) => value.describe().to_json(),
        Err(_) => json!({ "syntax": external.direct_reference.to_json() }),
    }
}

/// The text that replaces a secret.
const REDACTED: &str = "<redacted>";

/// An element that can be converted to JSON. An absent element is converted to null.
trait ToJson {
    fn to_json(&self) -> Value;
}

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }
}

impl<T: ToJson> ToJson for OptionalChoice<T> {
    fn to_json(&self) -> Value {
        self.0.to_json()
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Value {
        self.iter().map(T::to_json).collect()
    }
}

impl<T: ToJson> ToJson for &T {
    fn to_json(&self) -> Value {
        T::to_json(self)
    }
}

macro_rules! to_json {
    ($($($type:ty),+: $value:ident => $json:expr;)*) => {$($(
        impl ToJson for $type {
            fn to_json(&self) -> Value {
                let $value = self;
                $json
            }
        }
    )+)*};
}

to_json! {
    Value: value => value.clone();
    bool, i64: value => (*value).into();
    InternationalString: text => text.to_string_lossy().into();
    OctetString: octets => utf8_or_latin1(octets).into();
    ReferenceId, ResultSetId, DatabaseName, ElementSetName: name => name.0.to_json();
    // An object identifier is shown as its name or in dotted form.
    Oid: oid => oid.name().map_or_else(|| oid.to_string(), str::to_owned).into();
    CaseSensitivity, CloseReason, DeleteFunction, DeleteSetStatus, DuplicateDetectionStatus,
    ExtendedServicesFunction, OperationStatus, PresentStatus, RequestedAction, ResourceReportStatus, ResultSetStatus,
    ScanStatus, SortRelation, SortStatus, WaitAction: value => value.to_string().into();
    ProtocolVersion: versions => versions.0.positions().map(|position| position + 1).collect();
    Options: options => options.names().collect();
    IdAuthentication: authentication => match authentication {
        IdAuthentication::Anonymous => "anonymous".into(),
        _ => REDACTED.into(),
    };
    SecurityChallengeResponse: _response => REDACTED.into();
    ElementSetNames: names => match names {
        ElementSetNames::GenericElementSetName(name) => name.to_json(),
        ElementSetNames::DatabaseSpecific(names) => {
            by_database(names.iter().map(|name| (&name.db_name, name.esn.to_json())))
        }
    };
    Range: range => json!([range.starting_position, range.number_of_records]);
    RecordComposition: composition => match composition {
        RecordComposition::Simple(names) => names.to_json(),
        RecordComposition::Complex(complex) => {
            object!(complex: select_alternative_syntax, generic, record_syntax).into()
        }
    };
    Specification: specification => object!(
        specification: schema;
        "elementSetName": match &specification.element_spec {
            Some(ElementSpec::ElementSetName(name)) => Some(name),
            _ => None,
        }
    ).into();
    Schema: schema => match schema {
        Schema::Oid(schema) => schema.to_json(),
        Schema::Uri(uri) => uri.to_json(),
    };
    Records: records => match records {
        Records::ResponseRecords(records) => records.to_json(),
        Records::NonSurrogateDiagnostic(diagnostic) => json!({ "nonSurrogateDiagnostic": diagnostic.to_json() }),
        Records::MultipleNonSurDiagnostics(several) => json!({ "multipleNonSurDiagnostics": several.to_json() }),
    };
    NamePlusRecord: entry => {
        let mut object = object!(entry: name);
        match &entry.record {
            Record::RetrievalRecord(record) => {
                put(&mut object, "syntax", &record.direct_reference);
                if !matches!(record.encoding, ExternalEncoding::Arbitrary(_)) {
                    put(&mut object, "octets", &Value::from(record.octets().len()));
                }
            }
            Record::SurrogateDiagnostic(surrogate) => put(&mut object, "surrogateDiagnostic", surrogate),
            Record::StartingFragment(_) => put(&mut object, "fragment", &json!("starting")),
            Record::IntermediateFragment(_) => put(&mut object, "fragment", &json!("intermediate")),
            Record::FinalFragment(_) => put(&mut object, "fragment", &json!("final")),
        }
        object.into()
    };
    ListStatus: status => json!([status.id.to_json(), status.status.to_json()]);
    Entry: entry => match entry {
        Entry::TermInfo(info) => object!(info: term, display_term, global_occurrences).into(),
        Entry::SurrogateDiagnostic(surrogate) => json!({ "surrogateDiagnostic": surrogate.to_json() }),
    };
    Term: term => match term {
        Term::General(term) => term.to_json(),
        Term::CharacterString(term) => term.to_json(),
        Term::Numeric(term) => term.to_string().into(),
        other => AttributesPlusTerm { attributes: Vec::new(), term: other.clone() }.to_json(),
    };
    // An operand is shown in PQF.
    AttributesPlusTerm: operand => {
        let rpn = RpnStructure::Op(Operand::AttributesPlusTerm(operand.clone()));
        RpnQuery::bib1(rpn).to_string().into()
    };
    DiagRec: diagnostic => match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => diagnostic.to_json(),
        DiagRec::ExternallyDefined(external) => object!(; "format": external.direct_reference).into(),
    };
    DefaultDiagFormat: diagnostic => object!(
        diagnostic: diagnostic_set_id, condition;
        "addinfo": Value::from(diagnostic.addinfo.to_string_lossy());
        "message": diagnostic.message().map(Value::from)
    ).into();
    // A sort key is shown with its order and with the action for records that lack the key (Z39.50-2003 §3.2.7.1.4).
    SortKeySpec: key => object!(key: sort_element, sort_relation, case_sensitivity, missing_value_action).into();
    SortElement: element => match element {
        SortElement::Generic(key) => key.to_json(),
        SortElement::DatabaseSpecific(keys) => {
            by_database(keys.iter().map(|key| (&key.database_name, key.db_sort.to_json())))
        }
    };
    SortKey: key => match key {
        SortKey::SortField(name) => json!({ "sortField": name.to_json() }),
        SortKey::ElementSpec(_) => json!({ "elementSpec": {} }),
        SortKey::SortAttributes(by) => json!({ "sortAttributes": object!(by: id, list) }),
    };
    MissingValueAction: action => match action {
        MissingValueAction::Abort => json!("abort"),
        MissingValueAction::Null => json!("null"),
        MissingValueAction::MissingValueData(data) => json!({ "missingValueData": data.to_json() }),
    };
    AttributeList: list => list.0.to_json();
    // An attribute is shown in PQF.
    AttributeElement: attribute => {
        let value = match &attribute.attribute_value {
            AttributeValue::Numeric(value) => value.to_string(),
            AttributeValue::Complex(complex) => {
                let values = complex.list.iter().map(|value| match value {
                    StringOrNumeric::Numeric(value) => value.to_string(),
                    StringOrNumeric::String(value) => value.to_string_lossy().into_owned(),
                });
                values.collect::<Vec<_>>().join(",")
            }
        };
        let pair = format!("{}={value}", attribute.attribute_type);
        match attribute.attribute_set.to_json() {
            Value::String(set) => format!("{set} {pair}").into(),
            _ => pair.into(),
        }
    };
}

/// Returns an object that has a member for each database, with the name of the database.
fn by_database<'a>(values: impl Iterator<Item = (&'a DatabaseName, Value)>) -> Value {
    let named = values.map(|(name, value)| (name.0.to_string_lossy().into_owned(), value));
    Value::Object(named.collect())
}
