//! Splits line-based forms into records: at blank lines, and before lines that can only be the first line of a record.

use std::io::{self, Read};

use super::window::{MAX_RECORD, RawRecord, Window};
use crate::Tag;
use crate::iso2709::BYTE_ORDER_MARK;
use crate::marcline;
use crate::mrk;

#[derive(Debug)]
pub(super) struct LineCutter {
    /// The number of lines consumed so far.
    lines: usize,
    /// Returns whether a line can only be the first line of a record.
    begins: fn(&[u8]) -> bool,
    /// Returns whether a line between records is a comment.
    is_comment: fn(&[u8]) -> bool,
    /// Returns the offset at which another record begins on a line, because the record before it was cut off.
    joined: fn(&[u8]) -> Option<usize>,
    /// Returns the tag of the field on a line; `None` if the line is not a field.
    tag: fn(&[u8]) -> Option<Tag>,
}

impl LineCutter {
    pub(super) fn mrk() -> Self {
        Self {
            lines: 0,
            begins: mrk::begins_record,
            is_comment: |line| line.starts_with(b"#"),
            joined: mrk::joined_record,
            tag: mrk::tag,
        }
    }

    pub(super) fn line() -> Self {
        Self {
            lines: 0,
            begins: marcline::begins_record,
            is_comment: marcline::is_remark,
            joined: marcline::joined_record,
            tag: marcline::tag,
        }
    }

    pub(super) fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
    ) -> io::Result<Option<RawRecord>> {
        self.pass_comments(window)?;
        let (mut end, mut lines, mut long, mut cut_off) = (0, 0, false, false);
        while let Some(next) = window.line(end, MAX_RECORD)? {
            let line = window.held().get(end..next).unwrap_or_default();
            if line.trim_ascii().is_empty() || (lines > 0 && (self.begins)(line)) {
                break;
            }
            if let Some(place) = (self.joined)(line)
                && let tag = (self.tag)(line).filter(|_| lines > 0)
                && self.restarts(window, tag, next)?
            {
                (end, cut_off) = (end + place, true);
                break;
            }
            (end, lines) = (next, lines + 1);
            if end >= MAX_RECORD {
                long = true;
                break;
            }
        }
        if end == 0 {
            return Ok(None);
        }
        let line = self.lines + 1;
        self.lines += lines;
        let damage = long.then(|| format!("no end of the record within {MAX_RECORD} octets"));
        Ok(Some(RawRecord {
            line,
            cut_off,
            ..window.record(end, damage)
        }))
    }

    /// Returns whether the line at `next` begins a new sequence of fields. It does so after the leader of another
    /// record, but not after text that only looks like a leader. `tag` is the tag of the previous line, or `None` for a
    /// leader.
    fn restarts<R: Read>(
        &self,
        window: &mut Window<R>,
        tag: Option<Tag>,
        next: usize,
    ) -> io::Result<bool> {
        let Some(end) = window.line(next, MAX_RECORD)? else {
            return Ok(false);
        };
        let line = window.held().get(next..end).unwrap_or_default();
        Ok((self.tag)(line)
            .is_some_and(|first| first.is_control() || tag.is_none_or(|tag| first < tag)))
    }

    /// Skips blank lines and comments.
    fn pass_comments<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<()> {
        window.fill(BYTE_ORDER_MARK.len())?;
        if window.offset() == 0 && window.held().starts_with(BYTE_ORDER_MARK) {
            window.pass(BYTE_ORDER_MARK.len());
        }
        while let Some(end) = window.line(0, MAX_RECORD)? {
            let line = window.held().get(..end).unwrap_or_default();
            if !line.trim_ascii().is_empty() && !(self.is_comment)(line) {
                break;
            }
            window.pass(end);
            self.lines += 1;
        }
        Ok(())
    }
}
