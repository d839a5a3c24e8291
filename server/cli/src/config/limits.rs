//! The limits: `[limits]`, a key for each field of [`Limits`] and [`TaskLimits`].

use std::time::Duration;

use z3950_server::Limits;
use z3950_server::extended::TaskLimits;

use super::section::{Section, duration, number, octets, string};

pub(super) fn read(section: &Section<'_>, limits: &mut Limits, tasks: &mut TaskLimits) {
    let size = |key, field: &mut usize| {
        section.set(key, "a number of octets such as \"64KiB\"", octets, field);
    };
    let count = |key, field: &mut usize| section.set(key, "a number", number, field);
    let time = |key, field: &mut Duration| {
        section.set(key, "a time such as \"30s\"", duration, field);
    };
    size("apdu-size-before-init", &mut limits.apdu_size_before_init);
    size("apdu-size", &mut limits.apdu_size);
    size("preferred-message-size", &mut limits.preferred_message_size);
    size(
        "exceptional-record-size",
        &mut limits.exceptional_record_size,
    );
    size("read-ahead", &mut limits.read_ahead);
    count("records-per-response", &mut limits.records_per_response);
    count("segments", &mut limits.segments);
    count("databases-per-search", &mut limits.databases_per_search);
    count("result-sets", &mut limits.result_sets);
    count("hits", &mut limits.hits);
    count("scan-terms", &mut limits.scan_terms);
    count("sort-keys", &mut limits.sort_keys);
    count("sorted-records", &mut limits.sorted_records);
    count("term-counts", &mut limits.term_counts);
    count("facets", &mut limits.facets);
    count("facet-terms", &mut limits.facet_terms);
    count("sessions", &mut limits.sessions);
    count("concurrent-operations", &mut limits.concurrent_operations);
    count("refusals", &mut limits.refusals);
    count("tasks", &mut tasks.tasks);
    size("task-octets", &mut tasks.octets);
    count("task-hits", &mut tasks.hits);
    time("init-time", &mut limits.init_time);
    time("init-patience", &mut limits.init_patience);
    time("write-time", &mut limits.write_time);
    time("drain-time", &mut limits.drain_time);
    time("linger-time", &mut limits.linger_time);
    let most = section.read("sessions-per-address", "a number", number);
    limits.sessions_per_address = most.or(limits.sessions_per_address);
    let never = |value| match string(value) {
        Some("never") => Some(None),
        _ => duration(value).map(Some),
    };
    let time_or_never = |key, field: &mut Option<Duration>| {
        section.set(key, "a time such as \"15m\", or never", never, field);
    };
    time_or_never("idle-time", &mut limits.idle_time);
    time_or_never("operation-time", &mut limits.operation_time);
    if limits.sessions == 0 {
        section.note_whole("a server of no sessions serves nobody");
    }
}
