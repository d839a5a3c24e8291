//! Tests of the prompt in a real terminal, as users see it.

mod commands;
mod display;
mod editing;
mod interrupts;
mod picture;
mod secrets;
mod sessions;
mod tryout;

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use expectrl::session::OsSession;
use expectrl::{Captures, ControlCode, Expect, Needle, Session};
use tempfile::TempDir;
use z3950_asn1::apdu::Apdu;
use z3950_server::testing::{TestServer, record};
use z3950_tests::surroundings::command;
use z3950_tests::{pause, program};

/// The maximum time to wait for an answer, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A user at the prompt in a terminal.
struct Person {
    session: OsSession,
}

impl Person {
    /// Starts the prompt in a terminal, and opens a session with the server.
    fn at(server: &TestServer, home: &Path) -> Self {
        Self::at_target(&server.session_url("/cat"), home)
    }

    fn at_target(target: &str, home: &Path) -> Self {
        let mut person = Self::with([target], home);
        person.sees("session open");
        person.sees("z3950> ");
        person
    }

    /// Starts `z3950 open` with these arguments.
    fn with<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>, home: &Path) -> Self {
        Self::started(&[], "C.UTF-8", arguments, home)
    }

    /// Starts `z3950 open` with these arguments, in this locale.
    fn in_locale<S: AsRef<OsStr>>(
        locale: &str,
        arguments: impl IntoIterator<Item = S>,
        home: &Path,
    ) -> Self {
        Self::started(&[], locale, arguments, home)
    }

    /// Starts `z3950 open` with these arguments, and with these options before `open`.
    fn with_options<S: AsRef<OsStr>>(
        options: &[&str],
        arguments: impl IntoIterator<Item = S>,
        home: &Path,
    ) -> Self {
        Self::started(options, "C.UTF-8", arguments, home)
    }

    fn started<S: AsRef<OsStr>>(
        options: &[&str],
        locale: &str,
        arguments: impl IntoIterator<Item = S>,
        home: &Path,
    ) -> Self {
        let mut command = command(program::path("z3950"));
        command
            .args(options)
            // This timeout is longer than the time for which the test waits.
            .args(["--timeout", "120", "open"])
            .args(arguments)
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home)
            .env("LC_ALL", locale)
            .env("TERM", "xterm");
        let session = Session::spawn(command).expect("a terminal");
        Self { session }
    }

    fn types(&mut self, text: &str) {
        self.session.send(text).expect("the terminal takes it");
    }

    fn enters(&mut self, line: &str) {
        self.types(line);
        self.types("\r");
    }

    fn presses(&mut self, key: ControlCode) {
        self.session.send(key).expect("the terminal takes it");
    }

    /// Waits until the terminal shows this text. Returns the output before it.
    fn sees(&mut self, text: &str) -> String {
        match awaited(&mut self.session, || text) {
            Ok(found) => String::from_utf8_lossy(found.before()).into_owned(),
            Err(error) => {
                let shown = self.session.check(expectrl::Regex("(?s).+"));
                let shown =
                    shown.map(|shown| String::from_utf8_lossy(shown.as_bytes()).into_owned());
                panic!("{text:?} is awaited: {error}; shown: {shown:?}");
            }
        }
    }

    /// Reduces the size of the terminal, searches for books, and shows the first page of records.
    fn sees_a_page(&mut self) {
        let process = self.session.get_process_mut();
        process.set_window_size(80, 12).expect("a terminal");
        self.enters("find ti:book");
        self.sees(" hits");
        self.sees("z3950> ");
        self.enters("show all");
        self.sees("Enter shows more");
    }

    /// Waits for the program to end.
    fn sees_the_end(&mut self) {
        awaited(&mut self.session, || expectrl::Eof).expect("it ends");
    }
}

/// Waits until the output of a terminal contains a text.
fn awaited<N: Needle>(
    session: &mut OsSession,
    needle: impl Fn() -> N,
) -> Result<Captures, expectrl::Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = session.check(needle())?;
        if found.matches().len() > 0 {
            return Ok(found);
        }
        if Instant::now() > deadline {
            return Err(expectrl::Error::ExpectTimeout);
        }
        pause();
    }
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn catalogue() -> TestServer {
    TestServer::builder()
        .database("cat", [record("id7", "Seven"), record("id8", "Eight")])
        .start()
}

/// Waits until the server has received this many searches.
fn wait_for_searches(server: &TestServer, count: usize) {
    server.wait_until(|entries| {
        let searches = entries
            .iter()
            .filter(|entry| matches!(entry.apdu, Some(Apdu::SearchRequest(_))));
        searches.count() >= count
    });
}

fn wait_for_presents(server: &TestServer, count: usize) {
    server.wait_until(|entries| {
        let presents = entries
            .iter()
            .filter(|entry| matches!(entry.apdu, Some(Apdu::PresentRequest(_))));
        presents.count() >= count
    });
}
