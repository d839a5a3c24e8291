//! Parses CQL text into its syntax tree (CQL 1.2 §BNF), with YAZ's extensions: additional words after a term, and
//! relations before parentheses. In ambiguous text, only `all any adj` and names with a prefix are relations.

use std::sync::Arc;

use super::lexer::{CqlToken, Lexer};
use super::{
    Boolean, BooleanOperator, Clause, Cql, Modifier, Node, PrefixMap, Relation, SERVER_CHOICE,
    SingleSpec, Word,
};
use crate::apdu::MAX_RPN_DEPTH;
use crate::query::{QueryError, QueryErrorKind, check_length};

/// The maximum depth of a tree, counted in operators, prefix maps and parentheses.
pub const MAX_DEPTH: usize = MAX_RPN_DEPTH;

/// The maximum number of consecutive modifiers.
pub const MAX_MODIFIERS: usize = 16;

/// Parses a CQL 1.1 or 1.2 query.
///
/// The index, relation and modifiers in `title = (war or peace)` apply to everything in the parentheses. `exact`, `within`, `encloses` and
/// `scr` are relations if they stand between a word and a term, group or modifier; YAZ always treats them as terms.
///
/// # Errors
/// [`QueryError`], with the fault and its offset.
pub fn parse(text: &str) -> Result<Cql, QueryError> {
    check_length(text)?;
    let mut lexer = Lexer::new(text)?;
    let query = query(&mut lexer)?;
    let mut sort = Vec::new();
    if lexer.peek().is_some() {
        // `query` stops at the end or at `sortby`; `sortby` is skipped here.
        lexer.next()?;
        loop {
            let index = lexer.word("a sort key")?;
            let modifiers = modifiers(&mut lexer)?;
            sort.push(SingleSpec { index, modifiers });
            if lexer.peek().is_none() {
                break;
            }
        }
    }
    Ok(Cql { query, sort })
}

/// The complete text or a group in parentheses, as far as it has been read.
struct OpenGroup {
    /// The index and relation that apply to clauses written without any.
    inherited: Option<Arc<Relation>>,
    prefixes: Vec<(Option<Word>, Word)>,
    /// The tree before the next operator, and its depth.
    left: Option<(Node, usize)>,
    /// The operator whose right operand is being read, and its offset.
    operator: Option<(BooleanOperator, Vec<Modifier>, usize)>,
}

impl OpenGroup {
    fn new(inherited: Option<Arc<Relation>>) -> Self {
        Self {
            inherited,
            prefixes: Vec::new(),
            left: None,
            operator: None,
        }
    }

    /// Adds the right operand of the operator, or the first part of the group.
    fn operand(&mut self, right: Node, depth: usize) -> Result<(), QueryError> {
        self.left = Some(match (self.left.take(), self.operator.take()) {
            (Some((left, left_depth)), Some((operator, modifiers, offset))) => {
                let depth = deeper(depth.max(left_depth), offset)?;
                let boolean = Boolean {
                    operator,
                    modifiers,
                    left,
                    right,
                };
                (Node::Boolean(Box::new(boolean)), depth)
            }
            _ => (right, depth),
        });
        Ok(())
    }

    /// Returns the complete tree, with the prefix maps of the group.
    fn close(self) -> Result<Option<(Node, usize)>, QueryError> {
        let Some((mut query, mut depth)) = self.left else {
            return Ok(None);
        };
        for (prefix, uri) in self.prefixes.into_iter().rev() {
            depth = deeper(depth, uri.offset)?;
            query = Node::Prefixed(Box::new(PrefixMap { prefix, uri, query }));
        }
        Ok(Some((query, depth)))
    }
}

fn deeper(depth: usize, offset: usize) -> Result<usize, QueryError> {
    if depth >= MAX_DEPTH {
        return Err(QueryErrorKind::TooDeep(MAX_DEPTH).at(offset));
    }
    Ok(depth + 1)
}

/// Parses a query up to `sortby` or the end.
fn query(lexer: &mut Lexer<'_>) -> Result<Node, QueryError> {
    let mut outer: Vec<OpenGroup> = Vec::new();
    let mut scope = OpenGroup::new(None);
    loop {
        if scope.left.is_none() {
            prefixes(lexer, &mut scope)?;
        }
        let mut relation = scope.inherited.clone();
        while !matches!(lexer.peek(), Some(CqlToken::Open)) && relation_follows(lexer) {
            relation = Some(Arc::new(self::relation(lexer)?));
        }
        if matches!(lexer.peek(), Some(CqlToken::Open)) {
            deeper(outer.len(), lexer.offset())?;
            lexer.next()?;
            outer.push(std::mem::replace(&mut scope, OpenGroup::new(relation)));
            continue;
        }
        let clause = clause(lexer, relation)?;
        scope.operand(Node::Clause(clause), 0)?;
        while matches!(lexer.peek(), Some(CqlToken::Close)) {
            let Some(parent) = outer.pop() else {
                return Err(lexer.unexpected("the end"));
            };
            lexer.next()?;
            if let Some((node, depth)) = std::mem::replace(&mut scope, parent).close()? {
                scope.operand(node, depth)?;
            }
        }
        let offset = lexer.offset();
        if let Some(operator) = lexer.peek().and_then(CqlToken::operator) {
            lexer.next()?;
            scope.operator = Some((operator, modifiers(lexer)?, offset));
            continue;
        }
        let ended = lexer.peek().is_none_or(|token| token.is("sortby"));
        return match scope.close()? {
            Some((node, _)) if ended && outer.is_empty() => Ok(node),
            _ if ended && lexer.peek().is_none() => Err(lexer.unexpected("a closing parenthesis")),
            _ => Err(lexer.unexpected("an operator")),
        };
    }
}

/// Parses all prefix maps, `> prefix = uri` or `> uri`, that come next.
fn prefixes(lexer: &mut Lexer<'_>, scope: &mut OpenGroup) -> Result<(), QueryError> {
    while matches!(lexer.peek(), Some(CqlToken::Sign(super::Sign::Greater))) {
        lexer.next()?;
        let first = lexer.word("a prefix or the URI of a context set")?;
        let map = if matches!(lexer.peek(), Some(CqlToken::Sign(super::Sign::Equal))) {
            lexer.next()?;
            (Some(first), lexer.word("the URI of a context set")?)
        } else {
            (None, first)
        };
        scope.prefixes.push(map);
    }
    Ok(())
}

/// Returns whether a word and a relation come next.
fn relation_follows(lexer: &Lexer<'_>) -> bool {
    if !matches!(lexer.peek(), Some(CqlToken::Word { .. })) {
        return false;
    }
    match lexer.peek_further() {
        [Some(CqlToken::Sign(_)), _] => true,
        [Some(second), third] if second.is_rare_relation() => match third {
            Some(word @ CqlToken::Word { .. }) => !word.ends_clause(),
            Some(CqlToken::Open | CqlToken::Slash) => true,
            _ => false,
        },
        [second, _] => second.is_some_and(CqlToken::is_relation),
    }
}

/// Parses a word, the relation after it, and the modifiers of the relation.
fn relation(lexer: &mut Lexer<'_>) -> Result<Relation, QueryError> {
    let index = lexer.word("an index")?;
    let offset = lexer.offset();
    let name = match lexer.peek() {
        Some(CqlToken::Sign(sign)) => {
            let text = sign.as_str().to_owned();
            lexer.next()?;
            Word { text, offset }
        }
        _ => lexer.word("a relation")?,
    };
    let modifiers = modifiers(lexer)?;
    Ok(Relation {
        index,
        name,
        modifiers,
    })
}

/// Parses a term and the additional words after it.
fn clause(lexer: &mut Lexer<'_>, relation: Option<Arc<Relation>>) -> Result<Clause, QueryError> {
    let term = lexer.word("a term")?;
    let mut extra_terms = Vec::new();
    while let Some(token @ CqlToken::Word { .. }) = lexer.peek()
        && !token.ends_clause()
        && !token.is_relation()
    {
        extra_terms.push(lexer.word("a term")?);
    }
    let relation = relation.unwrap_or_else(|| Arc::new(unwritten_relation(term.offset)));
    Ok(Clause {
        relation,
        term,
        extra_terms,
    })
}

/// Returns the default index and relation, for a term that is written without them.
fn unwritten_relation(offset: usize) -> Relation {
    let word = |text: &str| Word {
        text: text.to_owned(),
        offset,
    };
    Relation {
        index: word(SERVER_CHOICE),
        name: word("="),
        modifiers: Vec::new(),
    }
}

fn modifiers(lexer: &mut Lexer<'_>) -> Result<Vec<Modifier>, QueryError> {
    let mut modifiers = Vec::new();
    while matches!(lexer.peek(), Some(CqlToken::Slash)) {
        if modifiers.len() == MAX_MODIFIERS {
            return Err(
                QueryErrorKind::TooMany(MAX_MODIFIERS, "modifiers in a row").at(lexer.offset())
            );
        }
        lexer.next()?;
        let name = lexer.word("a modifier")?;
        let value = match lexer.peek() {
            Some(&CqlToken::Sign(sign)) => {
                lexer.next()?;
                Some((sign, lexer.word("the value of a modifier")?))
            }
            _ => None,
        };
        modifiers.push(Modifier { name, value });
    }
    Ok(modifiers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::MAX_QUERY_LENGTH;

    fn check(text: &str, printed: &str) {
        let query = parse(text).expect(text);
        assert_eq!(query.to_string(), printed, "{text}");
        assert_eq!(parse(printed).as_ref(), Ok(&query), "{printed}");
    }

    #[test]
    fn queries() {
        for (text, printed) in [
            ("war", "war"),
            ("war peace", "war peace"),
            ("title=war", "title = war"),
            ("title = (war or peace)", "title = war or title = peace"),
            ("title = author = war", "author = war"),
            ("a and b or c not d", "a and b or c not d"),
            ("a AND (b Or c)", "a and (b or c)"),
            ("((a))", "a"),
            (
                "title all/stem/fuzzy \"war peace\"",
                "title all/stem/fuzzy \"war peace\"",
            ),
            (
                "a prox/distance<=3/ordered b",
                "a prox/distance<=3/ordered b",
            ),
            (
                "> dc = \"http://x\" dc.title = a and b",
                "> dc = \"http://x\" dc.title = a and b",
            ),
            ("a or (> \"u\" title = b)", "a or (> u title = b)"),
            ("(> x=u a) and b", "(> x = u a) and b"),
            (
                "a sortby dc.date/sort.descending title",
                "a sortby dc.date/sort.descending title",
            ),
            ("and and and", "\"and\" and \"and\""),
            ("sortby", "\"sortby\""),
            ("all all all", "\"all\" all \"all\""),
            ("title exact war", "title exact war"),
            ("title exact", "title \"exact\""),
            ("a exact and b", "a \"exact\" and b"),
            ("title \"exact\" war", "title \"exact\" war"),
            ("cql.serverChoice = war", "war"),
            ("a\"b", "\"a\\\"b\""),
            ("a\\ b", "\"a\\ b\""),
            ("\"\"", "\"\""),
            ("\u{fc}ber", "\u{fc}ber"),
        ] {
            check(text, printed);
        }
    }

    #[test]
    fn faults_are_located() {
        for (text, message) in [
            ("", "a term is missing at octet 0 of the query"),
            ("a and", "a term is missing at octet 5 of the query"),
            ("title =", "a term is missing at octet 7 of the query"),
            ("title all", "a term is missing at octet 9 of the query"),
            (
                "(a",
                "a closing parenthesis is missing at octet 2 of the query",
            ),
            ("a)", "\")\" is not allowed here at octet 1 of the query"),
            (
                "a b all c",
                "\"all\" is not allowed here at octet 4 of the query",
            ),
            (
                "a and > x=y b",
                "\">\" is not allowed here at octet 6 of the query",
            ),
            (
                "(a sortby b)",
                "\"sortby\" is not allowed here at octet 3 of the query",
            ),
            ("a sortby", "a sort key is missing at octet 8 of the query"),
            ("a /b", "\"/\" is not allowed here at octet 2 of the query"),
            (
                "a and/ b=",
                "the value of a modifier is missing at octet 9 of the query",
            ),
            ("> x", "a term is missing at octet 3 of the query"),
            (
                "> x = ",
                "the URI of a context set is missing at octet 6 of the query",
            ),
            ("a \"b", "a quote is not closed at octet 2 of the query"),
            (
                "a b\\",
                "a backslash with nothing after it at octet 3 of the query",
            ),
            ("()", "\")\" is not allowed here at octet 1 of the query"),
            ("(a) b", "\"b\" is not allowed here at octet 4 of the query"),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), message, "{text}");
        }
    }

    #[test]
    fn at_the_limit_and_one_past_it() {
        let too_deep = |error: QueryError| error.kind == QueryErrorKind::TooDeep(MAX_DEPTH);
        let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        let chain = |depth: usize| format!("a{}", " or a".repeat(depth));
        let right = |depth: usize| format!("{}a{}", "a or (".repeat(depth), ")".repeat(depth));
        let maps = |depth: usize| format!("{}a", "> u ".repeat(depth));
        for text in [&nested as &dyn Fn(usize) -> String, &chain, &right] {
            let query = parse(&text(MAX_DEPTH)).expect("at the limit");
            assert_eq!(parse(&query.to_string()).as_ref(), Ok(&query));
            assert!(too_deep(parse(&text(MAX_DEPTH + 1)).expect_err("past it")));
        }
        assert!(parse(&maps(MAX_DEPTH)).is_ok());
        assert!(too_deep(parse(&maps(MAX_DEPTH + 1)).expect_err("past it")));
        let modified = |count: usize| format!("a ={} b", "/m".repeat(count));
        assert!(parse(&modified(MAX_MODIFIERS)).is_ok());
        assert!(parse(&modified(MAX_MODIFIERS + 1)).is_err());
        assert!(parse(&"x".repeat(MAX_QUERY_LENGTH)).is_ok());
        assert!(parse(&"x".repeat(MAX_QUERY_LENGTH + 1)).is_err());
    }
}
