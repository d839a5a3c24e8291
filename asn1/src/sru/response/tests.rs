//! Tests for writing responses.

use bytes::Bytes;

use super::*;
use crate::sru::{
    ExplainRequest, ScanRequest, SearchRetrieve, SruCondition, SruLimits, SruOperation,
};

/// Returns the document without its XML declaration, with a line for each of the outer elements.
fn xml(response: impl Into<Response>) -> String {
    let document = String::from_utf8(response.into().to_xml(None)).expect("UTF-8");
    let text = document.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.expect("a declaration").trim_end().to_owned()
}

fn record() -> SruRecord {
    SruRecord::new(
        "info:srw/schema/1/marcxml-v1.1",
        "<?xml version=\"1.0\"?>\n<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>&lt;</leader></record>",
    )
}

fn request(text: &str) -> Option<Box<Request>> {
    let request = Request::from_parameters(text.as_bytes(), &SruLimits::default());
    Some(Box::new(request.expect("right")))
}

#[test]
fn answers_of_1_1_are_written_in_order() {
    let mut response = SearchRetrieveResponse::new(Version::V1_1, 23, 1, vec![record()]);
    response.result_set_id = Some("s&1".into());
    response.result_set_ttl = Some(300);
    response.echo = request(
        "version=1.1&query=a+%26+b&maximumRecords=1&recordPacking=xml&x-a=c&x-%3Cb=d&x-1b=d&x-password=e&stylesheet=f",
    );
    response.diagnostics = vec![SruDiagnostic::new(SruCondition::PARTIAL, "x<y")];
    response.extra = Bytes::from("<own xmlns=\"urn:own\"/>");
    response.result_count_precision = Some("exact".into());
    assert_eq!(
        xml(response),
        "<zs:searchRetrieveResponse xmlns:zs=\"http://www.loc.gov/zing/srw/\"><zs:version>1.1</zs:version>\
         <zs:numberOfRecords>23</zs:numberOfRecords><zs:resultSetId>s&amp;1</zs:resultSetId>\
         <zs:resultSetIdleTime>300</zs:resultSetIdleTime><zs:records><zs:record>\
         <zs:recordSchema>info:srw/schema/1/marcxml-v1.1</zs:recordSchema><zs:recordPacking>xml</zs:recordPacking>\
         <zs:recordData><record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>&lt;</leader></record></zs:recordData>\
         <zs:recordPosition>1</zs:recordPosition></zs:record></zs:records>\
         <zs:nextRecordPosition>2</zs:nextRecordPosition><zs:echoedSearchRetrieveRequest><zs:version>1.1</zs:version>\
         <zs:query>a &amp; b</zs:query><zs:xQuery xmlns:xcql=\"http://www.loc.gov/zing/cql/xcql/\">\
         <xcql:searchClause><xcql:index>cql.serverChoice</xcql:index><xcql:relation><xcql:value>=</xcql:value></xcql:relation>\
         <xcql:term>a &amp; b</xcql:term></xcql:searchClause></zs:xQuery><zs:maximumRecords>1</zs:maximumRecords><zs:recordPacking>xml</zs:recordPacking>\
         <zs:stylesheet>f</zs:stylesheet><zs:extraRequestData><zs:a>c</zs:a></zs:extraRequestData>\
         </zs:echoedSearchRetrieveRequest><zs:diagnostics xmlns:diag=\"http://www.loc.gov/zing/srw/diagnostic/\">\
         <diag:diagnostic><diag:uri>info:srw/diagnostic/1/59</diag:uri><diag:details>x&lt;y</diag:details>\
         <diag:message>only some of the result is there; what is there is sound</diag:message></diag:diagnostic>\
         </zs:diagnostics><zs:extraResponseData><own xmlns=\"urn:own\"/></zs:extraResponseData>\
         </zs:searchRetrieveResponse>"
    );
}

#[test]
fn answers_of_2_0_are_written_in_order() {
    let packed = SruRecord {
        packing: Packing::String,
        ..record()
    };
    let surrogate = SruRecord::surrogate(SruDiagnostic::new(SruCondition::RETRIEVAL, ""));
    let mut response = SearchRetrieveResponse::new(Version::V2_0, 3, 2, vec![packed, surrogate]);
    response.result_set_ttl = Some(300);
    response.result_count_precision = Some("exact".into());
    response.echo = request("query=a&facetLimit=2:title&facetSort=index&httpAccept=b&x-a=c");
    response.facets = vec![SruFacet {
        index: "title".into(),
        terms: vec![SruFacetTerm::new("t", 9)],
    }];
    assert_eq!(
        xml(response),
        "<zs:searchRetrieveResponse xmlns:zs=\"http://docs.oasis-open.org/ns/search-ws/sruResponse\">\
         <zs:numberOfRecords>3</zs:numberOfRecords><zs:records><zs:record>\
         <zs:recordSchema>info:srw/schema/1/marcxml-v1.1</zs:recordSchema>\
         <zs:recordXMLEscaping>string</zs:recordXMLEscaping><zs:recordData>&lt;record \
         xmlns=\"http://www.loc.gov/MARC21/slim\"&gt;&lt;leader&gt;&amp;lt;&lt;/leader&gt;&lt;/record&gt;</zs:recordData>\
         <zs:recordPosition>2</zs:recordPosition></zs:record><zs:record>\
         <zs:recordSchema>info:srw/schema/1/diagnostics-v1.1</zs:recordSchema>\
         <zs:recordXMLEscaping>xml</zs:recordXMLEscaping><zs:recordData>\
         <diagnostic xmlns=\"http://www.loc.gov/zing/srw/diagnostic/\"><uri>info:srw/diagnostic/1/63</uri>\
         <message>the server could not deliver a record</message></diagnostic></zs:recordData>\
         <zs:recordPosition>3</zs:recordPosition></zs:record></zs:records><zs:echoedSearchRetrieveRequest>\
         <zs:query>a</zs:query><zs:facetParameters>facetLimit=2:title&amp;facetSort=index</zs:facetParameters>\
         <zs:extraRequestParameter>x-a=c</zs:extraRequestParameter><zs:httpAccept>b</zs:httpAccept>\
         </zs:echoedSearchRetrieveRequest><zs:resultSetTTL>300</zs:resultSetTTL>\
         <zs:resultCountPrecision>exact</zs:resultCountPrecision>\
         <zs:facetedResults xmlns:fr=\"http://docs.oasis-open.org/ns/search-ws/facetedResults\"><fr:facet>\
         <fr:index>title</fr:index><fr:terms><fr:term><fr:actualTerm>t</fr:actualTerm><fr:count>9</fr:count></fr:term>\
         </fr:terms></fr:facet></zs:facetedResults></zs:searchRetrieveResponse>"
    );
}

#[test]
fn failures_have_a_count_where_it_is_mandatory() {
    for (version, expected) in [
        (
            Version::V1_2,
            "<zs:version>1.2</zs:version><zs:numberOfRecords>0</zs:numberOfRecords><zs:diagnostics ",
        ),
        (Version::V2_0, "sruResponse\"><zs:diagnostics "),
    ] {
        let diagnostics = vec![SruDiagnostic::new(SruCondition::QUERY_SYNTAX, "")];
        let written = xml(SearchRetrieveResponse::failed(version, diagnostics));
        assert!(written.contains(expected), "{written}");
        assert!(!written.contains("<zs:records>"), "{written}");
    }
}

#[test]
fn scans_explain_and_updates_are_written_in_order() {
    let mut term = SruTerm::new("war", 9);
    term.display_term = Some("War".into());
    term.where_in_list = Some(WhereInList::First);
    let mut scan = ScanResponse::new(Version::V1_1, vec![term, SruTerm::new("wax", None)]);
    scan.echo = request("version=1.1&scanClause=war&maximumTerms=2");
    assert_eq!(
        xml(scan),
        "<zs:scanResponse xmlns:zs=\"http://www.loc.gov/zing/srw/\"><zs:version>1.1</zs:version><zs:terms><zs:term>\
         <zs:value>war</zs:value><zs:numberOfRecords>9</zs:numberOfRecords><zs:displayTerm>War</zs:displayTerm>\
         <zs:whereInList>first</zs:whereInList></zs:term><zs:term><zs:value>wax</zs:value></zs:term></zs:terms>\
         <zs:echoedScanRequest><zs:version>1.1</zs:version><zs:scanClause>war</zs:scanClause><zs:xScanClause xmlns:xcql=\"http://www.loc.gov/zing/cql/xcql/\">\
         <xcql:index>cql.serverChoice</xcql:index><xcql:relation><xcql:value>=</xcql:value></xcql:relation>\
         <xcql:term>war</xcql:term></zs:xScanClause>\
         <zs:maximumTerms>2</zs:maximumTerms></zs:echoedScanRequest></zs:scanResponse>"
    );
    let mut scan = ScanResponse::new(Version::V2_0, Vec::new());
    scan.echo = request("scanClause=war");
    assert_eq!(
        xml(scan),
        "<zs:scanResponse xmlns:zs=\"http://docs.oasis-open.org/ns/search-ws/scan\"><zs:echoedScanRequest>\
         <zs:scanClause>war</zs:scanClause></zs:echoedScanRequest></zs:scanResponse>"
    );
    let mut explain = ExplainResponse::new(
        Version::V2_0,
        "<explain xmlns=\"http://explain.z3950.org/dtd/2.0/\"/>",
    );
    explain.echo = request("operation=explain&httpAccept=a");
    assert_eq!(
        xml(explain),
        "<zs:explainResponse xmlns:zs=\"http://docs.oasis-open.org/ns/search-ws/sruResponse\"><zs:record>\
         <zs:recordSchema>http://explain.z3950.org/dtd/2.0/</zs:recordSchema>\
         <zs:recordXMLEscaping>xml</zs:recordXMLEscaping>\
         <zs:recordData><explain xmlns=\"http://explain.z3950.org/dtd/2.0/\"/></zs:recordData></zs:record>\
         <zs:echoedExplainRequest></zs:echoedExplainRequest></zs:explainResponse>"
    );
    let mut update = UpdateResponse::new(Version::V1_1, false);
    update.record_identifier = Some("7".into());
    update.record_versions = vec![("number".into(), "2".into())];
    update.diagnostics = vec![SruDiagnostic::update(52, "7")];
    assert_eq!(
        xml(update),
        "<zu:updateResponse xmlns:zu=\"http://www.loc.gov/zing/srw/update/\" xmlns:zs=\"http://www.loc.gov/zing/srw/\">\
         <zs:version>1.0</zs:version><zu:operationStatus>fail</zu:operationStatus>\
         <zu:recordIdentifier>7</zu:recordIdentifier><zu:recordVersions><zu:recordVersion>\
         <zu:versionType>number</zu:versionType><zu:versionValue>2</zu:versionValue></zu:recordVersion>\
         </zu:recordVersions><zs:diagnostics xmlns:diag=\"http://www.loc.gov/zing/srw/diagnostic/\"><diag:diagnostic>\
         <diag:uri>info:srw/diagnostic/12/52</diag:uri><diag:details>7</diag:details>\
         <diag:message>another user has locked the record</diag:message></diag:diagnostic></zs:diagnostics>\
         </zu:updateResponse>"
    );
}

#[test]
fn stylesheets_are_named_in_front() {
    let response = Response::from(ScanResponse::new(Version::V1_1, Vec::new()));
    for (stylesheet, expected) in [
        ("a.xsl", "href=\"a.xsl\"?>"),
        ("\"?><b", "href=\"&quot;?%3E&lt;b\"?>"),
    ] {
        let written = String::from_utf8(response.to_xml(Some(stylesheet))).expect("UTF-8");
        let line = written.lines().nth(1).expect("a second line");
        assert_eq!(
            line,
            format!("<?xml-stylesheet type=\"text/xsl\" {expected}")
        );
    }
}

#[test]
fn next_positions_end_with_the_records() {
    for (total, start, count, next) in [
        (23, 1, 10, Some(11)),
        (23, 21, 3, None),
        (23, 21, 2, Some(23)),
        (0, 1, 0, None),
        (1, 1, 1, None),
        (5, 2, 0, Some(2)),
        (5, u64::MAX - 1, 1, None),
    ] {
        let records = vec![record(); count];
        let response = SearchRetrieveResponse::new(Version::V1_1, total, start, records);
        assert_eq!(
            response.next_record_position, next,
            "{total} {start} {count}"
        );
        let positions = response.records.iter().filter_map(|record| record.position);
        assert!(positions.eq((start..).take(count)));
    }
}

#[test]
fn operations_name_their_answers() {
    for (operation, name, response) in [
        (
            SruOperation::from(SearchRetrieve::cql("a")),
            "searchRetrieve",
            "searchRetrieveResponse",
        ),
        (ScanRequest::cql("a").into(), "scan", "scanResponse"),
        (
            ExplainRequest::default().into(),
            "explain",
            "explainResponse",
        ),
    ] {
        assert_eq!(
            (operation.name(), operation.response_name()),
            (name, response)
        );
    }
}

#[test]
fn diagnostics_do_not_turn_the_text_around_them() {
    let details = "a\u{202e}b\u{2066}c\u{2029}d\u{85}e\u{1b}\r\u{200f}\n\u{5d0}";
    let diagnostic = SruDiagnostic::new(SruCondition::INDEX, details);
    let diagnostic = diagnostic.with_message("\u{202d}no");
    let mut response = SearchRetrieveResponse::new(Version::V1_2, 0, 1, Vec::new());
    response.diagnostics.push(diagnostic);
    let xml = xml(response);
    let shown = "<diag:details>a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}\u{fffd}\u{200f}\n\u{5d0}</diag:details>";
    assert!(xml.contains(shown), "{xml:?}");
    assert!(xml.contains("<diag:message>\u{fffd}no<"), "{xml:?}");
}

#[test]
fn audit_r_x3_secrets_are_not_echoed() {
    for version in ["1.1", "1.2", "2.0"] {
        let text = format!(
            "version={version}&operation=searchRetrieve&query=a&x-info-2-auth1.0-authenticationToken=sesame&x-token=sesame\
             &x-api_key=sesame&x-password=sesame&x-username=ann&x-info=kept"
        );
        let request =
            Request::from_parameters(text.as_bytes(), &SruLimits::default()).expect("right");
        let mut response = SearchRetrieveResponse::new(request.version, 0, 1, Vec::new());
        response.echo = Some(Box::new(request));
        let response = Response::from(response);
        for written in [response.to_xml(None), response.to_soap()] {
            let written = String::from_utf8(written).expect("UTF-8");
            assert!(!written.contains("sesame"), "{written}");
            assert!(written.contains("kept"), "{written}");
        }
    }
}
