//! PQF, the prefix query format for RPN queries (Z39.50-2003 §3.7), as in YAZ:
//! `[@attrset SET] QUERY`, where QUERY is `@and|@or|@not QUERY QUERY`, `@prox … QUERY QUERY`,
//! `@attr [SET] TYPE=VALUE QUERY`, `@term TYPE QUERY`, `@set NAME` or a term.

use std::str::FromStr;

use super::lexer::{Lexer, Token};
use super::{QueryError, QueryErrorKind, as_sent, check_length, is_digits, number, sets};
use crate::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, KnownProximityUnit, MAX_RPN_DEPTH,
    Operand, Operator, ProximityOperator, ProximityUnitCode, RelationType, ResultSetId, RpnQuery,
    RpnStructure, StringOrNumeric, Term,
};
use crate::oid::{BIB_1, Oid};

impl FromStr for RpnQuery {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        parse(text)
    }
}

/// The maximum number of attributes for a single term.
pub const MAX_ATTRIBUTES: usize = 512;

/// The maximum total size of the attributes in a query, in octets. Attributes that apply to several terms count once
/// for each term.
pub const MAX_SPREAD: usize = 1 << 22;

/// Parses a query in PQF. Its attribute set is Bib-1 unless `@attrset` names another set.
///
/// An attribute applies to every operand after it in its branch. An operand is sent with the nearest attribute
/// first, and without outer attributes of the same type. `@term` applies to all terms after it. `@1=4` is short for
/// `@attr 1=4`.
///
/// # Errors
/// [`QueryError`], with the fault and its offset.
pub fn parse(text: &str) -> Result<RpnQuery, QueryError> {
    check_length(text)?;
    let mut parser = Parser {
        lexer: Lexer::new(text),
        attributes: Vec::new(),
        term_type: general,
        spread: 0,
    };
    let mut token = parser.lexer.expect("a query")?;
    let mut attribute_set = BIB_1;
    if word(&token) == Some("@attrset") {
        attribute_set = named_set(&parser.lexer.expect("the name of an attribute set")?)?;
        token = parser.lexer.expect("a query")?;
    }
    let rpn = parser.tree(token)?;
    match parser.lexer.next()? {
        None => Ok(RpnQuery { attribute_set, rpn }),
        Some(extra) => refuse(&extra, QueryErrorKind::ExtraToken),
    }
}

/// An operator whose operands have not all been read yet.
struct OpenOperator {
    op: Operator,
    rpn1: Option<RpnStructure>,
    /// The number of attributes that apply to both operands, because they precede the operator.
    attributes: usize,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The attributes that apply to the next operand, in the order of the text.
    attributes: Vec<AttributeElement>,
    term_type: MakeTerm,
    /// The approximate size in octets of all attributes so far, as they will be sent.
    spread: usize,
}

impl<'a> Parser<'a> {
    fn tree(&mut self, first: Token<'a>) -> Result<RpnStructure, QueryError> {
        let mut open: Vec<OpenOperator> = Vec::new();
        let mut token = first;
        loop {
            let (operator, what) = match word(&token) {
                Some("@attr") => {
                    let attribute = self.lexer.expect("an attribute")?;
                    self.attribute(attribute)?;
                    (None, "a term")
                }
                Some(short) if short.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => {
                    self.attribute(Token {
                        text: short.get(1..).unwrap_or_default(),
                        offset: token.offset + 1,
                        quoted: false,
                    })?;
                    (None, "a term")
                }
                Some("@term") => {
                    self.term_type = self.term_type()?;
                    (None, "a term")
                }
                Some("@and") => (Some(Operator::And), "an operand"),
                Some("@or") => (Some(Operator::Or), "an operand"),
                Some("@not") => (Some(Operator::AndNot), "an operand"),
                Some("@prox") => {
                    let operator = Operator::Prox(Box::new(self.proximity()?));
                    (Some(operator), "an operand")
                }
                other => {
                    let mut tree = RpnStructure::Op(self.operand(&token, other)?);
                    loop {
                        let Some(mut node) = open.pop() else {
                            return Ok(tree);
                        };
                        let Some(rpn1) = node.rpn1.take() else {
                            self.attributes.truncate(node.attributes);
                            node.rpn1 = Some(tree);
                            open.push(node);
                            break;
                        };
                        tree = RpnStructure::combined(rpn1, node.op, tree);
                    }
                    (None, "an operand")
                }
            };
            if let Some(op) = operator {
                if open.len() == MAX_RPN_DEPTH {
                    return Err(QueryErrorKind::TooDeep(MAX_RPN_DEPTH).at(token.offset));
                }
                open.push(OpenOperator {
                    op,
                    rpn1: None,
                    attributes: self.attributes.len(),
                });
            }
            token = self.lexer.expect(what)?;
        }
    }

    fn operand(&mut self, token: &Token<'_>, word: Option<&str>) -> Result<Operand, QueryError> {
        match word {
            Some("@set") => {
                let name = self.lexer.expect("the name of a result set")?.unescaped()?;
                Ok(Operand::ResultSet(ResultSetId::from(name.as_slice())))
            }
            // `@attrset` is only allowed at the beginning of a query, so here it is an unknown word too.
            Some(word)
                if word.len() > 1 && word.bytes().skip(1).all(|one| one.is_ascii_alphabetic()) =>
            {
                refuse(token, QueryErrorKind::UnknownWord)
            }
            _ => {
                let term = (self.term_type)(&token.unescaped()?)
                    .ok_or_else(|| error(token, QueryErrorKind::Term))?;
                let attributes = as_sent(&self.attributes);
                self.spread += attributes.iter().map(size).sum::<usize>();
                if self.spread > MAX_SPREAD {
                    return Err(QueryErrorKind::TooMuchRepeated(MAX_SPREAD).at(token.offset));
                }
                Ok(Operand::AttributesPlusTerm(AttributesPlusTerm {
                    attributes,
                    term,
                }))
            }
        }
    }

    /// Parses `[SET] TYPE=VALUE`, whose first word is `token`.
    fn attribute(&mut self, mut token: Token<'a>) -> Result<(), QueryError> {
        if self.attributes.len() == MAX_ATTRIBUTES {
            return Err(QueryErrorKind::TooManyAttributes(MAX_ATTRIBUTES).at(token.offset));
        }
        let mut attribute_set = None;
        if !token.text.contains('=') {
            attribute_set = Some(named_set(&token)?);
            token = self.lexer.expect("an attribute")?;
        }
        let Some((attribute_type, value)) = token
            .text
            .split_once('=')
            .filter(|(attribute_type, value)| is_digits(attribute_type) && !value.is_empty())
        else {
            return refuse(&token, QueryErrorKind::Attribute);
        };
        let number = |text: &str| {
            text.parse()
                .map_err(|_| error(&token, QueryErrorKind::Number))
        };
        let attribute_value = if is_digits(value) {
            AttributeValue::Numeric(number(value)?)
        } else {
            let value = token.unescaped_from(attribute_type.len() + 1)?;
            AttributeValue::named(value.as_slice())
        };
        self.attributes.push(AttributeElement {
            attribute_set,
            attribute_type: number(attribute_type)?,
            attribute_value,
        });
        Ok(())
    }

    fn term_type(&mut self) -> Result<MakeTerm, QueryError> {
        let token = self.lexer.expect("a term type")?;
        match TERM_TYPES.iter().find(|(name, _)| *name == token.text) {
            Some((_, make)) => Ok(*make),
            None => refuse(&token, QueryErrorKind::TermType),
        }
    }

    /// Parses `EXCLUSION DISTANCE ORDERED RELATION WHICH UNIT`.
    fn proximity(&mut self) -> Result<ProximityOperator, QueryError> {
        let exclusion = match self.one_of(
            "the exclusion of @prox",
            &["0", "1", "void", "v", "none", "n"],
        )? {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        };
        let distance = self.number("the distance of @prox")?;
        let ordered = self.one_of("the order of @prox", &["0", "1"])? == "1";
        let relation_type = RelationType(self.number("the relation of @prox")?);
        let which = self.one_of(
            "the unit of @prox",
            &["known", "k", "1", "private", "p", "2"],
        )?;
        let unit = self.number("the unit of @prox")?;
        let proximity_unit_code = match which {
            "known" | "k" | "1" => ProximityUnitCode::Known(KnownProximityUnit(unit)),
            _ => ProximityUnitCode::Private(unit),
        };
        Ok(ProximityOperator {
            exclusion,
            distance,
            ordered,
            relation_type,
            proximity_unit_code,
        })
    }

    /// Parses the next argument of `@prox`, which must be one of `words`.
    fn one_of(&mut self, what: &'static str, words: &[&str]) -> Result<&'a str, QueryError> {
        let token = self.lexer.expect(what)?;
        if words.contains(&token.text) {
            Ok(token.text)
        } else {
            refuse(&token, QueryErrorKind::Proximity)
        }
    }

    fn number(&mut self, what: &'static str) -> Result<i64, QueryError> {
        let token = self.lexer.expect(what)?;
        number(token.text).ok_or_else(|| error(&token, QueryErrorKind::Number))
    }
}

/// A function that makes a term from octets, if they are valid for the type of the term.
type MakeTerm = fn(&[u8]) -> Option<Term>;

const TERM_TYPES: [(&str, MakeTerm); 6] = [
    ("general", general),
    ("numeric", |octets| parsed(octets).map(Term::Numeric)),
    ("string", |octets| {
        Some(Term::CharacterString(octets.into()))
    }),
    ("oid", |octets| parsed(octets).map(Term::Oid)),
    ("datetime", |octets| Some(Term::DateTime(octets.into()))),
    ("null", |_| Some(Term::Null)),
];

fn general(octets: &[u8]) -> Option<Term> {
    Some(Term::General(octets.into()))
}

fn parsed<T: FromStr>(octets: &[u8]) -> Option<T> {
    std::str::from_utf8(octets).ok()?.parse().ok()
}

/// Returns the text of a word that may be a PQF keyword; `None` for a word that can only be a term.
fn word<'a>(token: &Token<'a>) -> Option<&'a str> {
    (!token.quoted && token.text.starts_with('@')).then_some(token.text)
}

fn named_set(token: &Token<'_>) -> Result<Oid, QueryError> {
    sets::attribute_set(token.text).ok_or_else(|| error(token, QueryErrorKind::AttributeSet))
}

/// Returns the approximate size of an attribute in octets, as it will be sent.
fn size(attribute: &AttributeElement) -> usize {
    const WITHOUT_STRINGS: usize = 16;
    let strings = match &attribute.attribute_value {
        AttributeValue::Numeric(_) => &[][..],
        AttributeValue::Complex(complex) => &complex.list,
    };
    let lengths = strings.iter().map(|value| match value {
        StringOrNumeric::String(value) => value.as_bytes().len(),
        StringOrNumeric::Numeric(_) => 0,
    });
    WITHOUT_STRINGS + lengths.sum::<usize>()
}

fn error(token: &Token<'_>, kind: impl Fn(String) -> QueryErrorKind) -> QueryError {
    kind(shortened(token.text)).at(token.offset)
}

fn refuse<T>(token: &Token<'_>, kind: impl Fn(String) -> QueryErrorKind) -> Result<T, QueryError> {
    Err(error(token, kind))
}

/// Returns a word for use in a message; a long word is shortened.
fn shortened(text: &str) -> String {
    const MAX_SHOWN: usize = 60;
    let mut characters = text.chars();
    let mut shown: String = characters.by_ref().take(MAX_SHOWN).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
