//! Tests of CCL with tables of queries and their RPN, with the requests that YAZ sends for the same queries and bib files, with
//! queries that are printed and parsed again, and with mutated queries.

use std::path::PathBuf;

use z3950_asn1::apdu::{Query, RpnQuery};
use z3950_asn1::codec::encode_value;
use z3950_asn1::query::QueryError;
use z3950_asn1::query::ccl::{self, Bib};
use z3950_tests::random::{Random, mutations};
use z3950_tests::yaz::queries_sent;

/// A table of queries and the bib file with which they are parsed.
struct Table {
    rows: Vec<Row>,
    bib: Bib,
    bib_path: PathBuf,
}

struct Row {
    id: String,
    query: String,
    /// The expected PQF, or `error KIND@OFFSET`.
    expected: String,
    /// The reason why YAZ's request differs; empty if it is the same.
    difference: String,
}

/// Reads a table in `fixtures/queries`, and a bib file whose path is relative to that folder.
fn table(name: &str, bib: &str) -> Table {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/queries");
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let rows = read(&directory.join(name))
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut columns = line.split('\t').map(str::to_owned);
            let mut column = || columns.next();
            Row {
                id: column().unwrap_or_default(),
                query: column().unwrap_or_else(|| panic!("{line:?} has a query")),
                expected: column().unwrap_or_else(|| panic!("{line:?} has an RPN")),
                difference: column().unwrap_or_default(),
            }
        })
        .collect();
    let bib_path = directory.join(bib);
    Table {
        rows,
        bib: Bib::parse(&read(&bib_path)).unwrap_or_else(|error| panic!("{bib}: {error}")),
        bib_path,
    }
}

fn tables() -> [Table; 3] {
    [
        table("ccl.tsv", "test.bib"),
        table("ccl-words.tsv", "words.bib"),
        table("ccl-default.tsv", "../../../asn1/src/query/ccl/default.bib"),
    ]
}

/// Formats a result in the notation of the tables.
fn written(result: &Result<RpnQuery, QueryError>) -> String {
    match result {
        Ok(query) => query.to_string(),
        Err(error) => {
            let kind = format!("{:?}", error.kind);
            let kind = kind.split(['(', ' ']).next().unwrap_or_default();
            format!("error {kind}@{}", error.offset)
        }
    }
}

#[test]
fn queries_have_the_rpn_of_the_tables() {
    let tables = tables();
    assert!(tables.iter().map(|table| table.rows.len()).sum::<usize>() > 400);
    for Table { rows, bib, .. } in &tables {
        for row in rows {
            let read = ccl::parse(&row.query, bib);
            assert_eq!(written(&read), row.expected, "{} {}", row.id, row.query);
            // The PQF in the table is parsed to the same query.
            if let Ok(read) = read {
                assert!(
                    row.expected.parse() == Ok(read),
                    "{} {}",
                    row.id,
                    row.expected
                );
            }
        }
    }
}

#[test]
fn yaz_sends_the_same() {
    for Table {
        rows,
        bib,
        bib_path,
    } in tables()
    {
        let queries: Vec<&str> = rows.iter().map(|row| row.query.as_str()).collect();
        let file = format!("set_cclfile {}", bib_path.display());
        let Some(sent) = queries_sent(&["querytype ccl2rpn", &file], &queries) else {
            return;
        };
        for (row, theirs) in rows.iter().zip(sent) {
            let ours = ccl::parse(&row.query, &bib).ok().map(Query::Type1);
            let octets = |query: &Option<Query>| {
                query
                    .as_ref()
                    .map(|query| encode_value(query).expect("it encodes"))
            };
            let same = octets(&ours) == octets(&theirs);
            let Row {
                id,
                query,
                difference,
                ..
            } = row;
            assert!(
                same == difference.is_empty(),
                "{id} {query}\n{ours:?}\nYAZ: {theirs:?}\ndifference: {difference:?}"
            );
        }
    }
}

/// Returns the normal form of a query in PQF: attributes are sorted, and a distance of less than N becomes one of at most N - 1.
fn meaning(query: &RpnQuery) -> Vec<String> {
    let text = query.to_string();
    let mut words: Vec<String> = text
        .replace("@attr ", "@attr\u{a0}")
        .split(' ')
        .map(str::to_owned)
        .collect();
    let is_attribute = |word: &String| word.starts_with("@attr\u{a0}");
    for attributes in words.chunk_by_mut(|one, next| is_attribute(one) && is_attribute(next)) {
        attributes.sort();
    }
    for at in 0..words.len() {
        if words[at] == "@prox" && words.get(at + 4).is_some_and(|relation| relation == "1") {
            let distance: i64 = words[at + 2].parse().expect("a number");
            words[at + 2] = (distance - 1).to_string();
            words[at + 4] = "2".to_owned();
        }
    }
    words
}

#[test]
fn printed_queries_are_read_as_the_same_queries() {
    let (mut said, mut unsaid) = (0, 0);
    for Table { rows, bib, .. } in &tables() {
        for row in rows {
            let Ok(query) = ccl::parse(&row.query, bib) else {
                continue;
            };
            match ccl::print(&query, bib) {
                Ok(text) => {
                    let read = ccl::parse(&text, bib).expect("the printed query");
                    assert!(
                        meaning(&read) == meaning(&query),
                        "{} {}: {text}",
                        row.id,
                        row.query
                    );
                    said += 1;
                }
                Err(_) => unsaid += 1,
            }
        }
    }
    assert!(said > 10 * unsaid, "{said} printed, {unsaid} not");
}

#[test]
fn mutated_queries_are_read_or_refused_where_the_fault_is() {
    /// Pieces of text that have a meaning in CCL, which mutations insert.
    const SPECIAL: [&str; 24] = [
        "(", ")", ",", "%", "!", "%2", "<", ">", "=", "<=", "\"", "\\", "?", "#", "-", " ",
        " and ", " or ", " not ", "set=", "tiau=", "date=", "\u{0}", "ü",
    ];
    let tables = tables();
    let samples: Vec<(&str, &Bib)> = tables
        .iter()
        .flat_map(|table| {
            table
                .rows
                .iter()
                .map(|row| (row.query.as_str(), &table.bib))
        })
        .collect();
    let mut random = Random::new("ccl");
    let mut read = 0;
    let count = mutations(120_000);
    for _ in 0..count {
        let (sample, bib) = *random.pick(&samples);
        let mut mutant: Vec<char> = sample.chars().collect();
        for _ in 0..=random.below(4) {
            let at = random.below(mutant.len() + 1);
            let behind = (at + 1 + random.below(3)).min(mutant.len());
            let piece: Vec<char> = match random.below(4) {
                0 => Vec::new(),
                1 => random.pick(&samples).0.chars().take(12).collect(),
                _ => random.pick(&SPECIAL).chars().collect(),
            };
            let end = if random.below(2) == 0 { at } else { behind };
            mutant.splice(at..end, piece);
        }
        let text: String = mutant.into_iter().collect();
        match ccl::parse(&text, bib) {
            Ok(query) => {
                read += 1;
                if random.below(16) == 0
                    && let Ok(printed) = ccl::print(&query, bib)
                {
                    let reread = ccl::parse(&printed, bib).expect("the printed query");
                    assert!(meaning(&reread) == meaning(&query), "{text:?}: {printed:?}");
                }
            }
            Err(error) => {
                assert!(text.is_char_boundary(error.offset), "{text:?}: {error}");
                assert!(error.pointed_out(&text).ends_with("^\n"), "{text:?}");
            }
        }
    }
    assert!(read > count / 10, "{read} of {count} mean something");
}
