//! Tests of `z3950 convert` as a command: pipes, ranges, numbered files, checks, and exit codes.

use z3950_marc::Field;
use z3950_marc::Leader;
use z3950_marc::MarcRecord;
use z3950_marc::iso2709;
use z3950_marc::marcxml;
use z3950_tests::program::{Ran, z3950, z3950_fed};

pub(super) fn record(number: &str) -> MarcRecord {
    MarcRecord {
        leader: Leader(*b"00000nam a2200000   4500"),
        fields: vec![
            Field::control(b"001", number.to_owned()),
            Field::data(b"245", "10", [("a", "Война и мир")]),
        ],
    }
}

pub(super) fn marc(numbers: &[&str]) -> String {
    let octets = numbers
        .iter()
        .flat_map(|number| iso2709::encode(&record(number)).expect("short"));
    String::from_utf8(octets.collect()).expect("UTF-8")
}

pub(super) fn convert(arguments: &[&str], input: &str) -> Ran {
    z3950_fed(["convert"].iter().chain(arguments), input)
}

pub(super) fn numbers(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("001 "))
        .collect()
}

#[test]
fn standard_input_to_standard_output() {
    let input = marc(&["a", "b"]);
    let line = convert(&[], &input);
    assert_eq!((line.code, &*line.stderr), (Some(0), ""));
    assert_eq!(numbers(&line.stdout), ["a", "b"]);
    assert!(
        line.stdout.contains("\n245 10 $a Война и мир\n\n"),
        "{}",
        line.stdout
    );
    for form in ["marcxml", "marcxchange", "json", "mrk", "line"] {
        let there = convert(&["--to", form, "-"], &input);
        assert_eq!((there.code, &*there.stderr), (Some(0), ""), "{form}");
        let back = convert(&["--to", "marc"], &there.stdout);
        assert_eq!(
            (back.code, &*back.stderr, &*back.stdout),
            (Some(0), "", &*input),
            "{form}"
        );
        let named = convert(&["--from", form, "--to", "marc"], &there.stdout);
        assert_eq!(named.stdout, input, "{form}");
    }
    let empty = convert(&["--to", "marcxml"], "");
    assert_eq!(
        (empty.code, empty.stdout),
        (Some(0), marcxml::collection([]))
    );
}

#[test]
fn characters_that_xml_cannot_hold_are_lost() {
    let input = "=LDR  00000nam a2200000 a 4500\n=001  x\n=245  10$aT{x01}t\n";
    for (form, note, written) in [
        (
            "marcxml",
            "in 245 replaced, XML cannot hold them",
            "T\u{FFFD}t",
        ),
        (
            "dc",
            "control characters in 245 replaced by blanks",
            "<dc:title>T t</dc:title>",
        ),
    ] {
        let ran = convert(&["--to", form], input);
        assert_eq!(ran.code, Some(8), "{form}: {}", ran.stderr);
        assert!(ran.stderr.contains(note), "{form}: {}", ran.stderr);
        assert!(ran.stdout.contains(written), "{form}: {}", ran.stdout);
    }
    // Nonsorting control characters are not part of the text, so leaving them out is not a loss.
    let marks = "=LDR  00000nam a2200000 a 4500\n=245  10$a\u{98}The\u{9C} end\n";
    let ran = convert(&["--to", "dc"], marks);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
}

#[test]
fn ranges() {
    let input = marc(&["a", "b", "c", "d"]);
    for (arguments, expected) in [
        (&["--offset", "1"][..], &["b", "c", "d"][..]),
        (&["--limit", "2"], &["a", "b"]),
        (&["--offset", "1", "--limit", "2"], &["b", "c"]),
        (&["--offset", "9"], &[]),
        (&["--limit", "0"], &[]),
    ] {
        let ran = convert(arguments, &input);
        assert_eq!(
            (ran.code, numbers(&ran.stdout)),
            (Some(0), expected.to_vec()),
            "{arguments:?}"
        );
    }
}

#[test]
fn output_is_split_into_numbered_files() {
    let folder = tempfile::tempdir().expect("a directory");
    let template = folder.path().join("part-{}.xml");
    let template = template.to_string_lossy();
    let ran = convert(
        &["--to", "marcxml", "--split", "2", "-o", &template],
        &marc(&["a", "b", "c"]),
    );
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "", ""));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    for (name, expected) in [
        ("part-0001.xml", &["a", "b"][..]),
        ("part-0002.xml", &["c"]),
    ] {
        let ran = convert(&[], &read(name));
        assert_eq!(numbers(&ran.stdout), expected);
    }
    assert_eq!(
        std::fs::read_dir(folder.path())
            .expect("a directory")
            .count(),
        2
    );
    assert_eq!(convert(&["--split", "2"], "").code, Some(2));
    let file = folder.path().join("part-0001.xml");
    let file = file.to_string_lossy();
    // A run that writes fewer files than an earlier run does not remove the remaining files, but names them.
    let template = &*template;
    let arguments = ["--to", "marcxml", "--overwrite", "--split"];
    for (split, stale) in [
        ("1", &[][..]),
        ("2", &["part-0003.xml is of an earlier run\n"]),
        (
            "4",
            &["part-0002.xml to ", "part-0003.xml are of an earlier run\n"],
        ),
    ] {
        let options = [&arguments[..], &[split, "-o", template]].concat();
        let ran = convert(&options, &marc(&["a", "b", "c"]));
        assert_eq!((ran.code, &*ran.stdout), (Some(0), ""), "{ran:?}");
        assert_eq!(ran.stderr.is_empty(), stale.is_empty(), "{ran:?}");
        assert!(
            stale.iter().all(|words| ran.stderr.contains(words)),
            "{ran:?}"
        );
    }
    let ran = convert(&["-o", &file, &file], "");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        read("part-0001.xml").contains("<record>"),
        "it is not overwritten"
    );
}

#[test]
fn repeated_records_are_left_out() {
    let isbn = |number: &str, isbn: &str| {
        format!("=LDR  00000nam a2200000   4500\n=001  {number}\n=020  \\\\$a{isbn}\n\n")
    };
    let books = isbn("a", "0306406152") + &isbn("b", "978-0-306-40615-7") + &isbn("c", "wrong");
    for (key, input, kept, note) in [
        (
            "001",
            marc(&["a", "b", "a"]),
            &["a", "b"][..],
            "note: 3 records, 1 left out, each with the same 001 and 003 with an earlier one; -v lists them\n",
        ),
        ("001", marc(&["a", "b"]), &["a", "b"], ""),
        (
            "isbn",
            books,
            &["a", "c"],
            "note: 3 records, 1 left out, each with an ISBN in common with an earlier one; -v lists them\n",
        ),
    ] {
        let ran = convert(&["--dedupe", key], &input);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), note), "{key}");
        assert_eq!(numbers(&ran.stdout), kept, "{key}");
    }
    let ran = convert(&["--dedupe", "245"], "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn records_name_their_file() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("old.mrc");
    std::fs::write(&path, marc(&["a"])).expect("written");
    let path = path.to_string_lossy();
    let ran = convert(&["--to", "csv", "--fields", "001,source,title", &path], "");
    let expected = format!("001,source,title\r\na,{path},Война и мир\r\n");
    assert_eq!((ran.code, ran.stdout), (Some(0), expected));
    let ran = convert(&["--to", "json", &path], "");
    let record: serde_json::Value = serde_json::from_str(&ran.stdout).expect("an object");
    assert_eq!(record["source"], &*path);
    assert_eq!(record["title"], "Война и мир");
    assert_eq!(record["identifiers"]["local"][0], "a");
    let refused = convert(&["--fields", "001", &path], "");
    assert_eq!(
        (refused.code, &*refused.stdout),
        (Some(2), ""),
        "{refused:?}"
    );
}

#[test]
fn damage_is_listed_and_spares_the_other_records() {
    let sound = marc(&["a"]);
    let long = sound.replacen(&sound[..5], "00099", 1);
    let input = format!("{sound}{long}junk\u{1D}{sound}");
    let (second, third) = (sound.len(), 2 * sound.len());

    let checked = convert(&["--check"], &input);
    assert_eq!(checked.code, Some(8));
    let lines: Vec<&str> = checked.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", checked.stdout);
    assert!(lines[0].starts_with(&format!(
        "standard input: record 2 (octet {second}): record length 99 instead of"
    )));
    assert!(
        lines[1].starts_with(&format!("standard input: record 3 (octet {third}): ")),
        "{}",
        lines[1]
    );
    assert!(
        checked
            .stderr
            .ends_with("note: 4 records, 2 with structural faults\n"),
        "{}",
        checked.stderr
    );
    let checked = convert(&["--check"], &sound);
    assert_eq!(
        (checked.code, &*checked.stdout, &*checked.stderr),
        (Some(0), "", "note: 1 record, no structural faults\n")
    );

    let lenient = convert(&[], &input);
    assert_eq!((lenient.code, numbers(&lenient.stdout).len()), (Some(8), 3));
    assert!(
        lenient
            .stderr
            .starts_with("note: standard input: record 2 (octet "),
        "{}",
        lenient.stderr
    );
    assert!(
        lenient
            .stderr
            .contains("\nerror: standard input: record 3 (octet "),
        "{}",
        lenient.stderr
    );
    assert!(
        lenient
            .stderr
            .ends_with("\nwarning: 4 records, 1 left out\n"),
        "{}",
        lenient.stderr
    );
    let cut = convert(&[], &format!("{sound}{}", sound.replace('\u{1D}', "")));
    assert_eq!(cut.code, Some(8));
    assert!(
        cut.stderr
            .starts_with("warning: standard input: record 2 (octet "),
        "{}",
        cut.stderr
    );
    assert!(
        cut.stderr.ends_with("\nwarning: 2 records, 1 incomplete\n"),
        "{}",
        cut.stderr
    );
    let strict = convert(&["--strict"], &input);
    assert_eq!((strict.code, numbers(&strict.stdout).len()), (Some(8), 2));

    let mut odd = record("x");
    odd.fields
        .push(Field::data(b"500", "1", [("a", "\u{1B}[2J")]));
    // Leader positions 9 to 11 are changed after encoding, because the writer would correct them.
    let mut odd = iso2709::encode(&odd).expect("short");
    odd[9..12].copy_from_slice(b" 31");
    let odd = String::from_utf8(odd).expect("UTF-8");
    let checked = convert(&["--check"], &odd).stdout;
    for fault in [
        "leader position 9",
        "leader position 10 is 3, which fits no field",
        "leader position 11 is 1, which fits no field",
        "field 500: a control character",
        "field 500: not two indicators",
    ] {
        assert!(checked.contains(fault), "{fault}\n{checked}");
    }
}

#[test]
fn audit_r_x4_messages_about_records_are_few() {
    let sound = marc(&["a"]);
    let no_leader = "=001  x\n\n".repeat(300);
    for (arguments, input, label, printed, more) in [
        (
            &[][..],
            "\u{1D}".repeat(2000),
            "error: ",
            21,
            "note: 1980 more errors; -v shows all\n",
        ),
        (
            &[],
            "\u{1D}".repeat(21),
            "error: ",
            21,
            "note: 1 more error; -v shows all\n",
        ),
        (&[], "\u{1D}".repeat(20), "error: ", 21, ""),
        (
            &["--from", "mrk"],
            no_leader,
            "warning: ",
            21,
            "note: 280 more warnings; -v shows all\n",
        ),
        (
            &[],
            sound.replacen('0', "1", 1).repeat(50),
            "note: ",
            21,
            "note: 30 more notes; -v shows all\n",
        ),
    ] {
        let ran = convert(arguments, &input);
        let found = ran.stderr.lines().filter(|line| line.starts_with(label));
        assert_eq!(found.count(), printed, "{}", ran.stderr);
        assert!(ran.stderr.contains(more), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("-v shows all"), !more.is_empty());
    }
    let all = convert(&["-v"], &"\u{1D}".repeat(100)).stderr;
    assert_eq!(all.matches("left out: ").count(), 100, "{all}");
    let links = z3950_fed(["url", "extract", "--from", "marc"], "\u{1D}".repeat(100));
    assert_eq!(links.stderr.matches("warning: record ").count(), 20);
    assert!(
        links
            .stderr
            .ends_with("note: 80 more warnings; -v shows all\n"),
        "{}",
        links.stderr
    );
}

#[test]
fn character_sets() {
    let record = MarcRecord {
        leader: Leader(*b"00000nam  2200000   4500"),
        fields: vec![Field::data(b"245", "10", [("a", b"caf\xE2e")])],
    };
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("cafe.mrc");
    std::fs::write(&file, iso2709::encode(&record).expect("short")).expect("written");
    let file = file.to_string_lossy();
    let ran = |arguments: &[&str]| z3950(["convert", &file].iter().chain(arguments));
    assert!(ran(&[]).stdout.contains("$a café"));
    assert!(ran(&["--charset", "latin1"]).stdout.contains("$a cafâe"));
    let back = ran(&["--to", "marc", "--to-charset", "marc-8"]);
    assert_eq!(back.octets, iso2709::encode(&record).expect("short"));
    assert_eq!(
        ran(&["--to", "json", "--to-charset", "marc-8"]).code,
        Some(2)
    );
    assert_eq!(ran(&["--charset", "nosuch"]).code, Some(2));
}
