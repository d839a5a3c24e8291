//! Scan: terms from the index that a load fills, each counted by a search (Z39.50-2003 §3.2.8.1). Terms without records, such as those
//! of deleted ones, are passed over.

use std::collections::{BTreeMap, BTreeSet};

use z3950_server::asn1::apdu::Term;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Scan, ScanTerm, Scanned};
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::{Edge, Edges, Pattern, Terms};
use z3950_server::{Diagnostic, diagnostic};

use super::EngineDatabase;
use super::nodes::{TERM, TERM_NUMBERS, term_numbers, terms_of};
use super::query::whole_phrase;
use super::sphinx;
use super::statement::{Select, Selected};
use super::token;

/// The terms that are read at once.
const AT_ONCE: usize = 100;
/// The most terms that are read for one side of a scan; if they do not suffice, the scan ends with condition 31. Some have no records,
/// and some are on the other side of a starting term with the same numbers.
const MOST_READ: usize = 5000;

/// A side of the starting term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    From,
}

/// The terms of a side.
#[derive(Default)]
struct SideTerms {
    /// With their counts, the nearest first.
    terms: Vec<(Vec<u8>, usize)>,
    /// The engine's words, such as those about a node that does not answer.
    warnings: BTreeSet<String>,
}

impl EngineDatabase {
    pub(super) async fn scanned(&self, scan: Scan<'_>) -> Result<Scanned, Diagnostic> {
        let (terms, start) = self
            .layout
            .map()
            .scan_start(&scan.attribute_set, scan.start)?;
        let (Terms::Words(index) | Terms::Keys(index)) = terms;
        if !self.layout.is_scanned(index) {
            let name = self.layout.name(index);
            return Err(diagnostic(Condition::MALFORMED_SCAN, name));
        }
        let within = match scan.within {
            None => None,
            Some(hits) => {
                let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
                Some(self.own(hits).ok_or_else(gone)?.query.to_string())
            }
        };
        let within = within.as_deref();
        let step = scan.step.saturating_add(1);
        let before = scan.before.saturating_mul(step);
        let after = scan.after.saturating_sub(1).saturating_mul(step);
        let after = after.saturating_add(usize::from(scan.after > 0));
        if scan.step > 0 && before.max(after) > MOST_READ {
            let step = scan.step.to_string();
            return Err(diagnostic(Condition::SCAN_STEP_SIZE, step));
        }
        // Together: each waits for a node that hangs.
        let (before, after) = tokio::try_join!(
            self.side(terms, &start, Side::Before, before, within),
            self.side(terms, &start, Side::From, after, within),
        )?;
        let mut scanned = Scanned::default();
        scanned.failures = self.failures(&before.warnings | &after.warnings)?;
        let (before, after) = (before.terms.into_iter(), after.terms);
        // The nearest term of those before is at the distance of a step.
        scanned.before = before.skip(step - 1).step_by(step).map(shown).collect();
        scanned.before.reverse();
        scanned.exact = after.first().is_some_and(|(term, _)| *term == start);
        scanned.after = after.into_iter().step_by(step).map(shown).collect();
        Ok(scanned)
    }

    /// Each source that is missing, once: it was asked for terms and for counts.
    ///
    /// # Errors
    /// 109 if that is not allowed.
    fn failures(&self, warnings: BTreeSet<String>) -> Result<Vec<Diagnostic>, Diagnostic> {
        let warned = Selected {
            warnings: warnings.into_iter().collect(),
            ..Selected::default()
        };
        let sources = self.sources(&warned)?.into_iter();
        let failed = sources.filter_map(|source| Some((source.name, source.failure?)));
        let by_name: BTreeMap<String, Diagnostic> = failed.collect();
        let named = by_name.into_iter().map(|(name, failure)| {
            let words = failure.addinfo.to_string_lossy();
            diagnostic(Condition(failure.condition), format!("{name}: {words}"))
        });
        Ok(named.collect())
    }

    /// The terms of a side, as many as are wanted.
    async fn side(
        &self,
        terms: Terms,
        start: &[u8],
        side: Side,
        wanted: usize,
        within: Option<&str>,
    ) -> Result<SideTerms, Diagnostic> {
        let mut found = SideTerms::default();
        let mut read = 0;
        let (relation, order) = match side {
            Side::From => (">", "ASC"),
            Side::Before => ("<", "DESC"),
        };
        let condition = on_side(relation, term_numbers(start));
        let columns = format!("{TERM}, {condition} AS is_there");
        let numbers = TERM_NUMBERS.map(|number| format!("{number} {order}"));
        let order = format!("ORDER BY {}, {TERM} {order}", numbers.join(", "));
        let index = terms_of(&self.index);
        let mark = token::scanned(terms).to_string();
        while found.terms.len() < wanted {
            if read >= MOST_READ {
                let words = "too many terms without records, or with the beginning of the start";
                return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words));
            }
            let rows = self.carry_out(Select {
                index: &index,
                columns: &columns,
                query: &mark,
                filter: " AND is_there=1",
                order: &order,
                skip: read,
                rows: AT_ONCE,
                ..self.every()
            });
            let Selected { rows, warnings, .. } = rows.await?;
            found.warnings.extend(warnings);
            read += rows.len();
            let is_last = rows.len() < AT_ONCE;
            let read = rows.into_iter().filter_map(|row| row.into_iter().next()?);
            let read: Vec<Vec<u8>> = read
                .filter(|term| match side {
                    Side::From => term.as_slice() >= start,
                    Side::Before => term.as_slice() < start,
                })
                .collect();
            let missing = wanted.saturating_sub(found.terms.len());
            for some in read.chunks(missing.clamp(1, AT_ONCE)) {
                let queries = some.iter().map(|term| self.counting(terms, term, within));
                let queries = queries.collect::<Result<Vec<_>, _>>()?;
                for (term, counted) in some.iter().zip(self.counts(&queries).await?) {
                    found.warnings.extend(counted.warnings);
                    if counted.count > 0 {
                        found.terms.push((term.clone(), counted.count));
                    }
                }
                if found.terms.len() >= wanted {
                    break;
                }
            }
            if is_last {
                break;
            }
        }
        found.terms.truncate(wanted);
        Ok(found)
    }

    /// The expression that counts a term.
    fn counting(
        &self,
        terms: Terms,
        term: &[u8],
        within: Option<&str>,
    ) -> Result<String, Diagnostic> {
        let text = String::from_utf8_lossy(term);
        let (Terms::Words(index) | Terms::Keys(index)) = terms;
        let is_text = self.layout.map().kind(index) == Kind::Text;
        let query = match terms {
            Terms::Keys(index) if !is_text => sphinx::key(&token::of_key(index, term)),
            _ => {
                let words = text.split(' ').map(|word| Pattern::Exact(word.to_owned()));
                let edge = match terms {
                    Terms::Keys(_) => Edge::Field,
                    Terms::Words(_) => Edge::Any,
                };
                let edges = Edges {
                    first: edge,
                    last: edge,
                };
                whole_phrase(&self.layout, index, &words.collect::<Vec<_>>(), edges)?
            }
        };
        Ok(match within {
            Some(within) => sphinx::all(&[within.to_owned(), query]),
            None => query,
        })
    }
}

/// The expression for terms whose numbers are these, or on one side of them.
fn on_side(relation: &str, numbers: [u64; TERM_NUMBERS.len()]) -> String {
    let each = TERM_NUMBERS.into_iter().zip(numbers).rev();
    each.fold("1".to_owned(), |rest, (column, number)| {
        format!("({column}{relation}{number} OR ({column}={number} AND {rest}))")
    })
}

fn shown((term, records): (Vec<u8>, usize)) -> ScanTerm {
    let mut shown = ScanTerm::new(Term::General(term.into()));
    shown.records = Some(records);
    shown
}
