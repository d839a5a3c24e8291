//! User information format SearchResult-1: the results of the parts of a query (Z39.50-2003 Appendix USR.1).

use crate::apdu::{DatabaseName, IntUnit, Query, Term};
use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// SearchInfoReport: an entry for each part of the query, and optionally for the complete query.
    #[derive(Default)]
    pub struct SearchInfoReport(pub Vec<SubqueryReport>)

    /// A part of the query, the server's interpretation of it, and the number of records it found.
    #[derive(Default)]
    pub struct SubqueryReport {
        [1] subquery_id: Option<InternationalString>,
        /// Whether the part is the complete query.
        [2] full_query: bool,
        [3] subquery_expression: Option<QueryExpression>,
        [4] subquery_interpretation: Option<QueryExpression>,
        [5] subquery_recommendation: Option<QueryExpression>,
        /// The total number of records found in all databases.
        [6] subquery_count: Option<i64>,
        [7] subquery_weight: Option<IntUnit>,
        [8] results_by_db: Option<Vec<ResultsByDb>>,
    }

    /// The results for a part of the query in some of the databases.
    pub struct ResultsByDb {
        [1] databases: Databases,
        [2] count: Option<i64>,
        /// The result set in which the server keeps the records found.
        [3] result_set_name: Option<InternationalString>,
    }

    /// All databases in the search, or a list of databases.
    pub enum Databases {
        [1] All,
        [2] List(Vec<DatabaseName>),
    }

    /// QueryExpression: a term or a query.
    pub enum QueryExpression {
        [1] Term(TermExpression),
        [2] Query(Box<Query>),
    }

    /// A term, with a comment by the server.
    pub struct TermExpression {
        [1] query_term: Term,
        [2] term_comment: Option<InternationalString>,
    }
}

impl SubqueryReport {
    /// Creates a report on a term in the query that was found in `count` records.
    pub fn of_term(term: Term, count: i64) -> Self {
        Self {
            subquery_expression: Some(QueryExpression::Term(TermExpression {
                query_term: term,
                term_comment: None,
            })),
            subquery_count: Some(count),
            ..Self::default()
        }
    }
}
