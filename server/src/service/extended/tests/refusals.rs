//! Tests of every diagnostic that refuses a request; a refused request must not change anything.

use super::*;

#[test]
fn refused_requests_have_their_diagnostics() {
    let named = |request: ExtendedServicesRequest, name: &str| ExtendedServicesRequest {
        package_name: Some(name.into()),
        ..request
    };
    let function = |request: ExtendedServicesRequest, function| ExtendedServicesRequest {
        function,
        ..request
    };
    use ExtendedServicesFunction as F;
    let insert = || update(Action::RECORD_INSERT, &["n"]);
    let set = || named(keep_set(Some("default"), None), "kept");
    let package = persistent_query::OriginPartNotToKeep::Package;
    let qualified = changed(Action::SPECIAL_UPDATE, &["n"], |request| {
        request.to_keep.action_qualifier = Some(External::octet_aligned(oid::XML, "<x/>"));
    });
    let version = changed(Action::RECORD_REPLACE, &["a"], |request| {
        for record in &mut request.not_to_keep {
            record.supplemental_id = Some(update::SupplementalId::VersionNumber("1".into()));
        }
    });
    let of_schema = changed(Action::RECORD_INSERT, &["n"], |request| {
        request.to_keep.schema = Some(oid::GILS_SCHEMA);
    });
    let of_elements = changed(Action::RECORD_INSERT, &["n"], |request| {
        request.to_keep.element_set_name = Some("X".into());
    });
    let elsewhere = changed(Action::RECORD_INSERT, &["n"], |request| {
        request.to_keep.database_name = "nowhere".into();
    });
    let answered = TaskParameters::from(PersistentResultSet::TaskPackage(Default::default()));
    let mut first_version = update(Action::SPECIAL_UPDATE, &["n"]);
    first_version.package_type = oid::DATABASE_UPDATE_1;
    if let Some(external) = &mut first_version.task_specific_parameters {
        external.direct_reference = Some(oid::DATABASE_UPDATE_1);
    }
    let mut mismatched = insert();
    mismatched.package_type = oid::ITEM_ORDER;
    let mut malformed = insert();
    malformed.task_specific_parameters = Some(External::octet_aligned(oid::DATABASE_UPDATE, "x"));
    let many = vec!["n"; 1001];
    for (request, expected) in [
        (
            request(oid::EXPORT_INVOCATION, None),
            "221 1.2.840.10003.9.7",
        ),
        (
            request(oid::PERIODIC_QUERY_SCHEDULE, None),
            "221 1.2.840.10003.9.3",
        ),
        (request(oid::BIB_1, None), "221 1.2.840.10003.3.1"),
        (
            request(oid::DATABASE_UPDATE, None),
            "1008 taskSpecificParameters",
        ),
        (mismatched, "1043 1.2.840.10003.9.5.1.1"),
        (
            request(oid::PERSISTENT_RESULT_SET, answered),
            "1057 taskPackage",
        ),
        (function(insert(), F(9)), "1040 9"),
        (function(set(), F::DELETE), "219 kept"),
        (function(set(), F::MODIFY), "219 kept"),
        (function(insert(), F::DELETE), "1008 packageName"),
        (function(insert(), F::MODIFY), "1008 packageName"),
        (
            ExtendedServicesRequest {
                wait_action: WaitAction(9),
                ..insert()
            },
            "1047 9",
        ),
        (update(Action(9), &["n"]), "1044 9"),
        (first_version, "1044 specialUpdate"),
        (update(Action::RECORD_INSERT, &[]), "1008 suppliedRecords"),
        (update(Action::RECORD_INSERT, &many), "1046 1000"),
        (qualified, "1057 actionQualifier"),
        (version, "1057 supplementalId"),
        (of_schema, "1045 1.2.840.10003.13.2"),
        (of_elements, "25 X"),
        (elsewhere, "235 nowhere"),
        (update(Action::RECORD_DELETE, &["z"]), "224 diagnostic 2002"),
        (keep_set(None, None), "1008 originSuppliedResultSet"),
        (keep_set(Some("none"), None), "30 none"),
        (
            keep_set(Some("default"), Some(ReplaceOrAppend::APPEND)),
            "1057 replaceOrAppend",
        ),
        (keep_query(package("none".into())), "219 none"),
        (order(None, None), "1008 resultSetItem or itemRequest"),
        (order(Some(("none", 1)), None), "30 none"),
        (order(Some(("default", 2)), None), "13 2"),
        (order(Some(("default", 0)), None), "13 0"),
        (
            order(Some(("default", i64::MIN)), None),
            "13 -9223372036854775808",
        ),
        (
            ExtendedServicesRequest {
                wait_action: WaitAction::WAIT,
                ..order(Some(("default", 1)), None)
            },
            "225",
        ),
    ] {
        let shelf = shelf(&["a"]);
        let mut session = open(&Arc::new(target(&shelf)));
        assert_eq!(search_in(&mut session, "books", "default", "all"), 1);
        let case = format!("{request:?}");
        let response = send(&mut session, request);
        let told = told(&response);
        assert_eq!(told, format!("failure {expected}"), "{case:.300}");
        assert_eq!(shelf.0.lock().expect("a lock").len(), 1, "{case:.300}");
    }
    let mut session = open(&Arc::new(target(&shelf(&[]))));
    let told = told(&send(&mut session, malformed));
    assert!(
        told.starts_with("failure 1057 taskSpecificParameters: a value of none"),
        "{told}"
    );
}

#[test]
fn updates_need_leave_from_other_hosts() {
    let insert = || update(Action::RECORD_INSERT, &["n"]);
    let mut document = request(
        oid::XML_ES,
        TaskParameters::Xml(b"<collection/>".to_vec().into()),
    );
    document.package_name = Some("document".into());
    let order = || ExtendedServicesRequest {
        wait_action: WaitAction::DONT_WAIT,
        ..order(None, Some(External::octet_aligned(oid::XML, "<x/>")))
    };
    let refused = "failure 222 updates from another host need a user who may update";
    for (peer, anyone, request, expected) in [
        ("192.0.2.7", false, insert(), refused),
        ("192.0.2.7", false, document, refused),
        ("192.0.2.7", false, order(), "accepted"),
        ("192.0.2.7", true, insert(), "done"),
        ("2001:db8::7", false, insert(), refused),
        ("::ffff:192.0.2.7", false, insert(), refused),
        ("127.0.0.2", false, insert(), "done"),
        ("::1", false, insert(), "done"),
        ("::ffff:127.0.0.1", false, insert(), "done"),
    ] {
        let access = Access {
            anyone_may_update: anyone,
            ..Access::default()
        };
        let shelf = shelf(&[]);
        let target = Arc::new(target(&shelf).with_access(access));
        let peer = peer.parse().expect("an address");
        let mut session = Session::new(target).with_peer(peer);
        only(now(session.answer(&init())));
        assert_eq!(
            told(&send(&mut session, request)),
            expected,
            "{peer} {anyone}"
        );
        let updated = shelf.0.lock().expect("a lock").len();
        assert_eq!(updated, usize::from(expected == "done"), "{peer} {anyone}");
    }
}
