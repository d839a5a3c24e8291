//! Tests of the files that `z3950 convert` writes: the format given by the file extension, missing inputs, and signals.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use z3950_tests::program::{path, z3950, z3950_fed};
use z3950_tests::surroundings::command;

const RECORD: &str = "=LDR  00000nam a2200000 a 4500\n=001  one\n=245  10$aTitle\n\n";

/// A number of records that is too large for the buffers of a pipe and of the program.
const MANY: usize = 40_000;

#[test]
fn the_name_of_the_output_selects_its_form() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, options, begin) in [
        ("x.xml", &[][..], "<?xml"),
        ("x.json", &[], "{"),
        ("x.jsonl", &[], "{"),
        ("x.mrk", &[], "=LDR"),
        ("x.mrc", &[], "000"),
        ("x.MARC", &[], "000"),
        ("x.txt", &[], "00000nam"),
        ("y.xml", &["--to", "mrk"], "=LDR"),
        ("named", &["--to", "mrk"], "=LDR"),
    ] {
        let output = folder.path().join(name);
        let output = output.to_str().expect("text");
        let ran = z3950_fed([&["convert", "-o", output], options].concat(), RECORD);
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        let written = std::fs::read_to_string(output).expect("text");
        assert!(written.starts_with(begin), "{name}: {written}");
    }
    // Standard output does not have a file name that could select a format.
    for (options, begin) in [(&[][..], "00000nam"), (&["--to", "marcxml"], "<?xml")] {
        let ran = z3950_fed([&["convert", "-o", "-"], options].concat(), RECORD);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.starts_with(begin), "{ran:?}");
    }
    let output = folder.path().join("nothing");
    let ran = z3950_fed(["convert", "-o", output.to_str().expect("text")], RECORD);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("or give --format"), "{ran:?}");
    assert!(!output.exists());
}

#[test]
fn nothing_is_written_if_an_input_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(at("a.mrk"), RECORD).expect("written");
    std::fs::create_dir(at("folder")).expect("made");
    for missing in ["nofile", "folder"] {
        let ran = z3950(["convert", &at("a.mrk"), &at(missing), "-o", &at("x.mrc")]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(missing), "{ran:?}");
        let left = std::fs::read_dir(&folder).expect("a folder").count();
        assert_eq!(left, 2, "{ran:?}");
    }
}

/// Starts `z3950 convert` with these arguments.
fn started(arguments: &[&str]) -> Child {
    command(path("z3950"))
        .arg("convert")
        .args(arguments)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn send(signal: &str, child: &Child) {
    let sent = command("kill")
        .args(["-s", signal, &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
    sent.expect("kill starts");
}

fn pipe(path: &Path) {
    let made = command("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo starts").success());
}

#[test]
fn a_signal_keeps_the_converted_records_as_a_draft() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("x.xml");
        let mut child = started(&["-o", output.to_str().expect("text")]);
        let mut input = child.stdin.take().expect("standard input is piped");
        let records = RECORD.repeat(MANY);
        input.write_all(records.as_bytes()).expect("it is read");
        // The input is still open, so the program is waiting for more records.
        send(signal, &child);
        let ended = child.wait_with_output().expect("it ends");
        drop(input);
        let words = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{signal}: {words}");
        let draft = folder.path().join("x.xml.part");
        assert!(
            words.contains("incomplete") && words.contains("x.xml.part"),
            "{signal}: {words}"
        );
        let draft = std::fs::read_to_string(draft).expect("text");
        assert!(draft.contains("</record>"), "{signal}");
        assert!(draft.ends_with("</collection>\n"), "{signal}");
        let left = std::fs::read_dir(&folder).expect("a folder").count();
        assert_eq!(left, 1, "{signal}: neither output nor lock");
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_pipe_without_a_writer() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("input"), folder.path().join("x.mrc"));
    pipe(&input);
    let names = [&input, &output].map(|path| path.to_str().expect("text"));
    let child = started(&[names[0], "-o", names[1]]);
    let lock = folder.path().join(".x.mrc.lock");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !lock.exists() && Instant::now() < deadline {
        z3950_tests::pause();
    }
    send("INT", &child);
    let ended = child.wait_with_output().expect("it ends");
    assert!(!ended.status.success(), "{ended:?}");
    assert!(!output.exists());
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in.mrk"), folder.path().join("x.mrc"));
    std::fs::write(&input, RECORD.repeat(MANY)).expect("written");
    pipe(&output);
    // Nothing reads the pipe, so the program blocks when it is full.
    let reader = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&output);
    let reader = reader.expect("a pipe");
    let names = [&input, &output].map(|path| path.to_str().expect("text"));
    let mut child = started(&[names[0], "-o", names[1]]);
    let mut octet = [0];
    std::io::Read::read_exact(&mut &reader, &mut octet).expect("it writes");
    let deadline = Instant::now() + Duration::from_secs(30);
    // Signals may be merged with earlier ones, so the signal is sent repeatedly until the program ends.
    let status = loop {
        send("TERM", &child);
        match child.try_wait().expect("it can be waited for") {
            Some(status) => break status,
            None => assert!(Instant::now() < deadline, "it ends"),
        }
        z3950_tests::pause();
    };
    assert_eq!(status.code(), Some(143));
}

#[test]
fn dev_stdout_is_written_at_the_current_position() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in.mrk"), folder.path().join("out"));
    std::fs::write(&input, RECORD).expect("written");
    let mut file = std::fs::File::create(&output).expect("made");
    file.write_all(b"before\n").expect("written");
    let status = command(path("z3950"))
        .args(["convert", "--to", "mrk", "-o", "/dev/stdout"])
        .arg(&input)
        .stdout(file.try_clone().expect("cloned"))
        .status();
    assert!(status.expect("the program starts").success());
    file.write_all(b"after\n").expect("written");
    let written = std::fs::read_to_string(&output).expect("text");
    assert!(
        written.starts_with("before\n=LDR") && written.ends_with("after\n"),
        "{written}"
    );
    assert!(written.contains("$aTitle"), "{written}");
}
