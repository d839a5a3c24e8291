//! The Summary record syntax (Z39.50-2003 Appendix REC.4): a brief bibliographic record.
#![allow(
    missing_docs,
    reason = "fields are the standard's; a type's doc names its part"
)]

use crate::apdu::OtherInformation;
use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// BriefBib: the data by which a person distinguishes records in a list.
    #[derive(Default)]
    pub struct BriefBib {
        [1] title: InternationalString,
        [2] author: Option<InternationalString>,
        [3] call_number: Option<InternationalString>,
        [4] record_type: Option<InternationalString>,
        [5] bibliographic_level: Option<InternationalString>,
        [6] format: Option<Vec<FormatSpec>>,
        [7] publication_place: Option<InternationalString>,
        [8] publication_date: Option<InternationalString>,
        [9] target_system_key: Option<InternationalString>,
        [10] satisfying_element: Option<InternationalString>,
        [11] rank: Option<i64>,
        [12] document_id: Option<InternationalString>,
        [13] r#abstract: Option<InternationalString>,
        other_info: Option<OtherInformation>,
    }

    /// FormatSpec: a format of the document, with the size in octets.
    pub struct FormatSpec {
        [1] r#type: InternationalString,
        [2] size: Option<i64>,
        [3] best_posn: Option<i64>,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codec::{decode_value, encode_value};
    use crate::describe::Describe;

    #[test]
    fn octets_value_and_forms() {
        let octets = [
            &[0x30, 0x15, 0x81, 3][..],
            b"War",
            &[0xa6, 8, 0x30, 6, 0x81, 1, b't', 0x82, 1, 9],
            &[0x8b, 1, 5],
            &[0x8c, 1, b'7'],
        ]
        .concat();
        let brief: BriefBib = decode_value(&octets).expect("decodes");
        assert_eq!(encode_value(&brief).expect("encodes"), octets);
        assert_eq!(
            brief.describe().to_json(),
            json!({"title": "War", "format": [{"type": "t", "size": 9}], "rank": 5, "documentId": "7"})
        );
        assert_eq!(
            brief.describe().to_text(),
            "Title: War\nFormat:\n  Type: t\n  Size: 9\nRank: 5\nDocument id: 7\n"
        );
        assert!(
            brief
                .describe()
                .to_xml("briefBib")
                .contains("<documentId>7</documentId>")
        );
    }
}
