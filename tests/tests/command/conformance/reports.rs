//! Tests that the reports of judgements have the expected formats and are always written.

use z3950_tests::surroundings::command;

use super::*;

#[test]
fn reports_are_json_and_xml_of_junit() {
    let folder = tempfile::tempdir().expect("a folder");
    let (xml, json) = (folder.path().join("a.xml"), folder.path().join("a.json"));
    let server = Daemon::start(["--demo", "--fault", "on present: returned 7"]);
    let (xml_name, json_name) = (xml.to_str().expect("text"), json.to_str().expect("text"));
    let reports = ["--report", xml_name, "--report", json_name];
    let only = [
        "--only",
        "present.",
        "--only",
        "syntax.unimarc",
        "--only",
        "scan.count",
    ];
    let arguments = [
        &reports[..],
        &only,
        &["--user", "ann", "--password-env", "JUDGE_PASSWORD"],
    ];
    let mut command = command(path("z3950"));
    let target = format!("{}/books", server.address());
    command
        .args(["probe", "--conformance", &target])
        .args(arguments.concat());
    command.env("JUDGE_PASSWORD", "sesame-of-the-judge");
    let ran = z3950_tests::program::run(&mut command, "");
    assert_eq!(ran.code, Some(8), "{ran:?}");
    let report: Value = serde_json::from_slice(&fs::read(&json).expect("a report")).expect("JSON");
    assert_eq!(report["v"], 1);
    assert_eq!(report["used"]["databases"][0], "books");
    let checks = report["checks"].as_array().expect("checks");
    let first = &checks[0];
    assert_eq!(first["check"], "present.first");
    assert_eq!(first["verdict"], "fail");
    let conversation = first["conversation"].as_array().expect("the output");
    assert_eq!(conversation[0]["direction"], "sent");
    let octets = conversation[0]["octets"].as_str().expect("octets");
    assert!(octets.starts_with("b4"), "{octets}");
    let secret: String = "sesame-of-the-judge"
        .bytes()
        .map(|octet| format!("{octet:02x}"))
        .collect();
    assert!(!octets.contains(&secret), "the password is left out");
    let count = |verdict: &str| {
        let found = checks.iter().filter(|check| check["verdict"] == verdict);
        found.count()
    };
    assert_eq!(report["count"]["pass"], count("pass"));
    let advice = report["count"]["advice"].as_u64().expect("a number");
    let fail = report["count"]["fail"].as_u64().expect("a number");
    assert_eq!(usize::try_from(advice + fail), Ok(count("fail")));
    let text = fs::read_to_string(&xml).expect("a report");
    let cases = text.matches("<testcase ").count();
    assert_eq!(cases, checks.len());
    assert_eq!(text.matches("<failure ").count() as u64, fail);
    assert_eq!(
        text.matches("<skipped ").count(),
        checks.len() - count("pass") - fail as usize
    );
    assert!(text.contains("<testsuite name=\"present\""), "{text}");
    assert_is_junit(&xml);
    // An existing report is not overwritten unless --overwrite is given.
    let again = judged(&server, &["--only", "scan.count", "--report", json_name]);
    assert_eq!(again.code, Some(2), "{again:?}");
    let forced = judged(
        &server,
        &["--only", "scan.count", "--report", json_name, "--overwrite"],
    );
    assert_eq!(forced.code, Some(0), "{forced:?}");
}

/// Asserts that a file conforms to the schema used by viewers of CI services, if xmllint is installed.
pub(super) fn assert_is_junit(file: &Path) {
    if let Some(xmllint) = peer::find("xmllint") {
        let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/junit.xsd");
        let arguments = ["--noout", "--schema", schema];
        let status = command(xmllint).args(arguments).arg(file).status();
        assert!(status.expect("xmllint starts").success());
    }
}

#[test]
fn a_server_that_is_not_there_is_reported_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("a.json");
    let name = report.to_str().expect("text");
    let unheard = peer::Unheard::bind();
    let target = unheard.address().to_string();
    let ran = z3950([
        "probe",
        "--conformance",
        "--json",
        &target,
        "--report",
        name,
    ]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let findings = Findings::of(&ran);
    assert_eq!(findings.named("not judged").len(), findings.0.len());
    assert!(findings.0.len() > 350);
    assert!(fs::metadata(&report).is_ok_and(|data| data.len() > 0));
}

#[cfg(unix)]
#[test]
fn an_interrupted_judgement_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("a.json");
    let server = Daemon::start(["--demo", "--fault", "on sort: silence"]);
    let mut child = command(path("z3950"))
        .args([
            "probe",
            "--conformance",
            "--only",
            "scan.count",
            "--only",
            "sort.",
        ])
        .arg(format!("{}/books", server.address()))
        .arg("--report")
        .arg(&report)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // The first check has ended, and the second is waiting for its answer.
    let mut first = String::new();
    let mut lines = std::io::BufReader::new(child.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut lines, &mut first).expect("a line");
    assert!(first.starts_with("scan.count"), "{first}");
    let status = command("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(status.expect("kill starts").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let report: Value =
        serde_json::from_slice(&fs::read(&report).expect("a report")).expect("JSON");
    let checks = report["checks"].as_array().expect("checks");
    assert_eq!(checks[0]["verdict"], "pass");
    assert_eq!(checks[1]["verdict"], "not judged");
    assert_eq!(checks[1]["reason"], "interrupted");
}

/// Returns a command that judges the database `books` of a server and writes a report.
fn judging(server: &Daemon, only: &[&str], report: &Path) -> Command {
    let mut command = command(path("z3950"));
    command
        .args(["probe", "--conformance"])
        .args(only.iter().flat_map(|name| ["--only", name]))
        .arg(format!("{}/books", server.address()))
        .arg("--report")
        .arg(report);
    command
}

#[test]
fn a_server_that_dies_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("a.xml");
    let server = Daemon::start(["--demo"]);
    let mut child = judging(&server, &["init.", "search."], &report)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = std::io::BufReader::new(child.stdout.take().expect("piped"));
    let mut first = String::new();
    std::io::BufRead::read_line(&mut lines, &mut first).expect("a line");
    drop(server);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut lines, &mut rest).expect("text");
    let output = child.wait_with_output().expect("it ends");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{words} {rest}");
    assert!(
        words.contains("warning: the judgement is not complete: "),
        "{words}"
    );
    let text = fs::read_to_string(&report).expect("a report");
    assert!(text.contains("<error message="), "{text}");
    assert_is_junit(&report);
}

#[cfg(target_os = "linux")]
#[test]
fn each_report_is_attempted() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = folder.path().join("good.json");
    let server = Daemon::start(["--demo"]);
    let full = Path::new("/dev/full");
    let mut command = judging(&server, &["scan.count"], full);
    command.arg("--report").arg(&good).arg("--report").arg(full);
    let ran = z3950_tests::program::run(&mut command, "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        ran.stderr.matches("cannot write /dev/full").count(),
        2,
        "{ran:?}"
    );
    assert!(
        fs::metadata(&good).is_ok_and(|data| data.len() > 0),
        "{ran:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn reports_are_whole_if_findings_cannot_be_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Daemon::start(["--demo"]);
    let full = fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("opens");
    let (reader, closed) = std::io::pipe().expect("a pipe");
    drop(reader);
    for (name, out, code) in [
        ("full.json", Stdio::from(full), 1),
        ("closed.json", Stdio::from(closed), 0),
    ] {
        let report = folder.path().join(name);
        let output = judging(&server, &["init."], &report)
            .stdout(out)
            .stderr(Stdio::piped())
            .output()
            .expect("runs");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {words}");
        let report = fs::read(&report).expect("a report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        assert_eq!(
            report["checks"].as_array().map(Vec::len),
            Some(30),
            "{name}"
        );
        assert_eq!(report["count"]["not judged"], 0, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn reports_are_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.xml");
    let made = command("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo starts").success());
    let server = Daemon::start(["--demo"]);
    for (report, words) in [
        (&*pipe, "pipe.xml is a named pipe"),
        (folder.path(), "is a folder, not a file"),
        (&folder.path().join("none/a.xml"), "there is no folder"),
    ] {
        let ran = z3950_tests::program::run(&mut judging(&server, &["scan.count"], report), "");
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
        assert_eq!(ran.stdout, "", "nothing is judged before: {ran:?}");
    }
}
