//! Tests of every Bib-1 condition that the server itself sends, with a request that causes it (Z39.50-2003 Appendix DIAG). The
//! test fails if a condition in the sources does not have a row, or a row is for a condition that is not in the sources.

mod queries;
mod requests;
mod sessions;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec::encode;

use crate::requests::now;
use crate::session::Session;

/// A condition, and a function that returns an answer with this condition.
type Row = (i64, fn() -> Apdu);

const TABLES: [&[Row]; 4] = [queries::ROWS, requests::ROWS, sessions::ROWS, tasks::ROWS];

/// Returns the last APDU of the answer to a request.
fn answer(session: &mut Session, request: impl Into<Apdu>) -> Apdu {
    let reply = now(session.answer(&request.into()));
    reply.apdus.into_iter().last().expect("an answer")
}

#[test]
fn every_condition_is_sent_in_some_answer() {
    let wrong: Vec<_> = TABLES
        .into_iter()
        .flatten()
        .filter_map(|(condition, provoked)| {
            let answer = provoked();
            let told = conditions(&answer);
            (!told.contains(condition)).then(|| format!("{condition}: {told:?} in {answer:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the Bib-1 conditions anywhere in an answer, which are found by the identifier of the diagnostic set before them.
fn conditions(answer: &Apdu) -> BTreeSet<i64> {
    const BIB_1_DIAGNOSTICS: [u8; 9] = [0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x13, 4, 1];
    const INTEGER: u8 = 0x02;
    let octets = encode(answer).expect("an answer");
    let places = octets.windows(BIB_1_DIAGNOSTICS.len()).enumerate();
    let behind = places.filter(|(_, octets)| *octets == BIB_1_DIAGNOSTICS);
    behind
        .filter_map(|(place, _)| {
            let rest = &octets[place + BIB_1_DIAGNOSTICS.len()..];
            let (&[INTEGER, length], value) = rest.split_first_chunk()? else {
                return None;
            };
            let value = value.get(..usize::from(length))?;
            Some(value.iter().fold(0, |all, one| all << 8 | i64::from(*one)))
        })
        .collect()
}

#[test]
fn every_condition_that_the_sources_name_has_a_row() {
    let mut named = BTreeMap::new();
    let constants = constants();
    for_each_source(Path::new(SOURCES), &mut |path, text| {
        for rest in text.split("Condition").skip(1) {
            let number = match rest.strip_prefix("::") {
                Some(name) => constants.get(word(name)).copied(),
                None => rest
                    .strip_prefix('(')
                    .and_then(|rest| word(rest).parse().ok()),
            };
            if let Some(number) = number {
                named.insert(number, path.to_owned());
            }
        }
    });
    assert!(named.len() > 50, "the sources are found");
    let rows: BTreeSet<_> = TABLES
        .into_iter()
        .flatten()
        .map(|(condition, _)| *condition)
        .collect();
    let missing: Vec<_> = named
        .iter()
        .filter(|(condition, _)| !rows.contains(condition))
        .collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
    let unnamed: Vec<_> = rows
        .iter()
        .filter(|condition| !named.contains_key(condition))
        .collect();
    assert!(unnamed.is_empty(), "nothing names {unnamed:?}");
}

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// Returns the numbers of conditions by the names of their constants.
fn constants() -> BTreeMap<String, i64> {
    let list = Path::new(SOURCES).join("../../asn1/src/bib1/diagnostics.rs");
    let text = fs::read_to_string(list).expect("the list of conditions");
    // Parses lines such as `235 DATABASE_DOES_NOT_EXIST "there is no database of this name", "database name";`.
    let constants = text.lines().filter_map(|line| {
        let (number, rest) = line.trim().split_once(' ')?;
        let (name, _) = rest.split_once(' ')?;
        Some((name.to_owned(), number.parse().ok()?))
    });
    constants.collect()
}

/// Calls a function with the text of each source file in a folder, without the file's tests.
fn for_each_source(folder: &Path, take: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().unwrap_or_default();
        if stem == "tests" || path.ends_with("src/requests.rs") {
            continue;
        }
        if path.is_dir() {
            for_each_source(&path, take);
        } else {
            let text = fs::read_to_string(&path).expect("text");
            take(&path, text.split("#[cfg(test)]").next().unwrap_or_default());
        }
    }
}

/// Returns the name or number at the beginning of the text.
fn word(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    &text[..end.unwrap_or(text.len())]
}
