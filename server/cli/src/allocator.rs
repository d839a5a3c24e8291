//! Has glibc return freed memory to the system. By default it does so no longer once a block of several MiB has been freed, as
//! happens whenever databases are loaded, and a few reloads triple the memory of the process.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::available;

/// The variable of glibc's threshold (mallopt(3), `M_TRIM_THRESHOLD`). Any value fixes the other thresholds as well.
const VARIABLE: &str = "MALLOC_TRIM_THRESHOLD_";
/// glibc's initial value, in octets.
const THRESHOLD: &str = "131072";
/// The variable of glibc's number of arenas (`M_ARENA_MAX`). Each reserves 64 MiB of addresses, so that of a limited address space
/// (`ulimit -v`) little would be left.
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Starts the program anew in this process with the threshold fixed, unless it is set. glibc reads it at the start of a program;
/// to set it later would take unsafe code. If the program cannot be started anew, it goes on as it is.
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
