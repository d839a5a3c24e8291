//! Attribute sets by their common names, which extend the names from the registry in [`crate::oid`] (Z39.50-2003
//! Appendix OID; later registrations by the Maintenance Agency).

use super::suggest::nearest;
use crate::oid::{self, Oid};

/// Other names of the sets in [`crate::oid`], and the names of sets that were registered later.
const FURTHER_NAMES: &[(&str, Oid)] = &[
    ("GILS-attset", oid::GILS),
    ("STAS-attset", oid::STAS),
    ("Collections-attset", oid::COLLECTIONS),
    ("CIMI-attset", oid::CIMI),
    ("Geo-attset", oid::GEO),
    ("Fin-1", Oid::z3950(&[3, 14])),
    ("Dan-1", Oid::z3950(&[3, 15])),
    ("Holdings", Oid::z3950(&[3, 16])),
    ("MARC", Oid::z3950(&[3, 17])),
    ("Thesaurus-attset", Oid::z3950(&[3, 1000, 81, 1])),
    ("IDXPATH", Oid::z3950(&[3, 1000, 81, 2])),
    ("EXTLITE", Oid::z3950(&[3, 1000, 81, 3])),
];

fn known() -> impl Iterator<Item = (&'static str, Oid)> {
    Oid::registered(3).chain(FURTHER_NAMES.iter().copied())
}

/// Returns the attribute set with the given name, or with the given object identifier in dotted form; `None` if the
/// text is neither.
///
/// As in YAZ, case and hyphens are ignored: `bib1` is Bib-1.
pub fn attribute_set(text: &str) -> Option<Oid> {
    match known().find(|(name, _)| is_same(name, text)) {
        Some((_, set)) => Some(set),
        None => text.parse().ok(),
    }
}

fn is_same(name: &str, text: &str) -> bool {
    let letters = |text: &str| {
        text.bytes()
            .filter(|octet| *octet != b'-')
            .map(|octet| octet.to_ascii_lowercase())
            .collect::<Vec<u8>>()
    };
    letters(name) == letters(text)
}

/// Returns `; did you mean …?` if a known name is similar to this unknown name.
pub(super) fn suggestion(text: &str) -> String {
    nearest(text, known().map(|(name, _)| name))
        .map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// Returns the name of an attribute set, if it has a name that [`attribute_set`] accepts.
pub fn attribute_set_name(set: &Oid) -> Option<&'static str> {
    known()
        .find(|(_, known)| known == set)
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_identifiers() {
        for (text, set) in [
            ("bib-1", Some(oid::BIB_1)),
            ("gils", Some(oid::GILS)),
            ("exp1", Some(oid::EXP_1)),
            ("GILS-attset", Some(oid::GILS)),
            ("idxpath", Some(Oid::z3950(&[3, 1000, 81, 2]))),
            ("1.2.840.10003.3.5", Some(oid::GILS)),
            ("1.2.3", Oid::from_arcs(&[1, 2, 3])),
            ("usmarc", None),
            ("", None),
            ("nothing", None),
        ] {
            assert_eq!(attribute_set(text), set, "{text}");
        }
        for (set, name) in [
            (oid::BIB_1, Some("Bib-1")),
            (oid::STAS, Some("STAS")),
            (Oid::z3950(&[3, 17]), Some("MARC")),
            (oid::USMARC, None),
            (Oid::z3950(&[3, 99]), None),
        ] {
            assert_eq!(attribute_set_name(&set), name);
        }
        for (text, expected) in [
            ("gisl", "; did you mean GILS?"),
            ("bib-l", "; did you mean Bib-1?"),
            ("something", ""),
        ] {
            assert_eq!(suggestion(text), expected);
        }
        assert_eq!(Oid::registered(3).count(), 15);
        for (name, set) in known() {
            assert_eq!(attribute_set(name), Some(set));
            assert!(attribute_set_name(&set).is_some(), "{name}");
        }
    }
}
