//! Names of tags and variants: tagSet-M, tagSet-G (Z39.50-2003 Appendix TAG) and the classes of Variant-1 (Appendix
//! VAR).

use crate::apdu::StringOrNumeric;
use crate::bib1::find;

/// The conventional tag type for tagSet-M, whose elements describe the record.
pub const TAG_SET_M: i64 = 1;
/// The conventional tag type for tagSet-G, whose elements occur in any kind of document.
pub const TAG_SET_G: i64 = 2;
/// The conventional tag type for strings that the server defines.
pub const STRING_TAGS: i64 = 3;

/// Returns the name of an element: the registered name in tagSet-M or tagSet-G, or the tag itself if it is a string.
pub fn tag_name(tag_type: Option<i64>, tag: &StringOrNumeric) -> Option<&str> {
    match (tag_type, tag) {
        (_, StringOrNumeric::String(name)) => name.to_str().ok(),
        (Some(TAG_SET_M), StringOrNumeric::Numeric(number)) => find(M, *number),
        (Some(TAG_SET_G), StringOrNumeric::Numeric(number)) => find(G, *number),
        _ => None,
    }
}

/// Returns the number of the tagSet-G element with the given name.
pub(super) fn number_in_tag_set_g(name: &str) -> Option<i64> {
    G.iter()
        .find(|(_, known)| *known == name)
        .map(|(number, _)| *number)
}

/// Returns the name of a class in Variant-1.
pub(super) fn variant_class(class: i64) -> Option<&'static str> {
    find(VARIANT_1, class)
}

const M: &[(i64, &str)] = &[
    (1, "schemaIdentifier"),
    (2, "elementsOrdered"),
    (3, "elementOrdering"),
    (4, "defaultTagType"),
    (5, "defaultVariantSetId"),
    (6, "defaultVariantSpec"),
    (7, "processingInstructions"),
    (8, "recordUsage"),
    (9, "restriction"),
    (10, "rank"),
    (11, "userMessage"),
    (12, "url"),
    (13, "record"),
    (14, "localControlNumber"),
    (15, "creationDate"),
    (16, "dateOfLastModification"),
    (17, "dateOfLastReview"),
    (18, "score"),
    (19, "wellKnown"),
    (20, "recordWrapper"),
    (21, "defaultTagSetId"),
    (22, "languageOfRecord"),
    (23, "type"),
    (24, "scheme"),
    (25, "costInfo"),
    (26, "costFlag"),
    (27, "termCreatedBy"),
    (28, "termModifiedBy"),
];

const G: &[(i64, &str)] = &[
    (1, "title"),
    (2, "author"),
    (3, "publicationPlace"),
    (4, "publicationDate"),
    (5, "documentId"),
    (6, "abstract"),
    (7, "name"),
    (8, "dateTime"),
    (9, "displayObject"),
    (10, "organization"),
    (11, "postalAddress"),
    (12, "networkAddress"),
    (13, "eMailAddress"),
    (14, "phoneNumber"),
    (15, "faxNumber"),
    (16, "country"),
    (17, "description"),
    (18, "time"),
    (19, "documentContent"),
    (20, "language"),
    (21, "subject"),
    (22, "resourceType"),
    (23, "city"),
    (24, "stateOrProvince"),
    (25, "zipOrPostalCode"),
    (26, "cost"),
    (27, "format"),
    (28, "identifier"),
    (29, "rights"),
    (30, "relation"),
    (31, "publisher"),
    (32, "contributor"),
    (33, "source"),
    (34, "coverage"),
    (35, "private"),
    (36, "sourceDatabase"),
];

const VARIANT_1: &[(i64, &str)] = &[
    (1, "variantId"),
    (2, "bodyPartType"),
    (3, "formatPresentation"),
    (4, "languageOrCharacterSet"),
    (5, "piece"),
    (6, "metaDataRequested"),
    (7, "metaDataReturned"),
    (8, "highlighting"),
    (9, "miscellaneous"),
];
