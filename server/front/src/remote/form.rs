//! The form in which records are requested from a target, and their conversion to the form that a client requests. Records are
//! requested with holdings if the client requests holdings and the target supports them.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use z3950::{Record, RecordForm};
use z3950_asn1::apdu::{External, ExternalValue as _};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{OPAC, Oid, XML};
use z3950_asn1::record::is_marc;
use z3950_asn1::record::opac::OpacRecord;
use z3950_asn1::sru::root_of;
use z3950_marc::marcxml;
use z3950_server::backend::Composition;
use z3950_server::lock;
use z3950_server::memory::forms;
use z3950_server::{Diagnostic, diagnostic};

use super::failure::foreign;

/// The form in which records are requested from a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceForm {
    /// Bibliographic records in the syntax of the target's profile.
    Plain,
    /// OPAC records, with copies and their availability.
    Holdings,
}

impl SourceForm {
    /// Returns the form for a client that requests this syntax.
    pub(super) fn of(syntax: Option<Oid>) -> Self {
        match syntax {
            Some(OPAC) => Self::Holdings,
            _ => Self::Plain,
        }
    }

    /// Returns the form as it is sent to the target.
    pub(super) fn records(self) -> RecordForm {
        match self {
            Self::Plain => RecordForm::default(),
            Self::Holdings => RecordForm::with_holdings(),
        }
    }
}

/// Returns whether a record can be used. An OPAC record can be used only if its bibliographic record is MARC or XML.
pub(super) fn is_usable(record: &Record) -> bool {
    record.syntax() != Some(OPAC) || {
        let inside = record.bibliographic();
        let syntax = inside.and_then(|inside| inside.syntax());
        syntax.is_some_and(|syntax| is_marc(&syntax) || syntax == XML)
    }
}

/// The time after which a target is asked again for a feature that it did not support.
const REFUSAL: Duration = Duration::from_secs(600);

/// The time at which a target last failed to provide an optional feature: OPAC records, or facets.
#[derive(Debug, Default)]
pub(super) struct FeatureRefusal(Mutex<Option<Instant>>);

impl FeatureRefusal {
    /// Returns whether the failure is so recent that the target should not be asked for the feature.
    pub(super) fn is_fresh(&self) -> bool {
        lock(&self.0).is_some_and(|at| at.elapsed() < REFUSAL)
    }

    /// Returns the form to request from the target if `wanted` is the preferred form.
    pub(super) fn form(&self, wanted: SourceForm) -> SourceForm {
        if self.is_fresh() {
            SourceForm::Plain
        } else {
            wanted
        }
    }

    /// Marks the feature as failed at the target.
    pub(super) fn note(&self) {
        *lock(&self.0) = Some(Instant::now());
    }

    /// Marks the feature as failed if none of the records received for a request for holdings is an OPAC record.
    pub(super) fn learn<'a>(&self, came: impl Iterator<Item = &'a Record>) {
        let mut came = came.peekable();
        if came.peek().is_some() && came.all(|record| record.syntax() != Some(OPAC)) {
            self.note();
        }
    }
}

/// Converts the record to the requested syntax and element set. A record that already has the syntax is not changed. If
/// an OPAC record is requested in another syntax, the bibliographic record in it is converted.
///
/// # Errors
/// Fails with condition 238 if the record cannot be converted to the syntax, or with condition 14 if the record is
/// damaged.
pub(super) fn converted(
    record: &Record,
    composition: &Composition,
) -> Result<External, Diagnostic> {
    let own = record.syntax();
    let element_set = &composition.element_set;
    let is_brief = element_set.eq_ignore_ascii_case("B");
    if own == Some(OPAC)
        && let Some(inside) = record.bibliographic()
    {
        return match composition.syntax {
            Some(OPAC) if is_brief => brief_opac(record, &inside),
            Some(OPAC) => Ok(record.external().clone()),
            _ => converted(&inside, composition),
        };
    }
    let Some(wanted) = composition.syntax.or(own) else {
        return Ok(record.external().clone());
    };
    let is_as_wanted = match &*element_set.to_ascii_lowercase() {
        "f" => true,
        "marcxml" => is_element(record, marcxml::NAMESPACE, "record"),
        _ => composition.syntax.is_none(),
    };
    if own == Some(wanted) && is_as_wanted {
        return Ok(record.external().clone());
    }
    let not_available = || diagnostic(Condition::NOT_AVAILABLE_IN_SYNTAX, wanted.to_string());
    let Some(marc) = record.marc() else {
        // Brief records need not be converted, and Dublin Core from the target can be sent unchanged.
        let is_dublin_core = || {
            let mut known = [OAI_DC, SRW_DC].into_iter();
            known.any(|namespace| is_element(record, namespace, "dc"))
        };
        return if own == Some(wanted) && wanted == XML && (is_brief || is_dublin_core()) {
            Ok(record.external().clone())
        } else {
            Err(not_available())
        };
    };
    forms::of_marc(&marc, &wanted, element_set)
}

/// The namespaces of the root element of Dublin Core in OAI-PMH and in SRU.
const OAI_DC: &str = "http://www.openarchives.org/OAI/2.0/oai_dc/";
const SRW_DC: &str = "info:srw/schema/1/dc-schema";

/// Returns whether a record is XML whose root element has this namespace and name.
fn is_element(record: &Record, namespace: &str, name: &str) -> bool {
    let root = root_of(&record.octets());
    root.is_some_and(|root| (&*root.0, &*root.1) == (namespace, name))
}

/// Returns the holdings of an OPAC record with a brief form of its bibliographic record.
fn brief_opac(record: &Record, inside: &Record) -> Result<External, Diagnostic> {
    let mut brief = Composition::full(None);
    brief.syntax = inside.syntax();
    brief.element_set = "B".to_owned();
    let brief = converted(inside, &brief)?;
    let whole = OpacRecord::from_external(record.external()).map_err(|_| foreign())?;
    let opac = OpacRecord {
        bibliographic_record: Some(brief),
        ..whole
    };
    opac.to_external().map_err(|_| foreign())
}

#[cfg(test)]
mod tests {
    use z3950_asn1::oid::{SUTRS, USMARC};

    use super::*;

    #[test]
    fn long_fields_of_marcxml_are_converted_to_all_but_marc() {
        let note = "x".repeat(10_000);
        let xml = format!(
            "<record xmlns='http://www.loc.gov/MARC21/slim'><leader>00000nam a2200000 a 4500</leader>\
             <datafield tag='520' ind1=' ' ind2=' '><subfield code='a'>{note}</subfield></datafield></record>"
        );
        let record = Record::new(External::octet_aligned(XML, xml.into_bytes()), None);
        let mut composition = Composition::full(Some(SUTRS));
        assert!(converted(&record, &composition).is_ok());
        composition.syntax = Some(USMARC);
        let refused = converted(&record, &composition).expect_err("too long");
        assert_eq!(refused.condition, Condition::SYSTEM_ERROR_PRESENTING.0);
    }
}
