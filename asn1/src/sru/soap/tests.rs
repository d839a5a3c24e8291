//! Tests for SOAP envelopes and faults.

use crate::sru::*;

fn read(text: &str) -> Result<Request, SoapRequestError> {
    Request::from_soap(text.as_bytes().to_vec(), &SruLimits::default())
}

/// Checks that a request in the body of an envelope is read, and written as these parameters.
fn check(body: &str, written: &str) {
    let text = format!(
        "<?xml version=\"1.0\"?><S:Envelope xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\"><S:Header><a/></S:Header>\
         <S:Body>\n{body}</S:Body></S:Envelope>"
    );
    let request = read(&text).unwrap_or_else(|error| panic!("{body}: {error:?}"));
    assert_eq!(request.to_parameters(), written, "{body}");
    let again = Request::from_soap(request.to_soap(), &SruLimits::default());
    assert_eq!(again, Ok(request), "{body}");
}

#[test]
fn requests_are_read_and_written() {
    // YAZ's programs send these envelopes.
    check(
        "<zs:searchRetrieveRequest xmlns:zs=\"http://www.loc.gov/zing/srw/\"><zs:version>1.1</zs:version>\
         <zs:query>title=\"a &amp; b\"</zs:query><zs:startRecord>1</zs:startRecord><zs:maximumRecords>0</zs:maximumRecords>\
         </zs:searchRetrieveRequest>",
        "version=1.1&operation=searchRetrieve&query=title%3D%22a%20%26%20b%22&startRecord=1&maximumRecords=0",
    );
    check(
        "<zs:searchRetrieveRequest xmlns:zs=\"http://docs.oasis-open.org/ns/search-ws/sruRequest\"><zs:query>a</zs:query>\
         <zs:recordXMLEscaping>string</zs:recordXMLEscaping><zs:queryType>cql</zs:queryType>\
         <zs:facetLimit>2:title</zs:facetLimit></zs:searchRetrieveRequest>",
        "version=2.0&operation=searchRetrieve&query=a&recordXMLEscaping=string&facetLimit=2%3Atitle",
    );
    check(
        "<searchRetrieveRequest xmlns=\"http://www.loc.gov/zing/srw/v1.0/\"><pQuery>@attr 1=4 a</pQuery>\
         <extraRequestData><x:b xmlns:x=\"urn:x\">c</x:b><username>u</username><password>p</password></extraRequestData>\
         </searchRetrieveRequest>",
        "version=1.1&operation=searchRetrieve&x-pquery=%40attr%201%3D4%20a&x-username=u&x-password=p&x-b=c",
    );
    check(
        "<zs:scanRequest xmlns:zs=\"http://docs.oasis-open.org/ns/search-ws/scan\"><zs:scanClause>a</zs:scanClause>\
         <zs:maximumTerms>20</zs:maximumTerms></zs:scanRequest>",
        "version=2.0&operation=scan&scanClause=a&maximumTerms=20",
    );
    check(
        "<zs:explainRequest xmlns:zs=\"http://www.loc.gov/zing/srw/\"><zs:version>1.2</zs:version>\
         <zs:recordPacking>xml</zs:recordPacking></zs:explainRequest>",
        "version=1.2&operation=explain&recordPacking=xml",
    );
    let database =
        "<searchRetrieveRequest><query>a</query><database>books</database></searchRetrieveRequest>";
    assert_eq!(
        read(database).expect("right").database.as_deref(),
        Some("books")
    );
}

#[test]
fn updates_are_read_and_written() {
    let mut update = UpdateRequest::new(UpdateAction::Replace);
    update.record_identifier = Some("7".into());
    update.record_versions = vec![("number".into(), "2".into())];
    update.record = Some(SruRecord::new(
        "marcxml",
        "<record xmlns=\"http://www.loc.gov/MARC21/slim\"/>",
    ));
    let mut request = Request::new(Version::V1_1, update);
    request.database = Some("books".into());
    request.extra = vec![("x-a".into(), "b".into())];
    let written = String::from_utf8(request.to_soap()).expect("UTF-8");
    assert_eq!(
        written.trim_end(),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<SOAP:Envelope xmlns:SOAP=\"http://schemas.xmlsoap.org/soap/envelope/\">\
         <SOAP:Body><zu:updateRequest xmlns:zu=\"http://www.loc.gov/zing/srw/update/\" xmlns:zs=\"http://www.loc.gov/zing/srw/\">\
         <zs:version>1.0</zs:version><zu:action>info:srw/action/1/replace</zu:action><zu:recordIdentifier>7</zu:recordIdentifier>\
         <zu:recordVersions><zu:recordVersion><zu:versionType>number</zu:versionType><zu:versionValue>2</zu:versionValue>\
         </zu:recordVersion></zu:recordVersions><zs:record><zs:recordSchema>marcxml</zs:recordSchema>\
         <zs:recordPacking>xml</zs:recordPacking><zs:recordData><record xmlns=\"http://www.loc.gov/MARC21/slim\"/>\
         </zs:recordData></zs:record><zs:database>books</zs:database><zs:extraRequestData><zs:a>b</zs:a></zs:extraRequestData>\
         </zu:updateRequest></SOAP:Body></SOAP:Envelope>"
    );
    assert_eq!(read(&written), Ok(request));
}

#[test]
fn faulty_requests_are_refused() {
    for (body, expected) in [
        (
            "<searchRetrieveRequest/>",
            "diagnostic 7 (a mandatory parameter is missing): query",
        ),
        (
            "<searchRetrieveRequest><query>a</query><query>b</query></searchRetrieveRequest>",
            "diagnostic 6 (given more than once): query",
        ),
        (
            "<searchRetrieveRequest><query>a</query><colour>b</colour></searchRetrieveRequest>",
            "diagnostic 8 (the server does not support this parameter): colour",
        ),
        (
            "<updateRequest/>",
            "diagnostic 7 (a mandatory parameter is missing): action",
        ),
        (
            "<updateRequest><action>create</action></updateRequest>",
            "diagnostic info:srw/diagnostic/12/100 (there is no such action): create",
        ),
        (
            "<updateRequest><action>info:srw/action/1/create</action><record><recordData><a/></recordData></record>\
             <record><recordData><b/></recordData></record></updateRequest>",
            "diagnostic info:srw/diagnostic/12/6 (a component is repeated; the record was rejected): record",
        ),
        (
            "<updateRequest><action>info:srw/action/1/create</action><record><recordData><a/></recordData>\
             <recordData><b/></recordData></record></updateRequest>",
            "diagnostic info:srw/diagnostic/12/6 (a component is repeated; the record was rejected): recordData",
        ),
    ] {
        let Err(SoapRequestError::Refused(refusal)) = read(body) else {
            panic!("{body}")
        };
        assert_eq!(refusal.diagnostics.len(), 1, "{body}");
        assert_eq!(refusal.diagnostics[0].to_string(), expected, "{body}");
    }
}

#[test]
fn requests_are_bounded() {
    let limit = SruLimits::default().parameters;
    for body in [
        "<A><query>a</query>{}</A>",
        "<A><query>a</query><extraRequestData>{}</extraRequestData></A>",
    ] {
        for (count, is_read) in [
            (limit - 1, true),
            (limit, true),
            (limit + 1, false),
            (100_000, false),
        ] {
            let elements: String = (0..count).map(|number| format!("<a{number}/>")).collect();
            let text = body
                .replace("{}", &elements)
                .replace('A', "searchRetrieveRequest");
            match read(&text) {
                Ok(_) | Err(SoapRequestError::Refused(_)) => assert!(is_read, "{count}"),
                Err(SoapRequestError::Xml(error)) => {
                    assert!(!is_read, "{count}");
                    let message = error.to_string();
                    assert!(
                        message.starts_with("more than 64 elements in a request"),
                        "{message}"
                    );
                }
            }
        }
    }
}

/// An envelope with an update request, as programs send it.
const ENVELOPE: &str = "<S:Envelope xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\"><S:Body><updateRequest>\
    <action>info:srw/action/1/delete</action><recordIdentifier>7</recordIdentifier></updateRequest></S:Body></S:Envelope>";

#[test]
fn envelopes_are_whole_and_have_one_request() {
    assert!(read(ENVELOPE).is_ok());
    let (first, body) = ENVELOPE.split_once("</S:Body>").expect("a body");
    let (_, request) = first.split_once("<S:Body>").expect("a request");
    for (text, expected) in [
        (
            format!("{first}{request}</S:Body>{body}"),
            "an element \"updateRequest\", which SRU does not have there",
        ),
        (
            format!("{first}</S:Body><S:Body>{request}</S:Body>{body}"),
            "an element \"Body\", which SRU does not have there",
        ),
        (first.to_owned(), "the document ends within an element"),
        (
            format!("{first}</S:Body>"),
            "the document ends within an element",
        ),
        (
            format!("{first}</S:Envelope></S:Body>"),
            "not well-formed XML: ",
        ),
        (format!("{ENVELOPE}x"), "not well-formed XML: text outside"),
        (
            format!("{ENVELOPE}<a/>"),
            "not well-formed XML: a second outermost element",
        ),
        (
            ENVELOPE.replace('7', "&e;"),
            "not well-formed XML: &e;, which XML does not have",
        ),
        (
            ENVELOPE.replace('7', "&#xD800;"),
            "not well-formed XML: &#xD800;, which",
        ),
        (
            ENVELOPE.replace('7', "\u{8}"),
            "not well-formed XML: a character",
        ),
    ] {
        let Err(SoapRequestError::Xml(error)) = read(&text) else {
            panic!("{text}")
        };
        let message = error.to_string();
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    let header = ENVELOPE.replace("<S:Body>", "<S:Header><a/></S:Header><S:Body>");
    assert!(read(&header).is_ok());
    let trailer = ENVELOPE.replace("</S:Body>", "</S:Body><a><b/></a>");
    assert!(read(&trailer).is_ok());
}

#[test]
fn answers_that_are_cut_are_unfinished() {
    let mut response = UpdateResponse::new(Version::V1_1, true);
    response.record_identifier = Some("7".into());
    let written = Response::from(response.clone()).to_soap();
    let text = std::str::from_utf8(&written).expect("UTF-8").trim_end();
    let read = |text: &str| Response::from_xml(text.to_owned(), &SruLimits::default());
    let (first, _) = text.split_once("</SOAP:Body>").expect("a body");
    for end in first.len()..text.len() {
        let error = Err(ResponseError::Xml(XmlError::Unfinished));
        assert_eq!(read(&text[..end]), error, "{}", &text[..end]);
    }
    // Errors after the end of the answer are harmless, unless the document is cut off.
    for end in [
        "</SOAP:Body></SOAP:Envelope>x",
        "</Body>",
        "</SOAP:Body>&e;</SOAP:Envelope>",
    ] {
        let whole = format!("{first}{end}");
        assert_eq!(read(&whole), Ok(response.clone().into()), "{whole}");
    }
}

#[test]
fn invalid_requests_are_faults() {
    for (text, expected) in [
        ("", "the document has no element"),
        ("<a/>", "an element \"a\", which SRU does not have there"),
        (
            "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><searchRetrieveRequest><query>&b;</query>",
            "a document type is not accepted (octet 0)",
        ),
    ] {
        let Err(SoapRequestError::Xml(error)) = read(text) else {
            panic!("{text}")
        };
        assert_eq!(error.to_string(), expected);
    }
    let mut fault = SoapFault::client("no <query>");
    let written = String::from_utf8(fault.to_soap()).expect("UTF-8");
    assert!(
        written.contains(
            "<SOAP:Body><SOAP:Fault><faultcode>SOAP:Client</faultcode><faultstring>no &lt;query&gt;</faultstring></SOAP:Fault>\
             </SOAP:Body>"
        ),
        "{written}"
    );
    let read = Response::from_xml(written.into_bytes(), &SruLimits::default());
    assert_eq!(read, Err(ResponseError::Fault(fault.clone())));
    fault.detail = "x".into();
    assert_eq!(fault.to_string(), "Client: no <query>: x");
    assert_eq!(SoapFault::server("later").to_string(), "Server: later");
}
