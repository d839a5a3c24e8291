//! A file or stream of ISO 2709 records cut into records (ISO 2709 §4.7): a damaged one never costs its neighbours.
//! Only the ends are looked for; [`super::parse`] reads what is between.

use std::iter::FusedIterator;

use bytes::{Buf, Bytes};

use crate::record::marc::{Leader, RECORD_TERMINATOR, position};

/// Cuts octets into records, terminators included, without copying. Line ends, blanks and NULs between records are
/// skipped; octets after the last terminator make a last piece, which [`super::parse`] then judges.
pub fn split(octets: Bytes) -> Records {
    Records {
        offset: 0,
        rest: octets,
    }
}

/// The iterator of [`split`].
#[derive(Clone, Debug)]
pub struct Records {
    offset: usize,
    rest: Bytes,
}

impl Records {
    /// How many octets have been passed: after a record, the offset of its end in the file.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl Iterator for Records {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let filler = self
            .rest
            .iter()
            .take_while(|octet| is_filler(octet))
            .count();
        self.rest.advance(filler);
        self.offset += filler;
        if self.rest.is_empty() {
            return None;
        }
        let length = record_length(&self.rest).unwrap_or(self.rest.len());
        self.offset += length;
        Some(self.rest.split_to(length))
    }
}

impl FusedIterator for Records {}

/// What may stand between records without being one.
pub(in crate::record) fn is_filler(octet: &u8) -> bool {
    matches!(octet, b'\r' | b'\n' | b' ' | 0 | 0x1A)
}

/// The length of the first record, terminator included; `None` without a terminator.
///
/// The stated length counts if a terminator stands there and no other record begins before it.
pub(in crate::record) fn record_length(octets: &[u8]) -> Option<usize> {
    let stated = leader_at(octets).and_then(|leader| leader.record_length());
    if let Some(length) = stated
        && let Some((&RECORD_TERMINATOR, inside)) =
            octets.get(..length).and_then(<[u8]>::split_last)
        && !swallows_a_record(inside)
    {
        return Some(length);
    }
    Some(position(octets, RECORD_TERMINATOR)? + 1)
}

/// Whether another record begins within: a terminator, then a record length.
///
/// Whatever stops this search is where [`split`] will cut next, so a file is searched once, whatever its lengths say.
fn swallows_a_record(inside: &[u8]) -> bool {
    let mut rest = inside;
    // `contains` is the fast search; sound records end here.
    while rest.contains(&RECORD_TERMINATOR)
        && let Some(place) = position(rest, RECORD_TERMINATOR)
    {
        let after = rest.get(place + 1..).unwrap_or_default();
        let filler = after.iter().take_while(|octet| is_filler(octet)).count();
        rest = after.get(filler..).unwrap_or_default();
        if leader_at(rest).is_some_and(|leader| leader.record_length().is_some()) {
            return true;
        }
    }
    false
}

fn leader_at(octets: &[u8]) -> Option<Leader> {
    octets.first_chunk().copied().map(Leader)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "00026nam a2200025   4500\x1E\x1D";
    const B: &str = "00027nam a2200025   4500\x1EB\x1D";

    fn check(file: &str, pieces: &[&str]) {
        let octets = Bytes::copy_from_slice(file.as_bytes());
        let mut records = split(octets.clone());
        for piece in pieces {
            assert_eq!(
                records.next().as_deref(),
                Some(piece.as_bytes()),
                "{file:?}"
            );
            assert!(
                octets[..records.offset()].ends_with(piece.as_bytes()),
                "{file:?}"
            );
        }
        assert_eq!(records.next(), None, "{file:?}");
        assert_eq!(records.offset(), file.len(), "{file:?}");
    }

    #[test]
    fn files_in_pieces() {
        check("", &[]);
        check("\r\n", &[]);
        check(A, &[A]);
        check(&format!("{A}{B}"), &[A, B]);
        check(&format!("\n{A}\r\n{B}\n\x1A"), &[A, B]);
        check(&format!("{A}00099"), &[A, "00099"]);
        check(&format!("junk\x1D{B}"), &["junk\x1D", B]);
    }

    #[test]
    fn a_wrong_length_costs_no_neighbour() {
        let short = A.replacen("00026", "00025", 1);
        let long = A.replacen("00026", "00053", 1);
        let huge = A.replacen("00026", "99999", 1);
        let none = A.replacen("00026", "length", 1);
        for wrong in [&short, &long, &huge, &none] {
            check(&format!("{wrong}{B}{A}"), &[wrong, B, A]);
        }
    }

    #[test]
    fn a_terminator_inside_a_sound_record_stays_inside() {
        let odd = "00030nam a2200025   4500\x1Eo\x1Dd\x1E\x1D";
        check(&format!("{odd}{B}"), &[odd, B]);
    }
}
