//! How many records a Present asks for: fewer after a refusal, more while whole chunks come.

use std::time::Duration;

use crate::protocol::service::ResultRecord;
use crate::protocol::service::init::PREFERRED_MESSAGE_SIZE;

/// The number of whole chunks after which the size grows again.
const CHUNKS_TO_GROWTH: u32 = 4;

/// How many times more records a chunk has that has grown.
const GROWTH: u64 = 4;

/// Chunks with more octets do not grow, so that larger ones still fit into the preferred message size.
const LARGE_CHUNK: usize = PREFERRED_MESSAGE_SIZE as usize / 8;

/// Chunks that take longer do not grow, so that they stay far below the time for an answer.
const LONG_WAIT: Duration = Duration::from_millis(500);

/// The number of records per Present.
#[derive(Debug)]
pub(super) struct Chunks {
    size: u64,
    ceiling: u64,
    /// The number of whole chunks since the size changed.
    whole: u32,
    /// The number of whole chunks after which the size grows.
    to_growth: u32,
    /// Whether a chunk was received since the last loss.
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

    /// The server refused a chunk of this size.
    pub(super) fn shrink(&mut self, asked: u64) {
        self.set(asked / 2);
    }

    fn set(&mut self, size: u64) {
        self.size = size.max(1);
        self.whole = 0;
        self.to_growth = CHUNKS_TO_GROWTH;
    }

    /// The session was lost on a chunk of `asked` records. Chunks larger than usual are not tried again. Others are tried again if
    /// the session had delivered a chunk before, since some servers end every session after a while.
    pub(super) fn lost(&mut self, asked: u64, usual: u64) {
        if asked > usual {
            self.limit(usual);
        } else if !self.has_come {
            self.limit(asked / 2);
        }
        self.has_come = false;
    }

    /// No chunk may be larger.
    pub(super) fn limit(&mut self, size: u64) {
        self.set(size);
        self.ceiling = self.size;
    }

    /// A chunk of `asked` records, or a part of it, was received after a wait.
    pub(super) fn came(&mut self, asked: u64, records: &[ResultRecord], waited: Duration) {
        self.has_come = true;
        let count = u64::try_from(records.len()).unwrap_or(u64::MAX);
        if count < asked {
            self.set(count);
        }
        self.grow(records, waited);
    }

    /// Grows if the records are a whole chunk that was easy to get.
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

/// The octets of a record.
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

    /// Records of which the first has these octets, and the others none.
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
            // A part of a chunk is the new size.
            (10, 9, 0, Duration::ZERO, 9),
            (10, 0, 0, Duration::ZERO, 1),
            // The last chunk of a set is as large as asked for, but not as large as it could be.
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
            // Some servers end every session after a while.
            (true, 10, 10, 10),
        ] {
            let mut chunks = Chunks::new(10, 1000);
            chunks.has_come = has_come;
            chunks.lost(asked, usual);
            assert_eq!(size(&chunks), expected, "{has_come} {asked} {usual}");
            let is_limited = expected != 10 || asked != 10;
            assert_eq!(chunks.ceiling == expected, is_limited, "{has_come} {asked}");
            // The next loss is one without a chunk.
            chunks.lost(10, 10);
            assert_eq!(size(&chunks), 5, "{has_come} {asked} {usual}");
        }
    }
}
