//! A title as it is recorded (MARC 21 field 245, UNIMARC field 200), in the forms that are compared and searched for.

use std::collections::HashSet;

use z3950_marc::fold::folded;

use super::fields::{Part, text};

/// The maximum number of characters in a term. A longer part of the title would not find more records, and servers
/// limit the length of terms.
const MOST_CHARACTERS: usize = 120;
const MOST_WORDS: usize = 12;
/// The maximum number of terms for a title.
const MOST_TERMS: usize = 3;

/// A title in one script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Title {
    /// The title proper on one line.
    pub(super) shown: String,
    /// The terms for the title proper, without non-filing words and without characters that have a meaning in query languages.
    /// There are several if the title has ampersands, which servers index in different ways.
    pub(super) terms: Vec<String>,
    /// The title proper with the number and name of the part.
    proper: Words,
    /// The other title information, folded.
    rest: String,
    whole: Words,
}

/// The folded words of a title, with its leading article.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Words {
    folded: String,
    /// The number of octets of the leading article, including the space after it.
    article: usize,
}

/// The degree to which two titles agree, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TitleMatch {
    /// All words are the same, including the article.
    Whole,
    /// One title lacks the article, or the articles differ.
    WithoutArticle,
    /// One title lacks the subtitle (the other title information), or a part of it.
    WithoutSubtitle,
}

impl Title {
    /// Reads a title from its parts. `skipped` is the number of non-filing characters at the beginning, and `language`
    /// is the MARC code of its language. Returns `None` if the title proper has neither a letter nor a digit.
    pub(super) fn of(parts: &[(Part, &[u8])], skipped: usize, language: &str) -> Option<Self> {
        let mut shown = String::new();
        let [mut proper, mut rest, mut whole] = [const { String::new() }; 3];
        for (part, data) in parts {
            let text = text(data);
            // The statement of responsibility is not part of the title.
            let text = text
                .find(" / ")
                .and_then(|end| text.get(..end))
                .unwrap_or(&text);
            let (title, more) = match part {
                Part::Rest => ("", text),
                Part::Title | Part::Section => without_rest(text),
            };
            if *part == Part::Title && shown.is_empty() {
                shown = title.trim_end_matches(is_final).to_owned();
            }
            for (to, more) in [(&mut proper, title), (&mut rest, more), (&mut whole, text)] {
                to.push(' ');
                to.push_str(more);
            }
        }
        let skipped = non_filing(&shown, skipped);
        let filed = shown.get(skipped..).unwrap_or(&shown);
        let article = folded(shown.get(..skipped).unwrap_or_default());
        let proper = Words::of(&proper, &article, language);
        if proper.folded.is_empty() {
            return None;
        }
        let is_named = !folded(filed).is_empty();
        Some(Self {
            terms: terms(if is_named { filed } else { &proper.folded }),
            shown: if is_named {
                shown.replace(is_sorting_mark, "")
            } else {
                proper.folded.clone()
            },
            whole: Words::of(&whole, &article, language),
            rest: joined(&folded(&rest)),
            proper,
        })
    }

    /// Compares two titles. Returns `None` if they differ.
    pub(super) fn compare(&self, other: &Self) -> Option<TitleMatch> {
        if self.whole.folded == other.whole.folded {
            Some(TitleMatch::Whole)
        } else if self.whole.is_like(&other.whole) {
            Some(TitleMatch::WithoutArticle)
        } else if self.proper.is_like(&other.proper) && has_words(&self.rest, &other.rest) {
            Some(TitleMatch::WithoutSubtitle)
        } else {
            None
        }
    }

    /// Returns a key that is the same for equal titles.
    pub(super) fn key(&self) -> String {
        format!("{}: {}", self.proper.folded, self.whole.folded)
    }
}

impl Words {
    /// Folds a title and finds its leading article: either `article` or, if the title does not begin with it, an
    /// article of the language.
    fn of(text: &str, article: &str, language: &str) -> Self {
        let folded = joined(&folded(text));
        let is_first = |article: &&str| {
            let rest = folded.strip_prefix(*article);
            !article.is_empty() && rest.is_some_and(|rest| rest.starts_with(' '))
        };
        let known = Some(article).filter(is_first);
        let article = known.or_else(|| articles(language).find(is_first));
        let article = article.map_or(0, |article| article.len() + 1);
        Self { folded, article }
    }

    /// Returns the words without the article.
    fn filed(&self) -> &str {
        self.folded.get(self.article..).unwrap_or_default()
    }

    fn is_like(&self, other: &Self) -> bool {
        let (one, two) = ([&self.folded, self.filed()], [&other.folded, other.filed()]);
        one.iter().any(|text| two.contains(text))
    }
}

/// Splits a title at the ISBD punctuation that precedes a parallel title or other title information, and returns both
/// parts.
fn without_rest(text: &str) -> (&str, &str) {
    let ends = [" : ", " = ", " ; "].map(|mark| text.find(mark));
    let end = ends.into_iter().flatten().min().unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Returns whether a character encloses non-filing words (ISO 6630, as used in UNIMARC).
fn is_sorting_mark(character: char) -> bool {
    matches!(character, '\u{88}' | '\u{89}' | '\u{98}' | '\u{9c}')
}

/// Returns whether a character is ISBD punctuation at the end of an area, which is not part of the title.
fn is_final(character: char) -> bool {
    matches!(character, ' ' | '/' | ':' | ';' | '=' | ',' | '.')
}

/// Returns the length in octets of the non-filing words at the beginning of a title. In UNIMARC, two marks enclose
/// these words. In MARC 21, the indicator gives their length in characters (`characters`). If the last of these
/// characters is a letter or a digit, the indicator is wrong and the result is 0.
fn non_filing(shown: &str, characters: usize) -> usize {
    if shown.starts_with(['\u{88}', '\u{98}']) {
        let end = shown.find(['\u{89}', '\u{9c}']);
        return end.map_or(0, |end| end + '\u{9c}'.len_utf8());
    }
    let Some((end, _)) = shown.char_indices().nth(characters) else {
        return 0;
    };
    let skipped = shown.get(..end).unwrap_or_default();
    if skipped.ends_with(char::is_alphanumeric) {
        0
    } else {
        end
    }
}

/// Replaces the conjunctions *and*, *und* and *et* with an ampersand, so that *war and peace* equals *war & peace*.
fn joined(folded: &str) -> String {
    let words = folded.split(' ').map(|word| match word {
        "and" | "und" | "et" => "&",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether one of two texts contains all words of the other.
fn has_words(one: &str, other: &str) -> bool {
    let has = |text: &str, other: &str| {
        let words: HashSet<&str> = text.split(' ').collect();
        other
            .split(' ')
            .all(|word| word.is_empty() || words.contains(&word))
    };
    has(one, other) || has(other, one)
}

/// Returns the terms for a title: its first words, without characters that have a meaning in query languages. Such
/// characters within a word are kept.
fn terms(title: &str) -> Vec<String> {
    let characters: Vec<char> = title.chars().take(4 * MOST_CHARACTERS).collect();
    let is_letter = |place: Option<usize>| {
        let found = place.and_then(|place| characters.get(place));
        found.is_some_and(|found| found.is_alphanumeric())
    };
    let kept = characters.iter().enumerate().map(|(place, &character)| {
        let is_mark = character.is_control() || character.is_ascii_punctuation();
        let is_within = is_letter(place.checked_sub(1)) && is_letter(Some(place + 1));
        let is_sign = matches!(character, '&' | '+' | '#');
        let is_masked = matches!(character, '"' | '*' | '?' | '^' | '\\');
        if is_mark && !is_sign && (is_masked || !is_within) {
            ' '
        } else {
            character
        }
    });
    let kept: String = kept.collect();
    let words: Vec<&str> = kept.split_whitespace().take(MOST_WORDS).collect();
    let terms = words
        .split(|word| *word == "&")
        .map(bounded)
        .filter(|term| !folded(term).is_empty());
    terms.take(MOST_TERMS).collect()
}

/// Joins the first words of a term, as many as [`MOST_CHARACTERS`] allows.
fn bounded(words: &[&str]) -> String {
    let mut term = String::new();
    for word in words {
        let length = term.chars().count() + 1 + word.chars().count();
        if !term.is_empty() && length > MOST_CHARACTERS {
            break;
        }
        if !term.is_empty() {
            term.push(' ');
        }
        term.extend(word.chars().take(MOST_CHARACTERS));
    }
    term
}

/// The articles at the beginning of titles, by MARC language code.
const ARTICLES: [(&str, &str); 14] = [
    ("eng enm", "a an the"),
    (
        "ger gmh gsw nds",
        "das dem den der des die ein eine einem einen einer eines",
    ),
    ("fre frm oci pro", "l la le les lo un une"),
    ("spa", "el la las lo los un una"),
    ("ita", "gli i il l la le lo un una uno"),
    ("por glg", "a as o os um uma"),
    ("cat", "el els l la les un una"),
    ("dut afr fry", "de die een het n t"),
    ("swe", "de den det en ett"),
    ("dan nor nob nno", "de den det ei ein eit en et"),
    ("ice fao", "hin hinn hid"),
    ("hun", "a az egy"),
    ("rum", "o un"),
    ("wel", "y yr"),
];

/// The articles that have no other meaning in any of the languages above. They are used for records without a language.
const CLEAR: &str = "the das der les las los il gli l el la le un une una";

fn articles(language: &str) -> impl Iterator<Item = &'static str> {
    let mut known = ARTICLES.iter();
    let known = known
        .find(|(codes, _)| !language.is_empty() && codes.split(' ').any(|code| code == language));
    let articles = match known {
        Some((_, articles)) => articles,
        None if matches!(language, "" | "mul" | "und" | "zxx") => CLEAR,
        None => "",
    };
    articles.split(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(text: &str, skipped: usize, language: &str) -> Option<Title> {
        let parts = text.split('$').map(|part| match part.as_bytes() {
            [b'b', data @ ..] => (Part::Rest, data),
            [b'n', data @ ..] => (Part::Section, data),
            data => (Part::Title, data),
        });
        Title::of(&parts.collect::<Vec<_>>(), skipped, language)
    }

    #[test]
    fn r_b9_titles_as_terms() {
        let long = "word ".repeat(18_000);
        for (text, skipped, language, expected) in [
            ("Pride and prejudice /", 0, "eng", "Pride and prejudice"),
            (
                "Pride and prejudice :$ba novel /",
                0,
                "eng",
                "Pride and prejudice",
            ),
            (
                "Pride and prejudice : a novel / by her",
                0,
                "",
                "Pride and prejudice",
            ),
            ("The war of the worlds.", 4, "eng", "war of the worlds"),
            // A nonfiling indicator is ignored if it does not lead to the beginning of a word.
            ("The war of the worlds", 3, "eng", "The war of the worlds"),
            ("The war", 9, "eng", "The war"),
            ("L'étranger", 2, "fre", "étranger"),
            ("\u{98}Der \u{9c}Zauberberg", 0, "ger", "Zauberberg"),
            (
                "Who? \"What\" * where^ [sic] \\ now...",
                0,
                "eng",
                "Who What where sic now",
            ),
            (
                "Version 3.0: and/or O'Neill's C++ & C#",
                0,
                "",
                "Version 3.0 and/or O'Neill's C++ | C#",
            ),
            ("紅樓夢 /", 0, "chi", "紅樓夢"),
            (
                &long,
                0,
                "",
                "word word word word word word word word word word word word",
            ),
        ] {
            let found = title(text, skipped, language).expect("a title");
            assert_eq!(found.terms.join(" | "), expected, "{text}");
        }
        let endless = "x".repeat(90_000);
        let found = title(&endless, 0, "").expect("a title");
        assert_eq!(found.terms, ["x".repeat(MOST_CHARACTERS)]);
        for text in ["", "...", "<>", "?! /", "$ba novel"] {
            assert_eq!(title(text, 0, ""), None, "{text}");
        }
    }

    #[test]
    fn r_b9_titles_agree_or_differ() {
        use TitleMatch::{Whole, WithoutArticle, WithoutSubtitle};
        for (one, other, expected) in [
            ("Emma", "EMMA /", Some(Whole)),
            ("Les misérables", "Les mise\u{301}rables.", Some(Whole)),
            ("War and peace", "War & peace", Some(Whole)),
            (
                "2001 :$ba space odyssey",
                "2001: a space odyssey",
                Some(Whole),
            ),
            (
                "Walden; or, Life in the woods",
                "Walden :$bor, Life in the woods /",
                Some(Whole),
            ),
            ("The war", "War", Some(WithoutArticle)),
            ("The", "A", None),
            ("Emma :$ba novel", "Emma", Some(WithoutSubtitle)),
            (
                "Emma :$ba novel",
                "Emma :$ba novel in three volumes",
                Some(WithoutSubtitle),
            ),
            ("Emma : a novel / Austen", "Emma", Some(WithoutSubtitle)),
            ("Poems :$bfirst series", "Poems :$bsecond series", None),
            (
                "Pride and prejudice",
                "Pride and prejudice and zombies",
                None,
            ),
            ("Henry IV.$nPart 1", "Henry IV.$nPart 2", None),
            ("Henry IV.$nPart 1", "Henry IV", None),
            ("C++ primer plus", "C primer plus", None),
            ("Die hard", "Hard", None),
            ("紅樓夢", "紅樓 夢", Some(Whole)),
            ("かぎ", "かき", None),
        ] {
            let [one, other] = [one, other].map(|text| title(text, 0, "eng").expect(text));
            assert_eq!(one.compare(&other), expected, "{one:?} {other:?}");
            assert_eq!(other.compare(&one), expected, "{one:?} {other:?}");
        }
        // Whether a word is an article depends on the language.
        let [one, other] = ["Die Stadt", "Stadt"].map(|text| title(text, 0, "ger").expect(text));
        assert_eq!(one.compare(&other), Some(WithoutArticle));
    }
}
