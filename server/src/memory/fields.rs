//! Which fields of a MARC 21 record feed which access point, after the Library of Congress's list of Bib-1 Use attributes
//! and the fields they stand for; an 880 in another script counts as the field it is linked to.

use z3950_asn1::record::{Field, MarcRecord, Tag};

/// Title proper, other titles and series: Use 4.
const TITLE: &[&str] = &[
    "130", "240", "242", "243", "245", "246", "247", "440", "490", "730", "740", "830", "840",
];
/// The parts of a title field that are no title: responsibility, medium, numbering and relations.
const NOT_OF_TITLE: &[u8] = b"chivwx";
/// Fields with a name, whose `$t` is a title.
const NAMES: &[&str] = &[
    "100", "110", "111", "400", "410", "411", "600", "610", "611", "700", "710", "711", "800",
    "810", "811",
];
/// Names of authors: Use 1003. Those of 6XX are subjects.
const AUTHOR: &[&str] = &[
    "100", "110", "111", "400", "410", "411", "700", "710", "711", "800", "810", "811",
];
/// The parts of a name field that are the name.
const OF_NAME: &[u8] = b"abcdjqu";

/// The access points that a subfield feeds, beside "any".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Feeds {
    pub(super) title: bool,
    pub(super) author: bool,
}

/// The texts of a record that can be searched for words, field by field.
///
/// "Any" (Use 1016) has all of them: the control number, ISBN and ISSN, and everything from 1XX to 8XX.
pub(super) fn texts(record: &MarcRecord) -> impl Iterator<Item = Vec<(Feeds, &[u8])>> {
    record.fields.iter().filter_map(|field| {
        let tag = effective_tag(field);
        match tag.as_ref() {
            b"001" => Some(vec![(
                Feeds {
                    title: false,
                    author: false,
                },
                &*field.body,
            )]),
            b"020" | b"022" | [b'1'..=b'8', ..] => Some(subfields(field, tag)),
            _ => None,
        }
    })
}

fn subfields(field: &Field, tag: Tag) -> Vec<(Feeds, &[u8])> {
    let is = |tags: &[&str]| tags.iter().any(|known| known.as_bytes() == tag.as_ref());
    let (title, author, name) = (is(TITLE), is(AUTHOR), is(NAMES));
    field
        .subfields()
        .filter_map(|subfield| match subfield.code {
            // Numbered subfields link and control; $a of a field without delimiters has no code.
            [code] if code.is_ascii_digit() => None,
            [code] => Some((
                Feeds {
                    title: title && !NOT_OF_TITLE.contains(code) || name && *code == b't',
                    author: author && OF_NAME.contains(code),
                },
                subfield.data,
            )),
            _ => Some((
                Feeds {
                    title: false,
                    author: false,
                },
                subfield.data,
            )),
        })
        .collect()
}

/// The tag a field counts as: that in `$6` for an 880 (MARC 21 Appendix A, `$6 245-01/(N`).
pub(super) fn effective_tag(field: &Field) -> Tag {
    if field.tag.as_ref() != b"880" {
        return field.tag;
    }
    let linked = field.subfield("6").and_then(|link| link.first_chunk::<3>());
    linked.map_or(field.tag, Tag::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: Field, title: &str, author: &str, any: &str) {
        let record = MarcRecord {
            fields: vec![field],
            ..MarcRecord::default()
        };
        let texts: Vec<_> = texts(&record).flatten().collect();
        let joined = |feeds: fn(Feeds) -> bool| {
            let of = texts.iter().filter(|(to, _)| feeds(*to));
            of.map(|(_, text)| String::from_utf8_lossy(text))
                .collect::<Vec<_>>()
                .join("|")
        };
        let found = (
            joined(|to| to.title),
            joined(|to| to.author),
            joined(|_| true),
        );
        assert_eq!(
            found,
            (title.into(), author.into(), any.into()),
            "{record:?}"
        );
    }

    #[test]
    fn fields_feed_their_access_points() {
        let data =
            |tag, subfields: &[(&str, &str)]| Field::data(tag, "  ", subfields.iter().copied());
        check(
            data(b"245", &[("a", "War /"), ("c", "Tolstoy")]),
            "War /",
            "",
            "War /|Tolstoy",
        );
        check(
            data(b"100", &[("a", "Tolstoy"), ("t", "War")]),
            "War",
            "Tolstoy",
            "Tolstoy|War",
        );
        check(
            data(b"600", &[("a", "Homer"), ("t", "Iliad")]),
            "Iliad",
            "",
            "Homer|Iliad",
        );
        check(
            data(b"880", &[("6", "245-01/(N"), ("a", "Война")]),
            "Война",
            "",
            "Война",
        );
        check(data(b"880", &[("a", "unlinked")]), "", "", "unlinked");
        check(data(b"650", &[("a", "War"), ("2", "lcsh")]), "", "", "War");
        check(data(b"040", &[("a", "DLC")]), "", "", "");
        check(Field::control(b"001", "pg1"), "", "", "pg1");
        check(Field::control(b"008", "eng"), "", "", "");
    }
}
