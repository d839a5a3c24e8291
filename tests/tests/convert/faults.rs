//! Tests of `z3950 convert` with errors in the input or in the arguments, and with system errors.

use std::path::Path;
use std::process::Stdio;

use z3950_marc::{Field, MarcRecord, iso2709};
use z3950_tests::program::path;
use z3950_tests::surroundings::command;

use super::command::*;

#[test]
fn user_and_system_errors_exit_with_2() {
    for (arguments, code) in [
        (&["/no/such/file"][..], 2),
        (&["--to", "nosuch"], 2),
        (&["--check", "--to", "json"], 2),
        (&["--to", "json", "-o", "/no/such/folder/file"], 2),
        (&["-o", "/"], 2),
    ] {
        assert_eq!(
            convert(arguments, &marc(&["a"])).code,
            Some(code),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_closed_pipe_is_not_a_fault() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("many.mrc");
    std::fs::write(&file, marc(&["a"]).repeat(20_000)).expect("written");
    let status = |file: &Path| {
        let mut child = command(path("z3950"))
            .arg("convert")
            .arg(file)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        child.wait().expect("it ends")
    };
    assert_eq!(status(&file).code(), Some(0));
}

#[test]
fn audit_a1_a_file_stays_where_nothing_is_converted() {
    let folder = tempfile::tempdir().expect("a directory");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (sound, keep) = (at("a.mrc"), at("keep.mrc"));
    std::fs::write(&sound, marc(&["a"])).expect("written");
    for (name, text) in [
        ("a.html", "<html/>"),
        ("a.txt", "text"),
        ("a.xml", "<collection/>"),
    ] {
        std::fs::write(at(name), text).expect("written");
    }
    for (arguments, code) in [
        (vec!["--from", "marcxml", &sound], 8),
        (vec![&at("a.html")], 8),
        (vec![&at("a.txt")], 8),
        (vec!["--offset", "999", &sound], 0),
        (vec!["--limit", "0", &sound], 0),
        (vec![&at("a.xml")], 0),
    ] {
        for there in [None, Some(marc(&["b"]))] {
            if let Some(there) = &there {
                std::fs::write(&keep, there).expect("written");
            }
            let run = |to| {
                let options = ["--to", to, "-o", &keep, "--overwrite"];
                convert(&[&options[..], &arguments[..]].concat(), "")
            };
            for to in ["marc", "marcxml"] {
                let ran = run(to);
                assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
                assert_eq!(std::fs::read_to_string(&keep).ok(), there, "{arguments:?}");
                assert!(ran.stderr.contains("keep.mrc is not written"), "{ran:?}");
            }
        }
        std::fs::remove_file(&keep).expect("removed");
    }
    // The records that can be read in a damaged file are written.
    std::fs::write(at("half.mrc"), marc(&["a"]) + "junk\x1D").expect("written");
    let ran = convert(&["--to", "marc", "-o", &keep, &at("half.mrc")], "");
    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&keep).expect("read"), marc(&["a"]));
}

#[test]
fn audit_a5_xml_without_marcxml_is_a_fault() {
    let html = "<html><body>Not found</body></html>";
    for (arguments, input) in [
        (&[][..], html.to_owned()),
        (&["--from", "marcxml"], marc(&["a"])),
    ] {
        let ran = convert(arguments, &input);
        let words = "no MARCXML records found; --from selects another format";
        assert_eq!(ran.code, Some(8), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
        let ran = convert(&[arguments, &["--check"]].concat(), &input);
        assert_eq!(ran.code, Some(8), "{arguments:?}: {ran:?}");
    }
    let ran = convert(&["--check"], "<collection/>");
    assert_eq!((ran.code, &*ran.stdout), (Some(0), ""));
    assert_eq!(ran.stderr, "note: standard input: it contains no records\n");
}

#[test]
fn content_outside_records_is_a_fault() {
    let form = |form: &str| convert(&["--to", form], &marc(&["a", "b"])).stdout;
    let (xml, mrk, lines) = (form("marcxml"), form("mrk"), form("line"));
    let rest = "=001  x\njunk\n";
    for (input, kept, words) in [
        (
            xml.replacen("<record", "<rexord", 1),
            &["b"][..],
            "are in no record",
        ),
        (
            format!("{xml}{}", marc(&["c"])),
            &["a", "b"],
            "are in no record",
        ),
        (
            xml.replacen("<controlfield tag=", "<controlfield tog=", 1),
            &["b"],
            "field without a tag left out",
        ),
        (
            format!("{}\n{}", mrk.trim_end(), marc(&["c"])),
            &["a", "b"],
            "line 8: a field begins with =",
        ),
        (format!("{mrk}\n{rest}"), &["a", "b", "x"], "line 10"),
        (
            format!("{}\n{}", lines.trim_end(), xml),
            &["a", "b"],
            "line 8 is not a field",
        ),
    ] {
        let ran = convert(&[], &input);
        assert_eq!(ran.code, Some(8), "{input}: {ran:?}");
        assert_eq!(numbers(&ran.stdout), kept, "{input}: {ran:?}");
        assert!(ran.stderr.contains(words), "{input}: {ran:?}");
    }
    for input in [xml, mrk, lines] {
        let ran = convert(&[], &input);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{input}");
    }
}

#[test]
fn audit_a5_characters_that_are_lost_are_a_fault() {
    let title = |text: &str| MarcRecord {
        fields: vec![Field::data(b"245", "10", [("a", text.to_owned())])],
        ..record("a")
    };
    let input = iso2709::encode(&title("Qur\u{2BE}an \u{2C7F}")).expect("short");
    let input = String::from_utf8(input.to_vec()).expect("UTF-8");
    let to = |charset| convert(&["--to", "marc", "--to-charset", charset], &input);
    let latin = to("iso-8859-1");
    assert_eq!(latin.code, Some(8), "{latin:?}");
    assert!(latin.stdout.contains("Qur?an ?"), "{latin:?}");
    let words = "2 characters are not in ISO-8859-1 and are written as ?: \u{2BE} (U+02BE), \u{2C7F} (U+2C7F)";
    assert!(latin.stderr.contains(words), "{latin:?}");
    // In MARC-8, the character is written as a numeric character reference (MARC 21). Reading the record decodes it again.
    let marc8 = to("marc-8");
    assert_eq!(marc8.code, Some(0), "{marc8:?}");
    assert!(marc8.stdout.contains("&#x2C7F;"), "{marc8:?}");
    let back = convert(&["--to", "line"], &marc8.stdout);
    assert!(back.stdout.contains("\u{2C7F}"), "{back:?}");

    // These octets are invalid in the character set that the record declares.
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("a.mrc");
    let mut octets = marc(&["a"]).into_bytes();
    let place = octets.windows(2).position(|two| two == "В".as_bytes());
    octets[place.expect("the title")] = 0xFF;
    std::fs::write(&path, octets).expect("written");
    let path = path.to_string_lossy();
    for arguments in [&["--check", &*path][..], &["--charset", "utf-8", &path]] {
        let ran = convert(arguments, "");
        assert_eq!(ran.code, Some(8), "{arguments:?}: {ran:?}");
    }
}
