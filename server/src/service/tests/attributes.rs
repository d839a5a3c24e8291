//! Every value of an attribute that the memory backend declares is searched with in the tables of its tests.

use z3950_asn1::bib1::attributes::USE;

use crate::backend::Backend;
use crate::memory::MemoryBackend;

#[test]
fn every_value_declared_has_a_query() {
    // Those of Use have a table of their own, which is held against the declared ones where it stands.
    let tables = include_str!("../../memory/eval/tests/attributes.rs");
    let databases = MemoryBackend::demo().databases();
    let declared = databases.iter().flat_map(|database| &database.attributes);
    let untried: Vec<_> = declared
        .filter(|attribute| attribute.attribute_type != USE)
        .map(|attribute| format!("@attr {}={} ", attribute.attribute_type, attribute.value))
        .filter(|text| !tables.contains(text))
        .collect();
    assert!(untried.is_empty(), "no query with {untried:?}");
}
