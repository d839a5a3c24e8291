//! Rules about the values of Search and Scan (Z39.50-2003 §3.2.2.1, §3.2.8.1).

use std::collections::HashSet;

use z3950_asn1::apdu::{DatabaseName, Query, ScanRequest, SearchRequest};

use super::Judged;
use crate::client::rules::RuleId;

impl Judged<'_> {
    pub(super) fn search(&mut self, search: &SearchRequest) {
        self.databases(RuleId::SearchDatabases, &search.database_names);
        let small = search.small_set_upper_bound;
        let large = search.large_set_lower_bound;
        let medium = search.medium_set_present_number;
        let came = || {
            format!(
                "smallSetUpperBound {small}, largeSetLowerBound {large}, mediumSetPresentNumber {medium}"
            )
        };
        let is_positive = [small, large, medium].iter().all(|number| *number >= 0);
        self.mark(RuleId::SearchBounds, is_positive, came);
        self.mark(RuleId::SearchBoundsOrder, large > small, came);
        let set = search.result_set_name.as_bytes();
        if !search.replace_indicator {
            let exists = self.known.has(set);
            self.mark(RuleId::SearchReplace, !exists, || {
                let name = search.result_set_name.to_string_lossy();
                format!("replaceIndicator false for the result set {name}, which exists")
            });
        }
        // The client requests records if a small set can have at least one record, or if medium sets are possible. A medium set
        // has more records than a small set and fewer than a large set.
        let wants_records = small > 0 || (medium > 0 && large > small.saturating_add(1));
        let syntax = search.preferred_record_syntax.as_ref();
        let names_sets = search.small_set_element_set_names.is_some()
            || search.medium_set_element_set_names.is_some();
        if wants_records {
            self.mark(RuleId::RecordsSyntax, syntax.is_some(), || {
                "a search for records without preferredRecordSyntax".to_owned()
            });
        } else {
            let is_bare = !names_sets && syntax.is_none();
            self.mark(RuleId::SearchComposition, is_bare, || {
                if names_sets {
                    "element sets".to_owned()
                } else {
                    "preferredRecordSyntax".to_owned()
                }
            });
        }
        self.of_class(5, "preferredRecordSyntax", syntax);
        let is_again = self.known.has_searched(self.request);
        self.mark(RuleId::SearchAgain, !is_again, || {
            "a search whose result set is still there".to_owned()
        });
        if let Query::Type1(query) | Query::Type101(query) = &search.query {
            self.query(query);
        }
    }

    pub(super) fn scan(&mut self, scan: &ScanRequest) {
        self.databases(RuleId::ScanDatabases, &scan.database_names);
        let terms = scan.number_of_terms_requested;
        self.mark(RuleId::ScanNumber, terms >= 1, || {
            format!("numberOfTermsRequested {terms}")
        });
        if let Some(step) = scan.step_size {
            self.mark(RuleId::ScanStep, step >= 0, || format!("stepSize {step}"));
        }
        if let Some(place) = scan.preferred_position_in_response {
            let is_near = place >= 0 && place <= terms.max(0).saturating_add(1);
            self.mark(RuleId::ScanPosition, is_near, || {
                format!("preferredPositionInResponse {place} of {terms} terms")
            });
        }
        self.of_class(3, "attributeSet", &scan.attribute_set);
        let start = &scan.term_list_and_start_point;
        let is_bib1 = scan
            .attribute_set
            .as_ref()
            .is_none_or(|set| *set == z3950_asn1::oid::BIB_1);
        self.attributes(&start.attributes, is_bib1);
        let is_again = self.known.asks_again(self.request, None);
        self.mark(RuleId::ScanAgain, !is_again, || {
            "a scan that was sent before".to_owned()
        });
    }

    fn databases(&mut self, rule: RuleId, names: &[DatabaseName]) {
        self.mark(rule, !names.is_empty(), || "no database".to_owned());
        let mut seen = HashSet::new();
        let twice = names
            .iter()
            .find(|name| !seen.insert(name.0.as_bytes().to_ascii_lowercase()));
        self.mark(RuleId::SearchDatabasesOnce, twice.is_none(), || {
            let name = twice.map(|name| name.0.to_string_lossy());
            format!("{} twice", name.unwrap_or_default())
        });
    }
}
