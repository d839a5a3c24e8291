//! Tests for rows and cells of tables, and for columns that do not exist.

use super::*;
use crate::record::{Field, Leader};

fn record() -> MarcRecord {
    MarcRecord {
        leader: Leader(*b"00000nam a2200000   4500"),
        fields: vec![
            Field::control(b"001", "id1"),
            Field::control(b"008", "971201s1813    enk           000 1 eng  "),
            Field::data(
                b"020",
                "  ",
                [("a", "0141439513 (pbk.) :"), ("c", "£5, \"net\"")],
            ),
            Field::data(b"020", "  ", [("a", "0306406152"), ("z", "x")]),
            Field::data(b"041", "0 ", [("a", "eng"), ("a", "fre")]),
            Field::data(
                b"245",
                "10",
                [
                    ("6", "880-01"),
                    ("a", "=War, "),
                    ("b", "peace /"),
                    ("c", "me"),
                ],
            ),
            Field::data(
                b"246",
                "  ",
                [("a", "Re\u{301}sume\u{301}"), ("A", "Other")],
            ),
            Field::data(b"500", "  ", [("a", "\u{98}The\u{9C} end\x01")]),
            Field::data(b"650", " 0", [("a", "War"), ("x", "Fiction")]),
            Field::data(b"650", " 0", [("a", "Peace")]),
        ],
    }
}

fn check(form: TableForm, columns: &str, expected: &str, notes: &[&str]) {
    let columns: Columns = columns.parse().expect(columns);
    let table = Table::new(form, &columns);
    let mut out = table.header().as_bytes().to_vec();
    let origin = RowOrigin {
        input: Some("isbn:1"),
        input_record: Some("old 1"),
        ..Some("loc").into()
    };
    let found = table.write(&record(), origin, &[], &mut out);
    assert_eq!(
        String::from_utf8(out).expect("UTF-8"),
        expected,
        "{columns}"
    );
    assert_eq!(found, notes, "{columns}");
}

#[test]
fn rows_of_a_record() {
    for (columns, expected) in [
        (
            "001,020a",
            "001,020a\r\nid1,0141439513 (pbk.) : | 0306406152\r\n",
        ),
        (
            "245ab, 245$c ,245",
            "245ab,245$c,245\r\n\"=War, peace /\",me,\"=War, peace / me\"\r\n",
        ),
        ("020c", "020c\r\n\"£5, \"\"net\"\"\"\r\n"),
        ("041a,041", "041a,041\r\neng | fre,eng fre\r\n"),
        (
            "650,650ax",
            "650,650ax\r\nWar Fiction | Peace,War Fiction | Peace\r\n",
        ),
        (
            "008/35-37,LDR/06,LDR/5-7",
            "008/35-37,LDR/06,LDR/5-7\r\neng,a,nam\r\n",
        ),
        ("LDR,008/90", "LDR,008/90\r\n00000nam a2200000   4500,\r\n"),
        ("856u", "856u\r\n\"\"\r\n"),
        ("language", "language\r\neng | fre | eng\r\n"),
        (
            "Source,input,INPUT_RECORD",
            "Source,input,INPUT_RECORD\r\nloc,isbn:1,old 1\r\n",
        ),
        ("246a,246$A", "246a,246$A\r\nRésumé,Other\r\n"),
        (
            "source,year,isbn,type",
            "source,year,isbn,type\r\nloc,1813,9780141439518 | 9780306406157,Text\r\n",
        ),
        (
            "subject,lccn",
            "subject,lccn\r\nWar -- Fiction | Peace,\r\n",
        ),
    ] {
        check(TableForm::Csv, columns, expected, &[]);
    }
    let lost = ["control characters in 500 replaced by blanks"];
    check(TableForm::Csv, "500", "500\r\nThe end\r\n", &lost);
}

#[test]
fn forms_of_a_table() {
    for (form, expected) in [
        (TableForm::Csv, "001,245ab\r\nid1,\"=War, peace /\"\r\n"),
        (TableForm::Tsv, "001\t245ab\nid1\t=War, peace /\n"),
        (
            TableForm::Spreadsheet,
            "\u{FEFF}001,245ab\r\nid1,\"'=War, peace /\"\r\n",
        ),
    ] {
        check(form, "001,245ab", expected, &[]);
    }
}

#[test]
fn formulas_begin_with_an_apostrophe() {
    for sign in FORMULA {
        let mut line = String::new();
        TableForm::Spreadsheet.put_row([format!("{sign}1")].into_iter(), &mut line);
        assert!(line.starts_with(&format!("'{sign}1")), "{line}");
    }
}

#[test]
fn numbers_stay_unchanged_in_a_spreadsheet() {
    for (cell, is_it) in [
        ("00000002", true),
        ("9780821916216", true),
        ("123456789012", true),
        ("12345678901", false),
        ("1813", false),
        ("0", false),
        ("05", true),
        ("0141439513", true),
        ("12-05", true),
        ("3/4", true),
        ("1E5", true),
        ("2026-12-01", true),
        ("014143951X", false),
        ("0141439513 | 0306406152", false),
        ("1984 and after", false),
        ("", false),
        ("-", false),
    ] {
        assert_eq!(is_changed(cell), is_it, "{cell}");
    }
    let expected =
        "\u{FEFF}isbn,020c,year\r\n9780141439518 | 9780306406157,\"£5, \"\"net\"\"\",1813\r\n";
    check(TableForm::Spreadsheet, "isbn,020c,year", expected, &[]);
    let mut line = String::new();
    TableForm::Spreadsheet.put_row(["0141439513".to_owned()].into_iter(), &mut line);
    assert_eq!(line, "\"=\"\"0141439513\"\"\"\r\n");
}

#[test]
fn copies_are_in_a_cell_or_in_rows() {
    let copies = [
        vec![
            ("call_number", "PR4034".to_owned()),
            ("available", "yes".to_owned()),
        ],
        vec![
            ("call_number", "PR4034 x".to_owned()),
            ("available", "no".to_owned()),
            ("due", "2026-12-01".to_owned()),
        ],
    ];
    let columns: Columns = "001,call_number,available,due,status"
        .parse()
        .expect("columns");
    for (is_per_copy, copies, expected) in [
        (
            false,
            &copies[..],
            "id1\tPR4034 | PR4034 x\tyes | no\t- | 2026-12-01\t\n",
        ),
        (
            true,
            &copies,
            "id1\tPR4034\tyes\t\t\nid1\tPR4034 x\tno\t2026-12-01\t\n",
        ),
        (false, &[], "id1\t\t\t\t\n"),
        (true, &[], "id1\t\t\t\t\n"),
    ] {
        let table = Table::new(TableForm::Tsv, &columns).with_row_per_copy(is_per_copy);
        assert!(table.has_copies());
        let mut out = Vec::new();
        table.write(&record(), RowOrigin::default(), copies, &mut out);
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
    }
    let table = Table::new(TableForm::Tsv, &Columns::default());
    assert!(!table.has_copies() && table.with_row_per_copy(true).has_copies());
}

#[test]
fn columns_that_do_not_exist() {
    let long = vec!["001"; MAX_COLUMNS + 1].join(",");
    for (columns, column) in [
        ("", Some("")),
        ("001,", Some("")),
        ("24", Some("24")),
        ("titel", Some("titel")),
        ("001,008/9-8", Some("008/9-8")),
        ("008/x", Some("008/x")),
        ("LDRa", Some("LDRa")),
        ("245é", Some("245é")),
        ("020_a", Some("020_a")),
        ("TITEL", Some("TITEL")),
        ("245A", Some("245A")),
        ("24é", Some("24é")),
        (&long, None),
    ] {
        let expected = match column {
            Some(column) => ColumnsError::Unknown {
                column: column.to_owned(),
            },
            None => ColumnsError::TooMany,
        };
        assert_eq!(columns.parse::<Columns>(), Err(expected), "{columns}");
    }
    assert!(long[4..].parse::<Columns>().is_ok());
    assert_eq!(Columns::default().to_string(), DEFAULT_COLUMNS);
    for name in NAMES.into_iter().chain(COPY_COLUMNS) {
        for name in [name.to_owned(), name.to_uppercase()] {
            assert!(name.parse::<Columns>().is_ok(), "{name}");
        }
    }
}
