//! Tests for requests as parameters: reading, refusing, and writing.

use super::super::*;

fn read(text: &str) -> Result<Request, Refusal> {
    Request::from_parameters(text.as_bytes(), &SruLimits::default())
}

/// Checks that a request is read, and then written as `written`.
fn check(text: &str, written: &str) {
    let request = read(text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
    assert_eq!(request.to_parameters(), written, "{text}");
    assert_eq!(read(written), Ok(request), "{written}");
}

#[test]
fn requests_are_read_and_written() {
    for (text, written) in [
        // YAZ's programs send these requests.
        (
            "version=1.1&operation=explain",
            "version=1.1&operation=explain",
        ),
        (
            "version=1.1&operation=searchRetrieve&query=title%3D3&startRecord=1&maximumRecords=2",
            "version=1.1&operation=searchRetrieve&query=title%3D3&startRecord=1&maximumRecords=2",
        ),
        (
            "version=1.1&operation=scan&scanClause=title%3Dwar&responsePosition=1&maximumTerms=20",
            "version=1.1&operation=scan&scanClause=title%3Dwar&responsePosition=1&maximumTerms=20",
        ),
        // The operation is inferred from the parameters, and the default version is 2.0.
        ("", "version=2.0&operation=explain"),
        (
            "query=a+b",
            "version=2.0&operation=searchRetrieve&query=a%20b",
        ),
        ("scanClause=a", "version=2.0&operation=scan&scanClause=a"),
        (
            "version=1.2&x-pquery=%40and+a+b",
            "version=1.2&operation=searchRetrieve&x-pquery=%40and%20a%20b",
        ),
        (
            "x-pScanClause=a&version=1.1",
            "version=1.1&operation=scan&x-pScanClause=a",
        ),
        (
            "query=a&queryType=pqf",
            "version=2.0&operation=searchRetrieve&queryType=pqf&query=a",
        ),
        (
            "query=a&queryType=CQL",
            "version=2.0&operation=searchRetrieve&query=a",
        ),
        (
            "query=a&queryType=ccl",
            "version=2.0&operation=searchRetrieve&queryType=ccl&query=a",
        ),
        // A parameter with an empty value, as forms send it, counts as absent.
        (
            "query=a&startRecord=&recordSchema=&&=",
            "version=2.0&operation=searchRetrieve&query=a",
        ),
        (
            "version=1.0&query=a",
            "version=1.1&operation=searchRetrieve&query=a",
        ),
        (
            "version=1.9&query=a",
            "version=1.2&operation=searchRetrieve&query=a",
        ),
        (
            "version=2.1&query=a",
            "version=2.0&operation=searchRetrieve&query=a",
        ),
        (
            "version=1.1&query=a&recordPacking=STRING&recordXPath=/a&sortKeys=title,,0&stylesheet=a.xsl&resultSetTTL=9",
            "version=1.1&operation=searchRetrieve&query=a&recordPacking=string&recordXPath=%2Fa&resultSetTTL=9\
             &sortKeys=title%2C%2C0&stylesheet=a.xsl",
        ),
        (
            "query=a&recordXMLEscaping=string&recordPacking=unpacked&facetLimit=2:title&facetSort=index&renderedBy=client\
             &httpAccept=a/b&responseType=c",
            "version=2.0&operation=searchRetrieve&query=a&recordXMLEscaping=string&recordPacking=unpacked\
             &facetLimit=2%3Atitle&facetSort=index&renderedBy=client&httpAccept=a%2Fb&responseType=c",
        ),
        (
            "version=1.1&query=a&facetLimit=2:title&facetStart=3&facetSort=alphanumeric",
            "version=1.1&operation=searchRetrieve&query=a&facetLimit=2%3Atitle&facetStart=3&facetSort=alphanumeric",
        ),
        (
            "query=a&recordPacking=xml",
            "version=2.0&operation=searchRetrieve&query=a",
        ),
        (
            "query=a&x-username=u&x-password=p&x-target=lib.example/db",
            "version=2.0&operation=searchRetrieve&query=a&x-username=u&x-password=p&x-target=lib.example%2Fdb",
        ),
        (
            "query=a&startRecord=0018446744073709551615",
            "version=2.0&operation=searchRetrieve&query=a&startRecord=18446744073709551615",
        ),
    ] {
        check(text, written);
    }
}

/// Checks the diagnostics for a request, by their numbers and details.
fn refused(text: &str, expected: &[(u16, &str)]) {
    let refusal = read(text).expect_err(text);
    let found: Vec<_> = refusal
        .diagnostics
        .iter()
        .map(|diagnostic| {
            let number = diagnostic.condition().map(|condition| condition.0);
            (number.unwrap_or_default(), &*diagnostic.details)
        })
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn faulty_requests_are_refused() {
    for (text, expected) in [
        ("version=3.0&query=a", &[(5, "2.0")][..]),
        ("version=1&query=a", &[(5, "2.0")]),
        ("operation=sing&query=a&x-a=b", &[(4, "sing")]),
        ("operation=update", &[(4, "update")]),
        ("operation=searchRetrieve", &[(7, "query")]),
        ("operation=searchRetrieve&query=", &[(7, "query")]),
        ("operation=scan&version=1.1", &[(7, "scanClause")]),
        ("query=a&query=b", &[(6, "query")]),
        ("query=a&x-pquery=b", &[(6, "x-pquery")]),
        ("query=100%", &[(6, "query")]),
        ("query=%E4", &[(6, "query")]),
        ("query=a%00", &[(6, "query")]),
        ("query=a&startRecord=0", &[(6, "startRecord")]),
        ("query=a&startRecord=x", &[(6, "startRecord")]),
        (
            "query=a&startRecord=18446744073709551616",
            &[(6, "startRecord")],
        ),
        ("query=a&maximumRecords=-1", &[(6, "maximumRecords")]),
        ("query=a&resultSetTTL=%2B1", &[(6, "resultSetTTL")]),
        ("scanClause=a&maximumTerms=0", &[(6, "maximumTerms")]),
        (
            "scanClause=a&responsePosition=-1",
            &[(6, "responsePosition")],
        ),
        ("query=a&recordXMLEscaping=rar", &[(71, "rar")]),
        ("query=a&recordPacking=rar", &[(71, "rar")]),
        (
            "version=1.1&query=a&recordPacking=packed",
            &[(71, "packed")],
        ),
        ("query=a&colour=red&size=9", &[(8, "colour"), (8, "size")]),
        ("operation=explain&query=a", &[(8, "query")]),
        (
            "version=1.2&query=a&recordXMLEscaping=xml",
            &[(8, "recordXMLEscaping")],
        ),
        ("version=1.2&query=a&queryType=cql", &[(8, "queryType")]),
        ("version=1.1&query=a&facetCount=1", &[(8, "facetCount")]),
        ("query=a&recordXPath=/a", &[(8, "recordXPath")]),
        ("query=a&Query=b", &[(8, "Query")]),
        ("query=a&%ff=b", &[(8, "%ff")]),
        (
            "startRecord=0&operation=searchRetrieve&a=b",
            &[(7, "query"), (6, "startRecord"), (8, "a")],
        ),
    ] {
        refused(text, expected);
    }
}

#[test]
fn a_refusal_keeps_the_data_that_the_answer_needs() {
    let refusal =
        read("version=1.1&scanClause=a&maximumTerms=0&stylesheet=a.xsl").expect_err("0 terms");
    assert_eq!(refusal.request.version, Version::V1_1);
    assert_eq!(refusal.request.operation.response_name(), "scanResponse");
    assert_eq!(refusal.request.stylesheet.as_deref(), Some("a.xsl"));
}

#[test]
fn a_refusal_names_ten_unknown_parameters_at_most() {
    let unknown = |count| {
        let names: Vec<_> = (0..count).map(|number| format!("&p{number}=1")).collect();
        let refusal = read(&format!("query=a{}", names.concat())).expect_err("unknown");
        refusal.diagnostics.len()
    };
    assert_eq!(unknown(10), 10);
    let damaged = |text: &str| {
        let refusal = read(&text.repeat(1000)).expect_err(text);
        refusal.diagnostics.len()
    };
    assert_eq!(damaged("%zz=1&"), MAX_UNKNOWN_PARAMETERS);
    assert_eq!(damaged("a=%zz&"), SruLimits::default().parameters + 1);
    assert_eq!(unknown(11), MAX_UNKNOWN_PARAMETERS);
}

#[test]
fn requests_are_bounded() {
    let limits = SruLimits {
        parameters: 3,
        parameter: 5,
        ..SruLimits::default()
    };
    for (text, expected) in [
        ("query=12345&x-a=b&x-c=d", None),
        ("query=123456", Some((12, "query"))),
        ("query=%31%32%33%34%35", None),
        ("query=1&x-a=123456", Some((6, "x-a"))),
        ("query=1&x-abcd=1", Some((6, "x-abcd"))),
        ("query=1&x-a=b&x-c=d&x-e=f&x-g=h", Some((8, "x-e"))),
    ] {
        let read = Request::from_parameters(text.as_bytes(), &limits);
        let found = read.err().map(|refusal| {
            assert_eq!(refusal.diagnostics.len(), 1, "{text}");
            refusal.diagnostics[0].clone()
        });
        let expected = expected.map(|(number, details)| {
            let words = found.as_ref().map(|found| found.words().to_owned());
            SruDiagnostic::new(SruCondition(number), details)
                .with_message(words.unwrap_or_default())
        });
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn passwords_are_not_shown() {
    let request = read("query=a&x-username=u&x-password=sesame").expect("right");
    assert!(!format!("{request:?}").contains("sesame"));
}

#[test]
fn a_parameter_with_a_fault_still_names_the_operation() {
    for (text, operation) in [
        ("query=%FF", "searchRetrieve"),
        ("scanClause=%FF", "scan"),
        ("colour=%FF", "explain"),
    ] {
        let refusal = read(text).expect_err(text);
        assert_eq!(refusal.request.operation.name(), operation, "{text}");
    }
}
