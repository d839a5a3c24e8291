//! Tests of facets over the records found.

use z3950_asn1::apdu::{
    AttributeElement, AttributeList, AttributeValue, ComplexAttribute, StringOrNumeric, Term,
};
use z3950_marc::Field;

use super::{Catalogue, pqf};
use crate::backend::FacetRequest;
use crate::budget::Budget;
use crate::limits::Limits;
use crate::memory::fields::Fields;
use crate::memory::index::WorkBudget;
use crate::memory::scan::facets;
use crate::memory::{AccessPoints, MOST_WORK, Profile};
use crate::testing::record;

fn named(name: &str) -> AttributeList {
    let list = vec![StringOrNumeric::String(name.into())];
    let value = AttributeValue::Complex(Box::new(ComplexAttribute {
        list,
        semantic_action: None,
    }));
    // In a facet request, attribute type 3 gives the number of terms.
    AttributeList(vec![
        AttributeElement::numeric(3, 10),
        AttributeElement {
            attribute_set: None,
            attribute_type: 1,
            attribute_value: value,
        },
    ])
}

fn numbered(value: i64) -> AttributeList {
    AttributeList(vec![AttributeElement::numeric(1, value)])
}

#[test]
fn terms_are_counted_over_the_hits() {
    let war = "@attr 1=4 war";
    for (query, attributes, (skip, terms, alphabetical), expected) in [
        (
            war,
            numbered(1018),
            (0, 10, false),
            Some("Heinemann 1, University 1, W. Heinemann 1"),
        ),
        (
            war,
            numbered(31),
            (0, 10, false),
            Some("1869 1, 1898 1, 1904 1, 1983 1, 2005 1"),
        ),
        (
            war,
            named("language"),
            (0, 10, false),
            Some("eng 4, fre 1, rus 1"),
        ),
        (
            war,
            named("lang"),
            (0, 10, true),
            Some("eng 4, fre 1, rus 1"),
        ),
        (war, named("language"), (0, 1, false), Some("eng 4")),
        (war, named("language"), (1, 1, false), Some("fre 1")),
        (war, named("language"), (9, 1, false), Some("")),
        (war, named("language"), (0, 0, false), Some("")),
        (war, named("any"), (0, 1, false), Some("war 4")),
        (
            "@attr 1=4 nothing",
            named("language"),
            (0, 10, false),
            Some(""),
        ),
        (war, named("nosuch"), (0, 10, false), None),
        (war, numbered(9999), (0, 10, false), None),
        (war, numbered(1032), (0, 10, false), None),
        (war, AttributeList(vec![]), (0, 10, false), None),
    ] {
        let catalogue = Catalogue::small();
        let hits = catalogue.evaluate(&pqf(query), false).expect("found").hits;
        let request = FacetRequest {
            attributes,
            skip,
            terms,
            alphabetical,
        };
        let found = facets(
            &catalogue.index,
            &catalogue.fields,
            &hits,
            std::slice::from_ref(&request),
            &mut WorkBudget::new(MOST_WORK),
        )
        .expect("little work");
        let shown = found.first().map(|facet| {
            assert_eq!(facet.attributes, request.attributes);
            let term = |(term, records): &(Term, usize)| match term {
                Term::General(octets) => format!("{} {records}", String::from_utf8_lossy(octets)),
                other => panic!("{other:?}"),
            };
            facet.terms.iter().map(term).collect::<Vec<_>>().join(", ")
        });
        assert_eq!(shown.as_deref(), expected, "{request:?}");
    }
}

#[test]
fn whole_entries_are_shown_as_printed_up_to_a_length() {
    let (short, long) = (128, 129);
    let records = [short, long].map(|letters| {
        // Each letter `Ä` takes two octets, so the lengths are 256 octets, which is the limit, and 258 octets.
        let mut record = record("id", "A title");
        let publisher = "Ä".repeat(letters);
        let place = Field::data(b"260", "  ", [("b", publisher.as_str())]);
        record.fields.push(place);
        record
    });
    let catalogue = Catalogue::of(
        &records,
        Fields::new(AccessPoints::default(), Profile::default(), []),
    );
    let hits = catalogue
        .evaluate(&pqf("title"), false)
        .expect("found")
        .hits;
    let request = FacetRequest {
        attributes: numbered(1018),
        skip: 0,
        terms: 10,
        alphabetical: true,
    };
    let shown = |work| {
        let all = (&catalogue.index, &*catalogue.fields);
        let found = facets(all.0, all.1, &hits, std::slice::from_ref(&request), work);
        let facets = found.expect("enough work");
        let terms = facets.into_iter().flat_map(|facet| facet.terms);
        terms.map(|(term, _)| term).collect::<Vec<_>>()
    };
    let term = |text: String| Term::General(text.into_bytes().into());
    let (printed, folded) = (term("Ä".repeat(short)), term("a".repeat(long)));
    assert_eq!(shown(&mut WorkBudget::new(MOST_WORK)), [printed, folded]);
}

/// Returns a catalogue with 6,000 different words, the number of octets charged for a facet of these words, and a request
/// for this facet.
fn many_words() -> (Catalogue, usize, FacetRequest) {
    let words = |from: usize| (from..from + 500).map(|word| format!("w{word} "));
    let records = (0..12).map(|number| record("id", &words(number * 500).collect::<String>()));
    let records: Vec<_> = records.collect();
    let catalogue = Catalogue::of(
        &records,
        Fields::new(AccessPoints::default(), Profile::default(), []),
    );
    let request = FacetRequest {
        attributes: named("any"),
        skip: 0,
        terms: 10,
        alphabetical: false,
    };
    // The octets are counted in steps of at least 64 KiB.
    let term = size_of::<(&[u8], usize)>();
    let step = (64_usize * 1024).div_ceil(term) * term;
    (catalogue, 2 * step, request)
}

/// Returns the number of facets, which is `None` if the work budget is exhausted, and the number of units of work that
/// remain.
fn facets_with(
    catalogue: &Catalogue,
    requests: &[FacetRequest],
    mut work: WorkBudget,
) -> (Option<usize>, u64) {
    let hits = catalogue.index.all();
    let found = facets(
        &catalogue.index,
        &catalogue.fields,
        &hits,
        requests,
        &mut work,
    );
    (found.ok().map(|facets| facets.len()), work.left())
}

#[test]
fn facets_take_work_like_searches() {
    let (catalogue, _, request) = many_words();
    let units = |requests: &[FacetRequest]| {
        let (count, left) = facets_with(&catalogue, requests, WorkBudget::new(MOST_WORK));
        assert_eq!(count, Some(requests.len()));
        MOST_WORK - left
    };
    let alphabetical = FacetRequest {
        alphabetical: true,
        ..request.clone()
    };
    let one = units(std::slice::from_ref(&request));
    // Sorting by number of records costs an additional unit for each of the 6,001 terms: 6,000 words and the docid.
    assert_eq!(one - units(&[alphabetical]), 6_001);
    assert!(one > 24_000, "{one}");
    let sixteen = vec![request; 16];
    assert_eq!(units(&sixteen), 16 * one);
    for (units, expected) in [(16 * one, Some(16)), (16 * one - 1, None), (one, None)] {
        let (count, _) = facets_with(&catalogue, &sixteen, WorkBudget::new(units));
        assert_eq!(count, expected, "{units}");
    }
}

#[test]
fn the_terms_of_a_facet_count_while_they_are_sorted() {
    let (catalogue, octets, request) = many_words();
    for (most, expected) in [(octets, Some(3)), (octets - 1, None)] {
        let limits = Limits {
            server_octets: Some(2 * most),
            ..Limits::default()
        };
        let account = Budget::new(&limits).common_account();
        let work = WorkBudget::new(MOST_WORK).charged_to(Some(account));
        let requests = vec![request.clone(); 3];
        let (count, _) = facets_with(&catalogue, &requests, work);
        assert_eq!(count, expected, "{most}");
    }
}
