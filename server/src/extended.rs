//! The store of tasks for extended services (Z39.50-2003 §3.2.9), and the database IR-Extend-1, which shows their packages.
//! The module `service` converts requests to tasks.

mod lookup;
mod packages;
mod tasks;

use z3950_asn1::oid::{self, Oid};

pub(crate) use self::lookup::OwnDatabase;
pub(crate) use self::packages::PACKAGES;
pub use self::packages::PackageDatabase;
pub(crate) use self::tasks::{Function, Task, TaskKind};
pub use self::tasks::{TaskLimits, Tasks};

/// The database of task packages (Z39.50-2003 §3.2.9.2).
pub const EXTEND_DATABASE: &str = "IR-Extend-1";

/// The supported extended services, as the identifiers of their packages.
pub(crate) const EXTENDED_SERVICES: &[Oid] = &[
    oid::PERSISTENT_RESULT_SET,
    oid::PERSISTENT_QUERY,
    oid::ITEM_ORDER,
    oid::DATABASE_UPDATE,
    oid::DATABASE_UPDATE_2,
    oid::DATABASE_UPDATE_1,
    oid::XML_ES,
];

/// The extended services that change databases.
pub(crate) const UPDATES: &[Oid] = &[
    oid::DATABASE_UPDATE,
    oid::DATABASE_UPDATE_2,
    oid::DATABASE_UPDATE_1,
    oid::XML_ES,
];
