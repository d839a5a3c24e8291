//! The state of a session while it is judged: the options agreed on, the result sets, the requests in progress, and earlier
//! requests.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use z3950_asn1::apdu::{
    Apdu, DeleteFunction, DeleteSetStatus, InitializeResponse, Options, ReferenceId,
    ResultSetStatus, SortStatus,
};
use z3950_asn1::codec;
use z3950_asn1::oid::PERSISTENT_RESULT_SET;

/// The stage of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// No Init has been sent, or Init was rejected.
    BeforeInit,
    /// Init has been sent and not answered yet.
    InInit,
    Open,
}

/// The state of a session, as far as the judge knows it.
#[derive(Debug)]
pub(super) struct Knowledge {
    pub(super) stage: Stage,
    /// The version in force; 0 before Init.
    pub(super) version: u8,
    pub(super) granted: Options,
    pub(super) message_size: i64,
    /// The result sets, with the hashes of their names as keys.
    sets: HashMap<u64, KnownSet>,
    /// The number of result sets created so far.
    made: u64,
    /// Whether result sets may exist that are not in `sets`.
    is_partial: bool,
    /// The requests in progress, in the order of arrival.
    pub(super) pending: Vec<Pending>,
    /// The hashes of earlier requests.
    asked: HashSet<u64>,
    /// The number of the server's access control requests that the client has not answered.
    pub(super) challenges: u64,
    pub(super) controls: u64,
    pub(super) client_closed: bool,
    pub(super) server_closed: bool,
    remembered: usize,
}

/// A result set that the server has created.
#[derive(Debug, Clone, Copy, Default)]
struct KnownSet {
    /// The number of records in the set; `None` if it is not known.
    hits: Option<i64>,
    /// The [`search_key`] of the search that created the set; `None` if it is not known.
    search: Option<u64>,
    /// The number of result sets that were created earlier in the session.
    number: u64,
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) name: &'static str,
    /// The hash of the request's referenceId.
    pub(super) reference: Option<u64>,
    change: Change,
}

/// The change to the result sets that a request makes if it succeeds.
#[derive(Debug)]
enum Change {
    Nothing,
    Make {
        set: u64,
        search: u64,
    },
    Sort {
        from: Option<u64>,
        to: u64,
    },
    Delete(Vec<u64>),
    DeleteAll,
    /// A change after which result sets with any name may exist.
    Any,
}

impl Knowledge {
    pub(super) fn new(remembered: usize) -> Self {
        Self {
            stage: Stage::BeforeInit,
            version: 0,
            granted: Options::default(),
            message_size: 0,
            sets: HashMap::new(),
            made: 0,
            is_partial: false,
            pending: Vec::new(),
            asked: HashSet::new(),
            challenges: 0,
            controls: 0,
            client_closed: false,
            server_closed: false,
            remembered,
        }
    }

    /// Returns whether a result set may exist, because it was created or because a request in progress may create it.
    pub(super) fn may_have(&self, name: &[u8]) -> bool {
        let name = hash(name);
        let is_made = |pending: &Pending| match pending.change {
            Change::Make { set, .. } | Change::Sort { to: set, .. } => set == name,
            _ => false,
        };
        self.is_partial || self.sets.contains_key(&name) || self.pending.iter().any(is_made)
    }

    /// Returns whether a result set is known to exist.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.sets.contains_key(&hash(name))
    }

    /// Returns the number of records in a result set, if it is known.
    pub(super) fn hits(&self, name: &[u8]) -> Option<i64> {
        self.sets.get(&hash(name))?.hits
    }

    /// Returns whether a result set from the same search exists and has not been changed since.
    pub(super) fn has_searched(&self, request: &Apdu) -> bool {
        let search = Some(search_key(request));
        self.sets.values().any(|set| set.search == search)
    }

    /// Remembers a request and the result set that it uses, if any. Returns whether the same request has been made before on the
    /// same result set.
    pub(super) fn asks_again(&mut self, request: &Apdu, set: Option<&[u8]>) -> bool {
        let known = set.and_then(|name| self.sets.get(&hash(name)));
        let request = hash(&(key(request), known.map(|set| set.number)));
        if self.asked.contains(&request) {
            return true;
        }
        if self.asked.len() < self.remembered {
            self.asked.insert(request);
        }
        false
    }

    /// Adds a request to the requests in progress.
    pub(super) fn begin(&mut self, request: &Apdu) {
        let change = match request {
            Apdu::SearchRequest(search) => Change::Make {
                set: hash(search.result_set_name.as_bytes()),
                search: search_key(request),
            },
            Apdu::SortRequest(sort) => Change::Sort {
                from: match &*sort.input_result_set_names {
                    [one] => Some(hash(one.as_bytes())),
                    _ => None,
                },
                to: hash(sort.sorted_result_set_name.as_bytes()),
            },
            Apdu::DuplicateDetectionRequest(duplicates) => Change::Sort {
                from: None,
                to: hash(duplicates.output_result_set_name.as_bytes()),
            },
            Apdu::DeleteResultSetRequest(delete) => match delete.delete_function {
                DeleteFunction::ALL => Change::DeleteAll,
                _ => {
                    let names = delete.result_set_list.iter().flatten();
                    let names = names.take(self.remembered);
                    Change::Delete(names.map(|name| hash(name.0.as_bytes())).collect())
                }
            },
            Apdu::ExtendedServicesRequest(task) if task.package_type == PERSISTENT_RESULT_SET => {
                Change::Any
            }
            _ => Change::Nothing,
        };
        if self.pending.len() == self.remembered {
            self.pending.remove(0);
        }
        self.pending.push(Pending {
            name: request.name(),
            reference: request.reference_id().map(reference),
            change,
        });
    }

    /// Records an answer from the server. `None` stands for octets that are not an APDU and may answer any of the pending
    /// requests.
    pub(super) fn answered(&mut self, answer: Option<&Apdu>) {
        let Some(answer) = answer else {
            self.pending.clear();
            self.is_partial = true;
            return;
        };
        match answer {
            Apdu::AccessControlRequest(_) => return self.challenges += 1,
            Apdu::ResourceControlRequest(request) => {
                self.controls += u64::from(request.response_required);
                return;
            }
            Apdu::Segment(_) => return,
            Apdu::Close(_) => {
                self.server_closed = true;
                self.pending.clear();
                return;
            }
            Apdu::InitializeResponse(init) => self.agreed(init),
            _ => {}
        }
        let id = answer.reference_id().map(reference);
        let found = self.pending.iter().position(|one| one.reference == id);
        // A fault may have changed the referenceId. The answer is then assumed to belong to the oldest request.
        let place = found.or((!self.pending.is_empty()).then_some(0));
        if let Some(place) = place {
            let Pending { change, .. } = self.pending.remove(place);
            self.change(change, answer);
        }
    }

    fn agreed(&mut self, init: &InitializeResponse) {
        if init.result {
            self.stage = Stage::Open;
            self.granted = init.options;
            self.version = init.protocol_version.highest().unwrap_or(0);
            self.message_size = init.preferred_message_size;
            self.sets.clear();
        } else if self.stage != Stage::Open {
            self.stage = Stage::BeforeInit;
        }
    }

    fn change(&mut self, change: Change, answer: &Apdu) {
        match (change, answer) {
            (Change::Make { set, search }, Apdu::SearchResponse(found)) => {
                let partial = [ResultSetStatus::SUBSET, ResultSetStatus::INTERIM];
                let status = found.result_set_status;
                if found.search_status || status.is_some_and(|status| partial.contains(&status)) {
                    let hits = Some(found.result_count).filter(|hits| *hits >= 0);
                    self.put(set, hits, Some(search));
                } else {
                    self.sets.remove(&set);
                }
            }
            (Change::Sort { from, to }, Apdu::SortResponse(sorted))
                if sorted.sort_status != SortStatus::FAILURE =>
            {
                let before = from.and_then(|set| self.sets.get(&set)?.hits);
                self.put(to, sorted.result_count.or(before), None);
            }
            (Change::Any, _) => self.is_partial = true,
            (Change::Sort { to, .. }, Apdu::DuplicateDetectionResponse(_)) => {
                self.put(to, None, None);
            }
            (change, Apdu::DeleteResultSetResponse(deleted))
                if deleted.delete_operation_status == DeleteSetStatus::SUCCESS =>
            {
                match change {
                    Change::Delete(sets) => self.sets.retain(|set, _| !sets.contains(set)),
                    Change::DeleteAll => {
                        self.sets.clear();
                        self.is_partial = false;
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, set: u64, hits: Option<i64>, search: Option<u64>) {
        if self.sets.len() >= self.remembered && !self.sets.contains_key(&set) {
            self.is_partial = true;
            return;
        }
        self.made += 1;
        let number = self.made;
        let known = KnownSet {
            hits,
            search,
            number,
        };
        self.sets.insert(set, known);
    }
}

/// Returns the hash of a request without its referenceId. Equal hashes identify repeated requests.
pub(super) fn key(request: &Apdu) -> u64 {
    let mut request = request.clone();
    request.set_reference_id(None);
    // A received request can always be encoded, so the default is never used.
    hash(&*codec::encode(&request).unwrap_or_default())
}

/// Returns the hash of a search without the name of its result set and without the parameters that request records.
fn search_key(request: &Apdu) -> u64 {
    match request {
        Apdu::SearchRequest(search) => {
            let mut search = search.clone();
            search.result_set_name = "".into();
            search.replace_indicator = true;
            search.small_set_upper_bound = 0;
            search.large_set_lower_bound = 1;
            search.medium_set_present_number = 0;
            search.small_set_element_set_names = None;
            search.medium_set_element_set_names = None;
            search.preferred_record_syntax = None;
            key(&Apdu::SearchRequest(search))
        }
        other => key(other),
    }
}

/// Returns the hash of a referenceId.
pub(super) fn reference(id: &ReferenceId) -> u64 {
    hash(&*id.0)
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
