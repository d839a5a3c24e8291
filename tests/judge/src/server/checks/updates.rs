//! Checks of Database Update, which store, find and delete a test record (Z39.50-2003 §3.2.9.1.5). They run only in a database
//! that the user has named for this purpose.

use std::time::{SystemTime, UNIX_EPOCH};

use z3950_asn1::apdu::{
    DatabaseName, ExtendedServicesRequest, ExtendedServicesResponse, External, ExternalValue,
    OperationStatus, Options, Query, RpnQuery, RpnStructure, WaitAction,
};
use z3950_asn1::es::update::{Action, EsRequest, SuppliedRecord, Update};
use z3950_asn1::oid::{DATABASE_UPDATE, USMARC};
use z3950_marc::iso2709;
use z3950_marc::record::MarcRecord;

use crate::server::answers::in_default_format;
use crate::server::check::{Check, checks};
use crate::server::requests::search;
use crate::server::trial::{Trial, summary};
use crate::server::verdict::{Checked, Preparation, Verdict, want};

const UPDATE: &str = "Z39.50-2003 §3.2.9.1.5";

pub(super) const CHECKS: &[Check] = checks! {
    "update.insert" Shall UPDATE:
        "A new record is stored, or refused with a diagnostic."
        => insert;
    "update.insert.found" Practice UPDATE:
        "A record that was stored is found by its title."
        => found;
    "update.replace" Shall UPDATE:
        "A record that was stored is replaced, or the update is refused with a diagnostic."
        => replace;
    "update.delete" Shall UPDATE:
        "A record that was stored is deleted, or the update is refused with a diagnostic."
        => delete;
    "update.delete.gone" Practice UPDATE:
        "A record that was deleted is no longer found."
        => gone;
    "update.delete.unknown" Should UPDATE:
        "The deletion of a record that does not exist fails with a diagnostic."
        => unknown;
    "update.database.unknown" Shall UPDATE:
        "An update of a database that does not exist fails with a diagnostic."
        => unknown_database;
    "update.record.damaged" Practice UPDATE:
        "An update with octets that are not a record is refused with a diagnostic."
        => damaged;
};

/// A test record with a unique number and title.
struct Own {
    title: String,
    octets: Vec<u8>,
}

impl Own {
    fn new() -> Checked<Self> {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let title = format!("z3950conformance{}", since.as_nanos());
        let text = format!(
            "=LDR  00000nam a2200000 a 4500\n=001  {title}\n=008  030101s2003    xx            000 0 eng d\n=245  00$a{title}\n"
        );
        let record: Option<MarcRecord> = z3950_marc::mrk::parse_all(&text)
            .ok()
            .and_then(|mut records| records.pop());
        let record = record.ok_or_else(|| Verdict::not_judged("the record cannot be built"))?;
        let octets =
            iso2709::encode(&record).map_err(|error| Verdict::not_judged(error.to_string()))?;
        Ok(Self { title, octets })
    }
}

fn database(trial: &Trial) -> Checked<DatabaseName> {
    let named = trial.options().may_update.clone();
    named.ok_or_else(|| Verdict::not_judged("no database was named that may be changed"))
}

async fn updated(
    trial: &mut Trial,
    action: Action,
    database: DatabaseName,
    octets: &[u8],
) -> Checked<ExtendedServicesResponse> {
    if trial.version == 0 {
        trial.session().await?;
    }
    trial.needs(Options::EXTENDED_SERVICES)?;
    let record = SuppliedRecord::new(External::octet_aligned(USMARC, octets), None, Some(1));
    let update = Update::EsRequest(Box::new(EsRequest::new(action, database.0, vec![record])));
    let parameters = update
        .to_external()
        .map_err(|error| Verdict::not_judged(error.to_string()))?;
    let task = ExtendedServicesRequest {
        wait_action: WaitAction::WAIT,
        ..ExtendedServicesRequest::create(DATABASE_UPDATE, Some(parameters))
    };
    trial.ask(task).await
}

/// Returns whether an update was performed. Fails if it was refused without a diagnostic.
fn outcome(response: &ExtendedServicesResponse) -> Checked<bool> {
    let has_diagnostic = response
        .diagnostics
        .as_ref()
        .is_some_and(|all| !all.is_empty());
    if response.operation_status != OperationStatus::FAILURE {
        return Ok(true);
    }
    want(has_diagnostic, "a diagnostic with the failure", || {
        summary(&response.clone().into())
    })?;
    Ok(false)
}

/// Returns the first diagnostic of a response, which is the reason why an update was refused.
fn refusal(response: ExtendedServicesResponse) -> String {
    let listed = in_default_format(response.diagnostics.as_deref().unwrap_or_default());
    listed.first().map_or_else(String::new, ToString::to_string)
}

/// Stores a new record.
async fn stored(trial: &mut Trial) -> Checked<Own> {
    let own = Own::new()?;
    let target = database(trial)?;
    let response = updated(trial, Action::RECORD_INSERT, target, &own.octets)
        .await
        .given()?;
    if outcome(&response).given()? {
        Ok(own)
    } else {
        Err(Verdict::not_offered(refusal(response)))
    }
}

/// Checks whether a record can be stored, and deletes the record immediately.
pub(in crate::server) async fn tried(trial: &mut Trial) -> Checked {
    let own = stored(trial).await?;
    remove(trial, &own).await.map(drop)
}

async fn remove(trial: &mut Trial, own: &Own) -> Checked<ExtendedServicesResponse> {
    let target = database(trial)?;
    updated(trial, Action::RECORD_DELETE, target, &own.octets).await
}

/// Returns the number of records with the title of the test record.
async fn hits(trial: &mut Trial, own: &Own) -> Checked<i64> {
    let database = database(trial)?;
    let attributes = trial.attributes()?;
    let rpn = RpnStructure::term(attributes, own.title.as_str());
    let response = trial
        .ask(search(vec![database], Query::Type1(RpnQuery::bib1(rpn))))
        .await?;
    Ok(response.result_count)
}

async fn insert(trial: &mut Trial) -> Checked {
    let own = Own::new()?;
    let target = database(trial)?;
    let response = updated(trial, Action::RECORD_INSERT, target, &own.octets).await?;
    if outcome(&response)? {
        remove(trial, &own).await?;
    }
    Ok(())
}

async fn found(trial: &mut Trial) -> Checked {
    let own = stored(trial).await?;
    let count = hits(trial, &own).await;
    remove(trial, &own).await?;
    let count = count?;
    want(count == 1, "1 hit", || format!("{count}"))
}

async fn replace(trial: &mut Trial) -> Checked {
    let own = stored(trial).await?;
    let target = database(trial)?;
    let response = updated(trial, Action::RECORD_REPLACE, target, &own.octets).await;
    remove(trial, &own).await?;
    outcome(&response?).map(drop)
}

async fn delete(trial: &mut Trial) -> Checked {
    let own = stored(trial).await?;
    outcome(&remove(trial, &own).await?).map(drop)
}

async fn gone(trial: &mut Trial) -> Checked {
    let own = stored(trial).await?;
    let response = remove(trial, &own).await.given()?;
    if !outcome(&response).given()? {
        return Err(Verdict::not_offered("the deletion was refused"));
    }
    let count = hits(trial, &own).await?;
    want(count == 0, "no hits", || format!("{count}"))
}

fn failed(response: &ExtendedServicesResponse) -> Checked {
    let is_done = outcome(response)?;
    want(!is_done, "a failure with a diagnostic", || {
        summary(&response.clone().into())
    })
}

async fn unknown(trial: &mut Trial) -> Checked {
    let own = Own::new()?;
    failed(&remove(trial, &own).await?)
}

async fn unknown_database(trial: &mut Trial) -> Checked {
    let own = Own::new()?;
    let nowhere = DatabaseName::from("z3950-conformance-none");
    failed(&updated(trial, Action::RECORD_INSERT, nowhere, &own.octets).await?)
}

async fn damaged(trial: &mut Trial) -> Checked {
    let target = database(trial)?;
    failed(&updated(trial, Action::RECORD_INSERT, target, b"no record").await?)
}
