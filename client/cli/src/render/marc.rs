//! MARC records in any of their forms, read leniently; also those that come as XML.

use bytes::Bytes;
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::Form;
use z3950_marc::MarcRecord;
use z3950_marc::charset::{Charset, Options, to_utf8};
use z3950_marc::iso2709;
use z3950_marc::stream::{InputForm, RecordReader};

use super::{Rendered, json, text};

/// A record of ISO 2709 octets in a form.
pub(super) fn render(octets: &Bytes, form: Form, charset: Option<Charset>) -> Rendered {
    match iso2709::parse(octets) {
        Ok(parsed) => {
            let repairs = parsed.repairs.iter();
            let is_cut = repairs.clone().any(|repair| repair.kind.is_loss());
            let mut notes: Vec<String> = repairs
                .map(|repair| match repair.kind.is_loss() {
                    true => format!("record incomplete: {repair}"),
                    false => format!("record repaired: {repair}"),
                })
                .collect();
            let mut options = Options::default();
            options.charset = charset;
            let converted = to_utf8(&parsed.record, &options);
            notes.extend(converted.problems.iter().map(ToString::to_string));
            let is_loss = is_cut || converted.is_loss();
            Rendered {
                is_repaired: !is_cut && !parsed.repairs.is_empty(),
                ..written(&converted.record, form, notes, is_loss)
            }
        }
        Err(error) => {
            let note = format!("the record is given as it came: {error}");
            match form {
                Form::Line | Form::Brief => text::unread(octets, note),
                Form::Json => json::unread(octets, note),
                _ => Rendered {
                    failure: Some(format!("the record cannot be read: {error}")),
                    is_loss: true,
                    ..Rendered::default()
                },
            }
        }
    }
}

/// The first MARCXML record of an XML record in a form; `None` if there is none.
pub(super) fn within_xml(record: &RetrievedRecord, form: Form) -> Option<Rendered> {
    let RetrievedRecord::Xml(octets) = record else {
        return None;
    };
    let found = RecordReader::new(&octets[..], InputForm::MarcXml).next()?;
    let found = found.ok()?;
    let record = found
        .record
        .ok()
        .filter(|record| !record.fields.is_empty())?;
    Some(written(&record, form, found.notes, found.incomplete))
}

fn written(record: &MarcRecord, form: Form, mut notes: Vec<String>, mut is_loss: bool) -> Rendered {
    let mut octets = Vec::new();
    let failure = match form.write(record, &mut octets) {
        Ok(losses) => {
            is_loss |= !losses.is_empty();
            notes.extend(losses);
            None
        }
        Err(error) => Some(error.to_string()),
    };
    Rendered {
        octets,
        notes,
        failure,
        is_loss,
        is_repaired: false,
    }
}
