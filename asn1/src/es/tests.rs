//! Tests for extended services: round trips of octets from yaz-client and yaz-ztest 5.34, every alternative of each
//! service, and the output for a package.

use serde_json::json;

use super::*;
use crate::apdu::{
    Apdu, CompSpec, DefaultDiagFormat, DiagRec, External, ExternalValue, IntUnit, Query, Unit,
};
use crate::codec::{decode, decode_value, encode, encode_value, octets_of_hex};
use crate::describe::Describe;
use crate::oid;
use crate::query::parse_pqf;

/// Decodes captured exchanges and compares the APDUs and their parameters as JSON.
#[test]
fn tasks_as_peers_send_them() {
    for (hex, shown) in [
        (
            "bf2e8083010184092a8648ce1309050101aa7206092a8648ce1309050101a065a163a10e300c81010182074465666175\
            6c74a251304f304da103830137a44606082a8648ce13056d0a813a3c7265636f72643e3c636f6e74726f6c6669656c64\
            207461673d22303031223e78313c2f636f6e74726f6c6669656c643e3c2f7265636f72643e8b01020000",
            json!({"update": {"esRequest": {
                "toKeep": {"action": "recordInsert", "databaseName": "Default"},
                "notToKeep": [{
                    "recordId": {"opaque": "Nw=="},
                    "record": {
                        "syntax": "1.2.840.10003.5.109.10",
                        "text": "<record><controlfield tag=\"001\">x1</controlfield></record>",
                    },
                }],
            }}}),
        ),
        (
            "bf2f6b830101a56606072a8648ce13056aa05b305981092a8648ce13090501018703313233890100ab4406092a8648ce\
            1309050101a037a235a10e300c810101820744656661756c74a2233021810101a200a31a3018a113a11106072a8648ce\
            130565a0061b0474657374830101",
            json!({"update": {"taskPackage": {
                "originPart": {"action": "recordInsert", "databaseName": "Default"},
                "targetPart": {
                    "updateStatus": "success",
                    "globalDiagnostics": [],
                    "taskPackageRecords": [{
                        "recordOrSurDiag": {"record": {"syntax": "1.2.840.10003.5.101", "text": "test"}},
                        "recordStatus": "success",
                    }],
                },
            }}}),
        ),
        (
            "bf2e5183010184092a8648ce1309050101aa3e06092a8648ce1309050101a031a12fa10e300c81010382074465666175\
            6c74a21d301b3019a1058303616263a41006082a8648ce13056d0a81043c722f3e8b0102",
            json!({"update": {"esRequest": {
                "toKeep": {"action": "recordDelete", "databaseName": "Default"},
                "notToKeep": [{
                    "recordId": {"opaque": "YWJj"},
                    "record": {"syntax": "1.2.840.10003.5.109.10", "text": "<r/>"},
                }],
            }}}),
        ),
        (
            "bf2e2e83010184072a8648ce130904aa1d06072a8648ce130904a012a110a1023000a20a3008a1068101318201018b01\
            02",
            json!({"itemOrder": {"esRequest": {
                "toKeep": {},
                "notToKeep": {"resultSetItem": {"resultSetId": "1", "item": 1}},
            }}}),
        ),
        (
            "bf2f3a830101a53506072a8648ce13056aa02a302881072a8648ce1309048703393131890100ab1506072a8648ce1309\
            04a00aa208a1023000a2023000",
            json!({"itemOrder": {"taskPackage": {"originPart": {}, "targetPart": {}}}}),
        ),
        (
            "bf2e2a830101840a2a8648ce130987686904aa16060a2a8648ce13098768690481083c6f726465722f3e8b0102",
            json!({"xml": "PG9yZGVyLz4="}),
        ),
    ] {
        let apdu = decode(&octets_of_hex(hex)).expect(hex);
        let parameters = parameters_of(&apdu);
        assert_eq!(parameters.describe().to_json(), shown, "{hex}");
        let again = parameters.to_external().expect("encodes");
        assert_eq!(
            TaskParameters::from_external(&again),
            Ok(parameters),
            "{hex}"
        );
        let encoded = encode(&apdu).expect("encodes");
        assert_eq!(decode(&encoded), Ok(apdu), "{hex}");
    }
}

fn parameters_of(apdu: &Apdu) -> TaskParameters {
    let external = match apdu {
        Apdu::ExtendedServicesRequest(request) => request.task_specific_parameters.clone(),
        Apdu::ExtendedServicesResponse(response) => {
            let package = response.task_package.as_ref().expect("a package");
            let package = TaskPackage::from_external(package).expect("a package");
            Some(package.task_specific_parameters)
        }
        other => panic!("{other:?}"),
    };
    TaskParameters::from_external(&external.expect("parameters")).expect("parameters")
}

/// Tests that an order with an ILL-Request is not changed, and that the first version of Update keeps its own
/// identifier.
#[test]
fn values_are_kept_as_sent() {
    let order = "bf2e8083010184072a8648ce130904aa8006072a8648ce130904a077a175a1023000a26f306da106810131820101a263\
        060528cf310201a05a3058800102a10aa000a1021b00a2021b00a20ca00a80083230303030313031a300a400850101a6\
        04a000a100a804a000a100a9030a0102ab0c800100810100820101830101ac038201038e0103af00b003800101950100\
        96010000008b01020000";
    let order = parameters_of(&decode(&octets_of_hex(order)).expect("an order"));
    let TaskParameters::ItemOrder(order) = order else {
        panic!("{order:?}")
    };
    let item_order::ItemOrder::EsRequest(request) = *order else {
        panic!("{order:?}")
    };
    let ill = request.not_to_keep.item_request.expect("a request");
    assert_eq!(ill.direct_reference, Some(oid::ILL));

    let update = "bf2e8083010184072a8648ce130905aa7006072a8648ce130905a065a163a10e300c810102820744656661756c74a251\
        304f304da103830137a44606082a8648ce13056d0a813a3c7265636f72643e3c636f6e74726f6c6669656c6420746167\
        3d22303031223e78313c2f636f6e74726f6c6669656c643e3c2f7265636f72643e8b01020000";
    let apdu = decode(&octets_of_hex(update)).expect("an update");
    let Apdu::ExtendedServicesRequest(request) = &apdu else {
        panic!("{apdu:?}")
    };
    assert_eq!(request.package_type, oid::DATABASE_UPDATE_1);
    let external = request
        .task_specific_parameters
        .as_ref()
        .expect("parameters");
    let update = update::Update::from_external(external).expect("an update");
    assert_eq!(
        update.to_external_as(oid::DATABASE_UPDATE_1).as_ref(),
        Ok(external)
    );
}

/// Tests round trips of values whose octets libyaz 5.34 decodes and encodes without change.
#[test]
fn every_service_round_trips() {
    check(
        "a10c8100a2083006810131820102",
        &persistent_result_set::PersistentResultSet::EsRequest(persistent_result_set::EsRequest {
            to_keep: (),
            not_to_keep: Some(persistent_result_set::OriginPartNotToKeep {
                origin_supplied_result_set: Some("1".into()),
                replace_or_append: Some(persistent_result_set::ReplaceOrAppend::APPEND),
            }),
        }),
    );
    check(
        "a20a8100a206300482020102",
        &persistent_result_set::PersistentResultSet::TaskPackage(
            persistent_result_set::TaskPackage {
                origin_part: (),
                target_part: Some(persistent_result_set::TargetPart {
                    target_supplied_result_set: None,
                    number_of_records: Some(258),
                }),
            },
        ),
    );
    let kept = persistent_query::OriginPartToKeep {
        db_names: Some(vec!["a".into(), "b".into()]),
        additional_search_info: Some(crate::apdu::OtherInformation::default()),
    };
    check(
        "a137a110300ea2061b01611b0162a304bf814900a223a221a11f06072a8648ce130301a014bf6611bf2c0a30089f7801 \
         019f7901049f2d0178",
        &persistent_query::PersistentQuery::EsRequest(persistent_query::EsRequest {
            to_keep: Some(kept),
            not_to_keep: persistent_query::OriginPartNotToKeep::Query(Box::new(query())),
        }),
    );
    check(
        "a105a203810171",
        &persistent_query::PersistentQuery::EsRequest(persistent_query::EsRequest {
            to_keep: None,
            not_to_keep: persistent_query::OriginPartNotToKeep::Package("q".into()),
        }),
    );
    check(
        "a223a221a11f06072a8648ce130301a014bf6611bf2c0a30089f7801019f7901049f2d0178",
        &persistent_query::PersistentQuery::TaskPackage(persistent_query::TaskPackage {
            origin_part: None,
            target_part: query(),
        }),
    );
    check(
        "a11da1193017a10e810100a40906072a8648ce13050aa20584036140628200",
        &specification(),
    );
    check(
        "a142a1283026a121a21fa11da1193017a10e810100a40906072a8648ce13050aa20584036140628200820101a2163014 \
         810131a20fa20d30068101018201023003810109",
        &export_invocation::ExportInvocation::EsRequest(Box::new(export_invocation::EsRequest {
            to_keep: export_invocation::OriginPartToKeep {
                export_spec: export_invocation::ExportSpec::PackageSpec(Box::new(specification())),
                number_of_copies: 1,
            },
            not_to_keep: export_invocation::OriginPartNotToKeep {
                result_set_id: "1".into(),
                records: export_invocation::RecordsWanted::Ranges(vec![
                    export_invocation::RecordRange {
                        start: 1,
                        count: Some(2),
                    },
                    export_invocation::RecordRange {
                        start: 9,
                        count: None,
                    },
                ]),
            },
        })),
    );
    check(
        "a217a10a3008a103810170820101a2093007a405810105a200",
        &export_invocation::ExportInvocation::TaskPackage(Box::new(
            export_invocation::TaskPackage {
                origin_part: export_invocation::OriginPartToKeep {
                    export_spec: export_invocation::ExportSpec::PackageName("p".into()),
                    number_of_copies: 1,
                },
                target_part: Some(export_invocation::TargetPart {
                    cost_so_far: Some(days(5)),
                    ..Default::default()
                }),
            },
        )),
    );
    check(
        "a171a13f303d8101ffa2071b05626f6f6b73830102a409bf640682046465736ba521a21fa11da1193017a10e810100a4 \
         0906072a8648ce13050aa20584036140628200a22e302ca123a121a11f06072a8648ce130301a014bf6611bf2c0a3008 \
         9f7801019f7901049f2d0178a2028200840173",
        &periodic_query::PeriodicQuerySchedule::EsRequest(Box::new(periodic_query::EsRequest {
            to_keep: schedule(),
            not_to_keep: periodic_query::OriginPartNotToKeep {
                query_spec: Some(periodic_query::QuerySpec::ActualQuery(Box::new(query()))),
                origin_suggested_period: Some(periodic_query::Period::BusinessDaily),
                expiration: None,
                result_set_package: Some("s".into()),
            },
        })),
    );
    check(
        "a28199a13f303d8101ffa2071b05626f6f6b73830102a409bf640682046465736ba521a21fa11da1193017a10e810100 \
         a40906072a8648ce13050aa20584036140628200a2563054a121a11f06072a8648ce130301a014bf6611bf2c0a30089f \
         7801019f7901049f2d0178a207a105810107a200830f32303237303130313030303030305a850f323032363031303130 \
         30303030305a860103870101",
        &periodic_query::PeriodicQuerySchedule::TaskPackage(Box::new(
            periodic_query::TaskPackage {
                origin_part: schedule(),
                target_part: periodic_query::TargetPart {
                    actual_query: query(),
                    target_stated_period: periodic_query::Period::Unit(days(7)),
                    expiration: Some("20270101000000Z".into()),
                    result_set_package: None,
                    last_query_time: "20260101000000Z".into(),
                    last_result_number: 3,
                    number_since_modify: Some(1),
                },
            },
        )),
    );
    check(
        "a144a1243022a2058303614062a319a114a3128103412042820531322f3237830434313131820172a21c301aa1068101 \
         31820102a21006082a8648ce13056d0a81043c612f3e",
        &item_order::ItemOrder::EsRequest(Box::new(item_order::EsRequest {
            to_keep: Some(item_order::OriginPartToKeep {
                suppl_description: None,
                contact: Some(item_order::Contact {
                    email: Some("a@b".into()),
                    ..Default::default()
                }),
                addl_billing: Some(item_order::Billing {
                    payment_method: item_order::PaymentMethod::CreditCard(card()),
                    customer_reference: Some("r".into()),
                    customer_po_number: None,
                }),
            }),
            not_to_keep: item_order::OriginPartNotToKeep {
                result_set_item: Some(item_order::ResultSetItem {
                    result_set_id: "1".into(),
                    item: 2,
                }),
                item_request: Some(External::octet_aligned(oid::XML, "<a/>")),
            },
        })),
    );
    check(
        "a28180a12a30288101058205626f6f6b7383072a8648ce130d02840146a51006082a8648ce13056d0a81043c612f3ea2 \
         523050810103a212301006072a8648ce130401020200e01a0137a3373035a114a212301006072a8648ce130401020200 \
         e01a0137a20681016e820101830104a412301006072a8648ce130401020200e01a0137",
        &failed_update(),
    );
}

fn check<T>(hex: &str, value: &T)
where
    T: ExternalValue + std::fmt::Debug + PartialEq + Describe,
{
    let octets = encode_value(value).expect("encodes");
    assert_eq!(octets, octets_of_hex(hex), "{value:?}");
    assert_eq!(decode_value::<T>(&octets).as_ref(), Ok(value));
    let external = value.to_external().expect("encodes");
    assert_eq!(T::from_external(&external).as_ref(), Ok(value));
    let parameters = TaskParameters::from_external(&external).expect("a service");
    assert_eq!(parameters.to_external(), Ok(external));
    assert_eq!(parameters.package_type(), T::SYNTAX);
}

fn query() -> Query {
    Query::Type1(parse_pqf("@attr 1=4 x").expect("a query"))
}

fn days(value: i64) -> IntUnit {
    IntUnit {
        value,
        unit_used: Unit::default(),
    }
}

fn specification() -> export_specification::ExportSpecification {
    export_specification::ExportSpecification::EsRequest(Box::new(
        export_specification::EsRequest {
            to_keep: export_specification::OriginPartToKeep {
                composition: CompSpec {
                    select_alternative_syntax: false,
                    generic: None,
                    db_specific: None,
                    record_syntax: Some(vec![oid::USMARC]),
                },
                export_destination: export_specification::Destination::EmailAddress("a@b".into()),
            },
            not_to_keep: (),
        },
    ))
}

fn schedule() -> periodic_query::OriginPartToKeep {
    periodic_query::OriginPartToKeep {
        active_flag: true,
        database_names: Some(vec!["books".into()]),
        result_set_disposition: Some(periodic_query::ResultSetDisposition::APPEND),
        alert_destination: Some(export_specification::Destination::Other(
            export_specification::OtherDestination {
                vehicle: None,
                destination: "desk".into(),
            },
        )),
        export_parameters: Some(periodic_query::ExportParameters::ExportPackage(Box::new(
            specification(),
        ))),
    }
}

fn card() -> item_order::CreditCardInfo {
    item_order::CreditCardInfo {
        name_on_card: "A B".into(),
        expiration_date: "12/27".into(),
        card_number: "4111".into(),
    }
}

fn failed_update() -> update::Update {
    let diagnostic = DiagRec::DefaultFormat(DefaultDiagFormat::bib1(224, "7"));
    update::Update::TaskPackage(Box::new(update::TaskPackage {
        origin_part: update::OriginPartToKeep {
            action: update::Action::SPECIAL_UPDATE,
            database_name: "books".into(),
            schema: Some(oid::GILS_SCHEMA),
            element_set_name: Some("F".into()),
            action_qualifier: Some(External::octet_aligned(oid::XML, "<a/>")),
        },
        target_part: update::TargetPart {
            update_status: update::UpdateStatus::FAILURE,
            global_diagnostics: Some(vec![diagnostic.clone()]),
            task_package_records: Some(vec![update::TaskPackageRecordStructure {
                record_or_sur_diag: Some(update::RecordOrSurDiag::SurrogateDiagnostics(vec![
                    diagnostic.clone(),
                ])),
                correlation_info: Some(update::CorrelationInfo {
                    note: Some("n".into()),
                    id: Some(1),
                }),
                record_status: update::RecordStatus::FAILURE,
                supplemental_diagnostics: Some(vec![diagnostic]),
            }]),
        },
    }))
}

/// Tests the output for a package that is a record from IR-Extend-1, with decoded parameters.
#[test]
fn a_package_and_how_it_is_shown() {
    let package = TaskPackage {
        package_type: oid::DATABASE_UPDATE,
        package_name: Some("p".into()),
        user_id: Some("joe".into()),
        retention_time: Some(days(3)),
        permissions: Some(vec![crate::apdu::Permission {
            user_id: None,
            allowable_functions: vec![crate::apdu::AllowableFunction::PRESENT],
        }]),
        description: None,
        target_reference: Some("7".into()),
        creation_date_time: Some("20260101000000Z".into()),
        task_status: TaskStatus::COMPLETE,
        package_diagnostics: None,
        task_specific_parameters: failed_update().to_external().expect("encodes"),
    };
    let octets = encode_value(&package).expect("encodes");
    assert_eq!(
        octets,
        octets_of_hex(
            "3081ce81092a8648ce130905010182017083036a6f65a405810103a200a5073005a203020104870137880f3230323630 \
         3130313030303030305a890102ab819106092a8648ce1309050101a08183a28180a12a30288101058205626f6f6b7383 \
         072a8648ce130d02840146a51006082a8648ce13056d0a81043c612f3ea2523050810103a212301006072a8648ce1304 \
         01020200e01a0137a3373035a114a212301006072a8648ce130401020200e01a0137a20681016e820101830104a41230 \
         1006072a8648ce130401020200e01a0137"
        )
    );
    assert_eq!(decode_value::<TaskPackage>(&octets).as_ref(), Ok(&package));
    let json = package.describe().to_json();
    assert_eq!(json.pointer("/taskStatus"), Some(&json!("complete")));
    assert_eq!(
        json.pointer("/permissions/0/allowableFunctions"),
        Some(&json!(["present"]))
    );
    let update = "/taskSpecificParameters/update/taskPackage";
    let diagnostic = format!(
        "{update}/targetPart/taskPackageRecords/0/recordOrSurDiag/surrogateDiagnostics/0/condition"
    );
    assert_eq!(json.pointer(&diagnostic), Some(&json!(224)));
    assert!(
        package
            .describe()
            .to_text()
            .contains("Update status: failure")
    );
    assert!(
        package
            .describe()
            .to_xml("taskPackage")
            .contains("<action>specialUpdate</action>")
    );
}

#[test]
fn payment_details_are_redacted() {
    assert!(!format!("{:?}", card()).contains("4111"));
    assert!(!card().describe().to_text().contains("4111"));
}

#[test]
fn an_external_of_no_service_is_refused() {
    let marc = External::octet_aligned(oid::USMARC, "x");
    let malformed = External::octet_aligned(oid::ITEM_ORDER, "x");
    let nameless = External {
        direct_reference: None,
        ..marc.clone()
    };
    let xml = External::of_value(oid::XML_ES, &7i64).expect("encodes");
    for external in [marc, malformed, nameless, xml] {
        assert!(
            TaskParameters::from_external(&external).is_err(),
            "{external:?}"
        );
    }
}
