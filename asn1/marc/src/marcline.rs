//! The line form of MARC, as printed by yaz-client and yaz-marcdump: the leader, then a line for each field. Octets are
//! written unchanged, except for line ends (`\x0a`, `\x0d`); the caller makes them safe for a terminal.

mod display;

use std::io::{self, Write};

use bytes::{BufMut, Bytes, BytesMut};

use super::record::{
    Field, Leader, MarcRecord, RECORD_TERMINATOR, SUBFIELD_DELIMITER, Tag, character_length, number,
};
use super::remarks::Remarks;
use super::text::{SEPARATORS, is_separator};

/// The line before the table of a record's copies. The lines of the table begin with two spaces. Readers skip this line
/// and the table.
pub const HOLDINGS: &str = "Holdings:";

/// Returns the record as lines: the leader, then `TAG VALUE` for a control field and `TAG I1I2 $a DATA $b DATA` for a
/// data field, each with its newline. No blank line follows; the caller separates records with blank lines.
pub fn to_lines(record: &MarcRecord) -> Vec<u8> {
    let mut lines = Vec::new();
    // Writing to a vector cannot fail.
    let _ = write_lines(record, &mut lines);
    lines
}

/// Writes the lines that [`to_lines`] returns to `out`.
///
/// # Errors
/// Errors from `out`.
pub fn write_lines(record: &MarcRecord, out: &mut impl Write) -> io::Result<()> {
    put(&record.leader.0, out)?;
    out.write_all(b"\n")?;
    let code_length = record.leader.code_length();
    record
        .fields
        .iter()
        .try_for_each(|field| write_field(field, code_length, out))
}

/// Returns a note for each field whose text the form cannot represent: text with a line end, or with a part that would
/// be read as the beginning of a subfield, such as ` $5 `.
pub(crate) fn ambiguous(record: &MarcRecord) -> Vec<String> {
    let code_length = record.leader.code_length();
    let is_line_end = |octet: &u8| matches!(octet, b'\n' | b'\r');
    let delimiters = |field: &Field| {
        let octets = field.body.iter();
        octets.filter(|octet| **octet == SUBFIELD_DELIMITER).count()
    };
    let mut notes: Vec<String> = Vec::new();
    for field in &record.fields {
        let has_line_end = field.body.iter().any(is_line_end);
        let reads_as_subfield = field.body.contains(&b'$') && {
            let mut line = Vec::new();
            drop(write_field(field, code_length, &mut line));
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let found = read_field(line, code_length);
            found.is_none_or(|found| delimiters(&found) != delimiters(field))
        };
        let tag = field.tag;
        notes.extend(has_line_end.then(|| format!("a line end in {tag} written as an escape")));
        notes.extend(reads_as_subfield.then(|| {
            format!(
                "text in {tag} reads as the begin of a subfield, as the form has no escape for $"
            )
        }));
    }
    notes.dedup();
    notes
}

/// The error for lines that are not a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: neither a leader nor a field")]
#[non_exhaustive]
pub struct LineError {
    /// The number of the first of these lines, counted from 1.
    pub line: usize,
}

/// Reads the lines of one record. `first_line` is the number of the first line, for remarks and errors.
///
/// The form is ambiguous: a space, `$`, a code and a space begin a subfield, even if a price such as `$5` was meant. Lines that are not
/// fields are skipped, and a leader that is not 24 octets long is padded with blanks or truncated, each with a remark. All of these are
/// losses, and so are an ISO 2709 separator within text and a missing leader. After a leader preceded by `LEADER`, `LDR` or `000`, fields
/// are read in the form in which catalogues show them: `245 10 |a Emma / |c Jane Austen.`
///
/// # Errors
/// [`LineError`], if no line can be read.
pub fn from_lines(
    lines: &[u8],
    first_line: usize,
    remarks: &mut Remarks,
) -> Result<MarcRecord, LineError> {
    let before = remarks.clone();
    let record = read_lines(lines, first_line, None, remarks)?;
    if !record.contradicts_code_length() {
        return Ok(record);
    }
    // The leader states longer codes than the lines have, so the lines are read again with codes of one character.
    *remarks = before;
    remarks.note(|| "leader position 11 is not usable".to_owned());
    let mut record = read_lines(lines, first_line, Some(1), remarks)?;
    record.leader.0[11] = b'2';
    Ok(record)
}

/// Parses the lines of one record. Subfield codes are `code_length` characters long; if it is `None`, they have the length in the leader.
fn read_lines(
    lines: &[u8],
    first_line: usize,
    code_length: Option<usize>,
    remarks: &mut Remarks,
) -> Result<MarcRecord, LineError> {
    let of_leader = |leader: &Option<Leader>| leader.as_ref().map_or(1, Leader::code_length);
    let mut leader = None;
    let mut fields = Vec::new();
    let mut has_holdings = false;
    let mut is_display = false;
    for (index, line) in lines.split(|octet| *octet == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Skip the table of holdings, which only repeats data from the fields.
        has_holdings |= line == HOLDINGS.as_bytes();
        let is_of_table = has_holdings && (line == HOLDINGS.as_bytes() || line.starts_with(b"  "));
        if line.trim_ascii().is_empty() || is_remark(line) || is_of_table {
            continue;
        }
        remarks.terminators(line, first_line + index);
        let replaced = replace_separators(line);
        if replaced.is_some() && !line.contains(&RECORD_TERMINATOR) {
            remarks.loss(|| format!("line {}: {SEPARATORS}", first_line + index));
        }
        let line = replaced.as_deref().unwrap_or(line);
        let code_length = code_length.unwrap_or_else(|| of_leader(&leader));
        let named = display::leader(line).filter(|_| leader.is_none() && fields.is_empty());
        if let Some(named) = named {
            is_display = true;
            if named.len() != Leader::LENGTH {
                let length = named.len();
                remarks.loss(|| format!("the leader has {length} octets instead of 24"));
            }
            leader = Some(Leader::padded(&named));
        } else if is_display {
            let line = line.trim_ascii_end();
            if let Some(field) = display::field(line) {
                fields.push(field);
            } else if let Some(text) = display::continuation(line)
                && let Some(field) = fields.last_mut()
            {
                field.body = [field.body.as_ref(), b" ", text].concat().into();
            } else {
                let line = first_line + index;
                remarks.loss(|| format!("line {line} is not a field"));
            }
        } else if leader.is_none() && fields.is_empty() && is_leader(line) {
            if line.len() != Leader::LENGTH {
                let length = line.len();
                remarks.loss(|| format!("the leader has {length} octets instead of 24"));
            }
            leader = Some(Leader::padded(line));
        } else if let Some(field) = read_field(line, code_length) {
            fields.push(field);
        } else {
            let line = first_line + index;
            remarks.loss(|| format!("line {line} is not a field"));
        }
    }
    if leader.is_none() {
        if fields.is_empty() {
            return Err(LineError { line: first_line });
        }
        remarks.loss(|| "no leader; a default one is used".to_owned());
    }
    Ok(MarcRecord {
        leader: leader.unwrap_or_default(),
        fields,
    })
}

/// Returns a line in which each separator of ISO 2709 is replaced by a question mark, which is the same in all character sets;
/// `None` if it has no separators.
fn replace_separators(line: &[u8]) -> Option<Vec<u8>> {
    let is_one = |octet: &u8| is_separator(*octet);
    let with_stand_in = |octet: &u8| if is_one(octet) { b'?' } else { *octet };
    line.iter()
        .any(is_one)
        .then(|| line.iter().map(with_stand_in).collect())
}

/// Returns whether a line is a leader preceded by its name, as catalogues show it.
pub(super) fn begins_display(line: &[u8]) -> bool {
    display::leader(line).is_some()
}

/// Returns whether a line can only be the first of a record: a leader that has both a record length and a base address,
/// or is preceded by its name.
pub(super) fn begins_record(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    begins_display(line)
        || line.len() == Leader::LENGTH && {
            let leader = Leader::padded(line);
            leader.record_length().is_some() && leader.base_address().is_some()
        }
}

/// Returns the offset of the leader of another record on the same line, if there is one.
pub(super) fn joined_record(line: &[u8]) -> Option<usize> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let place = line.len().checked_sub(Leader::LENGTH)?;
    let leader = line.get(place..)?;
    let is_named = begins_display(line);
    (place > 0 && !is_named && Leader::padded(leader).is_plausible()).then_some(place)
}

/// Returns the tag of the field on a line.
pub(super) fn tag(line: &[u8]) -> Option<Tag> {
    let (tag, rest) = line.split_first_chunk()?;
    rest.starts_with(b" ").then_some(Tag(*tag))
}

/// Returns whether a line is a remark added by the program that printed the record: `(…)` or `<!-- … -->`.
pub(super) fn is_remark(line: &[u8]) -> bool {
    (line.starts_with(b"(") || line.starts_with(b"<!--")) && !is_odd_leader(line)
}

/// Returns whether a line that begins like a remark is a leader: it has the length of a leader, and a base address in
/// the right place.
fn is_odd_leader(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.len() == Leader::LENGTH && Leader::padded(line).base_address().is_some()
}

/// Returns whether a line is a leader, possibly without its trailing spaces.
fn is_leader(line: &[u8]) -> bool {
    line.len() == Leader::LENGTH || line.get(..5).and_then(number).is_some()
}

fn read_field(line: &[u8], code_length: usize) -> Option<Field> {
    let (tag, rest) = line
        .split_first_chunk()
        .map(|(tag, rest)| (Tag(*tag), rest))?;
    let content = match rest.split_first() {
        Some((b' ', content)) => content,
        None => &[],
        Some(_) => return None,
    };
    let first = subfield_at(content, 0, code_length).map(|mark| mark.start);
    let is_number = tag.0.iter().all(u8::is_ascii_digit);
    let plain = match (tag.is_control(), first) {
        (true, first) => !matches!(first, Some(0 | USUAL_INDICATORS)),
        (false, first) => !is_number && first.is_none(),
    };
    if plain {
        let body = Bytes::copy_from_slice(content);
        return Some(Field { tag, body });
    }
    let mut body = BytesMut::with_capacity(content.len());
    let head_end = first.unwrap_or(content.len());
    let head = content.get(..head_end).unwrap_or_default();
    // Text before the first subfield follows two indicators and a space.
    match head.split_at_checked(USUAL_INDICATORS) {
        Some((indicators, [b' ', text @ ..]))
            if first.is_none_or(|first| first > MOST_INDICATORS) =>
        {
            body.put_slice(indicators);
            body.put_slice(text);
        }
        _ => body.put_slice(head),
    }
    let mut next = first.and_then(|first| subfield_at(content, first, code_length));
    while let Some(mark) = next {
        next = subfield_at(content, mark.data, code_length);
        let end = next.as_ref().map_or(content.len(), |next| next.start);
        body.put_u8(SUBFIELD_DELIMITER);
        body.put_slice(
            content
                .get(mark.start + 2..mark.code_end)
                .unwrap_or_default(),
        );
        body.put_slice(content.get(mark.data..end).unwrap_or_default());
    }
    let body = body.freeze();
    Some(Field { tag, body })
}

const USUAL_INDICATORS: usize = 2;
const MOST_INDICATORS: usize = 9;

/// The beginning of a subfield: ` $a `.
struct Mark {
    start: usize,
    code_end: usize,
    data: usize,
}

/// Returns the first beginning of a subfield at or after an index.
fn subfield_at(content: &[u8], from: usize, code_length: usize) -> Option<Mark> {
    let mut start = from;
    loop {
        let rest = content.get(start..)?;
        start += rest.windows(2).position(|pair| pair == b" $")?;
        let after = content.get(start + 2..)?;
        let mut length = 0;
        for _ in 0..code_length {
            length += character_length(after.get(length..).unwrap_or_default());
        }
        let behind = after.get(length..).unwrap_or_default();
        let mark = |code: usize| Mark {
            start,
            code_end: start + 2 + code,
            data: (start + 3 + code).min(content.len()),
        };
        match after.first() {
            // This is a delimiter with neither code nor data.
            Some(b' ') if after.len() == 1 || after.starts_with(b"  $") => return Some(mark(0)),
            Some(b' ') | None => {}
            Some(_) if behind.first().is_none_or(|octet| *octet == b' ') => {
                return Some(mark(length));
            }
            Some(_) => {}
        }
        start += 1;
    }
}

fn write_field(field: &Field, code_length: usize, out: &mut impl Write) -> io::Result<()> {
    put(&field.tag.0, out)?;
    out.write_all(b" ")?;
    put(field.value().unwrap_or(field.indicators()), out)?;
    for subfield in field.subfields_with(code_length) {
        // Text before the first delimiter has no code to print; an empty subfield is a lone delimiter.
        if !subfield.code.is_empty() || subfield.data.is_empty() {
            out.write_all(b" $")?;
            put(subfield.code, out)?;
        }
        out.write_all(b" ")?;
        put(subfield.data, out)?;
    }
    out.write_all(b"\n")
}

/// Writes octets on one line. Line ends are escaped, because they would be read as the ends of fields and records.
fn put(octets: &[u8], out: &mut impl Write) -> io::Result<()> {
    for part in octets.split_inclusive(|octet| matches!(octet, b'\n' | b'\r')) {
        match part {
            [rest @ .., b'\n'] => [rest, b"\\x0a"],
            [rest @ .., b'\r'] => [rest, b"\\x0d"],
            rest => [rest, b""],
        }
        .iter()
        .try_for_each(|octets| out.write_all(octets))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: Field, line: &[u8]) {
        let leader = Leader::default();
        let record = MarcRecord {
            leader,
            fields: vec![field],
        };
        let expected = [&leader.0[..], b"\n", line, b"\n"].concat();
        assert_eq!(
            to_lines(&record).escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
        let mut remarks = Remarks::default();
        assert_eq!(from_lines(&expected, 1, &mut remarks), Ok(record));
        assert_eq!(remarks, Remarks::default());
    }

    #[test]
    fn lines_of_fields() {
        check(Field::control(b"001", "   00000002 "), b"001    00000002 ");
        check(
            Field::data(b"245", "10", [("a", "Emma /"), ("c", "Jane Austen.")]),
            b"245 10 $a Emma / $c Jane Austen.",
        );
        check(Field::data(b"650", " 0", [("a", "War")]), b"650  0 $a War");
        check(Field::data(b"500", "  ", [("a", "")]), b"500    $a ");
        check(Field::data(b"500", "  ", [("", "")]), b"500    $ ");
        check(Field::data(b"500", "", [("a", "x")]), b"500  $a x");
        check(
            Field::control(b"500", "10No delimiter"),
            b"500 10 No delimiter",
        );
        check(Field::control(b"FMT", "BK"), b"FMT BK");
        check(
            Field::data(b"245", "10", [("a", b"caf\xE9")]),
            b"245 10 $a caf\xE9",
        );
        check(
            Field::data(
                b"245",
                "10",
                [("a", "x"), ("", ""), ("b", ""), ("c", "$5 US$ ")],
            ),
            b"245 10 $a x $  $b  $c $5 US$ ",
        );
        check(
            Field::control(b"245", "10Late delimiter\x1Fax"),
            b"245 10 Late delimiter $a x",
        );
        check(Field::control(b"500", "123\x1Fax"), b"500 123 $a x");
        check(Field::control(b"001", "00\x1Fadan"), b"001 00 $a dan");
        check(Field::control(b"500", "  "), b"500   ");
    }

    #[test]
    fn line_ends_in_fields_begin_no_line() {
        let mut record = MarcRecord {
            fields: vec![
                Field::control(b"001", "a\n001 b"),
                Field::data(b"245", "1\n", [("a", "A\r\n\n00000nam")]),
            ],
            ..MarcRecord::default()
        };
        record.leader.0[6] = b'\n';
        let lines = to_lines(&record).escape_ascii().to_string();
        let lines = lines.split("\\n").map(|line| line.replace("\\\\", "\\"));
        let leader = Leader::default().0.escape_ascii().to_string();
        let leader = format!("{}\\x0a{}", &leader[..6], &leader[7..]);
        let fields = [r"001 a\x0a001 b", r"245 1\x0a $a A\x0d\x0a\x0a00000nam", ""];
        assert!(lines.eq([leader].into_iter().chain(fields.map(str::to_owned))));
    }

    #[test]
    fn hand_edited_lines() {
        let mut remarks = Remarks::default();
        let text = b"00000nam a2200000   45\r\n(a remark)\r\n001 x\r\n245 10 $a A $b\r\njunk\r\n";
        let record = from_lines(text, 3, &mut remarks).expect("readable");
        let fields = [
            Field::control(b"001", "x"),
            Field::data(b"245", "10", [("a", "A"), ("b", "")]),
        ];
        assert_eq!(record.fields, fields);
        assert_eq!(
            remarks.notes,
            [
                "the leader has 22 octets instead of 24",
                "line 7 is not a field"
            ]
        );
        assert_eq!(
            from_lines(b"junk", 3, &mut remarks),
            Err(LineError { line: 3 })
        );
        let joined = b"00000nam a2200000   4500\n001 x00026nam a2200025   4500\x1E\x1D";
        let mut remarks = Remarks::default();
        from_lines(joined, 1, &mut remarks).expect("a field");
        assert_eq!(
            remarks.notes,
            ["line 2: a record in ISO 2709 ends within it"]
        );
        for (text, is_loss) in [
            (&b"001 x"[..], true),
            (b"00000nam a2200000   450\n001 x", true),
            (b"00000nam a2200000   4500\n001 x\njunk", true),
            (b"00000nam a2200000   4500\n(remark)\n\n001 x\n", false),
        ] {
            let mut remarks = Remarks::default();
            let record = from_lines(text, 1, &mut remarks).expect("a field");
            assert_eq!(record.fields, [Field::control(b"001", "x")]);
            assert_eq!(remarks.is_loss, is_loss, "{}", text.escape_ascii());
        }
    }
}
