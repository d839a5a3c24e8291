//! The server's own databases, IR-Explain-1 and IR-Extend-1. Each of them is a small list of records, which are found by the
//! strings that they have for the Use attributes in one attribute set (Z39.50-2003 Appendices ATR.2 and ATR.3).

use std::cmp::Ordering;
use std::collections::BTreeSet;

use z3950_asn1::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, External, Operand, Operator,
    StringOrNumeric, Term,
};
use z3950_asn1::bib1::attributes::USE;
use z3950_asn1::codec::BerValue;
use z3950_asn1::describe::Describe;
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::sutrs_external;

use crate::backend::{AttributeInfo, DatabaseInfo, RecordId, Search};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// The features of one of the server's own databases.
pub(crate) struct OwnDatabase {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The database's own record syntax; text and XML are always supported.
    pub(crate) syntax: Oid,
    /// The attribute set to which the Use attributes belong.
    pub(crate) attribute_set: Oid,
    /// The supported Use values, with their names.
    pub(crate) uses: &'static [(i64, &'static str)],
}

impl OwnDatabase {
    pub(crate) fn info(&self) -> DatabaseInfo {
        let uses = self.uses.iter();
        let attributes =
            uses.map(|(value, name)| AttributeInfo::new(self.attribute_set, USE, *value, *name));
        DatabaseInfo {
            name: self.name.to_owned(),
            title: Some(self.title.to_owned()),
            syntaxes: vec![self.syntax, oid::SUTRS, oid::XML],
            attributes: attributes.collect(),
            ..DatabaseInfo::default()
        }
    }

    pub(crate) fn has_syntax(&self, syntax: &Oid) -> bool {
        [self.syntax, oid::SUTRS, oid::XML, oid::APPLICATION_XML].contains(syntax)
    }

    /// Returns a record in this syntax, by default the database's own; `root` is the name of the record's root element in XML.
    /// Returns `None` if the record cannot be encoded.
    pub(crate) fn shown(
        &self,
        record: &(impl Describe + BerValue),
        root: &str,
        syntax: Option<Oid>,
    ) -> Option<External> {
        match syntax {
            Some(oid::SUTRS) => sutrs_external(&record.describe().to_text()),
            Some(oid::XML | oid::APPLICATION_XML) => {
                let xml = record.describe().to_xml(root);
                Some(External::octet_aligned(syntax?, xml.into_bytes()))
            }
            _ => External::of_value(self.syntax, record).ok(),
        }
    }

    /// Finds the records that match the query, in list order; the strings of the records must be in lower case.
    ///
    /// A string matches if it has the requested relation to the term; the default relation is equality regardless of case. With
    /// right truncation, the string must begin with the term. Position, structure and completeness are ignored, because each
    /// string is a single value.
    ///
    /// # Errors
    /// Fails with one of these conditions: 121 for another attribute set, 113 for an unsupported attribute type, 114 to 122 for
    /// an unsupported value, 116 for a term without Use, 229 for a term that is neither text nor a number, 30 for an unknown
    /// result set, 201 for proximity, 245 for a restricted set, or 31 for too many terms.
    pub(crate) fn find(
        &self,
        search: &Search<'_>,
        records: &[(RecordId, impl AsRef<[(i64, String)]>)],
    ) -> Result<Vec<RecordId>, Diagnostic> {
        let mut left = MOST_COMPARISONS;
        let mut spend = |comparisons: usize| {
            let less = left.checked_sub(comparisons);
            left = less.ok_or_else(|| diagnostic(Condition::RESOURCES_EXHAUSTED, ""))?;
            Ok::<(), Diagnostic>(())
        };
        let operand = |operand: &Operand| match operand {
            Operand::AttributesPlusTerm(operand) => {
                spend(records.len())?;
                let wanted = TextMatch::of(self, search.query.attribute_set, operand)?;
                let matching = records
                    .iter()
                    .filter(|(_, texts)| wanted.is_in(texts.as_ref()));
                Ok(matching.map(|(record, _)| *record).collect())
            }
            Operand::ResultSet(name) => {
                let name = name.0.as_bytes();
                let missing = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name);
                let set = (search.result_set)(name).ok_or_else(missing)?;
                spend(set.len())?;
                Ok(set.ids(0..set.len()).into_iter().collect())
            }
            Operand::ResultAttr(_) => Err(diagnostic(Condition::RESTRICTION_OPERAND, "")),
        };
        let operator = |operator: &Operator, left: BTreeSet<RecordId>, right| match operator {
            Operator::And => Ok(&left & &right),
            Operator::Or => Ok(&left | &right),
            Operator::AndNot => Ok(&left - &right),
            Operator::Prox(_) => Err(diagnostic(Condition::PROXIMITY, "")),
        };
        let found = search.query.rpn.evaluate(operand, operator)?;
        let order = records.iter().map(|(record, _)| *record);
        Ok(order.filter(|record| found.contains(record)).collect())
    }
}

/// The maximum number of comparisons for a query, which is the number of its terms multiplied by the number of records. This many
/// comparisons take a few milliseconds.
const MOST_COMPARISONS: usize = 100_000;

/// The condition that the strings of a record must meet.
struct TextMatch {
    r#use: i64,
    relation: i64,
    truncated: bool,
    term: String,
}

/// The relation that is true for every record with the Use attribute.
const ALWAYS_MATCHES: i64 = 103;
const EQUAL: i64 = 3;

impl TextMatch {
    fn of(
        database: &OwnDatabase,
        set: Oid,
        operand: &AttributesPlusTerm,
    ) -> Result<Self, Diagnostic> {
        let mut wanted = Self {
            r#use: 0,
            relation: EQUAL,
            truncated: false,
            term: text(&operand.term)?,
        };
        for attribute in &operand.attributes {
            let set = attribute.attribute_set.unwrap_or(set);
            if set != database.attribute_set && set != oid::BIB_1 {
                return Err(diagnostic(Condition::ATTRIBUTE_SET, set.to_string()));
            }
            let value = number(attribute)?;
            let supported = match attribute.attribute_type {
                1 if set != database.attribute_set => false,
                1 => {
                    wanted.r#use = value;
                    database.uses.iter().any(|(known, _)| *known == value)
                }
                2 => {
                    wanted.relation = value;
                    matches!(value, 1..=6 | ALWAYS_MATCHES)
                }
                3 => matches!(value, 1..=3),
                4 => matches!(value, 1..=6 | 100..=109),
                5 => {
                    wanted.truncated = value == 1;
                    matches!(value, 1 | 100)
                }
                6 => matches!(value, 1..=3),
                unknown => {
                    return Err(diagnostic(Condition::ATTRIBUTE_TYPE, unknown.to_string()));
                }
            };
            if !supported {
                return Err(diagnostic(
                    value_of(attribute.attribute_type),
                    value.to_string(),
                ));
            }
        }
        match wanted.r#use {
            0 => Err(diagnostic(Condition::USE_REQUIRED, "")),
            _ => Ok(wanted),
        }
    }

    fn is_in(&self, texts: &[(i64, String)]) -> bool {
        let mut texts = texts.iter().filter(|(r#use, _)| *r#use == self.r#use);
        texts.any(|(_, text)| self.is(text))
    }

    fn is(&self, text: &str) -> bool {
        if self.truncated {
            return text.starts_with(&self.term);
        }
        let order = text.cmp(&self.term);
        match self.relation {
            1 => order == Ordering::Less,
            2 => order != Ordering::Greater,
            4 => order != Ordering::Less,
            5 => order == Ordering::Greater,
            6 => order != Ordering::Equal,
            ALWAYS_MATCHES => true,
            _ => order == Ordering::Equal,
        }
    }
}

/// Returns the condition for an unsupported value of a Bib-1 attribute.
fn value_of(attribute_type: i64) -> Condition {
    match attribute_type {
        2 => Condition::RELATION,
        3 => Condition::POSITION,
        4 => Condition::STRUCTURE,
        5 => Condition::TRUNCATION,
        6 => Condition::COMPLETENESS,
        _ => Condition::USE,
    }
}

fn number(attribute: &AttributeElement) -> Result<i64, Diagnostic> {
    match &attribute.attribute_value {
        AttributeValue::Numeric(number) => Ok(*number),
        AttributeValue::Complex(complex) => match complex.list.first() {
            Some(StringOrNumeric::Numeric(number)) => Ok(*number),
            Some(StringOrNumeric::String(name)) => Err(diagnostic(
                value_of(attribute.attribute_type),
                name.as_bytes(),
            )),
            None => Err(diagnostic(Condition::COMPLEX_ATTRIBUTE, "")),
        },
    }
}

fn text(term: &Term) -> Result<String, Diagnostic> {
    Ok(match term {
        Term::General(octets) => String::from_utf8_lossy(octets).to_lowercase(),
        Term::CharacterString(string) => string.to_string_lossy().to_lowercase(),
        Term::DateTime(time) => time.to_string_lossy().to_lowercase(),
        Term::Numeric(number) => number.to_string(),
        Term::Oid(oid) => oid.to_string(),
        Term::External(_) | Term::IntegerAndUnit(_) | Term::Null => {
            return Err(diagnostic(Condition::TERM_TYPE, ""));
        }
    })
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::DatabaseName;
    use z3950_asn1::query::parse_pqf;

    use super::*;
    use crate::backend::Hits;

    const DATABASE: OwnDatabase = OwnDatabase {
        name: "",
        title: "",
        syntax: oid::EXPLAIN,
        attribute_set: oid::EXP_1,
        uses: &[(1, ""), (3, ""), (9, "")],
    };

    /// Runs a search; returns the positions of the records found, or the condition and additional information of the diagnostic.
    fn found(pqf: &str) -> String {
        let texts = [
            vec![(1, "targetinfo".to_owned()), (9, "20250101".to_owned())],
            vec![
                (1, "databaseinfo".to_owned()),
                (3, "books".to_owned()),
                (9, "20260101".to_owned()),
            ],
            vec![(1, "databaseinfo".to_owned()), (3, "serials".to_owned())],
        ];
        let query = parse_pqf(pqf).expect(pqf);
        let set = |name: &[u8]| (name == b"s").then(|| [RecordId(2)].into_iter().collect::<Hits>());
        let databases = [DatabaseName::from("IR-Explain-1")];
        let search = Search {
            result_set: &set,
            ..Search::new(&databases, &query)
        };
        let records: Vec<_> = (0..).map(RecordId).zip(&texts).collect();
        match DATABASE.find(&search, &records) {
            Ok(found) => {
                let found: Vec<_> = found.iter().map(|record| record.0.to_string()).collect();
                found.join(" ")
            }
            Err(why) => {
                let why = format!("{} {}", why.condition, why.addinfo.to_string_lossy());
                format!("error {}", why.trim_end())
            }
        }
    }

    #[test]
    fn queries_and_their_results() {
        for (pqf, expected) in [
            ("@attrset exp-1 @attr 1=1 databaseinfo", "1 2"),
            ("@attr exp-1 1=1 DatabaseInfo", "1 2"),
            (
                "@attrset exp-1 @attr 1=1 @attr 2=3 @attr 3=3 @attr 4=3 @attr 5=100 @attr 6=3 targetinfo",
                "0",
            ),
            (
                "@attrset exp-1 @and @attr 1=1 DatabaseInfo @attr 1=3 serials",
                "2",
            ),
            (
                "@attrset exp-1 @or @attr 1=1 TargetInfo @attr 1=3 serials",
                "0 2",
            ),
            (
                "@attrset exp-1 @not @attr 1=1 DatabaseInfo @attr 1=3 books",
                "2",
            ),
            ("@attrset exp-1 @not @attr 1=1 DatabaseInfo @set s", "1"),
            ("@attrset exp-1 @attr 1=3 @attr 5=1 ser", "2"),
            ("@attrset exp-1 @attr 1=3 @attr 2=103 x", "1 2"),
            ("@attrset exp-1 @attr 1=3 @attr 2=6 books", "2"),
            ("@attrset exp-1 @attr 1=9 @attr 2=1 2026", "0"),
            ("@attrset exp-1 @attr 1=9 @attr 2=2 20260101", "0 1"),
            ("@attrset exp-1 @attr 1=9 @attr 2=4 20260101", "1"),
            ("@attrset exp-1 @attr 1=9 @attr 2=5 20250101", "1"),
            ("@attrset exp-1 @attr 1=9 @term numeric 20250101", "0"),
            ("@attrset exp-1 @attr 1=1 nothing", ""),
            ("@attrset exp-1 x", "error 116"),
            ("@attr 1=4 x", "error 114 4"),
            ("@attrset exp-1 @attr 1=77 x", "error 114 77"),
            ("@attrset exp-1 @attr 1=title x", "error 114 title"),
            ("@attr gils 1=1 x", "error 121 1.2.840.10003.3.5"),
            ("@attrset exp-1 @attr 1=1 @attr 2=100 x", "error 117 100"),
            ("@attrset exp-1 @attr 1=1 @attr 3=4 x", "error 119 4"),
            ("@attrset exp-1 @attr 1=1 @attr 4=7 x", "error 118 7"),
            ("@attrset exp-1 @attr 1=1 @attr 5=2 x", "error 120 2"),
            ("@attrset exp-1 @attr 1=1 @attr 6=4 x", "error 122 4"),
            ("@attrset exp-1 @attr 1=1 @attr 7=1 x", "error 113 7"),
            ("@attrset exp-1 @attr 1=1 @term null x", "error 229"),
            ("@set t", "error 30 t"),
            (
                "@attrset exp-1 @prox 0 1 0 2 k 2 @attr 1=1 x @attr 1=1 y",
                "error 201",
            ),
        ] {
            assert_eq!(found(pqf), expected, "{pqf}");
        }
    }

    #[test]
    fn a_deep_query_does_not_exhaust_the_stack() {
        let deep = format!(
            "@attrset exp-1 {}{}",
            "@or ".repeat(900),
            "@attr 1=1 targetinfo ".repeat(901)
        );
        assert_eq!(found(&deep), "0");
    }

    #[test]
    fn comparisons_are_limited() {
        let text = [(1, "x".to_owned())];
        let query = parse_pqf("@attrset exp-1 @or @attr 1=1 x @attr 1=1 x").expect("a query");
        let databases = [DatabaseName::from("IR-Explain-1")];
        let search = Search::new(&databases, &query);
        for (records, expected) in [
            (MOST_COMPARISONS / 2, Ok(MOST_COMPARISONS / 2)),
            (MOST_COMPARISONS / 2 + 1, Err(31)),
        ] {
            let records: Vec<_> = (0..).map(RecordId).zip(vec![&text; records]).collect();
            let found = DATABASE.find(&search, &records);
            let found = found.map(|found| found.len()).map_err(|why| why.condition);
            assert_eq!(found, expected);
        }
    }
}
