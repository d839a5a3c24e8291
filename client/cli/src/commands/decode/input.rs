//! The input of `decode`: octets, hexadecimal digits or a transcript. Packet captures are refused with advice.

use std::path::Path;

use serde::Deserialize;

use crate::console::input::{hexadecimal, read_whole};
use crate::console::output::Failure;

/// The most octets read, and thus the most of one APDU.
pub(super) const MAX_INPUT: usize = 256 << 20;

/// How packet captures begin: libpcap in both byte orders with micro- and nanoseconds, and pcapng.
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
    /// In hexadecimal; `None` if the line is about another event.
    octets: Option<String>,
}

impl Input {
    /// Reads a file, or standard input as `-`.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let octets = read_whole(path, u64::try_from(MAX_INPUT).unwrap_or(u64::MAX))?;
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
        // Neither an APDU nor a hexadecimal digit begins like this.
        if octets.trim_ascii_start().starts_with(b"{") {
            return Ok(Self::Transcript(octets));
        }
        Ok(Self::Octets(hexadecimal(&octets).unwrap_or(octets)))
    }
}

impl Said {
    /// Reads a line; `None` if it holds no APDU.
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

/// A name quoted for a shell.
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
