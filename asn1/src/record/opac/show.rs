//! Writes OPAC records for people and programs: as text, as JSON, and as XML in YAZ's format (`opacxml.xsd`).

use z3950_marc::marcline::HOLDINGS;
use z3950_marc::xmltext::put_content;

use super::{HoldingsRecord, OpacRecord};
use crate::apdu::External;
use crate::describe::{Describe, Value};
use crate::record::{embedded, holdings};

impl OpacRecord {
    /// Returns the bibliographic record in its usual text form, followed by its holdings as a table.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        if let Some(record) = &self.bibliographic_record {
            out.push_str(&embedded::text(record));
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
        let table = holdings::table(&holdings::of_opac(self, None));
        if !table.is_empty() {
            out.push_str(&format!("{HOLDINGS}\n"));
            out.push_str(&table);
        }
        out
    }

    /// Returns `{"bibliographicRecord": …, "holdingsData": [{"holdingsAndCirc": {…}}]}`. MARC records in it are
    /// MARC-in-JSON.
    pub fn to_json(&self) -> serde_json::Value {
        self.describe().to_json()
    }

    /// Returns an XML document `opacRecord` in YAZ's format, followed by a newline. It has MARCXML in
    /// `bibliographicRecord`, and an element `holding` for each holding.
    pub fn to_xml(&self) -> String {
        let mut out = String::from("<opacRecord>\n");
        if let Some(record) = &self.bibliographic_record {
            put_record("bibliographicRecord", record, &mut out);
        }
        out.push_str("<holdings>\n");
        for holding in self.holdings_data.iter().flatten() {
            match holding {
                HoldingsRecord::MarcHoldingsRecord(record) => {
                    put_record("marcHoldingsRecord", record, &mut out);
                }
                HoldingsRecord::HoldingsAndCirc(data) => {
                    put_element("holding", &data.describe(), &mut out);
                }
            }
        }
        out.push_str("</holdings>\n</opacRecord>\n");
        out
    }
}

fn put_record(name: &str, record: &External, out: &mut String) {
    out.push_str(&format!("<{name}>"));
    embedded::put_xml(record, out);
    out.push_str(&format!("</{name}>\n"));
}

/// Writes an element. Lists have an enclosing element, and flags are written as `<onHold value="0"/>`.
fn put_element(name: &str, value: &Value, out: &mut String) {
    match (name, value) {
        ("volumes", Value::List(volumes)) => put_all("volumes", "volume", volumes, out),
        ("circulationData", Value::List(items)) => {
            put_all("circulations", "circulation", items, out);
        }
        (_, Value::Group(elements)) => {
            out.push_str(&format!("<{name}>\n"));
            for (name, value) in elements {
                put_element(name, value, out);
            }
            out.push_str(&format!("</{name}>\n"));
        }
        (_, Value::Flag(flag)) => {
            out.push_str(&format!("<{name} value=\"{}\"/>\n", u8::from(*flag)));
        }
        (_, Value::Text(text)) => {
            out.push_str(&format!("<{name}>"));
            put_content(out, text.as_bytes());
            out.push_str(&format!("</{name}>\n"));
        }
        (_, other) => out.push_str(&other.to_xml(name)),
    }
}

fn put_all(name: &str, each: &str, values: &[Value], out: &mut String) {
    out.push_str(&format!("<{name}>\n"));
    for value in values {
        put_element(each, value, out);
    }
    out.push_str(&format!("</{name}>\n"));
}
