//! Tests of operations that are cancelled, time out, or are dropped with their connection.

use super::*;
use crate::requests::Slow;

/// Returns a client that is waiting for a search that takes an hour.
async fn waiting() -> (Client, Arc<Slow>) {
    waiting_within(Limits::default()).await
}

async fn waiting_within(limits: Limits) -> (Client, Arc<Slow>) {
    let backend = Arc::new(Slow::default());
    let shared: Arc<dyn Backend> = Arc::clone(&backend) as _;
    let mut client = Client::of(shared, limits, Faults::new());
    client.send(init()).await;
    assert_eq!(client.heard().await, "initResponse");
    client.send(search("war")).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(backend.counts(), (1, 0));
    (client, backend)
}

fn cancel() -> Apdu {
    trigger(RequestedAction::CANCEL)
}

fn trigger(requested_action: RequestedAction) -> Apdu {
    TriggerResourceControlRequest {
        reference_id: None,
        requested_action,
        pref_resource_report_format: None,
        result_set_wanted: Some(false),
        other_info: None,
    }
    .into()
}

#[tokio::test(start_paused = true)]
async fn an_operation_is_cancelled_and_the_session_continues() {
    let (mut client, backend) = waiting().await;
    let begun = Instant::now();
    client.send(cancel()).await;
    let Some(Apdu::SearchResponse(answer)) = client.next().await else {
        panic!("the search is answered")
    };
    assert!(!answer.search_status);
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(backend.counts(), (1, 1));
    client.send(present(1, 1)).await;
    assert_eq!(client.heard().await, "presentResponse");
    // A trigger also works after other requests, which are answered in turn.
    client.send(search("war")).await;
    client.send(present(1, 1)).await;
    client.send(cancel()).await;
    assert_eq!(client.heard().await, "searchResponse");
    assert_eq!(client.heard().await, "presentResponse");
    assert_eq!(backend.counts(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_delayed_answer_is_sent_when_its_operation_is_cancelled() {
    let hour = Duration::from_secs(3600);
    for (action, waited) in [
        (RequestedAction::CANCEL, Duration::ZERO),
        (RequestedAction::RESOURCE_REPORT, hour),
    ] {
        let faults = Faults::new().with("on search: delay 1h".parse().expect("a rule"));
        let mut client = Client::open(Limits::default(), faults).await;
        let begun = Instant::now();
        client.send(search("war")).await;
        client.send(trigger(action)).await;
        assert_eq!(client.heard().await, "searchResponse");
        assert_eq!(begun.elapsed(), waited);
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_times_out_and_the_session_continues() {
    let second = Duration::from_secs(1);
    for (limit, answered) in [
        (Some(second * 600), Some(second * 600)),
        (Limits::default().operation_time, Some(second * 30)),
        (None, None),
    ] {
        let begun = Instant::now();
        let limits = Limits {
            operation_time: limit,
            ..Limits::default()
        };
        let (mut client, backend) = waiting_within(limits).await;
        let answer = tokio::time::timeout(second * 1800, client.next()).await;
        let Some(time) = answered else {
            assert!(answer.is_err());
            continue;
        };
        let Ok(Some(Apdu::SearchResponse(answer))) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(shown(&answer.records), "31 no answer in time");
        assert_eq!(begun.elapsed(), time);
        assert_eq!(backend.counts(), (1, 1));
        client.send(present(1, 1)).await;
        assert_eq!(client.heard().await, "presentResponse");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_is_dropped_with_its_connection() {
    let (mut client, backend) = waiting().await;
    let begun = Instant::now();
    client
        .send(Close::new(CloseReason::FINISHED, None).into())
        .await;
    assert_eq!(client.heard_to_the_end().await, ["finished: ", "end"]);
    assert_eq!(backend.counts(), (1, 1));

    // If the client shuts down its side, the server waits for the operation, but not for long.
    let (mut client, backend) = waiting().await;
    client.stream.get_mut().shutdown().await.expect("ends");
    assert_eq!(client.heard_to_the_end().await, ["end"]);
    assert_eq!(backend.counts(), (1, 1));

    let (client, backend) = waiting().await;
    drop(client);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(backend.counts(), (1, 1));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn little_is_read_while_an_operation_runs() {
    let (mut client, backend) = waiting().await;
    let request = codec::encode(&search("war")).expect("encodes");
    let mut sent = 0;
    let flood = async {
        while client.stream.get_mut().write_all(&request).await.is_ok() {
            sent += request.len();
        }
    };
    let stuck = tokio::time::timeout(Duration::from_secs(20), flood).await;
    assert!(stuck.is_err());
    let most = CAPACITY + Limits::default().read_ahead;
    assert!(sent <= most + 2 * 8192, "{sent} octets");
    assert_eq!(backend.counts(), (1, 0));
}
