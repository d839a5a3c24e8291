//! Tests of leases: a session is leased to one user at a time, first come, first served, and never while another user
//! may still use it.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::Instant;
use z3950_asn1::apdu::*;

use super::*;
use crate::protocol::pager::PagerOptions;
use crate::protocol::service::search::SearchOptions;
use crate::protocol::session::Session;
use crate::protocol::session::{Repeat, SessionOptions};
use crate::target::Endpoint;
use crate::{Lease, TargetLimits};

fn place(port: u16) -> Endpoint {
    let host = Host::parse("lib.example", Mode::Strict);
    Endpoint::Tcp(host.expect("a host"), port)
}

fn limits(sessions: usize, pause: u64) -> TargetLimits {
    TargetLimits {
        sessions,
        pause: Duration::from_secs(pause),
    }
}

/// Creates a client whose servers find two records in every search.
fn searchable(servers: usize) -> (Client, Transcript) {
    let script = || {
        let answers = std::iter::repeat_with(|| send(found(2, vec![])));
        let turns: Vec<Turn> = std::iter::once(accepted())
            .chain(answers.take(20))
            .collect();
        turns
    };
    client(
        options(|_| ()),
        std::iter::repeat_with(script).take(servers),
    )
}

async fn lend(client: &Client, limits: &TargetLimits) -> Lease {
    let options = SessionOptions::default();
    let lease = lend_at(client, &place(210), None, &options, limits).await;
    lease.expect("a session")
}

async fn lend_at(
    client: &Client,
    place: &Endpoint,
    proxy: Option<&str>,
    options: &SessionOptions,
    limits: &TargetLimits,
) -> Result<Lease, Error> {
    let pool = &client.pool;
    let lease = pool.lend(place, proxy, options.clone(), limits, Sharing::Alone);
    lease.await
}

async fn search(session: &Session) -> Result<u64, Error> {
    let found = session.search(query(), &SearchOptions::default()).await?;
    Ok(found.hits)
}

#[tokio::test(start_paused = true)]
async fn a_session_returns_to_the_pool_unless_it_is_unusable() {
    /// A function that does what a user does with a session before dropping its lease. It returns the session if the
    /// user keeps a handle to it.
    type Use = fn(Lease) -> crate::transport::BoxFuture<'static, Option<Session>>;
    let uses: [(&str, Use, bool); 7] = [
        (
            "used",
            |lease| {
                Box::pin(async move {
                    search(&lease.session()).await.expect("found");
                    None
                })
            },
            true,
        ),
        ("not used", |_| Box::pin(async { None }), true),
        (
            "closed",
            |lease| {
                Box::pin(async move {
                    lease.session().close().await.expect("was open");
                    None
                })
            },
            false,
        ),
        (
            "another handle lives",
            |lease| Box::pin(async move { Some(lease.session()) }),
            false,
        ),
        (
            "another handle lived",
            |lease| {
                Box::pin(async move {
                    drop(lease.session());
                    None
                })
            },
            true,
        ),
        (
            "a request was given up",
            |lease| {
                Box::pin(async move {
                    let given_up =
                        tokio::time::timeout(Duration::ZERO, search(&lease.session())).await;
                    assert!(given_up.is_err());
                    None
                })
            },
            false,
        ),
        (
            "renewed",
            |lease| {
                Box::pin(async move {
                    lease.session().close().await.expect("was open");
                    let reconnect = lease.reconnect();
                    reconnect.reconnect().await.expect("a session");
                    None
                })
            },
            true,
        ),
    ];
    for (what, used, comes_back) in uses {
        let (client, _) = searchable(3);
        let lease = lend(&client, &TargetLimits::default()).await;
        assert!(!lease.is_reused(), "{what}");
        let _handle = used(lease).await;
        let again = lend(&client, &TargetLimits::default()).await;
        assert_eq!(again.is_reused(), comes_back, "{what}");
        assert_eq!(search(&again.session()).await.ok(), Some(2), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_sessions_with_equal_options_are_reused() {
    let plain = SessionOptions::default();
    let mut somebody = plain.clone();
    somebody.init.id_authentication = Some(IdAuthentication::Open("me/pw".into()));
    let mut small = plain.clone();
    small.init.preferred_message_size = 1;
    let mut pipelined = plain.clone();
    pipelined.max_pipelined = 2;
    let mut patient = plain.clone();
    patient.timeouts.answer = None;
    for (what, port, proxy, options, is_reused) in [
        ("the same", 210, None, &plain, true),
        ("other timeouts", 210, None, &patient, true),
        ("another port", 2100, None, &plain, false),
        ("a proxy", 210, Some("proxy.example"), &plain, false),
        ("somebody", 210, None, &somebody, false),
        ("sizes", 210, None, &small, false),
        ("pipelining", 210, None, &pipelined, false),
    ] {
        let (client, _) = searchable(2);
        let limits = TargetLimits::default();
        let lease = async |port, proxy, options: &SessionOptions| {
            let lease = lend_at(&client, &place(port), proxy, options, &limits).await;
            lease.expect("a session")
        };
        drop(lease(210, None, &plain).await);
        assert_eq!(
            lease(port, proxy, options).await.is_reused(),
            is_reused,
            "{what}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn leases_are_granted_first_come_first_served() {
    let (client, transcript) = searchable(2);
    let begun = Instant::now();
    let jobs = (0..6).map(|_| async {
        let lease = lend(&client, &limits(2, 0)).await;
        let at = begun.elapsed().as_secs();
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(lease);
        at
    });
    let went = futures_util::future::join_all(jobs).await;
    assert_eq!(went, [0, 0, 1, 1, 2, 2]);
    client.close_all().await;
    let seen = transcript.finished().await;
    assert_eq!(seen.matches("initRequest").count(), 2, "{seen}");
    assert_eq!(seen.matches("close(finished)").count(), 2, "{seen}");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_lease_ends_at_the_deadline() {
    let (client, _) = searchable(1);
    let first = lend(&client, &limits(1, 0)).await;
    let mut options = SessionOptions::default();
    options.timeouts.deadline = Some(Instant::now() + Duration::from_secs(5));
    let second = lend_at(&client, &place(210), None, &options, &limits(1, 0)).await;
    let error = second.expect_err("no place");
    assert!(matches!(
        error,
        Error::Unavailable {
            phase: Phase::Connect,
            cause: Cause::Deadline
        }
    ));
    drop(first);
    assert!(lend(&client, &limits(1, 0)).await.is_reused());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_session_may_have_a_limit_from_its_turn_on() {
    let mut options = SessionOptions::default();
    options.timeouts.session = Some(Duration::from_secs(5));
    for (held, expected) in [
        (4, ["0 lent", "4 lent", "8 lent"]),
        (60, ["0 lent", "5 refused", "10 refused"]),
    ] {
        let (client, _) = searchable(1);
        let begun = Instant::now();
        let jobs = (0..3).map(|_| async {
            let place = place(210);
            let lease = lend_at(&client, &place, None, &options, &limits(1, 0)).await;
            let at = begun.elapsed().as_secs();
            match lease {
                Ok(_lease) => {
                    tokio::time::sleep(Duration::from_secs(held)).await;
                    format!("{at} lent")
                }
                Err(Error::Unavailable {
                    phase: Phase::Connect,
                    cause: Cause::SessionsInUse(_),
                }) => format!("{at} refused"),
                Err(error) => error.to_string(),
            }
        });
        let went = futures_util::future::join_all(jobs).await;
        assert_eq!(went, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_makes_room_for_another() {
    let (client, transcript) = searchable(2);
    drop(lend(&client, &limits(1, 0)).await);
    let mut options = SessionOptions::default();
    options.init.id_authentication = Some(IdAuthentication::Anonymous);
    let other = lend_at(&client, &place(210), None, &options, &limits(1, 0)).await;
    assert!(other.is_ok_and(|other| !other.is_reused()));
    let seen = transcript.text();
    assert!(
        seen.starts_with("connect initRequest close(finished) end connect"),
        "{seen}"
    );
}

#[tokio::test(start_paused = true)]
async fn requests_are_paced_over_all_sessions() {
    let (client, _) = searchable(2);
    let begun = Instant::now();
    let jobs = (0..2).map(|_| async {
        let lease = lend(&client, &limits(2, 10)).await;
        let mut went = vec![begun.elapsed().as_secs()];
        for _ in 0..2 {
            search(&lease.session()).await.expect("found");
            went.push(begun.elapsed().as_secs());
        }
        went
    });
    let went = futures_util::future::join_all(jobs).await;
    assert_eq!(went, [[0, 20, 40], [10, 30, 50]]);
    // Requests to a different server do not wait in this server's queue: the attempt fails at once, because the test
    // has no script for a third session. On this server, the wait for the next request ends at the deadline.
    let elsewhere = lend_at(
        &client,
        &place(2100),
        None,
        &SessionOptions::default(),
        &limits(2, 10),
    )
    .await;
    assert!(elsewhere.is_err_and(|error| matches!(error, Error::Unavailable { .. })));
    assert_eq!(begun.elapsed().as_secs(), 50);
    let mut hurried = SessionOptions::default();
    hurried.timeouts.deadline = Some(Instant::now() + Duration::from_secs(5));
    let lease = lend_at(&client, &place(210), None, &hurried, &limits(2, 10)).await;
    let lease = lease.expect("a session");
    let late = search(&lease.session()).await.expect_err("late");
    assert!(matches!(
        late,
        Error::Unavailable {
            phase: Phase::Search,
            cause: Cause::Deadline
        }
    ));
    assert_eq!(begun.elapsed().as_secs(), 55);
    drop(lease);
    assert!(lend(&client, &limits(2, 10)).await.is_reused());
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_replaced_once_and_never_during_a_change() {
    let dropped = || vec![accepted(), send(found(2, vec![])), Turn::HangUp];
    let refusing = || {
        vec![
            accepted(),
            send(found(2, vec![])),
            send(search_failed(None)),
        ]
    };
    let closed = |reason| {
        let bye = Close::new(reason, None).into();
        vec![accepted(), Turn::Send(vec![found(2, vec![]).into(), bye])]
    };
    let dying = || closed(CloseReason::LACK_OF_ACTIVITY);
    let banned = || closed(CloseReason::SECURITY_VIOLATION);
    let alive = || vec![accepted(), send(found(2, vec![]))];
    for (what, scripts, repeat, hits) in [
        ("unsent", [dying(), alive()], Repeat::IfUnsent, Some(2)),
        (
            "unsent, whatever it is",
            [dying(), alive()],
            Repeat::IfLost,
            Some(2),
        ),
        ("lost", [dropped(), alive()], Repeat::IfLost, Some(2)),
        (
            "lost in a change",
            [dropped(), alive()],
            Repeat::IfUnsent,
            None,
        ),
        (
            "lost twice",
            [dropped(), vec![accepted(), Turn::HangUp]],
            Repeat::IfLost,
            None,
        ),
        (
            "closed for a reason",
            [banned(), alive()],
            Repeat::IfLost,
            None,
        ),
        ("refused", [refusing(), alive()], Repeat::IfLost, None),
    ] {
        let (client, _) = client(options(|_| ()), scripts);
        let lease = lend(&client, &TargetLimits::default()).await;
        search(&lease.session()).await.expect("found");
        // Wait until the unsolicited APDUs from the server have arrived.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let again = lease.run(repeat, |session| async move { search(&session).await });
        let again = again.await;
        assert_eq!(again.ok(), hits, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retrieval_repeats_a_request_that_was_lost() {
    let pushed = || send(found(1, vec![marc()]));
    let lost = || vec![accepted(), Turn::HangUp];
    let delivered = "Delivered usmarc";
    let unavailable = "Unavailable Search connection closed by the server";
    for (what, scripts, expected, sessions) in [
        (
            "in an idle session",
            vec![
                vec![accepted(), pushed(), Turn::HangUp],
                vec![accepted(), pushed()],
            ],
            &[delivered, delivered][..],
            2,
        ),
        (
            "after the search",
            vec![
                vec![accepted(), pushed(), send(found(1, vec![])), Turn::HangUp],
                lost(),
                vec![accepted(), pushed()],
            ],
            &[delivered, delivered],
            3,
        ),
        (
            "by a server that has answered nothing yet",
            vec![lost(), vec![accepted(), pushed()]],
            &[unavailable],
            1,
        ),
        (
            "as often as it is repeated",
            vec![
                vec![accepted(), pushed(), Turn::HangUp],
                lost(),
                lost(),
                lost(),
                vec![accepted(), pushed()],
            ],
            &[delivered, delivered],
            5,
        ),
        (
            "once more",
            vec![
                vec![accepted(), pushed(), Turn::HangUp],
                lost(),
                lost(),
                lost(),
                lost(),
                vec![accepted(), pushed()],
            ],
            &[delivered, unavailable],
            5,
        ),
    ] {
        let mut keep = options(|_| ());
        keep.keep_open = true;
        keep.max_repeats = 4;
        let (client, transcript) = client(keep, scripts);
        for expected in expected {
            let retrieval = client.retrieve(&url(ID7)).await.expect("a plan");
            assert_eq!(say(&retrieval.outcome), *expected, "{what}");
        }
        let opened = transcript.text().matches("initRequest").count();
        assert_eq!(opened, sessions, "{what}");
    }
}

#[test]
fn futures_may_be_spawned() {
    fn check(_: impl Send) {}
    let (client, _) = searchable(0);
    let url = url(ID7);
    let (place, options, limits) = (place(210), SessionOptions::default(), limits(1, 0));
    check(client.retrieve(&url));
    check(client.open(&url));
    check(lend_at(&client, &place, None, &options, &limits));
    check(async {
        let lease = lend(&client, &limits).await;
        lease
            .read(|session| async move { search(&session).await })
            .await
    });
}

#[tokio::test(start_paused = true)]
async fn a_result_set_continues_in_a_session_like_the_lost_one() {
    let page = || one(marc());
    let (client, transcript) = client(
        options(|_| ()),
        [
            vec![accepted(), send(found(2, vec![])), page(), Turn::HangUp],
            vec![accepted(), send(found(2, vec![])), page()],
        ],
    );
    let lease = lend(&client, &limits(1, 0)).await;
    let options = PagerOptions {
        chunk_size: 1,
        reconnect: Some(lease.reconnect()),
        ..PagerOptions::default()
    };
    let search = SearchOptions::default();
    let set = lease.session().pager(query(), &search, options).await;
    let mut set = set.expect("found");
    let records: Vec<_> = set.stream_range(1, u64::MAX).collect().await;
    assert_eq!(records.iter().filter(|record| record.is_ok()).count(), 2);
    assert_eq!(transcript.text().matches("connect").count(), 2);
    drop((set, lease));
    // The replacement for the lost session belongs to the lease, so it returned to the pool and is reused.
    let third = lend_at(
        &client,
        &place(210),
        None,
        &SessionOptions::default(),
        &limits(1, 0),
    )
    .await;
    assert!(third.is_ok_and(|third| third.is_reused()));
}

#[tokio::test(start_paused = true)]
async fn unused_servers_are_forgotten() {
    let (client, _) = searchable(3);
    let lease = async |port, pause| {
        let options = SessionOptions::default();
        let limits = limits(1, pause);
        let lease = lend_at(&client, &place(port), None, &options, &limits).await;
        lease.expect("a session")
    };
    let known = || client.pool.servers();
    lease(1, 0).await.session().close().await.expect("was open");
    lease(2, 60)
        .await
        .session()
        .close()
        .await
        .expect("was open");
    assert_eq!(known(), 1, "the first is forgotten");
    drop(lease(3, 0).await);
    assert_eq!(known(), 2, "the pause of the second is not over");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (place, options) = (place(4), SessionOptions::default());
    let refused = lend_at(&client, &place, None, &options, &limits(1, 0)).await;
    assert!(refused.is_err());
    assert_eq!(known(), 2, "the third has an idle session");
}

#[tokio::test(start_paused = true)]
async fn sessions_that_nobody_uses_are_closed_after_their_time() {
    let (client, _) = searchable(2);
    let options = SessionOptions {
        idle_time: Some(Duration::from_secs(60)),
        ..SessionOptions::default()
    };
    let limits = TargetLimits::default();
    let lease = async || {
        let lease = lend_at(&client, &place(210), None, &options, &limits).await;
        lease.expect("a session")
    };
    let first = lease().await;
    let session = first.session().downgrade();
    drop(first);
    tokio::time::sleep(Duration::from_secs(59)).await;
    let again = lease().await;
    assert!(again.is_reused());
    drop(again);
    // Each use of the session restarts its idle time.
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert!(session.upgrade().is_some());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(session.upgrade().is_none());
    let next = lease().await;
    assert!(!next.is_reused());
    assert_eq!(search(&next.session()).await.ok(), Some(2));
}

#[test]
fn the_time_of_a_session_also_ends_if_it_was_returned_outside_of_the_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let (client, lease) = runtime.block_on(async {
        let (client, _) = searchable(1);
        let options = SessionOptions {
            idle_time: Some(Duration::from_secs(60)),
            ..SessionOptions::default()
        };
        let limits = TargetLimits::default();
        let lease = lend_at(&client, &place(210), None, &options, &limits).await;
        (client, lease.expect("a session"))
    });
    let session = lease.session().downgrade();
    drop(lease);
    assert!(session.upgrade().is_some());
    runtime.block_on(async { tokio::time::sleep(Duration::from_secs(61)).await });
    assert!(session.upgrade().is_none());
    drop(client);
}
