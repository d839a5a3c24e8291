//! Tests of a server that refuses a search in the same way as Metaproxy: with no hits, a successful status, and a diagnostic in
//! place of the records. Every command must treat this as a refusal, print the diagnostic and exit with code 5. The same applies
//! to an SRU response that contains diagnostics but no records.

use std::path::Path;

use z3950_tests::program::{Daemon, Ran, run, z3950};
use z3950_tests::surroundings::command;

const REASON: &str = "diagnostic 236";

/// Starts a server that refuses all searches over both protocols.
fn refusing() -> Daemon {
    Daemon::start([
        "--demo",
        "--fault",
        "on search: fail-as-success 236 \"not for you\"",
        "--fault",
        "on sru search: fail-as-success 236 \"not for you\"",
    ])
}

/// Starts a server with a remote database. Its only target is a profile with this port and these additional keys.
fn front(folder: &Path, port: u16, keys: &str) -> Daemon {
    let profiles = format!(
        "[targets.closed]\nhost = \"127.0.0.1\"\nport = {port}\ndatabases = [\"books\"]\n{keys}"
    );
    std::fs::write(folder.join("profiles.toml"), profiles).expect("written");
    let settings = "target-profiles = \"profiles.toml\"\n[[database]]\nname = \"remote\"\ntargets = [\"closed\"]\n";
    let path = folder.join("z3950d.toml");
    std::fs::write(&path, settings).expect("written");
    Daemon::start(["--config", &path.display().to_string()])
}

/// Checks that the command is refused: it exits with code 5 and prints the reason.
fn check(arguments: &[&str]) -> Ran {
    let ran = z3950(arguments);
    assert_eq!(ran.code, Some(5), "{arguments:?}: {ran:?}");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        said.contains("236") && said.contains("not for you"),
        "{arguments:?}: {ran:?}"
    );
    ran
}

/// Checks all ways of searching a target: with a single command, with a batch and a report, and at the prompt.
fn check_searches(folder: &Path, target: &str) {
    for arguments in [
        &["search", target, "ti:war"][..],
        &["search", target, "ti:war", "--fallback"],
        &["search", target, "ti:war", "--json"],
        &["lookup", target, "isbn:0141439513"],
        &["lookup", target, "isbn:0141439513", "--fallback"],
    ] {
        check(arguments);
    }
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(folder.join("in"), "local:pg1342\n").expect("written");
    let (input, report, output) = (path("in"), path("r.tsv"), path("o.mrc"));
    let ran = z3950([
        "lookup",
        target,
        "--input",
        &input,
        "--report",
        &report,
        "--output",
        &output,
        "--overwrite",
    ]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(
        report.contains("refused") && report.contains("236"),
        "{report}"
    );
    let mut prompt = command(z3950_tests::program::path("z3950"));
    let ran = run(
        prompt.arg("open"),
        format!("open {target}\nfind ti:war\nquit\n"),
    );
    assert!(ran.stderr.contains(REASON), "{ran:?}");
}

/// Checks all ways to follow a URL that names a server.
fn check_url(url: &str) {
    check(&["get", url]);
    check(&["get", "--fallback", url]);
    let ran = z3950(["url", "check", "--follow", url]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.stdout.contains("refused") && !ran.stdout.contains("gone"),
        "{ran:?}"
    );
}

#[test]
fn audit_r_d3_a_search_that_is_refused_with_a_status_of_success_is_refused() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let server = refusing();
    let address = server.address();
    let front = front(folder.path(), server.port(), "");
    let remote = format!("{}/remote", front.address());
    check_searches(folder.path(), &format!("{address}/books"));
    check_searches(folder.path(), &remote);
    check_searches(folder.path(), &format!("http://{remote}"));
    check_url(&format!("z39.50r://{address}/books?pg1342"));
    check_url(&format!("z39.50r://{remote}?pg1342"));
}

#[test]
fn audit_r_d3_a_search_over_sru_without_records_and_with_a_diagnostic_is_refused() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let server = refusing();
    let front = front(folder.path(), server.port(), "sru = {}\n");
    let remote = format!("{}/remote", front.address());
    check_searches(folder.path(), &format!("http://{}/books", server.address()));
    check_searches(folder.path(), &remote);
    check_searches(folder.path(), &format!("http://{remote}"));
    check_url(&format!("z39.50r://{remote}?pg1342"));
}

#[test]
fn audit_r_d3_a_diagnostic_beside_hits_is_reported() {
    let server = Daemon::start([
        "--demo",
        "--fault",
        "on search: piggyback-fails 31 \"some\"",
    ]);
    let target = format!("{}/books", server.address());
    let url = format!("z39.50r://{target}?pg1342");
    for arguments in [vec!["search", &*target, "ti:war"], vec!["get", &*url]] {
        let ran = z3950(&arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        assert!(
            ran.stderr.contains("diagnostic 31"),
            "{arguments:?}: {ran:?}"
        );
    }
}

#[test]
fn audit_r_d3_a_diagnostic_beside_the_hits_of_a_target_is_passed_on() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let server = Daemon::start([
        "--demo",
        "--fault",
        "on search: piggyback-fails 31 \"some\"",
        "--fault",
        "on sru search: beside 31 \"some\"",
    ]);
    for keys in ["", "sru = {}\n"] {
        let front = front(folder.path(), server.port(), keys);
        let remote = format!("{}/remote", front.address());
        for target in [remote.clone(), format!("http://{remote}")] {
            let ran = z3950(["search", &target, "ti:war"]);
            assert_eq!(ran.code, Some(0), "{target} {keys}: {ran:?}");
            let said = ran
                .stderr
                .lines()
                .filter(|line| line.contains("remote@closed: "));
            let said: Vec<&str> = said.collect();
            assert!(
                matches!(said[..], [line] if line.contains("diagnostic") && line.ends_with(": some")),
                "{target} {keys}: {ran:?}"
            );
        }
    }
}
