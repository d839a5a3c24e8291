//! A report as XML of JUnit, which the viewers of CI services read: a test suite for each service, a test case for each check.
//! Demands of the standard that are not met are failures; all that is no demand or was not tried is skipped.

use std::fmt::Write;

use super::check::Verdict;
use super::report::{Finding, Report};

impl Report<'_> {
    /// The report as XML of JUnit.
    pub fn to_junit(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let count = self.count();
        // Writing to a String cannot fail.
        let _ = writeln!(
            xml,
            "<testsuites name=\"z3950 probe --conformance {}\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3}\">",
            escaped(&self.name),
            self.findings.len(),
            count.fail,
            self.time.as_secs_f64(),
        );
        for suite in self
            .findings
            .chunk_by(|one, next| service(one) == service(next))
        {
            self.suite(suite, &mut xml);
        }
        xml.push_str("</testsuites>\n");
        xml
    }

    fn suite(&self, findings: &[Finding], xml: &mut String) {
        let part = Report {
            name: self.name.clone(),
            findings,
            ..*self
        };
        let count = part.count();
        let skipped = count.advice + count.not_offered + count.not_judged;
        let time: f64 = findings.iter().map(|one| one.time.as_secs_f64()).sum();
        let name = findings.first().map_or("", service);
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time:.3}\" timestamp=\"{}\" hostname=\"{}\">",
            escaped(name),
            findings.len(),
            count.fail,
            // The schema knows neither fractions nor time zones.
            self.timestamp().get(..19).unwrap_or_default(),
            escaped(&self.name),
        );
        xml.push_str("    <properties>\n");
        for (key, value) in self.used() {
            let value = match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            };
            let (key, value) = (escaped(&key), escaped(&value));
            let _ = writeln!(xml, "      <property name=\"{key}\" value=\"{value}\"/>");
        }
        xml.push_str("    </properties>\n");
        for finding in findings {
            case(finding, xml);
        }
        xml.push_str("  </testsuite>\n");
    }
}

/// The service that a check is about: the beginning of its name.
fn service(finding: &Finding) -> &str {
    let name = finding.check.name;
    name.split_once('.').map_or(name, |(service, _)| service)
}

fn case(finding: &Finding, xml: &mut String) {
    let check = finding.check;
    let _ = write!(
        xml,
        "    <testcase name=\"{}\" classname=\"z3950.{}\" time=\"{:.3}\"",
        escaped(check.name),
        escaped(service(finding)),
        finding.time.as_secs_f64(),
    );
    let about = format!(
        "{} ({}): {}",
        check.section,
        check.level.as_str(),
        check.requirement
    );
    match &finding.verdict {
        Verdict::Pass => {
            xml.push_str("/>\n");
            return;
        }
        Verdict::Fail { wanted, came } if finding.is_violation() => {
            let message = format!("wanted {wanted}, but {came} came");
            let _ = writeln!(
                xml,
                ">\n      <failure type=\"{}\" message=\"{}\">{}\n{}</failure>",
                check.level.as_str(),
                escaped(&message),
                escaped(&about),
                escaped(&conversation(finding)),
            );
        }
        Verdict::Fail { wanted, came } => {
            let message = format!("advice, {about}: wanted {wanted}, but {came} came");
            let _ = writeln!(xml, ">\n      <skipped message=\"{}\"/>", escaped(&message));
        }
        Verdict::NotOffered { reason } | Verdict::NotJudged { reason } => {
            let message = format!("{}: {reason}", finding.verdict.as_str());
            let _ = writeln!(xml, ">\n      <skipped message=\"{}\"/>", escaped(&message));
        }
    }
    xml.push_str("    </testcase>\n");
}

/// What was said, a line for each APDU.
fn conversation(finding: &Finding) -> String {
    let lines = finding.exchanges.iter().map(|exchange| {
        let mark = if exchange.is_sent { ">" } else { "<" };
        format!("{mark} {}\n", exchange.summary)
    });
    lines.collect()
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
