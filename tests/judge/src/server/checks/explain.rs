//! Checks of Explain, which compare the server's description of itself with its behaviour (Z39.50-2003 §3.2.10).

use z3950_asn1::apdu::{Options, SearchResponse};
use z3950_asn1::oid::EXPLAIN;
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::record::explain::ExplainRecord;

use crate::server::answers::{Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::requests::{present, search};
use crate::server::trial::Trial;
use crate::server::verdict::{Checked, Preparation, Verdict, want};
use z3950::service::explain::{DATABASE, ExplainOptions, ExplainUse};
use z3950::target::adapt::DEFAULT_DATABASE;

const EXPLAIN_FACILITY: &str = "Z39.50-2003 §3.2.10";
/// The conditions that mean that the database does not exist.
const NO_EXPLAIN: [i64; 6] = [109, 235, 236, 23, 121, 3];

pub(super) const CHECKS: &[Check] = checks! {
    "explain.answered" Shall EXPLAIN_FACILITY:
        "A search of the Explain database succeeds, or is refused with a diagnostic."
        => answered;
    "explain.target" Should EXPLAIN_FACILITY:
        "The Explain database has one TargetInfo, as a record in the Explain syntax."
        => target;
    "explain.categories" Should EXPLAIN_FACILITY:
        "The Explain database has a CategoryList."
        => categories;
    "explain.databases" Should EXPLAIN_FACILITY:
        "Each database that is searched has a DatabaseInfo in the Explain database."
        => databases;
    "explain.database.unknown" Shall EXPLAIN_FACILITY:
        "A database that does not exist has no DatabaseInfo in the Explain database."
        => unknown_database;
    "explain.category.unknown" Should EXPLAIN_FACILITY:
        "A category that does not exist has no records in the Explain database."
        => unknown_category;
    "explain.named-sets" Should EXPLAIN_FACILITY:
        "TargetInfo and Init agree about named result sets."
        => named_sets;
};

/// Searches the Explain database. Ends the check if this database does not exist.
async fn explained(
    trial: &mut Trial,
    category: &str,
    terms: Vec<(ExplainUse, String)>,
) -> Checked<SearchResponse> {
    trial.session().await?;
    let target = categories_of("TargetInfo", Vec::new());
    let response = trial
        .ask(search(vec![DATABASE.into()], target.query()))
        .await
        .given()?;
    response.not_offered_if(&NO_EXPLAIN)?;
    let wanted = categories_of(category, terms);
    trial
        .ask(search(vec![DATABASE.into()], wanted.query()))
        .await
}

fn categories_of(category: &str, terms: Vec<(ExplainUse, String)>) -> ExplainOptions {
    let mut options = ExplainOptions::default();
    options.category = category.to_owned();
    options.terms = terms;
    options
}

/// Returns the first record of the result set. Fails if it is not an Explain record.
async fn record(trial: &mut Trial) -> Checked<ExplainRecord> {
    let mut request = present(1, 1);
    request.preferred_record_syntax = Some(EXPLAIN);
    let response = trial.ask(request).await?;
    match RetrievedRecord::of(response.first_record()?) {
        RetrievedRecord::Explain(record) => Ok(record),
        _ => Err(Verdict::fail(
            "a record in the Explain syntax",
            response.summary(),
        )),
    }
}

async fn answered(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let target = categories_of("TargetInfo", Vec::new());
    let response = trial
        .ask(search(vec![DATABASE.into()], target.query()))
        .await?;
    response.not_offered_if(&NO_EXPLAIN)?;
    response.reaction().map(drop)
}

async fn target(trial: &mut Trial) -> Checked {
    let response = explained(trial, "TargetInfo", Vec::new()).await?;
    want(response.result_count == 1, "one TargetInfo", || {
        response.summary()
    })?;
    let record = record(trial).await?;
    let holds = matches!(record, ExplainRecord::TargetInfo(_));
    want(holds, "a TargetInfo", || "another record".to_owned())
}

async fn categories(trial: &mut Trial) -> Checked {
    let response = explained(trial, "CategoryList", Vec::new()).await?;
    want(response.result_count >= 1, "a CategoryList", || {
        response.summary()
    })
}

async fn databases(trial: &mut Trial) -> Checked {
    for database in trial.databases() {
        let name = database.0.to_string_lossy().into_owned();
        let terms = vec![(ExplainUse::DatabaseName, name.clone())];
        let response = explained(trial, "DatabaseInfo", terms).await?;
        if trial.offer.is_default && name == DEFAULT_DATABASE && response.result_count == 0 {
            let reason = "no database was named, and Default is none that Explain lists";
            return Err(Verdict::not_judged(reason));
        }
        let wanted = format!("one DatabaseInfo of {name}");
        want(response.result_count == 1, wanted, || response.summary())?;
    }
    Ok(())
}

async fn unknown_database(trial: &mut Trial) -> Checked {
    let terms = vec![(
        ExplainUse::DatabaseName,
        "z3950-conformance-none".to_owned(),
    )];
    let response = explained(trial, "DatabaseInfo", terms).await?;
    want(response.result_count == 0, "no hits", || response.summary())
}

async fn unknown_category(trial: &mut Trial) -> Checked {
    let response = explained(trial, "Z3950ConformanceNone", Vec::new()).await?;
    want(response.result_count == 0, "no hits", || response.summary())
}

async fn named_sets(trial: &mut Trial) -> Checked {
    explained(trial, "TargetInfo", Vec::new()).await.given()?;
    let granted = trial.granted.contains(Options::NAMED_RESULT_SETS);
    match record(trial).await.given()? {
        ExplainRecord::TargetInfo(info) => {
            let said = info.named_result_sets;
            want(
                said == granted,
                format!("namedResultSets {granted}, as at Init"),
                || said.to_string(),
            )
        }
        _ => Err(Verdict::not_judged("there is no TargetInfo")),
    }
}
