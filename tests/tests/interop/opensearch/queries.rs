//! Tests of queries and records that are designed to break something. Each of them is answered or refused, and no node crashes.

use z3950_asn1::apdu::{Operator, RpnQuery, RpnRpnOp, RpnStructure};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::opensearch::ClusterDatabase;
use z3950_marc::{MarcRecord, iso2709, mrk};
use z3950_server::backend::{Backend, DatabaseName, Search};
use z3950_tests::opensearch::Cluster;

use super::served::opened;
use super::{Home, assert_ran};

fn term(pqf: &str) -> RpnStructure {
    parse_pqf(pqf).expect("a query").rpn
}

fn pair(op: Operator, rpn1: RpnStructure, rpn2: RpnStructure) -> RpnStructure {
    RpnStructure::RpnRpnOp(Box::new(RpnRpnOp { rpn1, rpn2, op }))
}

/// Returns terms combined with an operator as a tree of small depth.
fn joined(op: &Operator, mut terms: Vec<RpnStructure>) -> RpnStructure {
    while terms.len() > 1 {
        let mut rest = terms.into_iter();
        terms = Vec::new();
        while let Some(one) = rest.next() {
            terms.push(match rest.next() {
                Some(other) => pair(op.clone(), one, other),
                None => one,
            });
        }
    }
    terms.pop().expect("a term")
}

/// Returns nested operators that cannot be flattened. The query finds the records with the word `war`.
fn nest(levels: usize) -> RpnStructure {
    (0..levels).fold(term("@attr 1=4 war"), |inner, level| {
        if level % 2 == 0 {
            pair(Operator::And, inner, term("@attr 1=1016 war"))
        } else {
            pair(Operator::Or, inner, term("@attr 1=1003 tolstoy"))
        }
    })
}

/// Returns the number of records that a query finds, or the condition of its diagnostic.
async fn answer(database: &ClusterDatabase, rpn: RpnStructure) -> Result<usize, i64> {
    let query = RpnQuery {
        rpn,
        ..parse_pqf("x").expect("a query")
    };
    let names = [DatabaseName::from("books")];
    let found = database.search(Search::new(&names, &query)).await;
    found
        .map(|found| found.hits.len())
        .map_err(|why| why.condition)
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_r_l1_hostile_queries_are_answered_or_refused() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "queries");
    home.write("all.mrc", "war", 1..=20);
    assert_ran(&home.run(&["load", "all.mrc"]), 0, &["20 records loaded"]);
    let database = opened(&home, true);
    let number = |at: usize| term(&format!("@attr 1=4 {at}"));
    let numbers = |count: usize| (0..count).map(number).collect::<Vec<_>>();
    let in_turn = |at: usize| term(["@attr 1=4 war", "@attr 1=1016 @attr 5=1 wa"][at % 2]);
    // A query may be at most 1 MiB long, so these texts are a little shorter.
    let megabyte = "x".repeat((1 << 20) - 100);
    let words = "war ".repeat((1 << 18) - 100);
    let queries = [
        ("20 levels", nest(20), Ok(20)),
        ("40 levels", nest(40), Err(31)),
        ("5,000 levels", nest(5_000), Err(31)),
        ("1,000 terms", joined(&Operator::And, numbers(1_000)), Ok(0)),
        (
            "1,001 terms",
            joined(&Operator::And, numbers(1_001)),
            Err(31),
        ),
        (
            "10,000 alternatives",
            joined(&Operator::Or, numbers(10_000)),
            Ok(20),
        ),
        (
            "100,000 operands",
            joined(&Operator::Or, numbers(100_000)),
            Err(6),
        ),
        (
            "1,000 truncations",
            joined(&Operator::And, (0..1_000).map(in_turn).collect()),
            Ok(20),
        ),
        (
            "a word of a megabyte",
            term(&format!("@attr 1=4 {megabyte}")),
            Err(11),
        ),
        (
            "a beginning of a megabyte",
            term(&format!("@attr 1=4 @attr 5=1 {megabyte}")),
            Err(11),
        ),
        (
            "a part of a megabyte",
            term(&format!("@attr 1=4 @attr 5=3 {megabyte}")),
            Err(11),
        ),
        (
            "a phrase of a quarter of a million words",
            term(&format!("@attr 1=4 @attr 4=1 {{{words}}}")),
            Err(11),
        ),
        (
            "a key of a megabyte",
            term(&format!("@attr 1=1032 {megabyte}")),
            Err(11),
        ),
    ];
    let mut wrong = Vec::new();
    for (name, rpn, expected) in queries {
        let found = answer(&database, rpn).await;
        if found != expected {
            wrong.push(format!("{name}: {found:?} instead of {expected:?}"));
        }
        // All nodes are still running.
        let all = answer(&database, term("@attr 1=4 war")).await;
        assert_eq!(all, Ok(20), "{name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    cluster.wait_for_green();
}

/// Each text is matched literally, so that a search for it finds only the record that contains it.
#[tokio::test(flavor = "multi_thread")]
async fn audit_r_l1_hostile_texts_are_texts() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "texts");
    let texts = [
        "a\u{0}b zero",
        "\u{f800}edge edges",
        "edge\u{f801} edges",
        "\u{f800}edge\u{f801} edges",
        "\"}},{\"match_all\":{}} json",
        "k_docid:* lucene OR 1",
        "\\\" \\u0022 escapes",
        "line\u{2028}line separators",
        "\u{202e}evil\u{202c} directions",
        "<script>alert(1)</script> markup",
        "\u{10ffff}\u{fffe} noncharacters",
        "// /* */ # comments",
        "_ _source _id fields",
        "{{mustache}} ${macro} templates",
    ];
    let records = texts.iter().enumerate().map(|(at, text)| {
        let mrk = format!("=LDR  00000nam a2200000 a 4500\n=001  {at}\n=245  10$aPlace\n\n");
        let mut record: MarcRecord = mrk::parse_all(&mrk).expect("a record").remove(0);
        record
            .fields
            .push(z3950_marc::Field::data(b"500", "  ", [("a", *text)]));
        record
    });
    let octets = records.flat_map(|record| iso2709::encode(&record).expect("fits"));
    let mut octets: Vec<u8> = octets.collect();
    // This record contains half of a UTF-16 surrogate pair, which is not a character in UTF-8.
    let broken = mrk::parse_all(
        "=LDR  00000nam a2200000 a 4500\n=001  broken\n=245  10$aPlace\n=500  \\\\$aXXX halves\n\n",
    );
    let broken = iso2709::encode(&broken.expect("a record").remove(0)).expect("fits");
    let at = broken
        .windows(3)
        .position(|part| part == b"XXX")
        .expect("present");
    octets.extend([&broken[..at], b"\xed\xa0\x80", &broken[at + 3..]].concat());
    std::fs::write(home.file("all.mrc"), octets).expect("written");
    let loaded = home.run(&["load", "all.mrc"]);
    let all = texts.len() + 1;
    assert_ran(&loaded, 0, &[&format!("{all} records loaded")]);
    assert!(
        !loaded
            .stderr
            .contains(|c: char| c.is_control() && c != '\n'),
        "{loaded:?}"
    );
    let database = opened(&home, true);
    assert_eq!(answer(&database, term("@attr 1=4 place")).await, Ok(all));
    let mut wrong = Vec::new();
    for (text, structure) in texts
        .iter()
        .flat_map(|text| [(text, 1), (text, 6), (text, 2)])
    {
        let mut query = parse_pqf(&format!("@attr 1=1016 @attr 4={structure} x")).expect("a query");
        let RpnStructure::Op(z3950_asn1::apdu::Operand::AttributesPlusTerm(operand)) =
            &mut query.rpn
        else {
            panic!("one operand");
        };
        operand.term = z3950_asn1::apdu::Term::General(text.as_bytes().to_vec().into());
        let found = answer(&database, query.rpn).await;
        let is_edge = text.contains("edge") && structure != 1;
        if !(1..=3).contains(&found.unwrap_or(0)) && !is_edge {
            wrong.push(format!("{text:?} {structure}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(answer(&database, term("@attr 1=1016 halves")).await, Ok(1));
}
