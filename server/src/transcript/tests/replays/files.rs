//! Tests of recordings in files: errors, doubtful lines, and limits.

use std::io::Write as _;

use super::*;
use crate::transcript::lines::{Line, read_lines};

#[test]
fn files_are_refused_with_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = recording(&[&[init(), search("@attr 1=1032 id7")]]).to_string();
    let lines: Vec<_> = text.lines().collect();
    let opened = |version: u64| {
        format!("{{\"session\":7,\"event\":\"opened\",\"peer\":\"unix\",\"version\":{version}}}\n")
    };
    let http = "{\"time\":\"2026-01-31T00:00:00Z\",\"head\":\"GET / HTTP/1.1\\n\",\"session\":7,\"direction\":\"received\"}\n";
    for (text, expected) in [
        (
            opened(2) + &text,
            "line 1: version 2 of the format, and this program reads version 1",
        ),
        (format!("{}\nx\n", lines[0]), "line 2: expected value"),
        (format!("{}\n[]\n", lines[0]), "line 2: not a JSON object"),
        (
            text.replacen("\"octets\":\"", "\"octets\":\"g", 1),
            "line 2: octets are not in hexadecimal",
        ),
        (opened(1) + http, "only APDUs are replayed"),
        (
            format!("{}\n{}\n", lines[1], lines[0]),
            "line 1: no line before it names the version of the format",
        ),
        (
            http.to_owned(),
            "line 1: no line before it names the version of the format",
        ),
        (
            text.clone() + &text,
            "line 6: the session was opened before",
        ),
        (
            format!(
                "{}\n{{\"event\":\"closed\",\"session\":1}}\n{}\n",
                lines[0], lines[1]
            ),
            "line 3: the session was closed before",
        ),
    ] {
        let path = written(&folder, &text);
        let error = Replay::open(&path).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{expected}: {error}");
    }
    for empty in [String::new(), opened(1)] {
        let replay = Replay::open(&written(&folder, &empty)).expect("an empty recording");
        let expected = ["there are no APDUs, so every request is unknown"];
        assert_eq!(replay.remarks(), expected);
    }
    let missing = folder.path().join("nowhere");
    assert!(Replay::open(&missing).is_err());
    assert!(Replay::open(folder.path()).is_err());
}

/// Deleted or moved lines are detected, because they leave gaps.
#[test]
fn doubtful_lines_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = [init(), search("@attr 1=1032 id7"), present(1, 1)];
    let text = recording(&[&requests, &[init()]]).to_string();
    let lines: Vec<_> = text.lines().collect();
    let year = lines[6].find("\"time\":\"").expect("a time") + 8;
    let earlier = [&lines[6][..year], "2000", &lines[6][year + 4..]].concat();
    let garbage = lines[6].replacen("\"octets\":\"b9", "\"octets\":\"b8", 1);
    let garbage = garbage.replacen("\"presentResponse\"", "\"malformed\"", 1);
    let challenge = AccessControlRequest {
        reference_id: None,
        security_challenge: SecurityChallenge::SimpleForm(b"who"[..].into()),
        other_info: None,
    };
    let challenge = Apdu::from(challenge);
    let octets = codec::encode(&challenge).expect("encodes");
    let mut challenge = TranscriptEntry::now(1, Direction::Sent, &octets, Some(&challenge));
    challenge.time = Recording::parse(lines[3]).expect("a line").entries[0].time;
    let challenge = challenge.to_json().to_string();
    let without = |gone: usize| [&lines[..gone], &lines[gone + 1..]].concat();
    let with = |place: usize, line| [&lines[..place], &[line][..], &lines[place + 1..]].concat();
    for (lines, expected) in [
        (lines.clone(), &[][..]),
        // The last request of a session may lack an answer.
        (without(6), &[]),
        (without(4), &["line 4: the searchRequest has no answer"]),
        (
            without(3),
            &["line 4: the searchResponse answers no request"],
        ),
        (
            without(7),
            &["line 8: the beginning of session 2 is missing"],
        ),
        (
            with(6, &earlier),
            &["line 7: earlier than the line of session 1 before it"],
        ),
        (with(6, &garbage), &["line 7: the answer is no APDU"]),
        // A server may ask a question before it answers, so this line is not doubtful.
        (
            with(3, &challenge),
            &["line 4: the accessControlRequest answers no request"][..0],
        ),
    ] {
        let path = written(&folder, &(lines.join("\n") + "\n"));
        let replay = Replay::open(&path).expect("a recording");
        assert_eq!(replay.doubts(), expected);
    }
    // If there are many doubtful lines, only the first of them are named.
    let many = [&lines[..3], &[lines[4]; 30]].concat().join("\n");
    let replay = Replay::open(&written(&folder, &(many + "\n"))).expect("a recording");
    assert_eq!(replay.doubts().len(), 21);
    assert_eq!(replay.doubts()[20], "10 further lines are doubtful");
}

#[test]
fn a_file_that_is_cut_short_is_replayed_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = recording(&[&[init(), search("@attr 1=1032 id7")]]).to_string();
    let path = written(&folder, &text[..text.len() - 9]);
    let replay = Replay::open(&path).expect("a recording");
    assert_eq!(replay.remarks(), ["line 5 is cut short, and is left out"]);
    let mut player = Player::new(&Arc::new(replay), 1);
    let octets = codec::encode(&init()).expect("encodes").into();
    assert_eq!(
        names(&blocking(player.answer(&octets)).output),
        ["initResponse"]
    );
    // Only the last line feed is missing, so the recording is complete.
    let path = written(&folder, text.trim_end());
    let replay = Replay::open(&path).expect("a recording");
    assert!(replay.remarks().is_empty());
}

#[test]
fn the_number_of_requests_is_limited() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, &[&[init(), search("@attr 1=1032 id7")]]);
    assert!(Replay::open_within(&path, 2).is_ok());
    let error = Replay::open_within(&path, 1).expect_err("one too many");
    assert_eq!(error.to_string(), "more than 1 requests or sessions");
}

#[test]
fn a_file_that_changes_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, &[&[init()]]);
    let replay = Arc::new(Replay::open(&path).expect("a recording"));
    let mut other = std::fs::File::options()
        .write(true)
        .open(&path)
        .expect("a file");
    let length = other.metadata().expect("a file").len();
    let blanks = vec![b' '; usize::try_from(length).expect("small")];
    other.write_all(&blanks).expect("written");
    let octets = codec::encode(&init()).expect("encodes").into();
    let played = blocking(Player::new(&replay, 1).answer(&octets));
    let why = played.not_recorded.expect("why");
    assert!(why.starts_with("the recording cannot be read: "), "{why}");
    assert!(said(&played.output)[0].contains("the file was changed"));
}

#[test]
fn lines_have_a_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written(&folder, "{\"event\":\"x\"}\n");
    let read = |most| {
        let mut lines = 0;
        let read = read_lines(&path, most, |_, line, _| {
            lines += usize::from(matches!(line, Line::Event(_)));
            Ok(())
        });
        read.map(|_| lines).map_err(|error| error.to_string())
    };
    assert_eq!(read(14), Ok(1));
    assert_eq!(read(13), Err("line 1: longer than 13 octets".to_owned()));
}
