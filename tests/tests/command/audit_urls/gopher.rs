//! Tests for findings about Gopher.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::Value;
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

/// A Gopher+ server that records the requests that it receives.
struct Recorder {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let port = listener.local_addr().expect("it is bound").port();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream);
                let mut request = String::new();
                // An error means that the client has disconnected, which the test notices.
                let _ = reader.read_line(&mut request);
                while request.contains("\t+\t1\r\n") && !request.ends_with("\r\n.\r\n") {
                    if !reader.read_line(&mut request).is_ok_and(|read| read > 0) {
                        break;
                    }
                }
                let reply = Self::reply(&request);
                kept.lock().expect("no panic").push(request);
                let _ = reader.get_mut().write_all(&reply);
            }
        });
        Self { port, requests }
    }

    fn reply(request: &str) -> Vec<u8> {
        let (item, plus) = request.trim_end().split_once('\t').unwrap_or((request, ""));
        let info = format!("+-2\r\n+INFO: 0Item\t{item}\tlib.example\t70\t?\r\n");
        match (item, plus) {
            ("order", "\t!+ASK") => {
                let form =
                    "+ASK:\r\n Note: Both, please\r\n Ask: Name\tnobody\r\n Select: Bound:0\r\n";
                (info + form).into_bytes()
            }
            ("notes", "\t!+ASK") => (info + "+ASK:\r\n Note: None\r\n").into_bytes(),
            ("plain", "\t!+ASK") => info.into_bytes(),
            ("order" | "notes", plus) if plus.starts_with("+\t1\r\n") => b"+4\r\ndone".to_vec(),
            ("none", _) => b"3Nothing\t\terror.host\t1\r\n.\r\n".to_vec(),
            (code, "\t+") => format!("--1\r\n{code} me\r\nWords\r\n.\r\n").into_bytes(),
            ("words", _) => b"words\r\n.\r\n".to_vec(),
            _ => b"+-1\r\n.\r\n".to_vec(),
        }
    }

    /// Returns the requests since the last call.
    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().expect("no panic"))
    }
}

/// Draft §2.5 and §3.2, RFC 1738 §3.4.5: the form is fetched and its questions are answered before the form is submitted. If an
/// answer is missing, the form is not submitted.
#[test]
fn audit_r_e1_a_form_is_fetched_before_its_answers_are_sent() {
    let server = Recorder::start();
    let ask = |item: &str| format!("{item}\t\t!+ASK\r\n");
    let filled = |item: &str, answers: &str| format!("{item}\t+\t1\r\n+-1\r\n{answers}.\r\n");
    for (item, answers, code, words, requests) in [
        (
            "order",
            &[][..],
            2,
            &[
                "Both, please",
                "no answer: Name [nobody]",
                "no answer: Bound:0",
            ][..],
            vec![ask("order")],
        ),
        (
            "order",
            &["me"],
            2,
            &["no answer: Bound:0", "give an --answer for each question"],
            vec![ask("order")],
        ),
        (
            "order",
            &["me", "1"],
            0,
            &[],
            vec![ask("order"), filled("order", "me\r\n1\r\n")],
        ),
        (
            "order",
            &["", "1"],
            0,
            &[],
            vec![ask("order"), filled("order", "\r\n1\r\n")],
        ),
        (
            "order",
            &["me", "1", "more"],
            2,
            &["asks for 2 answers, and 3 were given"],
            vec![ask("order")],
        ),
        ("order", &["me", "."], 2, &["lone dot"], vec![]),
        (
            "notes",
            &[],
            0,
            &[],
            vec![ask("notes"), filled("notes", "")],
        ),
        (
            "notes",
            &["x"],
            2,
            &["asks for 0 answers"],
            vec![ask("notes")],
        ),
        ("plain", &["x"], 2, &["lists no form"], vec![ask("plain")]),
        ("plain", &[], 2, &["lists no form"], vec![ask("plain")]),
        ("none", &["x"], 3, &["no such item"], vec![ask("none")]),
        (
            "words",
            &["x"],
            6,
            &["does not answer by Gopher+"],
            vec![ask("words"), "words\t\t!\r\n".to_owned()],
        ),
    ] {
        let url = format!("gopher://127.0.0.1:{}/0{item}%09%09?", server.port);
        let answers = answers.iter().flat_map(|answer| ["--answer", answer]);
        let ran = z3950(["get", &url].into_iter().chain(answers));
        assert_eq!(ran.code, Some(code), "{item}: {ran:?}");
        for words in words {
            assert!(ran.stderr.contains(words), "{item}: {words}: {ran:?}");
        }
        assert_eq!(ran.stdout, if code == 0 { "done" } else { "" }, "{item}");
        assert_eq!(server.requests(), requests, "{item}");
    }
}

/// RFC 1736 §3: a locator that cannot be followed at present is distinguished from a locator that leads nowhere.
#[test]
fn audit_r_e7_a_server_that_says_to_try_again_is_unavailable() {
    let server = Recorder::start();
    for (reply, code, outcome, status, followed) in [
        ("1", 3, "no match", "gone", 8),
        ("2", 6, "unavailable", "unavailable", 6),
        ("3", 3, "no match", "gone", 8),
        ("7", 5, "record refused", "refused", 5),
    ] {
        let url = format!("gopher://127.0.0.1:{}/0{reply}%09%09+", server.port);
        let ran = z3950(["get", &url]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains("Words"), "{ran:?}");
        let ran = z3950(["get", "--json", &url]);
        let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(
            (ran.code, &answer["outcome"]),
            (Some(code), &outcome.into())
        );
        let ran = z3950(["url", "check", "--follow", &url]);
        assert_eq!(ran.code, Some(followed), "{ran:?}");
        assert!(ran.stdout.starts_with(status), "{ran:?}");
    }
}

/// An option for one kind of URL must not be silently ignored for other kinds. It is refused, and nothing is sent.
#[test]
fn audit_r_e8_terms_and_answers_are_refused_where_they_do_not_apply() {
    let server = Recorder::start();
    let gopher = |rest: &str| format!("gopher://127.0.0.1:{}/{rest}", server.port);
    let (search, form) = (gopher("7find"), gopher("0order%09%09?"));
    let record = "z39.50r://127.0.0.1:1/books?id7".to_owned();
    for (option, urls) in [
        ("--query", vec![gopher("0text")]),
        ("--query", vec![gopher("7find%09cat")]),
        ("--query", vec![form.clone()]),
        ("--query", vec![record.clone()]),
        ("--query", vec![search.clone(), record.clone()]),
        ("--answer", vec![gopher("0text")]),
        ("--answer", vec![gopher("0order%09%09+")]),
        (
            "--answer",
            vec![gopher("0order%09%09+%091%0D%0A+-1%0D%0A.%0D%0A")],
        ),
        ("--answer", vec![search.clone()]),
        ("--answer", vec![form, record.clone()]),
    ] {
        let urls = urls.iter().map(String::as_str);
        let ran = z3950(["get", option, "x"].into_iter().chain(urls));
        assert_eq!(ran.code, Some(2), "{option}: {ran:?}");
        assert!(ran.stderr.contains(&format!("{option} is for")), "{ran:?}");
    }
    let ran = z3950(["get", "--query", "x", "--input", "/dev/null"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(server.requests(), Vec::<String>::new());
    // A malformed URL is refused because it is malformed, and not because of the option.
    let ran = z3950(["get", "--query", "x", "gopher://h.example/7%zz"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("hexadecimal"),
        "{ran:?}"
    );
}
