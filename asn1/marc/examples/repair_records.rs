//! Repairs damaged records, converts them from MARC-8 to UTF-8, and prints the remarks on each record.
//!
//! Run it with `cargo run --example repair_records -- books.mrc > repaired.mrc`. Without arguments, it repairs a record with wrong
//! lengths.

use std::error::Error;
use std::fs::File;
use std::io::{Read, stdout};

use z3950_marc::Form;
use z3950_marc::charset::{Options, to_utf8};
use z3950_marc::stream::{InputForm, RecordReader, RecordWriter};

/// A record with wrong lengths in its leader and its directory. The umlaut of `Grün` precedes its letter, as in MARC-8.
const DAMAGED: &[u8] = b"99999nam  2200000   4500001000300000245000900003\x1Eb7\x1E10\x1FaGr\xE8un /\x1FcAnna Ott.\x1E\x1D";

fn main() -> Result<(), Box<dyn Error>> {
    let input: Box<dyn Read> = match std::env::args().nth(1) {
        Some(path) => Box::new(File::open(path)?),
        None => Box::new(DAMAGED),
    };
    let mut writer = RecordWriter::new(stdout(), Form::Marc);
    for found in RecordReader::new(input, InputForm::Marc) {
        let found = found?;
        for note in &found.notes {
            eprintln!("record {}: {note}", found.number);
        }
        match found.record {
            Ok(record) => {
                let converted = to_utf8(&record, &Options::default());
                eprintln!("record {}: {}", found.number, converted.choice);
                for problem in &converted.problems {
                    eprintln!("record {}: {problem}", found.number);
                }
                writer.write(&converted.record)?;
            }
            Err(reason) => eprintln!("record {} is left out: {reason}", found.number),
        }
    }
    writer.finish()?;
    Ok(())
}
