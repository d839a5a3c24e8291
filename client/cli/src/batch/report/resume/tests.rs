//! Tests for reports that are truncated, damaged, ahead of the output, or made from different inputs.

use std::io::Cursor;
use std::time::Duration;

use super::*;
use crate::answer::Answer;
use crate::batch::inputs::{self, Inputs};
use crate::batch::report::ReportLine;

fn asks(inputs: &'static str) -> Peekable<impl Iterator<Item = Result<Ask, Failure>>> {
    let mut all = Inputs::default();
    all.add("inputs", Cursor::new(inputs));
    inputs::asks(all, 1).peekable()
}

fn shown(ask: &Ask) -> (String, String) {
    ("t".to_owned(), ask.to_string())
}

fn all(_: &Ask, _: &str, _: u64) -> bool {
    true
}

#[test]
fn audit_a6_a_report_ahead_of_the_output_is_cut_to_their_common_part() {
    for form in [ReportForm::Table, ReportForm::Json] {
        let whole = report(form, "a\nb\na\n");
        for has in 0..=30 {
            let mut asks = asks("a\nb\na\n");
            let enough = |_: &Ask, _: &str, length: u64| length <= has;
            let resumed = read(&whole[..], form, &mut asks, shown, enough);
            let resumed = resumed.expect("of these inputs");
            let answers = has / 10;
            assert_eq!(
                (resumed.answers, resumed.output_length),
                (answers, 10 * answers)
            );
            let kept = &whole[..usize::try_from(resumed.report_length).expect("small")];
            let lines = kept.iter().filter(|octet| **octet == b'\n').count() as u64;
            assert_eq!(lines, answers + u64::from(form == ReportForm::Table));
            let line = lines + 1;
            let ahead = (answers < 3).then_some((line, 10 * (answers + 1)));
            assert_eq!(resumed.ahead, ahead);
            let next = asks.next().transpose().expect("in memory");
            assert_eq!(
                next.map(|ask| ask.position),
                (answers < 3).then_some(answers + 1)
            );
        }
    }
}

#[test]
fn audit_a6_octets_that_were_never_written_end_a_report() {
    for form in [ReportForm::Table, ReportForm::Json] {
        let whole = report(form, "a\nb\na\n");
        for cut in 0..whole.len() {
            for end in ["", "\n", "\t\n{}\n"] {
                let mut torn = whole.clone();
                torn[cut..].fill(0);
                torn.extend_from_slice(end.as_bytes());
                let mut of_torn = asks("a\nb\na\n");
                let found = read(&torn[..], form, &mut of_torn, shown, all);
                let found = found.unwrap_or_else(|error| panic!("{form:?} {cut}: {error}"));
                let expected = read(&whole[..cut], form, &mut asks("a\nb\na\n"), shown, all);
                assert_eq!(found, expected.expect("of these inputs"));
            }
        }
    }
}

#[test]
fn unanswered_inputs_at_the_end_are_asked_again() {
    for (exits, answers, unanswered) in [
        ([0, 0, 0], 3, 0),
        ([0, 0, 6], 2, 1),
        ([0, 6, 6], 1, 2),
        ([6, 6, 6], 0, 3),
    ] {
        for form in [ReportForm::Table, ReportForm::Json] {
            for torn in ["", "{", "1"] {
                let torn = torn.as_bytes();
                if !form.may_begin(torn) {
                    continue;
                }
                let whole = [&report_of(form, "a\nb\na\n", &exits)[..], torn].concat();
                let mut asks = asks("a\nb\na\n");
                let resumed = read(&whole, form, &mut asks, shown, all).expect("of these");
                let found = (resumed.answers, resumed.unanswered);
                assert_eq!(found, (answers, unanswered), "{exits:?}");
                assert_eq!(resumed.output_length, 10 * answers);
                assert_eq!(resumed.tally.total(), answers);
                let next = asks.next().transpose().expect("in memory");
                let position = next.map(|ask| ask.position);
                assert_eq!(position, (answers < 3).then_some(answers + 1));
            }
        }
    }
}

#[test]
fn answers_after_an_unanswered_input_are_put_back() {
    for (exits, before, later, again, unanswered) in [
        ([0, 0, 0], 3, 0, &[][..], 0),
        ([6, 0, 0], 0, 3, &[1], 1),
        ([0, 6, 0], 1, 2, &[2], 1),
        ([6, 3, 6], 0, 2, &[1], 2),
        ([6, 6, 0], 0, 3, &[1, 2], 2),
    ] {
        for form in [ReportForm::Table, ReportForm::Csv, ReportForm::Json] {
            let whole = report_of(form, "a\nb\na\n", &exits);
            let mut rest = asks("a\nb\na\n");
            let resumed = read(&whole, form, &mut rest, shown, all).expect("of these");
            let lines = resumed.later.clone().unwrap_or_default();
            let found = (resumed.answers, lines.count, resumed.unanswered);
            assert_eq!(found, (before, later, unanswered), "{exits:?}");
            let positions: Vec<u64> = lines.asks.iter().map(|ask| ask.position).collect();
            assert_eq!(positions, again, "{exits:?}");
            assert_eq!(
                lines.output_end,
                10 * (before + later) * u64::from(later > 0)
            );
            let answered = exits.iter().filter(|exit| **exit != 6).count() as u64;
            assert_eq!(resumed.tally.total(), answered, "{exits:?}");
            let next = rest.next().transpose().expect("in memory");
            let expected = (before + later < 3).then_some(before + later + 1);
            assert_eq!(next.map(|ask| ask.position), expected, "{exits:?}");
            // If the unanswered lines cannot be put back, they stay in the report unchanged.
            let unanswered = UnansweredLines::of(&whole[..], form)
                .expect("in memory")
                .at_end();
            let mut rest = asks("a\nb\na\n");
            let remember = |_: &Ask, _: &ParsedLine, _| {};
            let resumed = resume(
                &whole[..],
                form,
                unanswered,
                &mut rest,
                shown,
                all,
                remember,
            );
            let resumed = resumed.expect("of these");
            let tail = exits.iter().rev().take_while(|exit| **exit == 6).count() as u64;
            assert_eq!(
                (resumed.answers, resumed.later),
                (3 - tail, None),
                "{exits:?}"
            );
        }
    }
}

/// Reads a report as a run does when it resumes.
fn read(
    report: &[u8],
    form: ReportForm,
    asks: &mut Peekable<impl Iterator<Item = Result<Ask, Failure>>>,
    shown: impl Fn(&Ask) -> (String, String),
    is_there: impl Fn(&Ask, &str, u64) -> bool,
) -> Result<Resumed, String> {
    let unanswered = UnansweredLines::of(report, form)?;
    let remember = |_: &Ask, _: &ParsedLine, _| {};
    resume(report, form, unanswered, asks, shown, is_there, remember)
}

/// Builds a report for the inputs. Each answer adds 10 octets to the output.
fn report(form: ReportForm, inputs: &'static str) -> Vec<u8> {
    report_of(form, inputs, &[])
}

/// Builds a report like [`report`]. The first answers have these exit codes, and the others the code 0.
fn report_of(form: ReportForm, inputs: &'static str, exits: &[u8]) -> Vec<u8> {
    let mut exits = exits.iter().copied();
    let mut written = Vec::new();
    written.extend(form.header().bytes());
    for ask in asks(inputs) {
        let ask = ask.expect("in memory");
        let (target, input) = shown(&ask);
        let entry = ReportLine {
            input_record: None,
            position: ask.position,
            target,
            input,
            answer: Answer {
                exit: Exit::of(exits.next().unwrap_or_default()),
                ..Answer::default()
            },
            took: Duration::ZERO,
            length: 10 * ask.position,
        };
        written.extend(form.line(&entry).bytes());
    }
    written
}

#[test]
fn every_cut_leaves_whole_lines() {
    for form in [ReportForm::Table, ReportForm::Json] {
        let whole = report(form, "a\nb\na\n");
        for cut in 0..=whole.len() {
            let kept = &whole[..cut];
            let mut asks = asks("a\nb\na\nc\n");
            let resumed = read(kept, form, &mut asks, shown, all).expect("the same inputs");
            let lines = kept.split_inclusive(|octet| *octet == b'\n');
            let complete: Vec<_> = lines.filter(|line| line.ends_with(b"\n")).collect();
            let header = u64::from(form == ReportForm::Table && !complete.is_empty());
            let answers = complete.len() as u64 - header;
            let expected = (answers, complete.concat().len() as u64, 10 * answers);
            assert_eq!(
                (
                    resumed.answers,
                    resumed.report_length,
                    resumed.output_length
                ),
                expected,
                "{form:?} {cut}"
            );
            assert_eq!(resumed.tally.total(), answers);
            let next = asks.next().expect("one is left").expect("in memory");
            assert_eq!(next.position, answers + 1);
        }
    }
}

#[test]
fn other_inputs_are_refused() {
    for (inputs, words) in [
        ("a\nb\na\n", ""),
        ("a\nb\na\nc\n", ""),
        (
            "a\na\nb\n",
            "line 3 is about input 2, b at t, but the inputs now have input 2, a at t",
        ),
        (
            "a\nb\n",
            "line 4 is about input 3, a at t, but the inputs end before it",
        ),
        (
            "",
            "line 2 is about input 1, a at t, but the inputs end before it",
        ),
    ] {
        let report = report(ReportForm::Table, "a\nb\na\n");
        let found = read(
            &report[..],
            ReportForm::Table,
            &mut asks(inputs),
            shown,
            all,
        );
        let found = found.map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(found, words, "{inputs:?}");
    }
}

#[test]
fn other_files_are_refused() {
    for (form, text, line) in [
        (ReportForm::Table, "a book\n", 1),
        (ReportForm::Table, "a book", 1),
        (ReportForm::Json, "[]\n", 1),
        (ReportForm::Json, "\u{fffd}\n", 1),
    ] {
        let error = read(text.as_bytes(), form, &mut asks("a\n"), shown, all);
        let error = error.expect_err(text).to_string();
        assert_eq!(
            error,
            format!("line {line} is not one of a report in this form")
        );
    }
    // A torn line is an error if other lines follow it.
    let torn = String::from_utf8(report(ReportForm::Table, "a\nb\nc\n")).expect("text");
    let mut lines: Vec<&str> = torn.lines().collect();
    lines[2] = &lines[2][..3];
    let torn = lines.join("\n") + "\n";
    let error = read(
        torn.as_bytes(),
        ReportForm::Table,
        &mut asks("a\nb\nc\n"),
        shown,
        all,
    );
    let words = "line 3 is not one of a report in this form; if it is damaged, remove it and all lines after it, \
                 and --resume continues from there";
    assert_eq!(error.expect_err("torn").to_string(), words);
    let cut = lines[..2].join("\n") + "\n";
    let resumed = read(
        cut.as_bytes(),
        ReportForm::Table,
        &mut asks("a\nb\nc\n"),
        shown,
        all,
    );
    assert_eq!(resumed.expect("as the hint says").answers, 1);
    for form in [ReportForm::Table, ReportForm::Json] {
        let old = String::from_utf8(report(form, "a\nb\n")).expect("text");
        let old = old.replace("delivered", "Delivered");
        let error = read(old.as_bytes(), form, &mut asks("a\nb\n"), shown, all);
        let line = if form == ReportForm::Table { 2 } else { 1 };
        let words = format!(
            "line {line}: \"Delivered\" is not an outcome; a report of another version cannot be continued"
        );
        assert_eq!(error.expect_err("another version").to_string(), words);
    }
    let table = report(ReportForm::Table, "a\n");
    assert!(read(&table[..], ReportForm::Json, &mut asks("a\n"), shown, all).is_err());
    let endless = vec![b'x'; usize::try_from(2 * MAX_LINE).expect("small")];
    assert!(read(&endless, ReportForm::Json, &mut asks("a\n"), shown, all).is_err());
}
