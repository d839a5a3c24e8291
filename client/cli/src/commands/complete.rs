//! Shell completions for targets, databases, record syntaxes, indexes and formats. Only the user's targets file is
//! read; if it has errors, the readable part is used.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::ValueEnum;
use z3950::lookup::Kind;
use z3950::profile::Profiles;
use z3950_asn1::oid::Oid;
use z3950_asn1::query::names::TABLE;
use z3950_files::input;
use z3950_help::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use z3950_marc::stream::InputForm;

use crate::render::Format;

/// Completes a target: the name of a profile, or its databases after a slash.
pub(crate) fn target() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| Line::of_process().targets(typed))
}

/// Completes targets; after a target, also completes the names of indexes.
pub(crate) fn targets_and_query() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let line = Line::of_process();
        let mut found = line.targets(typed);
        if line.names_target() {
            found.splice(0..0, indexes(typed, ":"));
        }
        found
    })
}

/// Completes targets; after a target, also completes the prefixes of identifiers.
pub(crate) fn targets_and_identifiers() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let line = Line::of_process();
        if line.names_target() {
            let prefixes = ["isbn:", "issn:", "lccn:", "oclc:", "local:", "docid:"];
            fitting(prefixes.map(|prefix| (prefix.to_owned(), None)), typed)
        } else {
            line.targets(typed)
        }
    })
}

/// Completes an index name before a word, as in `title:`.
pub(crate) fn index() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| indexes(typed, ":"))
}

/// Completes a sort key: the name of an index.
pub(crate) fn sort_key() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let mut found = indexes(typed, "");
        // The sort direction is offered once the name is complete.
        if let [_] = found.as_slice() {
            found.extend(indexes(typed, ":desc"));
        }
        found
    })
}

/// Completes the field of a facet, which is the name of an index.
pub(crate) fn facet_field() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| indexes(typed, ""))
}

/// Completes the name of a database at the targets on the line.
pub(crate) fn database() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| Line::of_process().databases(typed))
}

/// Completes the name of a record syntax.
pub(crate) fn syntax() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let mut names: Vec<&str> = Oid::record_syntax_names().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        let names = names.into_iter();
        names
            .map(|name| CompletionCandidate::new(name.to_owned()))
            .collect()
    })
}

/// Completes the name of a kind of identifier.
pub(crate) fn identifier_kind() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        Kind::ALL
            .map(|kind| CompletionCandidate::new(kind.name()))
            .into()
    })
}

/// Completes the name of an output format, except raw octets.
pub(crate) fn format() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let formats = Format::value_variants()
            .iter()
            .filter(|format| **format != Format::Raw);
        let values = formats.filter_map(ValueEnum::to_possible_value);
        values
            .map(|value| {
                let help = value.get_help().cloned();
                CompletionCandidate::new(value.get_name().to_owned()).help(help)
            })
            .collect()
    })
}

/// Completes the name of an input format.
pub(crate) fn input_form() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let forms = InputForm::ALL.iter();
        forms
            .map(|form| CompletionCandidate::new(form.name().to_owned()))
            .collect()
    })
}

/// Returns the names of indexes, each followed by `ending`.
fn indexes(typed: &OsStr, ending: &str) -> Vec<CompletionCandidate> {
    let names = TABLE.iter().map(|index| {
        let help = format!("as in {}", index.example);
        (format!("{}{ending}", index.name), Some(help))
    });
    fitting(names, typed)
}

/// Returns the words that begin with the typed text, with their help texts.
fn fitting(
    words: impl IntoIterator<Item = (String, Option<String>)>,
    typed: &OsStr,
) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else {
        return Vec::new();
    };
    let words = words.into_iter();
    words
        .filter(|(word, _)| word.starts_with(typed))
        .map(|(word, help)| CompletionCandidate::new(word).help(help.map(Into::into)))
        .collect()
}

/// The databases of the built-in catalogue.
const DEMO: [&str; 2] = ["localhost/books", "localhost/serials"];

/// The command line that is being completed.
struct Line {
    words: Vec<OsString>,
    /// The names of targets, each with its title and databases.
    targets: Vec<(String, Option<String>, Vec<String>)>,
}

impl Line {
    /// Returns the line that the shell passes to this process.
    fn of_process() -> Self {
        let words: Vec<OsString> = env::args_os()
            .skip_while(|word| word != "--")
            .skip(1)
            .collect();
        let targets = known_targets(targets_file(&words));
        Self { words, targets }
    }

    fn has(&self, option: &str) -> bool {
        self.words.iter().any(|word| word == option)
    }

    /// Returns whether the line contains a target before its last word.
    fn names_target(&self) -> bool {
        let before = self.words.len().saturating_sub(1);
        let mut words = self.words.iter().take(before).skip(1);
        words.any(|word| {
            let word = word.to_str().unwrap_or_default();
            word.contains(['/', '.', ':'])
                || self.targets.iter().any(|(name, ..)| name == word)
                || word == "localhost"
        })
    }

    fn targets(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let text = typed.to_str().unwrap_or_default();
        if let Some((name, _)) = text.split_once('/')
            && let Some((name, title, databases)) =
                self.targets.iter().find(|(known, ..)| known == name)
        {
            let databases = databases.iter();
            let paths = databases.map(|database| (format!("{name}/{database}"), title.clone()));
            return fitting(paths, typed);
        }
        let demo = DEMO
            .iter()
            .filter(|_| self.has("--demo"))
            .map(|target| ((*target).to_owned(), None));
        let names = self
            .targets
            .iter()
            .map(|(name, title, _)| (name.clone(), title.clone()));
        fitting(demo.chain(names), typed)
    }

    fn databases(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let is_named = |name: &str| {
            let mut words = self.words.iter().filter_map(|word| word.to_str());
            words.any(|word| word.split('/').next() == Some(name))
        };
        let named = self.targets.iter().filter(|(name, ..)| is_named(name));
        let databases = named.flat_map(|(_, _, databases)| databases.iter().cloned());
        let demo = DEMO
            .iter()
            .filter(|_| self.has("--demo"))
            .filter_map(|target| Some(target.split_once('/')?.1.to_owned()));
        fitting(demo.chain(databases).map(|name| (name, None)), typed)
    }
}

/// Returns the file that `--targets` names, or else the user's file.
fn targets_file(words: &[OsString]) -> Option<PathBuf> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--targets" {
            return words.next().map(PathBuf::from);
        }
        if let Some(path) = word
            .to_str()
            .and_then(|word| word.strip_prefix("--targets="))
        {
            return Some(PathBuf::from(path));
        }
    }
    Profiles::user_file()
}

/// The maximum size of a targets file, in octets.
const MAX_FILE: u64 = 1 << 20;

/// Returns the built-in targets and those in a file. If the file has an invalid profile, at least the names are
/// returned.
fn known_targets(file: Option<PathBuf>) -> Vec<(String, Option<String>, Vec<String>)> {
    // Reading a pipe that has no writer would block.
    let file = file.filter(|path| path.is_file());
    let read = |path: &PathBuf| Profiles::built_in().with_file(path).ok();
    let whole = file.as_ref().and_then(read);
    let is_whole = whole.is_some();
    let profiles = whole.unwrap_or_else(Profiles::built_in);
    let known = profiles.iter().map(|(name, entry)| {
        let profile = &entry.profile;
        (
            name.to_owned(),
            profile.title.clone(),
            profile.databases.clone(),
        )
    });
    let mut known: Vec<_> = known.collect();
    let text = file
        .filter(|_| !is_whole)
        .and_then(|path| input::read_text(&path, MAX_FILE).ok());
    let table = text.and_then(|text| text.parse::<toml::Table>().ok());
    if let Some(toml::Value::Table(targets)) = table.as_ref().and_then(|table| table.get("targets"))
    {
        known.extend(targets.keys().map(|name| (name.clone(), None, Vec::new())));
        known.sort();
        known.dedup_by(|one, other| one.0 == other.0);
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        let target = |name: &str, databases: &[&str]| {
            let databases = databases.iter().map(|name| (*name).to_owned());
            (
                name.to_owned(),
                Some("A title".to_owned()),
                databases.collect(),
            )
        };
        Line {
            words: text.split(' ').map(OsString::from).collect(),
            targets: vec![target("loc", &["LCDB", "NAF"]), target("lund", &["lovisa"])],
        }
    }

    fn values(found: Vec<CompletionCandidate>) -> Vec<String> {
        let values = found
            .iter()
            .map(|value| value.get_value().to_string_lossy().into_owned());
        values.collect()
    }

    #[test]
    fn r_f13_targets_and_their_databases_are_completed() {
        for (typed, expected) in [
            ("l", &["loc", "lund"][..]),
            ("lo", &["loc"]),
            ("loc/", &["loc/LCDB", "loc/NAF"]),
            ("loc/N", &["loc/NAF"]),
            ("x", &[]),
            ("http://loc/", &[]),
        ] {
            let found = line("z3950 search x").targets(typed.as_ref());
            assert_eq!(values(found), expected, "{typed}");
        }
        let demo = line("z3950 --demo search l").targets("l".as_ref());
        assert_eq!(
            values(demo),
            ["localhost/books", "localhost/serials", "loc", "lund"]
        );
        for (words, expected) in [
            ("z3950 search loc --database x", &["LCDB", "NAF"][..]),
            (
                "z3950 search lund/x loc war --database x",
                &["LCDB", "NAF", "lovisa"],
            ),
            ("z3950 search --demo x --database x", &["books", "serials"]),
            ("z3950 search lib.example --database x", &[]),
        ] {
            assert_eq!(
                values(line(words).databases("".as_ref())),
                expected,
                "{words}"
            );
        }
        for (words, is_target) in [
            ("z3950 search loc", false),
            ("z3950 search loc t", true),
            ("z3950 search lib.example/x t", true),
            ("z3950 search t", false),
        ] {
            assert_eq!(line(words).names_target(), is_target, "{words}");
        }
    }

    #[test]
    fn r_f13_a_broken_file_of_targets_is_not_a_failure() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("targets.toml");
        let has = |name: &str| {
            let known = known_targets(Some(path.clone()));
            assert!(known.iter().any(|(known, ..)| known == "loc"), "built in");
            known.iter().any(|(known, ..)| known == name)
        };
        assert!(!has("mine"), "there is no file");
        for (text, is_known) in [
            ("[targets.mine]\nhost = \"h\"\n", true),
            (
                "[targets.mine]\nhost = \"h\"\n[targets.b]\ncolour = 1\n",
                true,
            ),
            ("[targets.mine\nhost = ", false),
            ("targets = 3", false),
        ] {
            std::fs::write(&path, text).expect("written");
            assert_eq!(has("mine"), is_known, "{text}");
        }
        let option = targets_file(&["z3950", "--targets", "x.toml"].map(OsString::from));
        assert_eq!(option, Some("x.toml".into()));
        let option = targets_file(&["z3950", "--targets=x.toml"].map(OsString::from));
        assert_eq!(option, Some("x.toml".into()));
    }
}
