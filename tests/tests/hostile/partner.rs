//! A client that can send arbitrary octets and reads the answers, and a `z3950d` that can be measured and killed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use bytes::BytesMut;
use tokio_util::codec::Decoder;
use z3950_asn1::apdu::{
    Apdu, ExtendedServicesFunction, ExtendedServicesRequest, External, WaitAction,
};
use z3950_asn1::codec::frame::ApduCodec;
use z3950_asn1::codec::{decode, encode};
use z3950_asn1::es::update::{
    Action, EsRequest, OriginPartToKeep, RecordId, SuppliedRecord, Update,
};
use z3950_asn1::oid;
use z3950_marc::iso2709;
use z3950_server::testing::record;
use z3950_tests::hex;
use z3950_tests::program::path;
use z3950_tests::surroundings::command;

/// The maximum time to wait for an answer before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the Init of a well-known client.
pub(crate) fn init() -> Vec<u8> {
    hex::octets(include_str!("../../fixtures/wire/init-request.hex"))
}

/// Returns a Search in the database `books` in the indefinite form, which allows the query to have any size.
pub(crate) fn search(rpn: &[u8]) -> Vec<u8> {
    let head = "B6 80  8D 01 00  8E 01 01  8F 01 00  90 01 FF  91 01 \"1\"  B2 08 9F 69 05 \"books\"  B5 80  A1 80
        06 07 2A 86 48 CE 13 03 01";
    let mut octets = hex::octets(head);
    octets.extend_from_slice(rpn);
    octets.extend([0; 6]);
    octets
}

/// A query for the term `x` without attributes.
pub(crate) const TERM: [u8; 12] = [0xa0, 10, 0xbf, 0x66, 7, 0xbf, 0x2c, 0, 0x9f, 0x2d, 1, b'x'];

/// Returns a Search whose query has `levels` operators, each nested in the first operand of the one before.
pub(crate) fn deep_query(levels: usize) -> Vec<u8> {
    let mut rpn = [0xa1, 0x80].repeat(levels);
    rpn.extend(TERM);
    let rest = [&TERM[..], &[0xbf, 0x2e, 2, 0x80, 0, 0, 0]].concat();
    rpn.extend(rest.repeat(levels));
    search(&rpn)
}

/// The text that the titles of inserted records repeat.
pub(crate) const TITLE: &str = "A long title ";

/// Returns an update that inserts records with the docids `id{first}` and so on into the database `books`.
pub(crate) fn insert(first: usize, count: usize) -> Vec<u8> {
    let records = (first..first + count).map(|number| {
        let docid = format!("id{number}");
        let record = record(&docid, &TITLE.repeat(50));
        SuppliedRecord {
            record_id: Some(RecordId::Opaque(docid.as_str().into())),
            supplemental_id: None,
            correlation_info: None,
            record: External::octet_aligned(oid::USMARC, iso2709::encode(&record).expect("fits")),
        }
    });
    let update = Update::EsRequest(Box::new(EsRequest {
        to_keep: OriginPartToKeep {
            action: Action::RECORD_INSERT,
            database_name: "books".into(),
            schema: None,
            element_set_name: None,
            action_qualifier: None,
        },
        not_to_keep: records.collect(),
    }));
    let request = ExtendedServicesRequest {
        reference_id: None,
        function: ExtendedServicesFunction::CREATE,
        package_type: oid::DATABASE_UPDATE,
        package_name: None,
        user_id: None,
        retention_time: None,
        permissions: None,
        description: None,
        task_specific_parameters: Some(
            update
                .to_external_as(oid::DATABASE_UPDATE)
                .expect("encodes"),
        ),
        wait_action: WaitAction::WAIT,
        elements: None,
        other_info: None,
    };
    encode(&request.into()).expect("encodes")
}

/// A connection on which arbitrary octets can be sent.
pub(crate) struct Partner {
    pub(crate) stream: TcpStream,
    codec: ApduCodec,
    buffer: BytesMut,
}

impl Partner {
    /// Connects without sending anything.
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(address)?)
    }

    /// Connects from the given loopback address.
    pub(crate) fn connect_from(host: [u8; 4], address: SocketAddr) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let stream = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind((host, 0).into())?;
            socket.connect(address).await?.into_std()
        })?;
        stream.set_nonblocking(false)?;
        Self::over(stream)
    }

    fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            codec: ApduCodec::new(1 << 24),
            buffer: BytesMut::new(),
        })
    }

    /// Connects and opens a session.
    pub(crate) fn open(address: SocketAddr) -> io::Result<Self> {
        let mut partner = Self::connect(address)?;
        partner.send(&init())?;
        match partner.next()? {
            Some(Apdu::InitializeResponse(response)) if response.result => Ok(partner),
            other => Err(io::Error::other(format!("no session: {other:?}"))),
        }
    }

    pub(crate) fn send(&mut self, octets: &[u8]) -> io::Result<()> {
        self.stream.write_all(octets)
    }

    /// Returns the next APDU, or `None` at the end of the connection.
    pub(crate) fn next(&mut self) -> io::Result<Option<Apdu>> {
        let mut piece = [0; 4096];
        loop {
            if let Some(octets) = self
                .codec
                .decode(&mut self.buffer)
                .map_err(io::Error::other)?
            {
                return decode(&octets).map(Some).map_err(io::Error::other);
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Runs a search that every server in these tests can answer.
    pub(crate) fn ask(&mut self) -> io::Result<()> {
        self.send(&search(&TERM))?;
        match self.next()? {
            Some(Apdu::SearchResponse(_)) => Ok(()),
            other => Err(io::Error::other(format!("no answer: {other:?}"))),
        }
    }

    /// Closes the sending side. Returns the names of all APDUs that are received until the connection ends. The name of a Close is
    /// followed by the reason for it.
    pub(crate) fn heard_to_the_end(&mut self) -> io::Result<Vec<String>> {
        // An error means that the server has already ended the connection.
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut heard = Vec::new();
        while let Some(apdu) = self.next()? {
            heard.push(match apdu {
                Apdu::Close(close) => format!("close {}", close.close_reason),
                other => other.name().to_owned(),
            });
        }
        Ok(heard)
    }
}

/// A `z3950d` process, which is killed when the value is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts the process with these arguments, on a free loopback port.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = command(path("z3950d"))
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("z3950d starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("standard output is piped"))
            .read_line(&mut line)
            .expect("a line");
        let address = line.trim_end().strip_prefix("listening on ");
        let address = address.and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("unexpected {line:?}"));
        Self { child, address }
    }

    /// Returns the memory of the process in KiB from `/proc/PID/status` on Linux: the current value for the row `VmRSS`, or the
    /// peak for `VmHWM`. Returns `None` on other systems.
    pub(crate) fn memory(&self, row: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(row))?;
        line.trim_matches(|letter: char| !letter.is_ascii_digit())
            .parse()
            .ok()
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that the process has already been killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
