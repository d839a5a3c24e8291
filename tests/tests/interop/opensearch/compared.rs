//! Compares the index with the memory backend, query by query: random combinations of all attributes, operators, all kinds of
//! proximity, sorts, scans in both directions, facets and counts. The records are artificial and contain only a few different
//! words, so that queries find many of them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use bytes::Bytes;
use z3950_asn1::apdu::{
    CaseSensitivity, MissingValueAction, RpnQuery, RpnStructure, SortElement, SortKey, SortRelation,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::opensearch::ClusterDatabase;
use z3950_marc::{MarcRecord, iso2709, mrk};
use z3950_server::MemoryBackend;
use z3950_server::backend::{
    AttributeList, AttributesPlusTerm, Backend, Composition, DatabaseName, Diagnostic,
    FacetRequest, Found, Hits, Operand, Retrieve, RetrieveMany, Scan, ScanTerm, Search, Sort,
    SortKeySpec, Term,
};
use z3950_server::memory::index_map::each_word;
use z3950_tests::opensearch::Cluster;
use z3950_tests::random::Random;

use super::Home;
use super::served::opened;

/// The words used in titles, subjects and notes.
const WORDS: [&str; 22] = [
    "war",
    "peace",
    "and",
    "the",
    "history",
    "of",
    "warfare",
    "world",
    "worlds",
    "soldier",
    "good",
    "art",
    "müller",
    "война",
    "мир",
    "naïve",
    "color",
    "colour",
    "letters",
    "o'neill",
    "c++",
    "x",
];
const NAMES: [&str; 6] = [
    "Tolstoy, Leo",
    "Wells, H. G.",
    "Hašek, Jaroslav",
    "Müller, Herta",
    "Толстой, Лев",
    "War, Peace",
];

/// Returns artificial records, some of which lack some fields.
fn records(number: usize) -> Vec<MarcRecord> {
    let mut random = Random::new("compared records");
    let mut text = String::new();
    for at in 0..number {
        let words = |random: &mut Random, most: usize| {
            let count = random.below(most) + 1;
            let words: Vec<&str> = (0..count).map(|_| *random.pick(&WORDS)).collect();
            words.join(" ")
        };
        let (title, rest) = (words(&mut random, 4), words(&mut random, 3));
        let year = 1900 + random.below(60);
        let language = random.pick(&["eng", "rus", "ger"]);
        let (leader, article) = ("00000nam a2200000 a 4500", random.below(3));
        let _ = write!(
            text,
            "=LDR  {leader}\n=001  id{at}\n\
             =008  990101s{year}\\\\\\\\xx\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\000\\0\\{language}\\\\\n\
             =245  1{article}$a{title} :$b{rest} {at}\n"
        );
        if random.below(4) > 0 {
            let _ = writeln!(text, "=020  \\\\$a978{at:09}X");
        }
        if random.below(5) > 0 {
            let _ = writeln!(text, "=035  \\\\$a(X-{}){at}", random.below(5));
        }
        if random.below(6) > 0 {
            let _ = writeln!(text, "=100  1\\$a{}", random.pick(&NAMES));
        }
        for _ in 0..random.below(3) {
            let (topic, part) = (words(&mut random, 3), words(&mut random, 2));
            let _ = writeln!(text, "=650  \\0$a{topic}$x{part}");
        }
        if random.below(3) == 0 {
            let _ = writeln!(text, "=500  \\\\$a{}", words(&mut random, 40));
        }
        text.push('\n');
    }
    mrk::parse_all(&text).expect("records")
}

/// An index and the memory backend with the same records.
struct Both {
    engine: ClusterDatabase,
    memory: MemoryBackend,
    names: [DatabaseName; 1],
}

/// The answer of a backend, or the condition and text of its diagnostic.
type Outcome<T> = Result<T, (i64, String)>;

fn outcome<T>(answer: Result<T, Diagnostic>) -> Outcome<T> {
    answer.map_err(|why| (why.condition, why.addinfo.to_string_lossy().into_owned()))
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

impl Both {
    /// Loads records into an index and into the memory backend. Both have the records in the order of the index.
    async fn load(home: &Home<'_>, records: &[MarcRecord]) -> Self {
        let octets = { records.iter() }.flat_map(|record| iso2709::encode(record).expect("fits"));
        std::fs::write(home.file("all.mrc"), octets.collect::<Vec<u8>>()).expect("written");
        super::assert_ran(&home.run(&["load", "all.mrc"]), 0, &[]);
        let engine = opened(home, false);
        let names = [DatabaseName::from("books")];
        let all = query("@attr 1=1016 @attr 2=103 x");
        let found = engine.search(Search::new(&names, &all)).await;
        let hits = found.expect("all records").hits;
        assert_eq!(hits.len(), records.len());
        let ordered = retrieved(&engine, &hits, 0..hits.len()).await;
        let ids = records.iter().map(|record| record.control_number());
        let by_id: HashMap<_, _> = ids.zip(records).collect();
        let ordered = ordered.iter().map(|id| by_id[&Some(id.as_bytes())].clone());
        let memory = MemoryBackend::builder().add_records("books", ordered);
        Self {
            engine,
            memory: memory.expect("records").build(),
            names,
        }
    }

    fn each(&self) -> [&dyn Backend; 2] {
        [&self.engine, &self.memory]
    }

    async fn found(&self, pqf: &str) -> [Outcome<Found>; 2] {
        let query = query(pqf);
        let [engine, memory] = self.each();
        let search = Search::new(&self.names, &query);
        let (one, other) = tokio::join!(engine.search(search.clone()), memory.search(search));
        [outcome(one), outcome(other)]
    }

    /// Compares the answers to queries. Returns descriptions of the queries whose answers differ, and the number of queries that
    /// find records.
    async fn compare(&self, queries: &[String]) -> (Vec<String>, usize) {
        let (mut wrong, mut finding) = (Vec::new(), 0);
        for query in queries {
            let [one, other] = self.found(query).await;
            let counts = [&one, &other].map(|found| {
                let count = found.as_ref().map(|found| found.hits.len());
                count.map_err(Clone::clone)
            });
            if counts[0] != counts[1] {
                wrong.push(format!("{query}: {counts:?}"));
                continue;
            }
            let (Ok(one), Ok(other)) = (one, other) else {
                continue;
            };
            finding += usize::from(!one.hits.is_empty());
            // Equal numbers of hits are usually sufficient evidence, so the records are compared only sometimes.
            if finding % 10 == 0 {
                let ids = [
                    retrieved(&self.engine, &one.hits, 0..30).await,
                    retrieved(&self.memory, &other.hits, 0..30).await,
                ];
                if ids[0] != ids[1] {
                    wrong.push(format!("{query}: {ids:?}"));
                }
            }
        }
        (wrong, finding)
    }
}

/// Returns the identifiers of the records at these positions.
async fn retrieved(backend: &dyn Backend, hits: &Hits, positions: Range<usize>) -> Vec<String> {
    let composition = Composition::full(None);
    let ids = hits.ids(positions);
    let wanted = RetrieveMany::new(hits, &ids, &composition);
    if let Some(prepared) = backend.prepare(wanted) {
        prepared.await.expect("prepared");
    }
    let mut found = Vec::new();
    for id in ids {
        let retrieved = backend.record(Retrieve::new(hits, id, &composition)).await;
        let record = retrieved.expect("retrieved").record.expect("a record");
        let octets = Bytes::copy_from_slice(record.octets());
        let parsed = iso2709::parse(&octets).expect("valid").record;
        let number = parsed.control_number().expect("an identifier");
        found.push(String::from_utf8_lossy(number).into_owned());
    }
    found
}

/// Returns queries with random combinations of attributes. Each attribute type occurs in about half of the queries.
fn combinations(random: &mut Random, number: usize) -> Vec<String> {
    const USES: [i64; 13] = [4, 1003, 1016, 21, 7, 31, 54, 52, 1032, 63, 5, 30, 1018];
    const VALUES: [(i64, &[i64]); 5] = [
        (2, &[1, 2, 3, 4, 5, 6, 103]),
        (3, &[1, 2, 3]),
        (
            4,
            &[
                1, 2, 3, 4, 5, 6, 100, 101, 102, 104, 105, 106, 107, 108, 109,
            ],
        ),
        (5, &[1, 2, 3, 100, 101, 102, 104]),
        (6, &[1, 2, 3]),
    ];
    const TERMS: [&str; 23] = [
        "war",
        "war peace",
        "the war",
        "wa",
        "мир",
        "naïve",
        "o'neill",
        "c++",
        "tolstoy leo",
        "1912",
        "9780000000017X",
        "978",
        "eng",
        "(X-1)12",
        "id7",
        "id",
        "w#r",
        "col?1r",
        "w.*",
        "art#",
        "war( and)? .*",
        "zzz",
        "*",
    ];
    let combination = |_| {
        let mut query = format!("@attr 1={}", random.pick(&USES));
        for (attribute_type, values) in VALUES {
            if random.below(2) == 0 {
                let _ = write!(query, " @attr {attribute_type}={}", random.pick(values));
            }
        }
        let _ = write!(query, " {{{}}}", random.pick(&TERMS));
        query
    };
    (0..number).map(combination).collect()
}

/// Returns a random word, phrase or truncated word for a search in titles.
fn term(random: &mut Random) -> String {
    let word = *random.pick(&WORDS[..6]);
    match random.below(6) {
        0 => format!(
            "@attr 1=4 @attr 4=1 {{{word} {}}}",
            random.pick(&WORDS[..4])
        ),
        1 => "@attr 1=4 @attr 5=1 wa".to_owned(),
        2 => format!("@attr 1=4 @attr 3={} {word}", random.below(2) + 1),
        _ => format!("@attr 1=4 {word}"),
    }
}

/// Returns a random proximity query whose operands may be proximity queries too. It contains at most as many phrases as an engine
/// supports.
fn proximity(random: &mut Random, is_outer: bool) -> String {
    let side = |random: &mut Random| match random.below(4) {
        0 if is_outer => proximity(random, false),
        _ => term(random),
    };
    let (left, right) = (side(random), side(random));
    let exclusion = usize::from(is_outer && random.below(6) == 0);
    let (distance, ordered, relation) = (random.below(6), random.below(2), random.below(3) + 1);
    format!("@prox {exclusion} {distance} {ordered} {relation} k 2 {left} {right}")
}

/// Returns random terms combined with operators.
fn joined(random: &mut Random, levels: usize) -> String {
    if levels == 0 {
        return term(random);
    }
    let operator = *random.pick(&["@and", "@or", "@not"]);
    let (left, right) = (random.below(levels), random.below(levels));
    let (left, right) = (joined(random, left), joined(random, right));
    format!("{operator} {left} {right}")
}

fn scanned_terms(terms: &[ScanTerm]) -> Vec<(&Term, Option<usize>)> {
    terms
        .iter()
        .map(|term| (&term.term, term.records))
        .collect()
}

/// Scans around random starts in both directions, also within a result set and with a step size. Returns descriptions of the
/// scans whose answers differ.
async fn compare_scans(both: &Both, number: usize) -> Vec<String> {
    const STARTS: [&str; 12] = [
        "war",
        "a",
        "zz",
        "history of",
        "the war",
        "1912",
        "9780",
        "eng",
        "мир",
        "x",
        "tolstoy leo",
        "\"\"",
    ];
    const INDEXES: [i64; 7] = [4, 1016, 1003, 21, 7, 30, 54];
    let mut random = Random::new("scans");
    let sets = both.found("@attr 1=4 war").await;
    let sets = sets.map(|found| found.expect("found").hits);
    let mut wrong = Vec::new();
    for _ in 0..number {
        let (index, structure) = (random.pick(&INDEXES), random.below(3) + 1);
        let start = random.pick(&STARTS);
        let start = if start.starts_with('"') {
            (*start).to_owned()
        } else {
            format!("{{{start}}}")
        };
        let pqf = format!("@attr 1={index} @attr 4={structure} {start}");
        let query = query(&pqf);
        let (before, after, step) = (random.below(7), random.below(9), random.below(3));
        let is_within = random.below(3) == 0;
        let mut shown = Vec::new();
        for (backend, set) in both.each().into_iter().zip(&sets) {
            let mut scan = Scan::new(&both.names, query.attribute_set, operand(&query));
            (scan.before, scan.after, scan.step) = (before, after, step);
            scan.within = is_within.then_some(set);
            let scanned = outcome(backend.scan(scan).await).map(|scanned| {
                let sides = [&scanned.before, &scanned.after].map(|side| scanned_terms(side));
                format!("{sides:?} {}", scanned.exact)
            });
            shown.push(scanned);
        }
        if shown[0] != shown[1] {
            wrong.push(format!(
                "{pqf} {before} {after} {step} {is_within}: {shown:#?}"
            ));
        }
    }
    wrong
}

/// Sorts by each index in each direction, with each treatment of case and of missing values, and then by title. Returns
/// descriptions of the sorts whose results differ.
async fn compare_sorts(both: &Both) -> Vec<String> {
    let key = |name: &str, is_descending: bool, with_case: bool, missing| SortKeySpec {
        sort_element: SortElement::Generic(SortKey::SortField(name.into())),
        sort_relation: if is_descending {
            SortRelation::DESCENDING
        } else {
            SortRelation::ASCENDING
        },
        case_sensitivity: if with_case {
            CaseSensitivity::CASE_SENSITIVE
        } else {
            CaseSensitivity::CASE_INSENSITIVE
        },
        missing_value_action: missing,
    };
    let actions = [
        None,
        Some(MissingValueAction::Null),
        Some(MissingValueAction::MissingValueData(
            Bytes::from_static(b"Mm").into(),
        )),
        Some(MissingValueAction::Abort),
    ];
    let sets = both.found("@or @attr 1=4 war @attr 1=1003 tolstoy").await;
    let sets = sets.map(|found| found.expect("found").hits);
    let mut wrong = Vec::new();
    for name in ["author", "date", "publisher", "title", "subject"] {
        for action in &actions {
            for (is_descending, with_case) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let keys = [
                    key(name, is_descending, with_case, action.clone()),
                    key("title", false, false, None),
                ];
                let mut orders = Vec::new();
                for (backend, set) in both.each().into_iter().zip(&sets) {
                    let inputs = std::slice::from_ref(set);
                    orders.push(
                        match outcome(backend.sort(Sort::new(inputs, &keys)).await) {
                            Ok(hits) => Ok(retrieved(backend, &hits, 0..hits.len()).await),
                            Err(why) => Err(why),
                        },
                    );
                }
                // The index cannot sort by subject, so this sort is refused.
                let is_refused = name == "subject";
                let expected = Condition::SORT_SEQUENCE.0;
                let is_expected =
                    matches!(&orders[0], Err((condition, _)) if *condition == expected);
                if if is_refused {
                    !is_expected
                } else {
                    orders[0] != orders[1]
                } {
                    wrong.push(format!(
                        "{name} {action:?} {is_descending} {with_case}: {orders:?}"
                    ));
                }
            }
        }
    }
    wrong
}

/// Returns the term counts and the facets from each backend. Terms are reduced to their folded words, so that those of both
/// backends can be compared.
async fn counted(both: &Both) -> Vec<(Vec<usize>, Vec<Vec<(String, usize)>>)> {
    let query = query("@and @attr 1=4 war @attr 1=4 peace");
    let fields = ["1003", "21", "30", "54"].map(|field| {
        let of_field = parse_pqf(&format!("@attr 1={field} x")).expect("a field");
        AttributeList(operand(&of_field).attributes.clone())
    });
    let requests = fields
        .into_iter()
        .enumerate()
        .map(|(place, field)| FacetRequest::new(field, place, 10, place % 2 == 1));
    let requests: Vec<_> = requests.collect();
    let folded = |term: &Term| {
        let Term::General(octets) = term else {
            panic!("{term:?}");
        };
        let mut words = Vec::new();
        let text = String::from_utf8_lossy(octets.as_ref()).into_owned();
        each_word(&text, &mut String::new(), |word| {
            words.push(word.to_owned())
        });
        words.join(" ")
    };
    let mut counted = Vec::new();
    for backend in both.each() {
        let mut search = Search::new(&both.names, &query);
        (search.term_counts, search.term_counts_asked) = (true, true);
        search.facets = &requests;
        let found = backend.search(search).await.expect("found");
        let facets = found.facets.iter().map(|facet| {
            let terms = facet.terms.iter();
            terms
                .map(|(term, records)| (folded(term), *records))
                .collect()
        });
        let counts = found.term_counts.iter().map(|count| count.records);
        counted.push((counts.collect(), facets.collect()));
    }
    counted
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_scans_and_sorts_answer_as_in_memory() {
    if let Some(cluster) = Cluster::shared() {
        compare(cluster, 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_r_l1_a_later_version_answers_as_in_memory() {
    if let Some(cluster) = Cluster::of_three() {
        compare(cluster, 4).await;
    }
}

/// Compares all features, with a fraction of the records and queries.
async fn compare(cluster: &Cluster, part: usize) {
    let home = Home::new(cluster, "compared");
    let both = Both::load(&home, &records(1_500 / part)).await;
    let mut random = Random::new("compared queries");
    let mut queries = combinations(&mut random, 2_000 / part);
    queries.extend((0..500 / part).map(|_| proximity(&mut random, true)));
    queries.extend((0..200 / part).map(|_| joined(&mut random, 6)));
    let (wrong, finding) = both.compare(&queries).await;
    let scans = 300 / part;
    println!(
        "{} queries, {finding} of which find records, and {scans} scans",
        queries.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(finding > 500 / part, "{finding} queries find records");
    let wrong = compare_scans(&both, scans).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    let wrong = compare_sorts(&both).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    let counted = counted(&both).await;
    assert_eq!(counted[0], counted[1]);
}

/// Records at high positions are retrieved by their numbers in the index.
#[tokio::test(flavor = "multi_thread")]
async fn records_are_presented_at_any_position() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "deep");
    let texts = (0..25_000)
        .map(|at| format!("=LDR  00000nam a2200000 a 4500\n=001  id{at}\n=245  10$awar {at}\n\n"));
    let records = mrk::parse_all(&texts.collect::<String>()).expect("records");
    let both = Both::load(&home, &records).await;
    let sets = both.found("@attr 1=4 war").await;
    let [one, other] = sets.map(|found| found.expect("found").hits);
    for start in [0, 95, 9_995, 10_000, 12_345, 24_990] {
        let positions = start..start + 10;
        let ids = [
            retrieved(&both.engine, &one, positions.clone()).await,
            retrieved(&both.memory, &other, positions).await,
        ];
        assert_eq!(ids[0], ids[1], "{start}");
    }
}
