//! How a server is judged, and what the judgement may cost.

use std::sync::Arc;
use std::time::Duration;

use z3950::target::profile::SruOptions;
use z3950::transport::{Connect, Timeouts};
use z3950::url::Host;
use z3950_asn1::apdu::{DatabaseName, InitializeRequest, RpnQuery};

use super::ledger::Pacer;

/// How to judge a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JudgeOptions {
    /// The databases that are searched. If none is given, the database is `Default`, or if the Z39.50 server does not have it,
    /// the first database listed in Explain.
    pub databases: Vec<DatabaseName>,
    /// A query that has hits, preferably 3 to 20. No other query is used in its place; without it, common words are tried.
    pub query: Option<RpnQuery>,
    /// The query in CQL, for SRU servers.
    pub cql: Option<String>,
    /// How requests are sent to an SRU server: additional parameters, and where the credentials of Init travel.
    pub sru: SruOptions,
    /// Words to try before the built-in common words.
    pub terms: Vec<String>,
    /// The values that Init sends: credentials and names. Versions, options and sizes are chosen by the judge.
    pub init: InitializeRequest,
    /// The maximum times to wait; `answer` is 10 s.
    pub timeouts: Timeouts,
    /// The time to wait between two requests in all sessions together; half a second. The first request of a check does not
    /// wait.
    pub pause: Duration,
    /// The maximum number of sessions or connections open at a time; 16. There are fewer if the server does not accept more, or
    /// if the pause would leave them idle.
    pub sessions: usize,
    /// Whether octets that the standard forbids are sent.
    pub is_hostile: bool,
    /// The database in which records may be stored and deleted.
    pub may_update: Option<DatabaseName>,
    /// Only checks whose names begin with one of these are carried out; all checks if the list is empty.
    pub only: Vec<String>,
    /// The limits on the cost to the server.
    pub limits: JudgeLimits,
}

/// The limits on the cost of a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgeLimits {
    /// The number of requests in total; 3000. Checks that are running when a limit on all checks is reached may exceed it.
    pub requests: u32,
    /// The number of octets received in total; 256 MiB.
    pub octets: u64,
    /// The number of octets received in one check; 16 MiB.
    pub check_octets: u64,
    /// The time of a check without its pauses; 60 s.
    pub check_time: Duration,
    /// The total time of all checks without their pauses; 30 minutes.
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

/// The server that is judged, and the options for judging it.
pub(super) struct JudgedServer {
    pub(super) connector: Arc<dyn Connect>,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) options: JudgeOptions,
    pub(super) pacer: Pacer,
}
