//! Tests of closing a connection at any moment, and of requesting records in a specific form.

use std::time::Duration;

use z3950_asn1::oid::{OPAC, Oid, USMARC, XML};

use super::*;
use crate::testing::*;
use crate::transport::Routes;
use crate::{Client, ClientOptions};

/// Opens a connection to scripted servers, one for each session, which are used in order.
async fn connected(
    scripts: impl IntoIterator<Item = Vec<Turn>>,
) -> (Client, Connection, Transcript) {
    let scripted = Arc::new(Scripted::new(scripts));
    let transcript = scripted.transcript.clone();
    let client = Client::with_routes(ClientOptions::default(), Routes::fixed(scripted));
    let connection = client.connect("lib.example/cat").await;
    (client, connection.expect("a connection"), transcript)
}

fn is_closed<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Ended { cause: None }))
}

#[tokio::test(start_paused = true)]
async fn closing_ends_requests_in_progress() {
    let hits = || send(found(2, Vec::new()));
    let silent = || vec![Turn::Silence];
    for (searches, reads, scripts, said) in [
        (
            1,
            false,
            vec![vec![accepted(), Turn::Silence]],
            "connect initRequest search(0/1/0,usmarc)",
        ),
        (
            1,
            true,
            vec![vec![accepted(), hits(), Turn::Silence]],
            "connect initRequest search(0/1/0,usmarc) present(1+1,usmarc)",
        ),
        // The connection is closed while a lost session is being replaced.
        (
            2,
            false,
            vec![vec![accepted(), hits(), Turn::HangUp], silent()],
            "connect initRequest search(0/1/0,usmarc) search(0/1/0,usmarc) hangup connect initRequest",
        ),
        (
            1,
            true,
            vec![vec![accepted(), hits(), Turn::HangUp], silent()],
            "connect initRequest search(0/1/0,usmarc) present(1+1,usmarc) hangup connect initRequest",
        ),
    ] {
        let (_, cat, transcript) = connected(scripts).await;
        let user = cat.clone();
        let request = tokio::spawn(async move {
            let mut hits = user.search(Query::title("emma")).await?;
            for _ in 1..searches {
                hits = user.search(Query::title("emma")).await?;
            }
            if reads {
                hits.record(1).await.map(drop)
            } else {
                Ok(())
            }
        });
        while transcript.text() != said {
            tokio::task::yield_now().await;
        }
        // An error means that the first session was lost, which some of these scripts intend.
        let _ = cat.clone().close().await;
        assert!(is_closed(&request.await.expect("no panic")), "{said}");
        transcript.finished().await;
        assert!(is_closed(&cat.search(Query::title("emma")).await), "{said}");
        assert!(cat.as_z3950().await.is_none(), "{said}");
        cat.close().await.expect("was closed");
    }
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_sessions_that_result_sets_have_opened() {
    let hits = || send(found(2, Vec::new()));
    let lost = vec![accepted(), hits(), Turn::HangUp];
    let (_, cat, transcript) = connected([lost, vec![accepted(), hits(), one(marc())]]).await;
    let hits = cat.search(Query::title("emma")).await.expect("hits");
    hits.record(1).await.expect("a record");
    // An error means that the first session was lost, which this script intends.
    let _ = cat.close().await;
    let said = transcript.finished().await;
    assert!(
        said.ends_with("present(1+1,usmarc) close(finished) end"),
        "{said}"
    );
    assert!(is_closed(&hits.record(2).await));
}

#[tokio::test(start_paused = true)]
async fn a_closed_connection_makes_room_although_its_result_sets_are_kept() {
    let script = || vec![accepted(), send(found(2, Vec::new()))];
    let (client, mut cat, _) = connected(std::iter::repeat_with(script).take(17)).await;
    let mut options = client.options().clone();
    options.timeouts.session = Some(Duration::from_secs(1));
    let client = client.with_options(options);
    let mut kept = Vec::new();
    for _ in 0..16 {
        kept.push(cat.search(Query::title("emma")).await.expect("hits"));
        cat.close().await.expect("was open");
        cat = client.connect("lib.example/cat").await.expect("room");
    }
    for hits in kept {
        assert!(is_closed(&hits.record(1).await));
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_comes_in_the_form_of_the_connection() {
    let one = |syntax: Oid| send(found(1, vec![record(syntax)]));
    let refused = || send(search_failed(diagnostic(239, "")));
    for (form, answers, seen) in [
        (
            RecordForm::default(),
            vec![one(USMARC)],
            "search(1/2/0,usmarc)",
        ),
        (
            RecordForm::new(Some(XML), None),
            vec![one(XML)],
            "search(1/2/0,xml)",
        ),
        (
            RecordForm::with_holdings(),
            vec![one(OPAC)],
            "search(1/2/0,opac)",
        ),
        (
            RecordForm::with_holdings(),
            vec![refused(), one(USMARC)],
            "search(1/2/0,opac) search(1/2/0,usmarc)",
        ),
    ] {
        let script = [vec![accepted()], answers].concat();
        let (_, cat, transcript) = connected([script]).await;
        let record = cat.with_form(form).get("id7").await;
        assert!(record.is_ok(), "{record:?}");
        assert_eq!(transcript.text(), format!("connect initRequest {seen}"));
    }
}
