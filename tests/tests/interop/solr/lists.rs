//! Tests of sorts, pages, scans, facets, term counts, and record formats.

use std::collections::BTreeMap;

use z3950_asn1::apdu::{CaseSensitivity, MissingValueAction, SortElement, SortKey, SortRelation};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_marc::MarcRecord;
use z3950_server::backend::{
    AttributeList, Backend, FacetRequest, Scan, ScanTerm, Search, Sort, SortKeySpec, Term,
};
use z3950_tests::random::Random;
use z3950_tests::solr::SolrShape;

use super::Filled;
use super::catalogue::{SolrCatalogue, operand, query};

/// The title fields.
const TITLES: [&str; 4] = ["title_full", "title_alt", "title_new", "title_old"];

fn by_index(
    name: &str,
    is_descending: bool,
    missing_value_action: Option<MissingValueAction>,
) -> SortKeySpec {
    SortKeySpec {
        sort_element: SortElement::Generic(SortKey::SortField(name.into())),
        sort_relation: if is_descending {
            SortRelation::DESCENDING
        } else {
            SortRelation::ASCENDING
        },
        case_sensitivity: CaseSensitivity::CASE_SENSITIVE,
        missing_value_action,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_sorted_and_paged() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "sorted", 150) else {
        return;
    };
    let catalogue = SolrCatalogue::open(&filled, shape);
    let hits = catalogue
        .search("@attr 1=1016 @attr 2=103 x")
        .await
        .expect("all")
        .hits;
    for (name, field) in [
        ("title", "title_sort"),
        ("author", "author_sort"),
        ("date", "publishDateSort"),
    ] {
        for (is_descending, missing) in [
            (false, None),
            (true, None),
            (false, Some(MissingValueAction::Null)),
        ] {
            let is_first = missing.is_some();
            let keys = [by_index(name, is_descending, missing)];
            let inputs = [hits.clone()];
            let sorted = catalogue
                .database
                .sort(Sort::new(&inputs, &keys))
                .await
                .expect("sorted");
            let mut found = Vec::new();
            for start in (0..150).step_by(40) {
                let page = start..(start + 40).min(150);
                for record in catalogue.records(&sorted, page).await {
                    let id = record.control_number().expect("an identifier");
                    found.push(String::from_utf8_lossy(id).into_owned());
                }
            }
            let values = filled.naive.least(field);
            let mut expected: Vec<String> = filled.naive.all().into_iter().collect();
            expected.sort_by(|one, other| {
                let (one, other) = (values.get(one), values.get(other));
                let by_value = if is_descending {
                    other.cmp(&one)
                } else {
                    one.cmp(&other)
                };
                // Records without a value come last in both directions, unless a missing value is treated as an empty one.
                let by_absence = one.is_none().cmp(&other.is_none());
                let by_absence = if is_first {
                    by_absence.reverse()
                } else {
                    by_absence
                };
                by_absence.then(by_value)
            });
            assert_eq!(found, expected, "{name} {is_descending}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scans_and_facets_count_the_same_as_brute_force() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "counted", 150) else {
        return;
    };
    let catalogue = SolrCatalogue::open(&filled, shape);
    let mut random = Random::new("scans of Solr");
    let mut wrong = Vec::new();
    for (use_value, field) in [
        (4, "title_fullStr"),
        (1003, "author_facet"),
        (21, "topic_facet"),
        (31, "publishDate"),
        (54, "language"),
    ] {
        let terms: Vec<(String, usize)> = filled.naive.terms(field).into_iter().collect();
        for _ in 0..12 {
            let start = random.pick(&terms).0.clone();
            let cut = random.below(start.chars().count()) + 1;
            let start: String = start.chars().take(cut).collect();
            let start = start.trim_end();
            if !start.chars().any(char::is_alphanumeric) {
                continue;
            }
            let (before, after) = (random.below(6), random.below(6) + 1);
            let asked = query(&format!("@attr 1={use_value} @attr 4=1 {{{start}}}"));
            let mut scan = Scan::new(&catalogue.names, asked.attribute_set, operand(&asked));
            (scan.before, scan.after) = (before, after);
            let scanned = catalogue.database.scan(scan).await.expect("scanned");
            let shown = |terms: &[ScanTerm]| {
                let terms = terms.iter().map(|term| match &term.term {
                    Term::General(octets) => (
                        String::from_utf8_lossy(octets.as_ref()).into_owned(),
                        term.records.unwrap_or(0),
                    ),
                    other => panic!("{other:?}"),
                });
                terms.collect::<Vec<_>>()
            };
            // A final full stop is not part of a value.
            let folded = filled.naive.query_words(field, start);
            let folded = folded.first().map_or(start, |token| &*token.text);
            let place = terms.partition_point(|(term, _)| &**term < folded);
            let expected = [
                &terms[place.saturating_sub(before)..place],
                &terms[place..(place + after).min(terms.len())],
            ];
            let found = [shown(&scanned.before), shown(&scanned.after)];
            if found[0] != expected[0] || found[1] != expected[1] {
                wrong.push(format!(
                    "{field} {start}: {found:?} instead of {expected:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let asked = query("@attr 1=4 war");
    let of_field = query("@attr 1=1003 x");
    let attributes = AttributeList(operand(&of_field).attributes.clone());
    let facets = [FacetRequest::new(attributes, 0, 4, false)];
    let mut search = Search::new(&catalogue.names, &asked);
    search.facets = &facets;
    (search.term_counts, search.term_counts_asked) = (true, true);
    let found = catalogue.database.search(search).await.expect("found");
    let ids = filled.naive.phrase(&TITLES, "war");
    assert_eq!(found.term_counts[0].records, ids.len());
    let counts = filled.naive.terms_of("author_facet", &ids);
    let mut most: Vec<usize> = counts.values().copied().collect();
    most.sort_unstable_by(|one, other| other.cmp(one));
    let shown = found.facets[0]
        .terms
        .iter()
        .map(|(term, count)| match term {
            Term::General(octets) => {
                let term = String::from_utf8_lossy(octets.as_ref()).into_owned();
                assert_eq!(counts[&term], *count, "{term}");
                *count
            }
            other => panic!("{other:?}"),
        });
    assert_eq!(shown.collect::<Vec<_>>(), most[..4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_of_record_is_read() {
    for shape in [SolrShape::VuFind, SolrShape::Blacklight] {
        let Some(filled) = Filled::new(shape, "forms", 40) else {
            return;
        };
        let catalogue = SolrCatalogue::open(&filled, shape);
        let hits = catalogue
            .search("@attr 1=1016 @attr 2=103 x")
            .await
            .expect("all")
            .hits;
        let found = catalogue.records(&hits, 0..40).await;
        let by_id = |records: &[MarcRecord]| {
            let records = records.iter().map(|record| {
                let id = record.control_number().expect("an identifier").to_vec();
                (id, record.fields.clone())
            });
            records.collect::<BTreeMap<_, _>>()
        };
        assert_eq!(by_id(&found), by_id(&filled.records), "{shape:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_lists_and_sorts_are_refused() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "unlisted", 10) else {
        return;
    };
    let catalogue = SolrCatalogue::open(&filled, shape);
    for (pqf, condition) in [
        // Only whole values can be listed, and only for some indexes.
        ("@attr 1=4 @attr 4=2 war", Condition::STRUCTURE),
        ("@attr 1=5 @attr 4=1 war", Condition::MALFORMED_SCAN),
        ("@attr 1=63 @attr 4=1 war", Condition::USE),
    ] {
        let asked = query(pqf);
        let scan = Scan::new(&catalogue.names, asked.attribute_set, operand(&asked));
        let refused = catalogue
            .database
            .scan(scan)
            .await
            .map_err(|why| why.condition);
        assert_eq!(refused.err(), Some(condition.0), "{pqf}");
    }
    let hits = catalogue.search("@attr 1=1016 @attr 2=103 x").await;
    let inputs = [hits.expect("all").hits];
    let value = MissingValueAction::MissingValueData(b"m".to_vec().into());
    for (key, condition) in [
        (
            by_index("title", false, Some(value)),
            Condition::MISSING_VALUE_ACTION,
        ),
        (
            by_index("author", false, Some(MissingValueAction::Abort)),
            Condition::MISSING_VALUE_ACTION,
        ),
        (by_index("series", false, None), Condition::SORT_SEQUENCE),
    ] {
        let sort = Sort::new(&inputs, std::slice::from_ref(&key));
        let refused = catalogue
            .database
            .sort(sort)
            .await
            .map_err(|why| why.condition);
        assert_eq!(refused.err(), Some(condition.0), "{key:?}");
    }
}
