//! Counts the fields and subfields in the records of a file.

use std::collections::BTreeMap;

use crate::record::{MarcRecord, Tag};

/// The maximum number of different fields and subfields that are counted separately. The limit is needed because
/// damaged files may have any tags and codes.
pub const MAX_KINDS: usize = 20_000;

/// The counts of fields and subfields.
#[derive(Clone, Debug, Default)]
pub struct FieldCounts {
    records: u64,
    kinds: BTreeMap<(Tag, Box<[u8]>), Seen>,
    others: u64,
}

/// The number of occurrences of a field or subfield, and of records that have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// The number of fields or subfields.
    pub occurrences: u64,
    /// The number of records that have at least one of them.
    pub records: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: Count,
    /// The number of the last record that has the field or subfield, counted from 1.
    last: u64,
}

impl FieldCounts {
    /// Counts the fields of a record, and their subfields.
    pub fn add(&mut self, record: &MarcRecord) {
        self.records += 1;
        let code_length = record.leader.code_length();
        for field in &record.fields {
            self.count(field.tag, b"");
            for subfield in field.subfields_with(code_length) {
                if !subfield.code.is_empty() {
                    self.count(field.tag, subfield.code);
                }
            }
        }
    }

    fn count(&mut self, tag: Tag, code: &[u8]) {
        let key = (tag, Box::from(code));
        if self.kinds.len() >= MAX_KINDS && !self.kinds.contains_key(&key) {
            self.others += 1;
            return;
        }
        let records = self.records;
        let seen = self.kinds.entry(key).or_default();
        seen.count.occurrences += 1;
        seen.count.records += u64::from(seen.last != records);
        seen.last = records;
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the number of fields and subfields that are not counted separately because there are already [`MAX_KINDS`] different ones.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// Returns the counts in the order of tags. A tag with an empty code is the field itself; it is followed by the tag
    /// with each of its subfield codes.
    pub fn iter(&self) -> impl Iterator<Item = (Tag, &[u8], Count)> {
        let kinds = self.kinds.iter();
        kinds.map(|((tag, code), seen)| (*tag, &**code, seen.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Field;

    #[test]
    fn r_f15_fields_and_records_are_counted() {
        let mut counts = FieldCounts::default();
        let fields = [
            &[
                Field::control(b"001", "1"),
                Field::data(b"650", " 0", [("a", "War"), ("x", "y"), ("x", "z")]),
                Field::data(b"650", " 0", [("a", "Peace")]),
            ][..],
            &[Field::data(b"650", " 0", [("a", "War")])],
            &[],
        ];
        for fields in fields {
            let fields = fields.to_vec();
            counts.add(&MarcRecord {
                fields,
                ..MarcRecord::default()
            });
        }
        let found: Vec<_> = counts
            .iter()
            .map(|(tag, code, count)| (tag.0, code, count.occurrences, count.records))
            .collect();
        assert_eq!(
            found,
            [
                (*b"001", &b""[..], 1, 1),
                (*b"650", b"", 3, 2),
                (*b"650", b"a", 3, 2),
                (*b"650", b"x", 2, 1),
            ]
        );
        assert_eq!((counts.records(), counts.others()), (3, 0));
    }

    #[test]
    fn r_f15_kinds_are_bounded() {
        let mut counts = FieldCounts::default();
        for number in 0..=u16::MAX {
            let [high, low] = number.to_be_bytes();
            let fields = vec![Field::control(&[b'9', high, low], "x")];
            counts.add(&MarcRecord {
                fields,
                ..MarcRecord::default()
            });
        }
        let kinds = counts.iter().count();
        assert_eq!(kinds, MAX_KINDS);
        assert_eq!(
            counts.others()
                + counts
                    .iter()
                    .map(|(.., count)| count.occurrences)
                    .sum::<u64>(),
            1 << 16
        );
    }
}
