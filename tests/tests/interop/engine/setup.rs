//! Tests the page on search engines, `server/docs/engine.md`, by following it in an empty folder, with other ports.

use std::fs;
use std::path::Path;

use z3950_marc::mrk;
use z3950_tests::peer;
use z3950_tests::ports::pairs_of_ports;
use z3950_tests::program::{self, Daemon, run};
use z3950_tests::surroundings::command;

use super::{BOOKS, EVERYTHING, found, write};

const PAGE: &str = include_str!("../../../../server/docs/engine.md");

/// Returns the first code block of this kind under a heading.
fn block(heading: &str, kind: &str) -> &'static str {
    let (_, section) = PAGE.split_once(heading).expect(heading);
    let (_, block) = section.split_once(&format!("```{kind}\n")).expect(kind);
    block.split_once("```").expect("an end").0
}

/// A folder with the servers of an engine, which are stopped when the value is dropped.
struct SetUp(tempfile::TempDir);

impl Drop for SetUp {
    fn drop(&mut self) {
        for file in fs::read_dir(self.0.path().join("engine"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if file
                .path()
                .extension()
                .is_some_and(|extension| extension == "conf")
            {
                // An error means that the server has not started.
                let _ = run(
                    command("searchd")
                        .arg("--stopwait")
                        .arg("--config")
                        .arg(file.path()),
                    "",
                );
            }
        }
    }
}

#[test]
fn the_page_is_followed() {
    if peer::find("searchd").is_none() || peer::find("yaz-client").is_none() {
        return;
    }
    for (heading, nodes) in [("## One node", 1), ("## Three nodes", 3)] {
        let set_up = SetUp(tempfile::tempdir().expect("a folder"));
        let folder = set_up.0.path();
        write(
            folder,
            "records.mrc",
            &mrk::parse_all(BOOKS).expect("records"),
        );
        let ports = pairs_of_ports(nodes + 1);
        let mut commands = block(heading, "sh").to_owned();
        for (known, port) in ["9306", "9401", "9411", "9421"].into_iter().zip(&ports) {
            commands = commands.replace(known, &port.to_string());
        }
        // Commands that need root, and the server itself, are left out.
        let commands = commands
            .lines()
            .filter(|line| !line.starts_with("apt-get") && !line.starts_with("z3950d --config"));
        let commands: Vec<&str> = commands.collect();
        let path = program::path("z3950d");
        let path = path.parent().expect("a folder").display().to_string();
        let path = format!("{path}:{}", std::env::var("PATH").expect("a path"));
        let mut shell = command("sh");
        shell
            .args(["-e", "-c", &commands.join("\n")])
            .env("PATH", path);
        // The servers started by the script would keep a pipe open, so they write to a log file.
        let log = fs::File::create(folder.join("log")).expect("a log");
        let copy = log.try_clone().expect("a copy");
        let ended = shell.current_dir(folder).stdout(log).stderr(copy).status();
        let log = || fs::read_to_string(folder.join("log"));
        assert!(
            ended.expect("sh starts").success(),
            "{heading}: {:?}",
            log()
        );
        let settings = folder.join("z3950d.toml");
        let daemon = Daemon::start(["--config", settings.to_str().expect("text")]);
        let place = format!("{}/books", daemon.address());
        assert_eq!(found(&place, &[EVERYTHING.to_owned()]), ["3"], "{heading}");
    }
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
            "misspelt.toml:5: [[database]] sort: there is no index titel",
        ),
    ] {
        let words = refused(folder, arguments);
        assert!(words.contains(expected), "{arguments:?}: {words}");
    }
}
