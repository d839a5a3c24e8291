//! What the programs of tests see of the place where the tests run: the least that they need. Environment variables of a user, a locale, a
//! time zone, a proxy and signals that are ignored, as `nohup` and services leave them, change no test.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Once, OnceLock};

use signal_hook::consts::{FORBIDDEN, SIGPIPE};

/// The variables that programs keep: where programs, libraries and temporary files are, and where a coverage tool writes.
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

/// A command that starts a program in the surroundings of all tests, wherever they run: few variables, the locale `C.UTF-8`, the time zone
/// UTC, an empty home folder, and signals that have their effect.
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

/// A folder without files, the home of programs that are given no other.
fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        // Beside the test program's folder, since tests look into that of temporary files and fill it.
        let test = std::env::current_exe().expect("the test program has a path");
        let home = test.ancestors().nth(2).expect("a folder").join("home");
        std::fs::create_dir_all(&home).expect("the build folder takes a folder");
        home
    })
}

/// Lets signals that this process ignores end the programs that it starts.
///
/// A program that is started inherits which signals are ignored. Those with a handler have their default effect in it, so each of
/// them gets one here, which does nothing.
fn restore_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        for signal in ignored(&status) {
            // The standard library ignores this one, and restores it in programs itself.
            if signal != SIGPIPE && !FORBIDDEN.contains(&signal) {
                signal_hook::flag::register(signal, std::sync::Arc::default())
                    .expect("it can be handled");
            }
        }
    });
}

/// The signals that a process ignores, by its status in `/proc`.
fn ignored(status: &str) -> impl Iterator<Item = i32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    let mask = mask.unwrap_or_default();
    // Those of the C library for real time have no default effect that a test could miss.
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
