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
        let mut files = Vec::new();
        read_files(&checkout.join(package).join("src"), &mut files)?;
        let tests: Vec<PathBuf> = files.iter().flat_map(test_modules).collect();
        let product = files.iter().filter(|(path, _)| {
            let module = path.with_extension("");
            !tests.iter().any(|tests| module.starts_with(tests))
        });
        let lines: usize = product.map(|(_, source)| code_lines(source)).sum();
        println!("{lines:>6} {package}");
        sum += lines;
    }
    println!("{sum:>6} in all");
    Ok(())
}

/// A source file: its path and text.
type File = (PathBuf, String);

fn read_files(folder: &Path, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            read_files(&path, files)?;
        } else if name.ends_with(".rs") && !name.ends_with("_table.rs") {
            let source = fs::read_to_string(&path)?;
            files.push((path, source));
        }
    }
    Ok(())
}

/// The modules that a file declares for its tests, as their paths without `.rs`.
fn test_modules((path, source): &File) -> Vec<PathBuf> {
    let inside = match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") => path.with_file_name(""),
        _ => path.with_extension(""),
    };
    let declarations = source.split("#[cfg(test)]\n").skip(1);
    declarations
        .filter_map(|code| code.lines().next()?.strip_suffix(';')?.split_once("mod "))
        .map(|(_, name)| inside.join(name))
        .collect()
}

/// The lines of code above the tests, which end a file.
fn code_lines(source: &str) -> usize {
    let code = source.split("#[cfg(test)]\nmod tests {").next();
    let lines = code.unwrap_or_default().lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}
