//! `z3950 open`: the prompt, fed from a pipe.

mod script;
mod shared;

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
        (Some(3), "0 hits\n1 hit\n")
    );
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
        ran.stderr.contains("reused") && ran.stderr.contains("no session is open"),
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
    for (setting, sessions, words) in [
        // A search notices the lost session before it is sent, and uses a new one.
        ("idle", 3, "reconnecting to"),
        ("off", 2, "has closed the session"),
    ] {
        let before = server.sessions();
        let commands = format!(
            "set_auto_reconnect {setting}\nfind x\nfind x\nopen {}\nfind @set nosuch\n",
            server.session_url("/cat")
        );
        let ran = z3950_fed(["open", &server.session_url("/cat")], &commands);
        assert!(
            ran.stderr.contains("good night") && ran.stderr.contains(words),
            "{}",
            ran.stderr
        );
        server.wait_for_end();
        assert_eq!(server.sessions() - before, sessions, "{setting}");
    }
}

#[test]
fn sets_are_named_sorted_saved_and_deleted() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("saved.mrc");
    let commands = format!(
        "find @attr 1=1032 pg1342\nfind @attr 1=1032 pg2600\nshow 1+1+1\nshow 1\nfind @or @set 1 @set 2\nsave {} all\nmakeurl 1\ndelete 1\ndelete 9\nshow 1+1+1\n",
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
    assert!(ran.stdout.contains("\ndeleted\n"), "{ran:?}");
    assert!(
        ran.stdout.contains("  1: deleted\n")
            && ran
                .stdout
                .contains("  9: not deleted: no such result set\n"),
        "{ran:?}"
    );
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
                "*       3  war",
                "        2  peace",
                "*       3  war",
                "        2  peace",
                "*       3  war",
                "        2  peace",
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

#[test]
fn answers_can_be_waited_for_later() {
    let commands = "set_auto_wait off\nfind @attr 1=1032 pg1342\nfind @attr 1=1032 nosuch\nscansize 2\n\
        wait_response\nbase books\nwait_response 1\nfind @attr 1=1032 pg2600\nshow 1\nwait_response\nshow 1\nwait_response 9\nfind @and x\n\
        set_auto_wait on\nfind @attr 1=1032 pg2600\nwait_response\n";
    let ran = demo("z39.50s://localhost/books", commands, &[]);
    let hits: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.ends_with(" hit") || line.ends_with(" hits"))
        .collect();
    assert_eq!(hits, ["1 hit", "0 hits", "1 hit", "1 hit"], "{ran:?}");
    assert!(ran.stdout.contains("001 pg2600"), "{ran:?}");
    assert_eq!(
        ran.stderr.matches("no request is pending").count(),
        2,
        "{ran:?}"
    );
    // At most a hundred requests may be pending.
    let many = format!("set_auto_wait off\n{}", "find @attr 1=4 war\n".repeat(101));
    let ran = demo("z39.50s://localhost/books", &many, &[]);
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("100 requests are pending"),
        "{ran:?}"
    );
}

#[test]
fn an_answer_goes_to_its_own_session() {
    let one = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let other = TestServer::builder()
        .database("cat", [record("id8", "Eight")])
        .start();
    let commands = format!(
        "set_auto_wait off\nfind @attr 1=1032 id7\nopen {}/cat\nfind @attr 1=1032 id7\nwait_response 2\nset_auto_wait on\n\
         show 1\nuse 1\nshow 1\n",
        other.addr()
    );
    let ran = z3950_fed(["open", &format!("{}/cat", one.addr())], &commands);
    assert!(ran.stdout.starts_with("1 hit\n0 hits\n"), "{ran:?}");
    assert_eq!(ran.stdout.matches("001 id7").count(), 1, "{ran:?}");
}

#[test]
fn a_search_is_cancelled_at_once() {
    use z3950_asn1::apdu::Apdu;
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(
            When::search().nth(1),
            Fault::Delay(std::time::Duration::from_millis(300)),
        )
        .start();
    let commands =
        "cancel_find @attr 1=1032 id7\nfind @attr 1=1032 id7\ncancel\ncancel wait\ncancel now\n";
    let target = format!("{}/cat", server.addr());
    let ran = z3950_fed(["open", &target], commands);
    // The last command does not exist.
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let triggers = server
        .wait_for_end()
        .into_iter()
        .filter(|entry| matches!(entry.apdu, Some(Apdu::TriggerResourceControlRequest(_))))
        .count();
    assert_eq!(triggers, 1, "{ran:?}");
    assert!(
        ran.stdout.contains("1 hit\noperations in progress: 0\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("usage: cancel [wait]"), "{ran:?}");
    let ran = z3950_fed(
        ["open", &target],
        "options search present\nopen\ncancel\ncancel_find @attr 1=1032 id7\n",
    );
    assert!(
        ran.stderr.contains("triggerResourceCtrl") && ran.stdout.ends_with("1 hit\n"),
        "{ran:?}"
    );
}

#[test]
fn init_can_be_sent_again_in_the_same_session() {
    use z3950_asn1::apdu::Apdu;
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let commands = "find @attr 1=1032 id7\nzversion 2\ninit\nshow 1\nfind @attr 1=1032 id7\n";
    let ran = z3950_fed(["open", &format!("{}/cat", server.addr())], commands);
    assert!(ran.stdout.ends_with("1 hit\n1 hit\n"), "{ran:?}");
    assert!(
        ran.stderr.contains("version 2") && ran.stderr.contains("no result set"),
        "{ran:?}"
    );
    let inits = server
        .wait_for_end()
        .into_iter()
        .filter(|entry| matches!(entry.apdu, Some(Apdu::InitializeRequest(_))));
    assert_eq!((inits.count(), server.sessions()), (2, 1));
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
fn what_is_ordered_is_an_item_a_loan_or_a_document() {
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
fn profiles_are_opened_by_name_and_followed() {
    use z3950_asn1::apdu::{Apdu, IdAuthentication};
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("targets.toml");
    let profile = format!(
        "[targets.mine]\nhost = \"127.0.0.1\"\nport = {}\ndatabases = [\"cat\"]\nrecord_syntax = \"sutrs\"\n\
         attributes = [\"4=2\"]\ncredentials = {{ user = \"ada\", password_env = \"PATH\" }}\n",
        server.addr().port()
    );
    std::fs::write(&path, profile).expect("written");
    let targets = path.to_str().expect("UTF-8");
    let ran = z3950_fed(
        ["--targets", targets, "open"],
        "find x\nopen mine\nbase\nfind @attr 1=4 seven\nshow 1\n",
    );
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stdout.starts_with("cat\n1 hit\nTitle: "), "{ran:?}");
    assert!(
        ran.stderr.contains("no session is open") && ran.stderr.contains("(mine)"),
        "{ran:?}"
    );
    let apdus = server
        .wait_for_end()
        .into_iter()
        .filter_map(|entry| entry.apdu);
    let (mut authentications, mut queries) = (Vec::new(), Vec::new());
    for apdu in apdus {
        match apdu {
            Apdu::InitializeRequest(request) => authentications.push(request.id_authentication),
            Apdu::SearchRequest(request) => queries.push(format!("{:?}", request.query)),
            _ => {}
        }
    }
    assert!(
        matches!(
            authentications.as_slice(),
            [Some(IdAuthentication::IdPass(_))]
        ),
        "{authentications:?}"
    );
    assert_eq!(queries.len(), 1);
}

#[test]
fn the_hits_of_parts_of_a_query_are_shown() {
    let ran = demo(
        "z39.50s://localhost/books",
        "find @and @attr 1=4 pride @attr 1=4 prejudice\nfacets @attr 1=author @attr 3=2\nfacets\nfind @attr 1=4 war\nfacets none\nfacets\n",
        &["--stop-on-error"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("1 hit\nauthor:2\n"), "{ran:?}");
    for words in ["parts of the query: pride (", "no facets requested"] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
}

#[test]
fn help_describes_every_command_and_queries() {
    let ran = demo("z39.50s://localhost/books", "help\n", &[]);
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
