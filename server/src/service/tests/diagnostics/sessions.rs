//! Tests of the diagnostics for credentials and addresses (Z39.50-2003 §3.2.1.1.2, §3.2.5).

use std::net::IpAddr;
use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::oid::PROMPT_1;

use super::{Row, answer};
use crate::access::{Access, Challenge, User};
use crate::limits::Limits;
use crate::requests::{catalogue, init, search};
use crate::session::Session;
use crate::target::Target;

pub(super) const ROWS: &[Row] = &[
    (101, || {
        let mut session = asked(Options::ACCESS_CONTROL);
        answer(&mut session, search("war"));
        let wrong = SecurityChallengeResponse::SimpleForm("ann/wrong".into());
        let response = AccessControlResponse {
            reference_id: None,
            security_challenge_response: Some(wrong).into(),
            diagnostic: None,
            other_info: None,
        };
        answer(&mut session, response)
    }),
    (102, || {
        answer(&mut asked(Options::default()), search("war"))
    }),
    (1010, || introduced(None)),
    (1011, || {
        introduced(Some(IdAuthentication::Open("ann/wrong".into())))
    }),
    (1014, || {
        let unread = External::octet_aligned(PROMPT_1, "");
        introduced(Some(IdAuthentication::Other(unread)))
    }),
    (1015, || {
        introduced(Some(IdAuthentication::Open("full/secret".into())))
    }),
    (1016, || {
        let address = IpAddr::from([192, 0, 2, 1]);
        let access = Access {
            blocked: vec![address],
            ..Access::default()
        };
        let target = Target::new(catalogue(), Limits::default()).with_access(access);
        let mut session = Session::new(Arc::new(target)).with_peer(address);
        answer(&mut session, init())
    }),
    (1018, || {
        let target = guarded();
        let wrong = || Some(IdAuthentication::Open("ann/wrong".into()));
        for _ in 0..6 {
            introduced_to(&target, wrong());
        }
        introduced_to(&target, wrong())
    }),
];

fn users() -> Vec<User> {
    let user = |name: &str, sessions| User {
        name: name.to_owned(),
        password: Some("secret".to_owned()),
        sessions,
        ..User::default()
    };
    vec![user("ann", None), user("full", Some(0))]
}

fn init_with(change: impl FnOnce(&mut InitializeRequest)) -> Apdu {
    let Apdu::InitializeRequest(mut init) = init() else {
        panic!("an Init")
    };
    change(&mut init);
    Apdu::InitializeRequest(init)
}

/// Returns the answer to an Init with these credentials.
fn introduced(credentials: Option<IdAuthentication>) -> Apdu {
    introduced_to(&guarded(), credentials)
}

/// Returns a target with a list of users.
fn guarded() -> Arc<Target> {
    let access = Access {
        users: users(),
        ..Access::default()
    };
    Arc::new(Target::new(catalogue(), Limits::default()).with_access(access))
}

fn introduced_to(target: &Arc<Target>, credentials: Option<IdAuthentication>) -> Apdu {
    let mut session = Session::new(Arc::clone(target));
    answer(
        &mut session,
        init_with(|init| init.id_authentication = credentials),
    )
}

/// Opens a session in which the client must authenticate, and in which these options and Search are in effect.
fn asked(options: Options) -> Session {
    let access = Access {
        users: users(),
        challenge: Some(Challenge::Simple("who?".to_owned())),
        ..Access::default()
    };
    let target = Target::new(catalogue(), Limits::default()).with_access(access);
    let mut session = Session::new(Arc::new(target));
    answer(
        &mut session,
        init_with(|init| init.options = options | Options::SEARCH),
    );
    session
}
