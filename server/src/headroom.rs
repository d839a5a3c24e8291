//! How much memory the process may still take. The program finds this out; loads, updates and accounts ask for it, and leave a
//! reserve for what is not counted.

/// The memory left of what the process may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// The number of octets that the process may still take.
    pub left: u64,
    /// The number of octets that the process may take in total.
    pub limit: u64,
}

/// Reports the headroom; `None` if it is unknown.
pub type HeadroomProbe = fn() -> Option<Headroom>;

/// Returns the present headroom.
pub(crate) fn now(probe: Option<HeadroomProbe>) -> Option<Headroom> {
    probe.and_then(|probe| probe())
}

/// The minimum reserve, in octets.
const LEAST_RESERVE: u64 = 32 << 20;

impl Headroom {
    /// Returns the number of octets to leave free: a sixteenth of the limit, but at least 32 MiB.
    pub fn reserve(&self) -> u64 {
        (self.limit / 16).max(LEAST_RESERVE)
    }

    /// Returns the number of octets left besides the reserve.
    pub fn spare(&self) -> u64 {
        self.left.saturating_sub(self.reserve())
    }
}

impl std::fmt::Display for Headroom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (left, limit) = (self.left / MEGABYTE, self.limit / MEGABYTE);
        write!(f, "{left} MB are left under the limit of {limit} MB")
    }
}

/// The number of octets in a megabyte, in messages.
pub(crate) const MEGABYTE: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_a_sixteenth_and_at_least_32_mib() {
        for (left, limit, reserve, spare) in [
            (100 << 20, 512 << 20, 32 << 20, 68 << 20),
            (100 << 20, 1024 << 20, 64 << 20, 36 << 20),
            (10 << 20, 64 << 20, 32 << 20, 0),
        ] {
            let headroom = Headroom { left, limit };
            assert_eq!((headroom.reserve(), headroom.spare()), (reserve, spare));
        }
    }
}
