//! Tests of records that `z3950 convert` selects, changes, sorts and counts.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;
use z3950_tests::program::{path, z3950};
use z3950_tests::surroundings::command;

use super::command::{convert, marc, numbers};

const BOOKS: &str = "\
=LDR  00000cam a2200000 a 4500\n=001  a\n=008  971201s1869\\\\\\\\enk\\\\\\\\\\\\\\\\\\\\\\000\\1\\eng\\\\\n=100  1\\$aTolstoy, Leo\n\
=245  10$aWar and peace /$cLeo Tolstoy.\n=852  \\\\$aMain$xnote\n=901  \\\\$alocal\n=999  \\\\$alocal\n\n\
=LDR  00000cam a2200000 a 4500\n=001  b\n=008  971201s1813\\\\\\\\enk\\\\\\\\\\\\\\\\\\\\\\000\\1\\eng\\\\\n=100  1\\$aAusten, Jane\n\
=245  14$aThe Emma$h[war].\n=852  \\\\$xalone\n\n\
=LDR  00000cam a2200000 a 4500\n=001  c\n=008  971201s1862\\\\\\\\fr\\\\\\\\\\\\\\\\\\\\\\\\000\\1\\fre\\\\\n=100  1\\$aHugo, Victor\n\
=245  14$aLes misérables\n=650  \\2$aWar\n\n";

#[test]
fn r_f15_records_are_chosen_by_their_fields() {
    for (conditions, expected) in [
        (&["852"][..], &["a", "b"][..]),
        (&["!852"], &["c"]),
        (&["9XX"], &["a"]),
        (&["245$a:war"], &["a"]),
        (&["245:WAR"], &["a", "b"]),
        (&["title=war and peace"], &["a"]),
        (&["008/35-37=eng"], &["a", "b"]),
        (&["008/35-37=eng", "year<1850"], &["b"]),
        (&["650^2=2"], &["c"]),
        (&["LDR/18=a"], &["a", "b", "c"]),
        (&["001=*", "!001=b"], &["a", "c"]),
        (&["author:hugo", "852"], &[]),
    ] {
        let mut arguments = Vec::new();
        for condition in conditions {
            arguments.extend(["--select", condition]);
        }
        let ran = convert(&arguments, BOOKS);
        assert_eq!(ran.code, Some(0), "{conditions:?}: {ran:?}");
        assert_eq!(numbers(&ran.stdout), expected, "{conditions:?}");
        let note = format!("note: {} of 3 records selected\n", expected.len());
        assert_eq!(ran.stderr, note, "{conditions:?}");
    }
    for condition in ["titel:war", "245$a=", "852$a!=x", ""] {
        let ran = convert(&["--select", condition], BOOKS);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    }
    // `--check` examines only the selected records.
    let faulty = format!("{BOOKS}=LDR  00000cam a2200000 a 4500\n=001  d\n=245  1$anone\n\n");
    let checked = |condition: &str| convert(&["--check", "--select", condition], &faulty).code;
    assert_eq!((checked("001=d"), checked("!001=d")), (Some(8), Some(0)));
}

#[test]
fn r_f15_fields_are_deleted_and_added() {
    let ran = convert(
        &[
            "--to",
            "mrk",
            "--select",
            "001=a",
            "--delete",
            "9XX,852$x",
            "--delete",
            "100",
            "--add",
            "852 __ $a Annex",
            "--add",
            "003 XX-Own",
        ],
        BOOKS,
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "=LDR  00000cam\\a2200000\\a\\4500",
            "=001  a",
            "=003  XX-Own",
            "=008  971201s1869\\\\\\\\enk\\\\\\\\\\\\\\\\\\\\\\000\\1\\eng\\\\",
            "=245  10$aWar and peace /$cLeo Tolstoy.",
            "=852  \\\\$aMain",
            "=852  \\\\$aAnnex",
        ]
    );
    // A field without subfields is removed too. If no record has one of the fields, a message reports this, because it may be a
    // typing error.
    let ran = convert(&["--to", "mrk", "--delete", "852$x,777,88X"], BOOKS);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        !ran.stdout.contains("alone") && ran.stdout.contains("$aMain\n"),
        "{ran:?}"
    );
    assert_eq!(
        ran.stderr,
        "note: --delete 777: no record has it\nnote: --delete 88X: no record has it\n"
    );
    for arguments in [
        ["--delete", "LDR"],
        ["--delete", "008/35-37"],
        ["--delete", "852,,9XX"],
        ["--add", "852 Main"],
        ["--add", "LDR 00000nam"],
        ["--sort", "titel"],
    ] {
        let ran = convert(&arguments, BOOKS);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(
            ran.stderr.contains(" is not ") || ran.stderr.contains("neither"),
            "{ran:?}"
        );
    }
    // Added text is encoded like the rest of the record.
    let ran = convert(
        &[
            "--to",
            "marc",
            "--to-charset",
            "marc-8",
            "--add",
            "500 $a é",
            "--select",
            "001=a",
        ],
        BOOKS,
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.octets.windows(3).any(|octets| octets == b"\xe2e\x1e"),
        "{ran:?}"
    );
}

#[test]
fn r_f15_records_are_sorted() {
    for (keys, expected) in [
        ("title", ["b", "c", "a"]),
        ("author", ["b", "c", "a"]),
        ("-year", ["a", "c", "b"]),
        ("852,001", ["b", "a", "c"]),
        ("008/35-37,-001", ["b", "a", "c"]),
    ] {
        let ran = convert(&["--sort", keys], BOOKS);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{keys}");
        assert_eq!(numbers(&ran.stdout), expected, "{keys}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("part-{}.mrk");
    let output = output.to_str().expect("text");
    let ran = convert(&["--sort", "title", "--split", "2", "-o", output], BOOKS);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let first = std::fs::read_to_string(output.replace("{}", "0001")).expect("a file");
    let places = ["=001  b", "=001  c"].map(|number| first.find(number).expect("it exists"));
    assert!(places[0] < places[1], "{first}");

    let many: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let ran = convert(&["--sort", "-001", "--select", "!001=5*"], &marc(&many));
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), "note: 88889 of 100000 records selected\n")
    );
    let found = numbers(&ran.stdout);
    assert_eq!(
        (found.len(), found.first(), found.last()),
        (88_889, Some(&"99999"), Some(&"0"))
    );
}

/// A sort writes nothing until the last record has been read, so an interrupted sort neither creates a file nor changes an
/// existing one.
#[test]
fn r_f15_an_interrupted_sort_leaves_the_output_unchanged() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("x.mrk");
    std::fs::write(&output, "old").expect("written");
    let mut child = command(path("z3950"))
        .args(["convert", "--sort", "title", "--overwrite", "-o"])
        .arg(&output)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("standard input is piped");
    input
        .write_all(BOOKS.repeat(5_000).as_bytes())
        .expect("it is read");
    let sent = command("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
    let ended = child.wait_with_output().expect("it ends");
    drop(input);
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert_eq!(std::fs::read_to_string(&output).expect("it exists"), "old");
    let left = std::fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(left, 1, "neither draft nor lock: {ended:?}");
}

#[test]
fn r_f15_fields_are_counted() {
    let ran = convert(&["--stats"], BOOKS);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["3", "records"]);
    for row in [
        ["001", "3", "3", "100.0", "%"],
        ["852", "2", "2", "66.7", "%"],
        ["$x", "2", "2", "66.7", "%"],
        ["999", "1", "1", "33.3", "%"],
    ] {
        assert!(lines.contains(&row.to_vec()), "{row:?}: {ran:?}");
    }
    let ran = convert(&["--stats", "--json", "--select", "852"], BOOKS);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rows: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |field: &str, subfield: Value| {
        let mut rows = rows.iter();
        rows.find(|row| row["field"] == field && row["subfield"] == subfield)
            .expect("a row")
    };
    let row = of("852", "a".into());
    assert_eq!(
        (
            &row["occurrences"],
            &row["records"],
            &row["of"],
            &row["share"]
        ),
        (&1.into(), &1.into(), &2.into(), &0.5.into())
    );
    assert_eq!(of("852", Value::Null)["share"], 1.0);

    // --stats also reports and counts damage, and continues after it.
    let damaged = marc(&["a", "b"]).replacen("00", "99", 1);
    let ran = convert(&["--stats", "--from", "marc"], &format!("{damaged}rest"));
    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(
        ran.stdout.contains("records\n") && ran.stderr.contains("warning: "),
        "{ran:?}"
    );
    let ran = convert(&["--stats"], "");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "0 records\n"),
        "{ran:?}"
    );
    for arguments in [
        &["--stats", "--to", "mrk"][..],
        &["--stats", "--check"],
        &["--stats", "-o", "x.mrc"],
        &["--stats", "--sort", "title"],
        &["--stats", "--delete", "9XX"],
        &["--json"],
    ] {
        assert_eq!(convert(arguments, BOOKS).code, Some(2), "{arguments:?}");
    }
    let missing = z3950(["convert", "--stats", "/nonexistent/x.mrc"]);
    assert_eq!(
        (missing.code, missing.stdout.as_str()),
        (Some(2), ""),
        "{missing:?}"
    );
}
