//! What an APDU says, as JSON and as text with the standard's names. Elements that are seldom sent stay in the octets alone.

mod parameters;
mod text;

use serde_json::{Map, Value, json};
use z3950_marc::charset::utf8_or_latin1;

pub use self::text::to_text;
use crate::apdu::*;
use crate::oid::Oid;

/// An object in the making, without the elements that are absent.
#[derive(Default)]
struct Object(Map<String, Value>);

impl Object {
    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn with_any(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object.0)
    }
}

/// The elements of an APDU as an object of JSON, in the order of the standard; secrets are left out.
pub fn to_json(apdu: &Apdu) -> Value {
    let reference_id = apdu.reference_id().map(|id| octets(&id.0));
    let object = Object::default().with_any("referenceId", reference_id);
    let object = match apdu {
        Apdu::InitializeRequest(init) => object
            .with("protocolVersion", versions(init.protocol_version))
            .with("options", options(init.options))
            .with("preferredMessageSize", init.preferred_message_size)
            .with("exceptionalRecordSize", init.exceptional_record_size)
            .with_any(
                "idAuthentication",
                init.id_authentication.as_ref().map(authentication),
            )
            .with_any("implementationId", text(&init.implementation_id))
            .with_any("implementationName", text(&init.implementation_name))
            .with_any("implementationVersion", text(&init.implementation_version)),
        Apdu::InitializeResponse(init) => object
            .with("protocolVersion", versions(init.protocol_version))
            .with("options", options(init.options))
            .with("preferredMessageSize", init.preferred_message_size)
            .with("exceptionalRecordSize", init.exceptional_record_size)
            .with("result", init.result)
            .with_any("implementationId", text(&init.implementation_id))
            .with_any("implementationName", text(&init.implementation_name))
            .with_any("implementationVersion", text(&init.implementation_version)),
        Apdu::SearchRequest(search) => object
            .with("smallSetUpperBound", search.small_set_upper_bound)
            .with("largeSetLowerBound", search.large_set_lower_bound)
            .with("mediumSetPresentNumber", search.medium_set_present_number)
            .with("replaceIndicator", search.replace_indicator)
            .with("resultSetName", &*search.result_set_name.to_string_lossy())
            .with("databaseNames", databases(&search.database_names))
            .with_any(
                "smallSetElementSetNames",
                search.small_set_element_set_names.as_ref().map(elements),
            )
            .with_any(
                "mediumSetElementSetNames",
                search.medium_set_element_set_names.as_ref().map(elements),
            )
            .with_any(
                "preferredRecordSyntax",
                search.preferred_record_syntax.map(oid),
            )
            .with("queryType", search.query.type_number())
            .with_any("query", query(&search.query)),
        Apdu::SearchResponse(search) => object
            .with("resultCount", search.result_count)
            .with("numberOfRecordsReturned", search.number_of_records_returned)
            .with("nextResultSetPosition", search.next_result_set_position)
            .with("searchStatus", search.search_status)
            .with_any(
                "resultSetStatus",
                search.result_set_status.map(|status| status.to_string()),
            )
            .with_any(
                "presentStatus",
                search.present_status.map(|status| status.to_string()),
            )
            .with_any("records", search.records.as_ref().map(records)),
        Apdu::PresentRequest(present) => object
            .with("resultSetId", &*present.result_set_id.0.to_string_lossy())
            .with("resultSetStartPoint", present.result_set_start_point)
            .with(
                "numberOfRecordsRequested",
                present.number_of_records_requested,
            )
            .with_any(
                "additionalRanges",
                present.additional_ranges.as_ref().map(|ranges| {
                    let range =
                        |range: &Range| json!([range.starting_position, range.number_of_records]);
                    ranges.iter().map(range).collect::<Value>()
                }),
            )
            .with_any(
                "recordComposition",
                present.record_composition.as_ref().map(composition),
            )
            .with_any(
                "preferredRecordSyntax",
                present.preferred_record_syntax.map(oid),
            )
            .with_any("maxSegmentCount", present.max_segment_count)
            .with_any("maxRecordSize", present.max_record_size)
            .with_any("maxSegmentSize", present.max_segment_size),
        Apdu::PresentResponse(present) => object
            .with(
                "numberOfRecordsReturned",
                present.number_of_records_returned,
            )
            .with("nextResultSetPosition", present.next_result_set_position)
            .with("presentStatus", present.present_status.to_string())
            .with_any("records", present.records.as_ref().map(records)),
        Apdu::Segment(segment) => object
            .with(
                "numberOfRecordsReturned",
                segment.number_of_records_returned,
            )
            .with(
                "segmentRecords",
                segment
                    .segment_records
                    .iter()
                    .map(record)
                    .collect::<Value>(),
            ),
        Apdu::DeleteResultSetRequest(delete) => object
            .with("deleteFunction", delete.delete_function.to_string())
            .with_any(
                "resultSetList",
                delete.result_set_list.as_ref().map(|list| {
                    list.iter()
                        .map(|set| set.0.to_string_lossy())
                        .collect::<Value>()
                }),
            ),
        Apdu::DeleteResultSetResponse(delete) => object
            .with(
                "deleteOperationStatus",
                delete.delete_operation_status.to_string(),
            )
            .with_any(
                "deleteListStatuses",
                delete.delete_list_statuses.as_ref().map(|list| {
                    let status = |status: &ListStatus| {
                        json!([status.id.0.to_string_lossy(), status.status.to_string()])
                    };
                    list.iter().map(status).collect::<Value>()
                }),
            ),
        Apdu::ScanRequest(scan) => object
            .with("databaseNames", databases(&scan.database_names))
            .with_any("attributeSet", scan.attribute_set.map(oid))
            .with(
                "termListAndStartPoint",
                operand(&scan.term_list_and_start_point),
            )
            .with_any("stepSize", scan.step_size)
            .with("numberOfTermsRequested", scan.number_of_terms_requested)
            .with_any(
                "preferredPositionInResponse",
                scan.preferred_position_in_response,
            ),
        Apdu::ScanResponse(scan) => object
            .with("scanStatus", scan.scan_status.to_string())
            .with("numberOfEntriesReturned", scan.number_of_entries_returned)
            .with_any("positionOfTerm", scan.position_of_term)
            .with_any(
                "entries",
                scan.entries
                    .as_ref()
                    .and_then(|list| list.entries.as_ref())
                    .map(|entries| entries.iter().map(entry).collect::<Value>()),
            )
            .with_any(
                "nonsurrogateDiagnostics",
                scan.entries
                    .as_ref()
                    .and_then(|list| list.nonsurrogate_diagnostics.as_ref())
                    .map(|several| diagnostics(several)),
            ),
        Apdu::SortRequest(sort) => object
            .with(
                "inputResultSetNames",
                sort.input_result_set_names
                    .iter()
                    .map(|name| name.to_string_lossy())
                    .collect::<Value>(),
            )
            .with(
                "sortedResultSetName",
                &*sort.sorted_result_set_name.to_string_lossy(),
            )
            .with(
                "sortSequence",
                sort.sort_sequence
                    .iter()
                    .map(parameters::sort_key)
                    .collect::<Value>(),
            ),
        Apdu::SortResponse(sort) => object
            .with("sortStatus", sort.sort_status.to_string())
            .with_any("resultCount", sort.result_count)
            .with_any(
                "diagnostics",
                sort.diagnostics
                    .as_ref()
                    .map(|several| diagnostics(several)),
            ),
        Apdu::AccessControlRequest(access) => object.with_any(
            "simpleForm",
            match &access.security_challenge {
                SecurityChallenge::SimpleForm(challenge) => Some(octets(challenge)),
                SecurityChallenge::ExternallyDefined(_) => None,
            },
        ),
        Apdu::AccessControlResponse(access) => object.with_any(
            "securityChallengeResponse",
            access
                .security_challenge_response
                .as_ref()
                .map(|_| REDACTED),
        ),
        Apdu::ResourceControlRequest(resource) => object
            .with_any("suspendedFlag", resource.suspended_flag)
            .with("responseRequired", resource.response_required)
            .with_any("triggeredRequestFlag", resource.triggered_request_flag),
        Apdu::ResourceControlResponse(resource) => object
            .with("continueFlag", resource.continue_flag)
            .with_any("resultSetWanted", resource.result_set_wanted),
        Apdu::TriggerResourceControlRequest(trigger) => object
            .with("requestedAction", trigger.requested_action.to_string())
            .with_any("resultSetWanted", trigger.result_set_wanted),
        Apdu::ResourceReportRequest(report) => {
            object.with_any("opId", report.op_id.as_ref().map(|id| octets(&id.0)))
        }
        Apdu::ResourceReportResponse(report) => object.with(
            "resourceReportStatus",
            report.resource_report_status.to_string(),
        ),
        Apdu::ExtendedServicesRequest(extended) => object
            .with("function", extended.function.to_string())
            .with("packageType", oid(extended.package_type))
            .with_any("packageName", text(&extended.package_name))
            .with_any("userId", text(&extended.user_id))
            .with_any("description", text(&extended.description))
            .with("waitAction", extended.wait_action.to_string())
            .with_any(
                "taskSpecificParameters",
                extended
                    .task_specific_parameters
                    .as_ref()
                    .map(parameters::task),
            ),
        Apdu::ExtendedServicesResponse(extended) => object
            .with("operationStatus", extended.operation_status.to_string())
            .with_any(
                "diagnostics",
                extended
                    .diagnostics
                    .as_ref()
                    .map(|several| diagnostics(several)),
            )
            .with_any(
                "taskPackage",
                extended.task_package.as_ref().map(parameters::package),
            ),
        Apdu::DuplicateDetectionRequest(duplicates) => object
            .with(
                "inputResultSetIds",
                duplicates
                    .input_result_set_ids
                    .iter()
                    .map(|set| set.to_string_lossy())
                    .collect::<Value>(),
            )
            .with(
                "outputResultSetName",
                &*duplicates.output_result_set_name.to_string_lossy(),
            ),
        Apdu::DuplicateDetectionResponse(duplicates) => object
            .with("status", duplicates.status.to_string())
            .with_any("resultSetCount", duplicates.result_set_count)
            .with_any(
                "diagnostics",
                duplicates
                    .diagnostics
                    .as_ref()
                    .map(|several| diagnostics(several)),
            ),
        Apdu::Close(close) => object
            .with("closeReason", close.close_reason.to_string())
            .with_any("diagnosticInformation", text(&close.diagnostic_information)),
    };
    object.into()
}

/// What stands where a secret was.
const REDACTED: &str = "<redacted>";

fn text(string: &Option<crate::types::InternationalString>) -> Option<String> {
    string
        .as_ref()
        .map(|text| text.to_string_lossy().into_owned())
}

/// Octets as text, read as ISO 8859-1 if they are not UTF-8.
fn octets(octets: &[u8]) -> String {
    utf8_or_latin1(octets).into_owned()
}

/// An identifier by its name, or in dotted form.
fn oid(oid: Oid) -> String {
    oid.name().map_or_else(|| oid.to_string(), str::to_owned)
}

fn versions(versions: ProtocolVersion) -> Value {
    versions
        .0
        .positions()
        .map(|position| position + 1)
        .collect()
}

fn options(options: Options) -> Value {
    options.names().collect()
}

fn authentication(authentication: &IdAuthentication) -> &'static str {
    match authentication {
        IdAuthentication::Anonymous => "anonymous",
        _ => REDACTED,
    }
}

fn databases(names: &[DatabaseName]) -> Value {
    names.iter().map(|name| name.0.to_string_lossy()).collect()
}

fn elements(names: &ElementSetNames) -> Value {
    match names {
        ElementSetNames::GenericElementSetName(name) => name.to_string_lossy().into(),
        ElementSetNames::DatabaseSpecific(names) => {
            let each = names.iter().map(|name| {
                (
                    name.db_name.0.to_string_lossy().into_owned(),
                    name.esn.0.to_string_lossy().into(),
                )
            });
            Value::Object(each.collect())
        }
    }
}

fn composition(composition: &RecordComposition) -> Value {
    match composition {
        RecordComposition::Simple(names) => elements(names),
        RecordComposition::Complex(complex) => Object::default()
            .with("selectAlternativeSyntax", complex.select_alternative_syntax)
            .with_any("generic", complex.generic.as_ref().map(specification))
            .with_any(
                "recordSyntax",
                complex
                    .record_syntax
                    .as_ref()
                    .map(|syntaxes| syntaxes.iter().copied().map(oid).collect::<Value>()),
            )
            .into(),
    }
}

fn specification(specification: &Specification) -> Object {
    let schema = specification.schema.as_ref().map(|schema| match schema {
        Schema::Oid(schema) => oid(*schema),
        Schema::Uri(uri) => uri.to_string_lossy().into_owned(),
    });
    let elements = specification
        .element_spec
        .as_ref()
        .and_then(|elements| match elements {
            ElementSpec::ElementSetName(name) => Some(name.to_string_lossy().into_owned()),
            ElementSpec::ExternalEspec(_) => None,
        });
    Object::default()
        .with_any("schema", schema)
        .with_any("elementSetName", elements)
}

/// A query as text: PQF, or as the client wrote it.
fn query(query: &Query) -> Option<String> {
    match query {
        Query::Type1(query) | Query::Type101(query) => Some(query.to_string()),
        Query::Type2(text) | Query::Type100(text) | Query::Type102(text) => Some(octets(text)),
        Query::Type104(External { encoding, .. }) => match encoding {
            ExternalEncoding::OctetAligned(text) => Some(octets(text)),
            // A string is the last thing in its encoding.
            ExternalEncoding::SingleAsn1Type(value) => {
                crate::codec::decode_value::<crate::types::InternationalString>(value.as_bytes())
                    .ok()
                    .map(|text| text.to_string_lossy().into_owned())
            }
            ExternalEncoding::Arbitrary(_) => None,
        },
        Query::Type0(_) => None,
    }
}

fn operand(operand: &AttributesPlusTerm) -> String {
    let rpn = RpnStructure::Op(Operand::AttributesPlusTerm(operand.clone()));
    let query = RpnQuery {
        attribute_set: crate::oid::BIB_1,
        rpn,
    };
    query.to_string()
}

fn records(records: &Records) -> Value {
    match records {
        Records::ResponseRecords(records) => records.iter().map(record).collect(),
        Records::NonSurrogateDiagnostic(diagnostic) => {
            json!({ "nonSurrogateDiagnostic": Value::from(default_diagnostic(diagnostic)) })
        }
        Records::MultipleNonSurDiagnostics(several) => {
            json!({ "multipleNonSurDiagnostics": diagnostics(several) })
        }
    }
}

fn record(entry: &NamePlusRecord) -> Value {
    let name = entry
        .name
        .as_ref()
        .map(|name| name.0.to_string_lossy().into_owned());
    let object = Object::default().with_any("name", name);
    let object = match &entry.record {
        Record::RetrievalRecord(record) => {
            let object = object.with_any("syntax", record.direct_reference.map(oid));
            match &record.encoding {
                ExternalEncoding::OctetAligned(octets) => object.with("octets", octets.len()),
                ExternalEncoding::SingleAsn1Type(value) => {
                    object.with("octets", value.as_bytes().len())
                }
                ExternalEncoding::Arbitrary(_) => object,
            }
        }
        Record::SurrogateDiagnostic(surrogate) => {
            object.with("surrogateDiagnostic", diagnostic(surrogate))
        }
        Record::StartingFragment(_) => object.with("fragment", "starting"),
        Record::IntermediateFragment(_) => object.with("fragment", "intermediate"),
        Record::FinalFragment(_) => object.with("fragment", "final"),
    };
    object.into()
}

fn entry(entry: &Entry) -> Value {
    match entry {
        Entry::TermInfo(info) => {
            let term = match &info.term {
                Term::General(term) => octets(term),
                Term::CharacterString(term) => term.to_string_lossy().into_owned(),
                Term::Numeric(term) => term.to_string(),
                other => operand(&AttributesPlusTerm {
                    attributes: Vec::new(),
                    term: other.clone(),
                }),
            };
            let display = text(&info.display_term);
            let object = Object::default()
                .with("term", term)
                .with_any("displayTerm", display);
            object
                .with_any("globalOccurrences", info.global_occurrences)
                .into()
        }
        Entry::SurrogateDiagnostic(surrogate) => {
            json!({ "surrogateDiagnostic": diagnostic(surrogate) })
        }
    }
}

fn diagnostics(several: &[DiagRec]) -> Value {
    several.iter().map(diagnostic).collect()
}

fn diagnostic(diagnostic: &DiagRec) -> Value {
    match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => default_diagnostic(diagnostic).into(),
        DiagRec::ExternallyDefined(external) => Object::default()
            .with_any("format", external.direct_reference.map(oid))
            .into(),
    }
}

fn default_diagnostic(diagnostic: &DefaultDiagFormat) -> Object {
    Object::default()
        .with("diagnosticSetId", oid(diagnostic.diagnostic_set_id))
        .with("condition", diagnostic.condition)
        .with("addinfo", &*diagnostic.addinfo.to_string_lossy())
        .with_any("message", diagnostic.message())
}
