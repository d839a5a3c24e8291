//! `z3950d hash-password`: reads a password, and returns its hash for the settings file.

use std::io::{self, BufRead, IsTerminal, Read};

use z3950_server::passwords::PasswordHash;

use crate::failure::Failure;

/// The maximum length of a password in octets.
const MAX_PASSWORD: usize = 4_096;

/// Reads a password from the terminal or from a line of standard input. Returns its hash as a line.
///
/// # Errors
/// Fails if there is no password, if it is too long or not UTF-8, if it is typed differently the second time, or if the terminal
/// cannot be used.
pub(crate) fn hash() -> Result<String, Failure> {
    let stdin = io::stdin();
    let password = if stdin.is_terminal() {
        typed()?
    } else {
        first_line(&mut stdin.lock())?
    };
    if password.is_empty() {
        return Err(Failure::usage("there is no password"));
    }
    let hash = PasswordHash::of(password.as_bytes())
        .map_err(|error| Failure::unexpected(io::Error::other(error)))?;
    Ok(format!("{}\n", hash.as_str()))
}

/// Reads the first line of the input.
fn first_line(input: &mut impl BufRead) -> Result<String, Failure> {
    let mut line = Vec::new();
    // Two more octets are read than a password may have, because the line may end in CR LF.
    let longest = u64::try_from(MAX_PASSWORD + 2).unwrap_or(u64::MAX);
    let read = input.take(longest).read_until(b'\n', &mut line);
    read.map_err(Failure::unexpected)?;
    let line = line.strip_suffix(b"\n").unwrap_or(&line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    checked(line.to_vec())
}

fn checked(line: Vec<u8>) -> Result<String, Failure> {
    if line.len() > MAX_PASSWORD {
        let words = format!("the password is longer than {MAX_PASSWORD} octets");
        return Err(Failure::usage(words));
    }
    String::from_utf8(line).map_err(|_| Failure::usage("the password is not UTF-8"))
}

/// Asks for the password twice.
#[cfg(unix)]
fn typed() -> Result<String, Failure> {
    terminal::restore_when_terminated()?;
    let first = terminal::line("password: ")?;
    if !first.is_empty() && terminal::line("the same again: ")? != first {
        return Err(Failure::usage("the two passwords differ"));
    }
    checked(first)
}

#[cfg(not(unix))]
fn typed() -> Result<String, Failure> {
    first_line(&mut io::stdin().lock())
}

#[cfg(unix)]
mod terminal {
    use std::io::{self, Write};

    use rustix::io::{read, retry_on_intr};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };
    use tokio::signal::unix::{SignalKind, signal};

    use super::MAX_PASSWORD;
    use crate::failure::{Exit, Failure};

    /// The original terminal modes, which are restored when the value is dropped.
    struct Restored(Termios);

    impl Drop for Restored {
        fn drop(&mut self) {
            let _ = writeln!(io::stderr());
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }

    /// Restores the terminal modes if SIGTERM ends the program while it is reading a password.
    pub(super) fn restore_when_terminated() -> Result<(), Failure> {
        let before = tcgetattr(io::stdin()).map_err(|error| Failure::unexpected(error.into()))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(Failure::unexpected)?;
        let entered = runtime.enter();
        let mut terminated = signal(SignalKind::terminate()).map_err(Failure::unexpected)?;
        drop(entered);
        std::thread::spawn(move || {
            runtime.block_on(terminated.recv());
            drop(Restored(before));
            std::process::exit(Exit::Interrupted as i32);
        });
        Ok(())
    }

    /// Reads a line without showing it. Keys that normally send a signal, such as Ctrl-C, are read like other keys, so that none
    /// of them ends the program while echo is off.
    pub(super) fn line(prompt: &str) -> Result<Vec<u8>, Failure> {
        let failed = |error: rustix::io::Errno| Failure::unexpected(error.into());
        let terminal = io::stdin();
        let before = tcgetattr(&terminal).map_err(failed)?;
        let mut modes = before.clone();
        modes
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Flush, &modes).map_err(failed)?;
        let _restored = Restored(before);
        // Write the prompt only after echo has been turned off.
        let _ = write!(io::stderr(), "{prompt}");
        let mut line = Vec::new();
        let mut octet = [0];
        while line.len() <= MAX_PASSWORD {
            // The terminal is read octet by octet, because the standard library would buffer input that is typed ahead.
            if retry_on_intr(|| read(&terminal, &mut octet)).map_err(failed)? == 0 {
                break;
            }
            match octet {
                [b'\r' | b'\n' | END] => break,
                [INTERRUPT] => {
                    return Err(Failure {
                        exit: Exit::Interrupted,
                        words: "interrupted".to_owned(),
                    });
                }
                [BACKSPACE | DELETE] => erase(&mut line),
                [ERASE_LINE] => line.clear(),
                [octet] => line.push(octet),
            }
        }
        Ok(line)
    }

    /// The octet that Ctrl-C sends, which interrupts the program.
    const INTERRUPT: u8 = 3;
    /// The octet that Ctrl-D sends, which ends the input.
    const END: u8 = 4;
    /// The octet that Ctrl-H sends, which erases the last character.
    const BACKSPACE: u8 = 8;
    /// The octet that Ctrl-U sends, which erases the line.
    const ERASE_LINE: u8 = 0x15;
    const DELETE: u8 = 0x7F;

    /// Removes the last character, which may be several octets of UTF-8.
    fn erase(line: &mut Vec<u8>) {
        let is_first = |octet: &u8| octet & 0xC0 != 0x80;
        line.truncate(line.iter().rposition(is_first).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_f15_the_first_line_is_the_password() {
        for (input, expected) in [
            (&b"secret\n"[..], Some("secret")),
            (b" se cret\r\nmore\n", Some(" se cret")),
            ("g\u{e9}heim".as_bytes(), Some("g\u{e9}heim")),
            (b"", Some("")),
            (b"\n", Some("")),
            (b"\xFF\n", None),
        ] {
            let read = first_line(&mut io::Cursor::new(input));
            assert_eq!(read.ok().as_deref(), expected, "{input:?}");
        }
        for (length, is_taken) in [
            (MAX_PASSWORD, true),
            (MAX_PASSWORD + 1, false),
            (9 * MAX_PASSWORD, false),
        ] {
            for end in ["", "\n", "\r\n"] {
                let line = "x".repeat(length) + end;
                let read = first_line(&mut io::Cursor::new(line));
                assert_eq!(read.is_ok(), is_taken, "{length} {end:?}");
            }
        }
    }
}
