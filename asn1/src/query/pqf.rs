//! PQF, the prefix query format in which the field writes RPN queries (Z39.50-2003 §3.7), as YAZ reads it:
//! `[@attrset SET] QUERY`, where QUERY is `@and|@or|@not QUERY QUERY`, `@prox … QUERY QUERY`,
//! `@attr [SET] TYPE=VALUE QUERY`, `@term TYPE QUERY`, `@set NAME` or a term.

use std::str::FromStr;

use super::lexer::{Lexer, Token, unescape};
use super::{MAX_QUERY_LENGTH, QueryError, QueryErrorKind};
use crate::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, ComplexAttribute, KnownProximityUnit,
    MAX_RPN_DEPTH, Operand, Operator, ProximityOperator, ProximityUnitCode, RelationType,
    ResultSetId, RpnQuery, RpnRpnOp, RpnStructure, StringOrNumeric, Term,
};
use crate::oid::{BIB_1, Oid};
use crate::types::{GeneralizedTime, InternationalString};

impl FromStr for RpnQuery {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        parse(text)
    }
}

/// Reads a PQF text. The attribute set is Bib-1 unless `@attrset` names another.
///
/// An attribute applies to every operand behind it in its branch; on the wire the nearest stands first, and
/// an outer one of the same type is left out. `@term` holds for all terms behind it.
///
/// # Errors
/// The kind of fault and the octet at which it stands.
pub fn parse(text: &str) -> Result<RpnQuery, QueryError> {
    if text.len() > MAX_QUERY_LENGTH {
        return Err(QueryError {
            kind: QueryErrorKind::TooLong(MAX_QUERY_LENGTH),
            offset: MAX_QUERY_LENGTH,
        });
    }
    let mut parser = Parser {
        lexer: Lexer::new(text),
        attributes: Vec::new(),
        term_type: TermType::General,
    };
    let mut token = parser.lexer.expect("a query")?;
    let mut attribute_set = BIB_1;
    if word(&token) == Some("@attrset") {
        attribute_set = parser.attribute_set()?;
        token = parser.lexer.expect("a query")?;
    }
    let rpn = parser.tree(token)?;
    match parser.lexer.next()? {
        None => Ok(RpnQuery { attribute_set, rpn }),
        Some(extra) => refuse(&extra, QueryErrorKind::ExtraToken),
    }
}

/// An operator whose operands are not all read.
struct Open {
    op: Operator,
    rpn1: Option<RpnStructure>,
    /// How many attributes apply to both operands.
    attributes: usize,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// Those that apply here, in the order written.
    attributes: Vec<AttributeElement>,
    term_type: TermType,
}

impl<'a> Parser<'a> {
    fn tree(&mut self, first: Token<'a>) -> Result<RpnStructure, QueryError> {
        let mut open: Vec<Open> = Vec::new();
        let mut token = first;
        loop {
            let operator = match word(&token) {
                Some("@attr") => {
                    self.attribute()?;
                    token = self.lexer.expect("a term")?;
                    continue;
                }
                Some("@term") => {
                    self.term_type = self.term_type()?;
                    token = self.lexer.expect("a term")?;
                    continue;
                }
                Some("@and") => Operator::And,
                Some("@or") => Operator::Or,
                Some("@not") => Operator::AndNot,
                Some("@prox") => Operator::Prox(Box::new(self.proximity()?)),
                other => {
                    let mut tree = RpnStructure::Op(self.operand(&token, other)?);
                    loop {
                        let Some(mut node) = open.pop() else {
                            return Ok(tree);
                        };
                        let Some(rpn1) = node.rpn1.take() else {
                            self.attributes.truncate(node.attributes);
                            open.push(Open {
                                rpn1: Some(tree),
                                ..node
                            });
                            break;
                        };
                        tree = RpnStructure::RpnRpnOp(Box::new(RpnRpnOp {
                            rpn1,
                            rpn2: tree,
                            op: node.op,
                        }));
                    }
                    token = self.lexer.expect("an operand")?;
                    continue;
                }
            };
            if open.len() == MAX_RPN_DEPTH {
                return Err(QueryError {
                    kind: QueryErrorKind::TooDeep(MAX_RPN_DEPTH),
                    offset: token.offset,
                });
            }
            open.push(Open {
                op: operator,
                rpn1: None,
                attributes: self.attributes.len(),
            });
            token = self.lexer.expect("an operand")?;
        }
    }

    fn operand(&mut self, token: &Token<'_>, word: Option<&str>) -> Result<Operand, QueryError> {
        match word {
            Some("@set") => {
                let name = self.lexer.expect("the name of a result set")?.unescaped();
                Ok(Operand::ResultSet(ResultSetId::from(name.as_slice())))
            }
            Some("@attrset") => refuse(token, QueryErrorKind::UnknownWord),
            Some(word)
                if word.len() > 1
                    && word
                        .bytes()
                        .skip(1)
                        .all(|octet| octet.is_ascii_alphabetic()) =>
            {
                refuse(token, QueryErrorKind::UnknownWord)
            }
            _ => {
                let term = self.term_type.term(token)?;
                Ok(Operand::AttributesPlusTerm(AttributesPlusTerm {
                    attributes: self.wire_order(),
                    term,
                }))
            }
        }
    }

    /// Nearest first, one of each type.
    fn wire_order(&self) -> Vec<AttributeElement> {
        let mut attributes: Vec<AttributeElement> = Vec::new();
        for attribute in self.attributes.iter().rev() {
            if attributes
                .iter()
                .all(|nearer| nearer.attribute_type != attribute.attribute_type)
            {
                attributes.push(attribute.clone());
            }
        }
        attributes
    }

    fn attribute(&mut self) -> Result<(), QueryError> {
        let mut token = self.lexer.expect("an attribute")?;
        // As YAZ has it, an attribute without a set takes that of the attribute before it.
        let mut attribute_set = self
            .attributes
            .last()
            .and_then(|attribute| attribute.attribute_set);
        if !token.text.contains('=') {
            attribute_set = Some(named_set(&token)?);
            token = self.lexer.expect("an attribute")?;
        }
        let Some((attribute_type, value)) = token.text.split_once('=') else {
            return refuse(&token, QueryErrorKind::Attribute);
        };
        let attribute_type =
            digits(attribute_type).ok_or_else(|| error(&token, QueryErrorKind::Attribute))?;
        let attribute_value = match digits(value) {
            Some(number) => AttributeValue::Numeric(number),
            None if value.is_empty() => return refuse(&token, QueryErrorKind::Attribute),
            None => AttributeValue::Complex(Box::new(ComplexAttribute {
                list: vec![StringOrNumeric::String(InternationalString::from(
                    unescape(value).as_slice(),
                ))],
                semantic_action: None,
            })),
        };
        self.attributes.push(AttributeElement {
            attribute_set,
            attribute_type,
            attribute_value,
        });
        Ok(())
    }

    fn attribute_set(&mut self) -> Result<Oid, QueryError> {
        named_set(&self.lexer.expect("the name of an attribute set")?)
    }

    fn term_type(&mut self) -> Result<TermType, QueryError> {
        let token = self.lexer.expect("a term type")?;
        Ok(match token.text {
            "general" => TermType::General,
            "numeric" => TermType::Numeric,
            "string" => TermType::CharacterString,
            "oid" => TermType::Oid,
            "datetime" => TermType::DateTime,
            "null" => TermType::Null,
            _ => return refuse(&token, QueryErrorKind::TermType),
        })
    }

    /// `EXCLUSION DISTANCE ORDERED RELATION WHICH UNIT`
    fn proximity(&mut self) -> Result<ProximityOperator, QueryError> {
        let exclusion = self.lexer.expect("the exclusion of @prox")?;
        let exclusion = match exclusion.text {
            "0" => Some(false),
            "1" => Some(true),
            "void" | "v" | "none" | "n" => None,
            _ => return refuse(&exclusion, QueryErrorKind::Proximity),
        };
        let distance = self.number("the distance of @prox")?;
        let ordered = self.lexer.expect("the order of @prox")?;
        let ordered = match ordered.text {
            "0" => false,
            "1" => true,
            _ => return refuse(&ordered, QueryErrorKind::Proximity),
        };
        let relation_type = RelationType(self.number("the relation of @prox")?);
        let which = self.lexer.expect("the unit of @prox")?;
        let known = match which.text {
            "known" | "k" | "1" => true,
            "private" | "p" | "2" => false,
            _ => return refuse(&which, QueryErrorKind::Proximity),
        };
        let unit = self.number("the unit of @prox")?;
        let proximity_unit_code = match known {
            true => ProximityUnitCode::Known(KnownProximityUnit(unit)),
            false => ProximityUnitCode::Private(unit),
        };
        Ok(ProximityOperator {
            exclusion,
            distance,
            ordered,
            relation_type,
            proximity_unit_code,
        })
    }

    fn number(&mut self, what: &'static str) -> Result<i64, QueryError> {
        let token = self.lexer.expect(what)?;
        digits(token.text).ok_or_else(|| error(&token, QueryErrorKind::Number))
    }
}

#[derive(Clone, Copy)]
enum TermType {
    General,
    Numeric,
    CharacterString,
    Oid,
    DateTime,
    Null,
}

impl TermType {
    fn term(self, token: &Token<'_>) -> Result<Term, QueryError> {
        let octets = token.unescaped();
        let text = || std::str::from_utf8(&octets).ok();
        let term = match self {
            Self::General => Some(Term::General(octets.into())),
            Self::Numeric => text().and_then(|text| text.parse().ok()).map(Term::Numeric),
            Self::CharacterString => Some(Term::CharacterString(octets.as_slice().into())),
            Self::Oid => text().and_then(|text| text.parse().ok()).map(Term::Oid),
            Self::DateTime => Some(Term::DateTime(GeneralizedTime::from(octets.as_slice()))),
            Self::Null => Some(Term::Null),
        };
        term.ok_or_else(|| error(token, QueryErrorKind::Term))
    }
}

/// The token, if it is a word of PQF rather than a term.
fn word<'a>(token: &Token<'a>) -> Option<&'a str> {
    (!token.quoted && token.text.starts_with('@')).then_some(token.text)
}

fn named_set(token: &Token<'_>) -> Result<Oid, QueryError> {
    Oid::by_name(token.text)
        .or_else(|| token.text.parse().ok())
        .ok_or_else(|| error(token, QueryErrorKind::AttributeSet))
}

fn digits(text: &str) -> Option<i64> {
    text.bytes()
        .all(|octet| octet.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn error(token: &Token<'_>, kind: impl Fn(String) -> QueryErrorKind) -> QueryError {
    QueryError {
        kind: kind(token.text.to_owned()),
        offset: token.offset,
    }
}

fn refuse<T>(token: &Token<'_>, kind: impl Fn(String) -> QueryErrorKind) -> Result<T, QueryError> {
    Err(error(token, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text is read, and printed as `printed`, which reads as the same query.
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
        let query =
            parse("@attr 1=4 @attr 5=1 @attr 1=7 @attr gils 2=3 @attr 6=1 x").expect("a query");
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
                "\"b\" behind the end of the query at octet 2 of the query",
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
                "@xor is not a word of PQF; quote it to search for it at octet 0 of the query",
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
    fn limits_hold_at_and_past_them() {
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
        assert!(parse(&"x".repeat(MAX_QUERY_LENGTH)).is_ok());
        assert!(parse(&"x".repeat(MAX_QUERY_LENGTH + 1)).is_err());
    }
}
