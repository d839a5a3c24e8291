//! Tests of `z3950 open` with several sessions, lost sessions, and the information from Init.

use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::z3950_fed;

use super::demo;

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
        // Before it sends a search, the client detects that the session is lost, and opens a new one.
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
fn audit_r_f_after_base_everything_names_the_current_database() {
    use z3950_asn1::apdu::CloseReason;
    let both = || {
        let server = TestServer::builder().database("cat", [record("id7", "Seven")]);
        server.database("other", [record("id8", "Eight")])
    };
    let server = both().start();
    let close = Fault::Close(CloseReason::SHUTDOWN, None);
    let closing = both().fault(When::search(), close).start();
    for (opened, commands, expected) in [
        ("", "sessions\n", "*1 {other}  open\n"),
        ("", "use 1\n", "note: at {other}\n"),
        ("", "init\n", "at {other}, version 3\n"),
        ("", "search ti:nosuch\n", "{other}: no record matches\n"),
        ("", "search --count 0 ti:eight\n", "1 {other}\n"),
        ("", "search --json ti:eight\n", r#""target":"{other}""#),
        ("", "lookup nosuch\n", "{other}: "),
        ("", "lookup --json id8\n", r#""target":"{other}""#),
        ("", "scan --set ti:x @attr 1=9999 x\n", "{other}: "),
        ("", "scan @attr 1=4 zzz\n", "{other}: "),
        ("", "update delete --id nosuch\n", "{other}: "),
        ("", "explain --json\n", r#""target":"{other}""#),
        (
            "",
            "search --count 0 --database cat ti:x\n",
            "{cat}: no record matches\n",
        ),
        ("", "base a+b\nsessions\n", "*1 {addr}/a b  open\n"),
        ("", "base\nsessions\n", "other\n*1 {other}  open\n"),
        ("z39.50s://", "sessions\n", "*1 {other}  open\n"),
        ("z39.50s://", "search --count 0 ti:eight\n", "1 {other}\n"),
        ("closing", "find x\nfind x\n", "reconnecting to {other}\n"),
    ] {
        let (scheme, server) = if opened == "closing" {
            ("", &closing)
        } else {
            (opened, &server)
        };
        let addr = server.addr();
        let target = format!("{scheme}{addr}/cat");
        let expected = expected
            .replace("{other}", &format!("{addr}/other"))
            .replace("{cat}", &format!("{addr}/cat"))
            .replace("{addr}", &addr.to_string());
        let ran = z3950_fed(["open", &target], format!("base other\n{commands}"));
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(all.contains(&expected), "{commands}: {expected}: {all}");
    }
}

#[test]
fn the_contents_of_init_follow_the_settings() {
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
    assert!(ran.stderr.contains("100 requests are pending"), "{ran:?}");
    // After the last command, the program waits for all pending requests.
    assert!(ran.stderr.contains("waiting for 100 pending"), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 100, "{ran:?}");
}

/// Neither a request that was sent nor its answer may be lost.
#[test]
fn pending_requests_are_waited_for_before_their_session_is_closed() {
    for (end, code) in [
        ("", 5),
        ("quit\n", 5),
        ("set_auto_wait on\nclose\n", 5),
        ("wait_response\nquit\n", 5),
    ] {
        let commands = format!("set_auto_wait off\nfind @attr 1=9999 x\n{end}");
        let ran = demo("z39.50s://localhost/books", &commands, &[]);
        assert_eq!(ran.code, Some(code), "{end}: {ran:?}");
        assert_eq!(ran.stderr.matches("diagnostic 114").count(), 1, "{ran:?}");
    }
    // A command that stops the script does not stop requests that were sent earlier.
    let commands =
        "set_auto_wait off\nfind @attr 1=1032 pg1342\nnosuch\nfind @attr 1=1032 pg2600\n";
    let ran = demo("z39.50s://localhost/books", commands, &["--stop-on-error"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), "1 hit\n"), "{ran:?}");
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
    // `cancel now` is not a command, so the exit code is 2.
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
