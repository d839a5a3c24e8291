//! Tests of tables that `z3950 convert` converts to records.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use z3950_tests::program::{Ran, path, z3950};
use z3950_tests::surroundings::command;

use super::command::{convert, numbers};
use super::readers::{Counts, Written, by_scripts, by_yaz};

const BOOKS: &str = include_str!("../../../server/src/memory/demo/books.mrk");

/// Writes a table and converts it to MARCMaker text.
fn of_table(name: &str, table: &[u8], arguments: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, table).expect("written");
    let path = path.to_str().expect("text");
    z3950(["convert", "--to", "mrk", path].iter().chain(arguments))
}

fn fields(ran: &Ran) -> Vec<&str> {
    let lines = ran.stdout.lines();
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("=LDR"))
        .collect()
}

#[test]
fn r_f15_tables_of_every_kind_are_read() {
    let utf16: Vec<u8> = "\u{feff}ISBN\tTitle\r\n0141439513\tÉmma\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let expected = ["=020  \\\\$a0141439513", "=245  00$aÉmma"];
    for (name, table, arguments) in [
        ("x.csv", "ISBN,Title\n0141439513,Émma\n".as_bytes(), &[][..]),
        (
            "x.csv",
            "\u{feff}isbn,title\r\n=\"0141439513\",\"Émma\"\r\n".as_bytes(),
            &[],
        ),
        (
            "x.CSV",
            "ISBN;Title\r\n0141439513;Émma\r\n;\r\n\r\n".as_bytes(),
            &[],
        ),
        (
            "x.csv",
            "sep=;\r\nISBN;Title\r\n\"=\"\"0141439513\"\"\";Émma\r\n".as_bytes(),
            &[],
        ),
        (
            "x.tsv",
            "ISBN\tTitle\t\n0141439513\tÉmma\t\n".as_bytes(),
            &[],
        ),
        ("x.csv", "ISBN,Title\r0141439513,Émma\r".as_bytes(), &[]),
        (
            "x.csv",
            b"ISBN,Title\n0141439513,\xC9mma\n",
            &["--charset", "windows-1252"],
        ),
        ("x.tsv", &utf16, &[]),
        (
            "x.txt",
            "020$a,245$a\n0141439513,Émma".as_bytes(),
            &["--from", "csv"],
        ),
        (
            "x",
            "020a,245\n0141439513,Émma".as_bytes(),
            &["--from", "TSV"],
        ),
        (
            "x.csv",
            "Nummer,Titel,Regal\n0141439513,Émma,7\n".as_bytes(),
            &[
                "--map",
                "Nummer=isbn",
                "--map",
                "2=title",
                "--map",
                "regal=",
            ],
        ),
    ] {
        let ran = of_table(name, table, arguments);
        assert_eq!(ran.code, Some(0), "{name} {arguments:?}: {ran:?}");
        assert_eq!(fields(&ran), expected, "{name} {arguments:?}");
    }
    let ran = of_table(
        "x.csv",
        b"title,subject\na,\"War; Peace\"\n",
        &["--separator", ";"],
    );
    assert_eq!(
        fields(&ran),
        ["=245  00$aa", "=650  \\4$aWar", "=650  \\4$aPeace"],
        "{ran:?}"
    );
    // Standard input is read as a table only if --from says so.
    let ran = convert(&["--from", "csv", "--to", "mrk"], "title\na\n");
    assert_eq!(
        (ran.code, fields(&ran)),
        (Some(0), vec!["=245  00$aa"]),
        "{ran:?}"
    );
    let ran = of_table("x.csv", b"title,source,due\na,f.mrc,2026\n", &[]);
    assert!(
        ran.stderr
            .ends_with("x.csv: left out: columns source, due\n"),
        "{ran:?}"
    );
}

#[test]
fn r_f15_tables_that_cannot_be_read_are_refused_in_words() {
    for (table, arguments, code, words) in [
        (
            &b"title,Regal,Preis\na,b,c\n"[..],
            &[][..],
            2,
            "no place in a record for the columns \"Regal\", \"Preis\"; --map 'Regal=500$a' says where one goes, --map 'Regal=' leaves it out",
        ),
        (
            b"title,isbn,Title\na,b,c\n",
            &[],
            2,
            "columns 1 and 3 both go to Title, which a record has once; --map '3=' leaves out",
        ),
        (
            b"a,b\n",
            &["--map", "c=title"],
            2,
            "there is no column \"c\"; there are a, b",
        ),
        (
            b"a,b\n",
            &["--map", "a=nowhere"],
            2,
            "\"nowhere\" is not a place in a record",
        ),
        (b"a,b\n", &["--map", "a"], 2, "must be HEADING=PLACE"),
        (b"source,due\na,b\n", &[], 2, "no column goes to a record"),
        (b"PK\x03\x04\x14\x00", &[], 2, "save the sheet as CSV"),
        (b"\x1F\x8B\x08\x00", &[], 2, "compressed with gzip"),
        (b"", &[], 0, "it contains no records"),
        (b"title,isbn\n", &[], 0, "it contains no records"),
        (b"title,isbn\n,\n\n,\n", &[], 0, "it contains no records"),
        (b"title,isbn\na,b,c\n", &[], 8, "cells without a heading: 1"),
        (b"title,isbn\na\x1fb,c\n", &[], 8, "separators of ISO 2709"),
        (b"title\ncaf\xE9\n", &[], 8, "not UTF-8"),
        (b"008/35-37\nenglish\n", &[], 8, "is longer"),
        (
            b"LDR,title\n00000nam,a\n",
            &[],
            8,
            "the leader has 8 characters",
        ),
    ] {
        let ran = of_table("x.csv", table, arguments);
        assert_eq!(ran.code, Some(code), "{}: {ran:?}", table.escape_ascii());
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        assert!(code != 2 || ran.stdout.is_empty(), "{ran:?}");
    }
    // If the headings of a later file cannot be used, nothing is written, and an existing output file remains unchanged.
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.csv"), "title\na\n").expect("written");
    std::fs::write(path("b.csv"), "Regal\nb\n").expect("written");
    std::fs::write(path("old.mrc"), "old").expect("written");
    let ran = z3950([
        "convert".as_ref(),
        "--overwrite".as_ref(),
        "-o".as_ref(),
        path("old.mrc").as_os_str(),
        path("a.csv").as_os_str(),
        path("b.csv").as_os_str(),
    ]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(
        std::fs::read_to_string(path("old.mrc")).expect("kept"),
        "old"
    );
    // An unclosed quotation mark would merge all following rows into one.
    let endless = format!("title,isbn\n\"a,1\n{}", "b,2\n".repeat(5_000_000));
    let ran = of_table("x.csv", endless.as_bytes(), &[]);
    assert_eq!(ran.code, Some(2), "{:?}", ran.stderr);
    assert!(
        ran.stderr
            .contains("line 2: a quotation mark is never closed"),
        "{:?}",
        ran.stderr
    );
    // Other formats do not have columns.
    let ran = convert(
        &["--map", "a=title"],
        "=LDR  00000nam a2200000 a 4500\n=001  x\n",
    );
    assert!(
        ran.code == Some(2) && ran.stderr.contains("--map is for tables"),
        "{ran:?}"
    );
}

/// Converts a file to another file in the same folder. The extension determines the format.
fn converted(from: &Path, to: &str, arguments: &[&str]) -> PathBuf {
    let to = from.with_file_name(to);
    let files = [from, Path::new("--overwrite"), Path::new("-o"), &to];
    let ran = z3950(
        ["convert"]
            .iter()
            .chain(arguments)
            .map(AsRef::as_ref)
            .chain(files.map(Path::as_os_str)),
    );
    assert_eq!(ran.code, Some(0), "{} {arguments:?}: {ran:?}", to.display());
    to
}

/// Tables that z3950 has written can be read back with the same values, and other programs can read the resulting records.
#[test]
fn r_f15_own_tables_are_read_back_with_the_same_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("books.mrk");
    std::fs::write(&source, BOOKS).expect("written");
    let mut counts = Counts::default();
    let mut written = Vec::new();
    let records = BOOKS.matches("=LDR").count();
    for (index, columns) in [
        "001,title,author,year,publisher,isbn,issn",
        "LDR/05-08,001,008,100a,100d,245ab,245c,260b,650a,856u",
        "001,title,author,contributor,year,publisher,subject,description,type,format,language,relation,coverage,rights,isbn,lccn,oclc",
    ]
    .into_iter()
    .enumerate()
    {
        for form in ["csv", "tsv", "spreadsheet"] {
            let name = if form == "spreadsheet" { "csv" } else { form };
            let options = ["--to", form, "--fields", columns];
            let table = converted(&source, &format!("first.{name}"), &options);
            let marc = converted(&table, &format!("{index}-{form}.mrc"), &[]);
            let again = converted(&marc, &format!("again.{name}"), &options);
            let text = |path: &Path| std::fs::read_to_string(path).expect("text");
            let (table, again) = (text(&table), text(&again));
            for (one, other) in table.lines().zip(again.lines()) {
                assert_eq!(one, other, "{form} {columns}");
            }
            assert_eq!(table.lines().count(), again.lines().count());
            by_yaz("marc", &marc, records, &mut counts);
            written.push(Written {
                form: "marc",
                path: marc,
                is_compared: false,
            });
        }
    }
    by_scripts(&written, records, &mut counts);
    counts.report(&format!("{records} records read from tables"));
}

#[test]
fn r_f15_long_tables_are_read_in_constant_memory() {
    let rows: String = (0..100_000)
        .map(|number| format!("{number},Title {number},19{:02}\n", number % 100))
        .collect();
    let ran = convert(
        &["--from", "csv", "--select", "year=1907"],
        &format!("001,title,year\n{rows}"),
    );
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), "note: 1000 of 100000 records selected\n")
    );
    assert_eq!(numbers(&ran.stdout).len(), 1_000);
}

#[test]
fn r_f15_a_signal_keeps_the_records_of_a_table_as_a_draft() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("x.mrk");
    let mut child = command(path("z3950"))
        .args(["convert", "--from", "csv", "-o"])
        .arg(&output)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("standard input is piped");
    let table = format!("title\n{}", "Emma\n".repeat(100_000));
    input.write_all(table.as_bytes()).expect("it is read");
    let sent = command("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
    let ended = child.wait_with_output().expect("it ends");
    drop(input);
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert!(!output.exists());
    let draft = std::fs::read_to_string(folder.path().join("x.mrk.part")).expect("a draft");
    assert!(draft.contains("=245  00$aEmma\n"), "{ended:?}");
}
