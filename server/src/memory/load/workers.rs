//! Builds segments of records on all processors.

use std::fs;
use std::mem::take;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;

use super::read::{Arena, FileItem, RawRecord, Sound, files_of, parsed, read};
use super::{FileNotes, LoadError, MAX_NOTES, Note, Progress, Sources};
use crate::lock::lock;
use crate::memory::hits::{Part, SEGMENT};
use crate::memory::index::{Index, Rules, Segment, SegmentBuilder};

/// Octets below which a second thread does not pay.
const SMALL: u64 = 4 * 1024 * 1024;
/// Octets whose texts are indexed on first use, which takes some hundredths of a second.
const FEW: u64 = 512 * 1024;
/// Octets of files per segment, so that the working memory of building one stays in the cache.
const OCTETS: u64 = 20 * 1024 * 1024;
/// Beyond this number, segments are made larger, because every search examines each one;
const SEGMENTS: u64 = 64;
/// but not larger than this.
const MOST_OCTETS: u64 = 64 * 1024 * 1024;
/// Records between calls of `progress`.
const TELL: u64 = 4096;

/// The records of a segment.
#[derive(Default)]
struct Batch {
    number: usize,
    octets: u64,
    records: usize,
    /// Records, each with the numbers of its database and input, in lists of at most [`LIST`]: allocators may keep the memory
    /// of longer ones.
    lists: Vec<Vec<(u16, usize, RawRecord)>>,
}

/// The most records in one list.
const LIST: usize = 1024;

/// The result of a batch.
struct Indexed {
    number: usize,
    segment: Segment,
    /// By input.
    notes: Vec<(usize, Note)>,
    /// The records that were accepted, by input.
    taken: Vec<(usize, Taken)>,
}

/// The number of records of a file that are served.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    records: u64,
    /// The number of these that lost nothing.
    whole: u64,
}

/// Records from memory, or a file to read.
struct LoadInput<'a> {
    database: u16,
    /// `None` for a file.
    memory: Option<&'a [Bytes]>,
    octets: u64,
    taken: Taken,
    /// The first record that is left out or incomplete.
    loss: Option<Note>,
    may_be_empty: bool,
    notes: FileNotes,
}

impl LoadInput<'_> {
    fn keep(&mut self, note: Note) {
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

    /// Whether the records that are served already are better: some of the file's are lost or incomplete, or none is intact. An
    /// empty file is no damage where it is allowed.
    fn is_damaged(&self) -> bool {
        let is_empty = self.taken.records == 0 && self.may_be_empty;
        self.loss.is_some() || (self.taken.whole == 0 && !is_empty)
    }
}

/// What files must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) enum Demand<'a> {
    /// Any record: damaged ones are repaired or left out.
    AnyRecord,
    /// Everything, because it replaces what is served: no record may lose anything.
    NoLoss {
        /// The number of records of each database, none of which may become empty.
        served: &'a [usize],
    },
}

/// Reads all sources; `progress` is called from time to time on this thread.
///
/// # Errors
/// See [`LoadError`]. A file with some valid records is loaded, with notes on the others, unless more is demanded.
pub(in crate::memory) fn load(
    sources: &Sources,
    demand: Demand<'_>,
    progress: &dyn Fn(&Progress),
) -> Result<(Index, Vec<FileNotes>), LoadError> {
    let mut inputs = Vec::new();
    let databases = sources.databases.iter().zip(&sources.origins);
    for (database, (saved, origins)) in (0..=u16::MAX).zip(databases) {
        let saved = saved.save.as_ref().filter(|path| path.exists());
        let has_records = match demand {
            Demand::NoLoss { served } => served.get(usize::from(database)).is_some_and(|n| *n > 0),
            Demand::AnyRecord => false,
        };
        let input = |memory, notes: FileNotes, may_be_empty| LoadInput {
            database,
            memory,
            octets: fs::metadata(&notes.path).map_or(0, |metadata| metadata.len()),
            taken: Taken::default(),
            loss: None,
            may_be_empty,
            notes,
        };
        let paths = match saved {
            Some(saved) => std::slice::from_ref(saved),
            None => {
                inputs.push(input(Some(&*origins.memory), FileNotes::default(), true));
                &origins.paths
            }
        };
        for path in paths {
            for path in files_of(path)? {
                let notes = FileNotes {
                    path,
                    ..FileNotes::default()
                };
                // A database without records is saved as an empty file.
                inputs.push(input(None, notes, saved.is_some() && !has_records));
            }
        }
    }
    let octets = inputs.iter().map(|input| input.octets).sum();
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
            scope.spawn(move || work_off(&taking, &sources.rules, &done));
        }
        // When the last thread ends, senders must not wait.
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
            read(&path, &mut |item| {
                let record = match item {
                    FileItem::Record(record) => record,
                    FileItem::Note(note) => {
                        input.keep(note);
                        return Ok(());
                    }
                };
                told.records += 1;
                if told.records.is_multiple_of(TELL) {
                    told.octets_read = before + record.offset.min(octets);
                    progress(&told);
                }
                batcher.give(database, number, record)
            })?;
            told.octets_read = before + octets;
            told.files_read += 1;
            progress(&told);
        }
        batcher.flush()
    })?;
    let mut indexed: Vec<Indexed> = indexed.iter().collect();
    indexed.sort_by_key(|indexed| indexed.number);
    for one in &mut indexed {
        for (input, note) in take(&mut one.notes) {
            if let Some(input) = inputs.get_mut(input) {
                input.keep(note);
            }
        }
        for (input, taken) in &one.taken {
            if let Some(input) = inputs.get_mut(*input) {
                input.taken.records += taken.records;
                input.taken.whole += taken.whole;
            }
        }
    }
    let mut notes = Vec::new();
    for mut input in inputs.into_iter().filter(|input| input.memory.is_none()) {
        input.notes.notes.sort_by_key(Note::number);
        let is_damaged = input.is_damaged();
        let mut found = input.notes;
        if input.taken.records == 0 && !input.may_be_empty {
            return Err(LoadError::NoRecord {
                path: found.path,
                notes: found.notes,
            });
        }
        if matches!(demand, Demand::NoLoss { .. }) && is_damaged {
            if let Some(loss) = input.loss {
                found.notes.retain(|note| *note != loss);
                found.notes.insert(0, loss);
            }
            return Err(LoadError::Damaged {
                path: found.path,
                notes: found.notes,
                more: found.more,
            });
        }
        notes.extend((!found.notes.is_empty()).then_some(found));
    }
    let nothing = Arc::new(Part::first(0));
    let segments = indexed.into_iter().map(|indexed| indexed.segment);
    let segments = segments.filter(|segment| segment.len() > 0);
    let segments = segments.map(|segment| (Arc::new(segment), Arc::clone(&nothing)));
    Ok((Index::new(segments), notes))
}

/// Octets per segment, so that all threads finish at the same time and no segment is too large.
fn batch_octets(octets: u64, threads: usize) -> u64 {
    let threads = u64::try_from(threads).unwrap_or(1);
    let most = (octets / SEGMENTS).clamp(OCTETS, MOST_OCTETS);
    let rounds = octets.div_ceil(threads * most).max(1);
    (octets / (threads * rounds) + 1).max(SMALL)
}

/// Collects records into segments.
struct Batcher {
    batches: SyncSender<Batch>,
    next: Batch,
    /// The octets from which a batch is full.
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
        match batch.octets >= self.most || batch.records >= SEGMENT {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        let number = self.next.number;
        // Segments have 16-bit numbers.
        if number > usize::from(u16::MAX) {
            return Err(LoadError::TooMany);
        }
        let batch = take(&mut self.next);
        self.next.number = number + 1;
        // If no thread receives it, one has panicked, and the scope propagates that.
        let _ = self.batches.send(batch);
        Ok(())
    }
}

/// Builds segments until there are no more batches.
fn work_off(batches: &Mutex<Receiver<Batch>>, rules: &Rules, done: &Sender<Indexed>) {
    let mut builder = SegmentBuilder::new(rules.clone());
    loop {
        let batch = lock(batches).recv();
        let indexed = match batch {
            Ok(
                batch @ Batch {
                    octets: 0..=FEW, ..
                },
            ) => indexed(batch, &mut SegmentBuilder::deferred(rules.clone())),
            Ok(batch) => indexed(batch, &mut builder),
            Err(_) => return,
        };
        // The receiver lives as long as the scope of the threads.
        let _ = done.send(indexed);
    }
}

fn indexed(batch: Batch, builder: &mut SegmentBuilder) -> Indexed {
    let mut arena = Arena::default();
    let mut notes = Vec::new();
    let mut taken: Vec<(usize, Taken)> = Vec::new();
    for (database, input, record) in batch.lists.into_iter().flatten() {
        let (number, offset) = (record.number, record.offset);
        let Sound {
            octets,
            record: parsed,
            repairs,
            is_whole,
        } = match parsed(record.octets, &mut arena) {
            Ok(sound) => sound,
            Err(reason) => {
                let left_out = Note::LeftOut {
                    number,
                    offset,
                    reason,
                };
                notes.push((input, left_out));
                continue;
            }
        };
        builder.add(database, octets, &parsed);
        let whole = u64::from(is_whole && record.damage.is_none());
        match taken.last_mut() {
            Some((last, taken)) if *last == input => {
                taken.records += 1;
                taken.whole += whole;
            }
            _ => taken.push((input, Taken { records: 1, whole })),
        }
        if let Some(repair) = repairs.first() {
            let repaired = Note::Repaired {
                number,
                offset,
                repair: repair.to_string(),
                more: repairs.len() - 1,
                is_loss: repair.kind.is_loss(),
            };
            notes.push((input, repaired));
        }
    }
    Indexed {
        number: batch.number,
        segment: builder.finish(),
        notes,
        taken,
    }
}
