//! Converts MARC-8 to text (MARC 21 Specifications, Character Sets: MARC-8 Encoding Environment; ISO 2022). MARC-8 has two working sets,
//! which escape sequences change, and puts combining marks before their base character. Each data element starts with the sets ASCII and
//! ANSEL.

mod eacc;
mod eacc_table;
pub(super) mod encode;
mod marc8_table;

use super::combine::Composer;
use super::iso5426::seven_bit_control;
use super::problem::{Problem, ProblemKind};

/// The octet that begins an escape sequence.
const ESCAPE: u8 = 0x1B;

/// The marks around non-filing characters, and the zero-width joiners. These are controls in every working set.
const CONTROLS: [(u8, char); 4] = [
    (0x88, '\u{98}'),
    (0x89, '\u{9C}'),
    (0x8D, '\u{200D}'),
    (0x8E, '\u{200C}'),
];

/// A graphic set with one octet per character.
#[derive(Debug)]
struct GraphicSet {
    /// The name of the set in the code tables.
    name: &'static str,
    /// The octet that names the set in an escape sequence.
    final_octet: u8,
    /// The codes that are combining marks: bit 0 is set if the code 0x20 is a mark, and so on.
    marks: u128,
    /// The code points of the characters at 0x20 to 0x7F, with 0 for a code without a character.
    codes: [u16; 96],
}

impl GraphicSet {
    /// Returns the character for an octet, whose high bit is ignored, and whether the character is a mark.
    fn character(&self, octet: u8) -> Option<(char, bool)> {
        let place = usize::from(octet & 0x7F).checked_sub(0x20)?;
        let code = *self.codes.get(place)?;
        let character = char::from_u32(u32::from(code)).filter(|_| code != 0)?;
        Some((character, self.marks >> place & 1 == 1))
    }
}

/// A working set.
#[derive(Clone, Copy, Debug)]
enum Working {
    /// A set with one octet per character.
    Single(&'static GraphicSet),
    /// The set of East Asian characters, with three octets per character.
    Eacc,
}

impl Working {
    fn by_final(octet: u8) -> Option<Self> {
        if octet == eacc::FINAL_OCTET {
            return Some(Working::Eacc);
        }
        let mut sets = marc8_table::SETS.iter();
        let set = sets.find(|set| set.final_octet == octet)?;
        Some(Working::Single(set))
    }

    fn final_octet(self) -> u8 {
        match self {
            Working::Single(set) => set.final_octet,
            Working::Eacc => eacc::FINAL_OCTET,
        }
    }
}

/// Decodes one data element. Returns `None` if the text is ASCII and needs no conversion.
///
/// The `bool` in the result is whether the text may need normalisation.
pub(super) fn decode(octets: &[u8], problems: &mut Vec<Problem>) -> Option<(String, bool)> {
    if octets.is_ascii() && !octets.contains(&ESCAPE) {
        return None;
    }
    let mut decoder = Decoder {
        sets: Sets::default(),
        composer: Composer::with_capacity(octets.len() + octets.len() / 4, false),
        problems,
    };
    let mut offset = 0;
    while let Some(rest) = octets.get(offset..).filter(|rest| !rest.is_empty()) {
        offset += decoder.step(rest, offset);
    }
    if decoder.composer.is_waiting() {
        let problem = ProblemKind::MarkWithoutBase.at(octets.len());
        decoder.problems.push(problem);
    }
    Some(decoder.composer.finish())
}

/// The working sets. Octets from 0x21 to 0x7E are characters of G0, and octets from 0xA1 to 0xFE are characters of G1.
/// `None` is the default set.
#[derive(Clone, Copy, Debug, Default)]
struct Sets {
    g0: Option<Working>,
    g1: Option<Working>,
}

/// The default set for G0.
const ASCII: u8 = b'B';
/// The default set for G1.
const ANSEL: u8 = b'E';

struct Decoder<'a> {
    sets: Sets,
    composer: Composer,
    problems: &'a mut Vec<Problem>,
}

impl Decoder<'_> {
    /// Decodes the first character or escape sequence, and returns its length in octets, which is at least 1.
    fn step(&mut self, rest: &[u8], offset: usize) -> usize {
        let Some(&first) = rest.first() else {
            return 1;
        };
        match first {
            ESCAPE => self.escape(rest, offset),
            0x20..=0x7E if self.sets.g0.is_none() => self.ascii_run(rest),
            0x7F if matches!(self.sets.g0, Some(Working::Eacc)) => self.east_asian(rest, offset),
            0..=0x1F | b' ' | 0x7F => {
                self.composer.base(char::from(first));
                1
            }
            0x21..=0x7E => self.graphic(self.sets.g0, rest, offset),
            0x80..=0x9F => {
                match CONTROLS.iter().find(|(octet, _)| *octet == first) {
                    Some((_, character)) => self.composer.base(*character),
                    None => self.unassigned(&[first], "MARC-8", offset),
                }
                1
            }
            0xA0..=0xFF => {
                let usual = Working::by_final(ANSEL);
                self.graphic(self.sets.g1.or(usual), rest, offset)
            }
        }
    }

    fn ascii_run(&mut self, rest: &[u8]) -> usize {
        let plain = |octet: &&u8| matches!(octet, b' '..=b'~');
        let length = rest.iter().take_while(plain).count();
        let run = rest
            .get(..length)
            .and_then(|run| std::str::from_utf8(run).ok());
        self.composer.plain(run.unwrap_or_default());
        length
    }

    /// Decodes a character from a working set, and returns its length in octets.
    fn graphic(&mut self, set: Option<Working>, rest: &[u8], offset: usize) -> usize {
        let Some(&first) = rest.first() else {
            return 1;
        };
        match set {
            Some(Working::Eacc) => self.east_asian(rest, offset),
            Some(Working::Single(set)) => {
                match set.character(first) {
                    Some((mark, true)) => self.composer.mark(mark),
                    Some((character, false)) => self.composer.base(character),
                    None => self.unassigned(&[first], set.name, offset),
                }
                1
            }
            None => {
                self.composer.base(char::from(first));
                1
            }
        }
    }

    /// Decodes an EACC code, which has three octets in the same half of the code table. An invalid or truncated code is reported as one
    /// problem.
    fn east_asian(&mut self, rest: &[u8], offset: usize) -> usize {
        let half = rest.first().copied().unwrap_or_default() & 0x80;
        let of_half = |octet: &&u8| matches!(**octet ^ half, 0x21..=0x7E);
        let code = rest.iter().take(3).map(|octet| octet ^ half);
        let length = if code.eq(eacc::IDEOGRAPHIC_SPACE) {
            eacc::IDEOGRAPHIC_SPACE.len()
        } else {
            match rest.iter().take(3).take_while(of_half).count() {
                3 => 3,
                length => eacc::odd_code(rest, length),
            }
        };
        let octets = rest.get(..length).unwrap_or_default();
        match octets {
            [a, b, c] => match eacc::character([a & 0x7F, b & 0x7F, c & 0x7F]) {
                Some(character) => self.composer.base(character),
                None => self.unassigned(octets, eacc::NAME, offset),
            },
            _ => {
                let (octets, set) = (octets.to_vec(), eacc::NAME);
                self.problems
                    .push(ProblemKind::Malformed { octets, set }.at(offset));
                self.composer.base(char::REPLACEMENT_CHARACTER);
            }
        }
        length
    }

    /// Carries out an escape sequence. In technique 1, one octet after ESC selects Greek symbols, subscripts or superscripts; technique 2
    /// follows ISO 2022.
    fn escape(&mut self, rest: &[u8], offset: usize) -> usize {
        if let Some(control) = seven_bit_control(ESCAPE, rest.get(1..).unwrap_or_default()) {
            self.composer.base(control);
            return 2;
        }
        let Some((length, first_half, working)) = escape_sequence(rest) else {
            self.problems.push(ProblemKind::UnknownEscape.at(offset));
            self.composer.base(char::REPLACEMENT_CHARACTER);
            return 1;
        };
        let final_octet = working.final_octet();
        if first_half {
            self.sets.g0 = Some(working).filter(|_| final_octet != ASCII);
        } else {
            self.sets.g1 = Some(working).filter(|_| final_octet != ANSEL);
        }
        length
    }

    fn unassigned(&mut self, octets: &[u8], set: &'static str, offset: usize) {
        let octets = octets.to_vec();
        self.problems
            .push(ProblemKind::Unassigned { octets, set }.at(offset));
        self.composer.base(char::REPLACEMENT_CHARACTER);
    }
}

/// Parses an escape sequence. Returns its length in octets, whether it changes G0, and the new set; `None` for an unknown sequence.
fn escape_sequence(octets: &[u8]) -> Option<(usize, bool, Working)> {
    let (length, first_half, final_octet) = match octets.get(1..)? {
        [b's', ..] => (2, true, ASCII),
        [symbols @ (b'g' | b'b' | b'p'), ..] => (2, true, *symbols),
        // The escape sequence for ANSEL has an intermediate octet, `!`, before the final octet.
        [b'(' | b',', b'!', ANSEL, ..] => (4, true, ANSEL),
        [b')' | b'-', b'!', ANSEL, ..] => (4, false, ANSEL),
        [b'$', b')' | b'-', eacc::FINAL_OCTET, ..] => (4, false, eacc::FINAL_OCTET),
        [b'$', b'(' | b',', eacc::FINAL_OCTET, ..] => (4, true, eacc::FINAL_OCTET),
        [b'$', eacc::FINAL_OCTET, ..] => (3, true, eacc::FINAL_OCTET),
        [b'(' | b',', set, ..] => (3, true, *set),
        [b')' | b'-', set, ..] => (3, false, *set),
        _ => return None,
    };
    Some((length, first_half, Working::by_final(final_octet)?))
}

#[cfg(test)]
mod tests;
