//! Tests of which records Present returns, in which form, and how many of them.

use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use z3950_asn1::apdu::*;
use z3950_asn1::oid::{self, SUTRS, USMARC};
use z3950_asn1::sru::{RecordSource, RecordSources};

use super::{found, presented};
use crate::backend::{Answer, Backend, Found, Retrieve, Retrieved, Search};
use crate::limits::Limits;
use crate::offer::Offer;
use crate::requests::{Sizes, elements, now, only, open, open_on, present_request, search, shown};
use crate::session::Session;
use crate::target::Target;

#[test]
fn failed_presents_have_their_diagnostics() {
    let check = |change: &dyn Fn(&mut PresentRequest), diagnostic: &str| {
        let mut session = found(&[10, 10], Limits::default());
        let mut request = present_request(1, 1);
        change(&mut request);
        let response = presented(&mut session, request);
        assert_eq!(shown(&response.records), diagnostic);
        assert_eq!(response.present_status, PresentStatus::FAILURE);
        assert_eq!(response.number_of_records_returned, 0);
    };
    check(
        &|request| request.result_set_id = ResultSetId::from("Default"),
        "30 Default",
    );
    for (start, number, position) in [
        (1, 3, 3),
        (3, 1, 3),
        (9, 1, 9),
        (0, 1, 0),
        (-1, 1, -1),
        (1, 0, 1),
        (1, -1, 1),
        (2, i64::MAX, 3),
        (i64::MAX, i64::MAX, i64::MAX),
        (i64::MIN, 1, i64::MIN),
    ] {
        let range = |request: &mut PresentRequest| {
            request.result_set_start_point = start;
            request.number_of_records_requested = number;
        };
        check(&range, &format!("13 {position}"));
    }
    let second = Range {
        starting_position: 2,
        number_of_records: 2,
    };
    check(
        &|request| request.additional_ranges = Some(vec![second.clone()]),
        "13 3",
    );
    let simple = |name: &str| Some(RecordComposition::Simple(elements(name))).into();
    check(
        &|request| request.record_composition = simple("full"),
        "25 full",
    );
    check(&|request| request.record_composition = simple(""), "25 ");
    check(
        &|request| request.preferred_record_syntax = Some(oid::GRS_1),
        "239 1.2.840.10003.5.105",
    );
}

#[test]
fn a_long_present_lets_others_go_first() {
    for (number, polls) in [(1, 1), (64, 1), (65, 2), (200, 4)] {
        let mut session = found(&[4; 200], Limits::default());
        let request = present_request(1, number).into();
        let mut answer = pin!(session.answer(&request));
        let mut polled = 1;
        while answer.as_mut().now_or_never().is_none() {
            polled += 1;
        }
        assert_eq!(polled, polls, "{number} records");
    }
}

/// Opens a session with this memory limit in octets, and runs a search; returns `None` if there is not enough memory for the
/// result set.
fn found_within(session_octets: usize, sizes: &[usize]) -> Option<Session> {
    let limits = Limits {
        session_octets,
        ..Limits::default()
    };
    let mut session = open(Arc::new(Sizes(sizes.to_vec())), limits);
    match only(now(session.answer(&search("x")))) {
        Apdu::SearchResponse(response) if response.search_status => Some(session),
        _ => None,
    }
}

#[test]
fn records_count_while_an_answer_is_made() {
    let sizes = [1_000, 2_000, 0];
    let mut octets = 0..;
    let set = octets
        .find(|octets| found_within(*octets, &sizes).is_some())
        .expect("room for a set");
    let records = 3_000 + 3 * size_of::<NamePlusRecord>();
    for (octets, expected) in [
        (set + records, "usmarc F 1000, usmarc F 2000, usmarc - 0"),
        (set + records - 1, "31 "),
        (set, "31 "),
    ] {
        let mut session = found_within(octets, &sizes).expect("room for the set");
        let response = presented(&mut session, present_request(1, 3));
        let shown = shown(&response.records);
        assert!(shown.starts_with(expected), "{octets}: {shown}");
    }
}

/// Returns the answer to a Present for two records with this composition.
fn composed(syntax: Option<oid::Oid>, composition: RecordComposition) -> String {
    let mut session = found(&[4, 4], Limits::default());
    let request = PresentRequest {
        preferred_record_syntax: syntax,
        record_composition: composition.into(),
        ..present_request(1, 2)
    };
    shown(&presented(&mut session, request).records)
}

#[test]
fn element_sets_are_chosen() {
    let specific = |database: &str, name: &str| DatabaseSpecificElementSet {
        db_name: DatabaseName::from(database),
        esn: ElementSetName::from(name),
    };
    let simple = RecordComposition::Simple;
    let by_database = |names| simple(ElementSetNames::DatabaseSpecific(names));
    for (composition, expected) in [
        (simple(elements("b")), "usmarc b 4, usmarc b 4"),
        (
            by_database(vec![specific("x", "F"), specific("CAT", "B")]),
            "usmarc B 4, usmarc B 4",
        ),
        (
            by_database(vec![specific("x", "B")]),
            "usmarc F 4, usmarc F 4",
        ),
        (by_database(vec![specific("x", "?")]), "25 ?"),
    ] {
        assert_eq!(composed(None, composition), expected);
    }
}

#[test]
fn audit_r_y2_an_unknown_element_set_is_answered_in_full_unless_the_server_is_strict() {
    for (is_strict, syntax, name, expected) in [
        (true, None, "FI", "25 FI"),
        (false, None, "FI", "usmarc F 4"),
        (false, Some(USMARC), "no\u{1b}such", "usmarc F 4"),
        (false, Some(USMARC), "", "usmarc F 4"),
        (false, Some(USMARC), "b", "usmarc b 4"),
    ] {
        let offer = Offer {
            strict_element_sets: is_strict,
            ..Offer::default()
        };
        let target = Target::new(Arc::new(Sizes(vec![4])), Limits::default()).with_offer(offer);
        let mut session = open_on(target);
        now(session.answer(&search("x")));
        let request = PresentRequest {
            preferred_record_syntax: syntax,
            record_composition: Some(RecordComposition::Simple(elements(name))).into(),
            ..present_request(1, 1)
        };
        let shown = shown(&presented(&mut session, request).records);
        assert_eq!(shown, expected, "{name:?}");
    }
}

#[test]
fn composition_specifications_are_honoured() {
    let named = |name: &str| Specification {
        element_spec: Some(ElementSpec::ElementSetName(name.into())),
        ..Specification::default()
    };
    let specification = |generic, syntaxes: &[oid::Oid], alternative| {
        RecordComposition::Complex(Box::new(CompSpec {
            select_alternative_syntax: alternative,
            generic,
            db_specific: None,
            record_syntax: (!syntaxes.is_empty()).then(|| syntaxes.to_vec()),
        }))
    };
    let schema = |schema| Specification {
        schema: Some(schema).into(),
        element_spec: None,
    };
    let espec = External::octet_aligned(oid::ESPEC_1, "x");
    let by_espec = Specification {
        element_spec: Some(ElementSpec::ExternalEspec(espec)),
        ..Specification::default()
    };
    for (syntax, composition, expected) in [
        (
            None,
            specification(None, &[], false),
            "usmarc F 4, usmarc F 4",
        ),
        (
            Some(SUTRS),
            specification(Some(named("B")), &[], false),
            "sutrs B 4, sutrs B 4",
        ),
        (
            None,
            specification(None, &[oid::XML, SUTRS], false),
            "sutrs F 4, sutrs F 4",
        ),
        (
            Some(SUTRS),
            specification(None, &[USMARC], false),
            "usmarc F 4, usmarc F 4",
        ),
        (
            None,
            specification(None, &[oid::OPAC], false),
            "239 1.2.840.10003.5.102",
        ),
        (
            None,
            specification(None, &[oid::OPAC], true),
            "usmarc F 4, usmarc F 4",
        ),
        (None, specification(Some(named("zz")), &[], false), "25 zz"),
        (
            None,
            specification(Some(by_espec), &[], false),
            "244 externalEspec",
        ),
        (
            None,
            specification(Some(schema(Schema::Oid(oid::GILS_SCHEMA))), &[], false),
            "1066 1.2.840.10003.13.2",
        ),
        (
            None,
            specification(Some(schema(Schema::Uri("dc".into()))), &[], false),
            "1066 dc",
        ),
        (
            None,
            specification(Some(schema(Schema::Uri("info:medium".into()))), &[], false),
            "usmarc M 4, usmarc M 4",
        ),
    ] {
        assert_eq!(composed(syntax, composition), expected);
    }
    let by_database = CompSpec {
        select_alternative_syntax: false,
        generic: Some(named("F")),
        db_specific: Some(vec![DatabaseSpecification {
            db: DatabaseName::from("Cat"),
            spec: named("b"),
        }]),
        record_syntax: None,
    };
    let composition = RecordComposition::Complex(Box::new(by_database));
    assert_eq!(composed(None, composition), "usmarc b 4, usmarc b 4");
}

#[test]
fn records_are_packed_to_the_sizes_agreed_on() {
    let limits = Limits {
        preferred_message_size: 100,
        exceptional_record_size: 1_000,
        records_per_response: 4,
        ..Limits::default()
    };
    let sizes = [60, 40, 1, 101, 1_000, 1_001, 100, 1, 1, 1, 1, 1];
    for (start, number, records, status, next) in [
        (1, 2, "usmarc F 60, usmarc F 40", 0, 3),
        (1, 3, "usmarc F 60, usmarc F 40", 2, 3),
        (3, 1, "usmarc F 1", 0, 4),
        (4, 1, "usmarc F 101", 0, 5),
        (4, 2, "<16 101>, <16 1000>", 0, 6),
        (5, 1, "usmarc F 1000", 0, 6),
        (6, 1, "<17 1001>", 0, 7),
        (5, 4, "<16 1000>, <17 1001>, usmarc F 100", 2, 8),
        (
            8,
            4,
            "usmarc F 1, usmarc F 1, usmarc F 1, usmarc F 1",
            0,
            12,
        ),
        (
            8,
            5,
            "usmarc F 1, usmarc F 1, usmarc F 1, usmarc F 1",
            2,
            12,
        ),
    ] {
        let mut session = found(&sizes, limits.clone());
        let response = presented(&mut session, present_request(start, number));
        assert_eq!(shown(&response.records), records, "{start}+{number}");
        assert_eq!(
            response.present_status,
            PresentStatus(status),
            "{start}+{number}"
        );
        assert_eq!(response.next_result_set_position, next, "{start}+{number}");
        let returned = records.split(", ").count() as i64;
        assert_eq!(response.number_of_records_returned, returned);
    }
}

/// A backend like [`Sizes`], whose records are each merged from records in two databases.
struct Named(Sizes);

impl Backend for Named {
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        self.0.search(search)
    }

    fn has_syntax(&self, syntax: &oid::Oid) -> bool {
        self.0.has_syntax(syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        Box::pin(async move {
            let record = self.0.record(wanted).await?;
            Ok(record.with_sources(["u@a", "u@b"].map(RecordSource::new).into()))
        })
    }
}

#[test]
fn sources_are_named_next_to_their_records_and_take_room() {
    let sources = ["u@a", "u@b"].map(RecordSource::new).into();
    let named = RecordSources::new(Some(1), sources);
    let octets = named.to_xml().len();
    for (room, expected) in [
        (2 * (50 + octets), vec![Some(1), Some(2)]),
        (2 * (50 + octets) - 1, vec![Some(1)]),
    ] {
        let limits = Limits {
            preferred_message_size: room,
            ..Limits::default()
        };
        let mut session = open(Arc::new(Named(Sizes(vec![50, 50]))), limits);
        let found = only(now(session.answer(&search("x"))));
        assert!(matches!(found, Apdu::SearchResponse(found) if found.search_status));
        let response = presented(&mut session, present_request(1, 2));
        let information = response.other_info.expect("sources");
        let all: Vec<_> = RecordSources::all(&information).collect();
        assert_eq!(all.first(), Some(&named));
        let numbers: Vec<_> = all.iter().map(|one| one.record).collect();
        assert_eq!(numbers, expected);
        let returned = i64::try_from(expected.len()).expect("few");
        assert_eq!(response.number_of_records_returned, returned);
    }
}

#[test]
fn additional_ranges_follow_the_first() {
    let mut session = found(&[1, 2, 3, 4, 5], Limits::default());
    let range = |starting_position, number_of_records| Range {
        starting_position,
        number_of_records,
    };
    let request = PresentRequest {
        additional_ranges: Some(vec![range(5, 1), range(2, 2)]),
        ..present_request(1, 1)
    };
    let response = presented(&mut session, request);
    assert_eq!(
        shown(&response.records),
        "usmarc F 1, usmarc F 5, usmarc F 2, usmarc F 3"
    );
    assert_eq!(response.next_result_set_position, 4);
}
