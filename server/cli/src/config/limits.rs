//! The `[limits]` table, with a key for each field of [`Limits`](z3950_server::Limits) and
//! [`TaskLimits`](z3950_server::extended::TaskLimits).

use super::Config;
use super::section::{Section, Value};
use super::setting::settings;

settings! {
    /// Limits on the memory and time that clients can make the server spend. Times have a unit ("250ms", "30s", "15m", "1h"), or are
    /// in seconds; operation-time and idle-time may also be "never".
    LIMITS "[limits]": Config = Config::default() => {
        /// Serve at most this many sessions at once; the last tenth is reserved for addresses without a session. A further client
        /// replaces a connection without a session, or the session that has been idle longest at the address with the most sessions,
        /// or waits.
        "sessions" ("max-sessions"): Number(Count, 1, |config| &mut config.limits.sessions), option("sessions", "NUMBER", "Limits");
        /// Serve at most this many sessions per client address, by default half of all sessions. Further connections are closed.
        ///sessions-per-address = 100
        "sessions-per-address" ("max-sessions-per-address"): Number(Count, 1, |config| &mut config.limits.sessions_per_address),
            option("sessions-per-address", "NUMBER", "Limits");
        /// The maximum number of connections that wait until another connection ends. Further connections are closed.
        "waiting": Number(Count, 0, |config| &mut config.limits.waiting);
        /// The maximum number of sessions with the server itself that one request for a page or to the gateway uses at once. Further
        /// sessions wait.
        "sessions-per-request": Number(Count, 1, |config| &mut config.limits.sessions_per_request);
        /// The maximum size of an APDU before Init, and after it.
        "apdu-size-before-init": Number(Octets, KIB, |config| &mut config.limits.apdu_size_before_init);
        "apdu-size": Number(Octets, KIB, |config| &mut config.limits.apdu_size);
        /// The maximum contents of one response: octets of records, octets of a record that is requested alone, and number of records.
        "preferred-message-size": Number(Octets, KIB, |config| &mut config.limits.preferred_message_size);
        "exceptional-record-size": Number(Octets, KIB, |config| &mut config.limits.exceptional_record_size);
        "records-per-response": Number(Count, 1, |config| &mut config.limits.records_per_response);
        /// The maximum number of answers with more than 64 records that are created at once, because each takes memory. Further
        /// answers wait.
        "large-answers": Number(Count, 1, |config| &mut config.limits.large_answers);
        /// The number of records in an SRU answer if the request does not give a number.
        "sru-records": Number(Count, 0, |config| &mut config.limits.sru_records);
        /// The maximum number of result sets that are kept for later SRU requests, at most half of them for one address, and the time
        /// for which a result set is kept without being used.
        "sru-sets": Number(Count, 0, |config| &mut config.limits.sru_sets);
        "sru-set-time": Number(Time, 0, |config| &mut config.limits.sru_set_time);
        /// The maximum number of segments in the answer to one Present.
        "segments": Number(Count, 1, |config| &mut config.limits.segments);
        /// The maximum size of further requests that are read while a request is being answered, in octets, and the maximum number of
        /// concurrent operations in one session.
        "read-ahead": Number(Octets, 0, |config| &mut config.limits.read_ahead);
        "concurrent-operations": Number(Count, 1, |config| &mut config.limits.concurrent_operations);
        /// The maximum memory for one session, and for all sessions together, in octets: result sets with their names, requests (which
        /// count 16 times) until they are answered, and answers (which count twice) until they are sent. A request that needs more is
        /// refused with diagnostic 31. Tasks may use half of server-octets. By default, server-octets is a quarter of the memory
        /// available to the process (the machine's memory, the cgroup's limit or `ulimit -v`, whichever is least), or less if little
        /// memory remains after loading. A larger value is reduced to the remaining memory.
        "session-octets": Number(Octets, 0, |config| &mut config.limits.session_octets);
        ///server-octets = "256MiB"
        "server-octets": Number(Octets, MIB, |config| &mut config.limits.server_octets);
        /// The maximum number of result sets in one session, of hits in all these sets together, and of octets in the name of a set.
        "result-sets": Number(Count, 1, |config| &mut config.limits.result_sets);
        "hits": Number(Count, 1, |config| &mut config.limits.hits);
        // The limit is at least 7 octets, the length of the result set name `default`.
        "result-set-name": Number(Octets, 7, |config| &mut config.limits.result_set_name);
        /// The limits for one request; query-text is the maximum number of octets in a CCL or CQL query.
        "query-text": Number(Octets, 0, |config| &mut config.limits.query_text);
        "databases-per-search": Number(Count, 1, |config| &mut config.limits.databases_per_search);
        "scan-terms": Number(Count, 1, |config| &mut config.limits.scan_terms);
        "sort-keys": Number(Count, 1, |config| &mut config.limits.sort_keys);
        "sorted-records": Number(Count, 1, |config| &mut config.limits.sorted_records);
        "term-counts": Number(Count, 0, |config| &mut config.limits.term_counts);
        "facets": Number(Count, 0, |config| &mut config.limits.facets);
        "facet-terms": Number(Count, 0, |config| &mut config.limits.facet_terms);
        /// The maximum number of hashed passwords that are verified at once. Each verification occupies a processor, and the memory
        /// that the hash specifies; further verifications wait.
        "password-checks": Number(Count, 1, |config| &mut config.limits.password_checks);
        /// The maximum time for checking a login, including the time in which it waits for other logins from its address. After this
        /// time, the login is refused.
        "login-time": Number(Time, MILLISECOND, |config| &mut config.limits.login_time);
        /// The number of failed attempts to authenticate after which the connection is closed.
        "refusals": Number(Count, 1, |config| &mut config.limits.refusals);
        /// The delay of the answer to a wrong password; 0 for no delay. Each further wrong password from the same address doubles the
        /// delay, up to 32 times, until the address sends a correct password or makes no attempt for ten minutes. refused-addresses is
        /// the maximum number of addresses that are remembered for this.
        "refusal-delay": Number(Time, 0, |config| &mut config.limits.refusal_delay);
        "refused-addresses": Number(Count, 1, |config| &mut config.limits.refused_addresses);
        /// The maximum number of extended services tasks that are kept, the size of their packages in octets, and the number of hits
        /// in persistent result sets.
        "tasks": Number(Count, 0, |config| &mut config.tasks.tasks);
        "task-octets": Number(Octets, 0, |config| &mut config.tasks.octets);
        "task-hits": Number(Count, 0, |config| &mut config.tasks.hits);
        /// The size of the changes in the journal of a saved database, in octets, at which they are folded into the file.
        ///journal-octets = "16MiB"
        "journal-octets": Number(Octets, 1, |config| &mut config.journal_octets);
        /// The maximum time from the connection to the end of Init, and from the first octet of an HTTP request to its last. If the
        /// server is full, it does not close connections without a session during init-patience, or idle sessions during
        /// idle-patience, to admit another client.
        "init-time": Number(Time, MILLISECOND, |config| &mut config.limits.init_time);
        "init-patience": Number(Time, 0, |config| &mut config.limits.init_patience);
        "idle-patience": Number(Time, 0, |config| &mut config.limits.idle_patience);
        /// The maximum time for answering a request, including the time in which it waits for other operations.
        "operation-time": Number(TimeOrNever, MILLISECOND, |config| &mut config.limits.operation_time);
        /// End a session after this time without a request.
        "idle-time" ("idle-timeout"): Number(TimeOrNever, MILLISECOND, |config| &mut config.limits.idle_time), option("idle-time", "SECONDS", "Limits");
        /// The maximum time in which a client reads no part of an answer, and the maximum time for it to read the last Close.
        "write-time": Number(Time, MILLISECOND, |config| &mut config.limits.write_time);
        "linger-time": Number(Time, 0, |config| &mut config.limits.linger_time);
        /// On a signal to stop, wait this long for answers in progress.
        "drain-time" ("drain"): Number(Time, 0, |config| &mut config.limits.drain_time), option("drain-time", "SECONDS", "Limits");
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

pub(super) fn read(config: &mut Config, value: &Value<'_>) {
    value.table(|section| {
        section.fill(&[&LIMITS], config);
        refuse_too_large(section, config);
    });
}

/// Notes an error for each message size that is larger than the memory of a session.
fn refuse_too_large(section: &Section<'_>, config: &Config) {
    let limits = &config.limits;
    let most = limits.session_octets;
    for (key, takes, times) in [
        ("apdu-size", limits.apdu_size, 16),
        ("exceptional-record-size", limits.exceptional_record_size, 2),
        ("preferred-message-size", limits.preferred_message_size, 2),
    ] {
        if takes.saturating_mul(times) > most {
            section.note(format!(
                "{key} is {takes}, which takes up to {times} times as many octets, but session-octets is {most}: \
                 raise session-octets, or lower {key}"
            ));
        }
    }
}
