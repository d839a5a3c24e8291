//! Masked words, as the index matches them with its entries.

/// The placeholder of any number of characters. Placeholders are letters that no catalogue uses and that folding keeps.
pub const ANY_NUMBER: char = '\u{16a0}';
/// The placeholder of one character.
pub const EXACTLY_ONE: char = '\u{16a1}';
/// The placeholder of one character or none.
pub const AT_MOST_ONE: char = '\u{16a2}';

/// The length limit of a masked word: each position in it is a bit of a number. No word of a catalogue is longer.
pub(in crate::memory) const MOST_MASK_CHARACTERS: usize = 127;

/// Whether a masked word, with its placeholders, matches an entire entry.
pub(in crate::memory) fn fits(mask: &str, entry: &str) -> bool {
    let mut reached = past_optional(mask, 1);
    for character in entry.chars() {
        let mut next = 0;
        for (position, wanted) in mask.chars().enumerate() {
            let here = reached & 1 << position;
            match wanted {
                ANY_NUMBER => next |= here,
                EXACTLY_ONE | AT_MOST_ONE => next |= here << 1,
                letter if letter == character => next |= here << 1,
                _ => {}
            }
        }
        if next == 0 {
            return false;
        }
        reached = past_optional(mask, next);
    }
    reached >> mask.chars().count() == 1
}

/// The positions reached in a mask, with those after placeholders that may stand for nothing.
fn past_optional(mask: &str, mut reached: u128) -> u128 {
    for (position, wanted) in mask.chars().enumerate() {
        if matches!(wanted, ANY_NUMBER | AT_MOST_ONE) {
            reached |= (reached & 1 << position) << 1;
        }
    }
    reached
}
