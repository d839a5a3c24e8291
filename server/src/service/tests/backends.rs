//! Tests of the arguments that are passed to backends, and of backends that panic or give wrong answers.

use std::sync::Mutex;

use bytes::Bytes;
use z3950_asn1::es::update::Action;

use super::*;
use crate::access::{Authenticate, Challenge, Login, User};
use crate::backend::{
    Answer, Backend, Caller, DatabaseInfo, Diagnostic, Found, HitList, Hits, RecordId, Retrieve,
    RetrieveMany, Retrieved, Scan, ScanTerm, Scanned, Search, Sort, Update, ready,
};
use crate::requests::{init_of, scan_request, sort_request};
use crate::service::extended::tests as extended;
use crate::target::Target;

/// A backend that records the methods that were called, each with the name of the user.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn note(&self, method: &str, caller: &Caller) {
        let user = caller.user().unwrap_or("nobody");
        self.0
            .lock()
            .expect("no panic")
            .push(format!("{method} {user}"));
    }
}

impl Backend for Recorder {
    fn databases(&self) -> Vec<DatabaseInfo> {
        vec![DatabaseInfo {
            name: "books".to_owned(),
            ..DatabaseInfo::default()
        }]
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        self.note("search", &search.caller);
        ready(Ok([RecordId(i64::MAX)]
            .into_iter()
            .collect::<Hits>()
            .into()))
    }

    fn prepare<'a>(&'a self, wanted: RetrieveMany<'a>) -> Option<Answer<'a, ()>> {
        self.note("prepare", &wanted.caller);
        None
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        self.note("record", &wanted.caller);
        assert_eq!(wanted.record, RecordId(i64::MAX));
        let record = External::octet_aligned(SUTRS, "a record");
        ready(Ok(Retrieved::new("books".into(), Ok(record))))
    }

    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        self.note("scan", &scan.caller);
        let term = ScanTerm::new(Term::General("war".into()));
        ready(Ok(Scanned {
            after: vec![term],
            ..Scanned::default()
        }))
    }

    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        self.note("sort", &sort.caller);
        ready(Ok(sort.inputs[0].clone()))
    }

    fn update<'a>(&'a self, update: Update<'a>) -> Answer<'a, Vec<Result<Bytes, Diagnostic>>> {
        self.note("update", &update.caller);
        ready(Ok(vec![Ok(Bytes::from("id"))]))
    }
}

/// A login check that admits every client under the name that it gives.
struct Everybody;

impl Authenticate for Everybody {
    fn authenticate<'a>(&'a self, login: Login<'a>) -> Answer<'a, User> {
        ready(Ok(User::new(login.user)))
    }
}

fn login(user: &str) -> IdAuthentication {
    IdAuthentication::IdPass(IdPass {
        group_id: None,
        user_id: Some(user.into()),
        password: None,
    })
}

/// Sends requests that call every method of a backend.
fn ask_for_all(session: &mut Session) {
    let requests: [Apdu; 5] = [
        search_request("war").into(),
        present(1, 1),
        scan_request("war").into(),
        sort_request(&["default"], "sorted").into(),
        extended::update(Action::RECORD_INSERT, &["id"]).into(),
    ];
    for request in requests {
        only(now(session.answer(&request)));
    }
}

#[test]
fn audit_r_l10_every_call_names_the_user() {
    for user in [None, Some("ann")] {
        let told = Arc::new(Recorder::default());
        let backend = Arc::clone(&told) as Arc<dyn Backend>;
        let target = Target::new(backend, Limits::default());
        let target = match user {
            Some(_) => target.with_authenticate(Arc::new(Everybody)),
            None => target,
        };
        let mut session = Session::new(Arc::new(target));
        let mut init = init_of(ProtocolVersion::UP_TO_3);
        init.id_authentication = user.map(login);
        only(now(session.answer(&init.into())));
        assert_eq!(session.user(), user);
        ask_for_all(&mut session);
        let user = user.unwrap_or("nobody");
        let methods = ["search", "prepare", "record", "scan", "sort", "update"];
        let expected = methods.map(|method| format!("{method} {user}"));
        assert_eq!(*told.0.lock().expect("no panic"), expected);
    }
}

/// If a client authenticates during its first operation, the user's name is passed to the backend in that operation.
#[test]
fn audit_r_l10_a_user_who_is_challenged_is_named() {
    let told = Arc::new(Recorder::default());
    let access = crate::access::Access {
        challenge: Some(Challenge::Simple("who?".to_owned())),
        ..Default::default()
    };
    let target = Target::new(Arc::clone(&told) as Arc<dyn Backend>, Limits::default())
        .with_access(access)
        .with_authenticate(Arc::new(Everybody));
    let mut session = Session::new(Arc::new(target));
    only(now(
        session.answer(&init_of(ProtocolVersion::UP_TO_3).into())
    ));
    let asked = only(now(session.answer(&search_request("war").into())));
    assert!(matches!(asked, Apdu::AccessControlRequest(_)), "{asked:?}");
    let response = AccessControlResponse {
        reference_id: None,
        security_challenge_response: Some(SecurityChallengeResponse::SimpleForm("ann/x".into()))
            .into(),
        diagnostic: None,
        other_info: None,
    };
    let found = only(now(session.answer(&response.into())));
    assert!(matches!(found, Apdu::SearchResponse(_)), "{found:?}");
    assert_eq!(*told.0.lock().expect("no panic"), ["search ann"]);
}

/// A backend that panics, either in every method or in the futures that the methods return.
struct Panicking {
    is_late: bool,
}

impl Panicking {
    fn answer<'a, T>(&self) -> Answer<'a, T> {
        assert!(self.is_late, "as the test wants");
        Box::pin(async { panic!("as the test wants") })
    }
}

impl Backend for Panicking {
    fn databases(&self) -> Vec<DatabaseInfo> {
        Recorder::default().databases()
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        match search.query.rpn.terms().next() {
            Some(term) if term.term == Term::General("some".into()) => {
                let hits: Hits = [RecordId(-1)].into_iter().collect();
                ready(Ok(hits.into()))
            }
            _ => self.answer(),
        }
    }

    fn record<'a>(&'a self, _: Retrieve<'a>) -> Answer<'a, Retrieved> {
        self.answer()
    }

    fn scan<'a>(&'a self, _: Scan<'a>) -> Answer<'a, Scanned> {
        self.answer()
    }

    fn sort<'a>(&'a self, _: Sort<'a>) -> Answer<'a, Hits> {
        self.answer()
    }

    fn update<'a>(&'a self, _: Update<'a>) -> Answer<'a, Vec<Result<Bytes, Diagnostic>>> {
        self.answer()
    }
}

/// Returns the condition of the diagnostic in a response.
fn condition(response: &Apdu) -> Option<i64> {
    let first = |diagnostics: &Option<Vec<DiagRec>>| match diagnostics.as_deref() {
        Some([DiagRec::DefaultFormat(why), ..]) => Some(why.condition),
        _ => None,
    };
    let of_records = |records: &Option<Records>| match records {
        Some(Records::NonSurrogateDiagnostic(why)) => Some(why.condition),
        _ => None,
    };
    match response {
        Apdu::SearchResponse(response) => of_records(&response.records),
        Apdu::PresentResponse(response) => of_records(&response.records),
        Apdu::ScanResponse(response) => first(&response.entries.as_ref()?.nonsurrogate_diagnostics),
        Apdu::SortResponse(response) => first(&response.diagnostics),
        Apdu::ExtendedServicesResponse(response) => first(&response.diagnostics),
        other => panic!("{other:?}"),
    }
}

#[test]
fn audit_r_l10_a_backend_that_panics_fails_the_request_alone() {
    for is_late in [false, true] {
        let target = Target::new(Arc::new(Panicking { is_late }), Limits::default());
        let target = Arc::new(target);
        let mut session = Session::new(Arc::clone(&target));
        only(now(session.answer(&crate::requests::init())));
        let requests: [(Apdu, Option<i64>); 7] = [
            (search_request("war").into(), Some(2)),
            (search_request("some").into(), None),
            (present(1, 1), Some(2)),
            (scan_request("war").into(), Some(2)),
            (sort_request(&["default"], "sorted").into(), Some(2)),
            (
                extended::update(Action::RECORD_INSERT, &["id"]).into(),
                Some(2),
            ),
            (search_request("some").into(), None),
        ];
        for (request, expected) in requests {
            let response = only(now(session.answer(&request)));
            assert_eq!(condition(&response), expected, "{response:?}");
        }
        let (panics, first) = target.panics.totals();
        assert_eq!((panics, first.as_deref()), (5, Some("as the test wants")));
    }
}

type Positions = std::ops::Range<usize>;

/// A list of hits whose records do not match its count.
struct Lying(fn(Positions) -> Vec<RecordId>);

impl HitList for Lying {
    fn len(&self) -> usize {
        5
    }

    fn ids(&self, positions: Positions) -> Vec<RecordId> {
        (self.0)(positions)
    }
}

struct Liar(fn(Positions) -> Vec<RecordId>);

impl Backend for Liar {
    fn search<'a>(&'a self, _: Search<'a>) -> Answer<'a, Found> {
        ready(Ok(Hits::new(Lying(self.0)).into()))
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let record = External::octet_aligned(SUTRS, format!("{:?}", wanted.record).into_bytes());
        ready(Ok(Retrieved::new("books".into(), Ok(record))))
    }
}

#[test]
fn audit_r_l10_a_list_with_other_records_than_it_counts_is_refused() {
    type Case = (fn(Positions) -> Vec<RecordId>, Option<i64>);
    let cases: [Case; 3] = [
        (|_| Vec::new(), Some(14)),
        (|positions| vec![RecordId(0); positions.len() + 1], Some(14)),
        (|positions| vec![RecordId(0); positions.len()], None),
    ];
    for (ids, expected) in cases {
        let target = Target::new(Arc::new(Liar(ids)), Limits::default());
        let mut session = Session::new(Arc::new(target));
        only(now(session.answer(&crate::requests::init())));
        only(now(session.answer(&search_request("war").into())));
        let response = only(now(session.answer(&present(2, 3))));
        assert_eq!(condition(&response), expected, "{response:?}");
    }
}
