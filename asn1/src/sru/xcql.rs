//! Writes CQL queries as XML elements (XCQL, `http://www.loc.gov/zing/cql/xcql/`), which echoes in 1.1 and 1.2 contain
//! in addition to the text.

use super::xml::Writer;
use crate::query::cql::{Clause, Modifier, Node, Word, parse};

const XCQL: (&str, &str) = ("xcql", "http://www.loc.gov/zing/cql/xcql/");

/// The maximum depth of nested operators that are written. Readers limit the depth of elements, and each operator
/// takes two levels.
const DEEPEST: usize = 40;

/// Appends the query as `xQuery`, unless it is too deep or not CQL.
pub(super) fn put_query(to: &mut Writer<'_>, query: &str) {
    let Some(tree) = parse(query).ok().map(|query| query.query) else {
        return;
    };
    let mut inside = Vec::new();
    let mut inner = Writer {
        out: &mut inside,
        prefix: "xcql:",
    };
    if put_operand(&mut inner, &tree).is_some() {
        to.begin_with("xQuery", &[XCQL]);
        to.raw(&inside);
        to.end("xQuery");
    }
}

/// Appends the clause of a scan as `xScanClause`, if it is valid.
pub(super) fn put_scan_clause(to: &mut Writer<'_>, clause: &str) {
    if let Ok(query) = parse(clause)
        && let Node::Clause(clause) = &query.query
    {
        to.begin_with("xScanClause", &[XCQL]);
        put_clause(&mut to.with("xcql:"), clause);
        to.end("xScanClause");
    }
}

/// A step that remains to be done.
enum XcqlStep<'a> {
    Operand(&'a Node, usize),
    Open(&'static str),
    Close(&'static str),
}

/// Writes a tree from left to right, without recursion; returns `None` if it is too deep.
fn put_operand(to: &mut Writer<'_>, tree: &Node) -> Option<()> {
    let mut steps = vec![XcqlStep::Operand(tree, 0)];
    while let Some(step) = steps.pop() {
        let (node, depth) = match step {
            XcqlStep::Open(name) => {
                to.begin(name);
                continue;
            }
            XcqlStep::Close(name) => {
                to.end(name);
                continue;
            }
            XcqlStep::Operand(_, DEEPEST) => return None,
            XcqlStep::Operand(node, depth) => (node, depth + 1),
        };
        match put_prefixes(to, node) {
            Node::Clause(clause) => {
                to.begin("searchClause");
                put_clause(to, clause);
                to.end("searchClause");
            }
            Node::Boolean(boolean) => {
                to.begin("triple");
                put_value(to, "boolean", boolean.operator.as_str(), &boolean.modifiers);
                to.begin("leftOperand");
                steps.extend([
                    XcqlStep::Close("triple"),
                    XcqlStep::Close("rightOperand"),
                    XcqlStep::Operand(&boolean.right, depth),
                    XcqlStep::Open("rightOperand"),
                    XcqlStep::Close("leftOperand"),
                    XcqlStep::Operand(&boolean.left, depth),
                ]);
            }
            // `put_prefixes` never returns a prefix map, so this arm is not reached.
            Node::Prefixed(_) => return None,
        }
    }
    Some(())
}

/// Writes the prefix maps of a node, and returns the part to which they apply.
fn put_prefixes<'a>(to: &mut Writer<'_>, node: &'a Node) -> &'a Node {
    let mut rest = node;
    while let Node::Prefixed(map) = rest {
        if std::ptr::eq(rest, node) {
            to.begin("prefixes");
        }
        to.begin("prefix");
        let prefix = map.prefix.as_ref().map(Word::unescaped);
        to.text("name", prefix.as_deref().unwrap_or_default());
        to.text("identifier", &map.uri.unescaped());
        to.end("prefix");
        rest = &map.query;
    }
    if !std::ptr::eq(rest, node) {
        to.end("prefixes");
    }
    rest
}

fn put_clause(to: &mut Writer<'_>, clause: &Clause) {
    let relation = &clause.relation;
    to.text("index", &relation.index.text);
    put_value(to, "relation", &relation.name.text, &relation.modifiers);
    let words: Vec<&str> = std::iter::once(&clause.term)
        .chain(&clause.extra_terms)
        .map(|word| &*word.text)
        .collect();
    to.text("term", &words.join(" "));
}

/// Writes a relation or an operator, with its modifiers.
fn put_value(to: &mut Writer<'_>, name: &str, value: &str, modifiers: &[Modifier]) {
    to.begin(name);
    to.text("value", value);
    if !modifiers.is_empty() {
        to.begin("modifiers");
        for modifier in modifiers {
            to.begin("modifier");
            to.text("type", &modifier.name.text);
            if let Some((sign, value)) = &modifier.value {
                to.text("comparison", sign.as_str());
                to.text("value", &value.text);
            }
            to.end("modifier");
        }
        to.end("modifiers");
    }
    to.end(name);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: &str) {
        let mut out = Vec::new();
        let mut to = Writer {
            out: &mut out,
            prefix: "zs:",
        };
        put_query(&mut to, query);
        let written = String::from_utf8(out).expect("UTF-8").replace("xcql:", "");
        let begin = "<zs:xQuery xmlns:xcql=\"http://www.loc.gov/zing/cql/xcql/\">";
        let inside = written
            .strip_prefix(begin)
            .unwrap_or_default()
            .strip_suffix("</zs:xQuery>")
            .unwrap_or_default();
        assert_eq!(inside, expected, "{query}");
    }

    #[test]
    fn queries_are_written_as_elements() {
        let clause = |index: &str, relation: &str, term: &str| {
            format!(
                "<searchClause><index>{index}</index><relation><value>{relation}</value></relation><term>{term}</term>\
                 </searchClause>"
            )
        };
        check("war", &clause("cql.serverChoice", "=", "war"));
        check("dc.title any \"a b\"", &clause("dc.title", "any", "a b"));
        let (one, other) = (clause("a", "=", "1"), clause("b", "&lt;", "2"));
        check(
            "a=1 prox/unit=word b<2",
            &format!(
                "<triple><boolean><value>prox</value><modifiers><modifier><type>unit</type><comparison>=</comparison>\
                 <value>word</value></modifier></modifiers></boolean><leftOperand>{one}</leftOperand>\
                 <rightOperand>{other}</rightOperand></triple>"
            ),
        );
        check(
            "> d = \"info:x\" > \"info:y\" a=1",
            &format!(
                "<prefixes><prefix><name>d</name><identifier>info:x</identifier></prefix><prefix><name></name>\
                 <identifier>info:y</identifier></prefix></prefixes>{one}"
            ),
        );
        check("a and", "");
        let mut out = Vec::new();
        let mut to = Writer {
            out: &mut out,
            prefix: "zs:",
        };
        let operators = |count: usize| format!("a{}", " or a".repeat(count));
        put_query(&mut to, &operators(DEEPEST));
        assert!(to.out.is_empty());
        put_query(&mut to, &operators(DEEPEST - 1));
        assert!(!to.out.is_empty());
        to.out.clear();
        put_scan_clause(&mut to, "a and b");
        assert!(to.out.is_empty());
        put_scan_clause(&mut to, "a = b");
        assert!(out.starts_with(b"<zs:xScanClause xmlns:xcql="));
    }
}
