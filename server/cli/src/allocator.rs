//! Has glibc return freed memory to the system. By default it does so no longer once a block of several MiB has been freed, as
//! happens whenever databases are loaded, and a few reloads triple the memory of the process.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The variable of glibc's threshold (mallopt(3), `M_TRIM_THRESHOLD`). Any value fixes the other thresholds as well.
const VARIABLE: &str = "MALLOC_TRIM_THRESHOLD_";
/// glibc's initial value, in octets.
const THRESHOLD: &str = "131072";

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
        let error = command.exec();
        tracing::debug!(%error, "memory will not be returned");
    }
}
