//! Tests of PQF with a table of queries and their printed form, which is compared with YAZ's encoding of the same queries, and
//! with mutated queries.

use z3950_asn1::apdu::Query;
use z3950_asn1::codec::encode_value;
use z3950_asn1::query::{QueryError, explain, parse_pqf, tree};
use z3950_tests::hex::digits;
use z3950_tests::random::{Random, mutations};
use z3950_tests::yaz::queries_sent;

const TABLE: &str = include_str!("../../fixtures/queries/pqf.tsv");

/// A line of the table.
struct Row {
    id: &'static str,
    text: &'static str,
    /// The expected PQF, or `error KIND@OCTET`.
    expected: &'static str,
    /// The reason why YAZ's answer differs; empty if it is the same.
    difference: &'static str,
}

fn rows() -> Vec<Row> {
    let lines = TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "));
    let rows: Vec<Row> = lines
        .map(|line| {
            let mut columns = line.split('\t');
            let mut column = || columns.next().unwrap_or_default();
            Row {
                id: column(),
                text: column(),
                expected: column(),
                difference: column(),
            }
        })
        .collect();
    assert!(rows.len() >= 150, "{} rows", rows.len());
    rows
}

/// Formats an error as `KIND@OCTET`.
fn fault(error: &QueryError) -> String {
    let kind = format!("{:?}", error.kind);
    let kind = kind.split('(').next().unwrap_or_default();
    format!("error {kind}@{}", error.offset)
}

#[test]
fn queries_have_the_printed_form_of_the_table() {
    let mut wrong = Vec::new();
    for row in rows() {
        let found = match parse_pqf(row.text) {
            Ok(query) => {
                let printed = query.to_string();
                assert_eq!(parse_pqf(&printed).as_ref(), Ok(&query), "{}", row.text);
                printed
            }
            Err(error) => fault(&error),
        };
        if found != row.expected {
            wrong.push(format!(
                "{}\t{}\t{found}\t{}",
                row.id, row.text, row.difference
            ));
        }
    }
    assert!(wrong.is_empty(), "found:\n{}", wrong.join("\n"));
}

#[test]
fn yaz_sends_the_same_octets() {
    let rows = rows();
    let texts: Vec<&str> = rows.iter().map(|row| row.text).collect();
    let Some(sent) = queries_sent(&["querytype prefix"], &texts) else {
        return;
    };
    let octets = |query: &Query| encode_value(query).expect("encodes");
    let mut wrong = Vec::new();
    for (row, theirs) in rows.iter().zip(&sent) {
        let ours = parse_pqf(row.text).ok().map(Query::Type1);
        let same = ours.as_ref().map(octets) == theirs.as_ref().map(octets);
        if same != row.difference.is_empty() {
            let shown = |query: &Option<Query>| match query {
                Some(Query::Type1(rpn)) => {
                    format!("{rpn}\n{}", digits(&octets(&Query::Type1(rpn.clone()))))
                }
                Some(other) => format!("{other:?}"),
                None => "refused".into(),
            };
            wrong.push(format!(
                "{} {:?} – {}\nours:   {}\ntheirs: {}",
                row.id,
                row.text,
                row.difference,
                shown(&ours),
                shown(theirs)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn mutated_queries_are_read_or_refused_with_a_place() {
    let samples: Vec<Vec<u8>> = rows().iter().map(|row| row.text.into()).collect();
    let mut random = Random::new("pqf");
    let mut understood = 0_u64;
    let times = mutations(100_000);
    for _ in 0..times {
        let sample = random.pick(&samples).clone();
        let mutant = random.mutate(&sample, &samples);
        let text = String::from_utf8_lossy(&mutant);
        match parse_pqf(&text) {
            Ok(query) => {
                understood += 1;
                let printed = query.to_string();
                assert_eq!(
                    parse_pqf(&printed),
                    Ok(query.clone()),
                    "{text:?}: {printed:?}"
                );
                assert!(!tree(&query).is_empty() && !explain(&query).is_empty());
            }
            Err(error) => {
                assert!(error.offset <= text.len(), "{text:?}: {error}");
                assert!(text.is_char_boundary(error.offset), "{text:?}: {error}");
                assert!(error.pointed_out(&text).ends_with("^\n"), "{text:?}");
            }
        }
    }
    assert!(understood > times / 10, "{understood} of {times}");
}
