//! The checks of SRU, with a file for each subject. Most checks run in each version that the server supports, and their names end
//! with the version.

mod diagnostics;
mod echo;
mod explain;
mod hostile;
mod http;
mod order;
mod packing;
mod query;
mod records;
mod scan;
mod search;
mod sets;
mod sort;
mod versions;

use crate::server::check::Check;
use crate::server::checks::Permission;

/// Expands to the source of a requirement for a version of SRU.
macro_rules! source {
    (V1_1 search $what:literal) => {
        concat!("SRU 1.1 searchRetrieve, ", $what)
    };
    (V1_2 search $what:literal) => {
        concat!("SRU 1.2 searchRetrieve, ", $what)
    };
    (V2_0 search $what:literal) => {
        concat!("SRU 2.0 (searchRetrieve 1.0 Part 3), ", $what)
    };
    (any search $what:literal) => {
        concat!("SRU searchRetrieve, ", $what)
    };
    (V1_1 scan $what:literal) => {
        concat!("SRU 1.1 scan, ", $what)
    };
    (V1_2 scan $what:literal) => {
        concat!("SRU 1.2 scan, ", $what)
    };
    (V2_0 scan $what:literal) => {
        concat!("scan (searchRetrieve 1.0 Part 6), ", $what)
    };
    (any scan $what:literal) => {
        concat!("SRU scan, ", $what)
    };
    (V1_1 explain $what:literal) => {
        concat!("SRU 1.1 explain, ", $what)
    };
    (V1_2 explain $what:literal) => {
        concat!("SRU 1.2 explain, ", $what)
    };
    (V2_0 explain $what:literal) => {
        concat!("explain (searchRetrieve 1.0 Part 7), ", $what)
    };
    (any explain $what:literal) => {
        concat!("ZeeRex 2.0, ", $what)
    };
    ($version:ident cql $what:literal) => {
        concat!("CQL 1.2 (searchRetrieve 1.0 Part 5), ", $what)
    };
    ($version:ident diagnostic $what:literal) => {
        concat!("SRU diagnostics, ", $what)
    };
    ($version:ident soap $what:literal) => {
        concat!("SRU via SOAP, ", $what)
    };
    ($version:ident standard $what:literal) => {
        $what
    };
    ($version:ident practice $what:literal) => {
        concat!("practice, ", $what)
    };
}

/// Defines a table of checks. Each has a name, a level, versions, a source, a requirement, and a function, with the arguments
/// that follow the trial and the version. `all`, `old` (1.1 and 1.2), `first` (1.1) and `new` (2.0) define a check for each of
/// these versions. `any` defines one check, in the latest version that the server supports.
macro_rules! sru_checks {
    ($($name:literal $level:ident $versions:ident $kind:ident $what:literal: $requirement:literal
        => $run:ident $(($($argument:expr),*))?;)*) => {
        &[$(sru_checks!(@$versions $name $level $kind $what $requirement $run $(($($argument),*))?)),*]
    };
    (@all $($rest:tt)*) => {
        &[
            sru_checks!(@one V1_1 ".1-1" $($rest)*),
            sru_checks!(@one V1_2 ".1-2" $($rest)*),
            sru_checks!(@one V2_0 ".2-0" $($rest)*),
        ] as &[Check]
    };
    (@old $($rest:tt)*) => {
        &[
            sru_checks!(@one V1_1 ".1-1" $($rest)*),
            sru_checks!(@one V1_2 ".1-2" $($rest)*),
        ] as &[Check]
    };
    (@first $($rest:tt)*) => { &[sru_checks!(@one V1_1 ".1-1" $($rest)*)] as &[Check] };
    (@new $($rest:tt)*) => { &[sru_checks!(@one V2_0 ".2-0" $($rest)*)] as &[Check] };
    (@any $name:literal $level:ident $kind:ident $what:literal $requirement:literal
        $run:ident $(($($argument:expr),*))?) => {
        &[Check {
            requirement: $crate::Requirement {
                name: $name,
                level: $crate::Level::$level,
                section: source!(any $kind $what),
                text: $requirement,
            },
            run: $crate::server::check::Procedure::Sru(|trial| Box::pin(async move {
                let version = trial.main()?;
                $run(trial, version $($(, $argument)*)?).await
            })),
        }] as &[Check]
    };
    (@one $version:ident $suffix:literal $name:literal $level:ident $kind:ident $what:literal $requirement:literal
        $run:ident $(($($argument:expr),*))?) => {
        Check {
            requirement: $crate::Requirement {
                name: concat!($name, $suffix),
                level: $crate::Level::$level,
                section: source!($version $kind $what),
                text: $requirement,
            },
            run: $crate::server::check::Procedure::Sru(|trial| Box::pin(async move {
                let version = z3950_asn1::sru::Version::$version;
                trial.offered(version)?;
                $run(trial, version $($(, $argument)*)?).await
            })),
        }
    };
}
use {source, sru_checks};

/// Returns all SRU checks in the order in which they are run, with the hostile checks last.
pub fn all() -> impl Iterator<Item = (Permission, &'static Check)> {
    let groups = [
        (Permission::None, versions::CHECKS),
        (Permission::None, order::CHECKS),
        (Permission::None, search::CHECKS),
        (Permission::None, records::CHECKS),
        (Permission::None, packing::CHECKS),
        (Permission::None, diagnostics::CHECKS),
        (Permission::None, query::CHECKS),
        (Permission::None, sort::CHECKS),
        (Permission::None, scan::CHECKS),
        (Permission::None, explain::CHECKS),
        (Permission::None, sets::CHECKS),
        (Permission::None, echo::CHECKS),
        (Permission::None, http::CHECKS),
        (Permission::Hostile, hostile::CHECKS),
    ];
    groups.into_iter().flat_map(|(permission, tables)| {
        let checks = tables.iter().copied().flatten();
        checks.map(move |check| (permission, check))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_requirements_cite_their_source() {
        let mut names: Vec<&str> = all().map(|(_, check)| check.requirement.name).collect();
        let count = names.len();
        assert!(count >= 180, "{count}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for (_, check) in all() {
            let sources = [
                "SRU ",
                "scan (",
                "explain (",
                "CQL ",
                "ZeeRex ",
                "RFC ",
                "XML ",
                "SOAP ",
                "practice",
            ];
            let is_cited = sources
                .iter()
                .any(|source| check.requirement.section.starts_with(source));
            assert!(
                is_cited,
                "{}: {}",
                check.requirement.name, check.requirement.section
            );
            assert!(
                check.requirement.name.contains('.'),
                "{}",
                check.requirement.name
            );
            assert!(
                check.stands_alone(),
                "{}: {}",
                check.requirement.name,
                check.requirement.text
            );
        }
    }
}
