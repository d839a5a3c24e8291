//! Decides which requests may run concurrently (Z39.50-2003 §3.5): two requests may do so if neither of them changes a
//! result set that the other request uses.

use crate::apdu::{Apdu, DeleteFunction, Query};
use crate::format::conventions::Convention;

/// The result sets that a request uses or changes.
#[derive(Debug, Default)]
pub struct ResultSetUse<'a> {
    /// The result sets named in the request.
    sets: Vec<&'a [u8]>,
    /// Whether the request may use any result set.
    is_any: bool,
    /// Whether the request changes the result sets that it uses.
    is_change: bool,
}

impl<'a> ResultSetUse<'a> {
    /// Returns the result sets used by a request. A request that does not begin an operation is assumed to use and
    /// change any set.
    pub fn of(request: &'a Apdu) -> Self {
        let change = |sets| Self {
            sets,
            is_any: false,
            is_change: true,
        };
        let any = Self {
            is_any: true,
            ..change(Vec::new())
        };
        match request {
            Apdu::SearchRequest(search) => Self {
                is_any: names_result_sets(&search.query),
                ..change(vec![search.result_set_name.as_bytes()])
            },
            Apdu::PresentRequest(present) => Self {
                sets: vec![present.result_set_id.0.as_bytes()],
                ..Self::default()
            },
            Apdu::SortRequest(sort) => {
                let output = [&sort.sorted_result_set_name];
                let sets = sort.input_result_set_names.iter().chain(output);
                change(sets.map(|name| name.as_bytes()).collect())
            }
            Apdu::DuplicateDetectionRequest(duplicates) => {
                let output = [&duplicates.output_result_set_name];
                let sets = duplicates.input_result_set_ids.iter().chain(output);
                change(sets.map(|name| name.as_bytes()).collect())
            }
            Apdu::DeleteResultSetRequest(delete)
                if delete.delete_function == DeleteFunction::LIST =>
            {
                let list = delete.result_set_list.iter().flatten();
                change(list.map(|name| name.0.as_bytes()).collect())
            }
            Apdu::ScanRequest(scan) => {
                let information = scan.other_info.as_ref();
                let within = information.and_then(|all| Convention::ScanSet.find(all));
                Self {
                    sets: within.iter().map(|name| name.as_bytes()).collect(),
                    ..Self::default()
                }
            }
            Apdu::ResourceReportRequest(_) => Self::default(),
            _ => any,
        }
    }

    /// Returns whether one of the two requests has to wait for the other.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let is_shared = match (self.is_any, other.is_any) {
            (true, true) => true,
            (true, false) => !other.sets.is_empty(),
            (false, true) => !self.sets.is_empty(),
            (false, false) => self.sets.iter().any(|set| other.sets.contains(set)),
        };
        is_shared && (self.is_change || other.is_change)
    }
}

/// Returns whether a query may refer to result sets by name. A textual query may do so if it contains `set`, as in CCL
/// and CQL.
fn names_result_sets(query: &Query) -> bool {
    let query = match query {
        Query::Type1(query) | Query::Type101(query) => query,
        Query::Type2(text) | Query::Type100(text) | Query::Type102(text) => return says_set(text),
        Query::Type104(external) => return says_set(external.octets()),
        Query::Type0(_) => return true,
    };
    query.rpn.result_sets().next().is_some()
}

fn says_set(text: &[u8]) -> bool {
    text.windows(3)
        .any(|word| word.eq_ignore_ascii_case(b"set"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apdu::{
        AttributesPlusTerm, Close, CloseReason, DeleteResultSetRequest, External, OtherInformation,
        PresentRequest, ResourceReportRequest, ResultSetId, ScanRequest, SearchRequest,
        SortRequest, Term,
    };
    use crate::oid::CQL;
    use crate::optional::OptionalChoice;

    fn search(query: Query, set: &str) -> Apdu {
        Apdu::from(SearchRequest {
            reference_id: None,
            small_set_upper_bound: 0,
            large_set_lower_bound: 1,
            medium_set_present_number: 0,
            replace_indicator: true,
            result_set_name: set.into(),
            database_names: vec!["cat".into()],
            small_set_element_set_names: None,
            medium_set_element_set_names: None,
            preferred_record_syntax: None,
            query,
            additional_search_info: None,
            other_info: None,
        })
    }

    fn pqf(text: &str, set: &str) -> Apdu {
        search(Query::Type1(text.parse().expect("PQF")), set)
    }

    fn present(set: &str) -> Apdu {
        Apdu::from(PresentRequest {
            reference_id: None,
            result_set_id: ResultSetId::from(set),
            result_set_start_point: 1,
            number_of_records_requested: 1,
            additional_ranges: None,
            record_composition: OptionalChoice::default(),
            preferred_record_syntax: None,
            max_segment_count: None,
            max_record_size: None,
            max_segment_size: None,
            other_info: None,
        })
    }

    fn scan(within: Option<&str>) -> Apdu {
        let other_info = within.map(|set| {
            let mut information = OtherInformation::default();
            Convention::ScanSet.put(&mut information, set);
            information
        });
        Apdu::from(ScanRequest {
            reference_id: None,
            database_names: vec!["cat".into()],
            attribute_set: None,
            term_list_and_start_point: AttributesPlusTerm {
                attributes: Vec::new(),
                term: Term::General("a".into()),
            },
            step_size: None,
            number_of_terms_requested: 1,
            preferred_position_in_response: None,
            other_info,
        })
    }

    fn sort(input: &str, output: &str) -> Apdu {
        Apdu::from(SortRequest {
            reference_id: None,
            input_result_set_names: vec![input.into()],
            sorted_result_set_name: output.into(),
            sort_sequence: Vec::new(),
            other_info: None,
        })
    }

    fn delete(set: Option<&str>) -> Apdu {
        Apdu::from(DeleteResultSetRequest {
            reference_id: None,
            delete_function: match set {
                Some(_) => DeleteFunction::LIST,
                None => DeleteFunction::ALL,
            },
            result_set_list: set.map(|set| vec![ResultSetId::from(set)]),
            other_info: None,
        })
    }

    #[test]
    fn requests_run_concurrently_unless_one_changes_what_another_uses() {
        let cql =
            |text: &str| Query::Type104(External::octet_aligned(CQL, text.as_bytes().to_vec()));
        let report = Apdu::from(ResourceReportRequest {
            reference_id: None,
            op_id: None,
            pref_resource_report_format: None,
            other_info: None,
        });
        let a = || pqf("x", "a");
        for (one, other, waits) in [
            (a(), pqf("x", "b"), false),
            (a(), a(), true),
            (a(), present("a"), true),
            (a(), present("b"), false),
            (present("a"), present("a"), false),
            (pqf("@set a", "b"), a(), true),
            (pqf("@and x @set a", "b"), present("a"), true),
            (search(cql("dc.title=war"), "b"), a(), false),
            (search(cql("cql.resultSetId=a"), "b"), a(), true),
            (search(Query::Type2("SET=a".into()), "b"), a(), true),
            (search(Query::Type100("war".into()), "b"), a(), false),
            (sort("a", "b"), a(), true),
            (sort("c", "a"), present("a"), true),
            (sort("b", "c"), a(), false),
            (delete(Some("a")), a(), true),
            (delete(Some("b")), a(), false),
            (delete(None), present("a"), true),
            (delete(None), scan(None), false),
            (scan(None), a(), false),
            (scan(Some("a")), a(), true),
            (scan(Some("a")), present("a"), false),
            (report, a(), false),
            (Close::new(CloseReason::FINISHED, None).into(), a(), true),
        ] {
            let uses = [&one, &other].map(ResultSetUse::of);
            let [first, second] = &uses;
            let conflicts = [first.conflicts_with(second), second.conflicts_with(first)];
            assert_eq!(conflicts, [waits; 2], "{one:?} and {other:?}");
        }
    }
}
