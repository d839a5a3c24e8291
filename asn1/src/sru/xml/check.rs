//! Checks that a document is well-formed (XML 1.0 §2.1). This is required of requests, because a malformed update might
//! lose parts of the record, and its response would still report success.

use bytes::Bytes;
use quick_xml::events::{BytesStart, Event};

use super::{XmlError, XmlReader};
use crate::sru::SruLimits;

/// Checks a document, which must have no document type, within the limits on its elements.
///
/// # Errors
/// [`XmlError`] for the first fault in the document.
pub(in crate::sru) fn check_well_formed(
    octets: &Bytes,
    limits: &SruLimits,
) -> Result<(), XmlError> {
    check_characters(octets)?;
    let mut xml = XmlReader::new(octets, limits);
    let (mut depth, mut has_root) = (0_usize, false);
    loop {
        let offset = xml.position();
        let fault = match xml.event()? {
            Event::Start(start) => {
                let is_second = depth == 0 && has_root;
                (depth, has_root) = (depth + 1, true);
                if is_second {
                    Some("a second outermost element".to_owned())
                } else {
                    fault_of_tag(&start)
                }
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
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
            Event::Decl(_) if offset > 0 => Some("a second XML declaration".to_owned()),
            Event::Eof if depth > 0 => return Err(XmlError::Unfinished),
            Event::Eof if !has_root => return Err(XmlError::NoElement),
            Event::Eof => return Ok(()),
            _ => None,
        };
        if let Some(fault) = fault {
            return Err(syntax(offset, fault));
        }
    }
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
    // These octets are U+FFFE and U+FFFF.
    let is_none = |three: &[u8]| matches!(three, [0xEF, 0xBF, 0xBE | 0xBF]);
    let none = || octets.windows(3).position(is_none);
    match control.or_else(none) {
        Some(offset) => Err(syntax(offset, "a character that XML does not have")),
        None => Ok(()),
    }
}

/// The maximum number of attributes of an element. The number is limited because each attribute is compared with all
/// others.
const MAX_ATTRIBUTES: usize = 256;

fn fault_of_tag(start: &BytesStart<'_>) -> Option<String> {
    let name = start.name().into_inner();
    if !is_name(name) {
        return Some(format!("{:?} is no name", shown(name)));
    }
    let raw = start.attributes_raw();
    if raw.bytes().filter(|octet| *octet == b'=').count() > MAX_ATTRIBUTES
        && start.attributes().with_checks(false).count() > MAX_ATTRIBUTES
    {
        return Some(format!("more than {MAX_ATTRIBUTES} attributes"));
    }
    start.attributes().find_map(|attribute| match attribute {
        Err(error) => Some(error.to_string()),
        Ok(attribute) => {
            let name: &str = attribute.key.as_ref();
            if is_name(name) {
                fault_of_value(&attribute.value)
            } else {
                Some(format!("{:?} is no name", shown(name)))
            }
        }
    })
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

/// Returns whether XML allows the character (§2.2).
fn is_character(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

/// Returns whether text is a name (§2.3); only its ASCII characters are checked.
fn is_name(text: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':' || !c.is_ascii();
    let is_next = |c: char| is_start(c) || c.is_ascii_digit() || c == '-' || c == '.';
    text.starts_with(is_start) && text.chars().all(is_next)
}

/// Returns the part of a name to show in a message.
fn shown(name: &str) -> String {
    name.chars().take(40).collect()
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
            ("<é:b.c-d_1/>", ""),
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
        ] {
            let octets = Bytes::from(text);
            let checked = check_well_formed(&octets, &SruLimits::default());
            let message = checked.map_or_else(|error| error.to_string(), |()| String::new());
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
        assert_eq!(check(attributes(MAX_ATTRIBUTES)), Ok(()));
        let error = check(attributes(MAX_ATTRIBUTES + 1)).expect_err("too many");
        assert!(
            error.to_string().contains("more than 256 attributes"),
            "{error}"
        );
        let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        let depth = SruLimits::default().depth;
        assert_eq!(check(nested(depth)), Ok(()));
        let error = check(nested(depth + 1)).expect_err("too deep");
        assert!(matches!(error, XmlError::TooDeep { .. }), "{error}");
        let error = check("<a>".to_owned() + &"<b/>".repeat(SruLimits::default().elements));
        assert!(matches!(error, Err(XmlError::TooMany { .. })), "{error:?}");
    }
}
