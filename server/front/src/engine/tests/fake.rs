//! A server of the engine that answers as a test wants, and notes what it was asked.

use std::future::ready;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::engine::mysql::tests::{GREETING, OK, packet, result};
use crate::engine::token;
use crate::lock::lock;

/// A server, and what it was asked so far.
pub(super) struct FakeServer {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    /// Answers each request by a function; without an answer, it closes the connection.
    pub(super) async fn start<A>(answer: impl Fn(String) -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = Option<Vec<u8>>> + Send + 'static,
    {
        Self::greeting(&packet(GREETING), answer).await
    }

    /// The same with another greeting.
    pub(super) async fn greeting<A>(
        greeting: &[u8],
        answer: impl Fn(String) -> A + Send + Sync + 'static,
    ) -> Self
    where
        A: Future<Output = Option<Vec<u8>>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let answer = Arc::new(move |request: String| {
            lock(&noted).push(request.clone());
            answer(request)
        });
        let greeting = greeting.to_vec();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (greeting, answer) = (greeting.clone(), Arc::clone(&answer));
                // The client may go away.
                tokio::spawn(async move { serve(stream, &greeting, &*answer).await });
            }
        });
        Self { port, asked }
    }

    /// The requests so far.
    pub(super) fn asked(&self) -> Vec<String> {
        lock(&self.asked).clone()
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

/// A server without records.
pub(super) async fn sound() -> FakeServer {
    FakeServer::start(|request| ready(Some(Holdings::whole(0).answer(&request)))).await
}

/// A server that refuses every statement with these words.
pub(super) async fn refusing(words: &str) -> FakeServer {
    let mut octets = b"\xff\x28\x04#42000".to_vec();
    octets.extend(words.as_bytes());
    FakeServer::start(move |_| ready(Some(packet(&octets)))).await
}

async fn serve<A: Future<Output = Option<Vec<u8>>>>(
    mut stream: TcpStream,
    greeting: &[u8],
    answer: &impl Fn(String) -> A,
) -> std::io::Result<()> {
    stream.write_all(greeting).await?;
    read(&mut stream).await?;
    stream.write_all(&packet(OK)).await?;
    loop {
        let command = read(&mut stream).await?;
        let request = command.get(1..).unwrap_or_default();
        let request = String::from_utf8_lossy(request).into_owned();
        match answer(request).await {
            Some(octets) => stream.write_all(&octets).await?,
            None => return Ok(()),
        }
    }
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let length = stream.read_u32_le().await? & 0xff_ffff;
    let mut octets = vec![0; length as usize];
    stream.read_exact(&mut octets).await?;
    Ok(octets)
}

/// What an engine holds whose records all match, numbered from 1 in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holdings {
    pub(super) count: usize,
    /// The number of the first.
    pub(super) first: usize,
    /// Whether a node is missing.
    pub(super) is_part: bool,
    /// The octets of a record, which is MARC if there are 0.
    pub(super) octets: usize,
}

impl Holdings {
    pub(super) fn whole(count: usize) -> Self {
        Self {
            count,
            first: 1,
            is_part: false,
            octets: 0,
        }
    }

    pub(super) fn part(count: usize) -> Self {
        Self {
            is_part: true,
            ..Self::whole(count)
        }
    }

    /// The same with numbers from another one on.
    pub(super) fn from(self, first: usize) -> Self {
        Self { first, ..self }
    }

    /// The answer to a request.
    pub(super) fn answer(self, request: &str) -> Vec<u8> {
        let statements: Vec<&str> = request.split("; ").collect();
        let last = statements.len() - 1;
        let results = statements.iter().enumerate();
        let results = results.map(|(place, statement)| self.result(statement, place < last));
        results.collect::<Vec<_>>().concat()
    }

    fn result(self, statement: &str, more: bool) -> Vec<u8> {
        let count = self.count.to_string();
        let count = Some(count.as_bytes());
        if statement == "SHOW META" {
            return result(2, &[&[Some(b"total_found"), count]], more);
        }
        if statement == "SHOW WARNINGS" {
            let words = b"index books: agent 127.0.0.1:9402: connect() timed out";
            let warning: &[Option<&[u8]>] = &[Some(b"warning"), Some(b"1000"), Some(words)];
            let warnings = [warning];
            return result(3, &warnings[..usize::from(self.is_part)], more);
        }
        let is_sample = statement.starts_with("SELECT id FROM ") && !statement.contains("MATCH");
        if is_sample || statement.starts_with("DESCRIBE ") || statement.contains(token::LAYOUT) {
            return result(2, &[], more);
        }
        if statement.contains("GROUP BY") {
            return result(2, &[&[Some(b"term"), count]], more);
        }
        let last = self.count.saturating_add(self.first) - 1;
        let numbers: Vec<usize> = match selected(statement) {
            Selection::Numbers(numbers) => numbers,
            Selection::Places(skip, rows) => (self.first + skip..).take(rows).collect(),
        };
        let numbers = numbers.into_iter().filter(|number| *number <= last);
        let rows = numbers.map(|number| (number.to_string(), self.record(number)));
        let rows: Vec<(String, Vec<u8>)> = rows.collect();
        let rows: Vec<[Option<&[u8]>; 2]> = rows
            .iter()
            .map(|(number, record)| [Some(number.as_bytes()), Some(&**record)])
            .collect();
        let rows: Vec<&[Option<&[u8]>]> = rows.iter().map(|row| &row[..]).collect();
        result(2, &rows, more)
    }

    fn record(self, number: usize) -> Vec<u8> {
        match self.octets {
            0 => marc(&number.to_string()),
            octets => vec![b' '; octets],
        }
    }
}

/// What a statement selects: records by their numbers, or those after some others.
enum Selection {
    Numbers(Vec<usize>),
    Places(usize, usize),
}

fn selected(statement: &str) -> Selection {
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let after = |start: &str, end: char| {
        let (_, rest) = statement.split_once(start)?;
        rest.split_once(end).map(|(text, _)| text)
    };
    if let Some(numbers) = after(" IN (", ')') {
        return Selection::Numbers(numbers.split(',').map(number).collect());
    }
    let limit = after(" LIMIT ", ' ').expect("a limit");
    let (skip, rows) = limit.split_once(',').expect("two numbers");
    Selection::Places(number(skip), number(rows))
}

/// A record with an identifier and nothing else.
pub(super) fn marc(id: &str) -> Vec<u8> {
    let field = id.len() + 1;
    let length = 24 + 12 + 1 + field + 1;
    format!("{length:05}nam a2200037   4500001{field:04}00000\x1e{id}\x1e\x1d").into_bytes()
}
