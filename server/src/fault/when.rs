//! The requests that a fault strikes, selected by service, session, number, database, docid and record syntax.

use std::collections::HashMap;
use std::fmt;

use z3950_asn1::apdu::{Apdu, DatabaseName, Query, SearchRequest, Term};
use z3950_asn1::oid::Oid;

/// The HTTP requests that a condition matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HttpRequests {
    /// All HTTP requests.
    All,
    /// All SRU requests, or all requests for one SRU operation.
    Sru(Option<&'static str>),
}

/// The parts of an HTTP request that conditions depend on.
#[cfg(feature = "sru")]
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpSubject {
    /// The SRU operation; `None` for a request other than SRU.
    pub(crate) operation: Option<&'static str>,
    pub(crate) database: String,
    /// The query or the scan clause; empty for a request without either.
    pub(crate) query: String,
}

/// Conditions on requests, all of which a request must meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    apdu: Option<&'static str>,
    http: Option<HttpRequests>,
    session: Option<u64>,
    database: Option<String>,
    syntax: Option<Oid>,
    docid: Option<Vec<u8>>,
    pub(super) nth: Option<u64>,
    pub(super) nth_of_all: Option<u64>,
}

impl When {
    /// Matches every request.
    pub fn always() -> Self {
        Self::default()
    }

    /// Matches every request whose APDU has this name; see [`Apdu::name`]. A condition for Search, Scan or ExtendedServices also
    /// matches the SRU requests for the same service: searchRetrieve, scan and update.
    pub fn apdu(name: &'static str) -> Self {
        Self {
            apdu: Some(name),
            ..Self::default()
        }
    }

    /// Matches every Init.
    pub fn init() -> Self {
        Self::apdu("initRequest")
    }

    /// Matches every Search, and every searchRetrieve in SRU.
    pub fn search() -> Self {
        Self::apdu("searchRequest")
    }

    /// Matches every Present.
    pub fn present() -> Self {
        Self::apdu("presentRequest")
    }

    /// Matches every Scan, and every scan in SRU.
    pub fn scan() -> Self {
        Self::apdu("scanRequest")
    }

    /// Matches every Sort.
    pub fn sort() -> Self {
        Self::apdu("sortRequest")
    }

    /// Matches every Delete.
    pub fn delete() -> Self {
        Self::apdu("deleteResultSetRequest")
    }

    /// Matches every Close from the client.
    pub fn close() -> Self {
        Self::apdu("close")
    }

    /// Matches every HTTP request, including SRU.
    pub fn http() -> Self {
        Self {
            http: Some(HttpRequests::All),
            ..Self::default()
        }
    }

    /// Matches every SRU request, or only requests for this operation: `searchRetrieve`, `scan`, `explain` or `update`.
    pub fn sru(operation: Option<&'static str>) -> Self {
        Self {
            http: Some(HttpRequests::Sru(operation)),
            ..Self::default()
        }
    }

    /// Matches only in this session, counted from 1.
    pub fn session(mut self, number: u64) -> Self {
        self.session = Some(number);
        self
    }

    /// Matches only if this database is searched, by the request itself or by the Search that created its result set. The case of
    /// names is ignored.
    pub fn database(mut self, name: &str) -> Self {
        self.database = Some(name.to_lowercase());
        self
    }

    /// Matches only if this docid is a search term of the request itself, or of the Search that created its result set. Any other
    /// search term can be passed in the same way. Terms are compared octet by octet.
    pub fn docid(mut self, docid: &str) -> Self {
        self.docid = Some(docid.as_bytes().to_vec());
        self
    }

    /// Matches only requests that prefer this record syntax.
    pub fn syntax(mut self, syntax: Oid) -> Self {
        self.syntax = Some(syntax);
        self
    }

    /// Matches only the Nth request in a session that meets the other conditions, counted from 1.
    pub fn nth(mut self, number: u64) -> Self {
        self.nth = Some(number);
        self
    }

    /// Matches only the Nth request in all sessions together that meets the other conditions, counted from 1 in the order of
    /// arrival.
    pub fn nth_of_all(mut self, number: u64) -> Self {
        self.nth_of_all = Some(number);
        self
    }

    /// Returns whether any condition depends on the search that created a result set.
    pub(super) fn asks_for_subject(&self) -> bool {
        self.database.is_some() || self.docid.is_some()
    }

    /// Returns whether all conditions are met, apart from conditions on the number of the request.
    pub(super) fn is_met(&self, session: u64, request: &Apdu, subject: &Subject) -> bool {
        let syntax = match request {
            Apdu::SearchRequest(search) => search.preferred_record_syntax,
            Apdu::PresentRequest(present) => present.preferred_record_syntax,
            _ => None,
        };
        self.http.is_none()
            && self.apdu.is_none_or(|apdu| apdu == request.name())
            && self.session.is_none_or(|number| number == session)
            && self.syntax.is_none_or(|wanted| syntax == Some(wanted))
            && self
                .database
                .as_ref()
                .is_none_or(|wanted| subject.databases.contains(wanted))
            && self
                .docid
                .as_ref()
                .is_none_or(|wanted| subject.terms.contains(wanted))
    }
}

/// Writes the conditions in the form of a [`Rule`](super::Rule), with the standard's names for APDUs and identifiers for
/// syntaxes.
impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.apdu, self.http) {
            (Some(apdu), _) => f.write_str(apdu)?,
            (None, None) => f.write_str("any")?,
            (None, Some(HttpRequests::All)) => f.write_str("http")?,
            (None, Some(HttpRequests::Sru(None))) => f.write_str("sru")?,
            (None, Some(HttpRequests::Sru(Some(operation)))) => write!(f, "sru {operation}")?,
        }
        let numbers = [
            ("session", self.session),
            ("nth", self.nth),
            ("nth-of-all", self.nth_of_all),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                write!(f, " {name}={number}")?;
            }
        }
        if let Some(database) = &self.database {
            write!(f, " db={database}")?;
        }
        if let Some(docid) = &self.docid {
            write!(f, " docid={}", String::from_utf8_lossy(docid))?;
        }
        self.syntax
            .map_or(Ok(()), |syntax| write!(f, " syntax={syntax}"))
    }
}

/// Z39.50 requests, each with the SRU operation for the same service.
#[cfg(feature = "sru")]
const SERVICES: [(&str, &str); 3] = [
    ("searchRequest", "searchRetrieve"),
    ("scanRequest", "scan"),
    ("extendedServicesRequest", "update"),
];

#[cfg(feature = "sru")]
impl When {
    /// Returns whether an HTTP request meets all conditions, apart from conditions on the number of the request. A docid matches
    /// if it occurs anywhere in the query.
    pub(super) fn is_met_by_http(&self, session: u64, request: &HttpSubject) -> bool {
        let is_of_kind = match self.http {
            None => self.apdu.is_none_or(|apdu| {
                let of_service = SERVICES.iter().find(|(known, _)| *known == apdu);
                of_service.is_some_and(|(_, operation)| request.operation == Some(operation))
            }),
            Some(HttpRequests::All) => true,
            Some(HttpRequests::Sru(None)) => request.operation.is_some(),
            Some(HttpRequests::Sru(operation)) => request.operation == operation,
        };
        let database = || request.database.to_lowercase();
        let contains = |docid: &[u8]| {
            let docid = String::from_utf8_lossy(docid);
            request.query.contains(&*docid)
        };
        is_of_kind
            && self.session.is_none_or(|number| number == session)
            && self.syntax.is_none()
            && self
                .database
                .as_ref()
                .is_none_or(|wanted| *wanted == database())
            && self.docid.as_deref().is_none_or(contains)
    }
}

/// The databases, in lower case, and the terms that a request searches for.
#[derive(Clone, Debug, Default)]
pub(super) struct Subject {
    databases: Vec<String>,
    terms: Vec<Vec<u8>>,
}

impl Subject {
    fn of_search(search: &SearchRequest) -> Self {
        let terms = match &search.query {
            Query::Type1(query) | Query::Type101(query) => {
                let operands = query.rpn.terms();
                operands.filter_map(|operand| term(&operand.term)).collect()
            }
            _ => Vec::new(),
        };
        Self {
            databases: lower(&search.database_names),
            terms,
        }
    }
}

/// The searches that created the result sets of a session.
#[derive(Debug, Default)]
pub(super) struct Subjects(HashMap<Vec<u8>, Subject>);

/// The maximum number of result sets whose searches are remembered.
const MAX_SETS: usize = 1_000;

impl Subjects {
    /// Returns the databases and terms of a request. Those of a Search are remembered for later requests that use its result set.
    pub(super) fn of(&mut self, request: &Apdu) -> Subject {
        let set = match request {
            Apdu::SearchRequest(search) => {
                let subject = Subject::of_search(search);
                let name = search.result_set_name.as_bytes();
                if self.0.len() < MAX_SETS || self.0.contains_key(name) {
                    self.0.insert(name.to_vec(), subject.clone());
                }
                return subject;
            }
            Apdu::ScanRequest(scan) => {
                return Subject {
                    databases: lower(&scan.database_names),
                    terms: term(&scan.term_list_and_start_point.term)
                        .into_iter()
                        .collect(),
                };
            }
            Apdu::PresentRequest(present) => Some(present.result_set_id.0.as_bytes()),
            Apdu::SortRequest(sort) => sort
                .input_result_set_names
                .first()
                .map(|name| name.as_bytes()),
            _ => None,
        };
        set.and_then(|name| self.0.get(name))
            .cloned()
            .unwrap_or_default()
    }
}

fn lower(names: &[DatabaseName]) -> Vec<String> {
    let names = names.iter().map(|name| name.0.to_string_lossy());
    names.map(|name| name.to_lowercase()).collect()
}

fn term(term: &Term) -> Option<Vec<u8>> {
    match term {
        Term::General(octets) => Some(octets.to_vec()),
        Term::CharacterString(text) => Some(text.as_bytes().to_vec()),
        Term::Numeric(number) => Some(number.to_string().into_bytes()),
        _ => None,
    }
}
