//! Translates CCL queries (ISO 8777) to RPN with YAZ's grammar. Operators have equal precedence and are applied from
//! left to right. In `QUALIFIERS RELATION TERMS`, the terms may be a query in parentheses that inherits the qualifiers.

use std::rc::Rc;

use super::super::suggest::nearest;
use super::super::{QueryError, QueryErrorKind, as_sent, near};
use super::bib::{Bib, Qualifier};
use super::relation::{Related, relate};
use super::token::{Kind, Token, tokens};
use crate::apdu::{
    AttributesPlusTerm, KnownProximityUnit, MAX_RPN_DEPTH, Operand, Operator, RelationType,
    ResultSetId, RpnQuery, RpnStructure,
};

/// The maximum size of a query in octets, including the terms that are repeated for each qualifier.
pub const MAX_WRITTEN_OUT: usize = 1 << 24;

/// Parses a CCL query with the qualifiers of a bib file. The attribute set of the query is Bib-1.
///
/// The RPN is the same as YAZ's, except where YAZ loses parts of the text: a relation before parentheses applies to all
/// terms inside, a backslash is applied once, and an unclosed quote is refused.
///
/// # Errors
/// [`QueryError`], with the fault and its offset.
pub fn parse(query: &str, bib: &Bib) -> Result<RpnQuery, QueryError> {
    let mut parser = Parser {
        query,
        bib,
        tokens: tokens(query, bib)?,
        at: 0,
        open: Vec::new(),
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

/// The qualifiers of a term, nearest first: those in a list before the term and those before the parentheses around it.
/// There may be none.
pub(super) type Qualifiers<'b> = Rc<[&'b Qualifier]>;

/// A part of the query as RPN, before [`as_sent`] is applied.
#[derive(Clone)]
pub(super) struct Tree {
    pub(super) rpn: RpnStructure,
    pub(super) depth: usize,
    /// The size of this part in octets, which counts towards [`MAX_WRITTEN_OUT`].
    pub(super) size: usize,
}

pub(super) struct Parser<'q, 'b> {
    pub(super) query: &'q str,
    pub(super) bib: &'b Bib,
    tokens: Vec<Token>,
    pub(super) at: usize,
    /// The parts that are not complete yet, innermost last.
    open: Vec<OpenPart<'b>>,
    /// The number of open parentheses.
    parentheses: usize,
    written_out: usize,
}

/// The state of the parser: what it will read next.
enum Expected<'b> {
    /// An operand of `and`, `or` or `not`.
    Element(Qualifiers<'b>),
    /// An operand of `%` or `!`.
    Near(Qualifiers<'b>),
    /// Nothing, because this tree is complete.
    Read(Tree),
}

/// A part of the query that is not complete yet.
struct OpenPart<'b> {
    kind: PartKind<'b>,
    left: Option<(Tree, Operator)>,
}

enum PartKind<'b> {
    /// Elements with operators between them, and whether they are in parentheses.
    Elements(Qualifiers<'b>, bool),
    /// Terms with distances between them.
    Nearness(Qualifiers<'b>),
    /// Text that is read once for each list of qualifiers.
    Alternatives {
        /// The index of the token at which each alternative starts.
        at: usize,
        after_relation: bool,
        rest: std::vec::IntoIter<Qualifiers<'b>>,
        /// The relation of the alternative that is being read, and its token.
        relation: Option<Related>,
    },
}

impl<'b> Parser<'_, 'b> {
    fn query(&mut self) -> Result<Tree, QueryError> {
        let mut step = self.begin(PartKind::Elements(Rc::from([]), false))?;
        loop {
            step = match step {
                Expected::Element(qualifiers) => self.element(qualifiers)?,
                Expected::Near(qualifiers) if self.token().kind == Kind::Open => {
                    if self.parentheses == MAX_RPN_DEPTH {
                        return Err(self.refused(QueryErrorKind::TooDeep(MAX_RPN_DEPTH)));
                    }
                    self.parentheses += 1;
                    self.advance();
                    self.begin(PartKind::Elements(qualifiers, true))?
                }
                Expected::Near(qualifiers) => Expected::Read(self.words(&qualifiers)?),
                Expected::Read(tree) => match self.open.pop() {
                    None => return Ok(tree),
                    Some(part) => self.go_on(part, tree)?,
                },
            };
        }
    }

    fn element(&mut self, qualifiers: Qualifiers<'b>) -> Result<Expected<'b>, QueryError> {
        if self.token().kind == Kind::Set {
            return self.result_set().map(Expected::Read);
        }
        let alternatives = |at, after_relation, qualifiers: Vec<_>| PartKind::Alternatives {
            at,
            after_relation,
            rest: qualifiers.into_iter(),
            relation: None,
        };
        let mut ahead = self.at;
        while self.token_at(ahead).kind == Kind::Word {
            ahead += 1;
            match self.token_at(ahead).kind {
                Kind::Relation | Kind::Equal => {
                    let named = self.qualifiers(ahead, &qualifiers)?;
                    return self.begin(alternatives(ahead, true, named));
                }
                Kind::Comma => ahead += 1,
                _ => break,
            }
        }
        if qualifiers.is_empty() && self.token_at(ahead).kind != Kind::Open {
            let unnamed: Vec<_> = self.alternatives("term").collect();
            if !unnamed.is_empty() {
                return self.begin(alternatives(self.at, false, unnamed));
            }
        }
        self.begin(PartKind::Nearness(qualifiers))
    }

    /// Parses `set = NAME`.
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

    /// Returns the qualifiers of each alternative for the names before a relation.
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
        if bib.each_field {
            let each = names
                .iter()
                .flat_map(|name| self.alternatives(name.text(self.query)));
            return Ok(each.collect());
        }
        let mut alternatives = Vec::new();
        for number in 0.. {
            self.spend((names.len() + inherited.len()) * size_of::<&Qualifier>())?;
            let found = names
                .iter()
                .map(|name| bib.find(name.text(self.query), number));
            let found: Vec<_> = found.collect();
            if found.iter().all(Option::is_none) {
                break;
            }
            let merged = found
                .into_iter()
                .zip(&firsts)
                .map(|(found, first)| found.unwrap_or(first));
            alternatives.push(merged.chain(inherited.iter().copied()).collect());
        }
        Ok(alternatives)
    }

    /// Returns the qualifiers of each alternative for one name.
    fn alternatives(&self, name: &str) -> impl Iterator<Item = Qualifiers<'b>> {
        let found = (0..).map_while(move |number| self.bib.find(name, number));
        found.map(|qualifier| Rc::from([qualifier]))
    }

    fn begin(&mut self, kind: PartKind<'b>) -> Result<Expected<'b>, QueryError> {
        self.next_operand(OpenPart { kind, left: None })
    }

    /// Prepares an open part for its next operand.
    fn next_operand(&mut self, mut part: OpenPart<'b>) -> Result<Expected<'b>, QueryError> {
        let expected = match &mut part.kind {
            PartKind::Elements(qualifiers, _) => Expected::Element(qualifiers.clone()),
            PartKind::Nearness(qualifiers) => Expected::Near(qualifiers.clone()),
            PartKind::Alternatives {
                at,
                after_relation,
                rest,
                relation,
            } => {
                self.at = *at;
                // At least one alternative remains, because a part without more alternatives is already complete.
                let qualifiers = rest.next().unwrap_or_else(|| Rc::from([]));
                let mut range = None;
                if *after_relation {
                    (range, *relation) = self.relation(&qualifiers)?;
                }
                self.open.push(part);
                return match range {
                    Some(range) => Ok(Expected::Read(range)),
                    None => self.begin(PartKind::Nearness(qualifiers)),
                };
            }
        };
        self.open.push(part);
        Ok(expected)
    }

    /// Adds a complete tree to the innermost open part.
    fn go_on(
        &mut self,
        mut part: OpenPart<'b>,
        mut tree: Tree,
    ) -> Result<Expected<'b>, QueryError> {
        if let PartKind::Alternatives {
            relation: Some((relation, sign)),
            ..
        } = &part.kind
        {
            relate(&mut tree.rpn, relation, || self.unusable(sign))?;
        }
        let tree = self.joined(part.left, tree)?;
        let operator = match &part.kind {
            PartKind::Alternatives { rest, .. } if rest.len() == 0 => {
                return Ok(Expected::Read(tree));
            }
            PartKind::Alternatives { .. } => Operator::Or,
            PartKind::Nearness(_) => match self.token() {
                token if token.kind == Kind::Proximity => {
                    let operator = self.proximity()?;
                    self.advance();
                    operator
                }
                // Terms follow the parentheses without an operator, so the default proximity applies.
                token if token.in_term() => {
                    near(2, false, RelationType::LESS_THAN, KnownProximityUnit::WORD)
                }
                _ => return Ok(Expected::Read(tree)),
            },
            PartKind::Elements(_, in_parentheses) => {
                let operator = match self.token().kind {
                    Kind::And => Operator::And,
                    Kind::Or => Operator::Or,
                    Kind::Not => Operator::AndNot,
                    Kind::Close if *in_parentheses => {
                        self.parentheses -= 1;
                        self.advance();
                        return Ok(Expected::Read(tree));
                    }
                    Kind::End if *in_parentheses => {
                        return Err(self.missing("a closing parenthesis"));
                    }
                    Kind::End => return Ok(Expected::Read(tree)),
                    _ => {
                        let text = self.token().text(self.query).to_owned();
                        return Err(self.refused(QueryErrorKind::Unexpected(text)));
                    }
                };
                self.advance();
                operator
            }
        };
        part.left = Some((tree, operator));
        self.next_operand(part)
    }

    /// Parses `%` or `!`, with or without a distance.
    fn proximity(&self) -> Result<Operator, QueryError> {
        let text = self.token().text(self.query);
        let distance = match text.get(1..).unwrap_or_default() {
            "" => 1,
            digits => digits
                .parse()
                .map_err(|_| self.refused(QueryErrorKind::Number(digits.to_owned())))?,
        };
        let ordered = text.starts_with('!');
        let relation = RelationType::LESS_THAN_OR_EQUAL;
        Ok(near(distance, ordered, relation, KnownProximityUnit::WORD))
    }

    /// Combines both operands with the operator, or returns the right operand if there is no left operand.
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

    /// Returns the token at an index, or the end of the query for an index after the last token.
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

    /// Adds octets to the size of the query, and fails if this exceeds [`MAX_WRITTEN_OUT`].
    pub(super) fn spend(&mut self, octets: usize) -> Result<(), QueryError> {
        self.written_out = self.written_out.saturating_add(octets);
        if self.written_out > MAX_WRITTEN_OUT {
            Err(self.refused(QueryErrorKind::TooMany(
                MAX_WRITTEN_OUT,
                "octets, its terms written out under each qualifier",
            )))
        } else {
            Ok(())
        }
    }

    pub(super) fn missing(&self, what: &'static str) -> QueryError {
        self.refused(QueryErrorKind::Missing(what))
    }

    fn refused(&self, kind: QueryErrorKind) -> QueryError {
        kind.at(self.token().start)
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
