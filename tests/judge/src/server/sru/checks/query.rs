//! Checks of CQL: queries that every server must accept, and queries that must be refused.

use z3950_asn1::sru::Version;

use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Preparation, Verdict, counted, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "query.parentheses" Shall any cql "parentheses":
        "A query in parentheses finds what it finds without them."
        => same(|query, _| format!("({query})"));
    "query.blanks" Shall any cql "white space":
        "Blanks around a query do not matter."
        => same(|query, _| format!("  {query} "));
    "query.quotes" Shall any cql "quotes":
        "A word in quotation marks finds what it finds without them."
        => same_word(|word| format!("\"{word}\""));
    "query.server-choice" Shall any cql "serverChoice":
        "A term alone is one by cql.serverChoice."
        => server_choice;
    "query.and" Shall any cql "and":
        "A query and itself find what the query finds."
        => same(|query, _| format!("({query}) and ({query})"));
    "query.or" Shall any cql "or":
        "A query or itself finds what the query finds."
        => same(|query, _| format!("({query}) or ({query})"));
    "query.not" Shall any cql "not":
        "A query not itself finds nothing."
        => nothing(|query| format!("({query}) not ({query})"));
    "query.left-to-right" Shall any cql "precedence":
        "Booleans are carried out from left to right."
        => same(|query, nowhere| format!("{nowhere} and {nowhere} or {query}"));
    "query.case" Shall any cql "case":
        "Booleans are read in any case."
        => same(|query, _| format!("({query}) AND ({query})"));
    "query.prefix" Should any cql "prefix":
        "A prefix can be assigned to a context set in front of the query."
        => prefix;
    "query.all-records" Practice any cql "allRecords":
        "cql.allRecords=1 finds no fewer records than another query."
        => all_records;
    "query.masking" Should any cql "masking":
        "A word with * at its end finds no fewer records, or is refused with 28 to 30 or 49."
        => masked("*");
    "query.masking.one" Should any cql "masking":
        "A word with ? in place of its last letter finds no fewer records, or is refused with 28 to 30 or 49."
        => masked("?");
    "query.any" Should any cql "any":
        "The relation any finds a word among others, or is refused with 19 or 22."
        => listed("any");
    "query.all" Should any cql "all":
        "The relation all finds records with a word given twice, or is refused with 19 or 22."
        => listed("all");
    "query.proximity" Should any cql "prox":
        "Proximity is carried out, or refused with 37 or 39 to 44."
        => proximity;
    "query.escape" Shall any cql "escape":
        "A quotation mark after a backslash is part of the term."
        => harmless("\"a\\\"b\"");
    "query.utf-8" Shall any cql "character set":
        "A term in another script is read."
        => harmless("龜");
    "query.markup" Shall any cql "terms":
        "A term with markup of XML is escaped in the answer."
        => harmless("\"<a>&b;\"");
    "query.long" Practice any cql "booleans":
        "A query of 20 words is carried out, or refused with 12 or 38."
        => long;
    "query.empty-term" Should any diagnostic "27":
        "An empty term is refused, or finds some number of records."
        => harmless("\"\"");
    "query.syntax.parenthesis" Shall any diagnostic "10":
        "A parenthesis that is not closed is refused."
        => refused("(a", &[]);
    "query.syntax.parenthesis.code" Should any diagnostic "13":
        "A parenthesis that is not closed is refused with 10 or 13."
        => refused("(a", &[10, 13]);
    "query.syntax.parenthesis.extra" Shall any diagnostic "10":
        "A parenthesis that is not opened is refused."
        => refused("a)", &[10, 13]);
    "query.syntax.quote" Shall any diagnostic "10":
        "A quotation mark that is not closed is refused."
        => refused("\"a", &[]);
    "query.syntax.quote.code" Should any diagnostic "14":
        "A quotation mark that is not closed is refused with 10 or 14."
        => refused("\"a", &[10, 14]);
    "query.syntax.boolean" Shall any diagnostic "10":
        "A boolean without a second operand is refused."
        => refused("a and", &[]);
    "query.syntax.boolean.code" Should any diagnostic "10":
        "A boolean without a second operand is refused with 10, query syntax error."
        => refused("a and", &[10]);
    "query.syntax.relation.first" Shall any diagnostic "10":
        "A query that begins with a relation is refused."
        => refused("= a", &[]);
    "query.syntax.relation" Shall any diagnostic "10":
        "A relation without a term is refused."
        => refused("dc.title =", &[]);
    "query.syntax.relation.code" Should any diagnostic "10":
        "A relation without a term is refused with 10, query syntax error."
        => refused("dc.title =", &[10]);
    "query.syntax.modifier" Shall any diagnostic "10":
        "A slash without a modifier is refused."
        => refused("dc.title =/ a", &[]);
    "query.context-set" Shall any diagnostic "15":
        "An index of an unknown context set is refused."
        => refused("z3950none.title=a", &[]);
    "query.context-set.code" Should any diagnostic "15":
        "An index of an unknown context set is refused with 15, unsupported context set, or 16."
        => refused("z3950none.title=a", &[15, 16]);
    "query.index" Shall any diagnostic "16":
        "An unknown index of a known context set is refused."
        => refused("dc.z3950conformance=a", &[]);
    "query.index.code" Should any diagnostic "16":
        "An unknown index of a known context set is refused with 16, unsupported index, or 15 or 17."
        => refused("dc.z3950conformance=a", &[16, 17, 15]);
    "query.index.details" Should any diagnostic "16":
        "The details of the diagnostic about an unknown index name the index."
        => index_details;
    "query.relation" Shall any diagnostic "19":
        "An unknown relation is refused."
        => refused_by_index("cql.z3950none", &[]);
    "query.relation.code" Should any diagnostic "19":
        "An unknown relation is refused with 19, unsupported relation, or 22, 15 or 10."
        => refused_by_index("cql.z3950none", &[19, 22, 15, 10]);
    "query.relation-modifier" Shall any diagnostic "20":
        "An unknown modifier of a relation is refused."
        => refused_by_index("=/z3950none", &[]);
    "query.relation-modifier.code" Should any diagnostic "20":
        "An unknown modifier of a relation is refused with 20, unsupported relation modifier, or 21 or 15."
        => refused_by_index("=/z3950none", &[20, 21, 15]);
    "query.boolean-modifier" Should any diagnostic "46":
        "An unknown modifier of a boolean is refused."
        => refused("a and/z3950none b", &[]);
};

/// Fails unless a differently written query finds the same number of records. `form` creates this query from the query with hits
/// and a query without hits.
async fn same(trial: &mut SruTrial, version: Version, form: fn(&str, &str) -> String) -> Checked {
    let query = trial.query(1)?;
    let nowhere = super::search::nowhere(trial)?;
    counts(trial, version, &form(&query, &nowhere)).await
}

/// Fails unless the query finds as many records as the query with hits.
async fn counts(trial: &mut SruTrial, version: Version, query: &str) -> Checked {
    trial.indexed()?;
    let hits = trial
        .given(&trial.search(version)?)
        .await?
        .counted()
        .given()?;
    let reply = trial
        .ask(&trial.search_for(version, query))
        .await?
        .accepted()?;
    want(reply.hits() == Some(hits), counted(hits, "record"), || {
        reply.summary()
    })
}

/// Returns the query with hits after replacing its word with the result of `form`.
fn rewritten(trial: &SruTrial, form: impl Fn(&str) -> String) -> Checked<String> {
    let query = trial.query(1)?;
    let term = trial.offer.term();
    match query.strip_suffix(term) {
        Some(front) if !term.is_empty() => Ok(format!("{front}{}", form(term))),
        _ => Err(Verdict::not_judged(
            "needs a query that is a word, or an index and a word",
        )),
    }
}

async fn same_word(trial: &mut SruTrial, version: Version, form: fn(&str) -> String) -> Checked {
    let query = rewritten(trial, form)?;
    counts(trial, version, &query).await
}

async fn server_choice(trial: &mut SruTrial, version: Version) -> Checked {
    trial.indexed()?;
    let term = trial.offer.term().to_owned();
    let alone = trial.given(&trial.search_for(version, &term)).await?;
    let query = format!("cql.serverChoice={term}");
    let reply = trial
        .ask(&trial.search_for(version, &query))
        .await?
        .accepted()?;
    want(
        reply.hits() == alone.hits(),
        "as many records as the term alone finds",
        || reply.summary(),
    )
}

async fn nothing(trial: &mut SruTrial, version: Version, form: fn(&str) -> String) -> Checked {
    trial.indexed()?;
    let query = form(&trial.query(1)?);
    let reply = trial
        .ask(&trial.search_for(version, &query))
        .await?
        .accepted()?;
    want(reply.hits() == Some(0), "numberOfRecords 0", || {
        reply.summary()
    })
}

async fn prefix(trial: &mut SruTrial, version: Version) -> Checked {
    let query = trial.query(1)?;
    counts(
        trial,
        version,
        &format!("> z=\"info:srw/cql-context-set/1/cql-v1.2\" {query}"),
    )
    .await
}

async fn all_records(trial: &mut SruTrial, version: Version) -> Checked {
    trial.indexed()?;
    let hits = trial
        .given(&trial.search(version)?)
        .await?
        .counted()
        .given()?;
    let reply = trial
        .ask(&trial.search_for(version, "cql.allRecords=1"))
        .await?;
    let reply = reply.not_offered_if(&[15, 16, 17])?.accepted()?;
    want(
        reply.counted()? >= hits,
        format!("{} or more", counted(hits, "record")),
        || reply.summary(),
    )
}

/// Fails unless the query finds at least `least` records, or is refused with one of the diagnostics that mean that a feature is
/// not offered.
async fn at_least(
    trial: &mut SruTrial,
    version: Version,
    query: &str,
    not_offered: &[u16],
) -> Checked {
    trial.indexed()?;
    let hits = trial
        .given(&trial.search(version)?)
        .await?
        .counted()
        .given()?;
    let reply = trial.ask(&trial.search_for(version, query)).await?;
    let reply = reply.not_offered_if(not_offered)?.accepted()?;
    want(
        reply.counted()? >= hits,
        format!("{} or more", counted(hits, "record")),
        || reply.summary(),
    )
}

async fn masked(trial: &mut SruTrial, version: Version, mask: &str) -> Checked {
    let query = rewritten(trial, |word| match mask {
        "*" => format!("{word}*"),
        mask => {
            let (end, _) = word.char_indices().next_back().unwrap_or_default();
            format!("{}{mask}", word.get(..end).unwrap_or_default())
        }
    })?;
    at_least(trial, version, &query, &[28, 29, 30, 49]).await
}

async fn listed(trial: &mut SruTrial, version: Version, relation: &str) -> Checked {
    trial.indexed()?;
    let (index, term) = index_and_term(trial);
    let query = format!("{index} {relation} \"{term} {term}\"");
    let single = format!("{index}={term}");
    let hits = trial.given(&trial.search_for(version, &single)).await?;
    let reply = trial.ask(&trial.search_for(version, &query)).await?;
    let reply = reply.not_offered_if(&[19, 22, 24])?.accepted()?;
    want(
        reply.hits() == hits.hits(),
        "as many records as the word alone finds",
        || reply.summary(),
    )
}

async fn proximity(trial: &mut SruTrial, version: Version) -> Checked {
    let (index, term) = index_and_term(trial);
    let query = format!("{index}={term} prox {index}={term}");
    let reply = trial.ask(&trial.search_for(version, &query)).await?;
    let reply = reply
        .not_offered_if(&[37, 39, 40, 41, 42, 43, 44, 48])?
        .accepted()?;
    reply.counted().map(drop)
}

/// Returns the index and the term of the query. If the query has no index, the index is cql.serverChoice.
fn index_and_term(trial: &SruTrial) -> (String, String) {
    let query = trial.offer.query.as_deref().unwrap_or_default();
    let index = match query.split_once('=') {
        Some((index, _)) if !index.contains([' ', '(']) => index,
        _ => "cql.serverChoice",
    };
    (index.to_owned(), trial.offer.term().to_owned())
}

/// Fails unless the answer is XML and contains a number of records or a diagnostic.
async fn harmless(trial: &mut SruTrial, version: Version, query: &str) -> Checked {
    let reply = trial.ask(&trial.search_for(version, query)).await?;
    let holds = reply.hits().is_some() || !reply.diagnostics().is_empty();
    want(holds, "a number of records, or a diagnostic", || {
        reply.summary()
    })
}

async fn long(trial: &mut SruTrial, version: Version) -> Checked {
    let query = trial.query(1)?;
    let queries = vec![format!("({query})"); 20];
    at_least(trial, version, &queries.join(" or "), &[12, 38]).await
}

async fn refused(trial: &mut SruTrial, version: Version, query: &str, numbers: &[u16]) -> Checked {
    trial
        .ask(&trial.search_for(version, query))
        .await?
        .refused_with(numbers)
}

async fn refused_by_index(
    trial: &mut SruTrial,
    version: Version,
    relation: &str,
    numbers: &[u16],
) -> Checked {
    let (index, term) = index_and_term(trial);
    refused(
        trial,
        version,
        &format!("{index} {relation} {term}"),
        numbers,
    )
    .await
}

async fn index_details(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial
        .ask(&trial.search_for(version, "dc.z3950conformance=a"))
        .await?;
    let found = reply.diagnostics();
    let first = found
        .first()
        .ok_or_else(|| Verdict::not_judged("no diagnostic came"))?;
    want(
        first.details.contains("z3950conformance"),
        "details with z3950conformance",
        || reply.summary(),
    )
}
