//! Checks the layers of each package. A module must not use modules in higher layers, and files must not use each other in a
//! cycle.

mod cycles;
mod packages;

use std::collections::HashSet;

use self::packages::PACKAGES;
use crate::source::{Source, product};

/// A package and its modules, one for each layer, from top to bottom. A name stands for the module and those of its submodules
/// that are not listed themselves.
struct Package {
    path: &'static str,
    layers: &'static [&'static str],
}

impl Package {
    /// Returns the index of the layer of a module, counted from the top.
    fn layer(&self, module: &[String]) -> Option<usize> {
        let name = module.join("::");
        let mut best: Option<(usize, usize)> = None;
        for (layer, entry) in self.layers.iter().enumerate() {
            let inside = name.strip_prefix(entry);
            let covers = inside.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
            if covers && best.is_none_or(|(length, _)| length < entry.len()) {
                best = Some((entry.len(), layer));
            }
        }
        best.map(|(_, layer)| layer)
    }

    /// Returns an error for each use of a module in a higher layer, and for each module without a layer.
    fn faults(&self) -> Vec<String> {
        let files = product(self.path);
        assert!(!files.is_empty(), "{} has files", self.path);
        let modules: HashSet<Vec<String>> = files.iter().map(|file| file.module.clone()).collect();
        let mut faults = Vec::new();
        for file in files.iter().filter(|file| !file.module.is_empty()) {
            let Some(layer) = self.layer(&file.module) else {
                faults.push(format!("{} has no layer", file.path.display()));
                continue;
            };
            for used in uses(file) {
                let used = module_of(used, &modules);
                if used.is_empty() {
                    continue;
                }
                match self.layer(&used) {
                    Some(other) if other >= layer => {}
                    _ => faults.push(format!(
                        "{} uses {}, which is above it",
                        file.path.display(),
                        used.join("::")
                    )),
                }
            }
        }
        faults.dedup();
        faults
    }
}

/// Returns the module to which a path leads. The path may end with the name of an item in the module.
fn module_of(mut path: Vec<String>, modules: &HashSet<Vec<String>>) -> Vec<String> {
    while !path.is_empty() && !modules.contains(&path) {
        path.pop();
    }
    path
}

/// Returns the paths within the package that a file uses, starting from the crate root.
fn uses(file: &Source) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = file.code.as_str();
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let start = match word {
            _ if before == Some(':') => None,
            "crate" => Some(Vec::new()),
            "super" => Some(parent(&file.module)),
            _ => None,
        };
        before = Some(next);
        rest = rest.get(length.max(next.len_utf8())..).unwrap_or_default();
        if let Some(start) = start
            && let Some(inside) = rest.strip_prefix("::")
        {
            rest = expand(start, inside, &mut found);
        }
    }
    found
}

fn parent(module: &[String]) -> Vec<String> {
    module[..module.len().saturating_sub(1)].to_vec()
}

/// Adds the paths after `crate::` or `super::`, one for each name in braces. Returns the rest of the text.
fn expand<'a>(mut path: Vec<String>, text: &'a str, found: &mut Vec<Vec<String>>) -> &'a str {
    let mut rest = text.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            rest = expand(path.clone(), rest, found).trim_start();
            match rest.strip_prefix(',') {
                Some(more) if !more.trim_start().starts_with('}') => rest = more,
                _ => break,
            }
        }
        rest = rest.trim_start_matches([',', ' ', '\n']);
        return rest.strip_prefix('}').unwrap_or(rest);
    }
    let length = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    match rest.get(..length).unwrap_or_default() {
        "super" => path = parent(&path),
        "self" | "" => {}
        word => path.push(word.to_owned()),
    }
    rest = rest.get(length..).unwrap_or_default();
    match rest.strip_prefix("::") {
        Some(more) => expand(path, more, found),
        None => {
            found.push(path);
            let rest = rest.trim_start();
            match rest.strip_prefix("as ") {
                Some(more) => more.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
                None => rest,
            }
        }
    }
}

#[test]
fn no_module_uses_one_above_it() {
    let faults: Vec<_> = PACKAGES.iter().flat_map(Package::faults).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn uses_are_found_in_code() {
    let file = |code: &str| Source {
        module: vec!["a".to_owned(), "b".to_owned()],
        path: "a/b.rs".into(),
        code: crate::source::code(code),
    };
    let named = |code| {
        let paths = uses(&file(code)).into_iter();
        paths.map(|path| path.join("::")).collect::<Vec<_>>()
    };
    for (code, expected) in [
        ("use crate::c::D;", &["c::D"][..]),
        (
            "use crate::{c::{D, e::F as G,}, h};",
            &["c::D", "c::e::F", "h"],
        ),
        ("use super::super::c;", &["c"]),
        ("use super::{c, self};", &["a::c", "a"]),
        ("fn f() -> crate::c::D { super::g() }", &["c::D", "a::g"]),
        (
            "// crate::c\nlet a = \"crate::c\"; let b = r#\"crate::c\"#;",
            &[],
        ),
        (
            "#[cfg(test)]\nmod tests { use crate::c; }\nuse crate::d;",
            &["d"],
        ),
        ("#[cfg(test)]\nuse crate::c;\nuse crate::d;", &["d"]),
        ("let quote = '\"'; use crate::d;", &["d"]),
        (
            "fn f<'a>(a: &'a str, b: char) { b == '\\'' } use crate::d;",
            &["d"],
        ),
    ] {
        assert_eq!(named(code), expected, "{code}");
    }
}
