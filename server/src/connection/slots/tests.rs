//! Tests of the admission of connections, and of connections closed to make room.

use futures_util::FutureExt;
use tokio::time::sleep;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Returns slots for this many sessions. A connection is not closed within its first 250 ms without a session, nor while its
/// session has been idle for less than a second.
fn slots(sessions: usize) -> Slots {
    Slots::new(&Limits {
        sessions,
        ..Limits::default()
    })
}

fn address(text: &str) -> Option<IpAddr> {
    (text != "unix").then(|| text.parse().expect("an address"))
}

/// Returns the slot of a new connection from the address, or the reason for the refusal.
fn enter(slots: &Slots, from: &str) -> Result<Slot, &'static str> {
    match slots.enter(address(from)) {
        Entrance::Admitted(slot) => Ok(slot),
        Entrance::Full(None) => Err("full"),
        Entrance::Full(Some(_)) => Err("full for now"),
        Entrance::Refused => Err("refused"),
    }
}

/// Opens `count` busy sessions from the address.
fn sessions(slots: &Slots, from: &str, count: usize) -> Vec<Slot> {
    let open = |_| {
        let slot = enter(slots, from).unwrap_or_else(|why| panic!("{from}: {why}"));
        slot.open();
        slot
    };
    (0..count).map(open).collect()
}

fn refusal(slots: &Slots, from: &str) -> Option<&'static str> {
    enter(slots, from).err()
}

fn gives_way(slot: &Slot) -> bool {
    poll_fn(|context| slot.poll_called(context))
        .now_or_never()
        .is_some()
}

#[tokio::test(start_paused = true)]
async fn an_address_has_half_of_the_sessions_at_most() {
    for (sessions_in_all, most) in [(1, 1), (2, 1), (3, 2), (20, 10)] {
        let slots = slots(sessions_in_all);
        let mut held = sessions(&slots, "192.0.2.1", most);
        assert_eq!(
            refusal(&slots, "192.0.2.1"),
            Some("refused"),
            "{sessions_in_all}"
        );
        held.pop();
        assert_eq!(
            refusal(&slots, "::ffff:192.0.2.1"),
            None,
            "{sessions_in_all}"
        );
    }
    let two = Limits {
        sessions_per_address: Some(2),
        ..Limits::default()
    };
    let slots = Slots::new(&two);
    let _held = sessions(&slots, "2001:db8::1", 2);
    assert_eq!(
        refusal(&slots, "2001:db8::ffff:1"),
        Some("refused"),
        "one network"
    );
    assert_eq!(refusal(&slots, "2001:db8:0:1::1"), None);
}

#[tokio::test(start_paused = true)]
async fn the_last_tenth_is_for_addresses_without_a_session() {
    let slots = slots(20);
    let one = sessions(&slots, "192.0.2.1", 9);
    let other = sessions(&slots, "192.0.2.2", 9);
    for from in ["192.0.2.1", "192.0.2.2"] {
        assert_eq!(refusal(&slots, from), Some("full"), "{from}");
    }
    let third = sessions(&slots, "192.0.2.3", 1);
    assert_eq!(refusal(&slots, "192.0.2.3"), Some("full"));
    let unix = sessions(&slots, "unix", 1);
    assert_eq!(refusal(&slots, "192.0.2.4"), Some("full"));
    drop((one, third));
    assert_eq!(refusal(&slots, "192.0.2.2"), None);
    drop((other, unix));
    assert_eq!(
        lock(&slots.0.holders).of.len(),
        0,
        "addresses are forgotten"
    );
    assert_eq!(lock(&slots.0.holders).count, 0);
}

#[tokio::test(start_paused = true)]
async fn unix_sockets_are_one_address_without_a_limit() {
    let slots = slots(20);
    let _held = sessions(&slots, "unix", 18);
    assert_eq!(refusal(&slots, "unix"), Some("full"));
    assert_eq!(refusal(&slots, "192.0.2.1"), None);
}

#[tokio::test(start_paused = true)]
async fn none_gives_way_to_an_address_that_has_more() {
    let slots = slots(5);
    let _of_first = sessions(&slots, "192.0.2.1", 2);
    let _of_second = sessions(&slots, "192.0.2.2", 2);
    let idle = sessions(&slots, "192.0.2.3", 1);
    idle[0].idle(Instant::now());
    sleep(2 * SECOND).await;
    assert_eq!(refusal(&slots, "192.0.2.1"), Some("full"));
    assert!(!gives_way(&idle[0]));
}

#[tokio::test(start_paused = true)]
async fn at_its_limit_an_address_takes_no_room_from_others() {
    let slots = Slots::new(&Limits {
        sessions: 20,
        sessions_per_address: Some(1),
        ..Limits::default()
    });
    let _held = sessions(&slots, "192.0.2.1", 1);
    let guests = [(); 2].map(|()| enter(&slots, "unix").expect("room"));
    sleep(2 * SECOND).await;
    assert_eq!(refusal(&slots, "192.0.2.1"), Some("refused"));
    assert!(!guests.iter().any(gives_way));
}

#[tokio::test(start_paused = true)]
async fn connections_without_a_session_give_way_before_idle_ones() {
    let slots = slots(4);
    let of_first = sessions(&slots, "192.0.2.1", 2);
    let idle = sessions(&slots, "192.0.2.2", 1);
    let guest = enter(&slots, "192.0.2.2").expect("room");
    idle[0].idle(Instant::now());
    let newcomer = || enter(&slots, "192.0.2.3");
    assert_eq!(newcomer().err(), Some("full for now"));
    sleep(SECOND / 4).await;
    let second = newcomer().expect("the guest gives way");
    assert_eq!((gives_way(&guest), gives_way(&idle[0])), (true, false));
    second.open();
    drop(guest);
    let other = || enter(&slots, "192.0.2.4");
    assert_eq!(
        other().err(),
        Some("full for now"),
        "the guest's slot was taken"
    );
    sleep(SECOND * 3 / 4).await;
    let third = other().expect("the idle session gives way");
    assert!(gives_way(&idle[0]) && !gives_way(&second));
    third.open();
    assert_eq!(refusal(&slots, "192.0.2.5"), Some("full"), "all are busy");
    assert!(!of_first.iter().any(gives_way));
}

#[tokio::test(start_paused = true)]
async fn the_longest_idle_session_of_the_address_with_the_most_goes_first() {
    let slots = slots(8);
    let many = sessions(&slots, "192.0.2.1", 4);
    let few = sessions(&slots, "192.0.2.2", 2);
    let two = sessions(&slots, "192.0.2.3", 2);
    few[0].idle(Instant::now());
    sleep(SECOND).await;
    many[2].idle(Instant::now());
    sleep(SECOND).await;
    many[1].idle(Instant::now());
    sleep(SECOND * 9 / 10).await;
    assert_eq!(
        refusal(&slots, "192.0.2.1"),
        Some("refused"),
        "idle sessions of its own stay"
    );
    let first = enter(&slots, "192.0.2.4").expect("room");
    assert!(gives_way(&many[2]));
    let second = enter(&slots, "192.0.2.5").expect("room");
    assert!(
        gives_way(&few[0]) && !gives_way(&many[1]),
        "not idle for a second yet"
    );
    first.open();
    second.open();
    assert_eq!(refusal(&slots, "192.0.2.3"), Some("full for now"));
    sleep(SECOND / 10).await;
    let third = enter(&slots, "192.0.2.3").expect("room");
    assert!(gives_way(&many[1]) && !two.iter().any(gives_way));
    drop(third);
}

#[tokio::test(start_paused = true)]
async fn an_address_at_its_limit_makes_room_for_itself() {
    let slots = slots(4);
    let _session = sessions(&slots, "192.0.2.1", 1);
    let guest = enter(&slots, "192.0.2.1").expect("room");
    let elsewhere = enter(&slots, "192.0.2.2").expect("room");
    assert_eq!(refusal(&slots, "192.0.2.1"), Some("full for now"));
    sleep(SECOND / 4).await;
    let _next = enter(&slots, "192.0.2.1").expect("the guest gives way");
    assert!(gives_way(&guest) && !gives_way(&elsewhere));
}

#[tokio::test(start_paused = true)]
async fn a_free_room_wakes_waiting_connections() {
    let slots = slots(1);
    let mut held = sessions(&slots, "192.0.2.1", 1);
    assert!(slots.freed().now_or_never().is_none());
    held.clear();
    slots.freed().await;
    assert_eq!(refusal(&slots, "192.0.2.2"), None);
}
