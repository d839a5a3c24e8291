//! Tests of the plan for a URL, octet for octet where the standard or a captured conversation defines the octets.

use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec;

use super::*;
use crate::url::Mode;

fn url(text: &str) -> Z3950Url {
    Z3950Url::parse(text, Mode::Lenient).expect(text)
}

fn planned(text: &str, options: &PlanOptions) -> Plan {
    plan(&url(text), options).expect(text)
}

fn hex(apdu: impl Into<Apdu>) -> String {
    let octets = codec::encode(&apdu.into()).expect("encodes");
    octets
        .iter()
        .map(|octet| format!("{octet:02X}"))
        .collect::<Vec<_>>()
        .join(" ")
}

const CNIDR: &str = "z39.50r://cnidr.org:2100/tmf?bkirch_rules__a1;esn=f;rs=marc";

#[test]
fn the_search_of_a_whole_url_is_114_octets() {
    let search = planned(CNIDR, &PlanOptions::default())
        .search_request()
        .expect("a docid");
    assert_eq!(
        hex(search),
        "B6 70 8D 01 01 8E 01 02 8F 01 00 90 01 FF 91 07 64 65 66 61 75 6C 74 B2 06 9F 69 03 74 6D 66 \
         BF 64 03 80 01 66 BF 65 03 80 01 66 9F 68 07 2A 86 48 CE 13 05 0A B5 3B A1 39 06 07 2A 86 48 CE 13 03 01 \
         A0 2E BF 66 2B BF 2C 15 30 09 9F 78 01 01 9F 79 02 04 08 30 08 9F 78 01 04 9F 79 01 68 \
         9F 2D 10 62 6B 69 72 63 68 5F 72 75 6C 65 73 5F 5F 61 31"
    );
}

#[test]
fn the_present_asks_for_one_record_in_one_form() {
    let plan = planned(CNIDR, &PlanOptions::default());
    assert_eq!(
        hex(plan.present_request(1)),
        "B8 1F 9F 1F 07 64 65 66 61 75 6C 74 9E 01 01 9D 01 01 B3 03 80 01 66 9F 68 07 2A 86 48 CE 13 05 0A"
    );
    let bare = PlanOptions {
        default_record_syntax: None,
        ..PlanOptions::default()
    };
    let plan = planned("z39.50r://lib.example/cat?x", &bare);
    assert_eq!(
        hex(plan.present_request(1)),
        "B8 10 9F 1F 07 64 65 66 61 75 6C 74 9E 01 01 9D 01 01"
    );
}

#[test]
fn the_query_is_one_term_with_two_attributes() {
    let options = PlanOptions {
        default_record_syntax: None,
        ..PlanOptions::default()
    };
    let check = |text: &str, query: &str| {
        let search = planned(text, &options).search_request().expect("a docid");
        assert!(hex(search).ends_with(query), "{text}");
    };
    check(
        "z39.50r://lib.example/cat?x",
        "B5 2C A1 2A 06 07 2A 86 48 CE 13 03 01 A0 1F BF 66 1C BF 2C 15 30 09 9F 78 01 01 9F 79 02 04 08 \
         30 08 9F 78 01 04 9F 79 01 68 9F 2D 01 78",
    );
    check(
        "z39.50r://lib.example/cat?AbC%20+d%2Be%C3%A9",
        "9F 2D 0A 41 62 43 20 2B 64 2B 65 C3 A9",
    );
    check(
        "z39.50r://lib.example/cat?@or%20a%20b",
        "9F 2D 07 40 6F 72 20 61 20 62",
    );
    check("z39.50r://lib.example/cat?a%00b", "9F 2D 03 61 00 62");
    let allowed = PlanOptions {
        fallback: Fallback::ALL,
        ..options
    };
    let plan = planned("z39.50r://lib.example/cat?x", &allowed);
    let mut requests = DocidRequests::new(&plan).expect("a docid");
    assert!(requests.after_nothing());
    let dropped = hex(requests.search());
    assert!(dropped.ends_with("BF 66 12 BF 2C 0B 30 09 9F 78 01 01 9F 79 02 04 08 9F 2D 01 78"));
}

#[test]
fn present_only_searches_without_bounds_and_forms() {
    let options = PlanOptions {
        strategy: Strategy::PresentOnly,
        ..PlanOptions::default()
    };
    let plan = planned("z39.50r://lib.example/cat?id7;esn=f;rs=usmarc", &options);
    let search = hex(plan.search_request().expect("a docid"));
    let expected =
        "8D 01 00 8E 01 01 8F 01 00 90 01 FF 91 07 64 65 66 61 75 6C 74 B2 06 9F 69 03 63 61 74 B5";
    assert!(search.contains(expected), "{search}");
    assert!(hex(plan.present_request(1)).ends_with("B3 03 80 01 66 9F 68 07 2A 86 48 CE 13 05 0A"));
}

#[test]
fn databases_are_named_in_order() {
    let check = |text: &str, names: &str| {
        let search = planned(text, &PlanOptions::default())
            .search_request()
            .expect("a docid");
        assert!(hex(search).contains(names), "{text}");
    };
    check(
        "z39.50r://lib.example/a+b?x",
        "B2 08 9F 69 01 61 9F 69 01 62",
    );
    check("z39.50r://lib.example/a%2Bb?x", "B2 06 9F 69 03 61 2B 62");
}

#[test]
fn session_and_retrieval_search_alike() {
    let session = planned(
        "z39.50s://lib.example/cat?id7;esn=B",
        &PlanOptions::default(),
    );
    let retrieval = planned(
        "z39.50r://lib.example/cat?id7;esn=B",
        &PlanOptions::default(),
    );
    assert_eq!(session.search_request(), retrieval.search_request());
    assert_eq!(
        planned("z39.50s://lib.example/cat", &PlanOptions::default()).search_request(),
        None
    );
}

/// Tests Z-5.24 and Z-5.19: neither a fragment nor an unknown parameter changes anything that is sent.
#[test]
fn fragments_and_unknown_parameters_are_not_sent() {
    let requests = |text: &str| {
        let plan = planned(text, &PlanOptions::default());
        let search = plan.search_request().map(hex);
        (
            hex(plan.init_request()),
            search,
            hex(plan.present_request(1)),
        )
    };
    for (text, others) in [
        (
            "z39.50r://lib.example/cat?id7;esn=f;rs=marc",
            [
                "z39.50r://lib.example/cat?id7;esn=f;rs=marc#part",
                "z39.50r://lib.example/cat?id7;lang=fr;esn=f;size=9;rs=marc;lang=de",
                "z39.50r://lib.example/cat?id7;esn=f;rs=marc;x=#id8",
            ],
        ),
        (
            "z39.50s://lib.example/cat",
            [
                "z39.50s://lib.example/cat#?id8",
                "z39.50s://lib.example/cat;docid=id8",
                "z39.50s://lib.example/cat;x=1#",
            ],
        ),
    ] {
        for other in others {
            assert_eq!(requests(other), requests(text), "{other}");
        }
    }
    let escaped = requests("z39.50r://lib.example/cat?id7%23part;esn=f;rs=marc");
    assert_ne!(
        escaped,
        requests("z39.50r://lib.example/cat?id7;esn=f;rs=marc")
    );
}

#[test]
fn the_first_supported_syntax_is_chosen() {
    let some = PlanOptions {
        record_syntaxes: vec![oid::USMARC, oid::SUTRS, oid::XML, oid::GRS_1],
        ..PlanOptions::default()
    };
    let strict = PlanOptions {
        strict: true,
        ..some.clone()
    };
    let none = PlanOptions {
        default_record_syntax: None,
        ..some.clone()
    };
    let ignore = PlanOptions {
        hints: Hints::Ignore,
        ..some.clone()
    };
    let require = PlanOptions {
        hints: Hints::Require,
        ..some.clone()
    };
    let unsupported = |names: &[&str]| {
        Err(PlanError::NoSupportedRecordSyntax(
            names.iter().map(|name| Octets::from(*name)).collect(),
        ))
    };
    let unsatisfiable = Err(PlanError::HintUnsatisfiable {
        hint: "rs",
        values: vec![Octets::from("klingon")],
    });
    let marc = [oid::USMARC];
    for (tail, options, expected, warnings) in [
        ("r://h.example/c?x", &some, Ok(&marc[..]), &[][..]),
        ("r://h.example/c?x", &none, Ok(&[]), &[]),
        (
            "r://h.example/c?x;rs=danmarc+sutrs+usmarc",
            &some,
            Ok(&[oid::SUTRS, oid::USMARC]),
            &[],
        ),
        (
            "r://h.example/c?x;rs=MARC+marc21+UsMarc",
            &some,
            Ok(&marc),
            &[],
        ),
        (
            "r://h.example/c?x;rs=1.2.840.10003.5.101",
            &some,
            Ok(&[oid::SUTRS]),
            &[],
        ),
        (
            "r://h.example/c?x;rs=1.2.840.10003.5.1",
            &some,
            Ok(&[oid::UNIMARC]),
            &[],
        ),
        (
            "r://h.example/c?x;rs=opac",
            &some,
            Ok(&[]),
            &["RecordSyntaxOmitted:opac"],
        ),
        (
            "r://h.example/c?x;rs=opac",
            &PlanOptions::default(),
            Ok(&[oid::OPAC]),
            &[],
        ),
        (
            "r://h.example/c?x;rs=klingon",
            &some,
            Ok(&[]),
            &["RecordSyntaxOmitted:klingon"],
        ),
        (
            "r://h.example/c?x;rs=klingon",
            &strict,
            unsupported(&["klingon"]),
            &[],
        ),
        (
            "r://h.example/c?x;rs=danmarc",
            &strict,
            unsupported(&["danmarc"]),
            &[],
        ),
        ("r://h.example/c?x;rs=klingon", &ignore, Ok(&marc), &[]),
        (
            "r://h.example/c?x;rs=klingon",
            &require,
            unsatisfiable.clone(),
            &[],
        ),
        (
            "s://h.example/c?x;rs=klingon",
            &strict,
            unsupported(&["klingon"]),
            &[],
        ),
        (
            "s://h.example/;rs=klingon",
            &some,
            Ok(&marc),
            &["HintIgnored:rs"],
        ),
        (
            "s://h.example/;rs=klingon",
            &strict,
            Ok(&marc),
            &["HintIgnored:rs"],
        ),
        ("s://h.example/;rs=klingon", &ignore, Ok(&marc), &[]),
        ("s://h.example/;rs=klingon", &require, unsatisfiable, &[]),
    ] {
        let outcome = plan(&url(&format!("z39.50{tail}")), options);
        let syntaxes = outcome
            .as_ref()
            .map(|plan| plan.record_syntaxes.as_slice())
            .map_err(|error| format!("{error:?}"));
        let expected = expected.map_err(|error| format!("{error:?}"));
        assert_eq!(syntaxes, expected, "{tail}");
        let said = outcome
            .iter()
            .flat_map(|plan| plan.warnings.iter().map(Warning::code));
        assert_eq!(said.collect::<Vec<_>>(), warnings, "{tail}");
    }
}

#[test]
fn every_name_of_the_table_is_known_in_any_case() {
    for (name, dotted) in [
        ("usmarc", "5.10"),
        ("marc", "5.10"),
        ("MARC21", "5.10"),
        ("unimarc", "5.1"),
        ("ukmarc", "5.11"),
        ("sutrs", "5.101"),
        ("OPAC", "5.102"),
        ("summary", "5.103"),
        ("grs1", "5.105"),
        ("GRS-1", "5.105"),
        ("xml", "5.109.10"),
        ("html", "5.109.3"),
    ] {
        let syntax = Oid::record_syntax_by_name(name.as_bytes()).expect(name);
        assert_eq!(
            syntax.to_string(),
            format!("1.2.840.10003.{dotted}"),
            "{name}"
        );
        assert!(PlanOptions::default().record_syntaxes.contains(&syntax));
    }
    for name in ["Bib-1", "", "1.2.", "5.10 ", "klingon"] {
        assert_eq!(Oid::record_syntax_by_name(name.as_bytes()), None, "{name}");
    }
}

/// Tests that every name for a record syntax in the registry of object identifiers is accepted. RFC 2056 §4 leaves the
/// names to the client.
#[test]
fn audit_b7_every_registered_record_syntax_can_be_named() {
    let names: Vec<(&str, Oid)> = Oid::record_syntaxes().collect();
    assert!(names.len() > 30, "{names:?}");
    for name in "danmarc rusmarc normarc finmarc mab canmarc intermarc picamarc explain".split(' ')
    {
        assert!(names.iter().any(|(known, _)| *known == name), "{name}");
    }
    for (name, oid) in names {
        for name in [name.to_owned(), name.to_uppercase()] {
            for (tail, strict) in [("r", true), ("r", false), ("s", false)] {
                let options = PlanOptions {
                    strict,
                    ..PlanOptions::default()
                };
                let plan = planned(
                    &format!("z39.50{tail}://h.example/c?x;rs=klingon+{name}"),
                    &options,
                );
                assert_eq!(
                    (plan.defaults.record_syntax, &plan.warnings[..]),
                    (Some(oid), &[][..]),
                    "{name}"
                );
            }
        }
    }
}

/// Tests that each warning has a code for programs, and a message with suggestions for people.
#[test]
fn audit_b20_warnings_are_words_with_a_code() {
    for (tail, code, words) in [
        (
            "r://h.example/c?x;rs=danmark",
            "RecordSyntaxOmitted:danmark",
            "no record syntax is asked for: danmark is not supported; did you mean danmarc instead of danmark?",
        ),
        (
            "s://h.example/c;rs=klingon+usmrac",
            "HintIgnored:rs",
            "the hint rs=klingon+usmrac is ignored: none of klingon+usmrac is supported; did you mean usmarc instead of \
             usmrac?",
        ),
        (
            "r://h.example/c?x;lang=fr",
            "UnknownParameter:lang",
            "the parameter lang is not known and has no effect",
        ),
        (
            "s://h.example/c?",
            "EmptyDocidIgnored",
            "nothing follows the `?`, so the URL names no record",
        ),
    ] {
        let plan = planned(&format!("z39.50{tail}"), &PlanOptions::default());
        let warnings = plan
            .warnings
            .iter()
            .map(|warning| (warning.code(), warning.to_string()));
        let expected = vec![(code.to_owned(), words.to_owned())];
        assert_eq!(warnings.collect::<Vec<_>>(), expected, "{tail}");
    }
}

#[test]
fn a_session_url_gives_its_session_defaults() {
    let text = "z39.50s://lib.example/cat+maps;esn=B;rs=sutrs";
    let defaults = planned(text, &PlanOptions::default()).defaults;
    let databases = vec![Octets::from("cat"), Octets::from("maps")];
    let element_set = Some(Octets::from("B"));
    assert_eq!(
        defaults,
        SessionDefaults {
            databases,
            element_set,
            record_syntax: Some(oid::SUTRS)
        }
    );
    let ignore = PlanOptions {
        hints: Hints::Ignore,
        ..PlanOptions::default()
    };
    let defaults = planned(text, &ignore).defaults;
    assert_eq!(
        defaults,
        SessionDefaults {
            record_syntax: Some(oid::USMARC),
            ..Default::default()
        }
    );
}

#[test]
fn a_retrieval_needs_a_docid() {
    for strict in [false, true] {
        let options = PlanOptions {
            strict,
            ..PlanOptions::default()
        };
        for text in [
            "z39.50r://lib.example/cat",
            "z39.50r://lib.example/cat;rs=sutrs+marc",
        ] {
            let planned = plan(&url(text), &options);
            assert!(matches!(planned, Err(PlanError::NoDocid)), "{text}");
        }
        assert!(plan(&url("z39.50s://lib.example/cat"), &options).is_ok());
    }
}

#[test]
fn reserved_ports_are_refused_unless_allowed() {
    let allowed = PlanOptions {
        allow_reserved_port: true,
        ..PlanOptions::default()
    };
    for (port, caution) in [
        (25, true),
        (1023, true),
        (209, true),
        (210, false),
        (1024, false),
        (2100, false),
    ] {
        let text = format!("z39.50r://lib.example:{port}/cat?x");
        let plan = planned(&text, &PlanOptions::default());
        let cautions = caution.then_some(Caution::ReservedPort(port));
        assert_eq!(plan.cautions, cautions.as_slice(), "{port}");
        assert_eq!(plan.refused_port(), caution.then_some(port));
        let plan = planned(&text, &allowed);
        assert_eq!(
            (plan.cautions.is_empty(), plan.refused_port()),
            (!caution, None)
        );
    }
}

#[test]
fn credentials_are_sent_on_consent_and_never_shown() {
    let text = "z39.50r://me:pw%25@lib.example/cat?x";
    let consent = PlanOptions {
        allow_url_credentials: true,
        ..PlanOptions::default()
    };
    let without = planned(text, &PlanOptions::default());
    assert_eq!(without.cautions, [Caution::Credentials { sent: false }]);
    assert_eq!(without.init_request().id_authentication, None);
    let with = planned(text, &consent);
    assert_eq!(with.cautions, [Caution::Credentials { sent: true }]);
    let id_pass = IdPass {
        group_id: None,
        user_id: Some("me".into()),
        password: Some("pw%".into()),
    };
    assert_eq!(
        with.init_request().id_authentication,
        Some(IdAuthentication::IdPass(id_pass))
    );
    for shown in [
        format!("{with:?}"),
        format!("{:?}", with.init_request()),
        format!("{:?}", with.warnings),
    ] {
        assert!(
            !shown.contains("pw%") && !shown.contains("\"me\""),
            "{shown}"
        );
    }
}
