//! Masks for words, and their comparison with entries of an index.

/// The placeholder for any number of characters. Placeholders are letters that do not occur in catalogues and are not changed by
/// folding.
pub const ANY_NUMBER: char = '\u{16a0}';
/// The placeholder for exactly one character.
pub const EXACTLY_ONE: char = '\u{16a1}';
/// The placeholder for at most one character.
pub const AT_MOST_ONE: char = '\u{16a2}';

/// The maximum length of a mask. Each position of the mask is a bit of a number; catalogues do not have longer words.
pub(in crate::memory) const MOST_MASK_CHARACTERS: usize = 127;

/// Returns whether a mask matches a complete entry.
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

/// Adds to the positions reached in a mask those that can be reached by placeholders for no characters.
fn past_optional(mask: &str, mut reached: u128) -> u128 {
    for (position, wanted) in mask.chars().enumerate() {
        if matches!(wanted, ANY_NUMBER | AT_MOST_ONE) {
            reached |= (reached & 1 << position) << 1;
        }
    }
    reached
}
