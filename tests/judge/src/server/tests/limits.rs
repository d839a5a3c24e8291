//! Tests with servers that die, hang, flood or close connections. The judgement must end, must report what is missing, and must
//! not pass checks that depend on what is missing.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use z3950_asn1::apdu::Apdu;

use super::scripted::{Does, granting, judged};
use super::*;
use crate::answers::{encode, found};

/// Runs a complete judgement. Returns the name of each check, its verdict, and whether it counts as an error.
async fn findings(judge: &mut Judge) -> Vec<(&'static str, Verdict, bool)> {
    judge.learn().await;
    let mut found = Vec::new();
    while let Some(finding) = judge.next().await {
        found.push((
            finding.requirement.name,
            finding.verdict.clone(),
            finding.is_error,
        ));
    }
    found
}

fn is_silent(apdu: &Apdu) -> Does {
    match apdu {
        Apdu::InitializeRequest(_) | Apdu::Close(_) => Does::Answers,
        _ => Does::Nothing,
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_is_an_error_in_the_report() {
    // After five checks that cannot connect, the judge gives up. These five are errors, and so are the checks that other sessions
    // have begun by then and the first check that is left out.
    for (sessions, expected) in [(1, 5..=6), (16, 5..=30)] {
        let searches = AtomicU32::new(0);
        let mut judge = judged(
            &["search.", "scan.", "close."],
            |options| options.sessions = sessions,
            move |apdu| match apdu {
                Apdu::SearchRequest(_) if searches.fetch_add(1, Ordering::Relaxed) == 40 => {
                    Does::Dies
                }
                _ => Does::Answers,
            },
        );
        let found = findings(&mut judge).await;
        let errors: Vec<_> = found.iter().filter(|(_, _, is_error)| *is_error).collect();
        assert!(expected.contains(&errors.len()), "{sessions}: {errors:?}");
        assert!(
            found
                .iter()
                .any(|(_, verdict, _)| *verdict == Verdict::Pass)
        );
        // The check scan.position.omitted needs a permission that the judge does not have, so its reason is a different one.
        let begun = |(name, _, _): &&(&str, Verdict, bool)| *name != "scan.position.omitted";
        let (_, last, is_error) = found.iter().rfind(begun).expect("findings");
        assert_eq!(reason(last.clone()), "no search is answered any more");
        assert!(!is_error);
        let report = judge.report("here");
        assert_eq!(report.count().errors, errors.len());
        let xml = report.to_junit();
        assert_eq!(xml.matches("<error ").count(), errors.len());
        assert!(
            xml.contains("<error message=\"cannot connect: connection refused\"/>"),
            "{xml}"
        );
        assert!(
            xml.contains(&format!("errors=\"{}\"", errors.len())),
            "{xml}"
        );
    }
}

/// A server may accept fewer sessions than the judge would use.
#[tokio::test(start_paused = true)]
async fn refused_sessions_are_not_the_servers_fault() {
    // If the server accepts only one session, each check runs alone. If it lowers its limit later, checks are repeated.
    for (limit, is_late) in [(1, false), (3, false), (4, true)] {
        let open = Arc::new(AtomicU32::new(0));
        let sessions = Arc::clone(&open);
        let inits = AtomicU32::new(0);
        let mut judge = judged(
            &["search."],
            |_| {},
            move |apdu| match apdu {
                Apdu::InitializeRequest(_) => {
                    let count = inits.fetch_add(1, Ordering::Relaxed);
                    // The first session determines what the server offers, and the next 16 sessions determine how many it
                    // accepts.
                    let limit = if is_late && count < 17 {
                        u32::MAX
                    } else {
                        limit
                    };
                    if sessions.fetch_add(1, Ordering::Relaxed) < limit {
                        Does::Answers
                    } else {
                        sessions.fetch_sub(1, Ordering::Relaxed);
                        Does::HangsUp
                    }
                }
                Apdu::Close(_) => {
                    sessions.fetch_sub(1, Ordering::Relaxed);
                    Does::Answers
                }
                _ => Does::Answers,
            },
        );
        let found = findings(&mut judge).await;
        let unreached: Vec<_> = found
            .iter()
            .filter(|(_, verdict, is_error)| {
                *is_error || format!("{verdict:?}").contains("connection")
            })
            .collect();
        assert!(unreached.is_empty(), "{limit} {is_late}: {unreached:?}");
        assert_eq!(open.load(Ordering::Relaxed), 0, "{limit} {is_late}");
    }
}

#[tokio::test(start_paused = true)]
async fn results_come_in_the_order_of_the_checks() {
    let judgements = [1, 16].map(|sessions| async move {
        let mut judge = judged(
            &["init.", "search.", "close.", "hostile."],
            |options| {
                options.sessions = sessions;
                options.is_hostile = true;
            },
            |_| Does::Answers,
        );
        let began = tokio::time::Instant::now();
        let found = findings(&mut judge).await;
        (found, began.elapsed())
    });
    let [alone, side_by_side] = judgements;
    let (alone, side_by_side) = (alone.await, side_by_side.await);
    assert_eq!(alone.0, side_by_side.0);
    // Most of the checks that wait to see whether the server sends anything do so at the same time, so all checks together take
    // less than half the time.
    assert!(side_by_side.1 * 2 < alone.1, "{side_by_side:?}");
}

/// If a pause is configured, it separates the requests of all sessions, except that the first request of a session is sent
/// without a pause.
#[tokio::test(start_paused = true)]
async fn a_pause_lies_between_the_requests_of_all_sessions() {
    let pause = Duration::from_millis(400);
    let moments = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&moments);
    let mut judge = judged(
        &["search."],
        |options| options.pause = pause,
        move |apdu| {
            if matches!(apdu, Apdu::SearchRequest(_)) {
                seen.lock()
                    .expect("unharmed")
                    .push(tokio::time::Instant::now());
            }
            Does::Answers
        },
    );
    findings(&mut judge).await;
    let moments = moments.lock().expect("unharmed");
    assert!(moments.len() > 40);
    for pair in moments.windows(2) {
        assert!(pair[1] - pair[0] >= pause, "{pair:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_after_init_is_left() {
    let requests = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&requests);
    let mut judge = judged(
        &[],
        |_| {},
        move |apdu| {
            count.fetch_add(1, Ordering::Relaxed);
            is_silent(apdu)
        },
    );
    let found = findings(&mut judge).await;
    assert!(found.len() > 400);
    let left = found.iter().filter(|(_, verdict, _)| {
        matches!(verdict, Verdict::NotJudged { reason } if reason == "no search is answered any more")
    });
    assert!(left.count() > 300);
    assert!(judge.report("here").count().errors > 0);
    assert!(requests.load(Ordering::Relaxed) < 400);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_silent_does_not_end_the_judgement() {
    let mut judge = judged(
        &["sort.", "search.answered"],
        |_| {},
        |apdu| match apdu {
            Apdu::SortRequest(_) => Does::Nothing,
            _ => Does::Answers,
        },
    );
    let found = findings(&mut judge).await;
    assert!(found.len() > 10);
    for (name, verdict, is_error) in found {
        assert!(!is_error, "{name}: {verdict:?}");
    }
}

/// A server that answers no Present is asked for records in two syntaxes, and then judged.
#[tokio::test(start_paused = true)]
async fn learning_ends_before_its_limit_although_no_present_is_answered() {
    for seconds in [10, 60] {
        let presents = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&presents);
        let mut judge = judged(
            &["present.first"],
            |options| options.timeouts.answer = Some(Duration::from_secs(seconds)),
            move |apdu| match apdu {
                Apdu::PresentRequest(_) => {
                    count.fetch_add(1, Ordering::Relaxed);
                    Does::Nothing
                }
                _ => Does::Answers,
            },
        );
        let offer = judge.learn().await;
        assert_eq!(offer.missing(), [], "{seconds}");
        assert_eq!(presents.load(Ordering::Relaxed), 2, "{seconds}");
        let finding = judge.next().await.expect("one check");
        assert!(matches!(finding.verdict, Verdict::Fail { .. }));
        assert!(!finding.is_error, "{seconds}");
    }
}

/// Results of checks that end while the judge is waiting for an earlier check must not be lost.
#[tokio::test(start_paused = true)]
async fn a_stop_loses_no_result() {
    let mut judge = judged(
        &["scan.answered", "close.answered"],
        |_| {},
        |apdu| match apdu {
            Apdu::ScanRequest(_) => Does::Nothing,
            _ => Does::Answers,
        },
    );
    judge.learn().await;
    let patience = Duration::from_secs(5);
    let waited = tokio::time::timeout(patience, judge.next()).await;
    assert!(waited.is_err(), "the scan is not answered");
    judge.stop("interrupted");
    let count = judge.report("here").count();
    assert_eq!((count.pass, count.not_judged), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_judgement_has_a_limit_of_time_without_its_pauses() {
    for (pause, answers, is_over) in [(20, true, false), (0, false, true)] {
        let mut judge = judged(
            &["search."],
            |options| {
                options.pause = Duration::from_secs(pause);
                options.limits.time = Duration::from_secs(30);
            },
            move |apdu| {
                if answers {
                    Does::Answers
                } else {
                    is_silent(apdu)
                }
            },
        );
        let found = findings(&mut judge).await;
        let (name, last, _) = found.last().expect("findings");
        let is_told = matches!(last, Verdict::NotJudged { reason } if reason == "the limit of 30 s is reached");
        assert_eq!(is_told, is_over, "{name}: {last:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_trigger_arrives_alone() {
    let mut judge = judged(
        &["trigger."],
        |_| {},
        |apdu| match apdu {
            Apdu::TriggerResourceControlRequest(_) => Does::Overlooks,
            _ => Does::Answers,
        },
    );
    for (name, verdict, _) in findings(&mut judge).await {
        assert_eq!(verdict, Verdict::Pass, "{name}");
    }
    let mut judge = judged(
        &["trigger."],
        |_| {},
        |apdu| match apdu {
            Apdu::TriggerResourceControlRequest(_) => Does::Says(encode(&found(4, vec![]).into())),
            _ => Does::Answers,
        },
    );
    for (name, verdict, _) in findings(&mut judge).await {
        assert!(
            matches!(verdict, Verdict::Fail { .. }),
            "{name}: {verdict:?}"
        );
    }
}

/// A function that returns whether an APDU is specific to a check and not common to all sessions.
type Meant = fn(&Apdu) -> bool;

/// The checks for which the end of the session is acceptable, each with the requests that may cause it.
const ENDING: &[(&str, Meant)] = &[
    (
        "init.version.none",
        |apdu| matches!(apdu, Apdu::InitializeRequest(init) if init.protocol_version.highest().is_none_or(|version| version > 3)),
    ),
    ("init.first", |apdu| matches!(apdu, Apdu::SearchRequest(_))),
    ("init.first.present", |apdu| {
        matches!(apdu, Apdu::PresentRequest(_))
    }),
    ("extended.function.unknown", |apdu| {
        matches!(apdu, Apdu::ExtendedServicesRequest(_))
    }),
    ("extended.parameters.malformed", |apdu| {
        matches!(apdu, Apdu::ExtendedServicesRequest(_))
    }),
    ("delete.function.unknown", |apdu| {
        matches!(apdu, Apdu::DeleteResultSetRequest(_))
    }),
    (
        "hostile.query.wide",
        |apdu| matches!(apdu, Apdu::SearchRequest(search) if encode(&Apdu::SearchRequest(search.clone())).len() > 5000),
    ),
    (
        "hostile.many-databases",
        |apdu| matches!(apdu, Apdu::SearchRequest(search) if search.database_names.len() > 1),
    ),
];

#[tokio::test(start_paused = true)]
async fn floods_and_garbage_are_not_an_answer() {
    let segment = [0xbf, 0x2d, 5, 0x98, 1, 0, 0xa0, 0];
    let kinds: [fn(&[u8]) -> Does; 5] = [
        |segment| Does::Floods(segment.to_vec()),
        |segment| Does::Says(segment.to_vec()),
        |_| Does::Says(vec![0xff; 40]),
        |_| Does::Nothing,
        |_| Does::HangsUp,
    ];
    for (name, meant) in ENDING {
        for (kind, does) in kinds.into_iter().enumerate() {
            // The first search is answered normally, because it finds the query that these checks need.
            let is_spared = AtomicBool::new(*name == "init.first");
            let change = |options: &mut JudgeOptions| options.is_hostile = true;
            let mut judge = judged(&[name], change, move |apdu| {
                if meant(apdu) && !is_spared.swap(false, Ordering::Relaxed) {
                    does(&segment)
                } else {
                    Does::Answers
                }
            });
            let found = findings(&mut judge).await;
            let (checked, verdict, _) = found.first().expect("a finding");
            match kind {
                4 => assert_eq!(
                    *verdict,
                    Verdict::Pass,
                    "{checked} at the end of the session"
                ),
                _ => assert!(
                    matches!(verdict, Verdict::Fail { .. }),
                    "{checked} {kind}: {verdict:?}"
                ),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_up_always_passes_nothing() {
    let only: Vec<&str> = ENDING.iter().map(|(name, _)| *name).collect();
    let mut judge = judged(
        &only,
        |options| options.is_hostile = true,
        |_| Does::HangsUp,
    );
    for (name, verdict, _) in findings(&mut judge).await {
        assert_ne!(verdict, Verdict::Pass, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stop_fails() {
    let answer = encode(&granting(Default::default()).into());
    let mut judge = judged(
        &["init.answered"],
        |_| {},
        move |apdu| match apdu {
            Apdu::InitializeRequest(_) => Does::Floods(answer.clone()),
            _ => Does::Answers,
        },
    );
    match verdict(&mut judge).await {
        Verdict::Fail { came, .. } => assert_eq!(came, "100 APDUs that nobody asked for"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn numbers_of_hits_that_change_are_not_judged() {
    let searches = AtomicU32::new(0);
    let mut judge = judged(
        &["search.zero-hits"],
        |_| {},
        move |apdu| match apdu {
            Apdu::SearchRequest(_) => {
                let hits = i64::from(searches.fetch_add(1, Ordering::Relaxed)) + 3;
                Does::Says(encode(&found(hits, vec![]).into()))
            }
            _ => Does::Answers,
        },
    );
    judge.learn().await;
    let reason = reason(verdict(&mut judge).await);
    assert_eq!(reason, "the number of hits changes from search to search");
}

#[tokio::test(start_paused = true)]
async fn questions_that_do_not_come_need_an_answer() {
    let searches = AtomicU32::new(0);
    let mut judge = judged(
        &["not-granted.questions"],
        |_| {},
        move |apdu| match apdu {
            Apdu::SearchRequest(_) if searches.fetch_add(1, Ordering::Relaxed) > 0 => Does::HangsUp,
            _ => Does::Answers,
        },
    );
    judge.learn().await;
    assert!(reason(verdict(&mut judge).await).starts_with("needs a searchResponse"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_another_protocol_has_an_end() {
    for (is_endless, passes) in [(false, true), (true, false)] {
        let mut judge = judged(
            &["hostile.first.response"],
            |options| options.is_hostile = true,
            move |apdu| match apdu {
                Apdu::InitializeResponse(_) if is_endless => Does::Floods(vec![0xff; 4096]),
                Apdu::InitializeResponse(_) => {
                    Does::Says(b"HTTP/1.1 400 Bad Request\r\n\r\n".into())
                }
                _ => Does::Answers,
            },
        );
        judge.learn().await;
        let verdict = verdict(&mut judge).await;
        assert_eq!(verdict == Verdict::Pass, passes, "{verdict:?}");
        assert!(matches!(verdict, Verdict::Pass | Verdict::Fail { .. }));
    }
}
