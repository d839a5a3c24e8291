//! The subject of a search, the targets, and the wanted records.

use std::fmt;
use std::sync::Arc;

use z3950_asn1::apdu::{InitializeRequest, RpnQuery, SortKeySpec};
use z3950_asn1::format::facets::FacetList;
use z3950_asn1::query::cql;
use z3950_asn1::types::InternationalString;

use super::course::{Course, Round};
use super::ways::Ways;
use crate::error::{Error, Phase};
use crate::lookup::{
    Attempt, Identifier, Kind, Preferences, Publication, attempts, broader, broader_searches,
    searches,
};
use crate::plan::Fallback;
use crate::protocol::pager::PagerOptions;
use crate::protocol::service::search::{SearchOptions, type_104};
use crate::protocol::session::Session;
use crate::query::Query;
use crate::target::adapt::RecordForm;
use crate::target::profile::Resolved;
use crate::target::redacted;

/// The subject of a search.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Subject {
    /// A query of type 1.
    Query(RpnQuery),
    /// A query in CQL, as typed, with its sort keys. Only SRU servers accept it.
    Cql(String),
    /// Identifiers of one record. They are looked up one after the other until a record is found.
    Identifiers(Vec<Identifier>),
    /// A publication, which is looked up by title, author and year. Only records with the same title count.
    Publication(Box<Publication>),
}

/// The subject of a search, and the wanted records.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Wanted {
    /// The subject of the search.
    pub subject: Subject,
    /// The form in which to request the records.
    pub form: RecordForm,
    /// The fallbacks after a refusal or an empty result.
    pub fallback: Fallback,
    /// The preferences for choosing the best of several records, which is possible only for lookups. With `None`,
    /// all records are wanted.
    pub best: Option<Preferences>,
    /// Whether to search all targets at the same time. If not, they are searched one after the other until one has a
    /// record.
    pub all_targets: bool,
    /// The 1-based position of the first wanted record, for a query.
    pub start: u64,
    /// The maximum number of records from each target. If it is 0, only the number of hits is returned.
    pub count: u64,
    /// The keys for sorting the result of a query, most important first.
    pub sort: Vec<SortKeySpec>,
    /// The facets wanted for the result of a query.
    pub facets: FacetList,
}

/// The default for the number of records wanted from each target.
const COUNT: u64 = 10;

/// The number of records that are compared with a publication, unless the caller wants more.
const COMPARED: u64 = 50;

impl Wanted {
    /// Creates a request for the first ten records, without fallbacks.
    pub fn new(subject: Subject) -> Self {
        Self {
            subject,
            form: RecordForm::default(),
            fallback: Fallback::default(),
            best: None,
            all_targets: false,
            start: 1,
            count: COUNT,
            sort: Vec::new(),
            facets: FacetList::default(),
        }
    }

    /// Creates a request for the records found by a query, in the order of its sort keys.
    pub fn query(query: impl Into<Query>) -> Self {
        let query = query.into();
        let sort = query.sort_keys().to_vec();
        Self {
            sort,
            ..Self::new(Subject::Query(query.as_rpn().clone()))
        }
    }

    /// Creates a request for the records with an identifier. If the text contains several identifiers, they are tried
    /// in order until a record is found; see [`Connection::lookup`](crate::Connection::lookup).
    ///
    /// # Errors
    /// [`Error::Identifier`].
    pub fn identifier(text: &str) -> Result<Self, Error> {
        let identifiers = Identifier::read_all(text, None).map_err(Error::Identifier)?;
        Ok(Self::new(Subject::Identifiers(identifiers)))
    }

    /// Creates a request for a record that describes a publication, which is looked up by its title; see
    /// [`Found::by_title`](super::Found::by_title).
    pub fn publication(publication: Publication) -> Self {
        Self::new(Subject::Publication(Box::new(publication)))
    }

    /// Sets the fallbacks after a refusal or an empty result.
    #[must_use]
    pub fn fallback(self, fallback: Fallback) -> Self {
        Self { fallback, ..self }
    }

    /// Requests only the best record, chosen by these preferences.
    #[must_use]
    pub fn best(self, preferences: Preferences) -> Self {
        Self {
            best: Some(preferences),
            ..self
        }
    }

    /// Sets the maximum number of records from each target. With 0, only the number of hits is returned.
    #[must_use]
    pub fn count(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// Requests that all targets be searched at the same time.
    #[must_use]
    pub fn all_targets(self) -> Self {
        Self {
            all_targets: true,
            ..self
        }
    }

    /// Returns how many records to request if a search has `hits` hits. If `hits` is `None`, the number of hits is
    /// unknown.
    pub fn wanted_of(&self, hits: Option<u64>) -> u64 {
        let after_start = hits
            .unwrap_or(u64::MAX)
            .saturating_sub(self.start.saturating_sub(1));
        after_start.min(self.count)
    }

    /// Returns the identifiers to look up; the list is empty for a query or a publication.
    pub(super) fn identifiers(&self) -> &[Identifier] {
        match &self.subject {
            Subject::Identifiers(identifiers) => identifiers,
            Subject::Query(_) | Subject::Cql(_) | Subject::Publication(_) => &[],
        }
    }

    /// Returns whether the subject is a specific record, given by identifiers or by a publication, rather than a query.
    pub(super) fn is_lookup(&self) -> bool {
        matches!(
            self.subject,
            Subject::Identifiers(_) | Subject::Publication(_)
        )
    }

    /// Returns the number of records that a lookup reads from each target.
    pub(super) fn read_count(&self) -> u64 {
        match self.subject {
            Subject::Publication(_) => self.count.max(COMPARED),
            _ => self.count,
        }
    }
}

/// A target of a search. It is searched in sessions from the client's pool, or in a session that is already open.
#[derive(Clone)]
#[non_exhaustive]
pub struct SearchTarget {
    /// The name of the target in events.
    pub name: String,
    /// The server and its profile.
    pub target: Arc<Resolved>,
    /// The Init request. If it has no credentials, those of the target's profile are added.
    pub init: InitializeRequest,
    /// An open session to use in place of sessions from the pool, and the name for the result set in that session.
    pub session: Option<(Session, InternationalString)>,
}

impl fmt::Debug for SearchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchTarget")
            .field("name", &self.name)
            .field("target", &self.target.endpoint)
            .finish_non_exhaustive()
    }
}

impl SearchTarget {
    /// Creates a target that is searched in sessions from the pool. Events contain its name without any password.
    pub fn new(name: &str, target: impl Into<Arc<Resolved>>, init: InitializeRequest) -> Self {
        Self {
            name: redacted(name),
            target: target.into(),
            init,
            session: None,
        }
    }

    /// Creates the course of searches for one round, with the attributes and the character set of the target's profile.
    ///
    /// # Errors
    /// [`Error::Term`] for a term that the character set cannot represent; [`Error::ProtocolError`] for facets that cannot be
    /// encoded.
    pub(super) fn course(&self, wanted: &Wanted, round: Round) -> Result<Course, Error> {
        let (mut search, records) = self.options(wanted);
        if !wanted.facets.0.is_empty() {
            let asked = search.with_facets(&wanted.facets);
            search = asked.map_err(|error| Error::fault(Phase::Search, error))?;
        }
        let ways = |query: Option<&RpnQuery>| Ways::new(query, search, records, wanted.fallback);
        Ok(match &wanted.subject {
            Subject::Query(query) => {
                let query = self.target.adapted(query).map_err(Error::Term)?;
                Course::of_query(ways(Some(&query)))
            }
            Subject::Cql(text) => {
                let widens = wanted.fallback.attributes || wanted.fallback.structure;
                let query = Some(text).filter(|_| widens).and_then(|text| in_bib1(text));
                let ways = ways(query.as_ref()).distinct_in_cql();
                Course::of_fixed_query(type_104(text), ways)
            }
            Subject::Identifiers(_) | Subject::Publication(_) => {
                Course::of_lookup(self.attempts(wanted, round)?, ways(None), round)
            }
        })
    }

    /// Returns whether the target is an SRU server, which sorts the result as part of the search.
    pub(super) fn is_sru(&self) -> bool {
        self.target.endpoint.is_sru()
    }

    fn options(&self, wanted: &Wanted) -> (SearchOptions, PagerOptions) {
        let mut search = self.target.search_options(&wanted.form);
        let mut records = self.target.pager_options(&wanted.form);
        if wanted.is_lookup() {
            let page = wanted.read_count().min(records.chunk_size);
            return (search.with_records(page), records);
        }
        search.takes_unknown_count = true;
        records.chunk_size = records.chunk_size.min(wanted.count.max(1));
        // An SRU server sorts as part of the search. The search response includes the first records, unless they must be sorted
        // after the search or reading begins at a later position.
        if self.is_sru() {
            search.sort.clone_from(&wanted.sort);
        }
        if wanted.start == 1 && (wanted.sort.is_empty() || self.is_sru()) {
            search = search.with_records(records.chunk_size.min(wanted.count));
        }
        (search, records)
    }

    /// Returns whether a fallback allows searches at this target that are broader than the exact ones.
    pub(super) fn has_broader(&self, wanted: &Wanted) -> bool {
        let broader = self.attempts(
            wanted,
            Round::Broader {
                has_answered: false,
            },
        );
        broader.is_ok_and(|attempts| attempts.iter().any(|more| !more.is_empty()))
    }

    /// Returns the searches for a lookup at this target in a round: those for each identifier, or those for a publication.
    fn attempts(&self, wanted: &Wanted, round: Round) -> Result<Vec<Vec<Attempt>>, Error> {
        let is_broad = wanted.fallback.attributes && round != Round::Exact;
        let lookup = |exact: Vec<Attempt>, broader: &dyn Fn() -> Vec<Attempt>| {
            let mut found = Vec::new();
            self.add(exact, &mut found)?;
            let count = found.len();
            if is_broad {
                self.add(broader(), &mut found)?;
            }
            if let Round::Broader { .. } = round {
                found.drain(..count);
            }
            Ok(found)
        };
        match &wanted.subject {
            Subject::Identifiers(identifiers) => {
                let each = identifiers.iter();
                each.map(|one| lookup(self.exact(one), &|| broader(one)))
                    .collect()
            }
            Subject::Publication(publication) => {
                let broader = || broader_searches(publication);
                Ok(vec![lookup(searches(publication), &broader)?])
            }
            Subject::Query(_) | Subject::Cql(_) => Ok(Vec::new()),
        }
    }

    /// Returns the searches for an identifier as given.
    fn exact(&self, identifier: &Identifier) -> Vec<Attempt> {
        let habits = &self.target.profile.docid;
        let of_profile = habits.iter().filter(|_| identifier.kind == Kind::Docid);
        let of_profile = of_profile.map(|habit| Attempt::of_profile(habit, identifier));
        of_profile.chain(attempts(identifier)).collect()
    }

    /// Converts searches to the form that this target accepts, and adds them to `found` without duplicates.
    fn add(&self, more: Vec<Attempt>, found: &mut Vec<Attempt>) -> Result<(), Error> {
        for mut attempt in more {
            if attempt.is_of_profile {
                self.target.complete(&mut attempt.query)
            } else {
                for attributes in &mut attempt.attributes {
                    self.target.profile.indexed(&mut attributes.0);
                }
                self.target.adapt(&mut attempt.query)
            }
            .map_err(Error::Term)?;
            if found.iter().all(|known| known.query != attempt.query) {
                found.push(attempt);
            }
        }
        Ok(())
    }
}

/// Converts a CQL query to a query with Bib-1 attributes; `None` if it uses indexes without Bib-1 attributes.
fn in_bib1(text: &str) -> Option<RpnQuery> {
    let query = cql::parse(text).ok()?;
    cql::to_rpn(&query, &cql::Properties::default()).ok()
}
