//! Tests of packages: their limits, and the users who may find, change and delete them.

use super::*;
use crate::access::{Access, User};
use crate::extended::{EXTEND_DATABASE, TaskLimits, Tasks};
use crate::requests::init_of;

#[test]
fn packages_are_kept_changed_and_deleted() {
    let target = Arc::new(target(&shelf(&["a", "b"])));
    let mut session = open(&target);
    search_in(&mut session, "books", "default", "all");
    let named = |name: &str| ExtendedServicesRequest {
        package_name: Some(name.into()),
        description: Some("for later".into()),
        ..keep_set(Some("default"), None)
    };
    assert_eq!(told(&send(&mut session, named("kept"))), "done");
    assert_eq!(told(&send(&mut session, named("kept"))), "failure 218 kept");

    // Another session finds the package and, through the package, the records of its result set.
    let mut other = open(&target);
    assert_eq!(
        search_in(
            &mut other,
            EXTEND_DATABASE,
            "p",
            "@attrset ext-1 @attr 1=2 kept"
        ),
        1
    );
    let shown = TaskPackage::from_external(&present_from(&mut other, "p", oid::TASK_PACKAGE))
        .expect("a package");
    assert_eq!(shown.description, Some("for later".into()));
    let part = kept_set(&shown);
    assert_eq!(part.number_of_records, Some(2));
    let name = part
        .target_supplied_result_set
        .expect("a result set")
        .to_string_lossy()
        .into_owned();
    let record = present_from(&mut other, &name, oid::SUTRS);
    assert_eq!(record, External::octet_aligned(oid::SUTRS, "<a>"));
    let xml = present_from(&mut other, "p", oid::XML);
    assert!(
        format!("{xml:?}").contains("<packageName>kept</packageName>"),
        "{xml:?}"
    );

    search_in(&mut session, "books", "default", "a");
    let modify = ExtendedServicesRequest {
        function: ExtendedServicesFunction::MODIFY,
        ..named("kept")
    };
    let changed = send(&mut session, modify);
    assert_eq!(told(&changed), "done");
    assert_eq!(kept_set(&package(&changed)).number_of_records, Some(1));
    let delete = ExtendedServicesRequest {
        function: ExtendedServicesFunction::DELETE,
        ..named("kept")
    };
    assert_eq!(told(&send(&mut session, delete.clone())), "done");
    assert_eq!(told(&send(&mut session, delete)), "failure 219 kept");
    assert_eq!(
        search_in(
            &mut other,
            EXTEND_DATABASE,
            "p",
            "@attrset ext-1 @attr 1=2 kept"
        ),
        0
    );
}

fn kept_set(package: &TaskPackage) -> persistent_result_set::TargetPart {
    match PersistentResultSet::from_external(&package.task_specific_parameters) {
        Ok(PersistentResultSet::TaskPackage(set)) => set.target_part.expect("a target part"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn queries_are_kept_and_copied() {
    let mut session = open(&Arc::new(target(&shelf(&[]))));
    let query = Query::Type1(parse_pqf("@attr 1=4 war").expect("a query"));
    let own = persistent_query::OriginPartNotToKeep::Query(Box::new(query.clone()));
    let kept = ExtendedServicesRequest {
        package_name: Some("q".into()),
        ..keep_query(own)
    };
    assert_eq!(told(&send(&mut session, kept)), "done");
    let copied = keep_query(persistent_query::OriginPartNotToKeep::Package("q".into()));
    let copied = package(&send(&mut session, copied));
    let Ok(PersistentQuery::TaskPackage(copied)) =
        PersistentQuery::from_external(&copied.task_specific_parameters)
    else {
        panic!("{copied:?}")
    };
    assert_eq!(copied.target_part, query);
}

#[test]
fn orders_wait_for_people() {
    let target = Arc::new(target(&shelf(&["a"])));
    let mut session = open(&target);
    search_in(&mut session, "books", "default", "all");
    let ill = External::octet_aligned(oid::ILL, "ill");
    for (asked, kept) in [
        (
            order(Some(("default", 1)), None),
            External::octet_aligned(oid::SUTRS, "<a>"),
        ),
        (order(Some(("default", 1)), Some(ill.clone())), ill.clone()),
        (order(None, Some(ill.clone())), ill),
    ] {
        let response = send(&mut session, asked);
        assert_eq!(told(&response), "accepted");
        let package = package(&response);
        assert_eq!(package.task_status.to_string(), "pending");
        let Ok(item_order::ItemOrder::TaskPackage(order)) =
            item_order::ItemOrder::from_external(&package.task_specific_parameters)
        else {
            panic!("{package:?}")
        };
        assert_eq!(order.target_part.item_request, Some(kept));
    }
    assert_eq!(
        search_in(
            &mut session,
            EXTEND_DATABASE,
            "o",
            "@attrset ext-1 @attr 1=4 pending"
        ),
        3
    );
    assert_eq!(
        search_in(
            &mut session,
            EXTEND_DATABASE,
            "o",
            "@attrset ext-1 @attr 1=5 1.2.840.10003.9.4"
        ),
        3
    );
}

#[test]
fn a_client_may_decline_the_package() {
    let mut session = open(&Arc::new(target(&shelf(&[]))));
    let silent = ExtendedServicesRequest {
        wait_action: WaitAction::DONT_RETURN_PACKAGE,
        ..update(Action::RECORD_INSERT, &["a"])
    };
    let response = send(&mut session, silent);
    assert_eq!(
        (told(&response), response.task_package),
        ("done".to_owned(), None)
    );
}

#[test]
fn the_number_of_tasks_is_limited() {
    let limits = TaskLimits {
        tasks: 1,
        ..TaskLimits::default()
    };
    let target = target(&shelf(&["a"])).with_tasks(Tasks::new(limits));
    let mut session = open(&Arc::new(target));
    let ill = || Some(External::octet_aligned(oid::ILL, "ill"));
    let of_somebody = ExtendedServicesRequest {
        user_id: Some("joe".into()),
        ..order(None, ill())
    };
    assert_eq!(told(&send(&mut session, of_somebody)), "accepted");
    let by_name = "@attrset ext-1 @attr 1=1 joe";
    assert_eq!(search_in(&mut session, EXTEND_DATABASE, "o", by_name), 1);
    assert_eq!(told(&send(&mut session, order(None, ill()))), "failure 220");
    // An update without a package name leaves no task package behind, so the limit does not apply to it.
    let insert = update(Action::RECORD_INSERT, &["b"]);
    assert_eq!(told(&send(&mut session, insert.clone())), "done");
    let named = ExtendedServicesRequest {
        package_name: Some("b".into()),
        ..insert
    };
    assert_eq!(told(&send(&mut session, named)), "failure 220");
}

#[test]
fn the_limit_of_kept_records_holds() {
    for (hits, expected) in [(2, "done"), (1, "failure 220")] {
        let limits = TaskLimits {
            hits,
            ..TaskLimits::default()
        };
        let target = target(&shelf(&["a", "b"])).with_tasks(Tasks::new(limits));
        let mut session = open(&Arc::new(target));
        search_in(&mut session, "books", "default", "all");
        let response = send(&mut session, keep_set(Some("default"), None));
        assert_eq!(told(&response), expected);
    }
}

#[test]
fn tasks_belong_to_their_users() {
    let user = |name: &str| User {
        name: name.to_owned(),
        ..User::default()
    };
    let access = Access {
        users: vec![user("ann"), user("bob")],
        ..Access::default()
    };
    let target = Arc::new(target(&shelf(&["a"])).with_access(access));
    let session = |name: &str| {
        let mut session = Session::new(Arc::clone(&target));
        let init = InitializeRequest {
            id_authentication: Some(IdAuthentication::Open(name.into())),
            ..init_of(ProtocolVersion::UP_TO_3)
        };
        only(now(session.answer(&init.into())));
        assert!(session.is_open());
        session
    };
    let (mut ann, mut bob) = (session("ann"), session("bob"));
    let ill = || Some(External::octet_aligned(oid::ILL, "ill"));
    let named = |function| ExtendedServicesRequest {
        function,
        package_name: Some("mine".into()),
        ..order(None, ill())
    };
    use ExtendedServicesFunction as F;
    let shared = ExtendedServicesRequest {
        permissions: Some(vec![Permission {
            user_id: None,
            allowable_functions: vec![AllowableFunction::PRESENT],
        }]),
        ..named(F::CREATE)
    };
    let by_another = ExtendedServicesRequest {
        user_id: Some("ann".into()),
        ..named(F::CREATE)
    };
    assert_eq!(told(&send(&mut bob, by_another)), "failure 222 ann");
    assert_eq!(told(&send(&mut ann, named(F::CREATE))), "accepted");
    assert_eq!(
        search_in(
            &mut bob,
            EXTEND_DATABASE,
            "p",
            "@attrset ext-1 @attr 1=1 ann"
        ),
        0
    );
    assert_eq!(told(&send(&mut bob, named(F::DELETE))), "failure 219 mine");
    assert_eq!(told(&send(&mut ann, named(F::DELETE))), "done");
    assert_eq!(told(&send(&mut ann, shared)), "accepted");
    assert_eq!(
        search_in(
            &mut bob,
            EXTEND_DATABASE,
            "p",
            "@attrset ext-1 @attr 1=1 ann"
        ),
        1
    );
    assert_eq!(told(&send(&mut bob, named(F::DELETE))), "failure 223 mine");
    // Each user has separate package names.
    assert_eq!(told(&send(&mut bob, named(F::CREATE))), "accepted");
    assert_eq!(
        told(&send(&mut bob, named(F::MODIFY))),
        "failure 1040 modify"
    );
}
