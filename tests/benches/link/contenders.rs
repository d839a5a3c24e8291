//! The commands that are measured, and the files that they read and write.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::{Field, iso2709};
use z3950_tests::surroundings::command;

use super::peers::{Catalogue, Peer};
use super::relay::Relay;
use super::{Bench, Figure, LOOKUPS, RECORDS, lookups, table};

/// A command that is measured.
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) command: Vec<PathBuf>,
    /// The files that the command writes, which must be deleted before each run because it would not overwrite them.
    pub(super) files: Vec<PathBuf>,
}

impl Bench {
    pub(super) fn servers(&self) -> Vec<Peer> {
        let catalogue = self.tools.catalogue(RECORDS);
        let servers = [self.tools.z3950d(&catalogue), self.tools.ztest("-S")];
        servers.into_iter().flatten().collect()
    }

    /// Returns a contender for each build of this project's program, created by `contender`.
    pub(super) fn each(&self, contender: impl Fn(&Path) -> Contender) -> Vec<Contender> {
        let builds = self.ours.iter();
        let contenders = builds.map(|(which, program)| {
            let contender = contender(program);
            Contender {
                name: format!("{}{which}", contender.name),
                ..contender
            }
        });
        contenders.collect()
    }

    /// Returns the commands that open a session with a server and show one record from it.
    pub(super) fn one_record(&self, server: &Peer, port: u16) -> Vec<Contender> {
        let (docid, query) = known_item(server, 1);
        let place = place(server, port);
        let mut contenders = self.each(|z3950| {
            let url = format!("z39.50r://{place}?{docid};rs=usmarc");
            Contender::of("z3950 get", z3950, &["get", &url])
        });
        contenders.extend(self.each(|z3950| {
            let identifier = format!("docid:{docid}");
            let arguments = ["lookup", &place, &identifier, "--syntax", "usmarc"];
            Contender::of("z3950 lookup", z3950, &arguments)
        }));
        contenders.extend(self.each(|z3950| {
            let arguments = [
                "search", &place, &query, "--count", "1", "--syntax", "usmarc",
            ];
            Contender::of("z3950 search", z3950, &arguments)
        }));
        contenders.push(self.zoomsh(server, port, &query, 1));
        let script = format!("open {place}\nformat usmarc\nfind {query}\nshow 1\nquit\n");
        let script = self.written(&format!("yaz-client-{port}.txt"), &script);
        let mut command = Contender::of("yaz-client", &self.yaz_client, &["-f"]);
        command.command.push(script);
        contenders.push(command);
        for contender in &contenders {
            contender.shows_a_record();
        }
        contenders.push(self.zoom(server, port, &query, 1, 1));
        contenders
    }

    /// Returns the commands that look up records one after the other.
    pub(super) fn many(
        &self,
        server: &Peer,
        port: u16,
        count: usize,
        sessions: usize,
    ) -> Vec<Contender> {
        let input = self.docids(server, port, count);
        let place = place(server, port);
        let mut contenders = self.each(|z3950| {
            let arguments = [
                "lookup", &place, "--syntax", "usmarc", "--jobs", "1", "--input",
            ];
            let mut command = Contender::of("z3950 lookup --input", z3950, &arguments);
            command.command.push(input.clone());
            command.writes("--output", self.programs.file("many.mrc"));
            command
        });
        let this = std::env::current_exe().expect("this program has a path");
        let mut library = Contender::of("the library", &this, &[lookups::NAME]);
        let (docid, query) = match server.name {
            "z3950d" => ("rec%07d", "@attr 1=1032 @attr 4=104 rec%07d"),
            _ => ("1", "@attr 1=1032 @attr 4=104 1"),
        };
        library.add(&lookup_arguments(server, port, docid, count, sessions));
        contenders.push(library);
        contenders.push(self.zoom(server, port, query, count, sessions));
        contenders
    }

    /// Returns a command that performs concurrent lookups in a single session, as many at once as the session allows.
    pub(super) fn side_by_side(&self, server: &Peer, port: u16) -> Contender {
        let database = server.database;
        let profile = format!(
            "[targets.one]\nhost = \"127.0.0.1\"\nport = {port}\ndatabases = [\"{database}\"]\nsessions = 1\n"
        );
        let targets = self.written(&format!("one-session-{port}.toml"), &profile);
        let (_, z3950) = &self.ours[0];
        let arguments = ["lookup", "one", "--syntax", "usmarc", "--jobs", "8"];
        let mut command = Contender::of("z3950 lookup --jobs 8", z3950, &arguments);
        command.add(&[Path::new("--targets"), &targets]);
        command.add(&[Path::new("--input"), &self.docids(server, port, LOOKUPS)]);
        command.writes("--output", self.programs.file("side-by-side.mrc"));
        command
    }

    /// Writes a file of docids.
    pub(super) fn docids(&self, server: &Peer, port: u16, count: usize) -> PathBuf {
        let mut lines = String::new();
        for number in 1..=count {
            writeln!(lines, "docid:{}", known_item(server, number).0).expect("a String");
        }
        self.written(&format!("docids-{port}.txt"), &lines)
    }

    pub(super) fn zoom(
        &self,
        server: &Peer,
        port: u16,
        query: &str,
        count: usize,
        sessions: usize,
    ) -> Contender {
        let arguments = lookup_arguments(server, port, query, count, sessions);
        let mut command = Contender::new("ZOOM C", &self.programs.zoom);
        command.add(&arguments);
        command
    }

    pub(super) fn zoomsh(&self, server: &Peer, port: u16, query: &str, count: usize) -> Contender {
        let commands = [
            "-e".to_owned(),
            "set preferredRecordSyntax usmarc".to_owned(),
            format!("set count {count}"),
            format!("connect {}", place(server, port)),
            format!("search {query}"),
            format!("show 0 {count}"),
            "quit".to_owned(),
        ];
        let mut command = Contender::new("zoomsh", &self.programs.zoomsh);
        command.add(&commands);
        command
    }

    /// Measures the contenders in turn, once per round, with several runs in a row each time.
    pub(super) fn costs(
        &self,
        contenders: &[Contender],
        rounds: usize,
        times: u32,
        relay: Option<&Relay>,
    ) -> Vec<Vec<Figure>> {
        table::rounds(contenders, rounds, |contender| {
            for file in &contender.files {
                let _ = fs::remove_file(file);
            }
            if let Some(relay) = relay {
                relay.traffic();
            }
            let cost = self.programs.cost(times, &contender.command)?;
            let traffic = relay.map(Relay::traffic).unwrap_or_default();
            Some((cost.wall, traffic))
        })
    }

    /// Writes a file in the working folder.
    pub(super) fn written(&self, name: &str, text: &str) -> PathBuf {
        let file = self.programs.file(name);
        fs::write(&file, text).expect("written");
        file
    }

    /// Returns a copy of the catalogue in which each record has a valid ISBN.
    pub(super) fn with_isbns(&self, catalogue: &Catalogue) -> Catalogue {
        let octets = fs::read(&catalogue.file).expect("the file exists");
        let mut all = Vec::new();
        let found = RecordReader::new(&octets[..], InputForm::Marc).map_while(Result::ok);
        for (number, found) in (1..).zip(found) {
            let mut record = found.record.expect("valid");
            record.fields.retain(|field| field.tag.as_ref() != b"020");
            let isbn = Field::data(b"020", "  ", [("a", isbn(number))]);
            record.fields.push(isbn);
            all.extend(iso2709::encode(&record).expect("fits"));
        }
        let file = self.programs.file("with-isbns.mrc");
        fs::write(&file, &all).expect("written");
        Catalogue {
            file,
            records: catalogue.records,
            octets: all.len() as u64,
            words: catalogue.words.clone(),
            phrase: catalogue.phrase.clone(),
        }
    }
}

impl Contender {
    pub(super) fn new(name: &str, program: &Path) -> Self {
        Self {
            name: name.to_owned(),
            command: vec![program.to_owned()],
            files: Vec::new(),
        }
    }

    pub(super) fn of(name: &str, program: &Path, arguments: &[&str]) -> Self {
        let mut contender = Self::new(name, program);
        contender.add(arguments);
        contender
    }

    pub(super) fn add<S: AsRef<OsStr>>(&mut self, arguments: &[S]) {
        let arguments = arguments.iter().map(|argument| argument.as_ref().into());
        self.command.extend(arguments);
    }

    /// Adds an option whose value is a file that the command writes.
    pub(super) fn writes(&mut self, option: &str, file: PathBuf) {
        self.command.extend([option.into(), file.clone()]);
        self.files.push(file);
    }

    /// Prints a message if the command does not show a record, because a program that fetches nothing would be the fastest.
    pub(super) fn shows_a_record(&self) {
        if let Some((program, arguments)) = self.command.split_first() {
            let output = command(program).args(arguments).output();
            let output = output.expect("the program starts");
            if !String::from_utf8_lossy(&output.stdout).contains("245") {
                println!("{} shows no record: {output:?}", self.name);
            }
        }
    }
}

pub(super) fn place(server: &Peer, port: u16) -> String {
    format!("127.0.0.1:{port}/{}", server.database)
}

/// Returns the docid of a record and a query for it; with yaz-ztest, a numeric term is the number of hits.
pub(super) fn known_item(server: &Peer, number: usize) -> (String, String) {
    let docid = match server.name {
        "z3950d" => format!("rec{:07}", 1 + (number - 1) % RECORDS),
        _ => "1".to_owned(),
    };
    let query = format!("@attr 1=1032 @attr 4=104 {docid}");
    (docid, query)
}

/// Returns the arguments of the program `lookups`, which are the same for its versions in C and in Rust.
pub(super) fn lookup_arguments(
    server: &Peer,
    port: u16,
    item: &str,
    count: usize,
    sessions: usize,
) -> [String; 6] {
    let [count, sessions, records] = [count, sessions, RECORDS].map(|number| number.to_string());
    let host = format!("127.0.0.1:{port}");
    [
        host,
        server.database.to_owned(),
        item.to_owned(),
        count,
        sessions,
        records,
    ]
}

/// Returns the valid ISBN made from a number.
pub(super) fn isbn(number: usize) -> String {
    let digits = format!("978{number:09}");
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = digits
        .bytes()
        .zip(weights)
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}
