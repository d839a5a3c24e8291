//! Tests of the outcomes of retrieving URLs, with a scripted server for each scenario (RFC 2056 §3, §4).

mod addresses;
mod builder;
mod fallback;
mod faults;
mod leases;
mod limits;
mod pipelined;
mod profiles;
mod repeats;
mod sessions;

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::oid;

use super::*;
use crate::error::{Cause, Phase};
use crate::open::OpenedSearch;
use crate::plan::{Fallback, Strategy};
use crate::testing::*;
use crate::url::{Host, Mode};

const ID7: &str = "z39.50r://lib.example/cat?id7;esn=f;rs=usmarc";

fn url(text: &str) -> Z3950Url {
    Z3950Url::parse(text, Mode::Lenient).expect(text)
}

fn client<S: Into<Script>>(
    options: ClientOptions,
    scripts: impl IntoIterator<Item = S>,
) -> (Client, Transcript) {
    let scripted = Arc::new(Scripted::new(scripts));
    let transcript = scripted.transcript.clone();
    (
        Client::with_routes(options, Routes::fixed(scripted)),
        transcript,
    )
}

fn options(change: impl FnOnce(&mut PlanOptions)) -> ClientOptions {
    let mut options = ClientOptions::default();
    options.plan.record_syntaxes = vec![oid::USMARC, oid::SUTRS, oid::XML, oid::GRS_1];
    change(&mut options.plan);
    options
}

fn say(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Delivered(delivered) => {
            let syntax = delivered
                .syntax
                .and_then(|syntax| syntax.name())
                .unwrap_or("none");
            format!(
                "Delivered {syntax}{}",
                if delivered.mismatch { " mismatch" } else { "" }
            )
        }
        Outcome::Failed(Error::Unavailable { phase, cause }) => {
            format!("Unavailable {phase} {cause}")
        }
        Outcome::Failed(Error::ProtocolError { phase, fault }) => {
            format!("ProtocolError {phase} {fault}")
        }
        Outcome::RecordDiagnostic { .. } | Outcome::Failed(Error::Refused { .. }) => {
            let mut said = outcome.name().to_string();
            for diagnostic in outcome.diagnostics() {
                if let DiagRec::DefaultFormat(diagnostic) = diagnostic {
                    said += &format!(
                        " {} {}",
                        diagnostic.condition,
                        diagnostic.addinfo.to_string_lossy()
                    );
                }
            }
            said.trim_end().to_owned()
        }
        other => format!("{} {other}", other.name()),
    }
}

/// Retrieves the URL `text` from a server that performs `turns`, and checks the outcome and the requests that the
/// server received.
async fn check(
    id: &str,
    text: &str,
    options: ClientOptions,
    turns: Vec<Turn>,
    expected: &str,
    seen: &str,
) {
    let (client, transcript) = client(options, [turns]);
    let retrieval = client.retrieve(&url(text)).await.expect("a plan");
    assert_eq!(say(&retrieval.outcome), expected, "{id}");
    assert_eq!(
        transcript.finished().await,
        format!("connect initRequest {seen}"),
        "{id}"
    );
}

#[tokio::test(start_paused = true)]
async fn each_server_behaviour_has_its_outcome() {
    let plain = || options(|_| ());
    let whole = "search(1/2/0,usmarc) close(finished) end";
    let present = "search(1/2/0,usmarc) present(1+1,usmarc) close(finished) end";
    check(
        "S-02",
        ID7,
        plain(),
        vec![accepted(), send(found(1, vec![marc()]))],
        "Delivered usmarc",
        whole,
    )
    .await;
    check(
        "S-03",
        ID7,
        plain(),
        vec![accepted(), send(found(1, vec![])), one(marc())],
        "Delivered usmarc",
        present,
    )
    .await;
    check(
        "S-04",
        ID7,
        options(|plan| plan.strategy = Strategy::PresentOnly),
        vec![accepted(), send(found(1, vec![])), one(marc())],
        "Delivered usmarc",
        "search(0/1/0,any) present(1+1,usmarc) close(finished) end",
    )
    .await;
    check(
        "S-05",
        ID7,
        plain(),
        vec![accepted(), send(found(0, vec![]))],
        "no match no record matches",
        whole,
    )
    .await;
    let ambiguous = "ambiguous 2 records match, so none is delivered";
    check(
        "S-06",
        ID7,
        plain(),
        vec![accepted(), send(found(2, vec![]))],
        ambiguous,
        whole,
    )
    .await;
    check(
        "S-07",
        ID7,
        plain(),
        vec![accepted(), send(found(2, vec![marc()]))],
        ambiguous,
        whole,
    )
    .await;
    let unknown = send(search_failed(diagnostic(235, "nosuchdb")));
    check(
        "S-08",
        ID7,
        plain(),
        vec![accepted(), unknown],
        "search refused 235 nosuchdb",
        whole,
    )
    .await;
    let silent = send(search_failed(None));
    check(
        "S-08",
        ID7,
        plain(),
        vec![accepted(), silent],
        "search refused",
        whole,
    )
    .await;
    let two = Records::MultipleNonSurDiagnostics(vec![
        DiagRec::DefaultFormat(DefaultDiagFormat::bib1(2, "a")),
        DiagRec::DefaultFormat(DefaultDiagFormat {
            addinfo: AddInfo::V3Addinfo("b".into()),
            ..DefaultDiagFormat::bib1(3, "")
        }),
    ]);
    let several = send(search_failed(Some(two)));
    check(
        "S-08",
        ID7,
        plain(),
        vec![accepted(), several],
        "search refused 2 a 3 b",
        whole,
    )
    .await;
    let refused = send(found(1, vec![surrogate(14)]));
    check(
        "S-09",
        ID7,
        plain(),
        vec![accepted(), refused],
        "record refused 14",
        whole,
    )
    .await;
    let no_marc = send(presented(
        PresentStatus::FAILURE,
        diagnostic(239, "1.2.840.10003.5.10"),
    ));
    check(
        "S-10",
        ID7,
        plain(),
        vec![accepted(), send(found(1, vec![])), no_marc],
        "present refused 239 1.2.840.10003.5.10",
        present,
    )
    .await;
    let nothing = send(presented(PresentStatus::SUCCESS, None));
    check(
        "S-10",
        ID7,
        plain(),
        vec![accepted(), send(found(1, vec![])), nothing],
        "present refused",
        present,
    )
    .await;
    let push_failed = SearchResponse {
        present_status: Some(PresentStatus::FAILURE),
        records: diagnostic(14, "").into(),
        ..found(1, vec![])
    };
    check(
        "S-13",
        ID7,
        plain(),
        vec![accepted(), send(push_failed), one(marc())],
        "Delivered usmarc",
        present,
    )
    .await;
    let absent = SearchResponse {
        present_status: None,
        next_result_set_position: 0,
        ..found(1, vec![])
    };
    check(
        "Z-7.6",
        ID7,
        plain(),
        vec![accepted(), send(absent), one(marc())],
        "Delivered usmarc",
        present,
    )
    .await;
    check(
        "S-23",
        ID7,
        plain(),
        vec![accepted(), send(found(1, vec![record(oid::SUTRS)]))],
        "Delivered sutrs mismatch",
        whole,
    )
    .await;
    let octets = encode(&found(1, vec![marc()]).into());
    check(
        "S-24",
        ID7,
        plain(),
        vec![accepted(), Turn::Trickle(octets)],
        "Delivered usmarc",
        whole,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn forbidden_requests_are_not_sent() {
    let (client, transcript) = client(options(|plan| plan.strict = true), [vec![accepted()]]);
    let error = client
        .retrieve(&url("z39.50r://lib.example/cat"))
        .await
        .expect_err("no docid");
    assert!(matches!(error, PlanError::NoDocid));
    let session = "z39.50s://lib.example/cat";
    let error = client.retrieve(&url(session)).await.expect_err("no docid");
    assert!(matches!(error, PlanError::NoDocid));
    assert!(
        client
            .retrieve(&url("z39.50r://lib.example/cat?x;rs=klingon"))
            .await
            .is_err()
    );
    let retrieval = client
        .retrieve(&url("z39.50r://lib.example:25/cat?x"))
        .await
        .expect("a plan");
    assert!(matches!(
        retrieval.outcome,
        Outcome::Failed(Error::PortRefused(25))
    ));
    let refused = client.open(&url("z39.50s://lib.example:25/cat")).await;
    assert!(matches!(refused, Err(Error::PortRefused(25))));
    assert_eq!(transcript.text(), "");
}
