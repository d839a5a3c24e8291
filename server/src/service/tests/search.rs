//! Tests of optional parts of the answer to a Search (estimates, interruptions, term counts and facets), and of services that are
//! not offered.

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::format::facets::{FacetField, FacetList};
use z3950_asn1::format::search_result1::{QueryExpression, SearchInfoReport};
use z3950_asn1::oid::CQL;

use super::search;
use super::stub::Stub;
use crate::access::{Access, User};
use crate::limits::Limits;
use crate::offer::Offer;
use crate::requests::{init_of, now, only, open, open_on, search_request, shown};
use crate::session::Session;
use crate::target::Target;

#[test]
fn counts_may_be_estimates_or_those_of_a_subset() {
    for (term, status, set_status, count, records) in [
        ("5", true, None, 5, "none"),
        ("estimate", true, Some(ResultSetStatus::ESTIMATE), 5, "none"),
        (
            "interrupted",
            false,
            Some(ResultSetStatus::SUBSET),
            3,
            "31 words",
        ),
    ] {
        let mut session = open(Arc::new(Stub), Limits::default());
        let response = search(&mut session, search_request(term));
        assert_eq!(response.search_status, status, "{term}");
        assert_eq!(response.result_set_status, set_status, "{term}");
        assert_eq!(response.result_count, count, "{term}");
        assert_eq!(shown(&response.records), records, "{term}");
        // The result set exists with either status.
        let again = search(&mut session, search_request("@set default"));
        assert_eq!(again.result_count, count, "{term}");
    }
}

/// Returns the terms in an answer that were counted, with their counts.
fn counted(response: &SearchResponse) -> String {
    let information = response.additional_search_info.as_ref();
    let report = information.and_then(OtherInformation::value::<SearchInfoReport>);
    let parts = report.unwrap_or_default().0.into_iter().map(|part| {
        assert!(!part.full_query);
        let Some(QueryExpression::Term(expression)) = part.subquery_expression else {
            panic!("a term")
        };
        let Term::General(term) = expression.query_term else {
            panic!("a general term")
        };
        let term = String::from_utf8_lossy(term.as_bytes()).into_owned();
        format!("{term} {}", part.subquery_count.expect("a count"))
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[test]
fn terms_are_counted_one_by_one() {
    let asked = {
        let mut information = OtherInformation::default();
        information
            .put_value(&SearchInfoReport::default())
            .expect("encodes");
        Some(information)
    };
    for (version, query, information, expected) in [
        (ProtocolVersion::UP_TO_3, "5", None, ""),
        (ProtocolVersion::UP_TO_3, "5", asked.clone(), "5 1"),
        (ProtocolVersion::UP_TO_3, "@and 5 @or 7 8", None, "5 1, 7 2"),
        (ProtocolVersion::UP_TO_3, "@and 5 @set default", None, "5 1"),
        (ProtocolVersion::UP_TO_2, "@and 5 7", None, ""),
        (ProtocolVersion::UP_TO_2, "5", asked, ""),
    ] {
        let limits = Limits {
            term_counts: 2,
            ..Limits::default()
        };
        let mut session = Session::new(Arc::new(Target::new(Arc::new(Stub), limits)));
        only(now(session.answer(&init_of(version).into())));
        let request = SearchRequest {
            additional_search_info: information,
            ..search_request(query)
        };
        assert_eq!(counted(&search(&mut session, request)), expected, "{query}");
    }
}

#[test]
fn facets_are_counted_within_the_limits() {
    let field = |attributes: &[(i64, i64)]| {
        let mut field = FacetField::request("title", 3);
        let more = attributes.iter();
        field
            .attributes
            .0
            .retain(|attribute| attribute.attribute_type == 1);
        field
            .attributes
            .0
            .extend(more.map(|(kind, value)| AttributeElement::numeric(*kind, *value)));
        field
    };
    for (fields, expected) in [
        (vec![FacetField::request("title", 3)], "t0 t1 t2"),
        (vec![field(&[(3, 2), (4, 5)])], "t4 t5"),
        (vec![field(&[(3, 2), (4, 0)])], "t0 t1"),
        (vec![field(&[(3, 1_000_000)])], "t0 t1 t2 t3"),
        (vec![field(&[])], "t0 t1 t2 t3"),
        (
            vec![field(&[(3, 1)]), field(&[(3, 2)]), field(&[(3, 3)])],
            "t0; t0 t1",
        ),
        (vec![], ""),
    ] {
        let limits = Limits {
            facets: 2,
            facet_terms: 4,
            ..Limits::default()
        };
        let mut session = open(Arc::new(Stub), limits);
        let mut information = OtherInformation::default();
        information
            .put_value(&FacetList(fields.clone()))
            .expect("encodes");
        let request = SearchRequest {
            additional_search_info: Some(information),
            ..search_request("5")
        };
        let response = search(&mut session, request);
        let information = response.additional_search_info.unwrap_or_default();
        let facets = information.value::<FacetList>().unwrap_or_default().0;
        let facets: Vec<String> = facets.into_iter().map(terms).collect();
        assert_eq!(facets.join("; "), expected, "{fields:?}");
    }
}

fn terms(field: FacetField) -> String {
    let terms = field.terms.unwrap_or_default().into_iter();
    let terms = terms.map(|term| match term.term {
        Term::General(octets) => String::from_utf8_lossy(octets.as_bytes()).into_owned(),
        other => panic!("{other:?}"),
    });
    terms.collect::<Vec<_>>().join(" ")
}

#[test]
fn evicted_sets_differ_from_unknown_ones() {
    let limits = Limits {
        hits: 10,
        ..Limits::default()
    };
    let mut session = open(Arc::new(crate::requests::Sizes(vec![1; 6])), limits);
    for (name, query, records) in [
        ("a", "x", "none"),
        ("b", "x", "none"),
        ("a", "@set c", "none"),
    ] {
        let request = SearchRequest {
            result_set_name: name.into(),
            ..search_request(query)
        };
        assert_eq!(shown(&search(&mut session, request).records), records);
    }
    for (name, diagnostic) in [("b", "27 b"), ("c", "30 c")] {
        let request = PresentRequest {
            result_set_id: ResultSetId::from(name),
            ..crate::requests::present_request(1, 1)
        };
        let response = super::presented(&mut session, request);
        assert_eq!(shown(&response.records), diagnostic);
    }
}

#[test]
fn evicted_operands_differ_from_unknown_ones() {
    let limits = Limits {
        hits: 3,
        ..Limits::default()
    };
    let mut session = open(crate::requests::catalogue(), limits);
    for name in ["a", "b"] {
        let request = SearchRequest {
            result_set_name: name.into(),
            ..search_request("war")
        };
        assert_eq!(search(&mut session, request).result_count, 2);
    }
    for (query, diagnostic) in [("@set a", "27 a"), ("@set c", "30 c")] {
        let request = SearchRequest {
            result_set_name: "c".into(),
            ..search_request(query)
        };
        assert_eq!(shown(&search(&mut session, request).records), diagnostic);
    }
}

#[test]
fn services_that_are_not_offered_are_refused() {
    let offered = |options| {
        let offer = Offer {
            options,
            ..Offer::default()
        };
        open_on(Target::new(Arc::new(Stub), Limits::default()).with_offer(offer))
    };
    let mut session = offered(Options::PRESENT);
    let refused = search(&mut session, search_request("5"));
    assert_eq!(shown(&refused.records), "1055 search");
    let mut session = offered(Options::SEARCH);
    let named = SearchRequest {
        result_set_name: "a".into(),
        ..search_request("5")
    };
    assert_eq!(shown(&search(&mut session, named).records), "22 a");
    assert_eq!(search(&mut session, search_request("5")).result_count, 5);
    let cql = SearchRequest {
        query: Query::Type104(External::octet_aligned(CQL, "5")),
        ..search_request("5")
    };
    let refused = search(&mut session, cql);
    assert_eq!(
        shown(&refused.records),
        "107 type-104 of 1.2.840.10003.16.2"
    );
    let present = crate::requests::present_request(1, 1);
    let refused = super::presented(&mut session, present);
    assert_eq!(shown(&refused.records), "1055 present");
}

#[test]
fn databases_are_refused_to_users_without_access() {
    let access = Access {
        users: vec![User {
            name: "ann".to_owned(),
            databases: Some(vec!["CAT".to_owned()]),
            ..User::default()
        }],
        ..Access::default()
    };
    let target = Target::new(Arc::new(Stub), Limits::default()).with_access(access);
    let mut session = Session::new(Arc::new(target));
    let init = InitializeRequest {
        id_authentication: Some(IdAuthentication::Open("ann".into())),
        ..init_of(ProtocolVersion::UP_TO_3)
    };
    only(now(session.answer(&init.into())));
    for (databases, expected) in [(&["cat"][..], "none"), (&["cat", "dog"], "236 dog")] {
        let request = SearchRequest {
            database_names: databases
                .iter()
                .map(|name| DatabaseName::from(*name))
                .collect(),
            ..search_request("5")
        };
        assert_eq!(shown(&search(&mut session, request).records), expected);
    }
}

#[test]
fn names_of_result_sets_have_a_limit() {
    for (octets, expected) in [
        (1_024, "none"),
        (1_025, "22 a name has at most 1024 octets, not 1025"),
        (1_000_000, "22 a name has at most 1024 octets, not 1000000"),
    ] {
        let request = SearchRequest {
            result_set_name: "x".repeat(octets).as_str().into(),
            ..search_request("5")
        };
        let mut session = open(Arc::new(Stub), Limits::default());
        let response = search(&mut session, request);
        assert_eq!(shown(&response.records), expected, "{octets}");
    }
}
