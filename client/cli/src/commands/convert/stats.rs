//! `convert --stats`: counts the fields and subfields of the records.

use serde_json::{Value, json};
use z3950_marc::Tag;
use z3950_marc::counts::{Count, FieldCounts, MAX_KINDS};

use crate::answer::Envelope;
use crate::console::output::{Failure, Output};
use crate::render::{counted, shown};

/// Writes the counts, with one line, or one JSON object, for each field and each subfield.
pub(super) fn write(counts: &FieldCounts, json: bool, output: &mut Output) -> Result<(), Failure> {
    let all = counts.records();
    if !json {
        output.line(&counted(all, "record"))?;
        if counts.iter().next().is_some() {
            output.line("field  occurrences    records    share")?;
        }
    }
    for (tag, code, count) in counts.iter() {
        if json {
            Envelope::from(object(tag, code, count, all)).write(output)?;
        } else {
            output.line(&row(tag, code, count, all))?;
        }
    }
    let others = counts.others();
    if others > 0 {
        output.warning(&format!(
            "{others} fields and subfields are not listed: there are more than {MAX_KINDS} different ones"
        ));
    }
    Ok(())
}

/// Returns the proportion of records that have the field.
#[expect(clippy::cast_precision_loss, reason = "it is shown with four digits")]
fn share(count: Count, all: u64) -> f64 {
    let share = count.records as f64 / all.max(1) as f64;
    (share * 10_000.0).round() / 10_000.0
}

fn row(tag: Tag, code: &[u8], count: Count, all: u64) -> String {
    let name = match code {
        b"" => shown(&tag.0),
        code => format!(" ${}", shown(code)),
    };
    let Count {
        occurrences,
        records,
        ..
    } = count;
    let share = 100.0 * share(count, all);
    format!("{name:<5}{occurrences:>13}{records:>11}{share:>7.1} %")
}

fn object(tag: Tag, code: &[u8], count: Count, all: u64) -> Value {
    let code = (!code.is_empty()).then(|| shown(code));
    json!({
        "field": shown(&tag.0),
        "subfield": code,
        "occurrences": count.occurrences,
        "records": count.records,
        "of": all,
        "share": share(count, all),
    })
}
