//! Tests of the diagnostics for Search, Present, Scan and Sort, other than those for queries (Z39.50-2003 §3.2.2, §3.2.3, §3.2.7,
//! §3.2.8).

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::oid::{self, SUTRS, UNIMARC, XML};
use z3950_marc::{Field, MarcRecord};

use super::super::stub::Stub;
use super::super::{found, resource};
use super::{Row, answer};
use crate::access::{Access, User};
use crate::backend::{Answer, Backend, Found, Hits, RecordId, Search, ready};
use crate::explain::EXPLAIN_DATABASE;
use crate::limits::Limits;
use crate::memory::MemoryBackend;
use crate::offer::Offer;
use crate::requests::{
    catalogue, elements, init, now, only, open, open_on, present, present_request, scan_request,
    search, search_request, sort_request,
};
use crate::session::Session;
use crate::target::Target;
use crate::testing::record;

pub(super) const ROWS: &[Row] = &[
    // This backend has only the default methods.
    (3, || {
        answer(&mut open(Arc::new(Nothing), Limits::default()), search("x"))
    }),
    (14, || {
        let mut session = open(Arc::new(Lost), Limits::default());
        answer(&mut session, search("x"));
        answer(&mut session, present(1, 1))
    }),
    (1025, || {
        let mut session = open(Arc::new(Nothing), Limits::default());
        answer(&mut session, scan_request("a"))
    }),
    // Conditions that concern result sets.
    (21, || searched(|request| request.replace_indicator = false)),
    (22, || {
        let offer = Offer {
            options: Options::SEARCH,
            ..Offer::default()
        };
        let target = Target::new(catalogue(), Limits::default()).with_offer(offer);
        answer(&mut open_on(target), named("1", "war"))
    }),
    (27, || {
        let mut session = open(catalogue(), limited(|limits| limits.hits = 3));
        answer(&mut session, search("war"));
        answer(&mut session, named("2", "war"));
        answer(&mut session, present(1, 1))
    }),
    (31, || {
        let mut session = open(catalogue(), limited(|limits| limits.hits = 1));
        answer(&mut session, search("war"))
    }),
    (112, || {
        let mut session = open(catalogue(), limited(|limits| limits.result_sets = 1));
        answer(&mut session, search("war"));
        answer(&mut session, named("2", "war"))
    }),
    // Conditions that concern databases.
    (23, || searched(|request| request.database_names.clear())),
    (111, || {
        let mut session = open(
            catalogue(),
            limited(|limits| limits.databases_per_search = 1),
        );
        let request = SearchRequest {
            database_names: ["cat", "B"].map(DatabaseName::from).into(),
            ..search_request("war")
        };
        answer(&mut session, request)
    }),
    (235, || {
        searched(|request| request.database_names = vec!["nosuch".into()])
    }),
    (236, || {
        let user = User {
            name: "ann".to_owned(),
            databases: Some(vec!["B".to_owned()]),
            ..User::default()
        };
        let access = Access {
            users: vec![user],
            ..Access::default()
        };
        let target = Target::new(catalogue(), Limits::default()).with_access(access);
        let mut session = Session::new(Arc::new(target));
        let Apdu::InitializeRequest(mut init) = init() else {
            panic!("an Init")
        };
        init.id_authentication = Some(IdAuthentication::Open("ann".into()));
        only(now(session.answer(&Apdu::InitializeRequest(init))));
        answer(&mut session, search("war"))
    }),
    // Conditions that concern records.
    (13, || {
        presented(|request| request.result_set_start_point = 9)
    }),
    (16, || {
        let mut session = found(
            &[8, 20, 8],
            limited(|limits| limits.preferred_message_size = 10),
        );
        answer(&mut session, present(2, 2))
    }),
    (17, || {
        let small = limited(|limits| {
            limits.preferred_message_size = 10;
            limits.exceptional_record_size = 15;
        });
        answer(&mut found(&[20], small), present(1, 1))
    }),
    (25, || {
        presented(|request| {
            let composition = RecordComposition::Simple(elements("nosuch"));
            request.record_composition = composition.into();
        })
    }),
    (238, || {
        // The record in the database is UNIMARC, so the database has that syntax, but the presented record is not UNIMARC.
        let processing = "19990101d1999    m  y0frey50      ba";
        let unimarc = MarcRecord {
            fields: vec![
                Field::control(b"001", "u"),
                Field::data(b"100", "  ", [("a", processing)]),
                Field::data(b"200", "1 ", [("a", "Guerre et paix")]),
            ],
            ..MarcRecord::default()
        };
        let builder = MemoryBackend::builder().add_records("cat", [record("a", "War"), unimarc]);
        let backend = builder.expect("small records").build();
        let mut session = open(Arc::new(backend), Limits::default());
        answer(&mut session, search("war"));
        let request = PresentRequest {
            preferred_record_syntax: Some(UNIMARC),
            ..present_request(1, 1)
        };
        answer(&mut session, request)
    }),
    (239, || {
        presented(|request| request.preferred_record_syntax = Some(oid::BIB_1))
    }),
    (242, || {
        let Apdu::InitializeRequest(mut init) = init() else {
            panic!("an Init")
        };
        init.options = init.options | Options::SEGMENTATION_2;
        let mut session = Session::new(Arc::new(Target::new(catalogue(), Limits::default())));
        only(now(session.answer(&Apdu::InitializeRequest(init))));
        answer(&mut session, search("war"));
        let request = PresentRequest {
            max_segment_size: Some(1),
            ..present_request(1, 1)
        };
        answer(&mut session, request)
    }),
    (244, || {
        let external = External::octet_aligned(oid::ESPEC_1, "");
        composed(Specification {
            schema: None.into(),
            element_spec: Some(ElementSpec::ExternalEspec(external)),
        })
    }),
    (1066, || {
        composed(Specification {
            schema: Some(Schema::Uri("info:nosuch".into())).into(),
            element_spec: None,
        })
    }),
    // Conditions that concern Scan.
    (206, || scanned(|request| request.step_size = Some(-1))),
    (228, || {
        scanned(|request| request.number_of_terms_requested = 0)
    }),
    (233, || {
        scanned(|request| request.preferred_position_in_response = Some(9))
    }),
    // Conditions that concern Sort.
    (207, || {
        sorted(Limits::default(), |request| request.sort_sequence.clear())
    }),
    (208, || {
        sorted(Limits::default(), |request| {
            request.input_result_set_names.clear()
        })
    }),
    (211, || {
        sorted(limited(|limits| limits.sort_keys = 0), |_| {})
    }),
    (212, || {
        sorted(Limits::default(), |request| {
            request.sort_sequence.extend_from_within(..)
        })
    }),
    (213, || {
        sorted(Limits::default(), |request| {
            for key in &mut request.sort_sequence {
                key.sort_element = SortElement::Generic(SortKey::SortField("author".into()));
                key.missing_value_action = Some(MissingValueAction::Abort);
            }
        })
    }),
    (214, || {
        sorted(Limits::default(), |request| {
            for key in &mut request.sort_sequence {
                key.sort_relation = SortRelation(9);
            }
        })
    }),
    (215, || {
        sorted(Limits::default(), |request| {
            for key in &mut request.sort_sequence {
                key.case_sensitivity = CaseSensitivity(9);
            }
        })
    }),
    (230, || {
        sorted(limited(|limits| limits.sorted_records = 1), |_| {})
    }),
    (237, || {
        let mut session = open(catalogue(), Limits::default());
        answer(&mut session, search("war"));
        let explain = SearchRequest {
            database_names: vec![DatabaseName::from(EXPLAIN_DATABASE)],
            ..named("e", "@attrset exp-1 @attr 1=1 TargetInfo")
        };
        answer(&mut session, explain);
        answer(&mut session, sort_request(&["default", "e"], "s"))
    }),
    // Conditions that any operation may return.
    (105, || {
        let mut session = open(Arc::new(Stub), Limits::default());
        only(resource::cancelled(&mut session, &search("never")))
    }),
    (1055, || {
        let offer = Offer {
            options: Options::SEARCH,
            ..Offer::default()
        };
        let target = Target::new(catalogue(), Limits::default()).with_offer(offer);
        answer(&mut open_on(target), scan_request("a"))
    }),
];

/// A backend with only the default methods of the trait.
struct Nothing;

impl Backend for Nothing {}

/// A backend that finds records but cannot retrieve them.
struct Lost;

impl Backend for Lost {
    fn search<'a>(&'a self, _: Search<'a>) -> Answer<'a, Found> {
        ready(Ok([RecordId(0)].into_iter().collect::<Hits>().into()))
    }

    fn has_syntax(&self, syntax: &oid::Oid) -> bool {
        [SUTRS, XML].contains(syntax)
    }
}

fn limited(change: fn(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

/// Returns a session whose set `default` has two records.
fn at_war(limits: Limits) -> Session {
    let mut session = open(catalogue(), limits);
    answer(&mut session, search("war"));
    session
}

fn named(set: &str, pqf: &str) -> SearchRequest {
    SearchRequest {
        result_set_name: set.into(),
        ..search_request(pqf)
    }
}

fn searched(change: fn(&mut SearchRequest)) -> Apdu {
    let mut request = search_request("war");
    change(&mut request);
    answer(&mut at_war(Limits::default()), request)
}

fn presented(change: fn(&mut PresentRequest)) -> Apdu {
    let mut request = present_request(1, 1);
    change(&mut request);
    answer(&mut at_war(Limits::default()), request)
}

fn composed(generic: Specification) -> Apdu {
    let composition = RecordComposition::Complex(Box::new(CompSpec {
        select_alternative_syntax: false,
        generic: Some(generic),
        db_specific: None,
        record_syntax: None,
    }));
    let request = PresentRequest {
        record_composition: composition.into(),
        ..present_request(1, 1)
    };
    answer(&mut at_war(Limits::default()), request)
}

fn scanned(change: fn(&mut ScanRequest)) -> Apdu {
    let mut request = scan_request("war");
    change(&mut request);
    answer(&mut open(catalogue(), Limits::default()), request)
}

fn sorted(limits: Limits, change: fn(&mut SortRequest)) -> Apdu {
    let mut request = sort_request(&["default"], "s");
    change(&mut request);
    answer(&mut at_war(limits), request)
}
