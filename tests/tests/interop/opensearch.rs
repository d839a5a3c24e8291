//! Tests of `z3950d` in front of real OpenSearch nodes.

mod compared;
mod failures;
mod gapless;
mod growing;
mod interference;
mod loads;
mod near;
mod phases;
mod queries;
mod reloads;
pub(super) mod secure;
mod served;
mod setup;
mod strangers;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use z3950_marc::{iso2709, mrk};
use z3950_tests::opensearch::gate::Gate;
use z3950_tests::opensearch::{Cluster, own_index};
use z3950_tests::program::{self, Ran, run};
use z3950_tests::surroundings::command;

/// An index for a test, and a folder with the settings with which `z3950d` uses the index.
struct Home<'c> {
    cluster: &'c Cluster,
    index: String,
    folder: TempDir,
}

impl<'c> Home<'c> {
    /// Creates the folder with settings, but not the index.
    fn new(cluster: &'c Cluster, name: &str) -> Self {
        let home = Self {
            cluster,
            index: own_index(name),
            folder: tempfile::tempdir().expect("a folder"),
        };
        home.set("");
        home
    }

    /// Writes the settings for the index, with these additional lines for the database.
    fn set(&self, lines: &str) {
        let settings = self.cluster.settings(&self.index, lines);
        std::fs::write(self.settings(), settings).expect("written");
    }

    /// Writes the settings for a gate in front of a node, with these lines for the database.
    fn set_gate(&self, gate: &Gate, lines: &str) {
        let url = format!("http://127.0.0.1:{}/{}", gate.port, self.index);
        let text = format!("[[database]]\nname = \"books\"\nengine = {url:?}\n{lines}\n");
        std::fs::write(self.settings(), text).expect("written");
    }

    fn settings(&self) -> PathBuf {
        self.folder.path().join("z3950d.toml")
    }

    /// Returns a `z3950d` command with these settings.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(program::path("z3950d"));
        let (subcommand, options) = arguments.split_at(usize::from(!arguments[0].starts_with('-')));
        command
            .args(subcommand)
            .arg("--config")
            .arg(self.settings());
        command.args(options).current_dir(self.folder.path());
        command
    }

    /// Runs `z3950d` with these settings.
    fn run(&self, arguments: &[&str]) -> Ran {
        run(&mut self.command(arguments), "")
    }

    /// Writes a file with records that have these numbers. Each record has the number as its identifier, and a title that
    /// consists of the word and the number.
    fn write(&self, name: &str, word: &str, numbers: impl IntoIterator<Item = usize>) {
        let texts = numbers.into_iter().map(|number| {
            format!("=LDR  00000nam a2200000 a 4500\n=001  {number}\n=245  10$a{word} {number}\n\n")
        });
        self.write_mrk(name, &texts.collect::<String>());
    }

    /// Writes a file with the records in this MARCMaker text.
    fn write_mrk(&self, name: &str, text: &str) {
        let records = mrk::parse_all(text).expect("records");
        let octets = records
            .iter()
            .flat_map(|record| iso2709::encode(record).expect("fits"));
        std::fs::write(self.file(name), octets.collect::<Vec<u8>>()).expect("written");
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(self.folder.path()).join(name)
    }

    /// Returns the number of records that a query in the engine's syntax finds, such as `t_title:war`.
    fn count(&self, query: &str) -> u64 {
        let path = format!("/{}/_count?q={query}", self.index);
        let (status, answer) = self.cluster.ask("GET", &path, "");
        assert_eq!(status, 200, "{answer}");
        answer["count"].as_u64().expect("a count")
    }

    /// Returns the names of all indexes that z3950d has created for the alias.
    fn indexes(&self) -> Vec<String> {
        let path = format!("/{}-*?expand_wildcards=all", self.index);
        let (status, answer) = self.cluster.ask("GET", &path, "");
        assert_eq!(status, 200, "{answer}");
        answer
            .as_object()
            .expect("indexes")
            .keys()
            .cloned()
            .collect()
    }

    /// Returns the name of the index to which the alias points, and the settings of this index.
    fn state(&self) -> (String, Value) {
        let (status, answer) = self.cluster.ask("GET", &format!("/{}", self.index), "");
        assert_eq!(status, 200, "{answer}");
        let indexes = answer.as_object().expect("indexes");
        assert_eq!(indexes.len(), 1, "{answer}");
        let (name, state) = indexes.iter().next().expect("one");
        (name.clone(), state["settings"]["index"].clone())
    }

    /// Changes settings of the index.
    fn change(&self, settings: &str) {
        let path = format!("/{}/_settings", self.index);
        let (status, answer) = self.cluster.ask("PUT", &path, settings);
        assert_eq!(status, 200, "{answer}");
    }
}

/// Checks that a program ended with this exit code and printed these words.
fn assert_ran(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for words in words {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
}
