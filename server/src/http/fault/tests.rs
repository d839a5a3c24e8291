//! Tests of HTTP answers with faults, before and after encoding.

use super::*;
use crate::fault::Rule;
use crate::http::answer::plain;

#[test]
fn answers_are_written_as_the_fault_says() {
    let second = Duration::from_secs(1);
    let manner = WriteMode::default;
    let with = |manner| ActiveFaults {
        manner,
        ..ActiveFaults::default()
    };
    for (fault, expected, status) in [
        (
            "delay 1s",
            ActiveFaults {
                delay: second,
                ..ActiveFaults::default()
            },
            200,
        ),
        (
            "silence",
            ActiveFaults {
                is_silent: true,
                ..ActiveFaults::default()
            },
            200,
        ),
        (
            "trickle 4",
            with(WriteMode {
                trickle: Some(second / 4),
                ..manner()
            }),
            200,
        ),
        (
            "reset 9",
            with(WriteMode {
                cut_after: Some(9),
                reset: true,
                ..manner()
            }),
            200,
        ),
        (
            "hang-up",
            with(WriteMode {
                hang_up: true,
                ..manner()
            }),
            200,
        ),
        (
            "octets 4142",
            with(WriteMode {
                instead: Some("AB".into()),
                ..manner()
            }),
            200,
        ),
        ("status 500", ActiveFaults::default(), 500),
        ("status 204", ActiveFaults::default(), 204),
        ("status 100", ActiveFaults::default(), 200),
        ("status failure", ActiveFaults::default(), 200),
    ] {
        let rule: Rule = format!("on http: {fault}").parse().expect(fault);
        let mut answer = plain(StatusCode::OK, "words");
        assert_eq!(strike(&[rule.fault], &mut answer), expected, "{fault}");
        assert_eq!(answer.status.as_u16(), status, "{fault}");
        assert_eq!(answer.body, "words", "{fault}");
    }
}
