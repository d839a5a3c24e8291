//! Constructors for requests with the usual values from the standard (Z39.50-2003 §3.2). A program sets only the fields
//! for which it needs different values.

use super::{
    AttributesPlusTerm, DatabaseName, DeleteFunction, DeleteResultSetRequest, InitializeRequest,
    Options, PresentRequest, ProtocolVersion, Query, ResultSetId, ScanRequest, SearchRequest,
    SortKeySpec, SortRequest,
};
use crate::oid::BIB_1;
use crate::types::InternationalString;

/// The name of the result set that every server keeps (Z39.50-2003 §3.2.2.1.4).
const DEFAULT: &str = "default";
/// The usual maximum size of messages in octets: 1 MiB.
const MESSAGE_SIZE: i64 = 1 << 20;
/// The usual maximum size of a record in octets: 16 MiB.
const RECORD_SIZE: i64 = 16 << 20;
/// The usual number of terms in a scan.
const TERMS: i64 = 20;

impl InitializeRequest {
    /// Creates the offer of a client that searches and presents: all protocol versions, messages of 1 MiB, records of
    /// 16 MiB, and no credentials (§3.2.1.1).
    ///
    /// ```
    /// use z3950_asn1::apdu::{InitializeRequest, Options};
    ///
    /// let mut init = InitializeRequest::new();
    /// init.options = init.options | Options::SCAN;
    /// assert_eq!(init.options.names().collect::<Vec<_>>(), ["search", "present", "scan"]);
    /// ```
    pub fn new() -> Self {
        Self {
            protocol_version: ProtocolVersion::UP_TO_3,
            options: Options::SEARCH | Options::PRESENT,
            preferred_message_size: MESSAGE_SIZE,
            exceptional_record_size: RECORD_SIZE,
            ..Self::default()
        }
    }
}

impl SearchRequest {
    /// Creates a search whose response contains no records (bounds 0, 1 and 0), and which replaces the result set
    /// `default` (§3.2.2.1).
    ///
    /// ```
    /// use z3950_asn1::apdu::{Query, RpnQuery, SearchRequest};
    ///
    /// let query = z3950_asn1::query::parse_pqf("@attr 1=4 emma").unwrap();
    /// let search = SearchRequest::new(["books"], Query::Type1(query));
    /// assert_eq!(search.result_set_name.to_string(), "default");
    /// assert_eq!(search.large_set_lower_bound, 1);
    /// ```
    pub fn new(databases: impl IntoIterator<Item = impl Into<DatabaseName>>, query: Query) -> Self {
        Self {
            reference_id: None,
            small_set_upper_bound: 0,
            large_set_lower_bound: 1,
            medium_set_present_number: 0,
            replace_indicator: true,
            result_set_name: DEFAULT.into(),
            database_names: databases.into_iter().map(Into::into).collect(),
            small_set_element_set_names: None,
            medium_set_element_set_names: None,
            preferred_record_syntax: None,
            query,
            additional_search_info: None,
            other_info: None,
        }
    }
}

impl PresentRequest {
    /// Creates a request for `count` records from the result set `default`, starting at the 1-based position `start`
    /// (§3.2.3.1). The server chooses the form of the records.
    pub fn new(start: i64, count: i64) -> Self {
        Self {
            result_set_id: ResultSetId(DEFAULT.into()),
            result_set_start_point: start,
            number_of_records_requested: count,
            ..Self::default()
        }
    }
}

impl ScanRequest {
    /// Creates a request for 20 terms, beginning with `start`. Its attribute set is Bib-1 (§3.2.8.1).
    pub fn new(
        databases: impl IntoIterator<Item = impl Into<DatabaseName>>,
        start: AttributesPlusTerm,
    ) -> Self {
        Self {
            reference_id: None,
            database_names: databases.into_iter().map(Into::into).collect(),
            attribute_set: Some(BIB_1),
            term_list_and_start_point: start,
            step_size: None,
            number_of_terms_requested: TERMS,
            preferred_position_in_response: Some(1),
            other_info: None,
        }
    }
}

impl SortRequest {
    /// Creates a request that sorts the result set `default` in place (§3.2.7.1).
    pub fn new(keys: impl IntoIterator<Item = SortKeySpec>) -> Self {
        Self {
            reference_id: None,
            input_result_set_names: vec![DEFAULT.into()],
            sorted_result_set_name: DEFAULT.into(),
            sort_sequence: keys.into_iter().collect(),
            other_info: None,
        }
    }
}

impl DeleteResultSetRequest {
    /// Creates a request that deletes the given result sets (§3.2.4.1).
    pub fn new(sets: impl IntoIterator<Item = impl Into<InternationalString>>) -> Self {
        let sets = sets.into_iter().map(|name| ResultSetId(name.into()));
        Self {
            reference_id: None,
            delete_function: DeleteFunction::LIST,
            result_set_list: Some(sets.collect()),
            other_info: None,
        }
    }

    /// Creates a request that deletes all result sets in the session.
    pub fn all() -> Self {
        Self {
            reference_id: None,
            delete_function: DeleteFunction::ALL,
            result_set_list: None,
            other_info: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::apdu::*;
    use crate::codec;
    use crate::oid::{BIB_1, DATABASE_UPDATE};
    use crate::types::InternationalString;

    #[test]
    fn audit_r_l12_requests_have_the_usual_values_of_the_standard() {
        let term = RpnStructure::term(Vec::new(), "emma");
        let RpnStructure::Op(Operand::AttributesPlusTerm(start)) = term.clone() else {
            panic!("{term:?}");
        };
        let query = Query::Type1(RpnQuery {
            attribute_set: BIB_1,
            rpn: term,
        });
        let parameters = External::octet_aligned(DATABASE_UPDATE, Vec::new());
        let init = InitializeRequest::new();
        assert_eq!(init.protocol_version.highest(), Some(3));
        let search = SearchRequest::new(["books", "maps"], query);
        let bounds = (
            search.small_set_upper_bound,
            search.large_set_lower_bound,
            search.medium_set_present_number,
        );
        assert_eq!(bounds, (0, 1, 0));
        assert!(search.replace_indicator && search.database_names.len() == 2);
        let present = PresentRequest::new(3, 2);
        assert_eq!(present.result_set_id.0, search.result_set_name);
        for request in [
            Apdu::from(init),
            search.into(),
            present.into(),
            ScanRequest::new(["books"], start).into(),
            SortRequest::new([]).into(),
            DeleteResultSetRequest::new(["a"]).into(),
            DeleteResultSetRequest::all().into(),
            ExtendedServicesRequest::create(DATABASE_UPDATE, Some(parameters)).into(),
        ] {
            let octets = codec::encode(&request).expect("it can be encoded");
            assert_eq!(codec::decode(&octets).expect("an APDU"), request);
        }
    }

    #[test]
    fn audit_r_l12_strings_are_made_of_text_and_shown_as_text() {
        let text = "Émile".to_owned();
        let string = InternationalString::from(text.clone());
        assert_eq!(string.to_string(), text);
        assert_eq!(format!("{string:>7}|"), "  Émile|");
        let latin = InternationalString::from(&b"\xc9mile"[..]);
        assert_eq!(latin.to_string(), text);
    }
}
