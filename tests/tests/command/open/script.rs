//! Tests of scripts at the prompt: sessions that the server ends, exit codes, and mistyped commands.

use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::z3950_fed;

use super::demo;

/// RFC 2056 §3: the session stays open for the user. If the server ends the session, no command may be lost.
#[test]
fn audit_b1_commands_after_a_lost_session_are_carried_out_or_refused() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(When::search().session(1), Fault::HangUp)
        .fault(When::search().session(3), Fault::HangUp)
        .start();
    let url = server.session_url("/cat?id7");
    let ran = z3950_fed(
        ["open", &url],
        "sleep 0.3\nshow 1\nfind @attr 1=1032 id7\nshow 1\nstatus\n",
    );
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(
        ran.stderr
            .contains("error: the server has closed the session")
            && ran
                .stderr
                .contains("the result sets made in it are gone; reconnecting to"),
        "{ran:?}"
    );
    assert_eq!(ran.stdout.matches("1 hit\n").count(), 2, "{ran:?}");
    assert_eq!(ran.stdout.matches("001 id7").count(), 2, "{ran:?}");
    assert!(ran.stdout.contains("ssub"), "{ran:?}");
    // Nothing was requested in the lost session, so no request failed.
    server.wait_for_end();
    let ran = z3950_fed(["open", &url], "sleep 0.3\nfind @attr 1=1032 id7\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("reconnecting to"), "{ran:?}");
}

#[test]
fn a_session_that_was_given_up_is_not_blamed_on_the_server() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .rule("on search nth=1: delay 60s")
        .start();
    let target = format!("{}/cat", server.addr());
    let ran = z3950_fed(
        ["open", &target, "--timeout", "0.3"],
        "find x\nshow 1\nscan x\n",
    );
    let words = "the session was given up after an error";
    assert!(
        ran.stderr
            .contains(&format!("error: {words}; use open, find, search or scan")),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains(&format!("note: {words}; reconnecting to")),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("the server has closed"), "{ran:?}");
}

#[test]
fn audit_b1_without_reconnection_every_command_says_that_the_session_is_gone() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(When::search(), Fault::HangUp)
        .start();
    let url = server.session_url("/cat?id7");
    let commands = "set_auto_reconnect off\nsleep 0.3\nfind x\nscan x\nshow 1\ndelete\nsort title a\n\
                    update delete id7 x\ninit\nclose\nfind x\n";
    let ran = z3950_fed(["open", &url], commands);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let gone = "error: the server has closed the session; use open to open another\n";
    assert_eq!(ran.stderr.matches(gone).count(), 7, "{ran:?}");
    assert!(
        ran.stderr.contains("already closed the session")
            && ran.stderr.contains("no session is open"),
        "{ran:?}"
    );
    // If no new session can be opened, a message says that the commands are not run.
    drop(server);
    let ran = z3950_fed(["open", &url], "find x\n");
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.stderr.contains("the commands are not run"), "{ran:?}");
}

#[test]
fn audit_b18_a_script_ends_with_the_gravest_exit_of_its_commands() {
    let find = "find @attr 1=1032 pg1342\n";
    for (url, commands, code) in [
        ("z39.50s://localhost/nosuch?x", "", 5),
        ("z39.50s://localhost/nosuch?x", find, 5),
        (
            "z39.50s://localhost/books",
            "open z39.50s://localhost/nosuch?x\n",
            5,
        ),
        (
            "z39.50s://localhost/books",
            "open z39.50r://localhost:25/x?y\nquit\n",
            7,
        ),
        (
            "z39.50s://localhost/books",
            "find @attr 1=9999 x\nfund x\nstatus\n",
            5,
        ),
        ("z39.50s://localhost/books", "source /nonexistent/file\n", 2),
        ("z39.50s://localhost/books", "delete nosuch\n", 5),
        (
            "z39.50s://localhost/books",
            "format usmarc\nssub 1\nformat 1.2.3\nfind @attr 1=1032 pg1342\n",
            5,
        ),
        ("z39.50s://localhost/books", "! exit 3\n", 1),
        ("z39.50s://localhost/books?pg1342", "show 1\nquit\n", 0),
        ("z39.50s://localhost/books?nosuch", "", 0),
        ("z39.50s://localhost/books", "find nosuchword\n", 3),
        ("z39.50s://localhost/books", "find nosuchword\nfund x\n", 2),
    ] {
        let ran = demo(url, commands, &[]);
        assert_eq!(ran.code, Some(code), "{url} {commands}: {ran:?}");
    }
}

#[test]
fn audit_d15_a_mistyped_command_is_named() {
    for (line, hint) in [
        ("fnid war", "unknown command fnid; did you mean find?"),
        ("help shwo", "unknown command shwo; did you mean show?"),
        ("savee x", "unknown command savee; did you mean save?"),
        ("xyzzy", "unknown command xyzzy; help lists them"),
    ] {
        let ran = demo("z39.50s://localhost/books", &format!("{line}\n"), &[]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(hint), "{ran:?}");
    }
}

#[test]
fn a_script_with_a_format_writes_one_document_and_messages_to_standard_error() {
    let commands =
        "find @attr 1=1032 pg1342\nshow 1\nbase\nfind @attr 1=1032 pg84\nshow 1\nshow 1\n";
    for (format, begin, of_record, records) in [
        ("marcxml", "<?xml", "</record>", 3),
        ("dc", "<?xml", "<dc:title", 3),
        ("json", "{", "\"leader\"", 3),
        ("mrk", "=LDR", "=LDR", 3),
        ("marc", "0", "\u{1d}", 3),
        ("raw", "0", "\u{1d}", 3),
    ] {
        let ran = demo("z39.50s://localhost/books", commands, &["--format", format]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.starts_with(begin), "{format}: {ran:?}");
        assert_eq!(
            ran.stdout.matches(of_record).count(),
            records,
            "{format}: {ran:?}"
        );
        assert!(ran.stdout.matches("<?xml").count() < 2, "{ran:?}");
        assert!(ran.stdout.matches("</collection>").count() < 2, "{ran:?}");
        assert!(
            ran.stderr.contains("note: 1 hit\n") && ran.stderr.contains("note: books\n"),
            "{ran:?}"
        );
    }
}

#[test]
fn a_save_without_records_and_a_search_without_hits_are_not_failures() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("q.mrc");
    let save = format!("find @attr 1=1032 nosuch\nsave {}\n", path.display());
    let ran = demo("z39.50s://localhost/books", &save, &[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("was not written") && !path.exists(),
        "{ran:?}"
    );
    let commands = "find @attr 1=1032 nosuch\nfind @attr 1=1032 pg1342\n";
    let ran = demo("z39.50s://localhost/books", commands, &["--stop-on-error"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(3), "0 hits\n1 hit\n"));
}

#[test]
fn a_script_changes_the_format_of_records() {
    let show = "find @attr 1=1032 pg1342\nshow 1\n";
    for (commands, flags, shown, notes) in [
        (
            "format brief\nformat\n",
            &[][..],
            "brief; record syntax usmarc, else what the server has\n1 hit\nAusten, Jane",
            "",
        ),
        (
            "format line sutrs\nformat\n",
            &[],
            "text; record syntax sutrs\n1 hit\nTitle: Pride",
            "",
        ),
        // Other formats are meant for programs, so notes are printed to standard error.
        (
            "format mrk\nformat\n",
            &[],
            "=LDR  ",
            "note: mrk; record syntax usmarc, else what the server has\n",
        ),
        ("format mrk\nformat mrk\n", &[], "=LDR  ", "note: 1 hit\n"),
        ("format brief\n", &["--format", "json"], "1 hit\nAusten", ""),
        (
            "format marcxml\n",
            &["--format", "json"],
            "<?xml",
            "note: 1 hit\n",
        ),
    ] {
        let commands = format!("{commands}{show}");
        let ran = demo("localhost/books", &commands, flags);
        assert_eq!(ran.code, Some(0), "{commands}: {ran:?}");
        assert!(ran.stdout.starts_with(shown), "{commands}: {ran:?}");
        assert!(ran.stderr.contains(notes), "{commands}: {ran:?}");
    }
    // Each format is written as a separate document.
    let commands = format!("{show}format json\n{show}{show}format brief\nshow 1\n");
    let ran = demo("localhost/books", &commands, &["--format", "marcxml"]);
    let (xml, rest) = ran.stdout.split_once("</collection>\n").expect("XML");
    assert_eq!(xml.matches("<record").count(), 1, "{ran:?}");
    assert_eq!(rest.matches("\"leader\":").count(), 2, "{ran:?}");
    assert!(ran.stdout.contains("}\nAusten, Jane"), "{ran:?}");
}

#[test]
fn titles_are_listed_in_scripts_too() {
    let find = "find ti:war\n";
    let ran = demo(
        "localhost/books",
        &format!("{find}titles\ntitles\ntitles 2+1\n"),
        &[],
    );
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("note: there are no more titles"),
        "{ran:?}"
    );
    let hits: usize = lines[0]
        .split(' ')
        .next()
        .and_then(|hits| hits.parse().ok())
        .expect("hits");
    assert_eq!(lines.len(), hits + 2, "{ran:?}");
    assert!(
        lines[1].starts_with(" 1  ") && lines.last() == Some(&lines[2]),
        "{ran:?}"
    );
    for (commands, words) in [
        ("titles\n", "there is no result set"),
        ("find ti:nosuchword\ntitles\n", "the result set is empty"),
        (
            "find ti:war\ntitles 0\n",
            "usage: titles [all|N|N-LAST|N+M[+SET]]",
        ),
        ("find ti:war\ntitles 1+1+9\n", "diagnostic 30"),
    ] {
        let ran = demo("localhost/books", commands, &[]);
        assert!(ran.stderr.contains(words), "{commands}: {ran:?}");
    }
    let ran = demo(
        "localhost/books",
        "find ti:war\ntitles 1+1\nshow\n",
        &["--format", "mrk"],
    );
    assert!(ran.stderr.contains("note:  1  "), "{ran:?}");
    assert!(ran.stdout.starts_with("=LDR"), "{ran:?}");
}

#[test]
fn a_misspelt_name_gets_a_suggestion() {
    for (command, words) in [
        ("fnid war", "unknown command fnid; did you mean find?"),
        ("format usmrac", "; did you mean usmarc?"),
        ("format breif", "; did you mean brief?"),
        (
            "format mrk json",
            "json: records are shown in one format at a time",
        ),
        (
            "set fromat mrk",
            "fromat is not a setting; did you mean format?",
        ),
        (
            "help quries",
            "unknown command quries; did you mean queries?",
        ),
        ("find titel:war", "did you mean \"title\"?"),
    ] {
        let ran = demo("localhost/books", &format!("{command}\n"), &[]);
        assert_eq!(ran.code, Some(2), "{command}: {ran:?}");
        assert!(ran.stderr.contains(words), "{command}: {ran:?}");
    }
}

/// If a CQL query contains `sortby`, `find` sorts in the same way as `search`.
#[test]
fn find_sorts_as_cql_says() {
    let found = |order: &str| {
        let commands = format!("find cql:title = war sortby date{order}\nformat brief\nshow 1+5\n");
        let ran = z3950_fed(["--demo", "open", "localhost/books"], &commands);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    };
    let (ascending, descending) = (found(""), found("/sort.descending"));
    assert_ne!(ascending, descending);
}
