//! Tests that each part of a URL or target has an effect, or that an error says what to do.

use z3950_asn1::apdu::*;

use super::*;
use crate::target::TargetError;

const URL_CREDENTIALS: &str = "z39.50s://ann:secret@lib.example/cat";

fn target_error_of<T: std::fmt::Debug>(result: Result<T, Error>) -> TargetError {
    match result.expect_err("a part of the URL would be dropped") {
        Error::Target(error) => match &*error {
            ProfileError::Target(error) => error.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_l4_connecting_to_a_record_is_an_error() {
    let (client, transcript) = client(options(|_| ()), [vec![accepted()]]);
    for text in [
        "z39.50r://lib.example/cat?id7",
        "z39.50s://lib.example/cat?id7;esn=f",
        "z39.50r://ann:secret@lib.example/cat?id7",
        "connect:proxy.example:8080,z39.50r://lib.example/cat?id7",
    ] {
        let error = target_error_of(client.connect(text).await);
        assert!(matches!(error, TargetError::Record(_)), "{text}: {error:?}");
        assert_eq!(target_error_of(client.target(text)), error);
        let words = error.to_string();
        assert!(words.contains("get retrieves it"), "{words}");
        assert!(!words.contains("secret"), "{words}");
    }
    assert_eq!(transcript.text(), "");
}

#[tokio::test(start_paused = true)]
async fn audit_r_l4_credentials_in_a_url_are_sent_or_an_error() {
    let retrieval = "z39.50r://ann:secret@lib.example/cat?id7";
    let (client, transcript) = client(options(|_| ()), [vec![accepted()]]);
    let init = InitializeRequest::default();
    let resolved = client
        .profiles()
        .resolve(URL_CREDENTIALS)
        .expect("a target");
    for error in [
        target_error_of(client.connect(URL_CREDENTIALS).await),
        target_error_of(client.target(URL_CREDENTIALS)),
        target_error_of(client.lease(&resolved, init.clone()).await),
        target_error_of(client.share(&resolved, init.clone()).await),
    ] {
        assert!(matches!(error, TargetError::Credentials(_)), "{error:?}");
        let words = error.to_string();
        assert!(words.contains("allow_url_credentials"), "{words}");
        assert!(!words.contains("secret"), "{words}");
    }
    let not_sent = |error: &PlanError| matches!(error, PlanError::CredentialsNotSent);
    let opened = client
        .open(&url(URL_CREDENTIALS))
        .await
        .expect_err("not sent");
    assert!(
        matches!(&opened, Error::Plan(error) if not_sent(error)),
        "{opened:?}"
    );
    let got = client.get(retrieval).await.expect_err("not sent");
    assert!(
        matches!(&got, Error::Plan(error) if not_sent(error)),
        "{got:?}"
    );
    let retrieved = client.retrieve(&url(retrieval)).await;
    assert!(not_sent(&retrieved.expect_err("not sent")));
    assert_eq!(transcript.text(), "");
    // Neither of these is an error: a caller that makes a plan sees the caution, and one that removes the credentials
    // does not want to send them.
    let plan = client.plan(&url(URL_CREDENTIALS)).await.expect("a plan");
    assert_eq!(plan.cautions, [Caution::Credentials { sent: false }]);
    let mut decided = resolved;
    decided.userinfo = None;
    assert!(client.lease(&decided, init).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn audit_r_l4_allowed_credentials_of_a_url_are_sent() {
    let mut peer_side = Vec::new();
    let client_side = options(|plan| plan.allow_url_credentials = true);
    for text in [
        URL_CREDENTIALS,
        "z39.50s://ann:secret@lib.example/cat;rs=xml;esn=b",
    ] {
        let (client, transcript) = client(
            client_side.clone(),
            [vec![accepted(), send(found(0, vec![]))]],
        );
        let cat = client.connect(text).await.expect("a session");
        cat.search_first(crate::Query::title("emma"), 1)
            .await
            .expect("hits");
        peer_side.push(transcript.text());
        let options = client
            .options_at(cat.target(), InitializeRequest::default())
            .await;
        let sent = options.expect("options").init.id_authentication;
        assert!(
            matches!(sent, Some(IdAuthentication::IdPass(_))),
            "{sent:?}"
        );
    }
    // Records are requested in the record syntax that the session URL names.
    assert!(peer_side[0].ends_with(",usmarc)"), "{peer_side:?}");
    assert!(peer_side[1].ends_with(",xml)"), "{peer_side:?}");
}
