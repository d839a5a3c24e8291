//! Compares requests for replay. Parts that do not affect the answer are ignored, and result sets are identified by their
//! searches.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use z3950_asn1::apdu::{
    Apdu, DeleteFunction, ElementSetNames, External, IdAuthentication, Operand, PresentRequest,
    Query, RecordComposition, ReferenceId, ResultSetId, SearchRequest, SortRequest,
};
use z3950_asn1::codec;
use z3950_asn1::oid::Oid;

use super::redact::redacted_request;

/// An identifier shared by equal requests, by equal result sets, or by equal forms of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity(u64);

impl Identity {
    fn of(parts: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Returns the identity of octets, from which credentials are removed.
    pub(super) fn of_octets(octets: &[u8]) -> Self {
        Self::of(redacted_request(octets))
    }

    /// Returns the identity of a referenceId.
    pub(super) fn of_reference_id(id: Option<&ReferenceId>) -> Self {
        Self::of(id.map(|id| &id.0))
    }

    /// Returns the identity of a record syntax and elements.
    fn of_form(syntax: Option<Oid>, elements: Option<&RecordComposition>) -> Self {
        Self::of((
            syntax.map(|syntax| syntax.to_string()),
            format!("{elements:?}"),
        ))
    }

    fn of_request(request: &Apdu) -> Self {
        match codec::encode(request) {
            Ok(octets) => Self::of(octets),
            Err(error) => Self::of(error.to_string()),
        }
    }
}

/// The parts of a request on which its replayed answer depends.
#[derive(Debug)]
pub(super) struct Compared {
    /// The identity of the request; requests with the same identity get the same answer.
    pub(super) identity: Identity,
    pub(super) asked: AskedOfSets,
}

/// How a request uses result sets.
#[derive(Debug)]
pub(super) enum AskedOfSets {
    Search(Box<AskedSearch>),
    /// A Sort: the sorted set and, if it was made from a single set, that set.
    Sort(Identity, Option<Identity>),
    Present(AskedRecords),
    Other,
}

/// A Search, and the records that may be sent with its answer.
#[derive(Debug)]
pub(super) struct AskedSearch {
    /// The result set created by the Search.
    pub(super) set: Identity,
    /// The identity of the Search without the parameters that request records.
    pub(super) loosely: Identity,
    small_set_upper_bound: i64,
    large_set_lower_bound: i64,
    medium_set_present_number: i64,
    small_form: Identity,
    medium_form: Identity,
}

impl AskedSearch {
    /// Returns the records that are sent with the answer for this number of hits (Z39.50-2003 §3.2.2.1.4).
    pub(super) fn records(&self, hits: i64) -> AskedRecords {
        let (form, number) = if hits <= self.small_set_upper_bound {
            (self.small_form, hits)
        } else if hits >= self.large_set_lower_bound {
            (self.medium_form, 0)
        } else {
            (self.medium_form, self.medium_set_present_number.min(hits))
        };
        AskedRecords {
            set: Some(self.set),
            form,
            ranges: vec![(1, number.max(0))],
        }
    }
}

/// The records of a result set that a request asks for.
#[derive(Debug)]
pub(super) struct AskedRecords {
    /// The result set; `None` if it was created by an unknown request.
    pub(super) set: Option<Identity>,
    pub(super) form: Identity,
    /// The ranges of positions: the first position and the number of records of each.
    ranges: Vec<(i64, i64)>,
}

impl AskedRecords {
    /// Returns the positions in order.
    pub(super) fn positions(&self) -> impl Iterator<Item = i64> {
        let ranges = self.ranges.iter();
        ranges.flat_map(|(first, number)| *first..first.saturating_add(*number))
    }

    /// Returns whether a result set with this number of hits has all these records; true if the number is unknown.
    pub(super) fn is_within(&self, hits: i64) -> bool {
        let mut ranges = self.ranges.iter();
        hits < 0
            || ranges.all(|(first, number)| {
                let last = first.saturating_add(*number).saturating_sub(1);
                *first >= 1 && last <= hits
            })
    }

    /// Returns the position of the record after the first `given` records; `None` if the request asks for no more records.
    pub(super) fn position(&self, given: usize) -> Option<i64> {
        let mut given = i64::try_from(given).ok()?;
        for (first, number) in &self.ranges {
            if given < *number {
                return first.checked_add(given);
            }
            given = given.checked_sub((*number).max(0))?;
        }
        None
    }
}

/// The result sets of a session by name. Each is identified by the request that created it.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins(HashMap<Vec<u8>, Identity>);

/// The maximum number of result sets that are remembered.
const MAX_SETS: usize = 1_000;

impl Origins {
    /// Compares the next request of the session, and remembers the result set of a Search or Sort.
    ///
    /// The following are ignored: referenceIds, message sizes, implementation names, the names of result sets, and credentials,
    /// which transcripts do not contain.
    pub(super) fn compare(&mut self, octets: &[u8]) -> Compared {
        // A recording contains only redacted octets, so the request is redacted before it is compared.
        let octets = redacted_request(octets);
        let Ok(mut request) = codec::decode(&octets) else {
            return Compared {
                identity: Identity::of_octets(&octets),
                asked: AskedOfSets::Other,
            };
        };
        strip(&mut request);
        let sets: Vec<_> = sets_named(&request)
            .into_iter()
            .map(|set| self.0.get(set).copied())
            .collect();
        let identity = Identity::of((Identity::of_request(&unnamed(&request)), &sets));
        let asked = match &request {
            Apdu::SearchRequest(search) => {
                let asked = asked_search(search, &sets);
                self.remember(search.result_set_name.as_bytes(), asked.set);
                AskedOfSets::Search(Box::new(asked))
            }
            Apdu::SortRequest(sort) => {
                let set = Identity::of((Identity::of_request(&unnamed_sort(sort)), &sets));
                self.remember(sort.sorted_result_set_name.as_bytes(), set);
                let input = match &*sets {
                    [one] => *one,
                    _ => None,
                };
                AskedOfSets::Sort(set, input)
            }
            Apdu::PresentRequest(present) => {
                AskedOfSets::Present(asked_records(present, sets.first().copied().flatten()))
            }
            Apdu::DeleteResultSetRequest(delete) => {
                match delete.delete_function {
                    DeleteFunction::ALL => self.0.clear(),
                    _ => {
                        for set in delete.result_set_list.iter().flatten() {
                            self.0.remove(set.0.as_bytes());
                        }
                    }
                }
                AskedOfSets::Other
            }
            _ => AskedOfSets::Other,
        };
        Compared { identity, asked }
    }

    /// Returns the identity of the result set with this name; `None` if it is not known.
    pub(super) fn of(&self, name: &[u8]) -> Option<Identity> {
        self.0.get(name).copied()
    }

    /// Sets the identity of the result set with this name; `None` removes the result set.
    pub(super) fn set(&mut self, name: Vec<u8>, contents: Option<Identity>) {
        match contents {
            Some(contents) => drop(self.0.insert(name, contents)),
            None => drop(self.0.remove(&name)),
        }
    }

    fn remember(&mut self, name: &[u8], set: Identity) {
        if self.0.len() < MAX_SETS || self.0.contains_key(name) {
            self.0.insert(name.to_vec(), set);
        }
    }
}

/// Returns the name of the result set created by a request; `None` if the request creates none.
pub(super) fn set_made(request: &Apdu) -> Option<&[u8]> {
    match request {
        Apdu::SearchRequest(search) => Some(search.result_set_name.as_bytes()),
        Apdu::SortRequest(sort) => Some(sort.sorted_result_set_name.as_bytes()),
        _ => None,
    }
}

fn asked_search(search: &SearchRequest, sets: &[Option<Identity>]) -> AskedSearch {
    let form = |elements: &Option<ElementSetNames>| {
        let elements = elements.clone().map(RecordComposition::Simple);
        Identity::of_form(search.preferred_record_syntax, elements.as_ref())
    };
    let mut plain = unnamed_search(search);
    plain.small_set_upper_bound = 0;
    plain.large_set_lower_bound = 1;
    plain.medium_set_present_number = 0;
    plain.small_set_element_set_names = None;
    plain.medium_set_element_set_names = None;
    plain.preferred_record_syntax = None;
    let loosely = Identity::of((Identity::of_request(&plain.clone().into()), sets));
    plain.replace_indicator = true;
    AskedSearch {
        set: Identity::of((Identity::of_request(&plain.into()), sets)),
        loosely,
        small_set_upper_bound: search.small_set_upper_bound,
        large_set_lower_bound: search.large_set_lower_bound,
        medium_set_present_number: search.medium_set_present_number,
        small_form: form(&search.small_set_element_set_names),
        medium_form: form(&search.medium_set_element_set_names),
    }
}

/// Removes the names of result sets from a request, unless its answer contains them.
fn unnamed(request: &Apdu) -> Apdu {
    match request {
        Apdu::SearchRequest(search) => unnamed_search(search).into(),
        Apdu::PresentRequest(present) => {
            let mut plain = present.clone();
            plain.result_set_id = ResultSetId("".into());
            Apdu::PresentRequest(plain)
        }
        other => other.clone(),
    }
}

fn unnamed_search(search: &SearchRequest) -> SearchRequest {
    let mut plain = search.clone();
    plain.result_set_name = "".into();
    if let Query::Type1(query) | Query::Type101(query) = &mut plain.query {
        for operand in query.rpn.operands_mut() {
            match operand {
                Operand::ResultSet(name) => *name = ResultSetId("".into()),
                Operand::ResultAttr(restricted) => restricted.result_set = ResultSetId("".into()),
                Operand::AttributesPlusTerm(_) => {}
            }
        }
    }
    plain
}

fn unnamed_sort(sort: &SortRequest) -> Apdu {
    let mut plain = sort.clone();
    plain.sorted_result_set_name = "".into();
    plain.input_result_set_names.clear();
    plain.into()
}

fn asked_records(present: &PresentRequest, set: Option<Identity>) -> AskedRecords {
    let first = (
        present.result_set_start_point,
        present.number_of_records_requested,
    );
    let more = present
        .additional_ranges
        .iter()
        .flatten()
        .map(|range| (range.starting_position, range.number_of_records));
    AskedRecords {
        set,
        form: Identity::of_form(
            present.preferred_record_syntax,
            present.record_composition.as_ref(),
        ),
        ranges: [first].into_iter().chain(more).collect(),
    }
}

/// Removes the parts of a request that do not affect the answer.
fn strip(request: &mut Apdu) {
    request.set_reference_id(None);
    match request {
        Apdu::InitializeRequest(init) => {
            init.preferred_message_size = 0;
            init.exceptional_record_size = 0;
            init.implementation_id = None;
            init.implementation_name = None;
            init.implementation_version = None;
            if let Some(external) = &init.user_information_field
                && !negotiates(external)
            {
                init.user_information_field = None;
            }
            if let Some(authentication) = &mut init.id_authentication {
                *authentication = IdAuthentication::Anonymous;
            }
        }
        Apdu::PresentRequest(present) => {
            present.max_record_size = None;
            present.max_segment_size = None;
        }
        Apdu::AccessControlResponse(response) => {
            response.security_challenge_response = None.into();
        }
        _ => {}
    }
}

/// Returns whether the value negotiates character sets. Other values may contain credentials, which transcripts do not have.
fn negotiates(external: &External) -> bool {
    let syntax = external.direct_reference;
    syntax.is_some_and(|syntax| syntax.to_string().starts_with("1.2.840.10003.15."))
}

/// Returns the names of the result sets used by a request.
fn sets_named(request: &Apdu) -> Vec<&[u8]> {
    match request {
        Apdu::PresentRequest(present) => vec![present.result_set_id.0.as_bytes()],
        Apdu::SortRequest(sort) => {
            let names = sort.input_result_set_names.iter();
            names.map(|name| name.as_bytes()).collect()
        }
        Apdu::DeleteResultSetRequest(delete) => {
            let sets = delete.result_set_list.iter().flatten();
            sets.map(|set| set.0.as_bytes()).collect()
        }
        Apdu::SearchRequest(search) => match &search.query {
            Query::Type1(query) | Query::Type101(query) => {
                let sets = query.rpn.result_sets();
                sets.map(|set| set.0.as_bytes()).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
