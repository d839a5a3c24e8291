//! The ways in which yaz-ztest's answers deviate from the standard, as faults for each service.

use z3950_asn1::apdu::{
    Apdu, DeleteSetStatus, DiagRec, ExtendedServicesRequest, ExtendedServicesResponse, External,
    ExternalValue, OperationStatus, Options, OtherInformation, Records,
};
use z3950_asn1::es::item_order::{self, ItemOrder};
use z3950_asn1::es::update::{
    self, RecordOrSurDiag, RecordStatus, TaskPackageRecordStructure, Update, UpdateStatus,
};
use z3950_asn1::es::{TaskPackage, TaskParameters, TaskStatus};
use z3950_asn1::format::charset_negotiation::{CharSetandLanguageNegotiation, SelectedCharSet};
use z3950_asn1::oid;
use z3950_asn1::record::sutrs_external;

use crate::diagnostic::{Condition, diagnostic};
use crate::fault::{Fault, Faults, When};

pub(super) fn faults() -> Faults {
    Faults::new()
        .on(When::init(), Fault::Options(options()))
        .on(When::init(), Fault::alter(negotiated))
        .on(When::delete(), Fault::alter(deleted))
        .on(When::present(), Fault::alter_knowing(presented))
        .on(
            When::apdu("extendedServicesRequest"),
            Fault::alter_knowing(carried_out),
        )
        .on(When::close(), Fault::alter(closed))
}

/// Returns the options that yaz-ztest grants at Init.
fn options() -> Options {
    Options::SEARCH
        | Options::PRESENT
        | Options::DELETE
        | Options::TRIGGER_RESOURCE_CONTROL
        | Options::SCAN
        | Options::SORT
        | Options::EXTENDED_SERVICES
        | Options::CONCURRENT_OPERATIONS
        | Options::NAMED_RESULT_SETS
        | Options::NEGOTIATION_MODEL
}

/// Selects ISO 8859-1 and no language in the answer to Init, whatever the client proposes.
fn negotiated(answer: &mut Apdu) {
    let Apdu::InitializeResponse(init) = answer else {
        return;
    };
    let information = init.other_info.as_ref();
    let Some(CharSetandLanguageNegotiation::Response(mut response)) =
        information.and_then(OtherInformation::value)
    else {
        return;
    };
    if response.selected_char_sets.is_some() {
        response.selected_char_sets = Some(SelectedCharSet::named("ISO-8859-1"));
    }
    response.selected_language = None;
    let mut information = OtherInformation::default();
    let response = CharSetandLanguageNegotiation::Response(response);
    if information.put_value(&response).is_ok() {
        init.other_info = Some(information);
    }
}

/// Makes Delete succeed only for a single set named `1`. The status of each set is success in any case.
fn deleted(answer: &mut Apdu) {
    let Apdu::DeleteResultSetResponse(delete) = answer else {
        return;
    };
    let statuses = delete
        .delete_list_statuses
        .as_deref_mut()
        .unwrap_or_default();
    let known = matches!(statuses, [only] if only.id.0.as_bytes() == b"1");
    delete.delete_operation_status = if known {
        DeleteSetStatus::SUCCESS
    } else {
        DeleteSetStatus::RESULT_SET_DID_NOT_EXIST
    };
    for status in statuses {
        status.status = DeleteSetStatus::SUCCESS;
    }
}

/// Sets the next position of a failed Present to the position after the requested range.
fn presented(request: &Apdu, answer: &mut Apdu) {
    if let (Apdu::PresentRequest(asked), Apdu::PresentResponse(failed)) = (request, answer)
        && let Some(Records::NonSurrogateDiagnostic(diagnostic)) = failed.records.as_ref()
        && diagnostic.condition != Condition::RESULT_SET_DOES_NOT_EXIST.0
    {
        let number = asked.number_of_records_requested;
        failed.next_result_set_position = asked.result_set_start_point.saturating_add(number);
    }
}

/// Accepts tasks without performing them. The answer to an update or an order has a package; an Update that uses version 1 of
/// the service gets a diagnostic instead.
fn carried_out(request: &Apdu, answer: &mut Apdu) {
    let (Apdu::ExtendedServicesRequest(request), Apdu::ExtendedServicesResponse(response)) =
        (request, answer)
    else {
        return;
    };
    let parameters = request
        .task_specific_parameters
        .as_ref()
        .and_then(|given| TaskParameters::from_external(given).ok());
    let (package, diagnostics) = match parameters {
        Some(TaskParameters::Update(_)) if request.package_type == oid::DATABASE_UPDATE_1 => {
            let addinfo = "x".repeat(27) + &"y".repeat(14);
            let told = diagnostic(Condition(401), addinfo);
            (None, Some(vec![DiagRec::DefaultFormat(told)]))
        }
        Some(TaskParameters::Update(update)) => (updated(request, *update), None),
        Some(TaskParameters::ItemOrder(order)) => (ordered(request, *order), None),
        _ => (None, None),
    };
    **response = ExtendedServicesResponse {
        reference_id: response.reference_id.take(),
        operation_status: OperationStatus::DONE,
        diagnostics,
        task_package: package,
        other_info: None,
    };
}

/// Returns an update package that reports one record as updated, whatever the request contains.
fn updated(request: &ExtendedServicesRequest, update: Update) -> Option<External> {
    let Update::EsRequest(asked) = update else {
        return None;
    };
    let record = RecordOrSurDiag::Record(Box::new(sutrs_external("test")?));
    let done = Update::TaskPackage(Box::new(update::TaskPackage {
        origin_part: asked.to_keep,
        target_part: update::TargetPart {
            update_status: UpdateStatus::SUCCESS,
            global_diagnostics: None,
            task_package_records: Some(vec![TaskPackageRecordStructure {
                record_or_sur_diag: Some(record),
                correlation_info: None,
                record_status: RecordStatus::SUCCESS,
                supplemental_diagnostics: None,
            }]),
        },
    }));
    package(
        request,
        done.to_external_as(request.package_type).ok()?,
        "123",
    )
}

/// Returns an item order package, which contains a document if the order is in XML.
fn ordered(request: &ExtendedServicesRequest, order: ItemOrder) -> Option<External> {
    let ItemOrder::EsRequest(asked) = order else {
        return None;
    };
    let in_xml = asked
        .not_to_keep
        .item_request
        .as_ref()
        .filter(|request| request.direct_reference == Some(oid::XML));
    let document = in_xml.map(|_| External::octet_aligned(oid::XML, "<dummy>x</dummy>"));
    let done = ItemOrder::TaskPackage(Box::new(item_order::TaskPackage {
        origin_part: asked.to_keep,
        target_part: item_order::TargetPart {
            item_request: document,
            ..item_order::TargetPart::default()
        },
    }));
    package(request, done.to_external().ok()?, "911")
}

fn package(
    request: &ExtendedServicesRequest,
    parameters: External,
    reference: &str,
) -> Option<External> {
    let package = TaskPackage {
        package_type: request.package_type,
        package_name: request.package_name.clone(),
        user_id: None,
        retention_time: None,
        permissions: None,
        description: None,
        target_reference: Some(reference.into()),
        creation_date_time: None,
        task_status: TaskStatus::COMPLETE,
        package_diagnostics: None,
        task_specific_parameters: parameters,
    };
    package.to_external().ok()
}

/// Replaces the diagnostic information of a Close with the text that yaz-ztest sends.
fn closed(answer: &mut Apdu) {
    if let Apdu::Close(close) = answer {
        close.diagnostic_information = Some("Association terminated by client".into());
    }
}
