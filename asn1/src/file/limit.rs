//! Files that must not grow any more: a limit that the shell (`ulimit -f`) or the system sets.

use std::io;

/// Makes a write beyond the limit on the size of files fail with an error that names it, as on a full disk, where the system
/// would otherwise end the process by the signal SIGXFSZ. For programs, once at their start.
///
/// # Errors
/// The system takes no handler for the signal.
#[cfg(unix)]
pub fn survive_size_limit() -> io::Result<()> {
    // Any handler will do: the write returns when it has run.
    let ignored = std::sync::Arc::default();
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, ignored).map(drop)
}

/// Only Unix has such a signal.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn survive_size_limit() -> io::Result<()> {
    Ok(())
}
