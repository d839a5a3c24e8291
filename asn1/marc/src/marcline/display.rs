//! Reads MARC in the form in which catalogues display it, for records that people copy from a catalogue. The leader follows `LEADER`, `LDR`
//! or `000`. Each field is on a line that begins with its tag. A blank indicator is shown as `_` or `#`. Subfields begin with `|a`, `‡a` or
//! `$a`, but the first often lacks this mark and code.

use bytes::{BufMut, BytesMut};

use crate::record::{Field, Leader, SUBFIELD_DELIMITER, Tag, number};

/// If a line begins with a name of the leader (`LEADER`, `LDR` or `000`), returns the leader, which follows the name. Returns `None` for
/// any other line.
pub(super) fn leader(line: &[u8]) -> Option<Vec<u8>> {
    const NAMES: [&[u8]; 3] = [b"LEADER ", b"LDR ", b"000 "];
    let named = NAMES.iter().find_map(|name| line.strip_prefix(*name))?;
    let text: Vec<u8> = named.trim_ascii().iter().copied().map(blank).collect();
    let is_leader = (SHORTEST..=Leader::LENGTH).contains(&text.len())
        && text.ends_with(b"0")
        && text.get(..5).and_then(number).is_some();
    is_leader.then(|| aligned(&text).unwrap_or(text))
}

/// The minimum length of a leader in which consecutive blanks are shown as one blank.
const SHORTEST: usize = Leader::LENGTH - 6;

/// Returns the leader with its parts in the correct positions: `22` and the base address at 10, `4500` at 20.
fn aligned(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.strip_suffix(b"4500")?;
    let is_base = |place: &usize| {
        let here = end.get(*place..place + 7);
        here.is_some_and(|here| here.starts_with(b"22") && number(here).is_some())
    };
    let place = (5..=10).find(is_base)?;
    let (begin, rest) = end.split_at_checked(place)?;
    let (base, coded) = rest.split_at_checked(7)?;
    let mut leader = vec![b' '; Leader::LENGTH];
    for (start, part) in [(0, begin), (10, base), (17, coded), (20, b"4500")] {
        for (octet, new) in leader.iter_mut().skip(start).zip(part) {
            *octet = *new;
        }
    }
    (coded.len() <= 3).then_some(leader)
}

/// Returns the field on a line; `None` if the line is not a field.
pub(super) fn field(line: &[u8]) -> Option<Field> {
    let (tag, rest) = line.split_first_chunk()?;
    let tag = Tag(*tag);
    let is_tag = tag.0.iter().all(u8::is_ascii_alphanumeric);
    if !is_tag || rest.first().is_some_and(|octet| *octet != b' ') {
        return None;
    }
    if tag.is_control() {
        return Some(Field::control(tag, rest.trim_ascii().to_vec()));
    }
    let content = rest.strip_prefix(b" ").unwrap_or(rest);
    let (indicators, text) = match content.split_at_checked(2) {
        Some((indicators, text)) if indicators.iter().all(is_indicator) => (indicators, text),
        _ => (&b"  "[..], content),
    };
    let mut body = BytesMut::with_capacity(content.len() + 4);
    body.extend(indicators.iter().copied().map(blank));
    let mark = MARKS
        .into_iter()
        .find(|mark| subfield(text, mark).is_some());
    let mut code = b'a';
    let mut rest = text;
    while let Some((place, next, after)) = mark.and_then(|mark| subfield(rest, mark)) {
        put_subfield(&mut body, code, rest.get(..place).unwrap_or_default());
        (code, rest) = (next, after);
    }
    put_subfield(&mut body, code, rest);
    let body = body.freeze();
    Some(Field { tag, body })
}

/// Returns the text of a line that continues the previous field.
pub(super) fn continuation(line: &[u8]) -> Option<&[u8]> {
    let text = line.trim_ascii();
    (line.starts_with(b"    ") && !text.is_empty()).then_some(text)
}

/// The marks that may precede the code of a subfield.
const MARKS: [&[u8]; 5] = [b"|", "‡".as_bytes(), "ǂ".as_bytes(), b"$$", b"$"];

/// Returns the position of the first subfield, its code, and the text after it.
fn subfield<'a>(text: &'a [u8], mark: &[u8]) -> Option<(usize, u8, &'a [u8])> {
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        let place = from + rest.windows(mark.len()).position(|here| here == mark)?;
        let after = text.get(place + mark.len()..)?;
        match after.split_first() {
            Some((code, after)) if code.is_ascii_lowercase() || is_number_code(*code, after) => {
                return Some((place, *code, after));
            }
            _ => from = place + 1,
        }
    }
}

/// Returns whether `code` is a digit that is a subfield code. In prices such as `$5.00`, the digit is followed by more digits or a point,
/// and is not a code.
fn is_number_code(code: u8, after: &[u8]) -> bool {
    let in_price = |octet: &u8| octet.is_ascii_digit() || matches!(octet, b'.' | b',');
    code.is_ascii_digit() && !after.first().is_some_and(in_price)
}

fn put_subfield(body: &mut BytesMut, code: u8, text: &[u8]) {
    let text = text.trim_ascii();
    // Empty text, such as that before the first mark, does not become a subfield.
    if !text.is_empty() {
        body.put_slice(&[SUBFIELD_DELIMITER, code]);
        body.put_slice(text);
    }
}

fn is_indicator(octet: &u8) -> bool {
    octet.is_ascii_digit() || matches!(octet, b' ' | b'_' | b'#' | b'\\')
}

/// Returns a blank for an octet that represents a blank, and any other octet unchanged.
fn blank(octet: u8) -> u8 {
    if matches!(octet, b'_' | b'#' | b'\\') {
        b' '
    } else {
        octet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_r_a9_fields_as_catalogues_show_them() {
        for (line, tag, body) in [
            ("001    ocm123", b"001", "ocm123"),
            (
                "245 10 Emma :|ba novel /|cJane Austen.",
                b"245",
                "10\x1FaEmma :\x1Fba novel /\x1FcJane Austen.",
            ),
            (
                "245 10 |a Emma : |b a novel / |c Jane Austen.",
                b"245",
                "10\x1FaEmma :\x1Fba novel /\x1FcJane Austen.",
            ),
            (
                "020 __ |a 0152038655 : |c $15.95",
                b"020",
                "  \x1Fa0152038655 :\x1Fc$15.95",
            ),
            ("650  0 War|xHistory.", b"650", " 0\x1FaWar\x1FxHistory."),
            ("245 14 ‡aThe end /‡cX.", b"245", "14\x1FaThe end /\x1FcX."),
            ("245 1# $aEmma $bnovel", b"245", "1 \x1FaEmma\x1Fbnovel"),
            ("500    Costs $5.00", b"500", "  \x1FaCosts $5.00"),
            ("650 |a War", b"650", "  \x1FaWar"),
            (
                "880 1_ |6 100-02/$1 |a 曹雪芹",
                b"880",
                "1 \x1F6100-02/$1\x1Fa曹雪芹",
            ),
            ("500", b"500", "  "),
        ] {
            let found = field(line.as_bytes());
            assert_eq!(found, Some(Field::control(tag, body)), "{line}");
        }
        for line in ["", "24", "2456", "    more", "24.10 x"] {
            assert_eq!(field(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn audit_r_a9_leaders_as_catalogues_show_them() {
        for (line, expected) in [
            (
                "LEADER 00000cam  2200385Ka 4500",
                Some("00000cam  2200385Ka 4500"),
            ),
            (
                "000 01142cam 2200301 a 4500",
                Some("01142cam  2200301 a 4500"),
            ),
            (
                "LDR    01142cam##2200301#a#4500",
                Some("01142cam  2200301 a 4500"),
            ),
            (
                "LEADER 01142cam a2200301 4500",
                Some("01142cam a2200301   4500"),
            ),
            ("LEADER of the pack", None),
            ("000 01142", None),
            ("00000nam a2200000 a 4500", None),
        ] {
            let found = leader(line.as_bytes());
            let found = found
                .as_deref()
                .map(|found| std::str::from_utf8(found).expect("ASCII"));
            assert_eq!(found, expected, "{line}");
        }
    }
}
