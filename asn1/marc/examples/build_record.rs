//! Builds a new record, as if from a row of a table, and writes it in ISO 2709 and as readable text.
//!
//! Run it with `cargo run --example build_record`.

use std::error::Error;

use z3950_marc::{Field, MarcRecord, iso2709, marcline};

fn main() -> Result<(), Box<dyn Error>> {
    let (number, title, author) = ("b158", "Emma & co. $a1", "Jane Austen");
    let subjects = ["Villages", "Großbritannien"];

    // A value that is passed separately is stored unchanged, even if it contains `$`. In a field that is passed as one
    // line of text, `$` precedes each subfield code.
    let mut record = MarcRecord::builder()
        .leader("00000nam a2200000 i 4500")
        .control("001", number)
        .field("040 __ $a ZZ-Ex $b eng $e rda")
        .data("245", "10", [("a", title), ("c", author)])
        .build()?;
    for subject in subjects {
        record.insert_ordered(Field::try_data("650", " 4", [("a", subject)])?)?;
    }
    print!("{}", String::from_utf8(marcline::to_lines(&record))?);

    let octets = iso2709::encode(&record)?;
    let read = iso2709::parse_strict(&octets.into())?;
    let title = read.field("245").and_then(|field| field.text("a"));
    println!(
        "{} octets: {}",
        read.leader.record_length().unwrap_or_default(),
        title.unwrap_or_default()
    );
    Ok(())
}
