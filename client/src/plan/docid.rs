//! The requests for a docid, in order and limited in number: the search prescribed by RFC 2056 §4, followed by the
//! [`Fallback`]s after a refusal or an empty result.
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
//! A record that is too large or empty is also requested in other forms, which does not require a [`Fallback`]
//! ([`DocidRequests::substitutes`]).
//!
//! [`Fallback`]: super::Fallback

use std::fmt::Write as _;

use z3950_asn1::apdu::{
    DatabaseName, DiagRec, PresentRequest, Query, RpnQuery, RpnStructure, SearchRequest,
};
use z3950_asn1::bib1::attributes::{STRUCTURE, STRUCTURE_URX, USE, USE_DOC_ID, USE_ISBN, USE_ISSN};
use z3950_asn1::oid::{Oid, UNIMARC, USMARC, XML};
use z3950_asn1::types::InternationalString;

use super::fallback::{Objection, SearchOrder};
use super::{Plan, Strategy};
use crate::identifier::{Identifier, Kind};
use crate::lookup::attempts::{DOCID_ATTRIBUTES, LCCN, OCLC_NUMBER};
use crate::protocol::service::SubstituteForm;
use crate::protocol::service::present::PresentOptions;
use crate::protocol::service::search::SearchOptions;
use crate::target::profile::Attributes;
use crate::url::{self, Octets};

/// The sequence of requests for a docid, and the current position in it.
#[derive(Debug, Clone)]
pub(crate) struct DocidRequests<'a> {
    plan: &'a Plan,
    docid: &'a Octets,
    /// The access points to search, in order, without the attributes that the profile adds. The list is never empty.
    points: Vec<Attributes>,
    order: SearchOrder,
    /// The record syntaxes to request, in order. `None` leaves the choice to the server.
    syntaxes: Vec<Option<Oid>>,
    syntax: usize,
    has_element_set: bool,
    /// The form to request instead of the one in the URL, because the record was too large or empty.
    substitute: Option<SubstituteForm>,
}

impl<'a> DocidRequests<'a> {
    /// Creates the requests for a plan. Returns `None` if the plan has no docid.
    pub(crate) fn new(plan: &'a Plan) -> Option<Self> {
        let docid = plan.docid.as_ref()?;
        let points = access_points(plan, docid);
        let databases = plan.defaults.databases.len();
        Some(Self {
            plan,
            docid,
            order: SearchOrder::new(plan.options.fallback, points.len(), databases),
            points,
            syntaxes: syntaxes(plan),
            syntax: 0,
            has_element_set: true,
            substitute: None,
        })
    }

    /// Returns the request for the current search.
    pub(crate) fn search(&self) -> SearchRequest {
        let names = self.plan.defaults.databases.iter().enumerate();
        let database = self.order.database;
        let searched = names.filter(|(index, _)| database.is_none_or(|one| one == *index));
        let bounds = SearchOptions {
            databases: searched
                .map(|(_, name)| DatabaseName::from(name.as_bytes()))
                .collect(),
            ..SearchOptions::default()
        };
        let options = match self.plan.options.strategy {
            Strategy::Piggyback if self.wants_record() => SearchOptions {
                // With these bounds, the server sends the record if there is exactly one hit, and no records otherwise.
                small_set_upper_bound: 1,
                large_set_lower_bound: 2,
                element_set: self.element_set(),
                record_syntax: self.record_syntax(),
                ..bounds
            },
            _ => bounds,
        };
        options.request(self.query())
    }

    /// Returns whether the search requests a record if there is exactly one hit.
    fn wants_record(&self) -> bool {
        self.plan.kind == url::Kind::Retrieval || self.plan.options.auto_present
    }

    /// Returns the current Present request, for the record at a 1-based `position`.
    pub(crate) fn present(&self, position: u64) -> PresentRequest {
        present(position, self.element_set(), self.record_syntax())
    }

    /// Returns the record syntax to request in the current step. `None` leaves the choice to the server.
    pub(crate) fn record_syntax(&self) -> Option<Oid> {
        if let Some(SubstituteForm::Syntax(syntax)) = self.substitute {
            return syntax;
        }
        self.syntaxes.get(self.syntax).copied().flatten()
    }

    /// Returns a stable description of the current step: the attributes, followed by the deviations from the URL, such
    /// as `1=1032,4=104`, `1=12;database=books;rs=1.2.840.10003.5.1`, `1=7;rs=none;esn=none`.
    pub(crate) fn form(&self) -> String {
        let point = self.points.get(self.order.search);
        let mut word = point.map_or_else(String::new, Attributes::to_string);
        if let Some(name) = self
            .order
            .database
            .and_then(|one| self.plan.defaults.databases.get(one))
        {
            let _ = write!(word, ";database={name}");
        }
        if self.syntax > 0 || matches!(self.substitute, Some(SubstituteForm::Syntax(_))) {
            let _ = match self.record_syntax() {
                Some(syntax) => write!(word, ";rs={syntax}"),
                None => write!(word, ";rs=none"),
            };
        }
        match &self.substitute {
            Some(SubstituteForm::ElementSet(name)) => {
                let _ = write!(word, ";esn={}", name.to_string_lossy());
            }
            _ if !self.has_element_set => word.push_str(";esn=none"),
            _ => {}
        }
        word
    }

    /// Returns the attributes of all searches, in order.
    pub(super) fn names(&self) -> Vec<String> {
        self.points.iter().map(Attributes::to_string).collect()
    }

    /// Moves to the next step after a refused search. Returns false if there is no further step.
    pub(crate) fn after_refusal(&mut self, diagnostics: &[DiagRec]) -> bool {
        let objection = Objection::of(diagnostics);
        let has_changed = self.change_form(objection) || self.order.after_refusal(objection);
        has_changed && self.order.spend()
    }

    /// Moves to the next step after an empty result. Returns false if there is no further step.
    pub(crate) fn after_nothing(&mut self) -> bool {
        self.order.after_nothing() && self.order.spend()
    }

    /// Moves to the next step after a refused record. Returns false if there is no further step.
    pub(crate) fn after_no_record(&mut self, diagnostics: &[DiagRec]) -> bool {
        self.change_form(Objection::of(diagnostics)) && self.order.spend()
    }

    /// Returns other forms in which to request a record that is too large or empty, unless the URL names the form.
    /// These are the full and the brief element set, followed by the other record syntaxes in the URL or, if it names
    /// none, MARC 21, UNIMARC, XML and the server's choice.
    pub(crate) fn substitutes(&self) -> Vec<SubstituteForm> {
        let sets = match self.plan.defaults.element_set {
            None => &["F", "B"][..],
            Some(_) => &[],
        };
        let sets = sets
            .iter()
            .map(|name| SubstituteForm::ElementSet(InternationalString::from(*name)));
        let syntaxes = if self.plan.names_syntaxes {
            self.plan
                .record_syntaxes
                .iter()
                .copied()
                .map(Some)
                .collect()
        } else {
            vec![Some(USMARC), Some(UNIMARC), Some(XML), None]
        };
        let current = self.record_syntax();
        let syntaxes = syntaxes.into_iter().filter(|syntax| *syntax != current);
        sets.chain(syntaxes.map(SubstituteForm::Syntax)).collect()
    }

    /// Requests another form in the steps that follow. Returns false if the maximum number of requests has been
    /// reached.
    pub(crate) fn substitute(&mut self, form: &SubstituteForm) -> bool {
        self.substitute = Some(form.clone());
        self.order.spend()
    }

    /// Returns to the form given by the URL.
    pub(crate) fn end_substitutes(&mut self) {
        self.substitute = None;
    }

    /// Changes the record syntax or the element set, whichever the server refused. Returns false if neither can be
    /// changed.
    fn change_form(&mut self, objection: Objection) -> bool {
        let fallback = self.plan.options.fallback;
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

    fn element_set(&self) -> Option<InternationalString> {
        if let Some(SubstituteForm::ElementSet(name)) = &self.substitute {
            return Some(name.clone());
        }
        let name = self
            .plan
            .defaults
            .element_set
            .as_ref()
            .filter(|_| self.has_element_set);
        name.map(|name| name.as_bytes().into())
    }

    /// Returns the query, whose only term is the docid.
    fn query(&self) -> Query {
        let point = self.points.get(self.order.search);
        let mut attributes = point.cloned().unwrap_or_default();
        if let Some(profile) = &self.plan.profile
            && self.plan.options.fallback.attributes
            && attributes != prescribed()
        {
            profile.attributes.complete(&mut attributes.0);
        }
        let docid = RpnStructure::term(attributes.0, self.docid.as_bytes());
        Query::Type1(RpnQuery::bib1(docid))
    }
}

/// Returns the Present request for one record.
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

/// Returns the access points to try, without duplicates.
fn access_points(plan: &Plan, docid: &Octets) -> Vec<Attributes> {
    let fallback = plan.options.fallback;
    if !fallback.attributes {
        let count = if fallback.structure { 2 } else { 1 };
        let usual = DOCID_ATTRIBUTES.into_iter().take(count);
        return usual.map(Attributes::numeric).collect();
    }
    let known = plan.profile.iter().flat_map(|profile| &profile.docid);
    let mut points: Vec<_> = known.cloned().collect();
    let usual = DOCID_ATTRIBUTES.into_iter().map(Attributes::numeric);
    for point in usual.chain(by_shape(docid)) {
        if !points.contains(&point) {
            points.push(point);
        }
    }
    points
}

/// Returns whether a step, as in [`Found::step`](crate::find::Found::step), is the search prescribed by RFC 2056 §4,
/// regardless of the form in which it requests the record.
pub fn is_prescribed(step: &str) -> bool {
    let (search, rest) = step.split_once(';').unwrap_or((step, ""));
    search == prescribed().to_string() && !rest.starts_with("database=")
}

/// Returns the access point prescribed by RFC 2056 §4: Bib-1 with Use Doc-id and Structure URx.
fn prescribed() -> Attributes {
    Attributes::numeric(&[(USE, USE_DOC_ID), (STRUCTURE, STRUCTURE_URX)])
}

/// Returns the index for the kind of number that a docid looks like, or `None` if it looks like no known kind.
fn by_shape(docid: &Octets) -> Option<Attributes> {
    let text = std::str::from_utf8(docid.as_bytes()).ok()?;
    let identifier: Identifier = text.parse().ok()?;
    let index = match identifier.kind {
        // A prefix already states the kind of the docid, so the index is not inferred from the docid's form.
        _ if identifier.is_certain => return None,
        Kind::Isbn => USE_ISBN,
        Kind::Issn => USE_ISSN,
        Kind::Lccn => LCCN,
        Kind::Oclc => OCLC_NUMBER,
        Kind::Local | Kind::Docid => return None,
    };
    Some(Attributes::numeric(&[(USE, index)]))
}

/// Returns the record syntaxes to request, without duplicates: the plan's preferred syntax, the plan's other syntaxes,
/// the syntax in the profile, and `None`, which leaves the choice to the server.
fn syntaxes(plan: &Plan) -> Vec<Option<Oid>> {
    let known = plan
        .profile
        .as_ref()
        .and_then(|profile| profile.record_syntax);
    let mut syntaxes = vec![plan.defaults.record_syntax];
    let others = plan.record_syntaxes.iter().copied();
    for syntax in others.chain(known).map(Some).chain([None]) {
        if !syntaxes.contains(&syntax) {
            syntaxes.push(syntax);
        }
    }
    syntaxes
}
