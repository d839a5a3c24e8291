//! Makes text from a server safe for a terminal or a message: the text must not move the cursor, change colours, or
//! look like a message from the program (RFC 2056 §6, RFC 1738 §6).

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use z3950::target::redacted;
use z3950::url::{Locator, Mode};
use z3950_asn1::apdu::{Query, Term};
use z3950_asn1::types::InternationalString;
use z3950_marc::text_lossless;

/// Returns the text with every control character except newline and tab escaped as `\xNN` or `\u{NNNN}`. CR LF becomes
/// a newline. A lone CR is escaped, because it would overwrite the line.
///
/// Escaped characters include the control characters of Latin-1 (U+0080 to U+009F), the line and paragraph separators
/// (U+2028, U+2029) and the characters that change the writing direction (U+202A to U+202E, U+2066 to U+2069).
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    let keep = |character| matches!(character, '\n' | '\t');
    if text.contains("\r\n") {
        Cow::Owned(escape(&text.replace("\r\n", "\n"), keep).into_owned())
    } else {
        escape(text, keep)
    }
}

/// Returns the text of a term, on one line and with unprintable characters escaped.
pub(crate) fn term(term: &Term) -> String {
    match term {
        Term::General(octets) => shown(octets.as_bytes()),
        Term::CharacterString(text) => shown(text.as_bytes()),
        Term::Numeric(number) => number.to_string(),
        Term::Oid(oid) => oid.to_string(),
        Term::Null => "null".into(),
        other => shown(format!("{other:?}").as_bytes()),
    }
}

/// Returns a query as PQF or, if it is not a type-1 or type-101 query, as a phrase that names its type.
pub(crate) fn query(query: &Query) -> String {
    match query {
        Query::Type1(query) | Query::Type101(query) => query.to_string(),
        other => format!("a query of type {}", other.type_number()),
    }
}

/// Makes a message that may contain text from a server safe to print. Lines after the first are indented, so that none
/// of them looks like another message from the program, and control characters are escaped.
///
/// A long message is shortened; JSON output contains the complete message.
pub(crate) fn as_message(text: &str) -> String {
    let text = text.trim_end();
    let (text, rest) = match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => text.split_at(end),
        None => (text, ""),
    };
    let text = text.replace("\r\n", "\n");
    let mut message = escape_controls(&text).replace('\n', "\n  ");
    if !rest.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(message, "… ({} more characters)", rest.chars().count());
    }
    message
}

/// Shortens long words in text, such as an argument that an error message repeats.
pub(crate) fn with_short_words(text: &str) -> Cow<'_, str> {
    let is_long = |word: &&str| word.chars().nth(MAX_WORD).is_some();
    if text.split_whitespace().find(is_long).is_none() {
        return Cow::Borrowed(text);
    }
    let words = text.split_inclusive(char::is_whitespace).map(|word| {
        let bare = word.trim_end();
        match bare.char_indices().nth(MAX_WORD) {
            Some((end, _)) => {
                let (begin, rest) = word.split_at(end);
                let (rest, blank) = rest.split_at(bare.len() - end);
                let more = rest.chars().count();
                Cow::Owned(format!("{begin}… ({more} more characters){blank}"))
            }
            None => Cow::Borrowed(word),
        }
    });
    Cow::Owned(words.collect())
}

/// The maximum length of a word in an error, in characters.
const MAX_WORD: usize = 200;

/// Returns the number of columns that text takes on a terminal: two for a Chinese, Japanese or Korean character, none
/// for a combining character.
pub(crate) fn columns_of(text: &str) -> usize {
    text.width()
}

/// Shortens a line to at most this number of columns.
pub(crate) fn cut_to(line: &str, columns: usize) -> String {
    if columns_of(line) <= columns {
        return line.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |one: &char| {
        let width = one.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let mut cut: String = line.chars().take_while(fits).collect();
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// Returns text padded with spaces to this number of columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(columns_of(text));
    format!("{text}{:missing$}", "")
}

/// Breaks text at spaces into lines of at most `columns` columns. Continuation lines are indented by `indent` columns.
/// A word that is longer than a line is not broken.
pub(crate) fn wrapped(text: &str, columns: usize, indent: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut width = 0;
        for (index, word) in line.split(' ').enumerate() {
            let length = columns_of(word.trim_end());
            if index > 0 && width > indent && width + 1 + length > columns {
                // Writing to a String cannot fail.
                let _ = write!(out, "\n{:indent$}{word}", "");
                width = indent + length;
                continue;
            }
            if index > 0 {
                out.push(' ');
                width += 1;
            }
            out.push_str(word);
            width += length;
        }
    }
    out
}

/// Breaks text into lines like [`wrapped`], but also breaks words that are longer than a line, and drops trailing
/// spaces.
pub(crate) fn folded(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in wrapped(text, columns, indent).lines() {
        let line = line.trim_end();
        let mut part = String::new();
        let mut width = 0;
        for character in line.chars() {
            let wide = character.width().unwrap_or(0);
            if width + wide > columns && width > indent {
                lines.push(std::mem::replace(&mut part, " ".repeat(indent)));
                width = indent;
            }
            part.push(character);
            width += wide;
        }
        lines.push(part);
    }
    lines
}

/// The maximum length of a message, in characters.
const MAX_MESSAGE: usize = 4_096;

/// Returns octets as text on one line. Control characters are escaped, and octets that are not UTF-8 are written as
/// `\xNN`.
pub(crate) fn shown(octets: &[u8]) -> String {
    escape(&text_lossless(octets), |_| false).into_owned()
}

/// Formats a string from an APDU as a single line. Control characters are escaped.
pub(crate) fn text_of(text: &InternationalString) -> String {
    shown(text.to_string_lossy().as_bytes())
}

/// Returns a count with a noun, such as `1 hit` or `2 hits`.
pub(crate) fn counted(count: impl Into<i128>, what: &str) -> String {
    let count = count.into();
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Returns a position and the number of hits as `3 of 17`, or as `3` if the number is unknown.
pub(crate) fn numbered(position: u64, hits: Option<u64>) -> String {
    match hits {
        Some(hits) => format!("{position} of {hits}"),
        None => position.to_string(),
    }
}

/// Returns `1 record matches` or `2 records match`.
pub(crate) fn matching(hits: u64) -> String {
    let verb = if hits == 1 { "matches" } else { "match" };
    format!("{} {verb}", counted(hits, "record"))
}

/// Lists databases, as in `database cat` or `databases "a+b", "c"`. Several names are quoted, because they may contain
/// any character.
pub(crate) fn listed(databases: &[String]) -> String {
    match databases {
        [name] => format!("database {name}"),
        names => {
            let quoted = names.iter().map(|name| {
                let name = name.replace('\\', r"\\").replace('"', r#"\""#);
                format!("\"{name}\"")
            });
            format!("databases {}", quoted.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns a URL in a form suitable for messages: on one line, and without its user name and password.
pub(crate) fn named(text: &[u8]) -> String {
    let shown = shown(text.trim_ascii());
    let Some((scheme, rest)) = shown.split_once("//") else {
        return redacted(&shown);
    };
    if !scheme.ends_with(':') || Locator::parse(text, Mode::Lenient).is_err() {
        return redacted(&shown);
    }
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rfind('@').and_then(|at| rest.get(at..)) {
        Some(after) => format!("{scheme}//<redacted>{after}"),
        None => shown,
    }
}

fn escape(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let harmless = |character: char| !is_control(character) || keep(character);
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        let code = u32::from(character);
        // Writing to a String cannot fail.
        let _ = match character {
            _ if harmless(character) => write!(escaped, "{character}"),
            _ if code < 0x80 => write!(escaped, "\\x{code:02x}"),
            _ => write!(escaped, "\\u{{{code:04x}}}"),
        };
    }
    Cow::Owned(escaped)
}

fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_never_show_credentials() {
        for (text, shown) in [
            ("z39.50r://me:pw@h/d?x", "z39.50r://<redacted>@h/d?x"),
            ("z39.50r://me:p@w@h/d?x@y", "z39.50r://<redacted>@h/d?x@y"),
            (" z39.50r://h/d?x@y\n", "z39.50r://h/d?x@y"),
            ("ftp://me:p?w;@h/d%", "ftp://<redacted>@h/d%"),
            ("no url", "no url"),
        ] {
            assert_eq!(named(text.as_bytes()), shown);
        }
    }

    #[test]
    fn terms_are_shown_on_one_line() {
        for (found, expected) in [
            (Term::General("war".into()), "war"),
            (Term::General("a\nb".into()), "a\\x0ab"),
            (Term::Numeric(7), "7"),
            (Term::Null, "null"),
        ] {
            assert_eq!(term(&found), expected);
        }
    }

    /// Tests that CR LF is accepted as the end of a line, because RFC 1436 and SUTRS use it.
    #[test]
    fn audit_b2_cr_lf_ends_a_line() {
        for (text, escaped) in [
            ("one\r\ntwo\r\n", "one\ntwo\n"),
            ("one\rtwo\r\n\r", "one\\x0dtwo\n\\x0d"),
            ("a\r\r\nb\n\rc", "a\\x0d\nb\n\\x0dc"),
        ] {
            assert_eq!(escape_controls(text), escaped);
        }
        assert_eq!(shown(b"one\r\n"), "one\\x0d\\x0a");
    }

    #[test]
    fn controls_are_shown_not_sent() {
        for (text, escaped) in [
            ("plain\n\ttext é 紅", "plain\n\ttext é 紅"),
            ("\x1b[2J", "\\x1b[2J"),
            ("a\rb\0", "a\\x0db\\x00"),
            ("\u{9b}31m", "\\u{009b}31m"),
            ("\u{202e}evil", "\\u{202e}evil"),
        ] {
            assert_eq!(escape_controls(text), escaped);
        }
        assert_eq!(shown(b"M\xfcller\n"), "M\\xFCller\\x0a");
    }

    #[test]
    fn audit_d19_no_line_of_a_server_passes_for_a_message() {
        for (text, message) in [
            ("plain", "plain"),
            ("a\r\nnote: b", "a\n  note: b"),
            ("a\nnote: b\n\n", "a\n  note: b"),
            ("a\rnote: b", "a\\x0dnote: b"),
            ("a\u{2028}note: b", "a\\u{2028}note: b"),
            ("a\u{85}\u{b}b", "a\\u{0085}\\x0bb"),
        ] {
            assert_eq!(as_message(text), message);
        }
    }

    #[test]
    fn lines_break_at_spaces() {
        for (text, expected) in [
            ("", ""),
            ("one two", "one two"),
            ("one two three", "one two\n  three"),
            (
                "one two three four\nfive\n",
                "one two\n  three\n  four\nfive\n",
            ),
            ("one verylongword x", "one\n  verylongword\n  x"),
            ("verylongword x", "verylongword\n  x"),
            ("  one  two", "  one  two"),
            ("ä ö ü é ñ ø", "ä ö ü é ñ\n  ø"),
            ("戦争 平和 ab", "戦争 平和\n  ab"),
        ] {
            assert_eq!(wrapped(text, 10, 2), expected, "{text:?}");
        }
    }

    #[test]
    fn long_words_are_broken_at_the_width() {
        for (text, expected) in [
            ("one two three", &["one two", "  three"][..]),
            ("verylongword x", &["verylongwo", "  rd", "  x"]),
            (
                "  abcdefghijklmnopqrst",
                &["  abcdefgh", "  ijklmnop", "  qrst"],
            ),
            ("one   verylong", &["one", "  verylong"]),
            ("one verylongword", &["one", "  verylong", "  word"]),
            ("戦争と平和と罪と罰", &["戦争と平和", "  と罪と罰"]),
            ("", &[]),
        ] {
            assert_eq!(folded(text, 10, 2), expected, "{text:?}");
        }
    }

    #[test]
    fn r_f9_lines_are_cut_at_the_width() {
        for (line, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("äöü", 2, "ä…"),
            ("", 0, ""),
            ("a", 0, ""),
            ("戦争と平和", 10, "戦争と平和"),
            ("戦争と平和", 9, "戦争と平…"),
            ("戦争と平和", 8, "戦争と…"),
            ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
            ("שלום", 4, "שלום"),
        ] {
            assert_eq!(cut_to(line, columns), expected, "{line}");
            assert!(columns_of(&cut_to(line, columns)) <= columns, "{line}");
        }
        assert_eq!(padded("戦争", 6), "戦争  ");
        assert_eq!(padded("戦争", 2), "戦争");
    }

    #[test]
    fn long_words_are_cut() {
        let word = "ä".repeat(200);
        let text = format!("no {word} in\n{word}: why");
        assert_eq!(
            with_short_words(&text),
            format!("no {word} in\n{word}… (1 more characters) why")
        );
        let word = &word[2..];
        let text = format!("no {word} in\n{word}: why");
        assert_eq!(with_short_words(&text), text);
    }

    #[test]
    fn audit_d19_long_messages_are_cut() {
        let whole = "ä".repeat(4_096);
        assert_eq!(as_message(&whole), whole);
        assert_eq!(
            as_message(&format!("{whole}\u{1b}xyz")),
            format!("{whole}… (4 more characters)")
        );
    }
}
