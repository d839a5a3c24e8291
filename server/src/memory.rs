//! Databases of MARC records in memory: the server's own backend, and the reference implementation for other backends.
//!
//! | file | contents |
//! |---|---|
//! | `builder`, `load`, `reload` | records from memory, from files and from the demo catalogue; reports of damage |
//! | `catalogue`, `snapshot`, `result` | a snapshot of the databases, and result sets that keep their snapshot |
//! | `update`, `commit` | atomic changes, and how they become visible |
//! | `save`, `journal`, `fold` | saving to files with the feature `save` |
//! | `docid` | the docid field of records |
//! | `fields`, `words` | the access points, words and keys of records |
//! | `index`, `hits` | the indexes, and sets of records |
//! | `attributes`, `eval`, `profile` | the evaluation of queries |
//! | `background`, `turns` | long-running work on other threads, for which sessions take turns |
//! | `scan`, `sort` | terms with their counts, and orders of records |
//! | `terms` | how terms are compared |
//! | `index_map` | the access points, for backends whose indexes are elsewhere |
//! | `forms` | the record syntaxes and element sets |

mod attributes;
mod background;
mod builder;
mod catalogue;
mod commit;
mod docid;
mod eval;
mod fields;
#[cfg(feature = "save")]
mod fold;
pub mod forms;
mod hits;
mod index;
pub mod index_map;
#[cfg(feature = "save")]
mod journal;
mod load;
mod merge;
mod profile;
mod reload;
mod result;
#[cfg(feature = "save")]
mod save;
mod scan;
mod snapshot;
mod sort;
mod terms;
mod turns;
#[cfg(not(feature = "save"))]
mod unsaved;
mod update;
mod words;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::debug;
use z3950_asn1::apdu::{DatabaseName, Operand, Schema};
use z3950_asn1::oid::Oid;
#[cfg(feature = "save")]
pub use z3950_files::Error as FileError;

use self::background::Background;
pub use self::builder::MemoryBackendBuilder;
use self::catalogue::Catalogue;
pub use self::catalogue::DatabaseFiles;
use self::commit::{Begun, Commit, CommitQueue};
pub use self::docid::{DocidField, DocidFieldError};
use self::eval::Evaluated;
pub use self::fields::{
    AccessPoint, AccessPoints, AccessPointsError, Kind, Source, SourceError, Sources,
};
#[cfg(feature = "save")]
pub use self::fold::FoldedFile;
use self::hits::RecordNumber;
use self::index::WorkBudget;
#[cfg(feature = "save")]
use self::journal::tally::JournalTally;
#[cfg(feature = "save")]
pub use self::journal::tally::JournalTotals;
#[cfg(feature = "save")]
pub use self::journal::{JournalError, path_of as journal_path};
use self::load::DamagedFiles;
pub use self::load::{Checked, FileNotes, LoadError, MAX_NOTES, Note, Progress, check_files};
#[cfg(feature = "save")]
pub use self::load::{CheckedJournal, check_journal};
pub use self::profile::{Profile, TypeProfile, UnsupportedPolicy, Values};
pub use self::reload::PendingReload;
use self::result::ResultList;
#[cfg(feature = "save")]
pub use self::save::SaveError;
#[cfg(feature = "save")]
use self::save::{JOURNAL_OCTETS, SavedFiles};
use self::snapshot::{Snapshots, View};
pub use self::sort::{RecordOrder, SortValues};
pub use self::terms::TermOrder;
pub use self::turns::JobCounts;
#[cfg(not(feature = "save"))]
use self::unsaved::{JOURNAL_OCTETS, SavedFiles};
use crate::backend::{
    Answer, Backend, DatabaseInfo, Found, Hits, Retrieve, Retrieved, Scan, Scanned, Search, Sort,
    Update, ready,
};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::headroom::{self, Headroom, HeadroomProbe};
use crate::lock::lock;

/// Databases of MARC records in memory. Clones are handles to the same databases.
///
/// Records are served in the format in which they were loaded, USMARC or UNIMARC, without any change, and as MARCXML, Dublin
/// Core, SUTRS, OPAC and GRS-1. The element sets are F and B and, for XML, also `marcxml`, which is the same as F, and `dc`.
///
/// Updates and reloads replace the databases atomically. A result set keeps the records of its search until the databases have
/// been reloaded twice; then it can no longer be used.
#[derive(Clone)]
pub struct MemoryBackend(Arc<Shared>);

struct Shared {
    snapshots: Mutex<Snapshots>,
    /// Held while a new catalogue is created, so that changes are made one at a time.
    queue: Mutex<CommitQueue>,
    /// Held while changes are saved. Must be locked before `queue`.
    files: Mutex<SavedFiles>,
    /// Held while a saved file is rewritten. Must be locked before `files`.
    folding: Mutex<()>,
    damaged: Mutex<DamagedFiles>,
    background: Background,
    /// The journals by database number. They can be read while files are being written.
    #[cfg(feature = "save")]
    journals: Vec<(u16, Arc<JournalTally>)>,
    headroom: Option<HeadroomProbe>,
}

/// The number of units of work after which a query is restarted on another thread. This much work takes a few milliseconds.
const QUICK_WORK: u64 = 65_536;
/// The number of units of work after which a scan is restarted on another thread. This much work takes about half a millisecond.
/// The limit is lower than the limit for queries, because many concurrent scans would otherwise delay other connections.
const QUICK_SCAN: u64 = 10_000;
/// The maximum number of units of work for a query. This much work takes about a second. A query that needs more fails with
/// condition 31.
const MOST_WORK: u64 = 20_000_000;

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let catalogue = self.current();
        let names = catalogue.databases.iter().map(|database| &database.name);
        f.debug_set().entries(names).finish()
    }
}

impl MemoryBackend {
    /// Returns a builder without databases.
    pub fn builder() -> MemoryBackendBuilder {
        MemoryBackendBuilder::default()
    }

    /// Creates a backend with the demo catalogue: the databases `books` and `serials`.
    pub fn demo() -> Self {
        Self::builder().add_demo().build()
    }

    fn new(
        catalogue: Catalogue,
        files: SavedFiles,
        damaged: DamagedFiles,
        headroom: Option<HeadroomProbe>,
    ) -> Self {
        Self(Arc::new(Shared {
            #[cfg(feature = "save")]
            journals: files.tallies(),
            snapshots: Mutex::new(Snapshots::new(catalogue)),
            queue: Mutex::default(),
            files: Mutex::new(files),
            folding: Mutex::default(),
            damaged: Mutex::new(damaged),
            background: Background::new(headroom),
            headroom,
        }))
    }

    /// Returns work that indexes the text of small databases, which the first search would do otherwise. It takes time, so
    /// it belongs on a thread that may block. The files of the databases can be closed before it is done.
    pub fn preparation(&self) -> impl FnOnce() + Send + use<> {
        let catalogue = self.current();
        move || catalogue.index.prepare()
    }

    /// Returns the numbers of long jobs that are in progress and that are waiting.
    pub fn jobs(&self) -> JobCounts {
        self.0.background.counts()
    }

    /// Returns the current databases.
    fn current(&self) -> Arc<Catalogue> {
        Arc::clone(&lock(&self.0.snapshots).current().catalogue)
    }

    /// Returns the current databases in the form that result sets keep.
    fn view(&self) -> View {
        lock(&self.0.snapshots).current().clone()
    }

    fn headroom(&self) -> Option<Headroom> {
        headroom::now(self.0.headroom)
    }

    fn replace(&self, catalogue: Arc<Catalogue>) {
        let given_up = lock(&self.0.snapshots).replace(catalogue);
        drop(given_up);
    }

    fn find(&self, search: &Search<'_>, work: &mut WorkBudget) -> Result<Found, Diagnostic> {
        let View {
            catalogue,
            snapshot,
        } = self.view();
        let databases = catalogue.selected(search.databases)?;
        let index = &catalogue.index;
        let fields = &catalogue.fields;
        let Evaluated { hits, term_counts } =
            eval::find(index, fields, search, databases.as_deref(), work)?;
        let hits = index.visible(hits, databases.as_deref());
        let facets = match search.facets {
            [] => Vec::new(),
            requests => scan::facets(index, fields, &hits, requests, work)?,
        };
        let hits = hits.into_owned();
        Ok(Found {
            term_counts,
            facets,
            ..ResultList::of_set(snapshot, hits).into()
        })
    }

    /// Returns a record in the version that the search found.
    fn retrieve(&self, wanted: &Retrieve<'_>) -> Retrieved {
        let list = wanted.hits.downcast::<ResultList>();
        let catalogue = match list {
            Some(list) => list.snapshot.catalogue(),
            None => Some(self.current()),
        };
        let lost = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "");
        let Some(catalogue) = catalogue else {
            return Retrieved::new(DatabaseName::from(""), Err(lost()));
        };
        let number = RecordNumber::of(wanted.record);
        let database = number.map_or("", |number| catalogue.database_of(number));
        let segment = number.and_then(|number| catalogue.index.segment(number));
        let stored = segment.and_then(|(segment, number)| segment.record(number));
        let record = stored.ok_or_else(lost).and_then(|(octets, own)| {
            let composition = wanted.composition;
            let syntax = composition.syntax.unwrap_or(own);
            forms::record(octets, own, &syntax, composition.element_set(database))
        });
        Retrieved::new(DatabaseName::from(database), record).written_here()
    }
}

impl Backend for MemoryBackend {
    fn databases(&self) -> Vec<DatabaseInfo> {
        let catalogue = self.current();
        let attributes = attributes::infos(&catalogue.fields);
        let syntaxes = catalogue.syntaxes();
        let databases = catalogue.databases.iter().zip(&catalogue.counts);
        let infos = databases.map(|(database, records)| DatabaseInfo {
            name: database.name.clone(),
            title: database.title.clone(),
            description: database.description.clone(),
            records: Some(*records),
            syntaxes: syntaxes.clone(),
            element_sets: forms::XML_ELEMENT_SETS.map(str::to_owned).into(),
            attributes: attributes.clone(),
            scan: true,
            sort: true,
            update: true,
            parts: Vec::new(),
            is_merged: false,
            address: None,
        });
        infos.collect()
    }

    /// Result sets used as operands are restricted to the databases being searched, like the records of terms.
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        let mut work = WorkBudget::new(QUICK_WORK);
        let found = self.find(&search, &mut work);
        if !work.ran_out {
            return ready(found);
        }
        let (backend, query) = (self.clone(), search.query.clone());
        let (databases, facets) = (search.databases.to_vec(), search.facets.to_vec());
        let result_sets = query.rpn.operands().filter_map(|operand| match operand {
            Operand::ResultSet(name) => {
                let name = name.0.as_bytes();
                Some((name.to_vec(), (search.result_set)(name)?))
            }
            _ => None,
        });
        let result_sets: HashMap<_, _> = result_sets.collect();
        let (caller, term_counts) = (search.caller, search.term_counts);
        let account = search.work.cloned();
        self.0.background.answer(caller.clone(), move |slice| {
            let search = Search {
                caller,
                databases: &databases,
                query: &query,
                result_set: &|name| result_sets.get(name).cloned(),
                term_counts,
                term_counts_asked: false,
                facets: &facets,
                first_records: 0,
                syntax: None,
                work: None,
            };
            let mut work = WorkBudget::new(MOST_WORK)
                .in_turns(slice)
                .charged_to(account);
            let found = backend.find(&search, &mut work);
            debug!(
                units = MOST_WORK - work.left(),
                "searched in the background"
            );
            found
        })
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        self.current().has_syntax(syntax)
    }

    fn has_element_set(&self, name: &str, syntax: Option<&Oid>) -> bool {
        forms::has_element_set(name, syntax)
    }

    fn element_set_of_schema(&self, schema: &Schema, syntax: Option<&Oid>) -> Option<String> {
        forms::element_set_of_schema(schema, syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        ready(Ok(self.retrieve(&wanted)))
    }

    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        let mut work = WorkBudget::new(QUICK_SCAN);
        let scanned = scan::scan(&self.current(), &scan, &mut work);
        if !work.ran_out {
            return ready(scanned);
        }
        let (backend, databases) = (self.clone(), scan.databases.to_vec());
        let (start, within) = (scan.start.clone(), scan.within.cloned());
        self.0.background.answer(scan.caller.clone(), move |slice| {
            let scan = Scan {
                databases: &databases,
                start: &start,
                within: within.as_ref(),
                ..scan
            };
            let work = &mut WorkBudget::new(MOST_WORK).in_turns(slice);
            scan::scan(&backend.current(), &scan, work)
        })
    }

    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        let current = self.view();
        if sort.inputs.iter().map(Hits::len).sum::<usize>() <= sort::QUICK {
            let mut work = WorkBudget::new(QUICK_WORK);
            let sorted = match sort::prepared(&current, &sort, &mut work) {
                Err(diagnostic) => Some(Err(diagnostic)),
                Ok(prepared) if prepared.is_quick() => Some(prepared.sorted(&mut work)),
                Ok(_) => None,
            };
            if let Some(sorted) = sorted.filter(|_| !work.ran_out) {
                return ready(sorted);
            }
        }
        let (caller, inputs, keys) = (sort.caller, sort.inputs.to_vec(), sort.keys.to_vec());
        self.0.background.answer(caller.clone(), move |slice| {
            let sort = Sort {
                caller,
                inputs: &inputs,
                keys: &keys,
            };
            // The limit on the number of records already bounds the work, so the work has no separate limit.
            let work = &mut WorkBudget::new(u64::MAX).in_turns(slice);
            sort::prepared(&current, &sort, work)?.sorted(work)
        })
    }

    fn update<'a>(&'a self, update: Update<'a>) -> Answer<'a, update::Outcomes> {
        let (caller, database) = (update.caller, update.database.clone());
        let action = update.action;
        let records: Arc<[_]> = update.records.into();
        Box::pin(async move {
            loop {
                let quick = self.change_at_once(&Update {
                    caller: caller.clone(),
                    database: &database,
                    action,
                    records: &records,
                });
                let begun = match quick {
                    Some(begun) => begun?,
                    None => {
                        let (backend, database) = (self.clone(), database.clone());
                        let caller = caller.clone();
                        let records = Arc::clone(&records);
                        // A change is not interrupted once it has begun.
                        let begun = self.0.background.change(move || {
                            backend.change(&Update {
                                caller,
                                database: &database,
                                action,
                                records: &records,
                            })
                        });
                        begun.await?
                    }
                };
                let (outcomes, is_done) = match begun {
                    Begun::Done(outcomes) => return Ok(outcomes),
                    Begun::Waiting(outcomes, is_done) => (outcomes, is_done),
                };
                match is_done.await.unwrap_or_else(|_| Commit::lost()) {
                    Commit::Done => return Ok(outcomes),
                    Commit::Failed(diagnostic) => return Err(diagnostic),
                    Commit::Overtaken => {}
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
