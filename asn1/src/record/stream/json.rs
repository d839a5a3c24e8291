//! MARC-in-JSON cut into records: the objects of an array, of lines, or of a stream, each up to the brace that closes it.

use std::io::{self, Read};

use super::MAX_RECORD;
use super::cut::Piece;
use super::window::Window;

#[derive(Debug, Default)]
pub(super) struct Cutter {
    /// Whether what stands between records has been reported since the last one.
    reported: bool,
}

impl Cutter {
    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<Option<Piece>> {
        loop {
            // Between records: blanks, commas and the brackets of an array.
            let filler = window
                .held()
                .iter()
                .take_while(|octet| is_filler(**octet))
                .count();
            window.pass(filler);
            if !window.held().is_empty() {
                if window.held().first() == Some(&b'{') {
                    break;
                }
                let offset = window.offset();
                pass_junk(window)?;
                // What follows a damaged record on its line belongs to it.
                if !std::mem::replace(&mut self.reported, true) {
                    return Ok(Some(Piece {
                        offset,
                        damage: Some("no JSON object".to_owned()),
                        ..Piece::default()
                    }));
                }
            } else if !window.more()? {
                return Ok(None);
            }
        }
        let mut scan = Scan::default();
        let end = loop {
            if let Some(end) = scan.run(window.held()) {
                break end;
            }
            if window.held().len() >= MAX_RECORD || !window.more()? {
                break End::Damage(window.held().len(), "the record does not end");
            }
        };
        let offset = window.offset();
        let (length, damage) = match end {
            End::Object(length) => (length, None),
            End::Damage(length, damage) => (length, Some(damage.to_owned())),
        };
        self.reported = damage.is_some();
        Ok(Some(Piece {
            offset,
            octets: window.take(length),
            damage,
            ..Piece::default()
        }))
    }
}

fn is_filler(octet: u8) -> bool {
    // The octets of a byte order mark and the record separator of RFC 7464 are passed over too.
    matches!(
        octet,
        b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']' | 0x1E | 0xEF | 0xBB | 0xBF
    )
}

/// Passes over what is no object, up to the next brace or the end of the line.
fn pass_junk<R: Read>(window: &mut Window<R>) -> io::Result<()> {
    loop {
        let held = window.held();
        let end = held.iter().position(|octet| matches!(octet, b'{' | b'\n'));
        let length = held.len();
        window.pass(end.unwrap_or(length));
        if end.is_some() || !window.more()? {
            return Ok(());
        }
    }
}

/// Where an object ends.
enum End {
    /// With its brace.
    Object(usize),
    /// Here, without it.
    Damage(usize, &'static str),
}

/// A look for the end of an object that goes on where it stopped.
#[derive(Default)]
struct Scan {
    index: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Scan {
    fn run(&mut self, octets: &[u8]) -> Option<End> {
        while let Some(&octet) = octets.get(self.index) {
            match octet {
                // JSON has no line end in a string: one was cut off.
                b'\n' if self.in_string => {
                    return Some(End::Damage(self.index, "a string without its end"));
                }
                b'\n' if self.depth > 0 => {
                    // The next record, where a brace is missing; wait until enough of the line is there.
                    let next = octets.get(self.index + 1..).unwrap_or_default();
                    match begins_record(next) {
                        Some(true) => {
                            return Some(End::Damage(self.index, "a brace is missing"));
                        }
                        Some(false) => {}
                        None => return None,
                    }
                }
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(End::Object(self.index + 1));
                    }
                }
                _ => {}
            }
            self.index += 1;
        }
        None
    }
}

/// Whether a line begins as a record does: `{"leader"` or `{"fields"`; `None` if too little of it is there.
fn begins_record(line: &[u8]) -> Option<bool> {
    const BEGINNINGS: [&[u8]; 2] = [b"{\"leader\"", b"{\"fields\""];
    if BEGINNINGS.iter().any(|known| line.starts_with(known)) {
        return Some(true);
    }
    let undecided = BEGINNINGS.iter().any(|known| known.starts_with(line));
    (!undecided).then_some(false)
}
