//! Tests of the attempts after a refusal: the diagnostics that cause another attempt, the order of the attempts, and
//! the reported steps. The server in these tests is a function from requests to answers.

mod forms;

use std::sync::Mutex;

use z3950_asn1::apdu::*;

use super::*;
use crate::protocol::session::{Session, SessionOptions};

/// A server's response to a search or a Present.
#[derive(Clone, Copy)]
enum Say {
    /// The search finds this number of records, and its response contains none of them.
    Hits(i64),
    /// The search finds one record, which is in the response.
    Record,
    /// The search finds one record, which is in the response and has no contents.
    Empty,
    /// The request is refused with this diagnostic.
    Refuse(i64),
    /// The response has this diagnostic in place of the record.
    Surrogate(i64),
}

use Say::{Empty, Hits, Record as One, Refuse, Surrogate};

/// Describes a request with its attributes, databases, record syntax and element set, as in `search 1=1032,4=104 cat
/// usmarc F`.
fn describe(request: &Apdu) -> Option<String> {
    let syntax = |oid: &Option<oid::Oid>| oid.and_then(|oid| oid.name()).unwrap_or("-");
    let text =
        |string: &z3950_asn1::types::InternationalString| string.to_string_lossy().into_owned();
    let element_set = |names: Option<&ElementSetNames>| match names {
        Some(ElementSetNames::GenericElementSetName(name)) => text(name),
        _ => "-".to_owned(),
    };
    Some(match request {
        Apdu::SearchRequest(search) => {
            let Query::Type1(RpnQuery {
                rpn: RpnStructure::Op(Operand::AttributesPlusTerm(operand)),
                ..
            }) = &search.query
            else {
                panic!("{search:?}");
            };
            let attributes = operand.attributes.iter().map(|attribute| {
                let AttributeValue::Numeric(value) = attribute.attribute_value else {
                    panic!("{attribute:?}");
                };
                format!("{}={value}", attribute.attribute_type)
            });
            let databases = search.database_names.iter().map(|name| text(&name.0));
            format!(
                "search {} {} {} {}",
                attributes.collect::<Vec<_>>().join(","),
                databases.collect::<Vec<_>>().join("+"),
                syntax(&search.preferred_record_syntax),
                element_set(search.small_set_element_set_names.as_ref())
            )
        }
        Apdu::PresentRequest(present) => {
            let names = match &*present.record_composition {
                Some(RecordComposition::Simple(names)) => Some(names),
                _ => None,
            };
            let syntax = syntax(&present.preferred_record_syntax);
            format!("present {syntax} {}", element_set(names))
        }
        _ => return None,
    })
}

fn respond(request: &Apdu, say: Say) -> Apdu {
    match (request, say) {
        (Apdu::SearchRequest(_), Hits(hits)) => found(hits, vec![]).into(),
        (Apdu::SearchRequest(_), One) => found(1, vec![marc()]).into(),
        (Apdu::SearchRequest(_), Empty) => found(1, vec![empty()]).into(),
        (Apdu::SearchRequest(_), Surrogate(condition)) => {
            found(1, vec![surrogate(condition)]).into()
        }
        (Apdu::SearchRequest(_), Refuse(condition)) => {
            search_failed(diagnostic(condition, "")).into()
        }
        (_, Refuse(condition)) => {
            presented(PresentStatus::FAILURE, diagnostic(condition, "")).into()
        }
        (_, say) => {
            let slot = match say {
                Surrogate(condition) => surrogate(condition),
                Empty => empty(),
                _ => marc(),
            };
            let records = Some(Records::ResponseRecords(vec![slot]));
            presented(PresentStatus::SUCCESS, records).into()
        }
    }
}

/// Builds a MARC record without fields.
fn empty() -> NamePlusRecord {
    let record = External::octet_aligned(oid::USMARC, &b"00026nam a2200025 a 4500\x1E\x1D"[..]);
    NamePlusRecord {
        name: None,
        record: z3950_asn1::apdu::Record::RetrievalRecord(record),
    }
}

/// Retrieves the record of `plan` from a server that answers with `answer`. Returns the retrieval, and the requests
/// that the server received.
async fn retrieved(
    plan: &Plan,
    answer: impl Fn(&str) -> Say + Send + 'static,
) -> (Retrieval, Vec<String>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    let stream = answering(move |request| {
        let response = match describe(&request) {
            Some(text) => {
                let response = respond(&request, answer(&text));
                notes.lock().expect("no panic").push(text);
                response
            }
            None if matches!(request, Apdu::InitializeRequest(_)) => {
                init_response(true, ProtocolVersion::UP_TO_3).into()
            }
            None => Close::new(CloseReason::FINISHED, None).into(),
        };
        Some(vec![response])
    });
    let session = Session::over(stream, &SessionOptions::default()).await;
    let retrieval = retrieve::attempt(&session.expect("a session"), plan, None, None).await;
    let retrieval = retrieval.expect("an answer");
    let asked = asked.lock().expect("no panic").clone();
    (retrieval, asked)
}

fn planned(text: &str, fallback: Fallback) -> Plan {
    let options = options(|plan| plan.fallback = fallback);
    plan::plan(&url(text), &options.plan).expect("a plan")
}

/// Checks the retrieval of `text` from a server that answers with `answer`: the requests that the server received, the
/// outcome, and the step that is reported as successful.
async fn check(
    text: &str,
    fallback: Fallback,
    answer: impl Fn(&str) -> Say + Send + 'static,
    requests: &[&str],
    outcome: &str,
    step: &str,
) {
    let (retrieval, asked) = retrieved(&planned(text, fallback), answer).await;
    assert_eq!(asked, requests, "{text} {fallback:?}");
    assert_eq!(say(&retrieval.outcome), outcome, "{text} {fallback:?}");
    assert_eq!(
        retrieval.step.as_deref().unwrap_or("-"),
        step,
        "{text} {fallback:?}"
    );
    assert_eq!(retrieval.steps.len(), requests.len(), "{text} {fallback:?}");
}

const NONE: Fallback = Fallback {
    structure: false,
    attributes: false,
    databases: false,
    syntax: false,
    element_set: false,
};
const STRUCTURE: Fallback = Fallback {
    structure: true,
    ..NONE
};
const ATTRIBUTES: Fallback = Fallback {
    attributes: true,
    ..NONE
};
const DATABASES: Fallback = Fallback {
    databases: true,
    ..NONE
};
const SYNTAX: Fallback = Fallback {
    syntax: true,
    ..NONE
};
const ELEMENT_SET: Fallback = Fallback {
    element_set: true,
    ..NONE
};

const PRESCRIBED: &str = "search 1=1032,4=104 cat usmarc -";
const UNSTRUCTURED: &str = "search 1=1032 cat usmarc -";
const LOCAL: &str = "search 1=12 cat usmarc -";
const STANDARD: &str = "search 1=1007 cat usmarc -";

/// Returns a server that answers searches whose description contains `known` with a record, and all other searches with
/// `otherwise`.
fn knows(known: &'static str, otherwise: Say) -> impl Fn(&str) -> Say + Send + 'static {
    move |asked| {
        if asked.contains(known) {
            One
        } else {
            otherwise
        }
    }
}

#[tokio::test(start_paused = true)]
async fn attributes_are_tried_in_their_order() {
    let all = [PRESCRIBED, UNSTRUCTURED, LOCAL, STANDARD];
    for condition in [
        3, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 247, 1024, 1056,
    ] {
        for (count, known, step) in [
            (1, "=104", "1=1032,4=104"),
            (2, "1=1032 ", "1=1032"),
            (3, "1=12 ", "1=12"),
            (4, "1=1007 ", "1=1007"),
        ] {
            for fallback in [ATTRIBUTES, Fallback::ALL] {
                for otherwise in [Refuse(condition), Hits(0)] {
                    let server = knows(known, otherwise);
                    check(
                        "z39.50r://h.example/cat?id7",
                        fallback,
                        server,
                        &all[..count],
                        "Delivered usmarc",
                        step,
                    )
                    .await;
                }
            }
        }
    }
    // A docid may have the form of a number such as an ISBN. The attributes for such numbers are tried last.
    for (docid, last) in [
        ("0306406152", "1=7"),
        ("0-306-40615-2", "1=7"),
        ("0378-5955", "1=8"),
        ("85000002", "1=9"),
        ("ocm00012345", "1=1211"),
    ] {
        let text = format!("z39.50r://h.example/cat?{docid}");
        let by_shape = format!("search {last} cat usmarc -");
        let all = [PRESCRIBED, UNSTRUCTURED, LOCAL, STANDARD, &by_shape];
        let known = Box::leak(format!("{last} ").into_boxed_str());
        check(
            &text,
            ATTRIBUTES,
            knows(known, Refuse(114)),
            &all,
            "Delivered usmarc",
            last,
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_search_ends_when_no_fallback_is_left() {
    let id = "z39.50r://h.example/cat?id7";
    let all = [PRESCRIBED, UNSTRUCTURED, LOCAL, STANDARD];
    // In the following cases, either the fallback was not requested, or the diagnostic does not call for a fallback.
    check(
        id,
        NONE,
        |_| Refuse(114),
        &all[..1],
        "search refused 114",
        "-",
    )
    .await;
    check(
        id,
        NONE,
        |_| Refuse(118),
        &all[..1],
        "search refused 118",
        "-",
    )
    .await;
    check(
        id,
        NONE,
        |_| Hits(0),
        &all[..1],
        "no match no record matches",
        "-",
    )
    .await;
    check(
        id,
        STRUCTURE,
        |_| Refuse(114),
        &all[..1],
        "search refused 114",
        "-",
    )
    .await;
    check(
        id,
        STRUCTURE,
        |_| Hits(0),
        &all[..1],
        "no match no record matches",
        "-",
    )
    .await;
    for condition in [1, 2, 100, 108, 109, 235, 236, 1015, 9999] {
        let expected = format!("search refused {condition}");
        check(
            id,
            Fallback::ALL,
            move |_| Refuse(condition),
            &all[..1],
            &expected,
            "-",
        )
        .await;
    }
    // This case tests requirement Z-4.8 of `tests/CONFORMANCE.md`.
    check(
        id,
        STRUCTURE,
        |_| Refuse(118),
        &all[..2],
        "search refused 118",
        "-",
    )
    .await;
    check(
        id,
        STRUCTURE,
        knows("1=1032 ", Refuse(118)),
        &all[..2],
        "Delivered usmarc",
        "1=1032",
    )
    .await;
    check(
        id,
        ATTRIBUTES,
        |_| Refuse(114),
        &all,
        "search refused 114",
        "-",
    )
    .await;
    check(
        id,
        ATTRIBUTES,
        |_| Hits(0),
        &all,
        "no match no record matches",
        "-",
    )
    .await;
    // If one search finds nothing and the other searches are refused, the outcome is that nothing matches.
    let one = |asked: &str| {
        if asked.contains("1=12 ") {
            Hits(0)
        } else {
            Refuse(114)
        }
    };
    check(id, ATTRIBUTES, one, &all, "no match no record matches", "-").await;
    // A search that finds several records is ambiguous, whichever search it is, so no record is delivered.
    let two = |asked: &str| {
        if asked.contains("1=12 ") {
            Hits(2)
        } else {
            Refuse(114)
        }
    };
    let ambiguous = "ambiguous 2 records match, so none is delivered";
    check(id, ATTRIBUTES, two, &all[..3], ambiguous, "1=12").await;
}

#[tokio::test(start_paused = true)]
async fn databases_are_searched_one_by_one() {
    let id = "z39.50r://h.example/a+b+c?id7";
    let [whole, a, b, c] =
        ["a+b+c", "a", "b", "c"].map(|name| format!("search 1=1032,4=104 {name} usmarc -"));
    let [whole, a, b, c] = [&*whole, &*a, &*b, &*c];
    for condition in [23, 111] {
        let only = move |known: &'static str, otherwise| {
            move |asked: &str| match asked {
                asked if asked.contains("a+b+c") => Refuse(condition),
                asked if asked.contains(known) => One,
                _ => otherwise,
            }
        };
        let word = |name| format!("1=1032,4=104;database={name}");
        check(
            id,
            DATABASES,
            only(" a ", Hits(0)),
            &[whole, a],
            "Delivered usmarc",
            &word("a"),
        )
        .await;
        check(
            id,
            DATABASES,
            only(" b ", Hits(0)),
            &[whole, a, b],
            "Delivered usmarc",
            &word("b"),
        )
        .await;
        check(
            id,
            DATABASES,
            only(" c ", Refuse(235)),
            &[whole, a, b, c],
            "Delivered usmarc",
            &word("c"),
        )
        .await;
        check(
            id,
            DATABASES,
            only("none", Hits(0)),
            &[whole, a, b, c],
            "no match no record matches",
            "-",
        )
        .await;
        check(
            id,
            DATABASES,
            only("none", Refuse(235)),
            &[whole, a, b, c],
            "search refused 235",
            "-",
        )
        .await;
        let refused = format!("search refused {condition}");
        check(id, NONE, only(" a ", Hits(0)), &[whole], &refused, "-").await;
        check(
            "z39.50r://h.example/a?id7",
            DATABASES,
            move |_| Refuse(condition),
            &[a],
            &refused,
            "-",
        )
        .await;
    }
    // All databases are searched with the same attributes before the next attributes are tried.
    let by_number = |asked: &str| match asked {
        asked if asked.contains("a+b") => Refuse(23),
        "search 1=12 b usmarc -" => One,
        asked if asked.contains(" a ") => Refuse(114),
        _ => Hits(0),
    };
    let asked = [
        "search 1=1032,4=104 a+b usmarc -",
        "search 1=1032,4=104 a usmarc -",
        "search 1=1032,4=104 b usmarc -",
        "search 1=1032 a usmarc -",
        "search 1=1032 b usmarc -",
        "search 1=12 a usmarc -",
        "search 1=12 b usmarc -",
    ];
    check(
        "z39.50r://h.example/a+b?id7",
        Fallback::ALL,
        by_number,
        &asked,
        "Delivered usmarc",
        "1=12;database=b",
    )
    .await;
}
