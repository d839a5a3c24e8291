//! Tests for findings about Gopher.

use z3950_tests::program::z3950;

use crate::command::locators::gopher_server;

#[test]
fn audit_b10_refused_selectors_say_why() {
    for (rest, option, text, words) in [
        (
            "7find",
            "--query",
            "a\tb",
            "the search string holds a tab or a line end",
        ),
        (
            "7find",
            "--query",
            "a\nb",
            "the search string holds a tab or a line end",
        ),
        (
            "0form%09%09?",
            "--answer",
            ".",
            "an answer is a lone dot, which would end the form",
        ),
        (
            "0form%09%09?",
            "--answer",
            "a\nb",
            "an answer holds a line end",
        ),
    ] {
        let ran = z3950([
            "get",
            &format!("gopher://127.0.0.1:1024/{rest}"),
            option,
            text,
        ]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stderr.contains(words) && !ran.stderr.contains("00"),
            "{ran:?}"
        );
    }
}

/// The program must not wait for a server that keeps the connection open.
#[test]
fn audit_b17_a_dot_ends_a_text_while_the_connection_is_open() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        use std::io::Write;
        let mut held = Vec::new();
        for mut stream in listener.incoming().flatten() {
            // An error means that the client has disconnected, which the test notices.
            let _ = stream.write_all(b"one\r\n.\r\nmore");
            held.push(stream);
        }
    });
    let url = format!("gopher://127.0.0.1:{port}/0x");
    let ran = z3950(["get", "--deadline", "20", &url]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "one\r\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("4 octets after it are left out"),
        "{ran:?}"
    );
    let ran = z3950(["get", "--format", "raw", &url]);
    assert_eq!(ran.stdout, "one\r\n.\r\nmore");
}

#[test]
fn audit_b19_get_sends_an_octet_0_with_a_caution() {
    let port =
        gopher_server(|request| format!("{}\r\n.\r\n", request.escape_default()).into_bytes());
    for strict in [&[][..], &["--strict"]] {
        let url = format!("gopher://127.0.0.1:{port}/0a%00b");
        let ran = z3950(["get", url.as_str()].iter().chain(strict));
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "a\\u{0}b\r\n"),
            "{ran:?}"
        );
        assert!(
            ran.stderr.starts_with("warning: ") && ran.stderr.contains("control"),
            "{ran:?}"
        );
    }
}
