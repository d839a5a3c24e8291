//! Writes the records of a database to a draft, which can then replace its file.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use z3950_files::Draft;
use z3950_marc::stream::InputForm;
use z3950_marc::{Form, charset, iso2709};

use super::SaveError;
use crate::memory::index::Index;
use crate::memory::journal::{Fingerprint, Hashed};

/// A draft and its fingerprint.
pub(in crate::memory) type DraftedFile = (Draft, Fingerprint);

/// Writes the records of a database to a draft of a file.
///
/// # Errors
/// The draft cannot be written.
pub(in crate::memory) fn drafted(
    index: &Index,
    database: u16,
    target: &Path,
) -> Result<DraftedFile, SaveError> {
    let mut draft = Draft::hidden(target)?;
    let mut output = BufWriter::with_capacity(1 << 20, Hashed::new(draft.file()));
    let written =
        write_records(index, database, form_of(target), &mut output).and_then(|()| output.flush());
    written.map_err(z3950_files::Error::unwritable(target))?;
    let held = output.get_ref().fingerprint();
    drop(output);
    // The draft is synced here, while no update waits for it.
    let synced = draft.file().sync_all();
    synced.map_err(z3950_files::Error::unwritable(target))?;
    Ok((draft, held))
}

fn form_of(path: &Path) -> Form {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.and_then(InputForm::by_extension) {
        Some(InputForm::MarcXml) => Form::MarcXml,
        Some(InputForm::Json) => Form::Json,
        Some(InputForm::Mrk) => Form::Mrk,
        Some(InputForm::Line) => Form::Line,
        _ => Form::Marc,
    }
}

fn write_records(
    index: &Index,
    database: u16,
    form: Form,
    output: &mut impl Write,
) -> io::Result<()> {
    output.write_all(form.begin().as_bytes())?;
    let mut buffer = Vec::new();
    let mut between = "";
    for record in index.visible(index.all(), Some(&[database])).iter() {
        let found = index.segment(record);
        let Some((record, _)) = found.and_then(|(segment, number)| segment.record(number)) else {
            continue;
        };
        output.write_all(between.as_bytes())?;
        between = form.between();
        if form == Form::Marc {
            output.write_all(record)?;
            continue;
        }
        let parsed = iso2709::parse(record).map_err(io::Error::other)?.record;
        // The other formats are text, so the record is converted to UTF-8.
        let readable = charset::to_utf8(&parsed, &charset::Options::default()).record;
        buffer.clear();
        form.write(&readable, &mut buffer)
            .map_err(io::Error::other)?;
        output.write_all(&buffer)?;
    }
    output.write_all(form.end().as_bytes())
}
