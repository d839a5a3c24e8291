//! `holdings`: the copies of a record, and whether they are available (Z39.50-2003 Appendix REC.3).

use z3950::Record;
use z3950::error::Diagnostics;
use z3950::service::ResultRecord;
use z3950_asn1::apdu::External;
use z3950_asn1::oid::OPAC;
use z3950_asn1::record::holdings::table;

use super::command::{CommandResult, Refusal};
use super::show::{RecordRange, fetch};
use super::state::Prompt;
use crate::console::exit::Exit;
use crate::console::output::Output;
use crate::render::Format;

impl Prompt {
    pub(super) async fn holdings(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let position = self.position(text)?;
        let record = self.with_holdings(position).await?;
        let record = Record::new(record, Some(position)).with_charset(self.record_charset());
        let copies = table(&record.holdings());
        if copies.is_empty() {
            output.note(&format!("record {position} tells of no copies"));
            return Ok(Exit::NoMatch);
        }
        if output.is_gathered() {
            output.line(copies.trim_end())?;
            return Ok(Exit::Delivered);
        }
        let mut pages = self.pages(output);
        let shown = pages.write(copies.as_bytes(), Format::Text, "copies", output);
        shown.await?;
        Ok(Exit::Delivered)
    }

    /// A record with its holdings, if the server has records in the syntax for them; else as it is shown.
    async fn with_holdings(&self, position: u64) -> Result<External, Refusal> {
        let session = self.session()?;
        let usual = self.present_options(&RecordRange::of(position))?;
        let mut options = usual.clone();
        options.record_syntax = Some(OPAC);
        options.composition = None;
        let records = match fetch(&session, position, 1, &mut 1, &options).await {
            Ok(records) if matches!(records.first(), Some(ResultRecord::Record { .. })) => records,
            _ => fetch(&session, position, 1, &mut 1, &usual).await?,
        };
        match records.into_iter().next() {
            Some(ResultRecord::Record { external, .. }) => Ok(external),
            Some(ResultRecord::Diagnostic { diagnostic, .. }) => {
                let reason = Diagnostics(vec![diagnostic]).to_string();
                Err(Refusal::Because(Exit::Refused, reason))
            }
            None => Err(Refusal::wrong("the server sent no record")),
        }
    }
}
