//! The parts that the reports of both judges have in common: the formatting of octets, and JUnit XML, which CI services can
//! display.

use std::time::{Duration, SystemTime};

use quick_junit::{
    NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite, XmlString,
};
use z3950_files::hex;
use z3950_files::moment::Moment;

use crate::{Level, Requirement};

/// The text shown instead of octets that are hidden completely, such as those of an APDU that cannot be decoded.
pub const HIDDEN: &str = "not shown, since they may hold a password";

/// Returns the octets in hexadecimal, with asterisks for octets that may contain a password, or `None` if all octets are hidden.
pub fn digits(octets: &[u8]) -> Option<String> {
    let is_hidden = !octets.is_empty() && octets.iter().all(|octet| *octet == b'*');
    (!is_hidden).then(|| hex::digits(octets))
}

/// The result for a requirement.
pub(crate) enum Outcome<'a> {
    /// The requirement is met.
    Met,
    /// The requirement is not met.
    NotMet {
        requirement: &'static Requirement,
        /// The word for an unmet requirement that the standard does not impose, such as `hint`.
        advice: &'static str,
        /// A description of what was received instead, on one line.
        message: String,
        /// The messages that show the violation.
        evidence: String,
    },
    /// An error prevented a result. The value is the reason.
    Error(&'a str),
    /// There is no result. The value is the reason.
    Skipped(String),
}

/// A group of results, which is a test suite in JUnit XML.
pub(crate) struct Group<'a> {
    pub(crate) name: String,
    /// The name of the server or client that is judged.
    pub(crate) host: String,
    pub(crate) begun: SystemTime,
    pub(crate) time: Duration,
    /// Further properties of the group, as pairs of name and value.
    pub(crate) properties: Vec<(String, String)>,
    /// The prefix of the class name of test cases. The name of the service is appended to it.
    pub(crate) class: &'static str,
    /// The results: the name of each requirement, the duration of its check, and the outcome.
    pub(crate) results: Vec<(&'static str, Duration, Outcome<'a>)>,
}

/// Formats a time in UTC, without a time zone, such as `2026-01-31T23:59:59`.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let time = Moment::from(time);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        time.year, time.month, time.day, time.hour, time.minute, time.second
    )
}

/// Returns the service of a requirement, which is the first part of its name.
pub(crate) fn service(name: &str) -> &str {
    name.split_once('.').map_or(name, |(service, _)| service)
}

/// Returns the groups as JUnit XML. Violations of the standard are failures; other requirements that are not met are skipped
/// tests.
pub(crate) fn to_junit<'a>(
    program: &str,
    time: Duration,
    groups: impl Iterator<Item = Group<'a>>,
) -> String {
    let mut report = Report::new(xml_text(program));
    report.set_time(time);
    report.add_test_suites(groups.map(suite));
    // Writing to memory cannot fail.
    report.to_string().unwrap_or_default()
}

fn suite(group: Group<'_>) -> TestSuite {
    let mut suite = TestSuite::new(xml_text(&group.name));
    suite.set_time(group.time);
    // `set_timestamp` would write fractions of a second and a time zone, which some readers of such reports do not accept.
    let begun = timestamp(group.begun);
    suite.extra.insert("timestamp".into(), begun.into());
    suite.extra.insert("hostname".into(), xml_text(&group.host));
    let properties = group.properties.iter();
    let properties = properties.map(|(name, value)| Property::new(xml_text(name), xml_text(value)));
    suite.add_properties(properties);
    for (name, time, outcome) in group.results {
        let mut case = TestCase::new(name, status(outcome));
        case.set_classname(format!("{}.{}", group.class, service(name)));
        case.set_time(time);
        suite.add_test_case(case);
    }
    suite
}

fn status(outcome: Outcome<'_>) -> TestCaseStatus {
    match outcome {
        Outcome::Met => TestCaseStatus::success(),
        Outcome::NotMet {
            requirement,
            advice,
            message,
            evidence,
        } => {
            let level = requirement.level.as_str();
            let about = format!("{} ({level}): {}", requirement.section, requirement.text);
            if requirement.level != Level::Shall {
                return skipped(&format!("{advice}, {about}: {message}"));
            }
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(level);
            status.set_message(xml_text(&message));
            status.set_description(xml_text(&format!("{about}\n{evidence}")));
            status
        }
        Outcome::Error(reason) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(xml_text(reason));
            status
        }
        Outcome::Skipped(reason) => skipped(&reason),
    }
}

fn skipped(reason: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(xml_text(reason));
    status
}

/// Replaces characters that XML 1.0 does not allow (§2.2) with U+FFFD. `XmlString` alone would drop control characters together
/// with the characters after them, and would retain U+FFFE and U+FFFF.
fn xml_text(text: &str) -> XmlString {
    let shown = text.chars().map(|character| match character {
        '\n' => character,
        '\t' => ' ',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        control if control.is_control() => '\u{fffd}',
        other => other,
    });
    shown.collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_r_y7_hidden_octets_are_not_shown_as_asterisks() {
        for (octets, shown) in [
            (&b"****"[..], None),
            (b"*", None),
            (b"", Some("")),
            (b"\xb4\x02**", Some("b4022a2a")),
        ] {
            assert_eq!(digits(octets).as_deref(), shown, "{octets:?}");
        }
    }

    #[test]
    fn what_xml_forbids_is_replaced() {
        for (text, shown) in [
            ("a<b>&\"c\"", "a<b>&\"c\""),
            ("\u{0}\u{1b}[31m\r\n\tx", "\u{fffd}\u{fffd}[31m\u{fffd}\n x"),
            ("\u{7f}\u{9b}31m", "\u{fffd}\u{fffd}31m"),
            ("\u{fffe}é\u{10ffff}", "\u{fffd}é\u{10ffff}"),
        ] {
            assert_eq!(xml_text(text).as_str(), shown);
        }
    }

    #[test]
    fn results_are_counted_by_their_outcomes() {
        const TWO: Requirement = Requirement {
            name: "a.two",
            level: Level::Shall,
            section: "§3",
            text: "1 > 0.",
        };
        const FIVE: Requirement = Requirement {
            name: "a.five",
            level: Level::Should,
            ..TWO
        };
        let not_met = |requirement| Outcome::NotMet {
            requirement,
            advice: "hint",
            message: "wanted \u{1b}1".to_owned(),
            evidence: "> ask\n< a]]>b".to_owned(),
        };
        let quick = Duration::from_millis(20);
        let group = Group {
            name: "a".to_owned(),
            host: "b<c>".to_owned(),
            begun: SystemTime::UNIX_EPOCH + Duration::from_millis(86_399_999),
            time: Duration::from_secs(1),
            properties: vec![("version".to_owned(), "\"3\"".to_owned())],
            class: "z3950",
            results: vec![
                ("a.one", quick, Outcome::Met),
                ("a.two", Duration::ZERO, not_met(&TWO)),
                ("a.three", quick, Outcome::Skipped("not seen".to_owned())),
                ("a.four", quick, Outcome::Error("no \"connection\"")),
                ("a.five", quick, not_met(&FIVE)),
            ],
        };
        let xml = to_junit("judged", Duration::from_secs(2), [group].into_iter());
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="judged" tests="5" skipped="2" failures="1" errors="1" time="2.000">
    <testsuite name="a" tests="5" skipped="2" errors="1" failures="1" time="1.000" timestamp="1970-01-01T23:59:59" hostname="b&lt;c&gt;">
        <properties>
            <property name="version" value="&quot;3&quot;"/>
        </properties>
        <testcase name="a.one" classname="z3950.a" time="0.020"/>
        <testcase name="a.two" classname="z3950.a" time="0.000">
            <failure message="wanted �1" type="shall">§3 (shall): 1 &gt; 0.
&gt; ask
&lt; a]]&gt;b</failure>
        </testcase>
        <testcase name="a.three" classname="z3950.a" time="0.020">
            <skipped message="not seen"/>
        </testcase>
        <testcase name="a.four" classname="z3950.a" time="0.020">
            <error message="no &quot;connection&quot;"/>
        </testcase>
        <testcase name="a.five" classname="z3950.a" time="0.020">
            <skipped message="hint, §3 (should): 1 &gt; 0.: wanted �1"/>
        </testcase>
    </testsuite>
</testsuites>
"#;
        assert_eq!(xml, expected);
    }
}
