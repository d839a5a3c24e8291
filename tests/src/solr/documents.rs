//! Converts MARC 21 records to documents in the same way as the indexers of VuFind and Blacklight. The tables list the subfields
//! from which each field is filled. Depending on the field, the punctuation of the record is retained or removed.

use serde_json::{Map, Value, json};
use z3950_marc::{Field, MarcRecord, iso2709, language, marcjson, marcxml};

/// The format in which a document contains the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordForm {
    /// ISO 2709.
    Iso2709,
    /// ISO 2709, with separators written as `#29;`, `#30;` and `#31;`.
    Escaped,
    /// MARCXML.
    Xml,
    /// A MARCXML collection that consists of one record.
    Collection,
    /// MARC-in-JSON.
    Json,
}

impl RecordForm {
    /// All formats.
    pub const ALL: [Self; 5] = [
        Self::Iso2709,
        Self::Escaped,
        Self::Xml,
        Self::Collection,
        Self::Json,
    ];

    /// Returns a record in this format.
    ///
    /// # Panics
    /// Panics if the record cannot be written in this format.
    pub fn written(self, record: &MarcRecord) -> String {
        let exchanged = || {
            let octets = iso2709::encode(record).expect("fits");
            String::from_utf8(octets).expect("UTF-8")
        };
        match self {
            Self::Iso2709 => exchanged(),
            Self::Escaped => exchanged()
                .replace('\u{1d}', "#29;")
                .replace('\u{1e}', "#30;")
                .replace('\u{1f}', "#31;"),
            Self::Xml => marcxml::to_xml(record).text,
            Self::Collection => marcxml::collection([record]),
            Self::Json => marcjson::to_json(record),
        }
    }
}

/// The places from which VuFind's fields are filled. A place consists of a tag and the codes of subfields, whose values are
/// joined with spaces. If no codes are given, all subfields are used.
const VUFIND: [(&str, &str); 28] = [
    ("author", "100abcd"),
    ("author2", "700abcd"),
    ("author_corporate", "110ab 111ab 710ab 711ab"),
    ("author_additional", "505r 245c"),
    (
        "title_alt",
        "130adfgklnpst 240a 246abnp 505t 700t 710t 711t 730adfgklnpst 740a",
    ),
    ("title_old", "247ab 780ast"),
    ("title_new", "785ast"),
    ("series", "440ap 800abcdfpqt 830ap"),
    ("series2", "490a"),
    ("publisher", "260b 264b"),
    ("edition", "250a"),
    ("physical", "300abcefg"),
    ("contents", "505a 505t"),
    ("topic", "600 610 611 630 650 653 656"),
    ("genre", "655"),
    ("geographic", "651"),
    ("era", "648"),
    (
        "topic_facet",
        "600x 610x 611x 630x 648x 650a 650x 651x 655x",
    ),
    (
        "genre_facet",
        "600v 610v 611v 630v 648v 650v 651v 655a 655v",
    ),
    (
        "geographic_facet",
        "600z 610z 611z 630z 648z 650z 651a 651z 655z",
    ),
    ("era_facet", "600d 610y 611y 630y 648a 648y 650y 651y 655y"),
    ("isbn", "020a 773z"),
    ("issn", "022a 440x 490x 730x 776x 780x 785x"),
    ("ctrlnum", "035a"),
    ("callnumber-raw", "050ab 090ab"),
    ("dewey-raw", "082a 083a"),
    ("institution", "040a"),
    ("building", "852b"),
];

/// VuFind's fields that have only one value.
const OF_VUFIND_ONCE: [(&str, &str); 6] = [
    ("title", "245ab"),
    ("title_short", "245a"),
    ("title_sub", "245b"),
    ("title_full", "245abcfghknps"),
    ("title_auth", "245ab"),
    ("lccn", "010a"),
];

/// The places from which Blacklight's fields are filled.
const BLACKLIGHT: [(&str, &str); 7] = [
    (
        "title_addl_tsim",
        "245abnps 130 240abcdefgklmnopqrs 210ab 222ab 242abnp 243abcdefgklmnopqrs 246abcdefgnp 247abcdefgnp",
    ),
    (
        "title_added_entry_tsim",
        "700gklmnoprst 710fgklmnopqrst 711fgklnpst 730abcdefgklmnopqrst 740anp",
    ),
    ("title_series_tsim", "440anpv 490av"),
    ("author_tsim", "100abcegqu 110abcdegnu 111acdegjnqu"),
    ("author_addl_tsim", "700abcegqu 710abcdegnu 711acdegjnqu"),
    ("subject_tsim", "600 610 611 630 650 651avxyz"),
    (
        "subject_addl_tsim",
        "600vwxyz 610vwxyz 611vwxyz 630vwxyz 650vwxyz 651vwxyz 654vwxyz 655vwxyz",
    ),
];

/// Returns the document for a record, with VuFind's fields.
///
/// # Panics
/// Panics if the record does not have an identifier or cannot be written in this format.
pub fn vufind_document(record: &MarcRecord, form: RecordForm) -> Value {
    let mut document = common(record);
    for (field, places) in VUFIND {
        set(&mut document, field, values(record, places));
    }
    for (field, places) in OF_VUFIND_ONCE {
        set_first(&mut document, field, values(record, places));
    }
    let title = document.get("title").and_then(Value::as_str);
    let sorted = title.map(|title| without_article(record, title).to_lowercase());
    set_first(&mut document, "title_sort", sorted.into_iter().collect());
    let authors = values(record, "100abcd 110ab 111ab");
    let sorted = authors.iter().map(|author| sortable(author)).collect();
    set_first(&mut document, "author_sort", sorted);
    let dates = years(record);
    set_first(&mut document, "publishDateSort", dates.clone());
    set(&mut document, "publishDate", dates);
    let call_numbers = values(record, "050ab 090ab");
    set_first(&mut document, "callnumber-sort", call_numbers);
    set_first(&mut document, "dewey-sort", values(record, "082a"));
    set(&mut document, "language", languages(record));
    set(&mut document, "format", vec![format(record).to_owned()]);
    set_first(&mut document, "record_format", vec!["marc".to_owned()]);
    set_first(&mut document, "allfields", vec![all_text(record)]);
    set_first(&mut document, "fullrecord", vec![form.written(record)]);
    Value::Object(document)
}

/// Returns the document for a record, with Blacklight's fields.
///
/// # Panics
/// Panics if the record does not have an identifier.
pub fn blacklight_document(record: &MarcRecord) -> Value {
    let mut document = common(record);
    for (field, places) in BLACKLIGHT {
        set(&mut document, field, values(record, places));
    }
    let trimmed = |places: &str| {
        let values = values(record, places);
        let values = values.iter().map(|value| trimmed(value).to_owned());
        values.collect::<Vec<_>>()
    };
    set(&mut document, "title_tsim", trimmed("245a"));
    set(&mut document, "subtitle_tsim", trimmed("245b"));
    set(
        &mut document,
        "author_ssm",
        values(record, "100abcdq 110 111"),
    );
    set(&mut document, "published_ssm", trimmed("260a"));
    set(
        &mut document,
        "subject_ssim",
        trimmed("600abcdq 610ab 611ab 630aa 650aa 653aa 654ab"),
    );
    set(&mut document, "subject_geo_ssim", trimmed("651a 650z"));
    set(&mut document, "subject_era_ssim", trimmed("650y 651y"));
    let title = values(record, "245abnps")
        .into_iter()
        .next()
        .unwrap_or_default();
    set_first(
        &mut document,
        "title_si",
        vec![without_article(record, &title).to_lowercase()],
    );
    let author = values(record, "100abcdq 110 111").into_iter().next();
    let sorted = author.map(|author| sortable(&author));
    set_first(&mut document, "author_si", sorted.into_iter().collect());
    let dates = years(record);
    set_first(&mut document, "pub_date_si", dates.clone());
    set(&mut document, "pub_date_ssim", dates);
    let numbers = values(record, "020a")
        .iter()
        .flat_map(|number| both_isbns(number))
        .collect();
    set(&mut document, "isbn_tsim", numbers);
    let call_numbers = values(record, "050a");
    let letters = call_numbers
        .iter()
        .filter_map(|number| number.get(..1).map(str::to_owned));
    set(&mut document, "lc_1letter_ssim", letters.collect());
    let before_cutter = call_numbers
        .iter()
        .map(|number| number.split('.').next().unwrap_or_default().to_owned());
    set(&mut document, "lc_b4cutter_ssim", before_cutter.collect());
    set(&mut document, "lc_callnum_ssm", values(record, "050ab"));
    set(&mut document, "language_ssim", languages(record));
    set_first(&mut document, "format", vec![format(record).to_owned()]);
    set(&mut document, "all_text_timv", vec![all_text(record)]);
    set_first(
        &mut document,
        "marc_ss",
        vec![RecordForm::Xml.written(record)],
    );
    Value::Object(document)
}

fn common(record: &MarcRecord) -> Map<String, Value> {
    let id = record.control_number().expect("an identifier");
    let mut document = Map::new();
    document.insert("id".to_owned(), json!(String::from_utf8_lossy(id)));
    document
}

/// Sets the values of a field, without repeated values. VuFind and Blacklight leave these out too.
fn set(document: &mut Map<String, Value>, field: &str, values: Vec<String>) {
    let mut kept: Vec<String> = Vec::new();
    for value in values {
        if !value.is_empty() && !kept.contains(&value) {
            kept.push(value);
        }
    }
    if !kept.is_empty() {
        document.insert(field.to_owned(), json!(kept));
    }
}

fn set_first(document: &mut Map<String, Value>, field: &str, values: Vec<String>) {
    if let Some(value) = values.into_iter().find(|value| !value.is_empty()) {
        document.insert(field.to_owned(), json!(value));
    }
}

/// Returns the values at places such as `245ab 130`. Each field with any of these subfields has one value.
fn values(record: &MarcRecord, places: &str) -> Vec<String> {
    let mut found = Vec::new();
    for place in places.split(' ') {
        let (tag, codes) = place.split_at(3);
        for field in record.fields_by_tag(tag) {
            let value = joined(field, codes);
            if !value.is_empty() {
                found.push(value);
            }
        }
    }
    found
}

fn joined(field: &Field, codes: &str) -> String {
    let is_wanted = |code: &[u8]| {
        let is_letter = code.first().is_some_and(u8::is_ascii_lowercase);
        is_letter && (codes.is_empty() || codes.as_bytes().contains(&code[0]))
    };
    let subfields = field
        .subfields()
        .filter(|subfield| is_wanted(subfield.code));
    let texts = subfields.map(|subfield| String::from_utf8_lossy(subfield.data).into_owned());
    texts.collect::<Vec<_>>().join(" ")
}

/// Returns the text of all subfields of the fields 100 to 899.
fn all_text(record: &MarcRecord) -> String {
    let is_text = |field: &&Field| (*b"100"..*b"900").contains(&field.tag.0);
    let fields = record.fields.iter().filter(is_text);
    fields
        .map(|field| joined(field, ""))
        .collect::<Vec<_>>()
        .join(" ")
}

fn languages(record: &MarcRecord) -> Vec<String> {
    let fixed = record.field("008").and_then(Field::value);
    let code = fixed.and_then(|value| value.get(35..38));
    let code = code.map(|code| String::from_utf8_lossy(code).into_owned());
    let codes = code.into_iter().chain(values(record, "041a"));
    codes
        .filter_map(|code| language::name_of(&code).map(str::to_owned))
        .collect()
}

fn format(record: &MarcRecord) -> &'static str {
    match (record.leader.octet(6), record.leader.octet(7)) {
        (b'a', b's') => "Journal",
        (b'a', _) => "Book",
        (b'j', _) => "MusicRecording",
        _ => "Unknown",
    }
}

/// Returns the years of publication. The year of a date is its first run of exactly four digits.
fn years(record: &MarcRecord) -> Vec<String> {
    let year = |date: &String| {
        let mut runs = date.split(|character: char| !character.is_ascii_digit());
        runs.find(|run| run.len() == 4).map(str::to_owned)
    };
    values(record, "260c 264c")
        .iter()
        .filter_map(year)
        .collect()
}

fn without_article<'t>(record: &MarcRecord, title: &'t str) -> &'t str {
    let indicators = record
        .field("245")
        .map(Field::indicators)
        .unwrap_or_default();
    let skipped = indicators.get(1).filter(|digit| digit.is_ascii_digit());
    let skipped = skipped.map_or(0, |digit| usize::from(digit - b'0'));
    title.get(skipped..).unwrap_or(title)
}

fn sortable(author: &str) -> String {
    trimmed(author).to_lowercase()
}

/// Returns a value without the ISBD punctuation at its end.
fn trimmed(value: &str) -> &str {
    value.trim_end_matches([' ', ',', '/', ';', ':', '.'])
}

/// Returns the ISBN at the start of the text in both forms, with 10 and with 13 digits.
fn both_isbns(text: &str) -> Vec<String> {
    let number = text.split(' ').next().unwrap_or_default();
    match z3950_marc::standard_number::Isbn::parse(number) {
        Some(isbn) => isbn.ten().into_iter().chain([isbn.to_string()]).collect(),
        None => Vec::new(),
    }
}
