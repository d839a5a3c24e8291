//! Tests for rows of `CONFORMANCE.md` that only a complete program can prove: data that it never sends or writes, and
//! environments that never affect it.

use std::io::ErrorKind;
use std::net::TcpListener;

use serde_json::{Value, json};
use z3950_tests::program::{path, run, z3950, z3950_fed};
use z3950_tests::surroundings::command;

/// RFC 1630, Registration: a name does not say how to access the object.
#[test]
fn i_1_3_a_name_is_not_followed() {
    for name in [
        "urn:isbn:0451450523",
        "URN:/iana/dns/ch/cern/cn/techdoc/94/1642-3",
    ] {
        for arguments in [&["plan"][..], &["get"], &["url", "parse", "--strict"]] {
            let ran = z3950(arguments.iter().chain(&[name]));
            let is_parsed = arguments.first() == Some(&"url");
            let code = if is_parsed { 0 } else { 2 };
            assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        }
        let ran = z3950(["url", "check", "--follow", "--json", name]);
        let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(
            (ran.code, &answer["kind"], &answer["status"]),
            (Some(0), &json!("name"), &Value::Null)
        );
    }
}

/// RFC 1630, Partial form: if no base is known, only full URIs are accepted. All URIs that are written are full.
#[test]
fn i_5_13_partial_forms_need_a_base() {
    for text in [
        "books?pg1342",
        "/books?pg1342",
        "//localhost/books?pg1342",
        "../books?pg1342",
        "?pg1342",
        "localhost/books?pg1342",
    ] {
        for (arguments, code) in [
            (&["--demo", "get"][..], 2),
            (&["plan"], 2),
            (&["url", "parse"], 2),
            (&["url", "canon"], 2),
            (&["url", "check"], 8),
        ] {
            let ran = z3950(arguments.iter().chain(&[text]));
            assert_eq!(ran.code, Some(code), "{arguments:?} {text}: {ran:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains("scheme"), "{arguments:?} {text}: {ran:?}");
        }
    }
    let base = "z39.50r://localhost/maps?x";
    let ran = z3950(["url", "resolve", base, "//localhost/books?pg1342"]);
    let full = "z39.50r://localhost/books?pg1342";
    assert_eq!(ran.stdout.trim(), full, "{ran:?}");
    let commands = "find @attr 1=1032 pg1342\nmakeurl 1\n";
    let ran = z3950_fed(["--demo", "open", "z39.50s://localhost/books"], commands);
    assert!(ran.stdout.contains(&format!("\n{full}")), "{ran:?}");
}

/// RFC 1738, Appendix: URLs are not wrapped in formats that themselves show where a URL ends.
#[test]
fn u_12_9_the_wrapper_is_for_text_alone() {
    let url = "z39.50r://localhost/books?pg1342";
    let wrapped = format!("<URL:{url}>");
    for (arguments, is_json) in [
        (&["url", "parse"][..], false),
        (&["url", "parse", "--json"], true),
        (&["url", "canon"], false),
        (&["url", "canon", "--json"], true),
        (&["url", "compare", "http://h.example/"], false),
        (&["url", "resolve", "http://h.example/"], false),
        (&["url", "resolve", "--json", "http://h.example/"], true),
        (&["--demo", "get", "--json"], true),
    ] {
        let ran = z3950(arguments.iter().chain(&[wrapped.as_str()]));
        assert!(ran.stdout.contains(url), "{arguments:?}: {ran:?}");
        assert!(!ran.stdout.contains("URL:"), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout.starts_with('{'), is_json, "{arguments:?}");
    }
    for json in [&[][..], &["--json"]] {
        let ran = z3950_fed(["url", "extract"].iter().chain(json), &wrapped);
        assert!(ran.stdout.contains(url), "{ran:?}");
        assert!(!ran.stdout.contains("URL:"), "{ran:?}");
    }
    // Without the wrapper `<URL:...>`, the delimiters of the format around a URL are enough to find it.
    for text in [
        format!("<html><a href=\"{url}\">x</a>"),
        format!("=LDR  00000nam a2200000 a 4500\n=856  40$u{url}$zx\n"),
        format!("<{url}>"),
        format!("\"{url}\""),
    ] {
        let ran = z3950_fed(["url", "extract"], &text);
        let found = ran.stdout.split('\t').nth(2).map(str::trim_end);
        assert_eq!(found, Some(url), "{text}: {ran:?}");
    }
    assert_eq!(z3950(["url", "wrap", url]).stdout.trim(), wrapped);
}

/// RFC 1738 §3.8: user and password are only advice for the user. The program does not connect to the host, so it cannot send
/// them.
#[test]
fn u_8_2_user_and_password_of_an_interactive_service_are_never_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    listener.set_nonblocking(true).expect("a listener");
    let port = listener.local_addr().expect("it is bound").port();
    for scheme in ["telnet", "rlogin", "tn3270"] {
        let url = format!("{scheme}://ann:sesame@127.0.0.1:{port}/");
        for (arguments, code) in [
            (&["get"][..], 2),
            (&["open"], 2),
            (&["plan"], 2),
            (&[], 2),
            (&["url", "check", "--follow"], 0),
            (&["url", "parse"], 0),
            (&["url", "parse", "--json"], 0),
        ] {
            let ran = z3950(arguments.iter().chain(&[url.as_str()]));
            assert_eq!(ran.code, Some(code), "{arguments:?} {scheme}: {ran:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains("sesame"), "{arguments:?}: {said}");
        }
        let ran = z3950(["url", "parse", "--json", &url]);
        let parts: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(parts["user"], json!("ann"), "the advice is shown");
        assert_eq!(parts["port"], json!(port));
    }
    let connection = listener.accept().map_err(|error| error.kind());
    assert!(matches!(connection, Err(ErrorKind::WouldBlock)));
}

/// RFC 1736 §4.2: the meaning of a locator is the same for every reader in every environment.
#[test]
fn l_4_2_the_environment_does_not_change_the_meaning_of_a_url() {
    let urls = [
        "Z39.50R://LIB.Example/cat+maps?%49D7;esn=F;rs=marc",
        "z39.50s://lib/cat",
        "http://I.example/%69?q=%C4%B0",
        "ftp://ann@h.example/a;type=A",
        "gopher://h.example/1/a",
        "mailto:Ann@H.example",
        "news:comp.lang.c",
        "nntp://h.example/comp.lang.c/1",
        "telnet://h.example/",
        "wais://h.example/db?q+w",
        "file://localhost/etc/motd",
        "prospero://h.example/x;a=b",
        "urn:x:%49",
        "x-foo:%49",
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let answers = |variables: &[(&str, &str)], is_elsewhere: bool| {
        let commands = [
            &["url", "parse", "--json"][..],
            &["url", "canon"],
            &["url", "check", "--json"],
        ];
        let mut all = String::new();
        for arguments in commands {
            let mut command = command(path("z3950"));
            command.args(arguments).args(urls);
            command.envs(variables.iter().copied());
            if is_elsewhere {
                command.current_dir(folder.path());
            }
            let ran = run(&mut command, "");
            assert_eq!(ran.code, Some(0), "{variables:?}: {ran:?}");
            all += &ran.stdout;
        }
        all
    };
    let plain = answers(&[], false);
    for (url, cautions) in [
        ("z39.50s://lib/cat", "RelativeHostName"),
        ("file://localhost/etc/motd", "LocalHost"),
    ] {
        let line = plain
            .lines()
            .find(|line| line.contains(url) && line.contains("cautions"));
        let line = line.expect("a line of `url check`");
        assert!(
            line.contains(cautions),
            "what is relative is marked: {line}"
        );
    }
    let home = folder.path().to_str().expect("text");
    for variables in [
        &[("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8")][..],
        &[("LC_ALL", "C"), ("TZ", "Pacific/Chatham")],
        &[("LOCALDOMAIN", "other.example"), ("RES_OPTIONS", "ndots:9")],
        &[("HOSTNAME", "lib.example"), ("USER", "bob"), ("HOME", home)],
        &[("XDG_CONFIG_HOME", home), ("XDG_DATA_HOME", home)],
        &[
            ("ALL_PROXY", "http://127.0.0.1:1"),
            ("http_proxy", "http://127.0.0.1:1"),
        ],
    ] {
        assert_eq!(answers(variables, true), plain, "{variables:?}");
    }
}
