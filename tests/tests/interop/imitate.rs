//! Runs the same yaz-client scripts with yaz-ztest and with our imitation of it. The output must be the same, apart from the
//! records and the wording of diagnostics.

use std::net::{Ipv4Addr, SocketAddr};

use z3950::service::search::SearchOptions;
use z3950::{Client, ClientOptions};
use z3950_asn1::apdu::Query;
use z3950_server::imitate::Imitated;
use z3950_server::testing::TestServer;
use z3950_tests::peer;
use z3950_tests::program::run;
use z3950_tests::surroundings::command;

/// The beginnings of the lines of yaz-client's output that depend on the server's answers. Prompts, times and fields of records
/// are not compared.
const ANSWERS: &[&str] = &[
    "Connection ",
    "Search was ",
    "Number of hits: ",
    "Result Set Status: ",
    "records returned: ",
    "[",
    "Records: ",
    "Record type: ",
    "nextResultSetPosition = ",
    "This is dummy SUTRS record ",
    "Got deleteResultSetResponse ",
    "Received SortResponse: ",
    "Received ScanResponse",
    "Scan returned code ",
    "Reason: ",
    "Options: ",
    "Accepted ",
    "Got extended services response",
    "Status: ",
    "Target Reference: ",
    "task package record ",
    "Diagnostic message",
    "Got itemRequest doc ",
];

/// Runs these commands in yaz-client, and returns the lines of its output that depend on the server's answers.
fn answers(program: &std::path::Path, port: u16, setup: &str, commands: &str) -> Vec<String> {
    let input = format!("{setup}\nopen tcp:127.0.0.1:{port}\n{commands}\nquit\n");
    let ran = run(&mut command(program), &input);
    // The answer may follow a prompt on the same line, so prompts are removed.
    let lines = ran
        .stdout
        .lines()
        .map(|line| line.trim_start_matches("Z> ").trim());
    lines
        .filter(|line| ANSWERS.iter().any(|answer| line.starts_with(answer)))
        .map(str::to_owned)
        .collect()
}

fn check(commands: &str) {
    check_after("", commands);
}

/// Runs the scripts after the commands in `setup`, which are executed before the session is opened.
fn check_after(setup: &str, commands: &str) {
    let (Some(client), Some(original)) = (peer::find("yaz-client"), peer::yaz_ztest()) else {
        return;
    };
    let ours = TestServer::builder().imitate(Imitated::YazZtest).start();
    let expected = answers(&client, original.port, setup, commands);
    let found = answers(&client, ours.addr().port(), setup, commands);
    assert!(expected.len() > 1, "{commands}: {expected:#?}");
    assert_eq!(found, expected, "{commands}");
}

#[test]
fn numeric_terms_give_the_number_of_hits() {
    check(
        "find 5\nfind @and 7 x3\nfind @and x3 7\nfind @attr 1=9999 @attr 2=77 12\nfind 99999999999\nfind 0",
    );
    check("find @or @and a b @not 3 4\nfind 007\nfind @attrset gils 4");
}

#[test]
fn databases_are_recognised_by_prefix() {
    check(
        "base default\nfind 3\nbase DBx\nfind 3\nbase db1\nfind 3\nbase Defaultxyz\nfind 3\nbase other\nfind 3",
    );
    check(
        "base a b\nfind 3\nbase Default?search-delay=0.1\nfind 3\nbase Default?colour=red\nfind 3",
    );
    check("base Slow0\nfind 3\nshow 1");
}

#[test]
fn records_come_in_every_syntax_or_not_at_all() {
    check("find 5\nshow 1+2\nshow 5\nformat sutrs\nshow 5\nshow 1+3");
    check("find 5\nformat xml\nelements marcxml\nshow 1\nelements x\nshow 1+2");
    check(
        "find 5\nformat opac\nshow 1\nformat unimarc\nshow 1\nformat ukmarc\nshow 1\nformat 1.2.3\nshow 1",
    );
    check("find 30\nshow 29+2\nfind 1000000\nshow 999999+2");
}

#[test]
fn what_is_not_there_is_refused() {
    check("find 5\nshow 4+3\nshow 6\nshow 0\nshow 1+1+9\nfind 0\nshow 1");
}

#[test]
fn records_come_with_the_search() {
    check("ssub 3\nlslb 10\nmspn 2\nfind 3\nfind 7\nfind 10");
}

#[test]
fn sets_are_sorted_and_deleted_in_name_only() {
    check("find 3\nsort 1=4 <\nshow 1");
    check("find 3\ndelete 7\ndelete 1\ndelete 1 2");
}

#[test]
fn scans_are_refused_for_the_same_reasons() {
    check("scansize 300\nscan a\nscansize 3\nscanstep 1\nscan a\nscanstep 0\nscan @term numeric 3");
    check("base db1\nscan a");
}

#[test]
fn tasks_are_done_without_effect() {
    check(
        "find 5\nupdate insert id4 \"<x/>\"\nupdate delete id4 \"<x/>\"\nupdate0 insert id4 \"<x/>\"",
    );
    check("find 5\nitemorder item 1\nitemorder ill 1\nitemorder xml 1 \"<x/>\"");
}

#[test]
fn one_character_set_is_selected() {
    for setup in ["negcharset utf-8", "negcharset koi8-r\nnegcharsetrecords 1"] {
        check_after(setup, "find 3");
    }
}

#[test]
fn sessions_end_alike() {
    check("find 3\nclose");
}

#[test]
fn a_slow_search_is_cancelled_here() {
    let Some(client) = peer::find("yaz-client") else {
        return;
    };
    let ours = TestServer::builder().imitate(Imitated::YazZtest).start();
    let begun = std::time::Instant::now();
    let found = answers(
        &client,
        ours.addr().port(),
        "",
        "base Slow3600\nset_auto_wait off\nfind 3\ncancel\nwait_response 1",
    );
    assert!(begun.elapsed().as_secs() < 60);
    let told = |answer: &str| found.iter().any(|line| line.starts_with(answer));
    assert!(told("Number of hits: 0,") && told("[105]"), "{found:#?}");
}

/// Sends a second search before the first is answered. Returns the database of the search that is answered first.
async fn first_answered(port: u16) -> &'static str {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let client = Client::with_resolver(ClientOptions::default(), address);
    let url = "z39.50s://lib.example/Default".parse().expect("a URL");
    let session = client.open(&url).await.expect("opens").session;
    let search = async |database: &'static str| {
        let mut options = SearchOptions::default();
        options.databases = vec![database.into()];
        options.result_set = database.into();
        let query = Query::Type1("3".parse().expect("PQF"));
        let found = session.search(query, &options).await;
        assert_eq!(found.expect("found").hits, 3);
        database
    };
    let [slow, fast] = ["Slow1", "Default"].map(search);
    tokio::pin!(slow, fast);
    tokio::select! {
        biased;
        first = &mut slow => first,
        first = &mut fast => first,
    }
}

#[tokio::test]
async fn searches_are_answered_in_order() {
    let Some(original) = peer::yaz_ztest() else {
        return;
    };
    let ours = TestServer::builder().imitate(Imitated::YazZtest).start();
    assert_eq!(first_answered(original.port).await, "Slow1");
    assert_eq!(first_answered(ours.addr().port()).await, "Slow1");
}
