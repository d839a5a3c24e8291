//! Reports as JUnit XML, the format that the viewers of CI services read.

use std::fmt::{self, Display, Formatter};
use std::time::{Duration, SystemTime};

use z3950_files::moment::Moment;

/// A report, whose `Display` form is XML.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JunitReport {
    /// The name of the program that was run.
    pub name: String,
    /// The duration of the run.
    pub time: Duration,
    /// The test suites.
    pub suites: Vec<TestSuite>,
}

/// A group of test cases.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestSuite {
    /// The subject of the test cases.
    pub name: String,
    /// The duration of the test cases.
    pub time: Duration,
    /// The time at which the first test case began.
    pub begun: SystemTime,
    /// The name of the host that was tested.
    pub host: String,
    /// Further properties, by name.
    pub properties: Vec<(String, String)>,
    /// The test cases.
    pub cases: Vec<TestCase>,
}

/// A test case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestCase {
    /// The name of the test case.
    pub name: &'static str,
    /// The class of the test case, by which viewers group the cases.
    pub class: String,
    /// The duration of the test case; `None` if it was not measured.
    pub time: Option<Duration>,
    /// The outcome of the test case.
    pub outcome: TestOutcome,
}

/// The outcome of a test case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TestOutcome {
    /// The test case passed.
    Passed,
    /// The test case failed.
    Failed {
        /// The kind of failure.
        kind: &'static str,
        /// A description of the failure, on one line.
        message: String,
        /// The details of the failure.
        text: String,
    },
    /// The test case could not be run.
    Error {
        /// The reason why it could not be run.
        message: String,
    },
    /// The test case was skipped.
    Skipped {
        /// The reason why it was skipped.
        message: String,
    },
}

impl TestSuite {
    fn failures(&self) -> usize {
        self.count(|outcome| matches!(outcome, TestOutcome::Failed { .. }))
    }

    fn errors(&self) -> usize {
        self.count(|outcome| matches!(outcome, TestOutcome::Error { .. }))
    }

    fn skipped(&self) -> usize {
        self.count(|outcome| matches!(outcome, TestOutcome::Skipped { .. }))
    }

    fn count(&self, is_meant: impl Fn(&TestOutcome) -> bool) -> usize {
        let outcomes = self.cases.iter().map(|case| &case.outcome);
        outcomes.filter(|outcome| is_meant(outcome)).count()
    }
}

impl Display for JunitReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let tests: usize = self.suites.iter().map(|suite| suite.cases.len()).sum();
        let failures: usize = self.suites.iter().map(TestSuite::failures).sum();
        let errors: usize = self.suites.iter().map(TestSuite::errors).sum();
        writeln!(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(
            f,
            "<testsuites name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{:.3}\">",
            XmlText(&self.name),
            self.time.as_secs_f64(),
        )?;
        for suite in &self.suites {
            suite.fmt(f)?;
        }
        writeln!(f, "</testsuites>")
    }
}

impl Display for TestSuite {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let begun = Moment::from(self.begun);
        writeln!(
            f,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\" \
             timestamp=\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}\" hostname=\"{}\">",
            XmlText(&self.name),
            self.cases.len(),
            self.failures(),
            self.errors(),
            self.skipped(),
            self.time.as_secs_f64(),
            // The schema allows neither fractions nor time zones.
            begun.year,
            begun.month,
            begun.day,
            begun.hour,
            begun.minute,
            begun.second,
            XmlText(&self.host),
        )?;
        writeln!(f, "    <properties>")?;
        for (name, value) in &self.properties {
            let (name, value) = (XmlText(name), XmlText(value));
            writeln!(f, "      <property name=\"{name}\" value=\"{value}\"/>")?;
        }
        writeln!(f, "    </properties>")?;
        for case in &self.cases {
            case.fmt(f)?;
        }
        writeln!(f, "  </testsuite>")
    }
}

impl Display for TestCase {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, class) = (XmlText(self.name), XmlText(&self.class));
        write!(f, "    <testcase name=\"{name}\" classname=\"{class}\"")?;
        match self.time {
            Some(time) => write!(f, " time=\"{:.3}\"", time.as_secs_f64())?,
            None => write!(f, " time=\"0\"")?,
        }
        match &self.outcome {
            TestOutcome::Passed => return writeln!(f, "/>"),
            TestOutcome::Failed {
                kind,
                message,
                text,
            } => {
                let (message, text) = (XmlText(message), XmlText(text));
                writeln!(
                    f,
                    ">\n      <failure type=\"{kind}\" message=\"{message}\">{text}</failure>"
                )?;
            }
            TestOutcome::Error { message } => {
                writeln!(f, ">\n      <error message=\"{}\"/>", XmlText(message))?;
            }
            TestOutcome::Skipped { message } => {
                writeln!(f, ">\n      <skipped message=\"{}\"/>", XmlText(message))?;
            }
        }
        writeln!(f, "    </testcase>")
    }
}

/// Text in an attribute or element. Characters that are not allowed in XML 1.0 (§2.2) are replaced by U+FFFD.
struct XmlText<'a>(&'a str);

impl Display for XmlText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.0.chars().try_for_each(|character| match character {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\n' | '\t' => f.write_char(character),
            '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}'),
            control if control < ' ' => f.write_char('\u{fffd}'),
            other => f.write_char(other),
        })
    }
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
            assert_eq!(XmlText(text).to_string(), xml);
        }
    }

    #[test]
    fn cases_are_counted_by_their_outcomes() {
        let case = |name, time, outcome| TestCase {
            name,
            class: "z3950.a".to_owned(),
            time,
            outcome,
        };
        let cases = vec![
            case(
                "a.one",
                Some(Duration::from_millis(20)),
                TestOutcome::Passed,
            ),
            case(
                "a.two",
                None,
                TestOutcome::Failed {
                    kind: "shall",
                    message: "wanted 1".to_owned(),
                    text: "§3\n> ask".to_owned(),
                },
            ),
            case(
                "a.three",
                None,
                TestOutcome::Skipped {
                    message: "not seen".to_owned(),
                },
            ),
            case(
                "a.four",
                None,
                TestOutcome::Error {
                    message: "no \"connection\"".to_owned(),
                },
            ),
        ];
        let suite = TestSuite {
            name: "a".to_owned(),
            time: Duration::from_secs(1),
            begun: SystemTime::UNIX_EPOCH + Duration::from_millis(86_399_999),
            host: "b".to_owned(),
            properties: vec![("version".to_owned(), "3".to_owned())],
            cases,
        };
        let report = JunitReport {
            name: "judged".to_owned(),
            time: Duration::from_secs(2),
            suites: vec![suite],
        };
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <testsuites name=\"judged\" tests=\"4\" failures=\"1\" errors=\"1\" time=\"2.000\">\n\
            \x20 <testsuite name=\"a\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"1.000\" \
            timestamp=\"1970-01-01T23:59:59\" hostname=\"b\">\n\
            \x20   <properties>\n\
            \x20     <property name=\"version\" value=\"3\"/>\n\
            \x20   </properties>\n\
            \x20   <testcase name=\"a.one\" classname=\"z3950.a\" time=\"0.020\"/>\n\
            \x20   <testcase name=\"a.two\" classname=\"z3950.a\" time=\"0\">\n\
            \x20     <failure type=\"shall\" message=\"wanted 1\">§3\n&gt; ask</failure>\n\
            \x20   </testcase>\n\
            \x20   <testcase name=\"a.three\" classname=\"z3950.a\" time=\"0\">\n\
            \x20     <skipped message=\"not seen\"/>\n\
            \x20   </testcase>\n\
            \x20   <testcase name=\"a.four\" classname=\"z3950.a\" time=\"0\">\n\
            \x20     <error message=\"no &quot;connection&quot;\"/>\n\
            \x20   </testcase>\n\
            \x20 </testsuite>\n\
            </testsuites>\n";
        assert_eq!(report.to_string(), expected);
    }
}
