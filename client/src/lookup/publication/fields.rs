//! The fields of a record that describe a publication (MARC 21 and UNIMARC), including fields in another script
//! (880).

use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::{Field, MarcRecord};

/// A part of a title, by the kind of its subfield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The title proper.
    Title,
    /// The number or name of a part (section) of the work.
    Section,
    /// Other title information, such as a subtitle.
    Rest,
}

/// The fields in which a MARC format stores the description of a publication.
pub(super) struct Places {
    title: &'static [u8; 3],
    parts: &'static [(&'static [u8], Part)],
    responsibility: &'static [&'static [u8]],
    pub(super) main_entries: &'static [&'static [u8; 3]],
    pub(super) added_entries: &'static [&'static [u8; 3]],
    /// Whether the format is MARC 21, in which a name is a single string, such as `Austen, Jane`, and is not divided
    /// into subfields.
    pub(super) is_marc_21: bool,
}

const MARC_21: Places = Places {
    title: b"245",
    parts: &[
        (b"a", Part::Title),
        (b"n", Part::Section),
        (b"p", Part::Section),
        (b"b", Part::Rest),
    ],
    responsibility: &[b"c"],
    main_entries: &[b"100", b"110", b"111"],
    added_entries: &[b"700", b"710", b"711", b"720"],
    is_marc_21: true,
};
const UNIMARC: Places = Places {
    title: b"200",
    parts: &[
        (b"a", Part::Title),
        (b"h", Part::Section),
        (b"i", Part::Section),
        (b"e", Part::Rest),
    ],
    responsibility: &[b"f", b"g"],
    main_entries: &[b"700", b"710", b"720"],
    added_entries: &[b"701", b"702", b"711", b"712", b"721", b"722"],
    is_marc_21: false,
};

impl Places {
    pub(super) fn of(record: &MarcRecord) -> &'static Self {
        if is_unimarc(record) {
            &UNIMARC
        } else {
            &MARC_21
        }
    }

    /// Returns the title fields. Fields in another script come last.
    pub(super) fn titles<'a>(&self, record: &'a MarcRecord) -> Vec<&'a Field> {
        fields(record, self.title)
    }

    /// Returns the parts of a title. Only the first title proper is included, because in UNIMARC a second title proper
    /// is the title of another work.
    pub(super) fn parts<'a>(&self, title: &'a Field) -> Vec<(Part, &'a [u8])> {
        let mut has_title = false;
        let parts = title.subfields().filter_map(|subfield| {
            let mut known = self.parts.iter();
            let (_, part) = known.find(|(code, _)| *code == subfield.code)?;
            let is_another = *part == Part::Title && std::mem::replace(&mut has_title, true);
            (!is_another).then_some((*part, subfield.data))
        });
        parts.collect()
    }

    /// Returns the number of non-filing characters at the beginning of a title according to its indicator, or 0 in
    /// UNIMARC, which marks these characters in the text.
    pub(super) fn skipped(&self, title: &Field) -> usize {
        let indicator = title.indicators().get(1).copied();
        let digit = indicator.filter(|octet| self.is_marc_21 && octet.is_ascii_digit());
        digit.map_or(0, |digit| usize::from(digit - b'0'))
    }

    /// Returns the statements of responsibility.
    pub(super) fn responsibility(&self, title: &Field) -> String {
        let subfields = title.subfields();
        let said = subfields.filter(|subfield| self.responsibility.contains(&subfield.code));
        said.map(|subfield| text(subfield.data))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns the MARC code of the language of the text, or an empty string if the language is unknown.
    pub(super) fn language(&self, record: &MarcRecord) -> String {
        let coded = record.fields_by_tag("008").next().and_then(Field::value);
        let coded = coded
            .and_then(|coded| coded.get(35..38))
            .filter(|_| self.is_marc_21);
        let tag = if self.is_marc_21 { "041" } else { "101" };
        let named = || {
            record
                .fields_by_tag(tag)
                .find_map(|field| field.subfield("a"))
        };
        let code = coded.filter(|code| code.iter().all(u8::is_ascii_alphabetic));
        let code = code.or_else(named).and_then(|code| code.get(..3));
        let code = String::from_utf8_lossy(code.unwrap_or_default());
        code.trim().to_ascii_lowercase()
    }
}

/// Returns the fields with a tag. Fields in another script (880) come last.
pub(super) fn fields<'a>(record: &'a MarcRecord, tag: &[u8; 3]) -> Vec<&'a Field> {
    let linked = record.fields_by_tag("880").filter(|field| {
        field
            .subfield("6")
            .is_some_and(|linked| linked.starts_with(tag))
    });
    record.fields_by_tag(tag).chain(linked).collect()
}

/// Returns the text of a subfield on one line.
pub(super) fn text(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
