//! Tests of the delays after wrong passwords, by address and time.

use std::net::Ipv4Addr;

use tokio::time::advance;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn limits(delay: Duration) -> Limits {
    Limits {
        refusal_delay: delay,
        ..Limits::default()
    }
}

fn address(text: &str) -> Option<IpAddr> {
    Some(text.parse().expect("an address"))
}

/// Makes an attempt to authenticate; returns the penalty, and whether the password was checked.
fn attempt(
    guesses: &Guesses,
    address: Option<IpAddr>,
    limits: &Limits,
    is_right: bool,
) -> (Penalty, bool) {
    let mut is_checked = false;
    let (proved, penalty) = guesses.check(address, limits, || {
        is_checked = true;
        if is_right {
            Ok(())
        } else {
            Err(diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, "ann"))
        }
    });
    let condition = proved.err().map(|why| why.condition);
    let expected = match (is_checked, is_right) {
        (true, true) => None,
        (true, false) => Some(1011),
        (false, _) => Some(1018),
    };
    assert_eq!(condition, expected);
    assert_eq!(penalty.hang_up, !is_checked);
    (penalty, is_checked)
}

/// Makes an attempt that must be checked; returns the delay of its answer in milliseconds.
fn delay(guesses: &Guesses, from: &str, is_right: bool) -> u128 {
    let limits = Limits::default();
    let (penalty, is_checked) = attempt(guesses, address(from), &limits, is_right);
    assert!(is_checked);
    penalty.delay.as_millis()
}

#[tokio::test(start_paused = true)]
async fn each_wrong_password_doubles_the_delay() {
    let guesses = Guesses::default();
    for expected in [100, 200, 400, 800, 1600, 3200, 3200, 3200] {
        assert_eq!(delay(&guesses, "192.0.2.1", false), expected);
        assert_eq!(delay(&guesses, "192.0.2.2", true), 0);
        advance(Duration::from_millis(expected as u64)).await;
    }
    // The answer to a correct password is not delayed, and it resets the delays.
    assert_eq!(delay(&guesses, "192.0.2.1", true), 0);
    assert_eq!(delay(&guesses, "192.0.2.1", false), 100);
    // There are more refusals than a 32-bit factor can count, so the factor must stop growing.
    let limits = limits(Duration::from_nanos(1));
    let guesses = Guesses::default();
    for _ in 0..100 {
        advance(SECOND).await;
        let (penalty, _) = attempt(&guesses, None, &limits, false);
        assert!(penalty.delay <= Duration::from_nanos(32), "{penalty:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_to_an_address_wait_for_each_other() {
    let guesses = Guesses::default();
    for expected in [100, 300, 700, 1500] {
        assert_eq!(delay(&guesses, "192.0.2.1", false), expected);
    }
    // The answer to a correct password has to wait for earlier answers, and later answers have to wait for it.
    assert_eq!(delay(&guesses, "192.0.2.1", true), 1500);
    assert_eq!(delay(&guesses, "192.0.2.1", false), 1600);
    advance(SECOND).await;
    assert_eq!(delay(&guesses, "192.0.2.1", true), 600);
}

#[tokio::test(start_paused = true)]
async fn no_password_is_checked_while_too_many_answers_wait() {
    let limits = limits(SECOND);
    let guesses = Guesses::default();
    let from = address("192.0.2.1");
    for expected in [1, 3, 7, 15, 31, 63] {
        let (penalty, is_checked) = attempt(&guesses, from, &limits, false);
        assert!(is_checked);
        assert_eq!(penalty.delay, expected * SECOND);
    }
    for is_right in [false, true] {
        assert!(!attempt(&guesses, from, &limits, is_right).1);
    }
    // A wrong password from one address does not prevent checks of passwords from other addresses.
    assert!(attempt(&guesses, address("192.0.2.2"), &limits, true).1);
    // The delays add up to 63 s, and passwords are checked again when at most 32 s are left.
    advance(31 * SECOND - Duration::from_millis(1)).await;
    assert!(!attempt(&guesses, from, &limits, true).1);
    advance(Duration::from_millis(1)).await;
    let (penalty, is_checked) = attempt(&guesses, from, &limits, true);
    assert_eq!((penalty.delay, is_checked), (32 * SECOND, true));
}

#[tokio::test(start_paused = true)]
async fn an_address_is_forgotten_when_it_was_quiet() {
    for (quiet, expected) in [(QUIET - Duration::from_millis(1), 200), (QUIET, 100)] {
        let guesses = Guesses::default();
        assert_eq!(delay(&guesses, "192.0.2.1", false), 100);
        advance(Duration::from_millis(100) + quiet).await;
        assert_eq!(delay(&guesses, "192.0.2.1", false), expected, "{quiet:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn hosts_that_share_a_network_of_ipv6_are_one_address() {
    for (first, second, are_one) in [
        ("2001:db8::1", "2001:db8::ffff:1", true),
        ("2001:db8::1", "2001:db8:0:1::1", false),
        ("192.0.2.1", "::ffff:192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false),
    ] {
        let guesses = Guesses::default();
        assert_eq!(delay(&guesses, first, false), 100);
        let expected = if are_one { 300 } else { 100 };
        assert_eq!(delay(&guesses, second, false), expected, "{first} {second}");
    }
    // All Unix sockets count as one address.
    let guesses = Guesses::default();
    let limits = Limits::default();
    let delays = [(); 2].map(|()| attempt(&guesses, None, &limits, false).0.delay.as_millis());
    assert_eq!(delays, [100, 300]);
}

#[tokio::test(start_paused = true)]
async fn remembered_addresses_are_limited() {
    let limits = Limits {
        refused_addresses: 3,
        ..Limits::default()
    };
    let host = |number: u8| Some(IpAddr::from(Ipv4Addr::new(192, 0, 2, number)));
    let guesses = Guesses::default();
    let count = || lock(&guesses.guessers).len();
    for number in 1..=3 {
        attempt(&guesses, host(number), &limits, false);
        advance(SECOND).await;
    }
    assert_eq!(count(), 3);
    // A new address replaces the oldest one; an address that is already remembered does not replace any.
    for (number, expected) in [(4, 100), (4, 300), (2, 200), (1, 100)] {
        let (penalty, _) = attempt(&guesses, host(number), &limits, false);
        assert_eq!(penalty.delay.as_millis(), expected, "{number}");
        assert_eq!(count(), 3);
    }
    // All addresses that have been quiet for long enough are forgotten together.
    advance(QUIET + SECOND).await;
    attempt(&guesses, host(9), &limits, false);
    assert_eq!(count(), 1);
    attempt(&guesses, host(9), &limits, true);
    advance(SECOND).await;
    attempt(&guesses, host(9), &limits, true);
    assert_eq!(count(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_a_delay_every_password_is_checked() {
    let limits = limits(Duration::ZERO);
    let guesses = Guesses::default();
    for _ in 0..100 {
        let (penalty, is_checked) = attempt(&guesses, None, &limits, false);
        assert_eq!((penalty, is_checked), (Penalty::default(), true));
    }
    assert!(lock(&guesses.guessers).is_empty());
}
