//! Tests of `z3950d` in front of real Solr nodes, with collections that have the fields of VuFind or Blacklight.

mod alone;
mod catalogue;
mod changed;
mod clients;
mod compared;
mod home;
mod lists;
mod lost;
mod naive;
pub(in crate::interop) mod served;
mod sites;
mod values;

use std::fmt::Write as _;

use z3950_marc::{MarcRecord, mrk};
use z3950_tests::random::Random;
use z3950_tests::solr::{RecordForm, SolrNodes, SolrShape, blacklight_document, vufind_document};

use self::naive::Naive;

/// The words used in titles, subjects and notes.
const WORDS: [&str; 26] = [
    "War",
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
    "Libraries",
    "library",
    "Müller",
    "война",
    "мир",
    "naïve",
    "colour",
    "letters",
    "O'Neill",
    "C++",
    "PowerShot",
    "17th",
    "U.S.A.",
    "x",
    "re-entry",
];
const NAMES: [&str; 6] = [
    "Tolstoy, Leo,",
    "Wells, H. G.",
    "Hašek, Jaroslav.",
    "Müller, Herta,",
    "Толстой, Лев,",
    "War, Peace.",
];

/// Returns artificial records that contain only a few different words, so that queries find many of them. Some records lack some
/// fields.
fn records(number: usize) -> Vec<MarcRecord> {
    let mut random = Random::new("records in Solr");
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
        let _ = write!(
            text,
            "=LDR  00000n{}a a2200000 a 4500\n=001  id{at}\n\
             =008  990101s{year}\\\\\\\\xx\\\\\\\\\\\\\\\\\\\\\\\\000\\0\\{language}\\\\\n\
             =245  10$a{title} :$b{rest} /$c{}\n",
            random.pick(&["a", "j"]),
            random.pick(&NAMES),
        );
        if random.below(4) > 0 {
            let number = format!("978{:09}", 100_000 + at);
            let check = z3950_marc::standard_number::Isbn::check_digit_of(&format!("{number}0"));
            let _ = writeln!(
                text,
                "=020  \\\\$a{number}{} (pbk.)",
                check.expect("digits")
            );
        }
        if random.below(4) == 0 {
            let _ = writeln!(text, "=010  \\\\$a   {:08} ", 71_000_000 + at);
        }
        if random.below(6) > 0 {
            let _ = writeln!(text, "=100  1\\$a{}$d1828-1910.", random.pick(&NAMES));
        }
        if random.below(4) == 0 {
            let _ = writeln!(text, "=700  1\\$a{}", random.pick(&NAMES));
        }
        if random.below(5) > 0 {
            let place = random.pick(&["London", "Москва", "Berlin"]);
            let _ = writeln!(
                text,
                "=260  \\\\$a{place} :$b{},$c{year}.",
                words(&mut random, 2)
            );
        }
        if random.below(3) > 0 {
            let number = random.below(30);
            let _ = writeln!(text, "=050  00$aQA{number}.{}$b.W{at}", random.below(9));
            let _ = writeln!(text, "=082  00$a5{number:02}.1/{}", random.below(9));
        }
        for _ in 0..random.below(3) {
            let (topic, part) = (words(&mut random, 3), words(&mut random, 2));
            let _ = writeln!(text, "=650  \\0$a{topic}$x{part}.");
        }
        if random.below(3) == 0 {
            let _ = writeln!(text, "=500  \\\\$a{}", words(&mut random, 40));
        }
        text.push('\n');
    }
    mrk::parse_all(&text).expect("records")
}

/// A collection with artificial records that no other test uses.
struct Filled {
    nodes: &'static SolrNodes,
    collection: String,
    naive: Naive<'static>,
    records: Vec<MarcRecord>,
}

impl Filled {
    /// Creates and fills a collection, or returns `None` if Solr is not available.
    fn new(shape: SolrShape, name: &str, number: usize) -> Option<Self> {
        let nodes = SolrNodes::shared()?;
        let collection = nodes.create(shape, name);
        let records = records(number);
        let forms = RecordForm::ALL.iter().cycle();
        let documents: Vec<_> = records
            .iter()
            .zip(forms)
            .map(|(record, form)| match shape {
                SolrShape::VuFind => vufind_document(record, *form),
                SolrShape::Blacklight => blacklight_document(record),
            })
            .collect();
        Some(Self::with(nodes, shape, collection, records, &documents))
    }

    /// Creates and fills a collection like [`Self::new`], with VuFind's fields. Its records have these titles, and the
    /// identifiers `t0` and so on.
    fn of_titles(name: &str, titles: &[&str]) -> Option<Self> {
        let nodes = SolrNodes::shared()?;
        let shape = SolrShape::VuFind;
        let collection = nodes.create(shape, name);
        let texts = titles.iter().enumerate().map(|(at, title)| {
            format!("=LDR  00000nam a2200000 a 4500\n=001  t{at}\n=245  10$a{title}\n\n")
        });
        let records = mrk::parse_all(&texts.collect::<String>()).expect("records");
        let documents = records.iter();
        let documents = documents.map(|record| vufind_document(record, RecordForm::Xml));
        let documents: Vec<_> = documents.collect();
        Some(Self::with(nodes, shape, collection, records, &documents))
    }

    fn with(
        nodes: &'static SolrNodes,
        shape: SolrShape,
        collection: String,
        records: Vec<MarcRecord>,
        documents: &[serde_json::Value],
    ) -> Self {
        nodes.load(&collection, documents);
        let naive = Naive::new(nodes, shape, &collection, documents);
        Self {
            nodes,
            collection,
            naive,
            records,
        }
    }
}

#[test]
fn the_nodes_answer_as_the_words_of_values_say() {
    for (shape, field) in [
        (SolrShape::VuFind, "title_full"),
        (SolrShape::Blacklight, "title_tsim"),
    ] {
        let Some(filled) = Filled::new(shape, "itself", 100) else {
            return;
        };
        for (phrase, at_least) in [
            ("libraries", 5),
            ("war and peace", 0),
            ("O'NEILL", 5),
            ("naive", 5),
        ] {
            let body = serde_json::json!({
                "query": { "lucene": { "query": format!("{{!field f={field} v=$t}}") } },
                "params": { "t": phrase },
            });
            let path = format!("/solr/{}/select?fl=id&rows=1000", filled.collection);
            let (status, answer) = filled.nodes.ask("POST", &path, &body.to_string());
            assert_eq!(status, 200, "{answer}");
            let found = filled.naive.phrase(&[field], phrase);
            assert_eq!(answer["response"]["numFound"], found.len(), "{phrase}");
            assert!(found.len() >= at_least, "{phrase} {found:?}");
        }
        assert_eq!(filled.naive.all().len(), filled.records.len());
    }
}

#[test]
fn a_node_is_stopped_and_started() {
    let Some(mut nodes) = SolrNodes::to_damage() else {
        return;
    };
    let collection = nodes.create(SolrShape::VuFind, "stopped");
    let documents: Vec<_> = records(10)
        .iter()
        .map(|one| vufind_document(one, RecordForm::Xml))
        .collect();
    nodes.load(&collection, &documents);
    let path = format!("/solr/{collection}/select?q=*:*&rows=0");
    nodes.stop_node(1);
    assert_eq!(nodes.ask("GET", &path, "").0, 503);
    nodes.start_node(1);
    nodes.wait_for_documents(&collection, 10);
}
