//! The tasks of all sessions, and their permissions (Z39.50-2003 §3.2.9.1.8 permissions-list). The tasks are kept in memory,
//! within limits, until the server ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use z3950_asn1::apdu::{AllowableFunction, Permission};
use z3950_asn1::codec::encode_value;
use z3950_asn1::es::{TaskPackage, TaskParameters, TaskStatus};
use z3950_asn1::oid::Oid;
use z3950_asn1::types::{GeneralizedTime, InternationalString};

use crate::backend::{Hits, ResultSet};
use crate::budget::{Account, Charge, DECODED};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::lock::lock;

/// The limits on the task store. A task that exceeds one of them, or half of
/// [`Limits::server_octets`](crate::Limits::server_octets), is refused with condition 220.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskLimits {
    /// The maximum number of tasks; by default, 10,000.
    pub tasks: usize,
    /// The maximum total size of the packages, in octets; by default, 64 MiB.
    pub octets: usize,
    /// The maximum total number of records in persistent result sets; by default, 16,000,000.
    pub hits: usize,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            tasks: 10_000,
            octets: 64 << 20,
            hits: 16_000_000,
        }
    }
}

/// The task store.
pub struct Tasks(Mutex<TaskTable>);

#[derive(Default)]
struct TaskTable {
    limits: TaskLimits,
    /// The charge for the tasks to the server's budget.
    charge: Charge,
    /// The tasks by number, in ascending order.
    tasks: BTreeMap<u32, Arc<Task>>,
    size: Size,
    last: u32,
}

/// The size of tasks, as limited by [`TaskLimits`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    octets: usize,
    hits: usize,
    /// The number of octets in memory, including the list of hits.
    kept: usize,
}

impl Size {
    /// Returns the size of a task: the octets of its package and hits, and the number of records kept for it.
    fn of(task: &Task) -> Self {
        let package = task.package(0);
        let package = package.and_then(|package| encode_value(&package).ok());
        let octets = package.map_or(0, |octets| octets.len());
        let hits = task.result_set.as_ref().map(|set| &set.hits);
        let decoded = match task.parameters {
            TaskParameters::PersistentQuery(_) => DECODED,
            // All other tasks consist mostly of records, which take less memory than decoded queries.
            _ => 2,
        };
        Self {
            octets,
            hits: hits.map_or(0, Hits::len),
            kept: octets.saturating_mul(decoded) + hits.map_or(0, Hits::octets),
        }
    }

    /// Returns the size after a task of size `less` is replaced with one of size `more`.
    fn changed(self, less: Self, more: Self) -> Self {
        let sum = |all: usize, less, more| all.saturating_sub(less).saturating_add(more);
        Self {
            octets: sum(self.octets, less.octets, more.octets),
            hits: sum(self.hits, less.hits, more.hits),
            kept: sum(self.kept, less.kept, more.kept),
        }
    }
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// The service and name of the task.
    pub(crate) kind: TaskKind,
    /// The user name as sent by the client.
    pub(crate) user_id: Option<InternationalString>,
    /// The authenticated user, who may perform all functions on the task.
    pub(crate) owner: Option<String>,
    pub(crate) permissions: Option<Vec<Permission>>,
    pub(crate) description: Option<InternationalString>,
    pub(crate) created: Option<GeneralizedTime>,
    pub(crate) status: TaskStatus,
    /// The contents of the package: the alternative `taskPackage` of the service's type.
    pub(crate) parameters: TaskParameters,
    /// The records of a persistent result set.
    pub(crate) result_set: Option<ResultSet>,
}

/// The service of a task, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskKind {
    pub(crate) package_type: Oid,
    pub(crate) name: Option<InternationalString>,
}

/// An operation on a task, subject to permissions.
pub(crate) type Function = AllowableFunction;

impl Default for Tasks {
    fn default() -> Self {
        Self::new(TaskLimits::default())
    }
}

impl Tasks {
    /// Creates an empty store.
    pub fn new(limits: TaskLimits) -> Self {
        Self(Mutex::new(TaskTable {
            limits,
            ..TaskTable::default()
        }))
    }

    /// Charges the store's memory to this account from now on.
    pub(crate) fn charged_to(self, account: Arc<Account>) -> Self {
        lock(&self.0).charge = Charge::to(&account);
        self
    }

    /// Checks whether a task of this kind could be added for the owner. This is checked before the service of the task is
    /// performed.
    ///
    /// # Errors
    /// Fails with condition 218 and the name if the owner has a task with this name, or with 220 for too many tasks.
    pub(crate) fn check_room(
        &self,
        kind: &TaskKind,
        owner: Option<&str>,
    ) -> Result<(), Diagnostic> {
        lock(&self.0).check_room(kind, owner)
    }

    /// Adds a task, and returns its number, which is the package's targetReference.
    ///
    /// # Errors
    /// Fails like [`Tasks::check_room`].
    pub(crate) fn add(&self, task: Task) -> Result<u32, Diagnostic> {
        let mut kept = lock(&self.0);
        kept.check_room(&task.kind, task.owner.as_deref())?;
        let number = kept.last.checked_add(1).ok_or_else(full)?;
        kept.put(number, task)?;
        kept.last = number;
        Ok(number)
    }

    /// Replaces the task with this number.
    ///
    /// # Errors
    /// Fails with condition 219 if the task no longer exists, or with 220 if the packages become too large.
    pub(crate) fn replace(&self, number: u32, task: Task) -> Result<(), Diagnostic> {
        let mut kept = lock(&self.0);
        if kept.tasks.contains_key(&number) {
            kept.put(number, task)
        } else {
            Err(unknown(&task.kind))
        }
    }

    pub(crate) fn remove(&self, number: u32) {
        let mut kept = lock(&self.0);
        if let Some(task) = kept.tasks.remove(&number) {
            kept.size = kept.size.changed(Size::of(&task), Size::default());
            let left = kept.size.kept;
            // Reducing a charge is never refused, so there is no error.
            let _ = kept.charge.set(left);
        }
    }

    /// Returns the task of this kind on which the user may perform the function, and its number. If there are several tasks, the
    /// user's own is preferred.
    ///
    /// # Errors
    /// Fails with condition 1008 for a kind without a name, with 219 if the task does not exist, or with 223 if the user has no
    /// permission.
    pub(crate) fn named(
        &self,
        kind: &TaskKind,
        user: Option<&str>,
        function: Function,
    ) -> Result<(u32, Arc<Task>), Diagnostic> {
        let name = kind
            .name
            .as_ref()
            .ok_or_else(|| diagnostic(Condition::PARAMETER_MISSING, "packageName"))?;
        let kept = lock(&self.0);
        let of_kind = || kept.tasks.iter().filter(|(_, task)| task.kind == *kind);
        let own = of_kind().find(|(_, task)| task.owner.as_deref() == user);
        let allowed = || of_kind().find(|(_, task)| task.allows(user, function));
        match own
            .filter(|(_, task)| task.allows(user, function))
            .or_else(allowed)
        {
            Some((number, task)) => Ok((*number, Arc::clone(task))),
            None if of_kind().any(|(_, task)| task.allows(user, Function::PRESENT)) => {
                Err(diagnostic(Condition::TASK_PERMISSION, name.as_bytes()))
            }
            None => Err(unknown(kind)),
        }
    }

    /// Returns the task with this number, if the user may see it.
    pub(crate) fn of_number(&self, number: u32, user: Option<&str>) -> Option<Arc<Task>> {
        let task = lock(&self.0).tasks.get(&number).cloned();
        task.filter(|task| task.allows(user, Function::PRESENT))
    }

    /// Returns the tasks that the user may see, by number.
    pub(crate) fn visible(&self, user: Option<&str>) -> Vec<(u32, Arc<Task>)> {
        let kept = lock(&self.0);
        let all = kept.tasks.iter();
        all.filter(|(_, task)| task.allows(user, Function::PRESENT))
            .map(|(number, task)| (*number, Arc::clone(task)))
            .collect()
    }
}

impl TaskTable {
    fn check_room(&self, kind: &TaskKind, owner: Option<&str>) -> Result<(), Diagnostic> {
        let is_taken = |task: &Arc<Task>| task.kind == *kind && task.owner.as_deref() == owner;
        if let Some(name) = &kind.name
            && self.tasks.values().any(is_taken)
        {
            return Err(diagnostic(Condition::TASK_NAME_IN_USE, name.as_bytes()));
        }
        if self.tasks.len() >= self.limits.tasks || self.size.octets >= self.limits.octets {
            return Err(full());
        }
        Ok(())
    }

    /// Adds a task with this number, or replaces the task that has this number.
    fn put(&mut self, number: u32, task: Task) -> Result<(), Diagnostic> {
        let before = self.tasks.get(&number).map(|before| Size::of(before));
        let size = self
            .size
            .changed(before.unwrap_or_default(), Size::of(&task));
        if size.octets > self.limits.octets || size.hits > self.limits.hits {
            return Err(full());
        }
        self.charge.set(size.kept).map_err(|_| full())?;
        self.size = size;
        self.tasks.insert(number, Arc::new(task));
        Ok(())
    }
}

fn full() -> Diagnostic {
    diagnostic(Condition::TASK_QUOTA, "")
}

fn unknown(kind: &TaskKind) -> Diagnostic {
    let name = kind.name.as_ref().map_or(&b""[..], |name| name.as_bytes());
    diagnostic(Condition::NO_SUCH_TASK, name)
}

impl Task {
    /// Returns the task's package; `None` if its parameters cannot be encoded.
    pub(crate) fn package(&self, number: u32) -> Option<TaskPackage> {
        Some(TaskPackage {
            package_type: self.kind.package_type,
            package_name: self.kind.name.clone(),
            user_id: self.user_id.clone(),
            retention_time: None,
            permissions: self.permissions.clone(),
            description: self.description.clone(),
            target_reference: Some(number.to_string().as_str().into()),
            creation_date_time: self.created.clone(),
            task_status: self.status,
            package_diagnostics: None,
            task_specific_parameters: self.specific()?,
        })
    }

    /// Returns the encoded parameters; `None` if they cannot be encoded. For an update, their object identifier is the package
    /// type of the task, which identifies the version of the update.
    fn specific(&self) -> Option<z3950_asn1::apdu::External> {
        let encoded = match &self.parameters {
            TaskParameters::Update(update) => update.to_external_as(self.kind.package_type),
            parameters => parameters.to_external(),
        };
        encoded.ok()
    }

    /// Returns whether the user may perform the function. The owner may perform all functions. For other users, the
    /// permissions-list decides, in which an entry without a user applies to everybody. A task without owner and permissions-list
    /// is open to everybody.
    pub(crate) fn allows(&self, user: Option<&str>, function: Function) -> bool {
        if self.owner.is_some() && self.owner.as_deref() == user {
            return true;
        }
        let Some(permissions) = &self.permissions else {
            return self.owner.is_none();
        };
        permissions.iter().any(|permission| {
            let name = permission.user_id.as_ref().map(|name| name.as_bytes());
            (name.is_none() || name == user.map(str::as_bytes))
                && permission.allowable_functions.contains(&function)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::oid::XML_ES;

    fn task(name: &str, owner: Option<&str>, size: usize) -> Task {
        Task {
            kind: kind(name),
            user_id: None,
            owner: owner.map(ToOwned::to_owned),
            permissions: None,
            description: None,
            created: None,
            status: TaskStatus::COMPLETE,
            parameters: TaskParameters::Xml(vec![b'x'; size].into()),
            result_set: None,
        }
    }

    fn kind(name: &str) -> TaskKind {
        TaskKind {
            package_type: XML_ES,
            name: Some(name.into()),
        }
    }

    fn condition<T>(result: Result<T, Diagnostic>) -> i64 {
        result.err().map_or(0, |diagnostic| diagnostic.condition)
    }

    #[test]
    fn limits_hold_at_and_past_them() {
        let tasks = Tasks::new(TaskLimits {
            tasks: 2,
            octets: 1000,
            hits: 0,
        });
        for (name, size, expected) in [("a", 10, 0), ("b", 1000, 220), ("b", 10, 0), ("c", 1, 220)]
        {
            assert_eq!(
                condition(tasks.add(task(name, None, size))),
                expected,
                "{name} {size}"
            );
        }
        assert_eq!(condition(tasks.replace(1, task("a", None, 1000))), 220);
        assert_eq!(condition(tasks.replace(1, task("a", None, 400))), 0);
        assert_eq!(condition(tasks.replace(9, task("a", None, 1))), 219);
        tasks.remove(1);
        tasks.remove(2);
        let size = lock(&tasks.0).size;
        assert_eq!((size, tasks.visible(None).len()), (Size::default(), 0));
        assert_eq!(
            tasks.add(task("d", None, 1)).ok(),
            Some(3),
            "numbers are not used again"
        );
    }

    #[test]
    fn names_belong_to_their_owners() {
        let tasks = Tasks::default();
        assert_eq!(condition(tasks.add(task("a", Some("ann"), 1))), 0);
        assert_eq!(condition(tasks.add(task("a", Some("ann"), 1))), 218);
        assert_eq!(condition(tasks.add(task("a", Some("bob"), 1))), 0);
        for (name, user, expected) in [
            ("a", Some("ann"), Ok(1)),
            ("a", Some("bob"), Ok(2)),
            ("a", Some("eve"), Err(219)),
            ("a", None, Err(219)),
            ("b", Some("ann"), Err(219)),
        ] {
            let named = tasks
                .named(&kind(name), user, Function::DELETE)
                .map(|(number, _)| number)
                .map_err(|why| why.condition);
            assert_eq!(named, expected, "{name} {user:?}");
        }
        let nameless = TaskKind {
            name: None,
            ..kind("")
        };
        assert_eq!(
            condition(tasks.named(&nameless, None, Function::DELETE)),
            1008
        );
    }

    #[test]
    fn permissions_are_those_of_the_list() {
        let permission = |user: Option<&str>, function| Permission {
            user_id: user.map(Into::into),
            allowable_functions: vec![function],
        };
        let listed = Task {
            permissions: Some(vec![
                permission(None, Function::PRESENT),
                permission(Some("bob"), Function::DELETE),
            ]),
            ..task("a", Some("ann"), 1)
        };
        for (task, user, function, expected) in [
            (&listed, Some("ann"), Function::MODIFY_CONTENTS, true),
            (&listed, Some("bob"), Function::DELETE, true),
            (&listed, Some("bob"), Function::MODIFY_CONTENTS, false),
            (&listed, None, Function::PRESENT, true),
            (&listed, None, Function::DELETE, false),
            (
                &task("a", Some("ann"), 1),
                Some("bob"),
                Function::PRESENT,
                false,
            ),
            (&task("a", None, 1), Some("bob"), Function::DELETE, true),
        ] {
            assert_eq!(task.allows(user, function), expected, "{user:?} {function}");
        }
        let tasks = Tasks::default();
        assert_eq!(tasks.add(listed).ok(), Some(1));
        assert_eq!(
            condition(tasks.named(&kind("a"), None, Function::DELETE)),
            223
        );
        assert!(tasks.of_number(1, None).is_some() && tasks.of_number(2, None).is_none());
    }
}
