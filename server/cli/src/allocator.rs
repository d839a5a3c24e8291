//! Makes glibc return freed memory to the system. By default, glibc stops doing so once a block of several MiB has been freed,
//! which happens whenever databases are loaded, so that a few reloads triple the memory of the process.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::available;

/// The environment variable of glibc's threshold (mallopt(3), `M_TRIM_THRESHOLD`). Any value also fixes the other thresholds.
const VARIABLE: &str = "MALLOC_TRIM_THRESHOLD_";
/// The initial value of glibc, in octets.
const THRESHOLD: &str = "131072";
/// The environment variable of glibc's number of arenas (`M_ARENA_MAX`). Each arena reserves 64 MiB of addresses, so that little
/// would be left of a limited address space (`ulimit -v`).
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Restarts the program in this process with the threshold fixed, unless it is already set. glibc reads the threshold at the
/// start of a program; setting it later would take unsafe code. If the program cannot be restarted, it continues as it is.
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
