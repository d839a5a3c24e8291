//! Tests with databases, queries and updates that the user requests but the server does not support, and tests that secrets do
//! not appear in reports.

use z3950_asn1::apdu::{Apdu, IdAuthentication, IdPass, InitializeResponse};
use z3950_asn1::query::parse_pqf;
use z3950_files::hex;

use super::scripted::{Does, granting, judged};
use super::*;
use crate::answers::{diagnostic, encode, found, search_failed};
use crate::server::{MissingPrerequisite, Offer};

/// Learns what a Z39.50 server offers, and returns it.
async fn learned(judge: &mut Judge) -> Offer {
    match judge.learn().await {
        ServerOffer::Z3950(offer) => (**offer).clone(),
        ServerOffer::Sru(_) => panic!("a server of Z39.50"),
    }
}

#[tokio::test]
async fn a_database_that_does_not_exist_ends_the_judgement() {
    let server = server(None);
    let mut judge = judge(server.addr(), |options| {
        options.databases = vec!["nodb".into()]
    });
    let offer = learned(&mut judge).await;
    assert_eq!(offer.missing, [MissingPrerequisite::Database]);
    assert!(
        offer.notes.iter().any(|note| note.contains("nodb")),
        "{:?}",
        offer.notes
    );
    let first = judge.next().await.expect("a check");
    assert!(first.is_error && first.exchanges.is_empty());
    assert_eq!(
        reason(first.verdict.clone()),
        "a database to judge is not available"
    );
    assert!(!judge.next().await.expect("a check").is_error);
}

#[tokio::test]
async fn without_default_the_first_database_of_explain_is_judged() {
    let without = server(Some("on search db=Default: fail 109"));
    let mut judged = judge(without.addr(), |options| options.databases = Vec::new());
    let offer = learned(&mut judged).await;
    assert_eq!(offer.databases, ["books".into()]);
    assert!(
        offer.missing.is_empty() && offer.hits == 4,
        "{:?}",
        offer.notes
    );
    // On this server, Default stands for all databases, and Explain does not list it.
    let with = server(None);
    for databases in [vec![], vec!["Default".into()]] {
        let is_named = !databases.is_empty();
        let mut judged = judge(with.addr(), |options| {
            options.databases = databases;
            options.only = vec!["explain.databases".into()];
        });
        assert_eq!(learned(&mut judged).await.databases, ["Default".into()]);
        match verdict(&mut judged).await {
            Verdict::Fail { .. } => assert!(is_named),
            other => assert!(reason(other).contains("no database was named") && !is_named),
        }
    }
}

#[tokio::test]
async fn a_query_that_was_given_is_not_replaced() {
    for (query, missing, words) in [
        ("@attr 1=4 zqxjkv", MissingPrerequisite::Hits, "has no hits"),
        (
            "@attr 1=9999 war",
            MissingPrerequisite::Query,
            "was refused: ",
        ),
    ] {
        let server = server(None);
        let mut judge = judge(server.addr(), |options| {
            options.query = parse_pqf(query).ok();
            options.only = vec![
                "search.database.unknown-beside".into(),
                "present.first".into(),
            ];
        });
        let offer = learned(&mut judge).await;
        assert_eq!(offer.missing, [missing]);
        let kept = offer.query.as_ref().map(ToString::to_string);
        assert_eq!(kept.as_deref(), Some(query));
        assert!(
            offer.notes.iter().any(|note| note.contains(words)),
            "{:?}",
            offer.notes
        );
        let beside = verdict(&mut judge).await;
        match missing {
            MissingPrerequisite::Hits => assert_eq!(beside, Verdict::Pass),
            // A refused query does not show whether the database exists.
            _ => assert!(reason(beside).starts_with("the query was refused")),
        }
        assert!(matches!(
            verdict(&mut judge).await,
            Verdict::NotJudged { .. }
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn an_accepted_query_replaces_a_refused_one() {
    let mut judge = judged(
        &["search.answered"],
        |_| {},
        |apdu| match apdu {
            Apdu::SearchRequest(search) => {
                let refused = search_failed(diagnostic(114, "1016"));
                let is_any = format!("{:?}", search.query).contains("1016");
                Does::Says(encode(
                    &if is_any { refused } else { found(0, vec![]) }.into(),
                ))
            }
            _ => Does::Answers,
        },
    );
    let offer = learned(&mut judge).await;
    let query = offer.query.as_ref().map(ToString::to_string);
    assert_eq!(query.as_deref(), Some("@attr 1=4 history"));
    assert_eq!((offer.hits, offer.refusal), (0, None));
    assert_eq!(verdict(&mut judge).await, Verdict::Pass);
}

#[tokio::test]
async fn a_database_without_updates_is_reported() {
    let server = server(None);
    for (database, missing) in [
        ("books", &[][..]),
        ("nodb", &[MissingPrerequisite::Updates]),
    ] {
        let mut judge = judge(server.addr(), |options| {
            options.may_update = Some(database.into())
        });
        let offer = learned(&mut judge).await;
        assert_eq!(offer.missing, missing, "{:?}", offer.notes);
        let is_told = offer
            .notes
            .iter()
            .any(|note| note.starts_with("database nodb takes no updates"));
        assert_eq!(is_told, !missing.is_empty(), "{:?}", offer.notes);
    }
}

#[tokio::test]
async fn a_rejected_init_does_not_violate_the_rules_of_versions() {
    let server = server(Some("on init: reject 1014"));
    let mut judge = judge(server.addr(), |options| {
        options.only = ["init.version.common", "options.", "sizes."]
            .map(Into::into)
            .into();
    });
    assert_eq!(
        learned(&mut judge).await.missing,
        [MissingPrerequisite::Session]
    );
    while let Some(finding) = judge.next().await {
        let is_not_judged = matches!(finding.verdict, Verdict::NotJudged { .. });
        assert!(is_not_judged, "{finding:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_are_in_no_report() {
    let echo = |apdu: &Apdu| match apdu {
        Apdu::InitializeRequest(init) => {
            let response = InitializeResponse {
                implementation_name: Some("annette may enter with sesame".into()),
                ..granting(init.options)
            };
            Does::Says(encode(&response.into()))
        }
        Apdu::SearchRequest(_) => Does::Says(b"\xb7\x06sesame".to_vec()),
        _ => Does::Answers,
    };
    let identities = [
        IdAuthentication::IdPass(IdPass {
            group_id: None,
            user_id: Some("annette".into()),
            password: Some("sesame".into()),
        }),
        IdAuthentication::Open("annette/sesame".into()),
    ];
    for identity in identities {
        let change = |options: &mut JudgeOptions| options.init.id_authentication = Some(identity);
        let mut judge = judged(
            &["init.", "search.answered", "reference-id.init"],
            change,
            echo,
        );
        judge.learn().await;
        while judge.next().await.is_some() {}
        let report = judge.report("here");
        let text = format!(
            "{:?}{}{}",
            report.offer.notes(),
            report.to_json(),
            report.to_junit()
        );
        for secret in ["sesame", "annette/"] {
            let digits = hex::digits(secret.as_bytes());
            assert!(
                !text.contains(secret) && !text.contains(&digits),
                "{secret} in {text}"
            );
        }
        assert!(
            text.contains("initRequest") && text.contains("may enter with ******"),
            "{text}"
        );
    }
}
