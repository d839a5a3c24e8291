//! Converts plans to searches in Solr's JSON query language.

use std::ops::Bound;
use std::time::Duration;

use serde_json::{Map, Value, json};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::{Diagnostic, diagnostic};

use super::analysis::Analysis;
use super::{Texts, leaf};
use crate::engine::catalogue::offer::Offer;
use crate::engine::catalogue::plan::{Clause, FacetOf, OrderBy, Plan};
use crate::engine::plan::{MissingValue, PageStart};

/// A search: its JSON, and the strings to which the JSON refers.
#[derive(Debug, Default)]
pub(super) struct Request {
    body: Map<String, Value>,
    texts: Texts,
    /// The fields to return.
    fields: Vec<String>,
}

/// Parameters that switch off the functions of a site's request handler other than searching, and the replacement of `${…}` in
/// strings. The body of the request replaces or keeps the site's filters and order.
pub(super) const SWITCHES: &str = "wt=json&json.nl=map&expandMacros=false&echoParams=none&omitHeader=false&facet=false&hl=false&spellcheck=false\
                        &enableElevation=false&group=false&stats=false&debugQuery=false";

/// The query that finds all records.
const EVERYTHING: &str = "*:*";

impl Request {
    /// Returns the parameters in the URL. They include the fields to return, because the body could only add further fields.
    pub(super) fn options(&self, deadline: Duration, strict: bool) -> String {
        let fields = self.fields.join(",");
        let time = deadline.as_millis().max(1);
        format!(
            "{SWITCHES}&fl={fields}&shards.tolerant={}&timeAllowed={time}",
            !strict
        )
    }

    pub(super) fn body(&self) -> Value {
        let mut body = self.body.clone();
        body.insert("params".to_owned(), Value::Object(self.texts.0.clone()));
        Value::Object(body)
    }

    /// Creates a request that counts the visible records that match a clause, without returning any records.
    ///
    /// # Errors
    /// Fails if Solr does not support a part of the query.
    pub(super) fn new(
        offer: &Offer,
        analysis: &Analysis,
        clause: &Clause,
    ) -> Result<Self, Diagnostic> {
        let mut request = Self {
            fields: vec![offer.record.identifier.clone()],
            ..Self::default()
        };
        let mut queries = Queries {
            offer,
            analysis,
            texts: &mut request.texts,
        };
        let query = queries.query(clause)?;
        let filter = queries.filter();
        request.set("query", query);
        request.set("filter", filter);
        request.set("limit", 0);
        Ok(request)
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.body.insert(name.to_owned(), value.into());
    }

    /// Excludes the records up to and including the one with this identifier, in identifier order. Solr does not cache this condition.
    fn begin_after(&mut self, offer: &Offer, identifier: &str) {
        let bounds = (Bound::Excluded(identifier.to_owned()), Bound::Unbounded);
        let text = self.texts.add(leaf::range(&bounds));
        let after = format!("{{!lucene df={} v=${text}}}", offer.record.order);
        let query = self.body.remove("query");
        let query = json!({ "bool": { "must": [query], "filter": [lucene(&after)] } });
        self.set("query", query);
    }

    /// Adds facets that count the records with each term. If there are no records, Solr omits these facets from the answer.
    pub(super) fn count_terms(&mut self, field: &str, terms: &[String]) {
        let mut facets = Map::new();
        for (place, term) in terms.iter().enumerate() {
            let text = self.texts.add(term.as_str());
            let query = format!("{{!term f={field} v=${text}}}");
            facets.insert(term_name(place), json!({ "type": "query", "q": query }));
        }
        self.set("facet", facets);
    }
}

/// Returns the name of a facet in an answer.
pub(super) fn facet_name(place: usize) -> String {
    format!("facet{place}")
}

/// Returns the name of the count for a term.
pub(super) fn term_name(place: usize) -> String {
    format!("term{place}")
}

/// The maximum number of records before and on a page, because Solr counts with 32 bits.
const MOST_ROWS: usize = 2_000_000_000;

/// Returns the search for a plan, without its separate counts.
///
/// # Errors
/// Fails if Solr does not support a part of the plan.
pub(super) fn search(
    offer: &Offer,
    analysis: &Analysis,
    plan: &Plan<'_>,
) -> Result<Request, Diagnostic> {
    let mut request = Request::new(offer, analysis, plan.clause)?;
    let page = &plan.page;
    let out_of_range = || diagnostic(Condition::OUT_OF_RANGE, "");
    if page.skip.saturating_add(page.rows) > MOST_ROWS {
        return Err(out_of_range());
    }
    match page.start {
        PageStart::First => {}
        PageStart::After(identifier) if plan.order.is_empty() => {
            request.begin_after(offer, identifier);
        }
        _ => return Err(out_of_range()),
    }
    request.set("limit", page.rows);
    request.set("offset", page.skip);
    if page.rows > 0 {
        request.set("sort", sort(offer, plan.order)?);
    }
    if page.with_records {
        let place = &offer.record;
        request.fields.push(place.field.clone());
        request.fields.extend(place.format.clone());
    }
    if !plan.facets.is_empty() {
        let facets = plan
            .facets
            .iter()
            .enumerate()
            .map(|(place, facet)| (facet_name(place), facet_of(facet)));
        request.set("facet", facets.collect::<Map<_, _>>());
    }
    Ok(request)
}

/// Returns the order, whose last key is a field with a unique value in each record. The string types in the schemas
/// of VuFind and Blacklight sort records without a value last.
///
/// # Errors
/// Fails with condition 213 if a sort key has a replacement for missing values.
fn sort(offer: &Offer, order: &[OrderBy]) -> Result<String, Diagnostic> {
    let mut keys = Vec::new();
    for OrderBy {
        key,
        descending,
        missing,
    } in order
    {
        match missing {
            MissingValue::First => keys.push(format!("if(exists(field(\"{key}\")),1,0) asc")),
            MissingValue::Last => {}
            MissingValue::As(_) => {
                let words = "a value in place of a missing one";
                return Err(diagnostic(Condition::MISSING_VALUE_ACTION, words));
            }
        }
        keys.push(format!(
            "{key} {}",
            if *descending { "desc" } else { "asc" }
        ));
    }
    keys.push(format!("{} asc", offer.record.order));
    Ok(keys.join(","))
}

/// The number of additional values that each shard returns, so that none of the most frequent values is missed.
const OVERREQUEST: usize = 1_000;

fn facet_of(facet: &FacetOf) -> Value {
    let order = if facet.alphabetical {
        "index asc"
    } else {
        "count desc"
    };
    json!({
        "type": "terms",
        "field": facet.terms,
        "limit": facet.most.max(1),
        "overrequest": OVERREQUEST,
        // With this setting, counts are exact even for values that are not among the most frequent values in a shard.
        "refine": true,
        "sort": order,
    })
}

/// Converts clauses to queries.
struct Queries<'a> {
    offer: &'a Offer,
    analysis: &'a Analysis,
    texts: &'a mut Texts,
}

impl Queries<'_> {
    /// Converts a clause to a query.
    ///
    /// # Errors
    /// Fails if Solr does not support a part of the clause.
    fn query(&mut self, clause: &Clause) -> Result<Value, Diagnostic> {
        Ok(match clause {
            Clause::Everything => lucene(EVERYTHING),
            Clause::Nothing => nothing(),
            Clause::All { all, without } => {
                let mut must = self.each(all)?;
                if must.is_empty() {
                    must.push(lucene(EVERYTHING));
                }
                let without = self.each(without)?;
                json!({ "bool": { "must": must, "must_not": without } })
            }
            Clause::Any(any) => json!({ "bool": { "should": self.each(any)? } }),
            Clause::Leaf(leaf) => {
                let found = leaf::query(self.offer, self.analysis, self.texts, leaf)?;
                found.map_or_else(nothing, |query| lucene(&query))
            }
        })
    }

    fn each(&mut self, clauses: &[Clause]) -> Result<Vec<Value>, Diagnostic> {
        clauses.iter().map(|clause| self.query(clause)).collect()
    }

    /// Returns the filters for the visible records.
    fn filter(&mut self) -> Vec<Value> {
        let offer = self.offer;
        let mut of = |(field, value): &(String, String)| {
            let text = self.texts.add(value.as_str());
            lucene(&format!("{{!field f={field} v=${text}}}"))
        };
        let mut filter: Vec<Value> = offer.only.iter().map(&mut of).collect();
        let hidden: Vec<Value> = offer.hidden.iter().map(of).collect();
        if !hidden.is_empty() {
            let must = lucene(EVERYTHING);
            filter.push(json!({ "bool": { "must": [must], "must_not": hidden } }));
        }
        filter
    }
}

/// Wraps a query in Solr's own syntax. If nothing remains of a string after folding, the wrapped query finds nothing;
/// unwrapped, it would fail or find all records.
fn lucene(query: &str) -> Value {
    json!({ "lucene": { "q.op": "OR", "query": query } })
}

fn nothing() -> Value {
    lucene("-*:*")
}

#[cfg(test)]
mod tests;
