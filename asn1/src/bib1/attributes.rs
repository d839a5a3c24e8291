//! Bib-1 attributes: the six types, and the named values of each type (Z39.50-2003 §ATR.1; Bib-1 Attribute Set, from
//! the Maintenance Agency). The table has the Use values up to 63 and from 1000 on; the names of GILS and NORZIG values
//! begin with the name of the community.

use super::find;

/// Type 1: the access point in which the term is searched.
pub const USE: i64 = 1;
/// Type 2: the comparison of the term with the access point.
pub const RELATION: i64 = 2;
/// Type 3: the position of the term in the field.
pub const POSITION: i64 = 3;
/// Type 4: the form of the term.
pub const STRUCTURE: i64 = 4;
/// Type 5: the side of the term on which it is truncated.
pub const TRUNCATION: i64 = 5;
/// Type 6: whether the term is the complete field or subfield.
pub const COMPLETENESS: i64 = 6;

/// Returns the name of an attribute type: `Use` for 1. Returns `None` for a type that is not one of Bib-1's six.
pub fn type_name(attribute_type: i64) -> Option<&'static str> {
    find(TYPES, attribute_type).map(|(name, _)| name)
}

/// Returns the name of a value of an attribute type: `Urx` for type 4 and value 104. Returns `None` if Bib-1 does not
/// assign the value.
pub fn name(attribute_type: i64, value: i64) -> Option<&'static str> {
    find(find(TYPES, attribute_type)?.1, value)
}

/// Returns the name of a Use value: `Title` for 4.
pub fn use_name(value: i64) -> Option<&'static str> {
    find(USES, value)
}

/// A sorted table of numbers and names.
type NameTable = &'static [(i64, &'static str)];

/// Defines the named values of an attribute type, and a constant for each value that is used in the code.
macro_rules! values {
    ($table:ident: $($value:literal $name:literal $(= $constant:ident)?;)*) => {
        $($(#[doc = concat!($value, ": ", $name, ".")] pub const $constant: i64 = $value;)?)*
        const $table: NameTable = &[$(($value, $name),)*];
    };
}

const TYPES: &[(i64, (&str, NameTable))] = &[
    (USE, ("Use", USES)),
    (RELATION, ("Relation", RELATIONS)),
    (POSITION, ("Position", POSITIONS)),
    (STRUCTURE, ("Structure", STRUCTURES)),
    (TRUNCATION, ("Truncation", TRUNCATIONS)),
    (COMPLETENESS, ("Completeness", COMPLETENESSES)),
];

values! {
    RELATIONS:
    1 "Less than";
    2 "Less than or equal";
    3 "Equal" = RELATION_EQUAL;
    4 "Greater or equal";
    5 "Greater than";
    6 "Not equal";
    100 "Phonetic";
    101 "Stem";
    102 "Relevance";
    103 "AlwaysMatches";
}

values! {
    POSITIONS:
    1 "First in field" = POSITION_FIRST_IN_FIELD;
    2 "First in subfield" = POSITION_FIRST_IN_SUBFIELD;
    3 "Any position in field" = POSITION_ANY;
}

values! {
    STRUCTURES:
    1 "Phrase" = STRUCTURE_PHRASE;
    2 "Word" = STRUCTURE_WORD;
    3 "Key";
    4 "Year" = STRUCTURE_YEAR;
    5 "Date (normalized)";
    6 "Word list" = STRUCTURE_WORD_LIST;
    100 "Date (un-normalized)";
    101 "Name (normalized)";
    102 "Name (un-normalized)";
    103 "Structure";
    104 "Urx" = STRUCTURE_URX;
    105 "Free-form-text";
    106 "Document-text";
    107 "Local number" = STRUCTURE_LOCAL_NUMBER;
    108 "String" = STRUCTURE_STRING;
    109 "Numeric string";
}

values! {
    TRUNCATIONS:
    1 "Right truncation" = TRUNCATION_RIGHT;
    2 "Left truncation" = TRUNCATION_LEFT;
    3 "Left and right truncation" = TRUNCATION_LEFT_AND_RIGHT;
    100 "Do not truncate" = TRUNCATION_NONE;
    101 "Process # in search term" = TRUNCATION_NUMBER_SIGN;
    102 "RegExpr-1";
    103 "RegExpr-2";
    104 "Z39.58";
}

values! {
    COMPLETENESSES:
    1 "Incomplete subfield" = COMPLETENESS_INCOMPLETE_SUBFIELD;
    2 "Complete subfield" = COMPLETENESS_COMPLETE_SUBFIELD;
    3 "Complete field" = COMPLETENESS_COMPLETE_FIELD;
}

values! {
    USES:
    1 "Personal name" = USE_PERSONAL_NAME;
    2 "Corporate name";
    3 "Conference name";
    4 "Title" = USE_TITLE;
    5 "Title series";
    6 "Title uniform";
    7 "ISBN" = USE_ISBN;
    8 "ISSN" = USE_ISSN;
    9 "LC card number";
    10 "BNB card number";
    11 "BGF number";
    12 "Local number" = USE_LOCAL_NUMBER;
    13 "Dewey classification";
    14 "UDC classification";
    15 "Bliss classification";
    16 "LC call number";
    17 "NLM call number";
    18 "NAL call number";
    19 "MOS call number";
    20 "Local classification";
    21 "Subject heading" = USE_SUBJECT;
    22 "Subject Rameau";
    23 "BDI index subject";
    24 "INSPEC subject";
    25 "MESH subject";
    26 "PA subject";
    27 "LC subject heading";
    28 "RVM subject heading";
    29 "Local subject index";
    30 "Date" = USE_DATE;
    31 "Date of publication" = USE_DATE_OF_PUBLICATION;
    32 "Date of acquisition";
    33 "Title key";
    34 "Title collective";
    35 "Title parallel";
    36 "Title cover";
    37 "Title added title page";
    38 "Title caption";
    39 "Title running";
    40 "Title spine";
    41 "Title other variant";
    42 "Title former";
    43 "Title abbreviated";
    44 "Title expanded";
    45 "Subject precis";
    46 "Subject rswk";
    47 "Subject subdivision";
    48 "Number natl biblio";
    49 "Number legal deposit";
    50 "Number govt pub";
    51 "Number music publisher";
    52 "Number db";
    53 "Number local call";
    54 "Code-language" = USE_LANGUAGE;
    55 "Code-geographic area";
    56 "Code-institution";
    57 "Name and title";
    58 "Name geographic";
    59 "Place publication";
    60 "CODEN";
    61 "Microform generation";
    62 "Abstract";
    63 "Note";
    1000 "Author-title";
    1001 "Record type";
    1002 "Name";
    1003 "Author" = USE_AUTHOR;
    1004 "Author-name personal";
    1005 "Author-name corporate";
    1006 "Author-name conference";
    1007 "Identifier-standard" = USE_STANDARD_IDENTIFIER;
    1008 "Subject-LC children's";
    1009 "Subject name-personal";
    1010 "Body of text";
    1011 "Date/time added to database";
    1012 "Date/time last modified";
    1013 "Authority/format identifier";
    1014 "Concept-text";
    1015 "Concept-reference";
    1016 "Any" = USE_ANY;
    1017 "Server-choice" = USE_SERVER_CHOICE;
    1018 "Publisher" = USE_PUBLISHER;
    1019 "Record-source";
    1020 "Editor";
    1021 "Bib-level";
    1022 "Geographic-class";
    1023 "Indexed-by";
    1024 "Map-scale";
    1025 "Music-key";
    1026 "Related-periodical";
    1027 "Report-number";
    1028 "Stock-number";
    1030 "Thematic-number";
    1031 "Material-type";
    1032 "Doc-id" = USE_DOC_ID;
    1033 "Host-item";
    1034 "Content-type";
    1035 "Anywhere" = USE_ANYWHERE;
    1036 "Author-Title-Subject";
    1037 "Serial Item and Contribution Identifier (SICI)";
    1038 "Abstract-language";
    1039 "Application-kind";
    1040 "Classification";
    1041 "Classification-basic";
    1042 "Classification-local-record";
    1043 "Enzyme";
    1044 "Possessing-institution";
    1045 "Record-linking";
    1046 "Record-status";
    1047 "Treatment";
    1048 "Control-number-GKD";
    1049 "Control-number-linking";
    1050 "Control-number-PND";
    1051 "Control-number-SWD";
    1052 "Control-number-ZDB";
    1053 "Country-publication";
    1054 "Date-conference";
    1055 "Date-record-status";
    1056 "Dissertation-information";
    1057 "Meeting-organizer";
    1058 "Note-availability";
    1059 "Number-CAS-registry";
    1060 "Number-document";
    1061 "Number-local-accounting";
    1062 "Number-local-acquisition";
    1063 "Number-local-call-copy-specific";
    1064 "Number-of-reference";
    1065 "Number-norm";
    1066 "Number-volume";
    1067 "Place-conference";
    1068 "Reference";
    1069 "Referenced-journal";
    1070 "Section-code";
    1071 "Section-heading";
    1072 "Subject-GOO";
    1073 "Subject-name-conference";
    1074 "Subject-name-corporate";
    1075 "Subject-genre/form";
    1076 "Subject-name-geographical";
    1077 "Subject-chronological";
    1078 "Subject-title";
    1079 "Subject-topical";
    1080 "Subject-uncontrolled";
    1081 "Terminology-chemical";
    1082 "Title-translated";
    1083 "Year-of-beginning";
    1084 "Year-of-ending";
    1085 "Subject-AGROVOC";
    1086 "Subject-COMPASS";
    1087 "Subject-EPT";
    1088 "Subject-NAL";
    1089 "Classification-BCM";
    1090 "Classification-DB";
    1091 "Identifier-ISRC";
    1092 "Identifier-ISMN";
    1093 "Identifier-ISRN";
    1094 "Identifier-DOI";
    1095 "Code-language-original";
    1096 "Title-later";
    1097 "DC-Title";
    1098 "DC-Creator";
    1099 "DC-Subject";
    1100 "DC-Description";
    1101 "DC-Publisher";
    1102 "DC-Date";
    1103 "DC-ResourceType";
    1104 "DC-ResourceIdentifier";
    1105 "DC-Language";
    1106 "DC-OtherContributor";
    1107 "DC-Format";
    1108 "DC-Source";
    1109 "DC-Relation";
    1110 "DC-Coverage";
    1111 "DC-RightsManagement";
    1112 "GILS Controlled Subject Index";
    1113 "GILS Subject Thesaurus";
    1114 "GILS Index Terms-Controlled";
    1115 "GILS Controlled Term";
    1116 "GILS Spatial Domain";
    1117 "GILS Bounding Coordinates";
    1118 "GILS West Bounding Coordinate";
    1119 "GILS East Bounding Coordinate";
    1120 "GILS North Bounding Coordinate";
    1121 "GILS South Bounding Coordinate";
    1122 "GILS Place";
    1123 "GILS Place Keyword Thesaurus";
    1124 "GILS Place Keyword";
    1125 "GILS Time Period";
    1126 "GILS Time Period Textual";
    1127 "GILS Time Period Structured";
    1128 "GILS Beginning Date";
    1129 "GILS Ending Date";
    1130 "GILS Availability";
    1131 "GILS Distributor";
    1132 "GILS Distributor Name";
    1133 "GILS Distributor Organization";
    1134 "GILS Distributor Street Address";
    1135 "GILS Distributor City";
    1136 "GILS Distributor State or Province";
    1137 "GILS Distributor Zip or Postal Code";
    1138 "GILS Distributor Country";
    1139 "GILS Distributor Network Address";
    1140 "GILS Distributor Hours of Service";
    1141 "GILS Distributor Telephone";
    1142 "GILS Distributor Fax";
    1143 "GILS Resource Description";
    1144 "GILS Order Process";
    1145 "GILS Order Information";
    1146 "GILS Cost";
    1147 "GILS Cost Information";
    1148 "GILS Technical Prerequisites";
    1149 "GILS Available Time Period";
    1150 "GILS Available Time Textual";
    1151 "GILS Available Time Structured";
    1152 "GILS Available Linkage";
    1153 "GILS Linkage Type";
    1154 "GILS Linkage";
    1155 "GILS Sources of Data";
    1156 "GILS Methodology";
    1157 "GILS Access Constraints";
    1158 "GILS General Access Constraints";
    1159 "GILS Originator Dissemination Control";
    1160 "GILS Security Classification Control";
    1161 "GILS Use Constraints";
    1162 "GILS Point of Contact";
    1163 "GILS Contact Name";
    1164 "GILS Contact Organization";
    1165 "GILS Contact Street Address";
    1166 "GILS Contact City";
    1167 "GILS Contact State or Province";
    1168 "GILS Contact Zip or Postal Code";
    1169 "GILS Contact Country";
    1170 "GILS Contact Network Address";
    1171 "GILS Contact Hours of Service";
    1172 "GILS Contact Telephone";
    1173 "GILS Contact Fax";
    1174 "GILS Supplemental Information";
    1175 "GILS Purpose";
    1176 "GILS Agency Program";
    1177 "GILS Cross Reference";
    1178 "GILS Cross Reference Title";
    1179 "GILS Cross Reference Relationship";
    1180 "GILS Cross Reference Linkage";
    1181 "GILS Schedule Number";
    1182 "GILS Original Control Identifier";
    1183 "GILS Language of Record";
    1184 "GILS Record Review Date";
    1185 "Performer";
    1186 "Performer-Individual";
    1187 "Performer-Group";
    1188 "Instrumentation";
    1189 "Instrumentation-Original";
    1190 "Instrumentation-Current";
    1191 "Arrangement";
    1192 "Arrangement-Original";
    1193 "Arrangement-Current";
    1194 "Musical Key-Original";
    1195 "Musical Key-Current";
    1196 "Date-Composition";
    1197 "Date-Recording";
    1198 "Place-Recording";
    1199 "Country-Recording";
    1200 "Number-ISWC";
    1201 "Number-Matrix";
    1202 "Number-Plate";
    1203 "Classification-McColvin";
    1204 "Duration";
    1205 "Number-Copies";
    1206 "Musical Theme";
    1207 "Instruments-total number";
    1208 "Instruments-distinct number";
    1209 "Identifier-URN";
    1210 "Sears Subject Heading";
    1211 "OCLC Number";
    1212 "NORZIG Composition";
    1213 "NORZIG Intellectual level";
    1214 "NORZIG EAN";
    1215 "NORZIG NLC";
    1216 "NORZIG CRCS";
    1217 "NORZIG Nationality";
    1218 "NORZIG Equinox";
    1219 "NORZIG Compression";
    1220 "NORZIG Format";
    1221 "NORZIG Subject-occupation";
    1222 "NORZIG Subject-function";
    1223 "NORZIG Edition";
    1224 "GPO Item Number";
    1225 "Provider";
}

#[cfg(test)]
mod tests {
    use super::super::assert_sorted;
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert_sorted(TYPES);
        for (_, (_, names)) in TYPES {
            assert_sorted(names);
        }
    }

    fn check(attribute_type: i64, value: i64, expected: Option<&str>) {
        assert_eq!(
            name(attribute_type, value),
            expected,
            "{attribute_type}={value}"
        );
    }

    #[test]
    fn names_of_values() {
        check(USE, USE_TITLE, Some("Title"));
        check(USE, USE_ISBN, Some("ISBN"));
        check(USE, USE_LOCAL_NUMBER, Some("Local number"));
        check(USE, 63, Some("Note"));
        check(USE, USE_AUTHOR, Some("Author"));
        check(USE, USE_STANDARD_IDENTIFIER, Some("Identifier-standard"));
        check(USE, USE_ANY, Some("Any"));
        check(USE, 1029, None);
        check(USE, USE_DOC_ID, Some("Doc-id"));
        check(USE, 1112, Some("GILS Controlled Subject Index"));
        check(USE, 1184, Some("GILS Record Review Date"));
        check(USE, 1209, Some("Identifier-URN"));
        check(USE, 1225, Some("Provider"));
        check(USE, 9999, None);
        check(USE, -1, None);
        check(RELATION, RELATION_EQUAL, Some("Equal"));
        check(POSITION, POSITION_ANY, Some("Any position in field"));
        check(STRUCTURE, STRUCTURE_URX, Some("Urx"));
        check(STRUCTURE, 7, None);
        check(TRUNCATION, TRUNCATION_NONE, Some("Do not truncate"));
        check(
            COMPLETENESS,
            COMPLETENESS_COMPLETE_FIELD,
            Some("Complete field"),
        );
        check(7, 1, None);
        assert_eq!(use_name(USE_SUBJECT), Some("Subject heading"));
        assert_eq!(type_name(TRUNCATION), Some("Truncation"));
        assert_eq!(type_name(0), None);
    }
}
