//! Checks of the ways in which records are embedded in an answer: `recordPacking` in 1.1 and 1.2, `recordXMLEscaping` in 2.0.

use z3950_asn1::sru::Version;

use super::super::answer::{JudgedReply, data_of};
use super::super::tree::XmlNode;
use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Preparation, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "packing.xml" Shall all search "recordPacking":
        "With the packing xml, the data of a record is one element."
        => as_xml;
    "packing.xml.named" Shall all search "recordPacking":
        "A record that is embedded as xml says so."
        => named("xml");
    "packing.string" Shall all search "recordPacking":
        "With the packing string, the data of a record is escaped text that is XML itself."
        => as_string;
    "packing.string.named" Shall all search "recordPacking":
        "A record that is embedded as string says so."
        => named("string");
    "packing.same" Should all search "recordPacking":
        "A record is the same as xml and as string."
        => same;
    "packing.unknown" Shall all diagnostic "71":
        "A packing that does not exist is refused."
        => unknown(&[]);
    "packing.unknown.code" Should all diagnostic "71":
        "A packing that does not exist is refused with 71, unsupported record packing, or 6."
        => unknown(&[71, 6]);
    "packing.namespace" Should all search "recordData":
        "A record is in a namespace of its own, not in that of SRU."
        => namespace;
};

fn parameter(version: Version) -> &'static str {
    match version {
        Version::V2_0 => "recordXMLEscaping",
        Version::V1_1 | Version::V1_2 => "recordPacking",
    }
}

async fn packed(trial: &mut SruTrial, version: Version, packing: &str) -> Checked<JudgedReply> {
    let search = trial.search(version)?.with(parameter(version), packing);
    let reply = trial
        .ask(&search)
        .await?
        .not_offered_if(&[71])?
        .accepted()?;
    want(!reply.records().is_empty(), "a record", || reply.summary())?;
    Ok(reply)
}

fn data(reply: &JudgedReply) -> Checked<&XmlNode> {
    let first = reply.records().first();
    let data = first.and_then(|record| record.child("recordData"));
    data.ok_or_else(|| Verdict::fail("a record with recordData", reply.summary()))
}

async fn as_xml(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = packed(trial, version, "xml").await?;
    let data = data(&reply)?;
    let holds = data.children.len() == 1 && data.text().is_empty();
    want(holds, "one element in recordData", || {
        format!(
            "{} elements and {} characters of text",
            data.children.len(),
            data.text().len()
        )
    })
}

async fn as_string(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = packed(trial, version, "string").await?;
    let data = data(&reply)?;
    let is_text = data.children.is_empty() && !data.text().is_empty();
    want(is_text, "text in recordData", || {
        format!(
            "{} elements and {} characters of text",
            data.children.len(),
            data.text().len()
        )
    })?;
    let inner = reply.records().first().and_then(data_of);
    want(inner.is_some(), "text that is XML", || {
        data.text().chars().take(80).collect()
    })
}

async fn named(trial: &mut SruTrial, version: Version, packing: &str) -> Checked {
    let reply = packed(trial, version, packing).await?;
    let first = reply.records().first();
    let found = first.and_then(|record| record.text_of(parameter(version)));
    // Version 2.0 does not require recordXMLEscaping, so a record may omit it.
    if found.is_none() && version == Version::V2_0 {
        return Err(Verdict::not_offered("records have no recordXMLEscaping"));
    }
    want(
        found == Some(packing),
        format!("{} {packing}", parameter(version)),
        || found.unwrap_or("none").to_owned(),
    )
}

async fn same(trial: &mut SruTrial, version: Version) -> Checked {
    let xml = packed(trial, version, "xml").await.given()?;
    let string = packed(trial, version, "string").await.given()?;
    let inner = string.records().first().and_then(data_of);
    let inner = inner.ok_or_else(|| Verdict::not_judged("the text is not XML"))?;
    let holds = data(&xml)?.children.first() == Some(&inner);
    want(holds, "the same record", || {
        format!("{} in {}", inner.name, inner.namespace)
    })
}

async fn unknown(trial: &mut SruTrial, version: Version, numbers: &[u16]) -> Checked {
    let search = trial
        .search(version)?
        .with(parameter(version), "z3950conformance");
    trial.ask(&search).await?.refused_with(numbers)
}

async fn namespace(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = packed(trial, version, "xml").await.given()?;
    let data = data(&reply)?;
    let record = data
        .children
        .first()
        .ok_or_else(|| Verdict::not_judged("no element in recordData"))?;
    let holds = !record.namespace.is_empty() && record.namespace != data.namespace;
    want(holds, "a namespace of the record", || {
        format!("{} in {:?}", record.name, record.namespace)
    })
}
