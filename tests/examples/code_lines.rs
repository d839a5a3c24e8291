//! Counts the lines of Rust code of each package: no tests, examples, comments, blank lines or generated tables.
//!
//! ```text
//! cargo run -p z3950-tests --example code_lines [CHECKOUT]
//! ```

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The packages, each before those inside it.
const PACKAGES: [&str; 6] = [
    "asn1/marc",
    "asn1",
    "client/cli",
    "client",
    "server/cli",
    "server",
];

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let checkout = env::args_os().nth(1).map_or(here, PathBuf::from);
    let mut sum = 0;
    for package in PACKAGES {
        let lines = lines_in(&checkout.join(package).join("src"))?;
        println!("{lines:>6} {package}");
        sum += lines;
    }
    println!("{sum:>6} in all");
    Ok(())
}

fn lines_in(folder: &Path) -> io::Result<usize> {
    let mut lines = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        lines += match &*name {
            "tests" | "tests.rs" => 0,
            _ if path.is_dir() => lines_in(&path)?,
            table if table.ends_with("_table.rs") => 0,
            source if source.ends_with(".rs") => code_lines(&fs::read_to_string(&path)?),
            _ => 0,
        };
    }
    Ok(lines)
}

/// The lines of code above the tests, which end a file.
fn code_lines(source: &str) -> usize {
    let code = source.split("#[cfg(test)]\nmod tests {").next();
    let lines = code.unwrap_or_default().lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}
