//! Update: each record at the node of its identifier (Z39.50-2003 Appendix EXT.1.4). Everything is checked before anything is sent; the
//! changes of one node are one statement, but nodes change one after another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Update, UpdateAction, UpdateRecord};
use z3950_server::marc::{MarcRecord, iso2709};
use z3950_server::memory::index_map::{refused, updated_record, with_elements};
use z3950_server::{Diagnostic, diagnostic};

use super::EngineDatabase;
use super::check::unfit;
use super::layout::EngineLayout;
use super::link::LinkError;
use super::nodes::{NodeChange, Nodes};
use super::statement;

/// The outcome for each record: its identifier, or a diagnostic.
type Outcomes = Vec<Result<Bytes, Diagnostic>>;

/// What records leave at each number: `None` for no record.
type States = HashMap<u64, Option<MarcRecord>>;

/// The records that are looked up at once.
const AT_ONCE: usize = 100;

/// A record of an update, with the identifier that it has afterwards.
struct Identified {
    id: Bytes,
    number: u64,
    record: Option<MarcRecord>,
}

impl EngineDatabase {
    pub(super) async fn changed(&self, update: Update<'_>) -> Result<Outcomes, Diagnostic> {
        if self.nodes.len() == 0 {
            let words = "update";
            return Err(diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, words));
        }
        // Others could change records between these being read and written.
        let updating = Arc::clone(&self.updating).lock_owned().await;
        let mut states = States::new();
        let mut checked = BTreeSet::new();
        let mut changes: BTreeMap<u64, NodeChange> = BTreeMap::new();
        let mut outcomes = Outcomes::new();
        for records in update.records.chunks(AT_ONCE) {
            let records = records.iter();
            let records = records.map(|record| self.identified(update.action, record));
            let records: Vec<Result<Identified, Diagnostic>> = records.collect();
            let numbers = records.iter().flatten().map(|record| record.number);
            let unknown: Vec<u64> = numbers
                .filter(|number| !states.contains_key(number))
                .collect();
            self.check_nodes_of(&unknown, &mut checked).await?;
            self.look_up(&unknown, &mut states).await?;
            for record in records {
                let change =
                    record.and_then(|record| self.change(update.action, record, &mut states));
                outcomes.push(change.map(|(id, change)| {
                    changes.insert(change.number(), change);
                    id
                }));
            }
            // The others can be looked up again.
            states.retain(|number, _| changes.contains_key(number));
        }
        if outcomes.iter().any(Result::is_err) {
            return Ok(outcomes);
        }
        let mut by_node: BTreeMap<usize, Vec<NodeChange>> = BTreeMap::new();
        for change in changes.into_values() {
            let node = self.nodes.of(change.number()).unwrap_or_default();
            by_node.entry(node).or_default().push(change);
        }
        let statements = by_node.into_iter().flat_map(|(node, changes)| {
            let statements = self.nodes.statements(&self.layout, changes);
            statements
                .into_iter()
                .map(move |statement| (node, statement))
        });
        let statements: Vec<(usize, Vec<u8>)> = statements.collect();
        let nodes = Arc::clone(&self.nodes);
        // Goes on to its end if the client goes away.
        let written = tokio::spawn(async move {
            let _updating = updating;
            write(&nodes, &statements).await
        });
        let unknown = |_| Err(diagnostic(Condition::PERMANENT_SYSTEM_ERROR, ""));
        written.await.unwrap_or_else(unknown)?;
        Ok(outcomes)
    }

    fn identified(
        &self,
        action: UpdateAction,
        update: &UpdateRecord,
    ) -> Result<Identified, Diagnostic> {
        let record = update.record.as_ref().map(updated_record).transpose()?;
        let own = record
            .as_ref()
            .and_then(|record| self.layout.map().docid(record));
        let id = match (&update.id, own) {
            (Some(id), Some(own)) if id != own && action != UpdateAction::Elements => {
                return Err(refused("the record has another identifier", own));
            }
            (Some(id), _) => id.clone(),
            (None, Some(own)) => Bytes::copy_from_slice(own),
            (None, None) => return Err(refused("no identifier", b"")),
        };
        let number = EngineLayout::number_of(&id);
        Ok(Identified { id, number, record })
    }

    /// Asks the nodes of these numbers, but for those that were `checked`, whether they are as the settings say: they may have been loaded
    /// anew since the start.
    ///
    /// # Errors
    /// 109 if one is not, or does not answer.
    async fn check_nodes_of(
        &self,
        numbers: &[u64],
        checked: &mut BTreeSet<usize>,
    ) -> Result<(), Diagnostic> {
        let nodes = numbers.iter().filter_map(|number| self.nodes.of(*number));
        let nodes: BTreeSet<usize> = nodes.filter(|node| !checked.contains(node)).collect();
        let checks = nodes
            .iter()
            .map(async |node| (*node, self.check_node(*node).await));
        for (node, outcome) in join_all(checks).await {
            if let Err(error) = outcome {
                self.nodes.note_failure(node, &error);
                return Err(if error.is_mismatch() {
                    unfit()
                } else {
                    diagnostic(Condition::DATABASE_UNAVAILABLE, error.to_string())
                });
            }
        }
        checked.extend(nodes);
        Ok(())
    }

    /// Notes the records that nodes have at these numbers.
    ///
    /// # Errors
    /// 109 if one of their nodes does not answer.
    async fn look_up(&self, numbers: &[u64], states: &mut States) -> Result<(), Diagnostic> {
        let mut by_node: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for number in numbers {
            let node = self.nodes.of(*number).unwrap_or_default();
            by_node.entry(node).or_default().push(*number);
            states.insert(*number, None);
        }
        for (node, numbers) in by_node {
            let select = statement::by_number(&self.index, &numbers);
            let rows = self.nodes.ask(node, &select).await;
            let records = rows.and_then(statement::records);
            let records = records.map_err(|error| failed(&self.nodes, node, &error))?;
            for (number, octets) in records {
                let damaged = |_| diagnostic(Condition::PERMANENT_SYSTEM_ERROR, "a damaged record");
                let record = iso2709::parse(&octets).map_err(damaged)?.record;
                states.insert(number, Some(record));
            }
        }
        Ok(())
    }

    fn change(
        &self,
        action: UpdateAction,
        update: Identified,
        states: &mut States,
    ) -> Result<(Bytes, NodeChange), Diagnostic> {
        let map = self.layout.map();
        let Identified { id, number, record } = update;
        let known = states.get(&number).cloned().flatten();
        let is_other = |known: &MarcRecord| map.docid(known) != Some(&*id);
        if known.as_ref().is_some_and(is_other) {
            let words = "the engine cannot tell this identifier from that of another record: choose another one";
            return Err(refused(words, &id));
        }
        match (action, &known) {
            (UpdateAction::Insert, Some(_)) => {
                return Err(refused("the record already exists", &id));
            }
            (UpdateAction::Replace | UpdateAction::Delete | UpdateAction::Elements, None) => {
                return Err(refused("no such record", &id));
            }
            _ => {}
        }
        let record = match (action, record, known) {
            (UpdateAction::Delete, ..) => {
                states.insert(number, None);
                return Ok((id, NodeChange::Delete(number)));
            }
            (_, None, _) => return Err(refused("no record", &id)),
            (UpdateAction::Elements, Some(elements), Some(whole)) => with_elements(whole, elements),
            (_, Some(record), _) => record,
        };
        let (octets, record) = map.identified(record, &id)?;
        let change = NodeChange::of(&self.layout, &record, &octets, false);
        states.insert(number, Some(record));
        Ok((id, change))
    }
}

/// Carries out statements, each at its node.
///
/// # Errors
/// Why a node fails: what was sent before is done.
async fn write(nodes: &Nodes, statements: &[(usize, Vec<u8>)]) -> Result<(), Diagnostic> {
    for (node, statement) in statements {
        let done = nodes.carry_out(*node, statement).await;
        done.map_err(|error| failed(nodes, *node, &error))?;
    }
    Ok(())
}

/// Logs that a node failed; what that means to the client.
fn failed(nodes: &Nodes, node: usize, error: &LinkError) -> Diagnostic {
    nodes.note_failure(node, error);
    statement::update_failure(error)
}
