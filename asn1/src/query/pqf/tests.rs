//! Tests for parsing and printing PQF, with tables of queries and with generated queries of every kind.

use super::*;
use crate::query::MAX_QUERY_LENGTH;

/// Checks that `text` is parsed and then printed as `printed`, and that `printed` is parsed to the same query.
fn check(text: &str, printed: &str) {
    let query = parse(text).expect(text);
    assert_eq!(query.to_string(), printed, "{text}");
    assert_eq!(parse(printed).expect(printed), query, "{printed}");
}

#[test]
fn queries_are_read_and_printed() {
    check("war", "war");
    check("  \"war and peace\" ", "\"war and peace\"");
    check("{war and peace}", "\"war and peace\"");
    check("\"@and\"", "\"@and\"");
    check("\"\"", "\"\"");
    check("Müller", "Müller");
    check(r"M\xFCller", r"M\xFCller");
    check("@attr 1=4 war", "@attr 1=4 war");
    check(
        "@attr 4=104 @attr 1=1032 pg1342",
        "@attr 4=104 @attr 1=1032 pg1342",
    );
    check(
        "@attr 1=4 @and war peace",
        "@and @attr 1=4 war @attr 1=4 peace",
    );
    check("@and @attr 1=4 war peace", "@and @attr 1=4 war peace");
    check(
        "@attr 1=1016 @or @attr 1=4 a b",
        "@or @attr 1=4 a @attr 1=1016 b",
    );
    check("@not @or a b @and c d", "@not @or a b @and c d");
    check("@attrset gils @attr 1=4 x", "@attrset GILS @attr 1=4 x");
    check("@attrset 1.2.840.10003.3.1 x", "x");
    check("@attr gils 1=4 x", "@attr GILS 1=4 x");
    check("@attr 1=title x", "@attr 1=title x");
    check("@attr \"1=dc title\" x", "@attr \"1=dc title\" x");
    check(r"@attr 1=\x34 x", r"@attr 1=\x34 x");
    check(r"@attr 1=4\x34a x", "@attr 1=44a x");
    check("@1=4 x", "@attr 1=4 x");
    check("\"@1=4\"", r#""\x401=4""#);
    check("a\tb", r"a\x09b");
    check("@set 1", "@set 1");
    check("@and @set \"my set\" x", "@and @set \"my set\" x");
    check("@prox 0 1 1 2 k 2 a b", "@prox 0 1 1 2 known 2 a b");
    check(
        "@prox void 3 0 3 private 17 a b",
        "@prox void 3 0 3 private 17 a b",
    );
    check("@term numeric 5", "@term numeric 5");
    check(
        "@and @term string a @term general b",
        "@and @term string a @term general b",
    );
    check("@and @term string a b", "@and @term string a b");
    check("@term oid 1.2.840", "@term oid 1.2.840");
    check(
        "@term datetime 20260101120000",
        "@term datetime 20260101120000",
    );
    check("@term null x", "@term null \"\"");
}

#[test]
fn attributes_reach_the_wire_nearest_first() {
    let query = parse("@attr 1=4 @attr 5=1 @attr 1=7 @attr gils 2=3 @attr 6=1 x").expect("a query");
    let RpnStructure::Op(Operand::AttributesPlusTerm(operand)) = query.rpn else {
        panic!("an operand")
    };
    let gils = Oid::by_name("gils");
    let sent: Vec<_> = operand
        .attributes
        .iter()
        .map(|a| (a.attribute_set, a.attribute_type))
        .collect();
    assert_eq!(sent, [(gils, 6), (gils, 2), (None, 1), (None, 5)]);
    assert_eq!(
        operand.attributes.get(2),
        Some(&AttributeElement::numeric(1, 7))
    );
}

#[test]
fn faults_are_located() {
    for (text, message) in [
        ("", "a query is missing at octet 0 of the query"),
        ("  ", "a query is missing at octet 2 of the query"),
        (
            "a b",
            "\"b\" after the end of the query at octet 2 of the query",
        ),
        ("@and a", "an operand is missing at octet 6 of the query"),
        ("@attr", "an attribute is missing at octet 5 of the query"),
        (
            "@attr nothing 1=4 x",
            "attribute set \"nothing\" is not known at octet 6 of the query",
        ),
        (
            "@attr gils x",
            "\"x\" is not an attribute of the form type=value at octet 11 of the query",
        ),
        (
            "@attr x=4 y",
            "\"x=4\" is not an attribute of the form type=value at octet 6 of the query",
        ),
        (
            "@attr 1= y",
            "\"1=\" is not an attribute of the form type=value at octet 6 of the query",
        ),
        ("@attr 1=4", "a term is missing at octet 9 of the query"),
        (
            "@prox 2 1 1 2 k 2 a b",
            "\"2\" cannot be an argument of @prox here at octet 6 of the query",
        ),
        (
            "@prox 0 x 1 2 k 2 a b",
            "\"x\" is not a number at octet 8 of the query",
        ),
        (
            "@term money 5",
            "\"money\" is not a term type: general, numeric, string, oid, datetime or null at octet 6 of the query",
        ),
        (
            "@term numeric x",
            "\"x\" is not a term of the type that @term names at octet 14 of the query",
        ),
        (
            "@xor a b",
            "@xor is not a word of PQF at octet 0 of the query; quote it to search for it",
        ),
        (
            "@and a \"b",
            "a quote is not closed at octet 7 of the query",
        ),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), message, "{text}");
    }
    let error = parse("@and ü @attr 1 x").expect_err("no value");
    assert_eq!(
        error.pointed_out("@and ü @attr 1 x"),
        "@and ü @attr 1 x\n             ^\n"
    );
}

#[test]
fn at_the_limit_and_one_past_it() {
    let nested = |depth: usize| format!("{}{}x", "@and ".repeat(depth), "x ".repeat(depth));
    assert_eq!(
        parse(&nested(MAX_RPN_DEPTH))
            .expect("at the limit")
            .rpn
            .depth(),
        MAX_RPN_DEPTH
    );
    let error = parse(&nested(MAX_RPN_DEPTH + 1)).expect_err("past the limit");
    assert_eq!(
        error,
        QueryError {
            kind: QueryErrorKind::TooDeep(MAX_RPN_DEPTH),
            offset: 5 * MAX_RPN_DEPTH
        }
    );
    let attributes = |count: usize| format!("{}x", "@attr 1=4 ".repeat(count));
    assert!(parse(&attributes(MAX_ATTRIBUTES)).is_ok());
    assert_eq!(
        parse(&attributes(MAX_ATTRIBUTES + 1)).map_err(|error| error.kind),
        Err(QueryErrorKind::TooManyAttributes(MAX_ATTRIBUTES))
    );
    let spread = |terms: usize| {
        let name = "n".repeat(MAX_SPREAD / 64 - 16);
        let depth = terms - 1;
        format!(
            "@attr 1={name} {}x{}",
            "@and ".repeat(depth),
            " x".repeat(depth)
        )
    };
    assert!(parse(&spread(64)).is_ok());
    assert_eq!(
        parse(&spread(65)).map_err(|error| error.kind),
        Err(QueryErrorKind::TooMuchRepeated(MAX_SPREAD))
    );
    assert!(parse(&"x".repeat(MAX_QUERY_LENGTH)).is_ok());
    assert!(parse(&"x".repeat(MAX_QUERY_LENGTH + 1)).is_err());
}

/// Generates queries of every kind that the types allow.
mod arbitrary {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::apdu::ResultSetPlusAttributes;
    use crate::oid::GILS;

    fn octets() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            "[ -~é\\t\\n]{0,6}".prop_map(String::into_bytes),
            "[0-9@\"{}=\\\\ x]{0,4}".prop_map(String::into_bytes),
            vec(any::<u8>(), 0..5),
        ]
    }

    fn set() -> impl Strategy<Value = Oid> {
        prop_oneof![
            Just(BIB_1),
            Just(GILS),
            Just(Oid::z3950(&[5, 10])),
            Just(Oid::z3950(&[3, 99])),
        ]
    }

    fn name() -> impl Strategy<Value = StringOrNumeric> {
        prop_oneof![
            4 => octets().prop_map(|name| StringOrNumeric::String(name.as_slice().into())),
            1 => any::<i64>().prop_map(StringOrNumeric::Numeric),
        ]
    }

    fn attribute() -> impl Strategy<Value = AttributeElement> {
        let complex = (
            vec(name(), 1..3),
            proptest::option::weighted(0.1, vec(any::<i64>(), 0..2)),
        )
            .prop_map(|(list, semantic_action)| {
                AttributeValue::Complex(Box::new(crate::apdu::ComplexAttribute {
                    list,
                    semantic_action,
                }))
            });
        let value = prop_oneof![
            (-2i64..9999).prop_map(AttributeValue::Numeric),
            any::<i64>().prop_map(AttributeValue::Numeric),
            complex,
        ];
        (proptest::option::weighted(0.2, set()), -1i64..12, value).prop_map(
            |(attribute_set, attribute_type, attribute_value)| AttributeElement {
                attribute_set,
                attribute_type,
                attribute_value,
            },
        )
    }

    fn term() -> impl Strategy<Value = Term> {
        prop_oneof![
            3 => octets().prop_map(|term| Term::General(term.into())),
            1 => any::<i64>().prop_map(Term::Numeric),
            1 => octets().prop_map(|term| Term::CharacterString(term.as_slice().into())),
            1 => set().prop_map(Term::Oid),
            1 => octets().prop_map(|term| Term::DateTime(term.as_slice().into())),
            1 => Just(Term::Null),
        ]
    }

    fn operand() -> impl Strategy<Value = Operand> {
        let attributes = || vec(attribute(), 0..4);
        prop_oneof![
            8 => (attributes(), term()).prop_map(|(attributes, term)| {
                Operand::AttributesPlusTerm(AttributesPlusTerm { attributes, term })
            }),
            2 => octets().prop_map(|name| Operand::ResultSet(name.as_slice().into())),
            1 => (attributes(), octets()).prop_map(|(attributes, name)| {
                Operand::ResultAttr(Box::new(ResultSetPlusAttributes {
                    result_set: name.as_slice().into(),
                    attributes,
                }))
            }),
        ]
    }

    fn operator() -> impl Strategy<Value = Operator> {
        let unit = prop_oneof![
            (-1i64..20).prop_map(|unit| ProximityUnitCode::Known(KnownProximityUnit(unit))),
            any::<i64>().prop_map(ProximityUnitCode::Private),
        ];
        let proximity = (
            any::<Option<bool>>(),
            -1i64..20,
            any::<bool>(),
            0i64..8,
            unit,
        );
        prop_oneof![
            Just(Operator::And),
            Just(Operator::Or),
            Just(Operator::AndNot),
            proximity.prop_map(|(exclusion, distance, ordered, relation, unit)| {
                Operator::Prox(Box::new(ProximityOperator {
                    exclusion,
                    distance,
                    ordered,
                    relation_type: RelationType(relation),
                    proximity_unit_code: unit,
                }))
            }),
        ]
    }

    fn query() -> impl Strategy<Value = RpnQuery> {
        let tree = operand()
            .prop_map(RpnStructure::Op)
            .prop_recursive(4, 12, 2, |tree| {
                (tree.clone(), tree, operator())
                    .prop_map(|(rpn1, rpn2, op)| RpnStructure::combined(rpn1, op, rpn2))
            });
        (set(), tree).prop_map(|(attribute_set, rpn)| RpnQuery { attribute_set, rpn })
    }

    /// Returns whether PQF can express the complete query; the documentation of `print` lists the parts that it cannot
    /// express.
    fn can_be_said(tree: &RpnStructure) -> bool {
        match tree {
            RpnStructure::RpnRpnOp(node) => {
                let operator = match &node.op {
                    Operator::Prox(proximity) => {
                        let unit = match proximity.proximity_unit_code {
                            ProximityUnitCode::Known(unit) => unit.0,
                            ProximityUnitCode::Private(unit) => unit,
                        };
                        proximity.distance >= 0 && unit >= 0
                    }
                    _ => true,
                };
                operator && can_be_said(&node.rpn1) && can_be_said(&node.rpn2)
            }
            RpnStructure::Op(Operand::ResultSet(_)) => true,
            RpnStructure::Op(Operand::ResultAttr(_)) => false,
            RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => {
                let mut types: Vec<i64> = operand
                    .attributes
                    .iter()
                    .map(|a| a.attribute_type)
                    .collect();
                types.sort_unstable();
                types.dedup();
                types.len() == operand.attributes.len()
                    && operand.attributes.iter().all(|attribute| {
                        attribute.attribute_type >= 0
                            && match &attribute.attribute_value {
                                AttributeValue::Numeric(value) => *value >= 0,
                                AttributeValue::Complex(complex) => {
                                    complex.semantic_action.is_none()
                                        && matches!(
                                            complex.list.as_slice(),
                                            [StringOrNumeric::String(name)] if !name.as_bytes().is_empty()
                                        )
                                }
                            }
                    })
            }
        }
    }

    /// Returns the query with explicit attribute sets in those attributes where PQF has to name the set.
    fn with_sets_said(mut query: RpnQuery) -> RpnQuery {
        let default_set = query.attribute_set;
        let mut rest = vec![&mut query.rpn];
        while let Some(tree) = rest.pop() {
            match tree {
                RpnStructure::RpnRpnOp(node) => rest.extend([&mut node.rpn1, &mut node.rpn2]),
                RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => {
                    let mut is_named = false;
                    for attribute in operand.attributes.iter_mut().rev() {
                        is_named |= attribute.attribute_set.is_some();
                        if is_named {
                            attribute.attribute_set.get_or_insert(default_set);
                        }
                    }
                }
                RpnStructure::Op(_) => {}
            }
        }
        query
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn printed_queries_read_back_as_the_same_or_are_refused(query in query()) {
            let printed = query.to_string();
            if can_be_said(&query.rpn) {
                prop_assert_eq!(parse(&printed), Ok(with_sets_said(query)), "{}", printed);
            } else {
                prop_assert!(parse(&printed).is_err(), "{}", printed);
            }
        }
    }
}
