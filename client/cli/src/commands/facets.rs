//! Shows the additional results of a search: the requested facets, and the number of hits for each part of the query
//! (Index Data's facets; SearchResult-1, Z39.50-2003 Appendix USR.1).

mod notes;

use std::io::{self, IsTerminal};

use clap::Args;
use serde_json::{Value, json};
use z3950::retrieve::OutcomeName;
use z3950::service::search::SearchResult;
use z3950_asn1::apdu::{AttributeElement, AttributeList, RpnQuery, StringOrNumeric};
use z3950_asn1::bib1::attributes::RELATION;
use z3950_asn1::format::facets::FacetField;
use z3950_asn1::format::search_result1::{QueryExpression, SubqueryReport};
use z3950_asn1::query::names::Names;

pub(crate) use self::notes::{say_details, say_facets};
use crate::answer::{Envelope, Piece};
use crate::commands::complete;
use crate::commands::query::AskedQuery;
use crate::commands::target::NamedTarget;
use crate::console::output::Words;
use crate::render::{query, shown, term};

/// The default number of terms requested for a field.
const TERMS: i64 = 10;
/// The attribute type for the field. In this module, its value is the number of a Use attribute.
const FIELD: i64 = 1;
/// The attribute type for the maximum number of terms.
const LIMIT: i64 = 3;

/// The keys that `search --json` adds to an object.
pub(crate) const KEYS: [&str; 5] = ["query", "position", "is_estimate", "facets", "parts"];

/// What to request besides the hits.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Request the most frequent terms of a field (author, subject …); also the number of a Use attribute, or = and a name
    /// of the server's own. May be repeated.
    #[arg(long, value_name = "FIELD[:NUMBER]", value_parser = field, add = complete::facet_field())]
    pub(crate) facets: Vec<FacetField>,

    /// Show how many records match each part of the query, if the server reports it.
    #[arg(long, hide_short_help = true)]
    parts: bool,
}

impl Arguments {
    /// Formats the facets and parts that the server returned: as lines of data if no records follow (`alone`), as notes
    /// if records follow, or as an object if `json` is set. If nothing was found, the parts are shown even if they were
    /// not requested.
    pub(crate) fn shown(
        &self,
        place: &NamedTarget,
        query: &AskedQuery,
        found: &SearchResult,
        json: bool,
        alone: bool,
    ) -> Piece {
        let bars = if alone {
            io::stdout().is_terminal()
        } else {
            io::stderr().is_terminal()
        };
        let parts = found.report().map(|report| report.0).unwrap_or_default();
        let facets = found.facets().map(|list| list.0).unwrap_or_default();
        let wants_facets = !self.facets.is_empty();
        if json {
            if !wants_facets && !self.parts {
                return Piece::default();
            }
            let envelope = Envelope::of(place, &KEYS)
                .with("outcome", OutcomeName::Found.as_str())
                .with("query", query.to_string())
                .with("hits", found.count())
                .with("is_estimate", found.is_estimate())
                .with("facets", facets.iter().map(facet_json).collect::<Value>())
                .with("parts", parts_json(&parts, query.as_rpn()));
            return envelope.piece();
        }
        let mut blocks = Vec::new();
        let named = part_names(&parts, query.as_rpn());
        if self.parts || (found.count() == Some(0) && parts.len() > 1) {
            let lines = parts
                .iter()
                .zip(&named)
                .map(|(part, name)| part_line(part, name));
            let lines: Vec<String> = ["parts of the query:".to_owned()]
                .into_iter()
                .chain(lines)
                .collect();
            blocks.push(lines.join("\n"));
        }
        if wants_facets {
            let facets = facets.iter();
            blocks.extend(facets.map(|facet| facet_lines(facet, bars).join("\n")));
        }
        let mut piece = Piece::default();
        for (holds, words) in [
            (
                alone && found.is_estimate(),
                "the number of records is an estimate",
            ),
            (wants_facets && facets.is_empty(), &*no_facets(&self.facets)),
            (
                self.parts && parts.is_empty(),
                "the server does not report on the parts of the query",
            ),
        ] {
            if holds {
                piece.words.push(Words::Note(format!("{place}: {words}")));
            }
        }
        if alone && found.count() != Some(0) {
            let blocks = blocks.iter();
            piece.octets = blocks
                .flat_map(|block| [block, "\n"].concat().into_bytes())
                .collect();
        } else {
            piece.words.extend(blocks.into_iter().map(Words::Note));
        }
        piece
    }
}

/// Parses a field such as `author`, `subject:5` or `1003`. An unknown name that is similar to a known name is an error,
/// unless it is preceded by `=`.
pub(crate) fn field(text: &str) -> Result<FacetField, String> {
    let (name, limit) = match text.rsplit_once(':') {
        Some((name, limit)) => {
            let limit = limit.parse::<i64>().ok().filter(|limit| *limit > 0);
            (name, limit.ok_or("the number of terms must be 1 or more")?)
        }
        None => (text, TERMS),
    };
    let (name, is_meant) = match name.strip_prefix('=') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if !is_meant
        && let Err(Some(nearest)) = Names::default().attributes(name)
        && name.parse::<i64>().is_err()
    {
        return Err(format!(
            "{name} is not a known field; did you mean {nearest}? ={name} requests it as it is"
        ));
    }
    Ok(match (name, name.parse::<i64>()) {
        ("", _) => return Err("the field has no name".into()),
        (_, Ok(number)) => FacetField {
            attributes: AttributeList(vec![
                AttributeElement::numeric(FIELD, number),
                AttributeElement::numeric(LIMIT, limit),
            ]),
            terms: None,
        },
        (name, Err(_)) => FacetField::request(name, limit),
    })
}

/// Returns the message for a server that does not return facets for these fields.
fn no_facets(fields: &[FacetField]) -> String {
    let names: Vec<String> = fields.iter().map(field_name).collect();
    format!("the server gives no facets by {}", names.join(", "))
}

pub(crate) fn field_name(facet: &FacetField) -> String {
    match facet.field() {
        Some(StringOrNumeric::String(name)) => shown(name.as_bytes()),
        Some(StringOrNumeric::Numeric(number)) => number.to_string(),
        None => "a field without a name".into(),
    }
}

/// Returns the name of a field, and a line for each of its terms. If `bars` is set, each line contains a bar that
/// represents the count.
pub(crate) fn facet_lines(facet: &FacetField, bars: bool) -> Vec<String> {
    let terms = || facet.terms.iter().flatten();
    let most = terms().map(|found| found.count).max().unwrap_or_default();
    let lines = terms().map(|found| {
        let bar = if bars {
            format!("{:<BAR$}  ", bar(found.count, most))
        } else {
            String::new()
        };
        format!("{:>9}  {bar}{}", found.count, term(&found.term))
    });
    std::iter::once(format!("{}:", field_name(facet)))
        .chain(lines)
        .collect()
}

/// The length of the longest bar in characters.
const BAR: usize = 20;

/// Returns a bar for a count; `most` is the largest count. The bar has at least one block, unless the count is zero.
fn bar(count: i64, most: i64) -> String {
    let (count, most) = (i128::from(count.max(0)), i128::from(most.max(1)));
    // Both factors are less than 2^63, so the product fits into an i128. The result is rounded up.
    let length = (count * BAR as i128 + most - 1) / most;
    "█".repeat(usize::try_from(length).unwrap_or(BAR).min(BAR))
}

fn facet_json(facet: &FacetField) -> Value {
    let terms = facet
        .terms
        .iter()
        .flatten()
        .map(|found| json!({"term": term(&found.term), "count": found.count}));
    json!({"field": field_name(facet), "terms": terms.collect::<Value>()})
}

fn part_line(part: &SubqueryReport, name: &str) -> String {
    let count = part
        .subquery_count
        .map_or_else(|| "-".to_owned(), |count| count.to_string());
    format!("{count:>9}  {name}")
}

fn parts_json(parts: &[SubqueryReport], query: Option<&RpnQuery>) -> Value {
    let names = part_names(parts, query);
    let parts = parts.iter().zip(names).map(|(part, name)| {
        json!({
            "part": name,
            "is_whole": part.full_query,
            "count": part.subquery_count,
        })
    });
    parts.collect()
}

/// Returns the names of the query's parts. If a part compares a term, the name begins with the symbol of the relation,
/// as in `>=1850`.
pub(crate) fn part_names(parts: &[SubqueryReport], query: Option<&RpnQuery>) -> Vec<String> {
    let terms = query.into_iter().flat_map(|query| query.rpn.terms());
    let mut compared: Vec<(String, &str)> = terms
        .filter_map(|operand| {
            let relation = operand.attributes.iter().find_map(|attribute| {
                let of_type = attribute.attribute_type == RELATION;
                RELATIONS
                    .iter()
                    .find(|(value, _)| {
                        of_type && *attribute == AttributeElement::numeric(RELATION, *value)
                    })
                    .map(|(_, sign)| *sign)
            });
            Some((term(&operand.term), relation?))
        })
        .collect();
    let names = parts.iter().map(|part| {
        let name = part_text(part);
        let is_term = matches!(
            part.subquery_expression,
            Some(QueryExpression::Term(_)) | None
        );
        let at = compared.iter().position(|(text, _)| *text == name);
        match at.filter(|_| is_term) {
            Some(at) => format!("{}{name}", compared.remove(at).1),
            None => name,
        }
    });
    names.collect()
}

/// The values of Bib-1's Relation attribute for comparisons, with their symbols.
const RELATIONS: [(i64, &str); 5] = [(1, "<"), (2, "<="), (4, ">="), (5, ">"), (6, "<>")];

/// Returns a part of the query as it was sent or, if the server does not return this, as the server interpreted it.
fn part_text(part: &SubqueryReport) -> String {
    let expressions = [&part.subquery_expression, &part.subquery_interpretation];
    match expressions.into_iter().flatten().next() {
        Some(QueryExpression::Term(part)) => term(&part.query_term),
        Some(QueryExpression::Query(asked)) => query(asked),
        None if part.full_query => "the whole query".into(),
        None => match &part.subquery_id {
            Some(id) => shown(id.as_bytes()),
            None => "a part".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::apdu::Term;
    use z3950_asn1::format::facets::FacetTerm;

    #[test]
    fn fields_are_names_or_numbers() {
        for (text, name, limit) in [
            ("author", "author", TERMS),
            ("subject:5", "subject", 5),
            ("1003:2", "1003", 2),
            ("dc:title:3", "dc:title", 3),
            ("=auhtor:3", "auhtor", 3),
            ("xtargets", "xtargets", TERMS),
        ] {
            let field = field(text).expect(text);
            assert_eq!(
                (field_name(&field).as_str(), field.limit()),
                (name, Some(limit))
            );
        }
        for text in ["", ":3", "author:0", "author:x", "author:-1", "="] {
            assert!(field(text).is_err(), "{text}");
        }
        let words =
            "auhtor is not a known field; did you mean author? =auhtor requests it as it is";
        assert_eq!(field("auhtor:5"), Err(words.to_owned()));
    }

    #[test]
    fn bars_are_as_long_as_the_counts_are_large() {
        for (count, most, length) in [
            (10, 10, BAR),
            (5, 10, BAR / 2),
            (1, 1_000_000, 1),
            (0, 10, 0),
            (0, 0, 0),
            (-5, -1, 0),
            (i64::MIN, i64::MAX, 0),
            (i64::MAX, i64::MAX, BAR),
        ] {
            assert_eq!(
                bar(count, most).chars().count(),
                length,
                "{count} of {most}"
            );
        }
        let term = |text: &str, count| FacetTerm {
            term: Term::General(text.into()),
            count,
        };
        let facet = FacetField {
            terms: Some(vec![term("Austen", 2), term("Tolstoy", 1)]),
            ..FacetField::request("author", 2)
        };
        let bars = ["█".repeat(20), format!("{:<20}", "█".repeat(10))];
        let expected = [
            "author:".to_owned(),
            format!("        2  {}  Austen", bars[0]),
            format!("        1  {}  Tolstoy", bars[1]),
        ];
        assert_eq!(facet_lines(&facet, true), expected);
    }

    #[test]
    fn the_reports_of_the_server_are_put_in_words() {
        let facet = FacetField {
            terms: Some(vec![FacetTerm {
                term: Term::General("Austen\u{1b}".into()),
                count: 3,
            }]),
            ..FacetField::request("author", 1)
        };
        let lines = facet_lines(&facet, false);
        assert_eq!(lines, ["author:", "        3  Austen\\x1b"]);
        let part = SubqueryReport::of_term(Term::General("war".into()), 7);
        assert_eq!(part_line(&part, "war"), "        7  war");
        let whole = SubqueryReport {
            full_query: true,
            ..SubqueryReport::default()
        };
        let ranges = z3950_asn1::query::names::parse("year:1850-1860 year:1850").expect("a query");
        let parts = ["1850", "1860", "1850", "war"];
        let mut parts: Vec<SubqueryReport> = parts
            .map(|text| SubqueryReport::of_term(Term::General(text.into()), 7))
            .into();
        assert_eq!(
            part_names(&parts, Some(&ranges)),
            [">=1850", "<=1860", "1850", "war"]
        );
        parts.push(whole);
        assert_eq!(
            part_names(&parts, None),
            ["1850", "1860", "1850", "war", "the whole query"]
        );
        assert_eq!(
            parts_json(&[part], Some(&ranges)),
            json!([{"part": "war", "is_whole": false, "count": 7}])
        );
    }
}
