//! Round trips of the formats: octets of yaz-client and yaz-ztest 5.34, and values whose octets libyaz decodes and
//! encodes alike; what is found in them, and what is redacted.

use std::fmt::Debug;

use serde_json::json;

use super::charset_negotiation::*;
use super::{
    diag1, espec1, facets, prompt1, resource_report1, resource_report2, search_result1, user_info1,
};
use crate::apdu::{
    Apdu, AttributeElement, AttributeList, DefaultDiagFormat, DiagRec, ElementSpec, External,
    ExternalError, ExternalValue, IntUnit, OtherInformation, Query, SortElement, SortKey,
    Specification, StringOrNumeric, Term, Unit,
};
use crate::codec::{decode, decode_value, encode_value};
use crate::describe::Describe;
use crate::hex::octets_of_hex;
use crate::oid;
use crate::query::parse_pqf;
use crate::record::grs1::{Triple, TripleValue, Variant};

fn check<T>(hex: &str, value: &T)
where
    T: ExternalValue + Debug + PartialEq + Describe,
{
    let octets = encode_value(value).expect("encodes");
    assert_eq!(octets, octets_of_hex(hex), "{value:?}");
    assert_eq!(decode_value::<T>(&octets).as_ref(), Ok(value));
    let external = value.to_external().expect("encodes");
    assert_eq!(T::from_external(&external).as_ref(), Ok(value));
    let as_octets = External::octet_aligned(T::SYNTAX, octets);
    assert_eq!(T::from_external(&as_octets).as_ref(), Ok(value));
}

fn numeric(attribute_type: i64, value: i64) -> AttributeElement {
    AttributeElement::numeric(attribute_type, value)
}

fn attributes() -> AttributeList {
    AttributeList(vec![numeric(1, 4)])
}

fn term(text: &str) -> Term {
    Term::General(text.into())
}

/// What yaz-client 5.34 sends after `negcharset utf-8,iso-8859-1 1`, and what yaz-ztest answers.
#[test]
fn negotiation_of_character_sets() {
    let proposal = "bf81493c303aa43806072a8648ce130f03a02da12ba126a208820628d316010008a31aa218060a2a8648ce130f8768510181\
                    0a69736f2d383835392d318301 ff";
    let response = "bf81493230 30a42e06072a8648ce130f03a023a221a11ca31aa218060a2a8648ce130f87685101810a49534f2d383835392d31\
                    830100";
    let information: OtherInformation = decode_value(&octets_of_hex(proposal)).expect("decodes");
    let proposed = OriginProposal::named(&["UTF-8", "iso-8859-1"], &[], true);
    let expected = CharSetandLanguageNegotiation::Proposal(proposed.clone());
    assert_eq!(information.value(), Some(expected.clone()));
    let names: Vec<_> = proposed
        .proposed_char_sets
        .iter()
        .flatten()
        .map(|set| set.name())
        .collect();
    assert_eq!(names, [Some("utf-8".into()), Some("iso-8859-1".into())]);
    let mut again = OtherInformation::default();
    again.put_value(&expected).expect("encodes");
    assert_eq!(encode_value(&again), Ok(octets_of_hex(proposal)));

    let information: OtherInformation = decode_value(&octets_of_hex(response)).expect("decodes");
    let selected = TargetResponse {
        selected_char_sets: Some(SelectedCharSet::named("ISO-8859-1")),
        selected_language: None,
        records_in_selected_char_sets: Some(false),
    };
    assert_eq!(
        selected
            .selected_char_sets
            .as_ref()
            .and_then(|set| set.name()),
        Some("ISO-8859-1".into())
    );
    assert_eq!(
        information.value(),
        Some(CharSetandLanguageNegotiation::Response(selected))
    );
    assert_eq!(information.value::<facets::FacetList>(), None);
}

#[test]
fn character_sets_of_other_kinds() {
    let left_and_right = LeftAndRight {
        g_left: GraphicSet::G0,
        g_right: Some(GraphicSet::G1),
    };
    let initial = InitialSet {
        g0: Some(2),
        g1: Some(100),
        c0: 1,
        ..InitialSet::default()
    };
    check(
        "a143a135a123a121a0028200a106020102020164a20b3009800102810164840101a306830100840101a30ea10c060a2a \
         8648ce130f87685101a20a1b03656e671b03676572",
        &CharSetandLanguageNegotiation::Proposal(OriginProposal {
            proposed_char_sets: Some(vec![
                ProposedCharSet::Iso2022(Iso2022::OriginProposal(Iso2022Proposal {
                    proposed_environment: Some(Environment::EightBit),
                    proposed_sets: vec![2, 100],
                    proposed_initial_sets: vec![initial.clone()],
                    proposed_left_and_right: left_and_right.clone(),
                })),
                ProposedCharSet::Private(PrivateCharacterSet::ViaOid(vec![oid::CHARSET_ID])),
            ]),
            proposedlanguages: Some(vec!["eng".into(), "ger".into()]),
            records_in_selected_char_sets: None,
        }),
    );
    check(
        "a22aa120a11ea21ca0028100a103020102a209800102810164840101a3068301008401018203656e678301ff",
        &CharSetandLanguageNegotiation::Response(TargetResponse {
            selected_char_sets: Some(SelectedCharSet::Iso2022(Iso2022::TargetResponse(
                Iso2022Response {
                    selected_environment: Environment::SevenBit,
                    selected_sets: vec![2],
                    selectedinitial_set: initial,
                    selected_left_and_right: left_and_right,
                },
            ))),
            selected_language: Some("eng".into()),
            records_in_selected_char_sets: Some(true),
        }),
    );
    check(
        "a204a1028400",
        &CharSetandLanguageNegotiation::Response(TargetResponse {
            selected_char_sets: Some(SelectedCharSet::None),
            ..TargetResponse::default()
        }),
    );
    check(
        "a206a104a3028300",
        &CharSetandLanguageNegotiation::Response(TargetResponse {
            selected_char_sets: Some(SelectedCharSet::Private(
                PrivateCharacterSet::PreviouslyAgreedUpon,
            )),
            ..TargetResponse::default()
        }),
    );
    assert_eq!(Iso10646::utf_8().and_then(|set| set.name()), Some("utf-8"));
}

/// The answer of yaz-ztest to a request of yaz-client for facets.
#[test]
fn facets_as_peers_send_them() {
    let response = "b780970103980100990101960101bf814b7d307ba479060a2a8648ce130a87685105a06b30693067a11d30089f7801039f790105\
                    30119f780101bf816009a10781057469746c65a246300c9f2d067469746c6530020164300c9f2d067469746c653102015a300c\
                    9f2d067469746c6532020150300c9f2d067469746c6533020146300c9f2d067469746c653402013c0000";
    let Apdu::SearchResponse(response) = decode(&octets_of_hex(response)).expect("decodes") else {
        panic!("a search response")
    };
    let list: facets::FacetList = response
        .additional_search_info
        .expect("facets")
        .value()
        .expect("facets");
    let field = list.0.first().expect("a field");
    assert_eq!(field.field(), Some(StringOrNumeric::String("title".into())));
    assert_eq!(
        (field.limit(), field.start(), field.by_term()),
        (Some(5), None, false)
    );
    let terms = field.terms.as_deref().unwrap_or_default();
    let first = facets::FacetTerm {
        term: term("title0"),
        count: 100,
    };
    assert_eq!((terms.len(), terms.first()), (5, Some(&first)));
    check(
        "3054301fa11d30119f780101bf816009a10781057469746c6530089f7801039f7901053031a11f30099f7801019f7902 \
         03eb30089f7801029f79010130089f7801049f790103a20e300c9f2d067469746c6530020164",
        &facets::FacetList(vec![
            facets::FacetField::request("title", 5),
            facets::FacetField {
                attributes: AttributeList(vec![numeric(1, 1003), numeric(2, 1), numeric(4, 3)]),
                terms: Some(vec![first]),
            },
        ]),
    );
}

#[test]
fn diagnostics_with_details() {
    let default = DefaultDiagFormat::bib1(1014, "joe");
    let external = user_info1::UserInfo1::diagnostic(default.clone()).expect("encodes");
    let information = user_info1::UserInfo1::from_external(&external)
        .expect("userInfo-1")
        .0;
    let diagnostics: diag1::DiagnosticFormat = information.value().expect("diag-1");
    assert_eq!(
        diagnostics.default_diagnostics().collect::<Vec<_>>(),
        [&default]
    );
    check(
        "bf8149293027a42506072a8648ce130402a01a30183016a114a11206072a8648ce130401020203f61a036a6f65",
        &user_info1::UserInfo1(information),
    );

    let spec = || Specification {
        schema: None.into(),
        element_spec: Some(ElementSpec::ElementSetName("X".into())),
    };
    use diag1::DiagFormat as Format;
    let conditions = vec![
        Format::TooMany(diag1::TooMany {
            too_many_what: diag1::TooManyWhat::RECORDS_RETRIEVED,
            max: Some(1000),
        }),
        Format::BadSpec(diag1::BadSpec {
            spec: spec(),
            db: Some("books".into()),
            good_ones: Some(vec![spec()]),
        }),
        Format::DbUnavail(diag1::DbUnavail {
            db: "books".into(),
            why: diag1::UnavailableReason {
                reason_code: Some(diag1::UnavailableReasonCode::LOCKED),
                message: None,
            },
        }),
        Format::UnSupOp(diag1::UnsupportedOperator::PROX),
        Format::Attribute(diag1::UnsupportedAttribute {
            id: oid::BIB_1,
            r#type: Some(1),
            value: Some(9999),
            term: Some(term("x")),
        }),
        Format::AttCombo(diag1::AttributeCombination {
            unsupported_combination: attributes(),
            recommended_alternatives: Some(vec![attributes()]),
        }),
        Format::Term(diag1::BadTerm {
            problem: Some(diag1::TermProblem::TOO_SHORT),
            term: term("x"),
        }),
        Format::Proximity(diag1::Proximity::ResultSets),
        Format::Proximity(diag1::Proximity::BadSet("9".into())),
        Format::Proximity(diag1::Proximity::Attributes(attributes())),
        Format::Scan(diag1::Scan::SpecifiedStepSize),
        Format::Scan(diag1::Scan::TermList2(vec![attributes()])),
        Format::Scan(diag1::Scan::PosInResponse(
            diag1::PositionInResponse::MUST_BE_ONE,
        )),
        Format::Sort(diag1::Sort::TooMany(1)),
        Format::Sort(diag1::Sort::SortElement(Box::new(SortElement::Generic(
            SortKey::SortField("date".into()),
        )))),
        Format::Sort(diag1::Sort::InputTooLarge(vec!["1".into()])),
        Format::Segmentation(diag1::Segmentation::SegmentSize(4096)),
        Format::ExtServices(diag1::ExtServices::Req(diag1::BadTask::NAME_IN_USE)),
        Format::AccessCtrl(diag1::AccessCtrl::Alternative(vec![oid::PROMPT_1])),
        Format::AccessCtrl(diag1::AccessCtrl::PwdExp),
        Format::RecordSyntax(diag1::RecordSyntax {
            unsupported_syntax: oid::HTML,
            suggested_alternatives: Some(vec![oid::XML]),
        }),
    ];
    let units = conditions
        .into_iter()
        .map(|condition| diag1::DiagnosticUnit {
            diagnostic: Some(diag1::Diagnostic::ExplicitDiagnostic(Box::new(condition))),
            message: None,
        });
    let message = diag1::DiagnosticUnit {
        diagnostic: None,
        message: Some("closed".into()),
    };
    let format = diag1::DiagnosticFormat(units.chain([message]).collect());
    check(
        "308201a5300fa10da20bbf876807810106820203e8301fa11da21bbf876917a105a2038101588205626f6f6b73a30730 \
         05a2038101583014a112a210bf876a0c8105626f6f6b73a2038101023009a107a2059f876b0103301ea11ca21abf876c \
         1681072a8648ce1303018201018302270fa4049f2d01783023a121a21fbf876d1ba10a30089f7801019f790104a20dbf \
         2c0a30089f7801019f7901043011a10fa20dbf876e09810103a2049f2d0178300aa108a206bf876f028100300ba109a2 \
         07bf876f038201393017a115a213bf876f0fa60dbf2c0a30089f7801019f790104300aa108a206bf87700281003017a1 \
         15a213bf87700fa40dbf2c0a30089f7801019f790104300ba109a207bf877003850101300ba109a207bf877103820101 \
         3012a110a20ebf87710aa608a106800464617465300da10ba209bf877105aa031b0131300ca10aa208bf877204810210 \
         00300ba109a207bf8773038101013013a111a20fbf87740ba50906072a8648ce130801300aa108a206bf877402870030 \
         1ea11ca21abf87751681082a8648ce13056d03a20a06082a8648ce13056d0a30088206636c6f736564",
        &format,
    );
    let shown = DiagRec::ExternallyDefined(format.to_external().expect("encodes"))
        .describe()
        .to_json();
    assert_eq!(
        shown.pointer("/0/diagnostic/explicitDiagnostic/tooMany"),
        Some(&json!({"tooManyWhat": "recordsRetrieved", "max": 1000}))
    );
    assert_eq!(
        DiagRec::DefaultFormat(default)
            .describe()
            .to_json()
            .pointer("/addinfo"),
        Some(&json!("joe"))
    );
}

#[test]
fn reports_on_a_search() {
    let whole = search_result1::SubqueryReport {
        subquery_id: Some("0".into()),
        full_query: true,
        subquery_interpretation: Some(search_result1::QueryExpression::Query(Box::new(
            Query::Type1(parse_pqf("@attr 1=4 x").expect("a query")),
        ))),
        results_by_db: Some(vec![
            search_result1::ResultsByDb {
                databases: search_result1::Databases::List(vec!["books".into()]),
                count: Some(3),
                result_set_name: Some("s".into()),
            },
            search_result1::ResultsByDb {
                databases: search_result1::Databases::All,
                count: None,
                result_set_name: None,
            },
        ]),
        subquery_weight: Some(IntUnit {
            value: 2,
            unit_used: Unit::default(),
        }),
        ..Default::default()
    };
    let part = search_result1::SubqueryReport::of_term(term("x"), 3);
    let report = search_result1::SearchInfoReport(vec![whole, part]);
    check(
        "3062304e8101308201ffa423a221a11f06072a8648ce130301a014bf6611bf2c0a30089f7801019f7901049f2d0178a7 \
         05810102a200a81a3012a10aa2089f6905626f6f6b738201038301733004a10281003010820100a308a106a1049f2d01 \
         78860103",
        &report,
    );
    let json = report.describe().to_json();
    assert_eq!(
        json.pointer("/0/subqueryInterpretation/query/type-1"),
        Some(&json!("@attr 1=4 x"))
    );
    assert_eq!(
        json.pointer("/1/subqueryExpression/term/queryTerm"),
        Some(&json!("x"))
    );
}

#[test]
fn reports_on_resources() {
    let report = resource_report1::ResourceReport {
        estimates: vec![resource_report1::Estimate {
            r#type: resource_report1::EstimateType::FINAL_OPERATION_COST,
            value: 250,
            currency_code: Some(978),
        }],
        message: "dear".into(),
    };
    check("3015a10d300b810109820200fa830203d2820464656172", &report);
    assert_eq!(
        report.describe().to_text(),
        "Estimates:\n  Type: finalOperationCost\n  Value: 250\n  Currency code: 978\nMessage: dear\n"
    );
    let currency = Unit {
        unit_system: Some("z3950".into()),
        unit_type: Some(StringOrNumeric::String("iso4217-1990".into())),
        unit: Some(StringOrNumeric::Numeric(978)),
        scale_factor: Some(-2),
    };
    check(
        "3033a131302fa103820109a228810200faa222a1071b057a33393530a20e810c69736f343231372d31393930a3048202 \
         03d28401fe",
        &resource_report2::ResourceReport {
            estimates: Some(vec![resource_report2::Estimate {
                r#type: StringOrNumeric::Numeric(9),
                value: IntUnit {
                    value: 250,
                    unit_used: currency,
                },
            }]),
            message: None,
        },
    );
}

#[test]
fn prompts_and_answers() {
    check(
        "a1583007a105a103810101304da1088206436f6c6f75728203726564a30ea20c820473616c7483046461746184065b61 \
         2d7a5d2a8500a60b1b037265641b04626c75658700880104a91006082a8648ce13056d0a81043c612f3e",
        &prompt1::PromptObject::Challenge(vec![
            prompt1::Prompt::enumerated(prompt1::PromptType::USER_ID),
            prompt1::Prompt {
                prompt_id: prompt1::PromptId::NonEnumeratedPrompt("Colour".into()),
                default_response: Some("red".into()),
                prompt_info: Some(prompt1::PromptInfo::Encrypted(prompt1::Encryption {
                    crypt_type: None,
                    credential: Some("salt".into()),
                    data: "data".into(),
                })),
                reg_expr: Some("[a-z]*".into()),
                response_required: Some(()),
                allowed_values: Some(vec!["red".into(), "blue".into()]),
                should_save: Some(()),
                data_type: Some(prompt1::DataType::ALPHA_NUMERIC),
                diagnostic: Some(External::octet_aligned(oid::XML, "<a/>")),
            },
        ]),
    );
    let answer = |r#type, prompt_response| prompt1::Answer {
        prompt_id: prompt1::PromptId::enumerated(r#type),
        prompt_response,
    };
    let diagnostic = DiagRec::DefaultFormat(DefaultDiagFormat::bib1(1, ""));
    use prompt1::{PromptResponse as Response, PromptType};
    let answers = prompt1::PromptObject::Response(vec![
        answer(PromptType::PASSWORD, Response::String("sesame".into())),
        answer(PromptType::COPYRIGHT, Response::Accept(true)),
        answer(PromptType::SESSION_ID, Response::Acknowledge),
        answer(
            PromptType::GROUP_ID,
            Response::Diagnostic(Box::new(diagnostic)),
        ),
    ]);
    check(
        "a24b3011a105a103810102a2088106736573616d65300ca105a103810104a2038201ff300ba105a103810105a2028300 \
         301ba105a103810100a212a410300e06072a8648ce1304010201011a00",
        &answers,
    );
    let shown = [
        format!("{answers:?}"),
        answers.describe().to_text(),
        answers.describe().to_json().to_string(),
    ];
    assert!(
        shown
            .iter()
            .all(|text| !text.contains("sesame") && text.contains("<redacted>"))
    );
}

#[test]
fn elements_wanted() {
    let variant = || Variant {
        global_variant_set_id: Some(oid::VARIANT_1),
        triples: vec![Triple {
            variant_set_id: None,
            class: 2,
            r#type: 1,
            value: TripleValue::Null,
        }],
    };
    let step = |value: i64, occurrence| {
        espec1::TagStep::SpecificTag(espec1::SpecificTag {
            tag_type: Some(2),
            tag_value: StringOrNumeric::Numeric(value),
            occurrence,
        })
    };
    let range = espec1::Occurrences::Values(espec1::OccurrenceRange {
        start: 5,
        how_many: Some(6),
    });
    let simple = espec1::SimpleElement {
        path: vec![
            espec1::TagStep::WildPath,
            step(1, Some(espec1::Occurrences::All)),
            espec1::TagStep::WildThing(range),
            step(2, Some(espec1::Occurrences::Last)),
        ],
        variant_request: Some(variant()),
    };
    let composite = |element_list| {
        espec1::ElementRequest::CompositeElement(espec1::CompositeElement {
            element_list,
            delivery_tag: vec![step(3, None)],
            variant_request: None,
        })
    };
    check(
        "3081dea1031b014282072a8648ce130c01a31781072a8648ce130c01a20c300a810102820101a3020500840102a581b1 \
         a143a1288300a10c810102a203820101a3028100a208a306810105820106a10c810102a203820102a3028200a2178107 \
         2a8648ce130c01a20c300a810102820101a3020500a213a105a1031b0142a20aa108810102a203820103a255a147a245 \
         3043a1288300a10c810102a203820101a3028100a208a306810105820106a10c810102a203820102a3028200a2178107 \
         2a8648ce130c01a20c300a810102820101a3020500a20aa108810102a203820103",
        &espec1::Espec1 {
            element_set_names: Some(vec!["B".into()]),
            default_variant_set_id: Some(oid::VARIANT_1),
            default_variant_request: Some(variant()),
            default_tag_type: Some(2),
            elements: Some(vec![
                espec1::ElementRequest::SimpleElement(simple.clone()),
                composite(espec1::ElementList::Primitives(vec!["B".into()])),
                composite(espec1::ElementList::Specs(vec![simple])),
            ]),
        },
    );
}

#[test]
fn another_syntax_and_a_malformed_value_are_different_errors() {
    let refused =
        |external: &External| facets::FacetList::from_external(external).expect_err("no facets");
    let marc = External::octet_aligned(oid::USMARC, "x");
    let expected = ExternalError::Syntax {
        expected: oid::FACET_1,
        found: Some(oid::USMARC),
    };
    assert_eq!(refused(&marc), expected);
    assert_eq!(
        expected.to_string(),
        "no value of syntax 1.2.840.10003.10.1000.81.5 (facet-1)"
    );
    let malformed = External::octet_aligned(oid::FACET_1, "x");
    assert!(matches!(refused(&malformed), ExternalError::Value(_)));
}
