//! A shell in which a page is followed. It runs in an empty folder, with the programs on its path and without a network.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use expectrl::session::OsSession;
use expectrl::{Eof, Expect, Session};
use tempfile::TempDir;
use z3950_tests::surroundings::command;
use z3950_tests::{pause, peer, program};

use super::blocks::PROMPT;

/// The maximum time to wait for a command, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The size of the prompt's terminal, in columns and lines.
const WIDTH: u16 = 130;
const HEIGHT: u16 = 50;

/// The text that marks the end of a command's output and precedes its exit code.
const MARK: &str = "\u{1}ended ";

/// Programs that a reader may not have. A command whose program is missing is skipped.
const FOREIGN: &str = "curl openssl";

/// A shell. When this value is dropped, the shell is stopped together with all programs that it started.
pub(super) struct Shell {
    child: Child,
    stdin: ChildStdin,
    output: Receiver<Vec<u8>>,
    folder: TempDir,
    /// A folder separate from the reader's folder. It contains the programs, a home directory, and the pasted text.
    aside: TempDir,
    pasted: usize,
}

/// The output of a command, and its result.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) printed: String,
    pub(super) code: i32,
    /// The commands that failed, with their exit codes.
    pub(super) failed: String,
    /// Whether part of the command was skipped because a program is missing.
    pub(super) is_skipped: bool,
}

impl Shell {
    /// Starts the shell. A server that is started without `--listen` listens on this port.
    pub(super) fn start(default_port: u16) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let aside = tempfile::tempdir().expect("a folder");
        let bin = aside.path().join("bin");
        fs::create_dir(&bin).expect("a folder");
        fs::create_dir(aside.path().join("home")).expect("a folder");
        install(&bin, default_port);
        let mut child = bash(folder.path(), aside.path())
            .args(["--noprofile", "--norc"])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash starts");
        let (sender, output) = channel();
        let mut stdout = child.stdout.take().expect("piped");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take().expect("piped");
        let mut shell = Self {
            child,
            stdin,
            output,
            folder,
            aside,
            pasted: 0,
        };
        shell.writes(&format!(
            "exec 2>&1\nset -o pipefail\nFOREIGN='{FOREIGN}'\n{SETUP}"
        ));
        shell
    }

    fn writes(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).expect("bash reads");
    }

    /// Saves a file in the reader's folder.
    pub(super) fn saves(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("written");
    }

    /// Runs a command in the shell, and waits for its end.
    pub(super) fn runs(&mut self, text: &str) -> Ended {
        let file = self.paste(text);
        // The exit code of the command is preserved, because the next command on the page may read it.
        self.writes(&format!(
            ". {file} </dev/null; code=$?; printf '{MARK}%d\\n' $code; (exit $code)\n"
        ));
        let deadline = Instant::now() + PATIENCE;
        let mut octets = Vec::new();
        loop {
            let said = String::from_utf8_lossy(&octets);
            if let Some((printed, code)) = said.split_once(MARK)
                && let Some(code) = code.strip_suffix('\n')
            {
                return Ended {
                    printed: printed.to_owned(),
                    code: code.parse().expect("an exit code"),
                    failed: self.taken("failed"),
                    is_skipped: self.has_skipped(),
                };
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(more) => octets.extend(more),
                Err(error) => panic!("{text}: {error}: {said}"),
            }
        }
    }

    /// Starts a server in the background, and waits until it listens and `is_enough` accepts its output.
    pub(super) fn serves(&mut self, text: &str, is_enough: impl Fn(&str) -> bool) -> String {
        let file = self.paste(text);
        let log = format!("{file}.log");
        self.writes(&format!(". {file} </dev/null >{log} 2>&1\n"));
        let deadline = Instant::now() + PATIENCE;
        loop {
            let printed = fs::read_to_string(&log).unwrap_or_default();
            let listens = printed.contains("listening on ");
            if (listens && is_enough(&printed)) || Instant::now() > deadline {
                assert!(listens, "{text}: {printed}");
                return printed;
            }
            assert!(!printed.contains("not started:"), "{text}: {printed}");
            pause();
        }
    }

    /// Types these lines at the prompt that a command opens in a terminal. Returns what the terminal shows before the next
    /// prompt.
    pub(super) fn types(&self, text: &str, lines: &[&str]) -> String {
        let mut command = bash(self.folder.path(), self.aside.path());
        // In a dumb terminal, the prompt does not offer line editing.
        command
            .args(["-c", text])
            .envs([("TERM", "dumb"), ("NO_COLOR", "1")]);
        let mut session = Session::spawn(command).expect("a terminal");
        session.set_expect_timeout(Some(PATIENCE));
        let terminal = session.get_process_mut();
        terminal.set_window_size(WIDTH, HEIGHT).expect("a terminal");
        let mut shown = String::new();
        let sees_prompt = |session: &mut OsSession| {
            let seen = session.expect(PROMPT).expect("a prompt");
            String::from_utf8_lossy(seen.before()).replace('\r', "")
        };
        shown.push_str(&sees_prompt(&mut session));
        for line in lines {
            session.send(format!("{line}\r")).expect("it is typed");
            // This terminal does not echo what is typed, so the line is added here.
            shown.push_str(&format!("{PROMPT}{line}\n"));
            shown.push_str(&sees_prompt(&mut session));
        }
        session.send("quit\r").expect("it is typed");
        session.expect(Eof).expect("the prompt ends");
        shown
    }

    /// Writes the pasted text to a file, so that a command that reads standard input does not consume the rest of it.
    fn paste(&mut self, text: &str) -> String {
        self.pasted += 1;
        let file = self.aside.path().join(self.pasted.to_string());
        fs::write(&file, format!("{text}\n")).expect("written");
        file.to_str().expect("UTF-8").to_owned()
    }

    /// Returns the contents of a file in the folder `aside`, and removes the file.
    fn taken(&self, name: &str) -> String {
        let path = self.aside.path().join(name);
        let text = fs::read_to_string(&path).unwrap_or_default();
        // An error means that there is no such file.
        let _ = fs::remove_file(path);
        text
    }

    /// Reports the missing programs. Returns whether a part of the command was skipped.
    fn has_skipped(&self) -> bool {
        let (missing, unbuilt) = (self.taken("missing"), self.taken("unbuilt"));
        for program in missing.lines() {
            peer::skip(program);
        }
        for line in unbuilt.lines() {
            say_skipped(&format!("cargo {line}, which builds everything again"));
        }
        !missing.is_empty() || !unbuilt.is_empty()
    }
}

/// Reports that something is skipped. The message is written directly to standard error, because the output of passing tests is
/// captured.
pub(super) fn say_skipped(words: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {words}");
}

/// Returns the command that starts a shell in these folders.
fn bash(folder: &Path, aside: &Path) -> Command {
    let inherited = std::env::var("PATH").unwrap_or_default();
    let mut shell = command("bash");
    shell
        .current_dir(folder)
        .env(
            "PATH",
            format!("{}:{inherited}", aside.join("bin").display()),
        )
        .env("HOME", aside.join("home"))
        .env("ASIDE", aside);
    // Requests to other machines fail at once, because nothing listens at this proxy.
    for name in ["ALL_PROXY", "HTTPS_PROXY", "http_proxy"] {
        shell.env(name, "http://127.0.0.1:9");
    }
    shell.env("NO_PROXY", "localhost,127.0.0.1");
    shell
}

/// Shell code that records failures and missing programs.
const SETUP: &str = r#"set -E
trap 'case $BASH_COMMAND in "( exit "*) ;; *) echo "exit code $?: $BASH_COMMAND" >>"$ASIDE/failed" ;; esac' ERR
command_not_found_handle() {
    case " $FOREIGN " in
        *" $1 "*) echo "$1" >>"$ASIDE/missing" ;;
        *) echo "bash: $1: command not found" >&2; return 127 ;;
    esac
}
"#;

/// Puts the programs on the path of the shell. A server without an address listens on a free port instead of the default one, and
/// `cargo run` runs the programs that have already been built.
fn install(bin: &Path, default_port: u16) {
    let built = program::path("z3950");
    let built = built.parent().expect("a folder").display().to_string();
    symlink(format!("{built}/z3950"), bin.join("z3950")).expect("a link");
    let server = format!(
        r#"#!/bin/sh
case " $* " in
    *" --listen"* | *" --check "* | *" --print-config "* | *" --print-map "* | *" --fold "* | *" --fault help "* | *" --help "* | *" -h "* | *" --version "* | \
    *" --man "* | *" --completions "* | " engine-create "* | " hash-password "* | " load "* | " try-catalogue "*)
        exec {built}/z3950d "$@" ;;
    *)
        exec {built}/z3950d "$@" --listen 127.0.0.1:{default_port} ;;
esac
"#
    );
    let cargo = r#"#!/bin/sh
case "$*" in
    "run -- "*) shift 2; exec z3950 "$@" ;;
    "run -p z3950d -- "*) shift 4; exec z3950d "$@" ;;
    *) echo "$*" >>"$ASIDE/unbuilt" ;;
esac
"#;
    for (name, text) in [("z3950d", server.as_str()), ("cargo", cargo)] {
        let path = bin.join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Errors mean that all processes have already ended.
        let mut kill = command("kill");
        let _ = kill
            .args(["-s", "KILL", "--", &format!("-{}", self.child.id())])
            .stderr(Stdio::null())
            .status();
        let _ = self.child.wait();
    }
}
