//! Tests of every diagnostic with which a query can be refused, and its additional information.

use z3950_asn1::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, ComplexAttribute, IntUnit, Operand,
    Operator, ResultSetId, ResultSetPlusAttributes, RpnQuery, RpnStructure, StringOrNumeric, Term,
    Unit,
};
use z3950_asn1::oid::{BIB_1, GILS};
use z3950_asn1::types::GeneralizedTime;

use super::{Catalogue, pqf};

#[test]
fn diagnostics_name_the_unsupported_feature() {
    let long = "x".repeat(8193);
    let words = "x ".repeat(257);
    Catalogue::small().check_refused(&[
        // 5, 11: too many words, or too many octets.
        (&format!("\"{words}\""), "5 256"),
        (&long, "11"),
        // 30: unknown result set.
        ("@set nosuch", "30 nosuch"),
        ("@and war @set nosuch", "30 nosuch"),
        // 113: unsupported attribute type.
        ("@attr 7=1 x", "113 7"),
        ("@attr 0=1 x", "113 0"),
        ("@attr 99=1 x", "113 99"),
        // 114: unsupported Use attribute.
        ("@attr 1=9999 x", "114 9999"),
        ("@attr 1=nosuch x", "114 nosuch"),
        ("@attr 1=15 x", "114 15"),
        ("@attr 1=0 x", "114 0"),
        ("@and war @or peace @attr 1=9999 x", "114 9999"),
        ("@and @attr 1=9998 x @attr 1=9999 x", "114 9998"),
        // 117: unsupported relation.
        ("@attr 2=100 x", "117 100"),
        ("@attr 2=101 x", "117 101"),
        ("@attr 2=102 x", "117 102"),
        ("@attr 2=104 x", "117 104"),
        ("@attr 2=0 x", "117 0"),
        ("@attr 1=1032 @attr 2=1 x", "117 1"),
        ("@attr 2=stem x", "117 stem"),
        // 118: structure that does not suit the kind of the index.
        ("@attr 1=1032 @attr 4=999 x", "118 999"),
        ("@attr 1=4 @attr 4=4 x", "118 4"),
        ("@attr 1=4 @attr 4=5 x", "118 5"),
        ("@attr 1=4 @attr 4=103 x", "118 103"),
        ("@attr 1=4 @attr 4=104 x", "118 104"),
        ("@attr 1=4 @attr 4=107 x", "118 107"),
        ("@attr 1=4 @attr 4=109 x", "118 109"),
        ("@attr 1=7 @attr 4=104 x", "118 104"),
        ("@attr 1=31 @attr 4=105 1999", "118 105"),
        // 119: unsupported position.
        ("@attr 3=0 x", "119 0"),
        ("@attr 3=4 x", "119 4"),
        // 120: unsupported truncation.
        ("@attr 1=1032 @attr 5=2 x", "120 2"),
        ("@attr 1=1032 @attr 5=102 x", "120 102"),
        ("@attr 5=4 x", "120 4"),
        ("@attr 5=103 x", "120 103"),
        // 121: unsupported attribute set, even for a term without attributes.
        ("@attrset gils x", "121 1.2.840.10003.3.5"),
        ("@attrset gils @attr 1=4 x", "121 1.2.840.10003.3.5"),
        ("@attr gils 1=4 x", "121 1.2.840.10003.3.5"),
        ("@attr exp1 1=1 x", "121 1.2.840.10003.3.2"),
        ("@attr 1.2.3 1=4 x", "121 1.2.3"),
        // 122: unsupported completeness.
        ("@attr 6=0 x", "122 0"),
        ("@attr 6=4 x", "122 4"),
        // 123: contradictory attributes, with the type of one of them.
        ("@attr 2=1 @attr 5=1 x", "123 2"),
        ("@attr 1=31 @attr 2=4 @attr 5=1 199", "123 2"),
        ("@attr 4=106 @attr 3=1 x", "123 4"),
        ("@attr 4=106 @attr 6=3 x", "123 4"),
        ("@attr 1=63 @attr 5=102 @attr 6=3 x", "123 5"),
        // 125: term without a word or number.
        ("\" / \"", "125  /"),
        ("\"\"", "125"),
        ("@attr 1=7 -", "125 -"),
        ("@attr 1=8 /", "125 /"),
        ("@attr 1=9 -", "125 -"),
        ("@attr 1=54 |", "125 |"),
        ("@attr 1=1211 -", "125 -"),
        ("@attr 1=7 @attr 5=1 -", "125 -"),
        ("@attr 5=101 #", "125 #"),
        ("@attr 5=104 ?", "125 ?"),
        ("@attr 5=102 (", "125 ("),
        ("@attr 1=54 @attr 5=102 (", "125 ("),
        ("@attr 2=1 /", "125 /"),
        // 126: term that does not fit its attributes.
        ("@attr 1=31 unknown", "126 unknown"),
        ("@attr 1=31 \"1998 or 1999\"", "126 1998 or 1999"),
        ("@attr 1=31 @attr 4=4 c1999", "126 c1999"),
        ("@attr 1=31 @attr 4=5 \"31 Jan 1999\"", "126 31 Jan 1999"),
        ("@attr 1=31 @attr 4=109 c1999", "126 c1999"),
        ("@attr 1=1016 @attr 2=1 \"two words\"", "126 two words"),
        (
            "@attr 1=4 @attr 4=2 @attr 2=1 \"two words\"",
            "126 two words",
        ),
        // 129, 131, 132, 201: unsupported proximity.
        ("@prox 0 1 1 2 k 2 @set s peace", "129 s"),
        ("@prox 0 1 1 2 k 2 @and war peace peace", "129"),
        ("@prox 0 1 1 0 k 2 war peace", "131 0"),
        ("@prox 0 1 1 7 k 2 war peace", "131 7"),
        ("@prox 0 1 1 2 k 1 war peace", "132 1"),
        ("@prox 0 1 1 2 k 3 war peace", "132 3"),
        ("@prox 0 1 1 2 k 8 war peace", "132 8"),
        ("@prox 0 1 1 2 p 2 war peace", "132 2"),
        (
            "@prox 0 1 1 2 k 2 @attr 1=4 war peace",
            "201 operands of different indexes",
        ),
        (
            "@prox 0 1 1 2 k 2 \"war worlds\" peace",
            "201 several words that are not a phrase",
        ),
        (
            "@prox 0 1 1 2 k 2 @attr 1=31 1999 @attr 1=31 1999",
            "201 a term that is not a word or phrase",
        ),
        (
            "@prox 0 1 1 2 k 2 @attr 2=6 war peace",
            "201 a term that is not a word or phrase",
        ),
        (
            "@prox 0 1 1 2 k 2 @prox 1 1 1 2 k 2 war of peace",
            "201 exclusion inside proximity",
        ),
        // 229: unsupported type of term.
        ("@term numeric 7", "229 numeric"),
        ("@attr 1=1032 @term numeric 7", "229 numeric"),
        ("@term null x", "229 null"),
    ]);
}

fn operand(attributes: Vec<AttributeElement>, term: Term) -> RpnQuery {
    RpnQuery {
        attribute_set: BIB_1,
        rpn: RpnStructure::Op(Operand::AttributesPlusTerm(AttributesPlusTerm {
            attributes,
            term,
        })),
    }
}

fn complex(list: &[StringOrNumeric]) -> AttributeElement {
    AttributeElement {
        attribute_set: None,
        attribute_type: 1,
        attribute_value: AttributeValue::Complex(Box::new(ComplexAttribute {
            list: list.to_vec(),
            semantic_action: None,
        })),
    }
}

#[test]
fn queries_beyond_pqf_are_answered() {
    let catalogue = Catalogue::small();
    let war = || Term::General("war".into());
    let title = StringOrNumeric::Numeric(4);
    let name = StringOrNumeric::String("title".into());
    let restricted = ResultSetPlusAttributes {
        result_set: ResultSetId::from("s"),
        attributes: vec![],
    };
    let restricted = RpnQuery {
        attribute_set: BIB_1,
        rpn: RpnStructure::Op(Operand::ResultAttr(Box::new(restricted))),
    };
    let mut backwards = pqf("@prox 0 1 1 2 k 2 war peace");
    if let RpnStructure::RpnRpnOp(node) = &mut backwards.rpn
        && let Operator::Prox(proximity) = &mut node.op
    {
        proximity.distance = -1;
    }
    let of_bib_1 = AttributeElement {
        attribute_set: Some(BIB_1),
        ..AttributeElement::numeric(1, 4)
    };
    let use_31 = || vec![AttributeElement::numeric(1, 31)];
    let unit = IntUnit {
        value: 7,
        unit_used: Unit::default(),
    };
    let time = |text: &str| Term::DateTime(GeneralizedTime::from(text));
    let docid = |octets: &[u8]| {
        operand(
            vec![AttributeElement::numeric(1, 1032)],
            Term::General(octets.to_vec().into()),
        )
    };
    for (query, expected) in [
        (
            operand(vec![complex(std::slice::from_ref(&title))], war()),
            Ok("a b e h"),
        ),
        (
            operand(vec![complex(std::slice::from_ref(&name))], war()),
            Ok("a b e h"),
        ),
        // Bib-1 does not allow complex attributes with several alternatives (or none); only other attribute sets do.
        (
            operand(vec![complex(&[title.clone(), title])], war()),
            Err("246"),
        ),
        (operand(vec![complex(&[])], war()), Err("246")),
        (
            operand(vec![], Term::IntegerAndUnit(Box::new(unit))),
            Err("229 integerAndUnit"),
        ),
        (operand(vec![], Term::Oid(BIB_1)), Err("229 oid")),
        (operand(vec![], time("1869")), Err("229 dateTime")),
        (operand(use_31(), time("1869")), Ok("a")),
        (operand(use_31(), time("18690101000000Z")), Ok("")),
        (operand(use_31(), Term::Null), Err("229 null")),
        (
            operand(vec![AttributeElement::numeric(-5, 1)], war()),
            Err("113 -5"),
        ),
        (
            operand(vec![AttributeElement::numeric(i64::MIN, 1)], war()),
            Err("113 -9223372036854775808"),
        ),
        (
            operand(vec![AttributeElement::numeric(i64::MAX, 1)], war()),
            Err("113 9223372036854775807"),
        ),
        (
            operand(vec![AttributeElement::numeric(1, i64::MIN)], war()),
            Err("114 -9223372036854775808"),
        ),
        (
            operand(
                vec![AttributeElement::numeric(1, 4)],
                Term::General(b"mis\xe9rables".to_vec().into()),
            ),
            Ok("f"),
        ),
        // An attribute may be repeated with the same value.
        (
            operand(
                vec![
                    AttributeElement::numeric(1, 4),
                    complex(&[StringOrNumeric::Numeric(4)]),
                ],
                war(),
            ),
            Ok("a b e h"),
        ),
        (
            operand(
                vec![
                    AttributeElement::numeric(1, 4),
                    AttributeElement::numeric(1, 1003),
                ],
                war(),
            ),
            Err("123 1"),
        ),
        (
            operand(
                vec![
                    AttributeElement::numeric(4, 1),
                    AttributeElement::numeric(4, 2),
                ],
                war(),
            ),
            Err("123 4"),
        ),
        (docid(b"a"), Ok("a")),
        (docid(b"a\xff"), Ok("")),
        // The attribute set of the query does not matter if each attribute names Bib-1 itself.
        (
            RpnQuery {
                attribute_set: GILS,
                ..operand(vec![of_bib_1], war())
            },
            Ok("a b e h"),
        ),
        (restricted, Err("245 s")),
        (backwards, Err("202 -1")),
    ] {
        let found = catalogue.answer(&query);
        assert_eq!(
            found.as_deref().map_err(String::as_str),
            expected,
            "{query:?}"
        );
    }
}

#[test]
fn too_many_operators_are_refused() {
    // The tree is balanced, so that it is not too deep to be decoded.
    let width = format!("{}war", "@or war ".repeat(100));
    let query = (0..199).fold(width.clone(), |query, _| format!("@or {width} {query}"));
    let catalogue = Catalogue::small();
    catalogue.check_refused(&[(&query, "6 20000")]);
}
