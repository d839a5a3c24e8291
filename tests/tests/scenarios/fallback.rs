//! Tests of retrievals that may depart from RFC 2056 §4: the APDUs and the reported steps. Without `--fallback`, none of this may
//! happen (decision A-13, row S-11).

use z3950::plan::{Fallback, is_prescribed};
use z3950::retrieve::StepRequest;
use z3950::{Error, Outcome, Retrieval};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid;
use z3950_server::diagnostic;
use z3950_server::fault::{Fault, Faults, When};

use super::names::{CLOSE, INIT, PRESENT, SEARCH, sequence};
use super::{client, library, url};

/// Retrieves a record from a server with these faults. Returns the retrieval and the names of the APDUs.
async fn retrieved(
    text: &str,
    fallback: Fallback,
    faults: Faults,
) -> (Retrieval, Vec<&'static str>) {
    let server = library().faults(faults).start();
    let client = client(&server, |options| options.plan.fallback = fallback);
    let retrieval = client.retrieve(&url(text)).await.expect("a plan");
    client.close_all().await;
    server.wait_for_end();
    (retrieval, server.names())
}

fn refused(number: u64, condition: Condition) -> (When, Fault) {
    (
        When::search().nth(number),
        Fault::Fails(diagnostic(condition, "")),
    )
}

fn faults(all: impl IntoIterator<Item = (When, Fault)>) -> Faults {
    all.into_iter()
        .fold(Faults::new(), |faults, (when, fault)| {
            faults.on(when, fault)
        })
}

#[tokio::test]
async fn the_server_is_asked_until_it_takes_a_search() {
    let id = "z39.50r://lib.example/cat?id7";
    let chain = [
        Condition::USE,
        Condition::STRUCTURE,
        Condition::ATTRIBUTE_SET,
    ];
    let all = || {
        faults(
            (1_u64..)
                .zip(chain)
                .map(|(number, condition)| refused(number, condition)),
        )
    };
    let (retrieval, apdus) = retrieved(id, Fallback::default(), all()).await;
    assert_eq!(retrieval.outcome.name().as_str(), "search refused");
    assert_eq!(apdus, sequence(&[&INIT, &SEARCH, &CLOSE]));
    let (retrieval, apdus) = retrieved(id, Fallback::ALL, all()).await;
    assert_eq!(
        apdus,
        sequence(&[&INIT, &SEARCH, &SEARCH, &SEARCH, &SEARCH, &CLOSE])
    );
    let forms: Vec<&str> = retrieval
        .steps
        .iter()
        .map(|step| step.form.as_str())
        .collect();
    assert_eq!(forms, ["1=1032,4=104", "1=1032", "1=12", "1=1007"]);
    let conditions = retrieval
        .steps
        .iter()
        .map(|step| step.diagnostics.condition());
    let said: Vec<_> = chain
        .iter()
        .map(|condition| Some(condition.0))
        .chain([None])
        .collect();
    assert_eq!(conditions.collect::<Vec<_>>(), said);
    assert!(!retrieval.step.as_deref().is_some_and(is_prescribed));
    // If the accepted search finds nothing, no record is delivered.
    match retrieval.outcome {
        Outcome::Delivered(_) => assert_eq!(retrieval.step.as_deref(), Some("1=1007")),
        outcome => assert_eq!(
            (outcome.name().as_str(), retrieval.step),
            ("no match", None)
        ),
    }
}

#[tokio::test]
async fn no_fallback_delivers_one_of_several_records() {
    let first = || faults([refused(1, Condition::USE)]);
    let (retrieval, apdus) =
        retrieved("z39.50r://lib.example/cat?dup", Fallback::ALL, first()).await;
    assert!(
        matches!(
            retrieval.outcome,
            Outcome::Failed(Error::Ambiguous { hits: 2, .. })
        ),
        "{:?}",
        retrieval.outcome
    );
    assert_eq!(retrieval.step.as_deref(), Some("1=1032"));
    assert_eq!(apdus, sequence(&[&INIT, &SEARCH, &SEARCH, &CLOSE]));
}

#[tokio::test]
async fn databases_that_cannot_be_combined_are_searched_one_by_one() {
    let together = || faults([refused(1, Condition::COMBINATION)]);
    let text = "z39.50r://lib.example/nosuch+cat?id7";
    let (retrieval, apdus) = retrieved(text, Fallback::ALL, together()).await;
    assert_eq!(retrieval.outcome.name().as_str(), "delivered");
    assert_eq!(retrieval.step.as_deref(), Some("1=1032,4=104;database=cat"));
    assert_eq!(apdus, sequence(&[&INIT, &SEARCH, &SEARCH, &SEARCH, &CLOSE]));
}

#[tokio::test]
async fn the_record_comes_in_an_available_form() {
    let refusals = || {
        let no_syntax = Fault::Surrogate(diagnostic(Condition::NOT_AVAILABLE_IN_SYNTAX, ""));
        let no_element_set = Fault::Surrogate(diagnostic(Condition::ELEMENT_SET_NAME, "x"));
        faults([
            (When::search(), Fault::NeverPiggyback),
            (When::present().syntax(oid::SUTRS), no_syntax),
            (When::present().nth(2), no_element_set),
        ])
    };
    let text = "z39.50r://lib.example/cat?id7;esn=f;rs=sutrs+usmarc";
    let (retrieval, apdus) = retrieved(text, Fallback::ALL, refusals()).await;
    assert_eq!(
        retrieval.outcome.name().as_str(),
        "delivered",
        "{:?}",
        retrieval.outcome
    );
    assert_eq!(
        retrieval.step.as_deref(),
        Some("1=1032,4=104;rs=1.2.840.10003.5.10;esn=none")
    );
    // Only the form of the record differs from RFC 2056, and not the search.
    assert!(retrieval.step.as_deref().is_some_and(is_prescribed));
    let asked: Vec<StepRequest> = retrieval.steps.iter().map(|step| step.request).collect();
    assert_eq!(
        asked,
        [
            StepRequest::Search,
            StepRequest::Present,
            StepRequest::Present,
            StepRequest::Present
        ]
    );
    assert_eq!(
        apdus,
        sequence(&[&INIT, &SEARCH, &PRESENT, &PRESENT, &PRESENT, &CLOSE])
    );
}
