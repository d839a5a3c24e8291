//! `z3950 decode`: captured APDUs in words (Z39.50-2003 §4.1), such as a followed TCP stream holds them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::json;
use z3950_asn1::apdu::{Apdu, IdAuthentication, IdPass, SecurityChallengeResponse};
use z3950_asn1::codec::frame::Scanner;
use z3950_asn1::codec::{self, dump};
use z3950_asn1::types::InternationalString;

use super::args::Decode;
use super::envelope::VERSION;
use super::exit::Exit;
use super::output::{Failure, Output};
use crate::render::shown;

/// The most octets read, and thus the most of one APDU.
const MAX_INPUT: usize = 256 << 20;

pub(super) fn run(arguments: &Decode, output: &mut Output) -> Result<Exit, Failure> {
    let octets = octets(read(&arguments.file)?);
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
            at,
            octets: rest.get(..length).unwrap_or_default(),
        };
        exit = exit.and(captured.show(arguments, output)?);
        at += length;
    }
    Ok(exit)
}

/// An APDU in the input.
struct Captured<'a> {
    /// Which one, from 1 on.
    number: usize,
    /// Octets in front of it.
    at: usize,
    octets: &'a [u8],
}

impl Captured<'_> {
    fn show(&self, arguments: &Decode, output: &mut Output) -> Result<Exit, Failure> {
        let decoded = codec::decode(self.octets);
        let (name, value, fault) = match &decoded {
            Ok(apdu) => (apdu.name(), Some(format!("{apdu:#?}")), None),
            Err(error) => ("undecodable", None, Some(super::report::chain(error))),
        };
        let secrets = match &decoded {
            Ok(apdu) if arguments.show_secrets => secrets(apdu),
            _ => None,
        };
        // What cannot be decoded is listed in any case.
        let listing = (arguments.octets || fault.is_some()).then(|| dump::dump(self.octets));
        let Self { number, at, octets } = self;
        if arguments.json {
            let line = json!({
                "v": VERSION,
                "number": number,
                "offset": at,
                "octets": octets.len(),
                "apdu": name,
                "value": value,
                "secrets": secrets,
                "listing": listing,
                "message": fault,
            });
            output.line(&line.to_string())?;
        } else {
            let length = octets.len();
            output.line(&format!("#{number} octet {at}: {name}, {length} octets"))?;
            for text in value.iter().chain(&secrets).chain(&listing) {
                output.line(text.trim_end())?;
            }
        }
        match fault {
            None => Ok(Exit::Delivered),
            Some(fault) => {
                if !arguments.json {
                    output.error(&format!("octet {at}: {fault}"));
                }
                Ok(Exit::FaultsFound)
            }
        }
    }
}

/// Who an APDU says the client is.
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

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = path.display().to_string();
    let mut octets = Vec::new();
    let input: io::Result<Box<dyn Read>> = match path == Path::new("-") {
        true => Ok(Box::new(io::stdin())),
        false => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let most = u64::try_from(MAX_INPUT).unwrap_or(u64::MAX);
    input
        .and_then(|input| input.take(most.saturating_add(1)).read_to_end(&mut octets))
        .map_err(|error| Failure::input(&name, &error))?;
    match octets.len() <= MAX_INPUT {
        true => Ok(octets),
        false => Err(Failure::Input {
            path: name,
            error: format!("more than {MAX_INPUT} octets"),
        }),
    }
}

/// The octets themselves, or those that hexadecimal digits stand for: no APDU begins with one of these.
fn octets(input: Vec<u8>) -> Vec<u8> {
    let digit = |octet: &u8| {
        let digit = char::from(*octet).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    let mut characters = input.iter().filter(|octet| !octet.is_ascii_whitespace());
    let digits: Option<Vec<u8>> = characters.by_ref().map(digit).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => digits
            .chunks_exact(2)
            .map(|pair| pair.iter().fold(0, |octet, digit| octet << 4 | digit))
            .collect(),
        _ => input,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_come_raw_or_as_digits() {
        for (input, expected) in [
            (&b"b4 03\n0A01"[..], &[0xb4, 3, 0x0a, 1][..]),
            (b"\xb4\x01\x00", b"\xb4\x01\x00"),
            (b"b4 0", b"b4 0"),
            (b"", b""),
        ] {
            assert_eq!(octets(input.to_vec()), expected);
        }
    }
}
