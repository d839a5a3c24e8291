//! `makeurl`: the retrieval URL of a record by its control number (RFC 2056 §4).

use bytes::Bytes;
use z3950::error::Diagnostics;
use z3950::service::ResultRecord;
use z3950::target::Endpoint;
use z3950::url::{Kind, Octets, Z3950Url};
use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::oid;
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::iso2709;

use super::command::{CommandResult, Refusal};
use super::show::{RecordRange, fetch};
use super::state::{DEFAULT_DATABASE, Prompt};
use crate::console::exit::Exit;
use crate::console::output::Output;

impl Prompt {
    pub(super) async fn make_url(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let position = self.position(text)?;
        let (host, port) = match self.place().map(|place| &place.way.target.endpoint) {
            Some(Endpoint::Tcp(host, port) | Endpoint::Tls(host, port)) => (host.clone(), *port),
            Some(Endpoint::Unix(_)) => return Err(Refusal::wrong("a Unix socket has no URL")),
            _ => {
                let words = "a z39.50r URL names a server of Z39.50, not one of SRU";
                return Err(Refusal::wrong(words));
            }
        };
        let (database, octets) = self.marc_record(position).await?;
        let number = iso2709::parse(&octets).ok().and_then(|parsed| {
            let number = parsed.record.control_number()?.trim_ascii().to_vec();
            (!number.is_empty()).then_some(number)
        });
        let number =
            number.ok_or_else(|| Refusal::wrong("the record has no control number (field 001)"))?;
        let database = database.or_else(|| self.searched().into_iter().next());
        let database = database.unwrap_or_else(|| DEFAULT_DATABASE.into());
        let url = Z3950Url::builder(Kind::Retrieval, host)
            .port(port)
            .database(Octets::from(database.0.as_bytes()))
            .docid(number);
        let url = match self.element_set() {
            Some(name) => url.element_set(name.as_bytes()),
            None => url,
        };
        let url = url.build().map_err(Refusal::wrong)?;
        output.line(&url.to_string())?;
        Ok(Exit::Delivered)
    }

    /// The MARC record at a position of the result set, and its database, if the server names it.
    pub(super) async fn marc_record(
        &mut self,
        position: u64,
    ) -> Result<(Option<DatabaseName>, Bytes), Refusal> {
        let span = RecordRange::of(position);
        let session = self.session()?;
        let asked = async |syntax| {
            let mut options = self.present_options(&span)?;
            options.record_syntax = Some(syntax);
            options.composition = None;
            fetch(&session, position, 1, &mut 1, &options).await
        };
        let mut records = match self.record_syntaxes().first() {
            Some(syntax) => asked(*syntax).await,
            None => match asked(oid::USMARC).await {
                Ok(records) if is_record(&records) => Ok(records),
                // If that fails too, the first answer says why.
                first => match asked(oid::UNIMARC).await {
                    Ok(records) if is_record(&records) => Ok(records),
                    _ => first,
                },
            },
        }?;
        let (database, external) = match records.pop() {
            Some(ResultRecord::Record {
                database, external, ..
            }) => (database, external),
            Some(ResultRecord::Diagnostic { diagnostic, .. }) => {
                let reason = Diagnostics(vec![diagnostic]).to_string();
                return Err(Refusal::Because(Exit::Refused, reason));
            }
            None => return Err(Refusal::wrong("the server sent no record")),
        };
        match RetrievedRecord::of(&external) {
            RetrievedRecord::Marc(octets) => Ok((database.map(DatabaseName), octets)),
            _ => Err(Refusal::wrong("the record is not a MARC record")),
        }
    }
}

fn is_record(records: &[ResultRecord]) -> bool {
    matches!(records.first(), Some(ResultRecord::Record { .. }))
}
