//! Limits the terms of a facet field that each target returns, and adds up their counts over all targets.

use std::cmp::Reverse;
use std::collections::HashMap;

use z3950_asn1::apdu::Term;
use z3950_asn1::format::facets::{FacetField, FacetList};
use z3950_marc::charset::utf8_or_latin1;
use z3950_server::backend::FacetRequest;

/// The maximum number of terms in a field that are requested from a target.
pub(super) const MOST_TERMS: usize = 1000;
/// The maximum number of octets in a term.
const MAX_TERM: usize = 256;

/// Limits the facets from a target to the requested fields, and to the maximum length and number of terms.
pub(in crate::remote) fn bounded(found: FacetList, asked: &FacetList) -> FacetList {
    let fields = asked.0.iter().filter_map(|asked| {
        let same = |one: &&FacetField| one.field() == asked.field();
        let field = found.0.iter().find(same)?;
        let most = asked.limit().and_then(|most| usize::try_from(most).ok());
        let terms = field
            .terms
            .iter()
            .flatten()
            .filter(|one| text(&one.term).is_some());
        Some(FacetField {
            attributes: asked.attributes.clone(),
            terms: Some(terms.take(most.unwrap_or(0)).cloned().collect()),
        })
    });
    FacetList(fields.collect())
}

/// The terms of a field at all targets, keyed by their words in lower case.
#[derive(Default)]
pub(super) struct TermSums(HashMap<String, TermSum>);

struct TermSum {
    /// The spelling of the target with the highest count of the term.
    shown: String,
    most: usize,
    records: usize,
}

impl TermSums {
    /// Adds the counts from a target. Each count is limited to `most`, the number of records that the target found.
    pub(super) fn add(&mut self, field: &FacetField, most: usize) {
        for one in field.terms.iter().flatten().take(MOST_TERMS) {
            let Some(term) = text(&one.term) else {
                continue;
            };
            let records = usize::try_from(one.count).unwrap_or(0).min(most);
            let key = key(&term);
            if records == 0 || key.is_empty() {
                continue;
            }
            let sum = self.0.entry(key).or_insert_with(|| TermSum {
                shown: String::new(),
                most: 0,
                records: 0,
            });
            sum.records = sum.records.saturating_add(records);
            if records > sum.most {
                sum.most = records;
                sum.shown = term;
            }
        }
    }

    /// Returns the requested terms, by descending count or in alphabetical order.
    pub(super) fn ordered(self, wanted: &FacetRequest) -> Vec<(Term, usize)> {
        let mut all: Vec<(String, TermSum)> = self.0.into_iter().collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        if !wanted.alphabetical {
            // The sort is stable, so terms with the same count keep their order.
            all.sort_by_key(|(_, sum)| Reverse(sum.records));
        }
        let wanted = all.into_iter().skip(wanted.skip).take(wanted.terms);
        let terms = wanted.map(|(_, sum)| {
            let term = Term::General(sum.shown.into_bytes().into());
            (term, sum.records)
        });
        terms.collect()
    }
}

/// Returns the text of a term; `None` for a term without text, or with more than [`MAX_TERM`] octets.
fn text(term: &Term) -> Option<String> {
    let text = match term {
        Term::General(octets) if octets.len() <= MAX_TERM => utf8_or_latin1(octets).into_owned(),
        Term::CharacterString(text) if text.as_bytes().len() <= MAX_TERM => {
            text.to_string_lossy().into_owned()
        }
        Term::Numeric(number) => number.to_string(),
        _ => return None,
    };
    Some(text.trim().to_owned())
}

/// Returns the key of a term, which consists only of its words in lower case, because catalogues differ in case and punctuation.
fn key(term: &str) -> String {
    let lower = term.to_lowercase();
    let words: Vec<&str> = lower
        .split(|one: char| !one.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use z3950_asn1::format::facets::FacetTerm;

    use super::*;

    fn counted(terms: &[(&str, i64)]) -> FacetField {
        let mut field = FacetField::request("author", 10);
        let terms = terms.iter().map(|(term, count)| FacetTerm {
            term: Term::General(term.as_bytes().to_vec().into()),
            count: *count,
        });
        field.terms = Some(terms.collect());
        field
    }

    fn shown(terms: Vec<(Term, usize)>) -> Vec<(String, usize)> {
        let terms = terms.into_iter();
        terms
            .filter_map(|(term, records)| Some((text(&term)?, records)))
            .collect()
    }

    #[test]
    fn terms_are_summed_by_their_words() {
        let mut sums = TermSums::default();
        sums.add(
            &counted(&[("Austen, Jane", 3), ("Zola", 2), ("", 9), ("?!", 9)]),
            5,
        );
        // A count above the number of records cannot be true, so it is reduced to that number.
        sums.add(&counted(&[("austen jane", 2), ("Zola, E.", i64::MAX)]), 4);
        let long = "x".repeat(MAX_TERM);
        sums.add(&counted(&[(&long, -3), ("Ärger", 1)]), 1);
        sums.add(&counted(&[(&format!("{long}y"), 1)]), 1);
        let field = FacetField::request("author", 3);
        let mut wanted = FacetRequest::new(field.attributes, 0, 3, false);
        let all = [("Austen, Jane", 5), ("Zola, E.", 4), ("Zola", 2)];
        assert_eq!(
            shown(sums.ordered(&wanted)),
            all.map(|(term, count)| (term.to_owned(), count))
        );
        let mut sums = TermSums::default();
        sums.add(&counted(&[("b", 1), ("C", 9), ("a", 1)]), 9);
        wanted.alphabetical = true;
        wanted.skip = 1;
        let two = [("b".to_owned(), 1), ("C".to_owned(), 9)];
        assert_eq!(shown(sums.ordered(&wanted)), two);
        let mut sums = TermSums::default();
        sums.add(&counted(&[(&long, 1)]), 1);
        wanted.skip = 0;
        assert_eq!(shown(sums.ordered(&wanted)), [(long, 1)]);
    }
}
