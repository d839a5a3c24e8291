//! The prompt at a terminal: line editing, a history file, completion, and passwords without echo.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustyline::completion::{Completer, FilenameCompleter};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::{DefaultHistory, History};
use rustyline::validate::Validator;
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};
use terminal_size::{Width, terminal_size_of};
use z3950_asn1::query::names;
use z3950_marc::text::is_unprintable;

use super::questions::Person;
use super::setters::SETTINGS;
use super::state::Prompt;
use super::table::{self, Completes};
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::console::pages::GoOn;
use crate::render::{as_message, columns_of, cut_to, escape_controls};

/// The maximum size of a history file in octets. A larger file is not read.
const MAX_HISTORY_OCTETS: u64 = 16 << 20;
/// The maximum number of lines in the history.
const MAX_HISTORY: usize = 1000;

/// A line editor on the terminal.
pub(crate) struct Terminal {
    editor: Editor<Assistant, DefaultHistory>,
    /// Lines that were pasted together with the previous line.
    pasted: VecDeque<String>,
    /// The beginning of the next line, which the user typed instead of answering a question.
    begun: String,
    /// Whether a key has just ended output in pages. Some users also press Enter after that key, and this must not
    /// continue the output.
    has_stopped: bool,
    /// The keys that were typed ahead, and were read together with the key that answered the question after a page. They
    /// answer the questions after the next pages.
    ahead: Vec<u8>,
}

/// Returns the path of the history file: `named`, or `~/.z3950_history` if `named` is `None`. Returns `None` if `named`
/// is empty.
fn history_file(named: Option<OsString>) -> Option<PathBuf> {
    match named {
        Some(name) => (!name.is_empty()).then(|| name.into()),
        None => at_home(".z3950_history"),
    }
}

/// Shortens a question to at most `columns` columns. If the whole question does not fit, only its end, which lists the
/// possible keys, is kept.
fn fitting(question: &str, columns: usize) -> String {
    let keys = question
        .rsplit_once("; ")
        .map_or(question, |(_, keys)| keys);
    let shorter = [question, keys, "Enter, a, q: "];
    let fits = |text: &&str| columns_of(text) <= columns;
    let chosen = shorter.into_iter().find(fits);
    chosen.map_or_else(|| cut_to("Enter, a, q", columns), str::to_owned)
}

/// Loads a history file. Lines with unprintable characters, which nobody can have typed, are removed from the file.
fn load(path: &Path, editor: &mut Editor<Assistant, DefaultHistory>) {
    if !may_be_history(path) || editor.load_history(path).is_err() {
        return;
    }
    let is_odd = |character: char| is_unprintable(character) && character != '\t';
    let lines = editor.history().iter();
    let sound: Vec<String> = lines
        .filter(|line| !line.contains(is_odd))
        .cloned()
        .collect();
    if sound.len() < editor.history().len() && editor.clear_history().is_ok() {
        for line in sound {
            let _ = editor.add_history_entry(line);
        }
        let _ = editor.save_history(path);
    }
}

/// Returns whether a path can be used as a history file, which must be a regular file of at most [`MAX_HISTORY_OCTETS`]
/// octets or not exist yet. Reading a pipe or a device might never end.
fn may_be_history(path: &Path) -> bool {
    path.metadata().map_or(true, |data| {
        data.is_file() && data.len() <= MAX_HISTORY_OCTETS
    })
}

/// The result of reading a line from a terminal or a pipe.
pub(super) enum Typed {
    Line(String),
    /// The line is not UTF-8. The value is the offset of the first invalid octet.
    Malformed(usize),
    /// Ctrl-C was pressed: the line is discarded.
    GivenUp,
    /// Ctrl-D was pressed.
    End,
}

impl Terminal {
    pub(super) fn new() -> Result<Self, Failure> {
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(|error| Failure::machine("read from the terminal", &error))?
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config)
            .map_err(|error| Failure::machine("read from the terminal", &error))?;
        editor.set_helper(Some(Assistant::default()));
        restore_at_the_end();
        if let Some(path) = history_file(std::env::var_os("Z3950_HISTORY")) {
            load(&path, &mut editor);
        }
        Ok(Self {
            editor,
            pasted: VecDeque::new(),
            begun: String::new(),
            has_stopped: false,
            ahead: Vec::new(),
        })
    }

    /// Returns the lines of the history, oldest first.
    pub(super) fn history(&self) -> Vec<String> {
        self.editor.history().iter().cloned().collect()
    }

    /// Reads the next line. Completion offers names from the state of the prompt.
    pub(super) fn line(&mut self, state: &Prompt, output: &mut Output) -> Result<Typed, Failure> {
        let ahead = std::mem::take(&mut self.ahead);
        self.begin(ahead.trim_ascii_start());
        if let Some(line) = self.pasted.pop_front() {
            output.line(&format!("{}{line}", state.prompt()))?;
            return Ok(Typed::Line(line));
        }
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.databases = state.known_databases();
            assistant.targets = state.known_targets();
        }
        Ok(match self.read(&state.prompt())? {
            Typed::Line(text) => {
                let mut lines = text.lines().map(str::to_owned);
                let first = lines.next().unwrap_or_default();
                self.pasted.extend(lines);
                Typed::Line(first)
            }
            other => other,
        })
    }

    /// Adds a line to the history.
    pub(super) fn remember(&mut self, line: &str) {
        // Errors are ignored, because a line that cannot be saved in the history can still be run.
        let _ = self.editor.add_history_entry(line);
        let path = history_file(std::env::var_os("Z3950_HISTORY"));
        if let Some(path) = path.filter(|path| may_be_history(path)) {
            let _ = self.editor.append_history(&path);
        }
    }

    /// Returns whether a key has ended output in pages since the last call.
    pub(super) fn has_stopped(&mut self) -> bool {
        std::mem::take(&mut self.has_stopped)
    }

    /// Discards the keys and lines that were typed or pasted ahead of time.
    pub(super) fn give_up(&mut self) {
        self.pasted.clear();
        self.begun.clear();
        self.ahead.clear();
    }

    /// Treats keys that were typed ahead as the next lines. The last line may be incomplete; the user can then continue
    /// it.
    fn begin(&mut self, typed: &[u8]) {
        let text = String::from_utf8_lossy(typed).replace('\r', "\n");
        let (lines, begun) = text.rsplit_once('\n').unwrap_or(("", &text));
        let typed = begun.chars().filter(|character| !character.is_control());
        self.begun.extend(typed);
        let lines = lines.lines().map(str::to_owned).rev();
        lines.for_each(|line| self.pasted.push_front(line));
    }

    /// Reads a line without echoing it.
    pub(super) fn password(&mut self, prompt: &str) -> Result<Typed, Failure> {
        self.hide(true);
        let typed = self.read(prompt);
        self.hide(false);
        typed
    }

    fn hide(&mut self, hides: bool) {
        use rustyline::config::Configurer;
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.hides = hides;
        }
        let mode = if hides {
            // The editor hides text by highlighting it, which must work even without colours.
            ColorMode::Forced
        } else {
            ColorMode::Enabled
        };
        self.editor.set_color_mode(mode);
    }

    fn read(&mut self, prompt: &str) -> Result<Typed, Failure> {
        let begun = std::mem::take(&mut self.begun);
        match self.editor.readline_with_initial(prompt, (&begun, "")) {
            Ok(line) => Ok(Typed::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Typed::GivenUp),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(Failure::machine("read from the terminal", &error)),
        }
    }
}

/// Ensures that, if a signal ends the program while a line is being edited, the terminal modes are restored and
/// bracketed paste is turned off.
fn restore_at_the_end() {
    #[cfg(unix)]
    if let Ok(before) = rustix::termios::tcgetattr(io::stdin()) {
        Interrupt.at_prompt(move || {
            use rustix::termios::{OptionalActions, tcsetattr};
            // Errors only mean that the terminal is gone, so they are ignored.
            let _ = writeln!(io::stderr(), "\x1b[?2004l");
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        });
    }
    #[cfg(not(unix))]
    Interrupt.at_prompt(|| {});
}

impl Person for Terminal {
    fn show_message(&mut self, words: &str) {
        // The error is ignored, because reading the answer then fails too.
        let _ = writeln!(io::stderr(), "{}", as_message(words));
    }

    fn answers(&mut self, prompt: &str, is_secret: bool) -> Option<String> {
        let prompt = escape_controls(prompt);
        // The operation waits for the answer, so a signal other than Ctrl-C ends the program at once.
        let typed = Interrupt.answering(
            || {},
            || {
                if is_secret {
                    self.password(&prompt)
                } else {
                    self.read(&prompt)
                }
            },
        );
        match typed {
            Ok(Ok(Typed::Line(line))) => Some(line),
            _ => None,
        }
    }

    fn turns_page(&mut self, prompt: &str) -> GoOn {
        let mut typed = std::mem::take(&mut self.ahead);
        if typed.is_empty() {
            // Shorten the prompt to one line, because only one line can be erased.
            let prompt = match terminal_size_of(io::stderr()) {
                Some((Width(columns), _)) if columns > 0 => {
                    fitting(prompt, usize::from(columns) - 1)
                }
                _ => prompt.to_owned(),
            };
            let pressed = keys(&escape_controls(&prompt));
            // Erase the question, so that the next page begins on this line.
            let _ = write!(io::stderr(), "\r\x1b[2K");
            let Ok(pressed) = pressed else {
                return GoOn::Stop;
            };
            typed = pressed;
        }
        // Space or Enter does not begin a command, so the keys after it answer the next question.
        self.ahead = match *typed {
            [b'\r', b'\n', ..] => typed.split_off(2),
            [b' ' | b'\r' | b'\n', ..] => typed.split_off(1),
            _ => Vec::new(),
        };
        // Ctrl-Z suspends the program only while it waits for a key, so an earlier Ctrl-Z is dropped.
        self.ahead.retain(|key| *key != SUSPEND);
        if let Some(answer) = GoOn::by_keys(&typed) {
            self.has_stopped = answer == GoOn::Stop;
            return answer;
        }
        // The keys are the next command or its beginning, so they go to the line editor.
        self.begin(&typed);
        GoOn::Stop
    }
}

/// Asks the user to press a key. Returns the key together with all text that was typed or pasted with it. Returns no
/// keys if a signal arrives first.
#[cfg(unix)]
fn keys(prompt: &str) -> io::Result<Vec<u8>> {
    use rustix::process::{Signal, kill_current_process_group};
    use rustix::termios::{
        InputModes, LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr,
    };
    let terminal = io::stdin();
    let before = tcgetattr(&terminal)?;
    let mut modes = before.clone();
    // Without ISIG, Ctrl-C is read as a key, as in the line editor.
    modes
        .local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    modes.input_modes.remove(InputModes::ICRNL);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    loop {
        tcsetattr(&terminal, OptionalActions::Now, &modes)?;
        // The prompt is written after the modes are set, because Ctrl-C must no longer cause a signal once the prompt
        // is visible.
        let _ = write!(io::stderr(), "{prompt}");
        let keys = next_keys(&terminal);
        tcsetattr(&terminal, OptionalActions::Now, &before)?;
        if !matches!(keys.as_deref(), Ok([SUSPEND, ..])) {
            return keys;
        }
        let _ = writeln!(io::stderr());
        // The shell controls the terminal until the user resumes the program.
        let _ = kill_current_process_group(Signal::TSTP);
    }
}

/// The character sent by Ctrl-Z.
const SUSPEND: u8 = 0x1A;

/// Waits until a key is pressed or a signal arrives.
#[cfg(unix)]
fn next_keys(terminal: &io::Stdin) -> io::Result<Vec<u8>> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::{read, retry_on_intr};
    while Interrupt.arrived().is_none() {
        let mut input = [PollFd::new(terminal, PollFlags::IN)];
        if retry_on_intr(|| poll(&mut input, Some(&SIGNAL_INTERVAL)))? > 0 {
            // The standard library would read ahead and keep the following keys in its buffer.
            let mut typed = vec![0; MAX_KEYS];
            let length = retry_on_intr(|| read(terminal, typed.as_mut_slice()))?;
            typed.truncate(length);
            return Ok(typed);
        }
    }
    Ok(Vec::new())
}

#[cfg(not(unix))]
fn keys(prompt: &str) -> io::Result<Vec<u8>> {
    let _ = write!(io::stderr(), "{prompt}");
    let mut line = String::new();
    if io::stdin().read_line(&mut line)? == 0 {
        return Ok(Vec::new());
    }
    let typed = line.trim();
    Ok(if typed.is_empty() {
        b"\r".to_vec()
    } else {
        format!("{typed}\n").into_bytes()
    })
}

/// The interval between checks for a signal while waiting for a key: 100 ms.
#[cfg(unix)]
const SIGNAL_INTERVAL: rustix::event::Timespec = rustix::event::Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// The maximum number of octets that are read together with a key.
#[cfg(unix)]
const MAX_KEYS: usize = 1024;

/// The helper of the line editor, which completes words and hides secret text.
#[derive(Default)]
struct Assistant {
    databases: BTreeSet<String>,
    targets: BTreeSet<String>,
    hides: bool,
}

impl Helper for Assistant {}
impl Hinter for Assistant {
    type Hint = String;
}
impl Validator for Assistant {}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if self.hides {
            Cow::Owned(" ".repeat(columns_of(line)))
        } else {
            Cow::Borrowed(line)
        }
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.hides && kind != CmdKind::MoveCursor
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        if self.hides {
            return Ok((position, Vec::new()));
        }
        let typed = line.get(..position).unwrap_or_default();
        let start = typed
            .rfind(char::is_whitespace)
            .map_or(0, |blank| blank + 1);
        if of_line(typed) == Some(Completes::Files) {
            let files = FilenameCompleter::new();
            let (start, found) = files.complete(line, position, context)?;
            let found = found.into_iter().map(|pair| pair.replacement);
            return Ok((start, found.collect()));
        }
        Ok((start, self.candidates(typed)))
    }
}

/// Returns the kind of completions for the last word; `None` if it is the name of a command.
fn of_line(typed: &str) -> Option<Completes> {
    let (name, after) = typed.trim_start().split_once(char::is_whitespace)?;
    let completes = table::entry(name).map_or(Completes::Nothing, |entry| entry.completes);
    // The value of a setting is completed like the argument of its command.
    if completes == Completes::Settings && after.trim_start().contains(char::is_whitespace) {
        of_line(after)
    } else {
        Some(completes)
    }
}

impl Assistant {
    /// Returns the completions that begin with the last typed word.
    fn candidates(&self, typed: &str) -> Vec<String> {
        let start = typed
            .rfind(char::is_whitespace)
            .map_or(0, |blank| blank + 1);
        let word = typed.get(start..).unwrap_or_default();
        let words: Vec<String> = match of_line(typed) {
            None | Some(Completes::Commands) => owned(table::all().map(|entry| entry.name)),
            Some(Completes::Nothing | Completes::Files) => Vec::new(),
            Some(Completes::Databases) => self.databases.iter().cloned().collect(),
            Some(Completes::Indexes) => {
                let indexes = names::TABLE.iter();
                indexes.map(|index| format!("{}:", index.name)).collect()
            }
            Some(Completes::Settings) => owned(SETTINGS.iter().map(|(name, _)| *name)),
            Some(Completes::Targets) => self.targets.iter().cloned().collect(),
            Some(Completes::Words(words)) => owned(words.iter().copied()),
        };
        let lower = word.to_ascii_lowercase();
        let fits = |candidate: &String| candidate.to_ascii_lowercase().starts_with(&lower);
        words.into_iter().filter(fits).collect()
    }
}

fn owned(words: impl Iterator<Item = &'static str>) -> Vec<String> {
    words.map(str::to_owned).collect()
}

/// Returns the path of a file in the user's home directory.
pub(super) fn at_home(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(PathBuf::from(home).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_r_f_a_question_keeps_its_keys_on_narrow_terminals() {
        let question = "the conversations; Enter shows more, a all, q stops: ";
        for (columns, shown) in [
            (79, question),
            (53, question),
            (52, "Enter shows more, a all, q stops: "),
            (33, "Enter, a, q: "),
            (12, "Enter, a, q"),
            (5, "Ente…"),
        ] {
            assert_eq!(fitting(question, columns), shown, "{columns}");
        }
    }

    fn loaded(path: &Path) -> Vec<String> {
        let mut editor = Editor::with_config(Config::default()).expect("an editor");
        load(path, &mut editor);
        editor.history().iter().cloned().collect()
    }

    #[test]
    fn audit_r_f_lines_of_a_history_that_no_one_typed_are_removed() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let path = folder.path().join("history");
        let lines = "#V2\nfind \x07\x1b[2J\nfind ti:war\nfind \u{202e}raw\nfind ti:\tпокой\n";
        std::fs::write(&path, lines).expect("written");
        let sound = ["find ti:war", "find ti:\tпокой"];
        assert_eq!(loaded(&path), sound);
        let written = std::fs::read_to_string(&path).expect("a file");
        assert!(!written.contains(['\x1b', '\u{202e}']), "{written:?}");
        assert_eq!(loaded(&path), sound);
    }

    #[test]
    fn audit_r_f_a_history_that_is_no_file_is_not_read() {
        for path in ["/dev/zero", "/dev/full", "/", "/nonexistent/history"] {
            assert_eq!(loaded(Path::new(path)), Vec::<String>::new(), "{path}");
        }
    }

    #[test]
    fn completion_offers_what_fits() {
        let assistant = Assistant {
            databases: ["books".into(), "serials".into()].into(),
            targets: ["loc".into(), "lib.example:210/books".into()].into(),
            hides: false,
        };
        for (typed, offered) in [
            ("fi", &["find", "fields"][..]),
            ("queryt", &["querytype"]),
            ("base b", &["books"]),
            ("base books s", &["serials"]),
            ("find tit", &["title:"]),
            ("format us", &["usmarc"]),
            ("help hist", &["history"]),
            ("set setn", &["setnames"]),
            ("set format us", &["usmarc"]),
            ("set base bo", &["books"]),
            ("open lo", &["loc"]),
            ("open LIB", &["lib.example:210/books"]),
            ("! l", &[]),
            ("fund x", &[]),
            ("quit ", &[]),
        ] {
            assert_eq!(assistant.candidates(typed), offered, "{typed}");
        }
    }
}
