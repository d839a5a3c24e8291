//! Tests of session totals, and of the reasons why sessions end.

use std::sync::Mutex;

use z3950_asn1::apdu::{IdAuthentication, IdPass};

use super::*;
use crate::access::Access;
use crate::lock::lock;
use crate::metrics::OperationKind;
use crate::observer::SessionTotals;
use crate::requests::ann;
use crate::requests::scan_request;

/// Keeps the totals of the sessions that have ended.
#[derive(Default)]
struct Ended(Mutex<Vec<SessionTotals>>);

impl Observer for Ended {
    fn wants_totals(&self) -> bool {
        true
    }

    fn ended(&self, totals: &SessionTotals) {
        lock(&self.0).push(totals.clone());
    }
}

/// Returns a server with the user `ann`.
fn target() -> Target {
    let access = Access {
        users: vec![ann()],
        anonymous: true,
        ..Access::default()
    };
    Target::new(catalogue(), Limits::default()).with_access(access)
}

fn init_as(user: &str) -> Apdu {
    InitializeRequest {
        id_authentication: Some(IdAuthentication::IdPass(IdPass {
            group_id: None,
            user_id: Some(user.into()),
            password: Some("secret".into()),
        })),
        ..init_of(ProtocolVersion::UP_TO_3)
    }
    .into()
}

/// Runs a session with these requests, after which the client disconnects; returns its totals.
async fn totals_of(requests: Vec<Apdu>, faults: Faults) -> SessionTotals {
    let ended = Arc::new(Ended::default());
    let mut client = Client::on(target(), faults, Arc::clone(&ended) as _, None);
    for request in requests {
        let is_last = matches!(request, Apdu::Close(_));
        client.send(request).await;
        if client.heard().await == "end" || is_last {
            break;
        }
    }
    // An error means that the server has already closed the connection.
    let _ = client.stream.get_mut().shutdown().await;
    while client.next().await.is_some() {}
    client.task.await.expect("no panic");
    lock(&ended.0).pop().expect("the session has ended")
}

#[tokio::test(start_paused = true)]
async fn totals_count_the_operations_of_a_session() {
    let requests = vec![
        init_as("ann"),
        search("war"),
        present(1, 2),
        search("@attr 1=9999 war"),
        scan_request("war").into(),
        Close::new(CloseReason::FINISHED, None).into(),
    ];
    let sizes = requests.iter().map(|request| {
        let octets = codec::encode(request).expect("encodes");
        octets.len() as u64
    });
    let received: u64 = sizes.sum();
    let totals = totals_of(requests, Faults::new()).await;
    let operations: Vec<_> = OperationKind::ALL
        .iter()
        .map(|kind| (kind.name(), totals.operations(*kind)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let expected = [("init", 1), ("search", 2), ("present", 1), ("scan", 1)];
    assert_eq!(operations, expected);
    assert_eq!((totals.session, totals.peer), (1, Peer::Unix));
    assert_eq!(totals.user.as_deref(), Some("ann"));
    assert_eq!((totals.requests, totals.records), (6, 2), "{totals:?}");
    assert_eq!(totals.octets_received, received);
    assert!(totals.octets_sent > 200, "{totals:?}");
    assert_eq!(totals.end, SessionEnd::Closed);
    let error = totals.last_error.expect("a search failed");
    assert!(error.starts_with("search: diagnostic 114 "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_is_known() {
    let before_init = "searchRequest out of place";
    let refused = "init: diagnostic 1011 ";
    for (requests, faults, end, error) in [
        (vec![], Faults::new(), SessionEnd::Left, ""),
        (vec![init()], Faults::new(), SessionEnd::Left, ""),
        (
            vec![search("war")],
            Faults::new(),
            SessionEnd::ProtocolError,
            before_init,
        ),
        (
            vec![init_as("bob"); Limits::default().refusals],
            Faults::new(),
            SessionEnd::Refused,
            refused,
        ),
        (
            vec![init_as("bob"); Limits::default().refusals - 1],
            Faults::new(),
            SessionEnd::Left,
            refused,
        ),
        (
            vec![init(), search("war")],
            Faults::new().on(When::search(), Fault::HangUp),
            SessionEnd::Fault,
            "",
        ),
    ] {
        let asked = format!("{requests:?}");
        let totals = totals_of(requests, faults).await;
        assert_eq!(totals.end, end, "{asked}");
        let known = totals.last_error.unwrap_or_default();
        assert!(known.starts_with(error), "{asked}: {known}");
        assert_eq!(known.is_empty(), error.is_empty(), "{asked}: {known}");
    }
}

/// Each case has the client's behaviour after Init, and the expected reason for the end of the session.
#[tokio::test(start_paused = true)]
async fn the_server_ends_sessions() {
    enum Deed {
        Nothing,
        Rubbish,
        NoRead,
        Stop,
        Abort,
    }
    for (deed, end) in [
        (Deed::Nothing, SessionEnd::Idle),
        (Deed::Rubbish, SessionEnd::ProtocolError),
        (Deed::NoRead, SessionEnd::Lost),
        (Deed::Stop, SessionEnd::Stopped),
        (Deed::Abort, SessionEnd::GaveWay),
    ] {
        let ended = Arc::new(Ended::default());
        let observer: Arc<dyn Observer> = Arc::clone(&ended) as _;
        let mut client = Client::on(target(), Faults::new(), observer, None);
        client.send(init()).await;
        assert_eq!(client.heard().await, "initResponse");
        match deed {
            Deed::Nothing => drop(client.heard_to_the_end().await),
            Deed::Rubbish => {
                client.send_octets(b"GET / HTTP/1.1\r\n").await;
                drop(client.heard_to_the_end().await);
            }
            Deed::NoRead => {
                let request = codec::encode(&search("war")).expect("encodes");
                while client.stream.get_mut().write_all(&request).await.is_ok() {}
            }
            Deed::Stop => {
                client.stop.send_replace(true);
                drop(client.heard_to_the_end().await);
            }
            Deed::Abort => {
                client.task.abort();
                drop(client.next().await);
            }
        }
        let _ = client.task.await;
        let totals = lock(&ended.0).pop().expect("the session has ended");
        assert_eq!(totals.end, end, "{totals:?}");
        assert_eq!(
            totals.last_error.is_some(),
            matches!(end, SessionEnd::Lost | SessionEnd::ProtocolError)
        );
    }
}
