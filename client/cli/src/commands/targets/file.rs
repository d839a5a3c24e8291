//! Edits the text of the user's targets file. Comments and the order of the sections stay unchanged.

use std::fs;
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::PathBuf;

use toml::{Table, Value};
use z3950::profile::{ProfileError, Profiles};
use z3950_files::{Draft, Existing, Lock};

use crate::commands::connection::{self, TargetsFile};
use crate::console::output::Failure;

/// The table that holds all profiles.
pub(super) const TARGETS: &str = "targets";

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Returns the file that `--targets` names, or else the user's file.
pub(super) fn own_file(known: &TargetsFile) -> Result<PathBuf, Failure> {
    let named = known.targets_file.clone();
    named.or_else(Profiles::user_file).ok_or_else(|| {
        Failure::Usage("cannot find your home folder to store targets in; use --targets".into())
    })
}

/// Replaces the contents of the locked targets file, after checking that the new text is valid.
pub(super) fn replace(lock: &Lock, text: &str) -> Result<(), Failure> {
    let mut draft = Draft::hidden(lock.target())?;
    let prepared = private(draft.file()).and_then(|()| draft.write_all(text.as_bytes()));
    prepared.map_err(|error| Failure::unwritten(lock.target(), &error))?;
    Profiles::default()
        .with_file(draft.path())
        .map_err(|error| match error {
            // The user did not write the new section, so the message omits its line number.
            ProfileError::Malformed { error, .. } => Failure::Usage(error.message().to_owned()),
            other => connection::usage(&other),
        })?;
    draft.persist(Existing::Replace, true)?;
    Ok(())
}

/// Makes a new file readable by its owner only, because it may contain credentials.
fn private(file: &fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    let _ = file;
    Ok(())
}

/// Returns the text of a targets file without a profile. Everything else is kept, including comments and blank lines, except
/// comments directly above the profile or directly below its last key.
///
/// The profile is found line by line, so it must have its own sections, or keys that take one line each. Returns `None`
/// if it is written in another way, because removing its lines would then change the meaning of other lines.
pub(super) fn without(text: &str, name: &str) -> Option<String> {
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => (BYTE_ORDER_MARK, text),
        None => ("", text),
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let owned = owned_lines(&lines, name);
    let mut kept = String::new();
    let mut is_after_profile = false;
    // Whether the text so far is empty or ends with a blank line, so that no further blank line is needed.
    let mut has_blank = true;
    for (line, is_owned) in lines.iter().zip(&owned) {
        let is_blank = line.trim().is_empty();
        is_after_profile = *is_owned || (is_after_profile && is_blank);
        if *is_owned || (is_after_profile && has_blank) {
            continue;
        }
        kept.push_str(line);
        has_blank = is_blank;
    }
    if is_after_profile {
        let end = kept.trim_end().len();
        kept.truncate(end);
        kept.push_str(match end {
            0 => "",
            _ if text.contains("\r\n") => "\r\n",
            _ => "\n",
        });
    }
    let mut expected: Table = text.parse().ok()?;
    let mut found: Table = kept.parse().ok()?;
    let removed = profiles_of(&mut expected)?.remove(name);
    let left = profiles_of(&mut found)?.get(name);
    (removed.is_some() && left.is_none() && expected == found).then(|| format!("{mark}{kept}"))
}

/// Returns the table of profiles, which is added if the file has none; `None` if the key `targets` is not a table.
fn profiles_of(file: &mut Table) -> Option<&mut Table> {
    let targets = file.entry(TARGETS).or_insert_with(|| Table::new().into());
    targets.as_table_mut()
}

/// Returns, for each line, whether it belongs to the profile.
fn owned_lines(lines: &[&str], name: &str) -> Vec<bool> {
    let is_own = |path: &[String]| matches!(path, [table, profile, ..] if table == TARGETS && profile == name);
    let mut section: Vec<String> = Vec::new();
    let mut owned: Vec<bool> = Vec::with_capacity(lines.len());
    for line in lines {
        let path = path_of(line);
        owned.push(if is_header(line) && !path.is_empty() {
            section = path;
            is_own(&section)
        } else if is_remark(line) {
            false
        } else {
            is_own(&section) || is_own(&[&*section, &*path].concat())
        });
    }
    let mut begin = 0;
    while begin < lines.len() {
        let rest = lines.iter().skip(begin);
        let end = begin + rest.take_while(|line| is_remark(line)).count();
        own_remarks(begin..end, lines, &mut owned);
        begin = end + 1;
    }
    owned
}

/// Marks as owned the comments and blank lines in a range that belong to the profile.
fn own_remarks(range: Range<usize>, lines: &[&str], owned: &mut [bool]) {
    let is_owned = |index: Option<usize>| owned.get(index?).copied();
    let (above, below) = (
        is_owned(range.start.checked_sub(1)),
        is_owned(Some(range.end)),
    );
    let mut blanks = range
        .clone()
        .filter(|index| lines.get(*index).is_some_and(|line| line.trim().is_empty()));
    let first_blank = blanks.next();
    let last_blank = blanks.next_back().or(first_blank);
    let precedes_header = lines.get(range.end).is_some_and(|line| is_header(line));
    for index in range.clone() {
        let is_at_last_key = first_blank.map_or(!precedes_header, |blank| index < blank);
        // A comment at the top of the file describes the file.
        let is_at_first_key = last_blank.map_or(range.start > 0, |blank| index > blank);
        let is_own = match (above, below) {
            (Some(true), Some(true)) => true,
            (Some(true), _) => is_at_last_key,
            (_, Some(true)) => is_at_first_key,
            _ => false,
        };
        if let Some(owned) = owned.get_mut(index) {
            *owned = is_own;
        }
    }
}

fn is_header(line: &str) -> bool {
    line.trim_start().starts_with('[')
}

/// Returns whether a line is blank or a comment.
fn is_remark(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// Returns the keys that lead to the contents of a line: `[targets.loc.sru]` has `targets`, `loc` and `sru`. A line that
/// is not complete TOML has no keys.
fn path_of(line: &str) -> Vec<String> {
    let mut path = Vec::new();
    let mut table: Table = line.parse().unwrap_or_default();
    while let Some((key, value)) = table.into_iter().next() {
        path.push(key);
        table = match value {
            Value::Table(table) => table,
            _ => break,
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(without(text, "b").as_deref(), expected, "{text:?}");
    }

    #[test]
    fn r_f15_everything_else_in_the_file_stays() {
        check("[targets.b]\nhost = \"h\"\n", Some(""));
        check(
            "# mine\n\n[targets.a]\nhost = \"h\"\n# port = 1\n\n# about b\n[targets.b]\nhost = \"i\" # good\n# port = 2\n\n# about c\n[targets.c]\nhost = \"j\"\n",
            Some(
                "# mine\n\n[targets.a]\nhost = \"h\"\n# port = 1\n\n# about c\n[targets.c]\nhost = \"j\"\n",
            ),
        );
        // Without blank lines, a comment is about the section below it.
        check(
            "[targets.b]\nhost = \"h\"\n# about c\n[targets.c]\nhost = \"i\"\n# of c\n",
            Some("# about c\n[targets.c]\nhost = \"i\"\n# of c\n"),
        );
        check(
            "[targets.a]\nhost = \"h\"\n# about b\n[targets.b]\nhost = \"i\"\n",
            Some("[targets.a]\nhost = \"h\"\n"),
        );
        // A comment at the top of the file describes the file.
        check("# mine\n[targets.b]\nhost = \"h\"\n", Some("# mine\n"));
        check(
            "\u{feff}[targets.b]\r\nhost = \"h\"\r\n\r\n[targets.a]\r\nhost = \"i\"\r\n\r\n",
            Some("\u{feff}[targets.a]\r\nhost = \"i\"\r\n\r\n"),
        );
        check(
            "[targets.a]\r\nhost = \"h\"\r\n\r\n[targets.b]\r\nhost = \"i\"\r\n\r\n",
            Some("[targets.a]\r\nhost = \"h\"\r\n"),
        );
    }

    #[test]
    fn r_f15_a_profile_is_removed_however_it_is_written() {
        for own in [
            "[targets.b]\nhost = \"h\"\n\n# sru\n[targets.b.sru]\nversion = \"1.2\"\n",
            "[targets.\"b\"]\nhost = \"h\"\nnote = \"\"\"\nx\n[targets.a]\"\"\"\ndocid = [\n  \"1=12\",\n]\n",
            "[ targets . b ] # it\nhost = \"h\"\n",
        ] {
            let text = format!("[targets.a]\nhost = \"g\"\n\n{own}\n[targets.c]\nhost = \"i\"\n");
            check(
                &text,
                Some("[targets.a]\nhost = \"g\"\n\n[targets.c]\nhost = \"i\"\n"),
            );
        }
        for own in [
            "b = { host = \"h\" }\n",
            "# it\nb.host = \"h\"\nb.port = 2\n",
        ] {
            let text = format!("[targets]\na.host = \"g\"\n{own}\n[targets.c]\nhost = \"i\"\n");
            check(
                &text,
                Some("[targets]\na.host = \"g\"\n\n[targets.c]\nhost = \"i\"\n"),
            );
        }
        check(
            "[targets.b.sru]\nversion = \"1.2\"\n[targets.a]\nhost = \"g\"\n[targets.b]\nhost = \"h\"\n",
            Some("[targets.a]\nhost = \"g\"\n"),
        );
    }

    #[test]
    fn r_f15_text_that_would_change_its_meaning_is_refused() {
        check(
            "[targets]\nb = { host = \"h\", note = \"\"\"\nx\"\"\" }\n",
            None,
        );
        check(
            "targets = { b = { host = \"h\" }, c = { host = \"i\" } }\n",
            None,
        );
        check("[targets.a]\nhost = \"h\"\n", None);
        check("[targets.b]\nhost = \n", None);
    }
}
