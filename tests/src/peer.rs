//! Programs from YAZ and Zebra, used as peers: yaz-client, zoomsh, yaz-ztest and zebrasrv, from the packages `yaz` and
//! `idzebra-2.0`. If the peer of a test is missing, the test is skipped with a message, or fails if `Z3950_PEERS=required`.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::ports::free_port;
use crate::surroundings::command;
use bytes::Bytes;
use tempfile::TempDir;
use tokio::net::TcpSocket;

/// Returns the path of a program on `PATH`. If the program is missing, prints that the test is skipped.
///
/// # Panics
/// Panics if the program is missing and `Z3950_PEERS=required`.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file());
    if found.is_none() {
        skip(program);
    }
    found
}

/// Prints that a test is skipped.
///
/// # Panics
/// Panics if `Z3950_PEERS=required`.
pub fn skip(missing: &str) {
    assert!(
        std::env::var("Z3950_PEERS").as_deref() != Ok("required"),
        "{missing} not found"
    );
    mention(missing);
}

/// Prints that a part of a test is skipped. Unlike [`skip`], this never fails the test.
pub fn mention(missing: &str) {
    // The line is written directly to standard error, because the test harness captures the output of passing tests.
    let _ = writeln!(std::io::stderr(), "skipped: {missing} not found");
}

/// A YAZ, Zebra or Perl server, which is stopped when the value is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// The port of the server on 127.0.0.1.
    pub port: u16,
    _directory: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that the server has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `yaz-ztest`, or returns `None` if it is not installed.
pub fn yaz_ztest() -> Option<Server> {
    let program = find("yaz-ztest")?;
    let directory = tempfile::tempdir().expect("a directory");
    // Without this file, the server ends at the first Scan.
    std::fs::write(directory.path().join("dummy-words"), "war:3\npeace:2\n")
        .expect("the file is written");
    // The server builds its GRS-1 record from this file. Without the file, it answers with a diagnostic.
    let tree = "(2,1) War and peace\n(4,70) {\n(4,90) {\n(2,7) Inner\n}\n}\n(0,0)\n";
    std::fs::write(
        directory.path().join("dummy-grs"),
        format!("#0\n{tree}\n#1\n{tree}\n"),
    )
    .expect("the file is written");
    Some(start(directory, |directory, port| {
        let mut command = command(&program);
        command
            .current_dir(directory)
            .args(["-v", "none", "-S"])
            .arg(format!("tcp:127.0.0.1:{port}"));
        command
    }))
}

/// Starts `zebrasrv` with these MARC records, whose field 001 can be searched with the Use attribute 1032. Returns `None` if it
/// is not installed.
pub fn zebrasrv(records: &[Bytes]) -> Option<Server> {
    let (server, directory) = zebra_register(records)?;
    Some(start(directory, |directory, port| {
        let mut command = command(&server);
        command
            .current_dir(directory)
            .args(["-v", "none", "-c", "zebra.cfg"])
            .arg(format!("tcp:127.0.0.1:{port}"));
        command
    }))
}

/// Starts `zebrasrv` as an SRU server with these MARC records. The server supports explain, CQL queries and records in MARCXML.
/// Returns `None` if it is not installed.
pub fn zebra_sru(records: &[Bytes]) -> Option<Server> {
    let (server, directory) = zebra_register(records)?;
    Some(start(directory, |directory, port| {
        let settings = include_str!("peer/zebra-sru.xml").replace("PORT", &port.to_string());
        std::fs::write(directory.join("gfs.xml"), settings).expect("the file is written");
        let mut command = command(&server);
        command
            .current_dir(directory)
            .args(["-v", "none", "-f", "gfs.xml"]);
        command
    }))
}

/// Starts an SRU server in Perl, built from the modules of `libsru-perl`, with these MARCXML records. Returns `None` if the
/// modules are not installed.
pub fn perl_sru(records: &[String]) -> Option<Server> {
    let perl = find("perl")?;
    let has_modules = command(&perl)
        .args(["-MSRU::Response", "-MHTTP::Daemon", "-e", "1"])
        .stderr(Stdio::null())
        .status();
    if !has_modules.is_ok_and(|status| status.success()) {
        skip("the Perl modules SRU::Response and HTTP::Daemon");
        return None;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("server.pl");
    std::fs::write(&script, include_str!("peer/sru-server.pl")).expect("the file is written");
    let list = directory.path().join("records");
    std::fs::write(&list, records.join("\0")).expect("the file is written");
    Some(start(directory, |_, port| {
        let mut command = command(&perl);
        command.arg(&script).arg(port.to_string()).arg(&list);
        command
    }))
}

/// Starts a server built with Perl's `Net::Z3950::SimpleServer` (Debian's `libnet-z3950-simpleserver-perl`) with these MARC
/// records. Returns `None` if it is not installed.
pub fn simple_server(records: &[Bytes]) -> Option<Server> {
    let perl = find("perl")?;
    let has_module = command(&perl)
        .args(["-MNet::Z3950::SimpleServer", "-e", "1"])
        .stderr(Stdio::null())
        .status();
    if !has_module.is_ok_and(|status| status.success()) {
        skip("the Perl module Net::Z3950::SimpleServer");
        return None;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("server.pl");
    std::fs::write(&script, include_str!("peer/simple-server.pl")).expect("the file is written");
    let list = directory.path().join("records.mrc");
    std::fs::write(&list, records.concat()).expect("the file is written");
    Some(start(directory, |_, port| {
        let mut command = command(&perl);
        command
            .args([&script, &list])
            .args(["-v", "none"])
            .arg(format!("tcp:127.0.0.1:{port}"));
        command
    }))
}

/// Creates an index of the records. Returns the path of `zebrasrv` and the folder with the index.
fn zebra_register(records: &[Bytes]) -> Option<(PathBuf, TempDir)> {
    let (server, indexer) = (find("zebrasrv")?, find("zebraidx")?);
    let directory = tempfile::tempdir().expect("a directory");
    configure_zebra(directory.path(), "1G");
    std::fs::write(directory.path().join("records/all.mrc"), records.concat())
        .expect("the file is written");
    for arguments in [&["init"][..], &["update", "records"]] {
        let output = command(&indexer)
            .current_dir(directory.path())
            .args(["-c", "zebra.cfg"])
            .args(arguments)
            .output()
            .expect("zebraidx starts");
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "zebraidx {arguments:?}: {log}");
        // If zebraidx cannot use its configuration, it does not index any records and does not report an error.
        let expected = format!("Records: {}", records.len());
        assert!(
            arguments != ["update", "records"] || log.contains(&expected),
            "{expected} in {log}"
        );
    }
    Some((server, directory))
}

/// Writes the files that zebraidx and zebrasrv need to index the folder `records`. `room` is the maximum size of the index, such
/// as `1G`.
pub fn configure_zebra(directory: &Path, room: &str) {
    const TAB: &str = "/usr/share/idzebra-2.0/tab";
    let modules = std::fs::read_dir("/usr/lib")
        .expect("/usr/lib exists")
        .flatten()
        .map(|entry| entry.path().join("idzebra-2.0/modules"))
        .find(|path| path.is_dir())
        .expect("idzebra's modules are installed");
    let config = format!(
        "profilePath: .:{TAB}\nmodulePath: {}\nattset: bib1.att\nrecordType: grs.marcxml.marc21\n\
         register: register:{room}\nlockDir: lock\nsetTmpDir: tmp\nkeyTmpDir: tmp\n\
         perm.anonymous: rw\n",
        modules.display()
    );
    let rules =
        std::fs::read_to_string(format!("{TAB}/marc21.abs")).expect("marc21.abs is installed");
    let rules = format!(
        "{rules}\nmelm 001 Local-number:w,Local-number:p,Local-number:u,Local-number:s,Doc-id:w,Doc-id:p,Doc-id:u\n\
         melm 020$a ISBN:w\n"
    );
    for name in ["register", "lock", "tmp", "records"] {
        std::fs::create_dir(directory.join(name)).expect("a directory");
    }
    std::fs::write(directory.join("zebra.cfg"), config).expect("the file is written");
    std::fs::write(directory.join("marc21.abs"), rules).expect("the file is written");
}

/// Starts a server on a free port. Tries up to three times, because another program may take the port first.
fn start(directory: TempDir, command: impl Fn(&Path, u16) -> Command) -> Server {
    for _ in 0..3 {
        let port = free_port();
        let mut child = command(directory.path(), port)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        if answers(&mut child, port) {
            return Server {
                child,
                port,
                _directory: directory,
            };
        }
        // The server has ended or does not listen on this port, so another port is tried.
        let _ = child.kill();
        let _ = child.wait();
    }
    panic!("the server does not listen");
}

/// An address that refuses connections. Its port stays reserved, so that no other program can listen on it.
#[derive(Debug)]
pub struct Unheard(TcpSocket);

impl Unheard {
    /// Binds a loopback port without listening on it.
    pub fn bind() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        socket.bind(any).expect("a loopback port");
        Self(socket)
    }

    /// Returns the address that refuses connections.
    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("it is bound")
    }
}

fn answers(child: &mut Child, port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        if TcpStream::connect(address).is_ok() {
            return true;
        }
        crate::pause();
    }
    false
}
