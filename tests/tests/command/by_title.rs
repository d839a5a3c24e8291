//! Tests of `z3950 lookup --by-title`, which looks up records without a number by title, author and year.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use z3950_asn1::apdu::{Apdu, Query};
use z3950_marc::{MarcRecord, mrk};
use z3950_server::testing::TestServer;
use z3950_tests::program::{Ran, z3950};

/// Converts lines of the form `id | author | title | year`, with further fields after another `|`, to MARCMaker text. The title
/// may contain a `$b`.
fn mrk_of(lines: &str) -> String {
    let mut text = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [id, author, title, year, more @ ..] = parts.as_slice() else {
            panic!("{line}");
        };
        writeln!(text, "=LDR  00000nam a2200000 a 4500\n=001  {id}").expect("in memory");
        if !author.is_empty() {
            writeln!(text, "=100  1\\$a{author}").expect("in memory");
        }
        if !title.is_empty() {
            writeln!(text, "=245  10$a{title}").expect("in memory");
        }
        if !year.is_empty() {
            writeln!(text, "=260  \\\\$c{year}").expect("in memory");
        }
        for field in more {
            writeln!(text, "{field}").expect("in memory");
        }
        text.push('\n');
    }
    text
}

fn records(lines: &str) -> Vec<MarcRecord> {
    mrk::parse_all(&mrk_of(lines)).expect(lines)
}

const CATALOGUE: &str = "
    b1 | Austen, Jane, | Pride and prejudice :$ba novel /$cJane Austen. | 1813
    b2 | Austen, Jane, | Pride and prejudice / | 1995
    b3 | Austen, Jane, | Pride and prejudice and zombies / | 1813
    b4 | Austen, Jane, | Emma / | 1816
    b5 | Austen, Jane, | Emma / | 1816
    b6 | Wells, H. G. | The war of the worlds / | 1898
    b7 | | | 1980 | =880  10$6245-01/$1$a紅樓夢 /$c曹雪芹.
    b8 | Dickinson, Emily, | Poems :$bfirst series / | 1890
    b9 | Dickinson, Emily, | Poems :$bsecond series / | 1891
    b10 | Prata, Stephen. | C primer plus / | 2004
    b11 | Hugo, Victor, | Les misérables / | 1862
    b12 | Yeats, W. B. | Songs / | 1900";

const OLD: &str = "
    o1 | Austen, Jane, 1775-1817. | PRIDE & prejudice. | c1813.
    o2 | Austen, J. | Emma | [1816]
    o3 | Wells, Herbert George | War of the worlds | 1897
    o4 | Austen, Jane | Sense and sensibility | 1811
    o5 | Austen, Jane | ... / | 1811
    o6 | | | | =880  10$6245-01/$1$a紅樓 夢
    o7 | Dickinson, Emily | Poems :$bthird series | 1896
    o8 | Prata, Stephen | C++ primer plus | 2004
    o9 | Hugo, V. | Les mise\u{301}rables | 1995
    o10 | Keats, John | Songs | 1900
    o11 | Wells, H. G. | The war of the worlds | 1898 | =020  \\\\$a0306406152";

/// The position, outcome, exit code, hits, step, record, choice and message expected for each of [`OLD`].
const EXPECTED: [&str; 11] = [
    "1|delivered|0|3|title and author|b1|by title: 3 hits, 2 with this title, b1 chosen because its year is 1813, that of b2 is 1995|",
    "2|ambiguous|4|2|title and author|b4 | b5|by title: 2 hits, 2 with this title, b4 and b5 agree alike|2 records agree alike by title; --best takes the best one",
    "3|delivered|0|1|title and author|b6|by title: 1 hit, b6 chosen because its title, author and year agree|",
    "4|no match|3|0||||no record matches",
    "5|not sent|3|||||001 o5: neither an identifier in 010, 020, 022 or 035 nor a title in 245",
    "6|delivered|0|1|title|b7|by title: 1 hit, b7 chosen because its title agrees|",
    "7|no match|3|0||||no record matches; 2 records found by title have another title or author",
    "8|no match|3|0||||no record matches; 1 record found by title has another title or author",
    "9|delivered|0|1|title and author|b11|by title: 1 hit, b11 chosen because its title and author agree|record 1: its year is 1862, not 1995",
    "10|no match|3|0||||no record matches; 1 record found by title has another title or author",
    "11|no match|3|0||||no record matches",
];

const COLUMNS: [&str; 8] = [
    "position", "outcome", "exit", "hits", "step", "record", "choice", "message",
];

fn serving(lines: &str) -> TestServer {
    TestServer::builder()
        .database("cat", records(lines))
        .start()
}

/// A folder with a file of records, and the paths of the files of a run.
struct Files {
    _folder: TempDir,
    input: String,
    output: String,
    report: String,
}

impl Files {
    fn of(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        let (input, output, report) = (path("old.mrk"), path("new.mrc"), path("report.jsonl"));
        fs::write(&input, text).expect("written");
        Self {
            _folder: folder,
            input,
            output,
            report,
        }
    }

    /// Looks up the records by title.
    fn run(&self, targets: &[&str], options: &[&str]) -> Ran {
        let mut line = vec!["lookup", "--by-title", "--input", &self.input];
        for target in targets {
            line.extend(["--target", *target]);
        }
        line.extend(["--output", &self.output, "--report", &self.report]);
        line.extend(options);
        z3950(line)
    }

    /// Returns the values of some columns of each line of the report.
    fn lines(&self, columns: &[&str]) -> Vec<String> {
        let report = fs::read_to_string(&self.report).expect("a report");
        let lines = report.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let cells = columns.iter().map(|column| match &line[*column] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            cells.collect::<Vec<_>>().join("|")
        });
        lines.collect()
    }

    fn written(&self) -> usize {
        let octets = fs::read(Path::new(&self.output)).unwrap_or_default();
        octets.iter().filter(|octet| **octet == 0x1D).count()
    }
}

/// Returns the queries of all searches that a server received over Z39.50.
fn queries(server: &TestServer) -> Vec<String> {
    let entries = server.transcript().into_iter();
    let queries = entries.filter_map(|entry| match entry.apdu.as_ref()? {
        Apdu::SearchRequest(search) => match &search.query {
            Query::Type1(query) => Some(query.to_string()),
            other => Some(format!("{other:?}")),
        },
        _ => None,
    });
    queries.collect()
}

#[test]
fn r_b9_records_without_a_number_are_looked_up_by_title() {
    let server = serving(CATALOGUE);
    let z3950_target = format!("{}/cat", server.addr());
    let sru_target = server.http_url("cat");
    for target in [&*z3950_target, &sru_target] {
        let files = Files::of(&mrk_of(OLD));
        let ran = files.run(&[target], &[]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert_eq!(files.lines(&COLUMNS), EXPECTED, "{target}: {ran:?}");
        assert_eq!(files.written(), 6, "{target}: {ran:?}");
    }
}

#[test]
fn r_b9_the_error_names_the_option() {
    let server = serving(CATALOGUE);
    let target = format!("{}/cat", server.addr());
    let files = Files::of(&mrk_of("o1 | Austen, Jane | Emma | 1816"));
    let ran = z3950(["lookup", &target, "--input", &files.input]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let words = "001 o1: no identifier in 010, 020, 022 or 035; --by-title looks it up by title, author and year";
    assert!(ran.stderr.contains(words), "{ran:?}");
    assert!(queries(&server).is_empty());
    // A note names the record that was chosen. It is printed only with -v.
    let line = [
        "lookup",
        &target,
        "--by-title",
        "--best",
        "--input",
        &files.input,
    ];
    let ran = z3950([&line[..], &["-v"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let words = "Emma / Austen, Jane, 1816: by title: 2 hits, 2 with this title, b4 and b5 agree alike; b4 is the best of 2 records";
    assert!(ran.stderr.contains(words), "{ran:?}");
    for (options, words) in [
        (
            &["lookup", &target, "--by-title", "0306406152"][..],
            "--input",
        ),
        (
            &[
                "lookup",
                &target,
                "--by-title",
                "--input",
                "x.csv",
                "--column",
                "1",
            ],
            "--column",
        ),
    ] {
        let ran = z3950(options);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn r_b9_several_targets_and_the_best_of_equal_records() {
    let one = serving(
        "a1 | Austen, Jane | Emma and Clara | 1816\n a2 | Austen, Jane | Persuasion | 1995",
    );
    let two = serving(
        "c1 | Austen, Jane | Emma | 1816 | =500  \\\\$aA note.\n c2 | Austen, Jane | Emma | 1816 | =040  \\\\$aDLC\n
         c3 | Austen, Jane | Persuasion | 1818",
    );
    let [a, b] = [&one, &two].map(|server| format!("{}/cat", server.addr()));
    let old = "o1 | Austen, Jane | Emma | 1816\n o2 | Austen, Jane | Persuasion | 1818";
    let files = Files::of(&mrk_of(old));
    let columns = ["target", "outcome", "record", "choice"];
    let emma = "by title: 2 hits, 2 with this title, c1 and c2 agree alike";
    let best = format!(
        "{emma}; c2 is the best of 2 records: its cataloguing source is DLC, that of c1 is unknown"
    );
    let persuasion = "by title: 1 hit, a2 chosen because its title and author agree";
    let later = "by title: 1 hit, c3 chosen because its title, author and year agree";
    for (options, code, expected) in [
        (
            &[][..],
            4,
            vec![
                format!("{b}|ambiguous|c1 | c2|{emma}"),
                format!("{a}|delivered|a2|{persuasion}"),
            ],
        ),
        (
            &["--best"],
            0,
            vec![
                format!("{b}|delivered|c2|{best}"),
                format!("{a}|delivered|a2|{persuasion}"),
            ],
        ),
        // With --all-targets, the best record is the one, from any of the targets, that is the most similar to the input.
        (
            &["--best", "--all-targets"],
            0,
            vec![
                format!("{b}|delivered|c2|{best}"),
                format!("{b}|delivered|c3|{later}"),
            ],
        ),
        (
            &["--all-targets"],
            4,
            vec![
                format!("{a}|no match||"),
                format!("{b}|ambiguous|c1 | c2|{emma}"),
                format!("{a}|delivered|a2|{persuasion}"),
                format!("{b}|delivered|c3|{later}"),
            ],
        ),
    ] {
        let ran = files.run(&[&a, &b], &[options, &["--overwrite"]].concat());
        assert_eq!(ran.code, Some(code), "{options:?}: {ran:?}");
        assert_eq!(files.lines(&columns), expected, "{options:?}: {ran:?}");
    }
    let ran = files.run(&[&b], &["--count", "0", "--overwrite"]);
    assert_eq!(
        files.lines(&["outcome", "hits"]),
        ["found|2", "found|1"],
        "{ran:?}"
    );
}

/// If a search finds more records than can be compared, the year narrows it to the correct edition. A missing year does
/// not prevent a match.
#[test]
fn r_b9_the_year_narrows_a_search_with_many_records() {
    let editions = |years: std::ops::Range<u32>| {
        let lines = years.map(|year| format!("b{year} | Smith, John | Poems | {year}\n"));
        lines.collect::<String>()
    };
    let server = serving(&editions(1900..1980));
    let target = format!("{}/cat", server.addr());
    let files = Files::of(&mrk_of(
        "o1 | Smith, John | Poems | 1975\n o2 | Smith, John | Poems | 1910\n o3 | Smith, John | Poems | 2020",
    ));
    let ran = files.run(&[&target], &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        files.lines(&["hits", "step", "record", "choice"]),
        [
            "3|title and author and date of publication|b1975|by title: 3 hits, 3 with this title, b1975 chosen because its year is \
             1975, that of b1974 is 1974",
            "80|title and author|b1910|by title: the first 50 of 80 hits, 50 with this title, b1910 chosen because its year is 1910, \
             that of b1909 is 1909",
            "80|title and author|b1949|by title: the first 50 of 80 hits, 50 with this title, b1949 chosen because its year is 1949, \
             that of b1948 is 1948",
        ]
    );
    let by_year = "@and @and @attr 1=4 Poems @attr 1=1003 Smith @or @or @attr 1=31 1975 @attr 1=31 1974 @attr 1=31 1976";
    assert_eq!(
        queries(&server)[..2],
        ["@and @attr 1=4 Poems @attr 1=1003 Smith", by_year]
    );
    assert_eq!(queries(&server).len(), 5);
    // A server without a year index refuses only the search that contains the year.
    let refusing = TestServer::builder()
        .database("cat", records(&editions(1900..1980)))
        .rule("on search nth=2: fail 114")
        .start();
    let target = format!("{}/cat", refusing.addr());
    let ran = files.run(&[&target], &["--jobs", "1", "--overwrite"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(files.lines(&["record"])[0], "b1949", "{ran:?}");
}

#[test]
fn r_b9_a_run_by_title_is_resumed() {
    let server = serving(CATALOGUE);
    let target = format!("{}/cat", server.addr());
    let files = Files::of(&mrk_of(OLD));
    let ran = files.run(&[&target], &["--resume"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let (report, output) = (
        fs::read_to_string(&files.report).expect("a report"),
        fs::read(&files.output).expect("an output"),
    );
    for (end, _) in report.match_indices('\n') {
        fs::write(&files.report, &report[..=end]).expect("written");
        let ran = files.run(&[&target], &["--resume"]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert_eq!(files.lines(&COLUMNS), EXPECTED, "{end}");
        assert_eq!(fs::read(&files.output).expect("an output"), output, "{end}");
    }
    // With --resume, a request is repeated if the target did not answer.
    let files = Files::of(&mrk_of("o1 | Wells, H. G. | The war of the worlds | 1898"));
    let gone = serving(CATALOGUE);
    let target = format!("{}/cat", gone.addr());
    drop(gone);
    let ran = files.run(&[&target], &["--resume", "--timeout", "5"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let ran = files.run(&[&target], &["--resume", "--timeout", "5"]);
    assert!(
        ran.stderr
            .contains("1 input had no answer and is asked again"),
        "{ran:?}"
    );
}

/// Tests titles for which nobody would search, and records in every format.
#[test]
fn r_b9_unusual_records() {
    let long = "word ".repeat(18_000);
    let endless = "x".repeat(90_000);
    let catalogue = format!(
        "{CATALOGUE}\n l1 | Long, John | {}and the rest | 1900\n",
        "word ".repeat(12)
    );
    let server = serving(&catalogue);
    let target = format!("{}/cat", server.addr());
    let marcxml = |fields: &str| {
        format!(
            "<collection xmlns=\"http://www.loc.gov/MARC21/slim\"><record><leader>00000nam a2200000 a 4500</leader>{fields}</record></collection>"
        )
    };
    let field = |tag: &str, code: &str, text: &str| {
        format!(
            "<datafield tag=\"{tag}\" ind1=\"1\" ind2=\"0\"><subfield code=\"{code}\">{text}</subfield></datafield>"
        )
    };
    let title = |text: &str| marcxml(&field("245", "a", text));
    let unimarc =
        field("200", "a", "\u{98}The \u{9c}war of the worlds") + &field("700", "a", "Wells");
    for (text, outcome) in [
        (title(&long), "no match"),
        (title(&endless), "no match"),
        (title("?!. --- \u{2026} \u{1f600}"), "not sent"),
        (title(""), "not sent"),
        (marcxml(&field("100", "a", "Austen, Jane")), "not sent"),
        (title("&lt;&gt;"), "not sent"),
        (title("&quot;*?^\\ %00 @and (emma) or not"), "no match"),
        (title("紅樓夢"), "delivered"),
        (title("\u{202e}Les mis\u{e9}rables\u{202c}"), "delivered"),
        (marcxml(&unimarc), "delivered"),
        (title("Emma"), "ambiguous"),
    ] {
        for target in [&target, &server.http_url("cat")] {
            let files = Files::of(&text);
            let ran = files.run(&[target], &[]);
            let begin: String = text.chars().skip(150).take(80).collect();
            assert_eq!(files.lines(&["outcome"]), [outcome], "{begin}: {ran:?}");
            assert!(ran.stderr.len() < 2_000, "{begin}");
        }
    }
    // An input from an old catalogue may be in MARC-8.
    let files = Files::of("");
    let mut octets =
        b"00082nam  2200037   4500245002400000\x1E10\x1FaLes mis\xE2erables /\x1E\x1D".to_vec();
    let length = format!("{:05}", octets.len());
    octets[..5].copy_from_slice(length.as_bytes());
    fs::write(&files.input, octets).expect("written");
    let ran = files.run(&[&target], &[]);
    assert_eq!(
        files.lines(&["outcome", "record"]),
        ["delivered|b11"],
        "{ran:?}"
    );
}

#[test]
fn r_b9_thousands_of_equal_records_are_looked_up_once() {
    let server = serving(CATALOGUE);
    let target = format!("{}/cat", server.addr());
    let one = mrk_of("o1 | Wells, H. G. | The war of the worlds | 1898");
    let files = Files::of(&one.repeat(5_000));
    let ran = files.run(&[&target], &["--jobs", "4"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let sum = "note: 5000 inputs: 5000 delivered; 4999 repeat earlier ones; 1 record written\n";
    assert_eq!(ran.stderr, sum);
    assert_eq!(queries(&server).len(), 1);
    assert_eq!(
        files.lines(&["record", "message"])[4_999],
        "b6|same as input 1"
    );
}

/// Records in Dublin Core or MODS from an SRU server are also compared.
#[test]
fn r_b9_records_in_other_schemas() {
    let server = serving(CATALOGUE);
    let target = server.http_url("cat");
    for schema in ["dc", "mods"] {
        let files = Files::of(&mrk_of(
            "o1 | Austen, Jane | Pride and prejudice | 1813\n o2 | Austen, Jane | Pride | 1813\n o3 | Keats, John | Songs | 1900",
        ));
        let line = [
            "lookup",
            &*target,
            "--by-title",
            "--input",
            &files.input,
            "--report",
            &files.report,
        ];
        let ran = z3950(
            [
                &line[..],
                &[
                    "--syntax",
                    "xml",
                    "--element-set",
                    schema,
                    "--format",
                    "raw",
                ],
            ]
            .concat(),
        );
        assert_eq!(ran.code, Some(3), "{schema}: {ran:?}");
        assert_eq!(
            files.lines(&["outcome"]),
            ["delivered", "no match", "no match"],
            "{schema}: {ran:?}"
        );
        assert!(
            ran.stdout.contains("1813") && !ran.stdout.contains("zombies"),
            "{schema}: {ran:?}"
        );
    }
}
