//! Splits a line into words as bash does. Bash also splits words at colons and equals signs, leaves quotes and backslashes in
//! them, and inserts a completion as if it had been typed.

use std::ffi::OsString;

/// The words of a line as the shell passes them to a program, including the word at the cursor.
pub(super) struct Line {
    pub(super) words: Vec<OsString>,
    /// The index of the word at the cursor.
    pub(super) index: usize,
    /// The beginning of the word at the cursor, up to its last colon, which bash keeps when it inserts a completion.
    kept: String,
    /// The quotation mark around the word at the cursor, if it is quoted.
    quote: Option<char>,
}

impl Line {
    /// Joins the words that bash passes. `index` is the index of the word at the cursor. `--format=csv`, which bash
    /// splits into three words, becomes `--format csv`, and the parts of `title:war` become one word.
    pub(super) fn new(words: Vec<OsString>, index: usize) -> Self {
        let mut line = Self {
            words: Vec::with_capacity(words.len()),
            index: 0,
            kept: String::new(),
            quote: None,
        };
        let mut after_colon = false;
        for (place, word) in words.into_iter().enumerate() {
            if word == "=" && place < index {
                continue;
            }
            let is_colon = word == ":";
            let is_part = after_colon || is_colon && place > 1;
            match line.words.last_mut().filter(|_| is_part) {
                Some(last) => last.push(&word),
                None => line.words.push(word),
            }
            after_colon = is_colon;
            if place == index {
                line.stop(is_part);
            }
        }
        line
    }

    /// Removes quotes and backslashes from the last word, which is at the cursor. `is_joined` is whether bash has
    /// split this word.
    fn stop(&mut self, is_joined: bool) {
        self.index = self.words.len().saturating_sub(1);
        let Some(typed) = self.words.last().and_then(|word| word.to_str()) else {
            return;
        };
        self.quote = typed
            .chars()
            .next()
            .filter(|mark| matches!(mark, '\'' | '"'));
        let mut meant = String::new();
        let mut rest = typed.chars().skip(usize::from(self.quote.is_some()));
        while let Some(character) = rest.next() {
            match character {
                '\\' if self.quote != Some('\'') => meant.extend(rest.next()),
                _ => meant.push(character),
            }
        }
        if let Some(colon) = meant.rfind(':').filter(|_| is_joined) {
            self.kept = meant.get(..=colon).unwrap_or_default().to_owned();
        }
        if let Some(word) = self.words.last_mut() {
            *word = meant.into();
        }
    }

    /// Returns the text that bash must insert so that the shell reads exactly this value; `None` if no text does this.
    pub(super) fn inserted(&self, value: &str) -> Option<String> {
        if value.chars().any(char::is_control) {
            return None;
        }
        let value = value.strip_prefix(&*self.kept)?;
        let escaped: &[char] = match self.quote {
            Some('\'') => return (!value.contains('\'')).then(|| value.to_owned()),
            Some(_) => &['"', '$', '`', '\\', '!'],
            None => &SPECIAL,
        };
        let mut text = String::with_capacity(value.len());
        for character in value.chars() {
            if escaped.contains(&character) {
                text.push('\\');
            }
            text.push(character);
        }
        Some(text)
    }
}

/// The characters with a special meaning to bash outside quotes.
const SPECIAL: [char; 24] = [
    ' ', '!', '"', '#', '$', '&', '\'', '(', ')', '*', ',', ';', '<', '>', '?', '[', '\\', ']',
    '^', '`', '{', '|', '}', '~',
];

#[cfg(test)]
mod tests {
    use super::*;

    fn line(typed: &str, index: usize) -> Line {
        Line::new(typed.split(' ').map(OsString::from).collect(), index)
    }

    #[test]
    fn signs_and_colons_of_bash() {
        for (typed, index, words, at) in [
            ("z3950 get --format = cs", 4, "z3950 get --format cs", 3),
            ("z3950 get --format cs", 3, "z3950 get --format cs", 3),
            ("z3950 get --a = b --c = d", 4, "z3950 get --a b --c = d", 3),
            (
                "z3950 search loc title : wa",
                5,
                "z3950 search loc title:wa",
                3,
            ),
            ("z3950 search loc title :", 4, "z3950 search loc title:", 3),
            ("z3950 search ssl : host t", 5, "z3950 search ssl:host t", 3),
            ("z3950 get z39.50r : //h/b", 4, "z3950 get z39.50r://h/b", 2),
        ] {
            let line = line(typed, index);
            let expected: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert_eq!((&line.words, line.index), (&expected, at), "{typed}");
        }
    }

    #[test]
    fn audit_r_f_values_are_inserted_as_bash_reads_them() {
        for (typed, index, value, inserted) in [
            ("z3950 convert m", 2, "my file.mrc", Some("my\\ file.mrc")),
            (
                "z3950 convert w",
                2,
                "w;touch x;#.mrc",
                Some("w\\;touch\\ x\\;\\#.mrc"),
            ),
            ("z3950 convert a", 2, "a$(b)`c`", Some("a\\$\\(b\\)\\`c\\`")),
            ("z3950 convert 'm", 2, "my $file", Some("my $file")),
            ("z3950 convert 'i", 2, "it's", None),
            ("z3950 convert \"m", 2, "my $file", Some("my \\$file")),
            ("z3950 convert m", 2, "my\nfile", None),
            ("z3950 search loc title : w", 5, "title:war", Some("war")),
            ("z3950 search loc title : w", 5, "author:war", None),
            (
                "z3950 search loc title:w",
                3,
                "title:war",
                Some("title:war"),
            ),
            ("z3950 search loc title :", 4, "title:desc", Some("desc")),
            ("z3950 convert é", 2, "été", Some("été")),
        ] {
            let line = line(typed, index);
            assert_eq!(
                line.inserted(value).as_deref(),
                inserted,
                "{typed}: {value}"
            );
        }
    }

    #[test]
    fn backslashes_are_taken_from_the_word_at_the_cursor() {
        let words = ["z3950", "convert", "my\\ fi"].map(OsString::from).to_vec();
        let line = Line::new(words, 2);
        assert_eq!(line.words.last(), Some(&OsString::from("my fi")));
        assert_eq!(line.inserted("my file").as_deref(), Some("my\\ file"));
    }
}
