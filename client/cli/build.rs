//! How the program `z3950` is linked where that is known to work: for scripts that start it for every lookup, of which the
//! loader's share is the largest. The library and all tests are linked as everywhere.
//!
//! - At a fixed address: to relocate a program of this size takes a tenth of a lookup, at every start anew. What is given up
//!   for it is an address that nobody can guess, a second line of defence: nothing here is `unsafe`, but parts of the libraries
//!   below are. The server keeps it.
//! - With the unwinder inside it, and not in a library to be found, mapped and relocated.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = ["OS", "ENV", "ARCH"].map(|what| env::var(format!("CARGO_CFG_TARGET_{what}")));
    let target = target.map(Result::unwrap_or_default);
    if let ["linux", "gnu", "x86_64"] = target.each_ref().map(String::as_str) {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        if has_unwinder() {
            println!("cargo::rustc-link-arg-bins=-Wl,--whole-archive,-lgcc_eh,--no-whole-archive");
        }
    }
}

/// Whether the linker has the unwinder as a static library; a name it does not know comes back as it is.
fn has_unwinder() -> bool {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let asked = Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    asked
        .is_ok_and(|answer| Path::new(String::from_utf8_lossy(&answer.stdout).trim()).is_absolute())
}
