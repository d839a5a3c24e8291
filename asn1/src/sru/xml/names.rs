//! Names (XML 1.0 §2.3), and the namespaces to which their prefixes are bound (Namespaces in XML 1.0, third edition).

use quick_xml::escape::unescape;

use z3950_marc::text::escape_unprintable;

/// The namespaces that are declared at the reader's position.
#[derive(Default)]
pub(super) struct NamespaceScope(Vec<Declaration>);

struct Declaration {
    /// The depth of the element that declares the namespace.
    depth: usize,
    prefix: String,
    namespace: String,
}

/// Returns whether a URI or IRI may contain the character (RFC 3986 §2, RFC 3987 §2.2). Parsers treat white space in a namespace
/// differently, and expat refuses `}`, because it uses this character as a separator between namespace and name for Python and
/// other programs.
fn is_of_uri(character: char) -> bool {
    let is_blank = character.is_whitespace() || character.is_control();
    !is_blank
        && !matches!(
            character,
            '<' | '>' | '"' | '{' | '}' | '|' | '\\' | '^' | '`'
        )
}

/// The maximum number of namespaces in scope at a time. It is limited because each prefix is looked up by a linear
/// search.
const MAX_NAMESPACES: usize = 64;

const XML: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

impl NamespaceScope {
    /// Adds the namespace that an attribute declares, if it declares one (§3). `depth` is the depth of the
    /// attribute's element.
    ///
    /// # Errors
    /// Fails with a description of the fault if the declaration is not valid.
    pub(super) fn declare(&mut self, depth: usize, name: &str, value: &str) -> Result<(), String> {
        let prefix = match name.strip_prefix("xmlns") {
            Some("") => "",
            Some(rest) => match rest.strip_prefix(':') {
                Some(prefix) => prefix,
                None => return Ok(()),
            },
            None => return Ok(()),
        };
        let namespace = unescape(value).unwrap_or(value.into());
        // `xml` has its own namespace, which no other prefix may have; `xmlns` may not be declared; a prefix cannot be bound to
        // an empty name (§3, §5).
        let is_right = match (prefix, &*namespace) {
            ("xml", XML) => true,
            ("xml" | "xmlns", _) | (_, XML | XMLNS) => false,
            (prefix, namespace) => {
                (prefix.is_empty() || !namespace.is_empty()) && namespace.chars().all(is_of_uri)
            }
        };
        if !is_right {
            let (name, namespace) = (shown(name), shown(&namespace));
            return Err(format!("{name} cannot stand for \"{namespace}\""));
        }
        if self.0.len() == MAX_NAMESPACES {
            return Err(format!("more than {MAX_NAMESPACES} namespaces"));
        }
        self.0.push(Declaration {
            depth,
            prefix: prefix.to_owned(),
            namespace: namespace.into_owned(),
        });
        Ok(())
    }

    /// Removes the declarations of elements deeper than `depth`.
    pub(super) fn leave(&mut self, depth: usize) {
        while self.0.last().is_some_and(|last| last.depth > depth) {
            self.0.pop();
        }
    }

    /// Checks that the prefix of a name is declared.
    ///
    /// # Errors
    /// Fails with the prefix of the name if the prefix is not declared.
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        match name.split_once(':') {
            Some((prefix, _)) if prefix != "xml" && self.find(prefix).is_none() => {
                Err(format!("the prefix \"{}\" is not declared", shown(prefix)))
            }
            _ => Ok(()),
        }
    }

    /// Returns the namespace of an element with this name; may be empty.
    pub(super) fn of(&self, name: &str) -> &str {
        match name.split_once(':') {
            Some(("xml", _)) => XML,
            Some((prefix, _)) => self.find(prefix).unwrap_or_default(),
            None => self.find("").unwrap_or_default(),
        }
    }

    fn find(&self, prefix: &str) -> Option<&str> {
        let mut inner_first = self.0.iter().rev();
        let found = inner_first.find(|one| one.prefix == prefix)?;
        Some(&found.namespace)
    }
}

/// Returns a name without its prefix.
pub(super) fn local_part(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

/// Returns whether text is a name with or without a prefix (QName).
pub(super) fn is_qualified_name(text: &str) -> bool {
    match text.split_once(':') {
        Some((prefix, local)) => is_simple_name(prefix) && is_simple_name(local),
        None => is_simple_name(text),
    }
}

/// Returns whether text is a name without a colon (NCName).
pub(super) fn is_simple_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name_character)
}

/// Returns whether a name may begin with the character. The editions of XML 1.0 before the fifth list the letters one by one
/// (Appendix B), and many parsers, such as expat, still follow them. This function accepts the letters of the scripts in common
/// use that all editions allow.
fn is_name_start(character: char) -> bool {
    matches!(
        character,
        'A'..='Z'
            | 'a'..='z'
            | '_'
            // Latin.
            | '\u{C0}'..='\u{D6}'
            | '\u{D8}'..='\u{F6}'
            | '\u{F8}'..='\u{131}'
            | '\u{134}'..='\u{13E}'
            | '\u{141}'..='\u{148}'
            | '\u{14A}'..='\u{17E}'
            | '\u{1E00}'..='\u{1E9B}'
            | '\u{1EA0}'..='\u{1EF9}'
            // Greek and Cyrillic.
            | '\u{386}'
            | '\u{388}'..='\u{38A}'
            | '\u{38C}'
            | '\u{38E}'..='\u{3A1}'
            | '\u{3A3}'..='\u{3CE}'
            | '\u{401}'..='\u{40C}'
            | '\u{40E}'..='\u{44F}'
            | '\u{451}'..='\u{45C}'
            | '\u{45E}'..='\u{481}'
            // Hebrew and Arabic.
            | '\u{5D0}'..='\u{5EA}'
            | '\u{621}'..='\u{63A}'
            | '\u{641}'..='\u{64A}'
            // Kana, Chinese characters and Hangul.
            | '\u{3041}'..='\u{3094}'
            | '\u{30A1}'..='\u{30FA}'
            | '\u{4E00}'..='\u{9FA5}'
            | '\u{AC00}'..='\u{D7A3}'
    )
}

/// Returns whether a name may contain the character (§2.3; the digits and marks that all editions allow).
fn is_name_character(character: char) -> bool {
    matches!(character, '0'..='9' | '-' | '.' | '\u{B7}') || is_name_start(character)
}

/// Returns the beginning of a name, for messages.
pub(super) fn shown(name: &str) -> String {
    let beginning: String = name.chars().take(40).collect();
    escape_unprintable(&beginning, |_| false).into_owned()
}
