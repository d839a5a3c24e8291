//! Random numbers for the tests that damage real octets; every run uses the same numbers.

/// A generator of random numbers (xorshift64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a random number below `limit`, or 0 if `limit` is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % limit.max(1)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Returns the number of mutations for a test: `usual`, multiplied by `Z3950_MUTATIONS` if it is set.
pub(crate) fn rounds(usual: usize) -> usize {
    let factor = std::env::var("Z3950_MUTATIONS").ok();
    usual * factor.and_then(|text| text.parse().ok()).unwrap_or(1)
}
