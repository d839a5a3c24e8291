//! A server that refuses a search as Metaproxy does – no hits, a status of success, and a diagnostic in place of the records – has
//! refused it, whichever command asks: exit code 5 and the diagnostic.

use z3950_tests::program::{Daemon, run, z3950};
use z3950_tests::surroundings::command;

const REASON: &str = "diagnostic 236";

#[test]
fn audit_r_d3_a_search_that_is_refused_with_a_status_of_success_is_refused() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let server = Daemon::start([
        "--demo",
        "--fault",
        "on search: fail-as-success 236 \"not for you\"",
    ]);
    let address = server.address();
    let profiles = format!(
        "[targets.closed]\nhost = \"127.0.0.1\"\nport = {}\ndatabases = [\"books\"]\n",
        server.port()
    );
    std::fs::write(path("profiles.toml"), profiles).expect("written");
    let settings = "target-profiles = \"profiles.toml\"\n[[database]]\nname = \"remote\"\ntargets = [\"closed\"]\n";
    std::fs::write(path("z3950d.toml"), settings).expect("written");
    let front = Daemon::start(["--config", &path("z3950d.toml")]);
    std::fs::write(path("in"), "local:pg1342\n").expect("written");
    let (target, url) = (
        format!("{address}/books"),
        format!("z39.50r://{address}/books?pg1342"),
    );
    let remote = format!("{}/remote", front.address());
    let sru_of_remote = format!("http://{remote}");
    let remote_url = format!("z39.50r://{remote}?pg1342");
    for arguments in [
        vec!["search", &*target, "ti:war"],
        vec!["search", &*target, "ti:war", "--fallback"],
        vec!["search", &*target, "ti:war", "--json"],
        vec!["lookup", &*target, "isbn:0141439513"],
        vec!["get", &*url],
        vec!["get", "--fallback", &*url],
        vec!["search", &*remote, "ti:war"],
        vec!["search", &*sru_of_remote, "ti:war"],
        vec!["lookup", &*remote, "isbn:0141439513"],
        vec!["get", &*remote_url],
    ] {
        let ran = z3950(&arguments);
        assert_eq!(ran.code, Some(5), "{arguments:?}: {ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains("236") && said.contains("not for you"),
            "{arguments:?}: {ran:?}"
        );
    }
    let ran = z3950(["url", "check", "--follow", &url]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.stdout.contains("refused") && !ran.stdout.contains("gone"),
        "{ran:?}"
    );
    let (input, report, output) = (path("in"), path("r.tsv"), path("o.mrc"));
    let ran = z3950([
        "lookup", &target, "--input", &input, "--report", &report, "--output", &output,
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
        &format!("open {target}\nfind ti:war\nquit\n"),
    );
    assert!(ran.stderr.contains(REASON), "{ran:?}");
}

#[test]
fn audit_r_d3_a_diagnostic_beside_hits_is_told() {
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
