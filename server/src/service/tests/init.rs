//! Tests of admission, negotiation and refusals at Init.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::format::charset_negotiation::{
    CharSetandLanguageNegotiation, OriginProposal, SelectedCharSet,
};

use super::stub::Stub;
use crate::access::{Access, User};
use crate::limits::Limits;
use crate::offer::Offer;
use crate::requests::{init_of, now, only};
use crate::session::Session;
use crate::target::Target;

fn answered(session: &mut Session, request: InitializeRequest) -> InitializeResponse {
    match only(now(session.answer(&request.into()))) {
        Apdu::InitializeResponse(response) => *response,
        other => panic!("{other:?}"),
    }
}

fn request() -> InitializeRequest {
    init_of(ProtocolVersion::UP_TO_3)
}

fn target() -> Target {
    Target::new(Arc::new(Stub), Limits::default())
}

#[test]
fn init_grants_the_offer() {
    for (versions, result) in [
        (ProtocolVersion::UP_TO_3, true),
        (ProtocolVersion::UP_TO_2, true),
        (ProtocolVersion::ONLY_1, true),
        (ProtocolVersion::default(), false),
    ] {
        let offer = Offer {
            versions,
            options: Options::SEARCH | Options::SCAN | Options::ENCAPSULATION,
            implementation_name: None,
            implementation_version: None,
            ..Offer::default()
        };
        let mut session = Session::new(Arc::new(target().with_offer(offer)));
        let request = InitializeRequest {
            options: Options::SEARCH | Options::PRESENT | Options::SCAN | Options::ENCAPSULATION,
            ..request()
        };
        let response = answered(&mut session, request);
        assert_eq!((response.result, session.is_open()), (result, result));
        assert_eq!(response.protocol_version, versions);
        assert_eq!(response.options, Options::SEARCH | Options::SCAN);
        assert_eq!(response.implementation_name, None);
        // If there is no common version, there is no diagnostic.
        assert_eq!(response.user_information_field, None);
    }
}

#[test]
fn version_2_has_no_options_of_version_3() {
    let of_3 = Options::SEGMENTATION_1 | Options::SEGMENTATION_2 | Options::CONCURRENT_OPERATIONS;
    let both = Options::SEARCH | Options::NAMED_RESULT_SETS;
    for (version, granted) in [
        (ProtocolVersion::UP_TO_3, both | of_3),
        (ProtocolVersion::UP_TO_2, both),
        (ProtocolVersion::ONLY_1, both),
    ] {
        let mut session = Session::new(Arc::new(target()));
        let request = InitializeRequest {
            options: both | of_3,
            ..init_of(version)
        };
        assert_eq!(answered(&mut session, request).options, granted);
    }
}

/// Returns the diagnostic in a refusal. It is nested in userInfo-1 and diag-1, in the default form.
fn refusal(response: &InitializeResponse) -> String {
    use z3950_asn1::format::diag1::DiagnosticFormat;
    use z3950_asn1::format::user_info1::UserInfo1;
    let external = response.user_information_field.as_ref().expect("a reason");
    let UserInfo1(information) = UserInfo1::from_external(external).expect("userInfo-1");
    let diagnostics = information.value::<DiagnosticFormat>().expect("diag-1");
    format!("{diagnostics:?}")
}

#[test]
fn refusals_say_why() {
    let user = |name: &str| User {
        name: name.to_owned(),
        password: Some("secret".to_owned()),
        ..User::default()
    };
    let single = User {
        sessions: Some(0),
        ..user("single")
    };
    let refused = |condition| User {
        refusal: Some(z3950_asn1::bib1::diagnostics::Condition(condition)),
        ..user(&condition.to_string())
    };
    let mut users = vec![user("ann"), single];
    users.extend([1012, 1013, 1014, 1017].map(refused));
    let id_pass = |user: &str, password: &str| {
        Some(IdAuthentication::IdPass(IdPass {
            group_id: None,
            user_id: Some(user.into()),
            password: Some(password.into()),
        }))
    };
    let blocked = IpAddr::from(Ipv4Addr::new(192, 0, 2, 1));
    let target = target().with_access(Access {
        users,
        blocked: vec![blocked],
        ..Access::default()
    });
    let target = Arc::new(target);
    let there = IpAddr::from(Ipv4Addr::LOCALHOST);
    // A dual-stack socket reports the blocked address in this form.
    let mapped = IpAddr::from(Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped());
    for (peer, id_authentication, expected) in [
        (there, id_pass("ann", "secret"), None),
        (there, None, Some((1010, ""))),
        (there, id_pass("ann", "x"), Some((1011, "ann"))),
        (there, id_pass("1012", ""), Some((1012, "1012"))),
        (there, id_pass("1013", ""), Some((1013, "1013"))),
        (there, id_pass("1014", ""), Some((1014, "1014"))),
        (there, id_pass("single", "secret"), Some((1015, ""))),
        (blocked, id_pass("ann", "secret"), Some((1016, "192.0.2.1"))),
        (mapped, id_pass("ann", "secret"), Some((1016, "192.0.2.1"))),
        (there, id_pass("1017", ""), Some((1017, "1017"))),
    ] {
        let mut session = Session::new(Arc::clone(&target)).with_peer(peer);
        let request = InitializeRequest {
            id_authentication,
            ..request()
        };
        let response = answered(&mut session, request);
        assert_eq!(response.result, expected.is_none());
        assert_eq!(session.is_open(), expected.is_none());
        let Some((condition, addinfo)) = expected else {
            assert_eq!(response.user_information_field, None);
            continue;
        };
        let reason = refusal(&response);
        assert!(
            reason.contains(&format!("condition: {condition}")),
            "{reason}"
        );
        assert!(reason.contains(addinfo), "{reason}");
        // After a refusal, the client may try again in the same session.
        let allowed = InitializeRequest {
            id_authentication: id_pass("ann", "secret"),
            ..self::request()
        };
        assert_eq!(answered(&mut session, allowed).result, peer == there);
    }
}

#[test]
fn a_session_frees_its_seat_when_it_ends() {
    let access = Access {
        users: vec![User {
            name: "ann".to_owned(),
            sessions: Some(2),
            ..User::default()
        }],
        ..Access::default()
    };
    let target = Arc::new(target().with_access(access));
    let open = || {
        let mut session = Session::new(Arc::clone(&target));
        let request = InitializeRequest {
            id_authentication: Some(IdAuthentication::Open("ann".into())),
            ..request()
        };
        let granted = answered(&mut session, request).result;
        (session, granted)
    };
    let (first, second, third) = (open(), open(), open());
    assert_eq!((first.1, second.1, third.1), (true, true, false));
    drop(first);
    let mut again = open();
    assert!(again.1);
    // Another Init in the same session does not take a second permit; Close frees the permit.
    let request = InitializeRequest {
        id_authentication: Some(IdAuthentication::Open("ann".into())),
        ..self::request()
    };
    assert!(answered(&mut again.0, request).result);
    again.0.end(CloseReason::FINISHED, None);
    assert!(open().1);
}

#[test]
fn character_set_and_language_are_negotiated() {
    let negotiate = |char_sets: &[&str], languages: &[&str], records| {
        let proposal = OriginProposal::named(char_sets, languages, records);
        let mut information = OtherInformation::default();
        let proposal = CharSetandLanguageNegotiation::Proposal(proposal);
        information.put_value(&proposal).expect("encodes");
        let request = InitializeRequest {
            other_info: Some(information),
            ..request()
        };
        let response = answered(&mut Session::new(Arc::new(target())), request);
        assert!(response.options.contains(Options::NEGOTIATION_MODEL));
        match response.other_info.expect("an answer").value() {
            Some(CharSetandLanguageNegotiation::Response(response)) => response,
            other => panic!("{other:?}"),
        }
    };
    for (char_sets, set, languages, language) in [
        (&["utf-8"][..], Some("utf-8"), &[][..], None),
        (
            &["iso-8859-1", "UTF-8"],
            Some("utf-8"),
            &["fre", "ENG"],
            Some("ENG"),
        ),
        (&["utf8"], Some("utf8"), &["eng"], Some("eng")),
        (&["iso-8859-1", "utf-16"], None, &["fre"], None),
        (&[], None, &["eng"], Some("eng")),
    ] {
        let response = negotiate(char_sets, languages, true);
        let selected = response.selected_char_sets;
        assert_eq!(selected.is_some(), !char_sets.is_empty(), "{char_sets:?}");
        let name = selected.as_ref().and_then(SelectedCharSet::name);
        assert_eq!(name.as_deref(), set, "{char_sets:?}");
        let records = (!char_sets.is_empty()).then_some(false);
        assert_eq!(response.records_in_selected_char_sets, records);
        assert_eq!(
            response.selected_language,
            language.map(Into::into),
            "{languages:?}"
        );
    }
    // The client proposes nothing, so nothing is negotiated.
    let response = answered(&mut Session::new(Arc::new(target())), request());
    assert_eq!(response.other_info, None);
    assert!(!response.options.contains(Options::NEGOTIATION_MODEL));
}
