//! The builder of a [`MemoryBackend`]: databases from memory, from files, or both.

use bytes::Bytes;
use z3950_marc::{MarcRecord, mrk};

use super::SavedFiles;
use super::catalogue::{Database, same_name};
use super::docid::DocidField;
use super::fields::{AccessPoints, Fields};
use super::index::Rules;
use super::load::{
    DatabaseFiles, Demand, FileNotes, LoadError, Note, Origins, Progress, Sources, encoded,
};
use super::profile::Profile;
use super::{MemoryBackend, load};

/// Collects databases for a [`MemoryBackend`].
#[derive(Debug, Default)]
pub struct MemoryBackendBuilder {
    docid: DocidField,
    access_points: AccessPoints,
    profile: Profile,
    databases: Vec<NewDatabase>,
}

#[derive(Debug, Default)]
struct NewDatabase {
    files: DatabaseFiles,
    records: Vec<Bytes>,
}

impl MemoryBackendBuilder {
    /// The docid field; by default 001.
    pub fn docid(mut self, field: DocidField) -> Self {
        self.docid = field;
        self
    }

    /// The access points and their fields.
    pub fn access_points(self, access_points: AccessPoints) -> Self {
        Self {
            access_points,
            ..self
        }
    }

    /// The attributes that queries may use.
    pub fn profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    /// Adds records to a database, which is created if necessary.
    ///
    /// # Errors
    /// The first record that cannot be encoded in ISO 2709.
    pub fn add_records(
        mut self,
        name: &str,
        records: impl IntoIterator<Item = MarcRecord>,
    ) -> Result<Self, Note> {
        let records = encoded(records)?;
        self.database(name).records.extend(records);
        Ok(self)
    }

    /// Sets the title and description of a database, which is created if necessary.
    pub fn describe(mut self, name: &str, title: &str, description: &str) -> Self {
        let files = &mut self.database(name).files;
        files.title = Some(title.to_owned());
        files.description = Some(description.to_owned());
        self
    }

    /// Adds the demo catalogue: databases `books` and `serials`.
    pub fn add_demo(self) -> Self {
        demo(self)
    }

    /// A backend of the records added.
    pub fn build(self) -> MemoryBackend {
        let (sources, profile) = self.sources();
        // Only files can fail.
        let (index, _) = load::load(&sources, Demand::AnyRecord, &|_| {}).unwrap_or_default();
        MemoryBackend::new(sources, profile, index, SavedFiles::default())
    }

    /// Builds a backend of the records added and those of files, which are read in parallel; `progress` is called from time to
    /// time. Blocks until done.
    ///
    /// # Errors
    /// The first file that cannot be read, or has no records. Damaged records are reported as notes.
    pub fn load(
        mut self,
        databases: impl IntoIterator<Item = DatabaseFiles>,
        progress: &dyn Fn(&Progress),
    ) -> Result<(MemoryBackend, Vec<FileNotes>), LoadError> {
        for files in databases {
            let known = &mut self.database(&files.name).files;
            known.paths.extend(files.paths);
            known.title = files.title.or(known.title.take());
            known.description = files.description.or(known.description.take());
            known.docid = files.docid.or(known.docid);
            #[cfg(feature = "save")]
            {
                known.save = files.save.or(known.save.take());
            }
        }
        let (sources, profile) = self.sources();
        let mut saved = SavedFiles::lock(&sources.databases)?;
        let stamps = saved.stamps();
        let (index, notes) = load::load(&sources, Demand::AnyRecord, progress)?;
        saved.read(stamps);
        Ok((MemoryBackend::new(sources, profile, index, saved), notes))
    }

    #[expect(clippy::indexing_slicing, reason = "the place was found or made here")]
    fn database(&mut self, name: &str) -> &mut NewDatabase {
        let known = self
            .databases
            .iter()
            .position(|known| same_name(&known.files.name, name));
        let place = known.unwrap_or_else(|| {
            let mut new = NewDatabase::default();
            new.files.name = name.to_owned();
            self.databases.push(new);
            self.databases.len() - 1
        });
        &mut self.databases[place]
    }

    fn sources(self) -> (Sources, Profile) {
        let docid = |database: &NewDatabase| database.files.docid.unwrap_or(self.docid);
        let rules = Rules {
            fields: Fields::new(self.access_points).into(),
            docids: self.databases.iter().map(docid).collect(),
        };
        let mut databases = Vec::new();
        let mut origins = Vec::new();
        for (NewDatabase { files, records }, docid) in
            self.databases.into_iter().zip(rules.docids.iter())
        {
            let save = files.saved().map(ToOwned::to_owned);
            origins.push(Origins {
                memory: records,
                paths: files.paths,
            });
            databases.push(Database {
                name: files.name,
                title: files.title,
                description: files.description,
                docid: *docid,
                save,
            });
        }
        let sources = Sources {
            rules,
            databases: databases.into(),
            origins,
        };
        (sources, self.profile)
    }
}

/// The demo catalogue, well-known works in the public domain: the name, title, description and records of each database.
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

/// Adds the databases of the demo catalogue.
#[expect(
    clippy::panic,
    reason = "the tests read the texts, which are part of the program"
)]
fn demo(builder: MemoryBackendBuilder) -> MemoryBackendBuilder {
    DEMO.into_iter()
        .fold(builder, |builder, (name, title, description, text)| {
            let records =
                mrk::parse_all(text).unwrap_or_else(|error| panic!("{name}.mrk: {error}"));
            let builder = builder.describe(name, title, description);
            let added = builder.add_records(name, records);
            added.unwrap_or_else(|note| panic!("{name}.mrk: {note}"))
        })
}
