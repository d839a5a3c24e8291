//! Tests of attempts to get the record in another form: in the next record syntax, or without an element set. Also
//! tests that the number of attempts is bounded if all fallbacks are used together.

use super::*;

#[tokio::test(start_paused = true)]
async fn record_syntaxes_are_tried_in_their_order() {
    let id = "z39.50r://h.example/cat?id7;rs=sutrs+xml";
    let search = |syntax: &str| format!("search 1=1032,4=104 cat {syntax} -");
    let [sutrs, xml, any] = [search("sutrs"), search("xml"), search("-")];
    let [sutrs, xml, any] = [&*sutrs, &*xml, &*any];
    let (by_xml, by_none) = (
        "1=1032,4=104;rs=1.2.840.10003.5.109.10",
        "1=1032,4=104;rs=none",
    );
    for condition in [227, 238, 239] {
        // In these cases, the server refuses the syntax in the answer to the search, in the answer to the Present, or
        // with a diagnostic in place of the record.
        let search_refused = move |asked: &str| {
            if asked.contains("sutrs") {
                Refuse(condition)
            } else {
                One
            }
        };
        check(
            id,
            SYNTAX,
            search_refused,
            &[sutrs, xml],
            "Delivered usmarc mismatch",
            by_xml,
        )
        .await;
        let none_but_any = move |asked: &str| {
            if asked.contains(" - ") {
                One
            } else {
                Refuse(condition)
            }
        };
        check(
            id,
            SYNTAX,
            none_but_any,
            &[sutrs, xml, any],
            "Delivered usmarc",
            by_none,
        )
        .await;
        for refusal in [Refuse(condition), Surrogate(condition)] {
            let asked = [sutrs, "present sutrs -", "present xml -", "present - -"];
            let server = move |asked: &str| match asked {
                asked if asked.starts_with("search") => Hits(1),
                "present - -" => One,
                _ => refusal,
            };
            check(id, SYNTAX, server, &asked, "Delivered usmarc", by_none).await;
        }
        let pushed = move |asked: &str| {
            if asked.contains("sutrs") {
                Surrogate(condition)
            } else {
                One
            }
        };
        check(
            id,
            SYNTAX,
            pushed,
            &[sutrs, "present xml -"],
            "Delivered usmarc mismatch",
            by_xml,
        )
        .await;
        let refused = format!("search refused {condition}");
        check(
            id,
            SYNTAX,
            move |_| Refuse(condition),
            &[sutrs, xml, any],
            &refused,
            "-",
        )
        .await;
        // Without the fallback, no other syntax is tried: RFC 2056 selects a single one (A-13 of `tests/CONFORMANCE.md`).
        let once = format!("record refused {condition}");
        check(
            id,
            NONE,
            move |_| Surrogate(condition),
            &[sutrs],
            &once,
            "1=1032,4=104",
        )
        .await;
        check(
            id,
            ATTRIBUTES,
            move |_| Surrogate(condition),
            &[sutrs],
            &once,
            "1=1032,4=104",
        )
        .await;
    }
    check(
        id,
        SYNTAX,
        |_| Surrogate(14),
        &[sutrs],
        "record refused 14",
        "1=1032,4=104",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_element_set_is_left_out() {
    let id = "z39.50r://h.example/cat?id7;esn=x";
    let (with, without) = (
        "search 1=1032,4=104 cat usmarc x",
        "search 1=1032,4=104 cat usmarc -",
    );
    let word = "1=1032,4=104;esn=none";
    for condition in [25, 26] {
        let refused = move |asked: &str| {
            if asked.ends_with(" x") {
                Refuse(condition)
            } else {
                One
            }
        };
        check(
            id,
            ELEMENT_SET,
            refused,
            &[with, without],
            "Delivered usmarc",
            word,
        )
        .await;
        let pushed = move |asked: &str| {
            if asked.ends_with(" x") {
                Surrogate(condition)
            } else {
                One
            }
        };
        check(
            id,
            ELEMENT_SET,
            pushed,
            &[with, "present usmarc -"],
            "Delivered usmarc",
            word,
        )
        .await;
        let expected = format!("search refused {condition}");
        check(
            id,
            SYNTAX,
            move |_| Refuse(condition),
            &[with],
            &expected,
            "-",
        )
        .await;
        // A request with an element set is repeated only once without it; a request without an element set is not repeated.
        check(
            id,
            ELEMENT_SET,
            move |_| Refuse(condition),
            &[with, without],
            &expected,
            "-",
        )
        .await;
        check(
            "z39.50r://h.example/cat?id7",
            ELEMENT_SET,
            move |_| Refuse(condition),
            &[without],
            &expected,
            "-",
        )
        .await;
    }
}

/// Checks the requests to a server that returns a record only for requests whose description ends in `suits`. The
/// server answers other searches with `first`, and other requests with `unusable`.
async fn check_unusable(
    text: &str,
    (first, unusable): (Say, Say),
    suits: &'static str,
    requests: &[&str],
    outcome: &str,
    step: &str,
) {
    let server = move |asked: &str| match asked {
        asked if !suits.is_empty() && asked.ends_with(suits) => One,
        asked if asked.starts_with("search") => first,
        _ => unusable,
    };
    check(text, NONE, server, requests, outcome, step).await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_too_large_or_empty_is_requested_in_other_forms() {
    let id = "z39.50r://h.example/cat?id7";
    let word = "1=1032,4=104";
    let all = [
        PRESCRIBED,
        "present usmarc F",
        "present usmarc B",
        "present unimarc -",
        "present xml -",
        "present - -",
    ];
    for (unusable, in_vain) in [
        (Empty, "Delivered usmarc"),
        (Surrogate(16), "record refused 16"),
        (Surrogate(17), "record refused 17"),
    ] {
        let both = (unusable, unusable);
        for (suits, count, outcome, form) in [
            ("usmarc F", 2, "Delivered usmarc", ";esn=F"),
            ("usmarc B", 3, "Delivered usmarc", ";esn=B"),
            (
                "unimarc -",
                4,
                "Delivered usmarc mismatch",
                ";rs=1.2.840.10003.5.1",
            ),
            (
                "xml -",
                5,
                "Delivered usmarc mismatch",
                ";rs=1.2.840.10003.5.109.10",
            ),
            ("- -", 6, "Delivered usmarc", ";rs=none"),
            // No other form helps, so the original answer is kept.
            ("", 6, in_vain, ""),
        ] {
            let step = format!("{word}{form}");
            check_unusable(id, both, suits, &all[..count], outcome, &step).await;
        }
        // A form named by the URL is not replaced.
        let named = ["search 1=1032,4=104 cat sutrs x", "present xml x"];
        let text = format!("{id};esn=x;rs=sutrs+xml");
        check_unusable(
            &text,
            both,
            "xml x",
            &named,
            "Delivered usmarc mismatch",
            "1=1032,4=104;rs=1.2.840.10003.5.109.10",
        )
        .await;
        let in_vain = in_vain.replace("usmarc", "usmarc mismatch");
        check_unusable(&text, both, "", &named, &in_vain, word).await;
    }
    // In these cases, the server refuses the whole Present with a diagnostic, instead of sending a diagnostic in place
    // of the record.
    for (condition, suits, count, outcome, form) in [
        (16, "usmarc F", 3, "Delivered usmarc", ";esn=F"),
        (17, "usmarc B", 4, "Delivered usmarc", ";esn=B"),
        (17, "", 7, "present refused 17", ""),
        // These conditions do not depend on the form, so no other form is tried.
        (14, "", 2, "present refused 14", ""),
        (15, "", 2, "present refused 15", ""),
        (18, "", 2, "present refused 18", ""),
    ] {
        let mut requests = all.to_vec();
        requests.insert(1, "present usmarc -");
        let answers = (Hits(1), Refuse(condition));
        let step = format!("{word}{form}");
        check_unusable(id, answers, suits, &requests[..count], outcome, &step).await;
    }
}

#[tokio::test(start_paused = true)]
async fn all_fallbacks_together_are_bounded() {
    let everything = |asked: &str| match asked {
        asked if asked.contains("a+b") => Refuse(111),
        asked if asked.ends_with(" x") => Refuse(25),
        asked if asked.contains("sutrs") => Refuse(239),
        asked if asked.starts_with("search 1=12 b") => Surrogate(238),
        asked if asked.starts_with("present -") => One,
        asked if asked.starts_with("present") => Surrogate(238),
        _ => Refuse(114),
    };
    let (retrieval, asked) = retrieved(
        &planned(
            "z39.50r://h.example/a+b?id7;esn=x;rs=sutrs+usmarc",
            Fallback::ALL,
        ),
        everything,
    )
    .await;
    assert_eq!(say(&retrieval.outcome), "Delivered usmarc");
    assert_eq!(
        retrieval.step.as_deref(),
        Some("1=12;database=b;rs=none;esn=none")
    );
    assert!(!retrieval.step.as_deref().is_some_and(plan::is_prescribed));
    assert_eq!(asked.len(), retrieval.steps.len());
    let conditions: Vec<Option<i64>> = retrieval
        .steps
        .iter()
        .map(|step| step.diagnostics.condition())
        .collect();
    let expected = [111, 25, 239, 114, 114, 114, 114, 114, 238].map(Some);
    assert_eq!(conditions.split_last(), Some((&None, &expected[..])));
    // The limit applies no matter how many databases a URL names.
    let names: Vec<String> = (0..1000).map(|number| format!("d{number}")).collect();
    let many = format!("z39.50r://h.example/{}?id7", names.join("+"));
    let refuses = |asked: &str| {
        if asked.contains('+') {
            Refuse(111)
        } else {
            Hits(0)
        }
    };
    let (retrieval, asked) = retrieved(&planned(&many, Fallback::ALL), refuses).await;
    assert!(matches!(retrieval.outcome, Outcome::Failed(Error::NoMatch)));
    assert_eq!(asked.len(), 101);
}
