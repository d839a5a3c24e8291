//! Explain: what a server tells of itself, searched for and presented like other records, from the database IR-Explain-1
//! with the attribute set exp-1 (Z39.50-2003 §3.2.10, Appendix ATR.2).

use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, Operand, Operator, Options, Query, RpnQuery, RpnRpnOp,
    RpnStructure, Term,
};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::record::explain::ExplainRecord;
use z3950_asn1::types::InternationalString;

use super::present::PresentOptions;
use super::records::ResultRecord;
use super::search::{DEFAULT_RESULT_SET, SearchOptions};
use crate::error::Error;
use crate::pager::PagerOptions;
use crate::session::Session;

/// The Explain database.
pub const DATABASE: &str = "IR-Explain-1";

/// The name of the result set that is made where the server takes names.
const RESULT_SET: &str = "z3950-explain";

/// Use attributes of exp-1.
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

/// What to ask. By default the categories the server has something to say in, and all of that.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExplainOptions {
    /// The category, such as `TargetInfo`, `DatabaseInfo` or `CategoryList`; case does not count.
    pub category: String,
    /// What the records must have beside it, such as a database's name.
    pub terms: Vec<(ExplainUse, String)>,
    /// The syntax of the records; servers that do not have the Explain syntax may have others.
    pub record_syntax: Option<Oid>,
    /// The element set name: `B`, `F`, or `description` where the server has it.
    pub element_set: Option<InternationalString>,
    /// How many records are fetched at most.
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
    /// The query that these options make: category and terms must all occur.
    pub fn query(&self) -> Query {
        let category = operand(ExplainUse::ExplainCategory, &self.category);
        let rpn = self.terms.iter().fold(category, |rpn1, (index, term)| {
            RpnStructure::RpnRpnOp(Box::new(RpnRpnOp {
                rpn1,
                rpn2: operand(*index, term),
                op: Operator::And,
            }))
        });
        Query::Type1(RpnQuery {
            attribute_set: oid::EXP_1,
            rpn,
        })
    }
}

fn operand(index: ExplainUse, term: &str) -> RpnStructure {
    RpnStructure::Op(Operand::AttributesPlusTerm(AttributesPlusTerm {
        attributes: vec![AttributeElement::numeric(1, index as i64)],
        term: Term::General(term.into()),
    }))
}

/// What a server told.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExplainResult {
    /// How many records it has on what was asked.
    pub hits: u64,
    /// Those that came in the Explain syntax.
    pub records: Vec<ExplainRecord>,
    /// Those that came otherwise, and diagnostics in the place of records.
    pub others: Vec<ResultRecord>,
}

/// Searches, and presents what was found.
pub(crate) async fn explain(
    session: &Session,
    options: &ExplainOptions,
) -> Result<ExplainResult, Error> {
    let takes_names = session
        .server_info()
        .options
        .contains(Options::NAMED_RESULT_SETS);
    let name = if takes_names {
        RESULT_SET
    } else {
        DEFAULT_RESULT_SET
    };
    let search = SearchOptions {
        databases: vec![DATABASE.into()],
        result_set: name.into(),
        ..SearchOptions::default()
    };
    let present = PresentOptions {
        record_syntax: options.record_syntax,
        element_set: options.element_set.clone(),
        ..PresentOptions::default()
    };
    let set = PagerOptions {
        present,
        ..PagerOptions::default()
    };
    let mut set = session.pager(options.query(), &search, set).await?;
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
