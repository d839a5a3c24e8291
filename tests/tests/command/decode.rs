//! `z3950 decode`, `z3950 completions` and `z3950 man`.

use serde_json::Value;
use z3950_asn1::apdu::{Close, CloseReason};
use z3950_asn1::codec::encode;
use z3950_client::service::init::{InitOptions, authenticate};
use z3950_tests::hex;
use z3950_tests::program::{z3950, z3950_fed};

/// An Init with a password, and a Close.
fn captured() -> Vec<u8> {
    let init = InitOptions {
        authentication: Some(authenticate::id_pass(Some("me"), None, Some("sesame"))),
        ..InitOptions::default()
    };
    let init = encode(&init.request().into()).expect("encodes");
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
    for (octets, words) in [("b405", "ends 2 octets into"), ("3000", "octet 0")] {
        let ran = z3950_fed(["decode", "-"], octets);
        assert_eq!(ran.code, Some(8), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    assert_eq!(z3950(["decode", "/nonexistent"]).code, Some(2));
}

#[test]
fn shells_and_readers_are_served() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = z3950(["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}");
        assert!(ran.stdout.contains("lookup"), "{shell}");
    }
    let ran = z3950(["man"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in [
        ".TH z3950",
        ".SH Z3950 SEARCH",
        ".SH Z3950 TARGETS ADD",
        "Exit codes",
    ] {
        assert!(ran.stdout.contains(words), "{words}");
    }
}
