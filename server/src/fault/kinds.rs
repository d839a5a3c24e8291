//! The table of faults as text: name, arguments, meaning, and the parser of the arguments.

use bytes::Bytes;
use z3950_asn1::apdu::{Options, PresentStatus, ReferenceId};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::hex;

use super::words::{self, RuleError, Words};
use super::{Damage, Fault, unsolicited};
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::units;

/// The text form of a fault.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The arguments, optional ones in brackets.
    pub arguments: &'static str,
    /// The description.
    pub meaning: &'static str,
    read: Read,
}

type Read = fn(&mut Words<'_>) -> Result<Fault, RuleError>;

const fn kind(
    name: &'static str,
    arguments: &'static str,
    meaning: &'static str,
    read: Read,
) -> Kind {
    Kind {
        name,
        arguments,
        meaning,
        read,
    }
}

/// All faults that a [`super::Rule`] can name.
pub const KINDS: &[Kind] = &[
    // How the answer is written.
    kind(
        "delay",
        "TIME",
        "the answer is sent after this time",
        |words| {
            Ok(Fault::Delay(
                words.parse("a time such as 500ms", units::duration)?,
            ))
        },
    ),
    kind(
        "trickle",
        "[OCTETS]",
        "each octet is written by itself; with a number, this many per second",
        |words| {
            let rate = words.parse_if_any("a number of octets from 1", number)?;
            Ok(rate.map_or(Fault::Trickle, Fault::Rate))
        },
    ),
    kind(
        "cut",
        "OCTETS",
        "the connection is closed after this many octets of the answer",
        |words| Ok(Fault::CutAfter(words.parse(OCTETS, number)?)),
    ),
    kind(
        "reset",
        "[OCTETS]",
        "the same, but the connection is reset",
        |words| {
            Ok(Fault::ResetAfter(
                words.parse_if_any(OCTETS, number)?.unwrap_or(0),
            ))
        },
    ),
    kind(
        "hang-up",
        "",
        "the connection is closed after the answer",
        |_| Ok(Fault::HangUp),
    ),
    kind("silence", "", "there is no answer", |_| Ok(Fault::Silence)),
    kind(
        "hold",
        "",
        "the answer is sent together with the next one, before it",
        |_| Ok(Fault::Hold),
    ),
    kind(
        "swap",
        "",
        "the answer is sent together with the next one, after it",
        |_| Ok(Fault::Swap),
    ),
    // The octets of the answer.
    kind(
        "octets",
        "HEX",
        "these octets are sent instead of the answer",
        |words| {
            let octets = words.parse("octets in hexadecimal", hex::octets)?;
            Ok(Fault::Octets(octets.into()))
        },
    ),
    kind(
        "garbage",
        "[OCTETS]",
        "send this many octets that are not an APDU, 64 by default",
        |words| {
            Ok(Fault::Garbage(
                words.parse_if_any(OCTETS, garbage)?.unwrap_or(64),
            ))
        },
    ),
    kind(
        "tag",
        "0-30",
        "the answer carries this context tag",
        |words| {
            Ok(Fault::Tag(words.parse("a tag from 0 to 30", |text| {
                number(text).filter(|tag| *tag <= 30)
            })?))
        },
    ),
    kind(
        "length",
        "±OCTETS",
        "the answer claims to be this much longer or shorter than it is",
        |words| {
            Ok(Fault::Length(
                words.parse("a number of octets, such as +5", number)?,
            ))
        },
    ),
    kind(
        "indefinite",
        "",
        "every constructed value has the indefinite length",
        |_| Ok(Fault::IndefiniteLengths),
    ),
    // Init.
    kind(
        "version",
        "1|2",
        "the server speaks no later version",
        |words| {
            words.parse("1 or 2", |text| match text {
                "1" => Some(Fault::Version1),
                "2" => Some(Fault::Version2),
                _ => None,
            })
        },
    ),
    kind(
        "options",
        "[NAME…]",
        "only these options are granted",
        |words| {
            let mut options = Options::default();
            while let Some(option) =
                words.parse_if_any("the name of an option", Options::by_name)?
            {
                options = options | option;
            }
            Ok(Fault::Options(options))
        },
    ),
    kind(
        "reject",
        "[CODE [ADDINFO]]",
        "Init is rejected, with a diagnostic if there is a code",
        |words| match words.is_at_end() {
            true => Ok(Fault::RejectInit(None)),
            false => Ok(Fault::RejectInit(Some(condition(words)?))),
        },
    ),
    // The values of the answer.
    kind(
        "reference-id",
        "[TEXT]",
        "the answer carries this referenceId, or none",
        |words| {
            let id = words.next()?;
            Ok(Fault::ReferenceId(
                id.map(|id| ReferenceId(id.into_bytes().into())),
            ))
        },
    ),
    kind(
        "fail",
        "CODE [ADDINFO]",
        "the service fails with this Bib-1 diagnostic",
        |words| Ok(Fault::Fails(condition(words)?)),
    ),
    kind(
        "fail-several",
        "CODE ADDINFO…",
        "the service fails with several: pairs of code and addinfo",
        |words| {
            let mut several = vec![condition(words)?];
            while !words.is_at_end() {
                several.push(condition(words)?);
            }
            Ok(Fault::FailsWithSeveral(several))
        },
    ),
    kind(
        "fail-silently",
        "",
        "the search fails without a diagnostic",
        |_| Ok(Fault::FailsSilently),
    ),
    kind(
        "addinfo",
        "v3",
        "diagnostics carry their addinfo in version 3's type",
        |words| words.parse("v3", |text| (text == "v3").then_some(Fault::AddinfoV3)),
    ),
    kind("count", "HITS", "resultCount has this value", |words| {
        Ok(Fault::ResultCount(words.parse("a number", number)?))
    }),
    kind("no-piggyback", "", "a Search brings no records", |_| {
        Ok(Fault::NeverPiggyback)
    }),
    kind(
        "push",
        "RECORDS",
        "a Search brings this many records whether or not they were asked for",
        |words| Ok(Fault::PushRecords(words.parse(RECORDS, number)?)),
    ),
    kind(
        "piggyback-fails",
        "CODE [ADDINFO]",
        "the search works, but its records are replaced by a diagnostic",
        |words| Ok(Fault::PiggybackFails(condition(words)?)),
    ),
    // Records.
    kind(
        "status",
        "STATUS",
        "presentStatus has this value",
        |words| {
            Ok(Fault::PresentStatus(words.parse(
                "success, partial-1 … partial-4, failure or a number",
                status,
            )?))
        },
    ),
    kind(
        "returned",
        "RECORDS",
        "numberOfRecordsReturned has this value",
        |words| Ok(Fault::RecordsReturned(words.parse(RECORDS, number)?)),
    ),
    kind(
        "fewer",
        "RECORDS",
        "only this many of the records are sent",
        |words| Ok(Fault::FewerRecords(words.parse(RECORDS, number)?)),
    ),
    kind(
        "more",
        "RECORDS",
        "the first record is sent this many times more",
        |words| {
            Ok(Fault::ExtraRecords(words.parse(RECORDS, |text| {
                number(text).filter(|more| *more <= MAX_MORE)
            })?))
        },
    ),
    kind(
        "syntax",
        "NAME",
        "records come in this syntax, whatever was asked for",
        |words| {
            Ok(Fault::Syntax(
                words.parse("a record syntax", words::syntax)?,
            ))
        },
    ),
    kind(
        "surrogate",
        "CODE [ADDINFO]",
        "each record is replaced by a surrogate diagnostic",
        |words| Ok(Fault::Surrogate(condition(words)?)),
    ),
    kind(
        "label",
        "CHARACTER",
        "position 9 of the leader of MARC records: a for UTF-8, # for a blank",
        |words| {
            let label = words.parse("one character", |text| match text.as_bytes() {
                [b'#'] => Some(b' '),
                [label] => Some(*label),
                _ => None,
            })?;
            Ok(Fault::CharsetLabel(label))
        },
    ),
    kind(
        "damage",
        Damage::NAMES,
        "MARC records are damaged in this way",
        |words| {
            Ok(Fault::DamagedMarc(
                words.parse(Damage::NAMES, |text| text.parse().ok())?,
            ))
        },
    ),
    // Unsolicited APDUs.
    kind(
        "before",
        unsolicited::NAMES,
        "another APDU is sent before the answer",
        |words| Ok(Fault::Before(unsolicited::read(words)?)),
    ),
    kind(
        "behind",
        unsolicited::NAMES,
        "another APDU is sent after the answer",
        |words| Ok(Fault::Behind(unsolicited::read(words)?)),
    ),
    kind(
        "instead",
        unsolicited::NAMES,
        "another APDU is sent instead of the answer",
        |words| Ok(Fault::Instead(unsolicited::read(words)?)),
    ),
    kind(
        "last",
        unsolicited::NAMES,
        "the same, and the connection is closed",
        |words| Ok(Fault::Last(unsolicited::read(words)?)),
    ),
    kind(
        "close",
        "[REASON [WORDS]]",
        "Close is sent instead of the answer, and the connection is closed",
        |words| Ok(Fault::Last(unsolicited::close(words)?)),
    ),
    kind(
        "challenge",
        "TEXT",
        "the client is asked for credentials first, with this challenge",
        |words| Ok(Fault::Challenge(Bytes::from(words.need("a challenge")?))),
    ),
];

const OCTETS: &str = "a number of octets";
const RECORDS: &str = "a number of records";
/// The most octets of garbage, and copies of a record, in a rule.
const MAX_GARBAGE: usize = 1 << 24;
const MAX_MORE: usize = 10_000;

/// Reads the fault that the rest of the text names.
pub(super) fn read(words: &mut Words<'_>) -> Result<Fault, RuleError> {
    let at = words.position();
    let name = words.need("a fault")?;
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        RuleError::new(at, format!("no fault {name:?}")).with_choices(&names.join(", "))
    })?;
    let fault = (kind.read)(words)?;
    let at = words.position();
    match words.next()? {
        None => Ok(fault),
        Some(more) => Err(RuleError::new(
            at,
            format!("{more:?} where {name:?} is complete"),
        )),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn garbage(text: &str) -> Option<usize> {
    number(text).filter(|octets| *octets <= MAX_GARBAGE)
}

/// A condition of Bib-1 and its addinfo.
fn condition(words: &mut Words<'_>) -> Result<Diagnostic, RuleError> {
    let code = words.parse("the number of a condition", number)?;
    let addinfo = words.next()?.unwrap_or_default();
    Ok(diagnostic(Condition(code), addinfo))
}

fn status(text: &str) -> Option<PresentStatus> {
    let mut known = (0..=5).map(PresentStatus);
    known
        .find(|status| status.name() == Some(text))
        .or_else(|| number(text).map(PresentStatus))
}
