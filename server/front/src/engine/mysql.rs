//! The part of MySQL's protocol that engines speak: a greeting, statements as text, rows as text (MySQL Internals Manual,
//! "Client/Server Protocol"). There are no passwords and no prepared statements.
//!
//! Drivers take the engine's word for numbers of columns and packets; here, nothing is reserved before it has come, and an answer
//! has a limit.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream};

use crate::text::one_line;

/// The rows of a statement, each a list of values as text; `None` for NULL.
pub(super) type Rows = Vec<Vec<Option<Vec<u8>>>>;

/// What a statement leads to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SqlResult {
    pub(super) rows: Rows,
    /// The number of rows that it has changed.
    pub(super) changed: u64,
}

/// Why a conversation ends.
#[derive(Debug, thiserror::Error)]
pub(super) enum SqlError {
    /// The engine refuses a statement, in these words, as a line; the connection can be used on.
    #[error("{0}")]
    Refused(String),
    /// The connection breaks.
    #[error(transparent)]
    Broken(#[from] io::Error),
    /// What came is no answer.
    #[error("{0}")]
    Malformed(&'static str),
}

/// A connection with an engine.
#[derive(Debug)]
pub(super) struct SqlConnection<S> {
    stream: BufStream<S>,
    /// The octets that the answer may still have.
    left: usize,
}

/// The most octets of an answer.
const MOST_OCTETS: usize = 64 << 20;
/// What a packet and a value count, besides their octets.
const EACH: usize = 32;
/// The most octets of a packet; a longer statement is several packets.
const MOST_PACKET: usize = 0xff_ffff;

/// Long passwords, protocol 4.1, secure connections, several statements and results: what every server of the time has.
const CAPABILITIES: u32 = 1 | 0x200 | 0x8000 | 0x1_0000 | 0x2_0000;
/// UTF-8.
const CHARSET: u8 = 33;
/// The command of a statement.
const QUERY: u8 = 3;
/// Status: more results follow.
const MORE_RESULTS: u16 = 8;

impl<S: AsyncRead + AsyncWrite + Unpin> SqlConnection<S> {
    /// Greets the engine.
    ///
    /// # Errors
    /// See [`SqlError`].
    pub(super) async fn new(stream: S) -> Result<Self, SqlError> {
        let mut connection = Self {
            stream: BufStream::new(stream),
            left: MOST_OCTETS,
        };
        let greeting = connection.packet().await?;
        match greeting.first() {
            Some(10) => {}
            Some(0xff) => return Err(refusal(&greeting)),
            _ => return Err(SqlError::Malformed("not the greeting of MySQL's protocol")),
        }
        let mut answer = CAPABILITIES.to_le_bytes().to_vec();
        answer.extend((MOST_OCTETS as u32).to_le_bytes());
        answer.push(CHARSET);
        // Reserved octets, no name, no password.
        answer.extend([0; 23 + 2]);
        connection.send(1, &answer).await?;
        let reply = connection.packet().await?;
        match reply.first() {
            Some(0) => Ok(connection),
            Some(0xff) => Err(refusal(&reply)),
            _ => Err(SqlError::Malformed("no answer to a greeting")),
        }
    }

    /// The results of statements, in their order.
    ///
    /// # Errors
    /// See [`SqlError`].
    pub(super) async fn ask(&mut self, statements: &[u8]) -> Result<Vec<SqlResult>, SqlError> {
        self.left = MOST_OCTETS;
        let mut command = Vec::with_capacity(statements.len() + 1);
        command.push(QUERY);
        command.extend(statements);
        self.send(0, &command).await?;
        let mut results = Vec::new();
        loop {
            let packet = self.packet().await?;
            let (result, status) = match packet.first() {
                Some(0) => without_rows(&packet),
                Some(0xff) => return Err(refusal(&packet)),
                _ => self.rows(&packet).await?,
            };
            results.push(result);
            if status & MORE_RESULTS == 0 {
                return Ok(results);
            }
        }
    }

    /// The rows after the packet with the number of columns, and the status at their end.
    async fn rows(&mut self, packet: &[u8]) -> Result<(SqlResult, u16), SqlError> {
        let columns = number(&mut &*packet).ok_or(SqlError::Malformed("no number of columns"))?;
        let mut read = 0;
        // Their definitions are not needed.
        while end_of(&self.packet().await?).is_none() {
            read += 1;
        }
        if read != columns {
            return Err(SqlError::Malformed("another number of columns"));
        }
        let mut rows = Rows::new();
        loop {
            let packet = self.packet().await?;
            if let Some(status) = end_of(&packet) {
                return Ok((SqlResult { rows, changed: 0 }, status));
            }
            if packet.first() == Some(&0xff) {
                return Err(refusal(&packet));
            }
            let mut rest = &*packet;
            let mut row = Vec::new();
            while !rest.is_empty() {
                row.push(text(&mut rest).ok_or(SqlError::Malformed("a value beyond its row"))?);
                self.count(EACH)?;
            }
            if row.len() as u64 != columns {
                return Err(SqlError::Malformed("a row with another number of values"));
            }
            rows.push(row);
        }
    }

    /// The next packet, with those that continue it.
    async fn packet(&mut self) -> Result<Vec<u8>, SqlError> {
        let mut packet = Vec::new();
        loop {
            // Three octets are the length, one is a number.
            let length = (self.stream.read_u32_le().await? & 0xff_ffff) as usize;
            self.count(length.saturating_add(EACH))?;
            let mut part = (&mut self.stream).take(length as u64);
            if part.read_to_end(&mut packet).await? < length {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            if length < MOST_PACKET {
                return Ok(packet);
            }
        }
    }

    fn count(&mut self, octets: usize) -> Result<(), SqlError> {
        let left = self.left.checked_sub(octets);
        self.left = left.ok_or(SqlError::Malformed("too long"))?;
        Ok(())
    }

    /// Sends a packet, or several if it is long.
    async fn send(&mut self, first: u8, octets: &[u8]) -> Result<(), SqlError> {
        let mut number = first;
        let mut rest = octets;
        loop {
            let (part, later) = rest.split_at(rest.len().min(MOST_PACKET));
            let header = part.len() as u32 | u32::from(number) << 24;
            self.stream.write_u32_le(header).await?;
            self.stream.write_all(part).await?;
            if part.len() < MOST_PACKET {
                break;
            }
            rest = later;
            number = number.wrapping_add(1);
        }
        Ok(self.stream.flush().await?)
    }
}

/// The status of the packet that ends definitions or rows; `None` for another packet.
fn end_of(packet: &[u8]) -> Option<u16> {
    match packet {
        [0xfe, _, _, low, high, ..] if packet.len() < 9 => Some(u16::from_le_bytes([*low, *high])),
        _ => None,
    }
}

/// The result and the status of an answer without rows.
fn without_rows(packet: &[u8]) -> (SqlResult, u16) {
    let mut rest = packet.get(1..).unwrap_or_default();
    let changed = number(&mut rest).unwrap_or_default();
    // The last number that was given comes before the status.
    let status = match (number(&mut rest), rest) {
        (Some(_), [low, high, ..]) => u16::from_le_bytes([*low, *high]),
        _ => 0,
    };
    let rows = Rows::new();
    (SqlResult { rows, changed }, status)
}

/// The engine's words in a packet of an error: after the code, and after a state that `#` begins.
fn refusal(packet: &[u8]) -> SqlError {
    let words = packet.get(3..).unwrap_or_default();
    let words = match words {
        [b'#', _, _, _, _, _, rest @ ..] => rest,
        words => words,
    };
    let words = String::from_utf8_lossy(words);
    SqlError::Refused(one_line(words.trim_end_matches('\0')))
}

/// A number of one to nine octets.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let (first, after) = rest.split_first()?;
    let length = match first {
        0..=0xfa => {
            *rest = after;
            return Some(u64::from(*first));
        }
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let (octets, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(
        octets
            .iter()
            .rev()
            .fold(0, |number, octet| number << 8 | u64::from(*octet)),
    )
}

/// A value: its length and its octets, or NULL.
#[expect(clippy::option_option, reason = "a value may be NULL or missing")]
fn text(rest: &mut &[u8]) -> Option<Option<Vec<u8>>> {
    if let [0xfb, after @ ..] = rest {
        *rest = after;
        return Some(None);
    }
    let length = usize::try_from(number(rest)?).ok()?;
    let (octets, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(Some(octets.to_vec()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A packet.
    pub(in crate::engine) fn packet(octets: &[u8]) -> Vec<u8> {
        let mut packet = (octets.len() as u32).to_le_bytes().to_vec();
        packet.extend(octets);
        packet
    }

    /// The end of definitions or rows.
    pub(in crate::engine) fn end(more: bool) -> Vec<u8> {
        packet(&[0xfe, 0, 0, if more { 8 } else { 0 }, 0])
    }

    /// What an engine says first, and its agreement.
    pub(in crate::engine) const GREETING: &[u8] = b"\x0a2.2.11\0\x01\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\0\x08\x82\x21\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\0";
    /// See [`GREETING`].
    pub(in crate::engine) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

    /// A result with rows; `more` if another follows.
    pub(in crate::engine) fn result(
        columns: usize,
        rows: &[&[Option<&[u8]>]],
        more: bool,
    ) -> Vec<u8> {
        let mut octets = packet(&[columns as u8]);
        for _ in 0..columns {
            octets.extend(packet(
                b"\x03def\0\0\0\x01c\0\x0c\x21\0\xff\0\0\0\xfe\0\0\0\0\0",
            ));
        }
        octets.extend(end(false));
        for row in rows {
            let mut values = Vec::new();
            for value in *row {
                match value {
                    None => values.push(0xfb),
                    Some(value) => {
                        values.push(0xfd);
                        values.extend(&(value.len() as u32).to_le_bytes()[..3]);
                        values.extend(*value);
                    }
                }
            }
            octets.extend(packet(&values));
        }
        octets.extend(end(more));
        octets
    }

    /// What comes of an answer, after a greeting.
    async fn answered(answer: &[u8]) -> Result<Vec<SqlResult>, SqlError> {
        let said = [packet(GREETING), packet(OK), answer.to_vec()].concat();
        let (client, mut server) = tokio::io::duplex(1 << 20);
        let server = tokio::spawn(async move {
            // The client may go away.
            let _ = server.write_all(&said).await;
            let _ = server.shutdown().await;
            let mut asked = Vec::new();
            let _ = server.read_to_end(&mut asked).await;
            asked
        });
        let mut connection = SqlConnection::new(client).await?;
        let answer = connection.ask(b"SELECT 1").await;
        drop(connection);
        let asked = server.await.expect("no panic");
        assert!(asked.ends_with(b"\x09\0\0\0\x03SELECT 1"), "{asked:?}");
        answer
    }

    #[tokio::test]
    async fn answers_are_read() {
        let one = [
            result(
                2,
                &[&[Some(b"a"), None], &[Some(b""), Some(&[b'x'; 300])]],
                true,
            ),
            packet(&[0, 0xfc, 0, 1, 1, 8, 0, 0, 0]),
            result(1, &[], false),
        ];
        let results = answered(&one.concat()).await.expect("an answer");
        let of_rows = |rows: Rows| SqlResult { rows, changed: 0 };
        let first = vec![
            vec![Some(b"a".to_vec()), None],
            vec![Some(Vec::new()), Some(vec![b'x'; 300])],
        ];
        let changing = SqlResult {
            rows: Rows::new(),
            changed: 256,
        };
        assert_eq!(results, [of_rows(first), changing, SqlResult::default()]);
        // Values that are longer than a packet.
        let long = vec![b'y'; MOST_PACKET + 5];
        let mut row = vec![0xfe];
        row.extend((long.len() as u64).to_le_bytes());
        row.extend(&long);
        let whole = result(1, &[], false);
        let (definitions, last) = whole.split_at(whole.len() - 9);
        let (head, tail) = row.split_at(MOST_PACKET);
        let octets = [definitions, &packet(head), &packet(tail), last].concat();
        let results = answered(&octets).await.expect("an answer");
        assert_eq!(results, [of_rows(vec![vec![Some(long)]])]);
    }

    #[tokio::test]
    async fn hostile_answers_are_errors() {
        let columns = |count: &[u8]| [packet(count), packet(b"c"), end(false), end(false)].concat();
        let refused = packet(b"\xff\x28\x04#42000no field\0");
        let definitions = [packet(&[1]), packet(b"c"), end(false)].concat();
        let then = |row: &[u8]| [definitions.clone(), packet(row), end(false)].concat();
        for (answer, expected) in [
            (
                columns(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
                "another number of columns",
            ),
            (
                columns(&[0xfe, 0, 0, 0, 0, 0, 1, 0, 0]),
                "another number of columns",
            ),
            (columns(&[2]), "another number of columns"),
            (columns(&[0xfc, 1]), "no number of columns"),
            (columns(&[0xfb]), "no number of columns"),
            (columns(&[]), "no number of columns"),
            (
                then(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]),
                "a value beyond its row",
            ),
            (then(&[3, b'a']), "a value beyond its row"),
            (
                then(&[1, b'a', 1, b'b']),
                "a row with another number of values",
            ),
            (then(&[]), "a row with another number of values"),
            (refused.clone(), "no field"),
            ([definitions.clone(), refused].concat(), "no field"),
            (packet(&[0xff]), ""),
            (
                packet(b"\xff\x28\x04#42000index books:\n\x1b[31mno field\r\n\0"),
                "index books:; \u{fffd}[31mno field",
            ),
            (vec![0xff, 0xff, 0xff, 0], "unexpected end of file"),
            (b"\x01\0".to_vec(), "unexpected end of file"),
            (definitions.clone(), "unexpected end of file"),
            (
                [definitions.clone(), [0xff, 0xff, 0xff, 0].repeat(2)].concat(),
                "unexpected end of file",
            ),
            // Packets and values without octets count as well.
            (
                [definitions.clone(), packet(&[0xfb; MOST_OCTETS / EACH])].concat(),
                "too long",
            ),
            (
                [packet(&[1]), packet(b"c").repeat(MOST_OCTETS / EACH)].concat(),
                "too long",
            ),
            (
                result(1, &[], true).repeat(MOST_OCTETS / EACH / 4),
                "too long",
            ),
        ] {
            let error = answered(&answer).await.expect_err(expected);
            assert!(error.to_string().contains(expected), "{expected}: {error}");
        }
    }

    #[tokio::test]
    async fn greetings_of_others_are_errors() {
        for (said, expected) in [
            (
                packet(b"\xff\x10\x04Too many connections"),
                "Too many connections",
            ),
            (packet(b"\x09old"), "not the greeting"),
            (packet(b""), "not the greeting"),
            (
                [packet(GREETING), packet(b"\xff\x15\x04#28000denied")].concat(),
                "denied",
            ),
            (
                [packet(GREETING), packet(b"\xfe")].concat(),
                "no answer to a greeting",
            ),
            (
                b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
                "unexpected end of file",
            ),
        ] {
            let (client, mut server) = tokio::io::duplex(1024);
            server.write_all(&said).await.expect("written");
            server.shutdown().await.expect("closed");
            let error = SqlConnection::new(client).await.expect_err(expected);
            assert!(error.to_string().contains(expected), "{expected}: {error}");
        }
    }
}
