//! Tests of the counters, and of the refusals that are logged.

use z3950_asn1::apdu::{Close, CloseReason};

use super::*;
use crate::requests::{init, search};

#[test]
fn places_are_those_of_the_names() {
    for (place, kind) in OperationKind::ALL.iter().enumerate() {
        assert_eq!(*kind as usize, place);
    }
    for (place, end) in SessionEnd::ALL.iter().enumerate() {
        assert_eq!(*end as usize, place);
    }
}

#[test]
fn operations_are_counted_by_outcome_and_duration() {
    let metrics = Arc::default();
    let begun = |request: Apdu, ago: Duration| {
        let mut timer = OperationTimer::of(&request, &metrics).expect("an operation");
        timer.begun -= ago;
        timer
    };
    begun(init(), Duration::ZERO).answered(OperationOutcome::Ok);
    let query = || search("@attr 1=4 emma");
    begun(query(), Duration::from_secs(2)).answered(OperationOutcome::Ok);
    begun(query(), Duration::from_secs(3)).answered(OperationOutcome::Failed);
    drop(begun(query(), Duration::from_secs(3600)));
    let open = begun(query(), Duration::ZERO);
    assert_eq!(metrics.operations_in_progress(), 1);
    drop(open);
    assert_eq!(metrics.operations_in_progress(), 0);
    let counts = |kind| {
        let outcomes = OperationOutcome::ALL.iter();
        outcomes
            .map(|outcome| metrics.operations(kind, *outcome))
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(OperationKind::Init), [1, 0, 0]);
    assert_eq!(counts(OperationKind::Search), [1, 1, 2]);
    assert_eq!(counts(OperationKind::Present), [0, 0, 0]);
    let durations = metrics.durations(OperationKind::Search);
    assert_eq!(durations.count, 4);
    assert!(durations.sum >= Duration::from_secs(3605));
    let within: Vec<_> = durations.within.iter().map(|(_, count)| *count).collect();
    // One operation took longer than the last bound, two took at most 5 s, and one was immediate.
    assert_eq!(within[8..], [1, 3, 3, 3], "{durations:?}");
    let close = Close::new(CloseReason::FINISHED, None).into();
    assert_eq!(OperationKind::of(&close), None);
}

#[test]
fn few_refusals_are_logged() {
    let metrics = Metrics::default();
    let may_log = || metrics.may_log(LoggedRefusal::Init);
    let logged = |count: usize| (0..count).filter(|_| may_log()).count();
    let unlogged = || lock(&metrics.refusals).words();
    assert_eq!(logged(10), 10);
    assert_eq!(unlogged(), "");
    assert_eq!(logged(2), 0);
    assert!(!metrics.may_log(LoggedRefusal::Update));
    metrics.log_refusals(PERIOD);
    assert_eq!(unlogged(), "2 (Init), 1 (update)");
    metrics.log_refusals(Duration::ZERO);
    assert_eq!(unlogged(), "");
    assert_eq!(logged(11), 10);
    let minute_ago = Instant::now().checked_sub(PERIOD);
    lock(&metrics.refusals).since = minute_ago;
    assert_eq!(logged(20), 10);
}

#[test]
fn open_sessions_are_those_that_have_not_ended() {
    let metrics = Metrics::default();
    metrics.session_began();
    metrics.session_began();
    metrics.session_ended(SessionEnd::Idle);
    assert_eq!((metrics.sessions_begun(), metrics.sessions()), (2, 1));
    assert_eq!(metrics.sessions_ended(SessionEnd::Idle), 1);
}
