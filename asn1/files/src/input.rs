//! Reads complete files, such as settings, tables, certificates and databases. Reading always ends: pipes that might never get a writer are
//! refused, and endless files, such as devices, are read only up to a limit.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads a regular file, a device, or the pipe of a shell's process substitution, `<(…)`. The input may be at most `limit` octets long.
///
/// # Errors
/// Errors from the file system, [`ErrorKind::InvalidInput`] for a folder, a named pipe or a socket, and [`ErrorKind::FileTooLarge`] for
/// input longer than `limit`.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    let kind = metadata.file_type();
    if !kind.is_file() && !is_endable(kind) && !is_open_already(path) {
        return Err(refusal(kind));
    }
    // A sparse file may be far larger than the space it takes up on the disk, so its length is checked before it is read.
    if kind.is_file() && metadata.len() > limit {
        return Err(too_large(limit));
    }
    read_all(File::open(path)?, limit)
}

/// Reads an open source to its end. The source may hold at most `limit` octets.
///
/// # Errors
/// Errors from the source, and [`ErrorKind::FileTooLarge`] for a source that holds more.
pub fn read_all(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut octets)?;
    match u64::try_from(octets.len()) {
        Ok(length) if length <= limit => Ok(octets),
        _ => Err(too_large(limit)),
    }
}

fn too_large(limit: u64) -> io::Error {
    io::Error::new(
        ErrorKind::FileTooLarge,
        format!("it has more than {limit} octets"),
    )
}

/// Reads a complete file as text. The file may be at most `limit` octets long.
///
/// # Errors
/// As for [`read`], and [`ErrorKind::InvalidData`] for a file that is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let words = format!("it is not UTF-8 (octet {at})");
        io::Error::new(ErrorKind::InvalidData, words)
    })
}

/// Opens a regular file of any size. Unlike a device or a pipe, such a file has an end and can be read more than once.
///
/// # Errors
/// Errors from the file system, and [`ErrorKind::InvalidInput`] for anything other than a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // The kind of file is checked before the file is opened, because opening a named pipe blocks until it has a writer.
    let kind = fs::metadata(path)?.file_type();
    if kind.is_file() {
        File::open(path)
    } else {
        Err(refusal(kind))
    }
}

/// Returns whether reading a file of this type always ends. This is true of devices, because reading from them never blocks for ever and
/// the caller's limit bounds endless ones.
#[cfg(unix)]
fn is_endable(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device()
}

#[cfg(not(unix))]
fn is_endable(_: FileType) -> bool {
    false
}

/// Returns whether the path names a file that is already open, such as the pipe of a shell's `<(…)` or `|`. Such a pipe already has a
/// writer.
fn is_open_already(path: &Path) -> bool {
    ["/dev/fd", "/proc/self/fd", "/dev/stdin"]
        .iter()
        .any(|open| path.starts_with(open))
}

fn refusal(kind: FileType) -> io::Error {
    let words = format!(
        "it is {}, and a regular file is needed: copy the contents into one",
        name(kind)
    );
    io::Error::new(ErrorKind::InvalidInput, words)
}

/// Returns the name, for use in messages, of a type of file that is not a regular file.
pub(crate) fn name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        return "a folder";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe (FIFO)";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    "a device"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn audit_d20_reading_always_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "abc").expect("written");
        fs::write(at("latin-1"), b"caf\xe9").expect("written");
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status()
            .expect("mkfifo runs");
        assert!(made.success());
        let socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");

        assert_eq!(read(&at("file"), 3).expect("read"), b"abc");
        assert_eq!(read(Path::new("/dev/null"), 3).expect("read"), b"");
        assert!(open_regular(&at("file")).is_ok());
        for (path, limit, words) in [
            (at("file"), 2, "more than 2 octets"),
            (
                std::path::PathBuf::from("/dev/zero"),
                1 << 16,
                "more than 65536 octets",
            ),
            (at("pipe"), 9, "a named pipe (FIFO)"),
            (at("socket"), 9, "a socket"),
            (at(""), 9, "a folder"),
            (at("nosuch"), 9, "No such file"),
        ] {
            let error = read(&path, limit).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
        for (path, words) in [
            (at("pipe"), "a named pipe (FIFO)"),
            (std::path::PathBuf::from("/dev/zero"), "a device"),
            (std::path::PathBuf::from("/dev/null"), "a device"),
            (at(""), "a folder"),
        ] {
            let error = open_regular(&path).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
        let error = read_text(&at("latin-1"), 9).expect_err("not text");
        assert!(error.to_string().contains("not UTF-8 (octet 3)"), "{error}");
        drop(socket);
    }
}
