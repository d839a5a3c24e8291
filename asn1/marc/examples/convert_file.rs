//! Converts a file of records from one form to another. The form of the input is detected.
//!
//! Run it with `cargo run --example convert_file -- json books.mrc books.json`. Without arguments, it converts a record in MARCXML
//! to MARCMaker text on standard output.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read, Write, stdout};

use z3950_marc::Form;
use z3950_marc::charset::{Options, to_utf8};
use z3950_marc::stream::{InputForm, RecordReader, RecordWriter};

const RECORD: &str = r#"<record xmlns="http://www.loc.gov/MARC21/slim"><leader>00000cam a2200000 i 4500</leader>
<controlfield tag="001">pg158</controlfield><datafield tag="245" ind1="1" ind2="0"><subfield code="a">Emma /</subfield>
<subfield code="c">Jane Austen.</subfield></datafield></record>"#;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (form, input, output): (&str, Box<dyn Read>, Box<dyn Write>) = match &arguments[..] {
        [form, input, output] => (
            form,
            Box::new(File::open(input)?),
            Box::new(BufWriter::new(File::create_new(output)?)),
        ),
        _ => ("mrk", Box::new(RECORD.as_bytes()), Box::new(stdout())),
    };
    let form = Form::ALL.into_iter().find(|known| known.name() == form);
    let mut writer = RecordWriter::new(output, form.ok_or("an unknown form")?);
    for found in RecordReader::guessing(input, InputForm::Marc)? {
        let found = found?;
        // A damaged record is skipped, so that the records after it are still converted.
        let record = match found.record {
            Ok(record) => to_utf8(&record, &Options::default()).record,
            Err(reason) => {
                eprintln!("record {}: {reason}", found.number);
                continue;
            }
        };
        for note in writer.write(&record)?.notes {
            eprintln!("record {}: {note}", found.number);
        }
    }
    writer.finish()?;
    Ok(())
}
