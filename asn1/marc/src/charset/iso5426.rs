//! Converts ISO 5426, the Latin set of UNIMARC (ISO 5426:1983; ISO-IR 53), which extends ISO 646. Combining marks precede their character.
//! The octets 0x88 and 0x89 enclose non-filing characters (ISO 6630).

mod iso5426_table;

use std::collections::HashMap;
use std::sync::LazyLock;

use self::iso5426_table::CODES;
use super::cluster::{Cluster, Repertoire};
use super::combine::{BLANK_BASE, Composer, DOUBLE_TILDE, LIGATURE};
use super::problem::{Problem, ProblemKind};

/// The name of this character set in a [`Problem`].
pub(super) const NAME: &str = "ISO 5426";

/// The octets and characters for the marks around non-filing characters.
const CONTROLS: [(u8, char); 2] = [(0x88, '\u{98}'), (0x89, '\u{9C}')];

/// Decodes one data element. Returns `None` if the text is ASCII and needs no conversion.
///
/// The `bool` in the result is whether the text may need normalisation.
pub(super) fn decode(octets: &[u8], problems: &mut Vec<Problem>) -> Option<(String, bool)> {
    if octets.is_ascii() && !octets.contains(&ESCAPE) {
        return None;
    }
    let mut composer = Composer::with_capacity(octets.len() + octets.len() / 4, true);
    let mut offset = 0;
    while let Some((&first, rest)) = octets.get(offset..).and_then(<[u8]>::split_first) {
        if let Some(control) = seven_bit_control(first, rest) {
            composer.base(control);
            offset += 2;
            continue;
        }
        if first.is_ascii() {
            let is_plain = |octet: &&u8| octet.is_ascii() && **octet != ESCAPE;
            let length = 1 + rest.iter().take_while(is_plain).count();
            let run = octets.get(offset..offset + length);
            let run = run.and_then(|run| std::str::from_utf8(run).ok());
            composer.plain(run.unwrap_or_default());
            offset += length;
            continue;
        }
        match character(first) {
            Some(mark) if is_mark(first) => composer.mark(mark),
            Some(character) => composer.base(character),
            None => {
                let (octets, set) = (vec![first], NAME);
                problems.push(ProblemKind::Unassigned { octets, set }.at(offset));
                composer.base(char::REPLACEMENT_CHARACTER);
            }
        }
        offset += 1;
    }
    if composer.is_waiting() {
        problems.push(ProblemKind::MarkWithoutBase.at(octets.len()));
    }
    Some(composer.finish())
}

/// The octet that begins an escape sequence.
pub(super) const ESCAPE: u8 = 0x1B;

/// Returns the ISO 6630 mark that an escape sequence represents. In seven-bit text, ESC H and ESC I stand for 0x88 and
/// 0x89 (ISO 2022 §6.4.3).
pub(super) fn seven_bit_control(first: u8, rest: &[u8]) -> Option<char> {
    match (first, rest.first()) {
        (ESCAPE, Some(b'H')) => Some('\u{98}'),
        (ESCAPE, Some(b'I')) => Some('\u{9C}'),
        _ => None,
    }
}

fn is_mark(octet: u8) -> bool {
    matches!(octet, 0xC0..=0xDF)
}

/// Returns the character for an octet above 0x7F.
fn character(octet: u8) -> Option<char> {
    let code = match octet.checked_sub(0xA0) {
        Some(place) => *CODES.get(usize::from(place))?,
        None => {
            let mut controls = CONTROLS.iter();
            return controls
                .find(|(known, _)| *known == octet)
                .map(|(_, control)| *control);
        }
    };
    char::from_u32(u32::from(code)).filter(|_| code != 0)
}

/// Writes the clusters of one data element.
#[derive(Debug)]
pub(super) struct Iso5426Encoder {
    octets: Vec<u8>,
    /// The right half of a double mark, which precedes the next character.
    right_half: Option<u8>,
}

/// The left half of both the ligature and the double tilde. Their right halves differ.
const LEFT_HALF: u8 = 0xDD;
const LIGATURE_RIGHT: u8 = 0xDE;
const TILDE_RIGHT: u8 = 0xDF;

impl Iso5426Encoder {
    pub(super) fn new(capacity: usize) -> Self {
        Iso5426Encoder {
            octets: Vec::with_capacity(capacity),
            right_half: None,
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.octets
    }

    fn put(&mut self, character: char) {
        let right_half = match character {
            LIGATURE => LIGATURE_RIGHT,
            DOUBLE_TILDE => TILDE_RIGHT,
            _ => {
                let known = OCTETS.get(&character).copied();
                self.octets
                    .extend(u8::try_from(character).ok().filter(u8::is_ascii).or(known));
                return;
            }
        };
        self.octets.push(LEFT_HALF);
        self.right_half = Some(right_half);
    }
}

impl Repertoire for Iso5426Encoder {
    fn has(&self, character: char) -> bool {
        character.is_ascii() || OCTETS.contains_key(&character)
    }

    fn has_mark(&self, mark: char) -> bool {
        matches!(mark, LIGATURE | DOUBLE_TILDE)
            || OCTETS.get(&mark).is_some_and(|octet| is_mark(*octet))
    }

    fn write(&mut self, cluster: &Cluster<'_>) {
        self.octets.extend(self.right_half.take());
        for mark in cluster.marks {
            self.put(*mark);
        }
        // Leave out the no-break space that the decoder added as a base for marks at the end of the text.
        if cluster.base != BLANK_BASE {
            self.put(cluster.base);
        }
    }

    fn write_plain(&mut self, text: &str) {
        self.octets.extend_from_slice(text.as_bytes());
    }
}

/// The lowest octet for each character. An umlaut is written as a trema, because ISO 5426 has both and Unicode has one
/// character for them.
static OCTETS: LazyLock<HashMap<char, u8>> = LazyLock::new(|| {
    let mut octets = HashMap::new();
    for octet in 0x80..=0xFF {
        // ISO 5426 also has a dollar sign, but the ASCII dollar sign is written instead.
        if let Some(character) = character(octet).filter(|character| !character.is_ascii()) {
            octets.entry(character).or_insert(octet);
        }
    }
    octets
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charset::Charset;

    fn check(octets: &[u8], text: &str) {
        let decoded = Charset::Iso5426.decode(octets);
        assert_eq!(decoded.text, text, "{octets:02X?}");
        assert_eq!(decoded.problems, vec![], "{octets:02X?}");
        assert_eq!(
            Charset::Iso5426.encode(text).as_deref(),
            Ok(octets),
            "{text}"
        );
    }

    #[test]
    fn text_and_octets() {
        check(b"plain $5", "plain $5");
        check(b"\xD0c \xE1 \xFB", "ç Æ ß");
        check(b"litt\xC2eraire", "littéraire");
        check(b"\x88Le \x89petit livre", "\u{98}Le \u{9C}petit livre");
        let in_seven_bits = Charset::Iso5426.decode(b"\x1BHL'\x1BI\xE1ge d'or \x1BHLe \x1BI");
        assert_eq!(in_seven_bits.text, "\u{98}L'\u{9C}Æge d'or \u{98}Le \u{9C}");
        assert_eq!(
            Charset::Iso5426.decode(b"\x1BHLe \x1BIlivre").text,
            "\u{98}Le \u{9C}livre"
        );
        check(b"n\xCA  4", "n\u{20}\u{30A} 4");
        check(b"\xC2\xC8U", "Ú\u{308}");
        check(b"\xCE\xC2o", "ớ");
        check(b"\xDDt\xDEs", "t\u{361}s");
        check(b"\xDDn\xDFg", "n\u{360}g");
        check(b"\xABCensier\xBB", "«Censier»");
    }

    #[test]
    fn the_positions_of_the_chart() {
        let assigned = (0xA0..=0xFF).filter(|octet| character(*octet).is_some());
        assert_eq!(assigned.count(), 76);
        assert_eq!(character(0xC9), Some('\u{308}'));
        assert_eq!((character(0xDC), character(0xE0)), (None, None));
        for octet in 0xA1..=0xFF {
            let Some(character) = character(octet) else {
                continue;
            };
            // The umlaut is written as a trema, and the dollar sign as in ASCII.
            if !matches!(octet, 0xC9 | 0xA4) {
                assert_eq!(OCTETS.get(&character), Some(&octet), "{octet:02X}");
            }
        }
    }

    #[test]
    fn faults_have_offsets() {
        let decoded = Charset::Iso5426.decode(b"a\xDCb\xE0\xC2");
        assert_eq!(decoded.text, "a\u{FFFD}b\u{FFFD}\u{A0}\u{301}");
        let offsets: Vec<_> = decoded
            .problems
            .iter()
            .map(|problem| problem.offset)
            .collect();
        assert_eq!(offsets, [1, 3, 5]);
    }
}
