//! The builder of a [`MemoryBackend`] whose databases come from memory, from files, or from both.

use std::sync::Arc;

use z3950_marc::{MarcRecord, mrk};

use super::catalogue::{Catalogue, DatabaseFiles, same_name};
use super::docid::DocidField;
use super::fields::{AccessPoints, Fields};
use super::load::{DamagedFiles, FileNotes, LoadError, Loaded, Note, Progress, encoded};
use super::profile::Profile;
use super::{JOURNAL_OCTETS, MemoryBackend, SavedFiles, load, update};
use crate::headroom::{self, HeadroomProbe};

/// Collects databases for a [`MemoryBackend`].
#[derive(Debug, Default)]
pub struct MemoryBackendBuilder {
    docid: DocidField,
    access_points: AccessPoints,
    profile: Profile,
    databases: Vec<DatabaseFiles>,
    journal_octets: Option<u64>,
    headroom: Option<HeadroomProbe>,
}

impl MemoryBackendBuilder {
    /// Sets the docid field; the default is 001.
    pub fn docid(mut self, field: DocidField) -> Self {
        self.docid = field;
        self
    }

    /// Sets the access points and their sources in records.
    pub fn access_points(self, access_points: AccessPoints) -> Self {
        Self {
            access_points,
            ..self
        }
    }

    /// Sets the attributes that queries may use.
    pub fn profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    /// Sets the size in octets at which a journal is folded into its file; the default is 16 MiB.
    #[cfg(feature = "save")]
    pub fn journal_octets(mut self, octets: u64) -> Self {
        self.journal_octets = Some(octets);
        self
    }

    /// Sets the function that measures the remaining memory. Without it, loads and updates assume that there is enough.
    pub fn headroom(mut self, probe: HeadroomProbe) -> Self {
        self.headroom = Some(probe);
        self
    }

    /// Adds records to a database, creating it if necessary.
    ///
    /// # Errors
    /// Fails with a note on the first record that cannot be encoded in ISO 2709.
    pub fn add_records(
        mut self,
        name: &str,
        records: impl IntoIterator<Item = MarcRecord>,
    ) -> Result<Self, Note> {
        let records = encoded(records)?;
        self.database(name).records.extend(records);
        Ok(self)
    }

    /// Sets the title and description of a database, creating it if necessary.
    pub fn describe(mut self, name: &str, title: &str, description: &str) -> Self {
        let database = self.database(name);
        database.title = Some(title.to_owned());
        database.description = Some(description.to_owned());
        self
    }

    /// Adds the demo catalogue: databases `books` and `serials`.
    #[expect(
        clippy::panic,
        reason = "the tests read the texts, which are part of the program"
    )]
    pub fn add_demo(mut self) -> Self {
        for (name, title, description, text) in DEMO {
            let records =
                mrk::parse_all(text).unwrap_or_else(|error| panic!("{name}.mrk: {error}"));
            let added = self.describe(name, title, description);
            let added = added.add_records(name, records);
            self = added.unwrap_or_else(|note| panic!("{name}.mrk: {note}"));
        }
        self
    }

    /// Builds the backend from the records added so far.
    pub fn build(self) -> MemoryBackend {
        let probe = self.headroom;
        let (fields, databases) = self.finished();
        // Loading fails only because of files, and there are none here.
        let loaded = load::load(&fields, &databases, None, None, &|_| {});
        let Loaded { index, .. } = loaded.unwrap_or_default();
        MemoryBackend::new(
            Catalogue::new(fields, databases, index),
            SavedFiles::default(),
            DamagedFiles::default(),
            probe,
        )
    }

    /// Builds the backend from the records added so far and the records in files, which are read in parallel; `progress` is
    /// called from time to time. Blocks until done.
    ///
    /// # Errors
    /// Fails if a file cannot be read or does not contain records, if a journal cannot be read, is damaged or does not belong to
    /// its file, or if there is too little memory ([`LoadError::NoMemory`]). A damaged record is not an error, but is reported as
    /// a note.
    pub fn load(
        self,
        databases: impl IntoIterator<Item = DatabaseFiles>,
        progress: &dyn Fn(&Progress),
    ) -> Result<(MemoryBackend, Vec<FileNotes>), LoadError> {
        let journal_octets = self.journal_octets.unwrap_or(JOURNAL_OCTETS);
        let probe = self.headroom;
        let (fields, databases) = self.with_files(databases).finished();
        let mut saved = SavedFiles::lock(&databases, journal_octets)?;
        let found = saved.examine(&fields);
        let loaded = load::load(&fields, &databases, None, headroom::now(probe), progress);
        let (found, loaded) = load::both(Vec::new(), found, loaded)?;
        let catalogue = Catalogue::new(fields, databases, loaded.index);
        let catalogue = update::repeated(catalogue, saved.record_states(found));
        let backend = MemoryBackend::new(catalogue, saved, loaded.damaged, probe);
        Ok((backend, loaded.notes))
    }

    /// Adds databases whose records are in files.
    pub(super) fn with_files(mut self, files: impl IntoIterator<Item = DatabaseFiles>) -> Self {
        for files in files {
            let known = self.database(&files.name);
            known.paths.extend(files.paths);
            known.title = files.title.or(known.title.take());
            known.description = files.description.or(known.description.take());
            known.docid = files.docid.or(known.docid);
            #[cfg(feature = "save")]
            {
                known.save = files.save.or(known.save.take());
            }
        }
        self
    }

    #[expect(clippy::indexing_slicing, reason = "the place was found or made here")]
    fn database(&mut self, name: &str) -> &mut DatabaseFiles {
        let mut known = self.databases.iter();
        let known = known.position(|known| same_name(&known.name, name));
        let place = known.unwrap_or_else(|| {
            self.databases.push(DatabaseFiles {
                name: name.to_owned(),
                ..DatabaseFiles::default()
            });
            self.databases.len() - 1
        });
        &mut self.databases[place]
    }

    pub(super) fn finished(self) -> (Arc<Fields>, Arc<[DatabaseFiles]>) {
        let databases = self.databases.iter();
        let docids = databases.map(|database| database.docid.unwrap_or(self.docid));
        let fields = Fields::new(self.access_points, self.profile, docids);
        (fields.into(), self.databases.into())
    }
}

/// The demo catalogue of well-known works in the public domain: the name, title, description and records for each database.
const DEMO: [(&str, &str, &str, &str); 2] = [
    (
        "books",
        "Demo catalogue: books",
        "Well-known works in the public domain, in many languages and scripts",
        include_str!("demo/books.mrk"),
    ),
    (
        "serials",
        "Demo catalogue: serials",
        "Newspapers and journals",
        include_str!("demo/serials.mrk"),
    ),
];
