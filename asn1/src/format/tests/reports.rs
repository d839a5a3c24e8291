//! Tests for diagnostics, and for reports on searches and resources.

use super::*;

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
