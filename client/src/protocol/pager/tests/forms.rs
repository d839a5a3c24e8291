//! Tests of records in other forms: other syntaxes and element sets.

use super::*;

/// Reads four records, each of which is available only in the corresponding syntax in `has`. The server answers
/// requests for other syntaxes with diagnostic 238, either for each record or for the complete Present.
async fn in_syntaxes(
    has: [oid::Oid; 4],
    is_whole: bool,
    alternatives: &[Option<oid::Oid>],
) -> String {
    let stream = answering(move |request| {
        Some(vec![match request {
            Apdu::InitializeRequest(_) => init_response(true, ProtocolVersion::UP_TO_3).into(),
            Apdu::SearchRequest(_) => found(4, Vec::new()).into(),
            Apdu::PresentRequest(present) => {
                let asked = present.preferred_record_syntax;
                let start = present.result_set_start_point;
                let positions = start..start + present.number_of_records_requested;
                let slots: Vec<_> = (1_i64..)
                    .zip(has)
                    .filter(|(position, _)| positions.contains(position))
                    .map(|(position, syntax)| (position, asked.is_none_or(|asked| asked == syntax)))
                    .collect();
                if is_whole && slots.iter().any(|(_, is_had)| !is_had) {
                    presented(PresentStatus::FAILURE, diagnostic(238, "")).into()
                } else {
                    let records = slots.into_iter().map(|(position, is_had)| {
                        if is_had {
                            numbered(position)
                        } else {
                            surrogate(238)
                        }
                    });
                    let records = Records::ResponseRecords(records.collect());
                    presented(PresentStatus::SUCCESS, Some(records)).into()
                }
            }
            _ => Close::new(CloseReason::FINISHED, None).into(),
        }])
    });
    let session = Session::over(stream, &SessionOptions::default()).await;
    let options = PagerOptions {
        present: PresentOptions {
            record_syntax: Some(oid::USMARC),
            ..PresentOptions::default()
        },
        alternatives: alternatives.to_vec(),
        ..PagerOptions::default()
    };
    let session = session.expect("a session");
    let set = session
        .pager(query(), &SearchOptions::default(), options)
        .await;
    let mut set = set.expect("found");
    let records: Vec<_> = set.stream_range(1, u64::MAX).collect().await;
    let records: Vec<String> = records
        .iter()
        .map(|record| {
            record
                .as_ref()
                .map_or_else(|error| format!("error {error}"), words)
        })
        .collect();
    records.join(" ")
}

#[tokio::test(start_paused = true)]
async fn audit_d6_other_syntaxes_are_tried_if_one_is_unavailable() {
    let (marc, other) = (oid::USMARC, oid::UNIMARC);
    let alternatives = [Some(other), None];
    for (has, is_whole, alternatives, came) in [
        ([other; 4], false, &alternatives[..], "1 2 3 4"),
        ([other; 4], true, &alternatives, "1 2 3 4"),
        ([other, marc, marc, other], false, &alternatives, "1 2 3 4"),
        // If no syntax is available, the first diagnostic for each record is kept.
        (
            [oid::XML; 4],
            false,
            &alternatives[..1],
            "!238 !238 !238 !238",
        ),
        ([other; 4], false, &[], "!238 !238 !238 !238"),
    ] {
        let records = in_syntaxes(has, is_whole, alternatives).await;
        assert_eq!(records, came, "{has:?} {is_whole} {alternatives:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_too_large_or_empty_is_asked_for_in_other_forms() {
    for (habit, sets, given, asked) in [
        (
            Habit::Large("F"),
            &["F", "B"][..],
            "5 6",
            "5+2 5+1 5+1F 6+1",
        ),
        (
            Habit::Large("B"),
            &["F", "B"],
            "5 6",
            "5+2 5+1 5+1F 5+1B 6+1",
        ),
        (
            Habit::Large("X"),
            &["F", "B"],
            "!17 6",
            "5+2 5+1 5+1F 5+1B 6+1",
        ),
        (Habit::Large("B"), &[], "!17 6", "5+2 5+1 6+1"),
        (
            Habit::Blank("B"),
            &["F", "B"],
            "5 6",
            "5+2 5+1 5+1F 5+1B 6+1",
        ),
        (Habit::Blank("B"), &[], " 6", "5+2 5+1 6+1"),
        (Habit::Honest, &["F", "B"], "5 6", "5+2"),
    ] {
        let server = Server {
            habit,
            hits: 6,
            asked: Arc::default(),
        };
        let options = PagerOptions {
            element_sets: sets.iter().map(|name| (*name).into()).collect(),
            ..PagerOptions::default()
        };
        let session = server.open().await.expect("a session");
        let search = SearchOptions::default();
        let mut set = session
            .pager(query(), &search, options)
            .await
            .expect("found");
        let records = set.range(5, 2).await.expect("records");
        let records: Vec<String> = records.iter().map(words).collect();
        assert_eq!(records.join(" "), given, "{habit:?}");
        let seen = server.asked.lock().expect("no panic").join(" ");
        assert_eq!(seen, format!("search {asked}"), "{habit:?}");
    }
}
