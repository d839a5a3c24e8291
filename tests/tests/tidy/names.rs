//! One meaning for each type name.

use std::collections::BTreeMap;

use crate::source::product;

/// How many types may share a name.
const MAX_TYPES: usize = 2;

/// Names that are understood as part of their module.
const LOCAL: [&str; 5] = ["Arguments", "Builder", "Error", "Kind", "Options"];

/// The folders whose types are named after the standard's productions.
const PRODUCTIONS: [&str; 4] = ["apdu", "es", "format", "record"];

const PACKAGES: [&str; 8] = [
    "asn1/marc",
    "asn1",
    "client",
    "client/cli",
    "server",
    "server/front",
    "server/cli",
    "tests/judge",
];

#[test]
fn a_type_name_has_one_meaning() {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in PACKAGES {
        for file in product(package) {
            let is_production = file
                .module
                .first()
                .is_some_and(|module| package == "asn1" && PRODUCTIONS.contains(&module.as_str()));
            for name in type_names(&file.code) {
                if !is_production && !LOCAL.contains(&name) {
                    let path = file.path.display().to_string();
                    types.entry(name.to_owned()).or_default().push(path);
                }
            }
        }
    }
    types.retain(|_, files| files.len() > MAX_TYPES);
    assert!(types.is_empty(), "{types:#?}");
}

/// The names of the types that code defines, except those in an `impl` or a trait.
fn type_names(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in code.lines() {
        let line = line.trim_start();
        let is_inside = line.starts_with("type ") && !code.contains(&format!("\n{line}"));
        let line = line.strip_prefix("pub ").unwrap_or(line);
        let line = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ").map_or("", |(_, rest)| rest),
            None => line,
        };
        let mut words = line.splitn(2, ' ');
        let keyword = words.next().unwrap_or_default();
        if !["struct", "enum", "trait", "type", "union"].contains(&keyword) || is_inside {
            continue;
        }
        let rest = words.next().unwrap_or_default();
        let end = rest
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(rest.len());
        names.extend(rest.get(..end).filter(|name| !name.is_empty()));
    }
    names
}

#[test]
fn types_are_found_in_code() {
    let code = "struct A;\npub(crate) enum B<T> {}\npub trait C: D {}\nimpl C for A {\n    type E = u8;\n}\ntype F = A;\n";
    assert_eq!(type_names(code), ["A", "B", "C", "F"]);
}
