//! Interprets the text that was typed as a URL, an identifier, or a query in one of four languages, and describes the
//! interpretation on the page.

use z3950::Query;
use z3950::lookup::{Identifier, Kind};
use z3950_asn1::apdu::{AttributeValue, Operand, Operator, RpnStructure};
use z3950_asn1::bib1::attributes::{USE, USE_ANY};
use z3950_asn1::query::names::Names;
use z3950_asn1::query::{Language, explain};

use crate::text::cut;

/// The interpretation of the text that was typed.
#[derive(Clone, Debug)]
pub(super) enum PageQuery {
    /// Identifiers, which are searched for in order until one of them finds records.
    Identifiers(Vec<Identifier>),
    /// A query, and its language.
    Query(Box<Query>, Language),
}

/// The maximum number of characters in the description of a query.
const MAX_DESCRIPTION: usize = 1000;

impl PageQuery {
    /// Interprets the text that was typed. Without a prefix such as `cql:`, it may consist of identifiers; otherwise,
    /// [`Language::of_typed`] determines the language of the query.
    ///
    /// # Errors
    /// Fails if the query is malformed. The message gives the reason and the position of the error, counted in characters from 1.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let is_prefixed = Language::prefixed(text).is_some();
        if !is_prefixed {
            let found = identifiers(text);
            if !found.is_empty() && found.iter().all(is_clear) {
                return Ok(Self::Identifiers(found));
            }
        }
        let (language, typed) = Language::of_typed(text);
        let mended = mended(typed).filter(|_| !is_prefixed);
        let words = mended.as_deref().unwrap_or(typed);
        let (query, written) = match language {
            Language::Pqf => (Query::pqf(typed), typed),
            Language::Cql => (Query::cql(typed), typed),
            Language::Ccl => (Query::ccl(typed), typed),
            _ => (Query::words(words), words),
        };
        let query = query.map_err(|error| error.described(written))?;
        Ok(Self::Query(Box::new(query), language))
    }

    /// Returns a description of how the text was interpreted.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Identifiers(identifiers) => {
                let names: Vec<String> = identifiers.iter().map(in_words).collect();
                names.join(", or else ")
            }
            Self::Query(query, Language::Names) if is_words(&query.as_rpn().rpn) => {
                "all of these words".to_owned()
            }
            Self::Query(query, Language::Names) => {
                let sentence = explain(query.as_rpn());
                let sentence = sentence.trim_end_matches('.').replacen('R', "r", 1);
                cut(&sentence, MAX_DESCRIPTION)
            }
            Self::Query(_, language) => {
                format!("a {} query", language.name().to_uppercase())
            }
        }
    }

    /// Returns hints for a search without hits: what may be wrong with the text, and a correction if there is one.
    pub(super) fn hints(&self, text: &str) -> Vec<(String, Option<String>)> {
        let mut hints = Vec::new();
        let doubt = match self {
            Self::Identifiers(identifiers) => identifiers.first().and_then(Identifier::doubt),
            Self::Query(..) => identifiers(text).first().and_then(Identifier::doubt),
        };
        hints.extend(doubt.map(|doubt| (doubt, None)));
        if let Self::Query(query, Language::Names) = self
            && is_words(&query.as_rpn().rpn)
            && let Some(meant) = with_operators(text)
        {
            let words = "and, or and not in small letters are words like others".to_owned();
            hints.push((words, Some(meant)));
        }
        hints
    }
}

fn in_words(identifier: &Identifier) -> String {
    match identifier.kind {
        Kind::Isbn => format!("the ISBN {}", identifier.text),
        Kind::Issn => format!("the ISSN {}", identifier.text),
        Kind::Lccn => format!("the LCCN {}", identifier.text),
        Kind::Oclc => format!("the OCLC number {}", identifier.text),
        _ => format!("the record {}", identifier.text),
    }
}

/// Parses the text as a list of identifiers. Returns an empty list if the text is anything else.
fn identifiers(text: &str) -> Vec<Identifier> {
    Identifier::read_all(text, None).unwrap_or_default()
}

/// Returns whether the kind of the identifier is stated, or obvious from its form.
fn is_clear(identifier: &Identifier) -> bool {
    let is_number = identifier
        .text
        .starts_with(|first: char| first.is_ascii_digit());
    identifier.is_certain || is_number && matches!(identifier.kind, Kind::Isbn | Kind::Issn)
}

/// Returns whether the text is a URL that can be followed, or a URL that nobody would enter as a query.
pub(super) fn is_url(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let known = ["z39.50r:", "z39.50s:", "gopher:", "http:", "https:"];
    let is_one = known.iter().any(|scheme| lower.starts_with(scheme));
    is_one && !text.contains(char::is_whitespace)
}

/// Returns the text without spaces after lower-case index names, as in `ti: emma`; `None` if the text has no such spaces.
fn mended(text: &str) -> Option<String> {
    let mut mended = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(": ") {
        let name = before.rsplit([' ', '(']).next().unwrap_or(before);
        let is_small = name.chars().all(|letter| letter.is_ascii_lowercase());
        let is_index = is_small && Names::default().attributes(name).is_ok();
        mended.push_str(before);
        mended.push_str(if is_index { ":" } else { " " });
        rest = after.trim_start();
    }
    (!mended.is_empty()).then(|| mended + rest)
}

/// Returns the text with lower-case operators between words changed to capitals; `None` if the text has no such operators.
fn with_operators(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let last = words.len().saturating_sub(1);
    let mut has_one = false;
    let meant = words.iter().enumerate().map(|(at, word)| match *word {
        "and" | "or" | "not" if at > 0 && at < last => {
            has_one = true;
            word.to_uppercase()
        }
        word => word.to_owned(),
    });
    let meant: Vec<String> = meant.collect();
    has_one.then(|| meant.join(" "))
}

/// Returns whether a query only consists of words that must all occur, in any index.
fn is_words(query: &RpnStructure) -> bool {
    let mut rest = vec![query];
    while let Some(part) = rest.pop() {
        match part {
            RpnStructure::RpnRpnOp(node) if node.op == Operator::And => {
                rest.extend([&node.rpn1, &node.rpn2]);
            }
            RpnStructure::Op(Operand::AttributesPlusTerm(term)) => {
                let mut attributes = term.attributes.iter();
                let is_any = attributes.all(|one| {
                    one.attribute_type == USE
                        && one.attribute_value == AttributeValue::Numeric(USE_ANY)
                });
                if !is_any {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_is_recognized() {
        for (text, expected) in [
            ("war peace", "all of these words"),
            ("war and peace", "all of these words"),
            ("Emma: a novel", "all of these words"),
            ("Title: a novel", "all of these words"),
            (
                "ti:war au:tolstoy",
                "records where title has \"war\" and author has \"tolstoy\"",
            ),
            (
                "war OR peace",
                "records where any has \"war\" or any has \"peace\"",
            ),
            ("ti: war", "records where title has \"war\""),
            ("@attr 1=4 war", "a PQF query"),
            ("pqf: @attr 1=4 war", "a PQF query"),
            ("cql:dc.title=war", "a CQL query"),
            ("dc.title=war", "a CQL query"),
            ("dc.title any war", "a CQL query"),
            ("e=mc2", "all of these words"),
            ("names:dc.title=war", "all of these words"),
            ("ccl:ti=war", "a CCL query"),
            ("978-0-14-143951-8", "the ISBN 978-0-14-143951-8"),
            ("isbn:0141439513", "the ISBN 0141439513"),
            ("urn:isbn:0141439513", "the ISBN 0141439513"),
            ("URN:ISSN:0028-0836", "the ISSN 0028-0836"),
            (
                "isbn:0141439513 OR isbn:0306406152",
                "the ISBN 0141439513, or else the ISBN 0306406152",
            ),
            (
                "0141439513 | 0306406152",
                "the ISBN 0141439513, or else the ISBN 0306406152",
            ),
            ("0028-0836", "the ISSN 0028-0836"),
        ] {
            assert!(!is_url(text), "{text}");
            let asked = PageQuery::read(text).map(|asked| asked.words());
            assert_eq!(asked.as_deref(), Ok(expected), "{text}");
        }
        for url in ["z39.50r://lib.example/cat?id7", "gopher://lib.example/"] {
            assert!(is_url(url), "{url}");
        }
        assert!(PageQuery::read("@and war").is_err());
        assert!(PageQuery::read("nosuchindex:war").is_err());
    }

    #[test]
    fn suggestions_are_made_for_unknown_names() {
        for (text, words, query) in [
            ("978-0-14-143951-9", "wrong check digit (8 expected)", None),
            ("isbn:0141439512", "wrong check digit (3 expected)", None),
            ("war or peace", "in small letters", Some("war OR peace")),
        ] {
            let hints = PageQuery::read(text).expect(text).hints(text);
            let [(hint, meant)] = &*hints else {
                panic!("{text}: {hints:?}")
            };
            assert!(hint.contains(words), "{text}: {hint}");
            assert_eq!(meant.as_deref(), query, "{text}");
        }
        for text in ["war peace", "war OR peace", "or war", "ti:war or peace"] {
            let hints = PageQuery::read(text).expect(text).hints(text);
            assert_eq!(hints, [], "{text}");
        }
    }
}
