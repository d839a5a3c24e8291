//! Compares conversions of danMARC records with those of yaz-marcdump: control fields with subfields, and danMARC's character
//! set, in both directions.

use std::path::Path;

use z3950_tests::peer::find;
use z3950_tests::program::z3950;
use z3950_tests::surroundings::command;

/// Returns a record whose leader states these indicator and identifier lengths.
fn record(indicators: u8, identifiers: u8, fields: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut directory, mut body) = (String::new(), Vec::new());
    for (tag, octets) in fields {
        directory += &format!("{tag}{:04}{:05}", octets.len() + 1, body.len());
        body.extend_from_slice(octets);
        body.push(0x1E);
    }
    let base = 24 + directory.len() + 1;
    let total = base + body.len() + 1;
    let (indicators, identifiers) = (char::from(indicators), char::from(identifiers));
    let head = format!("{total:05}nam  {indicators}{identifiers}{base:05}   4500{directory}\u{1E}");
    [head.as_bytes(), &body, b"\x1D"].concat()
}

fn yaz_marcdump(arguments: &[&str], file: &Path) -> Option<Vec<u8>> {
    let output = command(find("yaz-marcdump")?)
        .args(arguments)
        .arg(file)
        .output()
        .expect("it runs");
    Some(output.stdout)
}

/// Returns the lines of the output that are fields.
fn fields(lines: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(lines);
    let is_field = |line: &&str| line.get(3..4) == Some(" ");
    let lines = text.lines().filter(is_field);
    lines.map(str::to_owned).collect()
}

#[test]
fn audit_c4_control_fields_have_subfields_after_their_indicators() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("danmarc.mrc");
    for (indicators, count) in [(b'2', 2), (b'3', 3), (b'1', 1), (b'0', 2), (b' ', 2)] {
        for identifiers in *b"2 10" {
            let blanks = "000".get(..count).expect("ASCII");
            let numbers = format!("{blanks}\u{1F}a38423165\u{1F}bDBC");
            let language = format!("{blanks}\u{1F}adan");
            let octets = record(
                indicators,
                identifiers,
                &[
                    ("001", numbers.as_bytes()),
                    ("003", b"DBC"),
                    ("004", language.as_bytes()),
                    ("005", b"20260101000000.0"),
                    ("245", language.as_bytes()),
                ],
            );
            std::fs::write(&file, octets).expect("the file is written");
            let ours = z3950(["convert".as_ref(), file.as_os_str()]);
            assert_eq!(ours.code, Some(0), "{}", ours.stderr);
            let expected = [
                format!("001 {blanks} $a 38423165 $b DBC"),
                "003 DBC".to_owned(),
                format!("004 {blanks} $a dan"),
                "005 20260101000000.0".to_owned(),
                format!("245 {blanks} $a dan"),
            ];
            assert_eq!(fields(&ours.octets), expected);
            if let Some(theirs) = yaz_marcdump(&[], &file) {
                assert_eq!(fields(&theirs), expected, "{indicators} {identifiers}");
            }
            let xml = z3950([
                "convert".as_ref(),
                "--to".as_ref(),
                "marcxml".as_ref(),
                file.as_os_str(),
            ]);
            assert!(!xml.stdout.contains('\u{FFFD}'), "{}", xml.stdout);
            assert!(
                xml.stdout.contains("<subfield code=\"b\">DBC</subfield>"),
                "{}",
                xml.stdout
            );
        }
    }
}

#[test]
fn audit_c4_the_character_set_is_that_of_yaz_marcdump() {
    let folder = tempfile::tempdir().expect("a directory");
    let (file, back) = (
        folder.path().join("danmarc.mrc"),
        folder.path().join("utf8.mrc"),
    );
    let field = b"00\x1FaBl\xE5b\xE6r @@ @* @\xE5 @\xC5rhus @03BBx @0301@0302a ^y _y @0303Y \xC5 @UFCe \xA4";
    std::fs::write(&file, record(b'2', b'2', &[("001", b"1"), ("245", field)])).expect("written");
    let text = "Blåbær @ * \u{A733} \u{A732}rhus λx ấ ŷ y\u{332} Ỹ Å ë ¤";
    let ours = z3950([
        "convert".as_ref(),
        "--charset".as_ref(),
        "danmarc".as_ref(),
        file.as_os_str(),
    ]);
    assert_eq!((ours.code, &*ours.stderr), (Some(0), ""));
    assert_eq!(
        fields(&ours.octets),
        ["001 1", &format!("245 00 $a {text}")]
    );
    if let Some(theirs) = yaz_marcdump(&["-f", "danmarc", "-t", "utf8"], &file) {
        assert_eq!(fields(&crate::convert::nfc(&theirs)), fields(&ours.octets));
    }

    // yaz-marcdump can read the output of z3950.
    let utf8 = record(
        b'2',
        b'2',
        &[
            ("001", b"1"),
            ("245", format!("00\u{1F}a{text}").as_bytes()),
        ],
    );
    std::fs::write(&back, utf8).expect("written");
    for set in ["danmarc", "danmarc2"] {
        let written = z3950([
            "convert".as_ref(),
            "--to".as_ref(),
            "marc".as_ref(),
            "--to-charset".as_ref(),
            set.as_ref(),
            back.as_os_str(),
        ]);
        assert_eq!((written.code, &*written.stderr), (Some(0), ""), "{set}");
        std::fs::write(&file, &written.octets).expect("written");
        if let Some(theirs) = yaz_marcdump(&["-f", "danmarc", "-t", "utf8"], &file) {
            assert_eq!(
                fields(&crate::convert::nfc(&theirs)),
                fields(&ours.octets),
                "{set}"
            );
        }
        let again = z3950([
            "convert".as_ref(),
            "--charset".as_ref(),
            set.as_ref(),
            file.as_os_str(),
        ]);
        assert_eq!(fields(&again.octets), fields(&ours.octets), "{set}");
    }
}
