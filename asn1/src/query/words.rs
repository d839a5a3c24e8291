//! Plain words, for people: each is searched for in any field (Bib-1 Use 1016), and all must occur; words in
//! double quotes are one phrase.

use super::lexer::Lexer;
use super::{MAX_QUERY_LENGTH, QueryError, QueryErrorKind};
use crate::apdu::{
    AttributeElement, AttributesPlusTerm, MAX_RPN_DEPTH, Operand, Operator, RpnQuery, RpnRpnOp,
    RpnStructure, Term,
};
use crate::oid::BIB_1;

/// Bib-1 Use (type 1), any field.
const USE_ANY: (i64, i64) = (1, 1016);

/// Reads words, as in `war "and peace"`.
///
/// # Errors
/// A text without words, with an unclosed quote, or longer than a query may be.
pub fn parse(text: &str) -> Result<RpnQuery, QueryError> {
    if text.len() > MAX_QUERY_LENGTH {
        return Err(QueryError {
            kind: QueryErrorKind::TooLong(MAX_QUERY_LENGTH),
            offset: MAX_QUERY_LENGTH,
        });
    }
    let mut lexer = Lexer::new(text);
    let mut rpn = operand(&lexer.expect("a word to search for")?.unescaped()?);
    let mut operators = 0;
    while let Some(token) = lexer.next()? {
        if operators == MAX_RPN_DEPTH {
            return Err(QueryError {
                kind: QueryErrorKind::TooDeep(MAX_RPN_DEPTH),
                offset: token.offset,
            });
        }
        operators += 1;
        let rpn2 = operand(&token.unescaped()?);
        rpn = RpnStructure::RpnRpnOp(Box::new(RpnRpnOp {
            rpn1: rpn,
            rpn2,
            op: Operator::And,
        }));
    }
    Ok(RpnQuery {
        attribute_set: BIB_1,
        rpn,
    })
}

fn operand(term: &[u8]) -> RpnStructure {
    RpnStructure::Op(Operand::AttributesPlusTerm(AttributesPlusTerm {
        attributes: vec![AttributeElement::numeric(USE_ANY.0, USE_ANY.1)],
        term: Term::General(term.into()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_must_occur() {
        for (text, query) in [
            ("war", "@attr 1=1016 war"),
            (" war  peace ", "@and @attr 1=1016 war @attr 1=1016 peace"),
            (
                "\"war and\" x",
                "@and @attr 1=1016 \"war and\" @attr 1=1016 x",
            ),
            (
                "a b c",
                "@and @and @attr 1=1016 a @attr 1=1016 b @attr 1=1016 c",
            ),
        ] {
            assert_eq!(parse(text).expect(text).to_string(), query);
        }
        assert!(parse("").is_err());
        assert!(parse(&"x ".repeat(MAX_RPN_DEPTH + 1)).is_ok());
        assert!(parse(&"x ".repeat(MAX_RPN_DEPTH + 2)).is_err());
    }
}
