//! Checks of Delete, which deletes result sets by name, or all of them (Z39.50-2003 §3.2.4.1).

use z3950_asn1::apdu::{
    DeleteFunction, DeleteResultSetRequest, DeleteResultSetResponse, DeleteSetStatus, Options,
};

use crate::server::answers::Refusable;
use crate::server::check::{Check, checks};
use crate::server::requests::{DEFAULT, delete};
use crate::server::trial::{Trial, summary};
use crate::server::verdict::{Checked, Preparation, Verdict, want};

const STATUS: &str = "Z39.50-2003 §3.2.4.1.3";
const LIST: &str = "Z39.50-2003 §3.2.4.1.4";
/// A name that is not used for any result set.
const NO_SET: &str = "z3950-conformance-none";

pub(super) const CHECKS: &[Check] = checks! {
    "delete.list" Shall STATUS:
        "A result set is deleted by its name."
        => listed;
    "delete.list.gone" Shall "Z39.50-2003 §3.2.4.1":
        "A result set that was deleted can no longer be presented."
        => gone;
    "delete.list.statuses" Shall LIST:
        "The answer to a deletion has a status for each result set that was named."
        => statuses;
    "delete.list.several" Shall LIST:
        "Of several result sets that were named, each has its own status."
        => several;
    "delete.list.unknown" Shall LIST:
        "A result set that does not exist has the status 1."
        => unknown;
    "delete.list.twice" Practice LIST:
        "A deletion of the same result set twice is answered."
        => twice;
    "delete.all" Shall STATUS:
        "All result sets are deleted, or the status says that this is not supported."
        => all;
    "delete.all.gone" Shall "Z39.50-2003 §3.2.4.1":
        "After all result sets were deleted, none can be presented."
        => all_gone;
    "delete.all.nothing" Practice STATUS:
        "A deletion of all result sets is answered if there are none."
        => all_of_none;
    "delete.other-stays" Shall "Z39.50-2003 §3.2.4.1":
        "A result set that was not named stays."
        => other_stays;
    "delete.then-search" Shall "Z39.50-2003 §3.2.4.1":
        "After a result set was deleted, its name can be used again."
        => again;
    "delete.function.unknown" Practice "Z39.50-2003 §3.2.4.1.1":
        "An unknown deleteFunction is answered, or ends the session."
        => unknown_function;
};

/// Creates the default result set. Ends the check if Delete was not granted.
async fn ready(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::DELETE)?;
    trial.hits(1).await.map(drop)
}

fn say(response: &DeleteResultSetResponse) -> String {
    summary(&response.clone().into())
}

/// Returns the status of a result set in the answer, or `None` if the answer does not list the set.
fn status_of(response: &DeleteResultSetResponse, name: &str) -> Option<DeleteSetStatus> {
    let list = response.delete_list_statuses.as_deref().unwrap_or_default();
    let found = list
        .iter()
        .find(|one| one.id.0.as_bytes() == name.as_bytes());
    found.map(|one| one.status)
}

async fn listed(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    let response = trial.ask(delete(&[DEFAULT])).await?;
    let holds = response.delete_operation_status == DeleteSetStatus::SUCCESS;
    want(holds, "deleteOperationStatus success", || say(&response))
}

async fn gone(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    let response = trial.ask(delete(&[DEFAULT])).await.given()?;
    if response.delete_operation_status != DeleteSetStatus::SUCCESS {
        return Err(Verdict::not_judged("nothing was deleted"));
    }
    trial.ask(trial.present(1, 1)).await?.refused()
}

async fn statuses(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    let response = trial.ask(delete(&[DEFAULT])).await?;
    let holds = status_of(&response, DEFAULT) == Some(DeleteSetStatus::SUCCESS);
    want(holds, "the status success for default", || say(&response))
}

async fn several(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    let response = trial.ask(delete(&[DEFAULT, NO_SET])).await?;
    let found = (status_of(&response, DEFAULT), status_of(&response, NO_SET));
    let wanted = (
        Some(DeleteSetStatus::SUCCESS),
        Some(DeleteSetStatus::RESULT_SET_DID_NOT_EXIST),
    );
    want(
        found == wanted,
        "success for one, and 1 for the other",
        || say(&response),
    )
}

async fn unknown(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    let response = trial.ask(delete(&[NO_SET])).await?;
    let found = status_of(&response, NO_SET);
    let holds = found == Some(DeleteSetStatus::RESULT_SET_DID_NOT_EXIST);
    want(holds, "the status 1", || say(&response))
}

async fn twice(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    trial.ask(delete(&[DEFAULT, DEFAULT])).await.map(drop)
}

async fn answered_or_over(trial: &mut Trial, request: DeleteResultSetRequest) -> Checked {
    ready(trial).await?;
    trial.ask_or_end(request).await.map(drop)
}

fn delete_all() -> DeleteResultSetRequest {
    DeleteResultSetRequest {
        delete_function: DeleteFunction::ALL,
        result_set_list: None,
        ..delete(&[])
    }
}

async fn all(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    let response = trial.ask(delete_all()).await?;
    let status = response.delete_operation_status;
    if status == DeleteSetStatus::BULK_DELETE_NOT_SUPPORTED {
        return Err(Verdict::not_offered("bulk deletion is not supported"));
    }
    want(
        status == DeleteSetStatus::SUCCESS,
        "deleteOperationStatus success",
        || say(&response),
    )
}

async fn all_gone(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    let response = trial.ask(delete_all()).await.given()?;
    if response.delete_operation_status != DeleteSetStatus::SUCCESS {
        return Err(Verdict::not_offered("not all result sets were deleted"));
    }
    trial.ask(trial.present(1, 1)).await?.refused()
}

async fn all_of_none(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::DELETE)?;
    trial.ask(delete_all()).await.map(drop)
}

async fn other_stays(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    trial.needs(Options::NAMED_RESULT_SETS)?;
    let mut search = trial.good_search()?;
    search.result_set_name = "judge-other".into();
    trial.found(search, 1).await?;
    trial.ask(delete(&["judge-other"])).await.given()?;
    let response = trial.ask(trial.present(1, 1)).await?;
    want(response.succeeded(), "a record of default", || {
        response.summary()
    })
}

async fn again(trial: &mut Trial) -> Checked {
    ready(trial).await?;
    trial.ask(delete(&[DEFAULT])).await.given()?;
    let mut search = trial.good_search()?;
    search.replace_indicator = false;
    let response = trial.ask(search).await?;
    want(response.search_status, "a successful search", || {
        response.summary()
    })
}

async fn unknown_function(trial: &mut Trial) -> Checked {
    let request = DeleteResultSetRequest {
        delete_function: DeleteFunction(9),
        ..delete(&[DEFAULT])
    };
    answered_or_over(trial, request).await
}
