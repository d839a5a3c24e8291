//! Tests of judging SRU servers. Our server passes all checks, a faulty server fails the corresponding checks, and reports are
//! written.

use super::*;

/// Judges the database `books` of a server over SRU.
fn judged_by_sru(server: &Daemon, arguments: &[&str]) -> Ran {
    let target = format!("http://{}/books", server.address());
    let own = ["probe", "--conformance", "--json", &target];
    z3950([&own, arguments].concat())
}

#[test]
fn our_server_passes_all_of_sru() {
    let folder = tempfile::tempdir().expect("a folder");
    let (xml, json) = (folder.path().join("a.xml"), folder.path().join("a.json"));
    let server = Daemon::start(["--demo"]);
    let (xml_name, json_name) = (xml.to_str().expect("text"), json.to_str().expect("text"));
    let reports = ["--hostile", "--report", xml_name, "--report", json_name];
    let ran = judged_by_sru(&server, &reports);
    let findings = Findings::of(&ran);
    assert_eq!(findings.named("fail"), [""; 0], "{ran:?}");
    assert_eq!(findings.named("not judged"), ["version.missing"], "{ran:?}");
    assert_eq!(findings.named("not offered"), [""; 0], "{ran:?}");
    assert!(findings.named("pass").len() > 420, "{}", ran.stderr);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    reports::assert_is_junit(&xml);
    let report: Value = serde_json::from_slice(&fs::read(&json).expect("a report")).expect("JSON");
    assert_eq!(
        report["used"]["versions"],
        serde_json::json!(["1.1", "1.2", "2.0"])
    );
    let first = report["checks"][0]["conversation"][0]["octets"].as_str();
    // These are the octets of `GET /books`.
    assert!(
        first.is_some_and(|octets| octets.starts_with("474554202f626f6f6b73")),
        "{first:?}"
    );
}

#[test]
fn faults_of_sru_fail_the_checks_that_are_about_them() {
    for (rule, only, wanted) in [
        (
            "on sru search: next 1",
            "search.next.",
            &["search.next.1-1", "search.next.1-2", "search.next.2-0"][..],
        ),
        (
            "on sru search: no-positions",
            "search.position.given.2-0",
            &["search.position.given.2-0"],
        ),
        (
            "on sru explain: html",
            "explain.answered.1-1",
            &["explain.answered.1-1"],
        ),
        (
            "on sru scan: namespace urn:x",
            "scan.namespaces.1-1",
            &["scan.namespaces.1-1"],
        ),
    ] {
        let server = Daemon::start(["--demo", "--fault", rule]);
        let arguments = ["--query", "dc.title=war", "--only", only, "--timeout", "5"];
        let ran = judged_by_sru(&server, &arguments);
        let failing = Findings::of(&ran);
        let failing = failing.named("fail");
        let found: Vec<_> = failing
            .iter()
            .filter(|name| wanted.contains(name))
            .collect();
        assert_eq!(found.len(), wanted.len(), "{rule}: {ran:?}");
    }
}

#[test]
fn a_server_of_sru_that_is_not_there_is_reported() {
    let unheard = peer::Unheard::bind();
    let target = format!("http://{}/books", unheard.address());
    let ran = z3950(["probe", "--conformance", "--json", &target]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let findings = Findings::of(&ran);
    assert_eq!(findings.named("not judged").len(), findings.0.len());
    assert!(findings.0.len() > 400);
}

#[test]
fn missing_features_of_an_sru_server_are_reported() {
    let server = Daemon::start(["--demo"]);
    for (database, query, code, words) in [
        (
            "nodb",
            "dc.title=war",
            5,
            "a database to judge is not available",
        ),
        (
            "books",
            "dc.title=zqxjkv",
            3,
            "the query dc.title=zqxjkv has no hits",
        ),
        (
            "books",
            "dc.nothing=war",
            5,
            "the query dc.nothing=war was refused: ",
        ),
    ] {
        let target = format!("http://{}/{database}", server.address());
        let only = ["--only", "search.start.first", "--query", query];
        let ran = z3950([&["probe", "--conformance", &target][..], &only].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}
