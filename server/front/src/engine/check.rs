//! Whether the engine has the fields and attributes of a layout, and records made with it.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use futures_util::future::{join, join_all};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::SourceReport;
use z3950_server::{Diagnostic, diagnostic};

use super::EngineDatabase;
use super::link::{Link, LinkError};
use super::mysql::Rows;
use super::nodes::{TERM, TERM_FIELD, TERM_NUMBERS, terms_of};
use super::statement::{self, Select, Selected, TOTALS};
use super::token;

/// A truncated word, which an engine that cannot look it up takes for a whole one.
const TRUNCATED: &str = "ab*";

/// The outcomes of checks, one for each server.
type CheckOutcomes = Vec<Result<(), EngineCheckError>>;

/// The records of a node that are looked at.
const SAMPLE: usize = 100;

/// What is wrong with an engine whose words are others.
const OTHER_CHARACTERS: &str = "it takes other characters for parts of words";

/// What is wrong with an engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineCheckError {
    /// It does not answer, or refuses for now.
    #[error("{0}")]
    Unreachable(String),
    /// It answers something that an engine does not.
    #[error("the answers of the engine cannot be understood: {0}")]
    Malformed(String),
    /// It has no index of the name.
    #[error("the engine has no such index: {0}")]
    WithoutIndex(String),
    /// It has another configuration.
    #[error("the engine has another configuration than the settings ask for: {0}")]
    Different(String),
    /// A node has records that belong to another one.
    #[error(
        "{0} has records that belong to another node: list the same nodes in the same order as when the records were loaded, or empty the folders of all nodes and load everything again"
    )]
    Misplaced(String),
    /// It has records that were made with another layout.
    #[error(
        "{0} has records that were loaded with other settings of docid, sort, facets, scan or [[index]], or by a version of z3950d that indexes differently: empty the folders of all nodes and load everything again; if all records were loaded with the same settings, restoring those is enough"
    )]
    Outdated(String),
    /// A distributor asks more or fewer nodes than there are.
    #[error(
        "{place} searches {asked} node{}, but nodes lists {listed}: name a distributor and not a node, or write its configuration with z3950d engine-config --overwrite and restart it",
        if *asked == 1 { "" } else { "s" }
    )]
    OtherNodes {
        /// The distributor.
        place: String,
        /// How many nodes it asks.
        asked: usize,
        /// How many there are.
        listed: usize,
    },
    /// A node has no records, and others have many.
    #[error(
        "the node {0} has no records, but others have: unless it is being loaded, its files may be lost; then load everything again"
    )]
    Emptied(String),
}

impl EngineCheckError {
    /// Whether the engine is not as the settings say. Otherwise it does not answer, or a node may have lost its records.
    pub fn is_mismatch(&self) -> bool {
        !matches!(self, Self::Unreachable(_) | Self::Emptied(_))
    }
}

impl EngineDatabase {
    /// Asks each distributor and each node for every field and attribute of the layout and for records made with another one, each distributor
    /// for the number of its nodes, and each node whether it has its own records. All are asked at once.
    ///
    /// # Errors
    /// What is wrong with one of them, or else why one does not answer.
    pub async fn check(&self) -> Result<(), EngineCheckError> {
        let (distributors, nodes) = self.check_all().await;
        self.note_unreachable(&distributors, &nodes);
        first(distributors.into_iter().chain(nodes))
    }

    /// The same, for an engine of which something did not answer before. A distributor that is not as the settings say is not asked until a
    /// later check finds that it is. If a node or all distributors are not, searches, scans, sorts and updates get 109.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub async fn check_again(&self) -> Result<(), EngineCheckError> {
        let (distributors, nodes) = self.check_all().await;
        for (place, outcome) in distributors.iter().enumerate() {
            if !is_unreachable(outcome) {
                self.replicas.set_refused(place, is_mismatch(outcome));
            }
        }
        let is_refused = nodes.iter().any(is_mismatch);
        // A node that does not answer may still be as it was.
        if is_refused || !nodes.iter().any(is_unreachable) {
            self.refused.store(is_refused, Ordering::Relaxed);
        }
        let outcome = first(distributors.into_iter().chain(nodes));
        if matches!(outcome, Ok(()) | Err(EngineCheckError::Emptied(_))) {
            self.replicas.note_answers();
            self.health.answered(&[]);
        }
        outcome
    }

    /// The outcome for each distributor and each node.
    async fn check_all(&self) -> (CheckOutcomes, CheckOutcomes) {
        let distributors = join_all(self.replicas.links().map(async |link| {
            self.check_fields(link).await?;
            self.check_layouts(link).await?;
            self.check_agents(link).await
        }));
        join(distributors, self.check_each_node()).await
    }

    /// The same without the distributors, which a load does not need.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub async fn check_nodes(&self) -> Result<(), EngineCheckError> {
        first(self.check_each_node().await)
    }

    async fn check_each_node(&self) -> CheckOutcomes {
        let links = self.nodes.links().enumerate();
        let samples = links.map(async |(node, link)| {
            self.check_fields(link).await?;
            self.check_layouts(link).await?;
            self.check_records(node, link).await
        });
        let samples: Vec<Result<usize, EngineCheckError>> = join_all(samples).await;
        let has_many = samples.iter().flatten().any(|sample| *sample >= SAMPLE);
        let with_links = samples.into_iter().zip(self.nodes.links());
        let outcomes = with_links.map(|(sample, link)| match sample {
            Ok(0) if has_many => Err(EngineCheckError::Emptied(link.place.clone())),
            sample => sample.map(drop),
        });
        outcomes.collect()
    }

    /// Asks a node whether its records belong to it and were made with the layout, as they have to before it gets others.
    ///
    /// # Errors
    /// What is wrong, or why it does not answer.
    pub(super) async fn check_node(&self, node: usize) -> Result<(), EngineCheckError> {
        let Some(link) = self.nodes.link(node) else {
            return Ok(());
        };
        let (layouts, records) =
            join(self.check_layouts(link), self.check_records(node, link)).await;
        layouts.and(records.map(drop))
    }

    /// Counts the servers that do not answer.
    fn note_unreachable(
        &self,
        distributors: &[Result<(), EngineCheckError>],
        nodes: &[Result<(), EngineCheckError>],
    ) {
        let unreachable = |outcome: &Result<(), EngineCheckError>| match outcome {
            Err(EngineCheckError::Unreachable(words)) => Some(words.clone()),
            _ => None,
        };
        for (place, outcome) in distributors.iter().enumerate() {
            if let Some(words) = unreachable(outcome) {
                self.replicas.note_failure(place, &words);
            }
        }
        let failed = self.options.nodes.iter().zip(nodes);
        let failed = failed.filter_map(|(node, outcome)| {
            let failure = diagnostic(Condition::DATABASE_UNAVAILABLE, unreachable(outcome)?);
            Some(SourceReport::new(node, Err(failure)))
        });
        self.health.answered(&failed.collect::<Vec<_>>());
    }

    async fn check_fields(&self, link: &Link) -> Result<(), EngineCheckError> {
        let sorted = self.layout.sort_columns().flatten();
        let columns: Vec<String> = ["id", "record", "facets"]
            .map(str::to_owned)
            .into_iter()
            .chain(sorted)
            .collect();
        let fields = self.layout.fields().join(",");
        let every = self.every();
        let select = Select {
            columns: &columns.join(","),
            query: &format!("@({fields}) {} {TRUNCATED}", token::OF_EACH_KIND),
            ..every
        };
        let asked = ask_for(link, select, &[token::OF_EACH_KIND, TRUNCATED]);
        asked.await.map(drop)
    }

    /// Asks for the layouts that records were made with.
    async fn check_layouts(&self, link: &Link) -> Result<(), EngineCheckError> {
        let select = Select {
            index: &terms_of(&self.index),
            columns: &format!("{TERM},id,{}", TERM_NUMBERS.join(",")),
            query: &format!("@{TERM_FIELD} {}", token::LAYOUT),
            // Of two layouts at least one is another. Each is one row, even if several nodes have it.
            rows: 2,
            ..self.every()
        };
        let mark = token::LAYOUT.to_string();
        let Selected { rows, warnings, .. } = ask_for(link, select, &[&mark]).await?;
        let own = self.layout.term().into_bytes();
        let mut layouts = rows.iter().filter_map(|row| row.first()?.as_ref());
        if !layouts.all(|layout| *layout == own) {
            return Err(EngineCheckError::Outdated(link.place.clone()));
        }
        match warnings.into_iter().next() {
            // Nodes of the settings are asked themselves.
            Some(words) if self.nodes.len() == 0 => {
                let words = format!("{}: {words}", link.place);
                Err(EngineCheckError::Unreachable(words))
            }
            _ => Ok(()),
        }
    }

    /// Asks a distributor for the number of its nodes. One that does not say passes.
    async fn check_agents(&self, link: &Link) -> Result<(), EngineCheckError> {
        let listed = self.nodes.len();
        if listed == 0 {
            return Ok(());
        }
        let describe = format!("DESCRIBE {}", self.index);
        let rows = match link.ask(describe.as_bytes()).await {
            Ok(results) => results.into_iter().next().unwrap_or_default(),
            Err(LinkError::Refused(_)) => return Ok(()),
            Err(error) => return Err(reason(link, error)),
        };
        match agents(&rows) {
            None => Ok(()),
            Some(asked) if asked == listed => Ok(()),
            Some(asked) => Err(EngineCheckError::OtherNodes {
                place: link.place.clone(),
                asked,
                listed,
            }),
        }
    }

    /// Looks at some records of a node, and returns their number.
    async fn check_records(&self, node: usize, link: &Link) -> Result<usize, EngineCheckError> {
        let select = format!(
            "SELECT id FROM {} LIMIT {SAMPLE} OPTION cutoff={SAMPLE}, max_matches={SAMPLE}",
            self.index
        );
        let results = link.ask(select.as_bytes()).await;
        let rows = results.map(|results| results.into_iter().next().unwrap_or_default());
        let numbers = rows.and_then(statement::numbers);
        let numbers = numbers.map_err(|error| reason(link, error))?;
        let is_own = |number: &u64| self.nodes.of(*number) == Some(node);
        if numbers.iter().all(is_own) {
            Ok(numbers.len())
        } else {
            Err(EngineCheckError::Misplaced(link.place.clone()))
        }
    }
}

/// The number of nodes that are asked, by the description of an index: those of a distributed one have an address and a kind in each
/// row, `local`, `remote_2`, or `remote_2_mirror_1`; another one is searched alone. `None` without a description.
fn agents(description: &Rows) -> Option<usize> {
    if description.is_empty() {
        return None;
    }
    let kinds = description.iter().filter_map(|row| row.get(1)?.as_ref());
    let kinds: Vec<&[u8]> = kinds.map(Vec::as_slice).collect();
    let local = kinds.iter().filter(|kind| **kind == b"local").count();
    let remote = kinds.iter().filter_map(|kind| {
        let rest = kind.strip_prefix(b"remote_")?;
        rest.split(|octet| *octet == b'_').next()
    });
    let all = local + remote.collect::<BTreeSet<_>>().len();
    Some(all.max(1))
}

fn is_mismatch(outcome: &Result<(), EngineCheckError>) -> bool {
    outcome.as_ref().is_err_and(EngineCheckError::is_mismatch)
}

fn is_unreachable(outcome: &Result<(), EngineCheckError>) -> bool {
    matches!(outcome, Err(EngineCheckError::Unreachable(_)))
}

/// What a client is told of an engine that is not as the settings say.
pub(super) fn unfit() -> Diagnostic {
    let words = "the search engine does not fit the settings of the server";
    diagnostic(Condition::DATABASE_UNAVAILABLE, words)
}

/// What is wrong, or else why a server does not answer, or else which node is empty.
fn first(
    outcomes: impl IntoIterator<Item = Result<(), EngineCheckError>>,
) -> Result<(), EngineCheckError> {
    let weight = |error: &EngineCheckError| match error {
        EngineCheckError::Emptied(_) => 2,
        EngineCheckError::Unreachable(_) => 1,
        _ => 0,
    };
    let errors = outcomes.into_iter().filter_map(Result::err);
    errors.min_by_key(weight).map_or(Ok(()), Err)
}

/// Asks for rows by a query of these words.
async fn ask_for(
    link: &Link,
    select: Select<'_>,
    words: &[&str],
) -> Result<Selected, EngineCheckError> {
    let mut statements = select.text();
    statements.extend(TOTALS);
    let results = link.ask(&statements).await;
    let meta = results.as_ref().ok().and_then(|results| results.get(1));
    let known = meta.map(statement::keywords).unwrap_or_default();
    let is_read = |word: &&str| known.contains(&word.as_bytes());
    // Without any, no node has answered.
    let is_other = !known.is_empty() && !words.iter().all(is_read);
    let selected = results.and_then(Selected::read);
    let selected = selected.map_err(|error| reason(link, error))?;
    match selected.warnings.iter().find(|words| is_different(words)) {
        Some(words) => Err(different(link, words)),
        None if is_other => Err(different(link, OTHER_CHARACTERS)),
        None => Ok(selected),
    }
}

/// Why a server has not answered as it should.
fn reason(link: &Link, error: LinkError) -> EngineCheckError {
    match error {
        LinkError::Refused(words) if is_different(&words) => {
            // Each node says the same.
            different(link, words.split(';').next().unwrap_or_default())
        }
        LinkError::Refused(words) => {
            EngineCheckError::Unreachable(format!("{}: {words}", link.place))
        }
        LinkError::Malformed { words, .. } => {
            EngineCheckError::Malformed(format!("{}: {words}", link.place))
        }
        other => EngineCheckError::Unreachable(other.to_string()),
    }
}

fn different(link: &Link, words: &str) -> EngineCheckError {
    let said = format!("{}: {words}", link.place);
    if ["unknown local index", "no such index"]
        .iter()
        .any(|part| words.contains(part))
    {
        EngineCheckError::WithoutIndex(said)
    } else {
        EngineCheckError::Different(said)
    }
}

/// Whether the engine lacks a field, an attribute or an index.
fn is_different(words: &str) -> bool {
    let parts = [
        "no field",
        "unknown column",
        "unknown local index",
        "no such index",
    ];
    parts.iter().any(|part| words.contains(part))
}
