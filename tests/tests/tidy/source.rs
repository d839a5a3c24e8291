//! The source files of the product in the form in which they are checked: code without comments, literals and tests.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the root folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
        .to_owned()
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Adds all Rust files in a folder and its subfolders, except build folders, which Cargo marks.
pub(crate) fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.join("CACHEDIR.TAG").exists() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A file in the `src` folder of a package that is not a test.
pub(crate) struct Source {
    /// The module of the file, such as `["service", "scan"]`; empty for `lib.rs` and `main.rs`.
    pub module: Vec<String>,
    pub path: PathBuf,
    /// The code of the file without comments, literals and tests; see [`code`].
    pub code: String,
}

/// Returns the files of a package, such as `client/cli`, without tests, sorted by path.
pub(crate) fn product(package: &str) -> Vec<Source> {
    let source = root().join(package).join("src");
    let mut files = Vec::new();
    sources(&source, &mut files);
    files.sort();
    let mut product = Vec::new();
    for path in files {
        let inside = path.strip_prefix(&source).expect("below the folder");
        let mut module: Vec<String> = inside
            .with_extension("")
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        if module.iter().any(|part| part == "tests") {
            continue;
        }
        if matches!(
            module.last().map(String::as_str),
            Some("mod" | "lib" | "main")
        ) {
            module.pop();
        }
        let code = code(&read(&path));
        product.push(Source { module, path, code });
    }
    product
}

/// Removes comments, string literals, character literals and `#[cfg(test)]` items from source text.
pub(crate) fn code(text: &str) -> String {
    let mut code = without_words(text);
    while let Some(start) = code.find("#[cfg(test)]") {
        let end = start + item(code.get(start..).unwrap_or_default());
        code.replace_range(start..end, "");
    }
    code
}

/// Returns the length of the item at the start of the text, up to its `;` or closing brace.
fn item(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn without_words(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = match next {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => quoted(rest),
            'r' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if skipped == 0 {
            code.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        } else {
            rest = rest.get(skipped..).unwrap_or_default();
        }
    }
    code
}

fn quoted(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw(text: &str) -> usize {
    let hashes = text.chars().skip(1).take_while(|c| *c == '#').count();
    if text.chars().nth(1 + hashes) != Some('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let begin = 2 + hashes;
    text.get(begin..)
        .and_then(|inside| inside.find(&end))
        .map_or(text.len(), |at| begin + at + end.len())
}

/// Returns the length of the character literal at the start of the text, or 0 if the text starts with a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text.char_indices().skip(1);
    match (inside.next(), inside.next()) {
        (Some((_, '\\')), Some((at, _))) => text
            .get(at + 1..)
            .and_then(|rest| rest.find('\''))
            .map_or(0, |end| at + end + 2),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}
