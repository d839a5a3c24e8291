//! Tests of journals that are cut off, damaged or written by a newer version, and of journals on disks that are full or that lose
//! unsynced writes.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use redb::StorageBackend;
use z3950_marc::iso2709;

use super::contents::JournalEnd;
use super::*;
use crate::lock::lock;
use crate::testing::record;

/// A disk in memory. A power failure loses writes that have not been synced.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<DiskState>>);

#[derive(Debug, Default)]
struct DiskState {
    synced: Vec<u8>,
    octets: Vec<u8>,
    /// The writes since the last sync.
    writes: Vec<DiskWrite>,
    /// The number of writes and syncs that still succeed; `None` for no limit.
    left: Option<usize>,
}

#[derive(Clone, Debug)]
enum DiskWrite {
    Length(usize),
    Octets(usize, Vec<u8>),
}

impl DiskWrite {
    /// Applies the part of a write that is within the file's length: the file system may have recorded a new length before it
    /// wrote the octets.
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Length(length) => to.resize(*length, 0),
            Self::Octets(at, octets) => {
                for (octet, place) in octets.iter().zip(to.iter_mut().skip(*at)) {
                    *place = *octet;
                }
            }
        }
    }
}

impl DiskState {
    fn write(&mut self, write: DiskWrite) -> io::Result<()> {
        self.spend()?;
        write.apply(&mut self.octets);
        self.writes.push(write);
        Ok(())
    }

    fn spend(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some(0) => Err(io::ErrorKind::StorageFull.into()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.0).octets.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let at = usize::try_from(offset).expect("small");
        let state = lock(&self.0);
        let octets = state.octets.get(at..at + out.len());
        out.copy_from_slice(octets.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).expect("small");
        lock(&self.0).write(DiskWrite::Length(length))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = lock(&self.0);
        state.spend()?;
        state.synced = state.octets.clone();
        state.writes.clear();
        Ok(())
    }

    fn write(&self, offset: u64, octets: &[u8]) -> io::Result<()> {
        let at = usize::try_from(offset).expect("small");
        lock(&self.0).write(DiskWrite::Octets(at, octets.to_vec()))
    }
}

impl Disk {
    /// Opens the journal on this disk.
    fn journal(&self) -> Result<Journal, JournalError> {
        let opened = guarded(|| {
            let mut builder = Builder::new();
            Ok(builder
                .set_cache_size(CACHE)
                .create_with_backend(self.clone())?)
        });
        Ok(Journal {
            path: path(),
            database: opened.map_err(|error| unwritable(&path())(cause(error)))?,
        })
    }

    /// Returns a disk with a new journal, and the journal.
    fn begun() -> (Self, Journal) {
        let disk = Self::default();
        let journal = disk.journal().expect("begins");
        journal.begin(&base(), "001").expect("begins");
        (disk, journal)
    }

    /// Returns the contents of the disk if the process is killed now.
    fn killed(&self) -> Vec<u8> {
        lock(&self.0).octets.clone()
    }

    /// Returns a possible state of the disk after a power failure now: each of the unsynced writes is lost, applied completely,
    /// or applied in only some of its sectors.
    fn cut_off(&self, mut random: impl FnMut(usize) -> usize) -> Vec<u8> {
        const SECTOR: usize = 512;
        let state = lock(&self.0);
        let mut octets = state.synced.clone();
        for write in &state.writes {
            match (random(3), write) {
                (0, _) => {}
                (1, DiskWrite::Octets(at, new)) => {
                    for (number, sector) in new.chunks(SECTOR).enumerate() {
                        if random(2) == 0 {
                            let sector = DiskWrite::Octets(at + number * SECTOR, sector.to_vec());
                            sector.apply(&mut octets);
                        }
                    }
                }
                _ => write.apply(&mut octets),
            }
        }
        octets
    }
}

fn path() -> PathBuf {
    PathBuf::from("cat.mrc.journal")
}

fn base() -> Fingerprint {
    Fingerprint("0 base".to_owned())
}

/// Returns the change with this number: an even number inserts a record, and an odd number deletes one.
fn change(number: u64) -> RecordChange {
    let id = format!("id{number}");
    let record = record(&id, &format!("Title {number}"));
    let octets = iso2709::encode(&record).expect("valid").into();
    RecordChange {
        id: id.into(),
        record: number.is_multiple_of(2).then_some(octets),
    }
}

fn changes(numbers: std::ops::RangeInclusive<u64>) -> Vec<RecordChange> {
    numbers.map(change).collect()
}

fn append(journal: &Journal, numbers: std::ops::RangeInclusive<u64>) -> Result<u64, JournalError> {
    journal.append(numbers.start() - 1, changes(numbers).iter())
}

fn read(octets: &[u8]) -> Result<JournalContents, JournalError> {
    JournalContents::of(octets, &path())
}

/// Returns a generator of pseudorandom numbers below a bound.
fn random(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    }
}

#[test]
fn changes_are_read_in_their_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cat.mrc");
    fs::write(&file, "a file").expect("written");
    let path = path_of(&file);
    assert!(JournalContents::read(&path).expect("none").is_none());
    let base = Fingerprint::of(&file).expect("read").expect("a file");
    let journal = Journal::create(&file, &base, "035$a").expect("begins");
    assert_eq!(
        journal.append(0, changes(1..=3).iter()).expect("written"),
        3
    );
    let contents = || {
        JournalContents::read(&path)
            .expect("valid")
            .expect("it exists")
    };
    let before = contents();
    assert_eq!((before.changes, before.last), (changes(1..=3), 3));
    assert_eq!(before.docid, "035$a");
    journal.close();
    let journal = Journal::open(&file).expect("opens");
    append(&journal, 4..=5).expect("written");
    assert_eq!(contents().changes, changes(1..=5));
    // Changes after the last confirmed change belong to a failed commit, so the next commit replaces them.
    append(&journal, 4..=4).expect("written");
    assert_eq!(contents().changes, changes(1..=4));
    journal
        .announce(&base, &super::tests::base())
        .expect("written");
    for held in [&base, &super::tests::base()] {
        let belongs = contents().belongs_to(Some(held), &file, &path, None);
        belongs.expect("before and after the file is replaced");
    }
    journal.rebase(&super::tests::base(), 3).expect("written");
    let after = contents();
    assert_eq!((&*after.changes, after.last), (&*changes(4..=4), 4));
    let told = |held, docid| {
        let belongs = after.belongs_to(held, &file, &path, docid);
        belongs.expect_err("another").to_string()
    };
    assert!(told(Some(&base), None).contains("was changed by another program"));
    assert!(told(None, None).contains("there is no file"));
    assert!(told(Some(&base), Some("001")).contains("from field 035$a, not 001"));
    journal.rebase(&base, 4).expect("written");
    let belongs = contents().belongs_to(None, &file, &path, Some("001"));
    belongs.expect("without changes it fits any file");
}

#[test]
fn a_fingerprint_is_that_of_the_octets() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x");
    assert_eq!(Fingerprint::of(&path).expect("none"), None);
    for octets in [vec![], vec![1], vec![7; 100_000]] {
        fs::write(&path, &octets).expect("written");
        let mut hashed = Hashed::new(io::sink());
        octets
            .chunks(999)
            .for_each(|part| hashed.write_all(part).expect("written"));
        let found = Fingerprint::of(&path).expect("read");
        assert_eq!(found, Some(hashed.fingerprint()));
    }
}

/// Returns a journal with three commits in two states: as left by a killed process, and as left when closed.
fn three_commits() -> [Vec<u8>; 2] {
    let (disk, journal) = Disk::begun();
    for number in 1..=3 {
        append(&journal, number..=number).expect("written");
    }
    let killed = disk.killed();
    journal.close();
    [killed, disk.killed()]
}

/// Checks that a damaged journal is either refused, or read completely, or read without a commit that is reported as missing.
fn check_damaged(octets: &[u8], what: &str) -> Result<(), String> {
    let contents = read(octets).map_err(|error| error.to_string())?;
    let whole = contents.changes == changes(1..=3);
    let last_is_missing =
        contents.end == JournalEnd::Unfinished && contents.changes == changes(1..=2);
    assert!(whole || last_is_missing, "{what}: {contents:?}");
    Ok(())
}

#[test]
fn a_journal_cut_anywhere_is_whole_or_refused() {
    for octets in three_commits() {
        let contents = read(&octets).expect("complete");
        assert_eq!(contents.changes, changes(1..=3));
        assert_ne!(contents.end, JournalEnd::Unfinished);
        let mut random = random(7);
        let pages = (0..octets.len()).step_by(4096);
        let edges = pages.flat_map(|page| [page, page + 1]);
        let others = (0..64).map(|_| random(octets.len()));
        for length in (0..400)
            .step_by(7)
            .chain(edges)
            .chain(others)
            .collect::<BTreeSet<_>>()
        {
            let cut = octets.get(..length).expect("shorter");
            let told = check_damaged(cut, &format!("cut at {length}"));
            assert!(told.is_err() || length > 4096, "cut at {length}");
        }
        let longer = [&octets[..], &[0; 5000]].concat();
        let _ = check_damaged(&longer, "made longer");
    }
}

#[test]
fn a_journal_with_octets_flipped_is_whole_or_refused() {
    for octets in three_commits() {
        let mut random = random(11);
        let (mut refused, mut tried) = (0, 0);
        let used = (0..octets.len()).filter(|at| *at < 320 || octets[*at] != 0);
        let used = used.collect::<Vec<_>>();
        // As in other tests, the variable `Z3950_MUTATIONS` multiplies the number of mutations.
        let some = std::env::var("Z3950_MUTATIONS").map_or(1, |times| times.parse().unwrap_or(1));
        let part = (used.len() / (600 * some)).max(1);
        let mut from = random(part);
        for at in used {
            from += 1;
            if at >= 320 && !from.is_multiple_of(part) {
                continue;
            }
            let bits = match at {
                // Every bit of the octet with the flags is flipped, but only one bit of each other octet.
                9 => 0..8,
                _ => {
                    let bit = random(8);
                    bit..bit + 1
                }
            };
            for bit in bits {
                let mut flipped = octets.clone();
                flipped[at] ^= 1 << bit;
                tried += 1;
                refused +=
                    usize::from(check_damaged(&flipped, &format!("bit {bit} of {at}")).is_err());
            }
        }
        assert!(refused > 100, "{refused} of {tried}");
    }
}

#[test]
fn a_newer_journal_is_refused() {
    let (disk, journal) = Disk::begun();
    append(&journal, 1..=2).expect("written");
    let newer = |writing: &WriteTransaction| {
        writing.open_table(FACTS)?.insert(FORMAT, "2")?;
        Ok(())
    };
    journal.commit(newer).expect("written");
    let told = read(&disk.killed()).expect_err("newer").to_string();
    assert!(
        told.contains("newer version") && told.contains("format 2"),
        "{told}"
    );
    // The format of the store itself is in the first octet of each commit slot.
    let [mut octets, _] = three_commits();
    (octets[64], octets[192]) = (4, 4);
    let told = read(&octets).expect_err("newer").to_string();
    let expected =
        "written by a newer version of this program (store format 4; this version reads 3)";
    assert!(told.contains(expected), "{told}");
    octets[192] = 3;
    let told = read(&octets).expect_err("damaged").to_string();
    assert!(told.contains("is damaged"), "one octet is damage: {told}");
    // The tables have unexpected types, and the format version is newer, current or missing.
    for format in [Some("2"), Some(VERSION), None] {
        let (disk, journal) = Disk::begun();
        let other = |writing: &WriteTransaction| {
            const OTHER: TableDefinition<'_, u64, &str> = TableDefinition::new("changes");
            writing.delete_table(CHANGES)?;
            writing.open_table(OTHER)?.insert(1, "x")?;
            let mut facts = writing.open_table(FACTS)?;
            match format {
                Some(format) => facts.insert(FORMAT, format)?.is_some(),
                None => facts.remove(FORMAT)?.is_some(),
            };
            Ok(())
        };
        journal.commit(other).expect("written");
        let told = read(&disk.killed()).expect_err("another").to_string();
        let words = match format {
            None => "is damaged (the fact format is missing)",
            _ => "written by a newer version",
        };
        assert!(told.contains(words), "{format:?}: {told}");
    }
}

#[test]
fn the_end_of_a_journal_is_reported_in_one_line() {
    let [killed, closed] = three_commits();
    let note = |octets: &[u8]| {
        let contents = read(octets).expect("complete");
        (
            contents.changes.len(),
            contents.end.note(contents.changes.len()),
        )
    };
    assert_eq!(note(&closed), (3, None));
    let (changes, told) = note(&killed);
    let expected = "the journal was not closed: 3 changes are kept, and none that was confirmed to a client is missing";
    assert_eq!((changes, told.as_deref()), (3, Some(expected)));
    // The flag that names the current slot is written last, so flipping it brings back the previous commit.
    let mut torn = killed;
    torn[9] ^= 1;
    let (changes, told) = note(&torn);
    let told = told.expect("a note");
    assert_eq!(changes, 2);
    assert!(told.contains("is left out: 2 changes are kept"), "{told}");
}

#[test]
fn nothing_that_was_synced_is_lost_with_the_power() {
    for seed in 0..200 {
        let mut random = random(seed);
        let (disk, journal) = Disk::begun();
        let mut confirmed = 0;
        let mut folded = 0;
        for _ in 0..random(5) {
            let last = confirmed + 1 + random(3) as u64;
            append(&journal, confirmed + 1..=last).expect("written");
            confirmed = last;
            if random(5) == 0 {
                folded = confirmed - random(2) as u64;
                journal.rebase(&base(), folded).expect("written");
            }
        }
        // The power fails in the middle of one more commit.
        lock(&disk.0).left = Some(random(16));
        let more = confirmed + 1 + random(3) as u64;
        let done = append(&journal, confirmed + 1..=more).is_ok();
        let octets = disk.cut_off(&mut random);
        let contents = read(&octets).unwrap_or_else(|error| panic!("{seed}: {error}"));
        let without = contents.changes == changes(folded + 1..=confirmed);
        let with = contents.changes == changes(folded + 1..=more);
        assert!(with || (without && !done), "{seed}: {contents:?}");
        // The next process continues with the octets that survived.
        let survived = Disk::default();
        lock(&survived.0).octets = octets;
        let journal = survived.journal().expect("repaired");
        append(&journal, more + 1..=more + 1).expect("written");
        journal.close();
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    for left in 0..24 {
        let (disk, journal) = Disk::begun();
        append(&journal, 1..=2).expect("written");
        lock(&disk.0).left = Some(left);
        let big = RecordChange {
            id: "big".into(),
            record: Some(vec![0; 3 << 20].into()),
        };
        let outcome = journal.append(2, [big].iter());
        let outcome = outcome.and_then(|_| append(&journal, 4..=4));
        let told = outcome.expect_err("full");
        let source = told.source().expect("a reason").to_string();
        assert!(!source.is_empty(), "{told}");
        journal.close();
        lock(&disk.0).left = None;
        let journal = disk
            .journal()
            .unwrap_or_else(|error| panic!("{left}: {error:?}"));
        append(&journal, 3..=4).expect("a room is free again");
        let contents = read(&disk.killed()).expect("complete");
        assert_eq!(contents.changes, changes(1..=4), "{left}");
    }
}

#[test]
fn audit_r_x7_a_journal_beyond_the_limit_is_refused_unread() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cat.mrc.journal");
    let file = std::fs::File::create(&path).expect("a file");
    // Not all file systems support sparse files.
    if file.set_len(8 << 30).is_err() {
        return;
    }
    let begun = std::time::Instant::now();
    let error = JournalContents::read(&path).expect_err("too large");
    assert!(begun.elapsed() < std::time::Duration::from_secs(1), "read");
    let cause = std::error::Error::source(&error).expect("a cause");
    let words = format!("{error}: {cause}");
    let expected = format!(
        "cannot read {}: it has more than 4294967296 octets",
        path.display()
    );
    assert_eq!(words, expected);
}
