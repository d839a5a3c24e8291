//! The time limits for the steps of a connection and for answers.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::error::{Cause, Error, Phase};

/// The factor by which a slow answer may exceed the time limit for an answer, as long as its octets keep arriving.
const MAX_WAITS: u32 = 10;

/// The time limits. `None` and [`Duration::MAX`] mean no limit. With a limit of zero, anything that is not available
/// immediately fails.
///
/// ```
/// use std::time::Duration;
/// use z3950::Timeouts;
///
/// let patient = Timeouts::default().with_answer(Duration::from_secs(300)).with_session(None);
/// assert_eq!(patient.connect, Timeouts::default().connect);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The limit for each call of a client, a connection or a result set as a whole. By default, there is none. See
    /// [`Client::within`](crate::Client::within). If the limit is reached, the call is abandoned as if its future had
    /// been dropped.
    pub call: Option<Duration>,
    /// The limit for the wait for a session, if the maximum number of sessions for the target is in use. The default is
    /// 30 s. The time starts when all users that were already waiting have received their sessions.
    pub session: Option<Duration>,
    /// The limit for name resolution and connection, over all addresses of the host. The default is 10 s.
    pub connect: Option<Duration>,
    /// The limit for each answer. The default is 30 s. The time restarts with each answer to another request in
    /// progress, and when octets of this answer arrive. However, an answer whose octets have begun to arrive may take
    /// at most ten times as long.
    pub answer: Option<Duration>,
    /// The limit for the server's Close and the end of the connection. The default is 1 s.
    pub close: Duration,
    /// The limit for the answer to a request whose caller has dropped its future, counted from the time at which
    /// another request begins to wait for that answer. When the limit is reached, the session ends, and the client
    /// opens another session for the waiting request. The default is 1 s.
    pub abandoned: Duration,
    /// The time at which every wait ends, except the one limited by `close`. `None` means no deadline.
    pub deadline: Option<Instant>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            call: None,
            session: Some(Duration::from_secs(30)),
            connect: Some(Duration::from_secs(10)),
            answer: Some(Duration::from_secs(30)),
            close: Duration::from_secs(1),
            abandoned: Duration::from_secs(1),
            deadline: None,
        }
    }
}

impl Timeouts {
    /// Sets the limit for each call as a whole. `None` means no limit.
    #[must_use]
    pub fn with_call(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.call = limit.into();
        self
    }

    /// Sets the limit for the wait for a session. `None` means no limit.
    #[must_use]
    pub fn with_session(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.session = limit.into();
        self
    }

    /// Sets the limit for name resolution and connection. `None` means no limit.
    #[must_use]
    pub fn with_connect(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.connect = limit.into();
        self
    }

    /// Sets the limit for each answer. `None` means no limit.
    #[must_use]
    pub fn with_answer(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.answer = limit.into();
        self
    }

    /// Sets the limit for the server's Close and the end of the connection.
    #[must_use]
    pub fn with_close(mut self, limit: Duration) -> Self {
        self.close = limit;
        self
    }

    /// Sets the limit for the answer to a request whose caller has dropped its future.
    #[must_use]
    pub fn with_abandoned(mut self, limit: Duration) -> Self {
        self.abandoned = limit;
        self
    }

    /// Sets the time at which every wait ends. `None` means no deadline.
    #[must_use]
    pub fn with_deadline(mut self, deadline: impl Into<Option<Instant>>) -> Self {
        self.deadline = deadline.into();
        self
    }

    /// Returns the limit for a call that begins now.
    pub(crate) fn to_call(self) -> Limit {
        self.call.map_or_else(Limit::none, Limit::within)
    }

    /// Returns the limit for a wait for a session that begins now.
    pub(crate) fn to_session(self) -> Limit {
        self.limit(self.session, Cause::SessionsInUse)
    }

    /// Returns the limit for a connection attempt that begins now.
    pub(crate) fn to_connect(self) -> Limit {
        self.limit(self.connect, Cause::Timeout)
    }

    /// Returns the limit for a wait for an answer that begins now.
    pub(crate) fn to_answer(self) -> Limit {
        self.limit(self.answer, Cause::Timeout)
    }

    /// Returns the limit for the remaining octets of an answer. Its first octets arrived at `begun`, its most recent
    /// octets at `last`. Returns `None` if the limit has passed.
    pub(crate) fn to_rest(self, begun: Instant, last: Instant) -> Option<Limit> {
        let rest = self.answer.and_then(|wait| {
            let longest = begun.checked_add(wait.saturating_mul(MAX_WAITS));
            let next = last.checked_add(wait);
            let at = [longest, next].into_iter().flatten().min()?;
            Some((at, Cause::Timeout(wait)))
        });
        let limit = self.or_deadline(rest);
        let is_over = limit.at().is_some_and(|at| at <= Instant::now());
        (!is_over).then_some(limit)
    }

    /// Returns the limit set by the deadline alone. It applies while the client decides on a question from the server.
    pub(crate) fn to_deadline(self) -> Limit {
        self.limit(None, Cause::Timeout)
    }

    fn limit(self, wait: Option<Duration>, cause: impl Fn(Duration) -> Cause) -> Limit {
        let step = wait.and_then(|wait| {
            let at = Instant::now().checked_add(wait)?;
            Some((at, cause(wait)))
        });
        self.or_deadline(step)
    }

    /// Returns the limit for a step, or the deadline if it is earlier.
    fn or_deadline(self, step: Option<(Instant, Cause)>) -> Limit {
        Limit(match (step, self.deadline) {
            (Some((at, cause)), Some(deadline)) if at < deadline => Some((at, cause)),
            (_, Some(deadline)) => Some((deadline, Cause::Deadline)),
            (step, None) => step,
        })
    }
}

/// The time at which a wait ends, and the cause to report. `None` means no limit, or a time beyond the range of the
/// clock.
#[derive(Debug, Clone)]
pub(crate) struct Limit(Option<(Instant, Cause)>);

impl Limit {
    /// Creates a limit that is never reached.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(crate) fn within(wait: Duration) -> Self {
        Self(
            Instant::now()
                .checked_add(wait)
                .map(|at| (at, Cause::Timeout(wait))),
        )
    }

    pub(crate) fn at(&self) -> Option<Instant> {
        self.0.as_ref().map(|(at, _)| *at)
    }

    /// Returns the error for a wait that has reached the limit.
    pub(crate) fn error(&self, phase: Phase) -> Error {
        let cause = self.0.as_ref().map(|(_, cause)| cause.clone());
        Error::Unavailable {
            phase,
            cause: cause.unwrap_or(Cause::Deadline),
        }
    }

    /// Awaits `work`, and fails if it is not complete at the limit.
    pub(crate) async fn hold<T>(
        &self,
        phase: Phase,
        work: impl Future<Output = T>,
    ) -> Result<T, Error> {
        match &self.0 {
            None => Ok(work.await),
            Some((at, _)) => timeout_at(*at, work).await.map_err(|_| self.error(phase)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that every single wait has a limit by default, but a call as a whole has none (requirement A-37 of
    /// `tests/CONFORMANCE.md`).
    #[test]
    fn every_wait_has_a_limit_but_the_whole_has_none() {
        let timeouts = Timeouts::default();
        let seconds = |wait: Option<Duration>| wait.map(|wait| wait.as_secs());
        assert_eq!(seconds(timeouts.connect), Some(10));
        assert_eq!(seconds(timeouts.answer), Some(30));
        assert_eq!(timeouts.close.as_secs(), 1);
        assert_eq!(timeouts.abandoned.as_secs(), 1);
        assert_eq!(seconds(timeouts.session), Some(30));
        assert_eq!(timeouts.call, None);
        assert_eq!(timeouts.deadline, None);
    }

    #[test]
    fn each_limit_is_set_by_a_method() {
        let seconds = Duration::from_secs;
        let deadline = Instant::now() + seconds(7);
        let set = Timeouts::default()
            .with_call(seconds(1))
            .with_session(seconds(2))
            .with_connect(seconds(3))
            .with_answer(seconds(4))
            .with_close(seconds(5))
            .with_abandoned(seconds(6))
            .with_deadline(deadline);
        let expected = Timeouts {
            call: Some(seconds(1)),
            session: Some(seconds(2)),
            connect: Some(seconds(3)),
            answer: Some(seconds(4)),
            close: seconds(5),
            abandoned: seconds(6),
            deadline: Some(deadline),
        };
        assert_eq!(set, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_answers_have_a_limit() {
        let begun = Instant::now();
        tokio::time::sleep(Duration::from_secs(250)).await;
        for (arrived, deadline, after) in [
            (249, None, Some(279)),
            (220, None, None),
            (221, None, Some(251)),
            (250, Some(260), Some(260)),
            (250, Some(250), None),
        ] {
            let moment = |seconds| begun + Duration::from_secs(seconds);
            let timeouts = Timeouts {
                deadline: deadline.map(moment),
                ..Timeouts::default()
            };
            let limit = timeouts.to_rest(begun, moment(arrived));
            assert_eq!(
                limit.map(|limit| limit.at()),
                after.map(|after| Some(moment(after)))
            );
        }
        tokio::time::sleep(Duration::from_secs(49)).await;
        let limit = Timeouts::default().to_rest(begun, Instant::now());
        assert_eq!(
            limit.and_then(|limit| limit.at()),
            Some(begun + Duration::from_secs(300))
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(Timeouts::default().to_rest(begun, Instant::now()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn audit_r_l5_no_limit_is_none_or_the_longest_time() {
        let begun = Instant::now();
        tokio::time::sleep(Duration::from_secs(1000)).await;
        for answer in [None, Some(Duration::MAX)] {
            let timeouts = Timeouts {
                call: answer,
                answer,
                session: answer,
                connect: answer,
                ..Timeouts::default()
            };
            let rest = timeouts.to_rest(begun, begun).expect("time is left");
            let limits = [
                timeouts.to_call(),
                timeouts.to_session(),
                timeouts.to_connect(),
            ];
            for limit in limits.into_iter().chain([timeouts.to_answer(), rest]) {
                assert_eq!(limit.at(), None, "{answer:?}");
            }
        }
        let zero = Timeouts {
            answer: Some(Duration::ZERO),
            ..Timeouts::default()
        };
        assert!(zero.to_rest(begun, Instant::now()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_nearer_limit_counts() {
        let deadline = |seconds| Some(Instant::now() + Duration::from_secs(seconds));
        for (answer, deadline, after, cause) in [
            (Some(30), None, Some(30), "no response within 30 s"),
            (Some(30), deadline(5), Some(5), "the deadline passed"),
            (Some(3), deadline(5), Some(3), "no response within 3 s"),
            (Some(0), deadline(5), Some(0), "no response within 0 s"),
            (Some(0), None, Some(0), "no response within 0 s"),
            (None, None, None, ""),
            (Some(u64::MAX), None, None, ""),
            (Some(u64::MAX), deadline(5), Some(5), "the deadline passed"),
        ] {
            let answer = answer.map(Duration::from_secs);
            let limit = Timeouts {
                answer,
                deadline,
                ..Timeouts::default()
            }
            .to_answer();
            let limit = limit
                .0
                .map(|(at, cause)| ((at - Instant::now()).as_secs(), cause.to_string()));
            assert_eq!(limit, after.map(|after| (after, cause.to_owned())));
        }
    }
}
