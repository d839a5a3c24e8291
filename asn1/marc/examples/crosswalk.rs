//! Describes a record in Dublin Core, in MODS, as a citation, and as a row of a table.
//!
//! Run it with `cargo run --example crosswalk -- books.mrc`. Without arguments, it describes a built-in record.

use std::error::Error;
use std::fs::File;
use std::io::Read;

use z3950_marc::charset::{Options, to_utf8};
use z3950_marc::crosswalk::Citation;
use z3950_marc::crosswalk::dublin_core::to_dublin_core;
use z3950_marc::crosswalk::mods::to_mods;
use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::table::{Columns, RowOrigin, Table, TableForm};

const RECORD: &str = "\
=LDR  00000cam a2200000 i 4500
=001  pg158
=020  \\\\$a0141439513
=100  1\\$aAusten, Jane,$d1775-1817.
=245  10$aEmma /$cJane Austen.
=264  \\1$aLondon :$bJohn Murray,$c1815.
=650  \\0$aVillages$vFiction.
";

fn main() -> Result<(), Box<dyn Error>> {
    let input: Box<dyn Read> = match std::env::args().nth(1) {
        Some(path) => Box::new(File::open(path)?),
        None => Box::new(RECORD.as_bytes()),
    };
    let columns: Columns = "001,title,author,year,isbn,650a".parse()?;
    let table = Table::new(TableForm::Csv, &columns);
    let mut rows = table.header().as_bytes().to_vec();
    for found in RecordReader::guessing(input, InputForm::Marc)? {
        let record = to_utf8(&found?.record?, &Options::default()).record;
        print!("{}{}", to_dublin_core(&record), to_mods(&record));
        println!(
            "{:#}",
            serde_json::Value::from(Citation::of(&record).to_json())
        );
        table.write(&record, RowOrigin::default(), &[], &mut rows);
    }
    print!("{}", String::from_utf8(rows)?);
    Ok(())
}
