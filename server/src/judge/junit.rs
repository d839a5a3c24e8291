//! A report as XML of JUnit, which the viewers of CI services read: a test suite for each session, a test case for each rule.
//! Demands of the standard that are not met are failures; hints and rules that did not apply are skipped.

use std::fmt::Write;

use z3950_asn1::hex;

use super::report::{ClientFinding, ClientReport, JudgedSession};
use crate::metrics::SessionEnd;
use crate::transcript::format_time;

impl ClientReport {
    /// The report as XML of JUnit.
    pub fn to_junit(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let (mut tests, mut failures) = (0, 0);
        for session in &self.sessions {
            tests += cases(session);
            failures += session.violations();
        }
        // Writing to a String cannot fail.
        let _ = writeln!(
            xml,
            "<testsuites name=\"z3950d --judge\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" time=\"{:.3}\">",
            self.time.as_secs_f64(),
        );
        for session in &self.sessions {
            suite(session, &mut xml);
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

fn skips(session: &JudgedSession) -> usize {
    session.findings.len() - session.violations() + session.not_seen.len()
}

fn cases(session: &JudgedSession) -> usize {
    session.passed.len() + session.findings.len() + session.not_seen.len()
}

fn suite(session: &JudgedSession, xml: &mut String) {
    let name = format!("session {}: {}", session.number, session.client());
    let begun = format_time(session.begun);
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3}\" timestamp=\"{}\" hostname=\"{}\">",
        escaped(&name),
        cases(session),
        session.violations(),
        skips(session),
        session.time.as_secs_f64(),
        // The schema knows neither fractions nor time zones.
        begun.get(..19).unwrap_or_default(),
        escaped(&session.peer.to_string()),
    );
    xml.push_str("    <properties>\n");
    let requests = session.requests.iter();
    let requests: Vec<String> = requests
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let faults = session.reactions.iter().map(|fault| {
        let said = format!("{}: {}", fault.request, fault.reaction);
        (format!("fault: {}", fault.rule), said)
    });
    let version = session.version.to_string();
    let end = session.end.map_or("open", SessionEnd::name).to_owned();
    let properties = [
        ("version".to_owned(), version),
        ("requests".to_owned(), requests.join(", ")),
        ("end".to_owned(), end),
    ];
    for (key, value) in properties.into_iter().chain(faults) {
        let (key, value) = (escaped(&key), escaped(&value));
        let _ = writeln!(xml, "      <property name=\"{key}\" value=\"{value}\"/>");
    }
    xml.push_str("    </properties>\n");
    for name in &session.passed {
        case(name, "/>\n", xml);
    }
    for finding in &session.findings {
        found(finding, xml);
    }
    for name in &session.not_seen {
        let skipped = ">\n      <skipped message=\"not seen\"/>\n    </testcase>\n";
        case(name, skipped, xml);
    }
    xml.push_str("  </testsuite>\n");
}

fn found(finding: &ClientFinding, xml: &mut String) {
    let rule = finding.rule;
    let about = format!(
        "{} ({}): {}",
        rule.section,
        rule.level.as_str(),
        rule.requirement
    );
    let about = escaped(&about);
    let came = format!(
        "{} of {} times; first: {}",
        finding.times, finding.of, finding.came
    );
    let came = escaped(&came);
    let body = match finding.is_violation() {
        true => format!(
            ">\n      <failure type=\"{}\" message=\"{came}\">{about}\n{} of {} octets: {}</failure>\n    </testcase>\n",
            rule.level.as_str(),
            finding.message,
            finding.length,
            hex::digits(&finding.octets),
        ),
        false => {
            format!(">\n      <skipped message=\"hint, {about}: {came}\"/>\n    </testcase>\n")
        }
    };
    case(rule.name, &body, xml);
}

/// A test case, whose element `rest` completes.
fn case(name: &str, rest: &str, xml: &mut String) {
    let group = name.split_once('.').map_or(name, |(group, _)| group);
    let _ = write!(
        xml,
        "    <testcase name=\"{name}\" classname=\"z3950.client.{group}\" time=\"0\"{rest}"
    );
}

/// Text in an attribute or element; characters that XML 1.0 §2.2 forbids become U+FFFD.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\n' | '\t' => xml.push(character),
            '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            control if control < ' ' => xml.push('\u{fffd}'),
            other => xml.push(other),
        }
    }
    xml
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_forbids_is_replaced() {
        for (text, xml) in [
            ("a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"),
            ("\u{0}\u{1b}\r\n\t", "\u{fffd}\u{fffd}\u{fffd}\n\t"),
            ("\u{fffe}é\u{10ffff}", "\u{fffd}é\u{10ffff}"),
        ] {
            assert_eq!(escaped(text), xml);
        }
    }
}
