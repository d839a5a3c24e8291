//! ISO 2709 cut into records as [`iso2709::split`] does it, on an input that is not all in memory.

use std::io::{self, Read};

use super::MAX_RECORD;
use super::cut::Piece;
use super::window::Window;
use crate::record::iso2709;

/// Octets in which the terminator of a sound record and the leader behind it are seen.
const LOOK_AHEAD: usize = iso2709::MAX_RECORD + 64;

#[derive(Debug)]
pub(super) struct Cutter;

impl Cutter {
    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<Option<Piece>> {
        loop {
            let filler = window
                .held()
                .iter()
                .take_while(|octet| iso2709::is_filler(octet))
                .count();
            window.pass(filler);
            if !window.held().is_empty() {
                break;
            }
            if !window.more()? {
                return Ok(None);
            }
        }
        window.fill(LOOK_AHEAD)?;
        let offset = window.offset();
        let (length, damage) = loop {
            if let Some(length) = iso2709::record_length(window.held()) {
                break (length, None);
            }
            if window.held().len() >= MAX_RECORD {
                let damage = format!("no record terminator within {MAX_RECORD} octets");
                break (window.held().len(), Some(damage));
            }
            let twice = window.held().len().saturating_mul(2);
            let before = window.held().len();
            window.fill(twice.min(MAX_RECORD))?;
            if window.held().len() == before {
                break (before, None);
            }
        };
        Ok(Some(Piece {
            offset,
            octets: window.take(length),
            damage,
            ..Piece::default()
        }))
    }
}
