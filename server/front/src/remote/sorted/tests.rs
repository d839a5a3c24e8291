//! Tests of lists of titles that are merged while they are read.

use z3950_asn1::apdu::{External, MissingValueAction, SortRelation};
use z3950_asn1::oid::{SUTRS, USMARC};
use z3950_marc::{Field, MarcRecord, iso2709};

use super::*;

/// Returns a sort order by title.
fn by_title(relation: SortRelation, missing: Option<MissingValueAction>) -> RecordOrder {
    let mut key = z3950::service::sort::key_by_field("245", relation);
    key.missing_value_action = missing;
    RecordOrder::new(&[key]).expect("a key")
}

fn ascending() -> RecordOrder {
    by_title(SortRelation::ASCENDING, Some(MissingValueAction::Null))
}

fn list(order: RecordOrder, parts: &[&[&str]], most: u64) -> SortedList {
    let counts = parts.iter().map(|part| part.len() as u64);
    SortedList::new(order, counts, most)
}

/// Returns a record with a title; `-` stands for a record without a title, `?` for a record that is not MARC, and `!` for a
/// failure. A title after `|` is the title under which the target files the record.
fn record(title: &str) -> Result<Record, Diagnostic> {
    let marc = |fields: Vec<Field>| {
        let record = MarcRecord {
            fields,
            ..MarcRecord::default()
        };
        let octets = iso2709::encode(&record).expect("short");
        Ok(Record::new(External::octet_aligned(USMARC, octets), None))
    };
    match title {
        "!" => Err(failure::changed()),
        "?" => Ok(Record::new(External::octet_aligned(SUTRS, "text"), None)),
        "-" => marc(vec![Field::control(b"001", "x")]),
        _ => {
            let filed = title.find('|').unwrap_or(0);
            let indicators = format!("1{filed}");
            let title = title.replace('|', "");
            marc(vec![Field::data(b"245", &*indicators, [("a", &*title)])])
        }
    }
}

/// A page of records from a part.
type PageOfPart = std::future::Ready<Option<Vec<Result<Record, Diagnostic>>>>;

/// Returns a function that reads records from these parts, a fixed number at a time.
fn reader<'a>(
    parts: &'a [&'a [&'a str]],
    at_once: u64,
) -> impl Fn(usize, RangeInclusive<u64>) -> PageOfPart {
    move |part, ranks| {
        let ranks = ranks.take(usize::try_from(at_once).unwrap_or(usize::MAX));
        let records = ranks.map(|rank| record(parts[part][usize::try_from(rank).unwrap() - 1]));
        std::future::ready(Some(records.collect()))
    }
}

/// Returns the titles of the list in order, with failures in brackets.
fn shown(list: &SortedList, parts: &[&[&str]]) -> String {
    let positions = 0..list.total();
    let titles = positions.map(
        |position| match (list.place(position), list.refusal(position)) {
            (_, Some(why)) => format!("[{}]", why.condition),
            (Some((part, rank)), None) => {
                parts[part][usize::try_from(rank).unwrap() - 1].to_owned()
            }
            (None, None) => "nothing".to_owned(),
        },
    );
    titles.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn lists_are_merged_by_the_keys_of_their_records() {
    let table: &[(&[&[&str]], &str)] = &[
        (&[], ""),
        (&[&["a", "c"], &["b", "d"]], "a b c d"),
        (&[&["a"], &[], &["A", "b"]], "a A b"),
        (&[&["b", "b"], &["a", "b"]], "a b b b"),
        (&[&["Émile", "zoo"], &["Eva", "fig"]], "Émile Eva fig zoo"),
        // Leading articles are ignored.
        (&[&["cow", "The |dog"], &["eel"]], "cow The |dog eel"),
        // Records without a key stay where the target placed them.
        (&[&["-", "-", "b"], &["a", "c"]], "- - a b c"),
        (&[&["b", "-"], &["a", "c"]], "a b - c"),
        // Records that the target sorts differently stay between their neighbours.
        (
            &[&["A |zebra", "bear", "cow", "dog"], &["ant", "cat"]],
            "A |zebra ant bear cat cow dog",
        ),
        (
            &[
                &["ape", "bear", "zoo", "cow", "dog"],
                &["ant", "cat", "eel"],
            ],
            "ant ape bear zoo cat cow dog eel",
        ),
        (
            &[&["bear", "cow", "The |ant", "dog"], &["cat", "eel"]],
            "bear cat cow The |ant dog eel",
        ),
        // Records that fail or are not MARC stay between their neighbours too.
        (&[&["a", "!", "c"], &["b", "d"]], "a ! b c d"),
        (&[&["?", "c"], &["b", "d"]], "? b c d"),
        // The records of a target that sends only failures come last.
        (&[&["!", "!"], &["a", "b"]], "a b [14] [14]"),
    ];
    for (parts, expected) in table.iter().copied() {
        for at_once in [1, 3, 100] {
            let list = list(ascending(), parts, 1000);
            list.reach(1000, reader(parts, at_once)).await;
            // A page that consists of a single failure ends the list of its target, so rows with failures are checked only with
            // large pages.
            let is_whole = at_once == 100 || !expected.contains(['!', '[']);
            if is_whole {
                assert_eq!(shown(&list, parts), expected, "{at_once}");
            }
        }
    }
}

#[tokio::test]
async fn the_order_is_that_of_the_keys() {
    let parts: &[&[&str]] = &[&["c", "a", "-"], &["b"]];
    for (missing, expected) in [
        (None, "c b a -"),
        (Some(MissingValueAction::Null), "c b a -"),
        (Some(MissingValueAction::Abort), "c b a -"),
    ] {
        let list = list(by_title(SortRelation::DESCENDING, missing), parts, 1000);
        list.reach(1000, reader(parts, 100)).await;
        assert_eq!(shown(&list, parts), expected);
    }
}

#[tokio::test]
async fn positions_are_reached_only_when_they_are_read() {
    let letters = ["a", "b", "c", "d", "e", "f", "g", "h"].repeat(50);
    let mut one = letters.clone();
    one.sort_unstable();
    let parts: &[&[&str]] = &[&one, &one[..200], &["h"]];
    let mut all: Vec<&str> = parts.concat();
    all.sort_unstable();
    let whole = list(ascending(), parts, 1000);
    for positions in [1, 5, 7, 30, 601] {
        whole.reach(positions, reader(parts, 100)).await;
        assert!(whole.place(positions - 1).is_some(), "{positions}");
        let next = whole.refusal(positions);
        assert!(positions == 601 || next.is_some(), "{positions}");
    }
    assert_eq!(shown(&whole, parts), all.join(" "));
    // The records have been read already, so they are not read again.
    let again = |_: usize, _: RangeInclusive<u64>| -> std::future::Ready<_> {
        panic!("everything is there")
    };
    whole.reach(601, again).await;
    // A position at the limit can be reached; the position past it is refused.
    let limited = list(ascending(), parts, 600);
    limited.reach(601, reader(parts, 100)).await;
    assert!(limited.place(599).is_some() && limited.refusal(599).is_none());
    assert_eq!(limited.refusal(600).map(|why| why.condition), Some(230));
    assert_eq!(limited.total(), 601);
}

#[tokio::test]
async fn without_time_positions_stay_open() {
    let parts: &[&[&str]] = &[&["a", "c"], &["b", "d"]];
    let list = list(ascending(), parts, 1000);
    list.reach(4, |_, _| std::future::ready(None)).await;
    assert_eq!(list.refusal(0).map(|why| why.condition), Some(109));
    list.reach(4, reader(parts, 100)).await;
    assert_eq!(shown(&list, parts), "a b c d");
}

#[tokio::test]
async fn a_target_that_fails_later_comes_last() {
    let one: Vec<&str> = [&["a"; 30][..], &["!"; 30]].concat();
    let parts: &[&[&str]] = &[&one, &["b"; 3]];
    let list = list(ascending(), parts, 1000);
    list.reach(63, reader(parts, 10)).await;
    let expected = ["a ".repeat(30), "b ".repeat(3), "[14] ".repeat(30)].concat();
    assert_eq!(shown(&list, parts), expected.trim_end());
}

#[tokio::test]
async fn lists_in_no_order_are_noticed() {
    const WORDS: [&str; 12] = ["m", "c", "k", "a", "l", "f", "b", "h", "d", "j", "e", "g"];
    let sorted = {
        let mut words = WORDS;
        words.sort_unstable();
        words
    };
    for (part, words) in [
        (&WORDS[..], Some("do not come in this order")),
        (&sorted[..], None),
        (
            &["l", "k", "j", "i", "h", "g"],
            Some("do not come in this order"),
        ),
        // Five records are too few to judge their order.
        (&["l", "k", "j", "i", "h"], None),
        // Half of the records are in order, which is enough to call the list sorted.
        (&["a", "z", "b", "y", "c", "x"], None),
        (&["-"; 10], None),
        (&["?", "?"], Some("no key can be read")),
    ] {
        for at_once in [4, 100] {
            let parts: &[&[&str]] = &[&["a"], part];
            let list = list(ascending(), parts, 1000);
            list.reach(10, reader(parts, at_once)).await;
            let found = list.disorder().map(|(part, why)| {
                assert_eq!((part, why.condition), (1, 207));
                why.addinfo.to_string_lossy().into_owned()
            });
            let is_as_expected = match words {
                Some(words) => found.as_ref().is_some_and(|found| found.contains(words)),
                None => found.is_none(),
            };
            assert!(is_as_expected, "{part:?}: {found:?}");
        }
    }
}
