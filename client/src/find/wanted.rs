//! What is searched for, where, and which records are wanted.

use std::fmt;
use std::sync::Arc;

use z3950_asn1::apdu::{InitializeRequest, RpnQuery, SortKeySpec};
use z3950_asn1::format::facets::FacetList;
use z3950_asn1::query::cql;
use z3950_asn1::types::InternationalString;

use super::course::Course;
use super::ways::Ways;
use crate::error::{Error, Phase};
use crate::lookup::{Attempt, Identifier, Kind, Preferences, anywhere, attempts};
use crate::plan::Fallback;
use crate::protocol::pager::PagerOptions;
use crate::protocol::service::search::{SearchOptions, type_104};
use crate::protocol::session::Session;
use crate::query::Query;
use crate::target::adapt::RecordForm;
use crate::target::profile::Resolved;
use crate::target::redacted;

/// What is searched for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sought {
    /// A query of type 1.
    Query(RpnQuery),
    /// A query in CQL, as typed, with its sort keys: for servers of SRU.
    Cql(String),
    /// Identifiers of one record, in order until one finds something.
    Identifiers(Vec<Identifier>),
}

/// What is searched for, and which records are wanted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Wanted {
    /// What is searched for.
    pub sought: Sought,
    /// The form of the records.
    pub form: RecordForm,
    /// What to try after a refusal, or if nothing is found.
    pub fallback: Fallback,
    /// By what the best of several records is chosen; `None` if all are wanted. Only for identifiers.
    pub best: Option<Preferences>,
    /// Whether all targets are asked at once, and not in turn until one has a record.
    pub all_targets: bool,
    /// The position of the first record wanted of a query, from 1.
    pub start: u64,
    /// The most records of each target; 0 for the number of hits alone.
    pub count: u64,
    /// How the result of a query is sorted, most important key first.
    pub sort: Vec<SortKeySpec>,
    /// The facets wanted of the result of a query.
    pub facets: FacetList,
}

/// The number of records, unless another is wanted.
const COUNT: u64 = 10;

impl Wanted {
    /// The first ten records, with no fallback.
    pub fn new(sought: Sought) -> Self {
        Self {
            sought,
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

    /// The records that a query finds, sorted as it says.
    pub fn query(query: impl Into<Query>) -> Self {
        let query = query.into();
        let sort = query.sort_keys().to_vec();
        Self {
            sort,
            ..Self::new(Sought::Query(query.as_rpn().clone()))
        }
    }

    /// The records with an identifier: see [`Connection::lookup`](crate::Connection::lookup).
    ///
    /// # Errors
    /// [`Error::Identifier`].
    pub fn identifier(text: &str) -> Result<Self, Error> {
        let identifier = text.parse().map_err(Error::Identifier)?;
        Ok(Self::new(Sought::Identifiers(vec![identifier])))
    }

    /// Sets what to try after a refusal, or if nothing is found.
    #[must_use]
    pub fn fallback(self, fallback: Fallback) -> Self {
        Self { fallback, ..self }
    }

    /// Wants the best record alone.
    #[must_use]
    pub fn best(self, preferences: Preferences) -> Self {
        Self {
            best: Some(preferences),
            ..self
        }
    }

    /// Wants this many records of each target at most; 0 for the number of hits alone.
    #[must_use]
    pub fn count(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// Asks all targets at once.
    #[must_use]
    pub fn all_targets(self) -> Self {
        Self {
            all_targets: true,
            ..self
        }
    }

    /// How many of the records found are wanted; `None` hits are unknown.
    pub fn wanted_of(&self, hits: Option<u64>) -> u64 {
        let after_start = hits
            .unwrap_or(u64::MAX)
            .saturating_sub(self.start.saturating_sub(1));
        after_start.min(self.count)
    }

    /// The identifiers that are looked up.
    pub(super) fn identifiers(&self) -> &[Identifier] {
        match &self.sought {
            Sought::Identifiers(identifiers) => identifiers,
            Sought::Query(_) | Sought::Cql(_) => &[],
        }
    }
}

/// Where records are looked for: a target, in sessions of the client's pool or in one that is open.
#[derive(Clone)]
#[non_exhaustive]
pub struct SearchTarget {
    /// The name of the target in answers.
    pub name: String,
    /// The target.
    pub target: Arc<Resolved>,
    /// What Init sends; the credentials of the target's profile are added if there are none.
    pub init: InitializeRequest,
    /// An open session that is used instead of those of the pool, and the name for the result set in it.
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
    /// A target by its name, of which answers show no password, in sessions of the pool.
    pub fn new(name: &str, target: impl Into<Arc<Resolved>>, init: InitializeRequest) -> Self {
        Self {
            name: redacted(name),
            target: target.into(),
            init,
            session: None,
        }
    }

    /// The searches for what is wanted, with the attributes and the character set of the target's profile.
    ///
    /// # Errors
    /// [`Error::Term`] for a term that the character set cannot represent; [`Error::ProtocolError`] for facets that cannot be encoded.
    pub(super) fn course(&self, wanted: &Wanted) -> Result<Course, Error> {
        let (mut search, records) = self.options(wanted);
        if !wanted.facets.0.is_empty() {
            let asked = search.with_facets(&wanted.facets);
            search = asked.map_err(|error| Error::fault(Phase::Search, error))?;
        }
        let ways = |query: Option<&RpnQuery>| Ways::new(query, search, records, wanted.fallback);
        Ok(match &wanted.sought {
            Sought::Query(query) => {
                let query = self.target.adapted(query).map_err(Error::Term)?;
                Course::of_query(ways(Some(&query)))
            }
            Sought::Cql(text) => {
                let widens = wanted.fallback.attributes || wanted.fallback.structure;
                let query = Some(text).filter(|_| widens);
                let query = query.and_then(|text| in_bib1(text));
                let ways = ways(query.as_ref()).distinct_in_cql();
                Course::of_fixed_query(type_104(text), ways)
            }
            Sought::Identifiers(identifiers) => {
                let identifiers = identifiers.iter();
                let attempts = identifiers.map(|one| self.attempts(one, wanted.fallback));
                Course::of_identifiers(attempts.collect::<Result<_, _>>()?, ways(None))
            }
        })
    }

    /// Whether a search is sorted by the server of SRU that carries it out, and not afterwards.
    pub(super) fn is_sru(&self) -> bool {
        self.target.endpoint.is_sru()
    }

    fn options(&self, wanted: &Wanted) -> (SearchOptions, PagerOptions) {
        let mut search = self.target.search_options(&wanted.form);
        let mut records = self.target.pager_options(&wanted.form);
        if matches!(wanted.sought, Sought::Identifiers(_)) {
            let page = wanted.count.min(records.chunk_size);
            return (search.with_records(page), records);
        }
        search.takes_unknown_count = true;
        records.chunk_size = records.chunk_size.min(wanted.count.max(1));
        // The first records come with the search, unless others are wanted first.
        if self.is_sru() {
            search.sort.clone_from(&wanted.sort);
        }
        if wanted.start == 1 && (wanted.sort.is_empty() || self.is_sru()) {
            search = search.with_records(records.chunk_size.min(wanted.count));
        }
        (search, records)
    }

    /// The searches for an identifier.
    fn attempts(&self, identifier: &Identifier, fallback: Fallback) -> Result<Vec<Attempt>, Error> {
        let habits = &self.target.profile.docid;
        let of_profile = habits.iter().filter(|_| identifier.kind == Kind::Docid);
        let of_profile = of_profile.map(|habit| Attempt::by(habit, identifier));
        let mut all: Vec<Attempt> = of_profile.chain(attempts(identifier)).collect();
        if fallback.attributes {
            all.extend(anywhere(identifier));
        }
        for attempt in &mut all {
            self.target.adapt(&mut attempt.query).map_err(Error::Term)?;
        }
        Ok(all)
    }
}

/// A query in CQL by Bib-1 attributes, if it is in the usual indexes.
fn in_bib1(text: &str) -> Option<RpnQuery> {
    let query = cql::parse(text).ok()?;
    cql::to_rpn(&query, &cql::Properties::default()).ok()
}
