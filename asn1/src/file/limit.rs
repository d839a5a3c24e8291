//! The limit on file sizes that is set by the shell (`ulimit -f`) or the system.

use std::io;

/// Makes writes beyond the limit on file sizes fail with an error, as on a full disk, instead of ending the process
/// with the signal SIGXFSZ. Programs call this function once at their start.
///
/// # Errors
/// Fails if the signal handler cannot be installed.
#[cfg(unix)]
pub fn survive_size_limit() -> io::Result<()> {
    // Any handler will do: after the handler has run, the write fails.
    let ignored = std::sync::Arc::default();
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, ignored).map(drop)
}

/// Does nothing, because only Unix has the signal SIGXFSZ.
///
/// # Errors
/// Never fails.
#[cfg(not(unix))]
pub fn survive_size_limit() -> io::Result<()> {
    Ok(())
}
