//! `z3950 open`: the prompt, fed from a pipe.

use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{Ran, z3950_fed};

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
        assert_eq!(ran.code, Some(0), "{query}: {ran:?}");
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
    let ran = demo(
        "z39.50s://localhost/books?pg1342",
        "",
        &["--no-auto-present", "--strategy", "present-only"],
    );
    assert_eq!(ran.stdout, "1 hit\n");
    let ran = demo("z39.50s://localhost/books?twice", "show 2\n", &[]);
    assert!(
        ran.stdout.starts_with("2 hits\n") && ran.stdout.contains("001 twice"),
        "{ran:?}"
    );
    let ran = demo(
        "z39.50s://localhost/books?nosuch",
        "find @attr 1=1032 pg1342\n",
        &[],
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "0 hits\n1 hit\n")
    );
}

#[test]
fn a_retrieval_url_opens_a_session_with_its_record() {
    let ran = demo("z39.50r://localhost/books?pg1342", "show 1\n", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.matches("001 pg1342").count(), 2, "{ran:?}");
}

#[test]
fn a_failed_command_is_told_and_the_session_goes_on() {
    for (command, code, words) in [
        ("show 1", 2, "no result set"),
        ("find @and x", 2, "missing"),
        ("fund x", 2, "no command"),
        ("find @attr 1=9999 x", 5, "114"),
        ("find @attr 1=1032 pg1342\nshow 9", 5, "13"),
        ("format klingon", 2, "not known"),
    ] {
        let commands = format!("{command}\nfind @attr 1=1032 pg2600\n");
        let ran = demo("z39.50s://localhost/books", &commands, &[]);
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
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
fn nothing_is_sent_that_was_not_asked_for() {
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
fn open_at_the_prompt_takes_up_its_own_session() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let commands = format!(
        "open {}\nbase\nclose\nfind x\n",
        server.session_url("/maps")
    );
    let ran = z3950_fed(["open", &server.session_url("/cat")], &commands);
    assert_eq!(ran.stdout, "maps\n", "{ran:?}");
    assert!(
        ran.stderr.contains("taken up") && ran.stderr.contains("no session is open"),
        "{}",
        ran.stderr
    );
    server.wait_for_end();
    assert_eq!(server.sessions(), 1);
}

#[test]
fn a_server_that_ends_the_session_is_noticed() {
    use z3950_asn1::apdu::CloseReason;
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(
            When::search(),
            Fault::Close(CloseReason::SHUTDOWN, Some("good night")),
        )
        .start();
    let commands = format!(
        "find x\nfind x\nopen {}\nfind @set nosuch\n",
        server.session_url("/cat")
    );
    let ran = z3950_fed(["open", &server.session_url("/cat")], &commands);
    assert!(
        ran.stderr.contains("good night") && ran.stderr.contains("has ended the session"),
        "{}",
        ran.stderr
    );
    server.wait_for_end();
    assert_eq!(server.sessions(), 2, "another one was opened");
}

#[test]
fn sets_are_named_sorted_saved_and_deleted() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("saved.mrc");
    let commands = format!(
        "find @attr 1=1032 pg1342\nfind @attr 1=1032 pg2600\nshow 1+1+1\nshow 1\nfind @or @set 1 @set 2\nsave {} all\nmakeurl 1\ndelete 1\nshow 1+1+1\n",
        path.display()
    );
    let ran = demo("z39.50s://localhost/books", &commands, &[]);
    let first = ran.stdout.find("001 pg1342").expect("record of set 1");
    let second = ran.stdout.find("001 pg2600").expect("record of set 2");
    assert!(first < second, "{ran:?}");
    assert!(ran.stdout.contains("2 hits\n"), "{ran:?}");
    assert!(
        ran.stdout.contains("z39.50r://localhost/books?pg"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("deleted: success"), "{ran:?}");
    assert!(ran.stderr.contains("diagnostic 30"), "{ran:?}");
    let saved = std::fs::read(&path).expect("the file is there");
    assert_eq!(saved.iter().filter(|&&octet| octet == 0x1d).count(), 2);
}

#[test]
fn sets_are_sorted_and_indexes_scanned() {
    use z3950_tests::peer;
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let commands = "find 15\nsort 1=4 a\nsort title >s!\nscansize 3\nscan @attr 1=4 a\nscan a\nsetscan 1 @attr 1=4 a\nupdate insert id7 \"<a/>\"\nlast 2\n";
    let ran = z3950_fed(
        [
            "open",
            &format!("127.0.0.1:{}/Default", server.port),
            "--stop-on-error",
        ],
        commands,
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines.get(..9),
        Some(
            &[
                "15 hits",
                "sorted: success",
                "sorted: success",
                "* war (3)",
                "  peace (2)",
                "* war (3)",
                "  peace (2)",
                "* war (3)",
                "  peace (2)",
            ][..]
        ),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("task: done"), "{ran:?}");
    assert!(
        ran.stdout.contains("sent extendedServicesRequest")
            && ran
                .stdout
                .contains("received extendedServicesResponse: done"),
        "{ran:?}"
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
    assert!(ran.stderr.contains("nonsense is no setting"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("secret"), "{ran:?}");
}

#[test]
fn files_of_commands_are_carried_out_but_not_for_ever() {
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
        ran.stderr.contains("within each other") && ran.stdout.ends_with("1 hit\n"),
        "{ran:?}"
    );
}

#[test]
fn several_sessions_are_open_at_once() {
    let one = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let other = TestServer::builder()
        .database("cat", [record("id8", "Eight")])
        .start();
    let commands = format!(
        "find @attr 1=1032 id7\nopen {}/cat\nfind @attr 1=1032 id7\nsessions\nuse 1\nshow 1\nuse 3\nclose\nsessions\n",
        other.addr()
    );
    let target = format!("{}/cat", one.addr());
    let ran = z3950_fed(["open", &target], &commands);
    assert!(ran.stdout.starts_with("1 hit\n0 hits\n"), "{ran:?}");
    assert!(
        ran.stdout.contains("*2 ") && ran.stdout.contains("001 id7"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("there is no session 3"), "{ran:?}");
    assert!(ran.stdout.contains("*1 "), "{ran:?}");
    assert_eq!((one.sessions(), other.sessions()), (1, 1));
}

#[test]
fn what_init_says_follows_the_settings() {
    use z3950_asn1::apdu::{Apdu, IdAuthentication, Options};
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let commands = format!(
        "zversion 2\nnegcharset utf-8 1\nlang eng\nauthentication ada staff secret\nset_otherinfo 0 1.2.840.10003.10.1000.81.3 192.0.2.1\nrefid r1\nopen {}/cat\nfind @attr 1=1032 id7\n",
        server.addr()
    );
    let ran = z3950_fed(["open", &format!("{}/cat", server.addr())], &commands);
    assert!(ran.stdout.contains("1 hit\n"), "{ran:?}");
    let mut entries = server
        .wait_for_end()
        .into_iter()
        .filter_map(|entry| entry.apdu);
    let init = entries
        .by_ref()
        .filter_map(|apdu| match apdu {
            Apdu::InitializeRequest(request) => Some(request),
            _ => None,
        })
        .nth(1)
        .expect("two sessions");
    assert_eq!(init.protocol_version.highest(), Some(2));
    assert!(init.options.contains(Options::NEGOTIATION_MODEL));
    assert!(matches!(
        init.id_authentication,
        Some(IdAuthentication::IdPass(_))
    ));
    assert_eq!(init.other_info.map(|info| info.0.len()), Some(2));
    let search = entries.find_map(|apdu| match apdu {
        Apdu::SearchRequest(request) => Some(request),
        _ => None,
    });
    let search = search.expect("a search");
    assert_eq!(search.other_info.map(|info| info.0.len()), Some(1));
    assert_eq!(
        search.reference_id.map(|id| id.0.as_bytes().to_vec()),
        Some(b"r1".to_vec())
    );
}

/// Ordinary commands, for both programs.
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
    let theirs = run(
        &mut std::process::Command::new(yaz),
        &format!("{commands}quit\n"),
    );
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
