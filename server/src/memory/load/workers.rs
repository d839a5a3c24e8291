//! Builds the segments of records, using all processors.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::mem::take;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;

use super::read::{Arena, RawRecord, files_of, read};
use super::{FileNotes, LoadError, MAX_NOTES, Note, Progress};
use crate::headroom::Headroom;
use crate::lock::lock;
use crate::memory::catalogue::DatabaseFiles;
use crate::memory::fields::Fields;
use crate::memory::hits::{Part, SEGMENT};
use crate::memory::index::{Index, Segment, SegmentBuilder};

/// The total size of the files, in octets, below which a second thread is not worthwhile.
const SMALL: u64 = 4 * 1024 * 1024;
/// The total size of the records, in octets, up to which texts are indexed on first use. This indexing takes a few hundredths of
/// a second.
const FEW: u64 = 512 * 1024;
/// The size of the files for each segment, in octets, chosen so that the working memory for building a segment fits into the
/// processor's cache.
const OCTETS: u64 = 20 * 1024 * 1024;
/// The number of segments above which segments are made larger, because every search examines each segment.
const SEGMENTS: u64 = 64;
/// The maximum size of a segment in octets, when segments are made larger.
const MOST_OCTETS: u64 = 64 * 1024 * 1024;
/// The peak memory of loading, in quarters of the size of the files. In measurements, the peak was 2.8 times the size of the
/// files in resident memory, and 3.15 times their size in address space.
const PEAK_QUARTERS: u64 = 13;
/// The number of records between two calls of `progress`.
const PROGRESS_INTERVAL: u64 = 4096;

/// The records from which a segment will be built.
#[derive(Default)]
struct Batch {
    number: usize,
    octets: u64,
    records: usize,
    /// Records, each with the numbers of its database and its input. A list has at most [`LIST`] records, because allocators may
    /// not release the memory of longer lists.
    lists: Vec<Vec<(u16, usize, RawRecord)>>,
}

/// The maximum number of records in one list.
const LIST: usize = 1024;

/// The result of indexing a batch.
struct Indexed {
    number: usize,
    segment: Segment,
    /// The results for the records of the batch, by number of the input.
    taken: BTreeMap<usize, InputResult>,
}

/// The result for the records of one input.
#[derive(Debug, Default)]
struct InputResult {
    /// The number of records that will be served.
    records: u64,
    /// The number of those records that are complete.
    whole: u64,
    notes: Vec<Note>,
}

/// A summary of the damage to a file.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::memory) struct FileState {
    /// The number of records that will be served.
    records: u64,
    whole: u64,
    /// The number of records that are left out or incomplete.
    losses: u64,
}

impl FileState {
    /// Returns whether this state is worse than `other`, which is another state of the same file.
    fn is_worse_than(self, other: Self) -> bool {
        self.losses > other.losses
            || self.records < other.records
            || (self.whole == 0 && other.whole > 0)
    }
}

/// The damaged files with their states when they were read.
pub(in crate::memory) type DamagedFiles = HashMap<PathBuf, FileState>;

/// The state of the databases being served, which a reload will replace.
pub(in crate::memory) struct Served<'a> {
    /// The number of records of each database.
    pub(in crate::memory) records: &'a [usize],
    pub(in crate::memory) damaged: &'a DamagedFiles,
}

/// Databases that have been loaded.
#[derive(Debug, Default)]
pub(in crate::memory) struct Loaded {
    pub(in crate::memory) index: Index,
    pub(in crate::memory) notes: Vec<FileNotes>,
    pub(in crate::memory) damaged: DamagedFiles,
}

/// An input: records in memory, or a file to read.
struct LoadInput<'a> {
    database: u16,
    /// The records in memory; `None` for a file.
    memory: Option<&'a [Bytes]>,
    octets: u64,
    state: FileState,
    /// A note on the first record that is left out or incomplete.
    loss: Option<Note>,
    may_be_empty: bool,
    is_unreadable: bool,
    notes: FileNotes,
}

impl LoadInput<'_> {
    fn keep(&mut self, note: Note) {
        self.state.losses += u64::from(note.is_loss());
        if note.is_loss()
            && let first = self.loss.get_or_insert_with(|| note.clone())
            && note.number() < first.number()
        {
            *first = note.clone();
        }
        match self.notes.notes.len() {
            0..MAX_NOTES => self.notes.notes.push(note),
            _ => self.notes.more += 1,
        }
    }

    /// Returns whether the file is damaged: records are lost or incomplete, or no record is intact. An empty file counts as
    /// damaged only if it must not be empty.
    fn is_damaged(&self) -> bool {
        let is_empty = self.state.records == 0 && self.may_be_empty;
        self.loss.is_some() || (self.state.whole == 0 && !is_empty)
    }
}

/// Reads all sources of the databases; `progress` is called from time to time on this thread.
///
/// With `served`, a file must not have more damage than the records being served, and a database with records must not become
/// empty. Without `served`, damaged records are repaired or left out.
///
/// # Errors
/// See [`LoadError`]; all errors are returned. A file with any valid records is loaded, with notes on the damaged ones, unless it
/// replaces records being served.
pub(in crate::memory) fn load(
    fields: &Arc<Fields>,
    databases: &[DatabaseFiles],
    served: Option<&Served<'_>>,
    headroom: Option<Headroom>,
    progress: &dyn Fn(&Progress),
) -> Result<Loaded, LoadError> {
    let mut inputs = Vec::new();
    let mut errors = Vec::new();
    for (number, database) in (0..=u16::MAX).zip(databases) {
        let saved = database.saved();
        let records = served.and_then(|served| served.records.get(usize::from(number)));
        // A database without records is saved as an empty file, so the file may be empty.
        let may_be_empty = saved.is_some() && records.is_none_or(|records| *records == 0);
        let input = |memory, notes: FileNotes, may_be_empty| LoadInput {
            database: number,
            memory,
            octets: fs::metadata(&notes.path).map_or(0, |metadata| metadata.len()),
            state: FileState::default(),
            loss: None,
            may_be_empty,
            is_unreadable: false,
            notes,
        };
        if saved.is_none() {
            inputs.push(input(Some(&*database.records), FileNotes::default(), true));
        }
        for path in saved.map_or(&*database.paths, std::slice::from_ref) {
            let files = files_of(path).map_err(|error| errors.push(error));
            for path in files.unwrap_or_default() {
                let notes = FileNotes {
                    path,
                    ..FileNotes::default()
                };
                inputs.push(input(None, notes, may_be_empty));
            }
        }
    }
    let octets = inputs.iter().map(|input| input.octets).sum();
    if let Some(headroom) = headroom {
        let reserve = served.map_or(0, |_| headroom.reserve());
        check_memory(octets, reserve, headroom)?;
    }
    let threads = match octets {
        0..=SMALL => 1,
        _ => thread::available_parallelism().map_or(1, NonZero::get),
    };
    let (batches, taking) = sync_channel::<Batch>(1);
    let taking = Arc::new(Mutex::new(taking));
    let (done, indexed) = channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (taking, done) = (Arc::clone(&taking), done.clone());
            scope.spawn(move || work_off(&taking, fields, &done));
        }
        // Drop the channel ends that only the other threads need. Otherwise, sending would wait forever after the last thread has
        // ended.
        drop((taking, done));
        let mut batcher = Batcher {
            batches,
            next: Batch::default(),
            most: batch_octets(octets, threads),
        };
        let mut told = Progress {
            files: inputs.iter().filter(|input| input.memory.is_none()).count(),
            octets,
            ..Progress::default()
        };
        for (number, input) in inputs.iter_mut().enumerate() {
            let database = input.database;
            if let Some(records) = input.memory {
                for octets in records {
                    let record = RawRecord {
                        octets: octets.clone(),
                        number: 0,
                        offset: 0,
                        damage: None,
                    };
                    batcher.give(database, number, record)?;
                }
                continue;
            }
            let before = told.octets_read;
            let path = input.notes.path.clone();
            let octets = input.octets;
            let read = read(&path, &mut |item| {
                let record = match item {
                    Ok(record) => record,
                    Err(note) => {
                        input.keep(note);
                        return Ok(());
                    }
                };
                told.records += 1;
                if told.records.is_multiple_of(PROGRESS_INTERVAL) {
                    told.octets_read = before + record.offset.min(octets);
                    progress(&told);
                }
                batcher.give(database, number, record)
            });
            match read {
                Err(LoadError::TooMany) => return Err(LoadError::TooMany),
                Err(error) => {
                    errors.push(error);
                    input.is_unreadable = true;
                }
                Ok(()) => {}
            }
            told.octets_read = before + octets;
            told.files_read += 1;
            progress(&told);
        }
        batcher.flush()
    })?;
    let mut indexed: Vec<Indexed> = indexed.iter().collect();
    indexed.sort_by_key(|indexed| indexed.number);
    for (input, taken) in indexed.iter_mut().flat_map(|one| take(&mut one.taken)) {
        if let Some(input) = inputs.get_mut(input) {
            input.state.records += taken.records;
            input.state.whole += taken.whole;
            taken.notes.into_iter().for_each(|note| input.keep(note));
        }
    }
    let (mut notes, mut damaged) = (Vec::new(), DamagedFiles::new());
    let read = inputs.into_iter();
    for mut input in read.filter(|input| input.memory.is_none() && !input.is_unreadable) {
        input.notes.notes.sort_by_key(Note::number);
        let is_damaged = input.is_damaged();
        let mut found = input.notes;
        if input.state.records == 0 && !input.may_be_empty {
            errors.push(LoadError::NoRecord {
                path: found.path,
                notes: found.notes,
            });
            continue;
        }
        let is_worse = |served: &&Served<'_>| {
            let known = served.damaged.get(&found.path);
            known.is_none_or(|known| input.state.is_worse_than(*known))
        };
        if is_damaged && served.as_ref().is_some_and(is_worse) {
            if let Some(loss) = input.loss {
                found.notes.retain(|note| *note != loss);
                found.notes.insert(0, loss);
            }
            errors.push(LoadError::Damaged {
                path: found.path,
                notes: found.notes,
                more: found.more,
            });
            continue;
        }
        if is_damaged {
            damaged.insert(found.path.clone(), input.state);
        }
        notes.extend((!found.notes.is_empty()).then_some(found));
    }
    LoadError::of_all(errors)?;
    let nothing = Arc::new(Part::first(0));
    let segments = indexed
        .into_iter()
        .map(|indexed| indexed.segment)
        .filter(|segment| segment.len() > 0)
        .map(|segment| (Arc::new(segment), Arc::clone(&nothing)));
    Ok(Loaded {
        index: Index::new(segments),
        notes,
        damaged,
    })
}

/// Checks that there is enough memory to load files of this size and still leave the reserve. The reserve is limited to the size
/// of the files.
fn check_memory(octets: u64, reserve: u64, headroom: Headroom) -> Result<(), LoadError> {
    let peak = (octets / 4).saturating_mul(PEAK_QUARTERS);
    let needed = peak.saturating_add(reserve.min(octets));
    if needed <= headroom.left {
        Ok(())
    } else {
        Err(LoadError::NoMemory { needed, headroom })
    }
}

/// Returns the number of octets per segment for which all threads finish at about the same time, without any segment being too
/// large.
fn batch_octets(octets: u64, threads: usize) -> u64 {
    let threads = u64::try_from(threads).unwrap_or(1);
    let most = (octets / SEGMENTS).clamp(OCTETS, MOST_OCTETS);
    let rounds = octets.div_ceil(threads * most).max(1);
    (octets / (threads * rounds) + 1).max(SMALL)
}

/// Collects records into batches, each of which becomes a segment.
struct Batcher {
    batches: SyncSender<Batch>,
    next: Batch,
    /// The number of octets at which a batch is full.
    most: u64,
}

impl Batcher {
    fn give(&mut self, database: u16, input: usize, record: RawRecord) -> Result<(), LoadError> {
        let batch = &mut self.next;
        batch.octets += u64::try_from(record.octets.len()).unwrap_or(u64::MAX);
        batch.records += 1;
        let entry = (database, input, record);
        match batch.lists.last_mut().filter(|list| list.len() < LIST) {
            Some(list) => list.push(entry),
            None => batch.lists.push(vec![entry]),
        }
        if batch.octets >= self.most || batch.records >= SEGMENT {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        let number = self.next.number;
        // Segments have 16-bit numbers, so batches beyond this number are refused.
        if number > usize::from(u16::MAX) {
            return Err(LoadError::TooMany);
        }
        let batch = take(&mut self.next);
        self.next.number = number + 1;
        // Sending fails only if the threads have panicked, and the scope propagates that.
        let _ = self.batches.send(batch);
        Ok(())
    }
}

/// Builds segments from batches until no more batches arrive.
fn work_off(batches: &Mutex<Receiver<Batch>>, fields: &Arc<Fields>, done: &Sender<Indexed>) {
    let mut builder = SegmentBuilder::new(Arc::clone(fields));
    loop {
        let received = lock(batches).recv();
        let Ok(batch) = received else { return };
        let indexed = match batch.octets {
            0..=FEW => indexed(batch, &mut SegmentBuilder::deferred(Arc::clone(fields))),
            _ => indexed(batch, &mut builder),
        };
        // The receiver lives as long as the scope of the threads, so sending does not fail.
        let _ = done.send(indexed);
    }
}

fn indexed(batch: Batch, builder: &mut SegmentBuilder) -> Indexed {
    let mut arena = Arena::default();
    let mut all = BTreeMap::<usize, InputResult>::new();
    for (database, input, record) in batch.lists.into_iter().flatten() {
        let taken = all.entry(input).or_default();
        let sound = match record.parsed(&mut arena) {
            Ok(sound) => sound,
            Err(left_out) => {
                taken.notes.push(left_out);
                continue;
            }
        };
        let added = builder.add(database, sound.octets.clone(), &sound.record);
        if let Err(full) = added {
            taken.notes.push(sound.left_out(&full));
            continue;
        }
        taken.records += 1;
        taken.whole += u64::from(sound.is_whole);
        if let [first, rest @ ..] = sound.repairs.as_slice() {
            taken.notes.push(sound.note(first, rest.len()));
        }
    }
    Indexed {
        number: batch.number,
        segment: builder.finish(),
        taken: all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up to a certain number of segments, each segment has the size that fits into the cache; for more data, segments are
    /// larger, up to a limit.
    #[test]
    fn segments_have_a_size_limit() {
        let all = SEGMENTS * MOST_OCTETS;
        for (octets, threads, expected) in [
            (1, 1, SMALL),
            (OCTETS, 1, OCTETS + 1),
            (OCTETS + 1, 1, OCTETS / 2 + 1),
            (OCTETS, 2, OCTETS / 2 + 1),
            (all, 1, MOST_OCTETS + 1),
            (all + SEGMENTS, 1, (all + SEGMENTS) / 65 + 1),
        ] {
            assert_eq!(batch_octets(octets, threads), expected, "{octets}");
        }
    }
}
