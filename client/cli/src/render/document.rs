//! Several records as one document: a collection in XML, blank lines between texts, a JSON object a line.

use z3950_asn1::apdu::External;
use z3950_marc::Form;
use z3950_marc::charset::Charset;

use super::indent::indent;
use super::{Format, Rendered, render};

/// The records of one answer on their way to standard output.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    format: Format,
    charset: Option<Charset>,
    is_indented: bool,
    records: u64,
}

impl Document {
    /// A document without records; their text is in that character set, whatever they say, if one is given.
    pub(crate) fn new(format: Format, charset: Option<Charset>) -> Self {
        Self {
            format,
            charset,
            is_indented: false,
            records: 0,
        }
    }

    /// The same document, whose records in XML are set out for people, an element a line.
    #[must_use]
    pub(crate) fn indented(self, is_indented: bool) -> Self {
        Self {
            is_indented,
            ..self
        }
    }

    /// How many records it has.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Goes on with a document that has so many records, if this one has none yet.
    pub(crate) fn go_on(&mut self, records: u64) {
        if self.records == 0 {
            self.records = records;
        }
    }

    /// How its records are written.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// The next record, with what stands in front of it. A record that the format cannot hold leaves the document as it is.
    pub(crate) fn record(&mut self, record: &External) -> Rendered {
        let mut rendered = render(record, self.format, self.charset);
        if self.is_indented && rendered.octets.trim_ascii_start().starts_with(b"<") {
            let indented = str::from_utf8(&rendered.octets).map(indent);
            rendered.octets = indented.map_or(rendered.octets, String::into_bytes);
        }
        if rendered.failure.is_none() {
            rendered.octets.splice(..0, self.next().bytes());
        }
        rendered
    }

    /// Begins the next record; gives what stands in front of it.
    pub(crate) fn next(&mut self) -> &'static str {
        self.records += 1;
        match (self.format.form(), self.records) {
            (Some(form), 1) => form.begin(),
            (Some(form), _) => form.between(),
            (None, _) => "",
        }
    }

    /// What stands behind the last record; nothing if there was none.
    pub(crate) fn end(&mut self) -> &'static str {
        match std::mem::take(&mut self.records) {
            0 => "",
            _ => self.format.form().map_or("", Form::end),
        }
    }
}
