//! Reports of judgements: their forms, and that they are written whatever happens.

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
    let mut command = Command::new(path("z3950"));
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
    let conversation = first["conversation"].as_array().expect("what was said");
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
    // They are kept unless --force is given.
    let again = judged(&server, &["--only", "scan.count", "--report", json_name]);
    assert_eq!(again.code, Some(2), "{again:?}");
    let forced = judged(
        &server,
        &["--only", "scan.count", "--report", json_name, "--force"],
    );
    assert_eq!(forced.code, Some(0), "{forced:?}");
}

/// Fails if xmllint is there and the file does not follow the schema of viewers of CI services.
fn assert_is_junit(file: &Path) {
    if let Some(xmllint) = peer::find("xmllint") {
        let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/junit.xsd");
        let arguments = ["--noout", "--schema", schema];
        let status = Command::new(xmllint).args(arguments).arg(file).status();
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
    let mut child = Command::new(path("z3950"))
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
    // The first check is done, and the second waits for its answer.
    let mut first = String::new();
    let mut lines = std::io::BufReader::new(child.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut lines, &mut first).expect("a line");
    assert!(first.starts_with("scan.count"), "{first}");
    let status = Command::new("kill")
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
