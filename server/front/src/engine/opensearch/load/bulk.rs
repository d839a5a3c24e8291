//! Sends requests with many changes, and reads the result of each change from the answer, because the status of an
//! answer says nothing about the individual changes.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use z3950_server::lock;

use super::IndexChange;
use crate::engine::link::{BLOCK, Draft, Failure, Link, NDJSON, shortened};

/// The number of octets of changes after which a request is sent.
const BATCH_OCTETS: usize = 5 << 20;
/// The maximum time to wait for the answer to one request.
const BULK_TIME: Duration = Duration::from_secs(120);
/// The time for which changes are repeated while the cluster does not accept any.
const PATIENCE: Duration = Duration::from_secs(300);
/// The time without an accepted change after which the delay is reported.
const SLOW: Duration = Duration::from_secs(30);
/// The first and the maximum delay before changes are sent again.
const WAITS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(10)];
/// The maximum number of octets in an answer.
const MOST_ANSWER: usize = 32 << 20;

/// The place of a record in the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordPlace {
    /// The index of the file among the input files, from 0.
    pub file: usize,
    /// The number of the record in the file, from 1.
    pub number: u64,
    /// The number of octets before the record in the file.
    pub offset: u64,
}

/// A record that the search engine refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRecord {
    /// The place of the record.
    pub place: RecordPlace,
    /// The reason for the refusal.
    pub words: String,
}

/// The results of a part of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadPart {
    /// The number of records that were stored or deleted.
    pub changed: u64,
    /// The number of records that replaced earlier ones with the same identifiers.
    pub replaced: u64,
    /// The number of records that were to be deleted but did not exist.
    pub absent: u64,
    /// The records that were refused.
    pub refused: Vec<RefusedRecord>,
}

impl LoadPart {
    pub(super) fn extend(&mut self, other: Self) {
        self.changed += other.changed;
        self.replaced += other.replaced;
        self.absent += other.absent;
        self.refused.extend(other.refused);
    }
}

/// The reason why a load ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexLoadError {
    /// The cluster failed.
    #[error("the search engine fails: {0}")]
    Cluster(String),
    /// The index refuses changes.
    #[error("the index takes no changes: {0}")]
    Blocked(String),
    /// The index is no longer the one with which the load began.
    #[error("the index was changed meanwhile: {0}")]
    Changed(String),
    /// The task of a lane has ended unexpectedly, and its unsent changes are lost.
    #[error("records are lost: nothing takes them")]
    Lost,
}

/// Changes that are sent together. If an identifier has several changes, only the last one is sent.
#[derive(Debug, Default)]
pub(super) struct Batch {
    changes: Vec<IndexChange>,
    known: HashMap<String, usize>,
    octets: usize,
    /// The number of changes that later changes have replaced.
    replaced: u64,
}

impl Batch {
    pub(super) fn add(&mut self, change: IndexChange) {
        self.octets += change.lines.len();
        let before = self.known.get(&change.id).copied();
        match before.and_then(|at| self.changes.get_mut(at)) {
            Some(before) => {
                self.octets -= before.lines.len();
                *before = change;
                self.replaced += 1;
            }
            None => {
                self.known.insert(change.id.clone(), self.changes.len());
                self.changes.push(change);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.octets >= BATCH_OCTETS
    }
}

/// The result of a change.
enum Outcome {
    Changed,
    /// The record is stored in place of an earlier one.
    Replaced,
    Absent,
    /// The change was refused, but may be accepted later.
    Again(String),
    Refused(String),
}

/// Sends changes to an index. All lanes of a load share the same sender.
pub(super) struct Bulk {
    link: Arc<Link>,
    path: String,
    slow: Box<dyn Fn(Duration) + Send + Sync>,
    pace: Mutex<Pace>,
}

/// The progress of a load.
struct Pace {
    /// The time when the cluster last accepted or finally refused a change from any lane.
    taken: Instant,
    /// Whether the delay since then has been reported.
    is_told: bool,
}

impl Bulk {
    /// Creates a sender for the index that an alias names.
    pub(super) fn new(
        link: Arc<Link>,
        alias: &str,
        slow: impl Fn(Duration) + Send + Sync + 'static,
    ) -> Self {
        Self {
            link,
            path: format!(
                "/{alias}/_bulk?require_alias=true&filter_path=errors,items.*.status,items.*.error"
            ),
            slow: Box::new(slow),
            pace: Mutex::new(Pace {
                taken: Instant::now(),
                is_told: false,
            }),
        }
    }

    /// Sends changes until each of them is accepted or finally refused, and adds the results to `part`.
    pub(super) async fn send(
        &self,
        batch: Batch,
        part: &mut LoadPart,
    ) -> Result<(), IndexLoadError> {
        // Records that were replaced by later records in the same batch are not sent, but count as stored.
        part.changed += batch.replaced;
        part.replaced += batch.replaced;
        let begun = Instant::now();
        let mut sent = pin!(self.carry_out(batch.changes, begun, part));
        loop {
            if let Ok(sent) = timeout(SLOW, &mut sent).await {
                return sent;
            }
            let waited = self.waited(begun);
            let mut pace = lock(&self.pace);
            if waited >= SLOW && !std::mem::replace(&mut pace.is_told, true) {
                (self.slow)(waited);
            }
        }
    }

    /// Returns the time for which a request has been waiting without any of the load's changes being accepted;
    /// `begun` is the time when it was first sent.
    fn waited(&self, begun: Instant) -> Duration {
        lock(&self.pace).taken.max(begun).elapsed()
    }

    async fn carry_out(
        &self,
        mut changes: Vec<IndexChange>,
        begun: Instant,
        part: &mut LoadPart,
    ) -> Result<(), IndexLoadError> {
        let [first_wait, longest] = WAITS;
        let mut wait = first_wait;
        let mut why = "no answer".to_owned();
        loop {
            let number = changes.len();
            let left = PATIENCE.saturating_sub(self.waited(begun));
            let mut least = Duration::ZERO;
            match timeout(left, self.link.ask(&self.draft(&changes))).await {
                Ok(Ok(answer)) => (changes, why) = sort(changes, &answer, part)?,
                Ok(Err(failure)) => (why, least) = temporary(failure)?,
                Err(_) => {}
            }
            if changes.len() < number {
                wait = first_wait;
                *lock(&self.pace) = Pace {
                    taken: Instant::now(),
                    is_told: false,
                };
            }
            if changes.is_empty() {
                return Ok(());
            }
            let left = PATIENCE.saturating_sub(self.waited(begun));
            if left.is_zero() {
                let minutes = PATIENCE.as_secs() / 60;
                return Err(IndexLoadError::Cluster(format!(
                    "it has taken nothing for {minutes} minutes: {why}"
                )));
            }
            tracing::debug!(left = changes.len(), %why, "changes are sent again");
            sleep(wait.max(least).min(left)).await;
            wait = longest.min(2 * wait);
        }
    }

    fn draft(&self, changes: &[IndexChange]) -> Draft {
        let octets = changes.iter().map(|change| change.lines.len()).sum();
        let mut body = Vec::with_capacity(octets);
        changes
            .iter()
            .for_each(|change| body.extend_from_slice(&change.lines));
        Draft {
            method: Method::POST,
            content_type: NDJSON,
            body: Bytes::from(body),
            time: Some(BULK_TIME),
            // Repeating this change does no harm, so it may be sent again, like a request that only reads.
            ..Draft::read(&*self.path, MOST_ANSWER)
        }
    }
}

/// Returns the reason for a failure that may be temporary, and the minimum delay before a retry.
fn temporary(failure: Failure) -> Result<(String, Duration), IndexLoadError> {
    let words = failure.to_string();
    let least = match failure {
        Failure::TooBusy { retry_after, .. } => retry_after.unwrap_or_default(),
        Failure::Unreachable { .. }
        | Failure::Busy { .. }
        | Failure::Late { .. }
        | Failure::ClosedWithoutAnswer { .. } => Duration::ZERO,
        Failure::Refused { status: 404, .. } => return Err(IndexLoadError::Changed(words)),
        Failure::Refused { kind, .. } if kind == BLOCK => {
            return Err(IndexLoadError::Blocked(words));
        }
        _ => return Err(IndexLoadError::Cluster(words)),
    };
    Ok((words, least))
}

/// Sorts changes by their results. Returns the changes to send again, with the reason why the last of them was not
/// accepted.
fn sort(
    changes: Vec<IndexChange>,
    answer: &Value,
    part: &mut LoadPart,
) -> Result<(Vec<IndexChange>, String), IndexLoadError> {
    let items = answer.get("items").and_then(Value::as_array);
    let items = items.filter(|items| items.len() == changes.len());
    let malformed = || {
        let words = "an answer does not say what became of each change";
        IndexLoadError::Cluster(words.to_owned())
    };
    let items = items.ok_or_else(malformed)?;
    let (mut left, mut why) = (Vec::new(), String::new());
    for (change, item) in changes.into_iter().zip(items) {
        match outcome(item)? {
            Outcome::Changed => part.changed += 1,
            Outcome::Replaced => {
                part.changed += 1;
                part.replaced += 1;
            }
            Outcome::Absent => part.absent += 1,
            Outcome::Again(words) => {
                why = words;
                left.push(change);
            }
            Outcome::Refused(words) => part.refused.push(RefusedRecord {
                place: change.place,
                words,
            }),
        }
    }
    Ok((left, why))
}

/// Returns the result of a change: `{"index": {"status": 400, "error": {…}}}`.
fn outcome(item: &Value) -> Result<Outcome, IndexLoadError> {
    let (action, of) = item.as_object().and_then(|item| item.iter().next()).unzip();
    let of = of.unwrap_or(&Value::Null);
    let status = of.get("status").and_then(Value::as_u64).unwrap_or_default();
    let text = |pointer: &str| of.pointer(pointer).and_then(Value::as_str);
    let kind = text("/error/type").unwrap_or_default();
    let words = || {
        let words = [text("/error/reason"), text("/error/caused_by/reason")];
        let words = words.into_iter().flatten().collect::<Vec<_>>().join(": ");
        shortened(if words.is_empty() { kind } else { &words })
    };
    match status {
        200 if action.is_some_and(|action| action == "index") => Ok(Outcome::Replaced),
        200 | 201 => Ok(Outcome::Changed),
        404 if action.is_some_and(|action| action == "delete") && kind.is_empty() => {
            Ok(Outcome::Absent)
        }
        _ if kind == BLOCK => Err(IndexLoadError::Blocked(words())),
        404 => Err(IndexLoadError::Changed(words())),
        400 if kind == "strict_dynamic_mapping_exception" => Err(IndexLoadError::Changed(words())),
        409 | 429 | 500.. => Ok(Outcome::Again(words())),
        400..=499 => Ok(Outcome::Refused(words())),
        _ => Err(IndexLoadError::Cluster(format!(
            "a change has the status {status}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::engine::link::fake::{FakeAnswer, FakeNode};

    fn change(id: &str, number: u64) -> IndexChange {
        IndexChange {
            number: 0,
            id: id.to_owned(),
            lines: vec![b'x'; 10],
            place: RecordPlace {
                number,
                ..RecordPlace::default()
            },
        }
    }

    #[test]
    fn each_change_has_its_own_outcome() {
        let error = |status: u64, kind: &str, reason: &str| json!({ "index": { "status": status, "error": { "type": kind, "reason": reason } } });
        let full = "rejected_execution_exception";
        for (item, expected) in [
            (json!({ "index": { "status": 201 } }), "changed"),
            (json!({ "index": { "status": 200 } }), "replaced"),
            (json!({ "delete": { "status": 200 } }), "changed"),
            (json!({ "delete": { "status": 404 } }), "absent"),
            (error(429, full, "full"), "again"),
            (error(503, "unavailable_shards_exception", "no"), "again"),
            (
                error(409, "version_conflict_engine_exception", "no"),
                "again",
            ),
            (
                error(400, "mapper_parsing_exception", "bad\nvalue"),
                "refused: bad\u{fffd}value",
            ),
            (error(429, BLOCK, "disk"), "takes no changes: disk"),
            (error(403, BLOCK, "write"), "takes no changes: write"),
            (
                error(404, "index_not_found_exception", "gone"),
                "changed meanwhile: gone",
            ),
            (
                error(400, "strict_dynamic_mapping_exception", "k_x"),
                "changed meanwhile: k_x",
            ),
            (json!({}), "the status 0"),
            (json!([]), "the status 0"),
            (json!({ "index": { "status": "201" } }), "the status 0"),
        ] {
            let mut part = LoadPart::default();
            let sorted = sort(vec![change("a", 1)], &json!({ "items": [item] }), &mut part);
            let said = match sorted {
                Err(error) => error.to_string(),
                Ok((left, _)) if !left.is_empty() => "again".to_owned(),
                Ok(_) if part.absent == 1 => "absent".to_owned(),
                Ok(_) if part.replaced == 1 => "replaced".to_owned(),
                Ok(_) if part.changed == 1 => "changed".to_owned(),
                Ok(_) => format!("refused: {}", part.refused[0].words),
            };
            assert!(said.contains(expected), "{item}: {said}");
        }
        for answer in [json!({}), json!({ "items": {} }), json!({ "items": [] })] {
            let failed = sort(vec![change("a", 1)], &answer, &mut LoadPart::default());
            assert!(failed.is_err(), "{answer}");
        }
    }

    #[test]
    fn the_last_change_of_a_record_is_sent() {
        let mut batch = Batch::default();
        for (id, number) in [("a", 1), ("b", 2), ("a", 3)] {
            batch.add(change(id, number));
        }
        let numbers: Vec<u64> = batch
            .changes
            .iter()
            .map(|change| change.place.number)
            .collect();
        assert_eq!(
            (&*numbers, batch.replaced, batch.octets),
            (&[3, 2][..], 1, 20)
        );
    }

    /// Sends changes to a node that returns these answers in turn. Returns the results and the identifiers in each
    /// request.
    async fn sent(
        ids: &[&str],
        answers: Vec<FakeAnswer>,
    ) -> (Result<LoadPart, IndexLoadError>, Vec<Vec<String>>) {
        let answers = Mutex::new(answers.into_iter());
        let node = FakeNode::start(move |_| lock(&answers).next().expect("an answer")).await;
        let link = Link::new(&[node.address()], 1, Duration::from_secs(60));
        let bulk = Bulk::new(Arc::new(link), "books", |_| ());
        let mut batch = Batch::default();
        for (number, id) in (1..).zip(ids) {
            let mut change = change(id, number);
            change.lines = format!("{id}\n").into_bytes();
            batch.add(change);
        }
        let mut part = LoadPart::default();
        let outcome = bulk.send(batch, &mut part).await.map(|()| part);
        let asked = node.asked().into_iter();
        let bodies = asked.map(|request| request.body.lines().map(str::to_owned).collect());
        (outcome, bodies.collect())
    }

    fn items(statuses: &[u64]) -> FakeAnswer {
        let items = statuses.iter().map(|status| {
            if *status < 300 {
                json!({ "index": { "status": status } })
            } else {
                let error = json!({ "type": "x_exception", "reason": "why" });
                json!({ "index": { "status": status, "error": error } })
            }
        });
        FakeAnswer::Json(
            200,
            json!({ "errors": true, "items": items.collect::<Vec<_>>() }),
        )
    }

    #[tokio::test]
    async fn changes_are_sent_again_until_each_is_accepted_or_refused() {
        let busy = FakeAnswer::with("429 Too Many Requests", "Retry-After: 0\r\n", "");
        let answers = vec![
            busy,
            FakeAnswer::Cut(Vec::new()),
            items(&[201, 429, 400, 503]),
            items(&[429, 200]),
            items(&[201]),
        ];
        let (outcome, asked) = sent(&["a", "b", "c", "d"], answers).await;
        let part = outcome.expect("sent");
        assert_eq!((part.changed, part.replaced, part.refused.len()), (3, 1, 1));
        assert_eq!(
            (part.refused[0].place.number, &*part.refused[0].words),
            (3, "why")
        );
        let [all, bd, b] = [&["a", "b", "c", "d"][..], &["b", "d"], &["b"]];
        assert_eq!(asked, [all, all, all, bd, b]);
    }

    /// The load gives up after five minutes, whatever the cluster answers, and reports the delay once for all lanes.
    #[tokio::test(start_paused = true)]
    async fn audit_r_l1_a_cluster_that_takes_nothing_is_given_up_after_five_minutes() {
        for answer in [
            FakeAnswer::with("429 Too Many Requests", "Retry-After: 200\r\n", ""),
            items(&[503]),
            FakeAnswer::Hang(Vec::new()),
        ] {
            let described = format!("{answer:.100?}");
            let node = FakeNode::start(move |_| answer.clone()).await;
            let link = Link::new(&[node.address()], 2, Duration::from_secs(60));
            let told: Arc<Mutex<Vec<Duration>>> = Arc::default();
            let noted = Arc::clone(&told);
            let bulk = Bulk::new(Arc::new(link), "books", move |waited| {
                lock(&noted).push(waited);
            });
            let begun = Instant::now();
            let send = async |id| {
                let mut batch = Batch::default();
                batch.add(change(id, 1));
                bulk.send(batch, &mut LoadPart::default()).await
            };
            let (one, other) = tokio::join!(send("a"), send("b"));
            for outcome in [one, other] {
                let words = outcome.expect_err(&described).to_string();
                assert!(words.contains("taken nothing for 5 minutes"), "{words}");
            }
            let waited = begun.elapsed().as_secs();
            assert_eq!(waited, PATIENCE.as_secs(), "{described}");
            let told = lock(&told);
            assert_eq!((told.len(), told[0].as_secs()), (1, 30), "{described}");
        }
    }

    #[tokio::test]
    async fn answers_that_say_nothing_fail_the_load() {
        for answer in [
            FakeAnswer::Json(200, json!({})),
            FakeAnswer::Json(200, json!({ "items": [{}, {}] })),
            FakeAnswer::Json(
                400,
                json!({ "error": { "type": "illegal_argument_exception" } }),
            ),
            FakeAnswer::Json(
                404,
                json!({ "error": { "type": "index_not_found_exception" } }),
            ),
            FakeAnswer::Json(403, json!({ "error": { "type": BLOCK, "reason": "no" } })),
            FakeAnswer::Json(429, json!({ "error": { "type": BLOCK, "reason": "no" } })),
            FakeAnswer::of("text/html", "<html>"),
            FakeAnswer::with("413 Payload Too Large", "", ""),
        ] {
            let described = format!("{answer:.100?}");
            let (outcome, asked) = sent(&["a"], vec![answer]).await;
            assert!(outcome.is_err() && asked.len() == 1, "{described}");
        }
    }
}
