//! Tests of the diagnostics for extended services (Z39.50-2003 §3.2.9, Appendix EXT).

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::es::persistent_query::OriginPartNotToKeep;
use z3950_asn1::es::update::{Action, EsRequest};
use z3950_asn1::oid;

use super::{Row, answer};
use crate::access::{Access, User};
use crate::extended::{EXTEND_DATABASE, TaskLimits, Tasks};
use crate::fault::{Item, Script};
use crate::imitate::Imitated;
use crate::limits::Limits;
use crate::memory::{DatabaseFiles, MemoryBackend};
use crate::requests::{catalogue, init, now, only, open, open_on, present_request, search_request};
use crate::service::extended::tests::{
    changed, keep_query, keep_set, order, request, shelf, target, update,
};
use crate::session::Session;
use crate::target::Target;

pub(super) const ROWS: &[Row] = &[
    (1, || {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cat.mrc");
        let saved = DatabaseFiles {
            name: "cat".to_owned(),
            save: Some(path.clone()),
            ..DatabaseFiles::default()
        };
        let loaded = MemoryBackend::builder().load([saved], &|_| ());
        let (backend, _) = loaded.expect("nothing to load");
        std::fs::write(path, "by another program").expect("written");
        answer(&mut open(Arc::new(backend), Limits::default()), new_book())
    }),
    (2, || {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = DatabaseFiles {
            name: "cat".to_owned(),
            save: Some(folder.path().join("missing").join("cat.mrc")),
            ..DatabaseFiles::default()
        };
        let loaded = MemoryBackend::builder().load([saved], &|_| ());
        let (backend, _) = loaded.expect("nothing to load");
        answer(&mut open(Arc::new(backend), Limits::default()), new_book())
    }),
    (100, || {
        let missing = changed(Action::RECORD_REPLACE, &["nosuch"], of_cat);
        answer(&mut open(catalogue(), Limits::default()), missing)
    }),
    (218, || {
        let mut session = on_shelf();
        answer(&mut session, named(a_query(), "q"));
        answer(&mut session, named(a_query(), "q"))
    }),
    (219, || {
        sent(named(
            function(a_query(), ExtendedServicesFunction::DELETE),
            "nosuch",
        ))
    }),
    (220, || {
        let none = TaskLimits {
            tasks: 0,
            ..TaskLimits::default()
        };
        let target = target(&shelf(&["a"])).with_tasks(Tasks::new(none));
        answer(&mut open_on(target), a_query())
    }),
    (221, || sent(request(oid::EXPORT_INVOCATION, None))),
    (222, || {
        let mut session = session_of(
            &Arc::new(target(&shelf(&[])).with_access(two_users())),
            "ann",
        );
        let mut request = a_query();
        request.user_id = Some("bob".into());
        answer(&mut session, request)
    }),
    (223, || {
        let target = Arc::new(target(&shelf(&[])).with_access(two_users()));
        let mut shown = named(a_query(), "q");
        shown.permissions = Some(vec![Permission {
            user_id: None,
            allowable_functions: vec![AllowableFunction::PRESENT],
        }]);
        answer(&mut session_of(&target, "ann"), shown);
        let delete = function(a_query(), ExtendedServicesFunction::DELETE);
        answer(&mut session_of(&target, "bob"), named(delete, "q"))
    }),
    (224, || sent(update(Action::RECORD_DELETE, &["nosuch"]))),
    (225, || {
        let mut at_once = order(Some(("default", 1)), None);
        at_once.wait_action = WaitAction::WAIT;
        sent(at_once)
    }),
    (401, || {
        // yaz-ztest refuses an Update that uses version 1 of the service, with condition 401.
        let mut request = update(Action::RECORD_INSERT, &["n"]);
        request.package_type = oid::DATABASE_UPDATE_1;
        if let Some(external) = &mut request.task_specific_parameters {
            external.direct_reference = Some(oid::DATABASE_UPDATE_1);
        }
        let mut script = Script::new(Arc::new(Imitated::YazZtest.faults()), 1);
        let mut request = request.into();
        let Ok(striking) = script.request(&mut request) else {
            panic!("no fault stands in for the answer")
        };
        let mut session = open_on(Imitated::YazZtest.target(Limits::default()));
        let reply = now(session.answer(&request));
        match script.reply(&striking, &request, reply).items.pop() {
            Some(Item::Apdu(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }),
    (1008, || sent(keep_set(None, None))),
    (1028, || {
        let mut session = on_shelf();
        answer(&mut session, named(a_query(), "q"));
        let packages = SearchRequest {
            database_names: vec![DatabaseName::from(EXTEND_DATABASE)],
            ..search_request("@attrset ext-1 @attr 1=2 q")
        };
        answer(&mut session, packages);
        let delete = function(a_query(), ExtendedServicesFunction::DELETE);
        answer(&mut session, named(delete, "q"));
        answer(&mut session, present_request(1, 1))
    }),
    (1040, || {
        sent(function(a_query(), ExtendedServicesFunction(9)))
    }),
    (1043, || {
        let mut mismatched = a_query();
        mismatched.package_type = oid::ITEM_ORDER;
        sent(mismatched)
    }),
    (1044, || sent(update(Action(9), &["n"]))),
    (1045, || {
        sent(changed(Action::RECORD_INSERT, &["n"], |request| {
            request.to_keep.schema = Some(oid::GILS_SCHEMA);
        }))
    }),
    (1046, || sent(update(Action::RECORD_INSERT, &["n"; 1001]))),
    (1047, || {
        let mut request = a_query();
        request.wait_action = WaitAction(9);
        sent(request)
    }),
    (1057, || {
        sent(changed(Action::RECORD_INSERT, &["n"], |request| {
            request.to_keep.action_qualifier = Some(External::octet_aligned(oid::XML, "<x/>"));
        }))
    }),
];

fn of_cat(request: &mut EsRequest) {
    request.to_keep.database_name = "cat".into();
    for supplied in &mut request.not_to_keep {
        supplied.record = External::octet_aligned(
            oid::XML,
            "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>00000nam a2200000 a 4500</leader></record>",
        );
    }
}

/// Returns a request that adds another record to the database `cat`.
fn new_book() -> ExtendedServicesRequest {
    changed(Action::RECORD_INSERT, &["new"], of_cat)
}

fn a_query() -> ExtendedServicesRequest {
    let query = search_request("war").query;
    keep_query(OriginPartNotToKeep::Query(Box::new(query)))
}

fn named(mut request: ExtendedServicesRequest, name: &str) -> ExtendedServicesRequest {
    request.package_name = Some(name.into());
    request
}

fn function(
    mut request: ExtendedServicesRequest,
    function: ExtendedServicesFunction,
) -> ExtendedServicesRequest {
    request.function = function;
    request
}

/// Opens a session with a database `books`, whose only record is in the set `default`.
fn on_shelf() -> Session {
    let mut session = open_on(target(&shelf(&["a"])));
    let all = SearchRequest {
        database_names: vec![DatabaseName::from("books")],
        ..search_request("all")
    };
    answer(&mut session, all);
    session
}

fn sent(request: ExtendedServicesRequest) -> Apdu {
    answer(&mut on_shelf(), request)
}

fn two_users() -> Access {
    let users = ["ann", "bob"].map(|name| User {
        name: name.to_owned(),
        ..User::default()
    });
    Access {
        users: users.into(),
        ..Access::default()
    }
}

fn session_of(target: &Arc<Target>, user: &str) -> Session {
    let Apdu::InitializeRequest(mut init) = init() else {
        panic!("an Init")
    };
    init.id_authentication = Some(IdAuthentication::Open(user.into()));
    let mut session = Session::new(Arc::clone(target));
    only(now(session.answer(&Apdu::InitializeRequest(init))));
    assert!(session.is_open());
    session
}
