//! Removes secrets from HTTP messages: credentials in headers (RFC 9110 §11.6.2), cookies (RFC 6265), userinfo in URLs (RFC
//! 3986 §3.2.1), and the values of parameters and elements named by [`is_secret_parameter`].

use std::borrow::Cow;

use z3950_asn1::sru::is_secret_parameter;

use crate::observer::HttpMessage;

/// The text that replaces a secret.
const REDACTED: &str = "*";
/// Parts of the names of headers that may contain secrets. Referer is included, because its URL may contain any secret.
const SECRET_HEADERS: [&str; 7] = [
    "auth", "cookie", "key", "password", "referer", "secret", "token",
];
/// Headers in which servers describe the form of credentials (RFC 9110 §11.6.1); they are not secret.
const CHALLENGES: [&str; 2] = ["www-authenticate", "proxy-authenticate"];

/// A body without secrets.
pub(super) enum PlainBody {
    Text(String),
    /// A body that is not text.
    Octets(Vec<u8>),
}

/// Returns the start line and the headers without secrets.
pub(super) fn plain_head(head: &str) -> String {
    let mut lines = head.lines();
    let mut plain = String::with_capacity(head.len());
    if let Some(first) = lines.next() {
        let words = first.split(' ').map(|word| match word.split_once('?') {
            Some((path, query)) => format!("{path}?{}", without_parameters(query)),
            None => without_user(word),
        });
        plain += &without_userinfo(&words.collect::<Vec<_>>().join(" "));
        plain.push('\n');
    }
    for line in lines {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        match name.trim() {
            name if is_secret_header(name) => plain += &format!("{name}: {REDACTED}"),
            host if host.eq_ignore_ascii_case("host") => {
                plain += &format!("{name}: {}", without_user(value.trim()));
            }
            _ => match line.split_once('?') {
                Some((before, query)) => {
                    let query = without_parameters(query);
                    plain += &without_userinfo(&format!("{before}?{query}"));
                }
                None => plain += &without_userinfo(line),
            },
        }
        plain.push('\n');
    }
    plain
}

fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !CHALLENGES.contains(&&*name) && SECRET_HEADERS.iter().any(|part| name.contains(part))
}

/// Replaces the userinfo in an authority that is not part of a URL, as in CONNECT and Host.
fn without_user(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((user, host)) if !user.contains('/') => format!("{REDACTED}@{host}"),
        _ => text.to_owned(),
    }
}

/// Returns the body without secrets. A body from a client is kept only if it is XML or a form, in UTF-8.
pub(super) fn plain_body(message: &HttpMessage, is_request: bool) -> PlainBody {
    let body = &message.body;
    let text = std::str::from_utf8(body).ok();
    match text.filter(|text| !is_request || is_known(&message.head, text)) {
        Some(text) => PlainBody::Text(without_userinfo(&if is_xml(text) {
            without_elements(text)
        } else {
            without_parameters(text)
        })),
        None if is_request => PlainBody::Octets(REDACTED.repeat(body.len()).into()),
        None => PlainBody::Octets(body.to_vec()),
    }
}

/// Returns whether the format of a request's body is known, so that the places of possible secrets are known too. Text in UTF-16
/// is excluded, because it may also be valid UTF-8 that contains zero octets.
fn is_known(head: &str, body: &str) -> bool {
    let kind = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_kind = name.trim().eq_ignore_ascii_case("content-type");
        is_kind.then(|| value.to_ascii_lowercase())
    });
    let is_known = |kind: String| kind.contains("xml") || kind.contains("form-urlencoded");
    !body.contains('\0') && kind.is_none_or(is_known)
}

fn is_xml(body: &str) -> bool {
    let body = body.trim_start_matches('\u{feff}').trim_start();
    body.starts_with('<')
}

/// Replaces the values of secret parameters.
fn without_parameters(pairs: &str) -> String {
    let pairs = pairs.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret_parameter(&unescaped(name)) => format!("{name}={REDACTED}"),
        _ => pair.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}

/// Returns the name of a parameter without escapes.
fn unescaped(name: &str) -> String {
    let octets: Vec<u8> = characters(name).map(|one| one.octet).collect();
    String::from_utf8_lossy(&octets).into_owned()
}

/// Replaces the contents of secret elements, up to their end tags.
fn without_elements(xml: &str) -> String {
    let mut parts = xml.split('<');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    let mut open: Option<&str> = None;
    for part in parts {
        let (name, is_end) = match part.strip_prefix('/') {
            Some(rest) => (local_name(rest), true),
            None => (local_name(part), false),
        };
        match open {
            Some(secret) if is_end && name == secret => open = None,
            Some(_) => continue,
            None => {}
        }
        plain.push('<');
        match part.split_once('>') {
            Some((tag, _)) if !is_end && is_secret_parameter(name) && !tag.ends_with('/') => {
                open = Some(name);
                plain += &format!("{tag}>{REDACTED}");
            }
            Some((tag, text)) => {
                plain += &format!("{tag}>");
                plain += &without_pair(text);
            }
            None => plain += part,
        }
    }
    plain
}

/// Returns the text of an element, such as `extraRequestParameter`, without the value of a secret parameter in it.
fn without_pair(text: &str) -> Cow<'_, str> {
    match text.split_once('=') {
        Some((name, _)) if !name.contains(' ') && is_secret_parameter(name) => {
            format!("{name}={REDACTED}").into()
        }
        _ => text.into(),
    }
}

/// Returns the name at the beginning of a tag, without its prefix.
fn local_name(tag: &str) -> &str {
    let end = tag.find(|character: char| character.is_whitespace() || "/>".contains(character));
    let name = tag.get(..end.unwrap_or(tag.len())).unwrap_or_default();
    name.rsplit(':').next().unwrap_or_default()
}

/// Replaces the userinfo in all URLs in the text, even in URLs that are percent-encoded, once or several times. If the end of a
/// URL is not recognized, too much may be replaced, but never too little.
fn without_userinfo(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut copied = 0;
    let mut mark = SlashMark::default();
    let mut authority: Option<Authority> = None;
    for one in characters(text) {
        if let Some(open) = &mut authority
            && one.depth <= open.depth
        {
            match one.octet {
                b'@' => open.at = Some(one.start),
                b'/' | b'"' | b'<' | b'>' | b'\'' | 0..=b' ' => {
                    open.close(text, &mut plain, &mut copied);
                    authority = None;
                }
                _ => {}
            }
        }
        if let Some(depth) = mark.next(&one) {
            authority = Some(Authority {
                start: one.end,
                depth,
                at: None,
            });
        }
    }
    if let Some(open) = authority {
        open.close(text, &mut plain, &mut copied);
    }
    plain += text.get(copied..).unwrap_or_default();
    plain
}

/// The authority of a URL: the part after `//`.
struct Authority {
    start: usize,
    /// The number of times that the URL is percent-encoded.
    depth: usize,
    /// The position of the last `@`.
    at: Option<usize>,
}

impl Authority {
    /// Copies the text up to the userinfo, and then the replacement for the userinfo.
    fn close(&self, text: &str, plain: &mut String, copied: &mut usize) {
        if let Some(at) = self.at {
            *plain += text.get(*copied..self.start).unwrap_or_default();
            *plain += REDACTED;
            *copied = at;
        }
    }
}

/// A matcher that finds `//`, which may be percent-encoded.
#[derive(Default)]
struct SlashMark {
    /// The number of consecutive slashes so far.
    found: usize,
    depth: usize,
}

impl SlashMark {
    /// Returns the number of times that the `//` is percent-encoded, if this is its last character.
    fn next(&mut self, one: &Character) -> Option<usize> {
        (self.found, self.depth) = match one.octet {
            b'/' => (self.found.saturating_add(1), self.depth.max(one.depth)),
            _ => (0, 0),
        };
        (self.found == 2).then_some(self.depth)
    }
}

/// An octet of text, which may be percent-encoded.
struct Character {
    octet: u8,
    /// The number of times that the octet is percent-encoded: 1 for `%40`, 2 for `%2540`.
    depth: usize,
    start: usize,
    end: usize,
}

/// Iterates over the octets of the text, with all percent-encodings decoded (RFC 3986 §2.1).
fn characters(text: &str) -> impl Iterator<Item = Character> {
    let octets = text.as_bytes();
    let mut start = 0;
    std::iter::from_fn(move || {
        let octet = *octets.get(start)?;
        let mut found = Character {
            octet,
            depth: 0,
            start,
            end: start + 1,
        };
        while found.octet == b'%'
            && let Some(escaped) = octets.get(found.end..).and_then(escape)
        {
            found.octet = escaped;
            found.depth += 1;
            found.end += 2;
        }
        start = found.end;
        Some(found)
    })
}

/// Returns the octet that the first two hexadecimal digits represent; `None` if they are not hexadecimal digits.
fn escape(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
    let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    are_digits.then(|| u8::from_str_radix(digits, 16).ok())?
}
