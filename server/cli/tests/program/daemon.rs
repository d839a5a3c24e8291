//! Runs `z3950d` for tests: starts the program, creates its files, and provides a simple client.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use z3950_asn1::apdu::{
    Apdu, DatabaseName, ExtendedServicesRequest, External, IdAuthentication, InitializeRequest,
    Options, ProtocolVersion, Query, SearchRequest,
};
use z3950_asn1::codec::frame::Scanner;
use z3950_asn1::codec::{decode, encode};
use z3950_asn1::es::update::{Action, EsRequest, RecordId, SuppliedRecord, Update};
use z3950_asn1::oid::{DATABASE_UPDATE, USMARC};
use z3950_asn1::optional::Unknown;
use z3950_tests::surroundings::command;

pub(crate) fn program() -> Command {
    command(env!("CARGO_BIN_EXE_z3950d"))
}

pub(crate) fn ran(arguments: &[&str]) -> Output {
    let output = program().args(arguments).output();
    output.expect("the program runs")
}

/// A running `z3950d`, killed when the value is dropped.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    /// The address that the program has printed as the address it listens on.
    pub(crate) listening: String,
}

impl Daemon {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::telling(arguments, Stdio::null())
    }

    /// Starts the program like [`Daemon::start`], but with `stderr` as the destination for standard error.
    pub(crate) fn telling(arguments: &[&str], stderr: Stdio) -> Self {
        let mut command = program();
        command.args(arguments);
        Self::of(command, stderr)
    }

    /// Starts the program with this command.
    pub(crate) fn of(mut command: Command, stderr: Stdio) -> Self {
        let mut child = command
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

    /// Starts the program, and returns it together with the lines that it writes to standard error.
    pub(crate) fn heard(arguments: &[&str]) -> (Self, Words) {
        let mut daemon = Self::telling(arguments, Stdio::piped());
        let stderr = daemon.child.stderr.take().expect("piped");
        (daemon, Words::of(stderr))
    }

    /// Opens a session, including its Init.
    pub(crate) fn session(&self) -> Session {
        let mut session = Session::connected(&self.listening);
        session.ask(&init());
        session
    }

    /// Opens a session, sends the requests, and returns the answers to Init and to the requests.
    pub(crate) fn converse(&self, requests: &[Apdu]) -> Vec<Apdu> {
        let mut session = Session::connected(&self.listening);
        let first = [init()];
        let requests = first.iter().chain(requests);
        requests.map(|request| session.ask(request)).collect()
    }

    /// Returns the number of hits for a query.
    pub(crate) fn hits(&self, database: &str, query: &str) -> i64 {
        let answers = self.converse(&[search(database, query)]);
        hits(answers.last().expect("an answer"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = command("kill").args(["-s", name, &id]).status();
        assert!(sent.expect("kill runs").success());
    }
}

/// The lines that a program writes.
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

    /// Returns the lines up to and including the first line that contains `end`.
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

/// The maximum time for which a test waits for an expected event.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

impl Drop for Daemon {
    fn drop(&mut self) {
        // An error means that the server has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the number of hits in the answer to a search.
pub(crate) fn hits(answer: &Apdu) -> i64 {
    match answer {
        Apdu::SearchResponse(search) => search.result_count,
        other => panic!("{other:?}"),
    }
}

/// A session whose APDUs the test itself sends and reads.
pub(crate) struct Session(TcpStream);

impl Session {
    pub(crate) fn connected(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a time limit");
        Self(stream)
    }

    /// Sends a request, and returns the answer.
    pub(crate) fn ask(&mut self, request: &Apdu) -> Apdu {
        self.send(request);
        let mut octets = Vec::new();
        let mut scanner = Scanner::new(1 << 20);
        loop {
            let mut more = [0; 4096];
            let count = self.0.read(&mut more).expect("an answer in time");
            assert!(count > 0, "the connection ended after {octets:x?}");
            octets.extend(&more[..count]);
            if scanner.scan(&octets).expect("an APDU").is_some() {
                return decode(&octets).expect("an APDU");
            }
        }
    }

    pub(crate) fn send(&mut self, request: &Apdu) {
        let octets = encode(request).expect("encodes");
        self.0.write_all(&octets).expect("the server listens");
    }
}

fn init() -> Apdu {
    init_of(None)
}

/// Returns an Init with or without a user name.
pub(crate) fn init_of(user: Option<&str>) -> Apdu {
    InitializeRequest {
        reference_id: None,
        protocol_version: ProtocolVersion::UP_TO_3,
        options: Options::SEARCH
            | Options::PRESENT
            | Options::NAMED_RESULT_SETS
            | Options::EXTENDED_SERVICES,
        preferred_message_size: 1 << 20,
        exceptional_record_size: 1 << 20,
        id_authentication: user.map(|user| IdAuthentication::Open(user.into())),
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

/// Returns a request to delete a record.
pub(crate) fn update(database: &str) -> Apdu {
    let record = External::octet_aligned(USMARC, Vec::new());
    let record = SuppliedRecord::new(record, Some(RecordId::Opaque("x".into())), None);
    let update = EsRequest::new(Action::RECORD_DELETE, database, vec![record]);
    let update = Update::EsRequest(Box::new(update));
    let parameters = update.to_external_as(DATABASE_UPDATE).expect("encodes");
    ExtendedServicesRequest::create(DATABASE_UPDATE, Some(parameters)).into()
}

/// A single record in MARCMaker text.
pub(crate) const ONE: &str = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n";

/// A temporary folder with the files of a server.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        write(&self.at(name), text)
    }

    /// Writes a certificate that expires in this year, and its key.
    pub(crate) fn certify(&self, year: i32) {
        self.certify_from(1975, year);
    }

    pub(crate) fn certify_from(&self, begin: i32, year: i32) {
        let key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned()];
        let mut params = CertificateParams::new(names).expect("a name");
        params.not_before = date_time_ymd(begin, 2, 3);
        params.not_after = date_time_ymd(year, 2, 3);
        let certificate = params.self_signed(&key).expect("a certificate");
        self.write("server.pem", &certificate.pem());
        self.write("server.key", &key.serialize_pem());
    }
}

pub(crate) fn write(path: &Path, text: &str) -> String {
    fs::write(path, text).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

/// Waits until a file has `count` lines, and returns them.
pub(crate) fn lines_of(path: &Path, count: usize) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        if lines.len() >= count && text.ends_with('\n') {
            assert_eq!(lines.len(), count, "{lines:#?}");
            return lines;
        }
        assert!(begun.elapsed() < PATIENCE, "{}: {lines:?}", path.display());
        std::thread::yield_now();
    }
}
