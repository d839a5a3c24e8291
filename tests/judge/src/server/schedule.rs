//! The order of a judgement. Checks that only ask are carried out side by side, so that the silence which one has to wait for delays no
//! other. Those that store records or send what the standard forbids run alone. A check whose connection the server ended, refused or ignored
//! while others were open is repeated alone: only then does that say something about the check. Results come in the order of the checks.

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
use super::offer::Offer;
use super::options::JudgedServer;
use super::sru;
use super::sru::offer::SruOffer;
use super::sru::trial::SruTrial;
use super::trial::{MAX_UNASKED, Trial, seconds};
use super::verdict::{Checked, Verdict, counted};
use z3950::transport::BoxFuture;

/// After this many checks in a row in which the server did not answer, it is asked whether it is still there.
const MAX_UNANSWERED: u32 = 5;

/// How long a server may take to accept one more session.
const ACCEPTANCE: Duration = Duration::from_secs(2);

/// How long a server may take to notice that sessions have ended.
const SETTLING: Duration = Duration::from_secs(1);

/// What is known about the server, in either protocol.
#[derive(Clone)]
pub(super) enum JudgedOffer {
    Z3950(Arc<Offer>),
    Sru(Arc<SruOffer>),
}

impl JudgedOffer {
    fn trial(&self, server: &Arc<JudgedServer>) -> AnyTrial {
        let server = Arc::clone(server);
        match self {
            Self::Z3950(offer) => AnyTrial::Z3950(Trial::new(server, Arc::clone(offer))),
            Self::Sru(offer) => AnyTrial::Sru(SruTrial::new(server, Arc::clone(offer))),
        }
    }
}

/// The checks of a judgement, from the first to the last.
pub(super) struct Schedule {
    server: Arc<JudgedServer>,
    checks: Vec<(Permission, &'static Check)>,
    /// How many checks have begun.
    begun: usize,
    /// How many results were returned.
    returned: usize,
    running: FuturesUnordered<BoxFuture<'static, CheckResult>>,
    /// Whether the check that is running has the server for itself.
    is_alone: bool,
    /// Results that are to be returned after those of earlier checks.
    ended: BTreeMap<usize, CheckResult>,
    /// The check that has to be repeated alone.
    repeated: Option<usize>,
    /// How many checks run side by side.
    sessions: usize,
    /// Whether the server accepts fewer sessions than would be of use.
    has_limit: bool,
    cost: Cost,
    /// How many checks in a row had no answer.
    unanswered: u32,
    /// Why the rest is not judged.
    stopped: Option<String>,
}

/// What all checks have cost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) requests: u32,
    /// Octets received.
    pub(super) octets: u64,
    /// The time of the checks without their pauses.
    time: Duration,
}

/// How a check ended.
pub(super) struct CheckResult {
    number: usize,
    pub(super) check: &'static Check,
    pub(super) verdict: Verdict,
    /// With its pauses.
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

    /// Whether other sessions may be the reason why it did not pass.
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

    /// Finds out how many sessions the server accepts at a time, up to `most`, and carries out as many checks side by side from now on. If
    /// there is a limit, half of it, which leaves room for others.
    pub(super) async fn find_sessions(&mut self, known: &JudgedOffer, most: usize) {
        if most < 2 {
            return;
        }
        let began = Instant::now();
        let mut open = Vec::new();
        while open.len() < most && !self.has_limit {
            let mut trial = known.trial(&self.server);
            let is_accepted = timeout(ACCEPTANCE, trial.begin()).await == Ok(true);
            // A full server may end the session that has been idle longest. A server of HTTP may keep no connection at all.
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

    /// How many results are left.
    pub(super) fn remaining(&self) -> usize {
        self.checks.len() - self.returned
    }

    /// What the checks have cost so far.
    pub(super) fn cost(&self) -> Cost {
        self.cost
    }

    /// Why checks are left out, if they are.
    pub(super) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Leaves out the checks that have not begun. Those that are running end as they do.
    pub(super) fn leave_out(&mut self, reason: &str) {
        self.stopped.get_or_insert_with(|| reason.to_owned());
    }

    /// Leaves out all checks that have not ended. Returns the results that were not returned yet.
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

    /// The result of the next check; `None` after the last one. If the future is dropped, checks wait until the next call,
    /// while their time goes on.
    pub(super) async fn next(&mut self, known: &JudgedOffer) -> Option<CheckResult> {
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
                self.begin(known);
            } else if self.running.is_empty() {
                self.ask_again(known).await;
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

    /// A doubtful result, which cannot be repeated once the rest is left out, says nothing about the server.
    fn without_doubt(&self, result: CheckResult) -> CheckResult {
        let is_judged = !matches!(result.verdict, Verdict::NotJudged { .. });
        match &self.stopped {
            Some(reason) if result.is_doubtful() && is_judged => {
                CheckResult::unjudged(result.number, result.check, reason.clone())
            }
            _ => result,
        }
    }

    /// Begins as many checks as may run now.
    fn begin(&mut self, known: &JudgedOffer) {
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
            // At a server with a limit, even the session before may still take a place.
            let was_alone = is_alone || (self.sessions == 1 && !self.has_limit);
            let settling = match self.repeated {
                Some(_) => SETTLING,
                None => Duration::ZERO,
            };
            let carried_out = carry_out(
                Arc::clone(&self.server),
                known.trial(&self.server),
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

    /// Why a check is not carried out.
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

    /// Counts what a check or a preparation cost; the rest is left out if that was the last that a limit allows.
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

    /// Leaves out the rest if no search is answered any more.
    async fn ask_again(&mut self, known: &JudgedOffer) {
        let began = Instant::now();
        let mut trial = known.trial(&self.server);
        let mut is_answered = trial.is_answered().await;
        if !is_answered && !trial.ledger().is_silent {
            // It may have been full.
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

    /// Notes whether the server was there.
    pub(super) fn note_answer(&mut self, ledger: &Ledger) {
        if ledger.is_unreachable || ledger.is_silent {
            self.unanswered += 1;
        } else if ledger.requests > 0 {
            self.unanswered = 0;
        }
    }
}

/// Carries out a check within its time.
async fn carry_out(
    server: Arc<JudgedServer>,
    mut trial: AnyTrial,
    check: &'static Check,
    sessions: usize,
) -> (Verdict, Ledger) {
    // Of the pauses, a check has as many as requests; those about explain ask for each index.
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
            Verdict::fail(check.requirement, came)
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

    /// Whether the server answers what it has answered before.
    async fn is_answered(&mut self) -> bool {
        match self {
            Self::Z3950(trial) => trial.is_answered().await,
            Self::Sru(trial) => trial.is_answered().await,
        }
    }

    /// Begins a session. Returns whether the server accepts it.
    async fn begin(&mut self) -> bool {
        match self {
            Self::Z3950(trial) => trial.session().await.is_ok(),
            Self::Sru(trial) => trial.is_answered().await,
        }
    }

    /// Whether the server has kept the session.
    async fn is_kept(&mut self) -> bool {
        match self {
            Self::Z3950(trial) => match trial.good_search() {
                Ok(search) => trial.ask(search).await.is_ok(),
                Err(_) => true,
            },
            Self::Sru(trial) => trial.is_kept().await,
        }
    }

    /// Ends the session. Returns whether the server came to an end as well.
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
