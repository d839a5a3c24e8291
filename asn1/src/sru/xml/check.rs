//! Checks whether a document is well-formed (XML 1.0 §2.1) and all its namespaces are declared (Namespaces in XML 1.0). Requests
//! must be well-formed, because an update that arrives incomplete would otherwise be reported as a success. Records in a
//! response must be well-formed, because they could otherwise close the elements of the response.

use std::ops::Range;

use bytes::Bytes;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::names::{NamespaceScope, is_qualified_name, is_simple_name, local_part, shown};
use super::{XmlError, XmlReader};
use crate::sru::SruLimits;

/// The outermost element of a document that is well-formed.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sru) struct CheckedDocument {
    /// The range of the element, without the parts of the document before and after it.
    pub(in crate::sru) element: Range<usize>,
    /// The namespace of the element; may be empty.
    pub(in crate::sru) namespace: String,
    /// The name of the element, without a prefix.
    pub(in crate::sru) name: String,
}

/// Checks that a document is well-formed, has no document type, and does not exceed the limits on elements.
///
/// # Errors
/// [`XmlError`] for the first fault in the document.
pub(in crate::sru) fn check_well_formed(
    octets: &Bytes,
    limits: &SruLimits,
) -> Result<CheckedDocument, XmlError> {
    check_characters(octets)?;
    let mut xml = XmlReader::new(octets, limits);
    let mut scope = NamespaceScope::default();
    let mut depth = 0_usize;
    let mut root: Option<CheckedDocument> = None;
    loop {
        let offset = xml.position();
        let fault = match xml.event()? {
            Event::Start(_) if depth == 0 && root.is_some() => {
                Some("a second outermost element".to_owned())
            }
            Event::Start(start) => {
                depth += 1;
                let fault = check_tag(&start, depth, &mut scope).err();
                root.get_or_insert_with(|| CheckedDocument {
                    element: offset..offset,
                    namespace: scope.of(start.name().into_inner()).to_owned(),
                    name: local_part(start.name().into_inner()).to_owned(),
                });
                fault
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                scope.leave(depth);
                if let Some(root) = root.as_mut().filter(|_| depth == 0) {
                    root.element.end = xml.position();
                }
                None
            }
            Event::Text(text) if depth == 0 && text.trim_ascii().is_empty() => None,
            Event::Text(text) if depth > 0 => {
                text.contains("]]>").then(|| "]]> in text".to_owned())
            }
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) if depth == 0 => {
                Some("text outside of the outermost element".to_owned())
            }
            Event::GeneralRef(reference) => fault_of_reference(&reference),
            Event::Comment(text) => {
                let is_wrong = text.contains("--") || text.ends_with('-');
                is_wrong.then(|| "-- in a comment".to_owned())
            }
            Event::PI(instruction) => fault_of_target(instruction.target()),
            Event::Decl(_) if offset > 0 => Some("a second XML declaration".to_owned()),
            Event::Eof if depth > 0 => return Err(XmlError::Unfinished),
            Event::Eof => return root.ok_or(XmlError::NoElement),
            _ => None,
        };
        if let Some(fault) = fault {
            return Err(syntax(offset, fault));
        }
    }
}

/// Parses the start tag of an element, and returns the namespace of the element and its name without a prefix.
pub(in crate::sru) fn root(element: &[u8]) -> Option<(String, String)> {
    let mut reader = Reader::from_str(std::str::from_utf8(element).ok()?);
    let (Event::Start(start) | Event::Empty(start)) = reader.read_event().ok()? else {
        return None;
    };
    let mut scope = NamespaceScope::default();
    check_tag(&start, 1, &mut scope).ok()?;
    let name = start.name().into_inner();
    Some((scope.of(name).to_owned(), local_part(name).to_owned()))
}

fn syntax(offset: usize, fault: impl Into<String>) -> XmlError {
    XmlError::Syntax {
        offset: offset as u64,
        fault: fault.into(),
    }
}

/// Returns an error if a document in UTF-8 contains characters that XML does not allow (§2.2).
fn check_characters(octets: &[u8]) -> Result<(), XmlError> {
    let is_wrong = |octet: &u8| *octet < b' ' && !matches!(octet, b'\t' | b'\n' | b'\r');
    let control = octets.iter().position(is_wrong);
    // XML does not allow U+FFFE and U+FFFF.
    let is_noncharacter = |at: &usize| {
        let three = octets.get(*at..).unwrap_or_default();
        matches!(three, [0xEF, 0xBF, 0xBE | 0xBF, ..])
    };
    let none = || memchr::memchr_iter(0xEF, octets).find(is_noncharacter);
    match control.or_else(none) {
        Some(offset) => Err(syntax(offset, "a character that XML does not have")),
        None => Ok(()),
    }
}

/// The maximum number of attributes on an element.
const MAX_ATTRIBUTES: usize = 256;

/// Checks a start tag (§3.1), and adds the namespaces that it declares.
///
/// # Errors
/// Fails with a description of the fault if the tag is not well-formed.
fn check_tag(
    start: &BytesStart<'_>,
    depth: usize,
    scope: &mut NamespaceScope,
) -> Result<(), String> {
    let name = start.name().into_inner();
    if !is_qualified_name(name) {
        return Err(no_name(name));
    }
    let attributes = attributes(start.attributes_raw())?;
    check_distinct(attributes.iter().map(|(name, _)| *name).collect())?;
    for (name, value) in &attributes {
        scope.declare(depth, name, value)?;
    }
    scope.check(name)?;
    let mut expanded = Vec::new();
    for (name, _) in &attributes {
        let prefix = name.split_once(':').map(|(prefix, _)| prefix);
        if prefix.is_some_and(|prefix| prefix != "xmlns") {
            scope.check(name)?;
            expanded.push((local_part(name), scope.of(name)));
        }
    }
    check_distinct(expanded)
}

/// Checks that no name occurs twice.
///
/// # Errors
/// Fails for an attribute that occurs twice.
fn check_distinct<T: Ord>(mut names: Vec<T>) -> Result<(), String> {
    names.sort_unstable();
    let is_twice = names.windows(2).any(|pair| pair.first() == pair.last());
    if is_twice {
        Err("an attribute that is there twice".to_owned())
    } else {
        Ok(())
    }
}

/// Returns the attributes of a tag, as written.
fn attributes(raw: &str) -> Result<Vec<(&str, &str)>, String> {
    let is_blank = |character| matches!(character, ' ' | '\t' | '\r' | '\n');
    let mut found = Vec::new();
    let mut rest = raw;
    loop {
        let next = rest.trim_start_matches(is_blank);
        if next.is_empty() {
            return Ok(found);
        }
        if next.len() == rest.len() {
            return Err("attributes without a blank between them".to_owned());
        }
        if found.len() == MAX_ATTRIBUTES {
            return Err(format!("more than {MAX_ATTRIBUTES} attributes"));
        }
        let end = next.find(|character| character == '=' || is_blank(character));
        let (name, after) = next
            .split_at_checked(end.unwrap_or(next.len()))
            .unwrap_or_default();
        if !is_qualified_name(name) {
            return Err(no_name(name));
        }
        let value = after.trim_start_matches(is_blank).strip_prefix('=');
        let value = value.map(|value| value.trim_start_matches(is_blank));
        let value = value.and_then(|value| {
            let quote = value
                .chars()
                .next()
                .filter(|quote| matches!(quote, '"' | '\''))?;
            value.get(1..)?.split_once(quote)
        });
        let Some((value, behind)) = value else {
            return Err("an attribute without a value in quotes".to_owned());
        };
        if let Some(fault) = fault_of_value(value) {
            return Err(fault);
        }
        found.push((name, value));
        rest = behind;
    }
}

/// Returns the fault in the value of an attribute, if there is one. `value` is the value as written.
fn fault_of_value(value: &str) -> Option<String> {
    if value.contains('<') {
        return Some("< in the value of an attribute".to_owned());
    }
    value
        .split('&')
        .skip(1)
        .find_map(|rest| match rest.split_once(';') {
            Some((reference, _)) => fault_of_reference(reference),
            None => Some("& without a name and ;".to_owned()),
        })
}

/// Returns the fault in a reference (§4.1, §4.6), if there is one. `reference` is the name or number in it.
fn fault_of_reference(reference: &str) -> Option<String> {
    let number = |digits: &str, radix| {
        let is_number = digits.bytes().all(|octet| octet.is_ascii_alphanumeric());
        let number = u32::from_str_radix(digits, radix)
            .ok()
            .filter(|_| is_number);
        number.and_then(char::from_u32).is_some_and(is_character)
    };
    let is_known = match reference.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix('x') {
            Some(digits) => number(digits, 16),
            None => number(digits, 10),
        },
        None => ["lt", "gt", "amp", "apos", "quot"].contains(&reference),
    };
    (!is_known).then(|| format!("&{};, which XML does not have", shown(reference)))
}

/// Returns the fault in the target of a processing instruction (§2.6; Namespaces in XML 1.0 §7), if there is one.
fn fault_of_target(target: &str) -> Option<String> {
    let is_right = is_simple_name(target) && !target.eq_ignore_ascii_case("xml");
    (!is_right).then(|| no_name(target))
}

/// Returns whether XML allows the character (§2.2).
fn is_character(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

fn no_name(name: &str) -> String {
    format!("\"{}\" is no name", shown(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_well_formed_or_refused() {
        for (text, expected) in [
            (
                "<?xml version=\"1.0\"?>\n<!-- c --><a b='&lt;&#9;' c=\"&#x10FFFF;'\">&amp;&apos;&#65;<![CDATA[<&e;]]></a>\n<?p q?>",
                "",
            ),
            ("<é:b.c-d_1 xmlns:é='urn:e'/>", ""),
            ("", "no element"),
            ("<!-- a -->", "no element"),
            ("<a>", "ends within"),
            ("<a", "ends within"),
            ("<a><b></a></b>", "octet 6"),
            ("<a></b>", "octet 3"),
            ("</a>", "octet 0"),
            ("<a/><b/>", "a second outermost element (octet 4)"),
            ("<a/>b", "text outside of the outermost element (octet 4)"),
            ("b<a/>", "text outside of the outermost element (octet 0)"),
            (
                "<a/>&amp;",
                "text outside of the outermost element (octet 4)",
            ),
            (
                "<a/><![CDATA[]]>",
                "text outside of the outermost element (octet 4)",
            ),
            (
                "<a><?xml version='1.0'?></a>",
                "a second XML declaration (octet 3)",
            ),
            ("<a>]]></a>", "]]> in text (octet 3)"),
            ("<a>&e;</a>", "&e;, which XML does not have (octet 3)"),
            ("<a>&#0;</a>", "&#0;, which"),
            ("<a>&#1;</a>", "&#1;, which"),
            ("<a>&#xD800;</a>", "&#xD800;, which"),
            ("<a>&#xFFFF;</a>", "&#xFFFF;, which"),
            ("<a>&#+65;</a>", "&#+65;, which"),
            ("<a>&#;</a>", "&#;, which"),
            ("<a>&#99999999999999;</a>", "&#99999999999999;, which"),
            ("<a>& b</a>", "octet 3"),
            ("<a b='&e;'/>", "&e;, which"),
            ("<a b='&'/>", "& without"),
            ("<a b='<'/>", "< in the value"),
            ("<a b=''  b=''/>", "octet 0"),
            ("<a b=c/>", "octet 0"),
            ("<a b/>", "octet 0"),
            ("<a 1=''/>", "\"1\" is no name"),
            ("<1/>", "\"1\" is no name"),
            ("<a;b/>", "\"a;b\" is no name"),
            (
                "<a>\u{1}</a>",
                "a character that XML does not have (octet 3)",
            ),
            (
                "<a b='\0'/>",
                "a character that XML does not have (octet 6)",
            ),
            (
                "<a>\u{FFFE}</a>",
                "a character that XML does not have (octet 3)",
            ),
            ("<a>\u{FFFD}\t\r\n\u{7F}</a>", ""),
            ("<!DOCTYPE a><a/>", "a document type"),
            ("<a b='1'c='2'/>", "without a blank"),
            ("<a b='1' / >", "\"/\" is no name"),
            ("<a b />", "without a value"),
            ("<a b = '1'\t\r\nc='2'></a\n>", ""),
            ("<a\u{D7}/>", "is no name"),
            ("<a\u{37E}b/>", "is no name"),
            ("<a\u{FEFF}b/>", "\"a\u{FEFF}b\" is no name"),
            ("<a\u{2070}/>", "is no name"),
            ("<a-\u{B7}/>", ""),
            ("<a><!-- -- --></a>", "-- in a comment (octet 3)"),
            ("<a><!-- - ---></a>", "-- in a comment"),
            ("<a/><!-- a-->\n<?p?>", ""),
            ("<a><?XML a?></a>", "\"XML\" is no name"),
            ("<a><?p:q a?></a>", "\"p:q\" is no name"),
            ("<a><? p?></a>", "is no name"),
            ("<a><?p+q?></a>", "is no name"),
            ("<p:a/>", "the prefix \"p\" is not declared"),
            (
                "<a><p:b xmlns:p='urn:p'/><p:c/></a>",
                "the prefix \"p\" is not declared (octet 25)",
            ),
            ("<a p:b=''/>", "the prefix \"p\" is not declared"),
            ("<p:a p:b='' xmlns:p='urn:p'><p:c/></p:a>", ""),
            ("<a xml:lang='en' xml:space='preserve'/>", ""),
            ("<a xmlns:p=''/>", "xmlns:p cannot stand for"),
            ("<a xmlns='urn:a'><b xmlns=''/></a>", ""),
            ("<a xmlns:xml='urn:a'/>", "xmlns:xml cannot"),
            ("<a xmlns:xml='http://www.w3.org/XML/1998/namespace'/>", ""),
            (
                "<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>",
                "xmlns:p cannot",
            ),
            ("<a xmlns='http://www.w3.org/2000/xmlns/'/>", "xmlns cannot"),
            ("<a xmlns:xmlns='urn:a'/>", "xmlns:xmlns cannot"),
            (
                "<a xmlns='urn:a\tb'/>",
                "xmlns cannot stand for \"urn:a\\tb\"",
            ),
            ("<a xmlns:p='urn:&#32;'/>", "xmlns:p cannot"),
            ("<a xmlns='urn:}a'/>", "xmlns cannot"),
            ("<a xmlns='urn:é'/>", ""),
            ("<xmlns:a/>", "the prefix \"xmlns\" is not declared"),
            ("<a xmlns:='urn:a'/>", "is no name"),
            ("<a:b:c xmlns:a='urn:a'/>", "is no name"),
            ("<:a/>", "is no name"),
            ("<a:/>", "is no name"),
            ("<a:1 xmlns:a='urn:a'/>", "is no name"),
            (
                "<a xmlns:p='urn:a' xmlns:q='urn:a' p:b='' q:b=''/>",
                "there twice",
            ),
            (
                "<a xmlns:p='urn:a' xmlns:q='urn:&#x61;' p:b='' q:b=''/>",
                "there twice",
            ),
            (
                "<a xmlns:p='urn:a' xmlns:q='urn:b' p:b='' q:b='' b=''/>",
                "",
            ),
        ] {
            let octets = Bytes::from(text);
            let checked = check_well_formed(&octets, &SruLimits::default());
            let message = checked.map_or_else(|error| error.to_string(), |_| String::new());
            let is_expected = match expected {
                "" => message.is_empty(),
                expected => message.contains(expected),
            };
            assert!(is_expected, "{text}: {message:?} instead of {expected:?}");
        }
    }

    #[test]
    fn documents_are_checked_within_limits() {
        let check = |text: String| check_well_formed(&text.into(), &SruLimits::default());
        let attributes = |count: usize| {
            let attributes: String = (0..count).map(|number| format!(" a{number}=''")).collect();
            format!("<a{attributes}/>")
        };
        assert!(check(attributes(MAX_ATTRIBUTES)).is_ok());
        let error = check(attributes(MAX_ATTRIBUTES + 1)).expect_err("too many");
        assert!(
            error.to_string().contains("more than 256 attributes"),
            "{error}"
        );
        let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        let depth = SruLimits::default().depth;
        assert!(check(nested(depth)).is_ok());
        let error = check(nested(depth + 1)).expect_err("too deep");
        assert!(matches!(error, XmlError::TooDeep { .. }), "{error}");
        let error = check("<a>".to_owned() + &"<b/>".repeat(SruLimits::default().elements));
        assert!(matches!(error, Err(XmlError::TooMany { .. })), "{error:?}");
    }
}
