//! The checks, with one file per service.

mod close;
mod delete;
mod element_sets;
mod explain;
mod extended;
mod hostile;
mod init;
mod negotiation;
mod operations;
mod piggyback;
mod present;
mod queries;
mod reference_ids;
mod resources;
mod result_sets;
mod scan;
mod search;
mod segments;
mod sort;
mod syntaxes;
mod terms;
pub(super) mod updates;

use super::check::Check;

/// The permission that a check needs from the person who runs the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// No permission is needed, because the check only sends what any client may send.
    None,
    /// Permission to send octets that the standard forbids.
    Hostile,
    /// Permission to store and delete records.
    Update,
}

/// Returns all checks in the order in which they are run: first the checks of Init, and last the hostile checks.
pub fn all() -> impl Iterator<Item = (Permission, &'static Check)> {
    let groups = [
        (Permission::None, init::CHECKS),
        (Permission::None, negotiation::CHECKS),
        (Permission::None, reference_ids::CHECKS),
        (Permission::None, search::CHECKS),
        (Permission::None, queries::CHECKS),
        (Permission::None, terms::CHECKS),
        (Permission::None, result_sets::CHECKS),
        (Permission::None, piggyback::CHECKS),
        (Permission::None, present::CHECKS),
        (Permission::None, syntaxes::CHECKS),
        (Permission::None, element_sets::CHECKS),
        (Permission::None, segments::CHECKS),
        (Permission::None, scan::CHECKS),
        (Permission::None, sort::CHECKS),
        (Permission::None, delete::CHECKS),
        (Permission::None, operations::CHECKS),
        (Permission::None, resources::CHECKS),
        (Permission::None, extended::CHECKS),
        (Permission::None, explain::CHECKS),
        (Permission::Update, updates::CHECKS),
        (Permission::None, close::CHECKS),
        (Permission::Hostile, scan::HOSTILE),
        (Permission::Hostile, hostile::CHECKS),
    ];
    groups
        .into_iter()
        .flat_map(|(permission, checks)| checks.iter().map(move |check| (permission, check)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_requirements_cite_their_source() {
        let mut names: Vec<&str> = all().map(|(_, check)| check.requirement.name).collect();
        let count = names.len();
        assert!(count >= 120, "{count}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for (_, check) in all() {
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
            let sources = [
                "Z39.50-2003 §",
                "Z39.50-2003 Appendix ",
                "Z39.50 clarification",
                "Z39.50 agreement",
                "Bib-1",
                "RFC 2056",
                "X.690 §",
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
        }
    }
}
