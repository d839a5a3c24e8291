//! Tests of `z3950 open` with commands from a pipe.

mod script;
mod sessions;
mod sets;
mod shared;

use z3950_asn1::apdu::Apdu;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid;
use z3950_server::diagnostic;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{Ran, z3950, z3950_fed};
use z3950_tests::surroundings::command;

fn demo(url: &str, commands: &str, flags: &[&str]) -> Ran {
    z3950_fed(["--demo", "open", url].iter().chain(flags), commands)
}

#[test]
fn a_session_answers_commands() {
    let commands = "find @attr 1=4 war\nshow 1\nshow\nformat sutrs\nshow 1\nelements B\nbase\nbase serials\nbase\nquit\n";
    let ran = demo("z39.50s://localhost/books", commands, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let hits: u64 = ran
        .stdout
        .split_once(" hits\n")
        .expect("hits")
        .0
        .parse()
        .expect("a number");
    assert!(hits >= 3, "{hits}");
    assert_eq!(
        ran.stdout
            .lines()
            .filter(|line| line.starts_with("001 "))
            .count(),
        2
    );
    assert_eq!(
        ran.stdout
            .lines()
            .filter(|line| line.starts_with("Title: "))
            .count(),
        1
    );
    assert!(ran.stdout.ends_with("books\nserials\n"), "{}", ran.stdout);
}

#[test]
fn queries_are_words_or_pqf() {
    for (query, hits) in [
        ("Onegin", None),
        ("@attr 1=1032 pg1342", Some("1 hit\n")),
        ("@and @attr 1=4 pride @attr 1=4 prejudice", Some("1 hit\n")),
        ("@attr 1=4 \"pride and prejudice\"", Some("1 hit\n")),
        ("@not @attr 1=1032 twice @attr 1=1016 1859", Some("1 hit\n")),
        ("pride prejudice", None),
        ("nonesuchword", Some("0 hits\n")),
    ] {
        let ran = demo(
            "z39.50s://localhost/books",
            &format!("find {query}\n"),
            &["--stop-on-error"],
        );
        let code = if hits == Some("0 hits\n") { 3 } else { 0 };
        assert_eq!(ran.code, Some(code), "{query}: {ran:?}");
        match hits {
            Some(hits) => assert_eq!(ran.stdout, hits, "{query}"),
            None => assert!(
                ran.stdout.ends_with("hit\n") || ran.stdout.ends_with("hits\n"),
                "{query}: {ran:?}"
            ),
        }
    }
}

#[test]
fn the_docid_of_a_url_is_searched_and_shown() {
    let ran = demo("z39.50s://localhost/books?pg1342", "", &[]);
    assert!(
        ran.stdout.starts_with("1 hit\n") && ran.stdout.contains("001 pg1342"),
        "{ran:?}"
    );
    let ran = demo("z39.50s://localhost/books?twice", "show 2\n", &[]);
    assert!(
        ran.stdout.starts_with("2 hits\n") && ran.stdout.contains("001 twice"),
        "{ran:?}"
    );
}

/// without `show`, no record is displayed, regardless of how records were requested.
#[test]
fn audit_r_d2_no_record_is_shown_until_it_is_requested() {
    for strategy in ["piggyback", "present-only"] {
        let options = ["--no-auto-present", "--strategy", strategy];
        let ran = demo("z39.50s://localhost/books?pg1342", "", &options);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "1 hit\n"));
        let ran = demo("z39.50s://localhost/books?pg1342", "show 1\n", &options);
        assert!(ran.stdout.starts_with("1 hit\n"), "{strategy}: {ran:?}");
        assert_eq!(ran.stdout.matches("001 pg1342").count(), 1, "{strategy}");
        let ran = demo("z39.50s://localhost/books?pg1342", "", &options[1..]);
        assert_eq!(ran.stdout.matches("001 pg1342").count(), 1, "{strategy}");
    }
}

/// S-19: the session continues, and the end of the input counts as success.
#[test]
fn s_19_no_hit_is_an_answer_to_a_session_url() {
    let url = "z39.50s://localhost/books?nosuch";
    for (commands, flags, stdout) in [
        ("", &[][..], "0 hits\n"),
        ("", &["--stop-on-error"], "0 hits\n"),
        ("quit\n", &["--stop-on-error"], "0 hits\n"),
        (
            "find @attr 1=1032 pg1342\n",
            &["--stop-on-error"],
            "0 hits\n1 hit\n",
        ),
    ] {
        let ran = demo(url, commands, flags);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), stdout),
            "{ran:?}"
        );
    }
}

/// RFC 2056 §4: a retrieval URL identifies one record, so a search that has no hits or several hits is a failure.
#[test]
fn audit_r_d6_a_retrieval_url_without_its_record_is_a_failure() {
    for (rest, code, stdout) in [
        ("z39.50r://localhost/books?nosuch", 3, "0 hits\n"),
        ("z39.50s://localhost/books?nosuch", 0, "0 hits\n"),
        ("z39.50r://localhost/books?twice", 4, "2 hits\n"),
        ("z39.50s://localhost/books?twice", 0, "2 hits\n"),
    ] {
        let ran = demo(rest, "", &[]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), stdout),
            "{rest}: {ran:?}"
        );
    }
}

#[test]
fn a_retrieval_url_opens_a_session_with_its_record() {
    let ran = demo("z39.50r://localhost/books?pg1342", "show 1\n", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.matches("001 pg1342").count(), 2, "{ran:?}");
}

#[test]
fn a_failed_command_is_reported_and_the_session_continues() {
    for (command, code, words) in [
        ("show 1", 2, "no result set"),
        ("find @and x", 2, "missing"),
        ("fund x", 2, "unknown command"),
        ("find @attr 1=9999 x", 5, "114"),
        (
            "find @attr 1=1032 pg1342\nshow 9",
            2,
            "there is no record 9",
        ),
        (
            "format klingon",
            2,
            "klingon is neither a record syntax nor a format; name a record",
        ),
    ] {
        let commands = format!("{command}\nfind @attr 1=1032 pg2600\n");
        let ran = demo("z39.50s://localhost/books", &commands, &[]);
        assert_eq!(ran.code, Some(code), "{command}: {ran:?}");
        assert!(
            ran.stderr.contains(words) && ran.stdout.ends_with("1 hit\n"),
            "{command}: {ran:?}"
        );
        let ran = demo("z39.50s://localhost/books", &commands, &["--stop-on-error"]);
        assert_eq!(ran.code, Some(code), "{command}: {ran:?}");
    }
}

#[test]
fn a_session_that_cannot_be_opened_gives_its_code() {
    assert_eq!(demo("z39.50s://localhost:25/", "", &[]).code, Some(7));
    assert_eq!(demo("z39.50s://local host/", "", &[]).code, Some(2));
    let server = TestServer::builder()
        .demo()
        .fault(When::init(), Fault::RejectInit(None))
        .start();
    assert_eq!(
        z3950_fed(["open", &server.session_url("/books")], "").code,
        Some(5)
    );
}

#[test]
fn only_requested_answers_are_sent() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let ran = z3950_fed(["open", &server.session_url("/cat;esn=f;rs=marc")], "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    server.wait_for_end();
    assert_eq!(
        server.names(),
        ["initRequest", "initResponse", "close", "close"]
    );
}

#[test]
fn settings_are_shown_changed_and_kept_to_themselves() {
    let commands = "authentication ada secret\nset scansize 7\nset elements B\nformat xml usmarc\noptions search present\nsettings\nset nonsense 1\n";
    let ran = demo("z39.50s://localhost/books", commands, &[]);
    for line in [
        "scansize             7",
        "elements             B",
        "authentication       <redacted>",
        "options              search present",
        "querytype            auto",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {ran:?}");
    }
    assert!(ran.stderr.contains("nonsense is not a setting"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("secret"), "{ran:?}");
}

#[test]
fn files_of_commands_run_with_bounded_nesting() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("commands");
    std::fs::write(&path, "# a remark\nfind @attr 1=1032 pg1342\n").expect("written");
    let ran = demo(
        "z39.50s://localhost/books",
        &format!("source {}\nshow 1\n", path.display()),
        &["--stop-on-error"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("1 hit\n"), "{ran:?}");
    std::fs::write(&path, format!(". {}\n", path.display())).expect("written");
    let ran = demo(
        "z39.50s://localhost/books",
        &format!(". {}\nfind @attr 1=1032 pg1342\n", path.display()),
        &[],
    );
    assert!(
        ran.stderr.contains("nested more than") && ran.stdout.ends_with("1 hit\n"),
        "{ran:?}"
    );
}

/// Ordinary commands that both `z3950 open` and yaz-client accept.
const ORDINARY: &str = "\
base Default
find 15
show 1+2
find @attr 1=4 7
find @and @attr 1=4 3 @attr 1=1003 3
setnames 0
format sutrs
elements F
find 12
show 1
format usmarc
querytype ccl2rpn
find 9
querytype prefix
scansize 5
scan @attr 1=4 war
lslb 10
ssub 2
mspn 1
find 2
refid abc
find 4
e F
f 6
set_auto_reconnect on
set_auto_wait on
facets @attr 1=title @attr 3=2
find 8
close
";

#[test]
fn a_file_of_yaz_client_runs_unchanged() {
    use z3950_tests::peer;
    use z3950_tests::program::run;
    let (Some(server), Some(yaz)) = (peer::yaz_ztest(), peer::find("yaz-client")) else {
        return;
    };
    let target = format!("127.0.0.1:{}/Default", server.port);
    let commands = format!("open {target}\n{ORDINARY}");
    let theirs = run(&mut command(yaz), format!("{commands}quit\n"));
    let theirs: Vec<&str> = theirs
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("Number of hits: ")?.split(',').next())
        .collect();
    let ran = z3950_fed(["open", &target], &commands);
    let ours: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.strip_suffix(" hits").or(line.strip_suffix(" hit")))
        .collect();
    assert!(theirs.len() >= 7, "{theirs:?}");
    assert_eq!(ours, theirs, "{ran:?}");
    assert!(!ran.stderr.contains("error"), "{ran:?}");
}

#[test]
fn commands_of_the_shell_are_run() {
    let commands = "! echo one two\n!echo three\n! exit 3\n! cat\nfind @attr 1=1032 pg1342\n";
    let ran = demo("z39.50s://localhost/books", commands, &[]);
    assert_eq!(ran.stdout, "one two\nthree\n1 hit\n", "{ran:?}");
    assert!(ran.stderr.contains("exit status: 3"), "{ran:?}");
}

#[test]
fn records_in_xml_are_set_out() {
    let commands =
        "format xml\nfind @attr 1=1032 pg1342\nshow 1\nshow format 1\nshow format\nshow formal\n";
    let ran = demo("z39.50s://localhost/books", commands, &[]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let indented = lines
        .iter()
        .filter(|line| line.trim_start().starts_with("<controlfield") && line.starts_with("  "));
    assert!(indented.count() >= 1, "{ran:?}");
    assert!(
        ran.stderr.contains("the only record has been shown") && ran.stderr.contains("usage: show"),
        "{ran:?}"
    );
}

#[test]
fn data_is_written_in_the_character_set_of_the_terminal() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Émile – Ω")])
        .start();
    let commands = "displaycharset iso-8859-1\nfind @attr 1=1032 id7\nshow 1\ndisplaycharset klingon\ndisplaycharset -\nshow 1\n";
    let ran = z3950_fed(["open", &format!("{}/cat", server.addr())], commands);
    let has = |octets: &[u8]| ran.octets.windows(octets.len()).any(|part| part == octets);
    assert!(
        has(b"\xc9mile ? ?") && has("Émile – Ω".as_bytes()),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("klingon is not a known character set"),
        "{ran:?}"
    );
}

#[test]
fn an_order_is_for_an_item_a_loan_or_a_document() {
    use z3950_tests::peer;
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let commands = "find 3\nitemorder item 1\nitemorder ill 2\nitemorder xml 1 \"<order/>\"\nitemorder ill 1 nonsense\nitemorder pigeon 1\n";
    let target = format!("127.0.0.1:{}/Default", server.port);
    let ran = z3950_fed(["open", &target], commands);
    assert_eq!(ran.stdout.matches("task: done").count(), 3, "{ran:?}");
    assert!(
        ran.stderr.contains("not an ILL-Request") && ran.stderr.contains("usage: itemorder"),
        "{ran:?}"
    );
}

#[test]
fn r_f9_help_begins_with_the_usual_commands() {
    let url = "z39.50s://localhost/books";
    let usual = demo(url, "help\n", &[]).stdout;
    let all = demo(url, "help all\n", &[]).stdout;
    assert!(usual.lines().count() <= 24, "{usual}");
    for words in [
        "Searches",
        "  find QUERY",
        "  show [N]",
        "help all",
        "help indexes",
    ] {
        assert!(usual.contains(words), "{words}: {usual}");
    }
    assert!(!usual.contains("lslb") && all.contains("lslb"), "{usual}");
    let indexes = demo(url, "help indexes\n", &[]).stdout;
    assert_eq!(indexes, z3950(["query", "indexes"]).stdout);
    let ran = demo(url, "querytype pqf\nquerytype\nfind @attr 1=4 war\n", &[]);
    assert_eq!(
        (ran.code, ran.stdout.lines().next()),
        (Some(0), Some("prefix")),
        "{ran:?}"
    );
    // A script cannot answer a password prompt.
    let ran = demo(url, "authentication ada\nauthentication ada secret\n", &[]);
    assert_eq!(
        ran.stderr.matches("no password given").count(),
        1,
        "{ran:?}"
    );
}

/// Tests that rows with different columns are not printed under the header of an earlier table.
#[test]
fn r_f3_other_columns_begin_with_their_own_header() {
    let header = "001,title,author,year,publisher,isbn,issn";
    let url = "z39.50s://localhost/books";
    for (commands, options, headers) in [
        (
            "format csv\nshow 1\nshow 2\nfields 001,year\nshow 3\nshow 4\n",
            &[][..],
            &[header, "001,year"][..],
        ),
        (
            "show 1\nfields 001,year\nshow 2\nfields none\nshow 3\n",
            &["--format", "csv"],
            &[header, "001,year", header],
        ),
        (
            "show 1\nsearch --fields 001 --count 1 war\nshow 2\n",
            &["--format", "csv"],
            &[header, "001", header],
        ),
        (
            "show 1\nfields 001,year\nfields none\nshow 2\n",
            &["--format", "csv"],
            &[header],
        ),
        (
            "show 1\nformat tsv\nshow 2\n",
            &["--format", "csv"],
            &[header],
        ),
    ] {
        let ran = demo(url, &format!("find war\n{commands}"), options);
        let found: Vec<&str> = ran
            .stdout
            .lines()
            .filter(|line| line.starts_with("001,") || *line == "001")
            .collect();
        assert_eq!(found, headers, "{commands}: {ran:?}");
        let mut columns = 0;
        for line in ran
            .stdout
            .lines()
            .filter(|line| !line.contains('\t') && !line.ends_with(" hits"))
        {
            let mut is_quoted = false;
            let commas = line.chars().filter(|one| {
                is_quoted ^= *one == '"';
                *one == ',' && !is_quoted
            });
            let count = commas.count();
            if found.contains(&line) {
                columns = count;
            }
            assert_eq!(count, columns, "{commands}: {line}: {ran:?}");
        }
    }
}

#[test]
fn help_describes_every_command_and_queries() {
    let ran = demo("z39.50s://localhost/books", "help all\n", &[]);
    let names: Vec<String> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    assert!(names.len() > 60, "{ran:?}");
    let asked: String = names.iter().map(|name| format!("help {name}\n")).collect();
    let ran = demo(
        "z39.50s://localhost/books",
        &format!("{asked}help prox\nhelp queries\n"),
        &["--stop-on-error"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("@prox EXCLUSION"), "{ran:?}");
}

/// If no syntax is requested, Zebra and servers based on SimpleServer send XML in the form of their index.
#[test]
fn audit_r_y4_the_prompt_asks_for_marc_21_first() {
    let syntaxes = |server: &TestServer| {
        let asked = server.transcript().into_iter();
        let asked = asked.filter_map(|entry| match entry.apdu? {
            Apdu::SearchRequest(search) if search.small_set_upper_bound > 0 => {
                Some(search.preferred_record_syntax)
            }
            Apdu::PresentRequest(present) => Some(present.preferred_record_syntax),
            _ => None,
        });
        asked.collect::<Vec<_>>()
    };
    let catalogue = || TestServer::builder().database("cat", [record("id7", "Emma")]);
    let ask = |server: &TestServer, commands: &str| {
        let target = format!("{}/cat", server.addr());
        let ran = z3950_fed(["open", &target], format!("find emma\n{commands}"));
        assert!(ran.stdout.contains("Emma"), "{ran:?}");
    };
    let server = catalogue().start();
    ask(&server, "show 1\n");
    assert_eq!(syntaxes(&server), [Some(oid::USMARC)]);
    // If the server refuses USMARC, the client asks for other syntaxes.
    let refused = Fault::Fails(diagnostic(Condition::RECORD_SYNTAX, ""));
    let server = catalogue()
        .fault(When::present().syntax(oid::USMARC), refused)
        .start();
    ask(&server, "show 1\n");
    let asked = syntaxes(&server);
    assert_eq!(asked[0], Some(oid::USMARC), "{asked:?}");
    assert!(
        asked.len() > 1 && asked[1..].iter().all(|syntax| *syntax != asked[0]),
        "{asked:?}"
    );
    // After the user has set a format, only that syntax is requested.
    let server = catalogue().start();
    ask(&server, "format xml\nshow 1\n");
    assert_eq!(syntaxes(&server), [Some(oid::XML)]);
}
