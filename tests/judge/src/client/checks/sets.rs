//! Rules about the values of Sort and Delete (Z39.50-2003 §3.2.7.1, §3.2.4.1).

use z3950_asn1::apdu::{DeleteFunction, DeleteResultSetRequest, SortRequest};

use super::Judged;
use crate::client::rules::RuleId;

impl Judged<'_> {
    pub(super) fn sort(&mut self, sort: &SortRequest) {
        let inputs = &sort.input_result_set_names;
        self.mark(RuleId::SortInput, !inputs.is_empty(), || {
            "no result set".to_owned()
        });
        for name in inputs {
            let exists = self.known.may_have(name.as_bytes());
            self.mark(RuleId::SortInput, exists, || {
                let name = name.to_string_lossy();
                format!("the result set {name}, which was not made")
            });
        }
        self.mark(RuleId::SortKeys, !sort.sort_sequence.is_empty(), || {
            "no key".to_owned()
        });
        for key in &sort.sort_sequence {
            let relation = key.sort_relation.0;
            let case = key.case_sensitivity.0;
            let is_known = [0, 1, 3, 4].contains(&relation) && [0, 1].contains(&case);
            self.mark(RuleId::SortKeys, is_known, || {
                format!("sortRelation {relation}, caseSensitivity {case}")
            });
        }
    }

    pub(super) fn delete(&mut self, delete: &DeleteResultSetRequest) {
        let function = delete.delete_function.0;
        self.mark(RuleId::DeleteFunction, (0..=1).contains(&function), || {
            format!("deleteFunction {function}")
        });
        let list = delete.result_set_list.as_deref();
        let is_list = delete.delete_function == DeleteFunction::LIST;
        let names = list.map_or(0, <[_]>::len);
        let fits = is_list == list.is_some() && (!is_list || names > 0);
        self.mark(RuleId::DeleteList, fits, || {
            format!("deleteFunction {function} with a list of {names} names")
        });
        for set in list.unwrap_or_default() {
            let exists = self.known.may_have(set.0.as_bytes());
            self.mark(RuleId::DeleteKnown, exists, || {
                let name = set.0.to_string_lossy();
                format!("the result set {name}, which was not made")
            });
        }
    }
}
