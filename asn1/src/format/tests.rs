//! Tests for the formats: round trips of octets from yaz-client and yaz-ztest 5.34, and of values whose octets libyaz
//! decodes and encodes without change. The contents and the redaction of values are tested too.

mod reports;

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
use crate::codec::{decode, decode_value, encode_value, octets_of_hex};
use crate::describe::Describe;
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

/// Tests the request that yaz-client 5.34 sends after `negcharset utf-8,iso-8859-1 1`, and the response of yaz-ztest.
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

/// Tests the response of yaz-ztest to yaz-client's request for facets.
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
