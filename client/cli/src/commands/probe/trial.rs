//! What `probe` tries, in order: searches first, because most other trials need one with hits.

use z3950_asn1::apdu::Options;
use z3950_asn1::bib1::attributes::{
    STRUCTURE, STRUCTURE_PHRASE, STRUCTURE_URX, STRUCTURE_WORD, STRUCTURE_WORD_LIST, TRUNCATION,
    TRUNCATION_NONE, TRUNCATION_RIGHT, USE, USE_ANY, USE_AUTHOR, USE_DOC_ID, USE_ISBN, USE_ISSN,
    USE_LOCAL_NUMBER, USE_STANDARD_IDENTIFIER, USE_SUBJECT, USE_TITLE,
};
use z3950_asn1::oid::{GRS_1, HTML, OPAC, Oid, SUMMARY, SUTRS, UKMARC, UNIMARC, USMARC, XML};

const USES: [i64; 9] = [
    USE_TITLE,
    USE_ISBN,
    USE_ISSN,
    USE_LOCAL_NUMBER,
    USE_SUBJECT,
    USE_AUTHOR,
    USE_STANDARD_IDENTIFIER,
    USE_ANY,
    USE_DOC_ID,
];
const STRUCTURES: [i64; 4] = [
    STRUCTURE_PHRASE,
    STRUCTURE_WORD,
    STRUCTURE_WORD_LIST,
    STRUCTURE_URX,
];

/// The common record syntaxes; a national MARC format is of use only to those who know that the server has it.
const SYNTAXES: [Oid; 9] = [
    USMARC, UNIMARC, UKMARC, SUTRS, OPAC, SUMMARY, GRS_1, XML, HTML,
];

/// A feature to try.
pub(super) enum Trial {
    /// A search with a Use attribute and another one.
    Search([(i64, i64); 2]),
    /// The first record in a syntax.
    Syntax(Oid),
    /// The first record in an element set.
    ElementSet(&'static str),
    Scan,
    Sort,
    TwoSets,
    Delete,
    /// One use of an option of Init.
    Use(Options),
}

impl Trial {
    pub(super) fn all() -> Vec<Self> {
        let structures = USES.iter().flat_map(|use_value| {
            let pair = |structure: &i64| [(USE, *use_value), (STRUCTURE, *structure)];
            STRUCTURES.iter().map(pair)
        });
        let truncations = [TRUNCATION_RIGHT, TRUNCATION_NONE];
        let truncations = truncations.map(|value| [(USE, USE_TITLE), (TRUNCATION, value)]);
        let searches = structures.chain(truncations).map(Self::Search);
        let syntaxes = SYNTAXES.into_iter().map(Self::Syntax);
        let others = [
            Self::ElementSet("F"),
            Self::ElementSet("B"),
            Self::Scan,
            Self::Sort,
            Self::TwoSets,
            Self::Delete,
        ];
        let options = OPTIONS.map(Self::Use);
        searches
            .chain(syntaxes)
            .chain(others)
            .chain(options)
            .collect()
    }

    /// Whether it needs a session of its own, with a different Init.
    pub(super) fn is_apart(&self) -> bool {
        matches!(
            self,
            Self::Use(
                Options::SEGMENTATION_1 | Options::SEGMENTATION_2 | Options::NEGOTIATION_MODEL
            )
        )
    }

    /// The beginning of its line.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Search(pairs) => {
                let pairs = pairs.map(|(kind, value)| format!("{kind}={value}"));
                format!("search {}", pairs.join(" "))
            }
            Self::Syntax(oid) => {
                format!("record syntax {}", oid.name().unwrap_or("without a name"))
            }
            Self::ElementSet(name) => format!("element set {name}"),
            Self::Scan => "scan 1=4".to_owned(),
            Self::Sort => "sort 1=4".to_owned(),
            Self::TwoSets => "two result sets".to_owned(),
            Self::Delete => "delete a result set".to_owned(),
            Self::Use(option) => {
                let name = option.names().next().unwrap_or("without a name");
                format!("option {name}")
            }
        }
    }
}

/// Every option that the standard names, in bit order.
const OPTIONS: [Options; 21] = [
    Options::SEARCH,
    Options::PRESENT,
    Options::DELETE,
    Options::RESOURCE_REPORT,
    Options::TRIGGER_RESOURCE_CONTROL,
    Options::RESOURCE_CONTROL,
    Options::ACCESS_CONTROL,
    Options::SCAN,
    Options::SORT,
    Options::EXTENDED_SERVICES,
    Options::SEGMENTATION_1,
    Options::SEGMENTATION_2,
    Options::CONCURRENT_OPERATIONS,
    Options::NAMED_RESULT_SETS,
    Options::ENCAPSULATION,
    Options::RESULT_COUNT,
    Options::NEGOTIATION_MODEL,
    Options::DUPLICATE_DETECTION,
    Options::QUERY_TYPE_104,
    Options::PQES_CORRECTION,
    Options::STRING_SCHEMA,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_its_own_name_and_every_option_one() {
        let mut names: Vec<String> = Trial::all().iter().map(Trial::name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(!names.iter().any(|name| name.ends_with("without a name")));
        let known = (0..32).fold(Options::default(), |all, bit| {
            all | Options(z3950_asn1::types::Bits::of(&[bit]))
        });
        assert_eq!(known.names().count(), OPTIONS.len());
    }
}
