//! Tests of terms with operators, quotes, comments, control characters and very long text, which must give the same results or
//! the same diagnostic in the engine as in memory.

use z3950::{Client, Error};
use z3950_asn1::apdu::{RpnQuery, Term};
use z3950_asn1::query::parse_pqf;
use z3950_marc::mrk;

use super::{BOOKS, served};

/// A record whose identifier, title and code contain characters that are special in the engine's languages.
const HOSTILE: &str = "\
=LDR  00000nam a2200000 a 4500
=001  a'b\\\\\"/*c*/--#;
=245  10$aOR 1=1 -- (war | @title peace) NEAR/3 ^ $$ ~3 MAYBE c++
=650  \\0$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa

";

/// Returns the number of hits of a query, or the condition of its diagnostic.
async fn outcome(target: &str, query: &RpnQuery) -> Result<u64, Option<i64>> {
    let connection = Client::new().connect(target).await.expect("a session");
    let found = connection.search(query.clone()).await;
    found.map(|hits| hits.count()).map_err(|error| match error {
        Error::Refused { diagnostics, .. } => diagnostics.condition(),
        _ => None,
    })
}

#[tokio::test]
async fn hostile_terms_are_data() {
    let mut records = mrk::parse_all(BOOKS).expect("records");
    records.extend(mrk::parse_all(HOSTILE).expect("a record"));
    let Some(served) = served(&records, "") else {
        return;
    };
    let long = [
        "a".repeat(1 << 20),
        "war ".repeat(1 << 18),
        "'".repeat(1 << 20),
    ];
    let long = long.iter().map(|term| term.as_bytes());
    let terms: [&[u8]; 26] = [
        b"'",
        b"\\",
        b"\\'",
        b"\"",
        b"a'b",
        b"war' OR 1=1 -- ",
        b"war/* x */",
        b"-- war",
        b"# war",
        b"war; DROP",
        b"(war",
        b"war)",
        b"war | peace",
        b"!war",
        b"@title war",
        b"=war",
        b"^war$",
        b"war NEAR/3 peace",
        b"MAYBE",
        b"~3",
        b"wa\0r",
        b"\0",
        b"\xff\xfe",
        "\u{f800}\u{f800}\u{f800}war".as_bytes(),
        "\u{e200}\u{e101}_".as_bytes(),
        "c++ \u{1f600} \u{2f800}".as_bytes(),
    ];
    let id = b"a'b\\\"/*c*/--#;";
    let same = "a".repeat(66);
    let mut found = 0;
    for attributes in [
        "1=4",
        "1=4 @attr 4=1",
        "1=4 @attr 6=3",
        "1=1032",
        "1=54",
        "1=1016 @attr 5=1",
        "1=4 @attr 5=101",
    ] {
        let own = [&id[..], same.as_bytes()];
        for term in terms.into_iter().chain(own).chain(long.clone()) {
            let mut query = parse_pqf(&format!("@attr {attributes} x")).expect("a query");
            for operand in query.rpn.terms_mut() {
                operand.term = Term::General(term.to_vec().into());
            }
            let engine = outcome(&served.place("books"), &query).await;
            let memory = outcome(&served.place("memory"), &query).await;
            let shown = String::from_utf8_lossy(&term[..term.len().min(40)]);
            match engine {
                // The engine looks up only prefixes of 2 to 20 characters, so it may refuse a truncated term.
                Err(Some(9 | 11)) => assert!(attributes.contains("5="), "{shown:?}"),
                engine => assert_eq!(engine, memory, "{attributes} {shown:?}"),
            }
            found += engine.unwrap_or_default();
        }
    }
    assert!(found > 20, "{found}");
}
