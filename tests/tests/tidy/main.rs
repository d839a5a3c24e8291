//! Checks the structure of the code base: the permitted dependencies between packages, the files published with each package,
//! the length of files, and the contents of the top folder.

mod layers;
mod packages;
mod source;

use std::fs;

use source::{read, root, sources};

/// The maximum number of lines in a source file.
const MAX_LINES: usize = 700;

/// Returns the names in these dependency tables of a package's manifest.
fn dependencies(package: &str, tables: &[&str]) -> Vec<String> {
    let manifest = read(&root().join(package).join("Cargo.toml"));
    let mut wanted = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if let Some(table) = line.strip_prefix('[') {
            wanted = tables.contains(&table.trim_end_matches(']'));
        } else if wanted
            && let Some(name) = line
                .split(['.', ' ', '='])
                .next()
                .filter(|name| !name.is_empty())
        {
            names.push(name.to_owned());
        }
    }
    names
}

#[test]
fn packages_only_use_lower_packages() {
    for (package, forbidden) in [
        (
            "asn1/marc",
            &[
                "z3950-asn1",
                "z3950",
                "z3950-server",
                "rasn",
                "tokio",
                "tracing",
                "clap",
            ][..],
        ),
        (
            "asn1/files",
            &[
                "z3950-marc",
                "z3950-asn1",
                "z3950",
                "z3950-server",
                "rasn",
                "tokio",
                "tracing",
                "clap",
            ],
        ),
        (
            "asn1",
            &[
                "z3950-files",
                "z3950",
                "z3950-server",
                "tokio",
                "tracing",
                "clap",
            ],
        ),
        ("server", &["z3950", "rasn", "clap"]),
        ("server/front", &["rasn", "clap"]),
        ("server/cli", &["z3950", "rasn", "axum", "askama"]),
        ("client", &["z3950-server", "rasn", "clap"]),
        ("client/cli", &["rasn"]),
        (
            "client/cli/help",
            &["z3950", "z3950-asn1", "z3950-server", "rasn", "tokio"],
        ),
        ("tests/judge", &["z3950-front", "rasn", "clap"]),
        ("tests", &["rasn"]),
    ] {
        // The examples and tests of the client may use the server, and vice versa, so the dev-dependencies of these packages are
        // not examined.
        let tables: &[&str] = match package {
            "client" | "server" => &["dependencies", "build-dependencies"],
            _ => &["dependencies", "dev-dependencies", "build-dependencies"],
        };
        let used = dependencies(package, tables);
        assert!(!used.is_empty(), "{package} names its dependencies");
        for name in forbidden {
            assert!(
                !used.iter().any(|used| used == name),
                "{package} uses {name}"
            );
        }
    }
}

#[test]
fn only_the_codec_and_the_types_call_rasn() {
    let mut files = Vec::new();
    sources(&root().join("asn1/src"), &mut files);
    for path in files {
        let text = read(&path);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let codec = ["codec.rs", "codec/value.rs", "apdu/rpn.rs"]
            .iter()
            .any(|codec| path.ends_with(codec));
        assert!(
            codec || !code.contains("rasn::ber"),
            "{} calls rasn::ber",
            path.display()
        );
    }
}

#[test]
fn versions_are_in_the_root_manifest_only() {
    for package in [
        "asn1",
        "asn1/files",
        "asn1/marc",
        "client",
        "client/cli",
        "client/cli/help",
        "server",
        "server/front",
        "server/cli",
        "tests/judge",
        "tests",
    ] {
        let manifest = read(&root().join(package).join("Cargo.toml"));
        let (dependencies, _) = manifest
            .split_once("[package.metadata")
            .unwrap_or((&manifest, ""));
        let versioned = dependencies.lines().find(|line| {
            line.contains("= \"")
                && line.contains(|c: char| c.is_ascii_digit())
                && !line.starts_with("name")
                && !line.starts_with("description")
                && !line.starts_with("documentation")
                && !line.starts_with("path")
                && !line.contains("{ path = \".")
        });
        assert_eq!(versioned, None, "{package}");
    }
}

#[test]
fn files_have_a_readable_length_and_begin_with_a_description() {
    let mut files = Vec::new();
    for package in ["asn1", "client", "server", "tests"] {
        sources(&root().join(package), &mut files);
    }
    assert!(files.len() > 80, "the sources are found");
    for path in files {
        let text = read(&path);
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines", path.display());
        let first = text.lines().find(|line| !line.starts_with("#!["));
        assert!(
            first.is_some_and(|line| line.starts_with("//!")),
            "{} does not say what it is",
            path.display()
        );
    }
}

#[test]
fn the_top_level_matches_the_design() {
    const ALLOWED: [&str; 14] = [
        "Cargo.toml",
        "Cargo.lock",
        "asn1",
        "client",
        "server",
        "tests",
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "target",
    ];
    for entry in fs::read_dir(root()).expect("the workspace").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(
            name.starts_with('.') || ALLOWED.contains(&name.as_str()),
            "{name} is at the top level"
        );
    }
}
