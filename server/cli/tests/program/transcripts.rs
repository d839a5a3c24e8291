//! Tests of transcripts, APDU logs and replays.

use std::fs;

use z3950_asn1::apdu::{Apdu, PresentRequest, ResultSetId};
use z3950_server::transcript::{Direction, Recording};
use z3950_tests::surroundings::command;

use super::daemon::{Daemon, Folder, ran, search};

#[test]
fn audit_d8_a_replay_compares_requests_unless_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = folder
        .path()
        .join("said.jsonl")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    let daemon = Daemon::start(&["--demo", "--listen", "127.0.0.1:0", "--transcript", &said]);
    let recorded = daemon.hits("books", "@attr 1=4 war");
    assert!(recorded > 0);
    drop(daemon);
    let daemon = Daemon::start(&["--replay", &said, "--listen", "127.0.0.1:0"]);
    assert_eq!(daemon.hits("books", "@attr 1=4 war"), recorded);
    let answers = daemon.converse(&[search("books", "@attr 1=4 peace")]);
    let Some(Apdu::SearchResponse(response)) = answers.last() else {
        panic!("{answers:?}")
    };
    assert!(!response.search_status, "{response:?}");
    assert!(format!("{response:?}").contains("this request is not in the recording"));
    drop(daemon);
    let in_order = [
        "--replay",
        &said,
        "--replay-in-order",
        "--listen",
        "127.0.0.1:0",
    ];
    let daemon = Daemon::start(&in_order);
    assert_eq!(daemon.hits("books", "@attr 1=4 peace"), recorded);
    let alone = ran(&["--demo", "--replay-in-order"]);
    assert_eq!(alone.status.code(), Some(2));
}

#[test]
fn no_output_replaces_the_recording_that_is_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (said, link) = (at("said.jsonl"), at("link.jsonl"));
    drop(Daemon::start(&[
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--transcript",
        &said,
    ]));
    fs::hard_link(&said, &link).expect("a link");
    let recorded = fs::read(&said).expect("a recording");
    for option in [
        "--transcript",
        "--report-missing",
        "--judge",
        "--apdu-log",
        "--access-log",
    ] {
        for output in [&said, &link] {
            let replay = ["--replay", &said, option, output, "--overwrite"];
            let ran = ran(&[&replay[..], &["--listen", "127.0.0.1:0"]].concat());
            let words = String::from_utf8_lossy(&ran.stderr);
            assert_eq!(ran.status.code(), Some(2), "{words}");
            let expected = format!("{option} {output} is the recording to be replayed");
            assert!(words.contains(&expected), "{words}");
        }
    }
    assert_eq!(fs::read(&said).expect("a recording"), recorded);
}

#[test]
fn outputs_are_different_files_or_devices() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (file, same) = (at("x"), at("./x"));
    for (one, other) in [
        ("--transcript", "--apdu-log"),
        ("--transcript", "--access-log"),
        ("--access-log", "--judge"),
        ("--judge", "--judge"),
    ] {
        let outputs = ["--demo", "--check", one, &file, other, &same];
        let refused = ran(&outputs);
        let words = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{words}");
        assert!(words.contains("name another"), "{one} {other}: {words}");
        assert!(!folder.path().join("x").exists());
        let devices = ["--demo", "--check", one, "/dev/null", other, "/dev/null"];
        let taken = ran(&devices);
        assert_eq!(taken.status.code(), Some(0), "{taken:?}");
    }
}

#[test]
fn a_transcript_is_written_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (said, listed) = (at("said.jsonl"), at("apdus.log"));
    let logs = ["--transcript", &said, "--apdu-log", &listed];
    let daemon = Daemon::start(&[&["--demo", "--listen", "127.0.0.1:0"][..], &logs].concat());
    let first = PresentRequest {
        result_set_id: ResultSetId::from("default"),
        result_set_start_point: 1,
        number_of_records_requested: 1,
        ..PresentRequest::default()
    };
    let requests = [search("books", "@attr 1=1032 pg1342"), first.into()];
    let answers = daemon.converse(&requests);
    drop(daemon);
    let text = fs::read_to_string(&said).expect("a transcript");
    let recording = Recording::parse(&text).expect("a recording");
    assert_eq!(
        names(&recording),
        [
            "initRequest",
            "initResponse",
            "searchRequest",
            "searchResponse",
            "presentRequest",
            "presentResponse"
        ]
    );
    assert_eq!(recording.entries[0].direction, Direction::Received);
    let listed = fs::read_to_string(&listed).expect("a log");
    assert!(listed.contains("session 1 sent searchResponse"), "{listed}");
    // The answers from a replay are counted and transcribed like all other answers.
    let again = at("again.jsonl");
    let replay = ["--replay", &said, "--transcript", &again];
    let arguments = [&replay[..], &["--listen", "127.0.0.1:0"]].concat();
    let (mut daemon, words) = Daemon::heard(&arguments);
    let unknown = search("books", "@attr 1=1032 pg1");
    let [find, show] = requests;
    let found = daemon.converse(&[find, show, unknown]);
    assert_eq!(found[..3], answers);
    daemon.signal("TERM");
    let last = words.until("stopped after");
    let last = last.last().expect("a line");
    let totals = "1 session, 4 operations (1 failed), 1 record sent";
    assert!(last.ends_with(totals), "{last}");
    assert!(daemon.child.wait().expect("ended").success());
    let text = fs::read_to_string(&again).expect("a transcript");
    let of_replay = Recording::parse(&text).expect("a recording");
    assert_eq!(names(&of_replay)[..6], names(&recording));
    assert_eq!(of_replay.entries[5].octets, recording.entries[5].octets);
}

/// The check reports the line of every part that is missing or was changed.
#[test]
fn a_check_finds_parts_that_were_cut_out_of_a_recording() {
    let folder = Folder::new();
    let said = folder.at("said.jsonl").to_str().expect("text").to_owned();
    let recorder = ["--demo", "--listen", "127.0.0.1:0", "--transcript", &said];
    let mut daemon = Daemon::start(&recorder);
    let find = |term: &str| search("books", &format!("@attr 1=4 {term}"));
    daemon.converse(&[find("war"), find("peace")]);
    daemon.signal("TERM");
    daemon.child.wait().expect("ended");
    let text = fs::read_to_string(&said).expect("a transcript");
    let lines: Vec<_> = text.lines().collect();
    let without = |gone: usize| {
        let (before, after) = lines.split_at(gone);
        [before, &after[1..]].concat().join("\n") + "\n"
    };
    for (text, words) in [
        (text.clone(), None),
        (without(4), Some("line 4: the searchRequest has no answer")),
        (
            without(3),
            Some("line 4: the searchResponse answers no request"),
        ),
        (
            text.replacen(",\"version\":1", "", 1),
            Some("line 1: version of the format is missing"),
        ),
        (
            text.replace("\"octets\":\"b7", "\"octets\":\"b6"),
            Some("line 5: apdu is searchResponse, and the octets are malformed"),
        ),
    ] {
        fs::write(&said, text).expect("written");
        let checked = ran(&["--replay", &said, "--check"]);
        let told = String::from_utf8_lossy(&checked.stderr);
        let code = words.map_or(0, |_| 2);
        assert_eq!(checked.status.code(), Some(code), "{words:?}: {told}");
        assert!(
            told.contains(words.unwrap_or_default()),
            "{words:?}: {told}"
        );
    }
}

fn names(recording: &Recording) -> Vec<&'static str> {
    let entries = recording.entries.iter();
    entries.map(|entry| entry.name()).collect()
}

#[test]
fn transcripts_follow_their_files() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name).to_str().expect("text").to_owned();
    let (said, listed) = (at("said.jsonl"), at("apdus.log"));
    let logs = ["--transcript", &said, "--apdu-log", &listed];
    let arguments = [&["--demo", "--listen", "127.0.0.1:0"][..], &logs].concat();
    let (daemon, words) = Daemon::heard(&arguments);
    daemon.hits("books", "@attr 1=4 war");
    for path in [&said, &listed] {
        fs::rename(path, format!("{path}.1")).expect("moved");
    }
    daemon.signal("HUP");
    words.until("reloaded: 2 databases read again");
    daemon.hits("books", "@attr 1=4 peace");
    for path in [&said, &listed] {
        let before = fs::read_to_string(format!("{path}.1")).expect("text");
        let after = fs::read_to_string(path).expect("text");
        let sent = ["initResponse", "searchResponse"];
        for text in [&before, &after] {
            assert!(sent.iter().all(|name| text.contains(name)), "{text}");
        }
        assert!(!before.contains("session 2") && !after.contains("session 1"));
    }
}

#[test]
fn sessions_with_another_server_are_recorded_and_replayed() {
    let folder = Folder::new();
    let said = folder.at("said.jsonl").to_str().expect("text").to_owned();
    let library = Daemon::start(&["--demo", "--listen", "127.0.0.1:0"]);
    let upstream = &library.listening.clone();
    let arguments = [
        "--record",
        &said,
        "--upstream",
        upstream,
        "--listen",
        "127.0.0.1:0",
    ];
    let (recorder, words) = Daemon::heard(&arguments);
    words.until(&format!("sessions with {upstream} are recorded in {said}"));
    let recorded = recorder.hits("books", "@attr 1=4 war");
    assert_eq!(library.hits("books", "@attr 1=4 war"), recorded);
    drop((recorder, library));
    let before = fs::read_to_string(&said).expect("a transcript");
    // The transcript is not overwritten unless `--overwrite` is used.
    let again = ran(&arguments);
    assert_eq!(again.status.code(), Some(2));
    let told = String::from_utf8_lossy(&again.stderr);
    assert!(
        told.contains("--overwrite") && told.contains(&said),
        "{told}"
    );
    assert_eq!(fs::read_to_string(&said).expect("a transcript"), before);
    let replay = Daemon::start(&["--replay", &said, "--listen", "127.0.0.1:0"]);
    assert_eq!(replay.hits("books", "@attr 1=4 war"), recorded);
    drop(replay);
    let arguments = [&arguments[..], &["--overwrite"]].concat();
    let (recorder, words) = Daemon::heard(&arguments);
    words.until("are recorded in");
    // The recorded server has ended, so the recorder closes the client's session.
    let mut client = super::daemon::Session::connected(&recorder.listening);
    let answer = client.ask(&super::daemon::init_of(None));
    assert!(matches!(answer, Apdu::Close(_)), "{answer:?}");
    let told = words.until("cannot be reached");
    let told = told.last().expect("a line");
    assert!(told.ends_with(" error=connection refused"), "{told}");
    let text = fs::read_to_string(&said).expect("a transcript");
    assert!(!text.contains("searchRequest"), "{text}");
}

#[test]
fn a_full_disk_ends_the_files_and_not_the_sessions() {
    if !std::path::Path::new("/dev/full").exists() {
        eprintln!("skipped: no /dev/full");
        return;
    }
    let folder = Folder::new();
    let said = folder.at("said.jsonl").to_str().expect("text").to_owned();
    let library = ["--demo", "--transcript", &said, "--listen", "127.0.0.1:0"];
    let upstream = Daemon::start(&library);
    let war = search("books", "@attr 1=4 war");
    let expected = upstream.converse(std::slice::from_ref(&war));
    let address = upstream.listening.clone();
    for arguments in [
        // The replay comes first, because the recording that follows it adds to the transcript.
        &["--replay", &said, "--report-missing", "/dev/full"][..],
        &["--record", "/dev/full", "--upstream", &address],
        &["--demo", "--transcript", "/dev/full"],
        &["--demo", "--apdu-log", "/dev/full"],
    ] {
        let arguments = [arguments, &["--overwrite", "--listen", "127.0.0.1:0"]].concat();
        let (mut daemon, words) = Daemon::heard(&arguments);
        let unknown = search("books", "@attr 1=4 peace");
        daemon.converse(&[unknown]);
        words.until("/dev/full ends here, sessions go on without it: No space left");
        assert_eq!(daemon.converse(std::slice::from_ref(&war)), expected);
        daemon.signal("TERM");
        words.until("/dev/full is incomplete: No space left");
        let status = daemon.child.wait().expect("ended");
        assert_eq!(status.code(), Some(1), "{arguments:?}");
    }
}

/// Named pipes are refused because opening one would wait for a reader.
#[cfg(unix)]
#[test]
fn outputs_are_neither_named_pipes_nor_folders() {
    let folder = Folder::new();
    let said = folder.write("said.jsonl", "");
    let pipe = folder.at("pipe").to_str().expect("text").to_owned();
    let made = command("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let here = folder.at("").to_str().expect("text").to_owned();
    for (output, what) in [(&pipe, "a named pipe (FIFO)"), (&here, "is a folder")] {
        for arguments in [
            &["--record", output, "--upstream", "127.0.0.1:1"][..],
            &["--demo", "--transcript", output],
            &["--demo", "--apdu-log", output],
            &["--demo", "--access-log", output],
            &["--demo", "--judge", output],
            &["--replay", &said, "--report-missing", output],
        ] {
            let ran = ran(&[arguments, &["--overwrite", "--listen", "127.0.0.1:0"]].concat());
            let words = String::from_utf8_lossy(&ran.stderr);
            assert_eq!(ran.status.code(), Some(2), "{arguments:?}: {words}");
            assert!(words.contains(what), "{arguments:?}: {words}");
        }
    }
}

#[test]
fn a_recorder_needs_a_server_and_a_file() {
    for (arguments, words) in [
        (&["--record", "said.jsonl"][..], "--upstream HOST:PORT"),
        (&["--upstream", "127.0.0.1:1"], "--record FILE"),
        (
            &[
                "--record",
                "said.jsonl",
                "--upstream",
                "127.0.0.1:1",
                "--demo",
            ],
            "leave out files, --demo",
        ),
        (
            &[
                "--record",
                "said.jsonl",
                "--upstream",
                "http://127.0.0.1:1/",
            ],
            "not SRU",
        ),
        (
            &["--record", "said.jsonl", "--upstream", ""],
            "'--upstream <ADDR>': the text is empty",
        ),
        (
            &[
                "--record",
                "said.jsonl",
                "--upstream",
                "127.0.0.1:4711",
                "--listen",
                "127.0.0.1:4711",
            ],
            "this server itself",
        ),
        (
            &[
                "--record",
                "said.jsonl",
                "--upstream",
                "127.0.0.1:1",
                "--transcript",
                "other.jsonl",
            ],
            "leave out --transcript",
        ),
    ] {
        let output = ran(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
}

#[test]
fn a_server_with_tls_is_recorded_if_it_is_trusted() {
    let folder = Folder::new();
    folder.certify(2100);
    let at = |name: &str| folder.at(name).to_str().expect("text").to_owned();
    let (certificate, key) = (at("server.pem"), at("server.key"));
    let listen = ["--demo", "--listen", "tls:127.0.0.1:0"];
    let files = ["--certificate", &certificate, "--key", &key];
    let library = Daemon::start(&[&listen[..], &files].concat());
    let port = library.listening.rsplit(':').next().expect("a port");
    let upstream = format!("ssl:localhost:{port}");
    let said = at("said.jsonl");
    let arguments = [
        "--record",
        &said,
        "--upstream",
        &upstream,
        "--listen",
        "127.0.0.1:0",
        "--overwrite",
    ];
    let (recorder, words) = Daemon::heard(&arguments);
    let mut client = super::daemon::Session::connected(&recorder.listening);
    let answer = client.ask(&super::daemon::init_of(None));
    assert!(matches!(answer, Apdu::Close(_)), "{answer:?}");
    words.until(&format!("{upstream} error="));
    drop((recorder, words));
    let trusting = [&arguments[..], &["--upstream-ca", &certificate]].concat();
    let recorder = Daemon::start(&trusting);
    assert!(recorder.hits("books", "@attr 1=4 war") > 0);
    let text = fs::read_to_string(&said).expect("a transcript");
    assert!(text.contains("searchResponse"), "{text}");
}

#[test]
fn requests_that_were_never_recorded_are_reported() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name).to_str().expect("text").to_owned();
    let (said, missing) = (at("said.jsonl"), at("missing.jsonl"));
    let daemon = Daemon::start(&["--demo", "--listen", "127.0.0.1:0", "--transcript", &said]);
    daemon.hits("books", "@attr 1=4 war");
    drop(daemon);
    let arguments = [
        "--replay",
        &said,
        "--report-missing",
        &missing,
        "--listen",
        "127.0.0.1:0",
    ];
    let daemon = Daemon::start(&arguments);
    let unknown = search("books", "@attr 1=4 peace");
    daemon.converse(&[search("books", "@attr 1=4 war"), unknown.clone(), unknown]);
    drop(daemon);
    let report = fs::read_to_string(&missing).expect("a report");
    assert_eq!(report.lines().count(), 1, "{report}");
    assert!(report.contains("@attr 1=4 peace") && report.contains("not in the recording"));
    let again = ran(&arguments);
    assert_eq!(again.status.code(), Some(2));
    let told = String::from_utf8_lossy(&again.stderr);
    assert!(
        told.contains(&missing) && told.contains("--overwrite"),
        "{told}"
    );
    let alone = ran(&["--demo", "--report-missing", &missing]);
    let told = String::from_utf8_lossy(&alone.stderr);
    assert_eq!(alone.status.code(), Some(2));
    assert!(told.contains("--replay FILE"), "{told}");
    // A truncated recording is replayed up to the place where it breaks off, and a message says so.
    let text = fs::read_to_string(&said).expect("a transcript");
    fs::write(&said, &text[..text.len() - 20]).expect("written");
    let (_daemon, words) = Daemon::heard(&["--replay", &said, "--listen", "127.0.0.1:0"]);
    words.until("is cut short, and is left out");
}
