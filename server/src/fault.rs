//! Scripted misbehaviour for testing clients. A script is a list of rules, each of which names a fault and the requests that it strikes.
//!
//! Faults act between the session and the wire: a request may be changed before the session sees it, and the reply may be
//! changed, delayed, broken or withheld before it is sent. The session itself is not aware of faults.
//!
//! ```
//! use z3950_server::fault::{Fault, Faults, When};
//!
//! // Searches never return records; the second Present of a session gets no answer.
//! let faults = Faults::new()
//!     .on(When::search(), Fault::NeverPiggyback)
//!     .on(When::present().nth(2), Fault::Silence);
//!
//! // A rule as text, as on the command line and in the settings file.
//! let rule = "on search db=books nth=2: delay 500ms".parse()?;
//! let faults = faults.with(rule);
//! # let _ = faults;
//! # Ok::<(), z3950_server::fault::RuleError>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `when` | the requests a fault strikes |
//! | `rule`, `kinds`, `words` | rules as text |
//! | `alter` | faults in the values of requests and answers |
//! | `octets`, `marc` | faults in the octets of answers and records |
//! | `sru` | faults in SRU answers, with the feature `sru` |
//! | `unsolicited` | APDUs without a request |
//! | `script` | applies rules to requests and replies |

mod alter;
mod kinds;
mod marc;
mod octets;
mod rule;
mod script;
#[cfg(feature = "sru")]
pub(crate) mod sru;
mod unsolicited;
mod when;
mod words;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use z3950_asn1::apdu::{Apdu, CloseReason, Options, PresentStatus, ReferenceId};
use z3950_asn1::oid::Oid;

pub use self::kinds::{Kind, kinds};
pub use self::marc::Damage;
pub use self::rule::Rule;
pub(crate) use self::script::{Item, Output, Script};
#[cfg(feature = "sru")]
pub(crate) use self::when::HttpSubject;
pub use self::when::When;
pub use self::words::RuleError;
use crate::diagnostic::Diagnostic;

/// A fault in an answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// Init grants versions 1 and 2 only, encoded as `83 02 00 C0`, whatever the client offers.
    Version2,
    /// Init grants version 1 only, whatever the client offers.
    Version1,
    /// Init grants only those of these options that the session would grant without the fault.
    Options(Options),
    /// Init is answered with result FALSE, and this diagnostic in the userInformationField, if any.
    RejectInit(Option<Diagnostic>),
    /// A Search returns no records, whatever it asks for.
    NeverPiggyback,
    /// A Search returns this many records, whether or not it asks for records.
    PushRecords(u32),
    /// resultCount has this value, which may be negative.
    ResultCount(i64),
    /// numberOfRecordsReturned has this value.
    RecordsReturned(i64),
    /// The first record in the answer is repeated this many times, and the copies are included in the number of records returned.
    ExtraRecords(usize),
    /// Records come in this syntax, whatever the request prefers.
    Syntax(Oid),
    /// Each record in the answer is replaced by a surrogate diagnostic.
    Surrogate(Diagnostic),
    /// The search succeeds, but a non-surrogate diagnostic is sent instead of records, and presentStatus is failure.
    PiggybackFails(Diagnostic),
    /// The service fails with a non-surrogate diagnostic.
    Fails(Diagnostic),
    /// The service fails with several non-surrogate diagnostics. If the answer can only contain one, it contains the first.
    FailsWithSeveral(Vec<Diagnostic>),
    /// The service fails with a non-surrogate diagnostic, but the status of the answer is success, as in Metaproxy's search
    /// responses: only the diagnostic shows the failure.
    FailsAsSuccess(Diagnostic),
    /// The search fails without a diagnostic: searchStatus FALSE and nothing else.
    FailsSilently,
    /// The diagnostics in the answer have addinfo in the form of version 3, a GeneralString.
    AddinfoV3,
    /// presentStatus has this value.
    PresentStatus(PresentStatus),
    /// Only this number of the answer's records is sent; 0 for none.
    FewerRecords(usize),
    /// Position 09 of the leader of each MARC record has this value: `a` for UTF-8, a space for MARC-8.
    CharsetLabel(u8),
    /// Each MARC record in the answer is damaged in this way.
    DamagedMarc(Damage),
    /// The answer has this referenceId instead of the request's.
    ReferenceId(Option<ReferenceId>),
    /// The answer is changed by a function; see [`Fault::alter`] and [`Fault::alter_knowing`].
    Alter(Alteration),
    /// Before the answer, the server asks for credentials with this simple challenge. If the client sends none, the request fails
    /// with condition 236.
    Challenge(Bytes),
    /// Another APDU is sent before the answer, in the same write.
    Before(Apdu),
    /// Another APDU is sent after the answer, in the same write.
    After(Apdu),
    /// Another APDU is sent instead of the answer.
    Instead(Apdu),
    /// These octets are sent instead of the answer.
    Octets(Bytes),
    /// This number of octets is sent instead of the answer. They are the same each time and cannot begin an APDU.
    Garbage(usize),
    /// The answer has this context tag, 0 to 30, instead of its own.
    Tag(u8),
    /// The encoded length of the answer exceeds the length of its contents by this number of octets; with a negative number, it
    /// is too small.
    Length(i64),
    /// Every constructed value in the answer has the indefinite length, which is valid BER.
    IndefiniteLengths,
    /// Another APDU is sent instead of the answer, and the connection ends.
    Last(Apdu),
    /// Close is sent instead of the answer, with this reason and message, and the connection ends.
    Close(CloseReason, Option<&'static str>),
    /// No answer is sent.
    Silence,
    /// The answer is held back, and sent in one write with the next answer.
    Hold,
    /// The answer is held back, and sent in one write after the next answer.
    Swap,
    /// The answer is delayed by this time. In Z39.50, the delay ends early if the client cancels the operation.
    Delay(Duration),
    /// The octets of the answer are written one by one.
    Trickle,
    /// The octets of the answer are written one by one, at this number of octets per second.
    Rate(NonZeroU32),
    /// The connection is closed after this number of octets of the answer.
    CutAfter(usize),
    /// The connection is reset after this number of octets of the answer.
    ResetAfter(usize),
    /// The connection is closed after the answer.
    HangUp,
    /// The HTTP answer is an HTML page, as a proxy would send it.
    #[cfg(feature = "sru")]
    Html,
    /// SRU: the answer declares this namespace instead of its own.
    #[cfg(feature = "sru")]
    Namespace(String),
    /// SRU: the elements of the answer have a default namespace instead of prefixes.
    #[cfg(feature = "sru")]
    NoPrefixes,
    /// SRU: the answer has this version; `None` for an answer without version.
    #[cfg(feature = "sru")]
    SruVersion(Option<String>),
    /// SRU: nextRecordPosition has this value; `None` for an answer without it.
    #[cfg(feature = "sru")]
    NextRecord(Option<u64>),
    /// SRU: records have no recordPosition.
    #[cfg(feature = "sru")]
    NoPositions,
    /// SRU: the element `records` is empty.
    #[cfg(feature = "sru")]
    EmptyRecords,
    /// SRU: this diagnostic accompanies the records.
    #[cfg(feature = "sru")]
    Beside(Diagnostic),
    /// SRU: recordPacking has this value.
    #[cfg(feature = "sru")]
    Packing(String),
    /// The body of the HTTP answer begins with a byte order mark.
    #[cfg(feature = "sru")]
    ByteOrderMark,
    /// The body of the HTTP answer is in ISO 8859-1, although its header declares UTF-8.
    #[cfg(feature = "sru")]
    Latin1,
}

impl Fault {
    /// Returns a [`Fault::Alter`] with a function that changes each APDU in the answer.
    pub fn alter(change: impl Fn(&mut Apdu) + Send + Sync + 'static) -> Self {
        Self::alter_knowing(move |_, answer| change(answer))
    }

    /// Returns a [`Fault::Alter`] with a function that gets the request and changes each APDU in the answer.
    pub fn alter_knowing(change: impl Fn(&Apdu, &mut Apdu) + Send + Sync + 'static) -> Self {
        Self::Alter(Alteration(Arc::new(change)))
    }

    /// Returns a fault that replaces the answer with one that announces 4,294,967,295 octets of contents but does not contain
    /// any.
    pub fn announces_4_gib() -> Self {
        Self::Octets(Bytes::from_static(&[0xb7, 0x84, 0xff, 0xff, 0xff, 0xff]))
    }
}

/// A function that changes an answer.
#[derive(Clone)]
pub struct Alteration(Arc<Change>);

/// A function that gets the request and changes an APDU in the answer.
type Change = dyn Fn(&Apdu, &mut Apdu) + Send + Sync;

impl fmt::Debug for Alteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }
}

/// A list of rules for faults. Without rules, the server behaves correctly.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Vec<Rule>,
    counts: Counts,
}

/// The counts of each rule, in all sessions. A clone starts at zero, because it belongs to another server.
#[derive(Debug, Default)]
struct Counts(Vec<Count>);

/// The counts of a rule.
#[derive(Debug, Default)]
struct Count {
    /// The number of requests that have met the conditions of the rule, apart from conditions on the number of the request.
    met: AtomicU64,
    /// Whether the rule has struck a request.
    has_fired: AtomicBool,
}

impl Clone for Counts {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|_| Count::default()).collect())
    }
}

impl Faults {
    /// Creates an empty list of rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule. All rules that strike a request apply, in the order in which they were added.
    pub fn on(self, when: When, fault: Fault) -> Self {
        self.with(Rule::new(when, fault))
    }

    /// Adds a rule, like [`Faults::on`].
    pub fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self.counts.0.push(Count::default());
        self
    }

    /// Adds the rules of `others` after the rules of this list.
    pub fn and(mut self, others: Self) -> Self {
        self.rules.extend(others.rules);
        self.counts.0.extend(others.counts.0);
        self
    }

    /// Returns the number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns the rules that have not struck any request to the server yet, each with its index in the list.
    pub(crate) fn unfired(&self) -> impl Iterator<Item = (usize, &Rule)> {
        let numbered = self.rules.iter().enumerate().zip(&self.counts.0);
        numbered.filter_map(|(rule, count)| {
            let has_fired = count.has_fired.load(Ordering::Relaxed);
            (!has_fired).then_some(rule)
        })
    }

    /// Returns whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

#[cfg(test)]
mod tests;
