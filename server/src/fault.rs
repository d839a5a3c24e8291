//! Scripted misbehaviour, so that clients can be tested against it: a list of rules, each a fault and when it strikes.
//!
//! Everything happens at one seam between the session and the wire: a request may be changed before the session sees
//! it, and what the session answers may be changed, delayed, broken or withheld before it is sent. The session itself knows
//! nothing of faults.
//!
//! ```
//! use z3950_server::fault::{Fault, Faults, When};
//!
//! // Searches never bring records; the second Present of a session is not answered at all.
//! let faults = Faults::new()
//!     .on(When::search(), Fault::NeverPiggyback)
//!     .on(When::present().nth(2), Fault::Silence);
//!
//! // A rule as text, as the command line and the configuration file of the program have it.
//! let rule = "on search db=books nth=2: delay 500ms".parse()?;
//! let faults = faults.with(rule);
//! # let _ = faults;
//! # Ok::<(), z3950_server::fault::RuleError>(())
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `when` | the requests a fault strikes |
//! | `rule`, `kinds`, `words` | rules as text |
//! | `alter` | faults in requests and answers as values |
//! | `octets`, `marc` | faults in the octets of answers and records |
//! | `unsolicited` | APDUs nobody asked for |
//! | `script` | the seam |

mod alter;
mod kinds;
mod marc;
mod octets;
mod rule;
mod script;
mod unsolicited;
mod when;
mod words;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use z3950_asn1::apdu::{Apdu, CloseReason, Options, PresentStatus, ReferenceId};
use z3950_asn1::oid::Oid;

pub use self::kinds::{KINDS, Kind};
pub use self::marc::Damage;
pub use self::rule::Rule;
pub(crate) use self::script::{Intake, Item, Output, Script};
pub use self::when::When;
pub use self::words::RuleError;
use crate::diagnostic::Diagnostic;

/// What goes wrong in an answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// Only versions 1 and 2 are spoken, `83 02 00 C0`, whatever the client offers (on Init).
    Version2,
    /// Only version 1 is spoken, whatever the client offers (on Init).
    Version1,
    /// Of the options that the session would grant, only these are (on Init).
    Options(Options),
    /// Init is answered with result FALSE, with a diagnostic in the userInformationField if one is given.
    RejectInit(Option<Diagnostic>),
    /// A Search brings no records, whatever it asks for.
    NeverPiggyback,
    /// A Search brings so many records, whether asked for or not.
    PushRecords(u32),
    /// resultCount says so many hits, also fewer than none.
    ResultCount(i64),
    /// numberOfRecordsReturned says so many records.
    RecordsReturned(i64),
    /// The first record of the answer comes so many times more, and is counted.
    ExtraRecords(usize),
    /// Records come in this syntax, whatever is asked for.
    Syntax(Oid),
    /// Each record of the answer is replaced by a surrogate diagnostic.
    Surrogate(Diagnostic),
    /// The search works, but instead of records there is a non-surrogate diagnostic, and presentStatus is failure.
    PiggybackFails(Diagnostic),
    /// The service fails with a non-surrogate diagnostic.
    Fails(Diagnostic),
    /// The service fails with several non-surrogate diagnostics; a service that has place for one takes the first.
    FailsWithSeveral(Vec<Diagnostic>),
    /// The search fails without a word on why: searchStatus FALSE and nothing else.
    FailsSilently,
    /// The diagnostics of the answer bear their addinfo in version 3's type, a GeneralString.
    AddinfoV3,
    /// presentStatus says this, whatever came.
    PresentStatus(PresentStatus),
    /// Of the records in the answer, only so many come; 0 leaves none.
    FewerRecords(usize),
    /// The octet 09 of the leader of each MARC record says this: `a` for UTF-8, a blank for MARC-8.
    CharsetLabel(u8),
    /// Each MARC record of the answer is damaged.
    DamagedMarc(Damage),
    /// The answer bears this referenceId instead of the request's.
    ReferenceId(Option<ReferenceId>),
    /// The answer is changed in any way; see [`Fault::alter`] and [`Fault::alter_knowing`].
    Alter(Alteration),
    /// The server asks for credentials first, with this simple challenge, and answers when they have come. The request
    /// fails with condition 236 if the client has none to give.
    Challenge(Bytes),
    /// Another APDU goes before the answer, in the same write.
    Before(Apdu),
    /// Another APDU goes behind the answer, in the same write.
    Behind(Apdu),
    /// Another APDU comes instead of the answer.
    Instead(Apdu),
    /// These octets come instead of the answer, whatever they are.
    Octets(Bytes),
    /// So many octets come instead of the answer, the same ones each time, which begin as no APDU does.
    Garbage(usize),
    /// The answer bears this context tag, 0 to 30, instead of its own.
    Tag(u8),
    /// The answer announces so many octets more, or fewer, than it has.
    Length(i64),
    /// Every constructed value of the answer has the indefinite length, as is allowed.
    IndefiniteLengths,
    /// Another APDU comes instead of the answer, and the connection ends.
    Last(Apdu),
    /// Close comes instead of the answer, with its reason and words, and the connection ends.
    Close(CloseReason, Option<&'static str>),
    /// There is no answer.
    Silence,
    /// The answer goes out in one write with the next one.
    Hold,
    /// The answer goes out in one write with the next one, and behind it.
    Swap,
    /// The answer comes so much later. Nothing else is read meanwhile.
    Delay(Duration),
    /// Each octet of the answer is written by itself.
    Trickle,
    /// Each octet of the answer is written by itself, so many in a second.
    Rate(NonZeroU32),
    /// The answer ends after so many octets, and with it the connection.
    CutAfter(usize),
    /// The answer ends after so many octets, and the connection is reset.
    ResetAfter(usize),
    /// The connection ends behind the answer.
    HangUp,
}

impl Fault {
    /// [`Fault::Alter`] with a function that is given each APDU of the answer.
    pub fn alter(change: impl Fn(&mut Apdu) + Send + Sync + 'static) -> Self {
        Self::alter_knowing(move |_, answer| change(answer))
    }

    /// [`Fault::Alter`] with a function that is given the request, and each APDU of the answer to change.
    pub fn alter_knowing(change: impl Fn(&Apdu, &mut Apdu) + Send + Sync + 'static) -> Self {
        Self::Alter(Alteration(Arc::new(change)))
    }

    /// An answer that announces 4,294,967,295 octets and begins with none of them.
    pub fn announces_4_gib() -> Self {
        Self::Octets(Bytes::from_static(&[0xb7, 0x84, 0xff, 0xff, 0xff, 0xff]))
    }
}

/// A change to an answer, as a function.
#[derive(Clone)]
pub struct Alteration(Arc<Change>);

/// Given the request, and an APDU of the answer to change.
type Change = dyn Fn(&Apdu, &mut Apdu) + Send + Sync;

impl fmt::Debug for Alteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }
}

/// Rules: faults, and when they strike. Without any, the server behaves.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Vec<Rule>,
    met: Counts,
}

/// How many requests of all sessions have met each rule's conditions. A clone is for another server, and begins anew.
#[derive(Debug, Default)]
struct Counts(Vec<AtomicU64>);

impl Clone for Counts {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|_| AtomicU64::new(0)).collect())
    }
}

impl Faults {
    /// No faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule. All that strike the same request do, in the order in which they were added.
    pub fn on(self, when: When, fault: Fault) -> Self {
        self.with(Rule { when, fault })
    }

    /// Adds a rule, as [`Faults::on`] does.
    pub fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self.met.0.push(AtomicU64::new(0));
        self
    }

    /// Adds the rules of others behind these.
    pub fn and(mut self, others: Self) -> Self {
        self.rules.extend(others.rules);
        self.met.0.extend(others.met.0);
        self
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

#[cfg(test)]
mod tests;
