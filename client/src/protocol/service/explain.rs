//! Explain: a server's description of itself. It consists of records in the database IR-Explain-1, which are searched
//! with the attribute set exp-1 and presented like other records (Z39.50-2003 §3.2.10, Appendix ATR.2).

use z3950_asn1::apdu::{AttributeElement, Operator, Options, Query, RpnQuery, RpnStructure};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::record::explain::ExplainRecord;
use z3950_asn1::types::InternationalString;

use super::present::PresentOptions;
use super::search::SearchOptions;
use super::{DEFAULT_RESULT_SET, ResultRecord};
use crate::error::Error;
use crate::protocol::pager::PagerOptions;
use crate::protocol::session::Session;

/// The name of the Explain database.
pub const DATABASE: &str = "IR-Explain-1";

/// The name of the result set, if the server supports named result sets.
const RESULT_SET: &str = "z3950-explain";

/// The Use attributes of the attribute set exp-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the standard's names")]
pub enum ExplainUse {
    ExplainCategory = 1,
    HumanStringLanguage,
    DatabaseName,
    TargetName,
    AttributeSetOid,
    RecordSyntaxOid,
    TagSetOid,
    ExtendedServiceOid,
    DateAdded,
    DateChanged,
    DateExpires,
    ElementSetName,
    ProcessingContext,
    ProcessingName,
    TermListName,
    SchemaOid,
    Producer,
    Supplier,
    Availability,
    Proprietary,
    UserFee,
    VariantSetOid,
    UnitSystem,
    Keyword,
}

/// The options of an Explain request. By default, it requests the list of the server's categories.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExplainOptions {
    /// The category, such as `TargetInfo`, `DatabaseInfo` or `CategoryList`, in any letter case.
    pub category: String,
    /// Additional terms that the records must match, such as the name of a database.
    pub terms: Vec<(ExplainUse, String)>,
    /// The requested record syntax. It can be set because some servers do not offer the Explain syntax.
    pub record_syntax: Option<Oid>,
    /// The element set name: `B`, `F`, or `description` if the server supports it.
    pub element_set: Option<InternationalString>,
    /// The maximum number of records to fetch.
    pub max_records: u64,
}

impl Default for ExplainOptions {
    fn default() -> Self {
        Self {
            category: "CategoryList".into(),
            terms: Vec::new(),
            record_syntax: Some(oid::EXPLAIN),
            element_set: None,
            max_records: 1000,
        }
    }
}

impl ExplainOptions {
    /// Returns the query, which joins the category and the terms with AND.
    pub fn query(&self) -> Query {
        let category = operand(ExplainUse::ExplainCategory, &self.category);
        let rpn = self.terms.iter().fold(category, |rpn1, (index, term)| {
            RpnStructure::combined(rpn1, Operator::And, operand(*index, term))
        });
        Query::Type1(RpnQuery {
            attribute_set: oid::EXP_1,
            rpn,
        })
    }
}

fn operand(index: ExplainUse, term: &str) -> RpnStructure {
    RpnStructure::term(vec![AttributeElement::numeric(1, index as i64)], term)
}

/// The result of an Explain search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExplainResult {
    /// The number of records that match the category and the terms.
    pub hits: u64,
    /// The records in the Explain syntax.
    pub records: Vec<ExplainRecord>,
    /// The records in other syntaxes, and diagnostics in place of records.
    pub others: Vec<ResultRecord>,
}

impl Session {
    /// Requests the server's description of itself in the database IR-Explain-1.
    ///
    /// # Errors
    /// [`Error::Refused`] from a server without this database, or the errors of [`search`](Self::search) and
    /// [`present`](Self::present).
    pub async fn explain(&self, options: &ExplainOptions) -> Result<ExplainResult, Error> {
        let server = self.server_info();
        let name = if server.options.contains(Options::NAMED_RESULT_SETS) {
            RESULT_SET
        } else {
            DEFAULT_RESULT_SET
        };
        let search = SearchOptions {
            databases: vec![DATABASE.into()],
            result_set: name.into(),
            ..SearchOptions::default()
        };
        let pager_options = PagerOptions {
            present: PresentOptions {
                record_syntax: options.record_syntax,
                element_set: options.element_set.clone(),
                ..PresentOptions::default()
            },
            ..PagerOptions::default()
        };
        let mut set = self.pager(options.query(), &search, pager_options).await?;
        let mut result = ExplainResult {
            hits: set.count(),
            records: Vec::new(),
            others: Vec::new(),
        };
        for record in set.range(1, options.max_records).await? {
            match &record {
                ResultRecord::Record { external, .. } => match RetrievedRecord::of(external) {
                    RetrievedRecord::Explain(explained) => result.records.push(explained),
                    _ => result.others.push(record),
                },
                ResultRecord::Diagnostic { .. } => result.others.push(record),
            }
        }
        Ok(result)
    }
}
