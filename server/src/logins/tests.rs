//! Tests of login checks: turns for each address, checks that hang or panic, and remembered users.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::backend::{Answer, ready};
use crate::requests::now;

/// Finds users by their names: `hangs` never returns, `panics` panics, `trouble` cannot be checked, `wrong` is refused, and any
/// other user is admitted.
#[derive(Default)]
struct ByName {
    asked: AtomicUsize,
    panics: Arc<Panics>,
}

impl Authenticate for ByName {
    fn authenticate<'a>(&'a self, login: Login<'a>) -> Answer<'a, User> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match login.user {
            "hangs" => Box::pin(std::future::pending()),
            "panics" => panic!("as the test wants"),
            "panics later" => Box::pin(async { panic!("as the test wants") }),
            "trouble" => ready(Err(diagnostic(Condition::AUTHENTICATION_SYSTEM, ""))),
            "wrong" => ready(Err(diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, ""))),
            name => ready(Ok(User::new(name))),
        }
    }
}

fn check(logins: &Arc<Logins>, by_name: &Arc<ByName>, user: &[u8]) -> LoginCheck {
    let given = Credentials {
        user,
        password: b"secret",
        ..Credentials::default()
    };
    let authenticate = Arc::clone(by_name) as Arc<dyn Authenticate>;
    let limits = Limits::default();
    LoginCheck::new(logins, &by_name.panics, authenticate, &limits, None, given)
}

/// Returns the name of the user, or the condition of the refusal.
fn word(proof: Proof) -> Result<String, i64> {
    match proof {
        Proof::Unchecked => Err(0),
        Proof::Checked(Ok(user)) => Ok(user.name.clone()),
        Proof::Checked(Err(why)) | Proof::Failed(why) => Err(why.condition),
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_l10_a_check_that_hangs_or_panics_refuses() {
    let (logins, by_name) = (Arc::default(), Arc::<ByName>::default());
    for (user, expected) in [
        (&b"ann"[..], Ok("ann".to_owned())),
        (b"wrong", Err(1011)),
        (b"hangs", Err(1018)),
        (b"panics", Err(1018)),
        (b"panics later", Err(1018)),
        (b"b\xe4rbel", Err(1011)),
        (b"ann", Ok("ann".to_owned())),
    ] {
        let proof = check(&logins, &by_name, user).run().await;
        let limits = Limits::default();
        let failed = matches!(proof, Proof::Failed(_));
        let (judged, penalty) = logins.judge(None, &limits, proof);
        let judged = judged.map(|user| user.name.clone());
        assert_eq!(judged.map_err(|why| why.condition), expected);
        // A client is not penalized if its login could not be checked.
        assert!(!failed || penalty == Penalty::default(), "{user:?}");
    }
    let first = Some("as the test wants".to_owned());
    assert_eq!(by_name.panics.totals(), (2, first));
}

#[tokio::test(start_paused = true)]
async fn a_login_that_could_not_be_checked_is_not_a_wrong_guess() {
    let (logins, by_name) = (Arc::default(), Arc::<ByName>::default());
    let limits = Limits::default();
    for user in ["trouble", "panics", "hangs"] {
        let proof = check(&logins, &by_name, user.as_bytes()).run().await;
        let (judged, penalty) = logins.judge(None, &limits, proof);
        assert!(judged.is_err());
        assert_eq!(penalty, Penalty::default(), "{user}");
    }
    let proof = check(&logins, &by_name, b"wrong").run().await;
    let (_, penalty) = logins.judge(None, &limits, proof);
    assert_eq!(penalty.delay, limits.refusal_delay, "the first wrong guess");
}

#[test]
fn audit_r_l10_a_check_that_does_not_wait_needs_no_runtime() {
    let (logins, by_name) = (Arc::default(), Arc::default());
    assert_eq!(
        word(now(check(&logins, &by_name, b"ann").run())),
        Ok("ann".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn audit_r_l10_one_login_of_an_address_is_checked_at_a_time() {
    let (logins, by_name) = (Arc::<Logins>::default(), Arc::<ByName>::default());
    let turn = logins.turn(None);
    let held = turn.try_acquire().expect("free");
    let waiting = tokio::spawn(check(&logins, &by_name, b"ann").run());
    tokio::task::yield_now().await;
    assert_eq!(by_name.asked.load(Ordering::SeqCst), 0);
    drop(held);
    let proof = waiting.await.expect("no panic");
    assert_eq!(word(proof), Ok("ann".to_owned()));
    drop(turn);
    drop(logins.turn(None));
    assert_eq!(lock(&logins.turns).len(), 1, "unused turns are removed");
}

/// Any number of logins from the same address, such as the address of a proxy, may be waiting ahead of a login.
#[tokio::test(start_paused = true)]
async fn audit_the_wait_for_other_logins_of_an_address_is_limited() {
    let (logins, by_name) = (Arc::<Logins>::default(), Arc::<ByName>::default());
    let begun = tokio::time::Instant::now();
    let users = ["hangs", "hangs", "hangs", "ann"].into_iter();
    let checks = users.map(|user| tokio::spawn(check(&logins, &by_name, user.as_bytes()).run()));
    let checks: Vec<_> = checks.collect();
    for check in checks {
        check.await.expect("no panic");
    }
    let waited = begun.elapsed();
    assert!(waited < 2 * Limits::default().login_time, "{waited:?}");
    let proof = check(&logins, &by_name, b"ann").run().await;
    assert_eq!(word(proof), Ok("ann".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn r_f15_nothing_is_checked_for_an_address_that_guesses_too_often() {
    let (logins, by_name) = (Arc::<Logins>::default(), Arc::<ByName>::default());
    let limits = Limits::default();
    while !logins.guesses.is_silenced(None, limits.refusal_delay) {
        let wrong = diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, "");
        let _ = logins.judge(None, &limits, Proof::Checked(Err(wrong)));
    }
    let proof = check(&logins, &by_name, b"ann").run().await;
    assert_eq!(by_name.asked.load(Ordering::SeqCst), 0);
    let (judged, penalty) = logins.judge(None, &limits, proof);
    assert_eq!(judged.map_err(|why| why.condition), Err(1018));
    assert!(penalty.hang_up);
}
