//! Tests that record and replay yaz-client's conversations with zebrasrv and yaz-ztest. The client must print the same output
//! each time.

use std::path::Path;

use bytes::Bytes;
use z3950_marc::{iso2709, mrk};
use z3950_tests::peer;
use z3950_tests::program::{Daemon, run};
use z3950_tests::surroundings::command;

/// Returns some of the books in the demo catalogue in ISO 2709. Their number is limited, because zebraidx is slow.
fn books() -> Vec<Bytes> {
    let text = include_str!("../../../server/src/memory/demo/books.mrk");
    let records = mrk::parse_all(text).expect("the demo catalogue");
    let encoded = records.iter().take(20).map(iso2709::encode);
    encoded.map(|octets| octets.expect("fits").into()).collect()
}

/// Runs yaz-client, and returns its output without the durations of operations.
fn yaz_client(address: &str, commands: &str) -> Option<String> {
    let program = peer::find("yaz-client")?;
    let input = format!("open {address}/Default\n{commands}\nquit\n");
    let printed = run(&mut command(program), &input).stdout;
    let lines = printed.lines().map(|line| match line {
        line if line.starts_with("Elapsed: ") => "Elapsed",
        line => line,
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

fn recorder(said: &Path, upstream: &str, more: &[&str]) -> Daemon {
    let said = said.to_str().expect("text");
    let arguments = ["--record", said, "--upstream", upstream];
    Daemon::start([&arguments[..], more].concat())
}

fn replay(said: &Path, missing: &Path) -> Daemon {
    let (said, missing) = (
        said.to_str().expect("text"),
        missing.to_str().expect("text"),
    );
    Daemon::start(["--replay", said, "--report-missing", missing])
}

/// A conversation with Searches, Presents, a scan, a sort, a result set that is deleted, and requests that the server refuses.
const CONVERSATION: &str = "format usmarc\n\
    find @attr 1=4 the\nshow 1+3\nshow 2\nfind @attr 1=1032 pg1342\nshow 1\n\
    format xml\nshow 1\nformat usmarc\nelements B\nshow 1\nelements F\n\
    scan @attr 1=4 pride\nfind @attr 1=9999 x\nshow 99\nfind @and @attr 1=4 the @attr 1=4 nosuchword\n\
    find @attr 1=4 the\nsort 1=4 <\nshow 1+2\ndelete 1\nclose";

#[test]
fn yaz_client_prints_the_same_with_zebrasrv_a_recorder_and_a_replay() {
    let Some(zebra) = peer::zebrasrv(&books()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (said, missing) = (
        folder.path().join("said.jsonl"),
        folder.path().join("missing.jsonl"),
    );
    let upstream = format!("127.0.0.1:{}", zebra.port);
    let Some(direct) = yaz_client(&upstream, CONVERSATION) else {
        return;
    };
    assert!(direct.contains("Pride and prejudice"), "{direct}");
    let between = recorder(&said, &upstream, &[]);
    let recorded = yaz_client(&between.address().to_string(), CONVERSATION);
    assert_eq!(recorded.as_ref(), Some(&direct));
    drop((between, zebra));
    let again = replay(&said, &missing);
    let replayed = yaz_client(&again.address().to_string(), CONVERSATION);
    assert_eq!(replayed.as_ref(), Some(&direct));
    let listed = || std::fs::read_to_string(&missing).expect("a report");
    assert_eq!(listed(), "");
    // The Presents request recorded records in different ways, which can be answered. The search for `nowhere` is not in the
    // recording.
    let others =
        "format usmarc\nfind @attr 1=4 the\nshow 3\nshow 2+2\nshow 1+2\nfind @attr 1=4 nowhere";
    let printed = yaz_client(&again.address().to_string(), others).expect("yaz-client");
    assert_eq!(printed.matches("presentStatus").count(), 0);
    assert_eq!(printed.matches("Records: 1").count(), 1, "{printed}");
    assert_eq!(printed.matches("Records: 2").count(), 2, "{printed}");
    assert!(
        printed.contains("this request is not in the recording"),
        "{printed}"
    );
    let listed = listed();
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(listed.contains("nowhere"), "{listed}");
}

#[test]
fn faults_strike_between_yaz_client_and_yaz_ztest() {
    let Some(ztest) = peer::yaz_ztest() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let said = folder.path().join("said.jsonl");
    let upstream = format!("127.0.0.1:{}", ztest.port);
    let rule = ["--fault", "on search nth=2: fail 2 \"try again later\""];
    let between = recorder(&said, &upstream, &rule);
    let commands = "find @attr 1=4 the\nfind @attr 1=4 the\nfind @attr 1=4 the";
    let Some(printed) = yaz_client(&between.address().to_string(), commands) else {
        return;
    };
    assert_eq!(
        printed.matches("Search was a success").count(),
        2,
        "{printed}"
    );
    assert!(printed.contains("[2] Temporary system error"), "{printed}");
    assert!(printed.contains("try again later"), "{printed}");
}
