//! Indexes that are filled in the same way as Koha and VuFind fill theirs.

use std::path::Path;
use std::time::Instant;

use z3950_marc::MarcRecord;
use z3950_tests::koha::{Edition, KohaDocument, KohaIndex, RecordForm, with_items};
use z3950_tests::opensearch::{Cluster, NodeProgram};
use z3950_tests::solr::{self, SolrNodes, SolrShape, vufind_document};

use crate::records::{QuerySample, read};

/// A filled index, and the engine that serves it.
pub(crate) struct Filled {
    pub(crate) kind: &'static Kind,
    /// The port of the engine.
    pub(crate) port: u16,
    /// The path of the index.
    path: String,
    /// The engine, which is stopped when this value is dropped.
    _engine: Box<dyn Send + Sync>,
}

/// A kind of index, with the engine's names for the parts of searches and answers.
pub(crate) struct Kind {
    pub(crate) title: &'static str,
    /// The name of the built-in map.
    pub(crate) map: &'static str,
    /// Whether records are identified by consecutive numbers rather than by the identifiers in the records.
    has_numbers: bool,
    pub(crate) first: &'static str,
    pub(crate) rows: &'static str,
    pub(crate) total: &'static str,
    pub(crate) records: &'static str,
}

const KOHA: Kind = Kind {
    title: "Koha",
    map: "koha",
    has_numbers: true,
    first: "from",
    rows: "size",
    total: "/hits/total/value",
    records: "/hits/hits",
};
const VUFIND: Kind = Kind {
    title: "VuFind",
    map: "vufind",
    has_numbers: false,
    first: "offset",
    rows: "limit",
    total: "/response/numFound",
    records: "/response/docs",
};

/// The number of records in a request that fills an index.
const AT_ONCE: usize = 5_000;

impl Filled {
    /// Returns the URL of the index for the settings of `z3950d`; `port` is the port of the engine or of a relay to it.
    pub(crate) fn url(&self, port: u16) -> String {
        format!("http://127.0.0.1:{port}{}", self.path)
    }

    /// Returns the settings of `z3950d` for the index at this port.
    pub(crate) fn settings(&self, port: u16) -> String {
        let (url, map) = (self.url(port), self.kind.map);
        format!("[[database]]\nname = \"books\"\nengine = {url:?}\ncatalogue = {map:?}\n")
    }

    /// Returns a copy of a sample with the identifier that its record has in this index.
    pub(crate) fn sample(&self, sample: &QuerySample) -> QuerySample {
        let mut sample = sample.clone();
        if self.kind.has_numbers {
            let digits = sample.id.trim_start_matches(|c: char| !c.is_ascii_digit());
            sample.id = digits.trim_start_matches('0').to_owned();
        }
        sample
    }
}

/// Starts an OpenSearch node with an index like Koha's, in one shard, with records in base64; `None` if OpenSearch is not
/// available.
pub(crate) fn koha(file: &Path) -> Option<Filled> {
    let program = NodeProgram::for_koha()?;
    let cluster = Cluster::start(&program.for_measuring(), 1);
    let index = KohaIndex::empty(&cluster, "books", Edition::Current, 1);
    fill(KOHA.title, file, |records| {
        index.put(records.iter().map(|(number, record)| {
            let record = with_items(record, *number);
            let document = KohaDocument::new(*number, &record, RecordForm::Base64);
            (*number, document.json(Edition::Current))
        }));
    });
    let (port, path) = (cluster.ports()[0], format!("/{}", index.name));
    Some(Filled {
        kind: &KOHA,
        port,
        path,
        _engine: Box::new(cluster),
    })
}

/// Starts a Solr node with an index like VuFind's, in one shard, with records in ISO 2709; `None` if Solr is not
/// available.
pub(crate) fn vufind(file: &Path) -> Option<Filled> {
    let nodes = SolrNodes::for_measuring()?;
    let collection = nodes.create(SolrShape::VuFind, "books");
    fill(VUFIND.title, file, |records| {
        let documents = records.iter();
        let documents =
            documents.map(|(_, record)| vufind_document(record, solr::RecordForm::Iso2709));
        nodes.load(&collection, &documents.collect::<Vec<_>>());
    });
    let (port, path) = (nodes.ports()[0], format!("/solr/{collection}"));
    Some(Filled {
        kind: &VUFIND,
        port,
        path,
        _engine: Box::new(nodes),
    })
}

/// Passes the records of a file to a function, each with its number, and prints the time that this takes.
fn fill(title: &str, file: &Path, mut load: impl FnMut(&[(usize, MarcRecord)])) {
    let begun = Instant::now();
    let mut records = (1..).zip(read(file));
    let mut count = 0;
    loop {
        let some: Vec<_> = records.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        load(&some);
        count += some.len();
    }
    println!(
        "{title}: {count} records in {:.0} s",
        begun.elapsed().as_secs_f64()
    );
}
