//! Compares what a catalogue in Solr answers with brute force over its records: queries of all kinds, sorts, scans, facets, counts, pages.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use z3950_asn1::apdu::{
    CaseSensitivity, RpnQuery, RpnStructure, SortElement, SortKey, SortRelation,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::catalogue::{CatalogueDatabase, CatalogueMap, CatalogueOptions};
use z3950_front::engine::opensearch::ClusterAddress;
use z3950_marc::{MarcRecord, iso2709};
use z3950_server::backend::{
    AttributeList, AttributesPlusTerm, Backend, Composition, DatabaseName, FacetRequest, Found,
    Hits, Operand, Retrieve, RetrieveMany, Scan, Search, Sort, SortKeySpec, Term,
};
use z3950_tests::random::Random;
use z3950_tests::solr::SolrShape;

use super::naive::Naive;
use super::{Filled, WORDS};

/// A set of identifiers.
type Ids = BTreeSet<String>;

/// What a query finds, or the condition of its diagnostic.
type Outcome = Result<Ids, i64>;

/// An index of a map, with the fields that it should look into.
struct Access {
    use_value: i64,
    words: &'static [&'static str],
    masks: &'static [&'static str],
}

const OF_VUFIND: [Access; 5] = [
    Access {
        use_value: 4,
        words: &["title_full", "title_alt", "title_new", "title_old"],
        masks: &["title_full_unstemmed"],
    },
    Access {
        use_value: 1003,
        words: &["author", "author2", "author_corporate", "author_additional"],
        masks: &["author", "author2", "author_corporate", "author_additional"],
    },
    Access {
        use_value: 21,
        words: &["topic", "genre", "geographic", "era"],
        masks: &["topic_unstemmed"],
    },
    Access {
        use_value: 1016,
        words: &["allfields"],
        masks: &["allfields_unstemmed"],
    },
    Access {
        use_value: 1018,
        words: &["publisher"],
        masks: &["publisher"],
    },
];

const OF_BLACKLIGHT: [Access; 4] = [
    Access {
        use_value: 4,
        words: &["title_tsim", "title_addl_tsim"],
        masks: &["title_tsim", "title_addl_tsim"],
    },
    Access {
        use_value: 1003,
        words: &["author_tsim", "author_addl_tsim"],
        masks: &["author_tsim", "author_addl_tsim"],
    },
    Access {
        use_value: 21,
        words: &["subject_tsim", "subject_addl_tsim"],
        masks: &["subject_tsim", "subject_addl_tsim"],
    },
    Access {
        use_value: 1016,
        words: &["all_text_timv"],
        masks: &["all_text_timv"],
    },
];

fn accesses(shape: SolrShape) -> &'static [Access] {
    match shape {
        SolrShape::VuFind => &OF_VUFIND,
        SolrShape::Blacklight => &OF_BLACKLIGHT,
    }
}

/// Opens the catalogue of a collection.
pub(super) fn opened(filled: &Filled, shape: SolrShape) -> CatalogueDatabase {
    let addresses = filled.nodes.urls(&filled.collection);
    let addresses = addresses
        .iter()
        .map(|url| ClusterAddress::of_catalogue(url));
    let addresses = addresses.collect::<Result<Vec<_>, _>>().expect("addresses");
    let map = CatalogueMap::shipped(shape.name()).expect("a map");
    let map = CatalogueMap::parse(map).expect("a sound map");
    let options = CatalogueOptions::new("town", addresses);
    CatalogueDatabase::new(options, Arc::new(map)).expect("no certificates")
}

fn query(pqf: &str) -> RpnQuery {
    parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"))
}

fn operand(query: &RpnQuery) -> &AttributesPlusTerm {
    match &query.rpn {
        RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => operand,
        other => panic!("{other:?}"),
    }
}

/// A catalogue.
struct Town {
    database: CatalogueDatabase,
    names: [DatabaseName; 1],
}

impl Town {
    fn open(filled: &Filled, shape: SolrShape) -> Self {
        Self {
            database: opened(filled, shape),
            names: [DatabaseName::from("town")],
        }
    }

    async fn search(&self, pqf: &str) -> Result<Found, (i64, String)> {
        let query = query(pqf);
        let found = self.database.search(Search::new(&self.names, &query)).await;
        found.map_err(|why| (why.condition, why.addinfo.to_string_lossy().into_owned()))
    }

    /// Returns the identifiers of all records that a query finds.
    async fn ids(&self, pqf: &str) -> Result<Ids, (i64, String)> {
        let hits = self.search(pqf).await?.hits;
        let mut ids = Ids::new();
        for record in self.records(&hits, 0..hits.len()).await {
            let id = record.control_number().expect("an identifier");
            ids.insert(String::from_utf8_lossy(id).into_owned());
        }
        assert_eq!(ids.len(), hits.len(), "{pqf}: each record once");
        Ok(ids)
    }

    async fn records(&self, hits: &Hits, positions: Range<usize>) -> Vec<MarcRecord> {
        let composition = Composition::full(None);
        let ids = hits.ids(positions);
        if let Some(prepared) = self
            .database
            .prepare(RetrieveMany::new(hits, &ids, &composition))
        {
            prepared.await.expect("prepared");
        }
        let mut found = Vec::new();
        for id in ids {
            let retrieved = self
                .database
                .record(Retrieve::new(hits, id, &composition))
                .await;
            let record = retrieved.expect("retrieved").record.expect("a record");
            let octets = Bytes::copy_from_slice(record.octets());
            found.push(iso2709::parse(&octets).expect("sound").record);
        }
        found
    }

    /// Compares queries with what they should answer; returns those that differ, and the number of those that find records.
    async fn compare(&self, cases: &[(String, Outcome)]) -> (Vec<String>, usize) {
        let (mut wrong, mut finding) = (Vec::new(), 0);
        for (pqf, expected) in cases {
            let found = self.ids(pqf).await;
            finding += usize::from(found.as_ref().is_ok_and(|ids| !ids.is_empty()));
            match (&found, expected) {
                (Ok(ids), Ok(expected)) if ids == expected => {}
                (Err((condition, _)), Err(expected)) if condition == expected => {}
                _ => wrong.push(format!("{pqf}: {found:?} instead of {expected:?}")),
            }
        }
        (wrong, finding)
    }
}

/// Makes queries, and answers them by brute force.
struct Maker<'n> {
    naive: &'n Naive<'n>,
    random: Random,
}

impl Maker<'_> {
    fn phrase(&mut self) -> String {
        let count = self.random.below(3) + 1;
        let words: Vec<&str> = (0..count).map(|_| *self.random.pick(&WORDS)).collect();
        words.join(" ")
    }

    /// Returns a word as an index has it.
    fn token(&mut self, fields: &[&str]) -> String {
        let terms = fields
            .iter()
            .flat_map(|field| self.naive.terms(field).into_keys());
        let terms: Vec<String> = terms.collect();
        self.random.pick(&terms).clone()
    }

    /// Returns a single term.
    fn term(&mut self, access: &Access) -> (String, Outcome) {
        let Access {
            use_value,
            words,
            masks,
        } = access;
        let with =
            |attributes: &str, text: &str| format!("@attr 1={use_value} {attributes} {{{text}}}");
        match self.random.below(9) {
            0..=2 => {
                let text = self.phrase();
                (
                    with("@attr 4=1", &text),
                    Ok(self.naive.phrase(words, &text)),
                )
            }
            3 => {
                let text = self.phrase();
                (
                    with("@attr 4=6", &text),
                    Ok(self.naive.words(words, &text, true)),
                )
            }
            4 => {
                let text = self.phrase();
                (
                    with("@attr 4=106", &text),
                    Ok(self.naive.words(words, &text, false)),
                )
            }
            5 => (
                with("@attr 2=103", "x"),
                Ok(if *use_value == 1016 {
                    self.naive.all()
                } else {
                    self.naive.filled(words)
                }),
            ),
            _ => self.masked(access, masks),
        }
    }

    fn masked(&mut self, access: &Access, masks: &[&str]) -> (String, Outcome) {
        let token = self.token(masks);
        let characters: Vec<char> = token.chars().collect();
        let half = characters.len().div_ceil(2);
        let (begin, end): (String, String) = (
            characters[..half].iter().collect(),
            characters[half..].iter().collect(),
        );
        let (truncation, text, parts, found) = match self.random.below(4) {
            0 => {
                let found = self.naive.word(masks, |word| word.starts_with(&begin));
                (1, begin.clone(), vec![&begin], found)
            }
            1 if !end.is_empty() => {
                let found = self.naive.word(masks, |word| word.ends_with(&end));
                (2, end.clone(), vec![&end], found)
            }
            2 => {
                let found = self.naive.word(masks, |word| word.contains(&begin));
                (3, begin.clone(), vec![&begin], found)
            }
            _ => {
                let fits = |word: &str| {
                    let rest = word.strip_prefix(&*begin);
                    rest.is_some_and(|rest| rest.ends_with(&end))
                };
                let found = self.naive.word(masks, fits);
                (101, format!("{begin}#{end}"), vec![&begin, &end], found)
            }
        };
        let pqf = format!(
            "@attr 1={} @attr 5={truncation} {{{text}}}",
            access.use_value
        );
        // A text that the fields split is refused, since no word of theirs begins with it.
        let is_split = |part: &&String| {
            let mut masks = masks.iter();
            let splits = |field: &&str| self.naive.query_words(field, part).len() > 1;
            !part.chars().all(char::is_alphanumeric) || masks.any(splits)
        };
        if parts.iter().any(is_split) {
            (pqf, Err(Condition::TRUNCATION.0))
        } else {
            (pqf, Ok(found))
        }
    }

    fn proximity(&mut self, access: &Access) -> (String, Outcome) {
        let one = *self.random.pick(&WORDS);
        let other = *self.random.pick(&WORDS);
        let (most, ordered) = (self.random.below(6) + 1, self.random.below(2) == 0);
        let (use_value, number) = (access.use_value, i64::from(ordered));
        let term = |word| format!("@attr 1={use_value} {{{word}}}");
        let pqf = format!(
            "@prox 0 {most} {number} 2 k 2 {} {}",
            term(one),
            term(other)
        );
        let is_word = |word: &&str| {
            let is_single = |field: &&str| self.naive.query_words(field, word).len() == 1;
            word.chars().all(char::is_alphanumeric) && access.words.iter().all(is_single)
        };
        if ![one, other].iter().all(|word| is_word(word)) {
            return (pqf, Err(Condition::PROXIMITY.0));
        }
        let most = i64::try_from(most).expect("small");
        let found = self.naive.near(access.words, (one, other), most, ordered);
        (pqf, Ok(found))
    }

    /// Joins queries by operators.
    fn joined(&mut self, accesses: &[Access], levels: usize) -> (String, Outcome) {
        if levels == 0 {
            // What is refused is left out, since an operand that does not matter is not looked at.
            loop {
                let access = self.random.pick(accesses);
                let (pqf, found) = self.term(access);
                if found.is_ok() {
                    return (pqf, found);
                }
            }
        }
        let (left, right) = (self.random.below(levels), self.random.below(levels));
        let (one, found) = self.joined(accesses, left);
        let (other, others) = self.joined(accesses, right);
        let operator = *self.random.pick(&["@and", "@or", "@not"]);
        let found = found.and_then(|found| {
            let others = others?;
            Ok(match operator {
                "@and" => &found & &others,
                "@or" => &found | &others,
                _ => &found - &others,
            })
        });
        (format!("{operator} {one} {other}"), found)
    }
}

async fn queries_are_equal(shape: SolrShape, name: &str) {
    let Some(filled) = Filled::new(shape, name, 240) else {
        return;
    };
    let town = Town::open(&filled, shape);
    let missing = town.database.check().await.expect("a sound core");
    let mut maker = Maker {
        naive: &filled.naive,
        random: Random::new("queries of Solr"),
    };
    let mut cases = Vec::new();
    for access in accesses(shape) {
        cases.extend((0..60).map(|_| maker.term(access)));
        cases.extend((0..25).map(|_| maker.proximity(access)));
    }
    cases.extend((0..60).map(|_| maker.joined(accesses(shape), 5)));
    let (wrong, finding) = town.compare(&cases).await;
    assert!(
        wrong.is_empty(),
        "{} of {}: {wrong:#?} {missing:?}",
        wrong.len(),
        cases.len()
    );
    assert!(
        finding > cases.len() / 3,
        "{finding} of {} queries find records",
        cases.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_vufind_find_what_brute_force_does() {
    queries_are_equal(SolrShape::VuFind, "words").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_blacklight_find_what_brute_force_does() {
    queries_are_equal(SolrShape::Blacklight, "words").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_codes_and_years_are_found() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "numbers", 120) else {
        return;
    };
    let (town, naive) = (Town::open(&filled, shape), &filled.naive);
    let equal = |field: &'static str, wanted: &str| naive.value(&[field], |value| value == wanted);
    let mut cases: Vec<(String, Outcome)> = vec![
        ("@attr 1=12 id7".to_owned(), Ok(equal("id", "id7"))),
        ("@attr 1=12 ID7".to_owned(), Ok(Ids::new())),
        (
            "@attr 1=54 eng".to_owned(),
            Ok(equal("language", "English")),
        ),
        (
            "@attr 1=54 English".to_owned(),
            Ok(equal("language", "English")),
        ),
        (
            "@attr 1=54 @attr 2=6 eng".to_owned(),
            Ok(&naive.filled(&["language"]) - &equal("language", "English")),
        ),
        ("@attr 1=1031 Book".to_owned(), Ok(equal("format", "Book"))),
        (
            "@attr 1=1031 @attr 5=1 Bo".to_owned(),
            Ok(equal("format", "Book")),
        ),
        (
            "@attr 1=9 71000004".to_owned(),
            Ok(naive.value(&["lccn"], |value| value.contains("71000004"))),
        ),
        (
            "@attr 1=1003 @attr 6=3 {Müller, Herta, 1828-1910}".to_owned(),
            Ok(naive.value(&["author_facet"], |value| {
                value == "Müller, Herta, 1828-1910."
            })),
        ),
    ];
    let relations: [(i64, fn(&str) -> bool); 5] = [
        (1, |year| year < "1930"),
        (2, |year| year <= "1930"),
        (3, |year| year == "1930"),
        (4, |year| year >= "1930"),
        (5, |year| year > "1930"),
    ];
    for (relation, fits) in relations {
        let pqf = format!("@attr 1=31 @attr 2={relation} 1930");
        cases.push((pqf, Ok(naive.value(&["publishDate"], fits))));
    }
    for record in filled.records.iter().take(60) {
        let id = String::from_utf8_lossy(record.control_number().expect("one")).into_owned();
        let Some(number) = record.field("020").and_then(|field| field.text("a")) else {
            continue;
        };
        let digits = number.split(' ').next().expect("one");
        let isbn = z3950_marc::standard_number::Isbn::parse(digits).expect("sound");
        let (own, hyphens) = (
            Ids::from([id]),
            format!("{}-{}", &digits[..3], &digits[3..]),
        );
        let ten = isbn.ten().expect("of 978");
        for form in [digits, hyphens.as_str(), ten.as_str()] {
            cases.push((format!("@attr 1=7 {form}"), Ok(own.clone())));
        }
    }
    for number in ["QA7.3", "qa12.5"] {
        let folded = number.to_lowercase();
        let found = naive.word(&["callnumber-search"], |word| word.starts_with(&folded));
        cases.push((format!("@attr 1=16 @attr 5=1 {{{number}}}"), Ok(found)));
    }
    let (wrong, finding) = town.compare(&cases).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(finding > 100, "{finding}");
}

/// What the fields of an index cannot say is refused as by a database in memory that does not know it.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_said_is_refused() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "refused", 20) else {
        return;
    };
    let town = Town::open(&filled, shape);
    let cases = [
        ("@attr 1=63 war", Condition::USE),
        ("@attr 1=4 @attr 2=1 war", Condition::RELATION),
        ("@attr 1=4 @attr 2=100 war", Condition::RELATION),
        ("@attr 1=4 @attr 3=1 war", Condition::POSITION),
        ("@attr 1=4 @attr 6=3 war", Condition::COMPLETENESS),
        ("@attr 1=4 @attr 4=3 war", Condition::STRUCTURE),
        ("@attr 1=5 @attr 5=1 war", Condition::TRUNCATION),
        ("@attr 1=4 @attr 5=102 war", Condition::TRUNCATION),
        ("@attr 1=4 @attr 5=1 O'Nei", Condition::TRUNCATION),
        (
            "@prox 0 3 1 3 k 2 @attr 1=4 war @attr 1=4 peace",
            Condition::PROXIMITY_RELATION,
        ),
        (
            "@prox 0 300 1 2 k 2 @attr 1=4 war @attr 1=4 peace",
            Condition::PROXIMITY_DISTANCE,
        ),
        (
            "@prox 0 3 1 2 k 2 @attr 1=4 the @attr 1=4 peace",
            Condition::PROXIMITY,
        ),
    ];
    let cases: Vec<_> = { cases.iter() }
        .map(|(pqf, condition)| ((*pqf).to_owned(), Err(condition.0)))
        .collect();
    let (wrong, _) = town.compare(&cases).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Terms with what Solr's parsers read as operators, fields, macros and other parsers.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_terms_are_text() {
    const HOSTILE: [&str; 26] = [
        "{!lucene}*:*",
        "_query_:\"*:*\"",
        "/.*/",
        "title_full:war",
        "war OR peace",
        "war AND NOT peace",
        "*:* -war",
        "${q}",
        "${fl} war",
        "$z0",
        "war\\",
        "\\u002a",
        "\"war",
        "'war'",
        "[* TO *]",
        "{* TO z}",
        "war~5",
        "war^100",
        "war)",
        "(war",
        "&fq=id:id1",
        "war\r\nX: y",
        "\u{1e}war",
        "\u{1f}war\u{1f}",
        "war \u{ffff} 𝔴𝔞𝔯",
        "<war/>",
    ];
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "hostile", 60) else {
        return;
    };
    let town = Town::open(&filled, shape);
    let mut wrong = Vec::new();
    for text in HOSTILE {
        for (use_value, fields) in [(4, &OF_VUFIND[0].words), (1016, &OF_VUFIND[3].words)] {
            for structure in [1, 6] {
                let mut asked = query(&format!("@attr 1={use_value} @attr 4={structure} x"));
                if let RpnStructure::Op(Operand::AttributesPlusTerm(operand)) = &mut asked.rpn {
                    operand.term = Term::General(text.as_bytes().to_vec().into());
                }
                let found = town.database.search(Search::new(&town.names, &asked)).await;
                let found = found.map(|found| found.hits.len());
                let expected = match structure {
                    1 => filled.naive.phrase(fields, text),
                    _ => filled.naive.words(fields, text, true),
                };
                let is_equal = match &found {
                    Ok(count) => *count == expected.len(),
                    // Terms without letters.
                    Err(why) => why.condition == Condition::MALFORMED_TERM.0 && expected.is_empty(),
                };
                if !is_equal {
                    wrong.push(format!("{text:?} {structure} {found:?} {}", expected.len()));
                }
            }
        }
        // Keys, identifiers and masks, which none of the records has.
        for attributes in [
            "1=12",
            "1=7",
            "1=1031",
            "1=54",
            "1=9",
            "1=52",
            "1=16",
            "1=4 @attr 5=1",
            "1=1031 @attr 5=1",
        ] {
            let mut asked = query(&format!("@attr {attributes} x"));
            if let RpnStructure::Op(Operand::AttributesPlusTerm(operand)) = &mut asked.rpn {
                operand.term = Term::General(text.as_bytes().to_vec().into());
            }
            let found = town.database.search(Search::new(&town.names, &asked)).await;
            let is_text = match &found {
                Ok(found) => found.hits.is_empty() || attributes == "1=4 @attr 5=1",
                Err(why) => why.condition != Condition::DATABASE_UNAVAILABLE.0,
            };
            if !is_text || found.as_ref().is_ok_and(|found| found.hits.len() == 60) {
                wrong.push(format!("{attributes} {text:?}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn by_index(name: &str, is_descending: bool) -> SortKeySpec {
    SortKeySpec {
        sort_element: SortElement::Generic(SortKey::SortField(name.into())),
        sort_relation: if is_descending {
            SortRelation::DESCENDING
        } else {
            SortRelation::ASCENDING
        },
        case_sensitivity: CaseSensitivity::CASE_SENSITIVE,
        missing_value_action: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_sorted_and_paged() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "sorted", 150) else {
        return;
    };
    let town = Town::open(&filled, shape);
    let hits = town
        .search("@attr 1=1016 @attr 2=103 x")
        .await
        .expect("all")
        .hits;
    for (name, field) in [
        ("title", "title_sort"),
        ("author", "author_sort"),
        ("date", "publishDateSort"),
    ] {
        for is_descending in [false, true] {
            let keys = [by_index(name, is_descending)];
            let inputs = [hits.clone()];
            let sorted = town
                .database
                .sort(Sort::new(&inputs, &keys))
                .await
                .expect("sorted");
            let mut found = Vec::new();
            for start in (0..150).step_by(40) {
                let page = start..(start + 40).min(150);
                for record in town.records(&sorted, page).await {
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
                // Records without a value are at the end in both directions.
                one.is_none().cmp(&other.is_none()).then(by_value)
            });
            assert_eq!(found, expected, "{name} {is_descending}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scans_and_facets_count_what_brute_force_does() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "counted", 150) else {
        return;
    };
    let town = Town::open(&filled, shape);
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
            let mut scan = Scan::new(&town.names, asked.attribute_set, operand(&asked));
            (scan.before, scan.after) = (before, after);
            let scanned = town.database.scan(scan).await.expect("scanned");
            let shown = |terms: &[z3950_server::backend::ScanTerm]| {
                let terms = terms.iter().map(|term| match &term.term {
                    Term::General(octets) => (
                        String::from_utf8_lossy(octets.as_ref()).into_owned(),
                        term.records.unwrap_or(0),
                    ),
                    other => panic!("{other:?}"),
                });
                terms.collect::<Vec<_>>()
            };
            // A final point is no part of a value.
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
    let mut search = Search::new(&town.names, &asked);
    search.facets = &facets;
    (search.term_counts, search.term_counts_asked) = (true, true);
    let found = town.database.search(search).await.expect("found");
    let ids = filled.naive.phrase(OF_VUFIND[0].words, "war");
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
        let town = Town::open(&filled, shape);
        let hits = town
            .search("@attr 1=1016 @attr 2=103 x")
            .await
            .expect("all")
            .hits;
        let found = town.records(&hits, 0..40).await;
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
