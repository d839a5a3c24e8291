//! Koha's index for tests: an OpenSearch node with the ICU analysis plugin, and indexes with Koha's fields, which are filled from
//! MARC 21 records in the same way as Koha fills them. `Z3950_KOHA` names the folder that `koha/prepare` has filled. If the
//! variable is not set, a folder in the build folder is filled, provided that Java and Maven are available.

mod books;
mod document;
mod fields;

use std::sync::OnceLock;

use serde_json::{Value, json};
use z3950_marc::MarcRecord;

use crate::opensearch::{Cluster, NodeProgram, own_index};

pub use self::books::{NAMES, WORDS, made_up, of_libraries, with_items};
pub use self::document::{KohaDocument, RecordForm};
pub use self::fields::{Edition, FIELDS, KohaField, KohaKind, index};

/// An index for a test, and its documents.
#[derive(Debug)]
pub struct KohaIndex<'c> {
    /// The cluster that contains the index.
    pub cluster: &'c Cluster,
    /// The name of the index.
    pub name: String,
    /// The documents in the index, in the order of their numbers.
    pub documents: Vec<KohaDocument>,
}

/// Returns the node that is shared by all tests of Koha's index, or `None` if it is not available. Tests must not damage this
/// node.
pub fn shared_node() -> Option<&'static Cluster> {
    static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
    let started = || Some(Cluster::start(&NodeProgram::for_koha()?, 1));
    SHARED.get_or_init(started).as_ref()
}

impl<'c> KohaIndex<'c> {
    /// Creates an index without documents in this number of shards. The name of the index is derived from `name`.
    pub fn empty(cluster: &'c Cluster, name: &str, edition: Edition, shards: usize) -> Self {
        let index = Self {
            cluster,
            name: own_index(name),
            documents: Vec::new(),
        };
        index.create(edition, shards);
        index
    }

    /// Creates an index with two shards and fills it with these records, numbered from 1. The name of the index is derived from
    /// `name`. One record in ten is stored as MARCXML and another one in ten as an array.
    pub fn filled(
        cluster: &'c Cluster,
        name: &str,
        edition: Edition,
        records: &[MarcRecord],
    ) -> Self {
        let numbered = records.iter().enumerate();
        let documents = numbered.map(|(at, record)| {
            let number = at + 1;
            let form = match number % 10 {
                3 => RecordForm::Array,
                7 => RecordForm::Xml,
                _ => RecordForm::Base64,
            };
            KohaDocument::new(number, &with_items(record, number), form)
        });
        let mut index = Self::empty(cluster, name, edition, 2);
        index.documents = documents.collect();
        let documents = index.documents.iter();
        let documents = documents.map(|document| (document.number, document.json(edition)));
        index.put(documents);
        index
    }

    /// Creates this index without documents.
    ///
    /// # Panics
    /// Panics if the node refuses the request.
    pub fn create(&self, edition: Edition, shards: usize) {
        let body = index(edition, shards).to_string();
        let (status, answer) = self.cluster.ask("PUT", &format!("/{}", self.name), &body);
        assert_eq!(status, 200, "{answer}");
    }

    /// Adds documents with their numbers. A document replaces the document with the same number.
    ///
    /// # Panics
    /// Panics if the node refuses a document.
    pub fn put(&self, documents: impl IntoIterator<Item = (usize, Value)>) {
        let lines = documents.into_iter().map(|(number, document)| {
            let action = json!({ "index": { "_id": number.to_string() } });
            format!("{action}\n{document}\n")
        });
        self.change(&lines.collect::<String>());
    }

    /// Deletes documents.
    ///
    /// # Panics
    /// Panics if a document does not exist.
    pub fn delete(&self, numbers: &[usize]) {
        let lines = numbers
            .iter()
            .map(|number| json!({ "delete": { "_id": number.to_string() } }).to_string() + "\n");
        self.change(&lines.collect::<String>());
    }

    fn change(&self, lines: &str) {
        let path = format!("/{}/_bulk?refresh=true", self.name);
        let (status, answer) = self.cluster.ask("POST", &path, lines);
        assert_eq!(
            (status, &answer["errors"]),
            (200, &Value::Bool(false)),
            "{answer}"
        );
    }

    /// Returns the address of the index at the first node, in the form in which it is configured in z3950d.
    pub fn address(&self) -> String {
        self.cluster.urls(&self.name).swap_remove(0)
    }

    /// Returns the words into which the analysis of a field splits the texts.
    ///
    /// # Panics
    /// Panics if the node refuses the request.
    pub fn analyze(&self, field: &str, texts: &[&str]) -> Vec<String> {
        let path = format!("/{}/_analyze", self.name);
        let body = json!({ "field": field, "text": texts }).to_string();
        let (status, answer) = self.cluster.ask("POST", &path, &body);
        assert_eq!(status, 200, "{answer}");
        let tokens = answer["tokens"].as_array().expect("tokens").iter();
        tokens
            .map(|token| token["token"].as_str().expect("a word").to_owned())
            .collect()
    }
}
