//! Persistent result sets and queries (Z39.50-2003 Appendices EXT.1 and EXT.2), which are kept as they were when the task was
//! created. A persistent result set keeps its records, because it has its own snapshot of the database.

use z3950_asn1::es::persistent_query::{self, PersistentQuery};
use z3950_asn1::es::persistent_result_set::{
    PersistentResultSet, ReplaceOrAppend, TargetPart, TaskPackage,
};
use z3950_asn1::es::{TaskParameters, TaskStatus};
use z3950_asn1::oid;

use super::{Outcome, missing, unsupported};
use crate::association::Association;
use crate::diagnostic::Diagnostic;
use crate::extended::{Function, TaskKind};
use crate::units::count;

/// Keeps a result set of the session as a persistent result set.
///
/// # Errors
/// Condition 1008 if no set is named, 30 or 27 if the set does not exist, 1057 for `append`, because the records of two result
/// sets may belong to different snapshots, which one set cannot combine.
pub(super) fn result_set(
    association: &Association,
    parameters: &PersistentResultSet,
) -> Result<Outcome, Diagnostic> {
    let PersistentResultSet::EsRequest(request) = parameters else {
        return Err(unsupported("taskPackage"));
    };
    let wanted = request.not_to_keep.as_ref();
    let name = wanted
        .and_then(|wanted| wanted.origin_supplied_result_set.as_ref())
        .ok_or_else(|| missing("originSuppliedResultSet"))?;
    let how = wanted.and_then(|wanted| wanted.replace_or_append);
    if how.is_some_and(|how| how != ReplaceOrAppend::REPLACE) {
        return Err(unsupported("replaceOrAppend"));
    }
    let set = association.result_sets().find(name.as_bytes())?;
    let package = PersistentResultSet::TaskPackage(TaskPackage {
        origin_part: (),
        target_part: Some(TargetPart {
            target_supplied_result_set: None,
            number_of_records: Some(count(set.hits.len())),
        }),
    });
    Ok(Outcome {
        result_set: Some(set),
        ..Outcome::of(TaskStatus::COMPLETE, package)
    })
}

/// Keeps a query as a persistent query: the query in the request, or a copy of the query in another package.
///
/// # Errors
/// Condition 219 if the named package does not exist.
pub(super) fn query(
    association: &Association,
    parameters: &PersistentQuery,
    user: Option<&str>,
) -> Result<Outcome, Diagnostic> {
    let PersistentQuery::EsRequest(request) = parameters else {
        return Err(unsupported("taskPackage"));
    };
    let query = match &request.not_to_keep {
        persistent_query::OriginPartNotToKeep::Query(query) => (**query).clone(),
        persistent_query::OriginPartNotToKeep::Package(name) => {
            let kind = TaskKind {
                package_type: oid::PERSISTENT_QUERY,
                name: Some(name.clone()),
            };
            let tasks = &association.target.tasks;
            let (_, task) = tasks.named(&kind, user, Function::PRESENT)?;
            let TaskParameters::PersistentQuery(parameters) = &task.parameters else {
                return Err(unsupported("package"));
            };
            let PersistentQuery::TaskPackage(package) = &**parameters else {
                return Err(unsupported("package"));
            };
            package.target_part.clone()
        }
    };
    let package = PersistentQuery::TaskPackage(persistent_query::TaskPackage {
        origin_part: request.to_keep.clone(),
        target_part: query,
    });
    Ok(Outcome::of(TaskStatus::COMPLETE, package))
}
