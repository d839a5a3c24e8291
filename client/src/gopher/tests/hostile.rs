//! Tests of hostile servers: replies are limited in octets, lines and time.

use super::*;

#[tokio::test(start_paused = true)]
async fn hostile_servers_are_abandoned_within_limits() {
    let bounded = |max_octets| GopherOptions {
        max_octets,
        ..GopherOptions::default()
    };
    for (path, turn, max_octets, deadline, expected, seconds) in [
        (
            "0a",
            Turn::Endless(b"\0"),
            1 << 20,
            60,
            "the reply is larger than 1048576 octets, the limit",
            0,
        ),
        (
            "1a",
            Turn::Endless(b"0A\t/a\th\t70\r\n"),
            1 << 20,
            60,
            "the reply is larger than 1048576 octets, the limit",
            0,
        ),
        (
            "1a",
            Turn::Endless(b"\t\t\t\t\t\n"),
            1 << 16,
            60,
            "the reply is larger than 65536 octets, the limit",
            0,
        ),
        (
            "0a%09%09+",
            Turn::Endless(b"+"),
            1 << 16,
            60,
            "the reply is larger than 65536 octets, the limit",
            0,
        ),
        (
            "0a",
            Turn::Trickle,
            1 << 20,
            60,
            "the reply stopped after 30 octets: no response within 30 s",
            30,
        ),
        (
            "0a",
            Turn::Trickle,
            1 << 20,
            5,
            "the reply stopped after 5 octets: the deadline passed",
            5,
        ),
        (
            "0a",
            Turn::Silence,
            1 << 20,
            5,
            "no reply: the deadline passed",
            5,
        ),
    ] {
        let server = Scripted::new(&[std::slice::from_ref(&turn)]);
        let begun = Instant::now();
        let mut options = bounded(max_octets);
        options.timeouts.deadline = Some(begun + Duration::from_secs(deadline));
        let result = retrieve(&url(path), &options, &server).await;
        assert_eq!(shown(result), expected, "{path} {turn:?}");
        assert_eq!(begun.elapsed().as_secs(), seconds, "{path} {turn:?}");
    }
    // A reply may have as many octets as the limit, but not one more.
    for (octets, fits) in [(1000, true), (1001, false)] {
        let server = Scripted::new(&[&[sent(vec![b'x'; octets])]]);
        let result = retrieve(&url("9a"), &bounded(1000), &server).await;
        assert_eq!(result.is_ok(), fits, "{octets}");
    }
}

/// Tests menus with the maximum number of lines and with one more line, and text, which may have any number of lines.
#[tokio::test(start_paused = true)]
async fn lines_of_menus_are_bounded() {
    for (path, more, fits) in [("1a", 0, true), ("1a", 1, false), ("0a", 1, true)] {
        let server = Scripted::new(&[&[sent("x\n".repeat(MAX_LINES + more))]]);
        assert_eq!(get(path, &server).await.is_ok(), fits, "{path} {more}");
    }
    let blocks = format!("+-2\r\n{}", "+A:\n".repeat(MAX_LINES + 1));
    let server = Scripted::new(&[&[sent(blocks)]]);
    assert_eq!(
        shown(get("0a%09%09!", &server).await),
        "the reply has more than 100000 lines, the limit for menus and attributes"
    );
}
