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
//! # let _ = faults;
//! ```

mod alter;
mod script;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use z3950_asn1::apdu::{Apdu, CloseReason, DatabaseName, ReferenceId};
use z3950_asn1::oid::Oid;

use crate::diagnostic::Diagnostic;

pub(crate) use self::script::{Item, Output, Script};

/// What goes wrong in an answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// Only versions 1 and 2 are spoken, `83 02 00 C0`, whatever the client offers (on Init).
    Version2,
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
    /// The answer bears this referenceId instead of the request's.
    ReferenceId(Option<ReferenceId>),
    /// The answer is changed in any way; see [`Fault::alter`].
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
    /// Close comes instead of the answer, with its reason and words, and the connection ends.
    Close(CloseReason, Option<&'static str>),
    /// There is no answer.
    Silence,
    /// The answer goes out in one write with the next one.
    Hold,
    /// The answer comes so much later. Nothing else is read meanwhile.
    Delay(Duration),
    /// Each octet of the answer is written by itself.
    Trickle,
    /// The answer ends after so many octets, and with it the connection.
    CutAfter(usize),
}

impl Fault {
    /// [`Fault::Alter`] with a function that is given each APDU of the answer.
    pub fn alter(change: impl Fn(&mut Apdu) + Send + Sync + 'static) -> Self {
        Self::Alter(Alteration(Arc::new(change)))
    }

    /// An answer that announces 4,294,967,295 octets and begins with none of them.
    pub fn announces_4_gib() -> Self {
        Self::Octets(Bytes::from_static(&[0xb7, 0x84, 0xff, 0xff, 0xff, 0xff]))
    }
}

/// A change to an answer, as a function.
#[derive(Clone)]
pub struct Alteration(Arc<dyn Fn(&mut Apdu) + Send + Sync>);

impl fmt::Debug for Alteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }
}

/// The requests that a fault strikes: those that meet every condition given.
#[derive(Clone, Debug, Default)]
pub struct When {
    apdu: Option<&'static str>,
    session: Option<u64>,
    database: Option<String>,
    syntax: Option<Oid>,
    nth: Option<u64>,
}

impl When {
    /// Every request.
    pub fn always() -> Self {
        Self::default()
    }

    /// Every request whose APDU has this name, as [`Apdu::name`] gives it.
    pub fn apdu(name: &'static str) -> Self {
        Self {
            apdu: Some(name),
            ..Self::default()
        }
    }

    /// Every Init.
    pub fn init() -> Self {
        Self::apdu("initRequest")
    }

    /// Every Search.
    pub fn search() -> Self {
        Self::apdu("searchRequest")
    }

    /// Every Present.
    pub fn present() -> Self {
        Self::apdu("presentRequest")
    }

    /// Every Delete.
    pub fn delete() -> Self {
        Self::apdu("deleteResultSetRequest")
    }

    /// Every Close of the client.
    pub fn close() -> Self {
        Self::apdu("close")
    }

    /// Only in this session, counted from 1.
    pub fn session(mut self, number: u64) -> Self {
        self.session = Some(number);
        self
    }

    /// Only if this database, in any case, is among those searched.
    pub fn database(mut self, name: &str) -> Self {
        self.database = Some(name.to_lowercase());
        self
    }

    /// Only if this record syntax is preferred.
    pub fn syntax(mut self, syntax: Oid) -> Self {
        self.syntax = Some(syntax);
        self
    }

    /// Only the request of this number, counted from 1, of those in a session that meet the other conditions.
    pub fn nth(mut self, number: u64) -> Self {
        self.nth = Some(number);
        self
    }

    /// Whether all conditions but the number are met.
    fn is_met(&self, session: u64, request: &Apdu) -> bool {
        let (databases, syntax): (&[DatabaseName], Option<Oid>) = match request {
            Apdu::SearchRequest(search) => (&search.database_names, search.preferred_record_syntax),
            Apdu::PresentRequest(present) => (&[], present.preferred_record_syntax),
            _ => (&[], None),
        };
        let named = |wanted: &String| {
            let mut names = databases.iter().map(|name| name.0.to_string_lossy());
            names.any(|name| name.to_lowercase() == *wanted)
        };
        self.apdu.is_none_or(|apdu| apdu == request.name())
            && self.session.is_none_or(|number| number == session)
            && self.database.as_ref().is_none_or(named)
            && self.syntax.is_none_or(|wanted| syntax == Some(wanted))
    }
}

/// Rules: faults, and when they strike. Without any, the server behaves.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Vec<(When, Fault)>,
}

impl Faults {
    /// No faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule. All that strike the same request do, in the order in which they were added.
    pub fn on(mut self, when: When, fault: Fault) -> Self {
        self.rules.push((when, fault));
        self
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

#[cfg(test)]
mod tests;
