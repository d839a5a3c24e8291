//! URLs of HTML: attributes that hold one, and the text between the tags, references such as `&amp;` resolved.
//! Source: HTML 4.01 §B.2, and its index of attributes for which of them hold URLs.

use std::ops::Range;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};

use super::super::common;
use super::super::span::Span;
use super::{Found, ascii, scan};

/// Attributes whose value is a URL.
const ATTRIBUTES: [&str; 11] = [
    "action",
    "background",
    "cite",
    "classid",
    "codebase",
    "data",
    "href",
    "longdesc",
    "poster",
    "src",
    "usemap",
];

/// A URL of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtmlUrl {
    /// Element and attribute, such as `a` and `href`; `None` in the text between tags.
    pub attribute: Option<(String, &'static str)>,
    /// The URL. Its range is that of the attribute; in text, its own, or the whole text between two tags where
    /// that holds references or line ends that were rewritten.
    pub found: Found,
}

/// The absolute URLs of a document, in its order. References relative to the document are passed over.
pub fn in_html(document: &[u8]) -> Vec<HtmlUrl> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    // Scripts and styles are no text, and their contents no tags.
    emitter.naively_switch_states(true);
    let mut urls = Vec::new();
    let mut silent = false;
    for token in Tokenizer::new_with_emitter(document, emitter).flatten() {
        match token {
            Token::StartTag(tag) => {
                silent = [&b"script"[..], b"style"].contains(&tag.name.as_slice());
                let element = ascii(&tag.name);
                for (name, value) in &tag.attributes {
                    let known = ATTRIBUTES
                        .into_iter()
                        .find(|known| name.as_slice() == known.as_bytes());
                    if let Some(name) = known
                        && let Some(url) = absolute(value)
                    {
                        urls.push(HtmlUrl {
                            attribute: Some((element.clone(), name)),
                            found: Found {
                                url,
                                range: value.span.start..value.span.end,
                                heuristic: false,
                                alternates: Vec::new(),
                            },
                        });
                    }
                }
            }
            Token::EndTag(_) => silent = false,
            Token::String(text) if !silent => {
                let place = text.span.start..text.span.end;
                urls.extend(scan(&text).urls.into_iter().map(|found| HtmlUrl {
                    attribute: None,
                    found: Found {
                        range: placed(&place, text.len(), &found.range),
                        ..found
                    },
                }));
            }
            _ => {}
        }
    }
    urls
}

/// The value without blanks around it and line breaks within, if it is a scheme, a colon and something.
fn absolute(value: &[u8]) -> Option<String> {
    let url: Vec<u8> = value
        .trim_ascii()
        .iter()
        .copied()
        .filter(|octet| !b"\t\r\n".contains(octet))
        .collect();
    let (scheme, rest) = common::scheme(Span::new(&url)).ok()?;
    let is_url = !rest.is_empty()
        && common::graphic(Span::new(&url)).is_ok()
        && !scheme.octets().eq_ignore_ascii_case(b"javascript");
    is_url.then(|| ascii(&url))
}

/// Where a range of the text stands in the document.
fn placed(place: &Range<usize>, length: usize, range: &Range<usize>) -> Range<usize> {
    match place.len() == length {
        true => place.start + range.start..place.start + range.end,
        false => place.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_and_text_of_html() {
        let page = b"<!DOCTYPE html><title>http://t.example/</title>\n<a href='http://a.example/?b=1&amp;c=2' title='x:y'>\
            see http://b.example/.</a><img src=\" HTTP://c.example/d.gif \"><a href=relative>&lt;URL:ftp://e.\nexample/&gt;</a>\
            <a href='javascript:go()'><a href='#top'><script>var x = 'http://no.example/';</script>\
            <!-- http://no.example/ --> http://f.example/\xE9";
        let found: Vec<String> = in_html(page)
            .iter()
            .map(|url| {
                let place = url.attribute.as_ref();
                let place = place.map_or("text".to_owned(), |(element, name)| {
                    format!("{element}@{name}")
                });
                let octets = page.get(url.found.range.clone()).unwrap_or_default();
                let exact = if octets == url.found.url.as_bytes() {
                    ""
                } else {
                    "~"
                };
                format!("{place} {exact}{}", url.found.url)
            })
            .collect();
        assert_eq!(
            found,
            [
                "text http://t.example/",
                "a@href ~http://a.example/?b=1&c=2",
                "text http://b.example/",
                "img@src ~HTTP://c.example/d.gif",
                "text ~ftp://e.example/",
                "text http://f.example/",
            ]
        );
    }
}
