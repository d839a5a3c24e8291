//! Counts the lines of Rust code in each package, without tests, examples, comments, blank lines or generated tables.
//!
//! ```text
//! cargo run -p z3950-tests --example code_lines [CHECKOUT]
//! ```

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The folders of the packages for users.
const PRODUCTS: [&str; 4] = ["asn1", "client", "server", "tests/judge"];

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let checkout = env::args_os().nth(1).map_or(here, PathBuf::from);
    let mut sum = 0;
    let mut packages = Vec::new();
    for folder in PRODUCTS {
        add_packages(&checkout.join(folder), &mut packages)?;
    }
    packages.sort();
    for package in packages {
        let mut files = Vec::new();
        read_files(&package.join("src"), &mut files)?;
        let tests: Vec<PathBuf> = files.iter().flat_map(test_modules).collect();
        let product = files.iter().filter(|(path, _)| {
            let module = path.with_extension("");
            !tests.iter().any(|tests| module.starts_with(tests))
        });
        let lines: usize = product.map(|(_, source)| code_lines(source)).sum();
        let package = package.strip_prefix(&checkout).unwrap_or(&package);
        println!("{lines:>6} {}", package.display());
        sum += lines;
    }
    println!("{sum:>6} in all");
    Ok(())
}

/// Adds the packages in a folder and its subfolders, apart from packages for fuzzing.
fn add_packages(folder: &Path, packages: &mut Vec<PathBuf>) -> io::Result<()> {
    if folder.ends_with("fuzz") || folder.ends_with("target") {
        return Ok(());
    }
    if folder.join("Cargo.toml").exists() {
        packages.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("src") {
            add_packages(&path, packages)?;
        }
    }
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

/// Returns the paths, without `.rs`, of the modules that a file declares for its tests.
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

/// Counts the lines of code before the tests, which are at the end of a file.
fn code_lines(source: &str) -> usize {
    let code = source.split("#[cfg(test)]\nmod tests {").next();
    let lines = code.unwrap_or_default().lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}
