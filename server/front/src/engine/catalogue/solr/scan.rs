//! Lists the values in a field around a start. They are read from the dictionary of each shard. The dictionary also
//! contains values from deleted records, so a search counts the records with each value.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;

use super::analysis::{Analysis, form};
use super::request::Request;
use super::{ANSWER_OCTETS, MOST_ANSWER_OCTETS, SolrDialect, TERM_OCTETS, failed, response};
use crate::engine::catalogue::offer::Offer;
use crate::engine::catalogue::plan::{AskError, Clause, TermsAnswer, TermsPlan};
use crate::engine::link::reading::{FORM, Reading};

/// The maximum number of values in a request.
const MOST_VALUES: usize = 1_000;
/// The number of values in a request that lists the values before a start.
const STRETCH: usize = 200;
/// The maximum number of requests for finding the beginning of a range of values before a start.
const MOST_STEPS: usize = 60;

/// Lists the values in a field around a start.
pub(super) async fn terms(
    solr: &SolrDialect,
    offer: &Offer,
    analysis: &Analysis,
    plan: &TermsPlan<'_>,
    deadline: Duration,
) -> Result<TermsAnswer, AskError> {
    let start = analysis.key(plan.field, plan.start);
    let list = List {
        solr,
        offer,
        analysis,
        plan,
        deadline,
    };
    let (before, after) = tokio::try_join!(list.before(start), list.after(start))?;
    Ok(TermsAnswer {
        is_exact: after.counted.first().is_some_and(|(term, _)| term == start),
        before: before.counted,
        after: after.counted,
        missing: before.missing.or(after.missing),
    })
}

struct List<'a> {
    solr: &'a SolrDialect,
    offer: &'a Offer,
    analysis: &'a Analysis,
    plan: &'a TermsPlan<'a>,
    deadline: Duration,
}

/// Values in ascending order, with their numbers of records.
#[derive(Debug, Default)]
struct Counted {
    counted: Vec<(String, usize)>,
    missing: Option<String>,
}

/// Values in the dictionary, in ascending order.
#[derive(Debug, Default)]
struct Listed {
    terms: Vec<String>,
    missing: Option<String>,
}

/// A consecutive range of values in the dictionary.
#[derive(Clone, Copy, Debug)]
struct Stretch<'a> {
    from: &'a str,
    /// Whether the first value may be `from` itself.
    inclusive: bool,
    /// The value before which the range ends; `None` for the end of the dictionary.
    to: Option<&'a str>,
    most: usize,
}

impl List<'_> {
    /// Returns the values from the start onwards that occur in records.
    async fn after(&self, start: &str) -> Result<Counted, AskError> {
        let wanted = self.plan.after;
        let mut found = Counted::default();
        let mut from = start.to_owned();
        let mut inclusive = true;
        while found.counted.len() < wanted {
            let most = (wanted - found.counted.len()).clamp(STRETCH, MOST_VALUES);
            let stretch = Stretch {
                from: &from,
                inclusive,
                to: None,
                most,
            };
            let listed = self.list(&stretch).await?;
            found.missing = found.missing.or(listed.missing);
            let is_last = listed.terms.len() < most;
            let Some(last) = listed.terms.last().cloned() else {
                break;
            };
            let counted = self.count(listed.terms).await?;
            found.missing = found.missing.or(counted.missing);
            found.counted.extend(counted.counted);
            if is_last {
                break;
            }
            (from, inclusive) = (last, false);
        }
        found.counted.truncate(wanted);
        Ok(found)
    }

    /// Returns the last values before the start that occur in records.
    async fn before(&self, start: &str) -> Result<Counted, AskError> {
        let wanted = self.plan.before;
        let mut found = Counted::default();
        let mut to = start.to_owned();
        while found.counted.len() < wanted && !to.is_empty() {
            let listed = self.list_before(&to, wanted - found.counted.len()).await?;
            found.missing = found.missing.or(listed.missing);
            let Some(first) = listed.terms.first().cloned() else {
                break;
            };
            let mut counted = self.count(listed.terms).await?;
            found.missing = found.missing.or(counted.missing);
            counted.counted.append(&mut found.counted);
            found.counted = counted.counted;
            to = first;
        }
        let extra = found.counted.len().saturating_sub(wanted);
        found.counted.drain(..extra);
        Ok(found)
    }

    /// Returns the last values before `to`: at least as many as wanted, unless there are fewer. The dictionary can only
    /// be read forwards, so the function searches for a starting point with neither too few nor too many values between
    /// it and `to`.
    async fn list_before(&self, to: &str, wanted: usize) -> Result<Listed, AskError> {
        let most = wanted.saturating_mul(2).clamp(STRETCH, MOST_VALUES);
        let wanted = wanted.min(most / 2);
        // A list that starts at `early` has too many values, and a list that starts at `late` has too few.
        let (mut early, mut late) = (String::new(), to.to_owned());
        let mut from = String::new();
        for _ in 0..MOST_STEPS {
            let stretch = Stretch {
                from: &from,
                inclusive: true,
                to: Some(to),
                most,
            };
            let listed = self.list(&stretch).await?;
            if listed.terms.len() == most {
                // Terms already received are not requested again.
                early = listed.terms.last().cloned().unwrap_or(from);
            } else if listed.terms.len() >= wanted || from.is_empty() {
                return Ok(listed);
            } else {
                late = from;
            }
            match between(&early, &late) {
                Some(next) => from = next,
                None => break,
            }
        }
        self.walk(&early, to, most).await
    }

    /// Returns the last values before `to`, by reading all values from `from` onwards.
    async fn walk(&self, from: &str, to: &str, most: usize) -> Result<Listed, AskError> {
        let mut found = Listed::default();
        let (mut from, mut inclusive) = (from.to_owned(), true);
        loop {
            let stretch = Stretch {
                from: &from,
                inclusive,
                to: Some(to),
                most: MOST_VALUES,
            };
            let listed = self.list(&stretch).await?;
            let is_last = listed.terms.len() < MOST_VALUES;
            found.missing = found.missing.or(listed.missing);
            if let Some(last) = listed.terms.last() {
                (from, inclusive) = (last.clone(), false);
            }
            found.terms.extend(listed.terms);
            let extra = found.terms.len().saturating_sub(most);
            found.terms.drain(..extra);
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Returns the values in a stretch of the dictionary.
    async fn list(&self, stretch: &Stretch<'_>) -> Result<Listed, AskError> {
        let most = stretch.most.to_string();
        let tolerant = (!self.solr.strict).to_string();
        let distributed = self.solr.is_cluster.load(Ordering::Relaxed).to_string();
        let mut fields = vec![
            ("wt", "json"),
            ("json.nl", "flat"),
            ("expandMacros", "false"),
            ("echoParams", "none"),
            ("omitHeader", "false"),
            ("terms", "true"),
            ("distrib", &distributed),
            ("shards.tolerant", &tolerant),
            ("terms.fl", self.plan.field),
            ("terms.sort", "index"),
            ("terms.limit", &most),
            ("terms.mincount", "1"),
        ];
        if !stretch.from.is_empty() {
            let inclusive = if stretch.inclusive { "true" } else { "false" };
            fields.push(("terms.lower", stretch.from));
            fields.push(("terms.lower.incl", inclusive));
        }
        if let Some(to) = stretch.to {
            fields.push(("terms.upper", to));
            fields.push(("terms.upper.incl", "false"));
        }
        let limit = limit_of(stretch.most);
        let link = &self.solr.link;
        let asked = link.send(Reading::SolrTerms, "", form(&fields), FORM, limit);
        let answer = asked.await.map_err(failed)?;
        let terms = answer.pointer(&format!("/terms/{}", self.plan.field));
        // Each value is followed by its number of documents, deleted ones included.
        let terms = terms
            .and_then(Value::as_array)
            .ok_or(AskError::Malformed("terms"))?;
        let terms = terms
            .iter()
            .step_by(2)
            .map(|term| term.as_str().map(str::to_owned));
        Ok(Listed {
            terms: terms
                .collect::<Option<_>>()
                .ok_or(AskError::Malformed("terms"))?,
            missing: response::missing(&answer),
        })
    }

    /// Returns the values that occur in records, with their numbers of records.
    async fn count(&self, terms: Vec<String>) -> Result<Counted, AskError> {
        let within = self.plan.within.unwrap_or(&Clause::Everything);
        let mut request = Request::new(self.offer, self.analysis, within)?;
        request.count_terms(self.plan.field, &terms);
        let limit = limit_of(terms.len());
        let answer = self.solr.select(&request, self.deadline, limit).await?;
        let counts = response::term_counts(terms.len(), &answer);
        let counted = terms
            .into_iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0);
        Ok(Counted {
            counted: counted.collect(),
            missing: response::missing(&answer),
        })
    }
}

fn limit_of(values: usize) -> usize {
    let terms = values.saturating_mul(TERM_OCTETS);
    terms.saturating_add(ANSWER_OCTETS).min(MOST_ANSWER_OCTETS)
}

/// Returns a string approximately halfway between two others; `None` if hardly any string lies between them.
fn between(early: &str, late: &str) -> Option<String> {
    let common = early
        .chars()
        .zip(late.chars())
        .take_while(|(one, other)| one == other);
    let common: String = common.map(|(character, _)| character).collect();
    let next = |text: &str| {
        text.strip_prefix(&*common)
            .and_then(|rest| rest.chars().next())
    };
    let (low, high) = (next(early), next(late)?);
    let (least, most) = (low.map_or(0, u32::from), u32::from(high));
    let middle = (least..most)
        .nth(((most - least) / 2) as usize)
        .and_then(char::from_u32);
    match middle {
        Some(middle) if Some(middle) != low && middle != '\0' => Some(format!("{common}{middle}")),
        // All values in between have the same next character, so they are divided by the character after it.
        _ => {
            let early_rest = early.get(common.len()..)?;
            let second = early_rest.chars().nth(1).map_or(0, u32::from);
            let middle = char::from_u32(second + (0x3000_u32.saturating_sub(second)) / 2)?;
            let found = format!("{common}{}{middle}", low?);
            (found.as_str() > early && found.as_str() < late).then_some(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_middle_is_between() {
        for (early, late) in [
            ("", "war"),
            ("a", "z"),
            ("war", "was"),
            ("Tolstoy, Leo", "Tolstoy, Lev"),
            ("", "\u{10ffff}"),
            ("мир", "миф"),
        ] {
            if let Some(middle) = between(early, late) {
                assert!(
                    *early < *middle && *middle < *late,
                    "{early} {middle} {late}"
                );
            }
        }
        assert_eq!(between("a", "a"), None);
        assert_eq!(between("", "war").as_deref(), Some(";"));
    }
}
