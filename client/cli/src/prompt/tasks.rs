//! The commands `update`, `itemorder` and `xmles` for extended services (Z39.50-2003 §3.2.9).

use std::path::Path;
use std::time::SystemTime;

use z3950::service::extended::{Order, ill_request_for, ill_request_of, update_task};
use z3950::session::Session;
use z3950_asn1::apdu::{ExtendedServicesRequest, External};
use z3950_asn1::error::EncodeError;
use z3950_asn1::es::update::{Action, EsRequest, RecordId, SuppliedRecord};
use z3950_asn1::oid::{self, Oid};
use z3950_files::input;

use super::command::{CommandResult, Refusal, number};
use super::shared::{Positionals, has_option};
use super::state::Prompt;
use super::waiting::request;
use crate::answer::Envelope;
use crate::commands::{task, update};
use crate::console::output::Output;

/// The maximum size in octets of a document that is read from a file.
const MAX_DOCUMENT: u64 = 16 << 20;

impl Prompt {
    pub(super) async fn update(&mut self, text: &str, output: &mut Output) -> CommandResult {
        if has_option(text) {
            return self
                .shared::<update::Arguments>(Positionals::Each, text, output)
                .await;
        }
        self.update_by(oid::DATABASE_UPDATE, text, output).await
    }

    pub(super) async fn first_update(&mut self, text: &str, output: &mut Output) -> CommandResult {
        self.update_by(oid::DATABASE_UPDATE_1, text, output).await
    }

    async fn update_by(&mut self, version: Oid, text: &str, output: &mut Output) -> CommandResult {
        let (word, rest) = next(text).ok_or(Refusal::Usage)?;
        let (id, rest) = next(rest).ok_or(Refusal::Usage)?;
        let action = match word {
            "insert" => Action::RECORD_INSERT,
            "replace" => Action::RECORD_REPLACE,
            "delete" => Action::RECORD_DELETE,
            // A special update inserts the record or replaces an existing record.
            "update" => Action::SPECIAL_UPDATE,
            _ => return Err(Refusal::Usage),
        };
        let record = match document(rest)? {
            Some(document) => External::octet_aligned(oid::XML, document),
            None if Path::new(id).is_file() => {
                return Err(Refusal::wrong(format!(
                    "{id} is a file: update {word} ID <{id} sends it, and update {word} --id-from-001 {id} sends all its \
                     records"
                )));
            }
            None => match self.seen.last() {
                Some(record) => record,
                // A deletion needs only the identifier, so an empty record is sent.
                None if action == Action::RECORD_DELETE => {
                    External::octet_aligned(oid::XML, &b"<record/>"[..])
                }
                None => {
                    let words = "give a document, or show a record first to send that one";
                    return Err(Refusal::wrong(words));
                }
            },
        };
        let id = (id != "none").then(|| RecordId::Opaque(id.into()));
        let database = self
            .searched()
            .into_iter()
            .next()
            .map(|name| name.0)
            .unwrap_or_default();
        let records = vec![SuppliedRecord::new(record, id, None)];
        let update = EsRequest::new(action, database, records);
        self.task(update_task(version, update), output).await
    }

    pub(super) async fn item_order(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let (kind, rest) = next(text).ok_or(Refusal::Usage)?;
        let (position, rest) = next(rest).ok_or(Refusal::Usage)?;
        let position: u32 = number(position)?;
        let set = self.result_set()?;
        let request =
            match (kind, document(rest)?) {
                ("item", None) => None,
                ("ill", None) => self.request_for(position.into()).await?,
                ("ill", Some(octets)) => {
                    let request = ill_request_of(octets);
                    Some(request.ok_or_else(|| {
                        Refusal::wrong("the document is not an ILL-Request in BER")
                    })?)
                }
                ("xml", Some(document)) => Some(External::octet_aligned(oid::XML, document)),
                _ => return Err(Refusal::Usage),
            };
        let mut order = Order::default();
        order.item = Some((set.name.as_str().into(), position.into()));
        order.request = request;
        self.task(order.task(), output).await
    }

    /// Creates an ILL-Request for the record at a 1-based position.
    async fn request_for(&mut self, position: u64) -> Result<Option<External>, Refusal> {
        let (_, record) = self.marc_record(position).await?;
        let request = ill_request_for(&record, self.record_charset(), SystemTime::now());
        request.map_err(Refusal::caused)
    }

    pub(super) async fn xml_service(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let (service, rest) = next(text).ok_or(Refusal::Usage)?;
        let service: Oid = number(service)?;
        let document = document(rest)?.ok_or(Refusal::Usage)?;
        let parameters = External::octet_aligned(service, document);
        let task = ExtendedServicesRequest::create(service, Some(parameters));
        self.task(Ok(task), output).await
    }

    /// Sends a task. If the session is lost, the task is not repeated in another session, because a change must never
    /// be made twice.
    async fn task(
        &mut self,
        task: Result<ExtendedServicesRequest, EncodeError>,
        output: &mut Output,
    ) -> CommandResult {
        let mut task = task.map_err(Refusal::wrong)?;
        task.package_name = self.settings.package_name.clone();
        task.other_info = self.settings.other_info();
        let order = move |session: Session| {
            let answer = async move { session.task(task).await };
            request(answer, |state, result, output| {
                let place = state.current_target()?;
                let envelope = Envelope::of(&place, &[]);
                Ok(task::show(false, &place, envelope, &result, output)?)
            })
        };
        self.send(order, output).await
    }
}

/// Returns the next word and the text after it; `None` if there is no word.
fn next(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (!word.is_empty()).then_some((word, rest.trim()))
}

/// Parses a document, given as `"text"`, as a word, or as `<file` for the contents of a file. Returns `None` for empty
/// text.
fn document(text: &str) -> Result<Option<Vec<u8>>, Refusal> {
    if let Some(path) = text.strip_prefix('<') {
        let path = path.trim();
        return input::read(Path::new(path), MAX_DOCUMENT)
            .map(Some)
            .map_err(|error| Refusal::file(path, &error));
    }
    let text = match text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
    {
        Some(quoted) => quoted.replace("\\\"", "\""),
        None => text.to_owned(),
    };
    Ok((!text.is_empty()).then(|| text.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_texts_words_or_files() {
        for (text, expected) in [
            ("", Some(None)),
            ("word", Some(Some("word"))),
            ("\"<a b=\\\"c\\\"/>\"", Some(Some("<a b=\"c\"/>"))),
            ("</nonesuch/file", None),
        ] {
            let found = document(text).ok();
            let expected = expected.map(|text| text.map(|text| text.as_bytes().to_vec()));
            assert_eq!(found, expected, "{text}");
        }
    }
}
