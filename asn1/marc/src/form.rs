//! The forms in which records are written, each with the text that joins several records into one document.

use super::charset::undeclared_utf8;
use super::crosswalk::brief::brief_text;
use super::crosswalk::dublin_core;
use super::iso2709::{self, Iso2709Error};
use super::record::MarcRecord;
use super::remarks::Remarks;
use super::{layout, marcjson, marcline, marcxml, mrk};

/// A form in which records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// ISO 2709, with recomputed lengths.
    Marc,
    /// MARCXML, with the records in a collection.
    MarcXml,
    /// MarcXchange (ISO 25577), with the records in a collection.
    MarcXchange,
    /// MARC-in-JSON, one object per line.
    Json,
    /// MARCMaker text, with blank lines between records.
    Mrk,
    /// Lines as YAZ prints them, with blank lines between records.
    Line,
    /// Dublin Core, in the XML of OAI-PMH.
    DublinCore,
    /// A few lines in the style of ISBD, with blank lines between records.
    Brief,
}

/// The reason why a record cannot be written in a form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The record or a field is too long for ISO 2709.
    #[error("{0}; MARCXML has no such limit")]
    TooLong(Iso2709Error),
    /// The record cannot be written in ISO 2709 for a reason other than its length.
    #[error(transparent)]
    Iso2709(Iso2709Error),
}

/// Returns a message for each field with octets that are not UTF-8, which a text form cannot hold.
fn undecoded(record: &MarcRecord) -> Vec<String> {
    let fields = record.fields.iter();
    let odd = fields.filter(|field| std::str::from_utf8(&field.body).is_err());
    odd.map(|field| format!("octets in {} replaced, they are not UTF-8", field.tag))
        .collect()
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 8] = [
        Self::Marc,
        Self::MarcXml,
        Self::MarcXchange,
        Self::Json,
        Self::Mrk,
        Self::Line,
        Self::DublinCore,
        Self::Brief,
    ];

    /// Returns the name of the form: `marc`, `marcxml`, `marcxchange`, `json`, `mrk`, `line`, `dc` or `brief`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marc => "marc",
            Self::MarcXml => "marcxml",
            Self::MarcXchange => "marcxchange",
            Self::Json => "json",
            Self::Mrk => "mrk",
            Self::Line => "line",
            Self::DublinCore => "dc",
            Self::Brief => "brief",
        }
    }

    /// Returns the last octet of every record: the record terminator of ISO 2709, or a line feed in the other forms.
    pub fn last_octet(self) -> u8 {
        match self {
            Self::Marc => 0x1d,
            _ => b'\n',
        }
    }

    /// Returns the beginning of a document, before its first record.
    pub fn begin(self) -> &'static str {
        match self {
            Self::MarcXml => marcxml::COLLECTION_BEGIN,
            Self::MarcXchange => marcxml::EXCHANGE_BEGIN,
            Self::DublinCore => dublin_core::COLLECTION_BEGIN,
            _ => "",
        }
    }

    /// Returns the separator between two records.
    pub fn between(self) -> &'static str {
        match self {
            Self::Mrk | Self::Line | Self::Brief => "\n",
            _ => "",
        }
    }

    /// Returns the end of a document.
    pub fn end(self) -> &'static str {
        match self {
            Self::MarcXml | Self::MarcXchange => marcxml::COLLECTION_END,
            Self::DublinCore => dublin_core::COLLECTION_END,
            _ => "",
        }
    }

    /// Appends one record, and returns remarks on the data that is lost because the form cannot hold it, and on the leader positions whose
    /// values differ because the form requires it.
    ///
    /// # Errors
    /// [`WriteError`], which only [`Form::Marc`] returns. Nothing is appended in that case.
    pub fn write(self, record: &MarcRecord, out: &mut Vec<u8>) -> Result<Remarks, WriteError> {
        let Some((record, changed)) = layout::with_ascii_indicators(record) else {
            return self.write_sound(record, out);
        };
        let mut remarks = self.write_sound(&record, out)?;
        remarks.losses(changed);
        Ok(remarks)
    }

    /// Appends a record whose indicators are ASCII.
    fn write_sound(self, record: &MarcRecord, out: &mut Vec<u8>) -> Result<Remarks, WriteError> {
        let mut remarks = Remarks::default();
        match self {
            Self::Marc => {
                iso2709::append(record, out).map_err(|error| match error {
                    Iso2709Error::FieldTooLong { .. } | Iso2709Error::RecordTooLong { .. } => {
                        WriteError::TooLong(error)
                    }
                    error => WriteError::Iso2709(error),
                })?;
                let written = layout::of_exchange(record);
                remarks
                    .notes
                    .extend(layout::restructured(&record.leader, &written));
                remarks.notes.extend(undeclared_utf8(record));
            }
            Self::MarcXml | Self::MarcXchange => {
                let written = match self {
                    Self::MarcXml => marcxml::to_xml_in_collection(record),
                    _ => marcxml::to_exchange_in_collection(record),
                };
                out.extend_from_slice(written.text.as_bytes());
                (remarks.notes, remarks.is_loss) = (written.notes, written.is_loss);
            }
            Self::Json => {
                out.extend_from_slice(marcjson::to_json(record).as_bytes());
                out.push(b'\n');
                remarks.losses(undecoded(record));
            }
            Self::Mrk => out.extend_from_slice(mrk::to_mrk(record).as_bytes()),
            Self::Line => {
                // Writing to a vector cannot fail.
                drop(marcline::write_lines(record, out));
                remarks.losses(marcline::ambiguous(record));
            }
            Self::DublinCore => {
                out.extend_from_slice(dublin_core::to_dublin_core(record).as_bytes());
                remarks.losses(dublin_core::replaced(record));
            }
            Self::Brief => out.extend_from_slice(brief_text(record).as_bytes()),
        }
        Ok(remarks)
    }
}

#[cfg(test)]
mod tests;
