//! CCL queries (ISO 8777) as RPN, in YAZ's grammar: operators of equal rank from left to right, and
//! `QUALIFIERS RELATION TERMS`, where terms may be a query in parentheses that inherits the qualifiers.

use std::rc::Rc;

use super::super::suggest::nearest;
use super::super::{QueryError, QueryErrorKind, as_sent};
use super::bib::{Bib, Qualifier, Special};
use super::relation::{EQUAL, RELATIONS, relate};
use super::term::{allowed, numeric};
use super::token::{Kind, Token, tokens};
use crate::apdu::{
    AttributeElement, AttributesPlusTerm, KnownProximityUnit, MAX_RPN_DEPTH, Operand, Operator,
    ProximityOperator, ProximityUnitCode, RelationType, ResultSetId, RpnQuery, RpnStructure,
};
use crate::bib1::attributes::RELATION;

/// The maximum size in octets of a query with its terms repeated for each qualifier.
pub const MAX_WRITTEN_OUT: usize = 1 << 24;

/// Reads a CCL query with the qualifiers of a bib file. The attribute set is Bib-1.
///
/// The RPN is that of YAZ, except where YAZ loses parts of the text: a relation before parentheses applies to
/// all terms in them, a backslash counts once, and an unclosed quote is refused.
///
/// # Errors
/// What is wrong, and at which octet.
pub fn parse(query: &str, bib: &Bib) -> Result<RpnQuery, QueryError> {
    let mut parser = Parser {
        query,
        bib,
        tokens: tokens(query, bib)?,
        at: 0,
        parentheses: 0,
        written_out: 0,
    };
    let mut rpn = parser.query()?.rpn;
    for AttributesPlusTerm { attributes, .. } in rpn.terms_mut() {
        attributes.reverse();
        *attributes = as_sent(attributes);
    }
    Ok(RpnQuery::bib1(rpn))
}

/// The qualifiers of a term: none, or those of a list and of the parentheses around it, nearest first.
pub(super) type Qualifiers<'b> = Rc<[&'b Qualifier]>;

/// A part of the query as RPN, before [`as_sent`].
#[derive(Clone)]
pub(super) struct Tree {
    pub(super) rpn: RpnStructure,
    pub(super) depth: usize,
    /// Its share of [`MAX_WRITTEN_OUT`].
    pub(super) size: usize,
}

pub(super) struct Parser<'q, 'b> {
    pub(super) query: &'q str,
    pub(super) bib: &'b Bib,
    tokens: Vec<Token>,
    pub(super) at: usize,
    /// The number of open parentheses.
    parentheses: usize,
    written_out: usize,
}

/// What is to be read next.
enum Expected<'b> {
    /// An operand of `and`, `or` or `not`.
    Element(Qualifiers<'b>),
    /// An operand of `%` or `!`.
    Near(Qualifiers<'b>),
    /// Nothing: this tree is complete.
    Read(Tree),
}

/// A part of the query that is not complete.
enum OpenPart<'b> {
    /// Elements and the operators between them.
    Elements {
        qualifiers: Qualifiers<'b>,
        left: Option<(Tree, Operator)>,
        in_parentheses: bool,
    },
    /// Terms and the distances between them.
    Nearness {
        qualifiers: Qualifiers<'b>,
        left: Option<(Tree, Operator)>,
    },
    /// The same text under different qualifiers.
    Alternatives {
        /// The token where each alternative starts.
        at: usize,
        after_relation: bool,
        rest: std::vec::IntoIter<Qualifiers<'b>>,
        left: Option<(Tree, Operator)>,
        /// The relation of the alternative being read, and its token.
        relation: Option<(AttributeElement, Token)>,
    },
}

impl<'b> Parser<'_, 'b> {
    fn query(&mut self) -> Result<Tree, QueryError> {
        let none: Qualifiers<'b> = Rc::from([]);
        let mut open = vec![OpenPart::Elements {
            qualifiers: none.clone(),
            left: None,
            in_parentheses: false,
        }];
        let mut step = Expected::Element(none);
        loop {
            step = match step {
                Expected::Element(qualifiers) => self.element(qualifiers, &mut open)?,
                Expected::Near(qualifiers) if self.token().kind == Kind::Open => {
                    if self.parentheses == MAX_RPN_DEPTH {
                        return Err(self.refused(QueryErrorKind::TooDeep(MAX_RPN_DEPTH)));
                    }
                    self.parentheses += 1;
                    self.advance();
                    open.push(OpenPart::Elements {
                        qualifiers: qualifiers.clone(),
                        left: None,
                        in_parentheses: true,
                    });
                    Expected::Element(qualifiers)
                }
                Expected::Near(qualifiers) => Expected::Read(self.words(&qualifiers)?),
                Expected::Read(tree) => match open.pop() {
                    None => return Ok(tree),
                    Some(part) => self.go_on(part, tree, &mut open)?,
                },
            };
        }
    }

    fn element(
        &mut self,
        qualifiers: Qualifiers<'b>,
        open: &mut Vec<OpenPart<'b>>,
    ) -> Result<Expected<'b>, QueryError> {
        if self.token().kind == Kind::Set {
            return self.result_set().map(Expected::Read);
        }
        let mut ahead = self.at;
        while self.token_at(ahead).kind == Kind::Word {
            ahead += 1;
            match self.token_at(ahead).kind {
                Kind::Relation | Kind::Equal => {
                    let alternatives = self.qualifiers(ahead, &qualifiers)?;
                    return self.alternative(ahead, true, alternatives.into_iter(), None, open);
                }
                Kind::Comma => ahead += 1,
                _ => break,
            }
        }
        if qualifiers.is_empty() && self.token_at(ahead).kind != Kind::Open {
            let bib = self.bib;
            let alternatives: Vec<Qualifiers<'b>> = (0..)
                .map_while(|number| bib.find("term", number))
                .map(|qualifier| Rc::from([qualifier]))
                .collect();
            if !alternatives.is_empty() {
                return self.alternative(self.at, false, alternatives.into_iter(), None, open);
            }
        }
        open.push(OpenPart::Nearness {
            qualifiers: qualifiers.clone(),
            left: None,
        });
        Ok(Expected::Near(qualifiers))
    }

    /// `set = NAME`
    fn result_set(&mut self) -> Result<Tree, QueryError> {
        self.advance();
        if self.token().kind == Kind::Equal {
            self.advance();
        }
        if self.token().kind != Kind::Word {
            return Err(self.missing("the name of a result set"));
        }
        let word = *self.token();
        let name: Vec<u8> = self.octets(&word).collect();
        self.advance();
        self.spend(name.len())?;
        let operand = Operand::ResultSet(ResultSetId::from(name.as_slice()));
        Ok(Tree::operand(operand, name.len()))
    }

    /// The qualifiers of each alternative that the names before a relation stand for.
    fn qualifiers(
        &mut self,
        relation: usize,
        inherited: &Qualifiers<'b>,
    ) -> Result<Vec<Qualifiers<'b>>, QueryError> {
        let bib = self.bib;
        let names: Vec<Token> = (self.at..relation)
            .map(|at| *self.token_at(at))
            .filter(|token| token.kind == Kind::Word)
            .collect();
        let mut firsts = Vec::new();
        for name in &names {
            let text = name.text(self.query);
            firsts.push(bib.find(text, 0).ok_or_else(|| {
                QueryErrorKind::Index {
                    name: text.to_owned(),
                    nearest: nearest(text, bib.names()).map(str::to_owned),
                }
                .at(name.start)
            })?);
        }
        let mut alternatives: Vec<Qualifiers<'b>> = Vec::new();
        if bib.each_field {
            for name in &names {
                let found = (0..).map_while(|number| bib.find(name.text(self.query), number));
                alternatives.extend(found.map(|qualifier| Rc::from([qualifier])));
            }
            return Ok(alternatives);
        }
        for number in 0.. {
            self.spend((names.len() + inherited.len()) * size_of::<&Qualifier>())?;
            let mut any = false;
            let mut merged = Vec::new();
            for (name, first) in names.iter().zip(&firsts) {
                let found = bib.find(name.text(self.query), number);
                any |= found.is_some();
                merged.push(found.unwrap_or(first));
            }
            if !any {
                break;
            }
            merged.extend(inherited.iter());
            alternatives.push(merged.into());
        }
        Ok(alternatives)
    }

    /// Begins the next alternative; there is at least one.
    fn alternative(
        &mut self,
        at: usize,
        after_relation: bool,
        mut rest: std::vec::IntoIter<Qualifiers<'b>>,
        left: Option<(Tree, Operator)>,
        open: &mut Vec<OpenPart<'b>>,
    ) -> Result<Expected<'b>, QueryError> {
        let Some(qualifiers) = rest.next() else {
            return left
                .map(|(tree, _)| Expected::Read(tree))
                .ok_or_else(|| self.missing("a qualifier"));
        };
        self.at = at;
        let mut relation = None;
        let mut range = None;
        if after_relation {
            let sign = *self.token();
            let text = sign.text(self.query);
            let order = allowed(&qualifiers, RELATION, Special::Order);
            let non_negative = allowed(&qualifiers, RELATION, Special::OrderOfNonNegative);
            let by = order.or(non_negative);
            let is_sign =
                |(known, _): &&(&str, i64)| *known == text && (by.is_some() || text == "=");
            let Some((_, value)) = RELATIONS.iter().find(is_sign) else {
                return Err(self.refused(QueryErrorKind::QualifierRelation(text.to_owned())));
            };
            self.advance();
            if let Some(by) = by {
                let mut is_omitted = false;
                if *value == EQUAL {
                    range = self.range(&qualifiers, by, non_negative.is_some())?;
                    is_omitted = allowed(&qualifiers, RELATION, Special::OmitEquals).is_some();
                }
                if range.is_none() && !is_omitted {
                    relation = Some((numeric(Some(by), RELATION, *value, sign.start)?, sign));
                }
            }
        }
        open.push(OpenPart::Alternatives {
            at,
            after_relation,
            rest,
            left,
            relation,
        });
        if let Some(range) = range {
            return Ok(Expected::Read(range));
        }
        open.push(OpenPart::Nearness {
            qualifiers: qualifiers.clone(),
            left: None,
        });
        Ok(Expected::Near(qualifiers))
    }

    /// Continues an open part with a complete tree.
    fn go_on(
        &mut self,
        part: OpenPart<'b>,
        tree: Tree,
        open: &mut Vec<OpenPart<'b>>,
    ) -> Result<Expected<'b>, QueryError> {
        match part {
            OpenPart::Alternatives {
                at,
                after_relation,
                rest,
                left,
                relation,
            } => {
                let mut tree = tree;
                if let Some((relation, sign)) = relation {
                    relate(&mut tree.rpn, &relation, || {
                        QueryErrorKind::QualifierRelation(sign.text(self.query).to_owned())
                            .at(sign.start)
                    })?;
                }
                let tree = self.joined(left, tree)?;
                match rest.len() {
                    0 => Ok(Expected::Read(tree)),
                    _ => {
                        let left = Some((tree, Operator::Or));
                        self.alternative(at, after_relation, rest, left, open)
                    }
                }
            }
            OpenPart::Nearness { qualifiers, left } => {
                let tree = self.joined(left, tree)?;
                let operator = match self.token() {
                    token if token.kind == Kind::Proximity => {
                        let operator = self.proximity()?;
                        self.advance();
                        operator
                    }
                    // Terms after parentheses.
                    token if token.in_term() => near(2, false, RelationType::LESS_THAN),
                    _ => return Ok(Expected::Read(tree)),
                };
                open.push(OpenPart::Nearness {
                    qualifiers: qualifiers.clone(),
                    left: Some((tree, operator)),
                });
                Ok(Expected::Near(qualifiers))
            }
            OpenPart::Elements {
                qualifiers,
                left,
                in_parentheses,
            } => {
                let tree = self.joined(left, tree)?;
                let operator = match self.token().kind {
                    Kind::And => Operator::And,
                    Kind::Or => Operator::Or,
                    Kind::Not => Operator::AndNot,
                    Kind::Close if in_parentheses => {
                        self.parentheses -= 1;
                        self.advance();
                        return Ok(Expected::Read(tree));
                    }
                    Kind::End if in_parentheses => {
                        return Err(self.missing("a closing parenthesis"));
                    }
                    Kind::End => return Ok(Expected::Read(tree)),
                    _ => {
                        let text = self.token().text(self.query).to_owned();
                        return Err(self.refused(QueryErrorKind::Unexpected(text)));
                    }
                };
                self.advance();
                open.push(OpenPart::Elements {
                    qualifiers: qualifiers.clone(),
                    left: Some((tree, operator)),
                    in_parentheses,
                });
                Ok(Expected::Element(qualifiers))
            }
        }
    }

    /// `%`, `!`, or one of them with a distance.
    fn proximity(&self) -> Result<Operator, QueryError> {
        let text = self.token().text(self.query);
        let distance = match text.get(1..).unwrap_or_default() {
            "" => 1,
            digits => digits
                .parse()
                .map_err(|_| self.refused(QueryErrorKind::Number(digits.to_owned())))?,
        };
        let ordered = text.starts_with('!');
        Ok(near(distance, ordered, RelationType::LESS_THAN_OR_EQUAL))
    }

    /// Both trees under the operator, or the right one alone.
    pub(super) fn joined(
        &self,
        left: Option<(Tree, Operator)>,
        right: Tree,
    ) -> Result<Tree, QueryError> {
        let Some((left, operator)) = left else {
            return Ok(right);
        };
        let depth = left.depth.max(right.depth) + 1;
        if depth > MAX_RPN_DEPTH {
            return Err(self.refused(QueryErrorKind::TooDeep(MAX_RPN_DEPTH)));
        }
        Ok(Tree {
            depth,
            size: left.size + right.size,
            rpn: RpnStructure::combined(left.rpn, operator, right.rpn),
        })
    }

    pub(super) fn token(&self) -> &Token {
        self.token_at(self.at)
    }

    /// The token at an index; after the last, the end of the query.
    pub(super) fn token_at(&self, at: usize) -> &Token {
        const END: Token = Token {
            kind: Kind::End,
            start: 0,
            end: 0,
            blank: 0,
        };
        self.tokens.get(at).or(self.tokens.last()).unwrap_or(&END)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Counts octets of the encoded query.
    pub(super) fn spend(&mut self, octets: usize) -> Result<(), QueryError> {
        self.written_out = self.written_out.saturating_add(octets);
        match self.written_out > MAX_WRITTEN_OUT {
            true => Err(self.refused(QueryErrorKind::TooMany(
                MAX_WRITTEN_OUT,
                "octets, its terms written out under each qualifier",
            ))),
            false => Ok(()),
        }
    }

    pub(super) fn missing(&self, what: &'static str) -> QueryError {
        self.refused(QueryErrorKind::Missing(what))
    }

    fn refused(&self, kind: QueryErrorKind) -> QueryError {
        QueryError {
            kind,
            offset: self.token().start,
        }
    }
}

impl Tree {
    pub(super) fn operand(operand: Operand, size: usize) -> Self {
        Self {
            rpn: RpnStructure::Op(operand),
            depth: 0,
            size,
        }
    }
}

fn near(distance: i64, ordered: bool, relation_type: RelationType) -> Operator {
    Operator::Prox(Box::new(ProximityOperator {
        exclusion: Some(false),
        distance,
        ordered,
        relation_type,
        proximity_unit_code: ProximityUnitCode::Known(KnownProximityUnit::WORD),
    }))
}
