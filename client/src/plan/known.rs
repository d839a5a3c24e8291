//! What is known of the server of a URL from elsewhere, where it does not contradict the URL: its way there, its
//! credentials, what it bears. What RFC 2056 §4 says to send for a retrieval stays the same.

use std::fmt;

use z3950_asn1::apdu::AttributeElement;
use z3950_asn1::apdu::IdAuthentication;
use z3950_asn1::oid::Oid;
use z3950_marc::charset::Charset;

use super::IdentitySource;
use super::Plan;
use super::course::Way;
use crate::pool::TargetLimits;
use crate::target::Endpoint;

/// What a profile says of a server, as far as a URL leaves it open.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Known {
    pub(super) tls: bool,
    pub(super) limits: TargetLimits,
    pub(super) record_charset: Option<Charset>,
    /// Its ways to search for a docid, most wanted first.
    pub(super) docid: Vec<Way>,
    /// Attributes it wants in every operand.
    pub(super) habits: Vec<AttributeElement>,
    /// The record syntax it has.
    pub(super) record_syntax: Option<Oid>,
}

impl Plan {
    /// Where to connect to: the host and port of the URL, with TLS where the server's profile says so.
    pub fn endpoint(&self) -> Endpoint {
        let endpoint = match self.known.tls {
            true => Endpoint::Tls,
            false => Endpoint::Tcp,
        };
        endpoint(self.host.clone(), self.port)
    }

    /// What the server is asked to bear.
    pub fn limits(&self) -> TargetLimits {
        self.known.limits
    }

    /// The same plan with the identity of the server's profile.
    pub(crate) fn with_authentication(mut self, authentication: IdAuthentication) -> Self {
        self.init.authentication = Some(authentication);
        self.identity_source = Some(IdentitySource::Profile);
        self
    }

    /// The character set that its records are in whatever they say themselves, if its profile knows one.
    pub fn record_charset(&self) -> Option<Charset> {
        self.known.record_charset
    }
}

impl Plan {
    /// The same plan with what the profile of the server knows: TLS, limits, the character set of records; and for
    /// [`Fallback`](super::Fallback)s its searches for a docid, its habits and its record syntax. A profile of another host
    /// or port changes nothing. Credentials are another matter: see [`Client::plan`](crate::Client::plan).
    pub fn with_profile(mut self, profile: &crate::profile::Profile) -> Self {
        if (&profile.host, profile.port) != (&self.host, self.port) {
            return self;
        }
        let elements = |attributes: &crate::profile::Attributes| {
            let attributes = attributes.0.iter();
            attributes.map(|attribute| attribute.0.clone()).collect()
        };
        let ways = profile.docid.iter().map(|attributes| Way {
            name: attributes.to_string(),
            attributes: elements(attributes),
        });
        self.known = Known {
            tls: profile.tls,
            limits: TargetLimits::from(profile),
            record_charset: profile.record_charset,
            docid: ways.collect(),
            habits: elements(&profile.attributes),
            record_syntax: profile.record_syntax,
        };
        self
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known")
            .field("tls", &self.tls)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
