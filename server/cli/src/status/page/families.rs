//! The families of samples on the page `/metrics`: their names, types and help texts.

/// The description of a family of samples.
#[derive(Clone, Copy)]
pub(super) struct Family {
    pub(super) name: &'static str,
    /// The kind as named in the text format: `gauge`, `counter` or `histogram`.
    pub(super) kind: &'static str,
    pub(super) help: &'static str,
}

macro_rules! families {
    ($($constant:ident: $kind:ident $name:literal, $help:literal;)*) => {$(
        pub(super) const $constant: Family = Family {
            name: $name,
            kind: stringify!($kind),
            help: $help,
        };
    )*};
}

families! {
    PROCESS_START_TIME_SECONDS: gauge "process_start_time_seconds", "When the server started, in seconds since 1970.";
    PROCESS_RESIDENT_MEMORY_BYTES: gauge "process_resident_memory_bytes", "Memory of the process.";
    PROCESS_OPEN_FDS: gauge "process_open_fds", "Open files and sockets of the process.";
    BUILD_INFO: gauge "z3950d_build_info", "Version of the program.";
    SESSIONS: gauge "z3950d_sessions", "Connections that are open.";
    SESSIONS_LIMIT: gauge "z3950d_sessions_limit", "The most connections at once.";
    SESSIONS_TOTAL: counter "z3950d_sessions_total", "Connections accepted.";
    SESSIONS_ENDED_TOTAL: counter "z3950d_sessions_ended_total", "Sessions by how they ended.";
    CONNECTIONS_REFUSED_TOTAL: counter "z3950d_connections_refused_total", "Connections closed at once, by reason.";
    OPERATIONS_IN_PROGRESS: gauge "z3950d_operations_in_progress", "Operations that are not answered yet.";
    OPERATIONS_TOTAL: counter "z3950d_operations_total", "Operations by kind and outcome.";
    OPERATION_DURATION_SECONDS: histogram "z3950d_operation_duration_seconds", "Time from a request to its answer.";
    RECORDS_SENT_TOTAL: counter "z3950d_records_sent_total", "Records sent, including surrogate diagnostics.";
    RECEIVED_BYTES_TOTAL: counter "z3950d_received_bytes_total", "Octets of the requests received.";
    SENT_BYTES_TOTAL: counter "z3950d_sent_bytes_total", "Octets sent.";
    KEPT_BYTES: gauge "z3950d_kept_bytes", "Octets kept for clients.";
    KEPT_LIMIT_BYTES: gauge "z3950d_kept_limit_bytes", "The most octets kept for clients.";
    DATABASE_RECORDS: gauge "z3950d_database_records", "Records of each database.";
    TARGET_SEARCHES_TOTAL: counter "z3950d_target_searches_total", "Searches at each target of a database at other servers.";
    TARGET_FAILURES_TOTAL: counter "z3950d_target_failures_total", "Searches that a target failed to answer or refused.";
    TARGET_UP: gauge "z3950d_target_up", "Whether a target answered the last search, if only by a refusal.";
    ENGINE_FAILURES_TOTAL: counter "z3950d_engine_failures_total", "Requests that a server of a search engine did not answer.";
    ENGINE_UP: gauge "z3950d_engine_up", "Whether a server of a search engine answered the last request.";
    JOBS: gauge "z3950d_jobs", "Long searches, scans and sorts, by state.";
    JOBS_RUNNING_LIMIT: gauge "z3950d_jobs_running_limit", "The most long searches, scans and sorts that run at once.";
    JOURNAL_BYTES: gauge "z3950d_journal_bytes", "Octets of changes that are not folded into the file yet.";
    JOURNAL_LIMIT_BYTES: gauge "z3950d_journal_limit_bytes", "Octets of changes from which they are folded into the file.";
    JOURNAL_COMMITS_TOTAL: counter "z3950d_journal_commits_total", "Commits of changes to the journal.";
    JOURNAL_FOLDS_TOTAL: counter "z3950d_journal_folds_total", "Folds of the journal into the file.";
    JOURNAL_FAILURES_TOTAL: counter "z3950d_journal_failures_total", "Commits and folds that failed.";
    JOURNAL_LAST_FAILURE_TIMESTAMP_SECONDS: gauge "z3950d_journal_last_failure_timestamp_seconds", "When a commit or fold failed last, in seconds since 1970.";
    RELOADS_TOTAL: counter "z3950d_reloads_total", "Reloads on SIGHUP, by outcome.";
    LAST_RELOAD_SUCCESSFUL: gauge "z3950d_last_reload_successful", "Whether the last reload was carried out.";
    LAST_RELOAD_TIMESTAMP_SECONDS: gauge "z3950d_last_reload_timestamp_seconds", "When the last reload ended, in seconds since 1970.";
    CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS: gauge "z3950d_certificate_expiry_timestamp_seconds", "When the certificate of a listener expires, in seconds since 1970.";
}
