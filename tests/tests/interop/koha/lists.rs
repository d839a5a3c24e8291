//! Tests of scans, facets, term counts and sorts, which are compared with lists of all values.

use std::collections::BTreeSet;

use z3950_asn1::apdu::{
    CaseSensitivity, RpnQuery, RpnStructure, SortElement, SortKey, SortRelation,
};
use z3950_asn1::query::parse_pqf;
use z3950_marc::mrk;
use z3950_server::backend::{
    AttributeList, AttributesPlusTerm, Backend, DatabaseName, FacetRequest, Operand, Scan,
    ScanTerm, Search, Sort, SortKeySpec, Term,
};

use z3950_tests::koha::{Edition, KohaIndex, made_up, of_libraries, shared_node};
use z3950_tests::random::Random;

use super::brute::{Brute, Numbers, fields, shown};
use super::{all_numbers, opened};

fn query(pqf: &str) -> RpnQuery {
    parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"))
}

fn operand(query: &RpnQuery) -> &AttributesPlusTerm {
    match &query.rpn {
        RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => operand,
        other => panic!("{other:?}"),
    }
}

fn text(term: &Term) -> String {
    let Term::General(octets) = term else {
        panic!("{term:?}");
    };
    String::from_utf8_lossy(octets.as_ref()).into_owned()
}

fn listed(terms: &[ScanTerm]) -> Vec<(String, usize)> {
    terms
        .iter()
        .map(|term| (text(&term.term), term.records.expect("a count")))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn scans_list_all_values() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let records = [made_up(200), of_libraries()].concat();
    let index = KohaIndex::filled(cluster, "scanned", Edition::Current, &records);
    let (engine, brute) = (opened(&index), Brute::new(&index));
    let names = [DatabaseName::from("town")];
    let mut random = Random::new("scans of Koha");
    let war = query("@attr 1=4 war");
    let set = engine
        .search(Search::new(&names, &war))
        .await
        .expect("found")
        .hits;
    let within: Numbers = all_numbers(&engine, &set).await.into_iter().collect();
    let mut wrong = Vec::new();
    for _ in 0..200 {
        let access = *random.pick(&[4, 21, 1003, 1018]);
        let is_within = random.below(3) == 0;
        let list = brute.list(&fields(access)[..1], is_within.then_some(&within));
        let start = match random.below(4) {
            0 => random.pick(&list).0.clone(),
            1 => random.pick(&list).0.to_uppercase(),
            2 => random.pick(&list).0.chars().take(2).collect(),
            _ => (*random.pick(&["", "zzzz", "0", "Müller", "the"])).to_owned(),
        };
        let (before, after) = (random.below(7), random.below(9) + 1);
        let pqf = format!(
            "@attr 1={access} @attr 4=1 \"{}\"",
            start.replace('"', "\\\"")
        );
        let query = query(&pqf);
        let mut scan = Scan::new(&names, query.attribute_set, operand(&query));
        (scan.before, scan.after) = (before, after);
        scan.within = is_within.then_some(&set);
        let key = brute.key(&start);
        let at = list.partition_point(|(value, _)| *value < key);
        let expected = (
            list[at.saturating_sub(before)..at].to_vec(),
            list[at..list.len().min(at + after)].to_vec(),
            list.get(at).is_some_and(|(value, _)| *value == key),
        );
        let found = engine.scan(scan).await.map_err(|why| why.condition);
        let found = found.map(|found| (listed(&found.before), listed(&found.after), found.exact));
        if found.as_ref() != Ok(&expected) {
            wrong.push(format!(
                "{pqf} {before} {after} {is_within}: {found:?} instead of {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn facets_and_counts_are_exact() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "counted", Edition::Current, &made_up(300));
    let (engine, brute) = (opened(&index), Brute::new(&index));
    let names = [DatabaseName::from("town")];
    let both = query("@and @attr 1=4 war @attr 1=4 peace");
    let of_author = query("@attr 1=1003 x");
    let field = AttributeList(operand(&of_author).attributes.clone());
    let requests = [FacetRequest::new(field, 0, 10, false)];
    let mut search = Search::new(&names, &both);
    (search.term_counts, search.term_counts_asked) = (true, true);
    search.facets = &requests;
    let found = engine.search(search).await.expect("found");
    let numbers: Numbers = all_numbers(&engine, &found.hits)
        .await
        .into_iter()
        .collect();
    let word = |word| brute.find(&super::brute::Asked::new(4, word));
    assert_eq!(numbers, &word("war") & &word("peace"));
    let counts: Vec<usize> = found
        .term_counts
        .iter()
        .map(|count| count.records)
        .collect();
    assert_eq!(counts, [word("war").len(), word("peace").len()]);
    let values: BTreeSet<&String> = index
        .documents
        .iter()
        .flat_map(|document| document.values("author"))
        .collect();
    let mut expected: Vec<(String, usize)> = values
        .into_iter()
        .map(|value| {
            let documents = shown(&index).filter(|document| {
                numbers.contains(&document.number) && document.values("author").contains(value)
            });
            (
                value.trim_end_matches([',', '.', ';', '-', ' ']).to_owned(),
                documents.count(),
            )
        })
        .filter(|(_, count)| *count > 0)
        .collect();
    expected.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let [facet] = &*found.facets else {
        panic!("{:?}", found.facets);
    };
    let shown: Vec<usize> = facet.terms.iter().map(|(_, count)| *count).collect();
    let counts: Vec<usize> = expected.iter().take(10).map(|(_, count)| *count).collect();
    assert_eq!(shown, counts, "{:?} {expected:?}", facet.terms);
}

/// For sorting, numbers in titles are compared by their values, and initial articles are ignored.
#[tokio::test(flavor = "multi_thread")]
async fn records_are_sorted_by_koha_s_keys() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let titles = [
        "0beta",
        "0alpha 10",
        "0alpha 9",
        "4The abacus",
        "0Émile",
        "0eve",
    ];
    let texts = titles.map(|title| {
        format!(
            "=LDR  00000nam a2200000 a 4500\n=245  1{}$a{} war\n\n",
            &title[..1],
            &title[1..]
        )
    });
    let records = mrk::parse_all(&texts.concat()).expect("records");
    let index = KohaIndex::filled(cluster, "sorted", Edition::Current, &records);
    let engine = opened(&index);
    let names = [DatabaseName::from("town")];
    let war = query("@attr 1=4 war");
    let hits = engine
        .search(Search::new(&names, &war))
        .await
        .expect("found")
        .hits;
    assert_eq!(all_numbers(&engine, &hits).await, [1, 2, 3, 4, 5, 6]);
    let key = |name: &str, relation| SortKeySpec {
        sort_element: SortElement::Generic(SortKey::SortField(name.into())),
        sort_relation: relation,
        case_sensitivity: CaseSensitivity::CASE_INSENSITIVE,
        missing_value_action: None,
    };
    for (relation, expected) in [
        (SortRelation::ASCENDING, [4, 3, 2, 1, 5, 6]),
        (SortRelation::DESCENDING, [6, 5, 1, 2, 3, 4]),
    ] {
        let keys = [key("title", relation)];
        let sorted = engine
            .sort(Sort::new(std::slice::from_ref(&hits), &keys))
            .await;
        let sorted = sorted.expect("sorted");
        assert_eq!(all_numbers(&engine, &sorted).await, expected);
    }
    let keys = [
        key("note", SortRelation::ASCENDING),
        key("shoe size", SortRelation::ASCENDING),
    ];
    let refused = engine
        .sort(Sort::new(std::slice::from_ref(&hits), &keys))
        .await;
    assert_eq!(refused.map_err(|why| why.condition).err(), Some(207));
}

/// Fifty facets in one search have the same counts as each facet in a search of its own, even at high positions.
#[tokio::test(flavor = "multi_thread")]
async fn many_facets_are_counted_at_once() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "faceted", Edition::Current, &made_up(200));
    let engine = opened(&index);
    let names = [DatabaseName::from("town")];
    let war = query("@attr 1=4 war");
    let uses: [i64; 6] = [5, 53, 54, 1003, 1018, 1031];
    let field = |access: i64| {
        let of = query(&format!("@attr 1={access} x"));
        AttributeList(operand(&of).attributes.clone())
    };
    let asked = async |requests: &[FacetRequest]| {
        let mut search = Search::new(&names, &war);
        search.facets = requests;
        engine.search(search).await.expect("found").facets
    };
    let requests: Vec<FacetRequest> = (0..50)
        .map(|at| FacetRequest::new(field(uses[at % uses.len()]), at / 10, 1_000, at % 2 == 0))
        .collect();
    let facets = asked(&requests).await;
    assert_eq!(facets.len(), 50);
    assert!(
        facets
            .iter()
            .filter(|facet| !facet.terms.is_empty())
            .count()
            > 5
    );
    for (request, facet) in requests.iter().zip(&facets) {
        let alone = asked(std::slice::from_ref(request)).await;
        assert_eq!(alone, std::slice::from_ref(facet));
    }
}
