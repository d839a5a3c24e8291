//! Writes records to a file or a pipe as one document, in any form.

use std::io::{self, Write};

use crate::form::{Form, WriteError};
use crate::record::MarcRecord;
use crate::remarks::Remarks;

/// Writes records as one document in a form, one at a time: the counterpart of [`RecordReader`](super::RecordReader).
///
/// The document is complete when [`finish`](RecordWriter::finish) returns. Text forms need records in UTF-8, as
/// returned by [`charset::to_utf8`](crate::charset::to_utf8); otherwise, remarks report the losses.
#[derive(Debug)]
pub struct RecordWriter<W> {
    output: W,
    form: Form,
    buffer: Vec<u8>,
    is_begun: bool,
}

/// The reason why a record was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordWriterError {
    /// The form cannot hold the record. Nothing was written, and more records can be written.
    #[error(transparent)]
    Record(#[from] WriteError),
    /// Writing to the file or pipe failed.
    #[error(transparent)]
    Output(#[from] io::Error),
}

impl<W: Write> RecordWriter<W> {
    /// Creates a writer. Each record is written immediately, so a file should be wrapped in a
    /// [`BufWriter`](io::BufWriter).
    pub fn new(output: W, form: Form) -> Self {
        Self {
            output,
            form,
            buffer: Vec::new(),
            is_begun: false,
        }
    }

    /// Writes one record. Returns remarks as [`Form::write`] does.
    ///
    /// # Errors
    /// [`RecordWriterError`]. After an error from the output, the document is damaged.
    pub fn write(&mut self, record: &MarcRecord) -> Result<Remarks, RecordWriterError> {
        let before = if self.is_begun {
            self.form.between()
        } else {
            self.form.begin()
        };
        self.buffer.clear();
        self.buffer.extend_from_slice(before.as_bytes());
        let remarks = self.form.write(record, &mut self.buffer)?;
        self.output.write_all(&self.buffer)?;
        self.is_begun = true;
        Ok(remarks)
    }

    /// Writes the end of the document, even if no records have been written, and returns the flushed output.
    ///
    /// # Errors
    /// Errors from the output.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.is_begun {
            self.output.write_all(self.form.begin().as_bytes())?;
        }
        self.output.write_all(self.form.end().as_bytes())?;
        self.output.flush()?;
        Ok(self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;
    use crate::iso2709::MAX_FIELD;
    use crate::stream::{InputForm, RecordReader};

    fn record(value: String) -> MarcRecord {
        MarcRecord {
            fields: vec![Field::control(b"001", value)],
            ..MarcRecord::default()
        }
    }

    #[test]
    fn audit_r_l11_a_document_of_every_form_is_read_back() {
        for (form, input) in [
            (Form::Marc, InputForm::Marc),
            (Form::MarcXml, InputForm::MarcXml),
            (Form::MarcXchange, InputForm::MarcXml),
            (Form::Json, InputForm::Json),
            (Form::Mrk, InputForm::Mrk),
            (Form::Line, InputForm::Line),
        ] {
            for count in 0..3 {
                let mut writer = RecordWriter::new(Vec::new(), form);
                for number in 0..count {
                    writer.write(&record(number.to_string())).expect("short");
                }
                let document = writer.finish().expect("a vector takes it");
                let found = RecordReader::new(&document[..], input);
                let found = found.map(|found| found.expect("in memory").record);
                let found: Vec<_> = found.map(|found| found.expect("valid").fields).collect();
                let written: Vec<_> = (0..count)
                    .map(|number| record(number.to_string()).fields)
                    .collect();
                assert_eq!(found, written, "{form:?}");
            }
        }
    }

    #[test]
    fn audit_r_l11_a_record_that_does_not_fit_leaves_no_trace() {
        let mut writer = RecordWriter::new(Vec::new(), Form::Marc);
        let long = writer.write(&record("x".repeat(MAX_FIELD)));
        assert!(
            matches!(long, Err(RecordWriterError::Record(_))),
            "{long:?}"
        );
        writer.write(&record("1".to_owned())).expect("short");
        let document = writer.finish().expect("a vector takes it");
        assert_eq!(
            document,
            crate::iso2709::encode(&record("1".to_owned())).expect("short")
        );
        let mut room = [0; 10];
        let mut full = RecordWriter::new(&mut room[..], Form::Marc);
        let refused = full.write(&record("1".to_owned()));
        assert!(
            matches!(refused, Err(RecordWriterError::Output(_))),
            "{refused:?}"
        );
    }
}
