//! Records that occur more than once: by their control number or by an ISBN.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, RandomState};

use z3950_marc::MarcRecord;
use z3950_marc::crosswalk::citation::isbns;

/// What makes two records the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DuplicateKey {
    ControlNumber,
    Isbn,
}

/// The values of `--dedupe`.
pub(super) const KEYS: [(&str, DuplicateKey, &str); 2] = [
    ("001", DuplicateKey::ControlNumber, "the same 001 and 003"),
    (
        "isbn",
        DuplicateKey::Isbn,
        "an ISBN in common (020, in UNIMARC 010), in either form",
    ),
];

/// The keys of the records so far, each as a fingerprint of 16 octets, so that a file of millions fits in memory. The hashers
/// have random keys: no file can be made to have equal fingerprints.
pub(super) struct Seen {
    key: DuplicateKey,
    hashers: [RandomState; 2],
    fingerprints: HashSet<[u64; 2]>,
}

impl Seen {
    pub(super) fn new(key: DuplicateKey) -> Self {
        Self {
            key,
            hashers: Default::default(),
            fingerprints: HashSet::new(),
        }
    }

    /// Whether an earlier record has a key of this one. The keys of a new record are added.
    pub(super) fn has(&mut self, record: &MarcRecord) -> bool {
        let keys: Vec<[u64; 2]> = match self.key {
            DuplicateKey::ControlNumber => {
                let number = record.control_number().filter(|number| !number.is_empty());
                // Control numbers are unique only together with the agency that assigned them.
                let agency = record.fields_by_tag("003").next();
                let agency = agency.map_or(&[][..], |field| field.body.trim_ascii());
                let key = number.map(|number| self.fingerprint((number, agency)));
                key.into_iter().collect()
            }
            DuplicateKey::Isbn => isbns(record).map(|isbn| self.fingerprint(isbn)).collect(),
        };
        let is_known = keys.iter().any(|key| self.fingerprints.contains(key));
        if !is_known {
            self.fingerprints.extend(keys);
        }
        is_known
    }

    fn fingerprint(&self, key: impl Hash) -> [u64; 2] {
        self.hashers.each_ref().map(|hasher| hasher.hash_one(&key))
    }
}

#[cfg(test)]
mod tests {
    use z3950_marc::mrk;

    use super::*;

    #[test]
    fn the_first_of_equal_records_is_kept() {
        for (key, records, expected) in [
            (
                DuplicateKey::ControlNumber,
                &[
                    "=001  a",
                    "=001  b",
                    "=001   a ",
                    "=003  X\n=001  a",
                    "=245  00$aNone",
                    "=245  00$aNone",
                ][..],
                &[false, false, true, false, false, false][..],
            ),
            (
                DuplicateKey::Isbn,
                &[
                    "=020  \\\\$a0306406152 (pbk.)",
                    "=020  \\\\$a9780141439518\n=020  \\\\$a978-0-306-40615-7",
                    // That of a record which was left out does not count.
                    "=020  \\\\$a0141439513",
                    "=020  \\\\$a0141439514",
                    "=020  \\\\$a0141439514",
                    "=020  \\\\$z0306406152",
                ],
                &[false, true, false, false, false, false],
            ),
        ] {
            let mut seen = Seen::new(key);
            let found: Vec<bool> = records
                .iter()
                .map(|lines| {
                    let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}\n");
                    let records = mrk::parse_all(&text).expect("a record");
                    seen.has(records.first().expect("a record"))
                })
                .collect();
            assert_eq!(found, expected, "{key:?}");
        }
    }
}
