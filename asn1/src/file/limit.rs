//! The limit on file sizes that the shell (`ulimit -f`) or the system sets.

use std::io;

/// Makes writes beyond the limit on file sizes fail with an error, as on a full disk, instead of ending the process by the
/// signal SIGXFSZ. Programs call it once when they start.
///
/// # Errors
/// The handler of the signal cannot be installed.
#[cfg(unix)]
pub fn survive_size_limit() -> io::Result<()> {
    // Any handler will do: after it has run, the write fails.
    let ignored = std::sync::Arc::default();
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, ignored).map(drop)
}

/// Does nothing: only Unix has this signal.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn survive_size_limit() -> io::Result<()> {
    Ok(())
}
