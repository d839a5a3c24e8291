//! Parses the relation in a CCL query: a range, or a Relation attribute for the terms.

use super::super::{QueryError, QueryErrorKind};
use super::bib::Attribute;
use super::parse::{Parser, Qualifiers, Tree};
use super::term::{allowed, numeric};
use super::token::{Kind, Token};
use crate::apdu::{AttributeElement, AttributeValue, Operand, Operator, RpnStructure};
use crate::bib1::attributes::RELATION;

/// The relation symbols, each with its Relation attribute value.
pub(super) const RELATIONS: [(&str, i64); 6] = [
    ("<", 1),
    ("<=", LESS_OR_EQUAL),
    ("=", EQUAL),
    (">=", GREATER_OR_EQUAL),
    (">", 5),
    ("<>", 6),
];
const LESS_OR_EQUAL: i64 = 2;
pub(super) const EQUAL: i64 = 3;
const GREATER_OR_EQUAL: i64 = 4;

/// The relation attribute for the following terms, and its token.
pub(super) type Related = (AttributeElement, Token);

impl<'b> Parser<'_, 'b> {
    /// Parses a relation symbol. Returns the tree of the range after it, or the relation for the following terms.
    pub(super) fn relation(
        &mut self,
        qualifiers: &Qualifiers<'b>,
    ) -> Result<(Option<Tree>, Option<Related>), QueryError> {
        let sign = *self.token();
        let text = sign.text(self.query);
        let non_negative = allowed(qualifiers, RELATION, "r");
        let by = allowed(qualifiers, RELATION, "o").or(non_negative);
        let is_sign = |(known, _): &&(&str, i64)| *known == text && (by.is_some() || text == "=");
        let Some((_, value)) = RELATIONS.iter().find(is_sign) else {
            return Err(self.unusable(&sign));
        };
        self.advance();
        let Some(by) = by else {
            return Ok((None, None));
        };
        if *value == EQUAL {
            let range = self.range(qualifiers, by, non_negative.is_some())?;
            if range.is_some() || allowed(qualifiers, RELATION, "omiteq").is_some() {
                return Ok((range, None));
            }
        }
        let relation = numeric(Some(by), RELATION, *value, sign.start)?;
        Ok((None, Some((relation, sign))))
    }

    /// Returns the error for a relation that the qualifiers or the terms do not allow.
    pub(super) fn unusable(&self, sign: &Token) -> QueryError {
        let text = sign.text(self.query).to_owned();
        QueryErrorKind::QualifierRelation(text).at(sign.start)
    }

    /// Parses `LOW - HIGH`, `LOW -` or `- HIGH`, if one of these comes next. If terms cannot be negative, the dash
    /// needs no spaces around it.
    fn range(
        &mut self,
        qualifiers: &Qualifiers<'b>,
        by: &Attribute,
        non_negative: bool,
    ) -> Result<Option<Tree>, QueryError> {
        let word = *self.token();
        let is_dash = |token: &Token| token.kind == Kind::Word && token.text(self.query) == "-";
        if word.kind != Kind::Word {
            return Ok(None);
        }
        let next = *self.token_at(self.at + 1);
        let part = |start, end| Token { start, end, ..word };
        let dash = if non_negative && !is_dash(&word) {
            self.dash(&word)
        } else {
            None
        };
        let (low, high, words) = match dash {
            Some(at) if at == word.start => (None, Some(part(at + 1, word.end)), 1),
            Some(at) if at + 1 == word.end => {
                let high = Some(next).filter(|next| next.kind == Kind::Word);
                let words = 1 + usize::from(high.is_some());
                (Some(part(word.start, at)), high, words)
            }
            Some(at) => (Some(part(word.start, at)), Some(part(at + 1, word.end)), 1),
            None if is_dash(&next) => {
                let high = Some(*self.token_at(self.at + 2)).filter(|high| high.kind == Kind::Word);
                (Some(word), high, 2 + usize::from(high.is_some()))
            }
            None if is_dash(&word) => {
                self.advance();
                self.pass_commas(qualifiers);
                let high = *self.token();
                if !matches!(high.kind, Kind::Word | Kind::Comma) {
                    return Err(self.missing("a term"));
                }
                (None, Some(high), 1)
            }
            None if non_negative
                && next.kind == Kind::Word
                && next.text(self.query).starts_with('-') =>
            {
                (Some(word), Some(part(next.start + 1, next.end)), 2)
            }
            None => return Ok(None),
        };
        self.at += words;
        let mut tree = None;
        for (end, value) in [(low, GREATER_OR_EQUAL), (high, LESS_OR_EQUAL)] {
            if let Some(word) = end {
                let mut term = self.single_word(word, qualifiers)?;
                let relation = numeric(Some(by), RELATION, value, word.start)?;
                relate(&mut term.rpn, &relation, || self.missing("a term"))?;
                tree = Some((self.joined(tree, term)?, Operator::And));
            }
        }
        Ok(tree.map(|(tree, _)| tree))
    }

    /// Returns the offset of the first dash in a word. A dash within quotes or after a backslash is skipped.
    fn dash(&self, word: &Token) -> Option<usize> {
        let mut quoted = false;
        let mut octets = word.text(self.query).bytes().enumerate();
        while let Some((at, octet)) = octets.next() {
            match octet {
                b'\\' => drop(octets.next()),
                b'"' => quoted = !quoted,
                b'-' if !quoted => return Some(word.start + at),
                _ => {}
            }
        }
        None
    }
}

/// Adds a relation to the terms of a tree. As in YAZ, the relation "equal" is not added to a tree of several terms.
pub(super) fn relate(
    rpn: &mut RpnStructure,
    relation: &AttributeElement,
    refused: impl Fn() -> QueryError,
) -> Result<(), QueryError> {
    let single = matches!(rpn, RpnStructure::Op(Operand::AttributesPlusTerm(_)));
    if !single && relation.attribute_value == AttributeValue::Numeric(EQUAL) {
        return Ok(());
    }
    for operand in rpn.operands_mut() {
        let Operand::AttributesPlusTerm(operand) = operand else {
            return Err(refused());
        };
        // If an operand has several relations, the last relation applies.
        let known = operand
            .attributes
            .iter_mut()
            .rfind(|attribute| attribute.attribute_type == RELATION);
        match known {
            Some(known) => *known = relation.clone(),
            None => operand.attributes.push(relation.clone()),
        }
    }
    Ok(())
}
