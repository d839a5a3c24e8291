//! Tests of lookups by standard number: records without the requested number, cancelled numbers, and the index of all kinds of
//! numbers.

use std::path::Path;

use serde_json::Value;
use z3950_marc::mrk;
use z3950_server::testing::TestServer;
use z3950_tests::program::z3950;

/// Two records that have an ISBN in the title. Only the second one also has it in 020, the usual field.
const RECORDS: &str = "=LDR  00000cam a2200000 i 4500\n=001  title\n=040  \\\\$aDLC$beng$erda$cDLC\n=050  00$aQA76\n\
                       =082  00$a005\n=100  1\\$aKnuth, Donald\n=245  10$a0306406152 nights :$ba long record /$cDonald Knuth.\n\
                       =264  \\1$aLondon :$bPress,$c2001.\n=300  \\\\$a300 pages\n=504  \\\\$aBibliography.\n=650  \\0$aNights.\n\n\
                       =LDR  00000nam a2200000 a 4500\n=001  holder\n=020  \\\\$a0306406152\n=245  00$aShort 0306406152\n";

fn serving(text: &str) -> TestServer {
    let records = mrk::parse_all(text).expect("valid");
    TestServer::builder().database("cat", records).start()
}

/// Writes a file of targets in which ISBNs are searched in the title, and returns its path.
fn by_title(folder: &Path, server: &TestServer) -> String {
    let path = folder.join("targets.toml");
    let port = server.addr().port();
    let text = format!(
        "[targets.odd]\nhost = \"127.0.0.1\"\nport = {port}\ndatabases = [\"cat\"]\nindexes = {{ isbn = \"1=4\" }}\n"
    );
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn audit_r_b3_a_record_without_the_number_is_delivered_with_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (first, _) = RECORDS.split_once("\n\n").expect("two records");
    let server = serving(first);
    let targets = by_title(folder.path(), &server);
    let lookup = ["--targets", &targets, "lookup", "odd"];
    let ran = z3950(lookup.iter().chain(&["isbn:0306406152"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("001 title"), "{ran:?}");
    let words = "isbn:0306406152: record 1 does not hold this number";
    assert!(ran.stderr.contains(words), "{ran:?}");
    // The report also contains the warning.
    std::fs::write(path("in"), "isbn:0306406152\n").expect("written");
    let (input, report, output) = (path("in"), path("r.json"), path("o.mrc"));
    let batch = ["--input", &input, "--report", &report, "--output", &output];
    let ran = z3950(lookup.iter().chain(&batch));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = std::fs::read_to_string(report).expect("a report");
    let line: Value = serde_json::from_str(report.trim()).expect("a line");
    assert_eq!(line["outcome"], "delivered", "{line}");
    let message = line["message"].as_str().expect("a message");
    assert!(
        message.contains("record 1 does not hold isbn:0306406152"),
        "{line}"
    );
}

#[test]
fn audit_r_b3_the_best_record_holds_the_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = serving(RECORDS);
    let targets = by_title(folder.path(), &server);
    let best = [
        "--targets",
        &targets,
        "lookup",
        "odd",
        "isbn:0306406152",
        "--best",
    ];
    let ran = z3950(best);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // The chosen record contains the number. The other record has more fields, and would be better by every other criterion.
    assert!(ran.stdout.contains("001 holder"), "{ran:?}");
    assert!(!ran.stderr.contains("does not hold"), "{ran:?}");
    // If the record from one target does not contain the number, the next target is searched too.
    let (first, second) = RECORDS.split_once("\n\n").expect("two records");
    let (without, with) = (serving(first), serving(second));
    let targets = by_title(folder.path(), &without);
    let next = format!("{}/cat", with.addr());
    let ran = z3950([
        "--targets",
        &targets,
        "lookup",
        "--target",
        "odd",
        "--target",
        &next,
        "isbn:0306406152",
        "--best",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("001 holder"), "{ran:?}");
    assert!(!ran.stdout.contains("001 title"), "{ran:?}");
}

/// A record with a number of each kind.
const ALL: &str = "=LDR  00000nam a2200000 a 4500\n=001  control7\n=010  \\\\$a   85000002\n=020  \\\\$a0306406152\n\
                   =020  \\\\$z0140449132\n=022  0\\$a0378-5955$y0028-0836\n=024  3\\$a4006381333931\n=024  7\\$a10.1000/182$2doi\n\
                   =027  \\\\$aREP-77\n=028  02$aSM5555\n=030  \\\\$aNATUAS\n=035  \\\\$a(OCoLC)19564183\n=245  00$aNumbers\n\n\
                   =LDR  00000nam a2200000 a 4500\n=001  other\n=020  \\\\$a9780131103627\n=245  00$aOthers 0306406152\n";

#[test]
fn audit_r_b4_the_index_of_standard_numbers_has_all_of_them() {
    let server = serving(ALL);
    let place = format!("{}/cat", server.addr());
    let sru = format!("http://{place}");
    for number in [
        "control7",
        "85000002",
        "0306406152",
        "9780306406157",
        "0140449132",
        "0378-5955",
        "0028-0836",
        "4006381333931",
        "10.1000/182",
        "REP-77",
        "SM5555",
        "NATUAS",
        "19564183",
    ] {
        for (target, query, language) in [
            (&place, format!("@attr 1=1007 \"{number}\""), "pqf"),
            (&place, format!("dc.identifier=\"{number}\""), "cql"),
            (&sru, format!("dc.identifier=\"{number}\""), "cql"),
            (&sru, format!("bath.standardIdentifier=\"{number}\""), "cql"),
        ] {
            let ran = z3950(["search", target, &query, "--lang", language]);
            assert_eq!(ran.code, Some(0), "{query}: {ran:?}");
            assert!(ran.stdout.contains("001 control7"), "{query}: {ran:?}");
            assert!(!ran.stdout.contains("001 other"), "{query}: {ran:?}");
        }
    }
}

#[test]
fn audit_r_b5_a_canceled_isbn_is_found_and_reported() {
    let server = serving(ALL);
    let place = format!("{}/cat", server.addr());
    for target in [place.clone(), format!("http://{place}")] {
        for query in ["isbn:0140449132", "isbn:978-0-14-044913-6"] {
            let ran = z3950(["lookup", &target, query]);
            assert_eq!(ran.code, Some(0), "{query}: {ran:?}");
            assert!(ran.stdout.contains("001 control7"), "{query}: {ran:?}");
            let words = "0140449132 in 020$z, a field for cancelled and invalid numbers";
            assert!(ran.stderr.contains(words), "{query}: {ran:?}");
        }
        let ran = z3950(["lookup", &target, "isbn:0140449132", "--json"]);
        let line: Value = serde_json::from_str(&ran.stdout).expect("an object");
        assert_eq!(line["matched"]["cancelled"], true, "{line}");
        let ran = z3950(["search", &target, "isbn:0140449132"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}
