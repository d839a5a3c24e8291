//! The databases of yaz-ztest. The number of hits depends on the term, the same 24 records repeat, and the database name sets delays.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::sleep;
use z3950_asn1::apdu::{AttributeElement, DatabaseName, External, RpnQuery, RpnStructure, Term};
use z3950_asn1::bib1::attributes::RELATION;
use z3950_asn1::oid::{GRS_1, OPAC, Oid, SUTRS, USMARC, XML};
use z3950_asn1::record::{is_marc, sutrs_external};

use crate::backend::{
    Answer, Backend, Composition, DatabaseInfo, Facet, Found, HitList, Hits, RecordId, Retrieve,
    Retrieved, Scan, ScanTerm, Scanned, Search, Sort, ready,
};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::MemoryBackend;

/// The number of distinct records.
const RECORDS: usize = 24;
/// Relation 103, which matches every record.
const ALWAYS_MATCHES: i64 = 103;
/// The default delay of `Slow` databases, in seconds.
const SLOW: f64 = 3.0;
/// The maximum number of terms in a Scan.
const MAX_TERMS: usize = 200;
/// The maximum delay that a parameter can set, in seconds.
const MAX_DELAY: f64 = 3600.0;

/// The words in the index, with their numbers of records.
const WORDS: [(&str, usize); 24] = [
    ("ALGEBRA", 4),
    ("ATLAS", 2),
    ("BOOK", 17),
    ("CATALOGUE", 3),
    ("CHEMISTRY", 5),
    ("COMPUTER", 11),
    ("DICTIONARY", 8),
    ("ENGLISH", 12),
    ("FIELD", 1),
    ("GEOGRAPHY", 6),
    ("HISTORY", 21),
    ("INDEX", 2),
    ("JOURNAL", 9),
    ("LIBRARY", 14),
    ("MUSIC", 7),
    ("NOVEL", 13),
    ("ORIGIN", 1),
    ("PHYSICS", 5),
    ("POETRY", 10),
    ("QUESTION", 1),
    ("RECORD", 24),
    ("SCIENCE", 15),
    ("THEATRE", 3),
    ("WORLD", 18),
];

pub(super) struct YazZtest {
    catalogue: MemoryBackend,
    /// The hits found by a search in the demo catalogue. The first 24 of them are the records of this server.
    records: Option<Hits>,
    /// The state of the random number generator.
    chance: AtomicU64,
}

/// A database name, split into name and parameters.
#[derive(Clone, Debug, Default, PartialEq)]
struct Named {
    /// The name without the parameters.
    name: String,
    /// The delay that the name itself states, in seconds.
    slow: Option<f64>,
    /// The minimum and maximum delays of a Search, a Present (`present`) and each record (`fetch`), in seconds.
    search: Option<(f64, f64)>,
    present: Option<(f64, f64)>,
    fetch: Option<(f64, f64)>,
    seed: Option<u64>,
}

/// A result set with a fixed number of hits.
struct Positions {
    count: usize,
    database: Named,
}

impl HitList for Positions {
    fn len(&self) -> usize {
        self.count
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let end = positions.end.min(self.count);
        let ids =
            (positions.start..end).map(|position| i64::try_from(position).unwrap_or(i64::MAX));
        ids.map(RecordId).collect()
    }

    fn octets(&self) -> usize {
        size_of::<Self>()
    }
}

impl YazZtest {
    pub(super) fn new() -> Self {
        let catalogue = MemoryBackend::demo();
        let every = vec![AttributeElement::numeric(RELATION, ALWAYS_MATCHES)];
        let query = RpnQuery::bib1(RpnStructure::term(every, ""));
        let books = [DatabaseName::from("books")];
        let found = catalogue.search(Search::new(&books, &query));
        let found = found.now_or_never().and_then(Result::ok);
        Self {
            records: found.map(|found| found.hits),
            catalogue,
            chance: AtomicU64::new(1),
        }
    }

    /// Waits for a random time between a minimum and a maximum.
    async fn wait(&self, seconds: Option<(f64, f64)>) {
        let Some((least, most)) = seconds else {
            return;
        };
        // This is Knuth's generator for MMIX.
        let next = |state: u64| {
            let product = state.wrapping_mul(6_364_136_223_846_793_005);
            Some(product.wrapping_add(1_442_695_040_888_963_407))
        };
        let relaxed = Ordering::Relaxed;
        let state = self.chance.fetch_update(relaxed, relaxed, next);
        let [_, _, high, low, ..] = state.unwrap_or_default().to_be_bytes();
        let part = f64::from(u16::from_be_bytes([high, low])) / f64::from(u16::MAX);
        let time = least + (most - least).max(0.0) * part;
        sleep(Duration::try_from_secs_f64(time.clamp(0.0, MAX_DELAY)).unwrap_or_default()).await;
    }

    /// Returns a record from the demo catalogue.
    async fn of_catalogue(&self, position: i64, syntax: Oid) -> Result<External, Diagnostic> {
        let lost = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "");
        let hits = self.records.as_ref().ok_or_else(lost)?;
        let place = usize::try_from(position).unwrap_or_default() % RECORDS;
        let record = hits.ids(place..place + 1);
        let record = *record.first().ok_or_else(lost)?;
        let composition = Composition::full(Some(syntax));
        let wanted = Retrieve::new(hits, record, &composition);
        self.catalogue.record(wanted).await?.record
    }
}

impl Backend for YazZtest {
    fn databases(&self) -> Vec<DatabaseInfo> {
        vec![DatabaseInfo {
            name: "Default".to_owned(),
            syntaxes: vec![USMARC, SUTRS, XML, OPAC, GRS_1],
            scan: true,
            sort: true,
            ..DatabaseInfo::default()
        }]
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        Box::pin(async move {
            let [name] = search.databases else {
                return Err(diagnostic(Condition::COMBINATION, ""));
            };
            let database = Named::read(&name.0.to_string_lossy())?;
            if let Some(seed) = database.seed {
                self.chance.store(seed, Ordering::Relaxed);
            }
            self.wait(database.slow.map(|slow| (slow, slow))).await;
            self.wait(database.search).await;
            let term = |place| {
                let name = format!("name{place}");
                (Term::General(name.as_str().into()), 100 - 10 * place)
            };
            let facets = search.facets.iter().map(|wanted| Facet {
                attributes: wanted.attributes.clone(),
                terms: (0..wanted.terms.min(10)).map(term).collect(),
            });
            let facets = facets.collect();
            let estimate = database.slow.is_some();
            let count = count(&search.query.rpn);
            Ok(Found {
                estimate,
                facets,
                ..Hits::new(Positions { count, database }).into()
            })
        })
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        is_marc(syntax) || [SUTRS, XML, OPAC, GRS_1].contains(syntax)
    }

    /// Accepts all names, because element sets are checked for each record.
    fn has_element_set(&self, _: &str, _: Option<&Oid>) -> bool {
        true
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        Box::pin(async move {
            let RecordId(position) = wanted.record;
            let positions = wanted.hits.downcast::<Positions>();
            let database = positions.map(|positions| &positions.database);
            if let Some(database) = database {
                self.wait(database.fetch).await;
                let first = wanted.hits.ids(0..1) == [wanted.record];
                self.wait(database.present.filter(|_| first)).await;
            }
            let name = database.map_or("Default", |database| &database.name);
            let element_set = wanted.composition.element_set(name);
            let plain = element_set.eq_ignore_ascii_case("F") || element_set == "marcxml";
            let syntax = wanted.composition.syntax.unwrap_or(USMARC);
            let record = match syntax {
                SUTRS => text(position),
                XML if !plain => Err(diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")),
                XML | OPAC | GRS_1 => self.of_catalogue(position, syntax).await,
                _ => self.of_catalogue(position, USMARC).await,
            };
            Ok(Retrieved::new(DatabaseName::from(name), record).written_here())
        })
    }

    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        ready(scanned(&scan))
    }

    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        let first = sort.inputs.first().cloned();
        ready(first.ok_or_else(|| diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "")))
    }
}

impl Named {
    fn read(text: &str) -> Result<Self, Diagnostic> {
        let (name, parameters) = text.split_once('?').unwrap_or((text, ""));
        let mut named = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        if let Some(seconds) = name.strip_prefix("Slow") {
            named.slow = Some(seconds.parse().unwrap_or(SLOW));
        } else if !name.starts_with("Default") && !name.starts_with("db") {
            return Err(diagnostic(Condition::DATABASE_UNAVAILABLE, text));
        }
        for parameter in parameters
            .split('&')
            .filter(|parameter| !parameter.is_empty())
        {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match key {
                "seed" => named.seed = Some(value.parse().unwrap_or_default()),
                "search-delay" => named.search = Some(between(value)),
                "present-delay" => named.present = Some(between(value)),
                "fetch-delay" => named.fetch = Some(between(value)),
                _ => return Err(diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, key)),
            }
        }
        Ok(named)
    }
}

/// Parses `least:most`, or a single number for both.
fn between(text: &str) -> (f64, f64) {
    let (least, most) = text.split_once(':').unwrap_or((text, text));
    let seconds = |text: &str| text.parse().unwrap_or(0.0_f64);
    (seconds(least), seconds(most))
}

/// Returns the number in the first term that begins with a digit; without such a term, a number derived from the first term.
fn count(tree: &RpnStructure) -> usize {
    let mut first = None;
    for term in tree.terms().filter_map(|operand| octets(&operand.term)) {
        let digits: Vec<u8> = term
            .iter()
            .copied()
            .take_while(u8::is_ascii_digit)
            .collect();
        if let Ok(number) = String::from_utf8_lossy(&digits).parse() {
            return number;
        }
        first.get_or_insert(term);
    }
    let term = first.unwrap_or_default();
    let sum = term.iter().fold(0_usize, |sum, octet| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*octet))
    });
    sum % RECORDS
}

fn octets(term: &Term) -> Option<&[u8]> {
    match term {
        Term::General(octets) => Some(octets),
        Term::CharacterString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

/// Returns the record at a position as SUTRS.
fn text(position: i64) -> Result<External, Diagnostic> {
    let number = position.saturating_add(1);
    let text = sutrs_external(&format!("This is dummy SUTRS record number {number}\n"));
    text.ok_or_else(|| diagnostic(Condition::SYSTEM_ERROR_PRESENTING, ""))
}

fn scanned(scan: &Scan<'_>) -> Result<Scanned, Diagnostic> {
    for name in scan.databases {
        let name = name.0.to_string_lossy();
        if !name.eq_ignore_ascii_case("Default") && !name.starts_with("Slow") {
            return Err(diagnostic(Condition::DATABASE_UNAVAILABLE, &*name));
        }
    }
    let Term::General(term) = &scan.start.term else {
        return Err(diagnostic(Condition::TERM_TYPE, ""));
    };
    if scan.step != 0 {
        return Err(diagnostic(Condition::SCAN_STEP_SIZE_ZERO_ONLY, ""));
    }
    if scan.before.saturating_add(scan.after) > MAX_TERMS {
        return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, ""));
    }
    let term = term.to_ascii_uppercase();
    let place = WORDS.partition_point(|(word, _)| word.as_bytes() < &*term);
    let (before, after) = WORDS.split_at(place);
    let skipped = before.len().saturating_sub(scan.before);
    let terms = |words: &mut dyn Iterator<Item = &(&str, usize)>| {
        let term = |(word, records): &(&str, usize)| ScanTerm {
            records: Some(*records),
            ..ScanTerm::new(Term::General((*word).into()))
        };
        words.map(term).collect()
    };
    Ok(Scanned {
        before: terms(&mut before.iter().skip(skipped)),
        after: terms(&mut after.iter().take(scan.after)),
        exact: after
            .first()
            .is_some_and(|(word, _)| word.as_bytes() == term),
        ..Scanned::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_term_determines_the_number_of_hits() {
        for (query, expected) in [
            ("7", 7),
            ("@and 7 3", 7),
            ("@and x3 7", 7),
            ("@attr 1=9999 5x", 5),
            ("@or @and a b 12", 12),
            ("99999999999", 99_999_999_999),
            ("@set 3", 0),
        ] {
            let query: RpnQuery = query.parse().expect("a query");
            assert_eq!(count(&query.rpn), expected, "{query}");
        }
        for query in ["abc", "x", "-3"] {
            let query: RpnQuery = query.parse().expect("a query");
            assert!(count(&query.rpn) < RECORDS, "{query}");
        }
    }

    #[test]
    fn names_of_databases_have_parameters() {
        let named = |name: &str| Named {
            name: name.to_owned(),
            ..Named::default()
        };
        for (text, expected) in [
            ("Default", Ok(named("Default"))),
            ("Defaultxyz", Ok(named("Defaultxyz"))),
            ("db1", Ok(named("db1"))),
            ("default", Err((109, "default"))),
            ("DB", Err((109, "DB"))),
            (
                "Slow",
                Ok(Named {
                    slow: Some(3.0),
                    ..named("Slow")
                }),
            ),
            (
                "Slow2",
                Ok(Named {
                    slow: Some(2.0),
                    ..named("Slow2")
                }),
            ),
            (
                "Default?search-delay=0.5&fetch-delay=1:2",
                Ok(Named {
                    search: Some((0.5, 0.5)),
                    fetch: Some((1.0, 2.0)),
                    ..named("Default")
                }),
            ),
            (
                "db?seed=9",
                Ok(Named {
                    seed: Some(9),
                    ..named("db")
                }),
            ),
            ("Default?x=1", Err((1025, "x"))),
        ] {
            let found = Named::read(text);
            let found = found.map_err(|error| {
                (
                    error.condition,
                    error.addinfo.to_string_lossy().into_owned(),
                )
            });
            assert_eq!(
                found,
                expected.map_err(|(code, addinfo)| (code, addinfo.to_owned())),
                "{text}"
            );
        }
    }
}
