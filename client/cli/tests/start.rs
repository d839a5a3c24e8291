//! Tests that the program starts. Its commands are tested in `tests/tests`; that package relies on this test to make
//! Cargo build `z3950`.

use std::process::Command;

#[test]
fn the_program_says_its_version() {
    let output = Command::new(env!("CARGO_BIN_EXE_z3950"))
        .arg("--version")
        .output();
    let output = output.expect("the program starts");
    let version = concat!("z3950 ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), version);
    assert!(output.status.success() && output.stderr.is_empty());
}
