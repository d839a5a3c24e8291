//! What the server's profile adds to a plan: TLS, credentials, limits, and searches for fallbacks. The requests that RFC 2056 §4
//! prescribes stay the same.

use std::fmt;

use z3950_asn1::apdu::{AttributeElement, IdAuthentication};
use z3950_asn1::oid::Oid;
use z3950_marc::charset::Charset;

use super::course::AccessPoint;
use super::{IdentitySource, Plan};
use crate::target::Endpoint;
use crate::target::profile::{Attributes, Profile, TargetLimits};

/// The part of a profile that does not contradict a URL.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Known {
    pub(super) tls: bool,
    pub(super) limits: TargetLimits,
    pub(super) record_charset: Option<Charset>,
    /// The access points of docids, most preferred first.
    pub(super) docid: Vec<AccessPoint>,
    /// Attributes for operands that have none of their type.
    pub(super) habits: Vec<AttributeElement>,
    /// A record syntax that the server supports.
    pub(super) record_syntax: Option<Oid>,
}

impl Plan {
    /// The endpoint: host and port of the URL, with TLS if the profile says so.
    pub fn endpoint(&self) -> Endpoint {
        let endpoint = match self.known.tls {
            true => Endpoint::Tls,
            false => Endpoint::Tcp,
        };
        endpoint(self.host.clone(), self.port)
    }

    /// The limits that the server asks for.
    pub fn limits(&self) -> TargetLimits {
        self.known.limits
    }

    /// Sets the identity from the server's profile.
    pub(crate) fn with_authentication(mut self, authentication: IdAuthentication) -> Self {
        self.init.authentication = Some(authentication);
        self.identity_source = Some(IdentitySource::Profile);
        self
    }

    /// The character set of records that overrides what they declare, if the profile has one.
    pub fn record_charset(&self) -> Option<Charset> {
        self.known.record_charset
    }

    /// Applies the profile of the server: TLS, limits, the character set of records, and for [`Fallback`](super::Fallback)s the
    /// searches for a docid, the attributes and the record syntax. The profile of another host or port changes nothing.
    /// Credentials are left to [`Client::plan`](crate::Client::plan).
    pub fn with_profile(mut self, profile: &Profile) -> Self {
        if (&profile.host, profile.port) != (&self.host, self.port) {
            return self;
        }
        let elements = |attributes: &Attributes| {
            let attributes = attributes.0.iter();
            attributes.map(|attribute| attribute.0.clone()).collect()
        };
        let points = profile.docid.iter().map(|attributes| AccessPoint {
            name: attributes.to_string(),
            attributes: elements(attributes),
        });
        self.known = Known {
            tls: profile.tls,
            limits: TargetLimits::from(profile),
            record_charset: profile.record_charset,
            docid: points.collect(),
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
