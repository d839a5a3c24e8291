//! Splits ISO 2709 into records as [`iso2709::split`] does, but holds only part of the input in memory.

use std::io::{self, Read};

use super::window::{MAX_RECORD, RawRecord, Window};
use crate::iso2709;

#[derive(Debug)]
pub(super) struct MarcCutter;

impl MarcCutter {
    pub(super) fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
    ) -> io::Result<Option<RawRecord>> {
        loop {
            window.fill(iso2709::BYTE_ORDER_MARK.len())?;
            match iso2709::filler(window.held()) {
                0 if window.held().is_empty() => return Ok(None),
                0 => break,
                filler => window.pass(filler),
            }
        }
        let mut wanted = iso2709::LOOK_AHEAD;
        let (length, damage) = loop {
            window.fill(wanted)?;
            let held = window.held().len();
            let complete = held < wanted;
            if let Some(length) = iso2709::record_length(window.held(), complete) {
                break (length, None);
            }
            if held >= MAX_RECORD {
                let damage = format!("no record terminator within {MAX_RECORD} octets");
                break (MAX_RECORD, Some(damage));
            }
            if complete {
                break (held, None);
            }
            wanted = wanted.saturating_mul(2).min(MAX_RECORD);
        };
        Ok(Some(window.record(length, damage)))
    }
}
