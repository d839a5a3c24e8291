//! The environment of programs in tests, reduced to the minimum that they need. The user's environment variables, locale, time
//! zone and proxy settings do not affect tests. Neither do ignored signals, which occur if the tests were started by `nohup` or a
//! service, for example.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Once, OnceLock};

use signal_hook::consts::{FORBIDDEN, SIGPIPE};

/// The environment variables that programs inherit: the paths of programs, libraries and temporary files, the output path of a
/// coverage tool, and settings of Rust and of the tests.
const KEPT: [&str; 10] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "PERL5LIB",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUST_BACKTRACE",
    "LLVM_PROFILE_FILE",
    "Z3950_MUTATIONS",
];

/// Returns a command that starts a program in an environment that does not depend on where the tests run: few variables, the
/// locale `C.UTF-8`, the time zone UTC, an empty home folder, and signals with their default effect.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    restore_signals();
    #[expect(clippy::disallowed_methods, reason = "all others are made here")]
    let mut command = Command::new(program);
    let kept = KEPT
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)));
    command
        .env_clear()
        .envs(kept)
        .envs([("LC_ALL", "C.UTF-8"), ("TZ", "UTC")])
        .env("HOME", home());
    command
}

/// Returns an empty folder, which is the home folder of programs unless a test sets another one.
fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        // The home is not in the folder of temporary files, because tests inspect and fill that folder.
        let test = std::env::current_exe().expect("the test program has a path");
        let home = test.ancestors().nth(2).expect("a folder").join("home");
        std::fs::create_dir_all(&home).expect("the build folder takes a folder");
        home
    })
}

/// Restores the default effect of the signals that this process ignores, so that the programs that it starts do not ignore them.
///
/// A new program inherits the set of ignored signals, whereas a signal with a handler has its default effect in the new program.
/// Each ignored signal therefore gets a handler that does nothing.
fn restore_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        for signal in ignored(&status) {
            // SIGPIPE is left out, because the standard library makes this process ignore it, and restores its default effect in
            // new programs.
            if signal != SIGPIPE && !FORBIDDEN.contains(&signal) {
                signal_hook::flag::register(signal, std::sync::Arc::default())
                    .expect("it can be handled");
            }
        }
    });
}

/// Parses the numbers of the ignored signals in the status of a process in `/proc`.
fn ignored(status: &str) -> impl Iterator<Item = i32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    let mask = mask.unwrap_or_default();
    // Real-time signals are left out, because they have no default effect that a test could miss.
    (1..32).filter(move |signal| mask & (1 << (signal - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        let status = "Name:\tx\nSigBlk:\tffff\nSigIgn:\t0000000000001001\nSigCgt:\t00\n";
        assert_eq!(ignored(status).collect::<Vec<_>>(), [1, 13]);
        assert_eq!(ignored("").count(), 0);
    }
}
