//! IR-Extend-1: the task packages that a user may see, searched by the attributes of Ext-1 and presented in the record syntax
//! ESTaskPackage, as text and as XML (Z39.50-2003 §3.2.9.2, Appendices ATR.3 and REC).

use std::sync::{Arc, Mutex, PoisonError};

use z3950_asn1::apdu::{DatabaseName, External, ExternalValue};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::describe::Describe;
use z3950_asn1::es::persistent_result_set::{PersistentResultSet, TargetPart};
use z3950_asn1::es::{TaskPackage, TaskParameters};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::sutrs_external;

use super::{EXTEND_DATABASE, Task, Tasks, UseRules, find};
use crate::backend::{
    Answer, Backend, DatabaseInfo, Found, Hits, RecordId, Retrieve, Retrieved, Search, ready,
};
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::result_sets::ResultSet;

/// The database, as the user of a session sees it.
pub struct PackageDatabase {
    tasks: Arc<Tasks>,
    user: Option<String>,
    opened: Mutex<Vec<(Vec<u8>, ResultSet)>>,
}

/// Use attributes of Ext-1.
const USER_ID: i64 = 1;
const PACKAGE_NAME: i64 = 2;
const CREATION_DATE_TIME: i64 = 3;
const TASK_STATUS: i64 = 4;
const PACKAGE_TYPE: i64 = 5;

const RULES: UseRules = UseRules {
    attribute_set: oid::EXT_1,
    uses: &[
        USER_ID,
        PACKAGE_NAME,
        CREATION_DATE_TIME,
        TASK_STATUS,
        PACKAGE_TYPE,
    ],
};

impl PackageDatabase {
    /// The tasks that the user may see; `None` for a client that has not authenticated.
    pub fn new(tasks: Arc<Tasks>, user: Option<String>) -> Self {
        Self {
            tasks,
            user,
            opened: Mutex::default(),
        }
    }

    /// Takes the persistent result sets whose packages were presented since the last call, each with its name in the session.
    pub(crate) fn take_opened(&self) -> Vec<(Vec<u8>, ResultSet)> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *opened)
    }

    fn search(&self, search: &Search<'_>) -> Result<Hits, Diagnostic> {
        let tasks = self.tasks.visible(self.user.as_deref());
        let texts = tasks
            .iter()
            .map(|(number, task)| (RecordId(*number), texts(task)));
        let texts: Vec<_> = texts.collect();
        let records = || {
            let all = texts.iter();
            Box::new(all.map(|(record, texts)| (*record, texts.as_slice())))
                as Box<dyn Iterator<Item = _>>
        };
        Ok(find(&RULES, search, records)?.into_iter().collect())
    }

    fn retrieve(&self, wanted: &Retrieve<'_>) -> Result<External, Diagnostic> {
        let number = wanted.record.0;
        let task = self.tasks.of_number(number, self.user.as_deref());
        let task = task.ok_or_else(|| diagnostic(Condition::RECORD_DELETED, number.to_string()))?;
        let task = self.open(number, &task);
        let failed = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, number.to_string());
        let package = task.package(number).ok_or_else(failed)?;
        shown(&package, wanted.composition.syntax).ok_or_else(failed)
    }

    /// The task as presented: that of a persistent result set names a result set of the session.
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
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.retain(|(other, _)| *other != name.as_bytes());
        opened.push((name.into_bytes(), set));
        task
    }
}

/// The values of a task under the Use attributes, in lower case.
fn texts(task: &Task) -> Vec<(i64, String)> {
    let lower = |text: &[u8]| String::from_utf8_lossy(text).to_lowercase();
    let user = task.user_id.as_ref().map(|user| lower(user.as_bytes()));
    let name = task.kind.name.as_ref().map(|name| lower(name.as_bytes()));
    let created = task.created.as_ref().map(|time| lower(time.as_bytes()));
    let fixed = [
        (TASK_STATUS, task.status.0.to_string()),
        (TASK_STATUS, task.status.to_string()),
        (PACKAGE_TYPE, task.kind.package_type.to_string()),
    ];
    let optional = [
        (USER_ID, user),
        (PACKAGE_NAME, name),
        (CREATION_DATE_TIME, created),
    ];
    let optional = optional
        .into_iter()
        .filter_map(|(r#use, text)| Some((r#use, text?)));
    optional.chain(fixed).collect()
}

/// The package in a syntax; `None` if it cannot be encoded.
fn shown(package: &TaskPackage, syntax: Option<Oid>) -> Option<External> {
    match syntax {
        Some(oid::SUTRS) => sutrs_external(&package.describe().to_text()),
        Some(oid::XML | oid::APPLICATION_XML) => {
            let xml = package.describe().to_xml("taskPackage");
            Some(External::octet_aligned(syntax?, xml.into_bytes()))
        }
        _ => package.to_external().ok(),
    }
}

impl Backend for PackageDatabase {
    fn databases(&self) -> Vec<DatabaseInfo> {
        vec![DatabaseInfo {
            name: EXTEND_DATABASE.to_owned(),
            title: Some("Extended services".to_owned()),
            records: Some(self.tasks.visible(self.user.as_deref()).len()),
            syntaxes: SYNTAXES.to_vec(),
            ..DatabaseInfo::default()
        }]
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        ready(self.search(&search).map(Found::from))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        SYNTAXES.contains(syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        ready(Ok(Retrieved {
            database: DatabaseName::from(EXTEND_DATABASE),
            record: self.retrieve(&wanted),
        }))
    }
}

const SYNTAXES: &[Oid] = &[
    oid::TASK_PACKAGE,
    oid::SUTRS,
    oid::XML,
    oid::APPLICATION_XML,
];
