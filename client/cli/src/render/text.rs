//! Records of other syntaxes than MARC as text for people.

use z3950_asn1::codec::dump;
use z3950_asn1::describe::Describe;
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::charset::Charset;

use super::Rendered;

/// SUTRS and XML as they are, OPAC, GRS-1, Summary and Explain as indented lines; what has no text of its own as a listing of
/// its BER values.
pub(super) fn render(record: &RetrievedRecord, charset: Option<Charset>) -> Rendered {
    let mut notes = Vec::new();
    let mut is_loss = false;
    let octets = match record {
        RetrievedRecord::Other(_) => {
            notes.push(format!(
                "{} is shown as a listing of its BER values",
                name(record)
            ));
            dump::dump(&record.octets()).into_bytes()
        }
        RetrievedRecord::Opac(record) => record.to_text().into_bytes(),
        RetrievedRecord::Grs1(record) => record.to_text().into_bytes(),
        RetrievedRecord::Summary(record) => record.describe().to_text().into_bytes(),
        RetrievedRecord::Explain(record) => record.describe().to_text().into_bytes(),
        RetrievedRecord::Sutrs(text) => match charset {
            Some(charset) => {
                let decoded = charset.decode(text.as_bytes());
                notes.extend(decoded.problems.iter().map(ToString::to_string));
                is_loss = decoded
                    .problems
                    .iter()
                    .any(|problem| problem.kind.is_undecoded());
                decoded.text.into_owned().into_bytes()
            }
            None => text.as_bytes().to_vec(),
        },
        RetrievedRecord::Marc(_) | RetrievedRecord::Xml(_) => record.octets().to_vec(),
    };
    Rendered {
        octets: with_newline(octets),
        notes,
        failure: None,
        is_loss,
        is_repaired: false,
    }
}

/// Octets that could not be read, as they are.
pub(super) fn unread(octets: &[u8], note: String) -> Rendered {
    Rendered {
        octets: with_newline(octets.to_vec()),
        notes: vec![note],
        failure: None,
        is_loss: true,
        is_repaired: false,
    }
}

/// What the record is, for a message: `record syntax grs-1`.
pub(super) fn name(record: &RetrievedRecord) -> String {
    let name = match record {
        RetrievedRecord::Marc(_) => "MARC".into(),
        RetrievedRecord::Sutrs(_) => "SUTRS".into(),
        RetrievedRecord::Xml(_) => "XML".into(),
        RetrievedRecord::Opac(_) => "OPAC".into(),
        RetrievedRecord::Grs1(_) => "GRS-1".into(),
        RetrievedRecord::Summary(_) => "Summary".into(),
        RetrievedRecord::Explain(_) => "Explain".into(),
        RetrievedRecord::Other(external) => external
            .direct_reference
            .map_or("without a name".into(), |oid| format!("{oid:?}")),
    };
    format!("record syntax {name}")
}

fn with_newline(mut octets: Vec<u8>) -> Vec<u8> {
    if octets.last() != Some(&b'\n') {
        octets.push(b'\n');
    }
    octets
}
