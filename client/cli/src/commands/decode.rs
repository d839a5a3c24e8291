//! `z3950 decode`: lists APDUs (Z39.50-2003 §4.1) that were captured from a TCP stream or recorded in a transcript, and
//! the HTTP messages in a transcript.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use z3950_asn1::apdu::{Apdu, IdAuthentication, SecurityChallengeResponse};
use z3950_asn1::codec::frame::Scanner;
use z3950_asn1::codec::{self, dump};
use z3950_asn1::decoded::{self, TRANSCRIPT_VERSION};
use z3950_asn1::types::InternationalString;

use crate::answer::Envelope;
use crate::console::exit::Exit;
use crate::console::input::{hexadecimal, read_whole};
use crate::console::output::{Failure, Output};
use crate::render::shown;

#[derive(Debug, Args)]
pub(crate) struct Decode {
    /// A file of captured APDUs, raw or in hexadecimal (both directions of a TCP stream may follow each other), or a
    /// z3950d transcript in lines of JSON, with HTTP messages too; - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Also list the octets of each APDU.
    #[arg(long)]
    pub(crate) octets: bool,

    /// Show users and passwords, which are hidden by default.
    #[arg(long)]
    pub(crate) show_secrets: bool,

    /// Print one JSON object per APDU or HTTP message.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Decode, output: &mut Output) -> Result<Exit, Failure> {
    let octets = read(&arguments.file)?;
    if octets.trim_ascii_start().starts_with(b"{") {
        return transcript(&octets, arguments, output);
    }
    stream(&hexadecimal(&octets).unwrap_or(octets), arguments, output)
}

/// Lists consecutive APDUs. A malformed APDU ends the listing, because it is unknown where the next one begins.
fn stream(octets: &[u8], arguments: &Decode, output: &mut Output) -> Result<Exit, Failure> {
    let mut exit = Exit::Delivered;
    let mut at = 0;
    for number in 1_usize.. {
        let rest = octets.get(at..).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
        let length = match Scanner::new(MAX_INPUT).scan(rest) {
            Ok(Some(length)) => length,
            Ok(None) => {
                let there = rest.len();
                output.error(&format!(
                    "octet {at}: the input ends {there} octets into an APDU"
                ));
                return Ok(Exit::FaultsFound);
            }
            Err(error) => {
                output.error(&format!("octet {at}: {error}"));
                return Ok(Exit::FaultsFound);
            }
        };
        let captured = Captured {
            number,
            place: format!("octet {at}"),
            offset: Some(at),
            line: None,
            entry: TranscriptEntry::default(),
            octets: rest.get(..length).unwrap_or_default(),
        };
        exit = exit.and(captured.show(arguments, output)?);
        at += length;
    }
    Ok(exit)
}

/// Lists the APDUs and the HTTP messages in a transcript. Lines about other events are skipped, and malformed lines are
/// reported as faults. A line with an unknown version of the transcript format ends the listing.
fn transcript(lines: &[u8], arguments: &Decode, output: &mut Output) -> Result<Exit, Failure> {
    let mut exit = Exit::Delivered;
    let mut number = 0;
    for (line, text) in (1_usize..).zip(lines.split(|octet| *octet == b'\n')) {
        let (entry, content) = match TranscriptEntry::read(text) {
            Ok(read) => read,
            Err(words) => {
                output.error(&format!("line {line}: {words}"));
                exit = exit.and(Exit::FaultsFound);
                continue;
            }
        };
        let version = entry.version.as_ref();
        if let Some(version) = version.filter(|version| **version != TRANSCRIPT_VERSION) {
            return Err(Failure::Input {
                path: arguments.file.display().to_string(),
                error: format!(
                    "line {line}: version {version} of transcripts, and this program reads version {TRANSCRIPT_VERSION}"
                ),
            });
        }
        let octets = match content {
            EntryContent::Apdu(octets) => octets,
            EntryContent::Http { start, octets } => {
                number += 1;
                entry.show_http((number, line), &start, octets, arguments, output)?;
                continue;
            }
            EntryContent::Nothing => continue,
        };
        number += 1;
        let captured = Captured {
            number,
            place: entry.place(line),
            offset: None,
            line: Some(line),
            entry,
            octets: &octets,
        };
        exit = exit.and(captured.show(arguments, output)?);
    }
    Ok(exit)
}

/// An APDU found in the input.
struct Captured<'a> {
    /// The 1-based number of the APDU.
    number: usize,
    /// The position of the APDU in the input, for messages.
    place: String,
    /// The offset of the APDU, if the input is a stream.
    offset: Option<usize>,
    /// The number of the line, if the input is a transcript.
    line: Option<usize>,
    /// The parsed line; empty if the input is a stream.
    entry: TranscriptEntry,
    octets: &'a [u8],
}

impl Captured<'_> {
    fn show(&self, arguments: &Decode, output: &mut Output) -> Result<Exit, Failure> {
        let result = codec::decode(self.octets);
        let (name, apdu, fault) = match &result {
            Ok(apdu) => (apdu.name(), Some(apdu), None),
            Err(error) => ("undecodable", None, Some(z3950::error::chain(error))),
        };
        let secrets = match &result {
            Ok(apdu) if arguments.show_secrets => secrets(apdu),
            _ => None,
        };
        // The octets of an APDU that cannot be decoded are always listed.
        let listing = (arguments.octets || fault.is_some()).then(|| dump::dump(self.octets));
        let (place, octets) = (&self.place, self.octets);
        if arguments.json {
            let object = json!({
                "number": self.number,
                "offset": self.offset,
                "line": self.line,
                "time": self.entry.time,
                "session": self.entry.session,
                "direction": self.entry.direction,
                "octets": octets.len(),
                "apdu": name,
                "value": apdu.map(decoded::to_json),
                "secrets": secrets,
                "listing": listing,
                "message": fault,
            });
            Envelope::from(object).write(output)?;
        } else {
            let length = octets.len();
            let number = self.number;
            output.line(&format!("#{number} {place}: {name}, {length} octets"))?;
            if let Some(apdu) = apdu {
                let text = decoded::to_text(apdu);
                text.lines()
                    .try_for_each(|line| output.line(&format!("  {line}")))?;
            }
            for text in secrets.iter().chain(&listing) {
                output.line(text.trim_end())?;
            }
        }
        match fault {
            None => Ok(Exit::Delivered),
            Some(fault) => {
                if !arguments.json {
                    output.error(&format!("{place}: {fault}"));
                }
                Ok(Exit::FaultsFound)
            }
        }
    }
}

/// Returns the credentials in an APDU; `None` if it contains none.
fn secrets(apdu: &Apdu) -> Option<String> {
    let text = |string: &Option<InternationalString>| {
        let octets = string.as_ref().map(|string| string.as_bytes());
        octets.map_or_else(|| "-".to_owned(), shown)
    };
    match apdu {
        Apdu::InitializeRequest(request) => Some(match request.id_authentication.as_ref()? {
            IdAuthentication::Open(open) => format!("open {}", shown(open.as_bytes())),
            IdAuthentication::IdPass(id) => format!(
                "group {}, user {}, password {}",
                text(&id.group_id),
                text(&id.user_id),
                text(&id.password)
            ),
            _ => return None,
        }),
        Apdu::AccessControlResponse(response) => match &*response.security_challenge_response {
            Some(SecurityChallengeResponse::SimpleForm(octets)) => {
                Some(format!("response {}", shown(octets.as_bytes())))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The maximum size of the input in octets, which also limits the size of an APDU.
const MAX_INPUT: usize = 256 << 20;

/// The first octets of packet captures: libpcap in both byte orders, with micro- and nanoseconds, and pcapng.
const PACKETS: [[u8; 4]; 5] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

/// A line of a transcript, as parsed from JSON.
#[derive(Debug, Default, Deserialize)]
struct TranscriptEntry {
    /// The version of the transcript's format.
    version: Option<Value>,
    time: Option<String>,
    session: Option<u64>,
    direction: Option<String>,
    /// The octets of an APDU, in hexadecimal.
    octets: Option<String>,
    /// The start line and the headers of an HTTP message.
    head: Option<String>,
    /// The body of the HTTP message, as text or in hexadecimal.
    body: Option<String>,
    #[serde(rename = "body-octets")]
    body_octets: Option<String>,
}

/// The decoded content of a transcript line.
#[derive(Debug, PartialEq, Eq)]
enum EntryContent {
    /// The octets of an APDU that was sent or received.
    Apdu(Vec<u8>),
    /// An HTTP message: its start line, and the number of octets in its body.
    Http { start: String, octets: usize },
    /// Any other event, which is skipped.
    Nothing,
}

/// Reads a complete file, or standard input for `-`.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
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
    // Neither an APDU nor hexadecimal text can begin like a packet capture, so valid input is never refused.
    Ok(octets)
}

impl TranscriptEntry {
    /// Describes the position of the line, such as `line 7, session 2, sent`.
    fn place(&self, line: usize) -> String {
        let session = self.session.map(|session| format!(", session {session}"));
        let direction = self
            .direction
            .as_ref()
            .map(|text| format!(", {}", shown(text.as_bytes())));
        [Some(format!("line {line}")), session, direction]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Parses a line of a transcript.
    fn read(line: &[u8]) -> Result<(Self, EntryContent), String> {
        if line.trim_ascii().is_empty() {
            return Ok((Self::default(), EntryContent::Nothing));
        }
        let entry: Self = serde_json::from_slice(line)
            .map_err(|error| format!("not a line of a transcript: {error}"))?;
        let octets = |digits: &String| {
            let octets = hexadecimal(digits.as_bytes());
            octets.ok_or("its octets are not in hexadecimal".to_owned())
        };
        let content = match (&entry.octets, &entry.head) {
            (Some(digits), _) => EntryContent::Apdu(octets(digits)?),
            (None, Some(head)) => EntryContent::Http {
                start: head.lines().next().unwrap_or_default().to_owned(),
                octets: match (&entry.body, &entry.body_octets) {
                    (Some(body), _) => body.len(),
                    (None, Some(digits)) => octets(digits)?.len(),
                    (None, None) => 0,
                },
            },
            (None, None) => EntryContent::Nothing,
        };
        Ok((entry, content))
    }

    /// Lists an HTTP message by its start line, which contains no secrets, and the number of octets in its body.
    fn show_http(
        &self,
        (number, line): (usize, usize),
        start: &str,
        octets: usize,
        arguments: &Decode,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if arguments.json {
            let object = json!({
                "number": number,
                "line": line,
                "time": self.time,
                "session": self.session,
                "direction": self.direction,
                "octets": octets,
                "http": start,
            });
            return Envelope::from(object).write(output);
        }
        let (place, start) = (self.place(line), shown(start.as_bytes()));
        output.line(&format!("#{number} {place}: {start}, {octets} octets"))
    }
}

/// Quotes the name of a file for a shell.
fn quoted(name: &str) -> String {
    let is_plain = |each: char| each.is_alphanumeric() || "/._-+".contains(each);
    if name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_d14_lines_of_a_transcript_hold_octets_or_another_event() {
        let read = |line: &str| TranscriptEntry::read(line.as_bytes());
        let (entry, octets) =
            read(r#"{"session": 2, "direction": "sent", "octets": "b4 00", "value": {"a": [1]}}"#)
                .expect("a line");
        assert_eq!(
            (entry.session, entry.direction.as_deref()),
            (Some(2), Some("sent"))
        );
        assert_eq!(octets, EntryContent::Apdu(vec![0xb4, 0]));
        for (line, octets) in [
            (r#"{"head": "GET /a HTTP/1.1\nhost: b\n"}"#, 0),
            (r#"{"head": "GET /a HTTP/1.1", "body": "é"}"#, 2),
            (r#"{"head": "GET /a HTTP/1.1", "body-octets": "e900ff"}"#, 3),
        ] {
            let start = "GET /a HTTP/1.1".to_owned();
            let (_, content) = read(line).expect(line);
            assert_eq!(content, EntryContent::Http { start, octets }, "{line}");
        }
        for line in ["", " ", r#"{"time": "x", "session": 1, "event": "opened"}"#] {
            assert_eq!(read(line).expect(line).1, EntryContent::Nothing, "{line}");
        }
        for (line, words) in [
            (r#"{"octets": "b4 0"}"#, "not in hexadecimal"),
            (r#"{"head": "a", "body-octets": "b"}"#, "not in hexadecimal"),
            (r#"{"octets": "#, "not a line of a transcript"),
            (r#"{"octets": 7}"#, "not a line of a transcript"),
            ("b400", "not a line of a transcript"),
        ] {
            assert!(read(line).expect_err(line).contains(words), "{line}");
        }
    }
}
