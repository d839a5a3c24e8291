//! A record of IR-Explain-1 and the texts under which it is found (Z39.50-2003 Appendix ATR.2).

use z3950_asn1::record::explain::*;

/// The name of the database (Z39.50-2003 §3.2.10).
pub const EXPLAIN_DATABASE: &str = "IR-Explain-1";

/// A record, and its texts under the Use attributes of Exp-1, in lower case.
pub(super) struct ExplainEntry {
    pub(super) texts: Vec<(i64, String)>,
    pub(super) record: ExplainRecord,
}

/// Use attributes of Exp-1.
pub(super) const CATEGORY: i64 = 1;
pub(super) const LANGUAGE: i64 = 2;
pub(super) const DATABASE: i64 = 3;
pub(super) const TARGET: i64 = 4;
pub(super) const ATTRIBUTE_SET: i64 = 5;
pub(super) const SYNTAX: i64 = 6;
pub(super) const SERVICE: i64 = 8;
pub(super) const TERM_LIST: i64 = 15;
pub(super) const PROPRIETARY: i64 = 20;
pub(super) const USER_FEE: i64 = 21;

/// The language of all texts.
pub(super) const ENGLISH: &str = "eng";

impl ExplainEntry {
    pub(super) fn new(category: &str, texts: Vec<(i64, String)>, record: ExplainRecord) -> Self {
        let common = [
            (CATEGORY, category.to_owned()),
            (LANGUAGE, ENGLISH.to_owned()),
        ];
        let texts = common.into_iter().chain(texts);
        Self {
            texts: texts
                .map(|(r#use, text)| (r#use, text.to_lowercase()))
                .collect(),
            record,
        }
    }

    /// The record without its lists of attributes and keys.
    pub(super) fn brief(&self) -> ExplainRecord {
        let mut record = self.record.clone();
        match &mut record {
            ExplainRecord::AttributeSetInfo(info) => info.attributes = None,
            ExplainRecord::AttributeDetails(details) => details.attributes_by_set = None,
            ExplainRecord::SortDetails(details) => details.sort_keys = None,
            _ => {}
        }
        record
    }
}

pub(super) fn common_info() -> Option<CommonInfo> {
    Some(CommonInfo {
        date_added: None,
        date_changed: None,
        expiry: None,
        human_string_language: Some(ENGLISH.into()),
        other_info: None,
    })
}
