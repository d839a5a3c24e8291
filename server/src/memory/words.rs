//! Text as the words that a search compares: without case and diacritics, cut at everything that is neither letter nor
//! digit. The standard leaves words to the server (Z39.50-2003 Appendix ATR, structure `word`).

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The words of a text, in order.
///
/// Ideographs and kana, which are written without blanks, are words by themselves: 紅樓夢 has three.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in folded(text) {
        let alone = is_written_without_blanks(character);
        if alone || !character.is_alphanumeric() {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if alone {
            words.push(character.to_string());
        } else if character.is_alphanumeric() {
            word.push(character);
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// Compatibility forms decomposed, marks dropped, small letters, and letters with a stroke or of two parts spelled out.
fn folded(text: &str) -> impl Iterator<Item = char> {
    text.nfkd()
        .filter(|character| !is_combining_mark(*character))
        .flat_map(char::to_lowercase)
        .flat_map(|character| spelled(character).chars().chain(plain(character)))
        .filter(|character| !is_combining_mark(*character))
}

/// Letters that Unicode does not decompose, as catalogues spell them.
fn spelled(letter: char) -> &'static str {
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

fn plain(letter: char) -> Option<char> {
    spelled(letter).is_empty().then_some(letter)
}

fn is_written_without_blanks(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
        && character.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_are_folded_and_cut() {
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
