//! Applies faults to the octets of an answer: a different tag, wrong lengths, or garbage (X.690 §8.1).

use z3950_asn1::codec::frame::{CONSTRUCTED, Header, Length};

/// Replaces the tag of an APDU; `tag` is at most 30.
pub(super) fn retagged(octets: &[u8], tag: u8) -> Vec<u8> {
    reheaded(octets, |header, length| {
        (vec![header.class | tag.min(30)], length)
    })
}

/// Changes the encoded length of an APDU by this number of octets, but not below zero.
pub(super) fn miscounted(octets: &[u8], by: i64) -> Vec<u8> {
    let by = isize::try_from(by).unwrap_or(isize::MAX);
    reheaded(octets, |_, length| {
        (identifier(octets), length.saturating_add_signed(by))
    })
}

/// Replaces the identifier and length of the first value, with the length in the definite form.
fn reheaded(octets: &[u8], change: impl Fn(Header, usize) -> (Vec<u8>, usize)) -> Vec<u8> {
    let Ok(Some(header)) = Header::read(octets) else {
        return octets.to_vec();
    };
    let contents = octets.get(header.octets..).unwrap_or_default();
    let (mut changed, length) = change(header, contents.len());
    definite(length, &mut changed);
    changed.extend(contents);
    changed
}

/// Changes every constructed value to the indefinite length. Octets that are not BER are not changed.
pub(super) fn indefinite(octets: &[u8]) -> Vec<u8> {
    let mut changed = Vec::with_capacity(octets.len() + octets.len() / 4);
    let mut open = Vec::new();
    let mut at = 0;
    loop {
        while open.last().is_some_and(|end| at >= *end) {
            open.pop();
            changed.extend([0, 0]);
        }
        let rest = octets.get(at..).unwrap_or_default();
        let (Ok(Some(header)), false) = (Header::read(rest), rest.is_empty()) else {
            changed.extend(rest);
            return changed;
        };
        let Length::Definite(length) = header.length else {
            changed.extend(rest);
            return changed;
        };
        if header.class & CONSTRUCTED != 0 {
            changed.extend(identifier(rest));
            changed.push(0x80);
            open.push(at + header.octets + length);
            at += header.octets;
        } else {
            let end = (header.octets + length).min(rest.len());
            changed.extend(rest.get(..end).unwrap_or_default());
            at += end;
        }
    }
}

/// Returns `count` octets that cannot begin an APDU. They are the same each time.
pub(crate) fn garbage(count: usize) -> Vec<u8> {
    // The octets come from xorshift64, except the first: 0xff cannot begin an APDU.
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let random = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    });
    std::iter::once(0xff).chain(random).take(count).collect()
}

/// Returns the identifier octets of the first value.
fn identifier(octets: &[u8]) -> Vec<u8> {
    let Some((first, rest)) = octets.split_first() else {
        return Vec::new();
    };
    let mut identifier = vec![*first];
    if first & 0x1f == 0x1f {
        let more = rest.iter().take_while(|octet| **octet & 0x80 != 0).count();
        identifier.extend(rest.iter().take(more + 1));
    }
    identifier
}

/// Writes a definite length in the shortest form, up to four octets after the first.
fn definite(length: usize, octets: &mut Vec<u8>) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    let all = length.to_be_bytes();
    let zeros = all.iter().take_while(|octet| **octet == 0).count();
    let significant = all.get(zeros..).unwrap_or_default();
    match significant {
        [] => octets.push(0),
        [short @ 0..=0x7f] => octets.push(*short),
        [..] => {
            octets.push(0x80 | u8::try_from(significant.len()).unwrap_or_default());
            octets.extend(significant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_lengths_are_rewritten() {
        let close = [0xbf, 0x30, 8, 0x9f, 0x81, 0x53, 1, 6, 0x83, 1, b'x'];
        assert_eq!(retagged(&close, 20)[..3], [0xb4, 8, 0x9f]);
        assert_eq!(retagged(&close, 30)[..3], [0xbe, 8, 0x9f]);
        assert_eq!(miscounted(&close, 5)[..4], [0xbf, 0x30, 13, 0x9f]);
        assert_eq!(miscounted(&close, -9)[..3], [0xbf, 0x30, 0]);
        assert_eq!(miscounted(&close, 192)[..5], [0xbf, 0x30, 0x81, 200, 0x9f]);
        assert_eq!(
            miscounted(&close, 70_000)[..6],
            [0xbf, 0x30, 0x83, 1, 0x11, 0x78]
        );
        let expected = [
            0xbf, 0x30, 0x80, 0x9f, 0x81, 0x53, 1, 6, 0x83, 1, b'x', 0, 0,
        ];
        assert_eq!(indefinite(&close), expected);
        let nested = [0xb6, 6, 0xa1, 2, 4, 0, 0xa2, 0];
        let expected = [0xb6, 0x80, 0xa1, 0x80, 4, 0, 0, 0, 0xa2, 0x80, 0, 0, 0, 0];
        assert_eq!(indefinite(&nested), expected);
        for cut in 0..close.len() {
            let octets = &close[..cut];
            let _ = (
                retagged(octets, 3),
                miscounted(octets, 1),
                indefinite(octets),
            );
        }
        assert_eq!(garbage(3).len(), 3);
        assert_eq!((garbage(100), garbage(1)), (garbage(100), vec![0xff]));
    }
}
