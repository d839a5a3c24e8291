//! Converts text to MARC-8: marks precede their character, working sets are changed only where necessary, and the default sets
//! are restored at the end (MARC 21 Specifications, Character Sets: MARC-8 Encoding Environment).

use std::collections::HashMap;
use std::sync::LazyLock;

use super::marc8_table::SETS;
use super::{ANSEL, ASCII, CONTROLS, ESCAPE, eacc};
use crate::charset::cluster::{Cluster, Repertoire};
use crate::charset::combine::{BLANK_BASE, DOUBLE_TILDE, LIGATURE, LIGATURE_LEFT};

/// Writes the clusters of one data element.
#[derive(Debug)]
pub(in crate::charset) struct Marc8Encoder {
    octets: Vec<u8>,
    /// The octets that name the working sets in escape sequences.
    g0: u8,
    g1: u8,
    /// The right half of a double mark, which precedes the next character.
    right_half: Option<u8>,
}

/// The two halves of the ligature and of the double tilde in ANSEL.
const LIGATURE_HALVES: (u8, u8) = (0xEB, 0xEC);
const TILDE_HALVES: (u8, u8) = (0xFA, 0xFB);

impl Marc8Encoder {
    pub(in crate::charset) fn new(capacity: usize) -> Self {
        Marc8Encoder {
            octets: Vec::with_capacity(capacity),
            g0: ASCII,
            g1: ANSEL,
            right_half: None,
        }
    }

    /// Restores the default sets and returns the octets.
    pub(in crate::charset) fn finish(mut self) -> Vec<u8> {
        self.designate_g0(ASCII);
        self.designate_g1(ANSEL);
        self.octets
    }

    fn designate_g0(&mut self, set: u8) {
        if self.g0 == set {
            return;
        }
        match set {
            b'g' | b'b' | b'p' => self.octets.extend([ESCAPE, set]),
            ASCII if matches!(self.g0, b'g' | b'b' | b'p') => self.octets.extend([ESCAPE, b's']),
            eacc::FINAL_OCTET => self.octets.extend([ESCAPE, b'$', set]),
            _ => self.octets.extend([ESCAPE, b'(', set]),
        }
        self.g0 = set;
    }

    fn designate_g1(&mut self, set: u8) {
        if self.g1 == set {
            return;
        }
        match set {
            ANSEL => self.octets.extend([ESCAPE, b')', b'!', set]),
            _ => self.octets.extend([ESCAPE, b')', set]),
        }
        self.g1 = set;
    }

    /// Writes a character or mark. If neither working set has it, one of them is replaced by the first set that has it.
    /// If `symbol` is set, the set of Greek symbols is tried before the other sets.
    fn put(&mut self, character: char, symbol: bool) {
        if let Some((octet, _)) = CONTROLS.iter().find(|(_, known)| *known == character) {
            self.octets.push(*octet);
            return;
        }
        let places = PLACES.get(&character).map_or(&[][..], Vec::as_slice);
        let at_hand = |set: u8| places.iter().find(|place| place.set == set);
        if let Some(place) = at_hand(self.g0) {
            self.octets.push(place.octet);
        } else if let Some(place) = at_hand(self.g1) {
            self.octets.push(place.octet | 0x80);
        } else if let Some(place) = at_hand(b'g').filter(|_| symbol).or(places.first()) {
            if matches!(place.set, ANSEL | b'Q' | b'4') {
                self.designate_g1(place.set);
                self.octets.push(place.octet | 0x80);
            } else {
                self.designate_g0(place.set);
                self.octets.push(place.octet);
            }
        } else if let Some(code) = eacc::code(character) {
            self.designate_g0(eacc::FINAL_OCTET);
            self.octets.extend(code);
        } else if character.is_ascii() {
            self.put_ascii(character);
        }
    }

    /// Writes a space or control character. All sets share these characters, but among three-octet codes they would cut
    /// a code short.
    fn put_ascii(&mut self, character: char) {
        if matches!(self.g0, b'g' | b'b' | b'p' | eacc::FINAL_OCTET) {
            self.designate_g0(ASCII);
        }
        self.octets.extend(u8::try_from(character));
    }

    fn put_mark(&mut self, mark: char) {
        let halves = match mark {
            LIGATURE => LIGATURE_HALVES,
            DOUBLE_TILDE => TILDE_HALVES,
            _ => return self.put(mark, false),
        };
        self.designate_g1(ANSEL);
        self.octets.push(halves.0);
        self.right_half = Some(halves.1);
    }
}

impl Repertoire for Marc8Encoder {
    fn has(&self, character: char) -> bool {
        character == ' '
            || character.is_ascii_control() && character != char::from(ESCAPE)
            || CONTROLS.iter().any(|(_, control)| *control == character)
            || PLACES.contains_key(&character)
            || eacc::code(character).is_some()
    }

    fn has_mark(&self, mark: char) -> bool {
        matches!(mark, LIGATURE | DOUBLE_TILDE)
            || PLACES
                .get(&mark)
                .is_some_and(|places| places.iter().any(|place| place.mark))
    }

    fn write(&mut self, cluster: &Cluster<'_>) {
        if let Some(right_half) = self.right_half.take() {
            self.designate_g1(ANSEL);
            self.octets.push(right_half);
        }
        for mark in cluster.marks {
            self.put_mark(*mark);
        }
        // Leave out the no-break space that the decoder added as a base for marks at the end of the text.
        if cluster.base != BLANK_BASE {
            self.put(cluster.base, !cluster.beside_greek);
        }
    }

    fn write_plain(&mut self, text: &str) {
        for character in text.chars() {
            self.put(character, true);
        }
    }
}

/// The code for a character in a set.
#[derive(Debug)]
struct CodePosition {
    set: u8,
    /// The octet without its high bit.
    octet: u8,
    mark: bool,
}

/// Every character of the one-octet sets, with its codes in order of preference.
static PLACES: LazyLock<HashMap<char, Vec<CodePosition>>> = LazyLock::new(|| {
    let mut places: HashMap<char, Vec<CodePosition>> = HashMap::new();
    for set in SETS {
        for octet in 0x21..=0x7E {
            if let Some((character, mark)) = set.character(octet) {
                let set = set.final_octet;
                places
                    .entry(character)
                    .or_default()
                    .push(CodePosition { set, octet, mark });
            }
        }
    }
    debug_assert!(places.contains_key(&LIGATURE_LEFT));
    places
});
