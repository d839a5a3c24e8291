//! MARCXML cut into records: from a `record` tag to the one that closes it, whatever stands around them.
//! Comments, CDATA and a document type are passed over as what they are; nothing in them is a tag.

use std::io::{self, Read};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::cut::Piece;
use super::window::{Window, find};
use super::{GUESS_OCTETS, MAX_RECORD};

#[derive(Debug, Default)]
pub(super) struct Cutter {
    begun: bool,
    /// Whether the input has nothing, or something that is a record or holds records; any other input is none in MARCXML.
    known: bool,
}

impl Cutter {
    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<Option<Piece>> {
        if !std::mem::replace(&mut self.begun, true) {
            window.fill(GUESS_OCTETS)?;
            if let Some(encoding) = encoding(window.held()) {
                window.decode_from(encoding);
            }
            self.known = is_blank(window.held());
        }
        let mut from = 0;
        // Within a record, which begins at 0 of the window; and whether it has anything of MARC.
        let (mut inside, mut content) = (false, false);
        let (end, damage) = loop {
            let Some(markup) = Markup::find(window, from)? else {
                let end = window.held().len();
                if !inside {
                    window.pass(end);
                    if window.more()? {
                        from = 0;
                        continue;
                    }
                    return Ok((!std::mem::replace(&mut self.known, true)).then(|| Piece {
                        damage: Some("no MARCXML: neither a record nor a collection".to_owned()),
                        ..Piece::default()
                    }));
                }
                let damage = match end >= MAX_RECORD {
                    true => format!("no end of the record within {MAX_RECORD} octets"),
                    false => "the input ends within the record".to_owned(),
                };
                break (end, Some(damage));
            };
            self.known |= !matches!(markup.kind, Kind::Other);
            match markup.kind {
                Kind::Cut if !inside || !content => {
                    window.pass(markup.start);
                    let end = markup.end - markup.start;
                    break (end, Some("the record is not closed".to_owned()));
                }
                Kind::Start("record") | Kind::Empty("record") if !inside || !content => {
                    // A record around this one was a wrapper.
                    window.pass(markup.start);
                    (inside, from) = (true, markup.end - markup.start);
                    if matches!(markup.kind, Kind::Empty(_)) {
                        break (from, None);
                    }
                    continue;
                }
                Kind::Start("record") | Kind::Empty("record") => {
                    break (markup.start, Some("the record is not closed".to_owned()));
                }
                Kind::End("record") if inside => break (markup.end, None),
                Kind::End("collection") if inside => {
                    break (markup.start, Some("the record is not closed".to_owned()));
                }
                Kind::Start("leader" | "controlfield" | "datafield")
                | Kind::Empty("leader" | "controlfield" | "datafield") => content = true,
                _ => {}
            }
            from = markup.end;
            if !inside {
                window.pass(from);
                from = 0;
            } else if from >= MAX_RECORD {
                let damage = format!("no end of the record within {MAX_RECORD} octets");
                break (from, Some(damage));
            }
        };
        Ok(Some(Piece {
            offset: window.offset(),
            octets: window.take(end),
            damage,
            ..Piece::default()
        }))
    }
}

/// Whether there is nothing but space, as in a file without records.
fn is_blank(octets: &[u8]) -> bool {
    let octets = octets.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(octets);
    octets.trim_ascii().is_empty()
}

/// The encoding of a document that is not in UTF-8, by its byte order mark or declaration.
fn encoding(octets: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(octets) {
        return Some(encoding);
    }
    match octets {
        [b'<', 0, ..] => return Some(UTF_16LE),
        [0, b'<', ..] => return Some(UTF_16BE),
        _ => {}
    }
    let declaration = octets.strip_prefix(b"<?xml")?;
    let declaration = declaration.get(..find(declaration, b"?>")?)?;
    let value = declaration.get(find(declaration, b"encoding")? + b"encoding".len()..)?;
    let value = value.trim_ascii_start().strip_prefix(b"=")?;
    let (quote, label) = value.trim_ascii_start().split_first()?;
    let label = label.split(|octet| octet == quote).next()?;
    // Where it is UTF-8, the octets stay as they are.
    Encoding::for_label(label).filter(|encoding| *encoding != UTF_8)
}

/// One piece of markup; `start` and `end` are indices in the window.
struct Markup {
    start: usize,
    end: usize,
    kind: Kind,
}

/// What it is, with the local name where that matters here.
enum Kind {
    Start(&'static str),
    Empty(&'static str),
    End(&'static str),
    /// What is left of the first tag of a record, such as `<rec`.
    Cut,
    Other,
}

impl Markup {
    /// The first markup at or behind an index; `None` if there is no more, or none that ends within [`MAX_RECORD`].
    ///
    /// Outside of a record, octets in front of markup need not be kept; `from` is 0 then, and they are passed.
    fn find<R: Read>(window: &mut Window<R>, from: usize) -> io::Result<Option<Self>> {
        let mut from = from;
        loop {
            // Text outside of records may be of any length.
            while from == 0 && !window.held().contains(&b'<') {
                let length = window.held().len();
                window.pass(length);
                if !window.more()? {
                    return Ok(None);
                }
            }
            let Some(start) = window.find(from, b"<", MAX_RECORD)? else {
                return Ok(None);
            };
            window.fill(start + LONGEST_OPENING)?;
            let opening = window.from(start);
            let (opening, closing): (&[u8], &[u8]) = if opening.starts_with(b"<!--") {
                (b"<!--", b"-->")
            } else if opening.starts_with(b"<![CDATA[") {
                (b"<![CDATA[", b"]]>")
            } else if opening.starts_with(b"<?") {
                (b"<?", b"?>")
            } else {
                return Self::tag(window, start);
            };
            let inside = start + opening.len();
            if let Some(end) = end_of(window, inside, opening, closing)? {
                let kind = Kind::Other;
                return Ok(Some(Self { start, end, kind }));
            }
            // Never closed: as text, so that what follows is not lost.
            from = inside;
        }
    }

    /// A tag, or the document type with its brackets.
    fn tag<R: Read>(window: &mut Window<R>, start: usize) -> io::Result<Option<Self>> {
        let mut index = start + 1;
        let (mut quote, mut brackets) = (None, 0_usize);
        let document_type = window.from(start).starts_with(DOCUMENT_TYPE);
        loop {
            let Some(&octet) = window.held().get(index) else {
                if index - start < MAX_RECORD && window.more()? {
                    continue;
                }
                if is_cut(window.from(start)) {
                    let (kind, end) = (Kind::Cut, window.held().len());
                    return Ok(Some(Self { start, end, kind }));
                }
                // A document type that never ends: as text, so that what follows is not lost.
                let (kind, end) = (Kind::Other, start + DOCUMENT_TYPE.len());
                return Ok(document_type.then_some(Self { start, end, kind }));
            };
            match (quote, octet) {
                // No tag holds another: this one was not closed.
                (_, b'<') if !document_type || window.from(index).starts_with(DOCUMENT_TYPE) => {
                    let end = index;
                    let tag = window.held().get(start..end).unwrap_or_default();
                    let kind = match is_cut(tag) {
                        true => Kind::Cut,
                        false => Kind::Other,
                    };
                    return Ok(Some(Self { start, end, kind }));
                }
                (Some(open), octet) if open == octet => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(octet),
                (None, b'[') => brackets += 1,
                (None, b']') => brackets = brackets.saturating_sub(1),
                (None, b'>') if brackets == 0 || !document_type => break,
                _ => {}
            }
            index += 1;
        }
        let end = index + 1;
        let kind = kind(window.held().get(start..end).unwrap_or_default());
        Ok(Some(Self { start, end, kind }))
    }
}

const DOCUMENT_TYPE: &[u8] = b"<!DOCTYPE";

/// `<![CDATA[`
const LONGEST_OPENING: usize = 9;

/// The index behind what closes a comment, CDATA or processing instruction; `None` if the next of its kind, which it
/// cannot hold, begins before that, or nothing does within [`MAX_RECORD`].
fn end_of<R: Read>(
    window: &mut Window<R>,
    inside: usize,
    opening: &[u8],
    closing: &[u8],
) -> io::Result<Option<usize>> {
    let mut index = inside;
    loop {
        let telling = |octet: &u8| *octet == b'<' || closing.first() == Some(octet);
        let Some(place) = window.from(index).iter().position(telling) else {
            index = window.held().len();
            if index - inside >= MAX_RECORD || !window.more()? {
                return Ok(None);
            }
            continue;
        };
        index += place;
        window.fill(index + LONGEST_OPENING)?;
        let here = window.from(index);
        if here.starts_with(closing) {
            return Ok(Some(index + closing.len()));
        }
        if here.starts_with(opening) {
            return Ok(None);
        }
        index += 1;
    }
}

/// Whether a tag that does not end may be the beginning of a record's.
fn is_cut(tag: &[u8]) -> bool {
    let local = local_name(tag.strip_prefix(b"<").unwrap_or(tag));
    !local.is_empty() && b"record".starts_with(local)
}

/// What a tag, from its name on, calls its element, without a prefix.
fn local_name(inside: &[u8]) -> &[u8] {
    let is_end = |octet: &u8| octet.is_ascii_whitespace() || matches!(octet, b'/' | b'>');
    let name = inside.split(is_end).next().unwrap_or_default();
    name.rsplit(|octet| *octet == b':').next().unwrap_or(name)
}

fn kind(tag: &[u8]) -> Kind {
    // The last two are answers of SRU and OAI-PMH, which may have no record.
    const NAMES: [&str; 7] = [
        "record",
        "collection",
        "leader",
        "controlfield",
        "datafield",
        "searchRetrieveResponse",
        "OAI-PMH",
    ];
    let inside = tag.strip_prefix(b"<").unwrap_or(tag);
    let (closes, inside) = match inside.strip_prefix(b"/") {
        Some(inside) => (true, inside),
        None => (false, inside),
    };
    let local = local_name(inside);
    let Some(name) = NAMES.into_iter().find(|known| known.as_bytes() == local) else {
        return Kind::Other;
    };
    match (closes, tag.ends_with(b"/>")) {
        (true, _) => Kind::End(name),
        (false, true) => Kind::Empty(name),
        (false, false) => Kind::Start(name),
    }
}
