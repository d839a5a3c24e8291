//! Chooses the schema for the records that a search finds: the requested schema, and alternatives to it.

use z3950_asn1::sru::zeerex::ZeeRex;
use z3950_asn1::sru::{ExplainRequest, Response};

use super::super::records::{AskedSchema, Form};
use super::super::sets::SruExchange;
use crate::error::Phase;
use crate::transport::timeouts::Timeouts;

/// The schema to request for MARC records.
const MARCXML: &str = "marcxml";
/// The schemas to try after those in the server's description: MARC 21 (for which the Deutsche Nationalbibliothek has a
/// separate name), and UNIMARC and other formats as MarcXchange (ISO 25577), by the names that the Bibliothèque
/// nationale de France and others use.
const FURTHER: [&str; 9] = [
    MARCXML,
    "info:srw/schema/1/marcxml-v1.1",
    "MARC21-xml",
    "unimarcxchange",
    "marcxchange",
    "unimarcxml",
    "unimarc",
    "mods",
    "dc",
];
/// The maximum number of schemas to try.
pub(super) const MAX_SCHEMAS: usize = 12;

impl SruExchange {
    pub(super) fn schema(&self, form: &Form) -> Option<String> {
        match &form.schema {
            AskedSchema::Any => None,
            AskedSchema::Named(name) => Some(name.clone()),
            AskedSchema::Default => {
                let chosen = self.sets.schemas.chosen.as_ref().or(self
                    .server
                    .options
                    .schema
                    .as_ref());
                Some(chosen.map_or(MARCXML, String::as_str).to_owned())
            }
        }
    }

    /// Returns the schemas in the server's description, beginning with those for MARC, followed by the most common
    /// schemas.
    pub(super) async fn described_schemas(
        &mut self,
        database: &str,
        timeouts: &Timeouts,
    ) -> Vec<String> {
        let explain = ExplainRequest::default();
        let answer = self
            .server
            .ask(Phase::Search, database, explain, timeouts)
            .await;
        let record = match answer {
            Ok(Response::Explain(answer)) => answer.record,
            // Without a description, only the usual schema names can be tried.
            _ => None,
        };
        let described =
            record.and_then(|record| ZeeRex::from_xml(record.data, &self.server.limits).ok());
        let schemas = described
            .map(|described| described.schemas)
            .unwrap_or_default();
        let names = schemas
            .into_iter()
            .filter(|schema| schema.retrieve != Some(false));
        let mut names: Vec<String> = names
            .map(|schema| {
                if schema.name.is_empty() {
                    schema.identifier
                } else {
                    schema.name
                }
            })
            .take(MAX_SCHEMAS)
            .collect();
        names.sort_by_key(|name| !name.to_ascii_lowercase().contains("marc"));
        names.extend(FURTHER.map(str::to_owned));
        names
    }
}
