//! Tests of the admission of connections, and of connections closed to make room.

use futures_util::FutureExt;
use tokio::time::sleep;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Returns slots for this many sessions. A connection is not closed within its first 250 ms without a session, nor while its
/// session has been idle for less than a second.
fn rooms(sessions: usize) -> Rooms {
    Rooms::new(&Limits {
        sessions,
        ..Limits::default()
    })
}

fn address(text: &str) -> Option<IpAddr> {
    (text != "unix").then(|| text.parse().expect("an address"))
}

/// Returns the slot of a new connection from the address, or the reason for the refusal.
fn enter(rooms: &Rooms, from: &str) -> Result<Room, &'static str> {
    match rooms.enter(address(from)) {
        Entrance::Admitted(room) => Ok(room),
        Entrance::Full(None) => Err("full"),
        Entrance::Full(Some(_)) => Err("full for now"),
        Entrance::Refused => Err("refused"),
    }
}

/// Opens `count` busy sessions from the address.
fn sessions(rooms: &Rooms, from: &str, count: usize) -> Vec<Room> {
    let open = |_| {
        let room = enter(rooms, from).unwrap_or_else(|why| panic!("{from}: {why}"));
        room.open();
        room
    };
    (0..count).map(open).collect()
}

fn refusal(rooms: &Rooms, from: &str) -> Option<&'static str> {
    enter(rooms, from).err()
}

fn gives_way(room: &Room) -> bool {
    poll_fn(|context| room.poll_called(context))
        .now_or_never()
        .is_some()
}

#[tokio::test(start_paused = true)]
async fn an_address_has_half_of_the_sessions_at_most() {
    for (sessions_in_all, most) in [(1, 1), (2, 1), (3, 2), (20, 10)] {
        let rooms = rooms(sessions_in_all);
        let mut held = sessions(&rooms, "192.0.2.1", most);
        assert_eq!(
            refusal(&rooms, "192.0.2.1"),
            Some("refused"),
            "{sessions_in_all}"
        );
        held.pop();
        assert_eq!(
            refusal(&rooms, "::ffff:192.0.2.1"),
            None,
            "{sessions_in_all}"
        );
    }
    let two = Limits {
        sessions_per_address: Some(2),
        ..Limits::default()
    };
    let rooms = Rooms::new(&two);
    let _held = sessions(&rooms, "2001:db8::1", 2);
    assert_eq!(
        refusal(&rooms, "2001:db8::ffff:1"),
        Some("refused"),
        "one network"
    );
    assert_eq!(refusal(&rooms, "2001:db8:0:1::1"), None);
}

#[tokio::test(start_paused = true)]
async fn the_last_tenth_is_for_addresses_without_a_session() {
    let rooms = rooms(20);
    let one = sessions(&rooms, "192.0.2.1", 9);
    let other = sessions(&rooms, "192.0.2.2", 9);
    for from in ["192.0.2.1", "192.0.2.2"] {
        assert_eq!(refusal(&rooms, from), Some("full"), "{from}");
    }
    let third = sessions(&rooms, "192.0.2.3", 1);
    assert_eq!(refusal(&rooms, "192.0.2.3"), Some("full"));
    let unix = sessions(&rooms, "unix", 1);
    assert_eq!(refusal(&rooms, "192.0.2.4"), Some("full"));
    drop((one, third));
    assert_eq!(refusal(&rooms, "192.0.2.2"), None);
    drop((other, unix));
    assert_eq!(
        lock(&rooms.0.occupants).of.len(),
        0,
        "addresses are forgotten"
    );
    assert_eq!(lock(&rooms.0.occupants).count, 0);
}

#[tokio::test(start_paused = true)]
async fn unix_sockets_are_one_address_without_a_limit() {
    let rooms = rooms(20);
    let _held = sessions(&rooms, "unix", 18);
    assert_eq!(refusal(&rooms, "unix"), Some("full"));
    assert_eq!(refusal(&rooms, "192.0.2.1"), None);
}

#[tokio::test(start_paused = true)]
async fn none_gives_way_to_an_address_that_has_more() {
    let rooms = rooms(5);
    let _of_first = sessions(&rooms, "192.0.2.1", 2);
    let _of_second = sessions(&rooms, "192.0.2.2", 2);
    let idle = sessions(&rooms, "192.0.2.3", 1);
    idle[0].idle(Instant::now());
    sleep(2 * SECOND).await;
    assert_eq!(refusal(&rooms, "192.0.2.1"), Some("full"));
    assert!(!gives_way(&idle[0]));
}

#[tokio::test(start_paused = true)]
async fn at_its_limit_an_address_takes_no_room_from_others() {
    let rooms = Rooms::new(&Limits {
        sessions: 20,
        sessions_per_address: Some(1),
        ..Limits::default()
    });
    let _held = sessions(&rooms, "192.0.2.1", 1);
    let guests = [(); 2].map(|()| enter(&rooms, "unix").expect("room"));
    sleep(2 * SECOND).await;
    assert_eq!(refusal(&rooms, "192.0.2.1"), Some("refused"));
    assert!(!guests.iter().any(gives_way));
}

#[tokio::test(start_paused = true)]
async fn connections_without_a_session_give_way_before_idle_ones() {
    let rooms = rooms(4);
    let of_first = sessions(&rooms, "192.0.2.1", 2);
    let idle = sessions(&rooms, "192.0.2.2", 1);
    let guest = enter(&rooms, "192.0.2.2").expect("room");
    idle[0].idle(Instant::now());
    let newcomer = || enter(&rooms, "192.0.2.3");
    assert_eq!(newcomer().err(), Some("full for now"));
    sleep(SECOND / 4).await;
    let second = newcomer().expect("the guest gives way");
    assert_eq!((gives_way(&guest), gives_way(&idle[0])), (true, false));
    second.open();
    drop(guest);
    let other = || enter(&rooms, "192.0.2.4");
    assert_eq!(
        other().err(),
        Some("full for now"),
        "the guest's room was taken"
    );
    sleep(SECOND * 3 / 4).await;
    let third = other().expect("the idle session gives way");
    assert!(gives_way(&idle[0]) && !gives_way(&second));
    third.open();
    assert_eq!(refusal(&rooms, "192.0.2.5"), Some("full"), "all are busy");
    assert!(!of_first.iter().any(gives_way));
}

#[tokio::test(start_paused = true)]
async fn the_longest_idle_session_of_the_address_with_the_most_goes_first() {
    let rooms = rooms(8);
    let many = sessions(&rooms, "192.0.2.1", 4);
    let few = sessions(&rooms, "192.0.2.2", 2);
    let two = sessions(&rooms, "192.0.2.3", 2);
    few[0].idle(Instant::now());
    sleep(SECOND).await;
    many[2].idle(Instant::now());
    sleep(SECOND).await;
    many[1].idle(Instant::now());
    sleep(SECOND * 9 / 10).await;
    assert_eq!(
        refusal(&rooms, "192.0.2.1"),
        Some("refused"),
        "idle sessions of its own stay"
    );
    let first = enter(&rooms, "192.0.2.4").expect("room");
    assert!(gives_way(&many[2]));
    let second = enter(&rooms, "192.0.2.5").expect("room");
    assert!(
        gives_way(&few[0]) && !gives_way(&many[1]),
        "not idle for a second yet"
    );
    first.open();
    second.open();
    assert_eq!(refusal(&rooms, "192.0.2.3"), Some("full for now"));
    sleep(SECOND / 10).await;
    let third = enter(&rooms, "192.0.2.3").expect("room");
    assert!(gives_way(&many[1]) && !two.iter().any(gives_way));
    drop(third);
}

#[tokio::test(start_paused = true)]
async fn an_address_at_its_limit_makes_room_for_itself() {
    let rooms = rooms(4);
    let _session = sessions(&rooms, "192.0.2.1", 1);
    let guest = enter(&rooms, "192.0.2.1").expect("room");
    let elsewhere = enter(&rooms, "192.0.2.2").expect("room");
    assert_eq!(refusal(&rooms, "192.0.2.1"), Some("full for now"));
    sleep(SECOND / 4).await;
    let _next = enter(&rooms, "192.0.2.1").expect("the guest gives way");
    assert!(gives_way(&guest) && !gives_way(&elsewhere));
}

#[tokio::test(start_paused = true)]
async fn a_free_room_wakes_waiting_connections() {
    let rooms = rooms(1);
    let mut held = sessions(&rooms, "192.0.2.1", 1);
    assert!(rooms.freed().now_or_never().is_none());
    held.clear();
    rooms.freed().await;
    assert_eq!(refusal(&rooms, "192.0.2.2"), None);
}
