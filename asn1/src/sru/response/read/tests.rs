//! Tests for responses as servers send them: differences between servers, damage and limits.

use super::*;
use crate::sru::SruCondition;

fn read(text: &str) -> Result<Response, ResponseError> {
    Response::from_xml(text.as_bytes().to_vec(), &SruLimits::default())
}

fn search(text: &str) -> SearchRetrieveResponse {
    match read(text) {
        Ok(Response::SearchRetrieve(response)) => response,
        other => panic!("{text}: {other:?}"),
    }
}

/// Returns the records of a response with this content in `records`.
fn with_records(records: &str) -> Vec<SruRecord> {
    let text =
        format!("<searchRetrieveResponse><records>{records}</records></searchRetrieveResponse>");
    search(&text).records
}

#[test]
fn what_is_written_is_read() {
    let mut record = SruRecord::new("info:srw/schema/1/marcxml-v1.1", "<r><!-- a --><s/></r>");
    record.identifier = Some("id 7".into());
    record.extra = Bytes::from("<own xmlns=\"urn:own\"/>");
    let packed = SruRecord {
        packing: Packing::String,
        ..SruRecord::new("dc", "<r a=\"b\">&amp;</r>")
    };
    let surrogate =
        SruRecord::surrogate(SruDiagnostic::new(SruCondition::RETRIEVAL, "7").with_message("lost"));
    let records = vec![record, packed, surrogate];
    for version in [Version::V1_1, Version::V1_2, Version::V2_0] {
        let mut response = SearchRetrieveResponse::new(version, 9, 2, records.clone());
        response.result_set_id = Some("s1".into());
        response.result_set_ttl = Some(300);
        let text = match version {
            Version::V2_0 => "query=a&facetLimit=2:title&facetSort=index&x-a=b%3Dc&httpAccept=d",
            Version::V1_2 => "version=1.2&query=a&recordPacking=xml&x-a=b",
            Version::V1_1 => "version=1.1&x-pquery=a&startRecord=2",
        };
        let request = Request::from_parameters(text.as_bytes(), &SruLimits::default());
        response.echo = Some(Box::new(request.expect(text)));
        response.diagnostics =
            vec![SruDiagnostic::new(SruCondition::PARTIAL, "x").with_message("y")];
        response.extra = Bytes::from("<own xmlns=\"urn:own\"/>");
        if version == Version::V2_0 {
            response.result_count_precision = Some("exact".into());
            response.facets = vec![SruFacet {
                index: "title".into(),
                terms: vec![SruFacetTerm::new("t", 9)],
            }];
        }
        let response = Response::from(response);
        let limits = SruLimits::default();
        assert_eq!(
            Response::from_xml(response.to_xml(Some("a.xsl")), &limits),
            Ok(response.clone())
        );
        assert_eq!(
            Response::from_xml(response.to_soap(), &limits),
            Ok(response)
        );
    }
    let mut term = SruTerm::new("war", 9);
    term.display_term = Some("War".into());
    term.where_in_list = Some(WhereInList::Only);
    term.extra = Bytes::from("<own/>");
    let mut update = UpdateResponse::new(Version::V1_1, true);
    update.record_identifier = Some("7".into());
    update.record_versions = vec![("number".into(), "2".into())];
    update.record = Some(SruRecord::new("dc", "<r/>"));
    for response in [
        Response::from(ScanResponse::new(Version::V2_0, vec![term])),
        ExplainResponse::new(Version::V1_2, "<explain/>").into(),
        update.into(),
    ] {
        let read = Response::from_xml(response.to_xml(None), &SruLimits::default());
        assert_eq!(read, Ok(response));
    }
}

#[test]
fn namespaces_prefixes_and_versions_do_not_matter() {
    for (begin, end, version) in [
        (
            "<searchRetrieveResponse>",
            "</searchRetrieveResponse>",
            Version::V1_1,
        ),
        (
            "\u{FEFF}<?xml version=\"1.0\"?>\n<!-- x --><searchRetrieveResponse xmlns=\"http://www.loc.gov/zing/srw\">",
            "</searchRetrieveResponse>",
            Version::V1_1,
        ),
        (
            "<srw:searchRetrieveResponse xmlns:srw=\"http://www.loc.gov/zing/srw/v1.0/\"><srw:version/>",
            "</srw:searchRetrieveResponse>",
            Version::V1_1,
        ),
        (
            "<a:searchRetrieveResponse xmlns:a='http://docs.oasis-open.org/ns/search-ws/sruResponse/'>",
            "</a:searchRetrieveResponse>",
            Version::V2_0,
        ),
        (
            "<a:searchRetrieveResponse xmlns:a=\"http://docs.oasis-open.org/ns/search-ws/sruResponse\"><a:version>1.2</a:version>",
            "</a:searchRetrieveResponse>",
            Version::V1_2,
        ),
    ] {
        let text = format!(
            "{begin}<x:unknown><records/></x:unknown><numberOfRecords> 7 </numberOfRecords><y:records/>\
             <nextRecordPosition>x</nextRecordPosition>{end}trailing"
        );
        let response = search(&text);
        assert_eq!(response.version, version, "{text}");
        assert_eq!(response.number_of_records, Some(7));
        assert_eq!(
            (response.records.len(), response.next_record_position),
            (0, None)
        );
    }
}

/// Checks the data and packing of a record with this content in `recordData`.
fn check_data(inside: &str, data: &str, packing: Packing) {
    let records = with_records(&format!(
        "<record><recordData>{inside}</recordData></record>"
    ));
    let [record] = &records[..] else {
        panic!("{inside}: {records:?}")
    };
    assert_eq!(record.data, data.as_bytes(), "{inside}");
    assert_eq!(record.packing, packing, "{inside}");
}

#[test]
fn the_data_shows_whether_it_is_escaped() {
    check_data(
        "\n <a b=\"&lt;\">&amp;<c/></a>\n ",
        "<a b=\"&lt;\">&amp;<c/></a>",
        Packing::Xml,
    );
    check_data("<!-- x --><a/>", "<!-- x --><a/>", Packing::Xml);
    check_data(
        "&lt;a&gt;b &amp;amp; c&#33;&lt;/a&gt;",
        "<a>b &amp; c!</a>",
        Packing::String,
    );
    check_data("<![CDATA[<a>&amp;</a>]]>", "<a>&amp;</a>", Packing::String);
    check_data("a &nbsp; b", "a &nbsp; b", Packing::String);
    check_data("", "", Packing::String);
    let records = with_records("<record><recordPacking>XML</recordPacking></record><record/>");
    assert_eq!(records, vec![SruRecord::new("", ""); 2]);
}

#[test]
fn records_declare_the_namespaces_that_they_need() {
    for (around, data, expected) in [
        // The data already declares its namespaces, so it is neither changed nor copied.
        (
            "xmlns:z=\"urn:z\"",
            "<a xmlns=\"urn:a\"/>",
            "<a xmlns=\"urn:a\"/>",
        ),
        (
            "xmlns:m=\"urn:m\"",
            "<m:a><m:b/></m:a>",
            "<m:a xmlns:m=\"urn:m\"><m:b/></m:a>",
        ),
        (
            "xmlns:m=\"urn:m\"",
            "<a><m:b/></a>",
            "<a xmlns:m=\"urn:m\"><m:b/></a>",
        ),
        (
            "xmlns:m=\"urn:m\"",
            "<m:a xmlns:m=\"urn:n\"/>",
            "<m:a xmlns:m=\"urn:n\"/>",
        ),
        (
            "xmlns:m='a\"b'",
            "<m:a c=\"d\"/>",
            "<m:a xmlns:m='a\"b' c=\"d\"/>",
        ),
        ("xmlns=\"urn:d\"", "<a/>", "<a xmlns=\"urn:d\"/>"),
        ("xmlns=\"urn:d\"", "<a xmlns=\"\"/>", "<a xmlns=\"\"/>"),
        ("xmlns=\"http://www.loc.gov/zing/srw/\"", "<a/>", "<a/>"),
    ] {
        let text = format!(
            "<searchRetrieveResponse {around}><q xmlns:m=\"urn:q\"/><records xmlns:y=\"urn:y\"><record><recordData>{data}\
             </recordData></record></records></searchRetrieveResponse>"
        );
        let response = search(&text);
        assert_eq!(
            response.records[0].data,
            expected.as_bytes(),
            "{around} {data}"
        );
    }
    // If a prefix is declared twice, the innermost declaration applies.
    let inner = "<record xmlns:m=\"urn:1\"><recordData xmlns:m=\"urn:2\"><m:a/></recordData></record>\
                 <record><recordData><m:a/></recordData></record>";
    let records = with_records(inner);
    assert_eq!(records[0].data, "<m:a xmlns:m=\"urn:2\"/>".as_bytes());
    assert_eq!(records[1].data, "<m:a/>".as_bytes());
}

#[test]
fn surrogate_diagnostics_are_recognized() {
    let expected = SruDiagnostic::with_uri("info:srw/diagnostic/1/64", "d").with_message("m");
    for data in [
        "<diagnostic xmlns=\"http://www.loc.gov/zing/srw/diagnostic/\"><uri>info:srw/diagnostic/1/64</uri><details>d</details>\
         <message>m</message></diagnostic>",
        "<x:diagnostics><x:diagnostic><x:uri> info:srw/diagnostic/1/64 </x:uri><x:message>m</x:message><x:details>d</x:details>\
         </x:diagnostic></x:diagnostics>",
        "&lt;diagnostic&gt;&lt;uri&gt;info:srw/diagnostic/1/64&lt;/uri&gt;&lt;details&gt;d&lt;/details&gt;\
         &lt;message&gt;m&lt;/message&gt;&lt;/diagnostic&gt;",
    ] {
        let records = with_records(&format!(
            "<record><recordSchema>x</recordSchema><recordData>{data}</recordData><recordPosition>3</recordPosition></record>"
        ));
        assert_eq!(records[0].diagnostic.as_ref(), Some(&expected), "{data}");
        assert_eq!(records[0].position, Some(3));
    }
    let records = with_records("<record><recordData><a diagnostic=\"b\"/></recordData></record>");
    assert_eq!(records[0].diagnostic, None);
}

#[test]
fn answers_of_other_forms_are_read() {
    let diagnostics = "<diagnostics><diagnostic><uri>info:srw/diagnostic/1/2</uri></diagnostic><other/></diagnostics>";
    assert_eq!(search(diagnostics).diagnostics.len(), 1);
    let both = search(&format!(
        "<searchRetrieveResponse><records><record/></records>{diagnostics}</searchRetrieveResponse>"
    ));
    assert_eq!((both.records.len(), both.diagnostics.len()), (1, 1));
    let explain = "<z:explain xmlns:z=\"urn:z\" a=\"b>c\"><z:d/></z:explain>";
    let Ok(Response::Explain(response)) = read(&format!("<?xml version=\"1.0\"?>\n{explain}\n"))
    else {
        panic!("an explanation")
    };
    assert_eq!(response.record.expect("a record").data, explain.as_bytes());
}

#[test]
fn documents_in_other_encodings_are_read() {
    for (begin, octet, expected) in [
        ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>", 0xE4, "ä"),
        ("<?xml version='1.0' encoding = 'windows-1250'?>", 0xE8, "č"),
        ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>", 0xE4, "ä"),
        ("<?xml version=\"1.0\" encoding=\"none\"?>", 0xE4, "ä"),
        ("", 0xE4, "ä"),
    ] {
        let mut octets = begin.as_bytes().to_vec();
        octets.extend_from_slice(b"<searchRetrieveResponse><resultSetId>");
        octets.push(octet);
        octets.extend_from_slice(b"</resultSetId></searchRetrieveResponse>");
        let Ok(Response::SearchRetrieve(response)) =
            Response::from_xml(octets, &SruLimits::default())
        else {
            panic!("{begin}")
        };
        assert_eq!(response.result_set_id.as_deref(), Some(expected), "{begin}");
    }
}

#[test]
fn responses_that_are_not_answers_are_refused() {
    for (text, message) in [
        ("", "the document has no element"),
        ("Internal Server Error", "the document has no element"),
        (
            "<rss/>",
            "an element \"rss\", which SRU does not have there",
        ),
        (
            "<!DOCTYPE html><html><head><title>\n 502  Bad\nGateway</title></head>",
            "an HTML page instead of XML, \"502 Bad Gateway\"",
        ),
        ("<HTML><p>", "an HTML page instead of XML"),
        (
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a/>",
            "a document type is not accepted (octet 0)",
        ),
        (
            "<searchRetrieveResponse><records>",
            "the document ends within an element",
        ),
        (
            "<searchRetrieveResponse><records></searchRetrieveResponse>",
            "not well-formed XML: ill-formed document: expected `</records>`, but `</searchRetrieveResponse>` was found (octet 33)",
        ),
        (
            "<e:Envelope><e:Body><e:Fault><faultcode>e:Client</faultcode><faultstring>no query</faultstring></e:Fault></e:Body></e:Envelope>",
            "the server refused the request: Client: no query",
        ),
        (
            "<Envelope><Body><Fault><Code><Value>Sender</Value></Code><Reason><Text>no</Text></Reason></Fault></Body></Envelope>",
            "the server refused the request: Sender: no",
        ),
        (
            "<Envelope><Header/></Envelope>",
            "the document has no element",
        ),
        (
            "<Envelope><Body/></Envelope>",
            "the document has no element",
        ),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn answers_are_bounded() {
    let text = "<searchRetrieveResponse><records><record/><record><recordData><a><b/></a></recordData></record></records>\
                </searchRetrieveResponse>";
    let limits = |change: fn(&mut SruLimits)| {
        let mut limits = SruLimits {
            document: 130,
            depth: 6,
            elements: 7,
            records: 2,
            ..SruLimits::default()
        };
        change(&mut limits);
        Response::from_xml(text.as_bytes().to_vec(), &limits)
    };
    assert_eq!(text.len(), 130);
    assert!(limits(|_| {}).is_ok());
    for (change, message) in [
        (
            (|limits| limits.document -= 1) as fn(&mut SruLimits),
            "the document is longer than 129 octets",
        ),
        (
            |limits| limits.depth -= 1,
            "elements nested more than 5 levels deep (octet 65)",
        ),
        (
            |limits| limits.elements -= 1,
            "more than 6 elements (octet 65)",
        ),
        (
            |limits| limits.records -= 1,
            "more than 1 records (octet 50)",
        ),
    ] {
        let error = limits(change).expect_err(message);
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn namespaces_around_records_are_bounded() {
    for (count, is_read) in [(64, true), (65, false)] {
        let namespaces: String = (0..count)
            .map(|number| format!(" xmlns:n{number}=\"urn:n\""))
            .collect();
        let text = format!(
            "<searchRetrieveResponse{namespaces}><records><record><recordData><a{namespaces}/></recordData></record></records>\
             </searchRetrieveResponse>"
        );
        match read(&text) {
            Ok(_) => assert!(is_read, "{count}"),
            Err(error) => {
                assert!(!is_read, "{count}");
                assert_eq!(error.to_string(), "more than 64 namespaces (octet 0)");
            }
        }
    }
}

#[test]
fn counts_that_are_not_numbers_are_malformed() {
    let not_a_number =
        |value| format!("numberOfRecords is \"{value}\", which is not a number of records");
    for (count, expected) in [
        (" 0\n", Ok(Some(0))),
        ("", Ok(None)),
        ("18446744073709551615", Ok(Some(u64::MAX))),
        ("18446744073709551616", Err("18446744073709551616")),
        ("-5", Err("-5")),
        ("abc", Err("abc")),
        ("1e9", Err("1e9")),
        (
            "0123456789012345678901234567890123456789X",
            Err("0123456789012345678901234567890123456789"),
        ),
    ] {
        let text = format!(
            "<searchRetrieveResponse><numberOfRecords>{count}</numberOfRecords></searchRetrieveResponse>"
        );
        let found = match read(&text) {
            Ok(Response::SearchRetrieve(response)) => Ok(response.number_of_records),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(found, expected.map_err(not_a_number), "{count}");
    }
}

#[test]
fn one_octet_that_is_not_utf8_spoils_no_other_record() {
    let record = |title: &[u8]| {
        let before = b"<zs:record><zs:recordSchema>dc</zs:recordSchema><zs:recordPacking>xml</zs:recordPacking><zs:recordData><title>";
        [before, title, b"</title></zs:recordData></zs:record>"].concat()
    };
    let answer = |titles: &[&[u8]]| {
        let records: Vec<u8> = titles.iter().flat_map(|title| record(title)).collect();
        let begin = b"<zs:searchRetrieveResponse xmlns:zs='http://www.loc.gov/zing/srw/'><zs:numberOfRecords>9</zs:numberOfRecords><zs:records>";
        let end = b"</zs:records></zs:searchRetrieveResponse>";
        let octets = [begin.as_slice(), &records, end].concat();
        let Ok(Response::SearchRetrieve(found)) = Response::from_xml(octets, &SruLimits::default())
        else {
            panic!("an answer");
        };
        let texts = found.records.into_iter();
        let texts = texts.map(|record| String::from_utf8_lossy(&record.data).into_owned());
        texts.collect::<Vec<_>>()
    };
    let found = answer(&[
        "Müller café".as_bytes(),
        b"caf\xE9",
        "Naïcode 漢".as_bytes(),
    ]);
    for (text, part) in found
        .iter()
        .zip(["Müller café", "caf\u{FFFD}", "Naïcode 漢"])
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    // An answer without any valid UTF-8 is read as Latin-1.
    let found = answer(&[b"M\xFCller", b"caf\xE9"]);
    assert!(
        found[0].contains("Müller") && found[1].contains("café"),
        "{found:?}"
    );
}
