//! `update --dry-run`: shows the request that would be sent, without sending it.

use z3950::error::{Error, Phase, ProtocolFault};
use z3950::retrieve::OutcomeName;
use z3950::session::Session;
use z3950_asn1::apdu::Options;
use z3950_asn1::record::RetrievedRecord;

use super::Updater;
use super::supply::UpdateRecord;
use crate::commands::target::Unanswered;
use crate::console::exit::Exit;
use crate::console::output::Failure;
use crate::render::counted;

impl Updater<'_> {
    /// If the server does not offer updates, reports an error and returns the exit code; otherwise returns `None`.
    pub(super) fn refused(&mut self, session: &Session) -> Result<Option<Exit>, Failure> {
        if session
            .server_info()
            .options
            .contains(Options::EXTENDED_SERVICES)
        {
            return Ok(None);
        }
        let missing = Options::EXTENDED_SERVICES
            .names()
            .next()
            .unwrap_or_default();
        let error = Error::fault(Phase::ExtendedServices, ProtocolFault::NotGranted(missing));
        let answer = Unanswered::from(error).answer();
        let json = self.arguments.json;
        let exit = answer.report(json, self.envelope(), self.place, self.output)?;
        Ok(Some(exit))
    }

    /// Reports, for each record, what would be sent, and warns about structural faults.
    pub(super) fn report_trial(&mut self, records: &[UpdateRecord]) -> Result<Exit, Failure> {
        self.tally.tried += records.len();
        for record in records {
            let words = in_words(record);
            if !record.faults.is_empty() {
                let faults = record.faults.join("; ");
                self.output
                    .warning(&format!("{}: {record}: {faults}", self.place));
            }
            if self.arguments.json {
                self.of(record)
                    .with("outcome", OutcomeName::Ok.as_str())
                    .with("message", format!("would be sent: {words}"))
                    .write(self.output)?;
                continue;
            }
            let name = record.name.as_deref().unwrap_or("without an identifier");
            let (number, action) = (record.number, self.arguments.action_name());
            self.output
                .line(&format!("{number:>8}  would {action} {name}, {words}"))?;
        }
        Ok(Exit::Delivered)
    }
}

/// Describes a record by its record syntax and size, such as `usmarc, 500 octets`.
fn in_words(record: &UpdateRecord) -> String {
    let syntax = record.record.direct_reference;
    let syntax = syntax.map_or_else(String::new, |syntax| {
        syntax
            .name()
            .map_or_else(|| syntax.to_string(), str::to_owned)
    });
    let octets = RetrievedRecord::octets_of(&record.record).len();
    let size = counted(i128::try_from(octets).unwrap_or(i128::MAX), "octet");
    format!("{syntax}, {size}")
}
