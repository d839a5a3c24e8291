//! Bib-1: the attribute set for searches (1.2.840.10003.3.1) and the diagnostic set for responses (1.2.840.10003.4.1).
//! Both are tables of numbers and meanings, sorted by number (Z39.50-2003 §ATR.1, §ERR.1, and later values from the
//! Maintenance Agency).

pub mod attributes;
pub mod diagnostics;

/// Looks up a number in a table that is sorted by number.
pub(crate) fn find<T: Copy>(table: &[(i64, T)], number: i64) -> Option<T> {
    let index = table
        .binary_search_by_key(&number, |(known, _)| *known)
        .ok()?;
    table.get(index).map(|(_, found)| *found)
}

#[cfg(test)]
fn assert_sorted<T: Copy>(table: &[(i64, T)]) {
    for pair in table.windows(2) {
        let [(before, _), (after, _)] = pair else {
            unreachable!("windows of two")
        };
        assert!(before < after, "{before} comes before {after}");
    }
}
