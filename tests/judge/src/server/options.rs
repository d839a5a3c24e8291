//! The options for judging a server, and the limits on the cost of a judgement.

use std::sync::Arc;
use std::time::Duration;

use z3950::target::profile::SruOptions;
use z3950::transport::{Connect, Timeouts};
use z3950::url::Host;
use z3950_asn1::apdu::{DatabaseName, InitializeRequest, RpnQuery};

use super::ledger::Pacer;

/// The options for judging a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JudgeOptions {
    /// The databases to search. If the list is empty, the database is `Default` or, if a Z39.50 server does not have a database
    /// of this name, the first database listed in Explain.
    pub databases: Vec<DatabaseName>,
    /// A query that has hits, preferably 3 to 20. If it is `None`, queries for common words are tried; otherwise, no other query
    /// is tried.
    pub query: Option<RpnQuery>,
    /// A query in CQL, for SRU servers.
    pub cql: Option<String>,
    /// How requests to an SRU server are formed: additional parameters, and where the credentials are sent.
    pub sru: SruOptions,
    /// Words to try before the built-in common words.
    pub terms: Vec<String>,
    /// The credentials and implementation names for Init. The judge chooses versions, options and sizes itself.
    pub init: InitializeRequest,
    /// The maximum times to wait; by default, 10 s for an answer.
    pub timeouts: Timeouts,
    /// The pause between two requests, counting the requests of all sessions; by default, half a second. The first request of a
    /// check is sent without a pause.
    pub pause: Duration,
    /// The maximum number of concurrent sessions or connections; by default, 16. Fewer are used if the server does not accept
    /// more, or if the pause between requests would leave some sessions idle.
    pub sessions: usize,
    /// Whether to send octets that the standard forbids.
    pub is_hostile: bool,
    /// The database in which records may be stored and deleted; `None` if no updates may be made.
    pub may_update: Option<DatabaseName>,
    /// The prefixes of the names of the checks to run. If the list is empty, all checks are run.
    pub only: Vec<String>,
    /// The limits on the cost of the judgement for the server.
    pub limits: JudgeLimits,
}

/// The limits on the cost of a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgeLimits {
    /// The maximum number of requests in total; by default, 3000. Checks that are running when a total limit is reached may
    /// exceed it.
    pub requests: u32,
    /// The maximum number of octets received in total; by default, 256 MiB.
    pub octets: u64,
    /// The maximum number of octets received in one check; by default, 16 MiB.
    pub check_octets: u64,
    /// The maximum duration of a check without its pauses; by default, 60 s.
    pub check_time: Duration,
    /// The maximum duration of all checks without their pauses; by default, 30 minutes.
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

/// The server to judge, and the options for judging it.
pub(super) struct JudgedServer {
    pub(super) connector: Arc<dyn Connect>,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) options: JudgeOptions,
    pub(super) pacer: Pacer,
}
