//! Tests for records from rows: the places of columns, and tables that are written and read back.

use super::*;
use crate::mrk;
use crate::record::MarcRecord;
use crate::remarks::Remarks;
use crate::table::{Columns, RowOrigin, Table, TableForm};

fn headings(names: &[&str], map: &[(&str, &str)]) -> Result<Headings, HeadingError> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let map: Vec<(String, String)> = map
        .iter()
        .map(|(column, place)| ((*column).to_owned(), (*place).to_owned()))
        .collect();
    Headings::read(&names, &map)
}

fn record(headings: &Headings, cells: &[&str]) -> (Option<MarcRecord>, Remarks) {
    let cells: Vec<Vec<u8>> = cells.iter().map(|cell| cell.as_bytes().to_vec()).collect();
    let mut remarks = Remarks::default();
    (headings.record(&cells, &mut remarks), remarks)
}

fn check(columns: &[(&str, &str)], expected: &[&str]) {
    let (names, cells): (Vec<&str>, Vec<&str>) = columns.iter().copied().unzip();
    let headings = headings(&names, &[]).unwrap_or_else(|error| panic!("{names:?}: {error}"));
    let (record, remarks) = record(&headings, &cells);
    assert_eq!(remarks, Remarks::default(), "{columns:?}");
    let written = mrk::to_mrk(&record.expect("a record"));
    let lines: Vec<&str> = written
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines, expected, "{columns:?}");
}

#[test]
fn r_f15_columns_go_to_fields() {
    check(
        &[
            ("245$a", "Emma /"),
            ("245 $c", "Jane Austen"),
            ("100$a", "Austen, Jane"),
            ("001", " b1 "),
        ],
        &[
            "=001  b1",
            "=100  1\\$aAusten, Jane",
            "=245  10$aEmma /$cJane Austen",
        ],
    );
    check(
        &[
            ("Title", "Emma : a novel | in three volumes"),
            ("AUTHOR", "Austen, Jane, 1775-1817 | Ghostwriter"),
            ("year", "1815"),
            ("publisher", "Murray | Other"),
            ("place", "London"),
            ("ISBN", "0141439587 | 9780141439587"),
            ("subject", "War -- Fiction | Love--Fiction."),
            ("language", "eng"),
            ("call_number", "PR 4034 | PR 1"),
            ("location", "Main | -"),
            ("oclc", "12345"),
            ("issn", "=\"0378-5955\""),
            ("type", "Novels | Sound"),
            ("series", "Penguin classics"),
            ("url", "https://example.org/"),
        ],
        &[
            "=008  ||||||s1815\\\\\\\\||||||||||||||||||||eng||",
            "=020  \\\\$a0141439587",
            "=020  \\\\$a9780141439587",
            "=022  \\\\$a0378-5955",
            "=035  \\\\$a(OCoLC)12345",
            "=100  1\\$aAusten, Jane,$d1775-1817",
            "=245  10$aEmma :$ba novel | in three volumes",
            "=264  \\1$aLondon$bMurray$c1815",
            "=264  \\1$bOther",
            "=490  0\\$aPenguin classics",
            "=650  \\4$aWar$xFiction",
            "=650  \\4$aLove$xFiction.",
            "=655  \\4$aNovels",
            "=700  0\\$aGhostwriter",
            "=852  \\\\$bMain$hPR 4034",
            "=852  \\\\$hPR 1",
            "=856  40$uhttps://example.org/",
        ],
    );
    // A repeated heading begins a new field.
    check(
        &[("650$a", "A | B"), ("650$x", "x"), ("650$a", "C")],
        &["=650  \\4$aA$xx", "=650  \\4$aB", "=650  \\4$aC"],
    );
    check(
        &[
            ("008/35-37", "fre"),
            ("007/00", "c | h"),
            ("007/01", "r"),
            ("LDR/06", "j"),
        ],
        &[
            "=007  cr",
            "=007  h",
            &format!("=008  {}fre||", "|".repeat(35)),
        ],
    );
    check(
        &[
            ("008", "971201s1813    enk           000 1 eng"),
            ("year", "1999"),
            ("language", "English | fra"),
        ],
        &[
            "=008  971201s1813\\\\\\\\enk\\\\\\\\\\\\\\\\\\\\\\000\\1\\eng\\\\",
            "=041  0\\$aeng$afre",
            "=264  \\1$c1999",
        ],
    );
    check(
        &[
            ("200$a", "Emma"),
            ("700$a", "Austen"),
            ("700$b", "Jane"),
            ("010a", "2070360024"),
        ],
        &[
            "=010  \\\\$a2070360024",
            "=200  1\\$aEmma",
            "=700  \\0$aAusten$bJane",
        ],
    );
}

#[test]
fn r_f15_headings_that_cannot_be_used_are_named() {
    for (names, words) in [
        (
            &["title", "Regal", "DOI"][..],
            "no place in a record for the columns \"Regal\", \"DOI\"",
        ),
        (
            &["title", "title"],
            "columns 1 and 2 both go to title, which a record has once",
        ),
        (
            &["001", "a", "001"],
            "no place in a record for the column \"a\"",
        ),
        (&["001", "title", "001"], "columns 1 and 3 both go to 001"),
        (&["source", "due", ""], "no column goes to a record"),
        (&[], "no column goes to a record"),
        (&["001$a"], "no place"),
        (&["245/00"], "no place"),
        (&["008/9998-9999"], "no place"),
    ] {
        let error = headings(names, &[]).expect_err("refused").to_string();
        assert!(error.contains(words), "{names:?}: {error}");
    }
    let found = headings(&["title", "245ab", "source", "available", "isbn"], &[]).expect("usable");
    assert_eq!(found.left_out(), ["title", "source", "available"]);
    let map = [("regal", "852$c"), ("2", ""), ("Autor", "author")];
    let found = headings(&["Regal", "x", "Autor"], &map).expect("usable");
    let (record, _) = record(&found, &["R 7", "x", "Austen, Jane"]);
    let written = mrk::to_mrk(&record.expect("a record"));
    assert!(
        written.contains("=100  1\\$aAusten, Jane\n=852  \\\\$cR 7\n"),
        "{written}"
    );
    for (map, words) in [
        (("nosuch", "title"), "there is no column \"nosuch\""),
        (("4", "title"), "there is no column \"4\""),
        (("x", "Regal"), "\"Regal\" is not a place in a record"),
    ] {
        let error = headings(&["Regal", "x", "Autor"], &[map]).expect_err("refused");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn r_f15_rows_of_any_kind_are_read() {
    let names = headings(&["001", "title", ""], &[]).expect("usable");
    for (cells, has_record, note) in [
        (&["1", "a"][..], true, ""),
        (&["1"], true, ""),
        (&["", " ", ""], false, ""),
        (&[], false, ""),
        (&["1", "a", "x"], true, "a cell without a heading"),
        (
            &["1", "a", "", "y", "", "z"],
            true,
            "cells without a heading: 2",
        ),
        (&["1", "a\u{1f}by"], true, "separators of ISO 2709"),
        (&["1", "a\r\nb"], true, ""),
    ] {
        let (record, remarks) = record(&names, cells);
        assert_eq!(record.is_some(), has_record, "{cells:?}");
        assert_eq!(remarks.is_loss, !note.is_empty(), "{cells:?}");
        assert!(
            remarks.notes.concat().contains(note),
            "{cells:?}: {remarks:?}"
        );
    }
    let leader = headings(&["LDR", "001"], &[]).expect("usable");
    let (_, remarks) = record(&leader, &["00000nam", "1"]);
    assert!(remarks.is_loss, "{remarks:?}");
    let coded = headings(&["008/35-37"], &[]).expect("usable");
    assert!(record(&coded, &["english"]).1.is_loss);
    // Octets that are not UTF-8 reach the record, whose character set is decided later.
    let mut remarks = Remarks::default();
    let cells = [b"1".to_vec(), b"caf\xE9 : b".to_vec()];
    let read = names.record(&cells, &mut remarks).expect("a record");
    assert_eq!(read.fields[1].subfield("a"), Some(&b"caf\xE9 :"[..]));
    let own = headings(&["title", "author"], &[])
        .expect("usable")
        .with_separator(";");
    let (read, _) = record(&own, &["a; b", "A;B ; C"]);
    assert_eq!(read.expect("a record").fields.len(), 4);
}

const BOOKS: &str = include_str!("../../../../../server/src/memory/demo/books.mrk");

/// Writes the records as a table, reads it, and writes the records that were read.
fn twice(columns: &str, form: TableForm) -> (String, String) {
    let columns: Columns = columns.parse().expect("columns");
    let table = Table::new(form, &columns);
    let names: Vec<String> = columns.to_string().split(',').map(str::to_owned).collect();
    let headings = Headings::read(&names, &[]).expect("our own headings");
    let headings = headings.of_spreadsheet(form == TableForm::Spreadsheet);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for record in mrk::parse_all(BOOKS).expect("records") {
        let begin = first.len();
        table.write(&record, RowOrigin::default(), &[], &mut first);
        let row = String::from_utf8(first.split_off(begin)).expect("UTF-8");
        let read = headings.record(&cells(&row), &mut Remarks::default());
        table.write(
            &read.unwrap_or_default(),
            RowOrigin::default(),
            &[],
            &mut second,
        );
        first.extend(row.bytes());
    }
    let text = |octets: Vec<u8>| String::from_utf8(octets).expect("UTF-8");
    (text(first), text(second))
}

/// Splits a row of comma-separated values into its cells.
fn cells(row: &str) -> Vec<Vec<u8>> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let parts: Vec<&str> = row.trim_end_matches("\r\n").split('"').collect();
    for (index, part) in parts.iter().enumerate() {
        if !is_quoted && part.is_empty() && index > 0 && index + 1 < parts.len() {
            cells.last_mut().expect("one").push('"');
        } else if is_quoted {
            cells.last_mut().expect("one").push_str(part);
        } else {
            let mut parts = part.split(',');
            cells
                .last_mut()
                .expect("one")
                .push_str(parts.next().unwrap_or_default());
            cells.extend(parts.map(str::to_owned));
        }
        is_quoted = !is_quoted;
    }
    cells.into_iter().map(String::into_bytes).collect()
}

#[test]
fn r_f15_written_tables_are_read_back() {
    for columns in [
        "001,title,author,year,publisher,isbn,issn",
        "001,title,author,contributor,year,publisher,subject,description,type,format,language,relation,coverage,rights,isbn,issn,lccn,oclc",
        "LDR,001,005,008,100a,100d,245ab,245c,260b,650a,856u",
        "001,245,LDR/06,008/35-37,008/07-10",
    ] {
        for form in [TableForm::Csv, TableForm::Spreadsheet] {
            let (first, second) = twice(columns, form);
            for (one, other) in first.lines().zip(second.lines()) {
                assert_eq!(one, other, "{columns}");
            }
            assert_eq!(first.lines().count(), second.lines().count());
        }
    }
}
