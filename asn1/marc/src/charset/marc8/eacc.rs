//! Converts the codes of the East Asian Character Code (ANSI Z39.64), which have three octets, to characters and back. One table of runs
//! serves both directions; an index by character is built on first use.

use std::sync::LazyLock;

use super::eacc_table::{FILLER, RUNS};

/// The octet that names EACC in an escape sequence.
pub(super) const FINAL_OCTET: u8 = b'1';
/// The name of this character set in a [`Problem`].
pub(super) const NAME: &str = "EACC";

/// The only code that contains a space. The code is read, but not written, because another code has the same character.
pub(super) const IDEOGRAPHIC_SPACE: [u8; 3] = [0x21, 0x23, 0x20];

/// The placeholder for EACC characters that Unicode lacked. It is read, but never written.
const GETA: char = '\u{3013}';

/// The length in UTF-8 of every character in the table.
const OCTETS: usize = 3;

/// Returns the length in octets of an invalid code at the start of the octets. The code begins with `plain` valid octets, at most two,
/// which are followed by a space, a control character or the end. The length is three if valid codes follow three octets later. Otherwise
/// the code was cut short after its valid octets, and the octet that follows them is text.
pub(super) fn odd_code(octets: &[u8], plain: usize) -> usize {
    let half = octets.first().copied().unwrap_or_default() & 0x80;
    // A run of codes ends at an escape sequence, line end or separator, or at an octet whose high bit differs.
    let belongs =
        |octet: &&u8| **octet & 0x80 == half && !matches!(**octet, b'\n' | b'\r' | 0x1B..=0x1F);
    let run = octets
        .iter()
        .take(MOST_SEARCHED)
        .take_while(belongs)
        .count();
    let run = octets.get(..run).unwrap_or_default();
    let cut_short = plain.max(1);
    let Some((_, after)) = run.split_at_checked(CODE) else {
        return cut_short;
    };
    let is_whole = run.len() < MOST_SEARCHED && run.len().is_multiple_of(CODE);
    if is_whole || is_code(after) || !is_code(run.get(cut_short..).unwrap_or_default()) {
        CODE
    } else {
        cut_short
    }
}

/// The number of octets in a code.
const CODE: usize = 3;
/// The maximum number of octets to search for the end of a run of codes.
const MOST_SEARCHED: usize = 192;

/// Returns whether the octets begin with a known code, possibly after spaces.
fn is_code(octets: &[u8]) -> bool {
    let code = octets.trim_ascii_start().first_chunk::<CODE>();
    code.is_some_and(|code| character(code.map(|octet| octet & 0x7F)).is_some())
}

/// Returns the character for a code. The high bits of the code must be clear.
pub(super) fn character(code: [u8; 3]) -> Option<char> {
    let [plane, row, cell] = code;
    let code = u32::from_be_bytes([0, plane, row, cell]);
    let after = RUNS.partition_point(|(first, _)| *first <= code);
    let (first, characters) = RUNS.get(after.checked_sub(1)?)?;
    let start = usize::try_from(code - first).ok()?.checked_mul(OCTETS)?;
    let found = characters.get(start..)?.chars().next()?;
    Some(found).filter(|character| *character != FILLER)
}

/// Returns the code for a character. If the character has several codes, the lowest is returned, which is that of the
/// traditional form and not of a variant.
pub(super) fn code(character: char) -> Option<[u8; 3]> {
    let place = CODES
        .binary_search_by_key(&character, |(known, _)| *known)
        .ok()?;
    let (_, [_, plane, row, cell]) = CODES
        .get(place)
        .map(|(known, code)| (known, code.to_be_bytes()))?;
    Some([plane, row, cell])
}

/// Every character that can be written, with its lowest code, sorted by character.
static CODES: LazyLock<Vec<(char, u32)>> = LazyLock::new(|| {
    let mut codes: Vec<_> = entries()
        .filter(|(character, code)| {
            *character != GETA && code.to_be_bytes()[1..] != IDEOGRAPHIC_SPACE
        })
        .collect();
    codes.sort_unstable();
    codes.dedup_by_key(|(character, _)| *character);
    codes
});

/// Returns every character that has a code, in code order.
pub(super) fn entries() -> impl Iterator<Item = (char, u32)> {
    RUNS.iter()
        .flat_map(|(first, characters)| characters.chars().zip(*first..))
        .filter(|(character, _)| *character != FILLER)
}

#[cfg(test)]
mod tests {
    use super::super::eacc_table::COUNT;
    use super::*;

    #[test]
    fn the_table_is_whole_and_in_order() {
        assert_eq!(entries().count(), COUNT);
        assert!(RUNS.is_sorted_by(
            |(a, run), (b, _)| *b >= *a + u32::try_from(run.chars().count()).expect("short")
        ));
        assert!(
            RUNS.iter()
                .all(|(_, run)| run.chars().all(|character| character.len_utf8() == OCTETS))
        );
    }

    #[test]
    fn every_character_comes_back() {
        let mut variants = 0;
        for (character, number) in entries() {
            let [_, octets @ ..] = number.to_be_bytes();
            assert_eq!(super::character(octets), Some(character), "{number:06X}");
            match code(character) {
                None => assert_eq!(character, GETA),
                Some(first) if first == octets => {}
                Some(other) => {
                    assert_eq!(super::character(other), Some(character));
                    variants += 1;
                }
            }
        }
        assert_eq!(variants, VARIANTS);
        assert_eq!(super::character([0x21, 0x30, 0x28]), None);
        assert_eq!(super::character([0, 0, 0]), None);
        assert_eq!(super::character([0xFF; 3]), None);
        assert_eq!(code('a'), None);
    }

    /// The number of codes that are read but never written, because their character has another code.
    const VARIANTS: usize = 217;
}
