//! Writes a report as text for people.

use std::fmt::Write;

use super::report::{ClientFinding, ClientReport, JudgedSession};
use crate::report::{HIDDEN, digits};
use z3950_server::metrics::SessionEnd;

/// The maximum number of octets of an APDU that are printed on a line.
const MAX_OCTETS: usize = 64;

impl ClientReport {
    /// Returns the report as text: a line for each session, followed by lines for its findings. Text from clients is escaped.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for session in &self.sessions {
            put_session(session, &mut text);
        }
        let total = self.total();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "sessions: {}, not listed: {}; rules kept: {}, broken: {}, hints: {}",
            self.judged,
            self.left_out(),
            total.pass,
            total.fail,
            total.hint,
        );
        text
    }
}

fn put_session(session: &JudgedSession, text: &mut String) {
    let requests = session.requests.iter();
    let requests: Vec<String> = requests
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let _ = writeln!(
        text,
        "session {} of {}, version {}, {:.3} s, {}: {}; {} pass, {} fail, {}, {} not seen",
        session.number,
        session.client().escape_debug(),
        session.version,
        session.time.as_secs_f64(),
        session.end.map_or("open", SessionEnd::name),
        requests.join(", "),
        session.passed.len(),
        session.violations(),
        counted(
            (session.findings.len() - session.violations()) as u64,
            "hint"
        ),
        session.not_seen.len(),
    );
    for finding in &session.findings {
        put_finding(finding, text);
    }
    for fault in &session.reactions {
        let time = fault
            .time
            .map(|time| format!(" after {:.3} s", time.as_secs_f64()));
        let _ = writeln!(
            text,
            "  fault  {} ({}): {}{}",
            fault.rule.escape_debug(),
            fault.request,
            fault.reaction,
            time.unwrap_or_default(),
        );
    }
    if session.reactions_left_out > 0 {
        let left_out = counted(session.reactions_left_out, "further fault");
        let _ = writeln!(text, "  {left_out}");
    }
}

/// Returns a number with its noun, such as `1 hint` or `2 hints`.
fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

fn put_finding(finding: &ClientFinding, text: &mut String) {
    let rule = finding.rule;
    let _ = writeln!(
        text,
        "  {}   {} ({}), {} of {}\n    required: {}\n    came:     {}",
        finding.verdict(),
        rule.name,
        rule.section,
        finding.times,
        finding.of,
        rule.text,
        finding.came.escape_debug(),
    );
    if let Some(first) = finding.octets.get(..finding.octets.len().min(MAX_OCTETS))
        && !first.is_empty()
    {
        let more = if finding.length > first.len() {
            "…"
        } else {
            ""
        };
        let octets = digits(first).unwrap_or_else(|| HIDDEN.to_owned());
        let (message, length) = (finding.message, finding.length);
        let _ = writeln!(text, "    octets:   {message}, {length}: {octets}{more}");
    }
}
