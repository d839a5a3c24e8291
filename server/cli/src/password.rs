//! `z3950d --hash-password`: reads a password, and returns its hash for the settings file.

use std::io::{self, BufRead, IsTerminal, Read};

use z3950_server::passwords::PasswordHash;

use crate::failure::Failure;

/// The maximum length of a password in octets.
const MAX_PASSWORD: usize = 4_096;

/// Reads a password and returns its hash on a line.
///
/// # Errors
/// There is no password, it is not a line of UTF-8, or the two that were typed differ.
pub(crate) fn hashed() -> Result<String, Failure> {
    let password = if io::stdin().is_terminal() {
        typed()?
    } else {
        of_line(&mut io::stdin().lock())?
    };
    if password.is_empty() {
        return Err(Failure::usage("there is no password".to_owned()));
    }
    let hash = PasswordHash::of(password.as_bytes());
    let hash = hash.map_err(|error| Failure::unexpected(io::Error::other(error)))?;
    Ok(format!("{}\n", hash.as_str()))
}

/// Reads the first line of the input.
fn of_line(input: &mut impl BufRead) -> Result<String, Failure> {
    let mut line = Vec::new();
    let most = u64::try_from(MAX_PASSWORD).unwrap_or(u64::MAX);
    let read = input
        .take(most.saturating_add(2))
        .read_until(b'\n', &mut line);
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
    String::from_utf8(line).map_err(|_| Failure::usage("the password is not UTF-8".to_owned()))
}

/// Asks for the password twice.
#[cfg(unix)]
fn typed() -> Result<String, Failure> {
    let first = terminal::line("password: ")?;
    let second = terminal::line("the same again: ")?;
    if first != second {
        return Err(Failure::usage("the two passwords differ".to_owned()));
    }
    checked(first)
}

#[cfg(not(unix))]
fn typed() -> Result<String, Failure> {
    of_line(&mut io::stdin().lock())
}

#[cfg(unix)]
mod terminal {
    use std::io::{self, Write};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    use super::MAX_PASSWORD;
    use crate::failure::Failure;

    /// The modes of the terminal before, which are restored when the value is dropped.
    struct Silenced(Termios);

    impl Drop for Silenced {
        fn drop(&mut self) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }

    /// Reads a line without showing it. Keys for signals are read as others, so that none leaves the terminal silent.
    pub(super) fn line(prompt: &str) -> Result<Vec<u8>, Failure> {
        let failed = |error: rustix::io::Errno| Failure::unexpected(error.into());
        let terminal = io::stdin();
        let before = tcgetattr(&terminal).map_err(failed)?;
        let mut modes = before.clone();
        modes
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(&terminal, OptionalActions::Flush, &modes).map_err(failed)?;
        let _silenced = Silenced(before);
        // The prompt is written when nothing is echoed any more.
        let _ = write!(io::stderr(), "{prompt}");
        let mut line = Vec::new();
        let mut octet = [0];
        loop {
            let read = rustix::io::retry_on_intr(|| rustix::io::read(&terminal, &mut octet));
            let is_over = read.map_err(failed)? == 0;
            match octet {
                _ if is_over || line.len() > MAX_PASSWORD => break,
                [b'\r' | b'\n'] => break,
                // Ctrl-C and Ctrl-D.
                [3 | 4] => {
                    let _ = writeln!(io::stderr());
                    return Err(Failure::usage("interrupted".to_owned()));
                }
                // Backspace, for a whole character of UTF-8, and Ctrl-U.
                [8 | 0x7F] => while line.pop().is_some_and(|octet: u8| octet & 0xC0 == 0x80) {},
                [0x15] => line.clear(),
                [octet] => line.push(octet),
            }
        }
        let _ = writeln!(io::stderr());
        Ok(line)
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
            (b"\xFF\n", None),
        ] {
            let read = of_line(&mut io::Cursor::new(input));
            assert_eq!(read.ok().as_deref(), expected);
        }
        for (length, is_taken) in [
            (MAX_PASSWORD, true),
            (MAX_PASSWORD + 1, false),
            (9 * MAX_PASSWORD, false),
        ] {
            let line = [vec![b'x'; length], b"\n".to_vec()].concat();
            assert_eq!(
                of_line(&mut io::Cursor::new(line)).is_ok(),
                is_taken,
                "{length}"
            );
        }
    }
}
