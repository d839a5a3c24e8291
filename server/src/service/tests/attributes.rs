//! Checks that the test tables include every attribute value that the memory backend declares.

use z3950_asn1::bib1::attributes::USE;

use crate::backend::Backend;
use crate::memory::MemoryBackend;

#[test]
fn every_value_declared_has_a_query() {
    // The values of Use are in a table that has its own test.
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
