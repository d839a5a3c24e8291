//! The search fields of Koha's index for MARC 21, and the index settings that Koha creates for them. Only those fields of Koha's
//! mappings are listed that correspond to access points of Bib-1. Each is listed with its name, the kind of its values, and their
//! places in a record.

use serde_json::{Map, Value, json};

/// A search field of Koha.
#[derive(Clone, Copy, Debug)]
pub struct KohaField {
    /// The name of the field in the index.
    pub name: &'static str,
    /// The kind of values that the field contains.
    pub kind: KohaKind,
    /// The places in a record from which values are taken, separated by spaces. `245abp` creates a value from each of these
    /// subfields, `245(abp)` creates one value from all of them, `130` creates one value from all subfields, and `008_/35-37`
    /// creates one value from these positions. A `!` at the end excludes the values from sorting.
    pub places: &'static str,
    /// Whether the field has facets.
    pub has_facet: bool,
}

/// The kind of values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KohaKind {
    /// Words. This kind is also used for dates, because Koha does not have a field type for dates.
    Text,
    /// Call numbers, which are split into words and sorted without regard to numeric values.
    CallNumber,
    /// Numbers such as ISSNs and LCCNs.
    Number,
    /// ISBNs, each in its four forms.
    Isbn,
    /// Integers.
    Integer,
    /// Years that Koha extracts from texts.
    Year,
    /// Boolean values: yes or no.
    Flag,
}

use KohaKind::{CallNumber, Flag, Integer, Isbn, Number, Text, Year};

const fn field(name: &'static str, kind: KohaKind, places: &'static str) -> KohaField {
    KohaField {
        name,
        kind,
        places,
        has_facet: false,
    }
}

const fn faceted(name: &'static str, kind: KohaKind, places: &'static str) -> KohaField {
    KohaField {
        has_facet: true,
        ..field(name, kind, places)
    }
}

/// The search fields.
pub const FIELDS: [KohaField; 78] = [
    field("abstract", Text, "520"),
    faceted("author", Text, "100a 110a 111a 245c 700a 710a 711a"),
    field("author-name-corporate", Text, "110 111 710 711 810 811"),
    field("author-name-personal", Text, "100 400 700 800"),
    field("author-title", Text, "100 110 111 400t 700t 710t 711t 800t"),
    field("barcode", Text, "952p"),
    field("bgf-number", Text, "015"),
    field("bib-level", Text, "leader_/7"),
    field("biblioitemnumber", Text, "999d"),
    field("bnb-card-number", Text, "015"),
    field("cn-sort", CallNumber, "9526"),
    field("conference-name", Text, "111 411 611 711 811"),
    field("control-number", Text, "001"),
    field("control-number-identifier", Text, "003"),
    faceted("copydate", Text, "260c 264c"),
    field("corporate-name", Text, "110 410 610 710 810"),
    field("date-entered-on-file", Text, "008_/0-5"),
    field("date-of-acquisition", Text, "952d"),
    field("date-of-publication", Text, "008_/7-10"),
    field("date-time-last-modified", Text, "005"),
    field("dewey-classification", Text, "082"),
    field("editor", Text, "100a 700"),
    field("ff8-23", Text, "008_/23"),
    field("geographic-class", Text, "052"),
    faceted("holdingbranch", Text, "952b!"),
    faceted("homebranch", Text, "952a!"),
    field("host-item", Text, "773at"),
    field("host-item-number", Integer, "7739"),
    field("identifier-other", Text, "024a"),
    field(
        "identifier-standard",
        Number,
        "010 011 015 017 018 020az 022ayz 023ayz 028a",
    ),
    field("index-term-genre", Text, "655avxyz"),
    field("index-term-uncontrolled", Text, "653a"),
    field("isbn", Isbn, "020a"),
    field("isbn-all", Isbn, "020az"),
    field("issn", Number, "022a"),
    field("issn-all", Number, "022ayz 023ayz"),
    field("itemnumber", Integer, "9529!"),
    field("itemtype", Text, "942c"),
    faceted("itype", Text, "942c 952y"),
    field("lc-call-number", Text, "050ab"),
    field("lc-card-number", Text, "010 011"),
    field("lf", Text, "008_/33"),
    faceted("ln", Text, "008_/35-37 041adeij"),
    faceted("local-classification", Text, "952o!"),
    field("local-number", Integer, "999c"),
    faceted("location", Text, "952c!"),
    field("material-type", Text, "007"),
    field(
        "name",
        Text,
        "100 110 111 400 600a 610 611 700! 710 711 800 810 811",
    ),
    field(
        "name-and-title",
        Text,
        "100 110 111 400at 600at 610at 700t 710at 711a 800at",
    ),
    field("name-geographic", Text, "651 751a"),
    field("note", Text, "500 505 520 561 563 590 952z"),
    field("number-natl-biblio", Text, "015"),
    field("other-control-number", Text, "035"),
    field("personal-name", Text, "100 400 600a 700 800"),
    field("pl", Text, "008_/15-17 260a 264a 752ad"),
    faceted("publisher", Text, "260b 264b"),
    faceted("publyear", Year, "008_/7-10 260c 264c"),
    field(
        "record-control-number",
        Text,
        "770w 772w 773w 776w 780w 785w 830w",
    ),
    field("record-source", Text, "008_/39"),
    field("report-number", Text, "027"),
    field("rtype", Text, "leader_/6"),
    faceted("su-geo", Text, "651a"),
    faceted(
        "subject",
        Text,
        "600a 600t 610a 610t 611 630n 630r 650abcdvxyz 651 653a",
    ),
    field("subject-name-personal", Text, "600a"),
    field("suppress", Flag, "942n"),
    field("ta", Text, "008_/22"),
    field(
        "title",
        Text,
        "130! 210! 222! 240! 245abp 246abnp! 247! 490a! 505t! 700t! 710t! 711t! 730! 740! 780! 785!",
    ),
    field("title-abbreviated", Text, "210 211 246abnp"),
    field("title-cover", Text, "245a"),
    field("title-former", Text, "246abnp 247 780"),
    field("title-key", Text, "222"),
    field("title-no-punctuation", Text, "245(abp)"),
    field("title-other-variant", Text, "212 247 740"),
    faceted("title-series", Text, "440a 490a 800t 810t 811t 830a"),
    field("title-uniform", Text, "130 240 700t 710t 711t 730"),
    field("totalissues", Text, "9420"),
    field("udc-classification", Text, "080"),
    field("uri", Text, "952u"),
];

/// An edition of Koha's index settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// The current edition.
    Current,
    /// An older edition, which has no folded keys or integers.
    Older,
}

/// Returns the body of the request that creates an index with this number of shards.
pub fn index(edition: Edition, shards: usize) -> Value {
    let mut properties = Map::new();
    let stored = json!({ "type": "text", "analyzer": "keyword", "index": false, "store": true });
    properties.insert("marc_data".into(), stored.clone());
    properties.insert("marc_format".into(), stored);
    properties.insert(
        "marc_data_array".into(),
        json!({ "type": "object", "dynamic": true }),
    );
    for field in &FIELDS {
        properties.insert(field.name.into(), searched(edition, field.kind));
        if field.has_facet {
            let facet = json!({ "type": "keyword", "normalizer": "facet_normalizer" });
            properties.insert(format!("{}__facet", field.name), facet);
        }
        if field.places.split(' ').any(|place| !place.ends_with('!')) {
            let is_numeric = field.kind != CallNumber;
            let sort =
                json!({ "type": "icu_collation_keyword", "index": false, "numeric": is_numeric });
            properties.insert(format!("{}__sort", field.name), sort);
        }
    }
    json!({
        "settings": { "index": {
            "number_of_shards": shards, "number_of_replicas": 0, "mapping.total_fields.limit": 10_000, "analysis": analysis(),
        } },
        "mappings": { "properties": properties },
    })
}

/// Returns the mapping of a field that can be searched.
fn searched(edition: Edition, kind: KohaKind) -> Value {
    let analyzed = |analyzer: &str, fields: Value| json!({ "type": "text", "analyzer": analyzer, "search_analyzer": analyzer, "fields": fields });
    let phrase = json!({ "type": "text", "analyzer": "analyzer_phrase", "search_analyzer": "analyzer_phrase" });
    let folded = json!({ "type": "keyword", "normalizer": "icu_folding_normalizer" });
    let raw = json!({ "type": "keyword", "normalizer": "nfkc_cf_normalizer" });
    let text = || match edition {
        Edition::Current => analyzed(
            "analyzer_standard",
            json!({ "phrase": phrase, "raw": raw, "ci_raw": folded }),
        ),
        Edition::Older => analyzed("analyzer_standard", json!({ "phrase": phrase, "raw": raw })),
    };
    match (kind, edition) {
        (Text | CallNumber, _) | (Integer | Year, Edition::Older) => text(),
        (Number | Isbn, Edition::Current) => analyzed(
            "analyzer_stdno",
            json!({ "phrase": phrase, "raw": { "type": "keyword" }, "ci_raw": folded }),
        ),
        (Number | Isbn, Edition::Older) => analyzed(
            "analyzer_stdno",
            json!({ "phrase": phrase, "raw": { "type": "keyword" } }),
        ),
        (Integer, Edition::Current) => {
            json!({ "type": "integer", "null_value": 0, "ignore_malformed": true })
        }
        (Year, Edition::Current) => json!({ "type": "short" }),
        (Flag, _) => json!({ "type": "boolean", "null_value": false }),
    }
}

fn analysis() -> Value {
    // Matches all punctuation in Latin-1. The commas between the ranges are part of the pattern, as in Koha.
    const PUNCTUATION: &str = r"([\x00-\x1F,\x21-\x2F,\x3A-\x40,\x5B-\x60,\x7B-\x89,\x8B,\x8D,\x8F,\x90-\x99,\x9B,\x9D,\xA0-\xBF,\xD7,\xF7])";
    json!({
        "analyzer": {
            "analyzer_standard": { "tokenizer": "icu_tokenizer", "filter": ["icu_folding"] },
            "analyzer_phrase": { "tokenizer": "keyword", "filter": ["icu_folding"], "char_filter": ["punctuation"] },
            "analyzer_stdno": { "tokenizer": "whitespace", "filter": ["icu_folding"], "char_filter": ["punctuation"] },
        },
        "normalizer": {
            "icu_folding_normalizer": { "type": "custom", "filter": ["icu_folding"] },
            "nfkc_cf_normalizer": { "type": "custom", "char_filter": ["icu_normalizer"] },
            "facet_normalizer": { "type": "custom", "char_filter": ["facet"] },
        },
        "char_filter": {
            "punctuation": { "type": "pattern_replace", "pattern": PUNCTUATION, "replacement": "" },
            "facet": { "type": "pattern_replace", "pattern": r"\s*(?<!\p{Lu})[.\-,;]*\s*$", "replacement": "" },
        },
    })
}
