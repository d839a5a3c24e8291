//! Tests of updates in each version and as XML documents: their effects, and the report on each record in the package.

use super::*;
use z3950_asn1::es::update::UpdateStatus;

#[test]
fn records_are_inserted_replaced_and_deleted() {
    for (action, ids, status, left) in [
        (
            Action::RECORD_INSERT,
            &["c", "d"][..],
            "done",
            "a=<a> b=<b> c=new c d=new d",
        ),
        (Action::RECORD_REPLACE, &["a"], "done", "a=new a b=<b>"),
        (Action::RECORD_DELETE, &["a", "b"], "done", ""),
        (Action::ELEMENT_UPDATE, &["a"], "done", "a=new a b=<b>"),
        (
            Action::SPECIAL_UPDATE,
            &["a", "z"],
            "done",
            "a=new a b=<b> z=new z",
        ),
        // If one record is refused, none is changed.
        (Action::RECORD_INSERT, &["c", "a"], "failure", "a=<a> b=<b>"),
        (Action::RECORD_DELETE, &["a", "z"], "failure", "a=<a> b=<b>"),
    ] {
        let shelf = shelf(&["a", "b"]);
        let mut session = open(&Arc::new(target(&shelf)));
        let response = send(&mut session, update(action, ids));
        assert_eq!(
            response.operation_status.to_string(),
            status,
            "{action} {ids:?}"
        );
        let records = shelf.0.lock().expect("a lock");
        let shown = records
            .iter()
            .map(|(id, text)| format!("{}={}", id.escape_ascii(), text.escape_ascii()));
        assert_eq!(
            shown.collect::<Vec<_>>().join(" "),
            left,
            "{action} {ids:?}"
        );
    }
}

#[test]
fn a_package_reports_each_record() {
    let shelf = shelf(&["a"]);
    let mut session = open(&Arc::new(target(&shelf)));
    let response = send(&mut session, update(Action::RECORD_INSERT, &["b", "a"]));
    assert!(
        told(&response).starts_with("failure 224 diagnostic 2001"),
        "{}",
        told(&response)
    );
    let package_ = package(&response);
    assert_eq!(
        (package_.task_status.to_string(), package_.target_reference),
        ("aborted".into(), None)
    );
    let part = target_part(&package(&response));
    assert_eq!(part.update_status, UpdateStatus::FAILURE);
    let records = part.task_package_records.expect("records");
    let told = records.iter().map(|record| {
        let note = record
            .correlation_info
            .as_ref()
            .and_then(|info| info.note.clone())
            .expect("a note");
        let condition = match record.record_or_sur_diag.as_ref() {
            Some(update::RecordOrSurDiag::SurrogateDiagnostics(why)) => match why.as_slice() {
                [DiagRec::DefaultFormat(why)] => {
                    format!("{} {}", why.condition, why.addinfo.to_string_lossy())
                }
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        let words = format!(
            "{} {} {condition}",
            note.to_string_lossy(),
            record.record_status
        );
        words.trim_end().to_owned()
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "b failure 224 b is unchanged, because another record was refused: diagnostic 2001",
            "a failure 2001"
        ]
    );

    let with_record = changed(Action::RECORD_INSERT, &["c"], |request| {
        request.to_keep.element_set_name = Some("F".into());
    });
    let part = target_part(&package(&send(&mut session, with_record)));
    assert_eq!(part.update_status, UpdateStatus::SUCCESS);
    let record = part
        .task_package_records
        .and_then(|mut records| records.pop())
        .expect("a record");
    let now = External::octet_aligned(oid::SUTRS, "new c");
    assert_eq!(
        record.record_or_sur_diag,
        Some(update::RecordOrSurDiag::Record(Box::new(now)))
    );
}

fn target_part(package: &TaskPackage) -> update::TargetPart {
    match Update::from_external(&package.task_specific_parameters) {
        Ok(Update::TaskPackage(update)) => update.target_part,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_version_of_update_has_its_own_answer() {
    let shelf = shelf(&[]);
    let mut session = open(&Arc::new(target(&shelf)));
    for version in [
        oid::DATABASE_UPDATE_1,
        oid::DATABASE_UPDATE_2,
        oid::DATABASE_UPDATE,
    ] {
        let mut asked = update(Action::RECORD_INSERT, &[&version.to_string()]);
        asked.package_type = version;
        let external = asked.task_specific_parameters.as_mut().expect("parameters");
        external.direct_reference = Some(version);
        let answered = package(&send(&mut session, asked));
        assert_eq!(answered.package_type, version);
        assert_eq!(
            answered.task_specific_parameters.direct_reference,
            Some(version)
        );
    }
}

#[test]
fn an_xml_document_is_an_update() {
    let shelf = shelf(&[]);
    let mut session = open(&Arc::new(target(&shelf)));
    let document = "<record><leader>00000nam a2200000 a 4500</leader><controlfield tag=\"001\">x</controlfield></record>";
    for (document, expected) in [
        (document, "done"),
        (
            "<order/>",
            "failure 1057 not MARCXML: neither a record nor a collection",
        ),
        ("", "failure 1057 the document has no MARCXML record"),
    ] {
        let response = send(
            &mut session,
            request(oid::XML_ES, TaskParameters::Xml(document.into())),
        );
        assert_eq!(told(&response), expected, "{document}");
    }
    assert_eq!(shelf.0.lock().expect("a lock").len(), 1);
    let response = send(
        &mut session,
        request(oid::XML_ES, TaskParameters::Xml(document.into())),
    );
    let parameters = TaskParameters::from_external(&package(&response).task_specific_parameters);
    let Ok(TaskParameters::Xml(report)) = parameters else {
        panic!("{parameters:?}")
    };
    let report = String::from_utf8_lossy(&report).into_owned();
    assert!(
        report.starts_with("<update status=\"success\"><record id=\""),
        "{report}"
    );
}
