//! Suggests another query if a search found nothing, by replacing words that do not occur in the indexes with similar terms that
//! do. The terms are read with Scan (Z39.50-2003 §3.2.8), only from databases of this server, and within a time limit.

use std::cmp::Reverse;
use std::time::Duration;

use tokio::time::timeout;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use z3950::find::{Event, Wanted};
use z3950::service::scan::ScanOptions;
use z3950::{Connection, Query};
use z3950_asn1::apdu::{AttributeElement, AttributeValue, Operand, RpnStructure, Term};
use z3950_asn1::bib1::attributes::{RELATION, STRUCTURE, TRUNCATION, USE, USE_ANY};

use super::asked::PageQuery;
use super::hits::PageSearch;
use super::parameters::narrowed;
use super::similar::SimilarTerms;

/// The maximum number of words that are looked up.
const MAX_WORDS: usize = 4;
/// The maximum number of databases whose terms are read.
const MAX_DATABASES: usize = 4;
/// The maximum number of scans for a word in a database.
const MAX_SCANS: usize = 300;
/// The number of terms requested in each scan.
const TERMS: u64 = 50;
/// The minimum number of letters in a word that is corrected; shorter words have too many similar terms.
const SHORTEST: usize = 4;
/// The minimum number of letters in a word for which terms with two differences are considered.
const LONG: usize = 7;
/// The maximum number of letters in a word that is corrected.
const LONGEST: usize = 40;
/// The Bib-1 Structure attribute (type 4) for a word.
const WORD: i64 = 2;

/// A word in the query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TypedWord {
    text: String,
    /// The Use value of the index in which the word is searched for.
    access: i64,
}

/// A term in an index that is similar to a word: its distance, its number of records, and its text, so that the best term sorts
/// first.
type Candidate = (usize, Reverse<u64>, String);

/// Returns a query that finds something and differs from the search's query only in misspelt words; `None` if there is none, or
/// if none was found within this time.
pub(super) async fn suggested(search: &PageSearch, time: Duration) -> Option<String> {
    if time.is_zero() {
        return None;
    }
    timeout(time, corrected(search)).await.ok().flatten()
}

async fn corrected(search: &PageSearch) -> Option<String> {
    let PageQuery::Query(query, _) = &search.asked else {
        return None;
    };
    let words = words(&query.as_rpn().rpn);
    let local: Vec<String> = search
        .targets
        .iter()
        .filter(|name| search.catalogues.is_local(name))
        .take(MAX_DATABASES)
        .cloned()
        .collect();
    if words.is_empty() || local.is_empty() {
        return None;
    }
    let mut connections = Vec::new();
    for name in &local {
        connections.push(search.connection(name).await.ok()?);
    }
    let mut text = search.parameters.query.clone();
    for word in words {
        let (distance, _, term) = best(&connections, &word).await?;
        if distance > 0 {
            text = replaced(&text, &word.text, &term)?;
        }
    }
    drop(connections);
    let is_other = text != search.parameters.query;
    (is_other && finds_something(search, &local, &text).await).then_some(text)
}

/// Returns the term that is most similar to the word, from the word's index in any of the databases.
async fn best(connections: &[Connection], word: &TypedWord) -> Option<Candidate> {
    let folded = folded(&word.text);
    let is_long = folded.chars().count() >= LONG;
    // The first letter is usually correct, and if it is kept, there are far fewer terms to read.
    let ways = [(1, 1), (1, 0), (2, 1)];
    for (most, fixed) in ways.into_iter().take(2 + usize::from(is_long)) {
        let similar = SimilarTerms::new(&folded, most, fixed);
        let mut candidates = Vec::new();
        for connection in connections {
            candidates.extend(scanned(connection, &similar, word.access).await);
        }
        candidates.sort_unstable();
        if let Some(candidate) = candidates.into_iter().next() {
            return Some(candidate);
        }
    }
    None
}

/// Scans an index for terms similar to the word of `similar`.
async fn scanned(connection: &Connection, similar: &SimilarTerms, access: i64) -> Vec<Candidate> {
    let mut options = ScanOptions::default();
    options.number_of_terms = TERMS;
    let mut candidates = Vec::new();
    let mut next = Some(similar.start());
    for _ in 0..MAX_SCANS {
        let Some(start) = next.clone() else { break };
        let typed = start.trim_end_matches('\0');
        // Some servers refuse an empty term, so the scan starts at `0`, which comes before all other digits and letters.
        let typed = if typed.is_empty() { "0" } else { typed };
        let query = Query::attributes([(USE, access), (STRUCTURE, WORD)], typed);
        let Ok(terms) = connection.scan_with(query, options.clone()).await else {
            break;
        };
        for term in &terms {
            let is_before = next.as_ref().is_none_or(|next| term.term < *next);
            if is_before {
                continue;
            }
            let step = similar.step(&term.term);
            let count = term.count.unwrap_or(1);
            if let Some(distance) = step.distance.filter(|_| count > 0) {
                candidates.push((distance, Reverse(count), term.term.clone()));
            }
            next = step.next;
        }
        let is_same = next.as_ref() == Some(&start);
        if is_same || terms.terms().len() < usize::try_from(TERMS).unwrap_or(1) {
            break;
        }
    }
    candidates
}

/// Returns the words in a query that may be misspelt, each with its index.
fn words(query: &RpnStructure) -> Vec<TypedWord> {
    let mut words: Vec<TypedWord> = Vec::new();
    let mut rest = vec![query];
    while let Some(part) = rest.pop() {
        let operand = match part {
            RpnStructure::RpnRpnOp(node) => {
                rest.extend([&node.rpn2, &node.rpn1]);
                continue;
            }
            RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => operand,
            RpnStructure::Op(_) => continue,
        };
        let text = match &operand.term {
            Term::General(octets) => String::from_utf8_lossy(octets.as_bytes()).into_owned(),
            Term::CharacterString(text) => text.to_string_lossy().into_owned(),
            _ => continue,
        };
        let Some(access) = access(&operand.attributes) else {
            continue;
        };
        for text in text.split(|one: char| !one.is_alphanumeric()) {
            let length = text.chars().count();
            let word = TypedWord {
                text: text.to_owned(),
                access,
            };
            let is_word = text.chars().all(char::is_alphabetic);
            if is_word && (SHORTEST..=LONGEST).contains(&length) && !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words.truncate(MAX_WORDS);
    words
}

/// Returns the Use value of a term's attributes; `None` if the term is truncated, or compared other than for equality.
fn access(attributes: &[AttributeElement]) -> Option<i64> {
    let mut access = USE_ANY;
    for attribute in attributes {
        let AttributeValue::Numeric(value) = attribute.attribute_value else {
            return None;
        };
        match (attribute.attribute_type, value) {
            (USE, value) => access = value,
            (RELATION, value) if value != 3 => return None,
            (TRUNCATION, value) if value != 100 => return None,
            _ => {}
        }
    }
    Some(access)
}

/// Returns the word in the form in which an index contains it: in lower case without diacritics.
fn folded(word: &str) -> String {
    let letters = word.nfkd().filter(|one| !is_combining_mark(*one));
    letters.collect::<String>().to_lowercase()
}

/// Returns the text with a word replaced by another, except in names of indexes; `None` if the word is not in the
/// text.
fn replaced(text: &str, word: &str, other: &str) -> Option<String> {
    let mut changed = String::new();
    let mut is_changed = false;
    let mut rest = text;
    while !rest.is_empty() {
        let is_part = |one: char| one.is_alphanumeric();
        let begin = rest.find(is_part).unwrap_or(rest.len());
        let (before, after) = rest.split_at_checked(begin)?;
        let length = after.find(|one| !is_part(one)).unwrap_or(after.len());
        let (found, after) = after.split_at_checked(length)?;
        let is_name = after.starts_with([':', '=']) || before.ends_with('@');
        changed.push_str(before);
        if !is_name && found == word {
            changed.push_str(other);
            is_changed = true;
        } else {
            changed.push_str(found);
        }
        rest = after;
    }
    is_changed.then_some(changed)
}

/// Returns whether a search for the text finds records in any of the databases.
async fn finds_something(search: &PageSearch, databases: &[String], text: &str) -> bool {
    let Ok(PageQuery::Query(query, _)) = PageQuery::read(text) else {
        return false;
    };
    let mut wanted = Wanted::query(narrowed(*query, &search.parameters.narrowings)).count(0);
    wanted.sort.clear();
    let mut events = search.find(databases, wanted.all_targets());
    while let Some(event) = events.next().await {
        if let Event::Found(found) = event
            && found.result.hits > 0
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_may_be_misspelt_are_known_with_their_indexes() {
        for (text, expected) in [
            ("war peace", &[("peace", 1016)][..]),
            (
                "ti:emmma au:\"Asuten, Jane\"",
                &[("emmma", 4), ("Asuten", 1003), ("Jane", 1003)],
            ),
            ("libr* 978014143 abc1def year:1850-1860", &[]),
            (
                "(emmma OR novle) NOT austin",
                &[("emmma", 1016), ("novle", 1016), ("austin", 1016)],
            ),
            ("@attr 1=4 @attr 5=1 emmma", &[]),
            (
                "aaaa bbbb cccc dddd eeee",
                &[
                    ("aaaa", 1016),
                    ("bbbb", 1016),
                    ("cccc", 1016),
                    ("dddd", 1016),
                ],
            ),
        ] {
            let Ok(PageQuery::Query(query, _)) = PageQuery::read(text) else {
                panic!("{text}")
            };
            let words = words(&query.as_rpn().rpn);
            let found: Vec<_> = words
                .iter()
                .map(|word| (&*word.text, word.access))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn words_are_replaced_but_names_of_indexes_are_not() {
        for (text, expected) in [
            ("title:titel", Some("title:xyz")),
            ("\"a titel\" titel.", Some("\"a xyz\" xyz.")),
            ("titel:war", None),
            ("subtitel", None),
            ("@titel", None),
        ] {
            assert_eq!(
                replaced(text, "titel", "xyz").as_deref(),
                expected,
                "{text}"
            );
        }
        assert_eq!(folded("Čapek"), "capek");
    }
}
