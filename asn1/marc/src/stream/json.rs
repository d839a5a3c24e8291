//! Splits MARC-in-JSON into records: the objects in an array, on lines, or in a stream. Each record extends to its
//! closing brace.

use std::io::{self, Read};

use super::window::{MAX_RECORD, RawRecord, Window};

#[derive(Debug, Default)]
pub(super) struct JsonCutter {
    /// Whether text between records has been reported since the last record.
    reported: bool,
    /// Whether the array around the records is open.
    in_array: bool,
    /// Whether a comma may come next, which is allowed once after each record and each array.
    after_value: bool,
    /// The first misplaced bracket or comma since the last record, with its offset.
    stray: Option<(u64, u8)>,
}

impl JsonCutter {
    pub(super) fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
    ) -> io::Result<Option<RawRecord>> {
        loop {
            // Between records, only white space, commas and the brackets of an array are allowed.
            let held = window.held();
            let filler = held.iter().take_while(|octet| is_filler(**octet)).count();
            let mut offset = window.offset();
            for octet in held.get(..filler).unwrap_or_default() {
                self.punctuation(*octet, offset);
                offset = offset.saturating_add(1);
            }
            window.pass(filler);
            if !window.held().is_empty() {
                if window.held().first() == Some(&b'{') {
                    match self.out_of_place() {
                        None => break,
                        report => return Ok(report),
                    }
                }
                (self.after_value, self.stray) = (true, None);
                let offset = window.offset();
                pass_junk(window)?;
                // The rest of a line after a damaged record belongs to that record.
                if !std::mem::replace(&mut self.reported, true) {
                    return Ok(Some(RawRecord::damage(offset, "no JSON object")));
                }
            } else if !window.more()? {
                if let report @ Some(_) = self.out_of_place() {
                    return Ok(report);
                }
                let is_open = std::mem::take(&mut self.in_array) && !self.reported;
                let damage = "the input ends within the array: records may be missing";
                return Ok(is_open.then(|| RawRecord::damage(window.offset(), damage)));
            }
        }
        let mut scan = ObjectScan::default();
        let (length, damage) = loop {
            if let Some(end) = scan.run(window.held()) {
                break end;
            }
            if window.held().len() >= MAX_RECORD || !window.more()? {
                break (window.held().len(), Some("the record does not end"));
            }
        };
        self.reported = damage.is_some();
        self.after_value = true;
        Ok(Some(window.record(length, damage.map(str::to_owned))))
    }

    /// Checks an octet between records; `offset` is its offset in the input.
    fn punctuation(&mut self, octet: u8, offset: u64) {
        let is_in_place = match octet {
            b'[' => {
                self.after_value = false;
                !std::mem::replace(&mut self.in_array, true)
            }
            b']' => {
                self.after_value = true;
                std::mem::take(&mut self.in_array)
            }
            b',' => std::mem::take(&mut self.after_value),
            _ => true,
        };
        if !is_in_place {
            self.stray.get_or_insert((offset, octet));
        }
    }

    /// Returns a report on the first misplaced bracket or comma, unless the damage has already been reported. Records
    /// around it may be missing.
    fn out_of_place(&mut self) -> Option<RawRecord> {
        let (offset, octet) = self.stray.take()?;
        let kind = match octet {
            b',' => "comma",
            _ => "bracket",
        };
        (!std::mem::replace(&mut self.reported, true))
            .then(|| RawRecord::damage(offset, format!("a {kind} out of place")))
    }
}

fn is_filler(octet: u8) -> bool {
    // The octets of a byte order mark and the record separator of RFC 7464 are also skipped.
    matches!(
        octet,
        b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']' | 0x1E | 0xEF | 0xBB | 0xBF
    )
}

/// Skips to the next brace or the end of the line.
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

/// A search for the end of an object. It can be resumed when more octets have arrived.
#[derive(Default)]
struct ObjectScan {
    index: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl ObjectScan {
    /// Returns the end of the object, and a fault if the object does not end with its closing brace. Returns `None` if
    /// the octets do not contain the end.
    fn run(&mut self, octets: &[u8]) -> Option<(usize, Option<&'static str>)> {
        while let Some(&octet) = octets.get(self.index) {
            // If another record begins here, the record being read was cut off. The brace cannot be text in a string, because quotes after
            // it would then be escaped.
            if octet == b'{' && self.index > 0 {
                let reason = if self.in_string {
                    "an unclosed string"
                } else {
                    "a brace is missing"
                };
                match begins_record(octets.get(self.index..).unwrap_or_default()) {
                    Some(true) => return Some((self.index, Some(reason))),
                    Some(false) => {}
                    // Whether another record begins cannot be decided without more octets.
                    None => return None,
                }
            }
            match octet {
                // A JSON string cannot contain a line end, so the string was cut off.
                b'\n' if self.in_string => {
                    return Some((self.index, Some("an unclosed string")));
                }
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some((self.index + 1, None));
                    }
                }
                _ => {}
            }
            self.index += 1;
        }
        None
    }
}

/// Returns whether the octets begin a record, with `{"leader":` or `{"fields":`; `None` if there are too few octets to
/// decide.
fn begins_record(octets: &[u8]) -> Option<bool> {
    const NAMES: [&[u8]; 2] = [b"\"leader\"", b"\"fields\""];
    let inside = octets.strip_prefix(b"{")?.trim_ascii_start();
    let blanks = octets.len() - inside.len();
    for name in NAMES {
        if let Some(rest) = inside.strip_prefix(name) {
            return match rest.trim_ascii_start().first() {
                Some(octet) => Some(*octet == b':'),
                None => (rest.len() > MOST_BLANKS).then_some(false),
            };
        }
    }
    let undecided = blanks <= MOST_BLANKS && NAMES.iter().any(|name| name.starts_with(inside));
    (!undecided).then_some(false)
}

/// The maximum number of spaces skipped before a name.
const MOST_BLANKS: usize = 64;
