//! The course of a judgement: what the server offers, then one check after the other, each within limits that a server which
//! hangs, lies or floods cannot exceed.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, timeout};
use z3950_asn1::apdu::{DatabaseName, InitializeRequest, Options, ProtocolVersion, RpnQuery};

use super::check::{Check, Checked, Procedure, Verdict, counted};
use super::checks::{Permission, all};
use super::ledger::Ledger;
use super::offer::{Missing, Offer, learn};
use super::report::{Finding, Offered, Report};
use super::secrets::Secrets;
use super::sru::{self, SruOffer, SruTrial};
use super::trial::{MAX_UNASKED, Trial, seconds};
use crate::target::profile::SruOptions;
use crate::transport::{Connect, Timeouts};
use crate::url::Host;

/// After this many checks in a row in which the server did not answer, it is asked whether it is still there.
const MAX_UNANSWERED: u32 = 5;

/// How to judge.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JudgeOptions {
    /// The databases that are searched. If none is given, `Default`; if the server of Z39.50 has no such database, the first one that it
    /// lists in Explain.
    pub databases: Vec<DatabaseName>,
    /// A query that has hits, at best 3 to 20; without it, common words are tried. No other query is used in its place.
    pub query: Option<RpnQuery>,
    /// The same in CQL, for servers of SRU.
    pub cql: Option<String>,
    /// How a server of SRU wants to be asked: parameters of its own, and where the credentials of Init travel.
    pub sru: SruOptions,
    /// Words to try before the common ones.
    pub terms: Vec<String>,
    /// What Init sends: credentials and names. Versions, options and sizes are the judge's.
    pub init: InitializeRequest,
    /// How long to wait; `answer` is 10 s.
    pub timeouts: Timeouts,
    /// How long to wait between two requests; half a second.
    pub pause: Duration,
    /// Whether octets are sent that the standard forbids.
    pub is_hostile: bool,
    /// The database in which records may be stored and deleted.
    pub may_update: Option<DatabaseName>,
    /// Only checks whose names begin with one of these; all if there is none.
    pub only: Vec<String>,
    /// What the server may cost.
    pub limits: JudgeLimits,
}

/// What a judgement may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgeLimits {
    /// Requests in all; 3000.
    pub requests: u32,
    /// Octets received in all; 256 MiB.
    pub octets: u64,
    /// Octets received in a check; 16 MiB.
    pub check_octets: u64,
    /// The time of a check without its pauses; 60 s.
    pub check_time: Duration,
    /// The time of all checks without their pauses; 30 minutes.
    pub time: Duration,
}

impl Default for JudgeLimits {
    fn default() -> Self {
        Self {
            requests: 3000,
            octets: 256 << 20,
            check_octets: 16 << 20,
            check_time: Duration::from_secs(60),
            time: Duration::from_secs(30 * 60),
        }
    }
}

impl Default for JudgeOptions {
    fn default() -> Self {
        Self {
            databases: Vec::new(),
            query: None,
            cql: None,
            sru: SruOptions::default(),
            terms: Vec::new(),
            init: InitializeRequest::default(),
            timeouts: Timeouts::default().with_answer(Duration::from_secs(10)),
            pause: Duration::from_millis(500),
            is_hostile: false,
            may_update: None,
            only: Vec::new(),
            limits: JudgeLimits::default(),
        }
    }
}

/// The server that is judged, and how.
pub(super) struct JudgedServer {
    pub(super) connector: Arc<dyn Connect>,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) options: JudgeOptions,
    secrets: Secrets,
}

/// What is known about the server, in either protocol.
enum JudgedOffer {
    Z3950(Arc<Offer>),
    Sru(Arc<SruOffer>),
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

/// A judgement in progress.
pub struct Judge {
    target: Arc<JudgedServer>,
    known: JudgedOffer,
    findings: Vec<Finding>,
    waiting: std::vec::IntoIter<(Permission, &'static Check)>,
    begun: SystemTime,
    started: Instant,
    requests: u32,
    octets: u64,
    paused: Duration,
    /// How many checks in a row had no answer.
    unanswered: u32,
    /// Why the rest is not judged.
    stopped: Option<String>,
    /// Whether a finding tells that something kept checks from being carried out.
    has_error: bool,
}

/// The options that sessions propose. Those that let the server ask questions are left out, as are encapsulation and
/// negotiation, which change what other APDUs mean; checks that are about an option propose it themselves.
const PROPOSED: [Options; 13] = [
    Options::SEARCH,
    Options::PRESENT,
    Options::DELETE,
    Options::RESOURCE_REPORT,
    Options::TRIGGER_RESOURCE_CONTROL,
    Options::SCAN,
    Options::SORT,
    Options::EXTENDED_SERVICES,
    Options::CONCURRENT_OPERATIONS,
    Options::NAMED_RESULT_SETS,
    Options::RESULT_COUNT,
    Options::DUPLICATE_DETECTION,
    Options::QUERY_TYPE_104,
];
/// The message size that sessions propose, in octets.
const SIZE: i64 = 1 << 20;

impl Judge {
    /// Prepares a judgement of the server of Z39.50 that the connector leads to; nothing is sent yet.
    pub fn new(
        connector: Arc<dyn Connect>,
        host: Host,
        port: u16,
        mut options: JudgeOptions,
    ) -> Self {
        let init = &mut options.init;
        init.protocol_version = ProtocolVersion::UP_TO_3;
        init.options = PROPOSED
            .into_iter()
            .fold(Options::default(), Options::union);
        (init.preferred_message_size, init.exceptional_record_size) = (SIZE, SIZE);
        let known = JudgedOffer::Z3950(Arc::default());
        Self::prepared(connector, host, port, options, known, all())
    }

    /// Prepares a judgement of a server of SRU. The first of the databases is the path of its URL.
    pub fn of_sru(
        connector: Arc<dyn Connect>,
        host: Host,
        port: u16,
        options: JudgeOptions,
    ) -> Self {
        let known = JudgedOffer::Sru(Arc::default());
        Self::prepared(connector, host, port, options, known, sru::all())
    }

    fn prepared(
        connector: Arc<dyn Connect>,
        host: Host,
        port: u16,
        options: JudgeOptions,
        known: JudgedOffer,
        checks: impl Iterator<Item = (Permission, &'static Check)>,
    ) -> Self {
        let is_wanted = |check: &Check| {
            let only = &options.only;
            only.is_empty()
                || only
                    .iter()
                    .any(|name| check.name.starts_with(name.as_str()))
        };
        let chosen: Vec<_> = checks.filter(|(_, check)| is_wanted(check)).collect();
        let secrets = Secrets::of(&options);
        let target = JudgedServer {
            connector,
            host,
            port,
            options,
            secrets,
        };
        Self {
            target: Arc::new(target),
            known,
            findings: Vec::new(),
            waiting: chosen.into_iter(),
            begun: SystemTime::now(),
            started: Instant::now(),
            requests: 0,
            octets: 0,
            paused: Duration::ZERO,
            unanswered: 0,
            stopped: None,
            has_error: false,
        }
    }

    /// Finds out what the server offers: needed once, before the first check. If a database is missing, no check is carried out.
    pub async fn learn(&mut self) -> Offered<'_> {
        let limit = self.target.options.limits.check_time + self.target.options.pause * 100;
        let target = Arc::clone(&self.target);
        let hide = |notes: &mut Vec<String>| {
            let secrets = &target.secrets;
            notes.iter_mut().for_each(|note| secrets.hide_in(note));
        };
        let ledger = match &mut self.known {
            JudgedOffer::Z3950(offer) => {
                let (mut found, ledger) = learn(&target, limit).await;
                hide(&mut found.notes);
                *offer = Arc::new(found);
                ledger
            }
            JudgedOffer::Sru(offer) => {
                let (mut found, ledger) = sru::learn(&target, limit).await;
                hide(&mut found.notes);
                *offer = Arc::new(found);
                ledger
            }
        };
        self.count(&ledger);
        if self.offered().missing().contains(&Missing::Database) {
            self.stopped = Some("a database to judge is not available".to_owned());
        }
        self.offered()
    }

    /// What is known about the server.
    fn offered(&self) -> Offered<'_> {
        match &self.known {
            JudgedOffer::Z3950(offer) => Offered::Z3950(offer),
            JudgedOffer::Sru(offer) => Offered::Sru(offer),
        }
    }

    /// Carries out the next check; `None` after the last one. If the future is dropped, the check is left.
    pub async fn next(&mut self) -> Option<&Finding> {
        let (permission, check) = *self.waiting.as_slice().first()?;
        let began = Instant::now();
        let obstacle = self.obstacle(permission);
        let mut trial = self.trial();
        let verdict = match &obstacle {
            Some(reason) => Verdict::not_judged(reason),
            None => self.perform(check, &mut trial).await,
        };
        let time = began.elapsed();
        self.count(trial.ledger());
        if self.unanswered >= MAX_UNANSWERED && self.stopped.is_none() {
            self.ask_again().await;
        }
        self.waiting.next();
        self.add(check, verdict, time, trial.into_ledger());
        self.findings.last()
    }

    /// Does not carry out the checks that are left: they are not judged, for this reason.
    pub fn stop(&mut self, reason: &str) {
        self.stopped.get_or_insert_with(|| reason.to_owned());
        while let Some((permission, check)) = self.waiting.next() {
            let reason = self.obstacle(permission).unwrap_or_default();
            let verdict = Verdict::not_judged(reason);
            self.add(check, verdict, Duration::ZERO, Ledger::default());
        }
    }

    fn trial(&self) -> AnyTrial {
        let target = Arc::clone(&self.target);
        match &self.known {
            JudgedOffer::Z3950(offer) => AnyTrial::Z3950(Trial::new(target, Arc::clone(offer))),
            JudgedOffer::Sru(offer) => AnyTrial::Sru(SruTrial::new(target, Arc::clone(offer))),
        }
    }

    /// Ends the judgement if no search is answered any more.
    async fn ask_again(&mut self) {
        let mut trial = self.trial();
        let is_answered = trial.is_answered().await;
        trial.leave().await;
        self.count(trial.ledger());
        if !is_answered {
            self.stopped = Some("no search is answered any more".to_owned());
        }
    }

    /// Keeps what a check found. An error is reported once for all checks that are left out.
    fn add(&mut self, check: &'static Check, verdict: Verdict, time: Duration, ledger: Ledger) {
        let is_left_out = match &verdict {
            Verdict::NotJudged { reason } => {
                let missing = self.offered().missing();
                self.stopped.as_ref() == Some(reason) || missing.contains(&Missing::Answer)
            }
            _ => false,
        };
        let is_not_judged = matches!(verdict, Verdict::NotJudged { .. });
        let is_error = is_not_judged && (ledger.is_unreachable || (is_left_out && !self.has_error));
        self.has_error |= is_error;
        let mut finding = Finding {
            check,
            verdict,
            is_error,
            time,
            exchanges: ledger.exchanges,
        };
        self.target.secrets.hide(&mut finding);
        self.findings.push(finding);
    }

    /// How many checks are left.
    pub fn remaining(&self) -> usize {
        self.waiting.len()
    }

    /// What was found so far. `name` is what the report calls the server.
    pub fn report(&self, name: &str) -> Report<'_> {
        Report {
            name: name.to_owned(),
            begun: self.begun,
            time: self.started.elapsed(),
            requests: self.requests,
            octets: self.octets,
            offer: self.offered(),
            findings: &self.findings,
            secrets: &self.target.secrets,
        }
    }

    /// Why a check is not carried out.
    fn obstacle(&self, permission: Permission) -> Option<String> {
        let options = &self.target.options;
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

    async fn perform(&mut self, check: &Check, trial: &mut AnyTrial) -> Verdict {
        let limits = self.target.options.limits;
        // Of the pauses, a check has as many as requests; those about explain ask for each index.
        let most = match check.run {
            Procedure::Z3950(_) => 60,
            Procedure::Sru(_) => sru::MAX_REQUESTS,
        };
        let time = limits.check_time + self.target.options.pause * most;
        let verdict = match timeout(time, trial.carry_out(check)).await {
            Ok(Ok(())) => Verdict::Pass,
            Ok(Err(verdict)) => verdict,
            Err(_) => {
                trial.hang_up();
                trial.ledger().is_silent = true;
                Verdict::fail(
                    check.requirement,
                    format!("no end within {} s", time.as_secs()),
                )
            }
        };
        match trial.leave().await {
            false if verdict == Verdict::Pass => {
                let came = format!(
                    "{} that nobody asked for",
                    counted(MAX_UNASKED as u64, "APDU")
                );
                Verdict::fail("an end of what the server says", came)
            }
            _ => verdict,
        }
    }

    /// Counts what a trial cost.
    fn count(&mut self, ledger: &Ledger) {
        let limits = self.target.options.limits;
        self.requests = self.requests.saturating_add(ledger.requests);
        self.octets = self.octets.saturating_add(ledger.octets);
        self.paused += ledger.paused;
        self.unanswered = match ledger.is_unreachable || ledger.is_silent {
            true => self.unanswered + 1,
            false if ledger.requests > 0 => 0,
            false => self.unanswered,
        };
        let reached = if self.requests >= limits.requests {
            counted(u64::from(limits.requests), "request")
        } else if self.octets >= limits.octets {
            counted(limits.octets, "octet")
        } else if self.started.elapsed().saturating_sub(self.paused) >= limits.time {
            seconds(limits.time)
        } else {
            return;
        };
        let reason = format!("the limit of {reached} is reached");
        self.stopped.get_or_insert(reason);
    }
}
