//! Tests of CQL with a table of queries and their RPN, which is compared with YAZ's translation by the same properties, and with
//! mutated queries.

use std::path::Path;

use z3950_asn1::apdu::{Operand, Query, RpnQuery, RpnStructure};
use z3950_asn1::codec::encode_value;
use z3950_asn1::query::cql::{self, Properties};
use z3950_asn1::query::{QueryError, names};
use z3950_tests::random::{Random, mutations};
use z3950_tests::yaz::queries_sent;

const TABLE: &str = include_str!("../../fixtures/queries/cql.tsv");

/// The path of the properties in YAZ's package.
const YAZ_PROPERTIES: &str = "/usr/share/yaz/etc/pqf.properties";

/// The default properties of this project.
const PROPERTIES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../asn1/src/query/cql/default.properties"
);

/// A line of the table.
struct Row {
    id: &'static str,
    text: &'static str,
    /// The expected PQF, or `error KIND@OFFSET`.
    expected: &'static str,
    /// The reason why YAZ's answer differs; empty if it is the same.
    difference: &'static str,
}

fn rows() -> Vec<Row> {
    let rows: Vec<Row> = TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let mut columns = line.split('\t');
            let mut column = || columns.next().unwrap_or_default();
            let row = Row {
                id: column(),
                text: column(),
                expected: column(),
                difference: column(),
            };
            assert!(!row.expected.is_empty(), "{line}");
            row
        })
        .collect();
    assert!(rows.len() >= 150, "{} rows", rows.len());
    rows
}

fn translate(text: &str, properties: &Properties) -> Result<RpnQuery, QueryError> {
    cql::to_rpn(&cql::parse(text)?, properties)
}

#[test]
fn queries_have_the_rpn_of_the_table() {
    let properties = Properties::default();
    let mut wrong = Vec::new();
    for row in rows() {
        let found = match translate(row.text, &properties) {
            Ok(query) => query.to_string(),
            Err(error) => {
                let kind = format!("{:?}", error.kind);
                let kind = kind.split(|one: char| !one.is_ascii_alphabetic()).next();
                format!("error {}@{}", kind.unwrap_or_default(), error.offset)
            }
        };
        if found != row.expected {
            wrong.push(format!("{}\t{}\t{found}", row.id, row.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn printed_queries_are_read_as_the_same_queries() {
    let properties = Properties::default();
    for row in rows() {
        let Ok(query) = cql::parse(row.text) else {
            continue;
        };
        let printed = query.to_string();
        assert_eq!(cql::parse(&printed).as_ref(), Ok(&query), "{}", row.id);
        let Ok(rpn) = cql::to_rpn(&query, &properties) else {
            continue;
        };
        match cql::from_rpn(&rpn, &properties) {
            Ok(back) => {
                let again = cql::to_rpn(&back, &properties).expect(row.id);
                // A regular expression may become equivalent masks when it is read back.
                let is_pattern = row.expected.contains("5=102")
                    && cql::from_rpn(&again, &properties).as_ref() == Ok(&back);
                assert!(
                    says(&again.rpn, &rpn.rpn) || is_pattern,
                    "{}: {again}",
                    row.id
                );
            }
            // There are two things that CQL cannot express: the proximity into which a modifier with a value is translated, and a
            // mask with a count such as `?5`.
            Err(error) => {
                let unsayable = ["@prox 0 0 0 0", "w?5"];
                let unsayable = unsayable.iter().any(|part| row.expected.contains(part));
                assert!(unsayable, "{}: {error}", row.id);
            }
        }
    }
}

/// Returns whether both trees are equal, apart from additional attributes of the operands in the first tree.
fn says(tree: &RpnStructure, wanted: &RpnStructure) -> bool {
    match (tree, wanted) {
        (RpnStructure::RpnRpnOp(tree), RpnStructure::RpnRpnOp(wanted)) => {
            tree.op == wanted.op && says(&tree.rpn1, &wanted.rpn1) && says(&tree.rpn2, &wanted.rpn2)
        }
        (
            RpnStructure::Op(Operand::AttributesPlusTerm(operand)),
            RpnStructure::Op(Operand::AttributesPlusTerm(wanted)),
        ) => {
            let mut attributes = wanted.attributes.iter();
            operand.term == wanted.term
                && attributes.all(|attribute| operand.attributes.contains(attribute))
        }
        (tree, wanted) => tree == wanted,
    }
}

#[test]
fn yaz_sends_the_same_by_our_properties() {
    check_against_yaz(PROPERTIES, true);
}

#[test]
fn yaz_sends_the_same_by_its_own_properties() {
    if Path::new(YAZ_PROPERTIES).is_file() {
        check_against_yaz(YAZ_PROPERTIES, false);
    }
}

/// Compares the octets of our queries with those of YAZ's queries, in the definite form. If `differences` is true, the listed
/// differences must occur.
fn check_against_yaz(file: &str, differences: bool) {
    let text = std::fs::read_to_string(file).expect("the properties exist");
    let properties = Properties::parse(&text).expect("the properties are understood");
    let rows = rows();
    let texts: Vec<&str> = rows.iter().map(|row| row.text).collect();
    let set_file = format!("set_cqlfile {file}");
    let Some(sent) = queries_sent(&["querytype cql2rpn", &set_file], &texts) else {
        return;
    };
    let octets = |query: &Query| encode_value(query).expect("a query can be encoded");
    let mut wrong = Vec::new();
    for (row, sent) in rows.iter().zip(sent) {
        let ours = translate(row.text, &properties).ok().map(Query::Type1);
        let same = ours.as_ref().map(octets) == sent.as_ref().map(octets);
        if row.difference.is_empty() != same && (differences || row.difference.is_empty()) {
            let print = |query: &Option<Query>| match query {
                Some(Query::Type1(rpn)) => rpn.to_string(),
                other => format!("{other:?}"),
            };
            let (id, text) = (row.id, row.text);
            wrong.push(format!(
                "{id}: {text}\n  {}\n  {}",
                print(&ours),
                print(&sent)
            ));
        }
    }
    assert!(wrong.is_empty(), "ours and YAZ's:\n{}", wrong.join("\n"));
}

#[test]
fn mutated_queries_are_read_or_refused() {
    let properties = Properties::default();
    let samples: Vec<Vec<u8>> = rows().iter().map(|row| row.text.into()).collect();
    let mut random = Random::new("cql");
    for _ in 0..mutations(120_000) {
        let sample = random.pick(&samples).clone();
        let mut octets = random.mutate(&sample, &samples);
        if random.below(2) == 0 {
            let sign = *random.pick(b"()=<>/\"\\*?^. #@:%");
            octets.insert(random.below(octets.len() + 1), sign);
        }
        let text = String::from_utf8_lossy(&octets);
        match cql::parse(&text) {
            Err(error) => assert!(error.offset <= text.len(), "{text:?}"),
            Ok(query) => {
                let printed = query.to_string();
                assert_eq!(
                    cql::parse(&printed),
                    Ok(query.clone()),
                    "{text:?} {printed:?}"
                );
                match cql::to_rpn(&query, &properties) {
                    Err(error) => assert!(error.offset <= text.len(), "{text:?}"),
                    Ok(_) => assert!(translate(&printed, &properties).is_ok(), "{text:?}"),
                }
            }
        }
    }
}

#[test]
fn mutated_properties_and_names_are_read_or_refused() {
    let text = std::fs::read_to_string(PROPERTIES).expect("the properties exist");
    let samples: Vec<Vec<u8>> = text.lines().map(|line| line.into()).collect();
    let words: Vec<Vec<u8>> = [
        "ti:\"pride and prejudice\" au:austen",
        "(a OR ti:(b NOT c)) AND isbn:1",
        "docid:\"a\\\"b\" x",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    let mut random = Random::new("properties");
    for _ in 0..mutations(20_000) {
        let line = random.pick(&samples).clone();
        let line = random.mutate(&line, &samples);
        if let Err(error) = Properties::parse(&String::from_utf8_lossy(&line)) {
            assert!(error.line >= 1);
        }
        let query = random.pick(&words).clone();
        let query = random.mutate(&query, &words);
        let query = String::from_utf8_lossy(&query);
        if let Err(error) = names::parse(&query) {
            assert!(error.offset <= query.len(), "{query:?}");
        }
    }
}
