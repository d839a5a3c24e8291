//! A judgement: what the server offers, then the checks, each within limits that a server which hangs, lies or floods cannot exceed.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use z3950_asn1::apdu::{DatabaseName, InitializeRequest, Options, ProtocolVersion, RpnQuery};

use super::check::{Check, Verdict};
use super::checks::{Permission, all};
use super::ledger::{Ledger, Pacer};
use super::offer::{self, Missing};
use super::report::{Finding, Offered, Report};
use super::schedule::{CheckResult, JudgedOffer, Schedule};
use super::secrets::Secrets;
use super::sru;
use super::trial::QUIET;
use z3950::target::profile::SruOptions;
use z3950::transport::{Connect, Timeouts};
use z3950::url::Host;

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
    /// How long to wait between two requests, in whichever session they are; half a second. The first request of a check does not wait.
    pub pause: Duration,
    /// How many sessions or connections may be open at a time; 16. There are fewer if the server accepts no more, or if the pause leaves
    /// them nothing to do.
    pub sessions: usize,
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
    /// Requests in all; 3000. Of each limit on all checks, those that run when it is reached may take more.
    pub requests: u32,
    /// Octets received in all; 256 MiB.
    pub octets: u64,
    /// Octets received in a check; 16 MiB.
    pub check_octets: u64,
    /// The time of a check without its pauses; 60 s.
    pub check_time: Duration,
    /// The times of all checks, without their pauses, in sum; 30 minutes.
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
            sessions: 16,
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
    pub(super) pacer: Pacer,
    secrets: Secrets,
}

/// A judgement in progress.
pub struct Judge {
    server: Arc<JudgedServer>,
    known: JudgedOffer,
    schedule: Schedule,
    findings: Vec<Finding>,
    begun: SystemTime,
    started: Instant,
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
        let server = Arc::new(JudgedServer {
            connector,
            host,
            port,
            options,
            secrets,
            pacer: Pacer::default(),
        });
        Self {
            schedule: Schedule::new(Arc::clone(&server), chosen),
            server,
            known,
            findings: Vec::new(),
            begun: SystemTime::now(),
            started: Instant::now(),
            has_error: false,
        }
    }

    /// Finds out what the server offers: needed once, before the first check. If a database is missing, no check is carried out.
    pub async fn learn(&mut self) -> Offered<'_> {
        let server = Arc::clone(&self.server);
        let limit = server.options.limits.check_time + server.options.pause * 100;
        let hide = |notes: &mut Vec<String>| {
            let secrets = &server.secrets;
            notes.iter_mut().for_each(|note| secrets.hide_in(note));
        };
        let began = Instant::now();
        let ledger = match &mut self.known {
            JudgedOffer::Z3950(offer) => {
                let (mut found, ledger) = offer::learn(&server, limit).await;
                hide(&mut found.notes);
                *offer = Arc::new(found);
                ledger
            }
            JudgedOffer::Sru(offer) => {
                let (mut found, ledger) = sru::learn(&server, limit).await;
                hide(&mut found.notes);
                *offer = Arc::new(found);
                ledger
            }
        };
        self.count(&ledger, began);
        let lacks = |kind| self.offered().missing().contains(&kind);
        if lacks(Missing::Database) {
            self.schedule
                .leave_out("a database to judge is not available");
        } else if !lacks(Missing::Answer) && !lacks(Missing::Session) {
            let most = self.useful_sessions();
            self.schedule.find_sessions(&self.known, most).await;
        }
        self.offered()
    }

    fn count(&mut self, ledger: &Ledger, began: Instant) {
        let time = began.elapsed().saturating_sub(ledger.paused);
        self.schedule.count(ledger, time);
        self.schedule.note_answer(ledger);
    }

    /// How many sessions are of use: as many as have something to do while one of them waits for silence.
    fn useful_sessions(&self) -> usize {
        let options = &self.server.options;
        let useful = QUIET.div_duration_f64(options.pause);
        let useful = if useful < options.sessions as f64 {
            useful as usize + 1
        } else {
            options.sessions
        };
        useful.min(options.sessions).min(self.remaining())
    }

    /// What is known about the server.
    fn offered(&self) -> Offered<'_> {
        match &self.known {
            JudgedOffer::Z3950(offer) => Offered::Z3950(offer),
            JudgedOffer::Sru(offer) => Offered::Sru(offer),
        }
    }

    /// The result of the next check, in their order; `None` after the last one. Others are carried out in the meantime. If the future is
    /// dropped, checks that have begun go on when this is called again.
    pub async fn next(&mut self) -> Option<&Finding> {
        let result = self.schedule.next(&self.known).await?;
        self.add(result);
        self.findings.last()
    }

    /// Ends the judgement: all checks without a result are not judged, for this reason.
    pub fn stop(&mut self, reason: &str) {
        for result in self.schedule.stop(reason) {
            self.add(result);
        }
    }

    /// Keeps what a check found. An error is reported once for all checks that are left out.
    fn add(&mut self, result: CheckResult) {
        let CheckResult {
            check,
            verdict,
            time,
            ledger,
            ..
        } = result;
        let is_left_out = match &verdict {
            Verdict::NotJudged { reason } => {
                let missing = self.offered().missing();
                self.schedule.stopped() == Some(reason) || missing.contains(&Missing::Answer)
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
        self.server.secrets.hide(&mut finding);
        self.findings.push(finding);
    }

    /// How many checks are left.
    pub fn remaining(&self) -> usize {
        self.schedule.remaining()
    }

    /// What was found so far. `name` is what the report calls the server.
    pub fn report(&self, name: &str) -> Report<'_> {
        let cost = self.schedule.cost();
        Report {
            name: name.to_owned(),
            begun: self.begun,
            time: self.started.elapsed(),
            requests: cost.requests,
            octets: cost.octets,
            offer: self.offered(),
            findings: &self.findings,
            secrets: &self.server.secrets,
        }
    }
}
