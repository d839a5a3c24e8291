//! The course of a judgement: what the server offers, then one check after the other, each within limits that a server which
//! hangs, lies or floods cannot exceed.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, timeout};
use z3950_asn1::apdu::{DatabaseName, InitializeRequest, Options, ProtocolVersion, RpnQuery};

use super::check::{Check, Verdict};
use super::checks::{Permission, all};
use super::offer::{Offer, learn};
use super::report::{Finding, Report};
use super::trial::Trial;
use crate::transport::{Connect, Timeouts};
use crate::url::Host;

/// After this many checks in a row that could not open a session, the server counts as gone.
const MAX_UNREACHABLE: u32 = 5;

/// How to judge.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JudgeOptions {
    /// The databases that are searched; `Default` unless given.
    pub databases: Vec<DatabaseName>,
    /// A query that has hits, at best 3 to 20; without it, common words are tried.
    pub query: Option<RpnQuery>,
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
}

impl Default for JudgeLimits {
    fn default() -> Self {
        Self {
            requests: 3000,
            octets: 256 << 20,
            check_octets: 16 << 20,
            check_time: Duration::from_secs(60),
        }
    }
}

impl Default for JudgeOptions {
    fn default() -> Self {
        Self {
            databases: vec!["Default".into()],
            query: None,
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
}

/// A judgement in progress.
pub struct Judge {
    target: Arc<JudgedServer>,
    offer: Arc<Offer>,
    findings: Vec<Finding>,
    waiting: std::vec::IntoIter<(Permission, &'static Check)>,
    begun: SystemTime,
    started: Instant,
    requests: u32,
    octets: u64,
    unreachable: u32,
    /// Why the rest is not judged.
    stopped: Option<String>,
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
    /// Prepares a judgement of the server that the connector leads to; nothing is sent yet.
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
        let is_wanted = |check: &Check| {
            let only = &options.only;
            only.is_empty()
                || only
                    .iter()
                    .any(|name| check.name.starts_with(name.as_str()))
        };
        let chosen: Vec<_> = all().filter(|(_, check)| is_wanted(check)).collect();
        let target = JudgedServer {
            connector,
            host,
            port,
            options,
        };
        Self {
            target: Arc::new(target),
            offer: Arc::default(),
            findings: Vec::new(),
            waiting: chosen.into_iter(),
            begun: SystemTime::now(),
            started: Instant::now(),
            requests: 0,
            octets: 0,
            unreachable: 0,
            stopped: None,
        }
    }

    /// Finds out what the server offers: needed once, before the first check.
    pub async fn learn(&mut self) -> &Offer {
        let limit = self.target.options.limits.check_time + self.target.options.pause * 100;
        match timeout(limit, learn(&self.target)).await {
            Ok((offer, trial)) => {
                self.count(&trial);
                self.offer = Arc::new(offer);
            }
            Err(_) => {
                let offer = Offer {
                    databases: self.target.options.databases.clone(),
                    notes: vec!["the server did not answer in time".to_owned()],
                    ..Offer::default()
                };
                self.offer = Arc::new(offer);
            }
        }
        &self.offer
    }

    /// Carries out the next check; `None` after the last one. If the future is dropped, the check is left.
    pub async fn next(&mut self) -> Option<&Finding> {
        let (permission, check) = *self.waiting.as_slice().first()?;
        let began = Instant::now();
        let mut trial = Trial::new(Arc::clone(&self.target), Arc::clone(&self.offer));
        let verdict = match self.obstacle(permission) {
            Some(reason) => Verdict::not_judged(reason),
            None => self.perform(check, &mut trial).await,
        };
        let time = began.elapsed();
        self.count(&trial);
        self.waiting.next();
        self.findings.push(Finding {
            check,
            verdict,
            time,
            exchanges: trial.exchanges,
        });
        self.findings.last()
    }

    /// Does not carry out the checks that are left: they are not judged, for this reason.
    pub fn stop(&mut self, reason: &str) {
        for (_, check) in self.waiting.by_ref() {
            self.findings.push(Finding {
                check,
                verdict: Verdict::not_judged(reason),
                time: Duration::ZERO,
                exchanges: Vec::new(),
            });
        }
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
            offer: &self.offer,
            findings: &self.findings,
        }
    }

    /// Why a check is not carried out.
    fn obstacle(&self, permission: Permission) -> Option<String> {
        let options = &self.target.options;
        if let Some(reason) = &self.stopped {
            return Some(reason.clone());
        }
        match permission {
            Permission::Hostile if !options.is_hostile => {
                Some("octets that the standard forbids were not allowed".to_owned())
            }
            Permission::Update if options.may_update.is_none() => {
                Some("no database was named that may be changed".to_owned())
            }
            _ => None,
        }
    }

    async fn perform(&mut self, check: &Check, trial: &mut Trial) -> Verdict {
        let limits = self.target.options.limits;
        // Of the pauses, a check has as many as requests.
        let time = limits.check_time + self.target.options.pause * 60;
        let verdict = match timeout(time, (check.run)(trial)).await {
            Ok(Ok(())) => Verdict::Pass,
            Ok(Err(verdict)) => verdict,
            Err(_) => {
                trial.hang_up();
                Verdict::fail(
                    check.requirement,
                    format!("no end within {} s", time.as_secs()),
                )
            }
        };
        trial.leave().await;
        verdict
    }

    /// Counts what a trial cost.
    fn count(&mut self, trial: &Trial) {
        let limits = self.target.options.limits;
        self.requests = self.requests.saturating_add(trial.requests);
        self.octets = self.octets.saturating_add(trial.octets);
        self.unreachable = match trial.is_unreachable {
            true => self.unreachable + 1,
            false if trial.requests > 0 => 0,
            false => self.unreachable,
        };
        if self.unreachable >= MAX_UNREACHABLE {
            self.stopped = Some("no session begins any more".to_owned());
        } else if self.requests >= limits.requests {
            self.stopped = Some(format!(
                "the limit of {} requests is reached",
                limits.requests
            ));
        } else if self.octets >= limits.octets {
            self.stopped = Some(format!("the limit of {} octets is reached", limits.octets));
        }
    }
}
