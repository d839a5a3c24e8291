//! Tests of every fault, from the request to the output.

mod text;

use z3950_asn1::apdu::{
    AccessControlResponse, CloseReason, DatabaseName, DefaultDiagFormat, External, ExternalValue,
    PresentStatus, SearchRequest, SecurityChallengeResponse,
};
use z3950_asn1::codec::encode;
use z3950_asn1::format::diag1::DiagnosticFormat;
use z3950_asn1::format::user_info1::UserInfo1;
use z3950_asn1::oid::{SUTRS, USMARC};

use super::*;
use crate::diagnostic::{Condition, diagnostic};
use crate::limits::Limits;
use crate::requests::{
    catalogue, init, now, present, present_request, search, search_request, shown,
};
use crate::session::Session;
use crate::target::Target;

/// A session with a script of faults.
struct Scripted {
    script: Script,
    session: Session,
}

impl Scripted {
    fn new(faults: Faults) -> Self {
        let session = Session::new(Arc::new(Target::new(catalogue(), Limits::default())));
        Self {
            script: Script::new(Arc::new(faults), 1),
            session,
        }
    }

    /// Creates a session and opens it; the Init does not match any fault in the test.
    fn opened(faults: Faults) -> Self {
        let mut scripted = Self::new(faults);
        scripted.serve(init());
        scripted
    }

    fn serve(&mut self, request: Apdu) -> Output {
        let mut request = request;
        match self.script.request(&mut request) {
            Err(output) => output,
            Ok(striking) => {
                let reply = now(self.session.answer(&request));
                self.script.reply(&striking, &request, reply)
            }
        }
    }

    /// Returns a short description of each APDU in the answer.
    fn words(&mut self, request: Apdu) -> Vec<String> {
        self.serve(request).items.iter().map(word).collect()
    }
}

fn word(item: &Item) -> String {
    match item {
        Item::Octets(octets) => format!("{octets:x?}"),
        Item::Apdu(Apdu::SearchResponse(search)) => format!(
            "{} hits, {} returned: {}",
            search.result_count,
            search.number_of_records_returned,
            shown(&search.records)
        ),
        Item::Apdu(Apdu::PresentResponse(present)) => format!(
            "{}, {} returned: {}",
            present.present_status,
            present.number_of_records_returned,
            shown(&present.records)
        ),
        Item::Apdu(Apdu::Close(close)) => format!("close {}", close.close_reason),
        Item::Apdu(other) => other.name().to_owned(),
    }
}

/// Returns a Search that asks for the record of a single hit.
fn piggyback(pqf: &str) -> Apdu {
    SearchRequest {
        small_set_upper_bound: 1,
        large_set_lower_bound: 2,
        preferred_record_syntax: Some(SUTRS),
        ..search_request(pqf)
    }
    .into()
}

fn broken() -> Diagnostic {
    diagnostic(Condition(14), "why")
}

#[test]
fn searches_misbehave() {
    let id7 = "@attr 1=1032 id7";
    let dup = "@attr 1=1032 dup";
    for (fault, query, expected) in [
        (Fault::NeverPiggyback, id7, "1 hits, 0 returned: none"),
        (Fault::PushRecords(1), dup, "2 hits, 1 returned: sutrs"),
        (Fault::ResultCount(2), id7, "2 hits, 1 returned: sutrs"),
        (Fault::ResultCount(-1), id7, "-1 hits, 1 returned: sutrs"),
        (Fault::RecordsReturned(7), id7, "1 hits, 7 returned: sutrs"),
        (Fault::RecordsReturned(7), dup, "2 hits, 0 returned: none"),
        (
            Fault::ExtraRecords(1),
            id7,
            "1 hits, 2 returned: sutrs, sutrs",
        ),
        (Fault::ExtraRecords(1), dup, "2 hits, 0 returned: none"),
        (
            Fault::Syntax(USMARC),
            id7,
            "1 hits, 1 returned: usmarc 0 72",
        ),
        (
            Fault::Surrogate(broken()),
            id7,
            "1 hits, 1 returned: <14 why>",
        ),
        (
            Fault::PiggybackFails(broken()),
            id7,
            "1 hits, 0 returned: 14 why",
        ),
        (Fault::Fails(broken()), id7, "0 hits, 0 returned: 14 why"),
    ] {
        let faults = Faults::new().on(When::search(), fault.clone());
        let words = Scripted::opened(faults).words(piggyback(query));
        assert_eq!(words, [expected], "{fault:?}");
    }
}

#[test]
fn presents_fail_for_some_syntaxes() {
    let faults = Faults::new()
        .on(
            When::present().syntax(SUTRS),
            Fault::Fails(diagnostic(Condition(238), "")),
        )
        .on(When::present().nth(3), Fault::Surrogate(broken()));
    let mut scripted = Scripted::opened(faults);
    scripted.serve(search("war"));
    let of = |syntax| {
        Apdu::from(z3950_asn1::apdu::PresentRequest {
            preferred_record_syntax: Some(syntax),
            ..present_request(1, 1)
        })
    };
    assert_eq!(scripted.words(of(SUTRS)), ["failure, 0 returned: 238 "]);
    let sound = scripted.words(of(USMARC));
    assert!(
        sound.concat().starts_with("success, 1 returned: usmarc"),
        "{sound:?}"
    );
    assert_eq!(
        scripted.words(of(USMARC)),
        ["success, 1 returned: <14 why>"]
    );
    assert_eq!(scripted.words(of(USMARC)), sound);
}

#[test]
fn init_speaks_version_2_only() {
    let mut scripted = Scripted::new(Faults::new().on(When::init(), Fault::Version2));
    let output = scripted.serve(init());
    let Some(Item::Apdu(answer)) = output.items.first() else {
        panic!("{output:?}")
    };
    let octets = encode(answer).expect("encodes");
    assert_eq!(octets.get(2..6), Some(&[0x83, 2, 0, 0xc0][..]));
    let end = scripted.session.end(CloseReason::SHUTDOWN, None);
    assert_eq!(end.apdus, [], "the session itself is one of version 2");
}

#[test]
fn init_is_rejected() {
    for reason in [None, Some(diagnostic(Condition(1011), "me"))] {
        let fault = Fault::RejectInit(reason.clone());
        let mut scripted = Scripted::new(Faults::new().on(When::init(), fault));
        let output = scripted.serve(init());
        let Some(Item::Apdu(Apdu::InitializeResponse(answer))) = output.items.first() else {
            panic!("{output:?}")
        };
        assert!(!answer.result && !scripted.session.is_open());
        assert_eq!(answer.user_information_field.as_ref().map(told), reason);
    }
}

/// Returns the diagnostic in a userInformationField.
fn told(field: &External) -> DefaultDiagFormat {
    let UserInfo1(information) = UserInfo1::from_external(field).expect("userInfo-1");
    let format = information.value::<DiagnosticFormat>().expect("diag-1");
    let mut told = format.default_diagnostics().cloned();
    told.next().expect("a diagnostic")
}

#[test]
fn answers_are_replaced_delayed_and_broken() {
    let answer = "1 hits, 0 returned: none";
    let close = || Apdu::from(z3950_asn1::apdu::Close::new(CloseReason::RESOURCES, None));
    let second = Duration::from_secs(1);
    let check = |fault: Fault, words: &[&str], rest: (Duration, bool, Option<usize>, bool)| {
        let faults = Faults::new().on(When::search(), fault.clone());
        let output = Scripted::opened(faults).serve(search("@attr 1=1032 id7"));
        let found: Vec<_> = output.items.iter().map(word).collect();
        assert_eq!(found, words, "{fault:?}");
        let Output {
            delay,
            trickle,
            cut_after,
            hang_up,
            ..
        } = output;
        let trickle = trickle.is_some();
        assert_eq!((delay, trickle, cut_after, hang_up), rest, "{fault:?}");
    };
    let now = Duration::ZERO;
    check(
        Fault::Before(close()),
        &["close resources", answer],
        (now, false, None, false),
    );
    check(
        Fault::After(close()),
        &[answer, "close resources"],
        (now, false, None, false),
    );
    check(
        Fault::Instead(close()),
        &["close resources"],
        (now, false, None, false),
    );
    check(
        Fault::announces_4_gib(),
        &["b\"\\xb7\\x84\\xff\\xff\\xff\\xff\""],
        (now, false, None, false),
    );
    check(
        Fault::Close(CloseReason::COST_LIMIT, Some("no")),
        &["close costLimit"],
        (now, false, None, true),
    );
    check(Fault::Silence, &[], (now, false, None, false));
    check(Fault::Hold, &[], (now, false, None, false));
    check(
        Fault::Delay(second),
        &[answer],
        (second, false, None, false),
    );
    check(Fault::Trickle, &[answer], (now, true, None, false));
    check(Fault::CutAfter(3), &[answer], (now, false, Some(3), false));
    let renamed = Fault::alter(|answer| {
        if let Apdu::SearchResponse(search) = answer {
            search.present_status = Some(PresentStatus::PARTIAL_4);
            search.result_count = 99;
        }
    });
    check(
        renamed,
        &["99 hits, 0 returned: none"],
        (now, false, None, false),
    );
}

#[test]
fn reference_ids_are_changed() {
    let wrong = ReferenceId(b"wrong"[..].into());
    for id in [None, Some(wrong)] {
        let faults = Faults::new().on(When::search(), Fault::ReferenceId(id.clone()));
        let mut request = search("war");
        request.set_reference_id(Some(ReferenceId(b"mine"[..].into())));
        let output = Scripted::opened(faults).serve(request);
        let Some(Item::Apdu(answer)) = output.items.first() else {
            panic!("{output:?}")
        };
        assert_eq!(answer.reference_id(), id.as_ref());
    }
}

#[test]
fn held_answers_go_out_with_the_next() {
    let faults = Faults::new().on(When::search().nth(1), Fault::Hold);
    let mut scripted = Scripted::opened(faults);
    assert_eq!(scripted.words(search("war")), [""; 0]);
    let both = scripted.words(search("emma"));
    assert_eq!(
        both,
        ["2 hits, 0 returned: none", "2 hits, 0 returned: none"]
    );
    assert_eq!(scripted.words(present(9, 1)).len(), 1);
}

#[test]
fn challenges_come_before_the_answer() {
    let response = |credentials: Option<SecurityChallengeResponse>| {
        Apdu::from(AccessControlResponse {
            reference_id: None,
            security_challenge_response: credentials.into(),
            diagnostic: None,
            other_info: None,
        })
    };
    let given = SecurityChallengeResponse::SimpleForm("pw".into());
    for (credentials, answer) in [
        (Some(given), "2 hits, 0 returned: none"),
        (None, "0 hits, 0 returned: 236 "),
    ] {
        let challenge = Fault::Challenge(Bytes::from_static(b"who?"));
        let mut scripted = Scripted::opened(Faults::new().on(When::search(), challenge));
        assert_eq!(scripted.words(search("war")), ["accessControlRequest"]);
        assert_eq!(scripted.words(response(credentials)), [answer]);
        // A client that sends credentials without a challenge violates the protocol.
        let unasked = scripted.serve(response(None));
        assert!(unasked.hang_up);
    }
}

#[test]
fn rules_strike_when_all_their_conditions_are_met() {
    let search_in = |database: &str| -> Apdu {
        SearchRequest {
            database_names: vec![DatabaseName::from("cat"), DatabaseName::from(database)],
            ..search_request("war")
        }
        .into()
    };
    for (when, struck) in [
        (When::always(), [true, true, true, true]),
        (When::search(), [false, true, true, false]),
        (When::search().database("b"), [false, false, true, false]),
        (When::search().nth(2), [false, false, true, false]),
        (When::always().nth(1), [true, false, false, false]),
        (When::search().session(2), [false; 4]),
        (
            When::always().session(1).nth(4),
            [false, false, false, true],
        ),
        (When::search().syntax(SUTRS), [false; 4]),
        (When::delete(), [false; 4]),
        (When::close(), [false, false, false, true]),
    ] {
        let mut scripted = Scripted::new(Faults::new().on(when.clone(), Fault::Trickle));
        let close = z3950_asn1::apdu::Close::new(CloseReason::FINISHED, None).into();
        let requests = [init(), search_in("cat"), search_in("B"), close];
        let found = requests.map(|request| scripted.serve(request).trickle.is_some());
        assert_eq!(found, struck, "{when:?}");
    }
}

#[test]
fn audit_d9_requests_are_counted_in_a_session_or_in_all() {
    // Two sessions take turns, with two searches each.
    for (when, struck) in [
        (When::search().nth(2), [false, false, true, true]),
        (When::search().nth_of_all(2), [false, true, false, false]),
        (
            When::search().nth_of_all(3).session(1),
            [false, false, false, false],
        ),
        (
            When::search().nth_of_all(3).nth(2),
            [false, false, true, false],
        ),
    ] {
        let faults = Arc::new(Faults::new().on(when.clone(), Fault::Trickle));
        let mut sessions = [1, 2].map(|number| Script::new(Arc::clone(&faults), number));
        let mut found = Vec::new();
        for _ in 0..2 {
            for session in &mut sessions {
                let Ok(faults) = session.request(&mut search("war")) else {
                    panic!("to be answered")
                };
                found.push(!faults.is_empty());
            }
        }
        assert_eq!(found, struck, "{when:?}");
        // Another server counts its requests separately.
        let mut other = Script::new(Arc::new(Faults::clone(&faults)), 1);
        let first = match other.request(&mut search("war")) {
            Ok(faults) => !faults.is_empty(),
            Err(_) => false,
        };
        assert!(!first, "{when:?}");
    }
    let text: Rule = "on search nth-of-all=2: trickle".parse().expect("a rule");
    assert_eq!(text.when, When::search().nth_of_all(2));
}

#[test]
fn every_fault_is_tried() {
    let (_, declared) = include_str!("../fault.rs")
        .split_once("pub enum Fault {")
        .expect("the faults");
    let (declared, _) = declared.split_once("\n}").expect("their end");
    let variants = declared.lines().filter_map(|line| {
        let line = line.strip_prefix("    ")?;
        let end = line.find(|letter: char| !letter.is_ascii_alphanumeric())?;
        line.starts_with(|letter: char| letter.is_ascii_uppercase())
            .then(|| line.get(..end))?
    });
    // A fault counts as tried if one of these files names it; the faults with a text form are in the tests of rules as text.
    let tried = [
        include_str!("tests.rs"),
        include_str!("tests/text.rs"),
        include_str!("kinds.rs"),
    ];
    let tried: std::collections::BTreeSet<_> = tried
        .iter()
        .flat_map(|text| text.split("Fault::").skip(1))
        .filter_map(|rest| {
            rest.split(|letter: char| !letter.is_ascii_alphanumeric())
                .next()
        })
        .map(str::to_lowercase)
        .collect();
    let variants: Vec<_> = variants.collect();
    assert!(variants.len() > 30, "{variants:?}");
    let untried: Vec<_> = variants
        .iter()
        .filter(|variant| !tried.contains(&variant.to_lowercase()))
        .collect();
    assert!(untried.is_empty(), "{untried:?}");
}
