//! Tests of connections over a pipe in memory, with a paused clock.

mod budget;
mod client;
mod concurrency;
mod guesses;
mod operations;
mod totals;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::codec::Framed;
use z3950_asn1::apdu::{
    Close, InitializeRequest, ProtocolVersion, ReferenceId, RequestedAction,
    TriggerResourceControlRequest,
};
use z3950_asn1::codec::frame::ApduCodec;

use self::client::{CAPACITY, Client};
use super::slots::{Entrance, Slots};
use super::*;
use crate::backend::{Answer, Backend, Found, Search};
use crate::fault::{Fault, When};
use crate::limits::Limits;
use crate::observer::Unobserved;
use crate::requests::{catalogue, init, init_of, present, search, shown};

async fn open() -> Client {
    Client::open(Limits::default(), Faults::new()).await
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_gives_way_with_a_close() {
    let one = Limits {
        sessions: 1,
        ..Limits::default()
    };
    let slots = Slots::new(&one);
    let Entrance::Admitted(slot) = slots.enter(None) else {
        panic!("a free slot")
    };
    let faults = Faults::new().with("on search: delay 5s".parse().expect("a rule"));
    let mut client = Client::in_slot(catalogue(), Limits::default(), faults, Some(slot));
    client.send(init()).await;
    assert_eq!(client.heard().await, "initResponse");
    let admits = || {
        matches!(
            slots.enter(Some([127, 0, 0, 2].into())),
            Entrance::Admitted(_)
        )
    };
    assert!(!admits(), "not idle for a second yet");
    client.send(search("x")).await;
    sleep(Duration::from_secs(4)).await;
    assert!(!admits(), "busy");
    assert_eq!(client.heard().await, "searchResponse");
    sleep(Duration::from_secs(1)).await;
    assert!(admits());
    let close = "lackOfActivity: the server is full, and this session was idle";
    assert_eq!(client.heard_to_the_end().await, [close, "end"]);
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_are_answered_in_order() {
    let mut client = open().await;
    let mut octets = Vec::new();
    for number in 0..50u8 {
        let mut request = if number % 2 == 0 {
            search("war")
        } else {
            present(1, 1)
        };
        request.set_reference_id(Some(ReferenceId(vec![number].into())));
        octets.extend(codec::encode(&request).expect("encodes"));
    }
    client.send_octets(&octets).await;
    for number in 0..50 {
        let answer = client.next().await.expect("an answer");
        assert_eq!(
            answer.reference_id(),
            Some(&ReferenceId(vec![number].into()))
        );
    }
    client
        .send(Close::new(CloseReason::FINISHED, None).into())
        .await;
    assert_eq!(client.heard_to_the_end().await, ["finished: ", "end"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_may_leave_without_close() {
    let mut client = open().await;
    client.send(search("war")).await;
    client.stream.get_mut().shutdown().await.expect("ends");
    assert_eq!(client.heard_to_the_end().await, ["searchResponse", "end"]);
}

#[tokio::test(start_paused = true)]
async fn malformed_apdus_end_the_session() {
    let over = 1_048_576 - 4;
    let too_large = |length: usize| {
        let [_, a, b, c] = (length as u32).to_be_bytes();
        [0xb6, 0x83, a, b, c]
    };
    for (octets, words) in [
        (
            &b"GET / HTTP/1.1\r\n"[..],
            "expected an APDU, found octet 0x47",
        ),
        (
            &[0xb6, 0x84, 0xff, 0xff, 0xff, 0xff],
            "an APDU of more than 1048576 octets at octet 0 of the APDU",
        ),
        (
            &too_large(over),
            "an APDU of more than 1048576 octets at octet 0 of the APDU",
        ),
        (
            &[0xbf, 0x28, 0],
            "unknown APDU: a value of none of the types allowed here at octet 0",
        ),
        (&[0xff; 40], "expected an APDU, found octet 0xff"),
    ] {
        let mut client = open().await;
        client.send_octets(octets).await;
        let close = format!("protocolError: {words}");
        assert_eq!(
            client.heard_to_the_end().await,
            [&*close, "end"],
            "{octets:x?}"
        );

        // Before Init, and in version 2, the connection ends without a Close.
        let mut client = Client::new(Limits::default(), Faults::new());
        client.send_octets(octets).await;
        assert_eq!(client.heard_to_the_end().await, ["end"]);
        let mut client = Client::new(Limits::default(), Faults::new());
        client.send(init_of(ProtocolVersion::UP_TO_2).into()).await;
        client.send_octets(octets).await;
        assert_eq!(client.heard_to_the_end().await, ["initResponse", "end"]);
    }
    let mut client = open().await;
    client.send_octets(&[0xb6, 9, 1]).await;
    client.stream.get_mut().shutdown().await.expect("ends");
    let close = "protocolError: the connection ended 3 octets into an APDU";
    assert_eq!(client.heard_to_the_end().await, [close, "end"]);
}

/// Returns an Init that is `octets` long, from 60 to 180.
fn init_of_size(octets: usize) -> Apdu {
    let sized = |name: usize| -> Apdu {
        InitializeRequest {
            implementation_name: Some("n".repeat(name).into()),
            ..init_of(ProtocolVersion::UP_TO_3)
        }
        .into()
    };
    let sizes = (0..180).map(sized);
    let mut fitting =
        sizes.filter(|apdu| codec::encode(apdu).is_ok_and(|init| init.len() == octets));
    fitting.next().expect("a name that long")
}

#[tokio::test(start_paused = true)]
async fn apdus_are_taken_up_to_the_limit_of_the_state() {
    let limits = || Limits {
        apdu_size_before_init: 100,
        apdu_size: 120,
        ..Limits::default()
    };
    for (first, second, heard) in [
        (100, 120, &["initResponse", "initResponse"][..]),
        (101, 120, &["end"]),
        (
            100,
            121,
            &[
                "initResponse",
                "protocolError: an APDU of more than 120 octets at octet 0 of the APDU",
            ],
        ),
    ] {
        let mut client = Client::new(limits(), Faults::new());
        for size in [first, second] {
            client.send(init_of_size(size)).await;
        }
        for expected in heard {
            assert_eq!(client.heard().await, *expected, "{first}, {second}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn silent_clients_are_disconnected() {
    let begun = Instant::now();
    let mut client = Client::new(Limits::default(), Faults::new());
    assert_eq!(client.heard_to_the_end().await, ["end"]);
    assert_eq!(begun.elapsed().as_secs(), 30);

    let mut client = open().await;
    sleep(Duration::from_secs(899)).await;
    client.send(search("war")).await;
    assert_eq!(client.heard().await, "searchResponse");
    let begun = Instant::now();
    let heard = client.heard_to_the_end().await;
    assert_eq!(heard, ["lackOfActivity: no request in time", "end"]);
    assert_eq!(begun.elapsed().as_secs(), 900);

    // Octets of an incomplete request do not count as activity.
    let mut client = open().await;
    let trickle = async {
        for octet in [0xb6, 0x7f].into_iter().chain([0; 100]) {
            if client.stream.get_mut().write_all(&[octet]).await.is_err() {
                break;
            }
            sleep(Duration::from_secs(10)).await;
        }
    };
    trickle.await;
    assert_eq!(client.heard().await, "lackOfActivity: no request in time");

    for idle_time in [None, Some(Duration::MAX)] {
        let init_time = Duration::MAX;
        let limits = Limits {
            idle_time,
            init_time,
            ..Limits::default()
        };
        let mut client = Client::open(limits, Faults::new()).await;
        sleep(Duration::from_secs(1 << 20)).await;
        client.send(search("war")).await;
        assert_eq!(client.heard().await, "searchResponse");
    }
}

#[tokio::test(start_paused = true)]
async fn clients_that_do_not_read_are_disconnected() {
    let mut client = open().await;
    let request = codec::encode(&search("war")).expect("encodes");
    let begun = Instant::now();
    // The server stops reading when its answers are not read, and then disconnects.
    while client.stream.get_mut().write_all(&request).await.is_ok() {}
    assert!(
        (30..40).contains(&begun.elapsed().as_secs()),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_stopping_server_sends_close() {
    for (versions, last) in [
        (
            ProtocolVersion::UP_TO_3,
            &["shutdown: the server is stopping", "end"][..],
        ),
        (ProtocolVersion::UP_TO_2, &["end"]),
    ] {
        let mut client = Client::new(Limits::default(), Faults::new());
        client.send(init_of(versions).into()).await;
        assert_eq!(client.heard().await, "initResponse");
        client.stop.send_replace(true);
        assert_eq!(client.heard_to_the_end().await, last);
    }
    // An answer in progress is sent before the Close.
    let slow = Fault::Delay(Duration::from_millis(300));
    let faults = Faults::new().on(When::search(), slow);
    let mut client = Client::open(Limits::default(), faults).await;
    client.send(search("war")).await;
    sleep(Duration::from_millis(100)).await;
    client.stop.send_replace(true);
    let heard = client.heard_to_the_end().await;
    assert_eq!(
        heard,
        ["searchResponse", "shutdown: the server is stopping", "end"]
    );
}

#[tokio::test(start_paused = true)]
async fn faults_reach_the_wire() {
    let hour = Duration::from_secs(3600);
    let limits = || Limits {
        idle_time: Some(hour),
        ..Limits::default()
    };
    let struck = async |fault: Fault| {
        let mut client = Client::open(limits(), Faults::new().on(When::search(), fault)).await;
        client.send(search("war")).await;
        client
    };
    let mut client = struck(Fault::Trickle).await;
    assert_eq!(client.heard().await, "searchResponse");

    let mut client = struck(Fault::Silence).await;
    client.send(present(1, 1)).await;
    assert_eq!(client.heard().await, "presentResponse");

    let mut client = struck(Fault::Close(CloseReason::COST_LIMIT, Some("pay first"))).await;
    assert_eq!(
        client.heard_to_the_end().await,
        ["costLimit: pay first", "end"]
    );

    let mut client = struck(Fault::After(
        Close::new(CloseReason::RESOURCES, None).into(),
    ))
    .await;
    assert_eq!(client.heard().await, "searchResponse");
    assert_eq!(client.heard().await, "resources: ");

    for fault in [Fault::CutAfter(5), Fault::announces_4_gib()] {
        let mut client = struck(fault).await;
        let failed = client.stream.next().await;
        assert!(
            matches!(
                failed,
                Some(Err(StreamError::CutOff(5) | StreamError::Frame(_)))
            ),
            "{failed:?}"
        );
    }
    let mut client = struck(Fault::CutAfter(0)).await;
    assert_eq!(client.heard_to_the_end().await, ["end"]);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_answer_reaches_a_client_that_still_reads() {
    let slow = Fault::Delay(Duration::from_secs(60));
    for (request, heard) in [
        (search("war"), &["searchResponse", "end"][..]),
        (
            Close::new(CloseReason::FINISHED, None).into(),
            &["finished: ", "end"],
        ),
    ] {
        let faults = Faults::new()
            .on(When::search(), slow.clone())
            .on(When::close(), slow.clone());
        let mut client = Client::open(Limits::default(), faults).await;
        let begun = Instant::now();
        client.send(request).await;
        client.stream.get_mut().shutdown().await.expect("ends");
        assert_eq!(client.heard_to_the_end().await, heard);
        assert_eq!(begun.elapsed().as_secs(), 60);
    }
}

#[tokio::test(start_paused = true)]
async fn octets_are_written_at_a_rate() {
    let faults = Faults::new().on(
        When::search(),
        Fault::Rate(std::num::NonZeroU32::new(2).expect("not 0")),
    );
    let mut client = Client::open(Limits::default(), faults).await;
    let begun = Instant::now();
    client.send(search("war")).await;
    let Some(answer) = client.next().await else {
        panic!("an answer")
    };
    let octets = codec::encode(&answer).expect("encodes").len();
    let time = Duration::from_millis(500) * u32::try_from(octets - 1).expect("few");
    assert_eq!(begun.elapsed().as_millis(), time.as_millis());
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_holds_no_buffer() {
    let mut inlet = Inlet::new(1 << 20, Charge::default());
    let (mut ours, mut theirs) = tokio::io::duplex(CAPACITY);
    let octets = codec::encode(&search("war")).expect("encodes");
    for count in 1..4 {
        ours.write_all(&octets.repeat(count)).await.expect("room");
        for _ in 0..count {
            let Arrival::Apdu(apdu) = inlet.heard(&mut theirs, None).await else {
                panic!("an APDU")
            };
            assert_eq!(apdu, octets);
        }
        assert_eq!(inlet.capacity(), 0);
    }
    let connection = size_of::<Connection<'_, tokio::net::TcpStream>>();
    assert!(connection <= 1024, "{connection} octets");
}
