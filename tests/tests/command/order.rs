//! Tests of `z3950 order`: orders for a record that a search finds, orders with a request written by the user, and the resulting
//! task packages.

use serde_json::Value;
use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, z3950};

fn order(daemon: &Daemon, arguments: &[&str]) -> Ran {
    let target = format!("{}/books", daemon.address());
    z3950([&["order", target.as_str()], arguments].concat())
}

#[test]
fn one_record_is_ordered() {
    let daemon = Daemon::start(["--demo"]);
    let ran = order(
        &daemon,
        &[
            "ti:pride",
            "--contact-name",
            "A. Reader",
            "--payment",
            "invoice",
            "--package",
            "mine",
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in [
        "task: accepted",
        "Package name: mine",
        "A. Reader",
        "pending",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {ran:?}");
    }
    // A package with this name exists already.
    let ran = order(&daemon, &["ti:pride", "--package", "mine", "--json"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let line: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (&line["outcome"], &line["diagnostic"]["code"], &line["hits"]),
        (&"task failed".into(), &218.into(), &1.into())
    );
    // The order is sent as an ILL request (ISO 10161).
    let ran = order(&daemon, &["ti:pride", "--ill"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1.0.10161.2.1"), "{ran:?}");
    let ran = order(&daemon, &["war", "--item", "2", "--json"]);
    let line: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (&line["outcome"], &line["position"], &line["task"]["status"]),
        (&"accepted".into(), &2.into(), &"accepted".into()),
        "{ran:?}"
    );
}

#[test]
fn a_unimarc_record_can_be_requested_on_loan() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("uni.mrk");
    let record = "=LDR  00000nam0 2200000   450 \n=001  u1\n=100  \\\\$a20010101d2001    m  y0frey50      ba\n\
                  =200  1\\$aGuerre et wars\n";
    std::fs::write(&path, record).expect("written");
    let database = format!("uni={}", path.display());
    let daemon = Daemon::start(["--demo", "--database", &database]);
    let target = format!("{}/uni", daemon.address());
    let ran = z3950(["order", &target, "@attr 1=1016 wars", "--ill"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1.0.10161.2.1"), "{ran:?}");
}

#[test]
fn requests_from_a_file_are_sent_unchanged() {
    let daemon = Daemon::start(["--demo"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, octets: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, octets).expect("written");
        path.to_str().expect("text").to_owned()
    };
    let xml = file("request.xml", b"<loan>one copy</loan>");
    let ill = file("request.ber", b"\x61\x03\x80\x01\x01");
    let words = file("words.txt", b"the first edition");
    for request in [&xml, &ill] {
        let ran = order(&daemon, &["--request", request, "--description", &words]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("the first edition"), "{ran:?}");
    }
    let ran = order(&daemon, &["--request", &words]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn only_a_single_record_is_ordered() {
    let daemon = Daemon::start(["--demo"]);
    for (arguments, code, words) in [
        (&["nonesuchword"][..], 3, "nothing was ordered"),
        (&["war"], 4, "--item"),
        (&["ti:pride", "--item", "9"], 2, "fewer than --item"),
        (&["@attr 1=4"], 2, "missing"),
        (&[], 2, "QUERY"),
        (&["ti:pride", "--wait", "yes"], 5, "225"),
        (&["ti:pride", "--customer-reference", "x"], 2, "--payment"),
    ] {
        let ran = order(&daemon, arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn yaz_ztest_takes_orders() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let target = format!("127.0.0.1:{}/Default", server.port);
    let ran = z3950(["order", &target, "computer", "--item", "1"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("911"), "{ran:?}");
}

#[test]
fn sru_has_no_orders() {
    // No server has to listen at this address, because the error is reported before a connection is made.
    let ran = z3950(["order", "http://127.0.0.1:1/books", "ti:pride"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.ends_with(": SRU has no orders\n"), "{ran:?}");
}
