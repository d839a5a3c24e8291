//! A running `z3950d`, and a client by hand.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use z3950_asn1::apdu::{
    Apdu, DatabaseName, InitializeRequest, Options, ProtocolVersion, Query, SearchRequest,
};
use z3950_asn1::codec::frame::Scanner;
use z3950_asn1::codec::{decode, encode};
use z3950_asn1::optional::Unknown;

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_z3950d"))
}

pub(crate) fn ran(arguments: &[&str]) -> Output {
    let output = program().args(arguments).output();
    output.expect("the program runs")
}

/// A running program, killed when this is dropped.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    /// The address that it prints.
    pub(crate) listening: String,
}

impl Daemon {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::telling(arguments, Stdio::null())
    }

    /// Like [`Daemon::start`], with standard error captured.
    pub(crate) fn telling(arguments: &[&str], stderr: Stdio) -> Self {
        let mut child = program()
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let listening = line.trim_end().strip_prefix("listening on ");
        Self {
            listening: listening.unwrap_or_else(|| panic!("{line:?}")).to_owned(),
            child,
        }
    }

    /// Starts the program, with its standard error as lines.
    pub(crate) fn heard(arguments: &[&str]) -> (Self, Words) {
        let mut daemon = Self::telling(arguments, Stdio::piped());
        let stderr = daemon.child.stderr.take().expect("piped");
        (daemon, Words::of(stderr))
    }

    /// The answers to Init and the requests.
    pub(crate) fn converse(&self, requests: &[Apdu]) -> Vec<Apdu> {
        let mut stream = TcpStream::connect(&self.listening).expect("a connection");
        let limit = Some(Duration::from_secs(10));
        stream.set_read_timeout(limit).expect("a time limit");
        let mut answers = Vec::new();
        for request in std::iter::once(&init()).chain(requests) {
            let octets = encode(request).expect("encodes");
            stream.write_all(&octets).expect("the server listens");
            answers.push(answer(&mut stream));
        }
        answers
    }

    /// How many records are found.
    pub(crate) fn hits(&self, database: &str, query: &str) -> i64 {
        match self.converse(&[search(database, query)]).pop() {
            Some(Apdu::SearchResponse(search)) => search.result_count,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.expect("kill runs").success());
    }
}

/// What a program writes, line by line.
pub(crate) struct Words(Receiver<String>);

impl Words {
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(stream).lines();
            for line in lines.map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        Self(lines)
    }

    /// The next line, without the name of the program.
    pub(crate) fn line(&self) -> String {
        let line = self.0.recv_timeout(PATIENCE).expect("a line");
        line.strip_prefix("z3950d: ").unwrap_or(&line).to_owned()
    }

    /// The lines up to one that contains `end`.
    pub(crate) fn until(&self, end: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.0.recv_timeout(PATIENCE) {
                Ok(line) => lines.push(line.strip_prefix("z3950d: ").unwrap_or(&line).to_owned()),
                Err(error) => panic!("no line with {end:?}: {error}: {lines:#?}"),
            }
            if lines.last().is_some_and(|line| line.contains(end)) {
                return lines;
            }
        }
    }
}

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn answer(stream: &mut TcpStream) -> Apdu {
    let mut octets = Vec::new();
    let mut scanner = Scanner::new(1 << 20);
    loop {
        let mut more = [0; 4096];
        let count = stream.read(&mut more).expect("an answer in time");
        assert!(count > 0, "the connection ended after {octets:x?}");
        octets.extend(&more[..count]);
        if scanner.scan(&octets).expect("an APDU").is_some() {
            return decode(&octets).expect("an APDU");
        }
    }
}

pub(crate) fn init() -> Apdu {
    InitializeRequest {
        reference_id: None,
        protocol_version: ProtocolVersion::UP_TO_3,
        options: Options::SEARCH | Options::PRESENT | Options::NAMED_RESULT_SETS,
        preferred_message_size: 1 << 20,
        exceptional_record_size: 1 << 20,
        id_authentication: None,
        implementation_id: None,
        implementation_name: None,
        implementation_version: None,
        user_information_field: None,
        other_info: None,
        unknown: Unknown::default(),
    }
    .into()
}

pub(crate) fn search(database: &str, query: &str) -> Apdu {
    SearchRequest {
        reference_id: None,
        small_set_upper_bound: 0,
        large_set_lower_bound: 1,
        medium_set_present_number: 0,
        replace_indicator: true,
        result_set_name: "default".into(),
        database_names: vec![DatabaseName::from(database)],
        small_set_element_set_names: None,
        medium_set_element_set_names: None,
        preferred_record_syntax: None,
        query: Query::Type1(query.parse().expect("a query")),
        additional_search_info: None,
        other_info: None,
    }
    .into()
}

pub(crate) fn write(path: &Path, text: &str) -> String {
    fs::write(path, text).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}
