//! Tests of damaged and unusual SRU requests and answers. None of them may cause a panic, and whatever can be read must be
//! written in a form that can be read again. The mutations are seeded; `Z3950_MUTATIONS=N` multiplies their number.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::sru::zeerex::ZeeRex;
use z3950_asn1::sru::{Request, Response, SoapRequestError, SruLimits};
use z3950_server::sru::{SruRequest, SruSession};
use z3950_server::testing::TestServer;
use z3950_server::{Limits, MemoryBackend, Target};
use z3950_tests::random::{Random, mutations};

/// SRU requests in the form that programs send.
const REQUESTS: [&str; 8] = [
    "version=1.1&operation=explain",
    "version=1.1&operation=searchRetrieve&query=title%3D3&startRecord=1&maximumRecords=2",
    "version=1.2&operation=scan&scanClause=dc.title%3D%22war%22&responsePosition=1&maximumTerms=20",
    "version=1.1&operation=searchRetrieve&x-pquery=%40attr+1%3D4+war&recordSchema=marcxml&recordPacking=string&x-username=u",
    "query=war+and+peace&queryType=cql&recordXMLEscaping=xml&recordPacking=unpacked&facetLimit=10,5:title&facetSort=index",
    "query=dc.title%20all%20%22w%C3%A4r%22%20sortby%20date/sort.descending&sortKeys=title,,0,,omit&resultSetTTL=300",
    "version=2.0&query=a&stylesheet=a.xsl&renderedBy=client&httpAccept=application/sru%2Bxml&responseType=x&x-a=b&x-c=d",
    "startRecord=0&maximumRecords=-1&recordPacking=rar&colour=red&query=a&query=b&version=9",
];

#[test]
fn mutated_parameters_are_read_or_refused() {
    let limits = SruLimits::default();
    let samples = REQUESTS.map(|text| text.as_bytes().to_vec());
    let mut random = Random::new("sru parameters");
    let mut read = 0;
    for _ in 0..mutations(100_000) {
        let octets = random.mutate(&random.clone().pick(&samples).clone(), &samples);
        match Request::from_parameters(&octets, &limits) {
            Ok(request) => {
                read += 1;
                let written = request.to_parameters();
                let again = Request::from_parameters(written.as_bytes(), &limits);
                assert_eq!(again.as_ref(), Ok(&request), "{}", octets.escape_ascii());
                let in_soap = Request::from_soap(request.to_soap(), &limits);
                let is_written = !matches!(in_soap, Err(SoapRequestError::Xml(_)));
                assert!(is_written, "{in_soap:?} {}", octets.escape_ascii());
            }
            Err(refusal) => assert!(!refusal.diagnostics.is_empty()),
        }
    }
    assert!(read > 1000, "{read} requests were read");
}

/// Returns SRU requests in SOAP envelopes.
fn envelopes() -> Vec<Vec<u8>> {
    let limits = SruLimits::default();
    let requests = REQUESTS.iter().filter_map(|text| {
        let request = Request::from_parameters(text.as_bytes(), &limits).ok()?;
        Some(request.to_soap())
    });
    let update = "<SOAP:Envelope xmlns:SOAP=\"http://schemas.xmlsoap.org/soap/envelope/\"><SOAP:Body><zu:updateRequest \
        xmlns:zu=\"http://www.loc.gov/zing/srw/update/\" xmlns:zs=\"http://www.loc.gov/zing/srw/\"><zs:version>1.0</zs:version>\
        <zu:action>info:srw/action/1/create</zu:action><zu:recordIdentifier>7</zu:recordIdentifier><zu:recordVersions>\
        <zu:recordVersion><zu:versionType>number</zu:versionType><zu:versionValue>2</zu:versionValue></zu:recordVersion>\
        </zu:recordVersions><zs:record><zs:recordPacking>xml</zs:recordPacking><zs:recordData><a b='c'>&lt;<!-- d --></a>\
        </zs:recordData></zs:record></zu:updateRequest></SOAP:Body></SOAP:Envelope>";
    requests.chain([update.as_bytes().to_vec()]).collect()
}

#[test]
fn mutated_envelopes_are_read_or_refused() {
    let limits = SruLimits::default();
    let samples = envelopes();
    let mut random = Random::new("sru envelopes");
    let mut read = 0;
    for _ in 0..mutations(100_000) {
        let octets = random.mutate(&random.clone().pick(&samples).clone(), &samples);
        let shown = octets.escape_ascii().to_string();
        match Request::from_soap(octets, &limits) {
            Ok(request) => {
                read += 1;
                let again = Request::from_soap(request.to_soap(), &limits);
                let is_written = !matches!(again, Err(SoapRequestError::Xml(_)));
                assert!(is_written, "{again:?} {shown}");
            }
            Err(SoapRequestError::Refused(refusal)) => assert!(!refusal.diagnostics.is_empty()),
            Err(SoapRequestError::Xml(error)) => assert!(!error.to_string().is_empty()),
            Err(_) => {}
        }
    }
    assert!(read > 1000, "{read} requests were read");
}

/// Requests with indexes of the demo catalogue.
const OF_DEMO: [&str; 6] = [
    "query=title%3Dwar+sortby+dc.date/sort.descending&startRecord=2&maximumRecords=3&recordSchema=dc&facetLimit=2:title",
    "version=1.1&query=rec.id+any+%22pg1342+pg158%22&recordPacking=string&recordSchema=opac&sortKeys=title,,0,,lowValue",
    "query=dc.creator+all+%22tolst*+leo%22+or+date+within+%221850+1860%22&resultSetTTL=5&recordXMLEscaping=string",
    "query=%40and+%40attr+1%3D4+war+%40attr+1%3D1003+tolstoy&queryType=pqf&maximumRecords=1",
    "scanClause=title+exact+%22war%22&responsePosition=2&maximumTerms=4",
    "query=(a+not+b)+prox/distance%3C3/unit%3Dword+c&stylesheet=a.xsl",
];

#[test]
fn mutated_requests_are_answered() {
    let limits = SruLimits::default();
    let target = Target::new(Arc::new(MemoryBackend::demo()), Limits::default());
    let mut session = SruSession::new(Arc::new(target));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    let samples: Vec<Vec<u8>> = OF_DEMO
        .iter()
        .chain(&REQUESTS)
        .map(|text| text.as_bytes().to_vec())
        .collect();
    let mut random = Random::new("sru session");
    let (mut found, mut refused) = (0, 0);
    for _ in 0..mutations(5_000) {
        let octets = random.mutate(&random.clone().pick(&samples).clone(), &samples);
        let shown = octets.escape_ascii().to_string();
        let request = Request::from_parameters(&octets, &limits);
        let reply = runtime.block_on(session.answer(SruRequest::new("books", request)));
        let written = reply.response.to_xml(reply.stylesheet.as_deref());
        let read = Response::from_xml(written, &limits);
        let read = read.unwrap_or_else(|error| panic!("{error} {shown}"));
        let count = reply.response.diagnostics().len();
        assert_eq!(read.diagnostics().len(), count, "{shown}");
        match reply.response {
            Response::SearchRetrieve(of) if !of.records.is_empty() => found += 1,
            Response::Scan(of) if !of.terms.is_empty() => found += 1,
            response => refused += usize::from(!response.diagnostics().is_empty()),
        }
    }
    assert!(found > 200 && refused > 500, "{found} {refused}");
}

/// SRU answers in the form that servers send.
const ANSWERS: [&str; 6] = [
    "<?xml version=\"1.0\"?><zs:searchRetrieveResponse xmlns:zs=\"http://www.loc.gov/zing/srw/\"><zs:version>1.1</zs:version>\
     <zs:numberOfRecords>23</zs:numberOfRecords><zs:records><zs:record><zs:recordSchema>marcxml</zs:recordSchema>\
     <zs:recordPacking>xml</zs:recordPacking><zs:recordData><record xmlns=\"http://www.loc.gov/MARC21/slim\">\
     <leader>00366nam  22001698a 4500</leader></record></zs:recordData><zs:recordPosition>1</zs:recordPosition></zs:record>\
     </zs:records><zs:nextRecordPosition>2</zs:nextRecordPosition><zs:echoedSearchRetrieveRequest><zs:query>a</zs:query>\
     </zs:echoedSearchRetrieveRequest></zs:searchRetrieveResponse>",
    "<searchRetrieveResponse xmlns=\"http://docs.oasis-open.org/ns/search-ws/sruResponse\" xmlns:m=\"urn:m\"><numberOfRecords>1\
     </numberOfRecords><records><record><recordXMLEscaping>string</recordXMLEscaping><recordData>&lt;a&gt;b&amp;amp;&lt;/a&gt;\
     </recordData></record><record><recordData><m:r/></recordData></record></records><diagnostics><d:diagnostic \
     xmlns:d=\"x\"><d:uri>info:srw/diagnostic/1/59</d:uri></d:diagnostic></diagnostics><facetedResults><facet><index>t</index>\
     <terms><term><actualTerm>u</actualTerm><count>9</count></term></terms></facet></facetedResults></searchRetrieveResponse>",
    "<scanResponse><version/><terms><term><value>war</value><numberOfRecords>9</numberOfRecords><displayTerm>War</displayTerm>\
     <whereInList>first</whereInList><extraTermData><x/></extraTermData></term></terms></scanResponse>",
    "<explainResponse><record><recordSchema>http://explain.z3950.org/dtd/2.0/</recordSchema><recordData><explain><serverInfo>\
     <host>h</host></serverInfo><indexInfo><index><map><name set=\"dc\">title</name></map></index></indexInfo></explain>\
     </recordData></record></explainResponse>",
    "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Header/><e:Body><zu:updateResponse><operationStatus>\
     success</operationStatus><diagnostics><diagnostic><uri>info:srw/diagnostic/12/1</uri><details>a</details></diagnostic>\
     </diagnostics></zu:updateResponse></e:Body></e:Envelope>",
    "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body><e:Fault><faultcode>e:Client</faultcode>\
     <faultstring>no</faultstring></e:Fault></e:Body></e:Envelope>",
];

#[test]
fn mutated_answers_are_read_or_refused() {
    let limits = SruLimits::default();
    let samples = ANSWERS.map(|text| text.as_bytes().to_vec());
    let mut random = Random::new("sru answers");
    let mut read = 0;
    for _ in 0..mutations(100_000) {
        let octets = random.mutate(&random.clone().pick(&samples).clone(), &samples);
        let shown = octets.escape_ascii().to_string();
        match Response::from_xml(octets, &limits) {
            Ok(response) => {
                read += 1;
                let again = Response::from_xml(response.to_xml(Some("a.xsl")), &limits);
                let again = again.unwrap_or_else(|error| panic!("{error} {shown}"));
                let in_soap = Response::from_xml(response.to_soap(), &limits).expect("the same");
                assert_eq!(again, in_soap, "{shown}");
                let counts = |of: &Response| match of {
                    Response::SearchRetrieve(of) => (of.records.len(), of.diagnostics.len()),
                    Response::Scan(of) => (of.terms.len(), of.diagnostics.len()),
                    Response::Explain(of) => (of.record.iter().len(), of.diagnostics.len()),
                    Response::Update(of) => (of.record.iter().len(), of.diagnostics.len()),
                };
                assert_eq!(counts(&again), counts(&response), "{shown}");
                if let Response::Explain(explain) = response
                    && let Some(record) = explain.record
                    && let Ok(description) = ZeeRex::from_xml(record.data, &limits)
                {
                    let again = ZeeRex::from_xml(description.to_xml(), &limits);
                    again.unwrap_or_else(|error| panic!("{error} {shown}"));
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(read > 1000, "{read} answers were read");
}

/// A listener distinguishes HTTP from Z39.50 by the first octet, which may belong to an empty line before the request (RFC 9112
/// §2.2).
#[test]
fn empty_lines_may_precede_the_first_request() {
    let server = TestServer::demo();
    for lines in ["", "\r\n", "\n\r\n"] {
        let mut stream = TcpStream::connect(server.addr()).expect("a connection");
        let timeout = stream.set_read_timeout(Some(Duration::from_secs(10)));
        timeout.expect("a timeout");
        let head = "GET /books?query=war HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        let sent = stream.write_all(format!("{lines}{head}").as_bytes());
        sent.expect("the server listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n"),
            "{lines:?}: {answer}"
        );
    }
}
