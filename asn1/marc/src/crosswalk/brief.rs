//! Converts a MARC record to a few lines, with the areas and the punctuation of ISBD (ISBD consolidated edition, areas
//! 1 to 8). MARC 21 records contain their punctuation; in UNIMARC records, it is added for each subfield.

use super::labels::{
    Joint, Label, clean, effective_tag, is_placeholder, is_unimarc, label, standard_numbers,
};
use crate::record::{Field, MarcRecord};

/// Returns the record in up to four lines, each ended by a newline: the heading; the title and responsibility; the
/// edition, publication, description and series; and the standard numbers and control number.
///
/// Headings and titles in another script (880) have their own lines. Missing parts are left out, and a record without
/// any of these parts is one empty line. Control characters become spaces.
pub fn brief_text(record: &MarcRecord) -> String {
    let unimarc = is_unimarc(record);
    let mut lines = Vec::new();
    if unimarc {
        lines.extend(UNIMARC_HEADING.values(record));
        lines.extend(areas(record, "200", UNIMARC_TITLE));
        let mut rest = areas(record, "205", UNIMARC_EDITION);
        rest.extend(areas(record, "210 214", UNIMARC_PUBLICATION));
        rest.extend(areas(record, "215", UNIMARC_DESCRIPTION));
        let series = areas(record, "225", UNIMARC_SERIES).into_iter();
        rest.extend(series.map(|series| format!("({series})")));
        lines.push(joined(&rest));
    } else {
        lines.extend(MARC21_HEADING.values(record));
        lines.extend(MARC21_TITLE.values(record));
        let mut rest = Vec::new();
        for area in MARC21_AREAS {
            rest.extend(area.values(record));
        }
        let series = MARC21_SERIES.values(record);
        rest.extend(series.map(|series| format!("({})", series.trim_end_matches('.'))));
        lines.push(joined(&rest));
    }
    lines.push(numbers(record, unimarc));
    let mut text = String::new();
    for line in lines.iter().filter(|line| !line.is_empty()) {
        text.push_str(line);
        text.push('\n');
    }
    if text.is_empty() {
        text.push('\n');
    }
    text
}

const MARC21_HEADING: Label = label("", "100 110 111 130", "abcdfgklnpqt", Joint::Blank);
const MARC21_TITLE: Label = label("", "245", "abcfgknps", Joint::Blank);
const MARC21_SERIES: Label = label("", "440 490", "anpvx", Joint::Blank);
const MARC21_AREAS: &[Label] = &[
    label("", "250", "ab", Joint::Blank),
    label("", "260 264", "abc", Joint::Blank),
    label("", "300", "abce", Joint::Blank),
];

const UNIMARC_HEADING: Label = label("", "700 710 720", "abcdf", Joint::Comma);
/// The subfield codes of an area, each with the punctuation that precedes it.
type Punctuation = [(u8, &'static str)];
const UNIMARC_TITLE: &Punctuation = &[
    (b'a', " ; "),
    (b'c', ". "),
    (b'd', " = "),
    (b'e', " : "),
    (b'f', " / "),
    (b'g', " ; "),
    (b'h', ". "),
    (b'i', ". "),
];
const UNIMARC_EDITION: &Punctuation = &[(b'a', ""), (b'b', ", "), (b'f', " / "), (b'g', " ; ")];
const UNIMARC_PUBLICATION: &Punctuation = &[(b'a', " ; "), (b'c', " : "), (b'd', ", ")];
const UNIMARC_DESCRIPTION: &Punctuation =
    &[(b'a', ", "), (b'c', " : "), (b'd', " ; "), (b'e', " + ")];
const UNIMARC_SERIES: &Punctuation = &[
    (b'a', ""),
    (b'd', " = "),
    (b'e', " : "),
    (b'f', " / "),
    (b'h', ". "),
    (b'i', ". "),
    (b'v', " ; "),
    (b'x', ", ISSN "),
];

/// Returns the areas of the fields with the given `tags` (separated by spaces), in record order.
fn areas(record: &MarcRecord, tags: &str, punctuation: &Punctuation) -> Vec<String> {
    let wanted = |field: &&Field| {
        let tag = effective_tag(field);
        tags.split(' ').any(|known| known.as_bytes() == tag)
    };
    let fields = record.fields.iter().filter(wanted);
    fields
        .map(|field| area(field, punctuation))
        .filter(|area| !area.is_empty())
        .collect()
}

fn area(field: &Field, punctuation: &Punctuation) -> String {
    let mut area = String::new();
    for subfield in field.subfields() {
        let known = |(code, _): &&(u8, &str)| subfield.code == [*code];
        let data = clean(subfield.data);
        if let Some((_, in_front)) = punctuation.iter().find(known)
            && !data.is_empty()
            && !is_placeholder(&data)
        {
            if !area.is_empty() {
                area.push_str(in_front);
            }
            area.push_str(&data);
        }
    }
    area
}

/// Joins areas on one line, with dashes between them. A full stop is added to each area that does not end with
/// punctuation.
fn joined(areas: &[String]) -> String {
    let mut line = String::new();
    for area in areas {
        if !line.is_empty() {
            line.push_str(" – ");
        }
        line.push_str(area);
        if !area.ends_with(['.', '?', '!', ')', ']']) {
            line.push('.');
        }
    }
    line
}

/// Returns the standard numbers, followed by the control number in brackets.
fn numbers(record: &MarcRecord, unimarc: bool) -> String {
    let mut numbers = Vec::new();
    for (name, number) in standard_numbers(record, unimarc) {
        let number = number.trim_end_matches([' ', ':', ';', ',']);
        if !number.is_empty() {
            let is_labelled = number.to_ascii_uppercase().contains(name);
            let label = if is_labelled { "" } else { name };
            numbers.push(format!("{label} {number}").trim_start().to_owned());
        }
    }
    if let Some(number) = record.control_number()
        && !number.is_empty()
    {
        numbers.push(format!("[{}]", clean(number)));
    }
    numbers.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Leader;

    fn check(fields: Vec<Field>, text: &str) {
        let leader = Leader::default();
        assert_eq!(brief_text(&MarcRecord { leader, fields }), text);
    }

    #[test]
    fn books() {
        check(
            vec![
                Field::control(b"001", "pg1342 "),
                Field::data(b"020", "  ", [("a", "9780141439518 :"), ("c", "£5")]),
                Field::data(b"100", "1 ", [("a", "Tolstoy, Leo,"), ("d", "1828-1910.")]),
                Field::data(
                    b"245",
                    "10",
                    [
                        ("6", "880-01"),
                        ("a", "Voina i mir /"),
                        ("c", "L. Tolstoi."),
                    ],
                ),
                Field::data(b"250", "  ", [("a", "2. izd.")]),
                Field::data(
                    b"264",
                    " 1",
                    [("a", "Moskva :"), ("b", "Ris,"), ("c", "1869")],
                ),
                Field::data(b"300", "  ", [("a", "6 v. ;"), ("c", "20 cm.")]),
                Field::data(b"490", "0 ", [("a", "Classics ;"), ("v", "1.")]),
                Field::data(b"880", "10", [("6", "245-01/(N"), ("a", "Война и мир")]),
            ],
            "Tolstoy, Leo, 1828-1910.\n\
             Voina i mir / L. Tolstoi.\n\
             Война и мир\n\
             2. izd. – Moskva : Ris, 1869. – 6 v. ; 20 cm. – (Classics ; 1)\n\
             ISBN 9780141439518 [pg1342]\n",
        );
        check(
            vec![
                Field::control(b"001", "FRBNF1"),
                Field::data(b"011", "  ", [("a", "0035-2667")]),
                Field::data(
                    b"200",
                    "1 ",
                    [
                        ("a", "\u{98}La \u{9C}Revue"),
                        ("b", "Texte"),
                        ("e", "des lettres"),
                        ("f", "A. Nom"),
                        ("g", "B. Nom"),
                    ],
                ),
                Field::data(
                    b"210",
                    "  ",
                    [("a", "Paris"), ("c", "Noubel"), ("d", "1874-")],
                ),
                Field::data(
                    b"215",
                    "  ",
                    [("a", "3 vol."), ("c", "ill."), ("d", "22 cm")],
                ),
                Field::data(b"225", "| ", [("a", "Études"), ("v", "4")]),
                Field::data(
                    b"700",
                    " |",
                    [("a", "Nom"), ("b", "Anne"), ("f", "1830-1890")],
                ),
            ],
            "Nom, Anne, 1830-1890\n\
             La Revue : des lettres / A. Nom ; B. Nom\n\
             Paris : Noubel, 1874-. – 3 vol. : ill. ; 22 cm. – (Études ; 4)\n\
             ISSN 0035-2667 [FRBNF1]\n",
        );
    }

    #[test]
    fn nothing_to_show() {
        check(vec![], "\n");
        check(vec![Field::data(b"245", "10", [("a", "\u{1B}")])], "\n");
        check(vec![Field::control(b"001", "x")], "[x]\n");
    }
}
