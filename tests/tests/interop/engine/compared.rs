//! Compares the number of hits of 400 queries in the engine, in memory and, apart from explained differences, in Zebra. The
//! records are made-up ones, and 20,000 generated ones.

use z3950_marc::{MarcRecord, iso2709};
use z3950_tests::random::Random;
use z3950_tests::{catalogue, peer};

use super::made_up::{Terms, number, queries, queries_of, records};
use super::{
    Served, assert_same, found, found_without_each_node, octets, served, sru, stand_in_order,
    yaz_client, zoomsh,
};

/// Checks that the queries have the same number of hits in the engine as in memory and, apart from explained differences, in
/// Zebra.
fn assert_compared(
    served: &Served,
    records: &[MarcRecord],
    queries: &[String],
    explained: &[(&str, &str)],
) {
    assert_same(&served.daemon, queries);
    let engine = found(&served.place("books"), queries);
    let Some(zebra) = peer::zebrasrv(&octets(records)) else {
        return;
    };
    let zebra = found(&format!("127.0.0.1:{}/Default", zebra.port), queries);
    let mut other = Vec::new();
    for (query, (engine, zebra)) in queries.iter().zip(engine.iter().zip(&zebra)) {
        if engine != zebra && !explained.iter().any(|(part, _)| query.contains(part)) {
            other.push(format!("{query}: {engine}, in Zebra {zebra}"));
        }
    }
    assert!(other.is_empty(), "{other:#?}");
}

/// The reasons why Zebra, with its rules for MARC 21, has other numbers of hits for queries that contain a given part.
const EXPLAINED: [(&str, &str); 4] = [
    ("@attr 2=6", "it has no relation 6"),
    ("@attr 3=1", "it takes each subfield for a field"),
    ("@attr 4=1 ", "its phrases end with their subfields"),
    (
        "@prox",
        "it measures within subfields, and a word is near itself",
    ),
];

/// The additional reasons for realistic records, with notes and dates in several fields.
const EXPLAINED_GENERATED: [(&str, &str); 3] = [
    ("@attr 1=1016", "it leaves out notes"),
    ("@attr 1=31", "it has the date of 008 alone, as a text"),
    (" Bor", "its titles have the words before those of 246"),
];

#[test]
fn queries_find_what_they_find_in_memory_and_in_zebra() {
    let number = number();
    let records = records(number);
    if let Some(served) = served(&records, "") {
        assert_compared(&served, &records, &queries(number), &EXPLAINED);
    }
}

/// Returns terms of random records.
fn terms_of(records: &[MarcRecord], random: &mut Random) -> Terms {
    loop {
        let record = random.pick(records);
        let text = |tag: &[u8; 3]| {
            let field = record.fields_by_tag(tag).next();
            let text = field.and_then(|field| field.subfield("a"));
            String::from_utf8_lossy(text.expect("a field")).into_owned()
        };
        let title = text(b"245");
        let words: Vec<&str> = title
            .split_whitespace()
            .filter(|word| word.chars().count() > 2)
            .collect();
        let name = text(b"100");
        let (Some([one, two]), Some((name, _))) = (words.first_chunk(), name.split_once(','))
        else {
            continue;
        };
        let id = record.control_number().expect("an identifier");
        return Terms {
            one: (*one).to_owned(),
            two: (*two).to_owned(),
            name: name.to_owned(),
            id: String::from_utf8_lossy(id).into_owned(),
            isbn: text(b"020"),
        };
    }
}

#[test]
fn a_generated_catalogue_is_compared_searched_and_served_without_a_node() {
    let Some(generated) = catalogue::generated(20_000) else {
        return;
    };
    let records = generated.iter().map(iso2709::parse);
    let records: Vec<MarcRecord> = records
        .map(|parsed| parsed.expect("sound").record)
        .collect();
    let Some(mut served) = served(&records, "") else {
        return;
    };
    let mut random = Random::new("generated");
    let ids: Vec<String> = (1..=40).map(|id| format!("rec{id:07}")).collect();
    let queries = queries_of(&ids, || terms_of(&records, &mut random));
    let explained = [&EXPLAINED[..], &EXPLAINED_GENERATED].concat();
    assert_compared(&served, &records, &queries, &explained);
    // The conversation is the same as with the records in memory, which also counts terms that the client does not request.
    let Terms { one, name, id, .. } = terms_of(&records, &mut random);
    let commands = format!(
        "ssub 1\nlslb 2\nfind @attr 1=1032 {id}\nssub 0\nlslb 1\nfind @attr 1=4 {one}\nsort 1=4 <\n\
         format usmarc\nshow 1+3\nformat xml\nshow 2\nformat sutrs\nshow 3\nscan @attr 1=4 {one}\n\
         find @and @set 2 @attr 1=1003 {name}\ndelete 2\nclose\n"
    );
    let [books, memory] = ["books", "memory"].map(|database| {
        let printed = yaz_client(&served.place(database), &commands);
        let is_other =
            |line: &&str| line.starts_with("Elapsed") || line.starts_with("SearchResult-1");
        let lines = printed.lines().filter(|line| !is_other(line));
        lines
            .collect::<Vec<_>>()
            .join("\n")
            .replace("memory", "books")
    });
    assert_eq!(books, memory);
    stand_in_order(
        &books,
        &[
            "Number of hits: 1, setno 1",
            &format!("001 {id}"),
            "Received SortResponse: status=success",
            "001 rec",
            "<controlfield tag=\"001\">rec",
            "deleteResultSetResponse status=0",
            "Target has closed the association",
        ],
    );
    let shown = zoomsh(&served.place("books"), &format!("@attr 1=1032 {id}"));
    assert!(shown.is_none_or(|shown| shown.contains(&id)));
    let answer = sru(&served.place("books"), &format!("rec.identifier={id}"));
    assert!(
        answer.contains("<zs:numberOfRecords>1</zs:numberOfRecords>") && answer.contains(&id),
        "{answer}"
    );
    // Each record is missing without its own node, and found without either of the other two nodes.
    let place = served.place("books");
    let sum = found_without_each_node(&mut served.engine, &place);
    assert_eq!(sum, 2 * records.len());
    assert_same(&served.daemon, &queries);
}
