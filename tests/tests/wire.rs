//! Tests with octets from real conversations. Every fixture must be decoded to a value whose encoding is decoded to the same
//! value.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use z3950_asn1::apdu::{Apdu, CloseReason, DeleteSetStatus, Query, Record, Records};
use z3950_asn1::codec::{decode, dump, encode, frame::Scanner};
use z3950_asn1::record::RetrievedRecord;
use z3950_server::testing::TestServer;
use z3950_tests::hex;

fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/wire"))
}

fn fixture(name: &str) -> Vec<u8> {
    let path = directory().join(format!("{name}.hex"));
    hex::octets(
        &fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    )
}

fn apdu(name: &str) -> Apdu {
    decode(&fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names() -> Vec<String> {
    let files = fs::read_dir(directory()).expect("the fixtures exist");
    let mut names: Vec<String> = files
        .flatten()
        .filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".hex")?.to_owned()))
        .collect();
    names.sort();
    assert!(names.len() >= 30, "{names:?}");
    names
}

#[test]
fn every_fixture_survives_a_round_trip() {
    for name in names() {
        let octets = fixture(&name);
        let value = apdu(&name);
        let encoded = encode(&value).expect("encodes");
        assert_eq!(decode(&encoded).as_ref(), Ok(&value), "{name}");
        assert_eq!(
            encode(&decode(&encoded).expect("decodes")),
            Ok(encoded.clone()),
            "{name}"
        );
        for octets in [&octets, &encoded] {
            assert_eq!(
                Scanner::new(octets.len()).scan(octets),
                Ok(Some(octets.len())),
                "{name}"
            );
            assert!(dump::dump(octets).contains(value.name()), "{name}");
        }
    }
}

#[test]
fn no_prefix_of_a_fixture_decodes() {
    for name in names() {
        let octets = fixture(&name);
        for end in 0..octets.len() {
            assert!(decode(&octets[..end]).is_err(), "{name}, {end} octets");
            assert_eq!(
                Scanner::new(octets.len()).scan(&octets[..end]),
                Ok(None),
                "{name}, {end} octets"
            );
        }
    }
}

#[test]
fn fixtures_contain_the_octets_that_the_peers_sent() {
    let Apdu::InitializeRequest(init) = apdu("init-request") else {
        panic!("an Init")
    };
    assert_eq!(init.protocol_version.highest(), Some(3));
    assert_eq!(
        init.options.names().collect::<Vec<_>>(),
        [
            "search",
            "present",
            "delSet",
            "triggerResourceCtrl",
            "scan",
            "sort",
            "extendedServices",
            "namedResultSets"
        ]
    );
    assert_eq!(init.preferred_message_size, 1 << 26);

    let Apdu::InitializeRequest(init) = apdu("init-request-negotiation") else {
        panic!("an Init")
    };
    let shown = format!(
        "{init:?}{}",
        dump::dump(&fixture("init-request-negotiation"))
    );
    assert!(
        shown.contains("<redacted>") && !shown.contains("secret"),
        "{shown}"
    );

    let Apdu::SearchRequest(search) = apdu("search-request-boolean") else {
        panic!("a search")
    };
    let Query::Type1(query) = search.query else {
        panic!("an RPN query")
    };
    assert_eq!(
        query.to_string(),
        "@and @attr 1=4 war @or @attr 1=1003 tolstoy @attr 5=1 peac"
    );

    let Apdu::SearchRequest(search) = apdu("search-request-proximity") else {
        panic!("a search")
    };
    let Query::Type1(query) = search.query else {
        panic!("an RPN query")
    };
    assert_eq!(query.to_string(), "@prox 0 1 1 2 known 2 a b");

    let Apdu::SearchRequest(search) = apdu("search-request-complex-attribute") else {
        panic!("a search")
    };
    let Query::Type1(query) = search.query else {
        panic!("an RPN query")
    };
    let printed = query.to_string();
    assert_eq!(printed.parse(), Ok(query), "{printed}");

    let Apdu::SearchResponse(response) = apdu("search-response-diagnostic") else {
        panic!("a response")
    };
    let Some(Records::NonSurrogateDiagnostic(diagnostic)) = &*response.records else {
        panic!("a diagnostic")
    };
    assert_eq!(
        (diagnostic.condition, diagnostic.addinfo.as_bytes()),
        (109, &b"nosuch"[..])
    );

    let Apdu::PresentResponse(response) = apdu("present-response-sutrs") else {
        panic!("a response")
    };
    let Some(Records::ResponseRecords(records)) = &*response.records else {
        panic!("records")
    };
    let Some(Record::RetrievalRecord(external)) = records.first().map(|record| &record.record)
    else {
        panic!("a record")
    };
    assert_eq!(
        RetrievedRecord::of(external).octets(),
        "This is dummy SUTRS record number 1\n"
    );

    let Apdu::DeleteResultSetResponse(response) = apdu("delete-response") else {
        panic!("a response")
    };
    assert_eq!(response.delete_operation_status, DeleteSetStatus::SUCCESS);

    let Apdu::Close(close) = apdu("close-response") else {
        panic!("a close")
    };
    assert_eq!(close.close_reason, CloseReason::FINISHED);
    assert_eq!(
        close.diagnostic_information,
        Some("Association terminated by client".into())
    );
}

/// Rows Z-5.1 and Z-4.12: the client must send exactly these octets for a URL.
#[test]
fn a_url_sends_these_octets() {
    use z3950::plan::{PlanOptions, plan};
    use z3950::url::{Mode, Z3950Url};
    let text = "z39.50r://cnidr.org:2100/tmf?bkirch_rules__a1;esn=f;rs=marc";
    let url = Z3950Url::parse(text, Mode::Strict).expect("the example of RFC 2056");
    let plan = plan(&url, &PlanOptions::default()).expect("planned");
    let search = encode(&plan.search_request().expect("a search").into()).expect("encodes");
    assert_eq!(
        hex::digits(&search),
        hex::digits(&fixture("rfc2056-search-request"))
    );
    assert_eq!(search.len(), 114);
    let present = encode(&plan.present_request(1).into()).expect("encodes");
    assert_eq!(
        hex::digits(&present),
        hex::digits(&fixture("rfc2056-present-request"))
    );
}

/// An Init whose protocolVersion and options are BIT STRINGs without octets. The crate z39 sends it by default.
const NO_BITS: &str = "b4 11 83 00 84 00 85 02 40 00 86 03 10 00 00 9f 6e 01 78";

#[test]
fn audit_c5_an_init_without_bits_is_read_and_answered() {
    let octets = hex::octets(NO_BITS);
    let Ok(Apdu::InitializeRequest(init)) = decode(&octets) else {
        panic!("an Init: {:?}", decode(&octets))
    };
    assert_eq!(init.protocol_version.highest(), None);
    assert_eq!(init.options.names().count(), 0);
    let server = TestServer::builder().start();
    let mut stream = TcpStream::connect(server.addr()).expect("connects");
    stream.write_all(&octets).expect("written");
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while Scanner::new(4096).scan(&answer).expect("an APDU").is_none() {
        let count = stream.read(&mut buffer).expect("an answer");
        assert!(count > 0, "the connection was dropped");
        answer.extend(&buffer[..count]);
    }
    // There is no common version, so the protocol requires the server to refuse the session.
    let Ok(Apdu::InitializeResponse(response)) = decode(&answer) else {
        panic!("{answer:x?}")
    };
    assert!(!response.result);
}
