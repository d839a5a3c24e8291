//! Databases to files: the whole of a database in a new file beside the old one, which then takes its place, so that there is
//! never half a file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use z3950_asn1::charset;
use z3950_asn1::record::stream::InputForm;
use z3950_asn1::record::{Form, iso2709};

use super::index::Index;

/// Why a database is not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// There is none of this name.
    #[error("no database {0}")]
    NoDatabase(
        /// The name.
        String,
    ),
    /// The file cannot be written; it is what it was.
    #[error("cannot write {}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Writes the records of a database, by its number, to a file.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn save(index: &Index, database: u16, path: &Path) -> Result<(), SaveError> {
    written(index, database, path).map_err(|source| SaveError::Unwritable {
        path: path.to_owned(),
        source,
    })
}

fn written(index: &Index, database: u16, path: &Path) -> io::Result<()> {
    // A link stays a link to what is written.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    if let Some(permissions) = permissions(&path) {
        file.as_file().set_permissions(permissions)?;
    }
    let mut output = BufWriter::with_capacity(1 << 20, file.as_file_mut());
    write_records(index, database, form_of(&path), &mut output)?;
    output.flush()?;
    drop(output);
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    // That the name is of the new file has to be on the disk as well; where folders cannot be opened, that is all there is.
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
}

/// Those of the file that is replaced.
fn permissions(path: &Path) -> Option<fs::Permissions> {
    if let Ok(metadata) = fs::metadata(path) {
        return Some(metadata.permissions());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(fs::Permissions::from_mode(0o644))
    }
    #[cfg(not(unix))]
    None
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
    for (record, _) in index
        .visible(index.all(), Some(&[database]))
        .iter()
        .filter_map(|record| {
            let (segment, number) = index.segment(record)?;
            segment.record(number)
        })
    {
        output.write_all(between.as_bytes())?;
        between = form.between();
        if form == Form::Marc {
            output.write_all(record)?;
            continue;
        }
        let parsed = iso2709::parse(record).map_err(io::Error::other)?.record;
        // The other forms are texts.
        let readable = charset::to_utf8(&parsed, &charset::Options::default()).record;
        buffer.clear();
        form.write(&readable, &mut buffer)
            .map_err(io::Error::other)?;
        output.write_all(&buffer)?;
    }
    output.write_all(form.end().as_bytes())
}
