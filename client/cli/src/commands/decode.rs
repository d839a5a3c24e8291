//! `z3950 decode`: lists captured APDUs (Z39.50-2003 §4.1) of a TCP stream or a transcript.

mod input;

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use z3950_asn1::apdu::{Apdu, IdAuthentication, IdPass, SecurityChallengeResponse};
use z3950_asn1::codec::frame::Scanner;
use z3950_asn1::codec::{self, dump};
use z3950_asn1::decoded;
use z3950_asn1::types::InternationalString;

use self::input::{Input, MAX_INPUT, Said};
use crate::answer::Envelope;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::shown;

#[derive(Debug, Args)]
pub(crate) struct Decode {
    /// A file of captured APDUs, raw or in hexadecimal (both directions of a TCP stream may follow each other), or a
    /// transcript of z3950d in lines of JSON; - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Also list the octets of each APDU.
    #[arg(long)]
    pub(crate) octets: bool,

    /// Show users and passwords, which are hidden by default.
    #[arg(long)]
    pub(crate) show_secrets: bool,

    /// Print one JSON object per APDU.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Decode, output: &mut Output) -> Result<Exit, Failure> {
    match Input::read(&arguments.file)? {
        Input::Octets(octets) => stream(&octets, arguments, output),
        Input::Transcript(lines) => transcript(&lines, arguments, output),
    }
}

/// Lists consecutive APDUs. A broken one is the last, as the next cannot be found.
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
            place: Location::Octet(at),
            octets: rest.get(..length).unwrap_or_default(),
        };
        exit = exit.and(captured.show(arguments, output)?);
        at += length;
    }
    Ok(exit)
}

/// Lists the APDUs of a transcript. Lines about other events are skipped, broken ones are faults.
fn transcript(lines: &[u8], arguments: &Decode, output: &mut Output) -> Result<Exit, Failure> {
    let mut exit = Exit::Delivered;
    let mut number = 0;
    for (line, text) in (1_usize..).zip(lines.split(|octet| *octet == b'\n')) {
        let (said, octets) = match Said::read(text) {
            Ok(Some(said)) => said,
            Ok(None) => continue,
            Err(words) => {
                output.error(&format!("line {line}: {words}"));
                exit = exit.and(Exit::FaultsFound);
                continue;
            }
        };
        number += 1;
        let captured = Captured {
            number,
            place: Location::Line(line, said),
            octets: &octets,
        };
        exit = exit.and(captured.show(arguments, output)?);
    }
    Ok(exit)
}

/// An APDU in the input.
struct Captured<'a> {
    /// From 1.
    number: usize,
    place: Location,
    octets: &'a [u8],
}

/// The place of an APDU in the input.
enum Location {
    /// An offset in a stream.
    Octet(usize),
    /// A line of a transcript.
    Line(usize, Said),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Octet(at) => write!(f, "octet {at}"),
            Self::Line(line, said) => {
                write!(f, "line {line}")?;
                if let Some(session) = said.session {
                    write!(f, ", session {session}")?;
                }
                match &said.direction {
                    Some(direction) => write!(f, ", {}", shown(direction.as_bytes())),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Captured<'_> {
    fn show(&self, arguments: &Decode, output: &mut Output) -> Result<Exit, Failure> {
        let result = codec::decode(self.octets);
        let (name, apdu, fault) = match &result {
            Ok(apdu) => (apdu.name(), Some(apdu), None),
            Err(error) => (
                "undecodable",
                None,
                Some(crate::console::report::chain(error)),
            ),
        };
        let secrets = match &result {
            Ok(apdu) if arguments.show_secrets => secrets(apdu),
            _ => None,
        };
        // An APDU that cannot be decoded is always listed.
        let listing = (arguments.octets || fault.is_some()).then(|| dump::dump(self.octets));
        let Self {
            number,
            place,
            octets,
        } = self;
        if arguments.json {
            let (offset, line, said) = match place {
                Location::Octet(at) => (Some(at), None, None),
                Location::Line(line, said) => (None, Some(line), Some(said)),
            };
            let object = json!({
                "number": number,
                "offset": offset,
                "line": line,
                "time": said.and_then(|said| said.time.as_deref()),
                "session": said.and_then(|said| said.session),
                "direction": said.and_then(|said| said.direction.as_deref()),
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

/// The credentials in an APDU.
fn secrets(apdu: &Apdu) -> Option<String> {
    let text = |string: &Option<InternationalString>| {
        let octets = string.as_ref().map(|string| string.as_bytes());
        octets.map_or_else(|| "-".to_owned(), shown)
    };
    match apdu {
        Apdu::InitializeRequest(request) => Some(match request.id_authentication.as_ref()? {
            IdAuthentication::Open(open) => format!("open {}", shown(open.as_bytes())),
            IdAuthentication::IdPass(IdPass {
                group_id,
                user_id,
                password,
            }) => format!(
                "group {}, user {}, password {}",
                text(group_id),
                text(user_id),
                text(password)
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
