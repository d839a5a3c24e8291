//! MARCMaker 2.5 mnemonics (Library of Congress, Text-to-MARC 21 Character Conversion Table, 2003), with the MARC-8 codes from that table.
//! Approximations, such as `--` for `{mdash}`, are left out.

use crate::charset::Charset;
use crate::text::hexadecimal;

/// Mnemonics for octets that have a special meaning in MARCMaker text, in every character set.
pub(super) const OCTETS: [(&str, u8); 5] = [
    ("dollar", b'$'),
    ("bsol", b'\\'),
    ("lcub", b'{'),
    ("rcub", b'}'),
    ("esc", 0x1B),
];

/// Mnemonics for characters and marks, and their MARC-8 codes.
#[rustfmt::skip]
const CHARACTERS: [(&str, u8); 103] = [
    ("amp", b'&'), ("apos", b'\''), ("ast", b'*'), ("colon", b':'), ("comma", b','), ("commat", b'@'), ("equals", b'='),
    ("excl", b'!'), ("gt", b'>'), ("hyphen", b'-'), ("lpar", b'('), ("lsqb", b'['), ("lt", b'<'), ("num", b'#'),
    ("percnt", b'%'), ("period", b'.'), ("pipe", b'|'), ("plus", b'+'), ("quest", b'?'), ("quot", b'"'), ("rpar", b')'),
    ("rsqb", b']'), ("semi", b';'), ("sol", b'/'), ("space", b' '), ("spcirc", b'^'), ("spgrave", b'`'), ("sptilde", b'~'),
    ("spundscr", b'_'), ("verbar", b'|'),
    ("joiner", 0x8D), ("nonjoin", 0x8E),
    ("Lstrok", 0xA1), ("Ostrok", 0xA2), ("Dstrok", 0xA3), ("ETH", 0xA3), ("THORN", 0xA4), ("AElig", 0xA5), ("OElig", 0xA6),
    ("mlprime", 0xA7), ("softsign", 0xA7), ("middot", 0xA8), ("flat", 0xA9), ("reg", 0xAA), ("plusmn", 0xAB),
    ("Ohorn", 0xAC), ("Uhorn", 0xAD), ("alif", 0xAE), ("mlrhring", 0xAE), ("ayn", 0xB0), ("mllhring", 0xB0),
    ("lstrok", 0xB1), ("ostrok", 0xB2), ("dstrok", 0xB3), ("thorn", 0xB4), ("aelig", 0xB5), ("oelig", 0xB6),
    ("hardsign", 0xB7), ("mlPrime", 0xB7), ("inodot", 0xB8), ("pound", 0xB9), ("eth", 0xBA), ("ohorn", 0xBC),
    ("uhorn", 0xBD), ("deg", 0xC0), ("scriptl", 0xC1), ("phono", 0xC2), ("copy", 0xC3), ("sharp", 0xC4), ("iquest", 0xC5),
    ("iexcl", 0xC6),
    ("hooka", 0xE0), ("grave", 0xE1), ("acute", 0xE2), ("circ", 0xE3), ("tilde", 0xE4), ("macr", 0xE5), ("breve", 0xE6),
    ("dot", 0xE7), ("diaer", 0xE8), ("uml", 0xE8), ("caron", 0xE9), ("ring", 0xEA), ("llig", 0xEB), ("rlig", 0xEC),
    ("rcommaa", 0xED), ("dblac", 0xEE), ("candra", 0xEF), ("cedil", 0xF0), ("hookr", 0xF1), ("ogon", 0xF1), ("dotb", 0xF2),
    ("dbldotb", 0xF3), ("ringb", 0xF4), ("dblunder", 0xF5), ("under", 0xF6), ("commab", 0xF7), ("hookl", 0xF7),
    ("rcedil", 0xF8), ("breveb", 0xF9), ("ldbltil", 0xFA), ("rdbltil", 0xFB), ("commaa", 0xFE),
];

/// The marks that may follow a letter within a mnemonic, as in `{eacute}`.
const MARKS: [&str; 14] = [
    "acute", "breve", "caron", "cedil", "circ", "commab", "dblac", "dot", "grave", "hookr", "ogon",
    "ring", "tilde", "uml",
];

/// The length of the longest mnemonic with its closing brace: `softsign}`.
const MOST_NAME: usize = 9;

/// Whether a backslash in the text represents a space.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Blanks {
    Backslash,
    AsTheyAre,
}

/// Replaces the mnemonics in text, and appends the result to `octets`.
pub(super) fn read(text: &str, blanks: Blanks, octets: &mut Vec<u8>) {
    let mut run = Marc8Run {
        octets,
        start: None,
    };
    let mut rest = text;
    while let Some(place) = rest.bytes().position(|octet| matches!(octet, b'{' | b'\\')) {
        let (before, from) = rest.split_at_checked(place).unwrap_or((rest, ""));
        run.text(before);
        rest = match mnemonic(from) {
            Some((Mnemonic::Octet(octet), after)) => {
                run.end();
                run.octets.push(octet);
                after
            }
            Some((Mnemonic::Marc8(octets), after)) => {
                run.characters(&octets);
                after
            }
            None => {
                let is_blank = from.starts_with('\\') && blanks == Blanks::Backslash;
                let (one, after) = from.split_at_checked(1).unwrap_or((from, ""));
                run.text(if is_blank { " " } else { one });
                after
            }
        };
    }
    run.text(rest);
    run.end();
}

/// The meaning of a mnemonic.
enum Mnemonic {
    Octet(u8),
    /// Up to two octets of MARC-8; an unused octet is 0.
    Marc8([u8; 2]),
}

/// Parses a mnemonic at the start of the text, and returns its meaning and the text after it.
fn mnemonic(text: &str) -> Option<(Mnemonic, &str)> {
    let inside = text.strip_prefix('{')?;
    let end = inside
        .bytes()
        .take(MOST_NAME)
        .position(|octet| octet == b'}')?;
    let (name, after) = inside.split_at_checked(end)?;
    let named = |table: &[(&str, u8)], name: &str| {
        let mut known = table.iter();
        known.find(|(known, _)| *known == name).map(|known| known.1)
    };
    let meaning = if let [b'x', high, low] = name.as_bytes() {
        Mnemonic::Octet(hexadecimal(*high)? * 16 + hexadecimal(*low)?)
    } else if let Some(octet) = named(&OCTETS, name) {
        Mnemonic::Octet(octet)
    } else if let Some(octet) = named(&CHARACTERS, name) {
        Mnemonic::Marc8([0, octet])
    } else {
        // The name is a letter with a mark; in MARC-8, the mark precedes the letter.
        let (letter, mark) = name.split_at_checked(1)?;
        let letter = letter.bytes().next().filter(u8::is_ascii_alphabetic)?;
        let mark = named(&CHARACTERS, MARKS.into_iter().find(|known| *known == mark)?)?;
        Mnemonic::Marc8([mark, letter])
    };
    Some((meaning, after.strip_prefix('}')?))
}

/// The octets of the text read so far. If `start` is set, the octets after that offset are a run of MARC-8, which is
/// converted when it ends.
struct Marc8Run<'a> {
    octets: &'a mut Vec<u8>,
    start: Option<usize>,
}

impl Marc8Run<'_> {
    fn characters(&mut self, marc8: &[u8]) {
        self.start.get_or_insert(self.octets.len());
        self.octets
            .extend(marc8.iter().filter(|octet| **octet != 0));
    }

    /// Adds text. ASCII stays in the run, because it is the same in MARC-8 and marks can combine with its letters;
    /// other characters end the run.
    fn text(&mut self, text: &str) {
        let plain = |octet: u8| matches!(octet, b' '..=b'~');
        let rest = match (self.start, text.bytes().position(|octet| !plain(octet))) {
            (Some(_), Some(place)) => {
                let (head, rest) = text.split_at_checked(place).unwrap_or((text, ""));
                self.octets.extend_from_slice(head.as_bytes());
                self.end();
                rest
            }
            _ => text,
        };
        self.octets.extend_from_slice(rest.as_bytes());
    }

    /// Ends the run by converting its MARC-8 to UTF-8.
    fn end(&mut self) {
        if let Some(start) = self.start.take() {
            let marc8 = self.octets.split_off(start.min(self.octets.len()));
            let decoded = Charset::Marc8.decode(&marc8);
            self.octets.extend_from_slice(decoded.text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut octets = b"before".to_vec();
        read(text, Blanks::AsTheyAre, &mut octets);
        let octets = String::from_utf8(octets).expect("UTF-8");
        assert_eq!(octets.strip_prefix("before"), Some(expected), "{text}");
    }

    #[test]
    fn characters_and_marks() {
        // These lines come from the documentation of MARCMaker and from the tests of programs that read its text.
        check("W{lstrok}oc{lstrok}aw", "Włocław");
        check("{Lstrok}{acute}od{acute}z", "Łódź");
        check("d{acute}esir{acute}ee", "désirée");
        check("L{uml}owenbr{uml}au {caron}crny", "Löwenbräu črny");
        check(
            "{cedil}ca va {AElig}gir {inodot} {pound}5.95",
            "ça va Ægir ı £5.95",
        );
        check(
            "kh{rcedil}ong Lech Wa{lstrok}{commab}esa",
            "kho\u{31C}ng Lech Wałe\u{326}sa",
        );
        check(
            "mas{mlrhring}alah {mllhring}arab rech{softsign}",
            "masʼalah ʻarab rechʹ",
        );
        check("d{llig}i{rlig}ad", "di\u{361}ad");
        check(
            "{eacute}{Eacute}{ccedil}{Odblac}{sacute}{Zdot}{Uring}{aogon}",
            "éÉçŐśŻŮą",
        );
        // These lines have several marks on one letter, letters that are not ASCII, and the mnemonic for a space.
        check("{macr}{acute}o", "ṓ");
        check("紅{acute}e樓{uml}o夢", "紅é樓ö夢");
        check("{amp}{lt}{quot}{space}{verbar}", "&<\" |");
    }

    #[test]
    fn unknown_mnemonics_stay_as_text() {
        for text in [
            "{}",
            "{",
            "}",
            "{eacute",
            "{e acute}",
            "{1acute}",
            "{mdash}",
            "{unknown}",
            "{EACUTE}",
            "{acutee}",
            "{E2}",
            "{us}",
            "{softsigns}",
        ] {
            check(text, text);
        }
        check("{dollar}{bsol}{lcub}eacute{rcub}{x41}", "$\\{eacute}A");
    }

    #[test]
    fn every_name_has_its_character() {
        for (name, octet) in CHARACTERS {
            assert!(name.len() < MOST_NAME, "{name}");
            let octets = [octet, b'x'];
            let decoded = Charset::Marc8.decode(&octets);
            assert!(
                decoded.problems.is_empty() && !decoded.text.contains('\u{FFFD}'),
                "{name}"
            );
            let once = CHARACTERS.iter().filter(|(known, _)| *known == name);
            assert_eq!(once.count(), 1, "{name}");
            check(&format!("{{{name}}}x"), &decoded.text);
        }
    }
}
