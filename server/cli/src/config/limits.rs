//! The limits: `[limits]`, with a key for each field of [`Limits`](z3950_server::Limits) and
//! [`TaskLimits`](z3950_server::extended::TaskLimits).

use super::Config;
use super::section::{Section, Value};
use super::setting::settings;

settings! {
    /// What clients can make the server hold or wait for. Times have a unit ("250ms", "30s", "15m", "1h"), or are in seconds;
    /// operation-time and idle-time may also be "never".
    LIMITS "[limits]": Config = Config::default() => {
        /// Serve at most this many sessions at once, the last tenth for addresses that have none. A further client takes the place of
        /// a connection without a session, or of the session that is idle the longest of the address with the most, or waits.
        "sessions" ("max-sessions"): Number(Count, 1, |config| &mut config.limits.sessions), option("sessions", "NUMBER", "Limits");
        /// Serve at most this many sessions per client address, by default half of all; further connections are closed.
        ///sessions-per-address = 100
        "sessions-per-address" ("max-sessions-per-address"): Number(Count, 1, |config| &mut config.limits.sessions_per_address),
            option("sessions-per-address", "NUMBER", "Limits");
        /// Connections that wait for room; further ones are closed.
        "waiting": Number(Count, 0, |config| &mut config.limits.waiting);
        /// Sessions that one request for a page or a gateway has with the server at once; further ones wait.
        "sessions-per-request": Number(Count, 1, |config| &mut config.limits.sessions_per_request);
        /// The largest APDU accepted before Init, and after it.
        "apdu-size-before-init": Number(Octets, KIB, |config| &mut config.limits.apdu_size_before_init);
        "apdu-size": Number(Octets, KIB, |config| &mut config.limits.apdu_size);
        /// What one response may hold: octets of records, octets of a single record, and records.
        "preferred-message-size": Number(Octets, KIB, |config| &mut config.limits.preferred_message_size);
        "exceptional-record-size": Number(Octets, KIB, |config| &mut config.limits.exceptional_record_size);
        "records-per-response": Number(Count, 1, |config| &mut config.limits.records_per_response);
        /// Answers of more than 64 records that are made at once, each of which takes memory; others wait.
        "large-answers": Number(Count, 1, |config| &mut config.limits.large_answers);
        /// Records in an answer of SRU where the request names no number.
        "sru-records": Number(Count, 0, |config| &mut config.limits.sru_records);
        /// Result sets that requests of SRU have kept for later ones, of which half may be for one address, and how long one is kept
        /// without being used.
        "sru-sets": Number(Count, 0, |config| &mut config.limits.sru_sets);
        "sru-set-time": Number(Time, 0, |config| &mut config.limits.sru_set_time);
        /// Segments in the answer to one Present.
        "segments": Number(Count, 1, |config| &mut config.limits.segments);
        /// Requests accepted while one is being answered, in octets, and operations of one session that may run side by side.
        "read-ahead": Number(Octets, 0, |config| &mut config.limits.read_ahead);
        "concurrent-operations": Number(Count, 1, |config| &mut config.limits.concurrent_operations);
        /// Octets kept for one session, and for all of them: result sets with their names, requests (16 times their octets) until they
        /// are answered, and answers (twice) until they are sent. More is refused with diagnostic 31. Tasks may take half of
        /// server-octets. By default, server-octets is a quarter of what the process may have: of the memory of the machine, of the
        /// cgroup or of `ulimit -v`, whichever is least; less where loading has left less. More than is left is lowered to that.
        "session-octets": Number(Octets, 0, |config| &mut config.limits.session_octets);
        ///server-octets = "256MiB"
        "server-octets": Number(Octets, MIB, |config| &mut config.limits.server_octets);
        /// What one session may keep: result sets, hits over all of them, and the octets of the name of one.
        "result-sets": Number(Count, 1, |config| &mut config.limits.result_sets);
        "hits": Number(Count, 1, |config| &mut config.limits.hits);
        // The limit is at least 7 octets, the length of the result set name `default`.
        "result-set-name": Number(Octets, 7, |config| &mut config.limits.result_set_name);
        /// What one request may ask for; query-text is the size of a query in CCL or CQL.
        "query-text": Number(Octets, 0, |config| &mut config.limits.query_text);
        "databases-per-search": Number(Count, 1, |config| &mut config.limits.databases_per_search);
        "scan-terms": Number(Count, 1, |config| &mut config.limits.scan_terms);
        "sort-keys": Number(Count, 1, |config| &mut config.limits.sort_keys);
        "sorted-records": Number(Count, 1, |config| &mut config.limits.sorted_records);
        "term-counts": Number(Count, 0, |config| &mut config.limits.term_counts);
        "facets": Number(Count, 0, |config| &mut config.limits.facets);
        "facet-terms": Number(Count, 0, |config| &mut config.limits.facet_terms);
        /// Hashed passwords that are verified at once; others wait. Each takes a processor, and the memory that its hash names.
        "password-checks": Number(Count, 1, |config| &mut config.limits.password_checks);
        /// To check a login, with the time in which others of its address take their turns; after it, the login is refused.
        "login-time": Number(Time, MILLISECOND, |config| &mut config.limits.login_time);
        /// Failed attempts to authenticate before the connection is closed.
        "refusals": Number(Count, 1, |config| &mut config.limits.refusals);
        /// The delay of the answer to a wrong password, which each further one from the same address doubles, up to 32 times, until a
        /// right one or ten quiet minutes; 0 for none. Addresses that are remembered for it.
        "refusal-delay": Number(Time, 0, |config| &mut config.limits.refusal_delay);
        "refused-addresses": Number(Count, 1, |config| &mut config.limits.refused_addresses);
        /// Tasks of extended services kept, their packages in octets, and the hits of persistent result sets.
        "tasks": Number(Count, 0, |config| &mut config.tasks.tasks);
        "task-octets": Number(Octets, 0, |config| &mut config.tasks.octets);
        "task-hits": Number(Count, 0, |config| &mut config.tasks.hits);
        /// Changes of a saved database in its journal, in octets, before they are folded into the file.
        ///journal-octets = "16MiB"
        "journal-octets": Number(Octets, 1, |config| &mut config.journal_octets);
        /// From the connection to the end of Init, and from the first octet of a request of HTTP to its last. If the server is full,
        /// connections without a session and idle sessions keep their places for init-patience and idle-patience.
        "init-time": Number(Time, MILLISECOND, |config| &mut config.limits.init_time);
        "init-patience": Number(Time, 0, |config| &mut config.limits.init_patience);
        "idle-patience": Number(Time, 0, |config| &mut config.limits.idle_patience);
        /// To answer a request, with the time in which others take their turns.
        "operation-time": Number(TimeOrNever, MILLISECOND, |config| &mut config.limits.operation_time);
        /// End a session after this time without a request.
        "idle-time" ("idle-timeout"): Number(TimeOrNever, MILLISECOND, |config| &mut config.limits.idle_time), option("idle-time", "SECONDS", "Limits");
        /// For the client to read some of an answer, and the last Close.
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
