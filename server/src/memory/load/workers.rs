//! Builds segments of records on all processors.

use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use z3950_marc::iso2709;

use super::read::{Arena, RawRecord, Sound, files_of, parsed, read};
use super::{FileNotes, LoadError, MAX_NOTES, Note, Progress, Sources};
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
struct Batch {
    number: usize,
    /// In lists of at most [`LIST`]: allocators may keep the memory of longer ones.
    pieces: Vec<Vec<RawRecord>>,
}

/// The most records in one list.
const LIST: usize = 1024;

/// The result of a batch.
struct Indexed {
    number: usize,
    segment: Segment,
    /// By file number.
    notes: Vec<(usize, Note)>,
    /// The records that were accepted, by file number.
    taken: Vec<(usize, Taken)>,
}

/// The number of records of a file that are served.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    records: u64,
    /// The number of these that lost nothing.
    whole: u64,
}

/// A file to read.
struct InputFile {
    path: PathBuf,
    octets: u64,
    taken: Taken,
    /// The first record that is left out or incomplete.
    loss: Option<Note>,
    may_be_empty: bool,
    notes: FileNotes,
}

impl InputFile {
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
    let mut work: Vec<(u16, Job<'_>)> = Vec::new();
    let databases = (0..=u16::MAX).zip(sources.databases.iter().zip(&sources.origins));
    for (number, (database, origins)) in databases {
        let saved = database.save.as_ref().filter(|path| path.exists());
        let has_records = match demand {
            Demand::NoLoss { served } => served.get(usize::from(number)).is_some_and(|n| *n > 0),
            Demand::AnyRecord => false,
        };
        let paths = match saved {
            Some(saved) => std::slice::from_ref(saved),
            None => {
                work.push((number, Job::Memory(&origins.memory)));
                &origins.paths
            }
        };
        for path in paths {
            for path in files_of(path)? {
                work.push((number, Job::File(inputs.len())));
                inputs.push(InputFile {
                    octets: fs::metadata(&path).map_or(0, |metadata| metadata.len()),
                    taken: Taken::default(),
                    loss: None,
                    // A database without records is saved as an empty file.
                    may_be_empty: saved.is_some() && !has_records,
                    notes: FileNotes {
                        path: path.clone(),
                        ..FileNotes::default()
                    },
                    path,
                });
            }
        }
    }
    let octets = inputs.iter().map(|input| input.octets).sum();
    let threads = match octets {
        0..=SMALL => 0,
        _ => thread::available_parallelism().map_or(1, NonZero::get),
    };
    let (batches, taking) = sync_channel::<Batch>(1);
    let taking = Arc::new(Mutex::new(taking));
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            let (taking, done) = (Arc::clone(&taking), &done);
            scope.spawn(move || work_off(&taking, &sources.rules, done));
        }
        // When the last thread ends, senders must not wait.
        drop(taking);
        let sink = match threads {
            0 => Sink::Here(&sources.rules, &done),
            _ => Sink::Threads(batches),
        };
        let mut batcher = Batcher {
            sink,
            next: 0,
            pieces: Vec::new(),
            records: 0,
            octets: 0,
            most: batch_octets(octets, threads),
        };
        let mut told = Progress {
            files: inputs.len(),
            octets,
            ..Progress::default()
        };
        for (database, work) in &work {
            match work {
                Job::Memory(records) => {
                    for (number, octets) in (1..).zip(*records) {
                        batcher.give(RawRecord {
                            octets: octets.clone(),
                            database: *database,
                            file: usize::MAX,
                            number,
                            offset: 0,
                            damage: None,
                        })?;
                    }
                }
                Job::File(file) => {
                    let Some(input) = inputs.get_mut(*file) else {
                        continue;
                    };
                    let before = told.octets_read;
                    let path = input.path.clone();
                    let octets = input.octets;
                    read(
                        &path,
                        (*database, *file),
                        &mut |note| input.keep(note),
                        &mut |piece| {
                            told.records += 1;
                            if told.records.is_multiple_of(TELL) {
                                told.octets_read = before + piece.offset.min(octets);
                                progress(&told);
                            }
                            batcher.give(piece)
                        },
                    )?;
                    told.octets_read = before + octets;
                    told.files_read += 1;
                    progress(&told);
                }
            }
        }
        batcher.flush()
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|indexed| indexed.number);
    for (file, note) in done
        .iter_mut()
        .flat_map(|indexed| std::mem::take(&mut indexed.notes))
    {
        if let Some(input) = inputs.get_mut(file) {
            input.keep(note);
        }
    }
    for (file, taken) in done.iter().flat_map(|indexed| &indexed.taken) {
        if let Some(input) = inputs.get_mut(*file) {
            input.taken.records += taken.records;
            input.taken.whole += taken.whole;
        }
    }
    let mut notes = Vec::new();
    for mut input in inputs {
        input.notes.notes.sort_by_key(Note::number);
        let is_damaged = input.is_damaged();
        let FileNotes {
            path,
            notes: told,
            more,
        } = &mut input.notes;
        if input.taken.records == 0 && !input.may_be_empty {
            return Err(LoadError::NoRecord {
                path: std::mem::take(path),
                notes: std::mem::take(told),
            });
        }
        if matches!(demand, Demand::NoLoss { .. }) && is_damaged {
            if let Some(loss) = input.loss {
                told.retain(|note| *note != loss);
                told.insert(0, loss);
            }
            return Err(LoadError::Damaged {
                path: std::mem::take(path),
                notes: std::mem::take(told),
                more: *more,
            });
        }
        notes.extend((!input.notes.notes.is_empty()).then_some(input.notes));
    }
    let nothing = Arc::new(Part::first(0));
    let segments = done.into_iter().filter(|indexed| indexed.segment.len() > 0);
    let segments = segments.map(|indexed| (Arc::new(indexed.segment), Arc::clone(&nothing)));
    Ok((Index::new(segments), notes))
}

/// A source to read.
enum Job<'a> {
    Memory(&'a [bytes::Bytes]),
    /// By number.
    File(usize),
}

/// Octets per segment, so that all threads finish at the same time and no segment is too large.
fn batch_octets(octets: u64, threads: usize) -> u64 {
    let threads = u64::try_from(threads.max(1)).unwrap_or(1);
    let most = (octets / SEGMENTS).clamp(OCTETS, MOST_OCTETS);
    let rounds = octets.div_ceil(threads * most).max(1);
    (octets / (threads * rounds) + 1).max(SMALL)
}

/// Collects records into segments.
struct Batcher<'a> {
    sink: Sink<'a>,
    next: usize,
    pieces: Vec<Vec<RawRecord>>,
    records: usize,
    octets: u64,
    most: u64,
}

/// Where batches go.
enum Sink<'a> {
    Threads(SyncSender<Batch>),
    Here(&'a Rules, &'a Mutex<Vec<Indexed>>),
}

impl Batcher<'_> {
    fn give(&mut self, piece: RawRecord) -> Result<(), LoadError> {
        self.octets += u64::try_from(piece.octets.len()).unwrap_or(u64::MAX);
        self.records += 1;
        match self.pieces.last_mut().filter(|list| list.len() < LIST) {
            Some(list) => list.push(piece),
            None => self.pieces.push(vec![piece]),
        }
        match self.octets >= self.most || self.records >= SEGMENT {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        // Segments have 16-bit numbers.
        if self.next > usize::from(u16::MAX) {
            return Err(LoadError::TooMany);
        }
        let batch = Batch {
            number: self.next,
            pieces: std::mem::take(&mut self.pieces),
        };
        self.next += 1;
        let builder = match self.octets {
            0..=FEW => SegmentBuilder::deferred,
            _ => SegmentBuilder::new,
        };
        (self.records, self.octets) = (0, 0);
        match &self.sink {
            Sink::Here(rules, done) => {
                push(done, indexed(batch, &mut builder((*rules).clone())));
            }
            // If no thread receives it, one has panicked, and the scope propagates that.
            Sink::Threads(batches) => drop(batches.send(batch)),
        }
        Ok(())
    }
}

fn push(done: &Mutex<Vec<Indexed>>, indexed: Indexed) {
    done.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(indexed);
}

/// Builds segments until there are no more batches.
fn work_off(batches: &Mutex<Receiver<Batch>>, rules: &Rules, done: &Mutex<Vec<Indexed>>) {
    let mut builder = SegmentBuilder::new(rules.clone());
    loop {
        let batch = batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        match batch {
            Ok(batch) => push(done, indexed(batch, &mut builder)),
            Err(_) => return,
        }
    }
}

fn indexed(batch: Batch, builder: &mut SegmentBuilder) -> Indexed {
    let mut arena = Arena::default();
    let mut notes = Vec::new();
    let mut taken: Vec<(usize, Taken)> = Vec::new();
    for RawRecord {
        octets,
        database,
        file,
        number,
        offset,
        damage,
    } in batch.pieces.into_iter().flatten()
    {
        match parsed(octets, &mut arena) {
            Ok(Sound {
                octets,
                record,
                repairs,
                is_whole,
            }) => {
                builder.add(database, octets, &record);
                let whole = u64::from(is_whole && damage.is_none());
                match taken.last_mut() {
                    Some((last, taken)) if *last == file => {
                        taken.records += 1;
                        taken.whole += whole;
                    }
                    _ => taken.push((file, Taken { records: 1, whole })),
                }
                let more = repairs.len().saturating_sub(1);
                let repaired = |repair: iso2709::Repair| Note::Repaired {
                    number,
                    offset,
                    repair: repair.to_string(),
                    more,
                    is_loss: repair.kind.is_loss(),
                };
                notes.extend(
                    repairs
                        .into_iter()
                        .next()
                        .map(|repair| (file, repaired(repair))),
                );
            }
            Err(reason) => notes.push((
                file,
                Note::LeftOut {
                    number,
                    offset,
                    reason,
                },
            )),
        }
    }
    Indexed {
        number: batch.number,
        segment: builder.finish(),
        notes,
        taken,
    }
}
