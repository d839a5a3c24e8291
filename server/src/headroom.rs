//! The memory that the process can still allocate. The program supplies a function that measures it. Loads, updates and accounts
//! call this function, and leave a reserve for memory that is not accounted for.

/// The memory that the process can still allocate, and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// The number of octets that the process can still allocate.
    pub left: u64,
    /// The maximum number of octets that the process can allocate in total.
    pub limit: u64,
}

/// A function that measures the headroom; it returns `None` if the headroom is unknown.
pub type HeadroomProbe = fn() -> Option<Headroom>;

/// Measures the current headroom; `None` if it is unknown.
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

    /// Returns the number of octets that can be allocated without using the reserve.
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

/// The number of octets in a megabyte, which is the unit in messages.
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
