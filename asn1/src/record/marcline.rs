//! The line form of MARC: the leader, then a line for each field, as yaz-client and yaz-marcdump print it.
//! Octets go out as they are in the record; making them safe for a terminal is the reader's business.

use std::io::{self, Write};

use super::marc::{Field, MarcRecord};

/// The record as lines: the leader, then `TAG VALUE` for a control field and `TAG I1I2 $a DATA $b DATA` for a data field,
/// each with its newline. No blank line follows; who prints several records puts one between them.
pub fn to_lines(record: &MarcRecord) -> Vec<u8> {
    let mut lines = Vec::new();
    // A vector takes every octet: writing to it cannot fail.
    let _ = write_lines(record, &mut lines);
    lines
}

/// Writes what [`to_lines`] returns.
///
/// # Errors
/// Those of `out`.
pub fn write_lines(record: &MarcRecord, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&record.leader.0)?;
    out.write_all(b"\n")?;
    let code_length = record.leader.code_length();
    record
        .fields
        .iter()
        .try_for_each(|field| write_field(field, code_length, out))
}

fn write_field(field: &Field, code_length: usize, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&field.tag.0)?;
    out.write_all(b" ")?;
    out.write_all(field.value().unwrap_or(field.indicators()))?;
    for subfield in field.subfields_with(code_length) {
        // Text in front of the first delimiter has no code to print; an empty subfield is a lone delimiter.
        if !subfield.code.is_empty() || subfield.data.is_empty() {
            out.write_all(b" $")?;
            out.write_all(subfield.code)?;
        }
        out.write_all(b" ")?;
        out.write_all(subfield.data)?;
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::marc::Leader;

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
    }
}
