//! The text form of a rule, such as `on search db=books nth=2: delay 500ms`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::words::{RuleError, Words, choices, syntax};
use super::{Fault, When, kinds};

/// A fault and the requests that it strikes.
///
/// The text form is `[on] REQUEST CONDITION…: FAULT ARGUMENT…`:
///
/// - the request is `any`, `init`, `search`, `present`, `delete`, `scan`, `sort`, `access`, `resource`, `trigger`, `report`,
///   `extended`, `duplicate`, `close`, or the standard's name for the APDU; `http` for every HTTP request; `sru` for SRU
///   requests, or `sru search`, `sru scan`, `sru explain` and `sru update`. `search`, `scan` and `extended` match requests of
///   both protocols; in SRU, `extended` matches an update;
/// - the conditions are `session=N`, `nth=N`, `nth-of-all=N`, `db=NAME`, `docid=TERM` and `syntax=NAME`, like the methods of
///   [`When`];
/// - the faults are listed by [`super::kinds`];
/// - arguments with spaces or colons are quoted; inside the quotation marks, `\` escapes the next character.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The requests that the fault strikes.
    pub when: When,
    /// The fault.
    pub fault: Fault,
    /// The text of the rule as it was written; `None` for a rule created in code.
    text: Option<Arc<str>>,
}

impl Rule {
    /// Creates a rule that applies `fault` to the requests matched by `when`.
    pub fn new(when: When, fault: Fault) -> Self {
        Self {
            when,
            fault,
            text: None,
        }
    }
}

/// Writes the rule as it was written by its author. For a rule created in code, writes its conditions in the text form and its
/// fault in the form of `Debug`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => write!(f, "on {}: {:?}", self.when, self.fault),
        }
    }
}

/// The names of the conditions, for messages.
const CONDITIONS: &str = "session, nth, nth-of-all, db, docid and syntax";

/// The names of requests in rules, with the names of their APDUs.
const REQUESTS: [(&str, &str); 13] = [
    ("init", "initRequest"),
    ("search", "searchRequest"),
    ("present", "presentRequest"),
    ("delete", "deleteResultSetRequest"),
    ("access", "accessControlResponse"),
    ("resource", "resourceControlResponse"),
    ("trigger", "triggerResourceControlRequest"),
    ("report", "resourceReportRequest"),
    ("scan", "scanRequest"),
    ("sort", "sortRequest"),
    ("extended", "extendedServicesRequest"),
    ("close", "close"),
    ("duplicate", "duplicateDetectionRequest"),
];

/// The names of SRU operations in rules, with their names in the protocol.
const OPERATIONS: [(&str, &str); 4] = [
    ("search", "searchRetrieve"),
    ("scan", "scan"),
    ("explain", "explain"),
    ("update", "update"),
];

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let mut words = Words::new(text, 0);
        let mut at = words.position();
        let mut request = condition(&mut words)?;
        if request.as_deref() == Some("on") {
            at = words.position();
            request = condition(&mut words)?;
        }
        let request = request.ok_or_else(|| RuleError::new(at, "a request is missing"))?;
        let mut when = When::on(&request).map_err(|reason| RuleError::new(at, reason))?;
        let mut may_be_operation = request == "sru";
        loop {
            let at = words.position();
            let Some(word) = condition(&mut words)? else {
                break;
            };
            if std::mem::take(&mut may_be_operation)
                && let Some((_, operation)) = OPERATIONS.iter().find(|(name, _)| *name == word)
            {
                when = When::sru(Some(operation));
                continue;
            }
            let (name, value) = word.split_once('=').ok_or_else(|| {
                RuleError::new(
                    at,
                    format!("{word:?} where NAME=VALUE or a colon is expected"),
                )
            })?;
            let with = when.with(name, value);
            when = with.map_err(|reason| RuleError::new(at, reason))?;
        }
        let at = words.position();
        if !words.take(':') {
            return Err(RuleError::new(at, "a colon is missing"));
        }
        let fault = kinds::read(&mut words)?;
        Ok(Self {
            when,
            fault,
            text: Some(text.into()),
        })
    }
}

/// Reads the next word before the colon.
fn condition(words: &mut Words<'_>) -> Result<Option<String>, RuleError> {
    words.next_up_to(|character| character == ':')
}

impl FromStr for Fault {
    type Err = RuleError;

    /// Parses a fault in the form that follows the colon of a [`Rule`].
    fn from_str(text: &str) -> Result<Self, RuleError> {
        kinds::read(&mut Words::new(text, 0))
    }
}

impl When {
    /// Returns the condition for a request, named as at the beginning of a [`Rule`].
    ///
    /// # Errors
    /// Fails with a message if the name is unknown.
    pub fn on(request: &str) -> Result<Self, String> {
        match request {
            "any" => return Ok(Self::always()),
            "http" => return Ok(Self::http()),
            "sru" => return Ok(Self::sru(None)),
            _ => {}
        }
        let known = REQUESTS
            .iter()
            .find(|(name, apdu)| *name == request || *apdu == request);
        known.map(|(_, apdu)| Self::apdu(apdu)).ok_or_else(|| {
            let names: Vec<_> = REQUESTS.iter().map(|(name, _)| *name).collect();
            let choices = choices(&format!("any, {}, http, sru", names.join(", ")));
            format!("no request {request:?}{choices}")
        })
    }

    /// Adds a condition, named as in a [`Rule`].
    ///
    /// # Errors
    /// Fails with a message if the name is unknown or the value is invalid.
    pub fn with(self, name: &str, value: &str) -> Result<Self, String> {
        let number = || match value.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("{value:?} where a number from 1 is expected")),
        };
        match name {
            "session" => Ok(self.session(number()?)),
            "nth" => Ok(self.nth(number()?)),
            "nth-of-all" => Ok(self.nth_of_all(number()?)),
            "db" | "database" => Ok(self.database(value)),
            "docid" => Ok(self.docid(value)),
            "syntax" => {
                let syntax = syntax(value).ok_or_else(|| format!("no record syntax {value:?}"))?;
                Ok(self.syntax(syntax))
            }
            _ => {
                let choices = choices(CONDITIONS);
                Err(format!("no condition {name:?}{choices}"))
            }
        }
    }
}
