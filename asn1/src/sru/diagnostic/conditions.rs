//! The meaning of each SRU condition, in this project's own words, for people who do not know the protocol.

use std::fmt;

/// A condition from the general diagnostic set, which may be unassigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SruCondition(pub u16);

impl SruCondition {
    /// Returns the meaning of the condition as a lower-case phrase; `None` for an unassigned number.
    pub fn message(self) -> Option<&'static str> {
        find(CONDITIONS, self.0)
    }
}

impl fmt::Display for SruCondition {
    /// Writes, for example, `16 (the server has no such index)`, or only the number of an unassigned condition.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            Some(message) => write!(f, "{} ({message})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Returns the meaning of a Record Update condition.
pub(super) fn update_message(number: u16) -> Option<&'static str> {
    find(UPDATE_CONDITIONS, number)
}

fn find(table: &[(u16, &'static str)], number: u16) -> Option<&'static str> {
    let index = table.binary_search_by_key(&number, |(known, _)| *known);
    table.get(index.ok()?).map(|(_, message)| *message)
}

/// Defines the table of conditions, and a constant for each condition that is used in the code.
macro_rules! conditions {
    ($($number:literal $($constant:ident)? $message:literal;)*) => {
        impl SruCondition {
            $($(#[doc = concat!($number, ": ", $message, ".")] pub const $constant: Self = Self($number);)?)*
        }

        const CONDITIONS: &[(u16, &str)] = &[$(($number, $message)),*];
    };
}

conditions! {
    1 SYSTEM_ERROR "the server has an error; trying again will not help";
    2 TEMPORARILY_UNAVAILABLE "the server is not available for the moment";
    3 AUTHENTICATION "the server does not accept the user or the password";
    4 OPERATION "the server does not offer this operation";
    5 VERSION "the server does not speak this version";
    6 PARAMETER_VALUE "the server does not support this value of the parameter";
    7 PARAMETER_MISSING "a mandatory parameter is missing";
    8 PARAMETER "the server does not support this parameter";
    10 QUERY_SYNTAX "the query is not well formed";
    11 QUERY_TYPE "the server does not understand this type of query";
    12 TOO_MANY_CHARACTERS "the query is too long";
    13 PARENTHESES "the parentheses of the query are wrong, or not supported";
    14 QUOTES "the quotes of the query are wrong, or not supported";
    15 CONTEXT_SET "the server does not know this context set";
    16 INDEX "the server has no such index";
    17 INDEX_IN_SET "the server has no index of this name in this context set";
    18 INDEX_COMBINATION "these indexes cannot be combined";
    19 RELATION "the server does not support this relation";
    20 RELATION_MODIFIER "the server does not support this modifier of a relation";
    21 RELATION_MODIFIERS "these modifiers of a relation cannot be combined";
    22 RELATION_AND_INDEX "the index does not support this relation";
    23 TERM_TOO_LONG "a term is too long";
    24 RELATION_AND_TERM "the term does not suit this relation";
    25 NOT_QUOTED "a special character in the term is not escaped";
    26 ESCAPE "a character is escaped that is not special";
    27 EMPTY_TERM "the server does not support an empty term";
    28 MASKING "the server does not support this masking character";
    29 MASKED_TOO_SHORT "a masked word is too short";
    30 TOO_MANY_MASKS "a term has too many masking characters";
    31 ANCHORING "the server does not support anchoring";
    32 ANCHOR_POSITION "the server does not support an anchor at this place";
    33 PROXIMITY_AND_MASKING "proximity and masking cannot be combined";
    34 PROXIMITY_AND_ANCHORING "proximity and anchoring cannot be combined";
    35 STOP_WORDS "the term holds nothing but words that are too common to be indexed";
    36 TERM_FORMAT "the term is not written as the index or relation expects";
    37 BOOLEAN "the server does not support this boolean operator";
    38 TOO_MANY_BOOLEANS "the query has too many boolean operators";
    39 PROXIMITY "the server does not support proximity";
    40 PROXIMITY_RELATION "the server does not support this relation of distances";
    41 PROXIMITY_DISTANCE "the server does not support this distance";
    42 PROXIMITY_UNIT "the server does not support this unit of distance";
    43 PROXIMITY_ORDERING "the server does not support this order in proximity";
    44 PROXIMITY_MODIFIERS "these modifiers of proximity cannot be combined";
    45 PREFIX "a prefix stands for more than one context set";
    46 BOOLEAN_MODIFIER "the server does not support this modifier of a boolean operator";
    47 CANNOT_PROCESS "the server cannot process the query, for an unknown reason";
    48 QUERY_FEATURE "the server does not support this feature of queries";
    49 MASKING_POSITION "the server does not support a masking character at this place";
    50 RESULT_SETS "the server keeps no result sets";
    51 RESULT_SET_DOES_NOT_EXIST "there is no such result set";
    52 RESULT_SET_UNAVAILABLE "the result set is not available for the moment";
    53 RESULT_SETS_FOR_RETRIEVAL "result sets serve for retrieval only";
    54 RETRIEVAL_FROM_SETS "records can be retrieved from an existing result set only";
    55 RESULT_SET_AND_TERMS "result sets cannot be combined with terms";
    56 SINGLE_RESULT_SET "only one result set can be combined with terms";
    57 NO_RECORDS_AVAILABLE "the result set was created, but its records are not available";
    58 PARTIAL_UNPREDICTABLE "only some of the result is there, and which part is unknown";
    59 PARTIAL "only some of the result is there; what is there is sound";
    60 TOO_MANY_RECORDS "the query finds more records than the server keeps";
    61 OUT_OF_RANGE "the result has no record at this position";
    62 NEGATIVE_NUMBER "a negative number of records was requested";
    63 RETRIEVAL "the server could not deliver a record";
    64 RECORD_UNAVAILABLE "the record is not available for the moment";
    65 RECORD_DOES_NOT_EXIST "there is no such record";
    66 SCHEMA "the server does not know this record schema";
    67 NOT_IN_SCHEMA "the record is not available in this schema";
    68 NOT_AUTHORIZED "this user may not have the record";
    69 NOT_AUTHORIZED_IN_SCHEMA "this user may not have the record in this schema";
    70 RECORD_TOO_LARGE "the record is too large to be sent";
    71 PACKING "the server does not support this record packing";
    72 XPATH "the server does not support XPath";
    73 XPATH_FEATURE "the XPath expression uses a feature that the server does not support";
    74 XPATH_EVALUATION "the server cannot evaluate the XPath expression";
    80 SORT "the server cannot sort";
    81 SORT_TYPE "the server does not support this type of sort";
    82 SORT_SEQUENCE "the server does not support this sort sequence";
    83 TOO_MANY_RECORDS_TO_SORT "the result is too large to be sorted";
    84 TOO_MANY_SORT_KEYS "too many sort keys";
    85 DUPLICATE_SORT_KEYS "a sort key is given twice";
    86 SORT_FORMATS "records of different formats cannot be sorted together";
    87 SORT_SCHEMA "the server cannot sort by this schema";
    88 SORT_PATH "the server cannot sort by this path";
    89 SORT_PATH_IN_SCHEMA "the schema has no such path to sort by";
    90 SORT_DIRECTION "there is no such sort direction";
    91 SORT_CASE "there is no such treatment of capital letters";
    92 MISSING_VALUE "the server cannot treat records without the sort key this way";
    93 MISSING_VALUE_FAILURE "a record without the sort key ended the sort";
    100 EXPLAIN "the server does not explain itself";
    101 EXPLAIN_REQUEST "the server does not explain itself to this type of request";
    102 EXPLAIN_UNAVAILABLE "the server cannot explain itself for the moment";
    110 STYLESHEETS "the server does not support stylesheets";
    111 STYLESHEET "the server does not support this stylesheet";
    120 RESPONSE_POSITION "the server cannot place the term there in the list";
    121 TOO_MANY_TERMS "too many terms were requested";
    235 DATABASE_DOES_NOT_EXIST "there is no database of this name";
    236 DATABASE_ACCESS_DENIED "this user may not use the database";
    1015 TOO_MANY_SESSIONS "this user has too many sessions open";
    1074 PROXY_FAILURE "a proxy could not reach the server";
}

const UPDATE_CONDITIONS: &[(u16, &str)] = &[
    (1, "a component is not valid; the record was rejected"),
    (2, "a component is not valid and was rejected"),
    (3, "a component is not valid; this is a warning"),
    (4, "a component is not valid; a default value was used"),
    (5, "a component was not valid; the server corrected it"),
    (6, "a component is repeated; the record was rejected"),
    (7, "a component is repeated; the component was rejected"),
    (8, "a component is repeated; this is a warning"),
    (9, "a mandatory element is missing; the record was rejected"),
    (10, "a mandatory element is missing; this is a warning"),
    (
        11,
        "a mandatory element is missing; a default value was used",
    ),
    (
        12,
        "the structure of the data is not valid; the record was rejected",
    ),
    (
        13,
        "the structure of the data is not valid; the component was rejected",
    ),
    (
        14,
        "the structure of the data is not valid; this is a warning",
    ),
    (
        15,
        "the structure of the data is not valid; a default value was used",
    ),
    (
        16,
        "the structure of the data was not valid; the server corrected it",
    ),
    (17, "an element has a wrong length; the record was rejected"),
    (
        18,
        "an element has a wrong length; the component was rejected",
    ),
    (19, "an element has a wrong length; this is a warning"),
    (
        20,
        "an element has a wrong length; a default value was used",
    ),
    (21, "an element had a wrong length; the server corrected it"),
    (
        22,
        "the record identifier is not valid; the record was rejected",
    ),
    (23, "the record identifier is not valid; this is a warning"),
    (24, "the record identifier is not valid; a default was used"),
    (
        25,
        "the record identifier was not valid; the server corrected it",
    ),
    (
        26,
        "the component identifier is not valid; the record was rejected",
    ),
    (
        27,
        "the component identifier is not valid; the component was rejected",
    ),
    (
        28,
        "the component identifier is not valid; this is a warning",
    ),
    (
        29,
        "the component identifier was not valid; the server corrected it",
    ),
    (
        30,
        "the record schema is not accepted; the record was rejected",
    ),
    (
        31,
        "the record schema is not accepted; the component was rejected",
    ),
    (32, "the record schema is not known; this is a warning"),
    (
        33,
        "the record schema is not accepted; the server converted the record",
    ),
    (50, "there is no such record to replace or delete"),
    (51, "there is no such component to replace or delete"),
    (52, "another user has locked the record"),
    (
        53,
        "this user may not replace or delete the record or component",
    ),
    (54, "the record or component has to be locked first"),
    (
        55,
        "the version of the record is not the one that the server has",
    ),
    (
        56,
        "other records refer to the record, which cannot be deleted",
    ),
    (57, "there was no such record or component; it was inserted"),
    (
        58,
        "the record seems to be a duplicate and was not inserted",
    ),
    (59, "the record seems to be a duplicate; this is a warning"),
    (
        60,
        "the record matches one of the database; the two were merged",
    ),
    (61, "the database has an error"),
    (62, "there is no room for the record"),
    (
        63,
        "a delete had an identifier and a record; the record was ignored",
    ),
    (
        64,
        "a delete had an identifier and a record; the identifier was ignored",
    ),
    (65, "the identifier finds more than one record"),
    (100, "there is no such action"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_sorted() {
        for table in [CONDITIONS, UPDATE_CONDITIONS] {
            assert!(table.is_sorted_by(|(one, _), (other, _)| one < other));
        }
        assert_eq!(SruCondition::OUT_OF_RANGE.0, 61);
        assert_eq!(
            SruCondition(71).to_string(),
            "71 (the server does not support this record packing)"
        );
        assert_eq!(SruCondition(9).to_string(), "9");
        assert_eq!(update_message(34), None);
    }
}
