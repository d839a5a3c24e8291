//! Tests of concurrent operations.

use z3950_asn1::apdu::{Options, RequestedAction, ResultSetId};

use super::*;
use crate::backend::{Hits, RecordId};
use crate::requests::{present_request, search_request};

/// A backend whose searches find one record and take the number of seconds that their term states. It counts the searches
/// in progress.
#[derive(Default)]
struct Timed {
    running: Arc<AtomicUsize>,
    most: AtomicUsize,
}

/// A search in progress.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Backend for Timed {
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(running, Ordering::Relaxed);
        let running = Running(Arc::clone(&self.running));
        let seconds = search.query.to_string();
        let seconds: String = seconds.chars().filter(char::is_ascii_digit).collect();
        let seconds = seconds.parse().expect("seconds");
        Box::pin(async move {
            sleep(Duration::from_secs(seconds)).await;
            drop(running);
            Ok([RecordId(0)].into_iter().collect::<Hits>().into())
        })
    }
}

/// Returns a client with or without concurrent operations in effect.
async fn agreed(is_agreed: bool, limits: Limits, faults: Faults) -> (Client, Arc<Timed>) {
    let backend = Arc::new(Timed::default());
    let mut client = Client::of(Arc::clone(&backend) as _, limits, faults);
    let mut init = init_of(ProtocolVersion::UP_TO_3);
    if is_agreed {
        init.options = init.options | Options::CONCURRENT_OPERATIONS;
    }
    client.send(init.into()).await;
    assert_eq!(client.heard().await, "initResponse");
    (client, backend)
}

async fn open() -> (Client, Arc<Timed>) {
    agreed(true, Limits::default(), Faults::new()).await
}

/// Adds a referenceId to a request, unless the referenceId is empty.
fn of(reference: &str, mut request: Apdu) -> Apdu {
    let reference = (!reference.is_empty()).then(|| ReferenceId(reference.into()));
    request.set_reference_id(reference);
    request
}

/// Returns a search that takes this many seconds and creates a set with this name.
fn timed(reference: &str, seconds: u64, set: &str) -> Apdu {
    let request = search_request(&seconds.to_string());
    let result_set_name = set.into();
    of(
        reference,
        Apdu::from(z3950_asn1::apdu::SearchRequest {
            result_set_name,
            ..request
        }),
    )
}

fn presented(reference: &str, set: &str) -> Apdu {
    let request = present_request(1, 1);
    let result_set_id = ResultSetId::from(set);
    of(
        reference,
        Apdu::from(z3950_asn1::apdu::PresentRequest {
            result_set_id,
            ..request
        }),
    )
}

/// Receives `number` answers; returns their referenceIds and the seconds at which they arrived.
async fn answers(client: &mut Client, number: usize) -> Vec<(String, u64)> {
    let begun = Instant::now();
    let mut answers = Vec::new();
    for _ in 0..number {
        let answer = client.next().await.expect("an answer");
        let reference = answer.reference_id().map(|id| id.0.to_vec());
        let reference = String::from_utf8(reference.unwrap_or_default()).expect("text");
        answers.push((reference, begun.elapsed().as_secs()));
    }
    answers
}

fn expected(answers: &[(&str, u64)]) -> Vec<(String, u64)> {
    let answers = answers.iter();
    answers.map(|(id, at)| ((*id).to_owned(), *at)).collect()
}

#[tokio::test(start_paused = true)]
async fn answers_overtake_each_other() {
    for (requests, expected_answers) in [
        // A Present waits for the search that creates its result set.
        (
            vec![
                timed("1", 5, "a"),
                timed("2", 1, "b"),
                presented("3", "b"),
                timed("4", 0, "c"),
            ],
            &[("4", 0), ("2", 1), ("3", 1), ("1", 5)][..],
        ),
        // A search that replaces a set waits for the earlier search, and a Present for the set waits for both searches.
        (
            vec![
                timed("1", 2, "a"),
                timed("2", 3, "a"),
                presented("3", "a"),
                timed("4", 1, "b"),
            ],
            &[("4", 1), ("1", 2), ("2", 5), ("3", 5)],
        ),
        // Requests with the same referenceId are answered in order.
        (
            vec![
                timed("1", 2, "a"),
                timed("1", 0, "b"),
                timed("", 1, "c"),
                timed("", 0, "d"),
            ],
            &[("", 1), ("", 1), ("1", 2), ("1", 2)],
        ),
        // Init is never concurrent with another request.
        (
            vec![timed("1", 2, "a"), of("2", init()), timed("3", 0, "a")],
            &[("1", 2), ("2", 2), ("3", 2)],
        ),
    ] {
        let (mut client, _) = open().await;
        for request in requests {
            client.send(request).await;
        }
        let seen = answers(&mut client, expected_answers.len()).await;
        assert_eq!(seen, expected(expected_answers));
    }
}

#[tokio::test(start_paused = true)]
async fn answers_keep_their_order_unless_agreed() {
    let (mut client, _) = agreed(false, Limits::default(), Faults::new()).await;
    client.send(timed("1", 5, "a")).await;
    client.send(timed("2", 0, "b")).await;
    let seen = answers(&mut client, 2).await;
    assert_eq!(seen, expected(&[("1", 5), ("2", 5)]));
}

#[tokio::test(start_paused = true)]
async fn concurrent_operations_are_limited() {
    let limits = Limits {
        concurrent_operations: 2,
        ..Limits::default()
    };
    let (mut client, backend) = agreed(true, limits, Faults::new()).await;
    for (reference, seconds) in [("1", 5), ("2", 3), ("3", 0), ("4", 1)] {
        client.send(timed(reference, seconds, reference)).await;
    }
    let seen = answers(&mut client, 4).await;
    assert_eq!(seen, expected(&[("2", 3), ("3", 3), ("4", 4), ("1", 5)]));
    assert_eq!(backend.most.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn one_operation_is_cancelled_and_the_others_continue() {
    let (mut client, backend) = open().await;
    for reference in ["1", "2", "3"] {
        client.send(timed(reference, 3600, reference)).await;
    }
    let trigger = |action| {
        of(
            "2",
            TriggerResourceControlRequest {
                reference_id: None,
                requested_action: action,
                pref_resource_report_format: None,
                result_set_wanted: Some(false),
                other_info: None,
            }
            .into(),
        )
    };
    client.send(trigger(RequestedAction::RESOURCE_REPORT)).await;
    let report = client.next().await.expect("a report");
    assert_eq!(report.name(), "resourceControlRequest");
    assert_eq!(report.reference_id(), Some(&ReferenceId("2".into())));
    client.send(trigger(RequestedAction::CANCEL)).await;
    assert_eq!(answers(&mut client, 1).await, expected(&[("2", 0)]));
    assert_eq!(backend.running.load(Ordering::Relaxed), 2);
    // The other operations are dropped with the session.
    client
        .send(Close::new(CloseReason::FINISHED, None).into())
        .await;
    assert_eq!(client.heard_to_the_end().await, ["finished: ", "end"]);
    assert_eq!(backend.running.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn each_operation_has_its_own_time_limit() {
    let limits = Limits {
        operation_time: Some(Duration::from_secs(10)),
        ..Limits::default()
    };
    let (mut client, _) = agreed(true, limits, Faults::new()).await;
    client.send(timed("1", 3600, "a")).await;
    sleep(Duration::from_secs(4)).await;
    client.send(timed("2", 3600, "b")).await;
    client.send(timed("3", 7, "c")).await;
    let seen = answers(&mut client, 3).await;
    assert_eq!(seen, expected(&[("1", 6), ("3", 7), ("2", 10)]));
}

#[tokio::test(start_paused = true)]
async fn a_delayed_answer_delays_only_conflicting_requests() {
    let slow = Fault::Delay(Duration::from_secs(5));
    let faults = Faults::new().on(When::search().nth(1), slow);
    let (mut client, _) = agreed(true, Limits::default(), faults).await;
    for request in [
        timed("1", 0, "a"),
        presented("2", "a"),
        timed("3", 1, "b"),
        presented("4", "b"),
    ] {
        client.send(request).await;
    }
    let seen = answers(&mut client, 4).await;
    assert_eq!(seen, expected(&[("3", 1), ("4", 1), ("1", 5), ("2", 5)]));
}

#[tokio::test(start_paused = true)]
async fn a_stopping_server_finishes_all_operations() {
    let (mut client, _) = open().await;
    client.send(timed("1", 2, "a")).await;
    client.send(timed("2", 1, "b")).await;
    sleep(Duration::from_millis(100)).await;
    client.stop.send_replace(true);
    assert_eq!(
        client.heard_to_the_end().await,
        [
            "searchResponse",
            "searchResponse",
            "shutdown: the server is stopping",
            "end"
        ]
    );
}
