//! Every limit of the server by name, with its default. The limits are sizes (Z39.50-2003 §3.2.1.1.4, §3.3), counts and times.
//! Each limit bounds the memory or time that a peer can make the server use.

use std::time::Duration;

/// The server's limits. The defaults suit a server that is open to the public.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of octets in an APDU before the session is open; by default, 65,536.
    pub apdu_size_before_init: usize,
    /// The maximum number of octets in an APDU in an open session; by default, 1,048,576.
    pub apdu_size: usize,
    /// The maximum total size of the records in one response, in octets, unless the client asks for less; by default, 1,048,576.
    pub preferred_message_size: usize,
    /// The maximum number of octets in a record that is requested alone, unless the client asks for less; by default, 8,388,608.
    pub exceptional_record_size: usize,
    /// The maximum number of records, or diagnostics in their place, in one response; by default, 1,000. The client has to
    /// request further records separately.
    pub records_per_response: usize,
    /// The maximum number of answers with more than 64 records that are created at the same time; by default, 8. Further answers
    /// wait. The limit exists because each such answer takes about `preferred_message_size` octets in small blocks, and memory
    /// between these blocks cannot be returned to the system.
    pub large_answers: usize,
    /// The number of records in an SRU answer if the request does not give a number; by default, 10.
    pub sru_records: usize,
    /// The maximum number of result sets that are kept for later SRU requests; by default, 1,000. At most half of them may be for
    /// one address. A further result set replaces the least recently used one.
    pub sru_sets: usize,
    /// The time for which a result set for later SRU requests is kept without being used, whatever the request says; by default,
    /// 15 minutes.
    pub sru_set_time: Duration,
    /// The maximum number of segments in one answer to Present, including the last; by default, 8. The client has to request
    /// further records separately.
    pub segments: usize,
    /// The maximum number of octets in a query in CCL or CQL; by default, 65,536. Longer queries are refused with condition 108.
    pub query_text: usize,
    /// The maximum number of databases named in one search; by default, 64. More are refused with condition 111.
    pub databases_per_search: usize,
    /// The maximum memory for one session, in octets; by default, 32 MiB. It includes result sets with their names and lists of
    /// hits; requests until they are answered, with the octets read ahead; and answers until they are sent. A request that needs
    /// more is refused with condition 31; a new result set first evicts earlier ones. The octets of requests count 16 times,
    /// because a decoded query may take that much memory, and the octets of answers twice. Therefore `apdu_size` should be at
    /// most a sixteenth of this limit, and `exceptional_record_size` at most half.
    pub session_octets: usize,
    /// The maximum memory for all sessions together and for tasks, which may use half of it, in octets. The default is 256 MiB;
    /// in the program `z3950d`, it is a quarter of the memory available to the process, or less if little memory remains after
    /// loading. A request that needs more is refused with condition 31, or a task with 220.
    pub server_octets: Option<usize>,
    /// The maximum number of octets in the name of a result set; by default, 1,024. Longer names are refused with condition 22.
    pub result_set_name: usize,
    /// The maximum number of result sets kept for one session; by default, 1,000. A further set is refused with
    /// condition 112.
    pub result_sets: usize,
    /// The maximum number of hits kept for one session, over all its result sets; by default, 8,000,000. A new set evicts the
    /// least recently used sets, requests for which then fail with condition 27; a set that is too large by itself is refused
    /// with condition 31.
    pub hits: usize,
    /// The maximum number of terms requested by one Scan; by default, 1,000. More are refused with condition 31.
    pub scan_terms: usize,
    /// The maximum number of keys in one Sort; by default, 16. More are refused with condition 211.
    pub sort_keys: usize,
    /// The maximum number of records that one Sort may include; by default, 1,000,000. More are refused with condition 230.
    pub sorted_records: usize,
    /// The maximum number of terms in a query for which the answer to a Search has separate counts of records; by default, 100.
    /// In longer queries, the leftmost terms are counted.
    pub term_counts: usize,
    /// The maximum number of facets in the answer to a Search; by default, 16. Further facets are left out.
    pub facets: usize,
    /// The maximum number of terms in one facet; by default, 1,000.
    pub facet_terms: usize,
    /// The maximum number of connections at once; by default, 1,000. The last tenth is reserved for addresses without a
    /// connection. If the limit is reached when a new connection arrives, a connection without a session is closed or, if there
    /// is none, the session that has been idle longest at the address with the most sessions. If no connection can be closed, the
    /// new one waits.
    pub sessions: usize,
    /// The maximum number of connections at once from one address, or from one IPv6 network of 64 bits; by default, half of
    /// `sessions`. Further connections are closed, unless a connection without a session can be closed instead. Connections over
    /// Unix sockets count as one address, to which this limit does not apply.
    pub sessions_per_address: Option<usize>,
    /// The maximum number of concurrent sessions that the server opens with itself to answer one request for a page. The default
    /// is 16. Further sessions wait. All sessions but the first count as connections.
    pub sessions_per_request: usize,
    /// The maximum number of connections that wait because the connection limit is reached; by default, 64, and half as many from
    /// one address. Further connections are closed.
    pub waiting: usize,
    /// The maximum number of octets of further requests that are read while a request is being answered; by default, 65,536.
    pub read_ahead: usize,
    /// The maximum number of concurrent operations in one session, if they are agreed on; by default, 8. Further requests wait.
    pub concurrent_operations: usize,
    /// The maximum number of hashed passwords that are verified at the same time, each on its own thread and with the memory that
    /// its hash requires; by default, 2. Further verifications wait, and verifications from one address take turns.
    pub password_checks: usize,
    /// The time within which a login must be checked, including the time in which it waits for other logins from its address; by
    /// default, 10 s. After that, the login is refused with condition 1018.
    pub login_time: Duration,
    /// The maximum number of refused authentications in one connection; by default, 5. The last of them ends the connection.
    pub refusals: usize,
    /// The delay of the answer to a wrong password; by default, 100 ms. Zero means no delay. Each further wrong password from the
    /// same address, or from one IPv6 network of 64 bits, doubles the delay, up to 32 times this value, until a correct password
    /// is sent or ten minutes pass without an attempt. The delays for one address add up; once their sum exceeds the longest
    /// delay, a further attempt is refused with condition 1018 and ends its connection.
    pub refusal_delay: Duration,
    /// The maximum number of addresses remembered because of wrong passwords; by default, 10,000. The address with the oldest
    /// refusal is forgotten first.
    pub refused_addresses: usize,
    /// The maximum time from accepting a connection to opening its session and, for each HTTP request, from its first octet to
    /// its last; by default, 30 s.
    pub init_time: Duration,
    /// The time for which a connection without a session is not closed to make room for another; by default, 0.25 s.
    pub init_patience: Duration,
    /// The time for which a session without a request in progress is not closed to make room for another connection; by default,
    /// 1 s.
    pub idle_patience: Duration,
    /// The maximum time from a request to its answer, including the time in which it waits for other operations; by default, 30
    /// s. `None` means no limit. Operations that take longer are stopped: they fail with condition 31, but a Present returns the
    /// records that it already has. Updates are never stopped.
    pub operation_time: Option<Duration>,
    /// The maximum time from an answer to the end of the next request; by default, 15 minutes. `None` means no limit.
    pub idle_time: Option<Duration>,
    /// The maximum time in which the client does not accept any octets of an answer; by default, 30 s.
    pub write_time: Duration,
    /// The maximum time from the stop signal to the end of the last session; by default, 0.5 s.
    pub drain_time: Duration,
    /// The maximum time that the server waits for the client to read the final Close before closing the connection; by default,
    /// 0.25 s.
    pub linger_time: Duration,
}

impl Limits {
    /// Returns the maximum number of connections at once from one address, which is at least one.
    pub(crate) fn most_per_address(&self) -> usize {
        let half = self.sessions.div_ceil(2);
        self.sessions_per_address.unwrap_or(half)
    }

    /// Returns the maximum memory for all sessions together, in octets.
    pub(crate) fn most_octets(&self) -> usize {
        self.server_octets.unwrap_or(256 << 20)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            apdu_size_before_init: 65_536,
            apdu_size: 1_048_576,
            preferred_message_size: 1_048_576,
            exceptional_record_size: 8_388_608,
            records_per_response: 1_000,
            large_answers: 8,
            sru_records: 10,
            sru_sets: 1_000,
            sru_set_time: Duration::from_secs(15 * 60),
            segments: 8,
            query_text: 65_536,
            databases_per_search: 64,
            session_octets: 32 << 20,
            server_octets: None,
            result_set_name: 1_024,
            result_sets: 1_000,
            hits: 8_000_000,
            scan_terms: 1_000,
            sort_keys: 16,
            sorted_records: 1_000_000,
            term_counts: 100,
            facets: 16,
            facet_terms: 1_000,
            sessions: 1_000,
            sessions_per_address: None,
            sessions_per_request: 16,
            waiting: 64,
            read_ahead: 65_536,
            concurrent_operations: 8,
            password_checks: 2,
            login_time: Duration::from_secs(10),
            refusals: 5,
            refusal_delay: Duration::from_millis(100),
            refused_addresses: 10_000,
            init_time: Duration::from_secs(30),
            init_patience: Duration::from_millis(250),
            idle_patience: Duration::from_secs(1),
            operation_time: Some(Duration::from_secs(30)),
            idle_time: Some(Duration::from_secs(15 * 60)),
            write_time: Duration::from_secs(30),
            drain_time: Duration::from_millis(500),
            linger_time: Duration::from_millis(250),
        }
    }
}
