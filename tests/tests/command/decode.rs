//! Tests of `z3950 decode`, `z3950 completions` and `z3950 man`.

use serde_json::Value;
use z3950::service::init;
use z3950_asn1::apdu::{Close, CloseReason};
use z3950_asn1::codec::encode;
use z3950_tests::hex;
use z3950_tests::program::{Daemon, z3950, z3950_fed};

/// Returns an Init with a password, and a Close.
fn captured() -> Vec<u8> {
    let mut init = init::offer();
    init.id_authentication = Some(init::id_pass(Some("me"), None, Some("sesame")));
    let init = encode(&init.into()).expect("encodes");
    let close = encode(&Close::new(CloseReason::FINISHED, None).into()).expect("encodes");
    [init, close].concat()
}

#[test]
fn captured_octets_are_apdus_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("captured");
    let digits = hex::digits(&captured());
    for octets in [captured(), digits.clone().into_bytes()] {
        std::fs::write(&file, octets).expect("written");
        let file = file.to_str().expect("text");
        let ran = z3950(["decode", file, "--octets"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.starts_with("#1 octet 0: initRequest, ")
                && ran.stdout.contains("\n#2 octet ")
                && ran.stdout.contains(": close, "),
            "{ran:?}"
        );
        assert!(!ran.stdout.contains("sesame"), "{ran:?}");
        for words in [
            "\n  protocolVersion: 1, 2, 3\n",
            "\n  options: search, present, ",
            "\n  idAuthentication: <redacted>\n",
            "\n  closeReason: finished\n",
        ] {
            assert!(ran.stdout.contains(words), "{words} in {}", ran.stdout);
        }
    }
    let ran = z3950_fed(["decode", "-", "--show-secrets"], &digits);
    assert!(ran.stdout.contains("user me, password sesame"), "{ran:?}");
    let ran = z3950_fed(["decode", "-", "--json"], &digits);
    let line: Value =
        serde_json::from_str(ran.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&line["apdu"], &line["offset"]),
        (&"initRequest".into(), &0.into())
    );
    let value = &line["value"];
    assert_eq!(value["protocolVersion"], serde_json::json!([1, 2, 3]));
    let options = value["options"].as_array().expect("names of options");
    assert!(options.contains(&"namedResultSets".into()), "{value}");
    for (octets, words) in [("b405", "ends 2 octets into"), ("3000", "octet 0")] {
        let ran = z3950_fed(["decode", "-"], octets);
        assert_eq!(ran.code, Some(8), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    assert_eq!(z3950(["decode", "/nonexistent"]).code, Some(2));
}

#[test]
fn audit_d14_transcripts_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("said.jsonl");
    let daemon = Daemon::start(["--demo".as_ref(), "--transcript".as_ref(), file.as_os_str()]);
    let url = format!("z39.50r://{}/books?pg1342", daemon.address());
    assert_eq!(z3950(["get", &url]).code, Some(0));
    let url = format!("http://{}/books", daemon.address());
    assert_eq!(
        z3950(["search", "--count", "1", &url, "ti:war"]).code,
        Some(0)
    );
    drop(daemon);
    let ran = z3950(["decode".as_ref(), file.as_os_str()]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    for words in [
        "session 1, received: initRequest, ",
        "session 1, sent: initResponse, ",
        "session 1, sent: searchResponse, ",
        "session 2, received: GET /books?",
        "session 2, sent: HTTP/1.1 200 OK, ",
    ] {
        assert!(ran.stdout.contains(words), "{words} in {}", ran.stdout);
    }
    let mut lines = std::fs::read_to_string(&file).expect("a transcript");
    // The last line that was written depends on the moment of the kill, so a truncated line is added here.
    let cut = lines.lines().next().expect("a line")[..40].to_owned();
    lines.push_str(&cut);
    lines.push_str("\n{\"session\":1,\"direction\":\"sent\",\"octets\":\"30 00\"}\n");
    let ran = z3950_fed(["decode", "--json", "-"], &lines);
    assert_eq!(ran.code, Some(8), "{ran:?}");
    let said: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let first = &said[0];
    assert_eq!(
        [&first["apdu"], &first["direction"], &first["session"]],
        [&Value::from("initRequest"), &"received".into(), &1.into()]
    );
    assert!(first["time"].is_string() && first["offset"].is_null() && first["line"].is_u64());
    assert_eq!(said[said.len() - 1]["apdu"], "undecodable");
    let sent = said.iter().find(|one| one["http"] == "HTTP/1.1 200 OK");
    assert!(sent.is_some_and(|sent| sent["octets"].as_u64() > Some(100)));
    assert!(ran.stderr.contains("not a line of a transcript"), "{ran:?}");
}

#[test]
fn transcripts_of_another_version_are_refused() {
    let close = r#"{"session":1,"direction":"sent","octets":"bf30059f81530100"}"#;
    for (version, is_known) in [("1", true), ("2", false), ("\"1\"", false), ("null", true)] {
        let opened = format!(r#"{{"session":1,"event":"opened","version":{version}}}"#);
        let lines = format!("{opened}\n{close}\n");
        let ran = z3950_fed(["decode", "-"], &lines);
        assert_eq!(ran.code == Some(0), is_known, "{ran:?}");
        assert_eq!(ran.stdout.contains("close"), is_known, "{ran:?}");
        let words = format!("line 1: version {version} of transcripts");
        assert_eq!(ran.stderr.contains(&words), !is_known, "{ran:?}");
    }
}

#[test]
fn audit_d14_packets_are_named_with_the_line_that_takes_octets_out_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("it's.pcap");
    for begin in ["d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a"] {
        let mut octets = hex::octets(begin);
        octets.resize(40, 0);
        std::fs::write(&file, octets).expect("written");
        let ran = z3950(["decode".as_ref(), file.as_os_str()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(
            ran.stderr.contains("packet capture (pcap)") && ran.stderr.contains("tshark -r '"),
            "{ran:?}"
        );
        assert!(ran.stderr.contains(r"it'\''s.pcap"), "{ran:?}");
    }
}

#[test]
fn completions_and_the_manual_page_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = z3950(["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}");
        assert!(ran.stdout.contains("_Z3950_COMPLETE"), "{shell}");
    }
    for (page, words) in [
        (
            &[][..],
            &[".TH Z3950 1", "z3950\\-search", ".SH \"EXIT STATUS\""][..],
        ),
        (&["search"], &[".TH Z3950\\-SEARCH 1"]),
        (
            &["targets", "add"],
            &[".TH Z3950\\-TARGETS 1", "\\-\\-index"],
        ),
    ] {
        let ran = z3950([&["man"], page].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for words in words {
            assert!(ran.stdout.contains(words), "{words}: {ran:?}");
        }
    }
}
