//! Tests of clients that a program configures with credentials, profiles, limits and certificates.

use std::time::Duration;

use futures_util::FutureExt;

use super::*;
use crate::client::ConnectOptions;
use crate::protocol::service::init;
use crate::target::profile::Credentials;

/// Returns the user name and password in an Init request.
fn login(init: &InitializeRequest) -> String {
    match &init.id_authentication {
        None => "nobody".to_owned(),
        Some(IdAuthentication::IdPass(id)) => [&id.user_id, &id.password]
            .into_iter()
            .flatten()
            .map(|text| text.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join("/"),
        Some(other) => format!("{other:?}"),
    }
}

fn ann(password: &str) -> Credentials {
    Credentials::password("ann", password)
}

#[tokio::test]
async fn audit_r_l6_credentials_and_profiles_come_from_the_program() {
    let mut own = Profile::at("own.example".parse().expect("a host"), 2100, true);
    own.credentials = Some(ann("of the profile"));
    own.databases = vec!["maps".to_owned()];
    let client = Client::builder()
        .profile("own", own.clone())
        .profile(
            "known",
            Profile::at("lib.example".parse().expect("a host"), 210, false),
        )
        .credentials("lib.example", ann("everywhere"))
        .credentials("LIB.example:2100", ann("here"))
        .credentials("[::1]:210", ann("by address"))
        .build()
        .expect("a client");
    for (text, endpoint, expected) in [
        ("own", "ssl:own.example:2100", "ann/of the profile"),
        ("OWN/books", "ssl:own.example:2100", "ann/of the profile"),
        ("known", "lib.example:210", "ann/everywhere"),
        (
            "ssl:lib.example/cat",
            "ssl:lib.example:210",
            "ann/everywhere",
        ),
        ("lib.example:2100/cat", "lib.example:2100", "ann/here"),
        (
            "http://lib.example/sru",
            "http://lib.example",
            "ann/everywhere",
        ),
        ("[::1]/cat", "[::1]:210", "ann/by address"),
        ("[::1]:211/cat", "[::1]:211", "nobody"),
        ("example/cat", "example:210", "nobody"),
        ("sub.lib.example/cat", "sub.lib.example:210", "nobody"),
    ] {
        let target = client.profiles().resolve(text).expect(text);
        assert_eq!(target.endpoint.to_string(), endpoint, "{text}");
        let options = client.options_at(&target, init::offer()).await;
        assert_eq!(login(&options.expect(text).init), expected, "{text}");
    }
    for (text, expected) in [
        ("z39.50r://lib.example/cat?7", "ann/everywhere"),
        ("z39.50r://lib.example:2100/cat?7", "ann/here"),
        ("z39.50r://own.example:2100/cat?7", "ann/of the profile"),
        // The URL names a different user, so neither the credentials of the client nor those in the URL are sent.
        ("z39.50r://bob:x@lib.example/cat?7", "nobody"),
        ("z39.50r://other.example/cat?7", "nobody"),
    ] {
        let plan = client.plan(&url(text)).await.expect(text);
        assert_eq!(login(&plan.options.init), expected, "{text}");
    }
    let replaced = Client::builder()
        .profile("own", own)
        .credentials("own.example", ann("of the host"))
        .build()
        .expect("a client");
    let target = replaced.profiles().resolve("own").expect("a profile");
    let options = replaced.options_at(&target, init::offer()).await;
    assert_eq!(login(&options.expect("options").init), "ann/of the host");
    assert!(!format!("{:?} {target:?}", Client::builder()).contains("of the host"));
}

#[test]
fn audit_r_l6_values_that_cannot_be_used_are_refused_when_the_client_is_built() {
    let refused = |builder: ClientBuilder| builder.build().expect_err("refused").to_string();
    let hosts = Client::builder()
        .credentials("lib.example:port", ann("secret"))
        .credentials("lib.example", ann("secret"));
    let words = refused(hosts);
    assert!(words.contains("lib.example:port"), "{words}");
    assert!(!words.contains("secret"), "{words}");
    let url = Client::builder().credentials("https://ann:secret@lib.example/sru", ann("secret"));
    let words = refused(url);
    assert!(words.contains("give the host alone"), "{words}");
    assert!(!words.contains("secret"), "{words}");
    #[cfg(feature = "tls")]
    {
        use crate::error::{RouteError, TlsError};
        use crate::transport::{Pem, TlsOptions};

        let none = TlsOptions::new().with_roots(Pem::text("hello"));
        let error = Client::builder().tls(none).build().expect_err("refused");
        assert_eq!(
            error.to_string(),
            "no certificate in the PEM of the trusted certificates, which holds nothing in PEM"
        );
        let Error::Route(error) = error else {
            panic!("{error:?}");
        };
        assert!(matches!(&*error, RouteError::Tls(TlsError::Missing { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_l6_a_connection_may_have_its_own_credentials_and_limits() {
    let scripted = Arc::new(Scripted::new([vec![accepted()], vec![accepted()], vec![]]));
    let routes = Routes::fixed(Arc::clone(&scripted));
    let client = Client::with_routes(ClientOptions::default(), routes);
    let mut first = None;
    for options in [
        ConnectOptions::new(),
        ConnectOptions::new().with_credentials(ann("secret")),
    ] {
        let connection = client.connect_with("lib.example/cat", options).await;
        first = first.or(Some(connection.expect("connected")));
    }
    let transcript = scripted.transcript.text();
    // The first connection is still in use, so the second one opens a session of its own.
    assert_eq!(transcript.matches("initRequest").count(), 2, "{transcript}");
    let short = Timeouts::default().with_answer(Duration::from_secs(2));
    let options = ConnectOptions::new().with_timeouts(short);
    let late = client.connect_with("other.example/cat", options).await;
    let error = late.expect_err("no answer");
    let cause = Cause::Timeout(Duration::from_secs(2)).to_string();
    assert!(
        matches!(&error, Error::Unavailable { cause: found, .. } if found.to_string() == cause)
    );
}

#[tokio::test(start_paused = true)]
async fn audit_r_l6_the_sessions_of_a_client_are_counted() {
    let scripted = Scripted::new([vec![accepted()], vec![accepted()]]);
    let options = ClientOptions {
        max_sessions: Some(1),
        ..ClientOptions::default()
    };
    let client = Client::with_routes(options, Routes::fixed(scripted));
    let counts = || {
        let status = client.pool_status();
        (status.in_use, status.idle, status.waiting)
    };
    assert_eq!(counts(), (0, 0, 0));
    let connection = client.connect("lib.example/cat").await.expect("connected");
    assert_eq!(counts(), (1, 0, 0));
    let mut second = Box::pin(client.connect("lib.example/cat"));
    assert!((&mut second).now_or_never().is_none());
    assert_eq!(counts(), (1, 0, 1));
    let other = client
        .connect("other.example/cat")
        .await
        .expect("connected");
    assert_eq!(counts(), (2, 0, 1));
    drop(connection);
    let second = second.await.expect("the session of the first");
    assert_eq!(counts(), (2, 0, 0));
    drop((second, other));
    assert_eq!(counts(), (0, 2, 0));
    client.close_all().await;
    assert_eq!(counts(), (0, 0, 0));
}
