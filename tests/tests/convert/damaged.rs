//! Tests of `z3950 convert` on files in which every tenth record is damaged, from every format to every format. All other records
//! must be converted, in order.

use bytes::Bytes;
use z3950_marc::Field;
use z3950_marc::Form;
use z3950_marc::Leader;
use z3950_marc::MarcRecord;
use z3950_marc::charset::{Options, to_utf8};
use z3950_marc::iso2709;
use z3950_marc::stream::InputForm;
use z3950_tests::peer::find;
use z3950_tests::program::z3950;
use z3950_tests::random::Random;
use z3950_tests::surroundings::command;

use crate::convert::{files, records};

const HEALTHY: usize = 1080;
const DAMAGED: usize = 120;

#[test]
fn audit_a5_healthy_records_between_damaged_ones_in_every_form() {
    let records: Vec<MarcRecord> = (0..HEALTHY + DAMAGED).map(made).collect();
    all_come_through(&records);
}

#[test]
fn audit_a5_real_records_between_damaged_ones_in_every_form() {
    let real: Vec<Bytes> = files().iter().flat_map(|file| records(file)).collect();
    if real.is_empty() {
        return;
    }
    let records = real.iter().cycle().take(HEALTHY + DAMAGED);
    let records: Vec<MarcRecord> = records
        .map(|octets| {
            let found = iso2709::parse(octets).expect("a record").record;
            to_utf8(&found, &Options::default()).record
        })
        // Fields are left out if their text looks like a subfield in the line format, or contains control characters, which XML
        // cannot represent.
        .map(|record| MarcRecord {
            fields: record.fields.into_iter().filter(is_plain).collect(),
            ..record
        })
        .collect();
    all_come_through(&records);
}

fn is_plain(field: &Field) -> bool {
    let text = std::str::from_utf8(&field.body).unwrap_or("\u{0}");
    let odd = |character: char| character.is_control() && character != '\u{1F}';
    !text.contains(odd) && !text.contains(" $")
}

fn all_come_through(records: &[MarcRecord]) {
    let folder = tempfile::tempdir().expect("a directory");
    let input = folder.path().join("input");
    for (from, form) in [
        (InputForm::Marc, Form::Marc),
        (InputForm::MarcXml, Form::MarcXml),
        (InputForm::Json, Form::Json),
        (InputForm::Mrk, Form::Mrk),
        (InputForm::Line, Form::Line),
    ] {
        let mut random = Random::new(from.name());
        let (document, healthy) = document(form, records, &mut random);
        assert_eq!(healthy.len(), HEALTHY);
        std::fs::write(&input, document).expect("the file is written");
        for to in Form::ALL {
            let arguments = ["convert", "--from", from.name(), "--to", to.name()];
            let ran = z3950(
                arguments
                    .iter()
                    .map(AsRef::as_ref)
                    .chain([input.as_os_str()]),
            );
            assert_eq!(ran.code, Some(8), "{} to {}", from.name(), to.name());
            let missing = missing(&ran.octets, &healthy, to);
            assert_eq!(
                missing,
                Vec::<String>::new(),
                "{} to {}",
                from.name(),
                to.name()
            );
        }
        let arguments = ["convert", "--check", "--from", from.name()];
        let ran = z3950(
            arguments
                .iter()
                .map(AsRef::as_ref)
                .chain([input.as_os_str()]),
        );
        assert_eq!(ran.code, Some(8), "{}", from.name());
    }
}

/// Returns a document in which every tenth record is damaged, and the undamaged records.
fn document<'a>(
    form: Form,
    records: &'a [MarcRecord],
    random: &mut Random,
) -> (Vec<u8>, Vec<&'a MarcRecord>) {
    let mut document = form.begin().as_bytes().to_vec();
    let mut healthy = Vec::new();
    for (number, record) in records.iter().enumerate() {
        let mut written = Vec::new();
        form.write(record, &mut written).expect("short");
        if number % 10 == 5 {
            let line_ends = written
                .iter()
                .rev()
                .take_while(|octet| **octet == b'\n')
                .count();
            let length = written.len() - line_ends;
            // This cuts off the last octet, or two thirds of the record.
            written.truncate([length - 1, length / 3][random.below(2)]);
        } else {
            written.extend(form.between().as_bytes());
            healthy.push(record);
        }
        document.extend(written);
    }
    document.extend(form.end().as_bytes());
    (document, healthy)
}

/// Returns the control numbers of the records that are missing in the output, in order.
fn missing(output: &[u8], healthy: &[&MarcRecord], to: Form) -> Vec<String> {
    let mut rest = output;
    let mut missing = Vec::new();
    for record in healthy {
        let mut written = Vec::new();
        to.write(record, &mut written).expect("short");
        // The leader contains lengths, which depend on the format, so records are compared from the first field on.
        let wanted = match to {
            Form::Marc => iso2709_fields(&written),
            Form::MarcXml | Form::MarcXchange => after(&written, b"</leader>"),
            Form::Json => after(&written, b"\"fields\""),
            Form::Mrk | Form::Line => after(&written, b"\n"),
            _ => &written,
        };
        match position(rest, wanted) {
            Some(place) => rest = &rest[place + wanted.len()..],
            None => {
                let number = record.control_number().unwrap_or_default();
                missing.push(String::from_utf8_lossy(number).into_owned());
            }
        }
    }
    missing
}

fn iso2709_fields(octets: &[u8]) -> &[u8] {
    after(octets, b"\x1E")
}

fn after<'a>(octets: &'a [u8], mark: &[u8]) -> &'a [u8] {
    let place = position(octets, mark).expect("the form has it");
    &octets[place + mark.len()..]
}

fn position(octets: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = wanted.first()?;
    let mut places = octets
        .iter()
        .enumerate()
        .filter(|(_, octet)| *octet == first);
    places
        .find(|(place, _)| octets[*place..].starts_with(wanted))
        .map(|(place, _)| place)
}

fn made(number: usize) -> MarcRecord {
    let title = ["Война и мир", "Emma", "紅樓夢", "Être & <temps>"][number % 4];
    let record = MarcRecord {
        leader: Leader::default(),
        fields: vec![
            Field::control(b"001", format!("id{number}")),
            Field::control(b"008", "971201s1813    enk           000 1 eng  "),
            Field::data(b"245", "10", [("a", format!("{title} {number}"))]),
            Field::data(b"500", "  ", [("a", "Leader: 00714cam a2200205 a 4500")]),
            Field::data(
                b"650",
                " 0",
                [("a", "War. ".repeat(number % 50) + "Peace.")],
            ),
        ],
    };
    let octets = iso2709::encode(&record).expect("short");
    iso2709::parse(&octets.into())
        .expect("written by us")
        .record
}

/// For comparison, yaz-marcdump converts the same file.
#[test]
fn audit_a5_yaz_marcdump_finds_fewer() {
    let Some(program) = find("yaz-marcdump") else {
        return;
    };
    let records: Vec<MarcRecord> = (0..HEALTHY + DAMAGED).map(made).collect();
    let (document, _) = document(Form::Marc, &records, &mut Random::new("marc"));
    let folder = tempfile::tempdir().expect("a directory");
    let input = folder.path().join("input.mrc");
    std::fs::write(&input, document).expect("the file is written");
    let theirs = command(program).arg(&input).output().expect("it runs");
    let ours = z3950(["convert".as_ref(), input.as_os_str()]);
    let count = |octets: &[u8]| String::from_utf8_lossy(octets).matches("\n001 id").count();
    assert!(count(&ours.octets) >= HEALTHY, "{}", count(&ours.octets));
    assert!(count(&theirs.stdout) < count(&ours.octets));
}
