//! Tests of the events of a retrieval by URL. They check the order of the events, and that each event is sent as soon
//! as its cause has occurred.

use std::future::ready;

use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::*;
use crate::client::ClientOptions;
use crate::plan::{Fallback, Plan};
use crate::protocol::service::ResultRecord;
use crate::transport::{Connect, Connecting, Routes, Timeouts};
use crate::url::{Host, Mode, Z3950Url};

/// A connector that passes the server's end of each connection to the test, which acts as the server.
struct Handed(mpsc::UnboundedSender<Peer>);

impl Connect for Handed {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        self.0.send(Peer::on(theirs)).expect("the test runs");
        Box::pin(ready(Ok(Box::new(ours) as _)))
    }
}

fn options() -> ClientOptions {
    let mut options = ClientOptions::default();
    options.plan.fallback = Fallback::ALL;
    options
}

async fn planned(client: &Client) -> Plan {
    let url = Z3950Url::parse("z39.50r://lib.example/cat?id7;rs=usmarc", Mode::Strict);
    client.plan(&url.expect("a URL")).await.expect("a plan")
}

/// Returns the events of a retrieval, its first event, and the server, which has received the first search but has not
/// answered it.
async fn begun() -> (Events, Event, Peer) {
    let (sender, mut peers) = mpsc::unbounded_channel();
    let client = Client::with_routes(options(), Routes::fixed(Arc::new(Handed(sender))));
    let mut events = client.find_planned(planned(&client).await);
    let accepting = async {
        let mut peer = peers.recv().await.expect("a connection");
        peer.request().await;
        peer.send(init_response(true, ProtocolVersion::UP_TO_3))
            .await;
        peer
    };
    let (first, mut peer) = tokio::join!(events.next(), accepting);
    assert!(matches!(peer.request().await, Apdu::SearchRequest(_)));
    (events, first.expect("an event"), peer)
}

/// Describes an event on one line.
fn told(event: &Event) -> String {
    match event {
        Event::Asked { target } => format!("{target} asked"),
        Event::Again {
            target,
            identifier: None,
            reason,
            step,
        } => format!("{target} again {step}: {reason}"),
        Event::Found(found) => {
            let step = found.step.as_deref().unwrap_or("-");
            format!("{} found {} by {step}", found.target, found.result.hits)
        }
        Event::Record {
            target,
            position,
            record,
        } => match record {
            ResultRecord::Record { .. } => format!("{target} record {position}"),
            ResultRecord::Diagnostic { .. } => format!("{target} diagnostic {position}"),
        },
        Event::Done {
            target,
            delivered,
            error,
            ..
        } => match error {
            Some(error) => format!("{target} done {delivered}: {error}"),
            None => format!("{target} done {delivered}"),
        },
        Event::Ended(ending) => {
            let hits = ending.hits.map_or("?".to_owned(), |hits| hits.to_string());
            let step = ending.step.as_deref().unwrap_or("-");
            format!("{} {hits} by {step}", ending.outcome)
        }
        other => panic!("{other:?}"),
    }
}

async fn rest(mut events: Events) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(event) = events.next().await {
        lines.push(told(&event));
    }
    lines
}

fn refused(condition: i64) -> Turn {
    send(search_failed(diagnostic(condition, "")))
}

fn delivered() -> Turn {
    send(found(1, vec![marc()]))
}

#[tokio::test(start_paused = true)]
async fn events_of_a_url_come_in_order() {
    let nothing = || send(found(0, vec![]));
    let not_in_syntax = || {
        let records = diagnostic(238, "");
        send(presented(PresentStatus::FAILURE, records))
    };
    let use_refused = "diagnostic 114 (the server has no such search field (Use attribute))";
    let no_syntax = "diagnostic 238 (the record is not available in the syntax asked for)";
    for (turns, expected) in [
        (
            vec![delivered()],
            vec![
                "0 asked",
                "0 found 1 by 1=1032,4=104",
                "0 record 1",
                "0 done 1",
                "delivered 1 by 1=1032,4=104",
            ],
        ),
        (
            vec![refused(114), delivered()],
            vec![
                "0 asked",
                &format!("0 again 1=1032: {use_refused}"),
                "0 asked",
                "0 found 1 by 1=1032",
                "0 record 1",
                "0 done 1",
                "delivered 1 by 1=1032",
            ],
        ),
        // The form of the record is known only after the last Present, so `found` comes after `again`.
        (
            vec![send(found(1, vec![])), not_in_syntax(), one(marc())],
            vec![
                "0 asked",
                &format!("0 again 1=1032,4=104;rs=none: {no_syntax}"),
                "0 found 1 by 1=1032,4=104;rs=none",
                "0 record 1",
                "0 done 1",
                "delivered 1 by 1=1032,4=104;rs=none",
            ],
        ),
        (
            vec![nothing(), nothing(), nothing(), nothing()],
            vec![
                "0 asked",
                "0 again 1=1032: no record matches",
                "0 asked",
                "0 again 1=12: no record matches",
                "0 asked",
                "0 again 1=1007: no record matches",
                "0 asked",
                "0 done 0: no record matches",
                "no match 0 by -",
            ],
        ),
        (
            vec![send(found(3, vec![]))],
            vec![
                "0 asked",
                "0 found 3 by 1=1032,4=104",
                "0 done 0: 3 records match, so none is delivered",
                "ambiguous 3 by 1=1032,4=104",
            ],
        ),
        (
            vec![refused(235)],
            vec![
                "0 asked",
                "0 done 0: Search failed: diagnostic 235 (there is no database of this name)",
                "search refused ? by -",
            ],
        ),
    ] {
        let script: Vec<Turn> = std::iter::once(accepted()).chain(turns).collect();
        let scripted = Scripted::new([script]);
        let client = Client::with_routes(options(), Routes::fixed(Arc::new(scripted)));
        let events = client.find_planned(planned(&client).await);
        assert_eq!(rest(events).await, expected);
    }
}

/// Checks that an event arrives before the server's next answer. The server in this test answers only after the event
/// has arrived.
#[tokio::test(start_paused = true)]
async fn events_of_a_url_come_before_the_next_answer() {
    let (mut events, first, mut peer) = begun().await;
    assert_eq!(told(&first), "0 asked");
    peer.send(search_failed(diagnostic(114, ""))).await;
    let again = told(&events.next().await.expect("an event"));
    assert!(
        again.starts_with("0 again 1=1032: diagnostic 114"),
        "{again}"
    );
    assert_eq!(told(&events.next().await.expect("an event")), "0 asked");
    peer.request().await;
    peer.send(found(1, vec![marc()])).await;
    let last = rest(events).await;
    assert_eq!(last[0], "0 found 1 by 1=1032");
    assert_eq!(last.len(), 4);
}

/// Checks that the session is returned even if nobody reads the events, and that all events can still be read
/// afterwards.
#[tokio::test(start_paused = true)]
async fn a_reader_of_a_url_that_stops_holds_no_session() {
    let (events, _, mut peer) = begun().await;
    peer.send(search_failed(diagnostic(114, ""))).await;
    peer.request().await;
    peer.send(found(1, vec![marc()])).await;
    assert_eq!(peer.rest().await, "close(finished)");
    let told = rest(events).await;
    assert_eq!(told.len(), 6, "{told:?}");
    assert_eq!(told[5], "delivered 1 by 1=1032");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_reader_ends_the_retrieval_of_a_url() {
    let (events, _, mut peer) = begun().await;
    drop(events);
    peer.send(search_failed(diagnostic(114, ""))).await;
    let requests = peer.rest().await;
    assert!(!requests.contains("search"), "{requests}");
}

#[test]
fn a_retrieval_of_a_url_ends_with_its_runtime() {
    let runtime = || {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime")
    };
    let (events, _, _peer) = runtime().block_on(begun());
    let told = runtime().block_on(rest(events));
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1], "unavailable ? by -");
}

/// Checks that a retrieval that is repeated in another session reports each step once.
#[tokio::test(start_paused = true)]
async fn a_repeated_retrieval_reports_each_step_once() {
    let again = [refused(114), delivered()];
    let (again, other) = (again.to_vec(), vec![delivered()]);
    for (repeated, step) in [(again, "1=1032"), (other, "1=1032,4=104")] {
        let first = vec![accepted(), delivered(), refused(114), Turn::HangUp];
        let second: Vec<Turn> = std::iter::once(accepted()).chain(repeated).collect();
        let mut keeping = options();
        keeping.keep_open = true;
        let scripted = Arc::new(Scripted::new([first, second]));
        let transcript = scripted.transcript.clone();
        let client = Client::with_routes(keeping, Routes::fixed(scripted));
        let plan = planned(&client).await;
        assert_eq!(rest(client.find_planned(plan.clone())).await.len(), 5);
        let told = rest(client.find_planned(plan)).await;
        assert_eq!(transcript.text().matches("connect").count(), 2);
        assert!(told[1].starts_with("0 again 1=1032: "), "{told:?}");
        let expected = [
            "0 asked",
            &told[1],
            "0 asked",
            &format!("0 found 1 by {step}"),
            "0 record 1",
            "0 done 1",
            &format!("delivered 1 by {step}"),
        ];
        assert_eq!(told, expected);
    }
}
