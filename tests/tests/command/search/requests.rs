//! Tests of the number of requests that `z3950 search` sends, and of the searches that it can continue.

use serde_json::Value;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{Daemon, z3950};

use crate::command::get::apdus;

#[test]
fn records_of_another_kind_from_each_present_cost_no_others() {
    let daemon = Daemon::start([
        "--demo",
        "--fault",
        "on present nth=1: syntax sutrs",
        "--fault",
        "on present nth=3: syntax xml",
        "--fault",
        "on present nth=4: syntax grs-1",
    ]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        let path = folder.path().join(name);
        path.to_str().expect("text").to_owned()
    };
    let port = daemon.address().port();
    let profile = format!(
        "[targets.odd]\nhost = \"127.0.0.1\"\nport = {port}\ndatabases = [\"books\"]\nchunk = 3\n"
    );
    std::fs::write(path("targets.toml"), profile).expect("written");
    for name in ["out.mrc", "out.xml"] {
        let (targets, output, report) = (path("targets.toml"), path(name), path("report.jsonl"));
        let ran = z3950([
            "search",
            "--targets",
            &targets,
            "odd",
            "war",
            "--count",
            "17",
            "--output",
            &output,
            "--report",
            &report,
        ]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let line = std::fs::read_to_string(&report).expect("the report");
        let line: Value = serde_json::from_str(line.trim()).expect("JSON");
        assert_eq!(line["outcome"], "not written", "{line}");
        let message = line["message"].as_str().expect("words");
        assert!(
            message.starts_with("11 of 17 records written; record syntax SUTRS is not MARC"),
            "{message}"
        );
        let back = z3950(["convert", "--to", "json", &output]);
        assert_eq!((back.code, back.stdout.lines().count()), (Some(0), 11));
        for name in [name, "report.jsonl"] {
            std::fs::remove_file(path(name)).expect("removed");
        }
    }
    // Without a report, a message names the first record that was not written, and counts further records with the same reason.
    let targets = path("targets.toml");
    let ran = z3950([
        "search",
        "--targets",
        &targets,
        "odd",
        "war",
        "--count",
        "17",
        "--format",
        "marcxml",
    ]);
    assert_eq!(
        (ran.code, ran.stdout.matches("</record>").count()),
        (Some(2), 11)
    );
    for words in [
        "record 4: record syntax SUTRS is not MARC",
        "2 more records: record syntax SUTRS is not MARC",
        "record 13: record syntax GRS-1 is not MARC",
        "2 more records: record syntax GRS-1 is not MARC",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    assert_eq!(ran.stderr.matches("error: ").count(), 4, "{}", ran.stderr);
}

#[test]
fn records_take_one_search_and_close_is_always_sent() {
    let server = TestServer::demo();
    let target = format!("{}/books", server.addr());
    let url = server.url("books?pg158;rs=marc");
    const SEARCH: [&str; 4] = [
        "initRequest",
        "initResponse",
        "searchRequest",
        "searchResponse",
    ];
    const PRESENT: [&str; 2] = ["presentRequest", "presentResponse"];
    const SORT: [&str; 2] = ["sortRequest", "sortResponse"];
    for (arguments, more) in [
        (&["get", &url][..], vec![]),
        (&["lookup", &target, "local:pg158"], vec![]),
        (&["search", &target, "ti:emma"], vec![]),
        (&["search", &target, "novel"], vec![]),
        // With `--count 0`, only the number of hits is requested.
        (&["search", &target, "novel", "--count", "0"], vec![]),
        (
            &["search", &target, "fiction", "--count", "30"],
            PRESENT.to_vec(),
        ),
        (
            &["search", &target, "novel", "--start", "2"],
            PRESENT.to_vec(),
        ),
        (
            &["search", &target, "novel", "--sort", "title"],
            [SORT, PRESENT].concat(),
        ),
    ] {
        let ran = z3950(std::iter::once(&"-vv").chain(arguments));
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        let expected = [&SEARCH[..], &more, &["close", "close"]].concat();
        assert_eq!(apdus(&ran), expected, "{arguments:?}");
        let sessions = server.sessions();
        let ran = z3950(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        server.wait_for_end();
        assert_eq!(server.sessions(), sessions + 1);
        assert_eq!(server.names().last(), Some(&"close"), "{arguments:?}");
    }
}

#[test]
fn a_search_is_made_once_however_many_records_are_wanted() {
    let records = (0..50).map(|number| record(&format!("id{number:02}"), "Seven"));
    let server = TestServer::builder().database("cat", records).start();
    let target = format!("{}/cat", server.addr());
    let ran = z3950(["search", &target, "seven", "--count", "50"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let names = server.names();
    let searches = names.iter().filter(|name| **name == "searchRequest");
    assert_eq!(searches.count(), 1, "{names:?}");
}

#[test]
fn an_interrupted_list_is_resumed() {
    let server = TestServer::builder()
        .database(
            "cat",
            (0..50).map(|number| record(&format!("id{number:02}"), "Seven")),
        )
        .fault(When::present().session(1).nth(2), Fault::ResetAfter(30))
        .start();
    let target = format!("{}/cat", server.addr());
    let ran = z3950(["search", &target, "seven", "--count", "50"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let docids = ran
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("001 "));
    let docids: Vec<_> = docids.collect();
    let all: Vec<_> = (0..50).map(|number| format!("id{number:02}")).collect();
    assert_eq!(docids, all, "{ran:?}");
}
