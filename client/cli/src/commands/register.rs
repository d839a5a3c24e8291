//! `z3950 register`: installs a desktop entry, so that links with `z39.50r` and `z39.50s` open this program (RFC 2056 §3; Desktop
//! Entry Specification, XDG Base Directory Specification).

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use etcetera::base_strategy::{BaseStrategy, Xdg};
use z3950_files::{Draft, Existing, Lock};

use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print the desktop entry without installing it.
    #[arg(long)]
    print: bool,
}

/// The file name of the desktop entry.
const NAME: &str = "z3950.desktop";
/// The media types that the desktop entry opens.
const TYPES: [&str; 2] = ["x-scheme-handler/z39.50r", "x-scheme-handler/z39.50s"];

/// Writes the desktop entry and makes it the default, then runs the desktop's tools if they are installed.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::machine("find the program's own file", &error))?;
    let Some(entry) = program.to_str().and_then(entry) else {
        output.error(
            "the path of this program contains characters that a desktop entry cannot hold; move it elsewhere",
        );
        return Ok(Exit::Unexpected);
    };
    if arguments.print {
        output.octets(entry.as_bytes(), false)?;
        return Ok(Exit::Delivered);
    }
    let places = Places::of_user()?;
    write(&places.entry(), &entry)?;
    output.note(&format!("wrote {}", places.entry().display()));
    places.refresh(output);
    tell(
        Command::new("xdg-mime").args(["default", NAME]).args(TYPES),
        output,
    );
    Ok(Exit::Delivered)
}

/// Removes the desktop entry, and its name from the user's list of defaults.
pub(crate) fn undo(output: &mut Output) -> Result<Exit, Failure> {
    let places = Places::of_user()?;
    let entry = places.entry();
    match fs::remove_file(&entry) {
        Ok(()) => output.note(&format!("removed {}", entry.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            output.note("nothing was registered");
        }
        Err(error) => return Err(Failure::machine("remove the desktop entry", &error)),
    }
    if let Ok(list) = fs::read_to_string(&places.defaults) {
        let kept = without_entry(&list);
        if kept != list {
            write(&places.defaults, &kept)?;
        }
    }
    places.refresh(output);
    Ok(Exit::Delivered)
}

/// The paths of the user's desktop files.
struct Places {
    applications: PathBuf,
    defaults: PathBuf,
}

impl Places {
    fn of_user() -> Result<Self, Failure> {
        let base =
            Xdg::new().map_err(|error| Failure::machine("find the home directory", &error))?;
        Ok(Self {
            applications: base.data_dir().join("applications"),
            defaults: base.config_dir().join("mimeapps.list"),
        })
    }

    fn entry(&self) -> PathBuf {
        self.applications.join(NAME)
    }

    fn refresh(&self, output: &Output) {
        tell(
            Command::new("update-desktop-database").arg(&self.applications),
            output,
        );
    }
}

/// Runs a desktop tool, if it is installed. If it fails, only a warning is printed.
fn tell(command: &mut Command, output: &Output) {
    let ran = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let name = command.get_program().to_string_lossy().into_owned();
    match ran {
        Ok(status) if !status.success() => output.warning(&format!("{name} failed ({status})")),
        Ok(_) => {}
        Err(error) => tracing::info!(%error, name, "not run"),
    }
}

/// Writes a file completely or not at all.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| Failure::unwritten(folder, &error))?;
    let lock = Lock::take(path)?;
    let mut draft = Draft::hidden(lock.target())?;
    let written = draft.write_all(text.as_bytes());
    written.map_err(|error| Failure::unwritten(path, &error))?;
    draft.persist(Existing::Replace, true)?;
    Ok(())
}

/// Returns the desktop entry; `None` if the path of the program contains control characters.
///
/// For both schemes, the entry opens a session in a terminal. For a retrieval URL, the session shows the record before
/// the prompt; if the entry ran `get` instead, the window would close immediately.
fn entry(program: &str) -> Option<String> {
    let program = quoted(program)?;
    let types = TYPES.map(|each| format!("{each};")).concat();
    Some(format!(
        "[Desktop Entry]\nType=Application\nVersion=1.0\nName=Z39.50\nGenericName=Library catalogue client\n\
         Comment=Retrieve records from library catalogues\nExec={program} open %u\nTerminal=true\n\
         NoDisplay=true\nCategories=Network;\nMimeType={types}\n"
    ))
}

/// Quotes an argument of `Exec` with double quotes if necessary. Special characters in it are escaped with a backslash.
/// Backslashes are then doubled because the value is a string, and percent signs because they mark field codes.
fn quoted(argument: &str) -> Option<String> {
    if argument.chars().any(char::is_control) {
        return None;
    }
    let is_plain = |each: char| each.is_alphanumeric() || "/._-+,:@".contains(each);
    let argument = argument.replace('%', "%%");
    if argument.chars().all(|each| is_plain(each) || each == '%') {
        return Some(argument);
    }
    let mut quoted = String::from("\"");
    for each in argument.chars() {
        if "\"`$\\".contains(each) {
            quoted.push_str(r"\\");
        }
        match each {
            '\\' => quoted.push_str(r"\\"),
            each => quoted.push(each),
        }
    }
    quoted.push('"');
    Some(quoted)
}

/// Returns a `mimeapps.list` from which this program has been removed.
fn without_entry(list: &str) -> String {
    let mut kept = String::with_capacity(list.len());
    for line in list.split_inclusive('\n') {
        let text = line.trim_end();
        match text.split_once('=') {
            Some((name, entries)) if TYPES.contains(&name.trim()) => {
                let others: Vec<&str> = entries
                    .split(';')
                    .filter(|each| !each.is_empty() && each.trim() != NAME)
                    .collect();
                if !others.is_empty() {
                    kept.push_str(&format!("{name}={};\n", others.join(";")));
                }
            }
            _ => kept.push_str(line),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_twice_where_they_must_be() {
        for (path, expected) in [
            ("/usr/bin/z3950", Some("/usr/bin/z3950")),
            ("/opt/100%/z3950", Some("/opt/100%%/z3950")),
            (
                "/home/me/my programs/z3950",
                Some("\"/home/me/my programs/z3950\""),
            ),
            (r#"/a"b/z"#, Some(r#""/a\\"b/z""#)),
            ("/a$b`c/z", Some(r#""/a\\$b\\`c/z""#)),
            (r"/a\b/z", Some(r#""/a\\\\b/z""#)),
            ("/a\nb/z", None),
        ] {
            assert_eq!(quoted(path).as_deref(), expected, "{path:?}");
        }
    }

    #[test]
    fn the_list_of_defaults_keeps_other_entries() {
        let list = "[Default Applications]\nx-scheme-handler/z39.50r=z3950.desktop\n\
                    x-scheme-handler/z39.50s=other.desktop;z3950.desktop;\ntext/html=b.desktop\n";
        assert_eq!(
            without_entry(list),
            "[Default Applications]\nx-scheme-handler/z39.50s=other.desktop;\ntext/html=b.desktop\n"
        );
    }
}
