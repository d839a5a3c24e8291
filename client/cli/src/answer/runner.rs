//! Processes `Ask`s in parallel, and delivers their pieces in the order of the `Ask`s. An [`Ask`] is an input together
//! with a target. The number of jobs is limited, and so is the number of answers held until the earlier ones are
//! complete.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{Stream, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{Answer, Ask, Piece, answer};
use crate::console::output::Failure;

/// The number of completed `Ask`s that may wait until the pieces of earlier `Ask`s have been delivered, in addition to
/// the `Ask`s in progress.
const AHEAD: usize = 64;

/// The number of records that an `Ask` may send before the pieces of all earlier `Ask`s have been delivered.
const HELD: u64 = 32;

/// The capacity of an `Ask`'s channel in events: the records held, a few pieces before and after them, and the answer.
const CHANNEL_CAPACITY: usize = HELD as usize + 8;

/// An event that an `Ask` sends to its recipient.
#[derive(Debug)]
pub(crate) enum AskEvent {
    Piece(Piece),
    /// The end of the `Ask`, with its answer and duration.
    Answer(Box<Answer>, Duration),
}

/// Receives the pieces from an `Ask`, and holds them until the pieces of all earlier `Ask`s have been delivered.
pub(crate) struct Recipient {
    events: mpsc::Sender<AskEvent>,
    number: u64,
    /// The number of the `Ask` whose pieces are being delivered.
    delivering: watch::Receiver<u64>,
}

impl Recipient {
    /// Returns the number of records that may be sent now. It is unlimited once the pieces of this `Ask` are being
    /// delivered.
    pub(crate) fn room(&self) -> u64 {
        if *self.delivering.borrow() >= self.number {
            u64::MAX
        } else {
            HELD
        }
    }

    /// Waits until this many records may be sent.
    pub(crate) async fn ready_for(&mut self, records: u64) {
        if records > self.room() {
            // An error means that the runner has ended, so there is no reason to wait.
            let _ = self
                .delivering
                .wait_for(|delivering| *delivering >= self.number)
                .await;
        }
    }

    /// Sends the last piece, and returns the answer that was passed with it.
    pub(crate) async fn last(&mut self, (piece, answer): (Piece, Answer)) -> Answer {
        self.send(piece).await;
        answer
    }

    /// Sends a piece. If the channel is full, waits until it has room.
    pub(crate) async fn send(&mut self, piece: impl Into<Piece>) {
        // If the runner has ended, the piece is dropped.
        let _ = self.events.send(AskEvent::Piece(piece.into())).await;
    }
}

/// Processes all `Ask`s, at most `jobs` at the same time, and passes their events to `take` in the order of the `Ask`s.
///
/// # Errors
/// An error from `take` ends the run immediately. An error from `asks` is returned after the `Ask`s before it are
/// complete.
pub(crate) async fn run(
    mut asks: impl Stream<Item = Result<Ask, Failure>> + Unpin,
    jobs: usize,
    work: &impl AsyncFn(&Ask, &mut Recipient) -> Answer,
    mut take: impl AsyncFnMut(&Ask, AskEvent) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let jobs = jobs.max(1);
    let mut at_work = FuturesUnordered::new();
    let mut under_way: VecDeque<(Arc<Ask>, mpsc::Receiver<AskEvent>)> = VecDeque::new();
    let (done, delivering) = watch::channel(0);
    let mut number = 0;
    let mut end = None;
    loop {
        let has_room = at_work.len() < jobs && under_way.len() < jobs.saturating_add(AHEAD);
        let front = under_way.front_mut();
        let is_waiting = front.is_some();
        let (ask, event) = tokio::select! {
            ask = asks.next(), if end.is_none() && has_room => {
                match ask {
                    None => end = Some(Ok(())),
                    Some(Err(error)) => end = Some(Err(error)),
                    Some(Ok(ask)) => {
                        let ask = Arc::new(ask);
                        let (events, pieces) = mpsc::channel(CHANNEL_CAPACITY);
                        let delivering = delivering.clone();
                        let recipient = Recipient { events, number, delivering };
                        at_work.push(job(work, Arc::clone(&ask), recipient));
                        under_way.push_back((ask, pieces));
                        number += 1;
                    }
                }
                continue;
            }
            Some(()) = at_work.next() => continue,
            Some(event) = next(front), if is_waiting => event,
            else => return end.unwrap_or(Ok(())),
        };
        let is_last = matches!(event, AskEvent::Answer(..));
        take(&ask, event).await?;
        if is_last {
            under_way.pop_front();
            done.send_modify(|done| *done += 1);
        }
    }
}

/// Returns the next event from the first `Ask` that is not complete.
async fn next(
    front: Option<&mut (Arc<Ask>, mpsc::Receiver<AskEvent>)>,
) -> Option<(Arc<Ask>, AskEvent)> {
    let (ask, pieces) = front?;
    Some((Arc::clone(ask), pieces.recv().await?))
}

/// Processes one `Ask`.
async fn job(
    work: &impl AsyncFn(&Ask, &mut Recipient) -> Answer,
    ask: Arc<Ask>,
    mut recipient: Recipient,
) {
    let begin = Instant::now();
    let answer = answer(work, &ask, &mut recipient).await;
    let answer = AskEvent::Answer(Box::new(answer), begin.elapsed());
    // If the runner has ended, the answer is dropped.
    let _ = recipient.events.send(answer).await;
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    /// A command for tests. An input consists of the number of seconds to wait and the number of records to send. The
    /// command waits, sends the records, and counts the jobs in progress.
    struct Sleeper {
        busy: watch::Sender<(usize, usize)>,
    }

    impl Sleeper {
        async fn answer(&self, ask: &Ask, recipient: &mut Recipient) -> Answer {
            let text = ask.to_string();
            let (seconds, count) = text.split_once(' ').expect("two numbers");
            let count: u64 = count.parse().expect("a number");
            recipient.ready_for(count).await;
            self.busy.send_modify(|(now, most)| {
                *now += 1;
                *most = (*most).max(*now);
            });
            tokio::time::sleep(Duration::from_secs(seconds.parse().expect("a number"))).await;
            for _ in 0..count {
                let octets = b"x".to_vec();
                let is_record = true;
                let words = Vec::new();
                recipient
                    .send(Piece {
                        words,
                        octets,
                        is_record,
                        ..Piece::default()
                    })
                    .await;
            }
            self.busy.send_modify(|(now, _)| *now -= 1);
            Answer::default().with_hits(Some(count))
        }
    }

    /// Creates an `Ask` for each line.
    fn asks(lines: &str) -> impl Stream<Item = Result<Ask, Failure>> + Unpin {
        let asks = (1..).zip(lines.lines()).map(|(position, line)| Ask {
            position,
            target: 0,
            input: line.as_bytes().into(),
            is_cut: false,
            origin: None,
            record: None,
            repeats: None,
        });
        stream::iter(asks.map(Ok).collect::<Vec<_>>())
    }

    /// Processes the inputs. Returns the number of hits for each input, the maximum number of jobs in progress, and the
    /// total time in seconds.
    async fn check(inputs: &str, jobs: usize) -> (Vec<Option<u64>>, usize, u64) {
        let (busy, seen) = watch::channel((0, 0));
        let begin = Instant::now();
        let (mut hits, mut pieces, mut position) = (Vec::new(), 0, 0);
        let sleeper = Sleeper { busy };
        let result = run(
            asks(inputs),
            jobs,
            &async |ask: &Ask, recipient: &mut Recipient| sleeper.answer(ask, recipient).await,
            async |ask: &Ask, event| {
                match event {
                    AskEvent::Piece(_) => pieces += 1,
                    AskEvent::Answer(answer, _) => {
                        position += 1;
                        assert_eq!(ask.position, position);
                        assert!(
                            answer.ending.hits.is_none_or(|hits| hits == pieces),
                            "{ask}: {answer:?}"
                        );
                        hits.push(answer.ending.hits);
                        pieces = 0;
                    }
                }
                Ok(())
            },
        )
        .await;
        result.expect("in memory");
        let most = seen.borrow().1;
        (hits, most, begin.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn jobs_are_parallel_and_answers_in_order() {
        for (inputs, jobs, hits, most, seconds) in [
            ("", 3, &[][..], 0, 0),
            ("1 1\n1 0\n1 2\n1 1\n", 1, &[1, 0, 2, 1], 1, 4),
            ("1 1\n1 0\n1 2\n1 1\n", 2, &[1, 0, 2, 1], 2, 2),
            // The `Ask`s after a slow `Ask` do not wait for the slow `Ask`.
            ("9 1\n1 1\n1 1\n1 1\n", 2, &[1, 1, 1, 1], 2, 9),
            // An `Ask` with many records waits until the earlier `Ask`s are complete, without blocking other `Ask`s.
            ("2 1\n1 100\n1 100\n", 3, &[1, 100, 100], 1, 4),
            ("2 32\n1 32\n1 32\n", 3, &[32, 32, 32], 3, 2),
        ] {
            let hits: Vec<_> = hits.iter().map(|hits| Some(*hits)).collect();
            assert_eq!(check(inputs, jobs).await, (hits, most, seconds), "{inputs}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn work_ahead_is_bounded() {
        let many = format!("1000 1\n{}", "1 1\n".repeat(3 * AHEAD));
        let (hits, _, seconds) = check(&many, 2).await;
        let ahead = AHEAD + 1;
        assert_eq!(hits.len(), 3 * AHEAD + 1);
        let after = u64::try_from(3 * AHEAD - ahead).expect("small").div_ceil(2);
        assert_eq!(seconds, 1000 + after);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_ends_all_at_once() {
        let (busy, _) = watch::channel((0, 0));
        let full = || Failure::Unwritten("full".to_owned());
        let sleeper = Sleeper { busy };
        let work =
            async |ask: &Ask, recipient: &mut Recipient| sleeper.answer(ask, recipient).await;
        let result = run(asks("1 1\n1 1\n"), 2, &work, async |_: &Ask, _| Err(full())).await;
        let words = result.map_err(|failure| failure.to_string());
        assert_eq!(words, Err("full".to_owned()));
    }
}
