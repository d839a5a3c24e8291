//! Checks of the form of answers: the names, order and namespaces of elements, and the values that the schemas allow.

use z3950_asn1::sru::{DIAGNOSTIC_SET, Version};

use super::super::answer::JudgedReply;
use super::super::model::{namespace_fault, namespaces, order_fault};
use super::super::parameters::SruParameters;
use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "search.answered" Shall all search "response":
        "A search is answered with a searchRetrieveResponse."
        => answered(Sample::Search, "searchRetrieveResponse");
    "search.order" Shall all search "response":
        "The elements of a searchRetrieveResponse are in the order of the schema."
        => ordered(Sample::Search, Some("searchRetrieveResponse"));
    "search.record.order" Shall all search "record":
        "The elements of a record are in the order of the schema."
        => ordered(Sample::Search, Some("record"));
    "search.namespaces" Shall all search "response":
        "The elements of a searchRetrieveResponse are in the namespace of the version."
        => in_namespace(Sample::Search);
    "search.echo.order" Should all search "echoedSearchRetrieveRequest":
        "The elements of an echoedSearchRetrieveRequest are in the order of the schema."
        => ordered(Sample::Search, Some("echoedSearchRetrieveRequest"));
    "search.empty.order" Shall all search "records":
        "An answer without records has no empty element for them, and is in order."
        => ordered(Sample::Nothing, None);
    "search.values" Shall all search "response":
        "Numbers of records are not negative, and positions are positive."
        => values;
    "scan.answered" Shall all scan "response":
        "A scan is answered with a scanResponse."
        => answered(Sample::Scan, "scanResponse");
    "scan.order" Shall all scan "response":
        "The elements of a scanResponse and of its terms are in the order of the schema."
        => ordered(Sample::Scan, None);
    "scan.namespaces" Shall all scan "response":
        "The elements of a scanResponse are in the namespace of the version."
        => in_namespace(Sample::Scan);
    "explain.answered" Shall all explain "response":
        "An explain is answered with an explainResponse."
        => answered(Sample::Explain, "explainResponse");
    "explain.order" Shall all explain "response":
        "The elements of an explainResponse are in the order of the schema."
        => ordered(Sample::Explain, None);
    "explain.namespaces" Shall all explain "response":
        "The elements of an explainResponse are in the namespace of the version."
        => in_namespace(Sample::Explain);
    "failure.order" Shall all search "diagnostics":
        "The elements of an answer with diagnostics, and of each diagnostic, are in the order of the schema."
        => ordered(Sample::Failure, None);
    "failure.namespaces" Shall all diagnostic "schema":
        "Diagnostics are in the namespace of the version."
        => in_namespace(Sample::Failure);
    "failure.uri" Shall all diagnostic "uri":
        "A diagnostic has an identifier of the list of SRU, or a URI of the server's own."
        => uri;
};

/// A request whose answer is checked for its form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sample {
    Search,
    /// A search without hits.
    Nothing,
    Scan,
    Explain,
    /// A search with a parameter that does not exist.
    Failure,
}

fn request(trial: &SruTrial, version: Version, asked: Sample) -> Checked<SruParameters> {
    Ok(match asked {
        Sample::Search => trial
            .search(version)?
            .with("startRecord", "1")
            .with("maximumRecords", "3"),
        Sample::Nothing => trial.search(version)?.with("maximumRecords", "0"),
        Sample::Scan => trial.scan(version)?,
        Sample::Explain => trial.explain(version),
        Sample::Failure => trial
            .search_for(version, &trial.query(0)?)
            .with("z3950Conformance", "1"),
    })
}

/// Returns the answer to a request. Ends the check if the server does not offer scan or explain.
async fn reply_to(trial: &mut SruTrial, version: Version, asked: Sample) -> Checked<JudgedReply> {
    let request = request(trial, version, asked)?;
    let reply = trial.ask(&request).await?;
    let reply = match asked {
        Sample::Scan | Sample::Explain => reply.not_offered_if(&[4, 100, 101, 102])?,
        Sample::Failure if reply.diagnostics().is_empty() => {
            return Err(Verdict::not_judged("no diagnostic came"));
        }
        _ => reply,
    };
    // The rules of one version do not apply to an answer in another version.
    if reply.is_in(version) {
        Ok(reply)
    } else {
        Err(Verdict::fail(
            format!("an answer in {}", version.as_str()),
            reply.summary(),
        ))
    }
}

async fn answered(
    trial: &mut SruTrial,
    version: Version,
    asked: Sample,
    response: &str,
) -> Checked {
    let reply = reply_to(trial, version, asked).await?;
    want(reply.is(response), format!("a {response}"), || {
        reply.summary()
    })
}

async fn ordered(
    trial: &mut SruTrial,
    version: Version,
    asked: Sample,
    only: Option<&str>,
) -> Checked {
    let reply = reply_to(trial, version, asked).await?;
    match order_fault(version, reply.root(), only) {
        None => Ok(()),
        Some((wanted, came)) => Err(Verdict::fail(wanted, came)),
    }
}

async fn in_namespace(trial: &mut SruTrial, version: Version, asked: Sample) -> Checked {
    let reply = reply_to(trial, version, asked).await?;
    let root = reply.root();
    match namespace_fault(root, namespaces(version, &root.name)) {
        None => Ok(()),
        Some((wanted, came)) => Err(Verdict::fail(wanted, came)),
    }
}

async fn values(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = reply_to(trial, version, Sample::Search).await?;
    let root = reply.root();
    let of_root = [
        ("numberOfRecords", 0),
        ("nextRecordPosition", 1),
        ("resultSetIdleTime", 1),
        ("resultSetTTL", 0),
    ];
    let of_root = of_root
        .into_iter()
        .filter_map(|(name, least)| Some((name, least, root.text_of(name)?)));
    let of_records = reply.records().iter();
    let of_records = of_records
        .filter_map(|record| Some(("recordPosition", 1, record.text_of("recordPosition")?)));
    for (name, least, text) in of_root.chain(of_records) {
        let holds = text.parse().is_ok_and(|number: u64| number >= least);
        let wanted = format!("{name} of {least} or more");
        want(holds, wanted, || format!("{name} {text:?}"))?;
    }
    Ok(())
}

async fn uri(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = reply_to(trial, version, Sample::Failure).await?;
    for one in reply.diagnostics() {
        let holds = match one.uri.strip_prefix(DIAGNOSTIC_SET) {
            Some(number) => number.parse::<u16>().is_ok(),
            None => one.uri.contains(':'),
        };
        let wanted = format!("{DIAGNOSTIC_SET} and a number");
        want(holds, wanted, || reply.summary())?;
    }
    Ok(())
}
