//! A backend whose answers depend on the search term.

use z3950_asn1::apdu::RpnQuery;
use z3950_asn1::apdu::{AttributesPlusTerm, DatabaseName, External, Term};
use z3950_asn1::oid::{Oid, SUTRS};

use crate::backend::{
    Answer, Backend, Facet, Found, Hits, RecordId, Retrieve, Retrieved, Scan, ScanTerm, Scanned,
    Search, Sort, TermCount, ready,
};
use crate::diagnostic::{Condition, diagnostic};

/// A backend whose number of hits is the first term of the query. A search for `never` does not end, a search for `estimate`
/// returns an estimated number, and a search for `interrupted` is interrupted. The index has the terms `b` to `k`, sorting
/// reverses the order, and the third record is never returned.
pub(super) struct Stub;

impl Backend for Stub {
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        let operands = operands(search.query);
        let first = operands.first().map(|operand| text(&operand.term));
        let hits = |number: i64| (0..number).map(RecordId).collect::<Hits>();
        let mut found = match first.as_deref() {
            Some("never") => return Box::pin(std::future::pending()),
            Some("estimate") => Found {
                estimate: true,
                ..hits(5).into()
            },
            Some("interrupted") => Found {
                interrupted: Some(diagnostic(Condition::RESOURCES_EXHAUSTED, "words")),
                ..hits(3).into()
            },
            Some(number) => hits(number.parse().expect("a number")).into(),
            None => (search.result_set)(b"default").expect("a set").into(),
        };
        if search.term_counts {
            let counted = (1..).zip(operands);
            let counted = counted.map(|(records, operand)| TermCount { operand, records });
            found.term_counts = counted.collect();
        }
        let facets = search.facets.iter().map(|wanted| Facet {
            attributes: wanted.attributes.clone(),
            terms: (wanted.skip..wanted.skip + wanted.terms)
                .map(|number| {
                    (
                        Term::General(format!("t{number}").into_bytes().into()),
                        number,
                    )
                })
                .collect(),
        });
        found.facets = facets.collect();
        ready(Ok(found))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        *syntax == SUTRS
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        match wanted.record {
            RecordId(2) => Box::pin(std::future::pending()),
            RecordId(number) => ready(Ok(Retrieved::new(
                DatabaseName::from("cat"),
                Ok(External::octet_aligned(SUTRS, number.to_string().as_str())),
            ))),
        }
    }

    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        let start = text(&scan.start.term);
        if start == "refused" {
            return ready(Err(diagnostic(Condition::SCAN_TERM_LIST, "title")));
        }
        let term = |letter: char| ScanTerm {
            term: Term::General(letter.to_string().as_str().into()),
            display: None,
            records: scan.within.map(Hits::len),
        };
        let every = scan.step + 1;
        let after: Vec<char> = ('b'..='k')
            .filter(|letter| *letter.to_string() >= *start)
            .collect();
        let before = ('b'..='k')
            .rev()
            .filter(|letter| *letter.to_string() < *start);
        let mut before: Vec<char> = before
            .skip(scan.step)
            .step_by(every)
            .take(scan.before)
            .collect();
        before.reverse();
        ready(Ok(Scanned {
            exact: after
                .first()
                .is_some_and(|first| first.to_string() == start),
            before: before.into_iter().map(term).collect(),
            after: after
                .into_iter()
                .step_by(every)
                .take(scan.after)
                .map(term)
                .collect(),
            ..Scanned::default()
        }))
    }

    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        let all = sort.inputs.iter().flat_map(|hits| hits.ids(0..hits.len()));
        let mut all: Vec<_> = all.collect();
        all.sort();
        all.dedup();
        all.reverse();
        ready(Ok(all.into_iter().collect()))
    }
}

fn operands(query: &RpnQuery) -> Vec<AttributesPlusTerm> {
    query.rpn.terms().cloned().collect()
}

fn text(term: &Term) -> String {
    match term {
        Term::General(octets) => String::from_utf8_lossy(octets.as_bytes()).into_owned(),
        other => panic!("{other:?}"),
    }
}
