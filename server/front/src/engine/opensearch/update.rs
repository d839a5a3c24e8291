//! Updates records (Z39.50-2003 Appendix EXT.1.4). All records are checked first, and each change is made only if its
//! record has not changed since the check, so that neither other servers nor loads can interfere.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::Method;
use serde_json::{Value, json};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_marc::{MarcRecord, iso2709};
use z3950_server::backend::{Update, UpdateAction, UpdateRecord};
use z3950_server::memory::index_map::{refused, updated_record, with_elements};
use z3950_server::{Diagnostic, diagnostic};

use super::database::ClusterDatabase;
use super::document::{RECORD, id_of};
use super::index::{filling_name, write_name};
use super::search::RECORD_OCTETS;
use crate::engine::answer::AskError;
use crate::engine::elastic::{self, ANSWER_OCTETS};
use crate::engine::link::{BLOCK, Draft, JSON, Link, NDJSON};
use crate::engine::search::EngineDatabase as _;

/// The result for each record: its identifier, or a diagnostic.
type Outcomes = Vec<Result<Bytes, Diagnostic>>;

/// The number of records that are looked up in one request.
const AT_ONCE: usize = 100;
/// The maximum number of octets in the answer to a change.
const OUTCOME_OCTETS: usize = 16 * 1024;

/// The version of a record before the update, which reveals whether somebody else has changed the record since.
#[derive(Clone, Copy, Debug)]
struct Version {
    sequence: u64,
    term: u64,
}

/// The state of a record during an update.
#[derive(Clone, Debug, Default)]
struct State {
    /// The version of the record in the engine; `None` if the record does not exist.
    version: Option<Version>,
    /// The record with all changes so far.
    record: Option<MarcRecord>,
}

/// A record in an update, with the identifier that it has after the update.
struct Identified {
    docid: Bytes,
    id: String,
    record: Option<MarcRecord>,
}

impl ClusterDatabase {
    pub(super) async fn changed(&self, update: Update<'_>) -> Result<Outcomes, Diagnostic> {
        let mut states: HashMap<String, State> = HashMap::new();
        let mut index = None;
        let mut changes: BTreeMap<String, Option<Value>> = BTreeMap::new();
        let mut outcomes = Outcomes::new();
        for records in update.records.chunks(AT_ONCE) {
            let records: Vec<Result<Identified, Diagnostic>> = records
                .iter()
                .map(|record| self.identified(update.action, record))
                .collect();
            let ids = records.iter().flatten().map(|record| &record.id);
            let unknown: Vec<&String> = ids.filter(|id| !states.contains_key(*id)).collect();
            self.look_up(&unknown, &mut states, &mut index).await?;
            for record in records {
                let changed =
                    record.and_then(|record| self.change(update.action, record, &mut states));
                outcomes.push(changed.map(|(docid, id, document)| {
                    changes.insert(id, document);
                    docid
                }));
            }
        }
        if outcomes.iter().any(Result::is_err) {
            return Ok(outcomes);
        }
        let (body, sent) = lines(changes, &states);
        let link = Arc::clone(&self.link);
        // The alias may now point to another index, where the records have different versions.
        let alias = write_name(index.as_ref().unwrap_or(&self.index));
        let path = format!("/{alias}/_bulk?refresh=wait_for&require_alias=true");
        // The update continues to its end even if the client disconnects.
        let filling = filling_name(&self.index);
        let written = tokio::spawn(async move { write(&link, path, body, sent, &filling).await });
        let unknown = |_| Err(WriteError::Unknown);
        let written = written.await.unwrap_or_else(unknown);
        written.map_err(|error| match error {
            WriteError::Answer(error) => self.failure(&error),
            WriteError::Unknown => diagnostic(Condition::PERMANENT_SYSTEM_ERROR, ""),
            WriteError::Partly(words) => diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, words),
        })?;
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
        let docid = match (&update.id, own) {
            (Some(id), Some(own)) if id != own && action != UpdateAction::Elements => {
                return Err(refused("the record has another identifier", own));
            }
            (Some(id), _) => id.clone(),
            (None, Some(own)) => Bytes::copy_from_slice(own),
            (None, None) => return Err(refused("no identifier", b"")),
        };
        let id = id_of(&docid);
        Ok(Identified { docid, id, record })
    }

    /// Looks up the records in the engine, including records that searches do not find yet, and the index to which
    /// they belong.
    ///
    /// # Errors
    /// Condition 109 if the engine does not answer, or its answer comes from a different index than before; condition 2 for
    /// a damaged record.
    async fn look_up(
        &self,
        ids: &[&String],
        states: &mut HashMap<String, State>,
        index: &mut Option<String>,
    ) -> Result<(), Diagnostic> {
        if ids.is_empty() {
            return Ok(());
        }
        let path = format!("/{}/_mget", self.index);
        let body = Bytes::from(json!({ "ids": ids }).to_string());
        let limit = ANSWER_OCTETS + ids.len() * RECORD_OCTETS;
        let sent = self.link.send(Method::POST, path, body, JSON, limit);
        let answer = sent
            .await
            .map_err(elastic::failed)
            .map_err(|error| self.failure(&error))?;
        let documents = answer.get("docs").and_then(Value::as_array);
        let malformed = || self.failure(&AskError::Malformed("documents"));
        for document in documents.ok_or_else(malformed)? {
            let id = document
                .get("_id")
                .and_then(Value::as_str)
                .ok_or_else(malformed)?
                .to_owned();
            if document.get("error").is_some() {
                let words = "a part of the index does not answer";
                return Err(diagnostic(Condition::DATABASE_UNAVAILABLE, words));
            }
            let own = document
                .get("_index")
                .and_then(Value::as_str)
                .ok_or_else(malformed)?;
            if index.get_or_insert_with(|| own.to_owned()) != own {
                let words = "all records are being loaded anew: try again";
                return Err(diagnostic(Condition::DATABASE_UNAVAILABLE, words));
            }
            if document.get("found") != Some(&Value::Bool(true)) {
                states.insert(id, State::default());
                continue;
            }
            let number = |name: &str| document.get(name).and_then(Value::as_u64);
            let version = number("_seq_no")
                .zip(number("_primary_term"))
                .map(|(sequence, term)| Version { sequence, term });
            let record = document
                .get("_source")
                .and_then(|source| source.get(RECORD));
            let octets = record
                .and_then(Value::as_str)
                .and_then(|text| STANDARD.decode(text).ok());
            let octets = Bytes::from(octets.ok_or_else(malformed)?);
            let damaged = |_| diagnostic(Condition::PERMANENT_SYSTEM_ERROR, "a damaged record");
            let record = iso2709::parse(&octets).map_err(damaged)?.record;
            states.insert(
                id,
                State {
                    version: Some(version.ok_or_else(malformed)?),
                    record: Some(record),
                },
            );
        }
        Ok(())
    }

    /// Returns the new document for a record; `None` if the record is deleted.
    fn change(
        &self,
        action: UpdateAction,
        update: Identified,
        states: &mut HashMap<String, State>,
    ) -> Result<(Bytes, String, Option<Value>), Diagnostic> {
        let Identified { docid, id, record } = update;
        let state = states.entry(id.clone()).or_default();
        match (action, &state.record) {
            (UpdateAction::Insert, Some(_)) => {
                return Err(refused("the record already exists", &docid));
            }
            (UpdateAction::Replace | UpdateAction::Delete | UpdateAction::Elements, None) => {
                return Err(refused("no such record", &docid));
            }
            _ => {}
        }
        let record = match (action, record, state.record.take()) {
            (UpdateAction::Delete, ..) => return Ok((docid, id, None)),
            (_, None, _) => return Err(refused("no record", &docid)),
            (UpdateAction::Elements, Some(elements), Some(whole)) => with_elements(whole, elements),
            (_, Some(record), _) => record,
        };
        let (octets, record) = self.layout.map().identified(record, &docid)?;
        let document = self.layout.engine_document(&record, &octets);
        state.record = Some(record);
        Ok((docid, id, Some(document.source)))
    }
}

/// Returns the lines of the changes in a request to `_bulk`, and the number of changes.
fn lines(
    changes: BTreeMap<String, Option<Value>>,
    states: &HashMap<String, State>,
) -> (Bytes, usize) {
    let mut lines = String::new();
    let mut sent = 0;
    for (id, document) in changes {
        let version = states.get(&id).and_then(|state| state.version);
        let unchanged = version.map(|Version { sequence, term }| {
            json!({ "_id": id, "if_seq_no": sequence, "if_primary_term": term })
        });
        let action = match (&document, unchanged) {
            (Some(_), Some(unchanged)) => json!({ "index": unchanged }),
            (Some(_), None) => json!({ "create": { "_id": id } }),
            (None, Some(unchanged)) => json!({ "delete": unchanged }),
            // The same update created and deleted the record, so nothing is sent for it.
            (None, None) => continue,
        };
        sent += 1;
        lines.push_str(&format!("{action}\n"));
        if let Some(document) = document {
            lines.push_str(&format!("{document}\n"));
        }
    }
    (Bytes::from(lines), sent)
}

/// The reason why not all changes were made.
enum WriteError {
    Answer(AskError),
    /// The request ended without a result.
    Unknown,
    /// Some of the changes may have been made.
    Partly(String),
}

/// Sends changes. `filling` is the alias that exists while all records are being reloaded.
async fn write(
    link: &Link,
    path: String,
    body: Bytes,
    sent: usize,
    filling: &str,
) -> Result<(), WriteError> {
    if sent == 0 {
        return Ok(());
    }
    let draft = Draft {
        content_type: NDJSON,
        body,
        limit: ANSWER_OCTETS + sent * OUTCOME_OCTETS,
        ..Draft::change(Method::POST, path, &Value::Null)
    };
    let answer = link
        .ask(&draft)
        .await
        .map_err(|failure| WriteError::Answer(elastic::failed(failure)))?;
    let items = answer
        .get("items")
        .and_then(Value::as_array)
        .ok_or(WriteError::Answer(AskError::Malformed("outcomes")))?;
    let outcomes = items
        .iter()
        .filter_map(|item| item.as_object()?.values().next());
    let outcomes: Vec<&Value> = outcomes.collect();
    let status = |outcome: &&Value| outcome.get("status")?.as_u64();
    let statuses: Vec<u64> = outcomes.iter().filter_map(status).collect();
    let done = statuses.iter().filter(|status| **status < 300).count();
    if done == sent {
        return Ok(());
    }
    let kinds = { outcomes.iter() }.filter_map(|outcome| outcome.pointer("/error/type"));
    let is_closed = { kinds }.any(|kind| kind.as_str() == Some(BLOCK));
    let why = if statuses.contains(&409) {
        "records were changed by others at the same time"
    } else if is_closed && is_there(link, filling).await {
        "all records are being loaded anew: try again later"
    } else if is_closed {
        "the index takes no changes for now"
    } else if statuses.contains(&404) {
        "the index is gone, or lacks the alias that z3950d load gives it"
    } else {
        "the search engine refuses records"
    };
    Err(WriteError::Partly(format!(
        "{why}: changes made: {done} of {sent}"
    )))
}

/// Returns whether an index or alias with this name exists.
async fn is_there(link: &Link, name: &str) -> bool {
    let draft = Draft::read(format!("/{name}?filter_path=*.aliases"), ANSWER_OCTETS);
    link.ask(&draft).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each change is made only if the record is unchanged.
    #[test]
    fn changes_are_conditional() {
        let version = |version| State {
            version,
            record: None,
        };
        let old = Some(Version {
            sequence: 7,
            term: 1,
        });
        let states = [
            ("changed", old),
            ("deleted", old),
            ("new", None),
            ("passing", None),
        ];
        let states = states.map(|(id, of)| (id.to_owned(), version(of)));
        let changes = [
            ("changed", Some(json!({ "number": 1 }))),
            ("deleted", None),
            ("new", Some(json!({ "number": 2 }))),
            ("passing", None),
        ];
        let changes = changes.map(|(id, document)| (id.to_owned(), document));
        let (body, sent) = lines(changes.into(), &states.into());
        let lines = String::from_utf8_lossy(&body);
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let of = |id: &str| json!({ "_id": id, "if_seq_no": 7, "if_primary_term": 1 });
        let expected = [
            json!({ "index": of("changed") }),
            json!({ "number": 1 }),
            json!({ "delete": of("deleted") }),
            json!({ "create": { "_id": "new" } }),
            json!({ "number": 2 }),
        ];
        assert_eq!((lines, sent), (expected.to_vec(), 3));
    }
}
