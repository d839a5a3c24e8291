//! Random values that are the same in every run, such as mutations of real messages. The seed is derived from a name.

/// Returns the number of mutations for a test: `times`, multiplied by the value of the environment variable `Z3950_MUTATIONS`.
pub fn mutations(times: u64) -> u64 {
    let factor = std::env::var("Z3950_MUTATIONS")
        .ok()
        .and_then(|text| text.parse().ok());
    times * factor.unwrap_or(1)
}

/// A generator of random numbers (xorshift64*).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator whose seed depends on the name.
    pub fn new(name: &str) -> Self {
        let seed = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| {
                (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
            });
        Self(seed | 1)
    }

    /// Returns a number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16;
        usize::try_from(number % u64::try_from(limit.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    /// Returns one of the values.
    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }

    /// Returns a random octet. Octets that have a special meaning in BER are preferred.
    pub fn octet(&mut self) -> u8 {
        const SPECIAL: [u8; 16] = [
            0, 1, 2, 0x7f, 0x80, 0x81, 0x82, 0x84, 0x85, 0xff, 0x30, 0xa0, 0xa1, 0xbf, 0x1f, 0x9f,
        ];
        match self.below(3) {
            0 => u8::try_from(self.below(256)).unwrap_or(0),
            _ => *self.pick(&SPECIAL),
        }
    }

    /// Returns `octets` with one to four mutations. Octets are changed, removed, inserted, duplicated or cut off, or a part of
    /// another sample is inserted.
    pub fn mutate(&mut self, octets: &[u8], samples: &[Vec<u8>]) -> Vec<u8> {
        let mut mutant = octets.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(mutant.len() + 1);
            match self.below(6) {
                0 | 1 if at < mutant.len() => mutant[at] = self.octet(),
                2 if at < mutant.len() => drop(mutant.remove(at)),
                3 => mutant.insert(at, self.octet()),
                4 if at < mutant.len() && self.below(4) == 0 => mutant.truncate(at),
                5 => {
                    let sample = self.pick(samples).clone();
                    let from = self.below(sample.len() + 1);
                    let to = (from + self.below(32)).min(sample.len());
                    mutant.splice(at..at, sample[from..to].iter().copied());
                }
                _ => {}
            }
        }
        mutant
    }
}
