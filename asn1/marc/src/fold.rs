//! Folds text for comparing titles and names: converts it to lower case, and removes diacritics and punctuation. Characters are decomposed
//! as in Unicode Standard Annex #15.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Returns the words in text, separated by single spaces: letters and digits in lower case, without diacritics, and without the marks
/// around non-filing words. An ampersand is a word.
///
/// Marks that turn a letter into a different one are kept: й, the voiced kana, and the vowels of Indic scripts. So are `+` and
/// `#` at the end of a word, as in *C++*. Spaces between ideographs are removed, because catalogues divide Chinese into words in
/// different ways.
///
/// ```
/// use z3950_marc::fold::folded;
///
/// assert_eq!(folded("Les Misérables /"), "les miserables");
/// assert_eq!(folded("Straße & Platz"), "strasse & platz");
/// assert_eq!(folded("…"), "");
/// ```
pub fn folded(text: &str) -> String {
    let mut words = Words::default();
    let mut letters = text.nfkd().filter(|letter| !is_ignored(*letter)).peekable();
    while let Some(letter) = letters.next() {
        if is_combining_mark(letter) {
            words.mark(letter);
        } else if letter.is_alphanumeric() {
            letter.to_lowercase().for_each(|small| words.letter(small));
        } else if letter == '&' {
            words.ampersand();
        } else {
            let is_followed = letters.peek().is_some_and(|next| next.is_alphanumeric());
            words.other(letter, is_followed);
        }
    }
    words.text
}

/// The folded text so far.
#[derive(Default)]
struct Words {
    text: String,
    /// Whether a space must precede the next word.
    is_divided: bool,
}

impl Words {
    fn letter(&mut self, letter: char) {
        if is_combining_mark(letter) {
            return;
        }
        self.divide(is_written_without_blanks(letter));
        match spelled_out(letter) {
            "" => self.text.push(letter),
            letters => self.text.push_str(letters),
        }
    }

    /// Adds a mark to the letter before it, if the mark turns it into a different letter.
    fn mark(&mut self, mark: char) {
        let is_short_i = mark == '\u{306}' && self.text.ends_with('и');
        if is_short_i || !is_diacritic(mark) && !self.is_divided && !self.text.is_empty() {
            self.text.push(mark);
        }
    }

    fn ampersand(&mut self) {
        self.is_divided = true;
        self.divide(false);
        self.text.push('&');
        self.is_divided = true;
    }

    /// Adds a character that is not a letter. The character ends the word, or belongs to it as a sign at its end.
    fn other(&mut self, character: char, is_followed: bool) {
        let sign = match character {
            '+' => '+',
            '#' | '♯' => '#',
            '♭' => '♭',
            _ => {
                self.is_divided = true;
                return;
            }
        };
        if is_followed || self.is_divided || self.text.is_empty() {
            self.is_divided = true;
        } else {
            self.text.push(sign);
        }
    }

    /// Adds a space if the last word has ended, but not between ideographs.
    fn divide(&mut self, is_ideograph: bool) {
        let is_divided = std::mem::take(&mut self.is_divided);
        // The voicing marks of kana are not letters, but they belong to the word before them.
        let is_joined =
            |last| is_written_without_blanks(last) || matches!(last, '\u{3099}' | '\u{309a}');
        let follows_ideograph = is_ideograph && self.text.ends_with(is_joined);
        if is_divided && !self.text.is_empty() && !follows_ideograph {
            self.text.push(' ');
        }
    }
}

/// Returns the usual spelling in catalogues for a lower-case letter that Unicode does not decompose; empty for all
/// other letters.
pub fn spelled_out(letter: char) -> &'static str {
    match letter {
        'æ' => "ae",
        'œ' => "oe",
        'ß' => "ss",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ħ' => "h",
        'ŧ' => "t",
        'ı' => "i",
        'ς' => "σ",
        _ => "",
    }
}

/// Returns whether a character is an ideograph or a kana, which are written without spaces between words.
pub fn is_written_without_blanks(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
        && character.is_alphabetic()
}

/// Returns whether a character is invisible and does not divide words: the marks around non-filing words, soft
/// hyphens, and format characters.
fn is_ignored(character: char) -> bool {
    matches!(
        character,
        '\u{88}' | '\u{89}' | '\u{98}' | '\u{9c}' | '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

/// Returns whether a combining mark is removed, such as an accent, or a Hebrew or Arabic point.
fn is_diacritic(mark: char) -> bool {
    matches!(
        mark,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6ed}' | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_b9_texts_are_compared_by_their_words() {
        for (text, expected) in [
            ("", ""),
            (" / ;.", ""),
            ("War and Peace /", "war and peace"),
            ("LES MISE\u{301}RABLES", "les miserables"),
            ("Łódź, Søren; Straße", "lodz soren strasse"),
            ("İstanbul", "istanbul"),
            ("L'étranger", "l etranger"),
            ("\u{98}The \u{9c}war", "the war"),
            ("R&D; war & peace", "r & d war & peace"),
            ("C++ primer", "c++ primer"),
            ("C# and F♯", "c# and f#"),
            ("A+B + c, #1", "a b c 1"),
            ("Мой и Мои; ёлка", "мои\u{306} и мои елка"),
            ("紅樓夢 第 2 回", "紅樓夢第 2 回"),
            ("かぎ かき", "かき\u{3099}かき"),
            ("हिन्दी भाषा", "हिन्दी भाषा"),
            ("تَهْلُكَة", "تهلكة"),
            ("co\u{ad}operate \u{200f}x", "cooperate x"),
            ("ﬁrst 20,000", "first 20 000"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
            assert_eq!(folded(expected), expected, "{text}");
        }
        assert_ne!(folded("हिन्दी"), folded("हान्दा"));
    }
}
