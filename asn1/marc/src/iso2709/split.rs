//! Splits a file or stream into ISO 2709 records (ISO 2709 §4.7): a damaged record never affects its neighbours. This module
//! only finds the ends; [`super::parse`] reads the records.

use std::iter::FusedIterator;

use bytes::{Buf, Bytes};

use super::directory;
use crate::record::{FIELD_TERMINATOR, Leader, RECORD_TERMINATOR};

/// The maximum length of a record in ISO 2709, including its terminator: the leader has five digits for it.
pub const MAX_RECORD: usize = 99_999;

/// Splits octets into records, including their terminators, without copying. Line ends, spaces, NULs and byte order
/// marks between records are skipped; octets after the last terminator are one more record, which [`super::parse`]
/// accepts or rejects.
pub fn split(octets: Bytes) -> Split {
    Split {
        offset: 0,
        rest: octets,
    }
}

/// The iterator that [`split`] returns.
#[derive(Clone, Debug)]
pub struct Split {
    offset: usize,
    rest: Bytes,
}

impl Split {
    /// Returns the number of octets consumed so far. After each record, this is the offset of its end in the file.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl Iterator for Split {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let filler = filler(&self.rest);
        self.rest.advance(filler);
        self.offset += filler;
        if self.rest.is_empty() {
            return None;
        }
        let length = record_length(&self.rest, true).unwrap_or(self.rest.len());
        self.offset += length;
        Some(self.rest.split_to(length))
    }
}

impl FusedIterator for Split {}

/// Returns whether the octet may occur between records.
pub(crate) fn is_filler(octet: &u8) -> bool {
    matches!(octet, b'\r' | b'\n' | b' ' | 0 | 0x1A)
}

/// Returns the number of octets to skip before the first record.
pub(crate) fn filler(octets: &[u8]) -> usize {
    let mut rest = octets;
    loop {
        let count = rest.iter().take_while(|octet| is_filler(octet)).count();
        rest = rest.get(count..).unwrap_or_default();
        match rest.strip_prefix(BYTE_ORDER_MARK) {
            Some(after) => rest = after,
            None => return octets.len() - rest.len(),
        }
    }
}

/// The UTF-8 byte order mark, which occurs between records in concatenated files.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// The number of octets, counted from a leader, that suffice to decide whether a record begins with this leader.
pub(crate) const LOOK_AHEAD: usize = MAX_RECORD + 64;

/// Returns the length of the first record, including its terminator if it has one; `None` if the record does not end. If the input is not
/// `complete`, only the part of it is searched in which the octets that follow cannot change the answer.
///
/// A record whose leader, directory and terminators agree ends where its leader says. Any other record ends at its terminator,
/// or where the leader of another record shows that the terminator is missing (ISO 2709 §4.3, §4.7).
pub(crate) fn record_length(octets: &[u8], complete: bool) -> Option<usize> {
    let leader = leader_at(octets);
    let stated = leader.as_ref().and_then(Leader::record_length);
    let ends_there = stated.filter(|length| directory::is_terminated(octets, *length));
    if let Some((leader, length)) = leader.as_ref().zip(ends_there)
        && let Some(content) = octets.get(..length - 1)
        && directory::is_sound(content, leader)
    {
        return Some(length);
    }
    let judged = if complete {
        octets.len()
    } else {
        octets.len().saturating_sub(LOOK_AHEAD)
    };
    let mut digits = 0;
    for (place, octet) in octets.iter().enumerate() {
        match *octet {
            RECORD_TERMINATOR if place < judged => {
                // A terminator inside a record ends it only if another record follows.
                let inside = ends_there.is_some_and(|length| place + 1 < length);
                if !inside || is_followed_by_a_record(octets, place) {
                    return Some(place + 1);
                }
                digits = 0;
            }
            b'0'..=b'9' => {
                digits += 1;
                let start = (place + 1).saturating_sub(LENGTH_DIGITS);
                if start >= judged {
                    return None;
                }
                if digits >= LENGTH_DIGITS && start > 0 && begins_record(octets, start, stated) {
                    return Some(start);
                }
            }
            _ if place >= judged => return None,
            _ => digits = 0,
        }
    }
    None
}

/// The number of digits in the record length, which is the first part of a leader.
const LENGTH_DIGITS: usize = 5;

/// Returns whether the terminator at `place` is followed by a record length.
fn is_followed_by_a_record(octets: &[u8], place: usize) -> bool {
    let after = octets.get(place + 1..).unwrap_or_default();
    let filler = after.iter().take_while(|octet| is_filler(octet)).count();
    let next = after.get(filler..).unwrap_or_default();
    leader_at(next).is_some_and(|leader| leader.record_length().is_some())
}

/// Returns whether another record begins at `place`, where five digits were found. `stated` is the length in the leader
/// of `octets`.
///
/// Text may look like a leader, but hardly ever like a leader followed by its directory, so both are checked. At the
/// stated end, less evidence is enough.
fn begins_record(octets: &[u8], place: usize, stated: Option<usize>) -> bool {
    let Some((before, record)) = octets.split_at_checked(place) else {
        return false;
    };
    let Some(leader) = leader_at(record) else {
        return false;
    };
    if directory::is_believable(record, &leader) {
        return true;
    }
    // The terminator of the preceding record is missing or was overwritten by another octet.
    let content = match stated {
        Some(length) if length == place + 1 => before,
        Some(length) if length == place => before.get(..place - 1).unwrap_or_default(),
        _ => return false,
    };
    content.last() == Some(&FIELD_TERMINATOR)
        && leader.base_address().is_some()
        && leader.octet(6).is_ascii_alphabetic()
        && [10, 11, 20, 21]
            .map(|position| leader.octet(position))
            .iter()
            .all(u8::is_ascii_digit)
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
        check(&format!("\u{FEFF}{A}\r\n\u{FEFF}\n{B}"), &[A, B]);
        check("\u{FEFF}", &[]);
    }

    #[test]
    fn a_wrong_length_does_not_affect_other_records() {
        let short = A.replacen("00026", "00025", 1);
        let long = A.replacen("00026", "00053", 1);
        let huge = A.replacen("00026", "99999", 1);
        let none = A.replacen("00026", "length", 1);
        for wrong in [&short, &long, &huge, &none] {
            check(&format!("{wrong}{B}{A}"), &[wrong, B, A]);
        }
    }

    #[test]
    fn a_terminator_inside_a_valid_record_stays_inside() {
        let odd = "00030nam a2200025   4500\x1Eo\x1Dd\x1E\x1D";
        check(&format!("{odd}{B}"), &[odd, B]);
    }

    /// A record of 77 octets, with the fields 001 and 245.
    const WHOLE: &str = "00077nam a2200049   4500001000700000245002000007\x1E\
                         pg1342\x1E10\x1FaEmma /\x1FcAusten.\x1E\x1D";

    #[test]
    fn audit_a5_a_lost_terminator_or_end_does_not_affect_other_records() {
        // The record is cut at every length; then its terminator is replaced by another octet.
        for length in 1..WHOLE.len() {
            let cut = &WHOLE[..length];
            check(&format!("{A}{cut}{WHOLE}{B}"), &[A, cut, WHOLE, B]);
            check(
                &format!("{cut}\r\n{WHOLE}"),
                &[&format!("{cut}\r\n"), WHOLE],
            );
        }
        let overwritten = WHOLE.replace('\x1D', "x");
        check(&format!("{overwritten}{WHOLE}"), &[&overwritten, WHOLE]);
        // The stated length of the cut record reaches the end of the following record.
        let cut = &WHOLE.replacen("00077", "00117", 1)[..40];
        check(&format!("{cut}{WHOLE}{WHOLE}"), &[cut, WHOLE, WHOLE]);
    }

    #[test]
    fn audit_a5_data_that_looks_like_a_record_is_not_split() {
        // The subfield holds a leader and a directory, and the field terminator that follows looks like the end of this directory.
        let text = "00077nam a2200049   4500001000700000245002000007";
        let field = format!("  \x1Fa{text}\x1E");
        let (total, length) = (37 + field.len() + 1, field.len());
        let record = format!("{total:05}nam a2200037   4500500{length:04}00000\x1E{field}\x1D");
        check(&format!("{record}{WHOLE}"), &[&record, WHOLE]);
        // A leader without a directory does not split a damaged record either.
        let lying =
            WHOLE
                .replacen("00077", "00099", 1)
                .replacen("Emma /", "00077nam a2200049   4500", 1);
        check(&format!("{lying}{WHOLE}"), &[&lying, WHOLE]);
    }
}
