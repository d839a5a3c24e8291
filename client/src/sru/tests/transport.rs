//! Tests of connections that are reused, lost or redirected, and of requests that are dropped.

use super::*;

fn redirect(status: &str, location: &str) -> Reply {
    let head = format!("HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
    Reply::Octets(head.into_bytes())
}

/// Sends one search. Returns its hits or its error, and the requests that were sent.
async fn search(target: &str, replies: impl IntoIterator<Item = Reply>) -> (String, String) {
    let peer = Peer::new(replies);
    let targets = "[targets.secret]\nhost = \"secret.example\"\ncredentials = { user = \"ann\", password_command = \"echo x\" }\nsru = {}\n";
    let client = peer.client_with(Timeouts::default(), targets);
    let connection = client.connect(target).await.expect("a connection");
    let outcome = match connection.search(Query::any("a")).await {
        Ok(hits) => hits.count().to_string(),
        Err(error) => chain(&error),
    };
    let asked = peer.asked().join(", ");
    (
        outcome,
        asked.replace("searchRetrieve&query=a&startRecord=1&maximumRecords=0", "…"),
    )
}

#[tokio::test]
async fn redirections_within_the_host_are_followed() {
    let one = || found(1, []);
    for (target, location, asked) in [
        (
            "http://lib.example/a",
            "https://lib.example/b",
            "connect lib.example:80, GET /a?…, connect lib.example:443, GET /b?…",
        ),
        (
            "http://lib.example/a",
            "/c?x=1",
            "connect lib.example:80, GET /a?…, connect lib.example:80, GET /c?x=1",
        ),
        (
            "sru:post:http://lib.example/a",
            "http://LIB.example:80/c",
            "connect lib.example:80, POST /a …, connect lib.example:80, POST /c …",
        ),
    ] {
        let (hits, found) = search(target, [redirect("301 Moved", location), one()]).await;
        assert_eq!((&*hits, &*found), ("1", asked));
    }
    for (target, location, words) in [
        (
            "secret",
            "http://other.example/a",
            "redirected to http://other.example/a, which is another server",
        ),
        ("secret", "//other.example/a", "which is another server"),
        (
            "secret",
            "",
            "redirected, but the server does not say where",
        ),
        (
            "http://lib.example/a",
            "http://lib.example:8080/",
            "which is another server",
        ),
        (
            "https://lib.example/a",
            "http://lib.example/",
            "which is another server",
        ),
        (
            "http://lib.example/a",
            "ftp://lib.example/",
            "which is another server",
        ),
    ] {
        let (error, asked) = search(target, [redirect("302 Found", location), one()]).await;
        assert!(error.contains(words), "{error}");
        assert!(!asked.contains("other"), "{asked}");
    }
    let forever = (0..20).map(|_| redirect("307 Temporary Redirect", "/a"));
    let (error, asked) = search("http://lib.example/a", forever).await;
    assert!(error.ends_with("redirected more than 4 times"), "{error}");
    assert_eq!(asked.matches("GET").count(), 5);
}

#[tokio::test]
async fn a_connection_that_was_closed_is_replaced() {
    let close = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    let last = Reply::Last([close.as_bytes(), found_xml(7, []).as_bytes()].concat());
    let peer = Peer::new([last, found(8, []), Reply::HangUp, found(9, [])]);
    let connection = peer.connect().await;
    for hits in 7..=9 {
        let found = connection.search(Query::any("a")).await.expect("hits");
        assert_eq!(found.count(), hits);
    }
    let connects = peer
        .asked()
        .iter()
        .filter(|line| line.starts_with("connect"))
        .count();
    assert_eq!(connects, 3);
}

#[tokio::test]
async fn a_request_that_is_given_up_does_not_disturb_the_next() {
    let peer = Peer::new([Reply::Silence, found(3, [])]);
    let connection = peer.connect().await;
    let given_up = connection.search(Query::any("a"));
    tokio::select! {
        biased;
        _ = given_up => panic!("an answer"),
        () = async { while peer.asked().len() < 2 { tokio::task::yield_now().await; } } => {}
    }
    let hits = connection.search(Query::any("b")).await.expect("hits");
    assert_eq!(hits.count(), 3);
    assert_eq!(
        peer.asked()
            .iter()
            .filter(|line| line.starts_with("connect"))
            .count(),
        2
    );
    connection.close().await.expect("closed");
}

#[tokio::test]
async fn audit_r_l15_a_server_of_sru_has_no_session_of_z3950() {
    let connection = Peer::new([]).connect().await;
    assert!(connection.as_z3950().await.is_none());
}

#[tokio::test]
async fn requests_that_sru_does_not_have_are_refused_here() {
    let peer = Peer::new([]);
    let connection = peer.connect().await;
    let session = connection.inner.session().await.expect("a session");
    let error = session.resource_report(Default::default()).await;
    assert!(
        chain(&error.expect_err("refused")).ends_with("the server does not offer resourceReport")
    );
    let explained = connection.explain(&Default::default()).await;
    let words = chain(&explained.expect_err("refused"));
    assert!(
        words.contains("a server of SRU has no databases about itself"),
        "{words}"
    );
    assert_eq!(peer.asked().len(), 1);
}

#[tokio::test]
async fn credentials_of_a_url_are_sent_if_that_is_allowed() {
    let targets = "[targets.lib]\nhost = \"lib.example\"\ncredentials = { user = \"ann\", password_command = \"echo x\" }\nsru = {}\n";
    for (is_allowed, target, sent) in [
        (
            true,
            "http://me:p%40w@lib.example/db",
            Some(" Basic bWU6cEB3"),
        ),
        (false, "http://me:p%40w@lib.example/db", None),
        (true, "http://lib.example/db", Some(" Basic YW5uOng=")),
    ] {
        let peer = Peer::new([found(1, [])]);
        let client = peer.client_with(Timeouts::default(), targets);
        let mut options = client.options().clone();
        options.plan.allow_url_credentials = is_allowed;
        let connection = client.with_options(options).connect(target).await;
        let Some(sent) = sent else {
            let error = connection.expect_err("the credentials would be dropped");
            assert!(
                error.to_string().contains("allow_url_credentials"),
                "{error}"
            );
            continue;
        };
        let connection = connection.expect("a connection");
        let shown = format!("{connection:?} {:?}", connection.target());
        assert!(
            !shown.contains("p@w") && !shown.contains("p%40w"),
            "{shown}"
        );
        connection.search(Query::any("a")).await.expect("hits");
        let asked = peer.asked();
        assert_eq!(
            asked[1],
            format!("GET /db?searchRetrieve&query=a&startRecord=1&maximumRecords=0{sent}")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_l2_a_search_that_ends_its_connection_is_sent_twice_at_most() {
    for (answered, sent) in [(vec![], 1), (vec![found(1, [])], 2)] {
        let peer = Peer::new(answered.clone());
        let cat = peer.connect().await;
        for _ in &answered {
            cat.search(Query::any("a")).await.expect("hits");
        }
        let error = cat.search(Query::any("b")).await.expect_err("lost");
        assert!(error.is_connection_lost(), "{error}");
        let asked = peer.asked();
        let lost = asked.iter().filter(|line| line.contains("query=b"));
        assert_eq!(lost.count(), sent, "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_wait_is_given_time() {
    let busy = |header: &str| {
        let status = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0";
        Reply::Octets(format!("{status}{header}\r\n\r\n").into_bytes())
    };
    for (header, words, waited) in [
        (
            "\r\nRetry-After: 30",
            "HTTP status 503 Service Unavailable; the server asks to wait 30 s",
            30,
        ),
        (
            "\r\nRetry-After: 99999999",
            "the server asks to wait 99999999 s",
            3600,
        ),
        (
            "\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT",
            "the server asks to wait 0 s",
            0,
        ),
        ("\r\nRetry-After: soon", "503 Service Unavailable", 0),
        ("", "503 Service Unavailable", 0),
    ] {
        let peer = Peer::new([busy(header), found(1, [])]);
        let client = peer.client();
        let connection = client.connect("http://lib.example/db").await;
        let connection = connection.expect("a connection");
        let error = connection.search(Query::any("a")).await;
        let error = chain(&error.expect_err("no answer"));
        assert!(error.ends_with(words), "{error}");
        // Another session with the same server waits too.
        let begun = tokio::time::Instant::now();
        let other = client.connect("http://lib.example/db").await;
        other
            .expect("a connection")
            .search(Query::any("a"))
            .await
            .expect("hits");
        assert_eq!(begun.elapsed().as_secs(), waited, "{header}");
    }
}
