//! Prints the syntax tree as CQL (CQL 1.2 §BNF), with quotes and parentheses only where necessary.

use std::fmt::{self, Display, Formatter};

use super::lexer::needs_quotes;
use super::{Clause, Cql, Modifier, Node, SERVER_CHOICE, Sign, Word};

impl Display for Cql {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        print_node(f, &self.query)?;
        for (i, key) in self.sort.iter().enumerate() {
            let before = if i == 0 { " sortby " } else { " " };
            write!(f, "{before}{}", Quoted(&key.index))?;
            print_modifiers(f, &key.modifiers)?;
        }
        Ok(())
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        print_node(f, self)
    }
}

/// A part of the tree that has not been printed yet.
enum UnprintedPart<'a> {
    Node(&'a Node),
    /// An operator with its modifiers, printed between spaces.
    Operator(&'static str, &'a [Modifier]),
    Text(&'static str),
}

fn print_node(f: &mut Formatter<'_>, node: &Node) -> fmt::Result {
    let mut rest = vec![UnprintedPart::Node(node)];
    while let Some(piece) = rest.pop() {
        match piece {
            UnprintedPart::Text(text) => f.write_str(text)?,
            UnprintedPart::Operator(name, modifiers) => {
                write!(f, " {name}")?;
                print_modifiers(f, modifiers)?;
                f.write_str(" ")?;
            }
            UnprintedPart::Node(Node::Clause(clause)) => print_clause(f, clause)?,
            UnprintedPart::Node(Node::Prefixed(map)) => {
                f.write_str("> ")?;
                if let Some(prefix) = &map.prefix {
                    write!(f, "{} = ", Quoted(prefix))?;
                }
                write!(f, "{} ", Quoted(&map.uri))?;
                rest.push(UnprintedPart::Node(&map.query));
            }
            UnprintedPart::Node(Node::Boolean(boolean)) => {
                // A prefix map extends as far to the right as possible, so on the left it needs parentheses.
                let left = matches!(boolean.left, Node::Prefixed(_));
                let right = !matches!(boolean.right, Node::Clause(_));
                operand(&mut rest, &boolean.right, right);
                let name = boolean.operator.as_str();
                rest.push(UnprintedPart::Operator(name, &boolean.modifiers));
                operand(&mut rest, &boolean.left, left);
            }
        }
    }
    Ok(())
}

/// Pushes an operand onto the stack of parts to print, in parentheses if required.
fn operand<'a>(rest: &mut Vec<UnprintedPart<'a>>, node: &'a Node, parentheses: bool) {
    if parentheses {
        rest.extend([
            UnprintedPart::Text(")"),
            UnprintedPart::Node(node),
            UnprintedPart::Text("("),
        ]);
    } else {
        rest.push(UnprintedPart::Node(node));
    }
}

fn print_clause(f: &mut Formatter<'_>, clause: &Clause) -> fmt::Result {
    let relation = &clause.relation;
    let written = relation.index.text != SERVER_CHOICE
        || relation.name.text != Sign::Equal.as_str()
        || !relation.modifiers.is_empty();
    if written {
        // A relation in quotes would be read as a term, so it is printed without quotes.
        write!(f, "{} {}", Quoted(&relation.index), relation.name.text)?;
        print_modifiers(f, &relation.modifiers)?;
        f.write_str(" ")?;
    }
    write!(f, "{}", Quoted(&clause.term))?;
    for term in &clause.extra_terms {
        // A term with a dot would be read as a relation, so it is quoted.
        if term.text.contains('.') {
            write!(f, " \"{}\"", Escaped(&term.text))?
        } else {
            write!(f, " {}", Quoted(term))?
        }
    }
    Ok(())
}

fn print_modifiers(f: &mut Formatter<'_>, modifiers: &[Modifier]) -> fmt::Result {
    for modifier in modifiers {
        write!(f, "/{}", Quoted(&modifier.name))?;
        if let Some((sign, value)) = &modifier.value {
            write!(f, "{}{}", sign.as_str(), Quoted(value))?;
        }
    }
    Ok(())
}

/// Displays a word, quoted if necessary.
struct Quoted<'a>(&'a Word);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = &self.0.text;
        if needs_quotes(text) {
            write!(f, "\"{}\"", Escaped(text))
        } else {
            write!(f, "{}", Escaped(text))
        }
    }
}

/// Displays the text of a word with escapes: words that were not parsed may contain an unescaped quote or end in a lone
/// backslash.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => write!(f, "\\{}", characters.next().unwrap_or('\\'))?,
                '"' => f.write_str("\\\"")?,
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}
