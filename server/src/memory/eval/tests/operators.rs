//! Tests of and, or, not and proximity, of the counts of terms, and of limits.

use z3950_asn1::apdu::DatabaseName;
use z3950_marc::MarcRecord;

use super::super::{Evaluation, MOST_OCTETS};
use super::{Catalogue, pqf};
use crate::backend::Search;
use crate::budget::Budget;
use crate::limits::Limits;
use crate::memory::MOST_WORK;
use crate::memory::fields::Fields;
use crate::memory::index::WorkBudget;
use crate::testing::record;

#[test]
fn and_or_not() {
    Catalogue::small().check(&[
        ("@and @attr 1=4 war @attr 1=4 peace", "a"),
        ("@or @attr 1=4 worlds @attr 1=4 miserables", "b f"),
        ("@not @attr 1=4 war @attr 1=4 peace", "b e h"),
        (
            "@and @or @attr 1=4 war @attr 1=4 peace @not @attr 1=31 @attr 2=4 1900 @attr 1=54 xxx",
            "a e h",
        ),
        ("@not @attr 2=103 x @attr 2=103 x", ""),
        ("@attrset Bib-1 @and war peace", "a c"),
    ]);
}

#[test]
fn proximity() {
    // The arguments of @prox are exclusion, distance, ordered, relation, known (`k`) and unit.
    // The relations 1 to 6 are < <= = >= > <>.
    Catalogue::small().check(&[
        ("@prox 0 1 1 2 k 2 @attr 1=4 and @attr 1=4 peace", "a"),
        ("@prox 0 1 1 2 k 2 @attr 1=4 peace @attr 1=4 and", ""),
        ("@prox 0 1 0 2 k 2 @attr 1=4 peace @attr 1=4 and", "a"),
        ("@prox 0 1 1 2 k 2 @attr 1=4 war @attr 1=4 peace", ""),
        ("@prox 0 2 1 1 k 2 @attr 1=4 war @attr 1=4 peace", ""),
        ("@prox 0 3 1 1 k 2 @attr 1=4 war @attr 1=4 peace", "a"),
        ("@prox 0 2 1 2 k 2 @attr 1=4 war @attr 1=4 peace", "a"),
        ("@prox 0 2 1 3 k 2 @attr 1=4 war @attr 1=4 peace", "a"),
        ("@prox 0 1 1 3 k 2 @attr 1=4 war @attr 1=4 peace", ""),
        ("@prox 0 2 1 4 k 2 @attr 1=4 war @attr 1=4 peace", "a"),
        ("@prox 0 2 1 5 k 2 @attr 1=4 war @attr 1=4 peace", ""),
        ("@prox 0 1 1 5 k 2 @attr 1=4 war @attr 1=4 peace", "a"),
        ("@prox 0 1 1 6 k 2 @attr 1=4 war @attr 1=4 peace", "a"),
        ("@prox 0 2 1 6 k 2 @attr 1=4 war @attr 1=4 peace", ""),
        // Words in different fields are not in proximity, whatever the distance, and a word is not in proximity to itself.
        ("@prox 0 99 0 2 k 2 @attr 1=63 dead @attr 1=63 mind", ""),
        ("@prox 0 99 0 2 k 2 peace war", "a"),
        ("@prox 0 0 0 2 k 2 @attr 1=4 war @attr 1=4 war", ""),
        ("@prox 0 9 0 2 k 2 @attr 1=4 war @attr 1=4 war", ""),
        ("@prox 0 2 1 3 k 2 @attr 1=4 the @attr 1=4 of", "b h"),
        // Exclusion finds records with both words, but not in proximity.
        ("@prox 1 1 1 2 k 2 @attr 1=4 war @attr 1=4 peace", "a"),
        ("@prox 1 2 1 2 k 2 @attr 1=4 war @attr 1=4 peace", ""),
        // The operands are phrases, truncated words or other proximity operators.
        ("@prox 0 1 1 2 k 2 @attr 1=4 @attr 4=1 \"war of\" @attr 1=4 @attr 4=1 \"the worlds\"", "b"),
        ("@prox 0 1 1 2 k 2 @attr 1=4 @attr 5=1 worl @attr 1=4 x", ""),
        ("@prox 0 3 1 3 k 2 @attr 1=4 @attr 5=1 wa @attr 1=4 @attr 5=1 wor", "b"),
        ("@prox 0 1 1 2 k 2 @prox 0 1 1 2 k 2 @attr 1=4 war @attr 1=4 of @prox 0 1 1 2 k 2 @attr 1=4 the @attr 1=4 worlds", "b"),
        ("@prox 0 1 1 2 k 2 @prox 0 2 1 2 k 2 @attr 1=4 war @attr 1=4 peace @attr 1=4 a", "a"),
        ("@and @attr 1=1003 wells @prox 0 1 0 2 k 2 @attr 1=4 the @attr 1=4 worlds", "b"),
        ("@prox 0 1 1 2 k 2 @attr 1=4 @attr 3=1 war @attr 1=4 and", "a"),
    ]);
}

/// Returns a record whose title has these words, each repeated the given number of times.
fn titled(docid: &str, words: &[(&str, usize)]) -> MarcRecord {
    let words = words.iter();
    let words = words.map(|(word, count)| format!("{word} ").repeat(*count));
    record(docid, &words.collect::<String>())
}

/// Checks the result of a query: the docids of the records found, or the text of the diagnostic.
fn check_answer(records: &[MarcRecord], query: &str, expected: Result<&str, &str>) {
    let catalogue = Catalogue::of(records, Fields::default());
    let answer = catalogue.answer(&pqf(query));
    assert_eq!(answer.as_deref().map_err(String::as_str), expected);
}

#[test]
fn pairs_in_proximity_are_limited() {
    // Normally, each `a` pairs with each of the 1,024 `b`s. An `a` that is the first word is so far from the others that it pairs
    // only with the first `b`.
    let pairs = |docid, first, count| {
        let others = [("x", 2046 - count), ("a", count), ("b", 1024), ("c", 1)];
        titled(docid, &[&[(first, 1)], &others[..]].concat())
    };
    let inner = "@prox 0 2047 1 2 k 2 @attr 1=4 a @attr 1=4 b";
    let query = format!("@prox 0 9999 1 2 k 2 {inner} @attr 1=4 c");
    check_answer(&[pairs("1", "x", 1024)], &query, Ok("1"));
    check_answer(
        &[pairs("1", "a", 1024)],
        &query,
        Err("31 more work or memory than a request may take"),
    );
    let two = |first| [pairs("1", "x", 512), pairs("2", first, 512)];
    check_answer(&two("x"), &query, Ok("1 2"));
    check_answer(
        &two("a"),
        &query,
        Err("31 more work or memory than a request may take"),
    );
}

#[test]
fn octets_that_wait_for_operators_are_limited() {
    // Both inner operators find pairs, of 12 octets each, which are kept in memory until the outer operator is evaluated.
    let [left, right] = [("a", "b"), ("c", "d")]
        .map(|(one, other)| format!("@prox 0 2047 1 2 k 2 @attr 1=4 {one} @attr 1=4 {other}"));
    let query = format!("@prox 0 9999 0 2 k 2 {left} {right}");
    for (count, expected) in [
        (682, Ok("1")),
        (683, Err("31 more work or memory than a request may take")),
    ] {
        let words = [("a", count), ("b", 1024), ("c", count), ("d", 1024)];
        assert_eq!(2 * count * 1024 * 12 <= MOST_OCTETS, expected.is_ok());
        check_answer(&[titled("1", &words)], &query, expected);
    }
    let catalogue = Catalogue::small();
    let (databases, query) = ([DatabaseName::from("cat")], pqf("war"));
    let search = Search::new(&databases, &query);
    let work = &mut WorkBudget::new(MOST_WORK);
    let mut evaluation = Evaluation::new(&catalogue.index, &catalogue.fields, &search, None, work);
    assert!(evaluation.take_up(MOST_OCTETS).is_ok());
    assert!(evaluation.take_up(1).is_err());
}

#[test]
fn terms_are_counted() {
    let catalogue = Catalogue::small();
    for (query, expected) in [
        ("@attr 1=4 war", &[("war", 4)][..]),
        (
            "@and @attr 1=4 war @not @attr 1=4 peace nothing",
            &[("war", 4), ("peace", 2), ("nothing", 0)],
        ),
        (
            "@prox 0 9 0 2 k 2 @attr 1=4 war @attr 1=4 and",
            &[("war", 4), ("and", 2)],
        ),
    ] {
        let query = pqf(query);
        let counted = catalogue.evaluate(&query, true);
        let counted = counted.expect("found").term_counts;
        let counted: Vec<_> = counted
            .iter()
            .map(|counted| match &counted.operand.term {
                z3950_asn1::apdu::Term::General(term) => {
                    (String::from_utf8_lossy(term).into_owned(), counted.records)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(term, records)| ((*term).to_owned(), *records))
            .collect();
        assert_eq!(counted, expected);
        assert!(
            catalogue
                .evaluate(&query, false)
                .expect("found")
                .term_counts
                .is_empty()
        );
    }
}

#[test]
fn deep_queries_are_answered() {
    let catalogue = Catalogue::small();
    let deep = |operator: &str, side: bool| {
        if side {
            format!("{}{}", format!("{operator} war ").repeat(999), "war")
        } else {
            format!(
                "{}{}",
                format!("{operator} ").repeat(999),
                "war ".repeat(1000)
            )
        }
    };
    for side in [true, false] {
        for operator in ["@and", "@or"] {
            catalogue.check(&[(&deep(operator, side), "a b c e h")]);
        }
        catalogue.check(&[(&deep("@prox 0 1 0 5 k 2", side), "")]);
    }
}

#[test]
fn work_is_bounded() {
    let catalogue = Catalogue {
        work: 40,
        ..Catalogue::small()
    };
    catalogue.check(&[("@attr 1=4 war", "a b e h")]);
    for query in [
        "@attr 1=1016 @attr 5=2 r",
        "@attr 5=102 .*",
        &format!("{}war", "@or war ".repeat(100)),
    ] {
        let why = "31 more work or memory than a request may take";
        catalogue.check_refused(&[(query, why)]);
    }
    // Regular expressions and masks with exponential cost are refused, or cost no more than other terms.
    let catalogue = Catalogue::small();
    catalogue.check(&[(&format!("@attr 5=102 {}x", "(a*)*".repeat(100)), "")]);
    for (truncation, term) in [
        (101, "#a".repeat(4000)),
        (102, "(".repeat(8000)),
        (102, "(a{1000}){1000}".to_owned()),
    ] {
        let refused = catalogue.answer(&pqf(&format!("@attr 5={truncation} {term}")));
        assert!(
            refused.is_err_and(|refused| refused.starts_with("125 ")),
            "{truncation}"
        );
    }
}

#[test]
fn the_memory_of_a_search_is_counted() {
    let limits = Limits {
        server_octets: Some(1 << 20),
        ..Limits::default()
    };
    let budget = Budget::new(&limits);
    let mut work = WorkBudget::new(1).charged_to(Some(budget.common_account()));
    let mut kept = |octets| (work.keep(octets).is_ok(), budget.octets().kept);
    assert_eq!(kept(65_535), (true, 0), "little");
    assert_eq!(kept(65_536), (true, 65_536));
    assert_eq!(kept(1 << 19), (true, 1 << 19));
    assert_eq!(kept((1 << 19) + 65_536), (false, 1 << 19));
    drop(work);
    assert_eq!(budget.octets().kept, 0);
}
