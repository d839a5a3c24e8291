//! RPNStructure: the query tree, which is decoded without recursion, so that hostile nesting cannot exhaust the stack
//! (Z39.50-2003 §4.1). rasn's own depth limit would refuse chains of more than 121 operands.

use std::convert::Infallible;

use rasn::ber::de::{Decoder as BerDecoder, DecoderOptions};
use rasn::de::Error as _;
use rasn::error::DecodeError;
use rasn::prelude::*;
use rasn::types::{Class, Constraints};

use super::ResultSetId;
use super::query::{AttributeElement, AttributesPlusTerm, Operand, Operator, Term};
use crate::codec::frame::{Header, Length};
use crate::codec::value::TOO_DEEP;
use crate::types::OctetString;

/// The maximum depth of a query tree that can be decoded. Each operator on the path to an operand is one level.
pub const MAX_RPN_DEPTH: usize = 1000;

/// A query tree.
#[derive(AsnType, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum RpnStructure {
    #[rasn(tag(0))]
    Op(Operand),
    #[rasn(tag(1))]
    RpnRpnOp(Box<RpnRpnOp>),
}

/// Two trees and the operator between them.
#[derive(AsnType, Encode, Clone, Debug, PartialEq)]
pub struct RpnRpnOp {
    pub rpn1: RpnStructure,
    pub rpn2: RpnStructure,
    #[rasn(tag(46))]
    pub op: Operator,
}

impl RpnStructure {
    /// Creates an operand with a general term and its attributes.
    pub fn term(attributes: Vec<AttributeElement>, term: impl Into<OctetString>) -> Self {
        let term = Term::General(term.into());
        Self::Op(Operand::AttributesPlusTerm(AttributesPlusTerm {
            attributes,
            term,
        }))
    }

    /// Combines two trees with an operator.
    pub fn combined(rpn1: Self, op: Operator, rpn2: Self) -> Self {
        Self::RpnRpnOp(Box::new(RpnRpnOp { rpn1, rpn2, op }))
    }

    /// Returns the operands from left to right.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        let mut rest = vec![self];
        std::iter::from_fn(move || {
            loop {
                match rest.pop()? {
                    Self::Op(operand) => return Some(operand),
                    Self::RpnRpnOp(node) => rest.extend([&node.rpn2, &node.rpn1]),
                }
            }
        })
    }

    /// Returns the terms with their attributes from left to right.
    pub fn terms(&self) -> impl Iterator<Item = &AttributesPlusTerm> {
        self.operands().filter_map(|operand| match operand {
            Operand::AttributesPlusTerm(term) => Some(term),
            _ => None,
        })
    }

    /// Returns the names of the result sets among the operands from left to right.
    pub fn result_sets(&self) -> impl Iterator<Item = &ResultSetId> {
        self.operands().filter_map(|operand| match operand {
            Operand::ResultSet(name) => Some(name),
            Operand::ResultAttr(restricted) => Some(&restricted.result_set),
            Operand::AttributesPlusTerm(_) => None,
        })
    }

    /// Returns mutable references to the operands from left to right.
    pub fn operands_mut(&mut self) -> impl Iterator<Item = &mut Operand> {
        let mut rest = vec![self];
        std::iter::from_fn(move || {
            loop {
                match rest.pop()? {
                    Self::Op(operand) => return Some(operand),
                    Self::RpnRpnOp(node) => rest.extend([&mut node.rpn2, &mut node.rpn1]),
                }
            }
        })
    }

    /// Returns mutable references to the terms with their attributes from left to right.
    pub fn terms_mut(&mut self) -> impl Iterator<Item = &mut AttributesPlusTerm> {
        self.operands_mut().filter_map(|operand| match operand {
            Operand::AttributesPlusTerm(term) => Some(term),
            _ => None,
        })
    }

    /// Evaluates the tree from its operands up, without recursion: each operand becomes a value, and each operator combines the
    /// values on its left and right into one.
    ///
    /// # Errors
    /// Fails with the first error that either function returns.
    pub fn evaluate<T, E>(
        &self,
        mut operand: impl FnMut(&Operand) -> Result<T, E>,
        mut operator: impl FnMut(&Operator, T, T) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut tree = self;
        let mut open: Vec<(&RpnRpnOp, Option<T>)> = Vec::new();
        loop {
            let mut value = match tree {
                Self::Op(leaf) => operand(leaf)?,
                Self::RpnRpnOp(node) => {
                    open.push((node, None));
                    tree = &node.rpn1;
                    continue;
                }
            };
            loop {
                match open.pop() {
                    None => return Ok(value),
                    Some((node, Some(left))) => value = operator(&node.op, left, value)?,
                    Some((node, None)) => {
                        open.push((node, Some(value)));
                        tree = &node.rpn2;
                        break;
                    }
                }
            }
        }
    }

    /// Returns the number of operators above the deepest operand; 0 for a single operand.
    pub fn depth(&self) -> usize {
        let deeper =
            |_: &Operator, left: usize, right: usize| Ok::<_, Infallible>(left.max(right) + 1);
        let Ok(depth) = self.evaluate(|_| Ok(0), deeper);
        depth
    }
}

impl Decode for RpnStructure {
    fn decode<D: Decoder>(decoder: &mut D) -> Result<Self, D::Error> {
        let value = decoder.decode_any(Tag::EOC)?;
        Ok(RpnReader {
            input: value.as_bytes(),
            at: 0,
        }
        .tree()?)
    }

    fn decode_with_tag_and_constraints<D: Decoder>(
        decoder: &mut D,
        tag: Tag,
        _: &Constraints,
    ) -> Result<Self, D::Error> {
        decoder.decode_explicit_prefix(tag)
    }
}

/// An `rpnRpnOp` that has not been read to its end.
struct OpenOperator {
    end: Option<usize>,
    rpn1: Option<RpnStructure>,
}

struct RpnReader<'a> {
    input: &'a [u8],
    at: usize,
}

impl RpnReader<'_> {
    fn tree(mut self) -> Result<RpnStructure, DecodeError> {
        let mut open: Vec<OpenOperator> = Vec::new();
        loop {
            let mut tree = match self.input.get(self.at) {
                Some(0xa0) => RpnStructure::Op(self.explicit(0)?),
                Some(0xa1) => {
                    if open.len() == MAX_RPN_DEPTH {
                        return self.refuse(TOO_DEEP);
                    }
                    let end = self.enter()?;
                    open.push(OpenOperator { end, rpn1: None });
                    continue;
                }
                _ => return self.refuse("operand or operator expected in the query"),
            };
            // A finished tree is the left operand of the innermost open operator, or completes that operator.
            loop {
                let Some(mut node) = open.pop() else {
                    return Ok(tree);
                };
                let Some(rpn1) = node.rpn1.take() else {
                    open.push(OpenOperator {
                        rpn1: Some(tree),
                        ..node
                    });
                    break;
                };
                let op = self.explicit(46)?;
                self.leave(node.end)?;
                tree = RpnStructure::combined(rpn1, op, tree);
            }
        }
    }

    fn explicit<T: Decode>(&mut self, tag: u32) -> Result<T, DecodeError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let mut decoder = BerDecoder::new(rest, DecoderOptions::ber());
        let value = decoder.decode_explicit_prefix(Tag::new(Class::Context, tag))?;
        self.at += decoder.decoded_len();
        Ok(value)
    }

    /// Consumes the header of a constructed value; returns the end of its contents if the length is definite.
    fn enter(&mut self) -> Result<Option<usize>, DecodeError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let Ok(Some(header)) = Header::read(rest) else {
            return self.refuse("malformed length in the query");
        };
        self.at += header.octets;
        match header.length {
            Length::Indefinite => Ok(None),
            Length::Definite(length) => match self.at.checked_add(length) {
                Some(end) if end <= self.input.len() => Ok(Some(end)),
                _ => self.refuse("a length in the query reaches past its end"),
            },
        }
    }

    fn leave(&mut self, end: Option<usize>) -> Result<(), DecodeError> {
        match end {
            Some(end) if self.at == end => Ok(()),
            None if self
                .input
                .get(self.at..)
                .is_some_and(|rest| rest.starts_with(&[0, 0])) =>
            {
                self.at += 2;
                Ok(())
            }
            _ => self.refuse("unexpected octets after an operator"),
        }
    }

    fn refuse<T>(&self, reason: &str) -> Result<T, DecodeError> {
        let message = format!("{reason}, {} octets into it", self.at);
        Err(DecodeError::custom(message, rasn::Codec::Ber))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apdu::{AttributesPlusTerm, Term};

    fn operand(term: &str) -> RpnStructure {
        let term = Term::General(term.into());
        RpnStructure::Op(Operand::AttributesPlusTerm(AttributesPlusTerm {
            attributes: vec![],
            term,
        }))
    }

    fn chain(operators: usize) -> RpnStructure {
        (0..operators).fold(operand("a"), |rpn1, _| {
            RpnStructure::RpnRpnOp(Box::new(RpnRpnOp {
                rpn1,
                rpn2: operand("b"),
                op: Operator::Or,
            }))
        })
    }

    #[test]
    fn the_depth_limit_holds_at_and_past_it() {
        for (operators, fits) in [
            (0, true),
            (1, true),
            (122, true),
            (1000, true),
            (1001, false),
        ] {
            let tree = chain(operators);
            assert_eq!(tree.depth(), operators);
            let encoded = rasn::ber::encode(&tree).expect("encodes");
            let decoded = rasn::ber::decode::<RpnStructure>(&encoded);
            assert_eq!(decoded.is_ok(), fits, "{operators}");
            if let Ok(decoded) = decoded {
                assert!(decoded == tree);
            }
        }
    }

    #[test]
    fn indefinite_lengths_and_right_deep_trees_are_read() {
        let operand: &[u8] = &[
            0xa0, 0x80, 0xbf, 0x66, 0x80, 0xbf, 0x2c, 0, 0x9f, 0x2d, 1, b'x', 0, 0, 0, 0,
        ];
        let and: &[u8] = &[0xbf, 0x2e, 2, 0x80, 0];
        let octets = [
            &[0xa1, 0x80][..],
            operand,
            &[0xa1, 0x80],
            operand,
            operand,
            and,
            &[0, 0],
            and,
            &[0, 0],
        ]
        .concat();
        let tree: RpnStructure = rasn::ber::decode(&octets).expect("a right-deep tree");
        assert_eq!(tree.depth(), 2);
        let mut unclosed = octets.clone();
        unclosed.truncate(octets.len() - 2);
        assert!(rasn::ber::decode::<RpnStructure>(&unclosed).is_err());
    }

    #[test]
    fn malformed_trees_are_refused() {
        for octets in [
            &[0xa1, 0][..],
            &[0xa1, 2, 0xa0, 0],
            &[0xa2, 0],
            &[0xa1, 0x84, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert!(
                rasn::ber::decode::<RpnStructure>(octets).is_err(),
                "{octets:x?}"
            );
        }
        let nest = [0xa1, 0x80].repeat(50_000);
        assert!(rasn::ber::decode::<RpnStructure>(&nest).is_err());
    }
}
