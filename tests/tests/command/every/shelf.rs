//! The folder in which the examples of the help run. It contains the files that they use, and serves as their home directory.

use std::process::{Command, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;
use z3950::service::init;
use z3950_asn1::codec::encode;
use z3950_marc::{Field, MarcRecord, iso2709};
use z3950_tests::program::{self, Daemon, Ran, z3950};
use z3950_tests::surroundings::command;
use z3950_tests::{hex, peer};

pub(super) struct Shelf {
    folder: TempDir,
}

impl Shelf {
    /// Creates a new folder with all the files.
    pub(super) fn new() -> Self {
        static FILES: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(files);
        let folder = tempfile::tempdir().expect("a folder");
        for (name, octets) in FILES.iter() {
            let path = folder.path().join(name);
            let within = path.parent().expect("the folder");
            std::fs::create_dir_all(within).expect("a folder");
            std::fs::write(path, octets).expect("written");
        }
        Self { folder }
    }

    /// Returns a command that runs a line in a shell in the folder, without input, or `None` if a program in the line is missing.
    pub(super) fn command(&self, line: &str) -> Option<Command> {
        if line.starts_with("tshark ") {
            peer::find("tshark")?;
        }
        let program = program::path("z3950");
        let programs = program.parent().expect("a folder").display().to_string();
        let others = std::env::var("PATH").unwrap_or_default();
        let home = self.folder.path();
        let mut command = command("sh");
        command
            .args(["-c", line])
            .current_dir(home)
            .env("PATH", format!("{programs}:{others}"))
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_DATA_HOME", home.join("data"))
            .stdin(Stdio::null());
        Some(command)
    }

    /// Runs the line until it ends, or returns `None` if a program in the line is missing.
    pub(super) fn run(&self, line: &str) -> Option<Ran> {
        let output = self.command(line)?.output().expect("sh starts");
        Some(output.into())
    }
}

/// Returns the names and contents of the files.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let init = encode(&init::offer().into()).expect("encodes");
    vec![
        ("records.mrc", records("localhost/books", "ti:war")),
        ("held.mrc", records("localhost/books", "ti:war")),
        ("new.mrc", records("localhost/serials", "ti:american")),
        (
            "ids.txt",
            b"isbn:0-14-143951-3\n# no identifier\ndocid:pg1342\n".into(),
        ),
        (
            "books.csv",
            b"title,isbn\r\n\"Pride, and prejudice\",0-14-143951-3\r\n".into(),
        ),
        (
            "old.mrc",
            iso2709::encode(&MarcRecord {
                fields: vec![Field::data(b"020", "  ", [("a", "0141439513 (pbk.)")])],
                ..MarcRecord::default()
            })
            .expect("fits"),
        ),
        (
            "early.mrc",
            iso2709::encode(&MarcRecord {
                fields: vec![
                    Field::data(b"100", "1 ", [("a", "Austen, Jane")]),
                    Field::data(b"245", "10", [("a", "Pride and prejudice /")]),
                ],
                ..MarcRecord::default()
            })
            .expect("fits"),
        ),
        (
            "urls.txt",
            b"z39.50r://localhost/books?pg1342\nz39.50r://localhost/books?pg2554\n".into(),
        ),
        (
            "page.html",
            b"<p><a href='z39.50r://lib.example/cat?id7'>a record</a></p>".into(),
        ),
        (
            "config/z3950/targets.toml",
            b"[targets.oldlib]\nhost = \"old.example\"\n".into(),
        ),
        ("capture.hex", hex::digits(&init).into()),
        ("said.pcap", packet(&init)),
        ("said.jsonl", transcript()),
    ]
}

/// Returns the transcript of a session, written by z3950d.
fn transcript() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("said.jsonl");
    let daemon = Daemon::start(["--demo".as_ref(), "--transcript".as_ref(), path.as_os_str()]);
    let url = format!("z39.50r://{}/books?pg1342", daemon.address());
    assert_eq!(z3950(["get", &url]).code, Some(0));
    drop(daemon);
    std::fs::read(&path).expect("a transcript")
}

/// Returns records from the built-in catalogue.
fn records(target: &str, query: &str) -> Vec<u8> {
    let found = z3950(["--demo", "search", target, "--format", "marc", query]);
    assert_eq!(found.code, Some(0), "{found:?}");
    found.octets
}

/// Returns a capture file in libpcap's format with raw IPv4. It contains one packet with these octets for port 210.
fn packet(octets: &[u8]) -> Vec<u8> {
    let length = u16::try_from(40 + octets.len()).expect("a packet");
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 0xffff, 101, 0, 0] {
        file.extend(word.to_be_bytes());
    }
    file.extend(u32::from(length).to_be_bytes().repeat(2));
    file.extend([0x45, 0]);
    file.extend(length.to_be_bytes());
    file.extend([0, 1, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
    file.extend([
        0x0f, 0xa0, 0, 210, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0,
    ]);
    file.extend(octets);
    file
}
