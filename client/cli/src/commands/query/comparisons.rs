//! Hints about comparisons in the syntax of another query language, such as `year:>1900`: they show how to write the
//! comparison in the language of the query.

use z3950_asn1::query::Language;
use z3950_asn1::query::names::{IndexName, TABLE};

/// A comparison in the syntax of any language: `year:>1900`, `year => 1900`, `>1900`.
#[derive(Debug, PartialEq)]
struct Comparison<'a> {
    /// The name of the index as typed, without a context set.
    index: &'a str,
    use_value: i64,
    /// `<`, `<=`, `>=` or `>`.
    relation: &'static str,
    term: &'a str,
}

/// The Use value of years of publication.
const YEARS: i64 = 31;

/// Returns how the comparison in a query is written in a language; `None` if the query has no comparison.
pub(super) fn form(language: Language, text: &str) -> Option<String> {
    let Comparison {
        index,
        use_value,
        relation,
        term,
    } = find(text)?;
    Some(match language {
        Language::Pqf => {
            let number = match relation {
                "<" => 1,
                "<=" => 2,
                ">=" => 4,
                _ => 5,
            };
            format!("@attr 1={use_value} @attr 2={number} {term}")
        }
        Language::Ccl => format!("{index}{relation}{term}"),
        Language::Cql => format!("{index} {relation} {term}"),
        _ => format!("{index}:{relation}{term}"),
    })
}

/// Returns a note on a valid query in which a comparison or a range of years was parsed as a word.
pub(super) fn remark(language: Language, text: &str) -> Option<String> {
    match language {
        Language::Cql => range(text).map(|(index, term, from, to)| {
            format!("{term} is searched for as it is; a range is written {index} within \"{from} {to}\" in CQL")
        }),
        Language::Pqf => {
            let is_word = |word: &str| word.contains(['<', '>']) && word.ends_with(is_digit);
            let word = text.split_whitespace().find(|word| is_word(word))?;
            let form = form(language, text)?;
            Some(format!("{word} is searched for as it is; a comparison is written {form} in PQF"))
        }
        Language::Ccl => None,
        _ => {
            let mut before = "";
            for word in text.split_whitespace() {
                let is_alone = !before.ends_with([':', '=']) && !is_index(before);
                let number = word.trim_start_matches(['<', '>', '=']);
                if is_alone && word.starts_with(['<', '>']) && number.starts_with(is_digit) {
                    let form = form(language, word)?;
                    return Some(format!("{word} is searched for as a word; a comparison is written {form}"));
                }
                before = word;
            }
            None
        }
    }
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

fn is_year(text: &str) -> bool {
    text.len() == 4 && text.chars().all(is_digit)
}

fn is_index(name: &str) -> bool {
    named(name).is_some()
}

/// Returns the index with this name, which a context set may precede.
fn named(name: &str) -> Option<&'static IndexName> {
    let name = name.rsplit('.').next().unwrap_or_default();
    let is_named = |index: &&IndexName| {
        let mut names = std::iter::once(&index.name).chain(index.aliases);
        names.any(|known| known.eq_ignore_ascii_case(name))
    };
    TABLE.iter().find(is_named)
}

/// Finds the first comparison outside of quotation marks.
fn find(text: &str) -> Option<Comparison<'_>> {
    let mut is_quoted = false;
    let mut signs = text.char_indices().filter(|(_, character)| {
        is_quoted ^= *character == '"';
        !is_quoted && matches!(character, '<' | '>')
    });
    let (start, sign) = signs.next()?;
    let (before, rest) = text.split_at(start);
    let after = rest.get(1..)?;
    if sign == '<' && after.starts_with('>') {
        return None;
    }
    let (after, has_equals) = match after.strip_prefix('=') {
        Some(after) => (after, true),
        None => (after, before.ends_with('=')),
    };
    let relation = match (sign, has_equals) {
        ('<', false) => "<",
        ('<', true) => "<=",
        (_, true) => ">=",
        (_, false) => ">",
    };
    let before = before
        .trim_end_matches(|character: char| character.is_whitespace() || ":=".contains(character));
    let delimits = |character: char| character.is_whitespace() || "()\"".contains(character);
    let name = before.rsplit(delimits).next().unwrap_or_default();
    let term = after
        .trim_start()
        .split(delimits)
        .next()
        .unwrap_or_default();
    let term = term.trim_end_matches(['-', '–']);
    let name = name.rsplit('.').next().unwrap_or_default();
    let (index, use_value) = match named(name) {
        Some(index) => (name, index.use_value),
        // A number without an index is usually a year.
        None if is_year(term) => ("year", YEARS),
        None => return None,
    };
    (!term.is_empty()).then_some(Comparison {
        index,
        use_value,
        relation,
        term,
    })
}

/// Returns the index, the term and the years of a range such as `date=1900-1950`.
fn range(text: &str) -> Option<(&str, &str, &str, &str)> {
    let words =
        text.split(|character: char| character.is_whitespace() || "()=".contains(character));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut pairs = words.iter().zip(words.iter().skip(1));
    pairs.find_map(|(index, word)| {
        let (from, to) = word.split_once('-')?;
        let is_range = named(index).is_some_and(|index| index.use_value == YEARS);
        (is_range && is_year(from) && is_year(to)).then_some((*index, *word, from, to))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_f2_each_language_has_its_form_of_a_comparison() {
        for (text, names, ccl, cql, pqf) in [
            (
                "year:>1900",
                "year:>1900",
                "year>1900",
                "year > 1900",
                "@attr 1=31 @attr 2=5 1900",
            ),
            (
                "date=>1900",
                "date:>=1900",
                "date>=1900",
                "date >= 1900",
                "@attr 1=31 @attr 2=4 1900",
            ),
            (
                "dc.date < 1900",
                "date:<1900",
                "date<1900",
                "date < 1900",
                "@attr 1=31 @attr 2=1 1900",
            ),
            (
                "war (yr <=1900)",
                "yr:<=1900",
                "yr<=1900",
                "yr <= 1900",
                "@attr 1=31 @attr 2=2 1900",
            ),
            (
                ">1900",
                "year:>1900",
                "year>1900",
                "year > 1900",
                "@attr 1=31 @attr 2=5 1900",
            ),
            (
                "ti:>war",
                "ti:>war",
                "ti>war",
                "ti > war",
                "@attr 1=4 @attr 2=5 war",
            ),
        ] {
            for (language, expected) in [
                (Language::Names, names),
                (Language::Ccl, ccl),
                (Language::Cql, cql),
                (Language::Pqf, pqf),
            ] {
                assert_eq!(form(language, text).as_deref(), Some(expected), "{text}");
            }
        }
        for text in [
            "",
            "war",
            "year:>",
            "year<>1900",
            "\"year:>1900\"",
            "a > b",
            ">12",
            "<b>",
        ] {
            assert_eq!(form(Language::Names, text), None, "{text}");
        }
    }

    #[test]
    fn r_f2_a_comparison_that_counts_as_a_word_is_remarked() {
        for (language, text, expected) in [
            (
                Language::Names,
                ">1900",
                Some("a comparison is written year:>1900"),
            ),
            (
                Language::Names,
                "war >=1900",
                Some(">=1900 is searched for as a word"),
            ),
            (Language::Names, "year:>1900", None),
            (Language::Names, "year > 1900", None),
            (Language::Names, "a > b", None),
            (
                Language::Pqf,
                "@attr 1=31 >1900",
                Some("written @attr 1=31 @attr 2=5 1900 in PQF"),
            ),
            (Language::Pqf, "@attr 1=31 @attr 2=5 1900", None),
            (
                Language::Cql,
                "date=1900-1950",
                Some("date within \"1900 1950\""),
            ),
            (
                Language::Cql,
                "war and year = 1900-1950",
                Some("year within \"1900 1950\""),
            ),
            (Language::Cql, "date within \"1900 1950\"", None),
            (Language::Cql, "isbn=1234-5678", None),
        ] {
            let remark = remark(language, text);
            match expected {
                None => assert_eq!(remark, None, "{text}"),
                Some(words) => {
                    assert!(
                        remark
                            .as_deref()
                            .is_some_and(|remark| remark.contains(words)),
                        "{text}: {remark:?}"
                    );
                }
            }
        }
    }
}
