//! Tests of the diagnostics for queries (Z39.50-2003 §3.7).

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::oid::BIB_1;

use super::{Row, answer};
use crate::imitate::Imitated;
use crate::limits::Limits;
use crate::memory::{MemoryBackend, Profile};
use crate::requests::{catalogue, open, open_on, search, search_request};
use crate::testing::record;

pub(super) const ROWS: &[Row] = &[
    (5, || found(&format!("\"{}\"", "x ".repeat(257)))),
    (6, || {
        // The tree is balanced, so that it is not too deep to be decoded.
        let width = format!("{}war", "@or war ".repeat(100));
        let query = (0..199).fold(width.clone(), |query, _| format!("@or {width} {query}"));
        found(&query)
    }),
    (9, || {
        let profile = Profile {
            shortest_truncated: 3,
            ..Profile::default()
        };
        found_under(profile, "@attr 5=1 wa")
    }),
    (11, || found(&"x".repeat(8193))),
    (18, || {
        let profile = Profile {
            result_sets: false,
            ..Profile::default()
        };
        found_under(profile, "@set default")
    }),
    (30, || found("@set nosuch")),
    (107, || asked(Query::Type100("war".into()))),
    (108, || asked(Query::Type2("find (".into()))),
    (110, || {
        let profile = Profile {
            proximity: false,
            ..Profile::default()
        };
        found_under(profile, "@prox 0 1 1 2 k 2 war peace")
    }),
    (113, || found("@attr 7=1 x")),
    (114, || found("@attr 1=9999 x")),
    (116, || {
        let profile = Profile {
            use_required: true,
            ..Profile::default()
        };
        found_under(profile, "x")
    }),
    (117, || found("@attr 2=100 x")),
    (118, || found("@attr 1=4 @attr 4=104 x")),
    (119, || found("@attr 3=4 x")),
    (120, || found("@attr 5=4 x")),
    (121, || found("@attrset gils x")),
    (122, || found("@attr 6=4 x")),
    (123, || found("@attr 2=1 @attr 5=1 x")),
    (124, || found_under(Profile::zebra(), "@term numeric 7")),
    (125, || found("@attr 1=7 -")),
    (126, || found("@attr 1=31 unknown")),
    (129, || found("@prox 0 1 1 2 k 2 @set default peace")),
    (131, || found("@prox 0 1 1 7 k 2 war peace")),
    (132, || found("@prox 0 1 1 2 k 8 war peace")),
    (201, || found("@prox 0 1 1 2 k 2 @attr 1=4 war peace")),
    (202, || {
        let mut request = search_request("@prox 0 1 1 2 k 2 war peace");
        if let Query::Type1(query) = &mut request.query
            && let RpnStructure::RpnRpnOp(node) = &mut query.rpn
            && let Operator::Prox(proximity) = &mut node.op
        {
            proximity.distance = -1;
        }
        asked(request.query)
    }),
    (229, || found("@term numeric 7")),
    (245, || {
        let restricted = ResultSetPlusAttributes {
            result_set: ResultSetId::from("default"),
            attributes: Vec::new(),
        };
        asked(rpn(Operand::ResultAttr(Box::new(restricted))))
    }),
    (246, || {
        let alternatives = ComplexAttribute {
            list: [4, 5].map(StringOrNumeric::Numeric).into(),
            semantic_action: None,
        };
        let operand = AttributesPlusTerm {
            attributes: vec![AttributeElement {
                attribute_value: AttributeValue::Complex(Box::new(alternatives)),
                ..AttributeElement::numeric(1, 4)
            }],
            term: Term::General("war".into()),
        };
        asked(rpn(Operand::AttributesPlusTerm(operand)))
    }),
    (109, || imitating("other", "3")),
    (205, || {
        let mut session = open_on(Imitated::YazZtest.target(Limits::default()));
        let scan = ScanRequest {
            database_names: vec![DatabaseName::from("Default")],
            step_size: Some(1),
            ..crate::requests::scan_request("a")
        };
        answer(&mut session, scan)
    }),
];

fn rpn(operand: Operand) -> Query {
    Query::Type1(RpnQuery {
        attribute_set: BIB_1,
        rpn: RpnStructure::Op(operand),
    })
}

/// Returns the answer to a query in PQF.
fn found(pqf: &str) -> Apdu {
    answer(&mut open(catalogue(), Limits::default()), search(pqf))
}

fn asked(query: Query) -> Apdu {
    let request = SearchRequest {
        query,
        ..search_request("x")
    };
    answer(&mut open(catalogue(), Limits::default()), request)
}

fn found_under(profile: Profile, pqf: &str) -> Apdu {
    let builder = MemoryBackend::builder().profile(profile);
    let builder = builder.add_records("cat", [record("id7", "War and peace")]);
    let backend = builder.expect("small records").build();
    let mut session = open(Arc::new(backend), Limits::default());
    answer(&mut session, search("@attr 1=4 war"));
    answer(&mut session, search(pqf))
}

/// Returns the answer of the yaz-ztest imitation to a query in PQF.
fn imitating(database: &str, pqf: &str) -> Apdu {
    let request = SearchRequest {
        database_names: vec![DatabaseName::from(database)],
        ..search_request(pqf)
    };
    let mut session = open_on(Imitated::YazZtest.target(Limits::default()));
    answer(&mut session, request)
}
