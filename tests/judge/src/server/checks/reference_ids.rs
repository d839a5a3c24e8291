//! Checks of the referenceId: an answer must have the referenceId of its request, whatever octets it consists of (Z39.50-2003
//! §3.4).

use z3950_asn1::apdu::{
    Apdu, DeleteFunction, DeleteResultSetRequest, Options, ReferenceId, ResourceReportRequest,
    ScanRequest, SortRequest,
};

use crate::server::check::{Check, checks};
use crate::server::requests::{DEFAULT, delete, id};
use crate::server::trial::{Received, Trial};
use crate::server::verdict::{Checked, want};

const SOURCE: &str = "Z39.50-2003 §3.4";

pub(super) const CHECKS: &[Check] = checks! {
    "reference-id.init" Shall SOURCE:
        "An initResponse carries the referenceId of its request."
        => of_init(b"judge");
    "reference-id.init.absent" Shall SOURCE:
        "An initResponse has no referenceId if its request had none."
        => of_init_without;
    "reference-id.search" Shall SOURCE:
        "A searchResponse carries the referenceId of its request."
        => of_search(b"judge-1");
    "reference-id.search.absent" Shall SOURCE:
        "A searchResponse has no referenceId if its request had none."
        => of_search_without;
    "reference-id.search.failed" Shall SOURCE:
        "A searchResponse with a failure carries the referenceId of its request."
        => of_failed_search;
    "reference-id.empty" Shall SOURCE:
        "A referenceId of no octets comes back as such."
        => of_search(b"");
    "reference-id.octets" Shall SOURCE:
        "A referenceId of any octets comes back as it was."
        => of_search(&[0, 0xff, 0x80, 0x0a, 0x1b, b'\'', 0xc3]);
    "reference-id.one-octet" Shall SOURCE:
        "A referenceId of one octet comes back as it was."
        => of_search(&[0]);
    "reference-id.long" Shall SOURCE:
        "A referenceId of 1000 octets comes back as it was."
        => of_search(&[b'r'; 1000]);
    "reference-id.reused" Practice SOURCE:
        "A referenceId may be used again once its operation has ended."
        => reused;
    "reference-id.present" Shall SOURCE:
        "A presentResponse carries the referenceId of its request."
        => of_present;
    "reference-id.scan" Shall SOURCE:
        "A scanResponse carries the referenceId of its request."
        => of_scan;
    "reference-id.sort" Shall SOURCE:
        "A sortResponse carries the referenceId of its request."
        => of_sort;
    "reference-id.delete" Shall SOURCE:
        "A deleteResultSetResponse carries the referenceId of its request."
        => of_delete;
    "reference-id.delete.all" Shall SOURCE:
        "The answer to a deletion of all result sets carries the referenceId of its request."
        => of_delete_all;
    "reference-id.resource-report" Shall SOURCE:
        "A resourceReportResponse carries the referenceId of its request."
        => of_report;
};

/// Sends a request and checks the referenceId of the answer, which may report success or failure.
async fn echoed(trial: &mut Trial, mut request: Apdu, wanted: Option<ReferenceId>) -> Checked {
    request.set_reference_id(wanted.clone());
    trial.send(&request).await?;
    let received = trial.receive().await;
    let found = match &received {
        Received::Apdu(apdu) => Some(apdu.reference_id().cloned()),
        _ => None,
    };
    let words = match &wanted {
        Some(ReferenceId(octets)) if octets.len() < 100 => format!("the referenceId {octets:?}"),
        Some(ReferenceId(octets)) => format!("the referenceId of {} octets", octets.len()),
        None => "no referenceId".to_owned(),
    };
    want(found == Some(wanted), words, || match &received {
        Received::Apdu(apdu) => match apdu.reference_id() {
            Some(ReferenceId(octets)) => format!("{octets:?} in {received}"),
            None => format!("none in {received}"),
        },
        other => other.to_string(),
    })
}

async fn of_init(trial: &mut Trial, octets: &[u8]) -> Checked {
    trial.connect().await?;
    let init = trial.base_init();
    echoed(trial, init.into(), id(octets)).await
}

async fn of_init_without(trial: &mut Trial) -> Checked {
    trial.connect().await?;
    let init = trial.base_init();
    echoed(trial, init.into(), None).await
}

async fn of_search(trial: &mut Trial, octets: &[u8]) -> Checked {
    trial.session().await?;
    let search = trial.good_search()?;
    echoed(trial, search.into(), id(octets)).await
}

async fn of_search_without(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let search = trial.good_search()?;
    echoed(trial, search.into(), None).await
}

async fn of_failed_search(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let mut search = trial.good_search()?;
    search.database_names = vec!["z3950-conformance-none".into()];
    echoed(trial, search.into(), id(b"judge-2")).await
}

async fn reused(trial: &mut Trial) -> Checked {
    of_search(trial, b"same").await?;
    let search = trial.good_search()?;
    echoed(trial, search.into(), id(b"same")).await
}

async fn of_present(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    echoed(trial, trial.present(1, 1).into(), id(b"judge-3")).await
}

async fn of_scan(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::SCAN)?;
    let scan: ScanRequest = trial.scan()?;
    echoed(trial, scan.into(), id(b"judge-4")).await
}

async fn of_sort(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::SORT)?;
    trial.hits(1).await?;
    let sort = SortRequest::in_place(DEFAULT, super::sort::by_title());
    echoed(trial, sort.into(), id(b"judge-5")).await
}

async fn of_delete(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::DELETE)?;
    trial.hits(1).await?;
    echoed(trial, delete(&[DEFAULT]).into(), id(b"judge-6")).await
}

async fn of_delete_all(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::DELETE)?;
    trial.hits(1).await?;
    let all = DeleteResultSetRequest {
        reference_id: None,
        delete_function: DeleteFunction::ALL,
        result_set_list: None,
        other_info: None,
    };
    echoed(trial, all.into(), id(b"judge-7")).await
}

async fn of_report(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::RESOURCE_REPORT)?;
    echoed(
        trial,
        ResourceReportRequest::default().into(),
        id(b"judge-8"),
    )
    .await
}
