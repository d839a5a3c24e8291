//! Checks of record schemas and of surrogate diagnostics.

use z3950_asn1::sru::{SruRecord, Version};

use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Preparation, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "record.schema.given" Shall all search "recordSchema":
        "A record names its schema."
        => given;
    "record.schema.identifier" Should all search "recordSchema":
        "The recordSchema of a record is an identifier, a URI."
        => identifier;
    "record.schema.unknown" Shall all diagnostic "66":
        "A schema that the server does not have is refused."
        => unknown(&[]);
    "record.schema.unknown.code" Should all diagnostic "66":
        "A schema that the server does not have is refused with 66, unknown schema for retrieval."
        => unknown(&[66]);
    "record.schema.unknown.details" Should any diagnostic "66":
        "The details of diagnostic 66 are the schema."
        => unknown_details;
    "record.xpath" Should first diagnostic "72":
        "recordXPath is carried out, or refused with 72, or 8 where the server does not know it."
        => xpath;
    "record.surrogate" Shall any diagnostic "surrogate":
        "A diagnostic in place of a record has the schema of diagnostics, a record none of its elements."
        => surrogate;
};

const NONE: &str = "http://example.org/z3950-conformance-none";

async fn given(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial.ask(&trial.search(version)?).await?.accepted()?;
    let schema = reply
        .records()
        .first()
        .and_then(|record| record.text_of("recordSchema"));
    let holds = schema.is_some_and(|schema| !schema.is_empty());
    want(holds, "a record with recordSchema", || reply.summary())
}

async fn identifier(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial.ask(&trial.search(version)?).await?.accepted()?;
    let schema = reply
        .records()
        .first()
        .and_then(|record| record.text_of("recordSchema"));
    let schema = schema.ok_or_else(|| Verdict::not_judged("no record with a schema came"))?;
    want(
        schema.contains(':'),
        "an identifier, such as info:srw/schema/1/marcxml-v1.1",
        || format!("recordSchema {schema:?}"),
    )
}

async fn unknown(trial: &mut SruTrial, version: Version, numbers: &[u16]) -> Checked {
    let search = trial.search(version)?.with("recordSchema", NONE);
    let reply = trial.ask(&search).await?;
    // Instead of refusing the search, the server may replace each record with a diagnostic.
    let mut records = reply.records().iter();
    let is_each = records.len() > 0
        && records
            .all(|record| record.text_of("recordSchema") == Some(SruRecord::DIAGNOSTIC_SCHEMA));
    if is_each {
        Ok(())
    } else {
        reply.refused_with(numbers)
    }
}

async fn unknown_details(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with("recordSchema", NONE);
    let reply = trial.ask(&search).await?;
    let found = reply.diagnostics();
    let found = found.iter().find(|one| one.number() == Some(66));
    let found = found.ok_or_else(|| Verdict::not_judged("diagnostic 66 did not come"))?;
    want(found.details == NONE, format!("details {NONE}"), || {
        reply.summary()
    })
}

async fn xpath(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with("recordXPath", "/*");
    let reply = trial.ask(&search).await?;
    let holds = !reply.records().is_empty() || reply.has_diagnostic(&[72, 73, 74, 8]);
    want(holds, "a part of the record, or diagnostic 72", || {
        reply.summary()
    })
}

async fn surrogate(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with("maximumRecords", "3");
    let reply = trial.ask(&search).await?.accepted()?;
    want(!reply.records().is_empty(), "records", || reply.summary()).given()?;
    for record in reply.records() {
        let is_diagnostic = record
            .list("recordData")
            .first()
            .is_some_and(|data| data.name == "diagnostic");
        let is_named = record.text_of("recordSchema") == Some(SruRecord::DIAGNOSTIC_SCHEMA);
        let wanted = format!(
            "a diagnostic with the schema {}, and nothing else",
            SruRecord::DIAGNOSTIC_SCHEMA
        );
        want(is_diagnostic == is_named, wanted, || reply.summary())?;
    }
    Ok(())
}
