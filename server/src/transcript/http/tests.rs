//! Messages as lines, with and without secrets.

use serde_json::json;

use super::*;

fn entry(head: &str, body: &[u8]) -> HttpEntry {
    HttpEntry {
        time: SystemTime::UNIX_EPOCH,
        session: 3,
        direction: Direction::Received,
        message: HttpMessage {
            head: head.to_owned(),
            body: Bytes::copy_from_slice(body),
        },
    }
}

#[test]
fn messages_are_read_back() {
    for (head, body) in [
        ("GET /cat?query=a HTTP/1.1\nhost: a\n", &b""[..]),
        (
            "HTTP/1.1 200 OK\ncontent-type: text/xml\n",
            b"<a>\xc3\xa9</a>",
        ),
        ("HTTP/1.1 200 OK\n", b"\xe9\xff"),
    ] {
        let entry = entry(head, body);
        let read = HttpEntry::from_json(&entry.to_json());
        assert_eq!(read, Ok(Some(entry)));
    }
    for (object, expected) in [
        (json!({"octets": ""}), Ok(None)),
        (json!({"head": 1}), Err("head is not a text")),
        (json!({"head": "", "body": 1}), Err("body is not a text")),
        (
            json!({"head": "", "body-octets": "f"}),
            Err("body-octets are not in hexadecimal"),
        ),
        (json!({"head": ""}), Err("session is not a number")),
        (
            json!({"head": "", "session": 1}),
            Err("direction is neither received nor sent"),
        ),
    ] {
        assert_eq!(HttpEntry::from_json(&object), expected, "{object}");
    }
}

#[test]
fn secrets_are_left_out() {
    for (head, body, expected) in [
        (
            "GET /cat?x-username=ann&x-password=opensesame&query=a HTTP/1.1\nHost: a\n",
            "",
            "x-username=ann&x-password=*&query=a HTTP/1.1\nHost: a\n",
        ),
        (
            "GET /cat?X%2dPassword=opensesame HTTP/1.1\n",
            "",
            "X%2dPassword=* HTTP/1.1",
        ),
        (
            "GET / HTTP/1.1\nAUTHORIZATION: Basic opensesame\n",
            "",
            "AUTHORIZATION: *\n",
        ),
        (
            "POST / HTTP/1.1\n",
            "query=a&x-password=opensesame",
            "query=a&x-password=*",
        ),
        (
            "POST / HTTP/1.1\n",
            "<a:x-password b='c'>opensesame</a:x-password><d>e</d>",
            "<a:x-password b='c'>*</a:x-password><d>e</d>",
        ),
        (
            "POST / HTTP/1.1\n",
            " <password>opensesame</password>",
            "<password>*</password>",
        ),
        // Names that are none of a secret.
        (
            "POST / HTTP/1.1\n",
            "<passwords>a</passwords>",
            "<passwords>a</passwords>",
        ),
        ("POST / HTTP/1.1\n", "a=b&c", "a=b&c"),
        ("POST / HTTP/1.1\n", "%=b&%é=c", "%=b&%é=c"),
    ] {
        let entry = entry(head, body.as_bytes());
        let shown = format!("{entry:?}");
        assert!(shown.contains(expected), "{shown}");
        for text in [shown, entry.to_json().to_string()] {
            assert!(!text.contains("opensesame"), "{text}");
        }
    }
}
