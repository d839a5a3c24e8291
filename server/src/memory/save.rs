//! Databases to files: the whole of a database in a new file beside the old one, which then takes its place, so that there is
//! never half a file.

use std::ffi::OsString;
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
    let path = target(path);
    let folder = folder(&path);
    let mut file = tempfile::Builder::new()
        .prefix(&draft_prefix(&path))
        .suffix(DRAFT)
        .tempfile_in(folder)?;
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

/// Removes what a process that was killed while it wrote the file has left beside it. To be asked for before anything is
/// written; what cannot be removed stays.
pub(super) fn remove_drafts(path: &Path) {
    let path = target(path);
    let prefix = draft_prefix(&path);
    let entries = fs::read_dir(folder(&path)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(prefix.as_encoded_bytes()) && name.ends_with(DRAFT.as_bytes()) {
            // It may belong to somebody else.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The end of the name of a file that is being written.
const DRAFT: &str = ".z3950d";

/// How the name of a file begins that is written to take the place of another.
fn draft_prefix(path: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
}

/// The file itself: a link stays a link to what is written.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn folder(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
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
