//! Tests of tables: the columns of tables in which records are written, and inputs that are read from the columns of tables.

use std::fs;
use std::path::Path;

use z3950_server::testing::TestServer;
use z3950_tests::program::{Ran, z3950, z3950_fed};

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Searches the built-in catalogue.
fn search(arguments: &[&str]) -> Ran {
    let begin = ["--demo", "search", "localhost/books"];
    z3950(begin.iter().chain(arguments))
}

const PRIDE: &str = "pg1342,\"Austen, Jane, 1775-1817.\",Pride and prejudice : a novel : in three volumes /,1813\r\n";

#[test]
fn a_row_for_each_record_and_a_header() {
    let columns = "001,100,245ab,year";
    let header = format!("{columns}\r\n");
    let fields = ["--fields", columns];
    let query = "ti:pride au:austen";
    for (format, expected) in [
        ("csv", format!("{header}{PRIDE}")),
        ("spreadsheet", format!("\u{FEFF}{header}{PRIDE}")),
        (
            "tsv",
            "001\t100\t245ab\tyear\npg1342\tAusten, Jane, 1775-1817.\tPride and prejudice : a novel : in three volumes /\t1813\n"
                .to_owned(),
        ),
    ] {
        let ran = search(&[&["--format", format, query], &fields[..]].concat());
        assert_eq!((ran.code, &*ran.stdout), (Some(0), &*expected), "{ran:?}");
        // If there are no records, the table consists of its header only.
        let ran = search(&[&["--format", format, "nothingatall"], &fields[..]].concat());
        let (header, _) = expected.split_once('\n').expect("lines");
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert_eq!(ran.stdout, format!("{header}\n"), "{ran:?}");
    }
    // In every syntax that contains MARC, a record becomes a table row that includes the name of its source.
    for syntax in ["marc", "xml", "opac"] {
        let url = format!("z39.50r://localhost/books?pg1342;rs={syntax}");
        let ran = z3950([
            "--demo",
            "get",
            "--format",
            "csv",
            "--fields",
            "source,title",
            &url,
        ]);
        let expected =
            format!("source,title\r\n{url},Pride and prejudice : a novel : in three volumes\r\n");
        assert_eq!((ran.code, &*ran.stdout), (Some(0), &*expected), "{ran:?}");
    }
    let url = "z39.50r://localhost/books?pg1342;rs=sutrs";
    let ran = z3950(["--demo", "get", "--format", "csv", url]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
    assert!(
        ran.stderr.contains("is not MARC, as --format csv requires"),
        "{ran:?}"
    );
}

#[test]
fn a_file_is_a_table_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let usual = "001,title,author,year,publisher,isbn,issn";
    for (name, separator, end) in [("a.csv", ",", "\r\n"), ("a.TSV", "\t", "\n")] {
        let path = folder.path().join(name);
        let ran = search(&["ti:pride", "--output", text(&path)]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let written = fs::read_to_string(&path).expect("written");
        let header = format!("{}{end}", usual.replace(',', separator));
        assert!(written.starts_with(&header), "{written}");
        assert!(written.ends_with(end), "{written}");
        assert!(written.contains("pg1342"), "{written}");
    }
    // The records from several targets are written into one table.
    let path = folder.path().join("all.csv");
    let ran = z3950([
        "--demo",
        "search",
        "localhost/books",
        "localhost/serials",
        "ti:american",
        "--output",
        text(&path),
        "--fields",
        "source,001",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written = fs::read_to_string(&path).expect("written");
    assert_eq!(written.matches("source,001").count(), 1, "{written}");
    for target in ["localhost/books,", "localhost/serials,"] {
        assert!(written.contains(target), "{written}");
    }
}

#[test]
fn wrong_columns_are_refused() {
    for (arguments, words) in [
        (
            &["--fields", "001", "ti:pride"][..],
            "--fields 001 is for tables: add --format csv, tsv or spreadsheet",
        ),
        (
            &["--fields", "001", "--format", "json", "ti:pride"],
            "--fields 001 is for tables",
        ),
        (
            &["--fields", "001,titel", "--format", "csv", "ti:pride"],
            "\"titel\" is not a column: use fields such as 001, 020a",
        ),
        (
            &["--fields", "001", "--json", "ti:pride"],
            "cannot be used with",
        ),
    ] {
        let ran = search(arguments);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn a_resumed_table_keeps_its_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (inputs, output, report) = (path("in.txt"), path("out.csv"), path("report.tsv"));
    let run = |fields: &str| {
        z3950([
            "--demo",
            "lookup",
            "localhost/books",
            "--input",
            &inputs,
            "--output",
            &output,
            "--report",
            &report,
            "--resume",
            "--fields",
            fields,
        ])
    };
    fs::write(&inputs, "docid:pg1342\n").expect("written");
    assert_eq!(run("001,year").code, Some(0));
    fs::write(&inputs, "docid:pg1342\ndocid:pg2600\n").expect("written");
    let ran = run("001");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr
            .contains("out.csv has other columns; give the same --format and --fields"),
        "{ran:?}"
    );
    assert_eq!(run("001,year").code, Some(0));
    let written = fs::read_to_string(&output).expect("written");
    assert_eq!(written, "001,year\r\npg1342,1813\r\npg2600,1922\r\n");
}

#[test]
fn tables_at_the_prompt() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("saved.csv");
    let prompt = |arguments: &[&str], commands: &str| {
        let begin = ["--demo", "open", "localhost/books"];
        let ran = z3950_fed(begin.iter().chain(arguments), commands);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    };
    // All commands write to one table.
    let ran = prompt(
        &["--format", "csv", "--fields", "001,source"],
        "find @attr 1=1032 pg1342\nshow 1\nsearch @attr 1=1032 pg2600\nlookup docid:pg84\n",
    );
    let rows =
        ["pg1342", "pg2600", "pg84"].map(|number| format!("{number},localhost:210/books\r\n"));
    assert_eq!(
        ran.stdout,
        format!("001,source\r\n{}", rows.concat()),
        "{ran:?}"
    );
    let commands = format!(
        "fields\nfields 001,year\nfields\nfind @attr 1=1032 pg1342\nsave {}\nsearch --format tsv @attr 1=1032 pg84\n",
        text(&path)
    );
    let ran = prompt(&[], &commands);
    assert!(
        ran.stdout
            .contains("001,title,author,year,publisher,isbn,issn\n001,year\n"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("001\tyear\npg84\t1818\n"), "{ran:?}");
    let saved = fs::read_to_string(&path).expect("written");
    assert_eq!(saved, "001,year\r\npg1342,1813\r\n");
}

#[test]
fn inputs_are_taken_from_a_column() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books.csv");
    let lookup = |table: &str, column: &str| {
        fs::write(&path, table).expect("written");
        z3950([
            "--demo",
            "lookup",
            "localhost/books",
            "--input",
            text(&path),
            "--column",
            column,
            "--format",
            "csv",
            "--fields",
            "001",
        ])
    };
    let found = "001\r\npg1342\r\npg2600\r\n";
    for (table, column) in [
        (
            "\u{FEFF}Title;Number\r\n\"War; peace\";pg1342\r\nx;pg2600\r\n",
            "number",
        ),
        ("pg1342,x\npg2600,y", "1"),
        ("Id,x\npg1342,x\npg2600,y", "1"),
        ("sep=;\r\na,b;c\r\npg1342;x\r\npg2600;y\r\n", "a,b"),
        ("n\tt\npg1342\t1,2\npg2600\t1,2\n", "n"),
    ] {
        let ran = lookup(table, column);
        assert_eq!(
            (ran.code, &*ran.stdout),
            (Some(0), found),
            "{table}: {ran:?}"
        );
    }
    let ran = lookup("a,b\nisbn:,pg1342\n", "a");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("books.csv, line 2: "), "{ran:?}");
    for (table, column, words) in [
        (
            "a,b\n1,2\n",
            "c",
            "books.csv: there is no column \"c\" in its first row: a, b",
        ),
        (
            "a,b\n1,2\n",
            "3",
            "books.csv: there is no column 3: the first row has 2",
        ),
    ] {
        let ran = lookup(table, column);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn every_row_of_a_table_has_a_line_in_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books.csv");
    let report = folder.path().join("r.csv");
    let sheet = "ISBN\tTitle\r\n141439513\tPride\r\n\tnone\r\n\r\n#9780141439518\tWar\r\n\r\n";
    // Excel saves "Unicode text" in this form.
    let units = std::iter::once(0xFEFF).chain(sheet.encode_utf16());
    let octets: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    fs::write(&path, octets).expect("written");
    let (path, report) = (text(&path), text(&report));
    let line = ["--demo", "lookup", "localhost/books", "--input", path];
    let options = [
        "--column", "isbn", "--kind", "isbn", "--report", report, "--format", "csv", "--fields",
        "input",
    ];
    let ran = z3950([&line[..], &options].concat());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let sum = "note: 4 inputs: 2 delivered, 2 not sent; 1 repeats an earlier one\n";
    assert!(ran.stderr.ends_with(sum), "{ran:?}");
    let written = fs::read_to_string(report).expect("a report");
    let lines: Vec<&str> = written.lines().skip(1).collect();
    for (line, begin) in lines.iter().zip([
        "1,localhost/books,141439513,delivered,0,1,ISBN,,pg1342,",
        "2,localhost/books,,not sent,3,",
        "3,localhost/books,,not sent,3,",
        "4,localhost/books,#9780141439518,delivered,0,1,ISBN,,pg1342,",
    ]) {
        assert!(line.starts_with(begin), "{line}");
    }
    // A table without --column is refused, and so is a workbook.
    for (contents, words) in [
        (
            &b"id;title\nx;y\n"[..],
            "it is a table: --column names the column to look up; its first row is id;title",
        ),
        (b"PK\x03\x04\x14\x00", "save the sheet as CSV"),
    ] {
        fs::write(path, contents).expect("written");
        let ran = z3950(line);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

/// Lists of numbers in the formats of spreadsheet programs can be read, from a file and from a pipe.
#[test]
fn r_b8_lists_of_numbers_from_spreadsheets() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = TestServer::demo();
    let target = format!("{}/books", server.addr());
    type Octets = fn(u16) -> [u8; 2];
    let utf16 = |text: &str, octets: Octets| -> Vec<u8> {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(octets).collect()
    };
    let (little, big): (Octets, Octets) = (u16::to_le_bytes, u16::to_be_bytes);
    let numbers = "0141439513\r\npg84\r\n";
    let column = &["--column", "n"][..];
    for (names, contents, options) in [
        (
            &["a.txt", "-"][..],
            b"=\"0141439513\"\n=\"pg84\"\n".to_vec(),
            &[][..],
        ),
        (&["a.txt", "-"], b"\"0141439513\"\n\"pg84\"\n".to_vec(), &[]),
        (&["a.csv", "-"], numbers.into(), &[]),
        (&["a.csv", "-"], format!("ISBN\r\n{numbers}").into(), &[]),
        // The extension .csv shows that the file is a table, so any text in its first line is taken as a heading.
        (
            &["a.csv"],
            format!("\u{feff}ISBN-Nummer\r\n{numbers}").into(),
            &[],
        ),
        (
            &["a.TSV"],
            "\"The number\"\r\n=\"0141439513\"\r\npg84".into(),
            &[],
        ),
        (
            &["a.csv"],
            utf16(&format!("Numbers\n{numbers}"), little),
            &[],
        ),
        (
            &["a.csv", "-"],
            format!("{numbers};;;\r\n;;;\r\n,,\r\n").into(),
            &[],
        ),
        (
            &["a.txt", "-"],
            utf16(&format!("isbn\r\n{numbers}"), little),
            &[],
        ),
        (&["a.txt", "-"], utf16(numbers, big), &[]),
        (&["a.txt", "-"], b"0141439513\rpg84\r".to_vec(), &[]),
        (&["a.csv", "-"], b"ISBN\r0141439513\rpg84\r".to_vec(), &[]),
        (
            &["a.csv", "-"],
            b"t;n\rx;0141439513\ry;pg84\r;;;\r".to_vec(),
            column,
        ),
        (
            &["a.csv", "-"],
            b"t;n\r\nx;=\"0141439513\"\r\ny;pg84\r\n;\r\n;;;\r\n".to_vec(),
            column,
        ),
        (
            &["a.csv", "-"],
            utf16("t\tn\r\nx\t0141439513\r\ny\tpg84\r\n\t\r\n", little),
            column,
        ),
    ] {
        for name in names {
            let path = folder.path().join(name);
            let input = match *name {
                "-" => "-",
                _ => text(&path),
            };
            let line = [
                "lookup", &target, "--input", input, "--format", "tsv", "--fields", "001",
            ];
            let line = [&line[..], options].concat();
            let ran = if input == "-" {
                z3950_fed(line, &contents)
            } else {
                fs::write(&path, &contents).expect("written");
                z3950(line)
            };
            let shown = contents.escape_ascii();
            assert_eq!(ran.code, Some(0), "{name}: {shown}: {ran:?}");
            assert_eq!(ran.stdout, "001\npg1342\npg84\n", "{name}: {shown}");
            assert_eq!(
                ran.stderr, "note: 2 inputs: 2 delivered\n",
                "{name}: {shown}"
            );
        }
    }
}
