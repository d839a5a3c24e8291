//! Tests what `engine-config` and `load` make of the settings on the page about search engines, `server/docs/engine.md`.

use std::fs;
use std::path::Path;

use z3950_marc::mrk;
use z3950_tests::program::{self, run};
use z3950_tests::surroundings::command;

use super::{BOOKS, write};

const PAGE: &str = include_str!("../../../../server/docs/engine.md");

/// Returns the first code block of this kind under a heading.
fn block(heading: &str, kind: &str) -> &'static str {
    let (_, section) = PAGE.split_once(heading).expect(heading);
    let (_, block) = section.split_once(&format!("```{kind}\n")).expect(kind);
    block.split_once("```").expect("an end").0
}

/// Runs `engine-config` or `load` in a folder, which must fail; returns what it prints.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let mut command = command(program::path("z3950d"));
    let ran = run(command.args(arguments).current_dir(folder), "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    ran.stderr
}

#[test]
fn each_replica_has_a_configuration_and_the_settings_name_the_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let replicas = block("## Three nodes", "toml");
    fs::write(folder.join("z3950d.toml"), replicas).expect("written");
    let mut command = command(program::path("z3950d"));
    command.args([
        "engine-config",
        "--config",
        "z3950d.toml",
        "--output",
        "engine",
    ]);
    let ran = run(command.current_dir(folder), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for (name, listens) in [
        ("distributor-1", "listen = 10.0.0.1:9306:mysql41"),
        ("distributor-2", "listen = 10.0.0.2:9306:mysql41"),
        ("node-1", "listen = 10.0.0.1:9401:mysql41"),
        ("node-3", "listen = 10.0.0.3:9401:mysql41"),
    ] {
        let path = folder.join(format!("engine/{name}.conf"));
        let text = fs::read_to_string(path).expect(name);
        assert!(text.contains(listens), "{name}: {text}");
    }
    let again = refused(
        folder,
        &[
            "engine-config",
            "--config",
            "z3950d.toml",
            "--output",
            "engine",
        ],
    );
    assert!(again.contains("--overwrite"), "{again}");
    let two = "[[database]]\nname = \"other\"\nengine = \"sphinxql://10.0.0.9:9306/books\"\n";
    fs::write(folder.join("two.toml"), replicas.to_owned() + two).expect("written");
    fs::write(
        folder.join("misspelt.toml"),
        replicas.to_owned() + "sort = [\"titel\"]\n",
    )
    .expect("written");
    write(
        folder,
        "present.mrc",
        &mrk::parse_all(BOOKS).expect("records"),
    );
    let other = "sphinxql://10.0.0.3:9306/books";
    for (arguments, expected) in [
        (&["load", "a.mrc"][..], "give the nodes"),
        (&["engine-config"], "give the nodes"),
        (
            &["engine-config", "--nodes", "a"],
            "--nodes: expected the address of a node",
        ),
        (
            &["engine-config", "--nodes", "127.0.0.1:9401,127.0.0.1:9402"],
            "127.0.0.1:9401 and 127.0.0.1:9402 are one port apart",
        ),
        (
            &["load", "--nodes", "[::1]:9401,127.0.0.1:65535", "a.mrc"],
            "no IPv6; give an address of IPv4, or a name; 127.0.0.1:65535: ",
        ),
        (
            &[
                "engine-config",
                "--engine",
                "sphinxql://127.0.0.1:9402/books",
                "--nodes",
                "127.0.0.1:9401",
            ],
            "127.0.0.1:9401 and 127.0.0.1:9402 are one port apart",
        ),
        (
            &[
                "engine-config",
                "--engine",
                "sphinxql://[::1]:9306/books",
                "--nodes",
                "127.0.0.1:9401",
            ],
            "[::1]:9306: Sphinx Search 2.2 has no IPv6",
        ),
        (
            &["load", "--config", "two.toml", "a.mrc"],
            "name one by --engine",
        ),
        (
            &["load", "--config", "two.toml", "--engine", other, "a.mrc"],
            "no database of the settings",
        ),
        (
            &[
                "load",
                "--config",
                "two.toml",
                "--engine",
                "sphinxql://10.0.0.9:9306/books",
                "a.mrc",
            ],
            "give the nodes",
        ),
        (
            &["load", "--config", "z3950d.toml", "a.mrc"],
            "cannot read a.mrc",
        ),
        (
            &["load", "--nodes", "127.0.0.1:9401", "present.mrc", "a.mrc"],
            "cannot read a.mrc",
        ),
        (&["load", "--config", "absent.toml", "a.mrc"], "absent.toml"),
        (
            &["--config", "misspelt.toml", "--check"],
            "misspelt.toml:6:9: [[database]] sort: there is no index titel",
        ),
    ] {
        let words = refused(folder, arguments);
        assert!(words.contains(expected), "{arguments:?}: {words}");
    }
}
