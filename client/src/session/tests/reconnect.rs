//! Sessions that the server dropped, opened again: once, and never when a change may have been made.

use std::sync::atomic::{AtomicUsize, Ordering};

use z3950_asn1::apdu::*;

use super::super::*;
use crate::testing::*;
use crate::transport::BoxFuture;

/// How a server treats the first of its sessions; the others answer.
#[derive(Debug, Clone, Copy)]
enum First {
    /// Ends it while it is idle.
    DropsIdle,
    /// Closes it while it is idle, for a reason.
    Closes(CloseReason),
    /// Hangs up when a request comes.
    HangsUp,
    /// Refuses what is asked.
    Refuses,
}

async fn open(first: Option<First>) -> Session {
    let script = match first {
        None => vec![accepted(), send(found(2, vec![]))],
        Some(First::HangsUp) => vec![accepted(), Turn::HangUp],
        Some(First::Refuses) => vec![accepted(), send(search_failed(None))],
        Some(First::Closes(reason)) => {
            let accepted = init_response(true, ProtocolVersion::UP_TO_3).into();
            let close = Close::new(reason, None).into();
            vec![Turn::Send(vec![accepted, close])]
        }
        Some(First::DropsIdle) => {
            let (session, _) = Peer::granting(SessionOptions::default(), Options::default()).await;
            session.ended().await;
            return session;
        }
    };
    let stream = serve(script, &Transcript::default());
    let session = Session::over(stream, &SessionOptions::default()).await;
    let session = session.expect("a session");
    if let Some(First::Closes(_)) = first {
        session.ended().await;
    }
    session
}

#[tokio::test(start_paused = true)]
async fn what_may_be_repeated_is_repeated_once() {
    use Repeat::{IfLost, IfUnsent};
    for (first, repeat, opened, is_answered) in [
        (First::DropsIdle, IfUnsent, 1, true),
        (First::DropsIdle, IfLost, 1, true),
        (
            First::Closes(CloseReason::LACK_OF_ACTIVITY),
            IfUnsent,
            1,
            true,
        ),
        (
            First::Closes(CloseReason::SECURITY_VIOLATION),
            IfLost,
            0,
            false,
        ),
        (First::HangsUp, IfUnsent, 0, false),
        (First::HangsUp, IfLost, 1, true),
        (First::Refuses, IfLost, 0, false),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let again = move || -> BoxFuture<'static, Result<Session, Error>> {
            counted.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Ok(open(None).await) })
        };
        let mut session = Reconnecting::new(open(Some(first)).await, again);
        let found = session
            .run(repeat, async |session| {
                session.search(query(), &SearchOptions::default()).await
            })
            .await;
        assert_eq!(found.is_ok(), is_answered, "{first:?} {repeat:?}");
        assert_eq!(
            count.load(Ordering::Relaxed),
            opened,
            "{first:?} {repeat:?}"
        );
        assert_eq!(
            session.session().is_open(),
            is_answered || matches!(first, First::Refuses)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_lost_twice_stays_lost() {
    let again = || -> BoxFuture<'static, Result<Session, Error>> {
        Box::pin(async { Ok(open(Some(First::HangsUp)).await) })
    };
    let mut session = Reconnecting::new(open(Some(First::HangsUp)).await, again);
    let lost = session
        .run(Repeat::IfLost, async |session| {
            session.search(query(), &SearchOptions::default()).await
        })
        .await;
    assert!(lost.is_err_and(|error| error.is_connection_lost()));
}
