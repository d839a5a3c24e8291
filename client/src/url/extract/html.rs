//! Finds URLs in HTML: in attributes, and in the text between tags. Character references are decoded. Source: HTML 4.01
//! §B.2 and its index of attributes, with attributes that later versions of HTML added.

use std::ops::Range;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};
use z3950_marc::charset::Charset;

use super::super::generic;
use super::{FoundUrl, WrapperFault, ascii, link, scan, written};

/// The attributes whose value is a URL.
const ATTRIBUTES: [&str; 13] = [
    "action",
    "background",
    "cite",
    "classid",
    "codebase",
    "data",
    "formaction",
    "href",
    "longdesc",
    "manifest",
    "poster",
    "src",
    "usemap",
];

/// A URL found in an HTML document, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HtmlUrl {
    /// The element and the attribute, such as `a` and `href`, or `None` for text between tags.
    pub attribute: Option<(String, &'static str)>,
    /// The URL. For an attribute, its range is the range of the attribute. For text, it is the range of the URL, or the
    /// range of the complete text between two tags if this text contains character references or converted line ends.
    pub found: FoundUrl,
}

/// The URLs found in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HtmlUrls {
    /// The URLs, in document order.
    pub urls: Vec<HtmlUrl>,
    /// The number of relative links that were left out because the base is unknown.
    pub unresolved: usize,
    /// Faults in wrappers in the text between tags.
    pub faults: Vec<WrapperFault>,
}

/// An attribute that may contain a URL.
struct Link {
    element: String,
    name: &'static str,
    value: Vec<u8>,
    range: Range<usize>,
}

/// Finds the URLs in a document. Links are repaired and resolved as browsers do, relative to the first `<base>`. The
/// `<base>` itself is relative to `address`, the URL of the document, if it is known.
pub fn in_html(document: &[u8], address: Option<&str>) -> HtmlUrls {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    // In this mode, the tokenizer skips the contents of scripts and styles, which are neither text nor tags.
    emitter.naively_switch_states(true);
    let charset = link::declared_charset(document);
    let mut found: Vec<Result<HtmlUrl, Link>> = Vec::new();
    let mut faults = Vec::new();
    let mut base: Option<String> = None;
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
                    let Some(name) = known else {
                        continue;
                    };
                    if element == "base" && name == "href" && base.is_none() {
                        let href = link::cleaned(value, charset);
                        base = Some(link::resolved(&href, address).unwrap_or_default());
                    }
                    found.push(Err(Link {
                        element: element.clone(),
                        name,
                        value: value.to_vec(),
                        range: value.span.start..value.span.end,
                    }));
                }
            }
            Token::EndTag(_) => silent = false,
            Token::String(text) if !silent => {
                let place = text.span.start..text.span.end;
                let scanned = scan(&text);
                found.extend(scanned.urls.into_iter().map(|found| {
                    Ok(HtmlUrl {
                        attribute: None,
                        found: FoundUrl {
                            range: placed(&place, text.len(), &found.range),
                            ..found
                        },
                    })
                }));
                faults.extend(scanned.faults.into_iter().map(|fault| WrapperFault {
                    offset: placed(&place, text.len(), &(fault.offset..fault.offset)).start,
                    ..fault
                }));
            }
            _ => {}
        }
    }
    // A `<base>` element also applies to the links before it, so links are resolved only after the whole document is read.
    let base = base.filter(|base| !base.is_empty());
    let base = base.as_deref().or(address);
    let mut urls = Vec::with_capacity(found.len());
    let mut unresolved = 0;
    for found in found {
        match found {
            Ok(url) => urls.push(url),
            Err(link) => match read(link, base, charset) {
                Some(Ok(url)) => urls.push(url),
                Some(Err(Unresolved)) => unresolved += 1,
                None => {}
            },
        }
    }
    HtmlUrls {
        urls,
        unresolved,
        faults,
    }
}

/// The error for a relative link without a base.
struct Unresolved;

/// Returns the URL of a link, or `None` for an empty value, a script, or a fragment without a base.
fn read(link: Link, base: Option<&str>, charset: Charset) -> Option<Result<HtmlUrl, Unresolved>> {
    let cleaned = link::cleaned(&link.value, charset);
    let scheme = generic::split(&cleaned).map(|(scheme, _)| scheme);
    let is_script = scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("javascript"));
    if cleaned.is_empty()
        || is_script
        || scheme.is_some_and(|scheme| cleaned.len() == scheme.len() + 1)
    {
        return None;
    }
    let Some(url) = link::resolved(&cleaned, base) else {
        return (!cleaned.starts_with('#')).then_some(Err(Unresolved));
    };
    Some(Ok(HtmlUrl {
        found: FoundUrl {
            written: written(link::trimmed(&link.value), &url),
            ..FoundUrl::at(link.range, url)
        },
        attribute: Some((link.element, link.name)),
    }))
}

/// Converts a range of the text to a range of the document.
fn placed(place: &Range<usize>, length: usize, range: &Range<usize>) -> Range<usize> {
    if place.len() == length {
        place.start + range.start..place.start + range.end
    } else {
        place.clone()
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
        assert_eq!(
            shown(page, None),
            [
                "text http://t.example/",
                "a@href ~http://a.example/?b=1&c=2",
                "text http://b.example/",
                "img@src ~HTTP://c.example/d.gif",
                "text ~ftp://e.example/",
                "text http://f.example/%E9 < http://f.example/\\xE9",
            ]
        );
        assert_eq!(in_html(page, None).unresolved, 1);
    }

    /// Lists the URLs in a page. `~` precedes a URL that differs from the octets in its range, and `<` the original
    /// text of a URL that was repaired.
    fn shown(page: &[u8], address: Option<&str>) -> Vec<String> {
        let shown = |url: &HtmlUrl| {
            let place = url
                .attribute
                .as_ref()
                .map_or("text".to_owned(), |(element, name)| {
                    format!("{element}@{name}")
                });
            let octets = page.get(url.found.range.clone()).unwrap_or_default();
            let exact = match &url.found.written {
                None if octets != url.found.url.as_bytes() => "~",
                _ => "",
            };
            let written = url.found.written.as_ref();
            let written = written.map_or_else(String::new, |written| format!(" < {written}"));
            format!("{place} {exact}{}{written}", url.found.url)
        };
        in_html(page, address).urls.iter().map(shown).collect()
    }

    #[test]
    fn audit_b11_relative_links_are_resolved() {
        let page = "<a href='b c.html'><a href=../é><base href='/d/'><base href='http://no.example/'><a href='#e'>\
                    <img src='http://f.example/g h.gif'>http://u/bücher".as_bytes();
        let address = "http://a.example/x/y";
        assert_eq!(
            shown(page, Some(address)),
            [
                "a@href http://a.example/d/b%20c.html < b c.html",
                "a@href http://a.example/%C3%A9 < ../é",
                "base@href http://a.example/d/ < /d/",
                "base@href ~http://no.example/",
                "a@href http://a.example/d/#e < #e",
                "img@src http://f.example/g%20h.gif < http://f.example/g h.gif",
                "text http://u/b%C3%BCcher < http://u/bücher",
            ]
        );
        let alone = in_html(page, None);
        assert_eq!((alone.urls.len(), alone.unresolved), (3, 3));
        let page = b"<base href='http://a.example/d/e'><a href=b><a href='//g?q'>&lt;URL:http://h.example/";
        assert_eq!(
            shown(page, None),
            [
                "base@href ~http://a.example/d/e",
                "a@href http://a.example/d/b < b",
                "a@href http://g/?q < //g?q",
                "text ~http://h.example/",
            ]
        );
        assert_eq!(in_html(page, None).faults.len(), 1);
    }
}
