//! The database IR-Extend-1 with the task packages that a user may see. They are searched by Ext-1 attributes and presented in
//! the record syntax ESTaskPackage, as text and as XML (Z39.50-2003 §3.2.9.2, Appendices ATR.3 and REC).

use std::sync::{Arc, Mutex};

use z3950_asn1::apdu::{DatabaseName, External};
use z3950_asn1::es::TaskParameters;
use z3950_asn1::es::persistent_result_set::{PersistentResultSet, TargetPart};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::types::InternationalString;

use super::{EXTEND_DATABASE, OwnDatabase, Task, Tasks};
use crate::backend::{
    Answer, Backend, DatabaseInfo, Found, Hits, RecordId, ResultSet, Retrieve, Retrieved, Search,
    ready,
};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::lock::lock;

/// The database IR-Extend-1 with the packages that one user may see.
pub struct PackageDatabase {
    tasks: Arc<Tasks>,
    user: Option<String>,
    opened: Mutex<Vec<(Vec<u8>, ResultSet)>>,
}

/// The Ext-1 Use attributes.
const USER_ID: i64 = 1;
const PACKAGE_NAME: i64 = 2;
const CREATION_DATE_TIME: i64 = 3;
const TASK_STATUS: i64 = 4;
const PACKAGE_TYPE: i64 = 5;

/// The syntax and attributes of IR-Extend-1.
pub(crate) const PACKAGES: OwnDatabase = OwnDatabase {
    name: EXTEND_DATABASE,
    title: "Extended services",
    syntax: oid::TASK_PACKAGE,
    attribute_set: oid::EXT_1,
    uses: &[
        (USER_ID, "UserId"),
        (PACKAGE_NAME, "PackageName"),
        (CREATION_DATE_TIME, "CreationDateTime"),
        (TASK_STATUS, "TaskStatus"),
        (PACKAGE_TYPE, "PackageType"),
    ],
};

impl PackageDatabase {
    /// Creates the database of the tasks that the user may see; `user` is `None` for a client that has not authenticated.
    pub fn new(tasks: Arc<Tasks>, user: Option<String>) -> Self {
        Self {
            tasks,
            user,
            opened: Mutex::default(),
        }
    }

    /// Removes and returns the persistent result sets whose packages were presented since the last call, with their names in the
    /// session.
    pub(crate) fn take_opened(&self) -> Vec<(Vec<u8>, ResultSet)> {
        std::mem::take(&mut *lock(&self.opened))
    }

    fn search(&self, search: &Search<'_>) -> Result<Hits, Diagnostic> {
        let tasks = self.tasks.visible(self.user.as_deref()).into_iter();
        let texts = tasks.map(|(number, task)| (RecordId(i64::from(number)), texts(&task)));
        let found = PACKAGES.find(search, &texts.collect::<Vec<_>>())?;
        Ok(found.into_iter().collect())
    }

    fn retrieve(&self, wanted: &Retrieve<'_>) -> Result<External, Diagnostic> {
        let RecordId(number) = wanted.record;
        let deleted = || diagnostic(Condition::RECORD_DELETED, number.to_string());
        let number = u32::try_from(number).map_err(|_| deleted())?;
        let task = self
            .tasks
            .of_number(number, self.user.as_deref())
            .ok_or_else(deleted)?;
        let task = self.open(number, &task);
        let failed = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, number.to_string());
        let package = task.package(number).ok_or_else(failed)?;
        let syntax = wanted.composition.syntax;
        let shown = PACKAGES.shown(&package, "taskPackage", syntax);
        shown.ok_or_else(failed)
    }

    /// Returns the task in the form to be presented. If the task is a persistent result set, the returned task names a result set
    /// of the session.
    fn open(&self, number: u32, task: &Task) -> Task {
        let mut task = task.clone();
        let Some(set) = task.result_set.clone() else {
            return task;
        };
        let name = format!("persistent-{number}");
        if let TaskParameters::PersistentResultSet(parameters) = &mut task.parameters
            && let PersistentResultSet::TaskPackage(package) = &mut **parameters
        {
            let target_part = package.target_part.get_or_insert_with(TargetPart::default);
            target_part.target_supplied_result_set = Some(name.as_str().into());
        }
        let mut opened = lock(&self.opened);
        opened.retain(|(other, _)| *other != name.as_bytes());
        opened.push((name.into_bytes(), set));
        task
    }
}

/// Returns the strings by which a task is found, each with its Use attribute and in lower case.
fn texts(task: &Task) -> Vec<(i64, String)> {
    let lower = |text: &InternationalString| text.to_string_lossy().to_lowercase();
    let created = task.created.as_ref().map(|time| time.to_string_lossy());
    let texts = [
        (USER_ID, task.user_id.as_ref().map(lower)),
        (PACKAGE_NAME, task.kind.name.as_ref().map(lower)),
        (CREATION_DATE_TIME, created.map(|time| time.to_lowercase())),
        (TASK_STATUS, Some(task.status.0.to_string())),
        (TASK_STATUS, Some(task.status.to_string())),
        (PACKAGE_TYPE, Some(task.kind.package_type.to_string())),
    ];
    let texts = texts.into_iter();
    texts
        .filter_map(|(r#use, text)| Some((r#use, text?)))
        .collect()
}

impl Backend for PackageDatabase {
    fn databases(&self) -> Vec<DatabaseInfo> {
        vec![DatabaseInfo {
            records: Some(self.tasks.visible(self.user.as_deref()).len()),
            ..PACKAGES.info()
        }]
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        ready(self.search(&search).map(Found::from))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        PACKAGES.has_syntax(syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        ready(Ok(Retrieved::new(
            DatabaseName::from(EXTEND_DATABASE),
            self.retrieve(&wanted),
        )))
    }
}
