//! The schedule of a judgement. Checks that only read run in parallel, so that a check that waits to see whether the server sends
//! anything does not delay others. Checks that store records or send forbidden octets run alone. If the server ended, refused or
//! ignored the connection of a check while other connections were open, those connections may have been the reason, so the check
//! is repeated alone. Results are returned in the order of the checks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep, timeout};

use super::check::{Check, Procedure};
use super::checks::Permission;
use super::ledger::Ledger;
use super::offer::ServerOffer;
use super::options::JudgedServer;
use super::sru;
use super::sru::trial::SruTrial;
use super::trial::{MAX_UNASKED, Trial, seconds};
use super::verdict::{Checked, Verdict, counted};
use z3950::transport::BoxFuture;

/// The number of consecutive checks without an answer after which the judge tests whether the server still answers.
const MAX_UNANSWERED: u32 = 5;

/// The maximum time that a server may take to accept one more session.
const ACCEPTANCE: Duration = Duration::from_secs(2);

/// The maximum time that a server may take to detect that sessions have ended.
const SETTLING: Duration = Duration::from_secs(1);

/// The checks of a judgement, in order.
pub(super) struct Schedule {
    server: Arc<JudgedServer>,
    checks: Vec<(Permission, &'static Check)>,
    /// The number of checks that have begun.
    begun: usize,
    /// The number of results that have been returned.
    returned: usize,
    running: FuturesUnordered<BoxFuture<'static, CheckResult>>,
    /// Whether the running check must be the only one.
    is_alone: bool,
    /// Results that cannot be returned yet, because earlier checks have not ended.
    ended: BTreeMap<usize, CheckResult>,
    /// The index of the check that must be repeated alone, or `None` if there is no such check.
    repeated: Option<usize>,
    /// The maximum number of checks that run in parallel.
    sessions: usize,
    /// Whether the server accepts fewer sessions than the judge would use.
    has_limit: bool,
    cost: Cost,
    /// The number of consecutive checks without an answer.
    unanswered: u32,
    /// The reason why the remaining checks are left out; `None` if they are to be run.
    stopped: Option<String>,
}

/// The total cost of all checks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) requests: u32,
    /// The number of octets received.
    pub(super) octets: u64,
    /// The duration of the checks without their pauses.
    time: Duration,
}

/// The result of a check.
pub(super) struct CheckResult {
    number: usize,
    pub(super) check: &'static Check,
    pub(super) verdict: Verdict,
    /// The duration including pauses.
    pub(super) time: Duration,
    pub(super) ledger: Ledger,
    was_alone: bool,
}

impl CheckResult {
    fn unjudged(number: usize, check: &'static Check, reason: String) -> Self {
        Self {
            number,
            check,
            verdict: Verdict::not_judged(reason),
            time: Duration::ZERO,
            ledger: Ledger::default(),
            was_alone: true,
        }
    }

    /// Returns whether other open sessions may be the reason why the check did not pass.
    fn is_doubtful(&self) -> bool {
        !self.was_alone && self.verdict != Verdict::Pass && self.ledger.is_cut_off()
    }
}

impl Schedule {
    pub(super) fn new(
        server: Arc<JudgedServer>,
        checks: Vec<(Permission, &'static Check)>,
    ) -> Self {
        Self {
            server,
            checks,
            begun: 0,
            returned: 0,
            running: FuturesUnordered::new(),
            is_alone: false,
            ended: BTreeMap::new(),
            repeated: None,
            sessions: 1,
            has_limit: false,
            cost: Cost::default(),
            unanswered: 0,
            stopped: None,
        }
    }

    /// Determines how many concurrent sessions the server accepts, up to `most`, and sets the number of parallel checks
    /// accordingly. If the server has a limit, only half of it is used, to leave sessions for other clients.
    pub(super) async fn find_sessions(&mut self, offer: &ServerOffer, most: usize) {
        if most < 2 {
            return;
        }
        let began = Instant::now();
        let mut open = Vec::new();
        while open.len() < most && !self.has_limit {
            let mut trial = AnyTrial::new(&self.server, offer);
            let is_accepted = timeout(ACCEPTANCE, trial.begin()).await == Ok(true);
            // A server that has reached its limit may accept a new session by ending the one that has been idle longest, so the
            // oldest session is tested. If the server does not keep even the new session open, as some HTTP servers do, this does
            // not indicate a limit.
            let is_oldest_kept = match open.first_mut() {
                Some(oldest) => AnyTrial::is_kept(oldest).await || !trial.is_kept().await,
                None => true,
            };
            self.has_limit = !is_accepted || !is_oldest_kept;
            open.push(trial);
        }
        join_all(open.iter_mut().map(AnyTrial::leave)).await;
        self.sessions = open.len();
        if self.has_limit {
            self.sessions = ((open.len() - 1) / 2).max(1);
            sleep(SETTLING).await;
        }
        let mut cost = Ledger::default();
        for trial in &mut open {
            cost.add_cost(trial.ledger());
        }
        self.count(&cost, began.elapsed());
    }

    /// Returns the number of results that have not been returned.
    pub(super) fn remaining(&self) -> usize {
        self.checks.len() - self.returned
    }

    /// Returns the cost of the checks so far.
    pub(super) fn cost(&self) -> Cost {
        self.cost
    }

    /// Returns the reason why the remaining checks are left out, or `None` if they are to be run.
    pub(super) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Leaves out the checks that have not begun. Checks that are in progress continue.
    pub(super) fn leave_out(&mut self, reason: &str) {
        self.stopped.get_or_insert_with(|| reason.to_owned());
    }

    /// Leaves out all checks that have not ended, and returns the results that have not been returned yet.
    pub(super) fn stop(&mut self, reason: &str) -> Vec<CheckResult> {
        self.leave_out(reason);
        self.running.clear();
        let mut ended = std::mem::take(&mut self.ended);
        self.repeated = None;
        let first = self.returned;
        (self.begun, self.returned) = (self.checks.len(), self.checks.len());
        let left = self.checks.iter().enumerate().skip(first);
        let results = left.map(|(number, (permission, check))| {
            if let Some(result) = ended.remove(&number) {
                return self.without_doubt(result);
            }
            let reason = self.obstacle(*permission).unwrap_or_default();
            CheckResult::unjudged(number, check, reason)
        });
        results.collect()
    }

    /// Returns the result of the next check, or `None` after the last check. If the future is dropped, checks are suspended until
    /// the next call, but their time limits continue to run.
    pub(super) async fn next(&mut self, offer: &ServerOffer) -> Option<CheckResult> {
        loop {
            match self.ended.remove(&self.returned) {
                Some(result) if result.is_doubtful() && self.stopped.is_none() => {
                    self.repeated = Some(result.number);
                }
                Some(result) => {
                    self.returned += 1;
                    return Some(self.without_doubt(result));
                }
                None => {}
            }
            let is_in_question = self.unanswered >= MAX_UNANSWERED && self.stopped.is_none();
            if !is_in_question {
                self.begin(offer);
            } else if self.running.is_empty() {
                self.ask_again(offer).await;
                continue;
            }
            if !self.ended.contains_key(&self.returned) {
                let result = self.running.next().await?;
                let time = result.time.saturating_sub(result.ledger.paused);
                self.count(&result.ledger, time);
                self.note_answer(&result.ledger);
                self.ended.insert(result.number, result);
            }
        }
    }

    /// Replaces the verdict of a doubtful result with `not judged` if the check cannot be repeated because the remaining checks
    /// are left out.
    fn without_doubt(&self, result: CheckResult) -> CheckResult {
        let is_judged = !matches!(result.verdict, Verdict::NotJudged { .. });
        match &self.stopped {
            Some(reason) if result.is_doubtful() && is_judged => {
                CheckResult::unjudged(result.number, result.check, reason.clone())
            }
            _ => result,
        }
    }

    /// Starts as many checks as may run now.
    fn begin(&mut self, offer: &ServerOffer) {
        loop {
            let number = self.repeated.unwrap_or(self.begun);
            let Some((permission, check)) = self.checks.get(number).copied() else {
                return;
            };
            let is_alone = self.repeated.is_some() || permission != Permission::None;
            if let Some(reason) = self.obstacle(permission) {
                let result = CheckResult::unjudged(number, check, reason);
                self.ended.insert(number, result);
                self.mark_begun();
                continue;
            }
            let has_room = match self.running.len() {
                0 => true,
                running => !is_alone && !self.is_alone && running < self.sessions,
            };
            if !has_room {
                return;
            }
            self.is_alone = is_alone;
            // If the server limits its sessions, the session of the previous check may still count towards the limit, although
            // that check has ended.
            let was_alone = is_alone || (self.sessions == 1 && !self.has_limit);
            let settling = match self.repeated {
                Some(_) => SETTLING,
                None => Duration::ZERO,
            };
            let carried_out = carry_out(
                Arc::clone(&self.server),
                AnyTrial::new(&self.server, offer),
                check,
                self.sessions,
            );
            self.running.push(Box::pin(async move {
                sleep(settling).await;
                let began = Instant::now();
                let (verdict, ledger) = carried_out.await;
                CheckResult {
                    number,
                    check,
                    verdict,
                    time: began.elapsed(),
                    ledger,
                    was_alone,
                }
            }));
            self.mark_begun();
        }
    }

    fn mark_begun(&mut self) {
        if self.repeated.take().is_none() {
            self.begun += 1;
        }
    }

    /// Returns the reason why a check must not run, or `None` if it may run.
    fn obstacle(&self, permission: Permission) -> Option<String> {
        let options = &self.server.options;
        match permission {
            Permission::Hostile if !options.is_hostile => {
                Some("octets that the standard forbids were not allowed".to_owned())
            }
            Permission::Update if options.may_update.is_none() => {
                Some("no database was named that may be changed".to_owned())
            }
            _ => self.stopped.clone(),
        }
    }

    /// Adds the cost of a check, or of a request outside checks. If a limit is reached, the remaining checks are left out.
    pub(super) fn count(&mut self, ledger: &Ledger, time: Duration) {
        let limits = self.server.options.limits;
        let cost = &mut self.cost;
        cost.requests = cost.requests.saturating_add(ledger.requests);
        cost.octets = cost.octets.saturating_add(ledger.octets);
        cost.time = cost.time.saturating_add(time);
        let reached = if cost.requests >= limits.requests {
            counted(u64::from(limits.requests), "request")
        } else if cost.octets >= limits.octets {
            counted(limits.octets, "octet")
        } else if cost.time >= limits.time {
            seconds(limits.time)
        } else {
            return;
        };
        self.leave_out(&format!("the limit of {reached} is reached"));
    }

    /// Leaves out the remaining checks if the server has stopped answering searches.
    async fn ask_again(&mut self, offer: &ServerOffer) {
        let began = Instant::now();
        let mut trial = AnyTrial::new(&self.server, offer);
        let mut is_answered = trial.is_answered().await;
        if !is_answered && !trial.ledger().is_silent {
            // The server may have reached its session limit, so the request is repeated once.
            sleep(SETTLING).await;
            is_answered = trial.is_answered().await;
        }
        trial.leave().await;
        self.count(trial.ledger(), began.elapsed());
        self.note_answer(trial.ledger());
        if !is_answered {
            self.leave_out("no search is answered any more");
        }
    }

    /// Records whether the server answered the check.
    pub(super) fn note_answer(&mut self, ledger: &Ledger) {
        if ledger.is_unreachable || ledger.is_silent {
            self.unanswered += 1;
        } else if ledger.requests > 0 {
            self.unanswered = 0;
        }
    }
}

/// Runs a check within its time limit.
async fn carry_out(
    server: Arc<JudgedServer>,
    mut trial: AnyTrial,
    check: &'static Check,
    sessions: usize,
) -> (Verdict, Ledger) {
    // A check has at most as many pauses as requests. Over SRU, there can be many of them, because checks of explain send a
    // request for each index.
    let most = match check.run {
        Procedure::Z3950(_) => 60,
        Procedure::Sru(_) => sru::MAX_REQUESTS,
    };
    let sessions = u32::try_from(sessions).unwrap_or(u32::MAX);
    let pauses = server.options.pause.saturating_mul(most);
    let time = server.options.limits.check_time + pauses.saturating_mul(sessions);
    let verdict = match timeout(time, trial.carry_out(check)).await {
        Ok(Ok(())) => Verdict::Pass,
        Ok(Err(verdict)) => verdict,
        Err(_) => {
            trial.hang_up();
            trial.ledger().is_silent = true;
            let came = format!("no end within {} s", time.as_secs());
            Verdict::fail(check.requirement.text, came)
        }
    };
    let has_ended = trial.leave().await;
    let verdict = if verdict == Verdict::Pass && !has_ended {
        let unasked = counted(MAX_UNASKED as u64, "APDU");
        let came = format!("{unasked} that nobody asked for");
        Verdict::fail("an end of what the server says", came)
    } else {
        verdict
    };
    (verdict, trial.into_ledger())
}

/// A check in progress, in either protocol.
enum AnyTrial {
    Z3950(Trial),
    Sru(SruTrial),
}

impl AnyTrial {
    fn new(server: &Arc<JudgedServer>, offer: &ServerOffer) -> Self {
        let server = Arc::clone(server);
        match offer {
            ServerOffer::Z3950(offer) => Self::Z3950(Trial::new(server, Arc::clone(offer))),
            ServerOffer::Sru(offer) => Self::Sru(SruTrial::new(server, Arc::clone(offer))),
        }
    }

    fn ledger(&mut self) -> &mut Ledger {
        match self {
            Self::Z3950(trial) => &mut trial.ledger,
            Self::Sru(trial) => &mut trial.ledger,
        }
    }

    fn into_ledger(self) -> Ledger {
        match self {
            Self::Z3950(trial) => trial.ledger,
            Self::Sru(trial) => trial.ledger,
        }
    }

    async fn carry_out(&mut self, check: &Check) -> Checked {
        match (self, &check.run) {
            (Self::Z3950(trial), Procedure::Z3950(run)) => run(trial).await,
            (Self::Sru(trial), Procedure::Sru(run)) => run(trial).await,
            _ => Err(Verdict::not_judged("the check is about another protocol")),
        }
    }

    /// Returns whether the server still answers a request that it answered before.
    async fn is_answered(&mut self) -> bool {
        match self {
            Self::Z3950(trial) => trial.is_answered().await,
            Self::Sru(trial) => trial.is_answered().await,
        }
    }

    /// Opens a session. Returns whether the server accepts it.
    async fn begin(&mut self) -> bool {
        match self {
            Self::Z3950(trial) => trial.session().await.is_ok(),
            Self::Sru(trial) => trial.is_answered().await,
        }
    }

    /// Returns whether the session is still open.
    async fn is_kept(&mut self) -> bool {
        match self {
            Self::Z3950(trial) => match trial.good_search() {
                Ok(search) => trial.ask(search).await.is_ok(),
                Err(_) => true,
            },
            Self::Sru(trial) => trial.is_kept().await,
        }
    }

    /// Ends the session. Returns whether the server stopped sending.
    async fn leave(&mut self) -> bool {
        match self {
            Self::Z3950(trial) => trial.leave().await,
            Self::Sru(trial) => {
                trial.hang_up();
                true
            }
        }
    }

    fn hang_up(&mut self) {
        match self {
            Self::Z3950(trial) => trial.hang_up(),
            Self::Sru(trial) => trial.hang_up(),
        }
    }
}
