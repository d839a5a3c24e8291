//! RPNStructure: the query tree, read without recursion so that hostile nesting takes no stack
//! (Z39.50-2003 §4.1; the depth rasn allows would refuse chains of more than 121 operands).

use rasn::ber::de::{Decoder as BerDecoder, DecoderOptions};
use rasn::de::Error as _;
use rasn::error::DecodeError;
use rasn::prelude::*;
use rasn::types::{Class, Constraints};

use super::query::{Operand, Operator};
use crate::codec::frame::{Header, Length};

/// The deepest query tree decoded; each operator on a path is one level.
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
    /// Two trees under an operator.
    pub fn combined(rpn1: Self, op: Operator, rpn2: Self) -> Self {
        Self::RpnRpnOp(Box::new(RpnRpnOp { rpn1, rpn2, op }))
    }

    /// The number of operators above the deepest operand; 0 for a single operand.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut open = vec![(self, 0)];
        while let Some((tree, depth)) = open.pop() {
            deepest = deepest.max(depth);
            if let Self::RpnRpnOp(node) = tree {
                open.extend([(&node.rpn1, depth + 1), (&node.rpn2, depth + 1)]);
            }
        }
        deepest
    }
}

impl Decode for RpnStructure {
    fn decode<D: Decoder>(decoder: &mut D) -> Result<Self, D::Error> {
        let value = decoder.decode_any(Tag::EOC)?;
        Ok(Reader {
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

/// An `rpnRpnOp` whose end has not been reached.
struct OpenOperator {
    end: Option<usize>,
    rpn1: Option<RpnStructure>,
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn tree(mut self) -> Result<RpnStructure, DecodeError> {
        let mut open: Vec<OpenOperator> = Vec::new();
        loop {
            let mut tree = match self.input.get(self.at) {
                Some(0xa0) => RpnStructure::Op(self.explicit(0)?),
                Some(0xa1) => {
                    if open.len() == MAX_RPN_DEPTH {
                        return self.refuse("query nested deeper than 1000 operators");
                    }
                    let end = self.enter()?;
                    open.push(OpenOperator { end, rpn1: None });
                    continue;
                }
                _ => return self.refuse("operand or operator expected in the query"),
            };
            // A finished tree is the left operand of the innermost open operator, or completes it.
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

    /// Consumes the header of a constructed value; returns where its contents end, if the length is definite.
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
