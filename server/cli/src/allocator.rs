//! Makes glibc return freed memory to the system. By default, glibc stops doing so once a block of several MiB has been freed.
//! Loading a database frees such blocks, so without this setting, a few reloads would triple the memory of the process.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::available;

/// The environment variable that sets glibc's trim threshold (mallopt(3), `M_TRIM_THRESHOLD`). Setting it also stops glibc
/// from adjusting its other thresholds.
const VARIABLE: &str = "MALLOC_TRIM_THRESHOLD_";
/// glibc's initial value of the trim threshold, in octets.
const THRESHOLD: &str = "131072";
/// The environment variable that limits the number of glibc's arenas (`M_ARENA_MAX`). Each arena reserves 64 MiB of addresses,
/// so several arenas would use up a limited address space (`ulimit -v`).
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Restarts the program in this process with the threshold fixed, unless it is already set. glibc reads the threshold at the
/// start of a program; setting it later would require unsafe code. If the program cannot be restarted, it continues without a
/// fixed threshold.
pub(crate) fn return_freed_memory() {
    if env::var_os(VARIABLE).is_some() {
        return;
    }
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("z3950d"));
    if let Ok(program) = env::current_exe() {
        let mut command = Command::new(program);
        command.arg0(name).args(arguments).env(VARIABLE, THRESHOLD);
        if available::addresses_are_limited() && env::var_os(ARENAS).is_none() {
            command.env(ARENAS, "1");
        }
        let error = command.exec();
        tracing::debug!(%error, "memory will not be returned");
    }
}
