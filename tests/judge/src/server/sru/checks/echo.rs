//! Checks that an answer echoes its request.

use z3950_asn1::sru::Version;

use super::super::answer::JudgedReply;
use super::super::parameters::SruParameters;
use super::super::tree::XmlNode;
use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "echo.query" Shall all search "echoedSearchRetrieveRequest":
        "If the request is echoed, the query is as it was sent."
        => echoed_query;
    "echo.parameters" Shall all search "echoedSearchRetrieveRequest":
        "Parameters that are echoed are as they were sent."
        => echoed_parameters;
    "echo.version" Shall old search "echoedSearchRetrieveRequest":
        "The echo of a request in 1.1 or 1.2 has its version."
        => echoed_version;
    "echo.failure" Should all search "echoedSearchRetrieveRequest":
        "A request that failed is echoed as well, if others are."
        => echoed_failure;
    "echo.markup" Shall all search "echoedSearchRetrieveRequest":
        "A query with markup, quotation marks and letters of other scripts is echoed unchanged."
        => echoed_markup;
    "echo.scan" Shall all scan "echoedScanRequest":
        "If a scan is echoed, the clause is as it was sent."
        => echoed_scan;
    "echo.secret" Practice any search "echoedSearchRetrieveRequest":
        "A password of the request is not echoed."
        => echoed_secret;
};

/// Returns the echo of the request in an answer. Ends the check if the request is not echoed.
fn echo<'a>(reply: &'a JudgedReply, name: &str) -> Checked<&'a XmlNode> {
    let found = reply.root().child(name);
    found.ok_or_else(|| Verdict::not_offered("requests are not echoed"))
}

const OF_SEARCH: &str = "echoedSearchRetrieveRequest";

/// Fails if one of these parameters is echoed with a value that differs from the value sent.
fn compare(echo: &XmlNode, sent: &SruParameters, names: &[&str]) -> Checked {
    for (name, value) in sent.pairs() {
        if !names.contains(&&**name) {
            continue;
        }
        if let Some(found) = echo.text_of(name) {
            let wanted = format!("{name} {value:?}");
            want(found == value.trim(), wanted, || format!("{found:?}"))?;
        }
    }
    Ok(())
}

async fn echoed_query(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?;
    let reply = trial.ask(&search).await?;
    let echo = echo(&reply, OF_SEARCH)?;
    want(echo.child("query").is_some(), "the query", || {
        reply.summary()
    })?;
    compare(echo, &search, &["query"])
}

async fn echoed_parameters(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?;
    let search = search.with("startRecord", "1").with("maximumRecords", "2");
    let reply = trial.ask(&search).await?;
    let names = ["startRecord", "maximumRecords", "recordSchema", "version"];
    compare(echo(&reply, OF_SEARCH)?, &search, &names)
}

async fn echoed_version(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial.ask(&trial.search(version)?).await?;
    let echo = echo(&reply, OF_SEARCH)?;
    let holds = echo.text_of("version") == Some(version.as_str());
    want(holds, format!("version {}", version.as_str()), || {
        echo.text_of("version").unwrap_or("none").to_owned()
    })
}

async fn echoed_failure(trial: &mut SruTrial, version: Version) -> Checked {
    let good = trial.ask(&trial.search(version)?).await?;
    echo(&good, OF_SEARCH)?;
    let search = trial.search_for(version, "dc.z3950conformance=a");
    let reply = trial.ask(&search).await?;
    let found = reply.root().child(OF_SEARCH);
    let found = found.ok_or_else(|| Verdict::fail("the echo of the request", reply.summary()))?;
    compare(found, &search, &["query"])
}

async fn echoed_markup(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search_for(version, "\"<a> & 'b' ü 龜 \\\" ]]>\"");
    let reply = trial.ask(&search).await?;
    compare(echo(&reply, OF_SEARCH)?, &search, &["query"])
}

async fn echoed_scan(trial: &mut SruTrial, version: Version) -> Checked {
    let scan = trial.scan(version)?;
    let reply = trial.ask(&scan).await?;
    compare(
        echo(&reply, "echoedScanRequest")?,
        &scan,
        &["scanClause", "maximumTerms"],
    )
}

async fn echoed_secret(trial: &mut SruTrial, version: Version) -> Checked {
    let secret = "z3950conformancesecret";
    let search = trial.search(version)?;
    let search = search
        .with("x-username", "z3950-conformance")
        .with("x-password", secret);
    let reply = trial.ask(&search).await?;
    let body = &reply.http.body;
    let is_shown = body
        .windows(secret.len())
        .any(|part| part == secret.as_bytes());
    want(!is_shown, "no password", || "the password".to_owned())
}
