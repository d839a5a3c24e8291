//! Tests of each fault in an SRU answer.

use z3950_asn1::sru::{SearchRetrieveResponse, SruRecord, Version};

use super::*;
use crate::fault::Rule;

/// Returns an answer with two of ten records, to which a fault was applied.
fn struck(fault: &str) -> Vec<u8> {
    let rule: Rule = format!("on sru search: {fault}").parse().expect(fault);
    let record = || SruRecord::new("info:srw/schema/1/dc-v1.1", "<dc>Éa</dc>");
    let found = SearchRetrieveResponse::new(Version::V1_1, 10, 1, vec![record(), record()]);
    let mut found = Response::from(found);
    answer(&rule.fault, &mut found);
    body(&rule.fault, found.to_xml(None))
}

#[test]
fn answers_are_as_the_fault_says() {
    let text = |fault: &str| String::from_utf8_lossy(&struck(fault)).into_owned();
    for (fault, is_there, is_not) in [
        ("count 7", "<zs:numberOfRecords>7<", ">10<"),
        ("count -1", "<zs:numberOfRecords>-1<", ">10<"),
        ("next 1", "<zs:nextRecordPosition>1<", ">3<"),
        ("next", "<zs:recordPosition>2<", "nextRecordPosition"),
        (
            "no-positions",
            "<zs:nextRecordPosition>3<",
            "<zs:recordPosition>",
        ),
        ("fewer 1", "<zs:recordPosition>1<", "<zs:recordPosition>2<"),
        ("surrogate 14", "diagnostics-v1.1", "<dc>"),
        ("empty-records", "<zs:records/>", "<zs:record>"),
        ("beside 1", "<dc>", "no such text"),
        ("beside 1", "info:srw/diagnostic/1/1<", "no such text"),
        ("fail 109 a", "info:srw/diagnostic/1/2<", "<zs:records>"),
        ("fail 109 a", "<diag:details>a<", "nextRecordPosition"),
        ("fail-several 109 a 31 b", "<diag:details>b<", "<dc>"),
        ("fail-silently", "searchRetrieveResponse", "<dc>"),
        ("namespace urn:x", "xmlns:zs=\"urn:x\"", "zing/srw/\""),
        (
            "no-prefixes",
            "xmlns=\"http://www.loc.gov/zing/srw/\"",
            "zs:",
        ),
        ("sru-version 3.0", "<zs:version>3.0<", "<zs:version>1.1"),
        ("sru-version", "<zs:numberOfRecords>10<", "<zs:version>"),
        ("packing XML", "<zs:recordPacking>XML<", ">xml<"),
        ("html", "<html>", "<zs:"),
        // A fault for Z39.50 does not change an SRU answer.
        ("tag 3", "<zs:nextRecordPosition>3<", "no such text"),
    ] {
        let text = text(fault);
        assert!(text.contains(is_there), "{fault}: {text}");
        assert!(!text.contains(is_not), "{fault}: {text}");
    }
    assert_eq!(text("more 3").matches("<dc>").count(), 5);
    assert!(struck("bom").starts_with(b"\xef\xbb\xbf<?xml"));
    let latin = struck("latin-1");
    assert!(latin.windows(4).any(|octets| octets == b">\xc9a<"));
}
