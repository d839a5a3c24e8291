//! How a server is judged, and what that may cost.

use std::sync::Arc;
use std::time::Duration;

use z3950::target::profile::SruOptions;
use z3950::transport::{Connect, Timeouts};
use z3950::url::Host;
use z3950_asn1::apdu::{DatabaseName, InitializeRequest, RpnQuery};

use super::ledger::Pacer;

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
}
