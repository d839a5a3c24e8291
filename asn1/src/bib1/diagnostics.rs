//! Bib-1 diagnostics: the meaning of each condition and of its addinfo, in plain words (Z39.50-2003 §ERR.1; Bib-1
//! Diagnostics, from the Maintenance Agency). The wording is this project's own, for people who do not know the
//! protocol.

use std::fmt;

use super::find;

/// A condition of the Bib-1 diagnostic set, which may be unassigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition(pub i64);

impl Condition {
    /// Returns the meaning of the condition as a lower-case phrase for people, such as `there is no database of this
    /// name` (235). Returns `None` for a code that Bib-1 does not assign.
    pub fn message(self) -> Option<&'static str> {
        find(CONDITIONS, self.0).map(|(message, _)| message)
    }

    /// Returns the meaning of the condition's addinfo, such as `database name` (235). Returns `None` if Bib-1 does not
    /// define it.
    pub fn addinfo(self) -> Option<&'static str> {
        find(CONDITIONS, self.0).and_then(|(_, addinfo)| addinfo.first().copied())
    }
}

impl fmt::Display for Condition {
    /// Writes, for example, `235 (there is no database of this name)`, or only the number of an unassigned condition.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            Some(message) => write!(f, "{} ({message})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

impl From<i64> for Condition {
    fn from(code: i64) -> Self {
        Self(code)
    }
}

/// A message, and the meaning of the addinfo if Bib-1 defines it.
type Meaning = (&'static str, &'static [&'static str]);

/// Defines the table of conditions, and a constant for each condition that is used in the code.
macro_rules! conditions {
    ($($code:literal $($constant:ident)? $message:literal $(, $addinfo:literal)?;)*) => {
        impl Condition {
            $($(#[doc = concat!($code, ": ", $message, ".")] pub const $constant: Self = Self($code);)?)*
        }

        /// Each condition with its message, and the meaning of its addinfo if Bib-1 defines one.
        const CONDITIONS: &[(i64, Meaning)] = &[$(($code, ($message, &[$($addinfo)?])),)*];
    };
}

conditions! {
    1 PERMANENT_SYSTEM_ERROR "the server has a permanent error; trying again will not help";
    2 TEMPORARY_SYSTEM_ERROR "the server has a temporary error; the same request may work later";
    3 UNSUPPORTED_SEARCH "the server does not offer this kind of search";
    4 "the search holds nothing but words that are too common to be indexed";
    5 TOO_MANY_WORDS "the search has too many words";
    6 TOO_MANY_OPERATORS "the search has too many AND, OR or NOT";
    7 "too many words of the search are truncated";
    8 "too many terms of the search are parts of subfields";
    9 TRUNCATED_TOO_SHORT "a truncated word is too short";
    10 "a record number in the search is not written as the server expects";
    11 TOO_MANY_CHARACTERS "the search is too long";
    12 TOO_MANY_RECORDS "the search finds more records than the server keeps";
    13 OUT_OF_RANGE "the result has no record at this position";
    14 SYSTEM_ERROR_PRESENTING "the server could not deliver a record";
    15 "the record may not be sent to other systems";
    16 RECORD_EXCEEDS_PREFERRED_SIZE "the record is longer than the message size asked for";
    17 RECORD_EXCEEDS_EXCEPTIONAL_SIZE "the record is longer than the longest record accepted";
    18 RESULT_SET_AS_TERM "an earlier result cannot be used inside a search";
    19 "an earlier result can only be searched alone";
    20 "an earlier result can only be narrowed with AND";
    21 RESULT_SET_EXISTS "a result of this name already exists";
    22 RESULT_SET_NAMING "the server does not let results be named";
    23 COMBINATION "these databases cannot be searched together";
    24 ELEMENT_SET_NAMES "the server does not know element set names";
    25 ELEMENT_SET_NAME "the database has no element set of this name";
    26 GENERIC_ELEMENT_SET_NAME_ONLY "all databases must have the same element set name";
    27 RESULT_SET_DELETED "the server has dropped the result in the meantime";
    28 "the result is in use";
    29 "one of the databases is locked";
    30 RESULT_SET_DOES_NOT_EXIST "there is no result of this name";
    31 RESOURCES_EXHAUSTED "the server ran out of resources and has no result";
    32 "the server ran out of resources; some of the result is there, but which part is unknown";
    33 "the server ran out of resources; what it found so far is sound";
    100 UNSPECIFIED "unspecified error";
    101 ACCESS_CONTROL_FAILURE "access was refused";
    102 CANNOT_CHALLENGE "the server has to ask for proof of identity but cannot, and ended the request";
    103 "the server has to ask for proof of identity but cannot, and left the record out";
    104 "the proof of identity failed, so the record was left out";
    105 CANCELLED "the request was cancelled, as requested";
    106 NO_ABSTRACT_SYNTAX "client and server agreed on no form for this record";
    107 QUERY_TYPE "the server does not understand this type of query";
    108 MALFORMED_QUERY "the query is not well formed";
    109 DATABASE_UNAVAILABLE "the database is not available", "database name";
    110 OPERATOR "the server does not know this operator", "operator";
    111 TOO_MANY_DATABASES "too many databases at once", "largest number allowed";
    112 TOO_MANY_RESULT_SETS "too many results are kept", "largest number allowed";
    113 ATTRIBUTE_TYPE "the server does not support this type of attribute", "attribute type";
    114 USE "the server has no such search field (Use attribute)", "Use value";
    115 USE_VALUE "the term does not suit this search field (Use attribute)", "Use value";
    116 USE_REQUIRED "the search has to name a field (Use attribute)";
    117 RELATION "the server does not support this comparison (Relation attribute)", "Relation value";
    118 STRUCTURE "the server does not support this form of term (Structure attribute)", "Structure value";
    119 POSITION "the server does not support this place in the field (Position attribute)", "Position value";
    120 TRUNCATION "the server does not support this truncation (Truncation attribute)", "Truncation value";
    121 ATTRIBUTE_SET "the server does not know this attribute set", "object identifier of the set";
    122 COMPLETENESS "the server does not support this completeness (Completeness attribute)", "Completeness value";
    123 ATTRIBUTE_COMBINATION "the server cannot combine these attributes";
    124 TERM_CODED_VALUE "the server does not support this coded value as a term", "value";
    125 MALFORMED_TERM "the term is not well formed";
    126 TERM_VALUE "the term is not allowed with its attributes", "term";
    127 "the server cannot interpret this value", "value";
    128 RESULT_SET_NAME "a result cannot have this name", "result name";
    129 PROXIMITY_OF_SETS "proximity is only possible between terms, not results";
    130 "this result cannot be part of a proximity search", "result name";
    131 PROXIMITY_RELATION "the server does not support this comparison of distances", "relation";
    132 PROXIMITY_UNIT "the server does not support this unit of distance", "unit code";
    201 PROXIMITY "proximity is not possible with these attributes", "attributes";
    202 PROXIMITY_DISTANCE "the server does not support this distance", "distance";
    203 "proximity in a given order is not possible";
    205 SCAN_STEP_SIZE_ZERO_ONLY "a list of terms can only be read without steps";
    206 SCAN_STEP_SIZE "the list of terms cannot be read in steps of this size", "step size";
    207 SORT_SEQUENCE "the result cannot be sorted in this sequence", "sequence";
    208 NO_SET_TO_SORT "no result to sort was named";
    209 "only the sort orders of a particular database are possible";
    210 "the sort orders of particular databases are not possible";
    211 TOO_MANY_SORT_KEYS "too many sort keys", "largest number allowed";
    212 DUPLICATE_SORT_KEYS "a sort key is given twice", "sort key";
    213 MISSING_VALUE_ACTION "the server cannot treat records without the sort key this way", "action";
    214 SORT_RELATION "there is no such sort direction", "direction";
    215 CASE_SENSITIVITY "there is no such treatment of capital letters", "value";
    216 "there is no such treatment of records without the sort key", "action";
    217 "the server cannot promise that the records fit into the segments";
    218 TASK_NAME_IN_USE "a task of this name exists", "task name";
    219 NO_SUCH_TASK "there is no task of this name to change or delete", "task name";
    220 TASK_QUOTA "the quota for tasks is used up";
    221 EXTENDED_SERVICE_TYPE "the server does not offer this extended service", "object identifier of the service";
    222 TASK_USER "this user may not use the extended service";
    223 TASK_PERMISSION "this user may not change or delete the task";
    224 EXECUTION_FAILED "the task was run at once and failed";
    225 IMMEDIATE_EXECUTION "this extended service cannot run at once";
    226 "the task cannot run at once with these parameters";
    227 "the record has no data in the form asked for";
    228 MALFORMED_SCAN "the request for a list of terms is not well formed";
    229 TERM_TYPE "the server does not support this type of term", "term type";
    230 TOO_MANY_RECORDS_TO_SORT "the result is too large to be sorted", "largest number of records";
    231 "records of these kinds cannot be sorted together";
    232 SCAN_TERM_LIST "the server has no list of terms for this field", "a list that it has";
    233 SCAN_POSITION "the server cannot place the term there in the list", "position";
    234 "too many index terms had to be examined", "number of terms";
    235 DATABASE_DOES_NOT_EXIST "there is no database of this name", "database name";
    236 DATABASE_ACCESS_DENIED "this user may not use the database", "database name";
    237 ILLEGAL_SORT "this sort is not allowed";
    238 NOT_AVAILABLE_IN_SYNTAX "the record is not available in the syntax asked for", "object identifiers of those that are";
    239 RECORD_SYNTAX "the server does not offer this record syntax", "object identifier of the syntax";
    240 "the server ran out of resources while looking for terms";
    241 "the list of terms begins or ends here";
    242 SEGMENT_TOO_SMALL "the segments are too small for a part of the record", "smallest size that would do";
    243 ADDITIONAL_RANGES "only one range of records can be asked for at a time";
    244 COMP_SPEC "the server does not support a composition specification";
    245 RESTRICTION_OPERAND "narrowing an earlier result by attributes is not possible";
    246 COMPLEX_ATTRIBUTE "the server does not support complex attribute values";
    247 ATTRIBUTE_SET_OF_ELEMENT "one attribute cannot come from another attribute set";
    1001 MALFORMED_APDU "the server could not read the request";
    1002 "the server does not take orders in this external form";
    1003 "the server does not take orders that point to a result";
    1004 "extended services need access control";
    1005 "the search answer cannot carry records";
    1006 "the search answer cannot carry records of this database";
    1007 "the server has no Explain database", "servers that explain this one";
    1008 PARAMETER_MISSING "a parameter that the task needs is missing", "parameter";
    1009 "the server does not know this object identifier in the order", "object identifier";
    1010 BAD_USER_ID "the user is not known";
    1011 BAD_USER_ID_OR_PASSWORD "user or password is wrong";
    1012 "no paid searches are left";
    1013 "this user may not connect this way or with this program";
    1014 AUTHENTICATION_SYSTEM "the server could not check the identity";
    1015 TOO_MANY_SESSIONS "this user has too many sessions open", "largest number allowed";
    1016 ADDRESS_BLOCKED "this network address is blocked";
    1017 "no database is open to this user";
    1018 TEMPORARILY_OUT_OF_RESOURCES "the server is short of resources for the moment";
    1019 "the server is down for maintenance";
    1020 "the server is not available for the moment", "when it will be back";
    1021 "the account has expired";
    1022 "the password has expired; a new one is needed";
    1023 "the password was changed by an administrator; a new one is needed";
    1024 ATTRIBUTE "the server does not support this attribute", "attribute set, type and value";
    1025 SERVICE_NOT_FOR_DATABASE "the database does not offer this service", "database name";
    1026 "the record is locked";
    1027 "the database of the server reports an error", "its message";
    1028 RECORD_DELETED "the record was deleted";
    1029 "too many terms were asked for", "largest number allowed";
    1040 TASK_FUNCTION "there is no such function of the extended service", "function";
    1041 "the time to keep the task is wrong";
    1042 "the server cannot interpret the permissions of the task";
    1043 TASK_PARAMETERS_SYNTAX "the object identifier of the task parameters is wrong", "object identifier";
    1044 TASK_ACTION "there is no such action of the extended service";
    1045 UPDATE_SCHEMA "the server does not know this schema", "schema";
    1046 TOO_MANY_TASK_RECORDS "the task has too many records", "largest number allowed";
    1047 WAIT_ACTION "the server cannot wait for the task this way";
    1048 "the task is too large to be created", "largest size allowed";
    1049 "the task is too large to be returned", "largest size allowed";
    1050 "the extended services request is too large", "largest size allowed";
    1051 "the request for a list of terms has to name an attribute set";
    1052 "a record of the task is too large to be processed", "largest size allowed";
    1053 "a record of the task is too large to be returned", "largest size allowed";
    1054 "a record that the opening of a session needs is missing", "object identifier of the record";
    1055 NEGOTIATION_OPTION_REQUIRED "the session has to be opened with an option that it lacks", "option";
    1056 ATTRIBUTE_NOT_FOR_DATABASE "the database does not support this attribute", "attribute set, type, value and database name";
    1057 PARAMETER_VALUE "the server does not support this value in the task", "parameter and value";
    1058 "duplicates cannot be found by this part of a record";
    1059 "duplicates cannot be found by this criterion";
    1060 "duplicates cannot be found with this degree of likeness";
    1061 "duplicates cannot be found with this expression";
    1062 "duplicates cannot be put into clusters";
    1063 "the server cannot choose which duplicate to keep this way";
    1064 "the request keeps more duplicates than the server allows";
    1065 "duplicates cannot be sorted this way";
    1066 SCHEMA "the server does not know or support this schema", "object identifier or name of the schema";
    1067 "the server does not take several requests in one";
    1068 "the request was not carried out, because the requests inside it cannot be";
    1069 "no record syntax would serve this request";
    1070 SYNTAX_NOT_AUTHORIZED "this user may not have records in this syntax";
    1071 "the request has to name a record syntax";
    1072 "the term has characters that the database cannot hold";
    1073 "the records of the database have nothing in this field", "field";
    1074 "a gateway on the way failed";
}

#[cfg(test)]
mod tests {
    use super::super::assert_sorted;
    use super::*;

    #[test]
    fn the_table_is_sorted_and_of_one_style() {
        assert_sorted(CONDITIONS);
        for (code, (message, addinfo)) in CONDITIONS {
            for text in [message].into_iter().chain(*addinfo) {
                assert!(
                    !text.is_empty() && !text.ends_with(['.', ' ']),
                    "{code}: {text}"
                );
            }
            let first = message.chars().next();
            assert!(first.is_some_and(char::is_lowercase), "{code}: {message}");
        }
    }

    fn check(condition: Condition, shown: &str, addinfo: Option<&str>) {
        assert_eq!(condition.to_string(), shown);
        assert_eq!(condition.addinfo(), addinfo, "{condition}");
    }

    #[test]
    fn conditions_in_words() {
        check(
            Condition::OUT_OF_RANGE,
            "13 (the result has no record at this position)",
            None,
        );
        check(
            Condition::DATABASE_DOES_NOT_EXIST,
            "235 (there is no database of this name)",
            Some("database name"),
        );
        check(
            Condition::USE,
            "114 (the server has no such search field (Use attribute))",
            Some("Use value"),
        );
        check(Condition(1074), "1074 (a gateway on the way failed)", None);
        for unassigned in [0, -1, 34, 99, 133, 204, 248, 1000, 1030, 1075, i64::MAX] {
            check(Condition(unassigned), &unassigned.to_string(), None);
        }
    }
}
