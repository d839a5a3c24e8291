//! The identity of callers of a backend.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use z3950_asn1::via::Via;

/// A caller of a backend: a session, or another program. A backend divides its time fairly between callers. A clone represents
/// the same caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    number: u64,
    user: Option<Arc<str>>,
    address: Option<IpAddr>,
    via: Via,
}

impl Caller {
    /// Creates a caller that is distinct from all others and is on the server's host.
    #[expect(clippy::new_without_default, reason = "each one is different")]
    pub fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self {
            number: LAST.fetch_add(1, Ordering::Relaxed),
            user: None,
            address: None,
            via: Via::default(),
        }
    }

    /// Sets the name of the authenticated user.
    pub fn with_user(self, name: impl Into<Arc<str>>) -> Self {
        let user = Some(name.into());
        Self { user, ..self }
    }

    /// Returns the name of the authenticated user ([`User::name`](crate::access::User::name)); `None` for an anonymous caller.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Sets the address of the caller. A backend divides its time fairly between addresses, too.
    pub fn with_address(self, address: IpAddr) -> Self {
        let address = Some(network(address));
        Self { address, ..self }
    }

    /// Sets the servers that have passed on the caller's requests. A backend that passes requests on adds itself to this list,
    /// and refuses requests that it has already passed on.
    pub fn with_via(self, via: Via) -> Self {
        Self { via, ..self }
    }

    /// Returns the servers that have passed on the caller's requests.
    pub fn via(&self) -> Via {
        self.via
    }

    /// Returns the address under which the caller is counted. Callers without an address, for which this is `None`, are counted
    /// together.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }
}

/// Returns the network under which an address is counted: the first 64 bits of an IPv6 address, because one host may use all
/// addresses with this prefix.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}
