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
        match asked > usual {
            true => self.limit(usual),
            false if self.has_come => {}
            false => self.limit(asked / 2),
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
