//! Checks that each published package has the metadata and files that its users need.

use std::collections::BTreeSet;
use std::process::Command;

use crate::source::{read, root};

/// Returns the folders of the workspace members that are published.
fn published() -> Vec<String> {
    let manifest = read(&root().join("Cargo.toml"));
    let members = manifest
        .lines()
        .find_map(|line| line.strip_prefix("members = "))
        .expect("the members of the workspace");
    let folders = members.split('"').skip(1).step_by(2);
    let folders: Vec<String> = folders
        .filter(|folder| !manifest_of(folder).contains("\npublish = false\n"))
        .map(str::to_owned)
        .collect();
    assert!(folders.len() > 5, "the published packages are found");
    folders
}

fn manifest_of(folder: &str) -> String {
    read(&root().join(folder).join("Cargo.toml"))
}

/// Returns the value of a key in the table `[package]`, without quotation marks or brackets.
fn value<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = manifest.lines().take_while(|line| *line != "[features]");
    let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
    Some(value.trim_matches(['"', '[', ']']))
}

#[test]
fn audit_r_l14_manifests_have_the_metadata_that_a_registry_shows() {
    let mut lists = BTreeSet::new();
    for folder in published() {
        let manifest = manifest_of(&folder);
        let value = |key| {
            value(&manifest, key).unwrap_or_else(|| panic!("{folder}: {key} is in the manifest"))
        };
        assert!(value("description").len() > 20, "{folder}");
        let keywords: Vec<&str> = value("keywords").split(", ").collect();
        // These are the limits of crates.io.
        assert!(keywords.len() <= 5, "{folder}: {keywords:?}");
        assert!(
            keywords.iter().all(|keyword| keyword.len() <= 22),
            "{folder}: {keywords:?}"
        );
        assert!(value("categories").split(", ").count() <= 5, "{folder}");
        assert!(
            lists.insert(keywords.join(" ")),
            "{folder} has the keywords of another package"
        );
        assert!(manifest.contains("\nlicense.workspace = true\n"));
        let is_library = root().join(&folder).join("src/lib.rs").exists();
        let all_features = "\n[package.metadata.docs.rs]\nall-features = true\n";
        assert_eq!(manifest.contains(all_features), is_library, "{folder}");
    }
}

#[test]
fn audit_r_l14_packages_contain_their_readme_and_the_licences() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for folder in published() {
        let path = root().join(&folder);
        #[expect(clippy::disallowed_methods, reason = "it is no program under test")]
        let listed = Command::new(&cargo)
            .args(["package", "--list", "--allow-dirty", "--offline"])
            .current_dir(&path)
            .output()
            .expect("cargo starts");
        let said = String::from_utf8_lossy(&listed.stderr);
        assert!(listed.status.success(), "{folder}: {said}");
        let files = String::from_utf8_lossy(&listed.stdout);
        for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(files.lines().any(|file| file == name), "{folder}: {name}");
        }
        // The files are copies and not links, because some systems and archives do not support links.
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(
                read(&path.join(name)) == read(&root().join(name)),
                "{folder}/{name} differs from the licence of the project"
            );
        }
    }
}

#[test]
fn audit_r_l14_readmes_begin_with_a_program_and_have_no_dead_links() {
    for folder in published() {
        let readme = read(&root().join(&folder).join("README.md"));
        let manifest = manifest_of(&folder);
        let name = value(&manifest, "name").expect("a name");
        let mut lines = readme.lines();
        assert_eq!(lines.next(), Some(format!("# {name}").as_str()), "{folder}");
        assert!(
            lines.take(6).any(|line| line.starts_with("```")),
            "{folder}/README.md begins with a program"
        );
        // A registry shows this page without the surrounding folders, so relative links would not work.
        for target in readme.split("](").skip(1) {
            assert!(
                target.starts_with("https://") || target.starts_with('#'),
                "{folder}/README.md has a link to {target:.40}"
            );
        }
    }
}
