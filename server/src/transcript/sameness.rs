//! Compares requests for replay: without what does not affect the answer, and with result sets identified by their searches.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use z3950_asn1::apdu::{Apdu, External, IdAuthentication, Query};
use z3950_asn1::codec;

use super::redact::redacted;

/// What equal requests have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64);

/// The result sets of a session, and the requests that made them.
#[derive(Debug, Default)]
pub(super) struct Origins(HashMap<Vec<u8>, Identity>);

/// The most result sets remembered.
const MAX_SETS: usize = 1_000;

impl Origins {
    /// Identifies the next request of the session, and remembers the result set of a Search or Sort.
    ///
    /// Ignores referenceIds, message sizes, implementation names, and credentials, which transcripts do not contain.
    pub(super) fn identify(&mut self, octets: &[u8]) -> Identity {
        let mut hasher = DefaultHasher::new();
        let Ok(mut request) = codec::decode(octets) else {
            redacted(octets).hash(&mut hasher);
            return Identity(hasher.finish());
        };
        strip(&mut request);
        match codec::encode(&request) {
            Ok(encoded) => encoded.hash(&mut hasher),
            Err(_) => octets.hash(&mut hasher),
        }
        for set in sets_named(&request) {
            let origin = self.0.get(set);
            origin.map(|origin| origin.0).hash(&mut hasher);
        }
        let identity = Identity(hasher.finish());
        let made = match &request {
            Apdu::SearchRequest(search) => Some(search.result_set_name.as_bytes()),
            Apdu::SortRequest(sort) => Some(sort.sorted_result_set_name.as_bytes()),
            _ => None,
        };
        if let Some(name) = made
            && (self.0.len() < MAX_SETS || self.0.contains_key(name))
        {
            self.0.insert(name.to_vec(), identity);
        }
        identity
    }
}

/// Removes what does not affect the answer.
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

/// Whether it negotiates character sets; everything else may hold credentials, and is not in transcripts.
fn negotiates(external: &External) -> bool {
    let syntax = external.direct_reference;
    syntax.is_some_and(|syntax| syntax.to_string().starts_with("1.2.840.10003.15."))
}

/// The result sets that a request uses.
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
