//! What a file holds that is to be decoded: octets, their digits, or a transcript; packets are named as such.

use std::io;
use std::path::Path;

use serde::Deserialize;
use z3950_asn1::input;

use crate::console::output::Failure;

/// The most octets read, and thus the most of one APDU.
pub(super) const MAX_INPUT: usize = 256 << 20;

/// What a file of packets begins with: libpcap's format in both byte orders, with micro- and nanoseconds, and pcapng's.
const PACKETS: [[u8; 4]; 5] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

/// The contents of a file.
pub(super) enum Input {
    /// APDUs one after the other.
    Octets(Vec<u8>),
    /// Lines of JSON, as `z3950d --transcript` writes them.
    Transcript(Vec<u8>),
}

/// A line of a transcript that holds an APDU.
#[derive(Debug, Deserialize)]
pub(super) struct Said {
    pub(super) time: Option<String>,
    pub(super) session: Option<u64>,
    pub(super) direction: Option<String>,
    /// In hexadecimal; none where the line tells of something else.
    octets: Option<String>,
}

impl Input {
    /// Reads a file, or standard input as `-`.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let octets = octets_of(path, &name)?;
        if PACKETS.iter().any(|begin| octets.starts_with(begin)) {
            return Err(Failure::Input {
                path: name.clone(),
                error: format!(
                    "this is a packet capture (pcap), not an octet stream; extract the octets with tshark:\n  \
                     tshark -r {} -Y 'tcp.port == 210 && tcp.len > 0' -T fields -e tcp.payload | z3950 decode -",
                    quoted(&name)
                ),
            });
        }
        // No APDU begins with one of these, nor does a digit.
        if octets.trim_ascii_start().starts_with(b"{") {
            return Ok(Self::Transcript(octets));
        }
        Ok(Self::Octets(hexadecimal(&octets).unwrap_or(octets)))
    }
}

impl Said {
    /// Reads a line; `None` where it holds no APDU.
    pub(super) fn read(line: &[u8]) -> Result<Option<(Self, Vec<u8>)>, String> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let said: Self = serde_json::from_slice(line)
            .map_err(|error| format!("not a line of a transcript: {error}"))?;
        let Some(digits) = &said.octets else {
            return Ok(None);
        };
        let octets =
            hexadecimal(digits.as_bytes()).ok_or("its octets are not in hexadecimal".to_owned())?;
        Ok(Some((said, octets)))
    }
}

fn octets_of(path: &Path, name: &str) -> Result<Vec<u8>, Failure> {
    let most = u64::try_from(MAX_INPUT).unwrap_or(u64::MAX);
    let octets = match path == Path::new("-") {
        true => input::read_all(io::stdin(), most),
        false => input::read(path, most),
    };
    octets.map_err(|error| Failure::input(name, &error))
}

/// The octets that hexadecimal digits stand for, white space and colons between them left out: no APDU begins with one of
/// these. `None` where something else is there too.
fn hexadecimal(input: &[u8]) -> Option<Vec<u8>> {
    let is_digit = |octet: &&u8| !octet.is_ascii_whitespace() && **octet != b':';
    let digit = |octet: &u8| {
        let digit = char::from(*octet).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    let digits: Vec<u8> = input
        .iter()
        .filter(is_digit)
        .map(digit)
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    Some(
        pairs
            .map(|pair| pair.iter().fold(0, |octet, digit| octet << 4 | digit))
            .collect(),
    )
}

/// A name as a shell takes it.
fn quoted(name: &str) -> String {
    let is_plain = |each: char| each.is_alphanumeric() || "/._-+".contains(each);
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_may_come_as_digits() {
        for (input, expected) in [
            (&b"b4 03\n0A01"[..], Some(&[0xb4, 3, 0x0a, 1][..])),
            (b"b4:03\n", Some(&[0xb4, 3])),
            (b"\xb4\x01\x00", None),
            (b"b4 0", None),
            (b"", Some(&[])),
        ] {
            assert_eq!(hexadecimal(input).as_deref(), expected);
        }
    }

    #[test]
    fn audit_d14_lines_of_a_transcript_hold_octets_or_tell_of_something_else() {
        let read = |line: &str| Said::read(line.as_bytes());
        let (said, octets) =
            read(r#"{"session": 2, "direction": "sent", "octets": "b4 00", "value": {"a": [1]}}"#)
                .expect("a line")
                .expect("an APDU");
        assert_eq!(
            (said.session, said.direction.as_deref()),
            (Some(2), Some("sent"))
        );
        assert_eq!(octets, [0xb4, 0]);
        for line in ["", " ", r#"{"time": "x", "session": 1, "event": "opened"}"#] {
            assert!(read(line).expect(line).is_none(), "{line}");
        }
        for (line, words) in [
            (r#"{"octets": "b4 0"}"#, "not in hexadecimal"),
            (r#"{"octets": "#, "not a line of a transcript"),
            (r#"{"octets": 7}"#, "not a line of a transcript"),
            ("b400", "not a line of a transcript"),
        ] {
            assert!(read(line).expect_err(line).contains(words), "{line}");
        }
    }
}
