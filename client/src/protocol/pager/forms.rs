//! Requests a record in other forms if it is empty, or too large even when requested alone (Z39.50-2003 §3.2.3.1.5,
//! §3.3.1).

use z3950_asn1::apdu::{DiagRec, External};
use z3950_asn1::record::RetrievedRecord;

use super::Pager;
use crate::error::Error;
use crate::protocol::service::present::PresentOptions;
use crate::protocol::service::{ResultRecord, SubstituteForm};

/// The length in octets of an ISO 2709 record without fields: a leader and two terminators.
const NO_FIELDS: usize = 26;

/// After this number of consecutive records without any usable form, no other forms are tried.
const MAX_WITHOUT_FORM: u32 = 10;

/// Returns whether a record is empty or too large, in which case it may be available alone or in another form.
pub(super) fn is_unusable(record: &ResultRecord) -> bool {
    match record {
        ResultRecord::Diagnostic { diagnostic, .. } => is_too_large(diagnostic),
        ResultRecord::Record { external, .. } => is_empty(external),
    }
}

/// Returns whether the diagnostic means that a record is too large.
pub(crate) fn is_too_large(diagnostic: &DiagRec) -> bool {
    match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => matches!(diagnostic.condition, 16 | 17),
        DiagRec::ExternallyDefined(_) => false,
    }
}

/// Returns whether a record has no contents.
pub(crate) fn is_empty(record: &External) -> bool {
    let octets = RetrievedRecord::octets_of(record);
    let is_bare = octets.len() <= NO_FIELDS && octets.ends_with(b"\x1E\x1D");
    is_bare || octets.trim_ascii().is_empty()
}

impl Pager {
    /// If the first record is too large or empty, requests it again with other element sets, and then in other
    /// syntaxes. If none of them helps, the original answer is kept.
    pub(super) async fn in_other_forms(
        &mut self,
        position: u64,
        mut records: Vec<ResultRecord>,
    ) -> Result<Vec<ResultRecord>, Error> {
        let Some(first) = records.first_mut().filter(|first| is_unusable(first)) else {
            return Ok(records);
        };
        if self.without_form == MAX_WITHOUT_FORM {
            return Ok(records);
        }
        self.without_form += 1;
        let present = &self.options.present;
        let sets = self.options.element_sets.iter().map(|name| {
            let form = PresentOptions {
                element_set: Some(name.clone()),
                ..present.clone()
            };
            (form, SubstituteForm::ElementSet(name.clone()))
        });
        let syntaxes = self.options.alternatives.iter().map(|syntax| {
            let form = PresentOptions {
                record_syntax: *syntax,
                ..present.clone()
            };
            (form, SubstituteForm::Syntax(*syntax))
        });
        for (options, form) in sets.chain(syntaxes) {
            let presented = match self.session.present(position, 1, &options).await {
                Ok(presented) => presented,
                Err(Error::Refused { .. }) => continue,
                Err(error) => return Err(error),
            };
            let record = presented.records.into_iter().next();
            let Some(ResultRecord::Record {
                database,
                external,
                sources,
                ..
            }) = record.filter(|record| !is_unusable(record))
            else {
                continue;
            };
            tracing::info!(position, %form, "the record is too large or empty in the requested form");
            *first = ResultRecord::Record {
                database,
                external,
                substitute: Some(Box::new(form)),
                sources,
            };
            self.without_form = 0;
            break;
        }
        Ok(records)
    }
}
