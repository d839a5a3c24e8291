//! A judgement, which first determines what the server offers and then runs the checks. Its limits apply even if the server
//! hangs, sends wrong numbers, or sends too much.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::time::Instant;
use z3950_asn1::apdu::{Options, ProtocolVersion};

use super::check::Check;
use super::checks::{Permission, all};
use super::finding::Finding;
use super::learn::{MAX_UNANSWERED, learn};
use super::ledger::{Ledger, Pacer};
use super::offer::{MissingPrerequisite, ServerOffer};
use super::options::{JudgeOptions, JudgedServer};
use super::report::Report;
use super::schedule::{CheckResult, Schedule};
use super::secrets::Secrets;
use super::sru;
use super::trial::QUIET;
use super::verdict::Verdict;
use z3950::transport::Connect;
use z3950::url::Host;

/// A judgement in progress.
pub struct Judge {
    server: Arc<JudgedServer>,
    secrets: Secrets,
    offer: ServerOffer,
    schedule: Schedule,
    findings: Vec<Finding>,
    begun: SystemTime,
    started: Instant,
    /// Whether a finding already reports the error that keeps the remaining checks from running, so that it is reported only once.
    has_error: bool,
}

/// The options that sessions propose. Options that let the server send requests to the client are left out, and so are
/// encapsulation and negotiation, which change the meaning of other APDUs. The checks of these options propose them in their own
/// sessions.
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
/// The message size proposed in sessions, in octets.
const SIZE: i64 = 1 << 20;

impl Judge {
    /// Prepares a judgement of a Z39.50 server, to which the connector connects. Nothing is sent yet.
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
        let offer = ServerOffer::Z3950(Arc::default());
        Self::prepared(connector, host, port, options, offer, all())
    }

    /// Prepares a judgement of an SRU server. The first database is the path of its URL.
    pub fn of_sru(
        connector: Arc<dyn Connect>,
        host: Host,
        port: u16,
        options: JudgeOptions,
    ) -> Self {
        let offer = ServerOffer::Sru(Arc::default());
        Self::prepared(connector, host, port, options, offer, sru::checks::all())
    }

    fn prepared(
        connector: Arc<dyn Connect>,
        host: Host,
        port: u16,
        options: JudgeOptions,
        offer: ServerOffer,
        checks: impl Iterator<Item = (Permission, &'static Check)>,
    ) -> Self {
        let is_wanted = |check: &Check| {
            let only = &options.only;
            only.is_empty()
                || only
                    .iter()
                    .any(|name| check.requirement.name.starts_with(name.as_str()))
        };
        let chosen: Vec<_> = checks.filter(|(_, check)| is_wanted(check)).collect();
        let secrets = Secrets::of(&options);
        let server = Arc::new(JudgedServer {
            connector,
            host,
            port,
            options,
            pacer: Pacer::default(),
        });
        Self {
            schedule: Schedule::new(Arc::clone(&server), chosen),
            server,
            secrets,
            offer,
            findings: Vec::new(),
            begun: SystemTime::now(),
            started: Instant::now(),
            has_error: false,
        }
    }

    /// Determines what the server offers. This must be called once before the first check. If a database is missing, no checks
    /// are run.
    pub async fn learn(&mut self) -> &ServerOffer {
        let server = Arc::clone(&self.server);
        let JudgeOptions {
            limits,
            timeouts,
            pause,
            ..
        } = &server.options;
        let silence = timeouts.answer.unwrap_or(limits.check_time) * MAX_UNANSWERED;
        let limit = limits.check_time + silence + *pause * 100;
        let hide = |notes: &mut Vec<String>| {
            let secrets = &self.secrets;
            notes.iter_mut().for_each(|note| secrets.hide_in(note));
        };
        let began = Instant::now();
        let ledger = match &mut self.offer {
            ServerOffer::Z3950(offer) => {
                let (mut found, ledger) = learn(&server, limit).await;
                hide(&mut found.notes);
                *offer = Arc::new(found);
                ledger
            }
            ServerOffer::Sru(offer) => {
                let (mut found, ledger) = sru::learn::learn(&server, limit).await;
                hide(&mut found.notes);
                *offer = Arc::new(found);
                ledger
            }
        };
        self.count(&ledger, began);
        let lacks = |kind| self.offer.missing().contains(&kind);
        if lacks(MissingPrerequisite::Database) {
            self.schedule
                .leave_out("a database to judge is not available");
        } else if !lacks(MissingPrerequisite::Answer) && !lacks(MissingPrerequisite::Session) {
            let most = self.useful_sessions();
            self.schedule.find_sessions(&self.offer, most).await;
        }
        &self.offer
    }

    fn count(&mut self, ledger: &Ledger, began: Instant) {
        let time = began.elapsed().saturating_sub(ledger.paused);
        self.schedule.count(ledger, time);
        self.schedule.note_answer(ledger);
    }

    /// Returns the largest number of sessions that is useful. While one session waits to see whether the server sends anything,
    /// the pause between requests limits how many other sessions can be busy.
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

    /// Returns the result of the next check in the order of the checks, or `None` after the last check. Later checks run in the
    /// meantime. If the future is dropped, the checks that have begun continue at the next call.
    pub async fn next(&mut self) -> Option<&Finding> {
        let result = self.schedule.next(&self.offer).await?;
        self.add(result);
        self.findings.last()
    }

    /// Ends the judgement. Checks that have no result yet are reported as not judged, for this reason.
    pub fn stop(&mut self, reason: &str) {
        for result in self.schedule.stop(reason) {
            self.add(result);
        }
    }

    /// Adds the result of a check. An error that prevents several checks is reported only once.
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
                let missing = self.offer.missing();
                self.schedule.stopped() == Some(reason)
                    || missing.contains(&MissingPrerequisite::Answer)
            }
            _ => false,
        };
        let is_not_judged = matches!(verdict, Verdict::NotJudged { .. });
        let is_error = is_not_judged && (ledger.is_unreachable || (is_left_out && !self.has_error));
        self.has_error |= is_error;
        let mut finding = Finding {
            requirement: &check.requirement,
            verdict,
            is_error,
            time,
            exchanges: ledger.exchanges,
        };
        self.secrets.hide(&mut finding);
        self.findings.push(finding);
    }

    /// Returns the number of checks without a result.
    pub fn remaining(&self) -> usize {
        self.schedule.remaining()
    }

    /// Returns the findings so far. `name` is the name of the server in the report.
    pub fn report(&self, name: &str) -> Report<'_> {
        let cost = self.schedule.cost();
        Report {
            name: name.to_owned(),
            begun: self.begun,
            time: self.started.elapsed(),
            requests: cost.requests,
            octets: cost.octets,
            offer: &self.offer,
            findings: &self.findings,
            secrets: &self.secrets,
        }
    }
}
