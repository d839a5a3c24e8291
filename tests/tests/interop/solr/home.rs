//! Runs `z3950d` with a database in Solr in the same way as a site would run it.

use std::process::Command;

use tempfile::TempDir;
use z3950_tests::peer;
use z3950_tests::program::{self, Daemon, Ran, run, z3950};
use z3950_tests::surroundings::command;

/// A folder with settings of `z3950d`.
pub(super) struct Home {
    folder: TempDir,
}

impl Home {
    /// Writes settings for the database `town` at these addresses, with additional lines.
    pub(super) fn new(addresses: &[String], lines: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Self { folder };
        home.set(addresses, lines);
        home
    }

    pub(super) fn set(&self, addresses: &[String], lines: &str) {
        let settings = format!("[[database]]\nname = \"town\"\nengine = {addresses:?}\n{lines}\n");
        self.write("z3950d.toml", &settings);
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("written");
    }

    /// Writes a copy of VuFind's map that `change` has modified, and names it in the settings.
    pub(super) fn with_map(addresses: &[String], change: impl Fn(String) -> String) -> Self {
        let home = Self::new(addresses, "catalogue = \"own.toml\"");
        let printed = home.run(&["--print-map", "vufind"]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        home.write("own.toml", &change(printed.stdout));
        home
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(program::path("z3950d"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        run(&mut self.command(arguments), "")
    }

    pub(super) fn check(&self) -> Ran {
        self.run(&["--config", "z3950d.toml", "--check"])
    }

    pub(super) fn serve(&self) -> Served {
        let settings = self.folder.path().join("z3950d.toml");
        Served(Daemon::start([
            "--config",
            settings.to_str().expect("text"),
        ]))
    }
}

/// A server with the database `town`.
pub(super) struct Served(Daemon);

impl Served {
    pub(super) fn target(&self) -> String {
        format!("{}/town", self.0.address())
    }

    /// Returns the number of records that a query finds.
    pub(super) fn count(&self, query: &str) -> usize {
        let ran = z3950(["search", &self.target(), query, "--count", "0"]);
        let count = ran
            .stdout
            .split(' ')
            .next()
            .and_then(|word| word.parse().ok());
        count.unwrap_or_else(|| panic!("{query}: {ran:?}"))
    }

    /// Runs commands in yaz-client, or returns `None` if it is not installed.
    pub(super) fn yaz(&self, commands: &str) -> Option<String> {
        let client = peer::find("yaz-client")?;
        let commands = format!("open {}\n{commands}\nquit\n", self.target());
        Some(run(&mut command(client), &commands).stdout)
    }

    /// Returns the HTTP response for a path, or `None` if curl is not installed.
    pub(super) fn http(&self, path: &str, fields: &[&str]) -> Option<String> {
        let client = peer::find("curl")?;
        let mut command = command(client);
        command.args(["--silent", "--get"]);
        for field in fields {
            command.args(["--data-urlencode", field]);
        }
        command.arg(format!("http://{}/{path}", self.0.address()));
        Some(run(&mut command, "").stdout)
    }

    /// Returns the SRU response for a query, or `None` if curl is not installed.
    pub(super) fn sru(&self, cql: &str, fields: &[&str]) -> Option<String> {
        let query = format!("query={cql}");
        self.http("town", &[&["version=2.0", &query], fields].concat())
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.target())
    }
}

/// Checks that the texts appear in this order.
pub(super) fn check(printed: &str, expected: &[&str]) {
    let mut rest = printed;
    for text in expected {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} is not in\n{rest}\nof\n{printed}")
        };
        rest = after;
    }
}
