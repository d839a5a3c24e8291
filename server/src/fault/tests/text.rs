//! Tests of the text form of rules: every kind of fault, and every error.

use z3950_asn1::apdu::{AddInfo, ExternalEncoding, Options, PresentRequest, Record, Records};

use super::*;

/// The cases are all faults that apply to a Search with one record in its answer.
#[test]
fn text_form_of_every_fault_in_a_search() {
    let answer = "1 hits, 1 returned: usmarc 0 72";
    for (fault, expected) in [
        ("no-piggyback", "1 hits, 0 returned: none"),
        ("push 1", answer),
        ("count 7", "7 hits, 1 returned: usmarc 0 72"),
        ("count -1", "-1 hits, 1 returned: usmarc 0 72"),
        ("returned 3", "1 hits, 3 returned: usmarc 0 72"),
        ("more 1", "1 hits, 2 returned: usmarc 0 72, usmarc 0 72"),
        ("fewer 0", "1 hits, 0 returned: "),
        ("fewer 9", answer),
        ("syntax sutrs", "1 hits, 1 returned: sutrs"),
        ("syntax 1.2.840.10003.5.101", "1 hits, 1 returned: sutrs"),
        ("surrogate 14 why", "1 hits, 1 returned: <14 why>"),
        ("piggyback-fails 14", "1 hits, 0 returned: 14 "),
        (
            "fail 1 \"no such: luck\"",
            "0 hits, 0 returned: 1 no such: luck",
        ),
        ("fail-several 1 a 2 b", "0 hits, 0 returned: several"),
        ("fail-as-success 236 no", "0 hits, 0 returned: 236 no"),
        ("fail-silently", "0 hits, 0 returned: none"),
        ("damage empty", "1 hits, 1 returned: usmarc - 0"),
        ("damage truncated", "1 hits, 1 returned: usmarc 0 36"),
        ("silence", ""),
        ("hold", ""),
        ("swap", ""),
        ("octets b700", "b\"\\xb7\\0\""),
        ("garbage 1", "b\"\\xff\""),
        ("before segment", "segmentRequest"),
        ("after access-control who?", answer),
        ("instead resource-control ask", "resourceControlRequest"),
        ("last init-response", "initResponse"),
        ("close systemProblem \"disk full\"", "close systemProblem"),
        ("close 4000000", "close 4000000"),
        ("challenge who?", "accessControlRequest"),
        // Faults for other services leave a Search unchanged.
        ("version 1", answer),
        ("options search", answer),
        ("reject 1011", answer),
        ("reference-id x", answer),
        ("addinfo v3", answer),
        ("status partial-2", answer),
        ("label a", answer),
        ("damage directory", answer),
        ("delay 2s", answer),
        ("trickle", answer),
        ("trickle 100", answer),
        ("cut 5", answer),
        ("reset 5", answer),
        ("hang-up", answer),
    ] {
        let rule: Rule = format!("on search db=CAT: {fault}").parse().expect(fault);
        let mut scripted = Scripted::opened(Faults::new().with(rule));
        let request = SearchRequest {
            preferred_record_syntax: Some(USMARC),
            ..searched("@attr 1=1032 id7")
        };
        let words = scripted.words(request.into());
        assert_eq!(
            words.first().map_or("", String::as_str),
            expected,
            "{fault}"
        );
    }
}

/// Returns a Search that asks for the record of a single hit.
fn searched(pqf: &str) -> SearchRequest {
    SearchRequest {
        small_set_upper_bound: 1,
        large_set_lower_bound: 2,
        ..search_request(pqf)
    }
}

#[test]
fn every_kind_of_fault_is_tested_above() {
    let tested = [include_str!("text.rs"), include_str!("../sru/tests.rs")].concat();
    for kind in kinds() {
        let plain = [format!("\"{}\"", kind.name), format!("\"{} ", kind.name)];
        let here = plain.iter().any(|row| tested.contains(row));
        assert!(here, "{}", kind.name);
        assert!(!kind.meaning.is_empty());
    }
}

#[test]
fn octets_are_spoilt() {
    let octets = |fault: &str| {
        let rule: Rule = format!("on close: {fault}").parse().expect(fault);
        let mut scripted = Scripted::opened(Faults::new().with(rule));
        let close = z3950_asn1::apdu::Close::new(CloseReason::FINISHED, None);
        match scripted.serve(close.into()).items.as_slice() {
            [Item::Octets(octets)] => octets.to_vec(),
            other => panic!("{fault}: {other:?}"),
        }
    };
    assert_eq!(octets("tag 23")[..2], [0xb7, 5]);
    assert_eq!(octets("length +3")[..3], [0xbf, 0x30, 8]);
    assert_eq!(octets("length -9")[..3], [0xbf, 0x30, 0]);
    let indefinite = octets("indefinite");
    assert_eq!(
        (&indefinite[..3], &indefinite[8..]),
        (&[0xbf, 0x30, 0x80][..], &[0, 0][..])
    );
}

#[test]
fn answers_are_written_as_the_fault_says() {
    let second = Duration::from_secs(1);
    for (fault, delay, trickle, cut_after, hang_up, reset) in [
        ("delay 1s", second, None, None, false, false),
        (
            "trickle",
            Duration::ZERO,
            Some(Duration::ZERO),
            None,
            false,
            false,
        ),
        (
            "trickle 10",
            Duration::ZERO,
            Some(second / 10),
            None,
            false,
            false,
        ),
        ("cut 5", Duration::ZERO, None, Some(5), false, false),
        ("reset", Duration::ZERO, None, Some(0), false, true),
        ("hang-up", Duration::ZERO, None, None, true, false),
        ("last segment", Duration::ZERO, None, None, true, false),
    ] {
        let rule: Rule = format!("search: {fault}").parse().expect(fault);
        let output = Scripted::opened(Faults::new().with(rule)).serve(search("war"));
        let found = (
            output.delay,
            output.trickle,
            output.cut_after,
            output.hang_up,
            output.reset,
        );
        assert_eq!(
            found,
            (delay, trickle, cut_after, hang_up, reset),
            "{fault}"
        );
    }
}

#[test]
fn init_is_restricted() {
    let init_with = |fault: &str| {
        let rule: Rule = format!("on init: {fault}").parse().expect(fault);
        let mut scripted = Scripted::new(Faults::new().with(rule));
        match scripted.serve(init()).items.pop() {
            Some(Item::Apdu(Apdu::InitializeResponse(answer))) => *answer,
            other => panic!("{fault}: {other:?}"),
        }
    };
    assert_eq!(init_with("version 1").protocol_version.highest(), Some(1));
    assert_eq!(init_with("version 2").protocol_version.highest(), Some(2));
    let masked = init_with("options search namedResultSets").options;
    assert_eq!(
        masked,
        masked.intersection(Options::SEARCH | Options::NAMED_RESULT_SETS)
    );
    assert!(masked.contains(Options::SEARCH) && !masked.contains(Options::PRESENT));
    assert_eq!(init_with("options").options.names().count(), 0);
    assert!(!init_with("reject").result);
    assert_eq!(
        init_with("reject 1011 me")
            .user_information_field
            .as_ref()
            .map(told),
        Some(diagnostic(Condition(1011), "me"))
    );
}

#[test]
fn records_and_diagnostics_are_mislabelled() {
    let first = |rules: &[&str]| {
        let rules = rules.iter().map(|rule| rule.parse::<Rule>().expect(rule));
        let mut scripted = Scripted::opened(rules.fold(Faults::new(), Faults::with));
        scripted.serve(search("war"));
        let request = PresentRequest {
            preferred_record_syntax: Some(USMARC),
            ..present_request(1, 1)
        };
        let mut output = scripted.serve(request.into());
        match output.items.pop() {
            Some(Item::Apdu(Apdu::PresentResponse(present))) => {
                (present.present_status, present.records.0)
            }
            other => panic!("{other:?}"),
        }
    };
    let marc = |rule: &str| match first(&[rule]).1 {
        Some(Records::ResponseRecords(records)) => match &records[0].record {
            Record::RetrievalRecord(record) => match &record.encoding {
                ExternalEncoding::OctetAligned(octets) => octets.to_vec(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let sound = marc("on scan: silence");
    assert_eq!(marc("on present: label a")[9], b'a');
    assert_eq!(marc("on present: label #")[9], b' ');
    assert_eq!(
        marc("on present: damage length")[..5],
        *format!("{:05}", sound.len() - 10).as_bytes()
    );
    assert_eq!(marc("on present: damage base-address")[12..17], *b"99999");
    assert_eq!(marc("on present: damage leader")[..24], [b'x'; 24]);
    assert_eq!(
        marc("on present: damage directory")[24..36],
        *b"001999999999"
    );
    assert!(!marc("on present: damage terminators").contains(&0x1e));
    assert_eq!(marc("on present: damage truncated").len(), sound.len() / 2);
    assert_eq!(
        first(&["on present: status partial-2"]).0,
        PresentStatus::PARTIAL_2
    );
    assert_eq!(first(&["on present: status 9"]).0, PresentStatus(9));
    let failed = first(&["on present: fail 14 ü", "on present: addinfo v3"]).1;
    let Some(Records::NonSurrogateDiagnostic(failed)) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!(failed.addinfo, AddInfo::V3Addinfo("ü".into()));
}

#[test]
fn answers_change_places() {
    let faults = Faults::new().on(When::search().nth(1), Fault::Swap);
    let mut scripted = Scripted::opened(faults);
    assert_eq!(scripted.words(search("war")), [""; 0]);
    let both = scripted.words(present(9, 1));
    assert_eq!(
        both,
        ["failure, 0 returned: 13 9", "2 hits, 0 returned: none"]
    );
}

#[test]
fn rules_know_databases_and_docids_of_result_sets() {
    let cat = |pqf: &str| Apdu::from(search_request(pqf));
    for (rule, struck) in [
        ("on present db=Cat: trickle", true),
        ("on present db=b: trickle", false),
        ("on present docid=id7: trickle", true),
        ("on present docid=ID7: trickle", false),
        ("on any docid=id7 nth=2: trickle", true),
        ("on present docid=id7 session=2: trickle", false),
        ("on presentRequest syntax=sutrs: trickle", false),
    ] {
        let rule: Rule = rule.parse().expect(rule);
        let mut scripted = Scripted::opened(Faults::new().with(rule.clone()));
        scripted.serve(cat("@or @attr 1=1032 id7 x"));
        let output = scripted.serve(present(1, 1));
        assert_eq!(output.trickle.is_some(), struck, "{rule:?}");
    }
}

#[test]
fn rules_are_refused_where_they_are_wrong() {
    for (text, expected) in [
        ("", "a request is missing at character 1"),
        ("on", "a request is missing at character 3"),
        (
            "on serch: silence",
            "no request \"serch\" at character 4; known are any, init, search",
        ),
        (
            "on search silence",
            "\"silence\" where NAME=VALUE or a colon is expected at character 11",
        ),
        ("on search", "a colon is missing at character 10"),
        ("on search:", "a fault is missing at character 11"),
        (
            "on search: quiet",
            "no fault \"quiet\" at character 12; known are delay, ",
        ),
        (
            "on search: silence please",
            "unexpected \"please\" after \"silence\" at character 20",
        ),
        (
            "on search nth=0: silence",
            "\"0\" where a number from 1 is expected at character 11",
        ),
        (
            "on search colour=red: silence",
            "no condition \"colour\" at character 11; known are session",
        ),
        ("on search syntax=x: silence", "no record syntax \"x\""),
        (
            "on search: delay",
            "a time such as 500ms is missing at character 17",
        ),
        (
            "on search: delay soon",
            "\"soon\" where a time such as 500ms is expected at character 18",
        ),
        (
            "on search: fail \"",
            "an unclosed quotation mark at character 17",
        ),
        (
            "on search: tag 31",
            "\"31\" where a tag from 0 to 30 is expected",
        ),
        (
            "on search: trickle 0",
            "\"0\" where a number of octets from 1",
        ),
        (
            "on search: more 10001",
            "\"10001\" where a number of records",
        ),
        (
            "on search: garbage 99999999",
            "\"99999999\" where a number of octets",
        ),
        (
            "on search: octets b7f",
            "\"b7f\" where octets in hexadecimal",
        ),
        (
            "on search: before lunch",
            "no APDU \"lunch\" at character 19; known are close",
        ),
        (
            "on search: close soon",
            "\"soon\" where a reason, by name or number",
        ),
        ("on init: version 3", "\"3\" where 1 or 2 is expected"),
        (
            "on init: options serch",
            "\"serch\" where the name of an option",
        ),
    ] {
        let error = text.parse::<Rule>().expect_err(text);
        assert!(error.to_string().starts_with(expected), "{text}: {error}");
    }
    let quoted: Rule = r#"on search db="my \"own\" books": fail 1 "a: b""#
        .parse()
        .expect("a rule");
    let Fault::Fails(told) = quoted.fault else {
        panic!("{quoted:?}")
    };
    assert_eq!(quoted.when, When::search().database("my \"own\" books"));
    assert_eq!(told.addinfo.to_string_lossy(), "a: b");
}

/// The documentation page about faults.
const PAGE: &str = include_str!("../../../docs/transcripts-and-faults.md");

#[test]
fn the_page_about_faults_has_every_fault_request_and_condition() {
    for kind in kinds() {
        let arguments = if kind.arguments == unsolicited::NAMES {
            "APDU"
        } else {
            kind.arguments
        };
        let line = format!("- `{}` – ", format!("{} {arguments}", kind.name).trim_end());
        assert!(PAGE.contains(&line), "{line}");
    }
    let faults = PAGE
        .split_once("### How the answer is written")
        .expect("faults")
        .1;
    let lines = faults
        .lines()
        .filter(|line| line.starts_with("- `"))
        .count();
    assert_eq!(lines, kinds().count());
    for condition in [
        "session=N",
        "nth=N",
        "nth-of-all=N",
        "db=NAME",
        "docid=TERM",
        "syntax=NAME",
    ] {
        assert!(PAGE.contains(&format!("- `{condition}`")), "{condition}");
    }
    let no_such = When::on("nothing").expect_err("no request");
    let (_, requests) = no_such.split_once("known are ").expect("the requests");
    for request in requests.split(", ") {
        assert!(PAGE.contains(&format!("`{request}`")), "{request}");
    }
    let rules: Vec<_> = PAGE
        .lines()
        .filter(|line| line.starts_with("on "))
        .collect();
    assert!(rules.len() >= 5);
    for rule in rules {
        let read: Result<Rule, _> = rule.parse();
        assert!(read.is_ok(), "{rule}: {read:?}");
    }
}
