//! The search for a docid, and the requests that may follow it where the server refuses it or finds nothing: a bounded
//! list of steps, taken in order (RFC 2056 §4 prescribes the first; the others are [`Fallback`]s).
//!
//! ```text
//!              23, 111: the databases one by one
//!              nothing, or 3, 113 …: the next database, else the next attributes
//!            +-----------------+
//!            v                 |   one hit                238, 239, 227: the next syntax
//!          search -------------+----------> present <--+  25, 26: no element set
//!            ^                 |               |       |
//!            +-----------------+               +-------+
//!              syntax and element set, as for present
//! ```
//!
//! [`Fallback`]: super::Fallback

use std::fmt::Write as _;

use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, DatabaseName, DiagRec, Operand, PresentRequest, Query,
    RpnQuery, RpnStructure, SearchRequest, Term,
};
use z3950_asn1::bib1::attributes::{
    STRUCTURE, STRUCTURE_URX, USE, USE_DOC_ID, USE_ISBN, USE_ISSN, USE_LOCAL_NUMBER,
    USE_STANDARD_IDENTIFIER,
};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::types::InternationalString;

use super::fallback::Objection;
use super::{Plan, Strategy};
use crate::lookup::{Identifier, Kind, LCCN, OCLC_NUMBER};
use crate::service::present::PresentOptions;
use crate::service::search::SearchOptions;
use crate::url::Octets;

/// The searches for a docid, most likely first, as pairs of type and value. The first is the one of RFC 2056 §4.
pub(crate) const DOCID_ATTRIBUTES: [&[(i64, i64)]; 4] = [
    &[(USE, USE_DOC_ID), (STRUCTURE, STRUCTURE_URX)],
    &[(USE, USE_DOC_ID)],
    &[(USE, USE_LOCAL_NUMBER)],
    &[(USE, USE_STANDARD_IDENTIFIER)],
];

/// The most requests made for one URL.
const MAX_REQUESTS: usize = 100;

/// One way to search for a docid.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Way {
    /// Its attributes, as PQF writes them: `1=1032,4=104`.
    pub(super) name: String,
    pub(super) attributes: Vec<AttributeElement>,
}

impl Way {
    fn of(pairs: &[(i64, i64)]) -> Self {
        let names: Vec<String> = pairs
            .iter()
            .map(|(kind, value)| format!("{kind}={value}"))
            .collect();
        let elements = pairs.iter();
        Self {
            name: names.join(","),
            attributes: elements
                .map(|(kind, value)| AttributeElement::numeric(*kind, *value))
                .collect(),
        }
    }

    /// The search that RFC 2056 §4 prescribes: Bib-1, Use Doc-id, Structure URx.
    fn prescribed() -> Self {
        Self::of(&[(USE, USE_DOC_ID), (STRUCTURE, STRUCTURE_URX)])
    }

    /// With attributes that the server wants in every operand, where it has none of their type.
    fn with_habits(mut self, habits: &[AttributeElement]) -> Self {
        for habit in habits {
            let mut own = self.attributes.iter();
            if own.all(|attribute| attribute.attribute_type != habit.attribute_type) {
                self.attributes.push(habit.clone());
            }
        }
        self
    }
}

/// How far the search for a docid has come.
#[derive(Debug, Clone)]
pub(crate) struct Course<'a> {
    plan: &'a Plan,
    docid: &'a Octets,
    /// The ways allowed, in their order; there is always one.
    ways: Vec<Way>,
    way: usize,
    /// Which database is searched, if they are searched one by one.
    database: Option<usize>,
    /// The record syntaxes that may still be asked for, the present one first; `None` leaves it to the server.
    syntaxes: Vec<Option<Oid>>,
    syntax: usize,
    has_element_set: bool,
    requests_left: usize,
}

impl<'a> Course<'a> {
    /// The beginning; `None` without a docid.
    pub(crate) fn new(plan: &'a Plan) -> Option<Self> {
        let docid = plan.docid()?;
        Some(Self {
            plan,
            docid,
            ways: ways(plan, docid),
            way: 0,
            database: None,
            syntaxes: syntaxes(plan),
            syntax: 0,
            has_element_set: true,
            requests_left: MAX_REQUESTS,
        })
    }

    /// The search to make now.
    pub(crate) fn search(&self) -> SearchRequest {
        let names = self.plan.databases().iter().enumerate();
        let searched = names.filter(|(index, _)| self.database.is_none_or(|one| one == *index));
        let bounds = SearchOptions {
            databases: searched
                .map(|(_, name)| DatabaseName::from(name.as_bytes()))
                .collect(),
            ..SearchOptions::default()
        };
        let options = match self.plan.strategy {
            Strategy::PresentOnly => bounds,
            // Exactly one hit is a small set, and two are a large one already.
            Strategy::Piggyback => SearchOptions {
                small_set_upper_bound: 1,
                large_set_lower_bound: 2,
                element_set: self.element_set(),
                record_syntax: self.record_syntax(),
                ..bounds
            },
        };
        options.request(self.query())
    }

    /// The Present to make now, for the record at `position`, 1-based.
    pub(crate) fn present(&self, position: u64) -> PresentRequest {
        present(position, self.element_set(), self.record_syntax())
    }

    /// The record syntax asked for now.
    pub(crate) fn record_syntax(&self) -> Option<Oid> {
        self.syntaxes.get(self.syntax).copied().flatten()
    }

    /// Whether the search is the one prescribed.
    pub(crate) fn is_prescribed(&self) -> bool {
        let way = self.ways.get(self.way);
        self.database.is_none() && way.is_none_or(|way| *way == Way::prescribed())
    }

    /// The step in a short word that stays the same from version to version: the attributes, then what else is not as the
    /// URL says. `1=1032,4=104`, `1=12;database=books;rs=1.2.840.10003.5.1`, `1=7;rs=none;esn=none`.
    pub(crate) fn word(&self) -> String {
        let mut word = self
            .ways
            .get(self.way)
            .map_or_else(String::new, |way| way.name.clone());
        if let Some(name) = self.database.and_then(|one| self.plan.databases().get(one)) {
            let _ = write!(word, ";database={name}");
        }
        if self.syntax > 0 {
            let _ = match self.record_syntax() {
                Some(syntax) => write!(word, ";rs={syntax}"),
                None => write!(word, ";rs=none"),
            };
        }
        if !self.has_element_set {
            word.push_str(";esn=none");
        }
        word
    }

    /// The attributes of all searches, in their order.
    pub(super) fn names(&self) -> Vec<String> {
        self.ways.iter().map(|way| way.name.clone()).collect()
    }

    /// Goes on after a search that was refused; false if nothing is left to try.
    pub(crate) fn after_refusal(&mut self, diagnostics: &[DiagRec]) -> bool {
        let fallback = self.plan.fallback;
        let objection = Objection::of(diagnostics);
        let has_changed = match objection {
            Objection::Databases if self.database.is_none() => {
                let is_worth_it = fallback.databases && self.plan.databases().len() > 1;
                if is_worth_it {
                    self.database = Some(0);
                }
                is_worth_it
            }
            _ => self.change_form(objection) || self.next_search(objection),
        };
        has_changed && self.spend()
    }

    /// Goes on after a search that found nothing; false if nothing is left to try.
    pub(crate) fn after_nothing(&mut self) -> bool {
        self.next_search(Objection::Attributes) && self.spend()
    }

    /// Goes on after a record that was refused; false if nothing is left to try.
    pub(crate) fn after_no_record(&mut self, diagnostics: &[DiagRec]) -> bool {
        self.change_form(Objection::of(diagnostics)) && self.spend()
    }

    fn spend(&mut self) -> bool {
        let left = self.requests_left.checked_sub(1);
        self.requests_left = left.unwrap_or_default();
        left.is_some()
    }

    /// The next form of the record, if it was its form that was refused.
    fn change_form(&mut self, objection: Objection) -> bool {
        let fallback = self.plan.fallback;
        match objection {
            Objection::Syntax if fallback.syntax && self.syntax + 1 < self.syntaxes.len() => {
                self.syntax += 1;
                true
            }
            Objection::ElementSet if fallback.element_set && self.element_set().is_some() => {
                self.has_element_set = false;
                true
            }
            _ => false,
        }
    }

    /// The next database, else the next attributes.
    fn next_search(&mut self, objection: Objection) -> bool {
        let last = self.plan.databases().len().saturating_sub(1);
        if let Some(one) = self.database.filter(|one| *one < last) {
            self.database = Some(one + 1);
            return true;
        }
        let fallback = self.plan.fallback;
        let may_go_on = match objection {
            Objection::Structure => fallback.structure || fallback.attributes,
            Objection::Attributes => fallback.attributes,
            // One database has its own reasons; in the others the next attributes may do.
            _ => fallback.attributes && self.database.is_some(),
        };
        if may_go_on && self.way + 1 < self.ways.len() {
            self.way += 1;
            self.database = self.database.map(|_| 0);
            return true;
        }
        false
    }

    fn element_set(&self) -> Option<InternationalString> {
        let name = self.plan.element_set().filter(|_| self.has_element_set);
        name.map(|name| name.as_bytes().into())
    }

    /// The docid as the only term of a query.
    fn query(&self) -> Query {
        let attributes = self.ways.get(self.way).map(|way| way.attributes.clone());
        let operand = AttributesPlusTerm {
            attributes: attributes.unwrap_or_default(),
            term: Term::General(self.docid.as_bytes().into()),
        };
        Query::Type1(RpnQuery {
            attribute_set: oid::BIB_1,
            rpn: RpnStructure::Op(Operand::AttributesPlusTerm(operand)),
        })
    }
}

/// The Present for one record.
pub(super) fn present(
    position: u64,
    element_set: Option<InternationalString>,
    record_syntax: Option<Oid>,
) -> PresentRequest {
    let options = PresentOptions {
        element_set,
        record_syntax,
        ..PresentOptions::default()
    };
    options.request(position, 1)
}

/// The ways to search for a docid that are allowed, each once.
fn ways(plan: &Plan, docid: &Octets) -> Vec<Way> {
    if !plan.fallback.attributes {
        let count = if plan.fallback.structure { 2 } else { 1 };
        return DOCID_ATTRIBUTES
            .into_iter()
            .take(count)
            .map(Way::of)
            .collect();
    }
    let mut ways: Vec<Way> = plan.known.docid.clone();
    let usual = DOCID_ATTRIBUTES.into_iter().map(Way::of);
    for way in usual.chain(by_shape(docid)) {
        if ways.iter().all(|other| other.name != way.name) {
            ways.push(way);
        }
    }
    let prescribed = Way::prescribed();
    let complete = |way: Way| match way == prescribed {
        true => way,
        false => way.with_habits(&plan.known.habits),
    };
    ways.into_iter().map(complete).collect()
}

/// The index of the number that a docid has the shape of.
fn by_shape(docid: &Octets) -> Option<Way> {
    let text = std::str::from_utf8(docid.as_bytes()).ok()?;
    let identifier: Identifier = text.parse().ok()?;
    let index = match identifier.kind {
        // The prefix would be searched for too.
        _ if identifier.is_certain => return None,
        Kind::Isbn => USE_ISBN,
        Kind::Issn => USE_ISSN,
        Kind::Lccn => LCCN,
        Kind::Oclc => OCLC_NUMBER,
        Kind::Local | Kind::Docid => return None,
    };
    Some(Way::of(&[(USE, index)]))
}

/// The record syntaxes to ask for, each once: that of the plan, if it is only none in particular, then the others.
fn syntaxes(plan: &Plan) -> Vec<Option<Oid>> {
    let mut syntaxes = vec![plan.record_syntax()];
    let others = plan.record_syntaxes.iter().copied();
    for syntax in others
        .chain(plan.known.record_syntax)
        .map(Some)
        .chain([None])
    {
        if !syntaxes.contains(&syntax) {
            syntaxes.push(syntax);
        }
    }
    syntaxes
}
