//! Tests of `z3950 probe --conformance`. Our server passes, servers that misbehave fail the corresponding checks, and reports are
//! always written.

mod peers;
mod reports;
mod sru;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;
use z3950_asn1::apdu::Apdu;
use z3950_server::testing::TestServer;
use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, path, z3950};

/// The findings of a run with `--json`.
struct Findings(Vec<Value>);

impl Findings {
    fn of(ran: &Ran) -> Self {
        let lines = ran.stdout.lines();
        Self(
            lines
                .map(|line| serde_json::from_str(line).expect("JSON"))
                .collect(),
        )
    }

    /// Returns the names of the checks with this verdict.
    fn named(&self, verdict: &str) -> Vec<&str> {
        let found = self
            .0
            .iter()
            .filter(|finding| finding["verdict"] == verdict);
        found.map(|finding| text(finding, "check")).collect()
    }

    /// Returns the names of the checks that violate the standard.
    fn violations(&self) -> Vec<&str> {
        let found = self
            .0
            .iter()
            .filter(|finding| finding["verdict"] == "fail" && finding["level"] == "shall");
        found.map(|finding| text(finding, "check")).collect()
    }
}

fn text<'a>(finding: &'a Value, key: &str) -> &'a str {
    finding[key].as_str().expect(key)
}

/// Judges the database `books` of a server over Z39.50.
fn judged(server: &Daemon, arguments: &[&str]) -> Ran {
    let target = format!("{}/books", server.address());
    let own = ["probe", "--conformance", "--json", &target];
    z3950([&own, arguments].concat())
}

#[test]
fn our_server_passes_all_it_offers() {
    let server = Daemon::start(["--demo"]);
    let ran = judged(&server, &["--hostile", "--may-update", "books"]);
    let findings = Findings::of(&ran);
    // The only requirement that the server does not meet is this recommendation, which it follows with the setting
    // strict-element-sets.
    assert_eq!(findings.named("fail"), ["element-set.unknown"], "{ran:?}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(findings.named("pass").len() > 380, "{}", ran.stderr);
    assert_eq!(
        findings.named("not offered"),
        [
            "init.id.diagnostic",
            "syntax.unimarc",
            "syntax.unimarc.sound",
            "scan.position.negative",
            "duplicates.answered",
            "duplicates.not-more",
        ]
    );
    assert_eq!(
        findings.named("not judged"),
        ["element-set.after-refusal"],
        "{ran:?}"
    );
}

#[test]
fn nothing_forbidden_is_sent_unless_allowed() {
    let server = Daemon::start(["--demo"]);
    let ran = judged(&server, &["--only", "hostile.", "--only", "update."]);
    let findings = Findings::of(&ran);
    assert_eq!(findings.named("not judged").len(), findings.0.len());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let updated = judged(&server, &["--only", "update.", "--may-update", "nowhere"]);
    let findings = Findings::of(&updated);
    assert_eq!(
        findings.named("not offered"),
        [
            "update.insert.found",
            "update.replace",
            "update.delete",
            "update.delete.gone",
        ],
        "nothing can be stored in a database that does not exist: {updated:?}"
    );
    assert_eq!(updated.code, Some(5), "{updated:?}");
}

/// Metaproxy crashes on a scan without a position, so such a scan is only sent with permission to send hostile
/// requests.
#[test]
fn audit_r_y6_a_scan_without_a_position_needs_a_permission() {
    for more in [&[][..], &["--hostile"]] {
        let server = TestServer::demo();
        let target = format!("{}/books", server.addr());
        let own = [
            "probe",
            "--conformance",
            "--json",
            &target,
            "--only",
            "scan.",
        ];
        let ran = z3950(own.iter().chain(more));
        let findings = Findings::of(&ran);
        let is_skipped = findings
            .named("not judged")
            .contains(&"scan.position.omitted");
        assert_eq!(is_skipped, more.is_empty(), "{ran:?}");
        assert!(findings.named("pass").len() > 10, "{ran:?}");
        let scans = server.transcript().into_iter();
        let scans = scans.filter_map(|entry| match entry.apdu? {
            Apdu::ScanRequest(scan) => Some(scan.preferred_position_in_response),
            _ => None,
        });
        let scans: Vec<_> = scans.collect();
        assert!(scans.len() > 10, "{scans:?}");
        assert_eq!(scans.contains(&None), !more.is_empty(), "{scans:?}");
    }
}

/// A server that refuses further sessions, or closes idle sessions to accept new ones, is judged with as many sessions as it
/// accepts.
#[test]
fn a_limit_of_sessions_is_not_a_fault() {
    std::thread::scope(|scope| {
        for limit in ["1", "2", "3"] {
            scope.spawn(move || {
                let server = Daemon::start(["--demo", "--max-sessions", limit]);
                let only = [
                    "--only", "init.id.", "--only", "search.", "--only", "query.",
                ];
                let sru = format!("http://{}/books", server.address());
                let ran = judged(&server, &only);
                assert_eq!(
                    Findings::of(&ran).named("fail"),
                    [""; 0],
                    "{limit}: {ran:?}"
                );
                let ran = z3950([&["probe", "--conformance", "--json", &sru], &only[..]].concat());
                assert_eq!(
                    Findings::of(&ran).named("fail"),
                    [""; 0],
                    "{limit}: {ran:?}"
                );
                assert!(
                    Findings::of(&ran).named("pass").len() > 20,
                    "{limit}: {ran:?}"
                );
            });
        }
    });
}

/// A server fault, the checks to run, and the checks that must fail because of it.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const FAULTS: &[Row] = &[
    (
        "on init: version 1",
        &["init.version"],
        &["init.version.none-in-common", "init.version.none"],
    ),
    (
        "on init: options search",
        &["options.search", "set.named"],
        &["options.search"],
    ),
    (
        "on search: reference-id wrong",
        &["reference-id."],
        &[
            "reference-id.search",
            "reference-id.search.absent",
            "reference-id.search.failed",
            "reference-id.empty",
            "reference-id.octets",
            "reference-id.one-octet",
            "reference-id.long",
            "reference-id.reused",
        ],
    ),
    (
        "on search: fail-silently",
        &[
            "search.answered",
            "search.failed",
            "search.count",
            "term.null",
        ],
        &[
            "search.answered",
            "search.failed.diagnostic",
            "search.failed.result-set-status",
            "search.failed.bib-1",
            "search.failed.addinfo",
            "term.null",
        ],
    ),
    (
        "on search: count 3",
        &["search.zero", "search.count"],
        &["search.zero-hits"],
    ),
    (
        "on search: push 2",
        &["search.no-records", "piggyback."],
        &[
            "search.no-records",
            "piggyback.small",
            "piggyback.small.edge",
            "piggyback.small.past-edge",
            "piggyback.medium.one",
            "piggyback.medium.none",
            "piggyback.medium.all",
            "piggyback.medium.negative",
            "piggyback.large",
            "piggyback.large.edge",
            "piggyback.bounds.largest",
        ],
    ),
    (
        "on search: no-piggyback",
        &["piggyback.medium", "piggyback.large"],
        &[
            "piggyback.medium",
            "piggyback.medium.one",
            "piggyback.medium.all",
            "piggyback.large.past-edge",
        ],
    ),
    (
        "on present: returned 7",
        &["present.first", "present.count", "present.past-end"],
        &["present.first", "present.count"],
    ),
    (
        "on present: fewer 0",
        &[
            "set.default",
            "present.first",
            "present.several",
            "present.past-end",
        ],
        &["set.default", "present.first", "present.several"],
    ),
    (
        "on present: status success",
        &[
            "present.past-end",
            "present.across-end",
            "present.start.zero",
            "present.number",
        ],
        &[
            "present.past-end",
            "present.across-end",
            "present.start.zero",
            "present.number.largest",
            "present.number.2-to-the-32",
        ],
    ),
    (
        "on present: damage directory",
        &["syntax."],
        &["syntax.usmarc.sound"],
    ),
    (
        "on present: surrogate 14",
        &["present.first", "syntax.omitted", "element-set."],
        &["syntax.omitted", "element-set.full"],
    ),
    (
        "on present: length +3",
        &["present.first"],
        &["present.first"],
    ),
    (
        "on scan: fail 31",
        &[
            "scan.answered",
            "scan.database",
            "scan.use",
            "scan.attribute-set",
        ],
        &[
            "scan.database.unknown",
            "scan.use.unknown",
            "scan.attribute-set.unknown",
        ],
    ),
    (
        "on sort: silence",
        &["reference-id.sort", "sort.answered", "sort.same-records"],
        &["reference-id.sort", "sort.answered"],
    ),
    (
        "on delete: cut 3",
        &["reference-id.delete", "delete.list"],
        &[
            "reference-id.delete",
            "reference-id.delete.all",
            "delete.list",
            "delete.list.statuses",
            "delete.list.several",
            "delete.list.unknown",
            "delete.list.twice",
        ],
    ),
    (
        "on report: instead segment",
        &["resource-report.session"],
        &["resource-report.session"],
    ),
    (
        "on extended: fail 1",
        &["extended.unknown-type"],
        &["extended.unknown-type.code"],
    ),
    (
        "on close: silence",
        &["close.answered", "close.reference-id", "close.version-2"],
        &["close.answered", "close.reference-id"],
    ),
];

/// The rules of `FAULTS` that leave a request without an answer, for which the judge waits.
const UNANSWERED: &[&str] = &["on present: length +3", "on sort: silence"];

#[test]
fn faults_fail_the_checks_that_are_about_them() {
    let rows = Mutex::new(FAULTS.iter());
    let next = || rows.lock().expect("no panic while it is locked").next();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((rule, only, wanted)) = next() {
                    let server = Daemon::start(["--demo", "--fault", rule]);
                    // A rule that is answered is judged as quickly with a limit that no busy machine reaches.
                    let limit = if UNANSWERED.contains(rule) {
                        "10"
                    } else {
                        "60"
                    };
                    let mut arguments = vec!["--query", "@attr 1=1016 war", "--timeout", limit];
                    arguments.extend(only.iter().flat_map(|name| ["--only", name]));
                    let ran = judged(&server, &arguments);
                    let findings = Findings::of(&ran);
                    assert_eq!(findings.named("fail"), *wanted, "{rule}: {ran:?}");
                    let is_violated = !findings.violations().is_empty();
                    assert_eq!(
                        ran.code,
                        Some(if is_violated { 8 } else { 0 }),
                        "{rule}: {ran:?}"
                    );
                }
            });
        }
    });
}

#[test]
fn a_failure_describes_the_request_and_the_expected_and_actual_answers() {
    let server = Daemon::start(["--demo", "--fault", "on present: returned 7"]);
    let target = format!("{}/books", server.address());
    let arguments = [
        "probe",
        "--conformance",
        "--only",
        "present.first",
        "--octets",
        &target,
    ];
    let ran = z3950(arguments);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let begins = |index: usize, words: &str| {
        let line = lines.get(index).copied().unwrap_or_default();
        assert!(line.starts_with(words), "{words:?} in {ran:?}");
    };
    begins(
        0,
        "present.first                        fail         Z39.50-2003 §3.2.3.1",
    );
    begins(
        1,
        "    required: The first record of a result set comes alone.",
    );
    begins(
        2,
        "    sent:     presentRequest {\"resultSetId\":\"default\"",
    );
    begins(
        3,
        "    wanted:   numberOfRecordsReturned 1, as many as records came",
    );
    begins(
        4,
        "    came:     presentResponse {\"numberOfRecordsReturned\":7",
    );
    begins(5, "    > b4");
    begins(6, "    < b5");
    assert_eq!(ran.code, Some(8), "{ran:?}");
}

#[test]
fn a_server_that_hangs_costs_each_check_its_time() {
    let server = Daemon::start(["--demo", "--fault", "on search nth=3: silence"]);
    let began = Instant::now();
    let arguments = [
        "--timeout",
        "6",
        "--query",
        "@attr 1=1016 war",
        "--only",
        "search.many",
    ];
    let ran = judged(&server, &arguments);
    let findings = Findings::of(&ran);
    assert_eq!(findings.named("fail"), ["search.many"], "{ran:?}");
    assert_eq!(findings.0[0]["came"], "no answer within 6 s");
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_judgement_that_lacks_something_says_so() {
    for (fault, arguments, code, words) in [
        (
            "on init: before close",
            &["--only", "init.names"][..],
            6,
            "the judgement is not complete: needs an initResponse",
        ),
        (
            "on init: reject 1014",
            &["--only", "init.version"],
            5,
            "the server rejected Init",
        ),
        (
            "on search db=books: fail 235 books",
            &[],
            5,
            "no database books: diagnostic 235",
        ),
        (
            "on search: silence",
            &["--timeout", "1", "--only", "present.first"],
            6,
            "the judgement is not complete: needs a query with 1 hit",
        ),
        (
            "",
            &["--query", "@attr 1=4 zqxjkv", "--only", "present."],
            3,
            "the query @attr 1=4 zqxjkv has no hits",
        ),
        (
            "",
            &["--query", "@attr 1=9999 war", "--only", "present."],
            5,
            "the query @attr 1=9999 war was refused: diagnostic 114",
        ),
        (
            "",
            &["--may-update", "nodb", "--only", "update."],
            5,
            "database nodb takes no updates: diagnostic 235",
        ),
    ] {
        let fault = match fault {
            "" => vec![],
            rule => vec!["--fault", rule],
        };
        let server = Daemon::start([&["--demo"][..], &fault].concat());
        let ran = judged(&server, arguments);
        assert_eq!(ran.code, Some(code), "{words}: {ran:?}");
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        let printed = Findings::of(&ran).0;
        let is_error = printed.iter().any(|finding| finding["error"] == true);
        let is_told = ran.stderr.contains("the judgement is not complete: ");
        assert!(is_error == is_told || printed.is_empty(), "{ran:?}");
    }
}

#[test]
fn usage_is_checked_first() {
    for (arguments, words) in [
        (&["--hostile"][..], "--conformance"),
        (
            &["--conformance", "--only", "nothing"],
            "no check has a name",
        ),
        (&["--conformance", "--query", "@and a"], "--query"),
    ] {
        let ran = z3950([&["probe", "127.0.0.1:1/books"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    let update = ["--conformance", "--may-update", "books"];
    let ran = z3950([&["probe", "http://127.0.0.1:1/books"][..], &update].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
