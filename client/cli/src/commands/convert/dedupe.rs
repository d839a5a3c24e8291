//! Finds repeated records by their control number or by an ISBN.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

use z3950_marc::MarcRecord;
use z3950_marc::crosswalk::citation::isbns;

/// The criterion for treating two records as the same.
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

impl DuplicateKey {
    /// Describes in words what a repeated record has in common with an earlier record.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::ControlNumber => "the same 001 and 003",
            Self::Isbn => "an ISBN in common",
        }
    }
}

/// The keys of the records so far, each with the number of its record. A key is stored as a fingerprint of 16 octets,
/// so that the keys for a file with millions of records fit in memory. The hashers have random keys, so that nobody can
/// construct records with equal fingerprints.
pub(super) struct Seen {
    pub(super) key: DuplicateKey,
    hashers: [RandomState; 2],
    fingerprints: HashMap<[u64; 2], u64>,
}

impl Seen {
    pub(super) fn new(key: DuplicateKey) -> Self {
        Self {
            key,
            hashers: Default::default(),
            fingerprints: HashMap::new(),
        }
    }

    /// Returns the number of the earlier record that has a key in common with this record. If there is none, the keys
    /// of this record are stored.
    pub(super) fn earlier(&mut self, record: &MarcRecord, number: u64) -> Option<u64> {
        let keys: Vec<[u64; 2]> = match self.key {
            DuplicateKey::ControlNumber => {
                let number = record.control_number().filter(|number| !number.is_empty());
                // Control numbers are unique only together with the agency that assigned them.
                let agency = record
                    .fields_by_tag("003")
                    .next()
                    .map_or(&[][..], |field| field.body.trim_ascii());
                let key = number.map(|number| self.fingerprint((number, agency)));
                key.into_iter().collect()
            }
            DuplicateKey::Isbn => isbns(record).map(|isbn| self.fingerprint(isbn)).collect(),
        };
        let earlier = keys
            .iter()
            .find_map(|key| self.fingerprints.get(key))
            .copied();
        if earlier.is_none() {
            let keys = keys.into_iter().map(|key| (key, number));
            self.fingerprints.extend(keys);
        }
        earlier
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
                &[0, 0, 1, 0, 0, 0][..],
            ),
            (
                DuplicateKey::Isbn,
                &[
                    "=020  \\\\$a0306406152 (pbk.)",
                    "=020  \\\\$a9780141439518\n=020  \\\\$a978-0-306-40615-7",
                    // Only the previous record has this ISBN, and that record was left out, so its ISBN does not count.
                    "=020  \\\\$a0141439513",
                    "=020  \\\\$a0141439514",
                    "=020  \\\\$a0141439514",
                    "=020  \\\\$z0306406152",
                ],
                &[0, 1, 0, 0, 0, 0],
            ),
        ] {
            let mut seen = Seen::new(key);
            let found: Vec<u64> = (1..)
                .zip(records)
                .map(|(number, lines)| {
                    let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}\n");
                    let records = mrk::parse_all(&text).expect("a record");
                    let record = records.first().expect("a record");
                    seen.earlier(record, number).unwrap_or_default()
                })
                .collect();
            assert_eq!(found, expected, "{key:?}");
        }
    }
}
