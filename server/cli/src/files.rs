//! The files on the command line, written as `NAME=PATH`, or as `FILE` for a database that is named after the file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use z3950_server::Endpoint;

/// A name and a path, written `NAME=PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFile {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl FromStr for NamedFile {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok(Self {
                name: name.to_owned(),
                path: path.into(),
            }),
            _ => Err("expected a database name and a path, NAME=PATH"),
        }
    }
}

/// Adds each file without a name as a separate database, which is named after the file.
///
/// # Errors
/// Fails if the name of a file cannot be turned into the name of a database, or if a database with this name already exists.
pub(crate) fn name_files(files: &[PathBuf], databases: &mut Vec<NamedFile>) -> Result<(), String> {
    for path in files {
        let name = database_name(path)?;
        let mut known = databases.iter();
        if let Some(other) = known.find(|known| known.name.to_lowercase() == name.to_lowercase()) {
            return Err(format!(
                "{} and {} would both be the database {}: name them with --database NAME=PATH, where files of the same name are \
                 searched together",
                other.path.display(),
                path.display(),
                other.name
            ));
        }
        databases.push(NamedFile {
            name,
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Returns the name of the database for a file or folder: the name of the folder, or the name of the file without its extension.
fn database_name(path: &Path) -> Result<String, String> {
    let shown = path.display();
    if path == Path::new("-") {
        return Err("databases are not read from standard input, but from files".to_owned());
    }
    let is_word = path.extension().is_none() && path.components().count() == 1;
    if is_word && !path.exists() {
        return Err(format!("there is no command and no file {shown}"));
    }
    // A path such as `.` has a name only after it is resolved.
    let folder = path.is_dir().then(|| path.canonicalize().ok()).flatten();
    let stem = match &folder {
        Some(folder) => folder.file_name(),
        None => path.file_stem(),
    };
    let name = stem
        .and_then(OsStr::to_str)
        .filter(|name| is_plain(name))
        .map(str::to_owned);
    name.ok_or_else(|| {
        format!("{shown} does not have the name of a database: give --database NAME=PATH")
    })
}

/// Returns whether a name can be used in a target without escapes; spaces are allowed.
fn is_plain(name: &str) -> bool {
    let separates = |one: char| "+/?#@;=&%".contains(one);
    !name.contains(|one: char| separates(one) || one.is_control())
}

/// Returns the command that searches a database at the first of the endpoints; `None` if all of them are Unix sockets.
pub(crate) fn search_command(endpoints: &[Endpoint], database: &str) -> Option<String> {
    let endpoint = endpoints
        .iter()
        .find(|endpoint| endpoint.address().is_some())?;
    let target = format!("{endpoint}/{database}");
    let target = target.replace("0.0.0.0:", "localhost:");
    let target = target.replace("[::]:", "localhost:").replace(' ', "%20");
    Some(format!("z3950 search {target} WORD"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_f15_a_file_is_a_database_of_its_name() {
        let check = |files: &[&str], expected: Result<&[&str], &str>| {
            let named = "x=other/Named.mrc".parse().expect("a name and a path");
            let mut databases = vec![named];
            let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            match (name_files(&paths, &mut databases), expected) {
                (Ok(()), Ok(expected)) => {
                    let added = databases.iter().skip(1);
                    let names: Vec<_> = added.clone().map(|one| one.name.as_str()).collect();
                    assert_eq!(names, expected, "{files:?}");
                    assert!(added.map(|one| &one.path).eq(&paths), "{files:?}");
                }
                (Err(words), Err(expected)) => assert!(words.contains(expected), "{words}"),
                (found, expected) => panic!("{files:?}: {found:?} instead of {expected:?}"),
            }
        };
        check(&[], Ok(&[]));
        check(&["cat.mrc", "a/maps.v2.xml"], Ok(&["cat", "maps.v2"]));
        check(&["Old books.mrk", "./b.json"], Ok(&["Old books", "b"]));
        check(
            &["B\u{fc}cher.mrc", "a/b", "a/.mrc"],
            Ok(&["B\u{fc}cher", "b", ".mrc"]),
        );
        check(
            &["a/cat.mrc", "cat.xml"],
            Err("a/cat.mrc and cat.xml would both be the database cat"),
        );
        check(&["a/cat.mrc", "CAT.mrc"], Err("the database cat"));
        check(
            &["X.mrc"],
            Err("other/Named.mrc and X.mrc would both be the database x"),
        );
        check(&["lod"], Err("there is no command and no file lod"));
        check(&["-"], Err("standard input"));
        for name in ["a+b.mrc", "a=b.mrc", "100%.mrc", "a\nb.mrc", "/"] {
            check(&[name], Err("--database NAME=PATH"));
        }
        check(&[env!("CARGO_MANIFEST_DIR")], Ok(&["cli"]));
    }

    #[test]
    fn a_database_name_ends_at_the_first_equals_sign() {
        let expected = NamedFile {
            name: "c".to_owned(),
            path: "d=e.mrk".into(),
        };
        assert_eq!("c=d=e.mrk".parse(), Ok(expected));
    }

    #[cfg(unix)]
    #[test]
    fn r_f15_the_search_that_is_suggested_has_a_target() {
        let tcp = |address: &str| Endpoint::Tcp(address.parse().expect("an address"));
        let tls = Endpoint::Tls("127.0.0.1:2101".parse().expect("an address"));
        let unix = Endpoint::Unix("/run/z3950d".into());
        for (endpoints, database, expected) in [
            (
                vec![tcp("127.0.0.1:2100")],
                "cat",
                Some("127.0.0.1:2100/cat"),
            ),
            (vec![tcp("0.0.0.0:2100")], "cat", Some("localhost:2100/cat")),
            (vec![tcp("[::]:210")], "cat", Some("localhost:210/cat")),
            (vec![tcp("[::1]:210")], "a b", Some("[::1]:210/a%20b")),
            (
                vec![unix.clone(), tls],
                "cat",
                Some("tls:127.0.0.1:2101/cat"),
            ),
            (vec![unix], "cat", None),
        ] {
            let expected = expected.map(|target| format!("z3950 search {target} WORD"));
            assert_eq!(search_command(&endpoints, database), expected);
        }
    }
}
