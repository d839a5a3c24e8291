//! The nodes that hold the records. A record is at the node that its number leads to; changes go there, never to the server that
//! distributes searches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Mutex;
use std::time::Duration;

use z3950_server::marc::MarcRecord;

use super::address::{NodeAddress, NodeAddressError, read_addresses};
use super::health::Warnings;
use super::layout::{EngineDocument, EngineLayout};
use super::link::{Link, LinkError};
use super::mysql::Rows;
use super::token;
use crate::lock::lock;

/// The nodes of a database.
#[derive(Debug)]
pub(super) struct Nodes {
    links: Vec<Link>,
    /// One for each node.
    warnings: Vec<Mutex<Warnings>>,
    index: String,
    columns: String,
}

/// How long a node may take for a change: it writes its memory to disk now and then.
pub(super) const WRITE_TIME: Duration = Duration::from_secs(300);

impl Nodes {
    /// # Errors
    /// See [`NodeAddressError`].
    pub(super) fn new(
        addresses: &[String],
        index: &str,
        layout: &EngineLayout,
        connections: usize,
        time: Duration,
    ) -> Result<Self, NodeAddressError> {
        let links = read_addresses(addresses).into_iter().map(|address| {
            let NodeAddress { host, port } = address?;
            Ok(Link::new(&host, port, connections, time))
        });
        let fixed = ["id", "record", "facets", super::layout::KEYS].map(str::to_owned);
        let texts = layout
            .texts()
            .map(|(index, _)| layout.column_of("t", index));
        let sort = layout.sort_columns().flatten();
        let columns: Vec<String> = fixed.into_iter().chain(texts).chain(sort).collect();
        let links: Vec<Link> = links.collect::<Result<_, _>>()?;
        Ok(Self {
            warnings: links.iter().map(|_| Mutex::default()).collect(),
            links,
            index: index.to_owned(),
            columns: columns.join(","),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    /// The node of a record.
    pub(super) fn of(&self, number: u64) -> Option<usize> {
        let nodes = u64::try_from(self.links.len()).ok()?;
        usize::try_from(number.checked_rem(nodes)?).ok()
    }

    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    /// The node with this number.
    pub(super) fn link(&self, node: usize) -> Option<&Link> {
        self.links.get(node)
    }

    /// Logs that a node failed in an update.
    pub(super) fn note_failure(&self, node: usize, why: &dyn Display) {
        let Some((link, warnings)) = self.links.get(node).zip(self.warnings.get(node)) else {
            return;
        };
        let node = &*link.place;
        if lock(warnings).begins() {
            tracing::warn!(node, %why, "the node failed in an update");
        } else {
            tracing::debug!(node, %why, "the node failed in an update");
        }
    }

    /// Carries out a statement that changes records at a node; the number of rows that it has changed.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub(super) async fn carry_out(&self, node: usize, statement: &[u8]) -> Result<u64, LinkError> {
        let link = self
            .link(node)
            .ok_or(LinkError::malformed("there is no such node"))?;
        let results = link.ask_within(WRITE_TIME, statement).await?;
        Ok(results.iter().map(|result| result.changed).sum())
    }

    /// The rows of a select at a node.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub(super) async fn ask(&self, node: usize, select: &[u8]) -> Result<Rows, LinkError> {
        let link = self
            .link(node)
            .ok_or(LinkError::malformed("there is no such node"))?;
        let results = link.ask(select).await?;
        Ok(results.into_iter().next().unwrap_or_default())
    }

    /// The statements of changes at one node. Of several changes of a record, and of several records with a term, only the last counts:
    /// Sphinx loses documents that a statement has twice.
    pub(super) fn statements(
        &self,
        layout: &EngineLayout,
        changes: Vec<NodeChange>,
    ) -> Vec<Vec<u8>> {
        let mut terms = BTreeSet::new();
        let mut last = BTreeMap::new();
        for mut change in changes {
            if let NodeChange::Put(document) = &mut change {
                terms.extend(std::mem::take(&mut document.scan));
            }
            last.insert(change.number(), change);
        }
        let mut documents = Vec::new();
        let mut deleted = Vec::new();
        for change in last.into_values() {
            match change {
                NodeChange::Put(document) => documents.push(document),
                NodeChange::Delete(number) => deleted.push(number),
            }
        }
        let mut statements = Vec::new();
        if !terms.is_empty() {
            statements.push(self.insert_terms(terms.iter()));
        }
        if !documents.is_empty() {
            statements.push(self.insert(layout, &documents));
        }
        if !deleted.is_empty() {
            statements.push(self.delete(&deleted));
        }
        statements
    }

    /// The statement that adds records, in place of others of their numbers.
    pub(super) fn insert(&self, layout: &EngineLayout, documents: &[EngineDocument]) -> Vec<u8> {
        let Self { index, columns, .. } = self;
        let mut statement = format!("REPLACE INTO {index} ({columns}) VALUES ").into_bytes();
        for (place, document) in documents.iter().enumerate() {
            if place > 0 {
                statement.push(b',');
            }
            values(layout, document, &mut statement);
        }
        statement
    }

    /// The statement that adds terms to be scanned.
    pub(super) fn insert_terms<'t>(
        &self,
        terms: impl Iterator<Item = &'t (char, String)>,
    ) -> Vec<u8> {
        let mut statement = format!(
            "REPLACE INTO {} (id,{TERM_FIELD},{},{TERM}) VALUES ",
            terms_of(&self.index),
            TERM_NUMBERS.join(",")
        )
        .into_bytes();
        for (place, (mark, term)) in terms.enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let id = term_id(*mark, term);
            let numbers = term_numbers(term.as_bytes()).map(|number| number.to_string());
            let numbers = numbers.join(",");
            statement.extend(format!("{comma}({id},'{mark}',{numbers},'").into_bytes());
            statement.extend(token::literal(term.as_bytes()));
            statement.extend(b"')");
        }
        statement
    }

    /// The statement that deletes records.
    pub(super) fn delete(&self, numbers: &[u64]) -> Vec<u8> {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let numbers = numbers.join(",");
        format!("DELETE FROM {} WHERE id IN ({numbers})", self.index).into_bytes()
    }
}

/// The index of the terms that can be scanned.
pub(super) fn terms_of(index: &str) -> String {
    format!("{index}_terms")
}

/// The columns of terms: the mark of the index, the beginning as numbers, the term.
pub(super) const TERM_FIELD: &str = "t";
/// See [`TERM_FIELD`].
pub(super) const TERM_NUMBERS: [&str; 3] = ["p", "q", "r"];
/// See [`TERM_FIELD`].
pub(super) const TERM: &str = "term";

/// The number of a term.
pub(super) fn term_id(mark: char, term: &str) -> u64 {
    let mut octets = mark.to_string().into_bytes();
    octets.extend(term.as_bytes());
    EngineLayout::number_of(&octets)
}

/// The first octets of a term as numbers that order terms as they do: the engine has no order of texts in conditions. Each has seven,
/// because the engine's numbers have a sign.
pub(super) fn term_numbers(term: &[u8]) -> [u64; TERM_NUMBERS.len()] {
    let mut octets = term.iter().copied().chain(std::iter::repeat(0));
    TERM_NUMBERS.map(|_| {
        let seven = octets.by_ref().take(7);
        seven.fold(0, |number, octet| number << 8 | u64::from(octet))
    })
}

/// The part of a statement for a record.
fn values(layout: &EngineLayout, document: &EngineDocument, statement: &mut Vec<u8>) {
    let text = |octets: &[u8], statement: &mut Vec<u8>| {
        statement.extend(b",'");
        statement.extend(token::literal(octets));
        statement.push(b'\'');
    };
    statement.push(b'(');
    statement.extend(document.id.to_string().into_bytes());
    text(&token::stored(&document.record), statement);
    text(document.facets.as_bytes(), statement);
    text(document.keys.as_bytes(), statement);
    for (index, _) in layout.texts() {
        let words = document.texts.get(&index).map(String::as_str);
        text(words.unwrap_or_default().as_bytes(), statement);
    }
    for [folded, own] in &document.sort {
        text(folded.as_bytes(), statement);
        text(own.as_bytes(), statement);
        statement.extend(if folded.is_empty() { b",0" } else { b",1" });
    }
    statement.push(b')');
}

/// A record to be added, or the number of one to be deleted.
#[derive(Clone, Debug)]
pub(super) enum NodeChange {
    Put(EngineDocument),
    Delete(u64),
}

impl NodeChange {
    /// The change that adds or deletes a record.
    pub(super) fn of(
        layout: &EngineLayout,
        record: &MarcRecord,
        octets: &[u8],
        delete: bool,
    ) -> Self {
        if delete {
            Self::Delete(layout.number(record, octets))
        } else {
            Self::Put(layout.document(record, octets))
        }
    }

    pub(super) fn number(&self) -> u64 {
        match self {
            Self::Put(document) => document.id,
            Self::Delete(number) => *number,
        }
    }

    /// About what it takes in a statement.
    pub(super) fn octets(&self) -> usize {
        match self {
            Self::Put(document) => document.octets(),
            Self::Delete(_) => 24,
        }
    }
}

#[cfg(test)]
mod tests {
    use twox_hash::XxHash3_64;
    use z3950_server::marc::mrk;
    use z3950_server::memory::index_map::{IndexId, Terms};
    use z3950_server::memory::{AccessPoints, DocidField, Profile};

    use super::*;
    use crate::engine::IndexUses;

    fn layout() -> EngineLayout {
        let layout = EngineLayout::new(
            AccessPoints::default(),
            Profile::default(),
            DocidField::default(),
            &IndexUses::default(),
        );
        layout.expect("indexes")
    }

    #[test]
    fn a_statement_has_each_record_and_each_term_once() {
        let layout = layout();
        let change = |id: &str, title: &str, delete: bool| {
            let text = format!("=LDR  00000nam a2200000 a 4500\n=001  {id}\n=245  10$a{title}\n\n");
            let record = mrk::parse_all(&text).expect("a record").remove(0);
            NodeChange::of(&layout, &record, title.as_bytes(), delete)
        };
        let node = ["127.0.0.1:9401".to_owned()];
        let nodes = Nodes::new(&node, "books", &layout, 1, Duration::from_secs(1));
        let changes = vec![
            change("a", "first", false),
            change("b", "second", false),
            change("a", "second", false),
            change("b", "second", true),
        ];
        let (one, other) = (changes[2].number(), changes[3].number());
        let statements = nodes.expect("an address").statements(&layout, changes);
        let texts = statements.iter().map(|text| String::from_utf8_lossy(text));
        let texts: Vec<_> = texts.collect();
        let [terms, replaced, deleted] = &texts[..] else {
            panic!("{texts:?}");
        };
        let id = term_id(token::scanned(Terms::Words(IndexId::ANY)), "second");
        assert_eq!(terms.matches(&format!("({id},")).count(), 1, "{terms}");
        assert_eq!(replaced.matches(&format!("({one},'second'")).count(), 1);
        assert!(!replaced.contains("first") && !replaced.contains(&other.to_string()));
        assert!(deleted.ends_with(&format!("id IN ({other})")), "{deleted}");
    }

    /// Engines hold such documents already. The first value changes with the built-in indexes. If only the second one changes, the same settings
    /// make other documents: raise `VERSION` in layout.rs, and say in the changelog that all records have to be loaded again.
    #[test]
    fn documents_stay_as_they_are() {
        let layout = layout();
        assert_eq!(layout.term(), "2280c99d6a063902");
        let long = "long".repeat(12);
        let first = [
            "=LDR  00000nam a2200000 a 4500",
            "=001  ocm/7",
            "=008  990131s1999\\\\\\\\enk\\\\\\\\\\\\\\\\\\\\\\000\\0\\eng\\d",
            "=010  \\\\$a   85000002 ",
            "=020  \\\\$a0-14-143951-3",
            "=022  \\\\$a0317-8471",
            "=035  \\\\$a(OCoLC)12-34 \u{e9}",
            "=100  1\\$aTolsto\u{ef}, L\u{e9}on,$d1828-1910",
            "=245  14$aThe War & \u{20000}\u{20001} /$cLeo Tolstoy",
            &format!("=500  \\\\$a{long} \u{416}\u{443}\u{43a}"),
            "=260  \\\\$aLondon :$bPenguin,$c1999",
        ];
        let nameless = "=LDR  00000nam a2200000 a 4500\n=245  10$aPeace";
        let text = format!("{}\n\n{nameless}\n\n", first.join("\n"));
        let records = mrk::parse_all(&text).expect("records");
        let changes = records.iter().zip([b"first", b"other"]);
        let changes =
            changes.map(|(record, octets)| NodeChange::of(&layout, record, octets, false));
        let node = ["127.0.0.1:9401".to_owned()];
        let nodes = Nodes::new(&node, "books", &layout, 1, Duration::from_secs(1));
        let nodes = nodes.expect("an address");
        let statements = nodes.statements(&layout, changes.collect()).concat();
        let hash = XxHash3_64::oneshot(&statements);
        assert_eq!(
            hash,
            9_969_152_164_727_482_322,
            "{}",
            String::from_utf8_lossy(&statements)
        );
    }
}
