//! Tests of output files that already exist, that another run is writing, or that cannot be written.

mod batches;
mod prompt;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use z3950_asn1::bib1::diagnostics::Condition;
use z3950_marc::stream::{InputForm, RecordReader};
use z3950_server::diagnostic;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, TestServerBuilder, record};
use z3950_tests::peer::Unheard;
use z3950_tests::program::{self, z3950, z3950_fed};
use z3950_tests::surroundings::command;

use self::prompt::prompt;

const PATIENCE: Duration = Duration::from_secs(30);

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("it exists");
    (folder, path)
}

fn text(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

fn catalogue(records: usize) -> TestServerBuilder {
    let records = (1..=records).map(|number| record(&format!("id{number}"), "War"));
    TestServer::builder().database("books", records)
}

/// Counts the complete records in a file.
fn records(path: &Path) -> usize {
    let file = fs::File::open(path).expect("it exists");
    let records = RecordReader::new(file, InputForm::Marc);
    records
        .inspect(|found| {
            let found = found.as_ref().expect("read");
            assert!(found.record.is_ok(), "a whole record");
        })
        .count()
}

/// Returns the names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn audit_a1_existing_files_stay_unless_records_replace_them() {
    let server = catalogue(3).start();
    let (_guard, folder) = folder();
    let place = format!("{}/books", server.addr());
    let unheard = Unheard::bind();
    let down = format!("{}/books", unheard.address());
    let output = text(&folder.join("y.mrc"));
    let missing = text(&folder.join("nosuch"));
    let url = |place: &str, id: &str| format!("z39.50r://{place}?{id}");
    for (arguments, code, records_there) in [
        (vec!["search", &place, "war"], 0, 3),
        (vec!["lookup", &place, "local:id1"], 0, 1),
        (vec!["get", &url(&place, "id1")], 0, 1),
        (vec!["search", &place, "nosuchword"], 3, 0),
        (vec!["lookup", &place, "local:nosuch"], 3, 0),
        (vec!["get", &url(&place, "nosuch")], 3, 0),
        (vec!["search", &down, "war"], 6, 0),
        (vec!["lookup", &down, "local:id1"], 6, 0),
        (vec!["get", &url(&down, "id1")], 6, 0),
        (vec!["search", &place, "--input", &missing], 2, 0),
        (vec!["lookup", &place, "--input", &missing], 2, 0),
        (vec!["get", "--input", &missing], 2, 0),
        (vec!["convert", "--to", "marc", &missing], 2, 0),
    ] {
        let with = |more: &[&str]| {
            let arguments = arguments.iter().copied();
            z3950(
                arguments
                    .chain(["--output", &output])
                    .chain(more.iter().copied()),
            )
        };
        // If the command finds no records, it does not create a file.
        let ran = with(&[]);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        let path = Path::new(&output);
        assert_eq!(path.exists(), records_there > 0, "{arguments:?}: {ran:?}");
        if records_there > 0 {
            assert_eq!(records(path), records_there, "{arguments:?}");
        }
        fs::write(path, "precious").expect("written");
        let ran = with(&[]);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        if !arguments.contains(&missing.as_str()) {
            let words = "y.mrc already exists: --overwrite replaces it";
            assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
        }
        assert_eq!(fs::read_to_string(path).expect("read"), "precious");
        let ran = with(&["--overwrite"]);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        match records_there {
            0 => assert_eq!(fs::read_to_string(path).expect("read"), "precious"),
            wanted => assert_eq!(records(path), wanted, "{arguments:?}"),
        }
        fs::remove_file(path).expect("removed");
        assert_eq!(names(&folder), [""; 0], "{arguments:?}");
    }
}

#[test]
fn audit_a1_existing_reports_and_their_outputs_stay_too() {
    let server = catalogue(3).start();
    let (_guard, folder) = folder();
    let place = format!("{}/books", server.addr());
    let (output, report) = (folder.join("y.mrc"), folder.join("y.tsv"));
    let run = |query: &str, more: &[&str]| {
        let (output, report) = (text(&output), text(&report));
        let arguments = [
            "search", &place, query, "--output", &output, "--report", &report,
        ];
        z3950(arguments.iter().chain(more))
    };
    fs::write(&output, "precious").expect("written");
    let ran = run("war", &[]);
    let words = "y.mrc already exists: --resume continues it, --overwrite replaces it";
    assert!(ran.code == Some(2) && ran.stderr.contains(words), "{ran:?}");
    assert_eq!(names(&folder), ["y.mrc"]);
    let ran = run("nosuchword", &["--overwrite"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(fs::read_to_string(&output).expect("read"), "precious");
    fs::remove_file(&output).expect("removed");
    let ran = run("war", &[]);
    let words = "y.tsv already exists: --resume continues it, --overwrite replaces it";
    assert!(ran.code == Some(2) && ran.stderr.contains(words), "{ran:?}");
    assert!(!output.exists());
    let ran = run("war", &["--overwrite"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(records(&output), 3);
    assert_eq!(
        fs::read_to_string(&report).expect("read").lines().count(),
        2
    );
}

#[test]
fn audit_a1_records_before_a_failure_are_kept_and_the_file_is_named() {
    let (_guard, folder) = folder();
    let output = folder.join("y.mrc");
    fs::write(&output, "precious").expect("written");
    // Twenty records are returned with the search; the Present for the other records is refused.
    let refused = Fault::Fails(diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, "later"));
    let server = catalogue(60).fault(When::present(), refused).start();
    let place = format!("{}/books", server.addr());
    let ran = z3950([
        "search",
        &place,
        "war",
        "--overwrite",
        "--output",
        &text(&output),
    ]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let part = folder.join("y.mrc.part");
    let kept = records(&part);
    assert_eq!(kept, 20);
    let words = format!("incomplete; {kept} records are in {}", part.display());
    assert!(ran.stderr.contains(&words), "{ran:?}");
    assert_eq!(fs::read_to_string(&output).expect("read"), "precious");
}

#[test]
fn audit_d7_no_match_is_an_empty_collection() {
    let server = catalogue(1).start();
    let place = format!("{}/books", server.addr());
    let unheard = Unheard::bind();
    let down = format!("{}/books", unheard.address());
    let url = format!("z39.50r://{place}?nosuch");
    for form in ["marcxml", "dc"] {
        let converted = z3950_fed(["convert", "--from", "marc", "--to", form], "");
        assert!(converted.stdout.ends_with(">\n"), "{converted:?}");
        for arguments in [
            vec!["search", &place, "nosuchword"],
            vec!["lookup", &place, "local:nosuch"],
            vec!["get", &url],
        ] {
            let ran = z3950(arguments.iter().chain(&["--format", form]));
            assert_eq!(ran.code, Some(3), "{arguments:?}: {ran:?}");
            assert_eq!(ran.stdout, converted.stdout, "{arguments:?}");
        }
        // If no answer arrives, not even an empty collection is written.
        let ran = z3950(["search", &down, "war", "--format", form]);
        assert_eq!((ran.code, &*ran.stdout), (Some(6), ""), "{ran:?}");
    }
    for form in ["text", "marc", "json", "mrk", "brief", "raw"] {
        let ran = z3950(["search", &place, "nosuchword", "--format", form]);
        assert_eq!((ran.code, &*ran.stdout), (Some(3), ""), "{ran:?}");
    }
    let ran = z3950(["search", &place, "nosuchword", "--json"]);
    assert!(ran.stdout.starts_with('{'), "{ran:?}");
}

#[test]
fn audit_d11_outputs_that_cannot_be_written_are_wrong_usage() {
    let server = catalogue(2).start();
    let (_guard, folder) = folder();
    let place = format!("{}/books", server.addr());
    let source = folder.join("source.mrc");
    let ran = z3950(["search", &place, "war", "--output", &text(&source)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let nodir = folder.join("nodir/x.mrc");
    let inner = source.join("x.mrc");
    for (path, words) in [
        (&*nodir, "there is no folder "),
        (&inner, "there is no folder "),
        // Not even root can create files in these folders.
        (Path::new("/sys/x.mrc"), "cannot write /sys/x.mrc: "),
        (Path::new("/proc/x.mrc"), "cannot write /proc/x.mrc: "),
    ] {
        let (path, report) = (text(path), text(&folder.join("x.tsv")));
        for arguments in [
            vec!["search", &place, "war", "--output", &path],
            vec![
                "search", &place, "war", "--output", &path, "--report", &report,
            ],
            vec!["lookup", &place, "local:id1", "--output", &path],
            vec!["convert", &text(&source), "--to", "marc", "--output", &path],
        ] {
            let ran = z3950(&arguments);
            assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
            assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
        }
    }
    // A single document cannot be written to a folder, because folders are only for files of records.
    let ran = z3950([
        "convert",
        &text(&source),
        "--to",
        "marc",
        "--output",
        &text(&folder),
    ]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(" is a folder, not a file"), "{ran:?}");
    let ran = prompt(
        &server,
        &format!("find war\nsave {} all\n", nodir.display()),
    );
    assert!(ran.stderr.contains("there is no folder "), "{ran:?}");
    assert_eq!(names(&folder), ["source.mrc"]);
}

#[test]
fn a_full_disk_keeps_every_complete_record() {
    let server = catalogue(400).start();
    let (_guard, folder) = folder();
    let place = format!("{}/books", server.addr());
    // This limits every file to 32 blocks of 512 octets. The program must survive the SIGXFSZ that the limit raises.
    let limited = "ulimit -f 32; exec \"$@\"";
    for more in [&[][..], &["--report", "y.tsv"]] {
        let mut command = command("sh");
        command
            .args(["-c", limited, "sh"])
            .arg(program::path("z3950"));
        command
            .args(["search", &place, "war", "--output", "y.mrc"])
            .args(more);
        let ran = program::run(command.current_dir(&folder), "");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("cannot write y.mrc: "), "{ran:?}");
        if more.is_empty() {
            let kept = records(&folder.join("y.mrc.part"));
            assert!((10..400).contains(&kept));
            let words = format!("incomplete; {kept} records are in ");
            assert!(ran.stderr.contains(&words), "{ran:?}");
            assert!(
                ran.stderr.contains("note: no input was completed\n"),
                "{ran:?}"
            );
            assert_eq!(names(&folder), ["y.mrc.part"]);
            fs::remove_file(folder.join("y.mrc.part")).expect("removed");
            continue;
        }
        assert!(
            ran.stderr.contains("with --resume continues from here"),
            "{ran:?}"
        );
        let (output, report) = (text(&folder.join("y.mrc")), text(&folder.join("y.tsv")));
        let ran = z3950(
            ["search", &place, "war", "--resume"]
                .into_iter()
                .chain(["--output", &output, "--report", &report]),
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(records(Path::new(&output)), 400);
    }
    fs::remove_file(folder.join("y.mrc")).expect("removed");
    let mut command = command("sh");
    command
        .args(["-c", limited, "sh"])
        .arg(program::path("z3950"));
    command.args(["convert", "--to", "marc", "--output", "y.mrc"]);
    let whole = z3950([
        "search", &place, "war", "--count", "400", "--format", "marc",
    ]);
    let ran = program::run(command.current_dir(&folder), &whole.stdout);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("cannot write y.mrc: "), "{ran:?}");
    assert!(ran.stderr.contains("y.mrc.part"), "{ran:?}");
    assert!(!folder.join("y.mrc").exists());
}

#[test]
fn binary_inputs_are_refused_before_anything_is_written() {
    let server = catalogue(2).start();
    let (_guard, folder) = folder();
    let place = format!("{}/books", server.addr());
    let (marc, program) = (folder.join("a.mrc"), folder.join("program"));
    let ran = z3950(["search", &place, "war", "--output", &text(&marc)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    fs::write(&program, b"\x7fELF\x02\x01\x01\0\0\0\0\n").expect("written");
    let (output, report) = (text(&folder.join("y.mrc")), text(&folder.join("y.tsv")));
    for (path, commands, words) in [
        (
            &marc,
            &["search"][..],
            "a.mrc: it holds MARC records, not one input a line",
        ),
        (
            &program,
            &["lookup", "search"],
            "program: it is binary, not text",
        ),
    ] {
        for command in commands.iter().copied() {
            let arguments = [command, &place, "--input", &text(path)];
            let arguments = arguments.into_iter().chain(["--output", &output]);
            let ran = z3950(arguments.chain(["--report", &report]));
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(ran.stderr.contains(words), "{ran:?}");
        }
    }
    assert_eq!(names(&folder), ["a.mrc", "program"]);
    // A line of 10 MB counts as one input, which is not sent.
    let long = folder.join("long");
    let mut file = fs::File::create(&long).expect("created");
    write!(file, "local:id1\n{}\nlocal:id2\n", "9".repeat(10 << 20)).expect("written");
    for _ in 0..2 {
        let arguments = ["lookup", &place, "--resume", "--input", &text(&long)];
        let arguments = arguments.into_iter().chain(["--output", &output]);
        let ran = z3950(arguments.chain(["--report", &report]));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert_eq!(records(Path::new(&output)), 2);
        let report = fs::read_to_string(&report).expect("read");
        assert!(report.contains("input 2 has more than 65536 octets"));
        assert_eq!(report.lines().count(), 4);
    }
}
