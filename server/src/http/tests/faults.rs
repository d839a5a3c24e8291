//! Tests of faults on HTTP connections.

use super::*;

/// Sends a search to a server with this rule. Returns the octets received, the time until then, and the reason for the end of the
/// session; the client disconnects after ten seconds.
async fn heard(rule: &str) -> (String, Duration, SessionEnd) {
    let faults = Faults::new().with(rule.parse().expect("a rule"));
    let target = Target::new(catalogue(), Limits::default());
    let mut caller = Caller::on(target, faults, None);
    let begun = Instant::now();
    caller.send(get(&format!("/cat?{WAR}"))).await;
    let mut octets = Vec::new();
    let mut space = [0; 4096];
    let mut last = begun;
    while let Ok(Ok(count)) =
        tokio::time::timeout(Duration::from_secs(10), caller.stream.read(&mut space)).await
        && count > 0
    {
        last = Instant::now();
        octets.extend(&space[..count]);
    }
    drop(caller.stream);
    caller.task.await.expect("no panic");
    let ends = SessionEnd::ALL.iter().copied();
    let mut ends = ends.filter(|end| caller.metrics.sessions_ended(*end) == 1);
    let end = ends.next().expect("an end");
    let text = String::from_utf8_lossy(&octets).into_owned();
    (text, last.duration_since(begun), end)
}

#[tokio::test(start_paused = true)]
async fn answers_are_late_cut_or_not_there() {
    let (whole, _, end) = heard("on sru scan: silence").await;
    assert!(
        whole.starts_with("HTTP/1.1 200") && whole.trim_end().ends_with("Response>"),
        "{whole}"
    );
    assert_eq!(end, SessionEnd::Left);
    // Only the start of each answer is compared, because the date varies.
    let start = whole.get(..20).expect("a status");
    for (rule, length, seconds, expected) in [
        ("on sru search: delay 3s", whole.len(), 3, SessionEnd::Left),
        ("on http: silence", 0, 0, SessionEnd::Left),
        ("on any: cut 100", 100, 0, SessionEnd::Fault),
        ("on sru: reset 20", 20, 0, SessionEnd::Fault),
        ("on sru: reset", 0, 0, SessionEnd::Fault),
        ("on sru db=CAT: hang-up", whole.len(), 0, SessionEnd::Fault),
        (
            "on sru docid=war: trickle",
            whole.len(),
            0,
            SessionEnd::Left,
        ),
        ("on http: cut 10", 10, 0, SessionEnd::Fault),
        ("on http: garbage 10", 12, 0, SessionEnd::Left),
        ("on http: octets 484f", 2, 0, SessionEnd::Left),
        ("on search: cut 10", 10, 0, SessionEnd::Fault),
        ("on present: cut 10", whole.len(), 0, SessionEnd::Left),
        ("on sru db=no: cut 10", whole.len(), 0, SessionEnd::Left),
        (
            "on sru docid=peace: cut 10",
            whole.len(),
            0,
            SessionEnd::Left,
        ),
        ("on sru nth=2: cut 10", whole.len(), 0, SessionEnd::Left),
        ("on sru session=2: cut 10", whole.len(), 0, SessionEnd::Left),
    ] {
        let (text, time, end) = heard(rule).await;
        assert_eq!(end, expected, "{rule}");
        assert_eq!(time.as_secs(), seconds, "{rule}");
        if length >= 20 {
            assert_eq!(text.len(), length, "{rule}: {text}");
            assert!(text.starts_with(start), "{rule}: {text}");
        } else {
            assert!(text.chars().count() <= length, "{rule}: {text}");
            assert_eq!(text.is_empty(), length == 0, "{rule}: {text}");
        }
    }
    // The rate is a hundred octets per second.
    let (text, time, _) = heard("on sru: trickle 100").await;
    assert_eq!(time.as_secs(), (text.len() as u64 - 1) / 100);
}

#[tokio::test(start_paused = true)]
async fn answers_are_other_than_they_should_be() {
    for (rule, status, expected) in [
        ("on http: status 503", "503", "<zs:records>"),
        ("on sru search: html", "200", "text/html"),
        ("on sru search: next 1", "200", "<zs:nextRecordPosition>1<"),
        ("on sru search: bom", "200", "\u{feff}<?xml"),
    ] {
        let (text, _, _) = heard(rule).await;
        assert_eq!(text.split(' ').nth(1), Some(status), "{rule}");
        assert!(text.contains(expected), "{rule}: {text}");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let length = format!("content-length: {}", body.len());
        assert!(head.contains(&length), "{rule}: {head}");
    }
    // Faults also apply to requests that are not for SRU.
    let faults = "on http nth=2: status 500".parse().expect("a rule");
    let target = Target::new(catalogue(), Limits::default());
    let mut caller = Caller::on(target, Faults::new().with(faults), None);
    assert_eq!(caller.get("/%zz").await.status(), "400");
    let mut caller = Caller::on(
        Target::new(catalogue(), Limits::default()),
        Faults::new().with("on http: status 500".parse().expect("a rule")),
        None,
    );
    caller.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(caller.answer().await.expect("an answer").status(), "500");
}
