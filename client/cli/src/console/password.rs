//! Prompts for a password at a terminal, without echo, and records whether none was entered.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a user name was given without a password. If so, and the server refuses the user, the error message contains
/// advice.
static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// Returns whether a user name was given without a password.
pub(crate) fn is_missing() -> bool {
    IS_MISSING.load(Ordering::Relaxed)
}

/// Prompts for the user's password. Returns `None` if there is no terminal, or if nothing is entered.
///
/// # Errors
/// Fails if the terminal cannot be used, or if the password is not UTF-8 or too long.
pub(crate) fn ask(user: &str) -> io::Result<Option<String>> {
    let answer = from_terminal(user)?;
    IS_MISSING.store(answer.is_none(), Ordering::Relaxed);
    Ok(answer)
}

#[cfg(unix)]
fn from_terminal(user: &str) -> io::Result<Option<String>> {
    use std::io::{IsTerminal, Write};

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

    use crate::console::interrupt::{Interrupt, Stopped};
    use crate::render::shown;

    let terminal = io::stdin();
    if !terminal.is_terminal() || !io::stderr().is_terminal() {
        return Ok(None);
    }
    let before = tcgetattr(&terminal)?;
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ECHO);
    modes
        .local_modes
        .insert(LocalModes::ECHONL | LocalModes::ICANON);
    // Ctrl-Z is disabled, because the shell would restore its own terminal modes, and the rest of the password would be
    // echoed.
    modes.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
    tcsetattr(&terminal, OptionalActions::Flush, &modes)?;
    // Write the prompt only after echo has been turned off.
    let _ = write!(io::stderr(), "password for {}: ", shown(user.as_bytes()));
    let at_signal = before.clone();
    let restore = move || {
        let _ = writeln!(io::stderr());
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &at_signal);
    };
    let line = Interrupt.waiting(restore, || read_line(&terminal));
    tcsetattr(&terminal, OptionalActions::Now, &before)?;
    let line = match line {
        Ok(line) => line?,
        // The signal ends the program as soon as the command checks for it.
        Err(Stopped(_)) => return Ok(None),
    };
    if line.len() > MAX_PASSWORD {
        let words = format!("it is longer than {MAX_PASSWORD} octets");
        return Err(io::Error::other(words));
    }
    let password = String::from_utf8(line).map_err(|_| io::Error::other("it is not UTF-8"))?;
    Ok((!password.is_empty()).then_some(password))
}

/// The value that disables a special key of the terminal (`_POSIX_VDISABLE`).
#[cfg(unix)]
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xFF };
/// The octet of Ctrl-Z, which cannot be part of a password.
#[cfg(unix)]
const SUSPEND: u8 = 0x1A;

/// The maximum length of a password, in octets; terminals do not accept longer lines.
#[cfg(unix)]
const MAX_PASSWORD: usize = 4_096;

/// Reads a line octet by octet. The standard library would also read the octets after the line, and keep them in its
/// buffer.
#[cfg(unix)]
fn read_line(terminal: &io::Stdin) -> rustix::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut octet = [0];
    while line.len() <= MAX_PASSWORD
        && rustix::io::retry_on_intr(|| rustix::io::read(terminal, &mut octet))? > 0
        && octet != *b"\n"
    {
        if octet != [SUSPEND] {
            line.extend(octet);
        }
    }
    Ok(line)
}

#[cfg(not(unix))]
fn from_terminal(_: &str) -> io::Result<Option<String>> {
    Ok(None)
}
