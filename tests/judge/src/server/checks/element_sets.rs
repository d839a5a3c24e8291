//! Checks of element sets: requests for full and brief records, and for element sets that do not exist (Z39.50-2003 §3.6.2).

use z3950_asn1::apdu::{
    DatabaseName, DatabaseSpecificElementSet, ElementSetNames, PresentResponse, RecordComposition,
};

use crate::server::answers::{Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::trial::Trial;
use crate::server::verdict::{Checked, Preparation, Verdict, counted, want};

const NAMES: &str = "Z39.50-2003 §3.6.2";
/// The conditions that mean that element sets, or the requested element set, are not available.
const NOT_THERE: [i64; 4] = [14, 24, 25, 26];

pub(super) const CHECKS: &[Check] = checks! {
    "element-set.full" Should NAMES:
        "Every database has the element set F."
        => full;
    "element-set.brief" Shall NAMES:
        "A brief record comes, or a diagnostic says that there is none."
        => brief;
    "element-set.brief.smaller" Practice NAMES:
        "A brief record is not larger than the full one."
        => smaller;
    "element-set.case" Practice "practice: people type the names":
        "Case does not matter in the names of element sets."
        => case;
    "element-set.unknown" Should "Bib-1 diagnostic 25":
        "An unknown element set is refused with 24 or 25."
        => unknown;
    "element-set.empty" Practice NAMES:
        "An element set with an empty name is answered."
        => odd("");
    "element-set.long" Practice NAMES:
        "An element set with a name of 1000 octets is answered."
        => long;
    "element-set.of-database" Should NAMES:
        "An element set for a database brings the record, or is refused with 26."
        => of_database;
    "element-set.of-other-database" Practice NAMES:
        "Element sets for other databases are answered."
        => of_other_database;
    "element-set.after-refusal" Shall NAMES:
        "After an element set that was refused, records come as before."
        => after_refusal;
};

async fn composed(trial: &mut Trial, names: ElementSetNames) -> Checked<PresentResponse> {
    trial.hits(1).await?;
    let mut request = trial.present(1, 1);
    request.record_composition = RecordComposition::Simple(names).into();
    trial.ask(request).await
}

async fn named(trial: &mut Trial, name: &str) -> Checked<PresentResponse> {
    composed(trial, ElementSetNames::GenericElementSetName(name.into())).await
}

/// Fails unless the answer has a record or a diagnostic.
fn answered(response: &PresentResponse) -> Checked {
    if response.first_record().is_ok() || !response.surrogates().is_empty() {
        Ok(())
    } else {
        response.refused()
    }
}

fn is_refused(response: &PresentResponse) -> bool {
    let found = response.all_diagnostics();
    found.iter().any(|one| NOT_THERE.contains(&one.condition))
}

async fn full(trial: &mut Trial) -> Checked {
    named(trial, "F").await?.first_record().map(drop)
}

async fn brief(trial: &mut Trial) -> Checked {
    let response = named(trial, "B").await?;
    answered(&response)
}

async fn smaller(trial: &mut Trial) -> Checked {
    let brief = named(trial, "B").await.given()?;
    let Ok(brief) = brief.first_record() else {
        return Err(Verdict::not_offered("there is no brief record"));
    };
    let full = named(trial, "F").await.given()?;
    let full = full.first_record().given()?.octets().len();
    let brief = brief.octets().len();
    want(
        brief <= full,
        format!("{} or fewer", counted(full, "octet")),
        || counted(brief, "octet"),
    )
}

async fn case(trial: &mut Trial) -> Checked {
    let upper = named(trial, "F").await.given()?;
    let upper = upper.first_record().given()?.octets().to_vec();
    let response = named(trial, "f").await?;
    let lower = response.first_record()?.octets();
    want(lower == upper, "the same record", || {
        format!("a record of {}", counted(lower.len(), "octet"))
    })
}

async fn unknown(trial: &mut Trial) -> Checked {
    let response = named(trial, "z3950-conformance-none").await?;
    want(is_refused(&response), "diagnostic 24 or 25", || {
        response.summary()
    })
}

async fn odd(trial: &mut Trial, name: &str) -> Checked {
    let response = named(trial, name).await?;
    answered(&response)
}

async fn long(trial: &mut Trial) -> Checked {
    let name = "e".repeat(1000);
    odd(trial, &name).await
}

/// Returns an element set name for one database only.
fn specific(database: DatabaseName) -> ElementSetNames {
    ElementSetNames::DatabaseSpecific(vec![DatabaseSpecificElementSet {
        db_name: database,
        esn: "F".into(),
    }])
}

async fn of_database(trial: &mut Trial) -> Checked {
    let first = trial.databases().into_iter().next();
    let first = first.ok_or_else(|| Verdict::not_judged("no database is known"))?;
    let response = composed(trial, specific(first)).await?;
    if is_refused(&response) {
        return Err(Verdict::not_offered(
            "element sets for databases are refused",
        ));
    }
    response.first_record().map(drop)
}

async fn of_other_database(trial: &mut Trial) -> Checked {
    let response = composed(trial, specific("z3950-conformance-none".into())).await?;
    answered(&response)
}

async fn after_refusal(trial: &mut Trial) -> Checked {
    let response = named(trial, "z3950-conformance-none").await.given()?;
    if response.first_record().is_ok() {
        return Err(Verdict::not_judged(
            "the unknown element set was not refused",
        ));
    }
    trial.ask(trial.present(1, 1)).await?.has_records(1)
}
