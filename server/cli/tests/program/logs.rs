//! Tests of the access log, and of the messages that `-v` logs.

use std::fs;

use super::daemon::{Daemon, Folder, Session, init_of, lines_of, search, update};

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_ends_no_session() {
    let full = fs::File::options().write(true).open("/dev/full");
    let full = full.expect("Linux has it").into();
    let daemon = Daemon::telling(&["-vv", "--demo", "--listen", "127.0.0.1:0"], full);
    assert_eq!(daemon.hits("books", "@attr 1=4 emma"), 1);
}

#[test]
fn logs_of_sessions_contain_no_secrets() {
    let (daemon, words) = Daemon::heard(&["--demo", "-v", "--listen", "127.0.0.1:0"]);
    daemon.converse(&[search("books", "@attr 1=1032 pg1342")]);
    let told = words.until("session over");
    let access = told
        .iter()
        .find(|line| line.contains("z3950_server::access"));
    let access = access.unwrap_or_else(|| panic!("{told:#?}"));
    for words in [
        "search",
        "databases=\"books\"",
        "@attr 1=1032 pg1342",
        "hits=1",
    ] {
        assert!(access.contains(words), "{words} in {access}");
    }
    let metrics = told.last().map_or("", String::as_str);
    for words in [
        "z3950_server::metrics",
        "requests=2",
        "searches=1",
        "octets_out=",
    ] {
        assert!(metrics.contains(words), "{words} in {metrics}");
    }
}

/// The messages have the same form as the program's other messages.
#[test]
fn refusals_name_the_client() {
    let folder = Folder::new();
    let user = "[[access.user]]\nname = \"ann\"\npassword = \"secret\"\nupdate = false\n";
    let text = format!("demo = true\nlisten = \"127.0.0.1:0\"\n{user}");
    let settings = folder.write("z3950d.toml", &text);
    let (daemon, words) = Daemon::heard(&["--config", &settings]);
    words.until("SRU at");
    let mut session = Session::connected(&daemon.listening);
    session.ask(&init_of(Some("joe/secret")));
    assert_eq!(
        words.until("Init"),
        ["Init is refused peer=127.0.0.1 user=\"joe\" \
          why=\"diagnostic 1011 (user or password is wrong): joe\""]
    );
    let mut session = Session::connected(&daemon.listening);
    session.ask(&init_of(Some("ann/secret")));
    session.ask(&update("books"));
    assert_eq!(
        words.until("update"),
        ["an update is refused peer=127.0.0.1 user=\"ann\" \
          why=\"diagnostic 222 (this user may not use the extended service): \
          user ann may not update databases\""]
    );
}

#[test]
fn the_access_log_follows_its_file() {
    let folder = Folder::new();
    let (log, moved) = (folder.at("access.log"), folder.at("access.log.1"));
    let path = log.to_str().expect("text");
    let arguments = ["--demo", "--listen", "127.0.0.1:0", "--access-log", path];
    let (daemon, words) = Daemon::heard(&arguments);
    daemon.hits("books", "@attr 1=4 war");
    lines_of(&log, 1);
    daemon.hits("books", "@attr 1=4 war");
    let lines = lines_of(&log, 2);
    for (line, session) in lines.iter().zip(1..) {
        for part in [
            &format!(" session={session} peer=127.0.0.1:")[..],
            " init=1 search=1 records=0 octets-in=",
            " end=left",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
    fs::rename(&log, &moved).expect("moved");
    daemon.signal("HUP");
    words.until("reloaded: 2 databases read again");
    let answers = daemon.converse(&[search("nosuch", "war")]);
    assert_eq!(answers.len(), 2);
    lines_of(&moved, 2);
    let lines = lines_of(&log, 1);
    assert!(
        lines[0].ends_with(
            " error=\"search: diagnostic 235 (there is no database of this name): nosuch\""
        ),
        "{lines:?}"
    );
}

#[test]
fn the_access_log_is_json_on_request() {
    let arguments = ["--demo", "--listen", "127.0.0.1:0", "--access-log", "-"];
    let json = ["--access-log-format", "json"];
    let (daemon, words) = Daemon::heard(&[&arguments[..], &json].concat());
    daemon.hits("books", "@attr 1=4 war");
    let lines = words.until("\"session\":1");
    let line = lines.last().expect("a line");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(line["operations"]["search"], 1);
    assert_eq!(line["end"], "left");
}
