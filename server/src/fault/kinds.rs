//! The text form of faults: the name, arguments and meaning of each fault, and the parser.

use bytes::Bytes;
use z3950_asn1::apdu::{Options, PresentStatus, ReferenceId};
use z3950_files::hex;

use super::words::{self, RuleError, Words, choices};
use super::{Damage, Fault, unsolicited};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::units;

/// The textual form of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name of the fault in rules.
    pub name: &'static str,
    /// The names of the arguments, optional ones in brackets.
    pub arguments: &'static str,
    /// The description, for help texts.
    pub meaning: &'static str,
}

/// Returns all faults that a [`super::Rule`] can name.
pub fn kinds() -> impl Iterator<Item = Kind> {
    let lines = KINDS.lines().chain(OF_HTTP.lines());
    lines.filter_map(|line| {
        let (form, meaning) = line.split_once(": ")?;
        let (name, arguments) = form.split_once(' ').unwrap_or((form, ""));
        let arguments = match arguments {
            "APDU" => unsolicited::NAMES,
            "DAMAGE" => Damage::NAMES,
            arguments => arguments,
        };
        Some(Kind {
            name,
            arguments,
            meaning,
        })
    })
}

/// The faults, one per line: `NAME ARGUMENTS: MEANING`.
const KINDS: &str = "\
delay TIME: the answer is sent after this time, or when the client cancels the operation
trickle [OCTETS]: each octet is written by itself; with a number, this many per second
cut OCTETS: the connection is closed after this many octets of the answer
reset [OCTETS]: the same, but the connection is reset
hang-up: the connection is closed after the answer
silence: there is no answer
hold: the answer is sent together with the next one, before it
swap: the answer is sent together with the next one, after it
octets HEX: these octets are sent instead of the answer
garbage [OCTETS]: send this many octets that are not an APDU, 64 by default
tag 0-30: the answer carries this context tag
length ±OCTETS: the answer claims to be this much longer or shorter than it is
indefinite: every constructed value has the indefinite length
version 1|2: the server speaks no later version
options [NAME…]: only these options are granted
reject [CODE [ADDINFO]]: Init is rejected, with a diagnostic if there is a code
reference-id [TEXT]: the answer carries this referenceId, or none
fail CODE [ADDINFO]: the service fails with this Bib-1 diagnostic
fail-several CODE ADDINFO…: the service fails with several: pairs of code and addinfo
fail-as-success CODE [ADDINFO]: the service fails with this diagnostic, but its status says success, as that of Metaproxy does
fail-silently: the search fails without a diagnostic
addinfo v3: diagnostics carry their addinfo in version 3's type
count HITS: resultCount has this value
no-piggyback: a Search brings no records
push RECORDS: a Search brings this many records whether or not they were asked for
piggyback-fails CODE [ADDINFO]: the search works, but its records are replaced by a diagnostic
status STATUS: presentStatus has this value, or the status of HTTP
returned RECORDS: numberOfRecordsReturned has this value
fewer RECORDS: only this many of the records are sent
more RECORDS: the first record is sent this many times more
syntax NAME: records come in this syntax, whatever was asked for
surrogate CODE [ADDINFO]: each record is replaced by a surrogate diagnostic
label CHARACTER: position 9 of the leader of MARC records: a for UTF-8, # for a blank
damage DAMAGE: MARC records are damaged in this way
before APDU: another APDU is sent before the answer
after APDU: another APDU is sent after the answer
instead APDU: another APDU is sent instead of the answer
last APDU: the same, and the connection is closed
close [REASON [WORDS]]: Close is sent instead of the answer, and the connection is closed
challenge TEXT: the client is asked for credentials first, with this challenge";

/// The faults in HTTP answers, in the same form as [`KINDS`].
#[cfg(feature = "sru")]
const OF_HTTP: &str = "\
html: HTTP: the answer is an HTML page
bom: HTTP: the body begins with a byte order mark
latin-1: HTTP: the body is in ISO 8859-1, although it says UTF-8
namespace URI: SRU: the answer declares this namespace instead of its own
no-prefixes: SRU: elements have no prefix, but a default namespace
sru-version [TEXT]: SRU: the answer names this version, or none
next [POSITION]: SRU: nextRecordPosition has this value, or is missing
no-positions: SRU: records have no recordPosition
empty-records: SRU: the element of the records is empty
beside CODE [ADDINFO]: SRU: a diagnostic stands beside the records
packing TEXT: SRU: recordPacking has this value";
#[cfg(not(feature = "sru"))]
const OF_HTTP: &str = "";

const OCTETS: &str = "a number of octets";
const RECORDS: &str = "a number of records";
/// The maximum number of octets of garbage, and of copies of a record, that a rule can ask for.
const MAX_GARBAGE: usize = 1 << 24;
const MAX_MORE: usize = 10_000;

/// Parses the fault in the rest of a rule.
pub(super) fn read(words: &mut Words<'_>) -> Result<Fault, RuleError> {
    let at = words.position();
    let name = words.need("a fault")?;
    let fault = match &*name {
        "delay" => Fault::Delay(words.parse("a time such as 500ms", units::duration)?),
        "trickle" => match words.parse_if_any("a number of octets from 1", parsed)? {
            Some(rate) => Fault::Rate(rate),
            None => Fault::Trickle,
        },
        "cut" => Fault::CutAfter(words.parse(OCTETS, parsed)?),
        "reset" => Fault::ResetAfter(words.parse_if_any(OCTETS, parsed)?.unwrap_or(0)),
        "hang-up" => Fault::HangUp,
        "silence" => Fault::Silence,
        "hold" => Fault::Hold,
        "swap" => Fault::Swap,
        "octets" => Fault::Octets(words.parse("octets in hexadecimal", hex::octets)?.into()),
        "garbage" => {
            let read = |text: &str| parsed(text).filter(|octets| *octets <= MAX_GARBAGE);
            Fault::Garbage(words.parse_if_any(OCTETS, read)?.unwrap_or(64))
        }
        "tag" => {
            let read = |text: &str| parsed(text).filter(|tag| *tag <= 30);
            Fault::Tag(words.parse("a tag from 0 to 30", read)?)
        }
        "length" => Fault::Length(words.parse("a number of octets, such as +5", parsed)?),
        "indefinite" => Fault::IndefiniteLengths,
        "version" => words.parse("1 or 2", |text| match text {
            "1" => Some(Fault::Version1),
            "2" => Some(Fault::Version2),
            _ => None,
        })?,
        "options" => {
            let mut options = Options::default();
            while let Some(one) = words.parse_if_any("the name of an option", Options::by_name)? {
                options = options | one;
            }
            Fault::Options(options)
        }
        "reject" if words.is_at_end() => Fault::RejectInit(None),
        "reject" => Fault::RejectInit(Some(condition(words)?)),
        "reference-id" => {
            let id = words.next()?;
            Fault::ReferenceId(id.map(|id| ReferenceId(id.into_bytes().into())))
        }
        "fail" => Fault::Fails(condition(words)?),
        "fail-several" => {
            let mut several = vec![condition(words)?];
            while !words.is_at_end() {
                several.push(condition(words)?);
            }
            Fault::FailsWithSeveral(several)
        }
        "fail-as-success" => Fault::FailsAsSuccess(condition(words)?),
        "fail-silently" => Fault::FailsSilently,
        "addinfo" => words.parse("v3", |text| (text == "v3").then_some(Fault::AddinfoV3))?,
        "count" => Fault::ResultCount(words.parse("a number", parsed)?),
        "no-piggyback" => Fault::NeverPiggyback,
        "push" => Fault::PushRecords(words.parse(RECORDS, parsed)?),
        "piggyback-fails" => Fault::PiggybackFails(condition(words)?),
        "status" => {
            let known = "success, partial-1 … partial-4, failure or a number";
            Fault::PresentStatus(words.parse(known, status)?)
        }
        "returned" => Fault::RecordsReturned(words.parse(RECORDS, parsed)?),
        "fewer" => Fault::FewerRecords(words.parse(RECORDS, parsed)?),
        "more" => {
            let read = |text: &str| parsed(text).filter(|more| *more <= MAX_MORE);
            Fault::ExtraRecords(words.parse(RECORDS, read)?)
        }
        "syntax" => Fault::Syntax(words.parse("a record syntax", words::syntax)?),
        "surrogate" => Fault::Surrogate(condition(words)?),
        "label" => Fault::CharsetLabel(words.parse("one character", label)?),
        "damage" => Fault::DamagedMarc(words.parse(Damage::NAMES, parsed)?),
        "before" => Fault::Before(unsolicited::read(words)?),
        "after" => Fault::After(unsolicited::read(words)?),
        "instead" => Fault::Instead(unsolicited::read(words)?),
        "last" => Fault::Last(unsolicited::read(words)?),
        "close" => Fault::Last(unsolicited::close(words)?),
        "challenge" => Fault::Challenge(Bytes::from(words.need("a challenge")?)),
        #[cfg(feature = "sru")]
        "html" => Fault::Html,
        #[cfg(feature = "sru")]
        "bom" => Fault::ByteOrderMark,
        #[cfg(feature = "sru")]
        "latin-1" => Fault::Latin1,
        #[cfg(feature = "sru")]
        "namespace" => Fault::Namespace(words.need("a namespace")?),
        #[cfg(feature = "sru")]
        "no-prefixes" => Fault::NoPrefixes,
        #[cfg(feature = "sru")]
        "sru-version" => Fault::SruVersion(words.next()?),
        #[cfg(feature = "sru")]
        "next" => Fault::NextRecord(words.parse_if_any("a position", parsed)?),
        #[cfg(feature = "sru")]
        "no-positions" => Fault::NoPositions,
        #[cfg(feature = "sru")]
        "empty-records" => Fault::EmptyRecords,
        #[cfg(feature = "sru")]
        "beside" => Fault::Beside(condition(words)?),
        #[cfg(feature = "sru")]
        "packing" => Fault::Packing(words.need("a packing")?),
        _ => {
            let names: Vec<_> = kinds().map(|kind| kind.name).collect();
            let choices = choices(&names.join(", "));
            return Err(RuleError::new(at, format!("no fault {name:?}{choices}")));
        }
    };
    let at = words.position();
    match words.next()? {
        None => Ok(fault),
        Some(more) => Err(RuleError::new(
            at,
            format!("unexpected {more:?} after {name:?}"),
        )),
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Parses a Bib-1 condition and its addinfo.
fn condition(words: &mut Words<'_>) -> Result<Diagnostic, RuleError> {
    let code = words.parse("the number of a condition", parsed)?;
    let addinfo = words.next()?.unwrap_or_default();
    Ok(diagnostic(Condition(code), addinfo))
}

fn label(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [b'#'] => Some(b' '),
        [label] => Some(*label),
        _ => None,
    }
}

fn status(text: &str) -> Option<PresentStatus> {
    let mut known = (0..=5).map(PresentStatus);
    known
        .find(|status| status.name() == Some(text))
        .or_else(|| parsed(text).map(PresentStatus))
}
