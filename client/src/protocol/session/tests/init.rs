//! Tests of a second Init in an open session, which negotiates again on the same connection (Z39.50-2003 §3.2.1).

use super::*;
use crate::protocol::service::init;

fn granting(options: Options, name: &str) -> InitializeResponse {
    InitializeResponse {
        options,
        implementation_name: Some(name.into()),
        ..init_response(true, ProtocolVersion::UP_TO_3)
    }
}

/// Opens a session whose server accepts the first Init and answers a second Init with `second`.
async fn again(second: InitializeResponse) -> (Session, Peer, Result<Session, Error>, Apdu) {
    let (session, mut peer) =
        Peer::accept(SessionOptions::default(), granting(Options::SEARCH, "one")).await;
    let options = InitializeRequest {
        id_authentication: Some(IdAuthentication::Open("me/secret".into())),
        ..init::offer()
    };
    let other = session.clone();
    let opening = tokio::spawn(async move { other.init(&options).await });
    let request = peer.request().await;
    peer.send(second).await;
    let opened = opening.await.expect("no panic");
    (session, peer, opened, request)
}

#[tokio::test(start_paused = true)]
async fn a_second_init_negotiates_again() {
    let both = Options::SEARCH | Options::SCAN;
    let (before, mut peer, opened, request) = again(granting(both, "two")).await;
    let Apdu::InitializeRequest(request) = request else {
        panic!("{request:?}")
    };
    assert!(request.id_authentication.is_some());
    let now = opened.expect("accepted");
    assert!(now.is_same(&before));
    let names = [&before, &now].map(|session| {
        let server = session.server_info();
        let name = server.response.implementation_name.clone();
        (name.expect("named"), server.options.contains(Options::SCAN))
    });
    assert_eq!(names, [("one".into(), false), ("two".into(), true)]);
    // Either handle may be dropped: the session stays open as long as one of them exists.
    drop(before);
    let search = tokio::spawn(async move { (hits(&now).await, now) });
    assert_eq!(peer.request().await.name(), "searchRequest");
    peer.send(found(4, vec![])).await;
    let (hits, now) = search.await.expect("no panic");
    assert_eq!(hits.expect("found"), 4);
    drop(now);
    assert_eq!(peer.rest().await, "close(finished)");
}

#[tokio::test(start_paused = true)]
async fn a_second_init_that_is_refused_ends_the_session() {
    let refusal = InitializeResponse {
        result: false,
        ..granting(Options::SEARCH, "two")
    };
    let (session, _peer, opened, _) = again(refusal).await;
    assert!(matches!(opened, Err(Error::InitRejected(_))));
    assert!(!session.is_open());
}

#[tokio::test(start_paused = true)]
async fn other_information_travels_with_a_delete() {
    let (session, mut peer) = Peer::granting(SessionOptions::default(), Options::default()).await;
    let said = OtherInformation::default();
    let request = DeleteResultSetRequest {
        other_info: Some(said.clone()),
        ..Delete::All.into()
    };
    let sent = request.clone();
    let deleting = tokio::spawn(async move { session.delete(sent).await });
    assert_eq!(peer.request().await, request.into());
    peer.send(DeleteResultSetResponse {
        reference_id: None,
        delete_operation_status: DeleteSetStatus::SUCCESS,
        delete_list_statuses: None,
        number_not_deleted: None,
        bulk_statuses: None,
        delete_message: None,
        other_info: Some(said.clone()),
    })
    .await;
    let result = deleting.await.expect("no panic").expect("deleted");
    assert_eq!(result.other_info, Some(said));
}
