//! Splits text into words for searching: a word consists of letters and digits, and is folded to lower case without diacritics.
//! The standard leaves the definition of words to the server (Z39.50-2003 Appendix ATR, structure `word`).

use unicode_normalization::char::{decompose_compatible, is_combining_mark};
use z3950_marc::fold::{is_written_without_blanks, spelled_out};

/// Returns the words in the text, in order.
///
/// Each ideograph or kana is a separate word, because these scripts are written without spaces: 紅樓夢 has three words.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, &mut String::new(), |word| words.push(word.to_owned()));
    words
}

/// Calls a function with each word that [`words`] returns; `buffer` is a string whose memory is reused.
pub(super) fn each_word(text: &str, buffer: &mut String, mut emit: impl FnMut(&str)) {
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            emit(word);
            word.clear();
        }
    };
    buffer.clear();
    for character in text.chars() {
        // This is the fast path for most text.
        if character.is_ascii() {
            if character.is_ascii_alphanumeric() {
                buffer.push(character.to_ascii_lowercase());
            } else {
                end(buffer);
            }
            continue;
        }
        fold(character, |character| {
            let alone = is_written_without_blanks(character);
            if alone || !character.is_alphanumeric() {
                end(buffer);
            }
            if character.is_alphanumeric() {
                buffer.push(character);
            }
            if alone {
                end(buffer);
            }
        });
    }
    end(buffer);
}

/// Folds a character: decomposes compatibility forms, removes diacritics, converts to lower case, and spells out ligatures and
/// letters with a stroke.
fn fold(character: char, mut emit: impl FnMut(char)) {
    decompose_compatible(character, |part| {
        if is_combining_mark(part) {
            return;
        }
        for small in part
            .to_lowercase()
            .filter(|small| !is_combining_mark(*small))
        {
            match spelled_out(small) {
                "" => emit(small),
                letters => letters.chars().for_each(&mut emit),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn texts_are_split_into_folded_words() {
        for (text, expected) in [
            ("", &[][..]),
            (" / ;.", &[]),
            ("War and Peace /", &["war", "and", "peace"]),
            ("Les Misérables", &["les", "miserables"]),
            ("LES MISE\u{301}RABLES", &["les", "miserables"]),
            (
                "Søren Kierkegård, Łódź, Straße",
                &["soren", "kierkegard", "lodz", "strasse"],
            ),
            ("İstanbul", &["istanbul"]),
            ("Война и мир; Алёша", &["воина", "и", "мир", "алеша"]),
            ("Ὀδύσσεια Ὀδυσσεύς", &["οδυσσεια", "οδυσσευσ"]),
            ("תְּהִלִּים", &["תהלים"]),
            ("القُرْآن", &["القران"]),
            ("紅樓夢 (v. 2)", &["紅", "樓", "夢", "v", "2"]),
            ("坊っちゃん", &["坊", "っ", "ち", "ゃ", "ん"]),
            ("ﬁrst 20,000 lieues", &["first", "20", "000", "lieues"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
