//! The number of records that a Present requests. It is reduced after a refusal, and grows while complete chunks
//! arrive.

use std::time::Duration;

use crate::protocol::service::ResultRecord;
use crate::protocol::service::init::PREFERRED_MESSAGE_SIZE;

/// The number of complete chunks after which the chunk size grows again.
const CHUNKS_TO_GROWTH: u32 = 4;

/// The factor by which the chunk size grows.
const GROWTH: u64 = 4;

/// If a chunk has more than this number of octets, the chunk size does not grow, because larger chunks might not fit
/// into the preferred message size.
const LARGE_CHUNK: usize = PREFERRED_MESSAGE_SIZE as usize / 8;

/// If a chunk takes longer than this to arrive, the chunk size does not grow, so that the time for larger chunks stays
/// far below the answer timeout.
const LONG_WAIT: Duration = Duration::from_millis(500);

/// The number of records that the next Present requests.
#[derive(Debug)]
pub(super) struct Chunks {
    size: u64,
    ceiling: u64,
    /// The number of complete chunks received since the size last changed.
    whole: u32,
    /// The number of complete chunks that must be received before the size grows.
    to_growth: u32,
    /// Whether a chunk has been received since the session was last lost.
    has_come: bool,
}

impl Chunks {
    pub(super) fn new(size: u64, most: u64) -> Self {
        let size = size.max(1);
        Self {
            size,
            ceiling: most.max(size),
            whole: 0,
            to_growth: 1,
            has_come: false,
        }
    }

    pub(super) fn at_most(&self, count: u64) -> u64 {
        self.size.min(count).max(1)
    }

    /// Reduces the size because the server refused a chunk of `asked` records.
    pub(super) fn shrink(&mut self, asked: u64) {
        self.set(asked / 2);
    }

    fn set(&mut self, size: u64) {
        self.size = size.max(1);
        self.whole = 0;
        self.to_growth = CHUNKS_TO_GROWTH;
    }

    /// Handles the loss of the session during the request for a chunk of `asked` records. A chunk larger than `usual`
    /// is not requested again. Other chunks are requested again if the session had returned a chunk before, because
    /// some servers end each session after some time.
    pub(super) fn lost(&mut self, asked: u64, usual: u64) {
        if asked > usual {
            self.limit(usual);
        } else if !self.has_come {
            self.limit(asked / 2);
        }
        self.has_come = false;
    }

    /// Limits the size of all further chunks to `size` records.
    pub(super) fn limit(&mut self, size: u64) {
        self.set(size);
        self.ceiling = self.size;
    }

    /// Records that a chunk of `asked` records, or a part of it, was received after the time `waited`.
    pub(super) fn came(&mut self, asked: u64, records: &[ResultRecord], waited: Duration) {
        self.has_come = true;
        let count = u64::try_from(records.len()).unwrap_or(u64::MAX);
        if count < asked {
            self.set(count);
        }
        self.grow(records, waited);
    }

    /// Increases the size if the records are a complete chunk that was small and arrived quickly.
    pub(super) fn grow(&mut self, records: &[ResultRecord], waited: Duration) {
        let count = u64::try_from(records.len()).unwrap_or(u64::MAX);
        let octets: usize = records.iter().map(octets).sum();
        let is_large = octets > LARGE_CHUNK || waited > LONG_WAIT;
        if count < self.size || self.size >= self.ceiling || is_large {
            return;
        }
        self.whole += 1;
        if self.whole >= self.to_growth {
            self.size = self.size.saturating_mul(GROWTH).min(self.ceiling);
            self.whole = 0;
        }
    }
}

/// Returns the size of a record in octets.
fn octets(record: &ResultRecord) -> usize {
    match record {
        ResultRecord::Record { external, .. } => external.octets().len(),
        ResultRecord::Diagnostic { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use z3950_asn1::apdu::External;
    use z3950_asn1::oid::SUTRS;

    use super::*;

    /// Creates `count` records. The first has this many octets, and the others are empty.
    fn records(count: usize, octets: usize) -> Vec<ResultRecord> {
        let record = |octets| ResultRecord::Record {
            database: None,
            external: External::octet_aligned(SUTRS, Bytes::from(vec![b'x'; octets])),
            substitute: None,
            sources: Vec::new(),
        };
        let first = std::iter::once(record(octets));
        first
            .chain((1..count).map(|_| record(0)))
            .take(count)
            .collect()
    }

    fn size(chunks: &Chunks) -> u64 {
        chunks.at_most(u64::MAX)
    }

    #[test]
    fn chunks_grow_while_they_are_whole_small_and_quick() {
        for (asked, count, octets, waited, expected) in [
            (10, 10, 0, Duration::ZERO, 40),
            // If only a part of a chunk was received, later chunks have the size of that part.
            (10, 9, 0, Duration::ZERO, 9),
            (10, 0, 0, Duration::ZERO, 1),
            // A shorter last chunk of a set is complete, but says nothing about how large chunks may be, so the size does not change.
            (9, 9, 0, Duration::ZERO, 10),
            (10, 10, LARGE_CHUNK, Duration::ZERO, 40),
            (10, 10, LARGE_CHUNK + 1, Duration::ZERO, 10),
            (10, 10, 0, LONG_WAIT, 40),
            (10, 10, 0, LONG_WAIT + Duration::from_millis(1), 10),
        ] {
            let mut chunks = Chunks::new(10, 1000);
            chunks.came(asked, &records(count, octets), waited);
            let case = (asked, count, octets, waited);
            assert_eq!(size(&chunks), expected, "{case:?}");
        }
        for (first, most, expected) in [
            (10, 1000, vec![40, 160, 640, 1000, 1000]),
            (10, 40, vec![40, 40]),
            (10, 0, vec![10, 10]),
            (0, 0, vec![1, 1]),
        ] {
            let mut chunks = Chunks::new(first, most);
            for expected in expected {
                let asked = size(&chunks);
                let whole = records(usize::try_from(asked).expect("small"), 0);
                chunks.came(asked, &whole, Duration::ZERO);
                assert_eq!(size(&chunks), expected, "{first} {most}");
            }
        }
    }

    #[test]
    fn chunks_that_were_refused_grow_after_several_whole_ones() {
        let mut chunks = Chunks::new(10, 1000);
        chunks.shrink(10);
        for expected in [5, 5, 5, 20, 20] {
            let asked = size(&chunks);
            let whole = records(usize::try_from(asked).expect("small"), 0);
            chunks.came(asked, &whole, Duration::ZERO);
            assert_eq!(size(&chunks), expected);
        }
        chunks.shrink(1);
        assert_eq!(size(&chunks), 1);
    }

    #[test]
    fn lost_sessions_limit_chunks() {
        for (has_come, asked, usual, expected) in [
            (false, 40, 10, 10),
            (true, 40, 10, 10),
            (false, 10, 10, 5),
            (false, 1, 10, 1),
            // Some servers end every session after a while, so this loss does not limit the size of chunks.
            (true, 10, 10, 10),
        ] {
            let mut chunks = Chunks::new(10, 1000);
            chunks.has_come = has_come;
            chunks.lost(asked, usual);
            assert_eq!(size(&chunks), expected, "{has_come} {asked} {usual}");
            let is_limited = expected != 10 || asked != 10;
            assert_eq!(chunks.ceiling == expected, is_limited, "{has_come} {asked}");
            // The session is lost again before any chunk has arrived, so the size is halved.
            chunks.lost(10, 10);
            assert_eq!(size(&chunks), 5, "{has_come} {asked} {usual}");
        }
    }
}
