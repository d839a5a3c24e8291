//! Tests of the requests that commands send to SRU servers.

use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{Ran, z3950, z3950_fed};

use crate::hostile::odd::{http_answer, serve_http};

/// Runs a command, and returns the heads of the requests that it sends.
fn requests(server: &TestServer, arguments: &[&str]) -> (Ran, Vec<String>) {
    let before = server.http_messages().len();
    let ran = z3950(arguments);
    let messages = server.http_messages();
    let heads = messages
        .iter()
        .skip(before)
        .map(|entry| &entry.message.head);
    let heads = heads.filter(|head| !head.starts_with("HTTP/"));
    (ran, heads.cloned().collect())
}

#[test]
fn a_command_is_one_request() {
    let server = TestServer::demo();
    let http = server.http_url("books");
    let folder = tempfile::tempdir().expect("a folder");
    let targets = folder.path().join("targets.toml");
    let profile = format!(
        "[targets.keys]\nhost = \"127.0.0.1\"\nport = {}\ndatabases = [\"books\"]\nsru = {{ sort_keys = true }}\n",
        server.addr().port()
    );
    std::fs::write(&targets, profile).expect("written");
    let targets = targets.to_str().expect("text");
    for (arguments, expected) in [
        (
            &["search", &http, "ti:the", "--count", "20"][..],
            &["maximumRecords=20"][..],
        ),
        (
            &["search", &http, "ti:the", "--sort", "date:desc"],
            &["sortby%20dc.date%2Fsort.descending&startRecord=1&maximumRecords=10"],
        ),
        (
            &["search", &http, "ti:the", "--sort", "date", "--count", "0"],
            &["maximumRecords=0"],
        ),
        (
            &[
                "search",
                "keys",
                "ti:the",
                "--sort",
                "title",
                "--targets",
                targets,
            ],
            &["&sortKeys=dc.title"],
        ),
        (
            &[
                "search",
                &http,
                "--lang",
                "cql",
                "dc.title=the sortby dc.date",
            ],
            &["query=dc.title%3Dthe%20sortby%20dc.date&"],
        ),
        (
            &["search", &http, "ti:the", "--sort", "date", "--start", "3"],
            &[
                "sortby%20dc.date&startRecord=1&maximumRecords=0",
                "startRecord=3&maximumRecords=10",
            ],
        ),
        (
            &["lookup", &http, "isbn:0-14-143951-3"],
            &["operation=searchRetrieve"],
        ),
        (
            &["lookup", &http, "docid:pg1342"],
            &["query=rec.id%20%3D%20pg1342&startRecord=1"],
        ),
        (&["scan", &http, "ti:war"], &["operation=scan"]),
        (&["explain", &http], &["operation=explain"]),
    ] {
        let (ran, heads) = requests(&server, arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?} {ran:?}");
        assert_eq!(heads.len(), expected.len(), "{arguments:?} {heads:#?}");
        for (head, expected) in heads.iter().zip(expected) {
            assert!(head.contains(expected), "{arguments:?} {head}");
        }
    }
}

#[test]
fn a_sorted_result_is_in_order_of_either_kind_of_key() {
    let records = ["Emma", "Anna", "Zazie", "Beowulf"];
    let records = records.map(|title| record(title, title));
    let server = TestServer::builder().database("cat", records).start();
    let target = server.http_url("cat");
    let ran = z3950([
        "search",
        &target,
        "--lang",
        "cql",
        "cql.allRecords=1",
        "--sort",
        "title:desc",
        "--format",
        "line",
    ]);
    let titles = ran.stdout.lines().filter(|line| line.starts_with("245"));
    let titles: Vec<&str> = titles.filter_map(|line| line.split("$a ").nth(1)).collect();
    assert_eq!(titles, ["Zazie", "Emma", "Beowulf", "Anna"], "{ran:?}");
}

#[test]
fn credentials_of_an_address_are_sent_or_named() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let target = server.http_url("cat").replace("://", "://ann:p%40w@");
    for command in [
        &["search", &target, "ti:seven"][..],
        &["lookup", &target, "docid:id7"],
        &["scan", &target, "ti:s"],
        &["explain", &target],
        &["open", &target],
    ] {
        for is_allowed in [false, true] {
            let option = is_allowed.then_some("--allow-url-credentials");
            let arguments: Vec<&str> = command.iter().copied().chain(option).collect();
            let (ran, heads) = requests(&server, &arguments);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let is_named = ran.stderr.contains("--allow-url-credentials sends them");
            assert_eq!(is_named, !is_allowed, "{ran:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains("p%40w") && !said.contains("p@w"), "{said}");
            for head in heads {
                let is_sent = head.to_ascii_lowercase().contains("authorization: basic ");
                assert_eq!(is_sent, is_allowed, "{head}");
            }
        }
    }
    let ran = z3950(["targets", "add", "x", &target, "--targets", "never-written"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("a profile cannot contain a password"));
}

#[test]
fn an_address_has_no_request_in_it() {
    for (address, words) in [
        (
            "http://lib.example/db?version=1.1&operation=explain&x=y",
            "error: write http://lib.example/db?x=y, without version, operation: these belong to a request",
        ),
        (
            "http://lib.example/db#top",
            "error: write http://lib.example/db, without the part after #",
        ),
    ] {
        let ran = z3950(["search", address, "war"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    let server = TestServer::demo();
    let (_, heads) = requests(&server, &["search", &server.http_url("books?x=y"), "war"]);
    assert!(
        heads[0].starts_with("GET /books?x=y&version=1.1&"),
        "{heads:?}"
    );
}

#[test]
fn a_scan_in_cql_is_sent_unchanged() {
    let server = TestServer::demo();
    let target = server.http_url("books");
    for (term, code, expected) in [
        ("dc.title=war", 0, "scanClause=dc.title%3Dwar&"),
        ("nosuch.index=war", 5, "scanClause=nosuch.index%3Dwar&"),
    ] {
        let (ran, heads) = requests(&server, &["scan", &target, "--lang", "cql", term]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(heads[0].contains(expected), "{heads:?}");
    }
    // The first query names an index that does not exist in Z39.50. The second query contains an operator, which cannot be the
    // start of a scan.
    let by_z3950 = format!("{}/books", server.addr());
    for (target, term) in [(&by_z3950, "nosuch.index=war"), (&target, "a and b")] {
        let ran = z3950(["scan", target, "--lang", "cql", term]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
}

/// Like `z3950 search`, the prompt sends requests to the address that was opened, without adding the name of a database.
#[test]
fn the_prompt_asks_the_root_of_a_server() {
    let server = TestServer::demo();
    let target = format!("http://{}", server.addr());
    for line in ["find ti:war", "search ti:war", "scan ti:war"] {
        let before = server.http_messages().len();
        z3950_fed(["open", &target], format!("{line}\n"));
        let messages = server.http_messages();
        let asked = messages.get(before).map(|entry| &entry.message.head);
        assert!(
            asked.is_some_and(|head| head.starts_with("GET /?")),
            "{line}: {asked:?}"
        );
    }
}

#[test]
fn the_prompt_says_how_a_server_is_asked() {
    let server = TestServer::demo();
    let folder = tempfile::tempdir().expect("a folder");
    let targets = folder.path().join("targets.toml");
    let targets = targets.to_str().expect("text");
    let port = server.addr().port();
    let place = format!("http://127.0.0.1:{port}/books");
    let add = |further: &[&str]| {
        let arguments = [&["targets", "add", "mine", "--targets", targets], further].concat();
        z3950(arguments)
    };
    let ran = add(&["lib.example", "--sru-version", "1.2"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--sru-version is for a server of SRU"));
    let options = [
        "--sru-version",
        "1.2",
        "--sru-method",
        "post",
        "--sru-pqf",
        "--sru-sort-keys",
        "--sru-schema",
        "dc",
    ];
    let ran = add(&[&[&*place], &options[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written = std::fs::read_to_string(targets).expect("a file");
    for key in [
        "version = \"1.2\"",
        "method = \"post\"",
        "schema = \"dc\"",
        "pqf = true",
        "sort_keys = true",
    ] {
        assert!(written.contains(key), "{written}");
    }
    let script = "sru\nopen mine\nsru\nsru soap\nsru\nsru get 2.0\nsru\n";
    let ran = z3950_fed(["open", "--targets", targets], script);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines,
        ["get 1.1", "post 1.2", "soap 1.2", "get 2.0"],
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("/books (mine), version 1.2 by post"),
        "{ran:?}"
    );
}

/// Servers may copy text from their records to XML without escaping it. The records are used nevertheless, and the error is
/// reported with them.
#[test]
fn audit_r_a7_an_unescaped_ampersand_is_reported() {
    let record = |position: u64, title: &str| {
        format!(
            "<zs:record><zs:recordSchema>marcxml</zs:recordSchema><zs:recordPacking>xml</zs:recordPacking><zs:recordData>\
             <record xmlns='http://www.loc.gov/MARC21/slim'><leader>00000nam a2200000   4500</leader>\
             <controlfield tag='001'>id{position}</controlfield><datafield tag='245' ind1='0' ind2='0'>\
             <subfield code='a'>{title}</subfield></datafield></record></zs:recordData>\
             <zs:recordPosition>{position}</zs:recordPosition></zs:record>"
        )
    };
    let records = [record(1, "Sound"), record(2, "The AT&T story & more")].concat();
    let answer = format!(
        "<zs:searchRetrieveResponse xmlns:zs='http://www.loc.gov/zing/srw/'><zs:version>1.1</zs:version>\
         <zs:numberOfRecords>2</zs:numberOfRecords><zs:records>{records}</zs:records></zs:searchRetrieveResponse>"
    );
    let address = serve_http(move |_| http_answer(answer.as_bytes()));
    let target = format!("http://{address}/cat");
    let ran = z3950(["search", &target, "story"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for title in ["Sound", "The AT&T story & more"] {
        assert!(ran.stdout.contains(title), "{ran:?}");
    }
    let words = "record 2: an & that begins no reference is read as text\n";
    assert_eq!(ran.stderr.matches(words).count(), 1, "{ran:?}");
    let ran = z3950(["search", &target, "story", "--format", "marcxml"]);
    assert!(
        ran.stdout.contains("The AT&amp;T story &amp; more"),
        "{ran:?}"
    );
}
