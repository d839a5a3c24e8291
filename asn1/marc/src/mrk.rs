//! MARCMaker text (`mrk`), the form in which people edit MARC: `=245 10$aEmma /$cJane Austen.`, with a blank line after
//! each record. All MARCMaker mnemonics are read, but only `{dollar}`, `{bsol}`, `{lcub}`, `{rcub}` and `{esc}` are
//! written. The extension `{xNN}` represents an octet that text cannot hold.

mod mnemonics;

use std::fmt::{self, Write};

use self::mnemonics::{Blanks, OCTETS, read};
use super::record::{Field, Leader, MarcRecord, SUBFIELD_DELIMITER, Tag};
use super::remarks::Remarks;
use super::text::{SEPARATORS, without_separators};

/// The reason why a line of MARCMaker text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
#[non_exhaustive]
pub struct MrkError {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// A description of the fault.
    pub reason: String,
}

/// Parses all records in text whose line ends are LF or CRLF.
///
/// Blank lines end a record; before a record, lines that begin with `#` are comments. A backslash represents a space
/// in the leader, in control fields and in indicators. A mnemonic such as `{eacute}` becomes a character in UTF-8; a
/// mnemonic such as `{acute}` becomes a mark on the following character. Braces that do not enclose a mnemonic are
/// kept. The lengths in the leader are kept; [`super::iso2709::encode`] recomputes them.
///
/// # Errors
/// [`MrkError`] for the first line that cannot be read.
pub fn parse_all(text: &str) -> Result<Vec<MarcRecord>, MrkError> {
    let mut records = Vec::new();
    let mut open: Option<MarcRecord> = None;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        let at = |reason| MrkError {
            line: index + 1,
            reason,
        };
        if line.trim().is_empty() {
            records.extend(open.take());
            continue;
        }
        if open.is_none() && line.starts_with('#') {
            continue;
        }
        match (read_line(line).map_err(at)?, &mut open) {
            (Line::Field(field), Some(record)) => record.fields.push(field),
            (Line::Field(_), None) => return Err(at("a record begins with =LDR".to_owned())),
            (Line::Leader(octets), None) => {
                let wrong = |octets: Vec<u8>| at(leader_length(octets.len()));
                open = Some(MarcRecord {
                    leader: Leader(octets.try_into().map_err(wrong)?),
                    fields: Vec::new(),
                });
            }
            (Line::Leader(_), Some(_)) => return Err(at(SECOND_LEADER.to_owned())),
        }
    }
    records.extend(open);
    Ok(records)
}

/// Parses one record like [`parse_all`], but skips lines that cannot be parsed, each with a remark. A leader that is not 24 octets long is
/// padded with blanks or truncated, and U+FFFD replaces ISO 2709 separators in text. All of these are losses, and so is a missing leader.
/// The first line of the text has the number `first_line`.
///
/// # Errors
/// [`MrkError`] for the first line, if none of the lines can be parsed.
pub fn parse_lenient(
    text: &str,
    first_line: usize,
    remarks: &mut Remarks,
) -> Result<MarcRecord, MrkError> {
    let mut leader = None;
    let mut fields = Vec::new();
    let mut first_fault = None;
    for (index, line) in text.lines().enumerate() {
        remarks.terminators(line.as_bytes(), first_line + index);
        let replaced = replace_separators(line);
        if replaced.is_some() && !line.contains('\u{1D}') {
            remarks.loss(|| format!("line {}: {SEPARATORS}", first_line + index));
        }
        let line = replaced.as_deref().unwrap_or(line);
        let reason = match read_line(line) {
            Ok(Line::Field(field)) => {
                fields.push(field);
                continue;
            }
            Ok(Line::Leader(octets)) if leader.is_none() => {
                leader = Some(Leader::padded(&octets));
                if octets.len() == Leader::LENGTH {
                    continue;
                }
                leader_length(octets.len())
            }
            Ok(Line::Leader(_)) => SECOND_LEADER.to_owned(),
            Err(_) if line.trim().is_empty() => continue,
            Err(reason) => reason,
        };
        let line = first_line + index;
        let fault = MrkError { line, reason };
        remarks.loss(|| fault.to_string());
        first_fault.get_or_insert(fault);
    }
    match (leader, first_fault) {
        (None, Some(fault)) if fields.is_empty() => Err(fault),
        (leader, _) => {
            if leader.is_none() {
                remarks.loss(|| "no leader; a default one is used".to_owned());
            }
            Ok(MarcRecord {
                leader: leader.unwrap_or_default(),
                fields,
            })
        }
    }
}

/// Returns a line in which the ISO 2709 separators, written literally or as mnemonics, are replaced; `None` if it has
/// no separators.
fn replace_separators(line: &str) -> Option<String> {
    const MNEMONICS: [&str; 3] = ["{x1D}", "{x1E}", "{x1F}"];
    let plain = without_separators(line, REPLACEMENT);
    let text = plain.as_deref().unwrap_or(line);
    if !text.contains("{x1") {
        return plain;
    }
    let replaced = MNEMONICS
        .into_iter()
        .fold(text.to_owned(), |text, mnemonic| {
            text.replace(mnemonic, REPLACEMENT)
        });
    Some(replaced).filter(|replaced| replaced != line)
}

const REPLACEMENT: &str = "\u{FFFD}";

/// Returns whether a line can only be the first of a record.
pub(super) fn begins_record(line: &[u8]) -> bool {
    line.starts_with(b"=LDR ") || line.starts_with(b"=000 ")
}

/// Returns the offset of the leader of another record on the same line, if there is one.
pub(super) fn joined_record(line: &[u8]) -> Option<usize> {
    const MARK: &[u8] = b"=LDR  ";
    let line = line.trim_ascii_end();
    let place = line.len().checked_sub(MARK.len() + Leader::LENGTH)?;
    let leader: Vec<u8> = line
        .get(place..)?
        .strip_prefix(MARK)?
        .iter()
        .map(|octet| if *octet == b'\\' { b' ' } else { *octet })
        .collect();
    (place > 0 && Leader::padded(&leader).is_plausible()).then_some(place)
}

/// Returns the tag of the field on a line.
pub(super) fn tag(line: &[u8]) -> Option<Tag> {
    let (tag, rest) = line.strip_prefix(b"=")?.split_first_chunk()?;
    rest.starts_with(b"  ").then_some(Tag(*tag))
}

/// Writes one record: a line for each field, without a blank line at the end. [`parse_all`] reads exactly the same
/// record from this text.
pub fn to_mrk(record: &MarcRecord) -> String {
    let mut text = String::from("=LDR  ");
    put_head(&mut text, &record.leader.0);
    text.push('\n');
    for field in &record.fields {
        text.push('=');
        put_tag(&mut text, field.tag);
        text.push_str("  ");
        let mut parts = field.body.split(|octet| *octet == SUBFIELD_DELIMITER);
        put_head(&mut text, parts.next().unwrap_or_default());
        for part in parts {
            text.push('$');
            put(&mut text, part);
        }
        text.push('\n');
    }
    text
}

impl fmt::Display for MarcRecord {
    /// Writes the record as [`to_mrk`] does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_mrk(self))
    }
}

/// Writes records with a blank line between them.
pub fn to_mrk_all<'a>(records: impl IntoIterator<Item = &'a MarcRecord>) -> String {
    let texts: Vec<_> = records.into_iter().map(to_mrk).collect();
    texts.join("\n")
}

/// A line of MARCMaker text.
enum Line {
    Leader(Vec<u8>),
    Field(Field),
}

const SECOND_LEADER: &str = "a second =LDR in one record";

fn leader_length(octets: usize) -> String {
    format!("the leader has {octets} octets instead of 24")
}

fn read_line(line: &str) -> Result<Line, String> {
    let (name, tag, content) = tag_and_content(line)?;
    if names_leader(name) {
        return Ok(Line::Leader(octets(content, Blanks::Backslash)));
    }
    let mut parts = content.split('$');
    let mut body = octets(parts.next().unwrap_or_default(), Blanks::Backslash);
    for part in parts {
        body.push(SUBFIELD_DELIMITER);
        read(part, Blanks::AsTheyAre, &mut body);
    }
    Ok(Line::Field(Field::control(tag, body)))
}

/// Splits `=TAG  content` into the tag as written, the parsed tag and the content. One space after the tag is enough,
/// or none at the end of the line.
fn tag_and_content(line: &str) -> Result<(&str, Tag, &str), String> {
    let line = line.strip_prefix('=').ok_or("a field begins with =")?;
    let (name, content) = line.split_once(' ').unwrap_or((line, ""));
    // Without this check, part of a tag with the wrong length would become data.
    let wrong = |_| format!("{name} is not a tag of three characters followed by two blanks");
    let tag: [u8; 3] = octets(name, Blanks::Backslash).try_into().map_err(wrong)?;
    let content = content.strip_prefix(' ').unwrap_or(content);
    Ok((name, Tag(tag), content))
}

/// Returns whether the tag is that of the leader: MARCMaker writes `LDR`, and older programs write `000`.
fn names_leader(tag: &str) -> bool {
    matches!(tag, "LDR" | "000")
}

/// Replaces the mnemonics in text and returns its octets.
fn octets(text: &str, blanks: Blanks) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len());
    read(text, blanks, &mut octets);
    octets
}

/// Writes a tag. Spaces are replaced, and a tag that readers would take for the tag of the leader is changed.
fn put_tag(text: &mut String, tag: Tag) {
    let mut written = String::new();
    put_head(&mut written, &tag.0);
    if names_leader(&written) {
        for octet in tag.0 {
            put_octet(text, octet);
        }
    } else {
        text.push_str(&written);
    }
}

/// Writes the part of a field before its first delimiter, with spaces as backslashes.
fn put_head(text: &mut String, octets: &[u8]) {
    let mut first = true;
    for part in octets.split(|octet| *octet == b' ') {
        if !first {
            text.push('\\');
        }
        first = false;
        put(text, part);
    }
}

/// Writes octets as text with mnemonics.
fn put(text: &mut String, octets: &[u8]) {
    for chunk in octets.utf8_chunks() {
        for character in chunk.valid().chars() {
            let ascii = u8::try_from(character).ok().filter(u8::is_ascii);
            let named = OCTETS.iter().find(|(_, octet)| Some(*octet) == ascii);
            match (named, ascii) {
                (Some((name, _)), _) => {
                    text.push('{');
                    text.push_str(name);
                    text.push('}');
                }
                (None, Some(octet)) if octet.is_ascii_control() => put_octet(text, octet),
                _ => text.push(character),
            }
        }
        for octet in chunk.invalid() {
            put_octet(text, *octet);
        }
    }
}

fn put_octet(text: &mut String, octet: u8) {
    // Writing to a String cannot fail.
    let _ = write!(text, "{{x{octet:02X}}}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEADER: &str = "=LDR  00000nam\\a2200000\\\\\\4500\n";

    fn check(field: Field, line: &str) {
        let text = format!("{LEADER}{line}\n");
        let record = MarcRecord {
            leader: Leader::default(),
            fields: vec![field],
        };
        assert_eq!(to_mrk(&record), text);
        assert_eq!(parse_all(&text), Ok(vec![record]), "{line}");
    }

    #[test]
    fn fields_and_their_lines() {
        check(Field::control(b"001", "pg1342"), "=001  pg1342");
        check(Field::control(b"008", "a  b\\"), "=008  a\\\\b{bsol}");
        check(
            Field::data(b"245", "10", [("a", "Emma /"), ("c", "Austen.")]),
            "=245  10$aEmma /$cAusten.",
        );
        check(
            Field::data(b"650", " 0", [("a", "Война"), ("", ""), ("x", "")]),
            "=650  \\0$aВойна$$x",
        );
        check(
            Field::data(b"500", "  ", [("a", "US$ {5} C:\\\u{1B}")]),
            "=500  \\\\$aUS{dollar} {lcub}5{rcub} C:{bsol}{esc}",
        );
        check(
            Field::data(b"500", "", [(&b"\xFF"[..], &b"\xE9\r\n\x7F"[..])]),
            "=500  ${xFF}{xE9}{x0D}{x0A}{x7F}",
        );
        check(
            Field::control(b"500", "10no delimiter"),
            "=500  10no\\delimiter",
        );
        check(Field::control(b"   ", ""), "=\\\\\\  ");
        check(Field::control(b"LDR", "x"), "={x4C}{x44}{x52}  x");
        check(Field::control(b"000", "x"), "={x30}{x30}{x30}  x");
    }

    #[test]
    fn a_record_is_displayed_as_its_text() {
        let record = MarcRecord {
            fields: vec![Field::data(b"245", "10", [("a", "US$ Emma")])],
            ..MarcRecord::default()
        };
        assert_eq!(record.to_string(), to_mrk(&record));
        assert!(
            record
                .to_string()
                .ends_with("\n=245  10$aUS{dollar} Emma\n")
        );
    }

    #[test]
    fn text_as_people_write_it() {
        let text = "\u{FEFF}# The demo catalogue\r\n\r\n# first\r\n=LDR 00000nam a2200000   4500\r\n\
                    =001  a\r\n=245  14$aThe {unknown} { $c{dollar}x}\r\n \r\n\r\n=000  00000nam a2200000   4500\n=001 b\n=245";
        let records = parse_all(text).expect("readable");
        let fields: Vec<_> = records.iter().map(|record| record.fields.clone()).collect();
        let first = vec![
            Field::control(b"001", "a"),
            Field::data(b"245", "14", [("a", "The {unknown} { "), ("c", "$x}")]),
        ];
        let second = vec![Field::control(b"001", "b"), Field::control(b"245", "")];
        assert_eq!(fields, [first, second]);
        assert_eq!(parse_all(""), Ok(vec![]));
        assert_eq!(parse_all("# only a comment"), Ok(vec![]));
        assert_eq!(parse_all(&to_mrk_all(&records)), Ok(records));
    }

    #[test]
    fn lenient_reading_keeps_readable_data() {
        let field = Field::control(b"001", "a");
        for (text, fields, notes) in [
            (
                format!("{LEADER}=001  a\njunk\n"),
                Ok(vec![field.clone()]),
                "line 9: a field begins with =",
            ),
            (
                "=LDR  0\n".to_owned(),
                Ok(vec![]),
                "line 7: the leader has 1 octets instead of 24",
            ),
            (
                "=001  a\n".to_owned(),
                Ok(vec![field]),
                "no leader; a default one is used",
            ),
            (
                "junk\n".to_owned(),
                Err("line 7: a field begins with ="),
                "line 7: a field begins with =",
            ),
        ] {
            let mut found = Remarks::default();
            let read = parse_lenient(&text, 7, &mut found)
                .map(|record| record.fields)
                .map_err(|error| error.to_string());
            assert_eq!(read, fields.map_err(str::to_owned), "{text}");
            assert_eq!(found.notes, [notes], "{text}");
            assert!(found.is_loss, "{text}");
        }
    }

    #[test]
    fn a_record_terminator_in_a_line_is_a_loss() {
        let mut found = Remarks::default();
        let text = format!("{LEADER}=001  a\n=500  \\\\$ab00026nam a2200025   4500\x1E\x1D\n");
        let record = parse_lenient(&text, 7, &mut found).expect("readable");
        assert_eq!((record.fields.len(), found.is_loss), (2, true));
        let words = "line 9: a record in ISO 2709 ends within it";
        assert_eq!(found.notes, [words]);
    }

    #[test]
    fn lenient_reading_of_a_valid_record_has_no_remarks() {
        let mut found = Remarks::default();
        let text = format!("{LEADER}=001 a\n=245  10$a{{unknown}}\n \n");
        let record = parse_lenient(&text, 1, &mut found).expect("readable");
        assert_eq!((record.fields.len(), found), (2, Remarks::default()));
    }

    #[test]
    fn lines_that_cannot_be_read() {
        let refused = |text: &str| parse_all(text).unwrap_err().to_string();
        assert_eq!(refused("245"), "line 1: a field begins with =");
        assert_eq!(refused("\n=001  x"), "line 2: a record begins with =LDR");
        assert_eq!(
            refused("=LDR  00000nam"),
            "line 1: the leader has 8 octets instead of 24"
        );
        let after = |line: &str| refused(&format!("{LEADER}{line}"));
        assert_eq!(after("# late"), "line 2: a field begins with =");
        assert_eq!(after("=LDR  x"), "line 2: a second =LDR in one record");
        for (line, tag) in [
            ("=24  10", "24"),
            ("=2450  x", "2450"),
            ("=", ""),
            ("=245\t10", "245\t10"),
        ] {
            let message =
                format!("line 2: {tag} is not a tag of three characters followed by two blanks");
            assert_eq!(after(line), message);
        }
    }

    proptest! {
        #[test]
        fn every_record_comes_back(leader: [u8; 24], fields in proptest::collection::vec(
            (any::<[u8; 3]>(), proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(0x1F), Just(b' '), Just(b'{'), Just(b'}'), Just(b'$'), Just(b'x')], 0..40)),
            0..4)) {
            let fields = fields.into_iter().map(|(tag, body)| Field::control(&tag, body)).collect();
            let record = MarcRecord { leader: Leader(leader), fields };
            prop_assert_eq!(parse_all(&to_mrk(&record)), Ok(vec![record]));
        }

        #[test]
        fn no_text_panics(text in "(=LDR  |=[0-9]{3}|\\{|\\}|x[0-9A-F]|\\$|\\\\|é|\n|.){0,60}") {
            let _ = parse_all(&text);
        }
    }
}
