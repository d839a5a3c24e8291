//! Tests of access control: the challenge, the credentials in the client's answer, and the request that waits for them.

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::format::prompt1::{Answer, PromptId, PromptObject, PromptResponse, PromptType};

use super::stub::Stub;
use crate::access::{Access, Challenge, User};
use crate::limits::Limits;
use crate::passwords::PasswordHash;
use crate::requests::{init_of, now, only, search_request, shown};
use crate::session::{Reply, Session};
use crate::target::Target;

fn session(challenge: Challenge, options: Options) -> Session {
    let user = |name: &str, sessions| User {
        name: name.to_owned(),
        password: Some("secret".to_owned()),
        sessions,
        ..User::default()
    };
    let access = Access {
        users: vec![user("ann", None), user("full", Some(0))],
        challenge: Some(challenge),
        ..Access::default()
    };
    let target = Target::new(Arc::new(Stub), Limits::default()).with_access(access);
    let mut session = Session::new(Arc::new(target));
    let init = InitializeRequest {
        options,
        ..init_of(ProtocolVersion::UP_TO_3)
    };
    only(now(session.answer(&init.into())));
    assert!(session.is_open());
    session
}

/// Returns a short description of the answer to a request.
fn word(reply: Reply) -> String {
    match only(reply) {
        Apdu::SearchResponse(response) if response.search_status => {
            let reference_id = response.reference_id.as_ref().expect("the request's");
            let reference_id = String::from_utf8_lossy(reference_id.0.as_bytes()).into_owned();
            format!("{} hits for {reference_id}", response.result_count)
        }
        Apdu::SearchResponse(response) => shown(&response.records),
        Apdu::AccessControlRequest(request) => match request.security_challenge {
            SecurityChallenge::SimpleForm(words) => {
                String::from_utf8_lossy(words.as_bytes()).into_owned()
            }
            SecurityChallenge::ExternallyDefined(external) => {
                match PromptObject::from_external(&external) {
                    Ok(PromptObject::Challenge(prompts)) => format!("{} prompts", prompts.len()),
                    other => panic!("{other:?}"),
                }
            }
        },
        other => panic!("{other:?}"),
    }
}

fn search(number: &str) -> Apdu {
    let request = SearchRequest {
        reference_id: Some(ReferenceId(number.into())),
        ..search_request(number)
    };
    request.into()
}

fn response(given: Option<SecurityChallengeResponse>) -> Apdu {
    AccessControlResponse {
        reference_id: None,
        security_challenge_response: given.into(),
        diagnostic: None,
        other_info: None,
    }
    .into()
}

fn simple(text: &str) -> Option<SecurityChallengeResponse> {
    Some(SecurityChallengeResponse::SimpleForm(text.into()))
}

fn prompts(user: &str, password: &str) -> Option<SecurityChallengeResponse> {
    let answer = |asked, text: &str| Answer {
        prompt_id: PromptId::enumerated(asked),
        prompt_response: PromptResponse::String(text.into()),
    };
    let answers = vec![
        answer(PromptType::PASSWORD, password),
        answer(PromptType::USER_ID, user),
    ];
    let external = PromptObject::Response(answers)
        .to_external()
        .expect("encodes");
    Some(SecurityChallengeResponse::ExternallyDefined(external))
}

fn opaque() -> Option<SecurityChallengeResponse> {
    let external = External::octet_aligned(z3950_asn1::oid::SUTRS, "ann/secret");
    Some(SecurityChallengeResponse::ExternallyDefined(external))
}

#[test]
fn the_request_waits_for_proof() {
    let words = || Challenge::Simple("who is it?".to_owned());
    for (challenge, question, given, answer) in [
        (words(), "who is it?", simple("ann/secret"), "5 hits for 5"),
        (
            words(),
            "who is it?",
            prompts("ann", "secret"),
            "5 hits for 5",
        ),
        (
            Challenge::Prompts,
            "2 prompts",
            prompts("ann", "secret"),
            "5 hits for 5",
        ),
        (words(), "who is it?", simple("ann/x"), "101 "),
        (words(), "who is it?", simple(""), "101 "),
        (words(), "who is it?", None, "101 "),
        (words(), "who is it?", simple("full/secret"), "1015 "),
        (Challenge::Prompts, "2 prompts", prompts("ann", ""), "101 "),
        (Challenge::Prompts, "2 prompts", opaque(), "101 "),
    ] {
        let mut session = session(challenge, Options::SEARCH | Options::ACCESS_CONTROL);
        assert_eq!(word(now(session.answer(&search("5")))), question);
        assert_eq!(word(now(session.answer(&response(given)))), answer);
        // An authenticated client is not asked again; other clients are.
        let next = word(now(session.answer(&search("7"))));
        let proved = answer.contains("hits");
        assert_eq!(next, if proved { "7 hits for 7" } else { question });
    }
}

#[test]
fn credentials_cannot_be_guessed() {
    let mut session = session(
        Challenge::Prompts,
        Options::SEARCH | Options::ACCESS_CONTROL,
    );
    for attempt in 1..=Limits::default().refusals {
        assert_eq!(word(now(session.answer(&search("5")))), "2 prompts");
        let mut reply = now(session.answer(&response(prompts("ann", "x"))));
        assert_eq!(reply.hang_up, attempt == 5);
        if let Some(Apdu::Close(close)) = reply.apdus.pop_if(|_| reply.hang_up) {
            assert_eq!(close.close_reason, CloseReason::SECURITY_VIOLATION);
        }
        assert_eq!(word(reply.apdus.remove(0).into()), "101 ");
    }
    assert_eq!(now(session.answer(&search("5"))), Reply::hang_up());
}

#[test]
fn clients_without_access_control_are_refused() {
    let mut session = session(Challenge::Prompts, Options::SEARCH);
    assert_eq!(word(now(session.answer(&search("5")))), "102 ");
}

#[test]
fn one_request_waits_at_a_time() {
    let mut session = session(
        Challenge::Prompts,
        Options::SEARCH | Options::ACCESS_CONTROL,
    );
    assert_eq!(word(now(session.answer(&search("5")))), "2 prompts");
    assert_eq!(word(now(session.answer(&search("7")))), "101 ");
    let proof = response(prompts("ann", "secret"));
    assert_eq!(word(now(session.answer(&proof))), "5 hits for 5");
    // Credentials without a challenge end the session.
    assert!(now(session.answer(&proof)).hang_up);
}

#[tokio::test]
async fn r_f15_hashed_passwords_are_proved_at_init_and_when_asked() {
    let hash =
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
    let user = User {
        name: "ann".to_owned(),
        password_hash: Some(PasswordHash::parse(hash).expect("a hash")),
        ..User::default()
    };
    let access = Access {
        users: vec![user],
        challenge: Some(Challenge::Prompts),
        ..Access::default()
    };
    let target = Target::new(Arc::new(Stub), Limits::default()).with_access(access);
    let target = Arc::new(target);
    let id_pass = |user: &str, password: &str| {
        Some(IdAuthentication::IdPass(IdPass {
            group_id: None,
            user_id: Some(user.into()),
            password: Some(password.into()),
        }))
    };
    // The password is verified the first time, and remembered the second time.
    for (given, is_open) in [
        (id_pass("ann", "wrong"), false),
        (id_pass("ann", ""), false),
        (id_pass("bob", "password"), false),
        (id_pass("ann", "password"), true),
        (id_pass("ann", "password"), true),
        (Some(IdAuthentication::Open("ann/password".into())), true),
        (Some(IdAuthentication::Open("ann/wrong".into())), false),
    ] {
        let mut session = Session::new(Arc::clone(&target));
        let init = InitializeRequest {
            id_authentication: given.clone(),
            ..init_of(ProtocolVersion::UP_TO_3)
        };
        only(session.answer(&init.into()).await);
        assert_eq!(session.is_open(), is_open, "{given:?}");
        assert_eq!(session.user(), is_open.then_some("ann"));
    }
    for (given, answer) in [
        (prompts("ann", "password"), "5 hits for 5"),
        (simple("ann/password"), "5 hits for 5"),
        (prompts("ann", "x"), "101 "),
        (opaque(), "101 "),
        (None, "101 "),
    ] {
        let mut session = Session::new(Arc::clone(&target));
        let init = InitializeRequest {
            options: Options::SEARCH | Options::ACCESS_CONTROL,
            ..init_of(ProtocolVersion::UP_TO_3)
        };
        only(session.answer(&init.into()).await);
        assert_eq!(word(session.answer(&search("5")).await), "2 prompts");
        assert_eq!(word(session.answer(&response(given)).await), answer);
    }
}
