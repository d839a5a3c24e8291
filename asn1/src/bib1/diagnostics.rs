//! Bib-1 diagnostics: what each condition means in plain words, and what its addinfo is (Z39.50-2003 §ERR.1; Bib-1 Diagnostics of the Maintenance Agency).
//! The texts are the project's own, for people who do not know the protocol.

use std::fmt;

use super::find;

/// A condition of the Bib-1 diagnostic set, known or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition(pub i64);

/// The conditions that the client and the server of this project name.
impl Condition {
    /// 1: the server failed and will fail again.
    pub const PERMANENT_SYSTEM_ERROR: Self = Self(1);
    /// 2: the server failed; the request may succeed later.
    pub const TEMPORARY_SYSTEM_ERROR: Self = Self(2);
    /// 3: this kind of search is not offered.
    pub const UNSUPPORTED_SEARCH: Self = Self(3);
    /// 5: too many words in the search.
    pub const TOO_MANY_WORDS: Self = Self(5);
    /// 6: too many operators in the search.
    pub const TOO_MANY_OPERATORS: Self = Self(6);
    /// 11: the search is too long.
    pub const TOO_MANY_CHARACTERS: Self = Self(11);
    /// 12: the search finds more records than the server keeps.
    pub const TOO_MANY_RECORDS: Self = Self(12);
    /// 13: there is no record at that position.
    pub const OUT_OF_RANGE: Self = Self(13);
    /// 14: a record could not be presented.
    pub const SYSTEM_ERROR_PRESENTING: Self = Self(14);
    /// 16: the record is longer than the preferred message size.
    pub const RECORD_EXCEEDS_PREFERRED_SIZE: Self = Self(16);
    /// 17: the record is longer than the exceptional record size.
    pub const RECORD_EXCEEDS_EXCEPTIONAL_SIZE: Self = Self(17);
    /// 18: a result set cannot be part of a search.
    pub const RESULT_SET_AS_TERM: Self = Self(18);
    /// 21: the result set exists and may not be replaced.
    pub const RESULT_SET_EXISTS: Self = Self(21);
    /// 22: result sets cannot be named.
    pub const RESULT_SET_NAMING: Self = Self(22);
    /// 23: the databases cannot be searched together.
    pub const COMBINATION: Self = Self(23);
    /// 24: element set names are not supported.
    pub const ELEMENT_SET_NAMES: Self = Self(24);
    /// 25: the database has no such element set.
    pub const ELEMENT_SET_NAME: Self = Self(25);
    /// 26: only one element set name for all databases is supported.
    pub const GENERIC_ELEMENT_SET_NAME_ONLY: Self = Self(26);
    /// 27: the server has deleted the result set.
    pub const RESULT_SET_DELETED: Self = Self(27);
    /// 30: there is no such result set.
    pub const RESULT_SET_DOES_NOT_EXIST: Self = Self(30);
    /// 31: the server ran out of resources and has no result.
    pub const RESOURCES_EXHAUSTED: Self = Self(31);
    /// 100: an error without a condition of its own.
    pub const UNSPECIFIED: Self = Self(100);
    /// 101: access was refused.
    pub const ACCESS_CONTROL_FAILURE: Self = Self(101);
    /// 106: no record syntax was agreed upon.
    pub const NO_ABSTRACT_SYNTAX: Self = Self(106);
    /// 107: the query type is not supported.
    pub const QUERY_TYPE: Self = Self(107);
    /// 108: the query is malformed.
    pub const MALFORMED_QUERY: Self = Self(108);
    /// 109: the database is not available.
    pub const DATABASE_UNAVAILABLE: Self = Self(109);
    /// 110: the operator is not supported.
    pub const OPERATOR: Self = Self(110);
    /// 111: too many databases at once.
    pub const TOO_MANY_DATABASES: Self = Self(111);
    /// 112: too many result sets.
    pub const TOO_MANY_RESULT_SETS: Self = Self(112);
    /// 113: the attribute type is not supported.
    pub const ATTRIBUTE_TYPE: Self = Self(113);
    /// 114: the Use attribute is not supported.
    pub const USE: Self = Self(114);
    /// 115: the term is no value for this Use attribute.
    pub const USE_VALUE: Self = Self(115);
    /// 116: a Use attribute is required.
    pub const USE_REQUIRED: Self = Self(116);
    /// 117: the Relation attribute is not supported.
    pub const RELATION: Self = Self(117);
    /// 118: the Structure attribute is not supported.
    pub const STRUCTURE: Self = Self(118);
    /// 119: the Position attribute is not supported.
    pub const POSITION: Self = Self(119);
    /// 120: the Truncation attribute is not supported.
    pub const TRUNCATION: Self = Self(120);
    /// 121: the attribute set is not supported.
    pub const ATTRIBUTE_SET: Self = Self(121);
    /// 122: the Completeness attribute is not supported.
    pub const COMPLETENESS: Self = Self(122);
    /// 123: these attributes cannot be combined.
    pub const ATTRIBUTE_COMBINATION: Self = Self(123);
    /// 124: the coded value of the term is not supported.
    pub const TERM_CODED_VALUE: Self = Self(124);
    /// 125: the term is malformed.
    pub const MALFORMED_TERM: Self = Self(125);
    /// 126: the term is no value for its attributes.
    pub const TERM_VALUE: Self = Self(126);
    /// 128: not a valid name for a result set.
    pub const RESULT_SET_NAME: Self = Self(128);
    /// 129: proximity of result sets is not supported.
    pub const PROXIMITY_OF_SETS: Self = Self(129);
    /// 201: proximity is not supported with these attributes.
    pub const PROXIMITY: Self = Self(201);
    /// 205: a scan can only step by zero.
    pub const SCAN_STEP_SIZE_ZERO_ONLY: Self = Self(205);
    /// 206: a scan cannot step by this.
    pub const SCAN_STEP_SIZE: Self = Self(206);
    /// 207: the result cannot be sorted this way.
    pub const SORT_SEQUENCE: Self = Self(207);
    /// 211: too many sort keys.
    pub const TOO_MANY_SORT_KEYS: Self = Self(211);
    /// 221: the extended service is not supported.
    pub const EXTENDED_SERVICE_TYPE: Self = Self(221);
    /// 228: the scan is malformed.
    pub const MALFORMED_SCAN: Self = Self(228);
    /// 229: the term type is not supported.
    pub const TERM_TYPE: Self = Self(229);
    /// 230: too many records to sort.
    pub const TOO_MANY_RECORDS_TO_SORT: Self = Self(230);
    /// 232: the term list is not supported.
    pub const SCAN_TERM_LIST: Self = Self(232);
    /// 233: the scan cannot place the term there.
    pub const SCAN_POSITION: Self = Self(233);
    /// 235: there is no such database.
    pub const DATABASE_DOES_NOT_EXIST: Self = Self(235);
    /// 236: access to the database is denied.
    pub const DATABASE_ACCESS_DENIED: Self = Self(236);
    /// 237: the sort is not allowed.
    pub const ILLEGAL_SORT: Self = Self(237);
    /// 238: the record is not available in this syntax.
    pub const NOT_AVAILABLE_IN_SYNTAX: Self = Self(238);
    /// 239: the record syntax is not supported.
    pub const RECORD_SYNTAX: Self = Self(239);
    /// 242: the segments are too small for a record.
    pub const SEGMENT_TOO_SMALL: Self = Self(242);
    /// 243: several ranges at once are not supported.
    pub const ADDITIONAL_RANGES: Self = Self(243);
    /// 244: a comp-spec is not supported.
    pub const COMP_SPEC: Self = Self(244);
    /// 245: restricting a result set by attributes is not supported.
    pub const RESTRICTION_OPERAND: Self = Self(245);
    /// 246: complex attribute values are not supported.
    pub const COMPLEX_ATTRIBUTE: Self = Self(246);
    /// 247: an attribute set for a single attribute is not supported.
    pub const ATTRIBUTE_SET_OF_ELEMENT: Self = Self(247);
    /// 1001: the APDU is malformed.
    pub const MALFORMED_APDU: Self = Self(1001);
    /// 1010: the user is not known.
    pub const BAD_USER_ID: Self = Self(1010);
    /// 1011: user or password is wrong.
    pub const BAD_USER_ID_OR_PASSWORD: Self = Self(1011);
    /// 1015: too many sessions of this user.
    pub const TOO_MANY_SESSIONS: Self = Self(1015);
    /// 1018: the server is out of resources for a while.
    pub const TEMPORARILY_OUT_OF_RESOURCES: Self = Self(1018);
    /// 1024: the attribute is not supported.
    pub const ATTRIBUTE: Self = Self(1024);
    /// 1025: the database does not offer the service.
    pub const SERVICE_NOT_FOR_DATABASE: Self = Self(1025);
    /// 1028: the record was deleted.
    pub const RECORD_DELETED: Self = Self(1028);
    /// 1055: the session lacks an option that has to be negotiated.
    pub const NEGOTIATION_OPTION_REQUIRED: Self = Self(1055);
    /// 1056: the database does not offer the attribute.
    pub const ATTRIBUTE_NOT_FOR_DATABASE: Self = Self(1056);
    /// 1066: the schema is not known or not supported.
    pub const SCHEMA: Self = Self(1066);
    /// 1070: the user may not have records in this syntax.
    pub const SYNTAX_NOT_AUTHORIZED: Self = Self(1070);

    /// What the condition means, in plain words.
    pub fn message(self) -> Option<&'static str> {
        message(self.0)
    }

    /// What the additional information of the condition is.
    pub fn addinfo(self) -> Option<&'static str> {
        addinfo(self.0)
    }
}

impl fmt::Display for Condition {
    /// `235 (there is no database of this name)`, or the number alone.
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

/// What a condition means, as a lower-case phrase for people: `there is no database of this name` for 235. `None` for a
/// code that the set does not assign.
pub fn message(code: i64) -> Option<&'static str> {
    find(CONDITIONS, code).map(|(message, _)| message)
}

/// What the addinfo of a condition is: `database name` for 235. `None` where the set leaves it open.
pub fn addinfo(code: i64) -> Option<&'static str> {
    find(CONDITIONS, code).and_then(|(_, addinfo)| addinfo)
}

/// A message, and what the addinfo is.
type Meaning = (&'static str, Option<&'static str>);

#[rustfmt::skip]
const CONDITIONS: &[(i64, Meaning)] = &[
    (1, ("the server has a fault that will not go away by trying again", None)),
    (2, ("the server has a passing fault; the same request may work later", None)),
    (3, ("the server does not offer this kind of search", None)),
    (4, ("the search holds nothing but words that are too common to be indexed", None)),
    (5, ("the search has too many words", None)),
    (6, ("the search has too many AND, OR or NOT", None)),
    (7, ("too many words of the search are truncated", None)),
    (8, ("too many terms of the search are parts of subfields", None)),
    (9, ("a truncated word is too short", None)),
    (10, ("a record number in the search is not written as the server expects", None)),
    (11, ("the search is too long", None)),
    (12, ("the search finds more records than the server keeps", None)),
    (13, ("the result has no record at this position", None)),
    (14, ("the server could not bring out a record", None)),
    (15, ("the record may not be sent to other systems", None)),
    (16, ("the record is longer than the message size asked for", None)),
    (17, ("the record is longer than the longest record accepted", None)),
    (18, ("an earlier result cannot be used inside a search", None)),
    (19, ("an earlier result can only be searched alone", None)),
    (20, ("an earlier result can only be narrowed with AND", None)),
    (21, ("a result of this name exists and was not to be replaced", None)),
    (22, ("the server does not let results be named", None)),
    (23, ("these databases cannot be searched together", None)),
    (24, ("the server does not know element set names", None)),
    (25, ("the database has no element set of this name", None)),
    (26, ("one element set name has to serve all databases", None)),
    (27, ("the server has dropped the result in the meantime", None)),
    (28, ("the result is in use", None)),
    (29, ("one of the databases is locked", None)),
    (30, ("there is no result of this name", None)),
    (31, ("the server ran out of resources and has no result", None)),
    (32, ("the server ran out of resources; some of the result is there, but which part is unknown", None)),
    (33, ("the server ran out of resources; what it found so far is sound", None)),
    (100, ("unspecified error", None)),
    (101, ("access was refused", None)),
    (102, ("the server has to ask for proof of identity but cannot, and ended the request", None)),
    (103, ("the server has to ask for proof of identity but cannot, and left the record out", None)),
    (104, ("the proof of identity failed, so the record was left out", None)),
    (105, ("the request was stopped, as was asked for", None)),
    (106, ("no form was agreed on in which this record could be sent", None)),
    (107, ("the server does not understand this type of query", None)),
    (108, ("the query is not well formed", None)),
    (109, ("the database is not available", Some("database name"))),
    (110, ("the server does not know this operator", Some("operator"))),
    (111, ("too many databases at once", Some("largest number allowed"))),
    (112, ("too many results are kept", Some("largest number allowed"))),
    (113, ("the server does not support this type of attribute", Some("attribute type"))),
    (114, ("the server has no such search field (Use attribute)", Some("Use value"))),
    (115, ("the term does not suit this search field (Use attribute)", Some("Use value"))),
    (116, ("the search has to name a field (Use attribute)", None)),
    (117, ("the server does not support this comparison (Relation attribute)", Some("Relation value"))),
    (118, ("the server does not support this form of term (Structure attribute)", Some("Structure value"))),
    (119, ("the server does not support this place in the field (Position attribute)", Some("Position value"))),
    (120, ("the server does not support this truncation (Truncation attribute)", Some("Truncation value"))),
    (121, ("the server does not know this attribute set", Some("object identifier of the set"))),
    (122, ("the server does not support this completeness (Completeness attribute)", Some("Completeness value"))),
    (123, ("the server cannot combine these attributes", None)),
    (124, ("the server does not support this coded value as a term", Some("value"))),
    (125, ("the term is not well formed", None)),
    (126, ("the term is not allowed with its attributes", Some("term"))),
    (127, ("the server cannot make out this value", Some("value"))),
    (128, ("a result cannot have this name", Some("result name"))),
    (129, ("nearness can only be asked of terms, not of results", None)),
    (130, ("this result cannot be part of a nearness search", Some("result name"))),
    (131, ("the server does not support this comparison of distances", Some("relation"))),
    (132, ("the server does not support this unit of distance", Some("unit code"))),
    (201, ("nearness is not possible with these attributes", Some("attributes"))),
    (202, ("the server does not support this distance", Some("distance"))),
    (203, ("nearness in a given order is not possible", None)),
    (205, ("a list of terms can only be read without steps", None)),
    (206, ("the list of terms cannot be read in steps of this size", Some("step size"))),
    (207, ("the result cannot be sorted in this sequence", Some("sequence"))),
    (208, ("no result was named to be sorted", None)),
    (209, ("only the sort orders of a particular database are possible", None)),
    (210, ("the sort orders of particular databases are not possible", None)),
    (211, ("too many sort keys", Some("largest number allowed"))),
    (212, ("a sort key is given twice", Some("sort key"))),
    (213, ("the server cannot treat records without the sort key this way", Some("action"))),
    (214, ("there is no such sort direction", Some("direction"))),
    (215, ("there is no such treatment of capital letters", Some("value"))),
    (216, ("there is no such treatment of records without the sort key", Some("action"))),
    (217, ("the server cannot promise that the records fit into the segments", None)),
    (218, ("a task of this name exists", Some("task name"))),
    (219, ("there is no task of this name to be changed or deleted", Some("task name"))),
    (220, ("the quota for tasks is used up", None)),
    (221, ("the server does not offer this extended service", Some("object identifier of the service"))),
    (222, ("this user may not use the extended service", None)),
    (223, ("this user may not change or delete the task", None)),
    (224, ("the task was to run at once and failed", None)),
    (225, ("this extended service cannot run at once", None)),
    (226, ("the task cannot run at once with these parameters", None)),
    (227, ("the record has no data in the form asked for", None)),
    (228, ("the request for a list of terms is not well formed", None)),
    (229, ("the server does not support this type of term", Some("term type"))),
    (230, ("the result is too large to be sorted", Some("largest number of records"))),
    (231, ("records of these kinds cannot be sorted together", None)),
    (232, ("the server has no list of terms for this field", Some("a list that it has"))),
    (233, ("the server cannot place the term there in the list", Some("position"))),
    (234, ("too many index terms had to be looked at", Some("number of terms"))),
    (235, ("there is no database of this name", Some("database name"))),
    (236, ("this user may not use the database", Some("database name"))),
    (237, ("this sort is not allowed", None)),
    (238, ("the record is not available in the syntax asked for", Some("object identifiers of those that are"))),
    (239, ("the server does not offer this record syntax", Some("object identifier of the syntax"))),
    (240, ("the server ran out of resources while looking for terms", None)),
    (241, ("the list of terms begins or ends here", None)),
    (242, ("the segments are too small for a part of the record", Some("smallest size that would do"))),
    (243, ("only one range of records can be asked for at a time", None)),
    (244, ("the server does not support a composition specification", None)),
    (245, ("narrowing an earlier result by attributes is not possible", None)),
    (246, ("the server does not support complex attribute values", None)),
    (247, ("one attribute cannot come from another attribute set", None)),
    (1001, ("the server could not read the request", None)),
    (1002, ("the server does not take orders in this external form", None)),
    (1003, ("the server does not take orders that point to a result", None)),
    (1004, ("extended services need access control", None)),
    (1005, ("the search answer cannot carry records", None)),
    (1006, ("the search answer cannot carry records of this database", None)),
    (1007, ("the server has no Explain database", Some("servers that explain this one"))),
    (1008, ("a parameter that the task needs is missing", Some("parameter"))),
    (1009, ("the server does not know this object identifier in the order", Some("object identifier"))),
    (1010, ("the user is not known", None)),
    (1011, ("user or password is wrong", None)),
    (1012, ("no paid searches are left", None)),
    (1013, ("this user may not come by this way or with this program", None)),
    (1014, ("the server could not check the identity", None)),
    (1015, ("this user has too many sessions open", Some("largest number allowed"))),
    (1016, ("this network address is blocked", None)),
    (1017, ("no database is open to this user", None)),
    (1018, ("the server is short of resources for the moment", None)),
    (1019, ("the server is down for maintenance", None)),
    (1020, ("the server is not available for the moment", Some("when it will be back"))),
    (1021, ("the account has expired", None)),
    (1022, ("the password has expired; a new one is needed", None)),
    (1023, ("the password was changed by an administrator; a new one is needed", None)),
    (1024, ("the server does not support this attribute", Some("attribute set, type and value"))),
    (1025, ("the database does not offer this service", Some("database name"))),
    (1026, ("the record is locked", None)),
    (1027, ("the database of the server reports an error", Some("its message"))),
    (1028, ("the record was deleted", None)),
    (1029, ("too many terms were asked for", Some("largest number allowed"))),
    (1040, ("there is no such function of the extended service", Some("function"))),
    (1041, ("the time to keep the task is wrong", None)),
    (1042, ("the server cannot make out the permissions of the task", None)),
    (1043, ("the object identifier of the task parameters is wrong", Some("object identifier"))),
    (1044, ("there is no such action of the extended service", None)),
    (1045, ("the server does not know this schema", Some("schema"))),
    (1046, ("the task has too many records", Some("largest number allowed"))),
    (1047, ("the server cannot wait for the task this way", None)),
    (1048, ("the task is too large to be created", Some("largest size allowed"))),
    (1049, ("the task is too large to be returned", Some("largest size allowed"))),
    (1050, ("the extended services request is too large", Some("largest size allowed"))),
    (1051, ("the request for a list of terms has to name an attribute set", None)),
    (1052, ("a record of the task is too large to be processed", Some("largest size allowed"))),
    (1053, ("a record of the task is too large to be returned", Some("largest size allowed"))),
    (1054, ("a record that the opening of a session needs is missing", Some("object identifier of the record"))),
    (1055, ("the session has to be opened with an option that it lacks", Some("option"))),
    (1056, ("the database does not support this attribute", Some("attribute set, type, value and database name"))),
    (1057, ("the server does not support this value in the task", Some("parameter and value"))),
    (1058, ("duplicates cannot be found by this part of a record", None)),
    (1059, ("duplicates cannot be found by this criterion", None)),
    (1060, ("duplicates cannot be found with this degree of likeness", None)),
    (1061, ("duplicates cannot be found with this expression", None)),
    (1062, ("duplicates cannot be put into clusters", None)),
    (1063, ("the server cannot choose which duplicate to keep this way", None)),
    (1064, ("more duplicates are to be kept than the server allows", None)),
    (1065, ("duplicates cannot be sorted this way", None)),
    (1066, ("the server does not know or support this schema", Some("object identifier or name of the schema"))),
    (1067, ("the server does not take several requests in one", None)),
    (1068, ("the request was not carried out, because the requests inside it cannot be", None)),
    (1069, ("no record syntax would serve this request", None)),
    (1070, ("this user may not have records in this syntax", None)),
    (1071, ("the request has to name a record syntax", None)),
    (1072, ("the term has characters that the database cannot hold", None)),
    (1073, ("the records of the database have nothing in this field", Some("field"))),
    (1074, ("a gateway on the way failed", None)),
];

#[cfg(test)]
mod tests {
    use super::super::assert_sorted;
    use super::*;

    #[test]
    fn the_table_is_sorted_and_of_one_style() {
        assert_sorted(CONDITIONS);
        for (code, (message, addinfo)) in CONDITIONS {
            for text in [Some(message), addinfo.as_ref()].into_iter().flatten() {
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
