//! Edits a record: corrects a title, sets an indicator, adds a subject, and deletes local fields.
//!
//! Run it with `cargo run --example edit_record`.

use z3950_marc::{EditError, MarcRecord, mrk};

const RECORD: &str = "\
=LDR  00000cam  2200000 a 4500
=001  pg158
=100  1\\$aAusten, Jane,$d1775-1817.
=245  00$aEma /$cJane Austen.
=650  \\0$aVillages$vFiction.
=650  \\7$aRomans.$2fast
=900  \\\\$aShelf 3
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for mut record in mrk::parse_all(RECORD)? {
        edit(&mut record)?;
        print!("{}", mrk::to_mrk(&record));
    }
    Ok(())
}

fn edit(record: &mut MarcRecord) -> Result<(), EditError> {
    let mut title = record.field_mut("245")?;
    title.set("a", "Emma : a novel /")?.set_indicators("10")?;
    record.insert_ordered("651 #0 $a Highbury (England : Imaginary place)")?;
    // These calls affect all fields with one tag, or with any tag that matches a pattern.
    record.edit_fields("6XX", |field| field.remove("v").map(drop))?;
    record.remove("9XX")?;
    // The leader declares MARC-8, so adding this text converts the record to UTF-8.
    record.field_mut("100")?.push("e", "écrivaine")?;
    // A value that would damage the record is refused.
    let refused = record.field_mut("245")?.set("a", "Em\u{1f}bma").map(drop);
    println!("{}", refused.unwrap_err());
    Ok(())
}
