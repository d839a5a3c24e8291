//! Sorts records in bounded memory: the records are kept in an unnamed file, and only their keys in memory.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use bytes::Bytes;
use z3950_marc::order::SortKeys;
use z3950_marc::{Field, Leader, MarcRecord, Tag};

use crate::console::output::Failure;

/// The maximum size of all keys in octets.
const MAX_KEYS: usize = 512 << 20;

/// Records to be sorted, each with additional data from the caller.
pub(super) struct Sorter<T> {
    keys: SortKeys,
    most: usize,
    held: usize,
    file: BufWriter<File>,
    length: u64,
    entries: Vec<Entry<T>>,
}

/// A record in the unnamed file.
struct Entry<T> {
    key: Box<[u8]>,
    offset: u64,
    length: usize,
    data: T,
}

impl<T> Sorter<T> {
    pub(super) fn new(keys: SortKeys) -> Result<Self, Failure> {
        Ok(Self {
            keys,
            most: MAX_KEYS,
            held: 0,
            file: BufWriter::new(tempfile::tempfile().map_err(unsorted)?),
            length: 0,
            entries: Vec::new(),
        })
    }

    /// Adds a record, which must be in UTF-8.
    pub(super) fn add(&mut self, record: &MarcRecord, data: T) -> Result<(), Failure> {
        let key = self.keys.of(record).into_boxed_slice();
        self.held += key.len() + size_of::<Entry<T>>();
        if self.held > self.most {
            let words = format!(
                "--sort compares at most {} MiB of keys, which {} records have; convert parts of the input, such as --select 'year<1950'",
                self.most >> 20,
                self.entries.len()
            );
            return Err(Failure::Usage(words));
        }
        let octets = packed(record);
        self.file.write_all(&octets).map_err(unsorted)?;
        self.entries.push(Entry {
            key,
            offset: self.length,
            length: octets.len(),
            data,
        });
        self.length += u64::try_from(octets.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Returns the records in order. Records with equal keys stay in the order in which they were added.
    pub(super) fn sorted(
        mut self,
    ) -> Result<impl Iterator<Item = Result<(MarcRecord, T), Failure>>, Failure> {
        self.file.flush().map_err(unsorted)?;
        let mut file = self
            .file
            .into_inner()
            .map_err(|error| unsorted(error.into_error()))?;
        let mut entries = self.entries;
        entries.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(entries.into_iter().map(move |entry| {
            let mut octets = vec![0; entry.length];
            let read = file
                .seek(SeekFrom::Start(entry.offset))
                .and_then(|_| file.read_exact(&mut octets));
            read.map_err(unsorted)?;
            let record = unpacked(octets.into())
                .ok_or_else(|| unsorted(io::ErrorKind::InvalidData.into()))?;
            Ok((record, entry.data))
        }))
    }
}

fn unsorted(error: io::Error) -> Failure {
    Failure::machine("sort the records in a temporary file", &error)
}

/// Returns the record as its leader, followed by each field with the length of its body. ISO 2709 is not used,
/// because it limits the length of records.
fn packed(record: &MarcRecord) -> Vec<u8> {
    let mut octets = record.leader.0.to_vec();
    for field in &record.fields {
        let length = u32::try_from(field.body.len()).unwrap_or(u32::MAX);
        octets.extend(field.tag.0);
        octets.extend(length.to_be_bytes());
        octets.extend(&field.body);
    }
    octets
}

fn unpacked(mut octets: Bytes) -> Option<MarcRecord> {
    let leader = Leader(octets.as_ref().get(..Leader::LENGTH)?.try_into().ok()?);
    let mut rest = octets.split_off(Leader::LENGTH);
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let tag = Tag(rest.as_ref().get(..3)?.try_into().ok()?);
        let length = u32::from_be_bytes(rest.as_ref().get(3..7)?.try_into().ok()?);
        let end = usize::try_from(length).ok()?.checked_add(7)?;
        let body = (end <= rest.len()).then(|| rest.slice(7..end))?;
        rest = rest.split_off(end);
        fields.push(Field { tag, body });
    }
    Some(MarcRecord { leader, fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: usize, title: &str) -> MarcRecord {
        MarcRecord {
            fields: vec![
                Field::control(b"001", number.to_string().into_bytes()),
                Field::data(b"245", "00", [("a", title)]),
                Field::control(b"900", ""),
            ],
            ..MarcRecord::default()
        }
    }

    #[test]
    fn r_f15_records_come_back_in_order() {
        let mut sorter = Sorter::new("title".parse().expect("keys")).expect("a file");
        let titles = ["c", "a", "", "b", "a"];
        for (number, title) in titles.iter().enumerate() {
            let record = record(number, title);
            sorter.add(&record, number).expect("room");
        }
        let found: Vec<_> = sorter
            .sorted()
            .expect("a file")
            .map(Result::unwrap)
            .collect();
        let numbers: Vec<usize> = found.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, [1, 4, 3, 0, 2]);
        for (found, number) in found {
            assert_eq!(found, record(number, titles[number]));
        }
    }

    #[test]
    fn r_f15_keys_have_a_limit() {
        let mut sorter = Sorter::new("title".parse().expect("keys")).expect("a file");
        let record = record(1, "a");
        sorter.add(&record, ()).expect("room");
        sorter.most = 2 * sorter.held;
        sorter.add(&record, ()).expect("room for two");
        let refused = sorter.add(&record, ());
        let words = refused.expect_err("no room").to_string();
        assert!(words.contains("which 2 records have"), "{words}");
    }
}
