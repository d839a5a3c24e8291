//! The basic requests that checks send (Z39.50-2003 §4.1).

use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, DatabaseName, DeleteFunction, DeleteResultSetRequest,
    Operand, PresentRequest, Query, ReferenceId, RpnQuery, RpnStructure, ScanRequest,
    SearchRequest, Term,
};
use z3950_asn1::bib1::attributes::{USE, USE_TITLE};
use z3950_asn1::oid::BIB_1;

use super::trial::Trial;
use super::verdict::{Checked, Preparation, Verdict, counted};

/// The name of the result set in most checks, which even servers without named result sets support (Z39.50-2003 §3.2.2.1.3).
pub(super) const DEFAULT: &str = "default";
/// A term that does not occur in any record.
pub(super) const NOWHERE: &str = "zqxjkvzzqwv";
/// The largest integer that every implementation supports.
pub(super) const MAX: i64 = i32::MAX as i64;

impl Trial {
    /// Returns the query with hits or, if there is none, another query that the server accepts.
    pub(super) fn query(&self) -> Checked<RpnQuery> {
        if let Some(words) = &self.offer.refusal {
            return Err(Verdict::not_judged(format!(
                "the query was refused: {words}"
            )));
        }
        let query = self.offer.query.clone();
        query.ok_or_else(|| Verdict::not_judged("no session began in which to search"))
    }

    /// Returns the query with hits. Ends the check if the query has fewer hits than this number.
    pub(super) fn query_with(&self, hits: i64) -> Checked<RpnQuery> {
        match self.offer.hits {
            found if found >= hits => self.query(),
            found => {
                let wanted = counted(hits, "hit");
                let reason = format!("needs a query with {wanted} or more; the best has {found}");
                Err(Verdict::not_judged(reason))
            }
        }
    }

    /// Returns a query for a term that does not occur in any record, with the attributes of the query with hits.
    pub(super) fn query_without_hits(&self) -> Checked<RpnQuery> {
        let attributes = self.attributes()?;
        Ok(RpnQuery::bib1(RpnStructure::term(attributes, NOWHERE)))
    }

    /// Returns the attributes of the first term in the query with hits.
    pub(super) fn attributes(&self) -> Checked<Vec<AttributeElement>> {
        Ok(self.term()?.attributes)
    }

    /// Returns the first term in the query with hits.
    pub(super) fn term(&self) -> Checked<AttributesPlusTerm> {
        let query = self.query()?;
        let term = query.rpn.terms().next().cloned();
        term.ok_or_else(|| Verdict::not_judged("the query has no term"))
    }

    /// Returns a query for the term of the query with hits, but with these attributes.
    pub(super) fn query_by(&self, attributes: Vec<AttributeElement>) -> Checked<RpnQuery> {
        let term = AttributesPlusTerm {
            attributes,
            ..self.term()?
        };
        let rpn = RpnStructure::Op(Operand::AttributesPlusTerm(term));
        Ok(RpnQuery::bib1(rpn))
    }

    /// Returns a query for the term of the query with hits, with one attribute added or replaced.
    pub(super) fn query_with_attribute(&self, kind: i64, value: i64) -> Checked<RpnQuery> {
        let mut attributes = self.attributes()?;
        attributes.retain(|attribute| attribute.attribute_type != kind);
        attributes.push(AttributeElement::numeric(kind, value));
        self.query_by(attributes)
    }

    /// Returns the databases to search.
    pub(super) fn databases(&self) -> Vec<DatabaseName> {
        self.offer.databases.clone()
    }

    /// Returns a search that creates the default result set and does not request records. Its preferred syntax is one that the
    /// server supports.
    pub(super) fn search(&self, query: RpnQuery) -> SearchRequest {
        SearchRequest {
            preferred_record_syntax: self.offer.syntaxes.first().copied(),
            ..search(self.databases(), Query::Type1(query))
        }
    }

    /// Returns a request for records of the default result set, in a syntax that the server supports.
    pub(super) fn present(&self, start: i64, number: i64) -> PresentRequest {
        PresentRequest {
            preferred_record_syntax: self.offer.syntaxes.first().copied(),
            ..present(start, number)
        }
    }

    /// Returns a search with hits.
    pub(super) fn good_search(&self) -> Checked<SearchRequest> {
        Ok(self.search(self.query()?))
    }

    /// Creates the default result set from the query with hits, opening a session if necessary, and returns the number of records
    /// in it. Ends the check if there are fewer than `least`.
    pub(super) async fn hits(&mut self, least: i64) -> Checked<i64> {
        let query = self.query_with(least)?;
        if self.version == 0 {
            self.session().await?;
        }
        let request = self.search(query);
        self.found(request, least).await
    }

    /// Creates a result set with at least `least` records, which the check needs, and returns their number. Ends the check if
    /// this fails.
    pub(super) async fn found(&mut self, request: SearchRequest, least: i64) -> Checked<i64> {
        let response = self.ask(request).await.given()?;
        match response.result_count {
            count if response.search_status && count >= least => Ok(count),
            count => {
                let wanted = counted(least, "hit");
                let reason = format!("needs a search with {wanted} or more, not {count}");
                Err(Verdict::not_judged(reason))
            }
        }
    }

    /// Returns a scan of five terms, starting with the term of the query with hits.
    pub(super) fn scan(&self) -> Checked<ScanRequest> {
        let mut start = self.term()?;
        if start.attributes.is_empty() {
            start.attributes = vec![AttributeElement::numeric(USE, USE_TITLE)];
        }
        if matches!(start.term, Term::Null) {
            start.term = Term::General("a".into());
        }
        Ok(ScanRequest {
            reference_id: None,
            database_names: self.databases(),
            attribute_set: Some(BIB_1),
            term_list_and_start_point: start,
            step_size: None,
            number_of_terms_requested: 5,
            preferred_position_in_response: Some(1),
            other_info: None,
        })
    }
}

/// Returns a search that creates the default result set and does not request records.
pub(super) fn search(databases: Vec<DatabaseName>, query: Query) -> SearchRequest {
    SearchRequest {
        reference_id: None,
        small_set_upper_bound: 0,
        large_set_lower_bound: 1,
        medium_set_present_number: 0,
        replace_indicator: true,
        result_set_name: DEFAULT.into(),
        database_names: databases,
        small_set_element_set_names: None,
        medium_set_element_set_names: None,
        preferred_record_syntax: None,
        query,
        additional_search_info: None,
        other_info: None,
    }
}

/// Returns a request for records of the default result set, in any syntax.
pub(super) fn present(start: i64, number: i64) -> PresentRequest {
    PresentRequest {
        result_set_id: DEFAULT.into(),
        result_set_start_point: start,
        number_of_records_requested: number,
        ..PresentRequest::default()
    }
}

/// Returns a request to delete result sets by name.
pub(super) fn delete(names: &[&str]) -> DeleteResultSetRequest {
    DeleteResultSetRequest {
        reference_id: None,
        delete_function: DeleteFunction::LIST,
        result_set_list: Some(names.iter().map(|name| (*name).into()).collect()),
        other_info: None,
    }
}

/// Returns a referenceId with these octets.
pub(super) fn id(octets: &[u8]) -> Option<ReferenceId> {
    Some(ReferenceId(octets.into()))
}
