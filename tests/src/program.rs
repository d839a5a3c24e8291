//! Builds the programs under test once, and runs them as a user would, with input and output.

use crate::surroundings::command;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;

/// Returns the path of `z3950` or `z3950d`, built in the profile of the tests.
pub fn path(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(build).join(name)
}

fn build() -> PathBuf {
    // When Cargo builds the integration tests of a package, it also builds the package's programs. `cargo test --workspace` builds
    // the same tests, so the programs have usually been built before this command runs.
    let tests = ["test", "--no-run", "--test", "start", "--test", "program"];
    cargo_build(&tests, &["--bins"])
}

/// Returns the folder with the examples of the libraries, built in the profile of the tests.
pub fn examples() -> PathBuf {
    cargo_build(&["build", "--examples"], &["--examples"]).join("examples")
}

/// Returns the path of an example, built in the profile of the tests. In other profiles, only this example is built.
pub fn example(name: &str) -> PathBuf {
    cargo_build(&["build", "--examples"], &["--example", name])
        .join("examples")
        .join(name)
}

/// Builds programs and returns their folder. In the profile of the tests, it builds the same targets as `cargo test`, with the
/// same features. In other profiles, it builds the same as `cargo build`.
fn cargo_build(in_tests: &[&str], built: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("the test program has a path");
    let directory = test
        .parent()
        .and_then(Path::parent)
        .expect("it lies in PROFILE/deps")
        .to_owned();
    // cargo-nextest starts a process for each test. The first process of a run builds the programs for all of them.
    let run = std::env::var("NEXTEST_RUN_ID").ok();
    let stamp = directory.join(format!("tests-have-built{}", built.join("")));
    if run.is_some() && std::fs::read_to_string(&stamp).ok() == run {
        return directory;
    }
    let profile = match directory.file_name().and_then(OsStr::to_str) {
        Some("debug") | None => "test",
        Some("release") => "bench",
        Some(profile) => profile,
    };
    let target = directory
        .parent()
        .expect("PROFILE lies in the target directory");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Cargo rebuilds a package if environment variables that it depends on have changed. Cargo is therefore run in the
    // environment of the tests, without the variables that cargo itself has set for this test.
    #[expect(clippy::disallowed_methods, reason = "it is no program under test")]
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        let is_set_by_cargo = |text: &str| {
            let prefixes = [
                "CARGO_PKG_",
                "CARGO_MANIFEST_",
                "CARGO_BIN_",
                "CARGO_CRATE_",
            ];
            prefixes.iter().any(|prefix| text.starts_with(prefix))
        };
        if name.to_str().is_some_and(is_set_by_cargo) {
            command.env_remove(name);
        }
    }
    match profile {
        "test" => command.args(in_tests),
        _ => command.arg("build").args(built),
    };
    let status = command
        .args([
            "--quiet",
            "--workspace",
            "--profile",
            profile,
            "--target-dir",
        ])
        .arg(target)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .stdout(Stdio::null())
        .status()
        .expect("cargo starts");
    assert!(status.success(), "cargo builds {built:?}");
    if let Some(run) = run {
        std::fs::write(stamp, run).expect("the build folder takes a file");
    }
    directory
}

/// The output of a program that has ended, and its exit code.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// The standard output, in which octets that are not UTF-8 are replaced with U+FFFD.
    pub stdout: String,
    /// The standard error output, in which octets that are not UTF-8 are replaced with U+FFFD.
    pub stderr: String,
    /// Standard output as octets.
    pub octets: Vec<u8>,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            octets: output.stdout,
        }
    }
}

/// Runs `z3950` with these arguments and empty standard input.
pub fn z3950<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    z3950_fed(arguments, "")
}

/// Runs `z3950` with these arguments and this text on standard input.
pub fn z3950_fed<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
    input: impl AsRef<[u8]>,
) -> Ran {
    run(command(path("z3950")).args(arguments), input)
}

/// Runs a command until it ends, with these octets on standard input.
pub fn run(command: &mut Command, input: impl AsRef<[u8]>) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} starts: {error}"));
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let input = input.as_ref().to_owned();
    // An error means that the program has ended without reading all of its input.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let ran = child.wait_with_output().expect("the program ends").into();
    feeder.join().expect("the input is written");
    ran
}

/// A running `z3950d`, which is stopped when the value is dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    /// The addresses on which the server listens, one for each `--listen`.
    pub addresses: Vec<SocketAddr>,
}

impl Daemon {
    /// Starts `z3950d` with these arguments on a free loopback port, and waits until it listens.
    pub fn start<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Self {
        Self::listening(arguments, &["127.0.0.1:0"])
    }

    /// Starts `z3950d` with these arguments on a free loopback port, and writes its log to a file.
    ///
    /// # Panics
    /// Panics if the file cannot be created.
    pub fn logging<S: AsRef<OsStr>>(
        arguments: impl IntoIterator<Item = S>,
        log: &std::path::Path,
    ) -> Self {
        let mut command = command(path("z3950d"));
        command
            .args(arguments)
            .stderr(File::create(log).expect("a log"));
        Self::run(command, &["127.0.0.1:0"])
    }

    /// Starts `z3950d` with the arguments on the given addresses.
    pub fn listening<S: AsRef<OsStr>>(
        arguments: impl IntoIterator<Item = S>,
        addresses: &[&str],
    ) -> Self {
        let mut command = command(path("z3950d"));
        command.args(arguments);
        Self::run(command, addresses)
    }

    fn run(mut command: Command, addresses: &[&str]) -> Self {
        command.args(addresses.iter().flat_map(|address| ["--listen", address]));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} starts: {error}"));
        let mut lines =
            BufReader::new(child.stdout.take().expect("standard output is piped")).lines();
        let addresses = addresses
            .iter()
            .map(|_| {
                let line = lines
                    .next()
                    .expect("a line for each address")
                    .expect("text");
                let address = line
                    .strip_prefix("listening on ")
                    .unwrap_or_else(|| panic!("unexpected {line:?}"));
                let address = address.strip_prefix("tls:").unwrap_or(address);
                address.parse().expect("an address")
            })
            .collect();
        Self { child, addresses }
    }

    /// Returns the server's first address.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Returns the server's port on the first address.
    pub fn port(&self) -> u16 {
        self.address().port()
    }

    /// Returns the process ID of the server.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the server by name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let status = command("sh")
            .args([
                "-c",
                "kill -s \"$0\" \"$1\"",
                name,
                &self.child.id().to_string(),
            ])
            .status();
        assert!(status.expect("sh starts").success(), "the signal is sent");
    }

    /// Returns the resident memory of the server in octets, from `/proc` on Linux, or 0 on other systems.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let mut lines = status.lines();
        let kib = lines.find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = kib.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
        kib.map_or(0, |kib: u64| kib * 1024)
    }

    /// Returns the number of open file descriptors of the server, from `/proc` on Linux, or 0 on other systems.
    pub fn descriptors(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        open.map_or(0, Iterator::count)
    }

    /// Waits for the server to end.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("the program ends")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // An error means that the test has already stopped the server.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
