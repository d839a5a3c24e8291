//! XML of others wherever it goes out: answers of SRU, records of Z39.50, the page and the gateway. Only one well-formed element is ever
//! part of an answer; everything else is a diagnostic in the place of its record, and no record of another source is touched.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use tempfile::TempDir;
use z3950::asn1::oid::{OPAC, Oid, USMARC, XML};
use z3950::profile::Profiles;
use z3950::{Client, Query, RecordForm};
use z3950_asn1::apdu::{DatabaseName, External, ExternalValue as _};
use z3950_asn1::record::opac::OpacRecord;
use z3950_asn1::sru::{Packing, Response, SearchRetrieveResponse, SruLimits, SruRecord};
use z3950_front::remote::{RemoteDatabase, RemoteOptions};
use z3950_front::{CataloguePage, Gateway, GatewayOptions};
use z3950_server::backend::{
    Answer, Backend, DatabaseInfo, Found, Hits, RecordId, Retrieve, Retrieved, Search, ready,
};
use z3950_server::testing::{TestServer, record};
use z3950_tests::peer;
use z3950_tests::program::run;
use z3950_tests::surroundings::command;

/// A word in all documents; those that are refused show it nowhere.
const MARK: &str = "FORGED";

/// A MARCXML record with this in its title, and this after its fields.
fn marcxml(title: &str, rest: &str) -> String {
    format!(
        "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>00000nam a2200000   4500</leader>\
         <controlfield tag=\"001\">odd</controlfield><datafield tag=\"245\" ind1=\"1\" ind2=\"0\">\
         <subfield code=\"a\">Shared {MARK}{title}</subfield></datafield>{rest}</record>"
    )
}

/// Odd documents, and whether they may go out as a record.
fn documents() -> Vec<(&'static str, bool, Vec<u8>)> {
    let plain = || marcxml("", "");
    let title = |text: &str| marcxml(text, "");
    let around = |before: &str, after: &str| format!("{before}{}{after}", plain());
    let forged = |version: &str| {
        format!(
            "</zs:recordData></zs:record><zs:record><zs:recordSchema>marcxml</zs:recordSchema><zs:recordPacking>xml</zs:recordPacking>\
             <zs:recordData>{version}{}",
            plain()
        )
    };
    let deep = "<d>".repeat(400) + &"</d>".repeat(400);
    let bomb = "<!DOCTYPE r [<!ENTITY a \"FORGED\"><!ENTITY b \"&a;&a;&a;&a;\">]>";
    let file = "<!DOCTYPE r SYSTEM \"file:///etc/passwd\">";
    let twice = "<x xmlns:a='urn:a' xmlns:b='urn:a' a:c='1' b:c='2'/>";
    let many: String = (0..300).map(|number| format!(" a{number}=''")).collect();
    let text = |name, is_sound, text: String| (name, is_sound, text.into_bytes());
    let mut bad = title("caf").into_bytes();
    let place = bad.windows(3).position(|octets| octets == b"caf");
    bad[place.expect("the word") + 2] = 0xE9;
    let utf16: Vec<u8> = plain().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let surrogate = plain().replace("FORGED", "FORGED@@@").into_bytes();
    let surrogate: Vec<u8> = surrogate
        .split(|octet| *octet == b'@')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(&b"\xED\xA0\x80"[..]);
    vec![
        text("a control character", false, title("\u{1}")),
        text("a reference to a control", false, title("&#1;")),
        text("NUL", false, title("\0")),
        text("U+FFFE", false, title("\u{FFFE}")),
        text("a document type", false, around("<!DOCTYPE record>", "")),
        text(
            "a document type with entities",
            false,
            around(bomb, "").replace("Shared ", "Shared &b;"),
        ),
        text("a document type elsewhere", false, around(file, "")),
        text("an entity of HTML", false, title("&nbsp;")),
        text("an entity of its own", false, title("&own;")),
        text("a bare &", false, title(" AT&T ")),
        text("an & before a blank", false, title(" a & b ")),
        text("an unbound prefix", false, marcxml("", "<oai:x/>")),
        text(
            "an unbound prefix of an attribute",
            false,
            marcxml("", "<x xlink:href='a'/>"),
        ),
        text(
            "the prefix of the answer",
            false,
            marcxml("", "<zs:record/>"),
        ),
        text("a prefix unbound", false, marcxml("", "<x xmlns:zs=''/>")),
        text(
            "the namespace of xml",
            false,
            marcxml("", "<x xmlns:a='http://www.w3.org/XML/1998/namespace'/>"),
        ),
        (
            "Latin-1 as it declares",
            false,
            [&b"<?xml version='1.0' encoding='ISO-8859-1'?>"[..], &bad].concat(),
        ),
        ("no UTF-8", false, bad.clone()),
        ("half of a pair of UTF-16", false, surrogate),
        ("UTF-16", false, [&b"\xFF\xFE"[..], &utf16].concat()),
        text("two elements", false, around("", &plain())),
        text("text alone", false, MARK.to_owned()),
        text("text after the element", false, around("", MARK)),
        text("nothing", false, String::new()),
        text(
            "an element that is not closed",
            false,
            plain().replace("</record>", ""),
        ),
        text(
            "the end of recordData, prefixed",
            false,
            format!("{}{}", plain(), forged("")),
        ),
        text(
            "the end of recordData inside",
            false,
            marcxml("", &forged("")),
        ),
        text(
            "the end of recordData, plain",
            false,
            around("", &forged("").replace("zs:", "")),
        ),
        text("a comment that is not closed", false, around("<!--", "")),
        text("a comment with --", false, marcxml("", "<!-- a -- b -->")),
        text(
            "an instruction called xml",
            false,
            marcxml("", "<?xml version='1.0'?>"),
        ),
        text(
            "a section that is not closed",
            false,
            marcxml("", "<![CDATA["),
        ),
        text("the end of a section", false, title("]]>")),
        text(
            "a start tag in an attribute",
            false,
            marcxml("", "<x a='<y/>'/>"),
        ),
        text("an attribute twice", false, marcxml("", "<x a='1' a='2'/>")),
        text(
            "an attribute twice by its namespace",
            false,
            marcxml("", twice),
        ),
        text("attributes without quotes", false, marcxml("", "<x a=1/>")),
        text("300 attributes", false, marcxml("", &format!("<x{many}/>"))),
        text("400 levels", false, marcxml("", &deep)),
        text("names that are none", false, marcxml("", "<1/>")),
        text(
            "a page",
            false,
            format!("<!DOCTYPE html><html><body>{MARK}<br></body></html>"),
        ),
        text(
            "a declaration, comments and instructions around",
            true,
            around(
                "\u{FEFF}<?xml version='1.0' encoding='UTF-8'?>\n<?xml-stylesheet href='a.xsl'?><!-- </zs:recordData> -->\n",
                "\n<!-- end -->\n",
            ),
        ),
        text(
            "Latin-1 that is ASCII",
            true,
            around("<?xml version='1.0' encoding='ISO-8859-1'?>", ""),
        ),
        text(
            "a section with tags",
            true,
            title("<![CDATA[</zs:recordData></record>&nbsp;]]>"),
        ),
        text(
            "a comment with tags",
            true,
            marcxml("", "<!-- </zs:recordData></zs:record> &nbsp; -->"),
        ),
        text(
            "attributes of xml",
            true,
            marcxml("", "<x xml:lang='en' xml:space='preserve' xml:base='a'/>"),
        ),
        text(
            "a script",
            true,
            marcxml(
                " &lt;script>alert(1)&lt;/script>",
                "<script xmlns='http://www.w3.org/1999/xhtml'>x</script>",
            ),
        ),
    ]
}

/// A database with one record for each document.
struct Odd {
    /// It says so of all records, as no backend should, and a hostile server does.
    is_trusted: bool,
}

impl Odd {
    fn octets(number: u32) -> Vec<u8> {
        let mut all = documents();
        all.swap_remove(number as usize).2
    }
}

impl Backend for Odd {
    fn databases(&self) -> Vec<DatabaseInfo> {
        let mut database = DatabaseInfo::default();
        database.name = "cat".to_owned();
        vec![database]
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        let query = search.query.to_string();
        let one = query.split("odd-").nth(1).map(|rest| {
            let digits = rest.chars().take_while(char::is_ascii_digit);
            digits.collect::<String>().parse::<u32>().expect("a number")
        });
        let count = u32::try_from(documents().len()).expect("few");
        let hits: Hits = match one {
            Some(one) => [RecordId(one)].into_iter().collect(),
            None => (0..count).map(RecordId).collect(),
        };
        ready(Ok(hits.into()))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        [XML, OPAC, USMARC].contains(syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let xml = External::octet_aligned(XML, Self::octets(wanted.record.0));
        let record = if wanted.composition.syntax == Some(OPAC) {
            let opac = OpacRecord {
                bibliographic_record: Some(xml),
                holdings_data: None,
            };
            opac.to_external().expect("encodes")
        } else {
            xml
        };
        let name = "odd \u{1}<&\u{202e}\u{FFFF}]]>";
        let retrieved = Retrieved::new(DatabaseName::from(name), Ok(record));
        ready(Ok(if self.is_trusted {
            retrieved.written_here()
        } else {
            retrieved
        }))
    }
}

fn odd(is_trusted: bool) -> TestServer {
    let builder = TestServer::builder().backend(Arc::new(Odd { is_trusted }));
    builder.limit(|limits| limits.sru_records = 200).start()
}

/// A union of the hostile target and one before and after it, with the page and the gateway.
fn union(hostile: String, is_merged: bool) -> (TestServer, [TestServer; 2]) {
    let count = documents().len();
    let good = ["a", "b"].map(|name| {
        let each = 0..count;
        let records = each.map(|at| record(&format!("{name}{at}"), &format!("Shared {name}{at}.")));
        TestServer::builder().database("cat", records).start()
    });
    let [before, after] = good.each_ref().map(|one| format!("{}/cat", one.addr()));
    let mut options = RemoteOptions::new("union", [before, hostile, after]);
    options.title = Some("A union <&\u{1}\u{202e}".to_owned());
    options.merge = is_merged;
    let database = RemoteDatabase::new(&Client::new(), options).expect("targets");
    let gateway = Gateway::new(GatewayOptions::default(), Profiles::default());
    let server = TestServer::builder()
        .backend(Arc::new(database))
        .web(Arc::new(CataloguePage::new().with_gateway(gateway)))
        .limit(|limits| limits.sru_records = 200)
        .start();
    (server, good)
}

/// The body of an answer of HTTP.
fn get(server: &TestServer, path: &str, accept: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.addr()).expect("a server");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n",
        server.addr()
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|octets| octets == b"\r\n\r\n");
    let end = end.expect("a head");
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let body = answer.split_off(end + 4);
    if head.contains("transfer-encoding: chunked") {
        joined(&body)
    } else {
        body
    }
}

fn joined(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = body.windows(2).position(|octets| octets == b"\r\n") {
        let digits = std::str::from_utf8(&body[..end]).expect("digits");
        let length = usize::from_str_radix(digits, 16).expect("a length");
        all.extend_from_slice(&body[end + 2..][..length]);
        body = body[end + 2 + length..]
            .strip_prefix(b"\r\n")
            .unwrap_or_default();
    }
    all
}

/// Answers that programs of others read at the end.
struct Answers {
    folder: TempDir,
    count: usize,
}

impl Answers {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, count: 0 }
    }

    fn add(&mut self, octets: &[u8]) {
        let name = format!("{}.xml", self.count);
        self.count += 1;
        std::fs::write(self.folder.path().join(name), octets).expect("written");
    }

    /// xmllint and expat read them all, with their namespaces.
    fn check(&self) {
        let paths = || (0..self.count).map(|at| self.folder.path().join(format!("{at}.xml")));
        if let Some(xmllint) = peer::find("xmllint") {
            let ran = run(
                command(xmllint).args(["--noout", "--nonet"]).args(paths()),
                "",
            );
            assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", self.count);
        }
        if let Some(python) = peer::find("python3") {
            let ran = run(command(python).args(["-c", EXPAT]).args(paths()), "");
            assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", self.count);
        }
    }
}

const EXPAT: &str = "
import sys, xml.etree.ElementTree
for path in sys.argv[1:]: xml.etree.ElementTree.parse(path)
";

/// The forms of answers: parameters, and the packing.
fn forms() -> impl Iterator<Item = (String, Packing)> {
    let versions = ["1.1", "1.2", "2.0"].into_iter();
    versions.flat_map(|version| {
        [Packing::Xml, Packing::String].map(|packing| {
            let name = if version == "2.0" {
                "recordXMLEscaping"
            } else {
                "recordPacking"
            };
            let start = format!(
                "version={version}&operation=searchRetrieve&{name}={}",
                packing.as_str()
            );
            (start, packing)
        })
    })
}

/// An answer that has all records once, as others read it.
fn answer(
    server: &TestServer,
    path: &str,
    packing: Packing,
    answers: &mut Answers,
) -> SearchRetrieveResponse {
    let body = get(server, path, "*/*");
    answers.add(&body);
    let shown = String::from_utf8_lossy(&body).into_owned();
    let read = Response::from_xml(body, &SruLimits::default());
    let Ok(Response::SearchRetrieve(found)) = read else {
        panic!("{path}: {read:?} {shown}");
    };
    for (record, position) in found.records.iter().zip(1..) {
        assert_eq!(record.position, Some(position), "{path}: {shown}");
        assert_eq!(record.packing, packing, "{path}");
        if packing == Packing::String && record.diagnostic.is_none() {
            answers.add(&record.data);
        }
    }
    found
}

/// Whether the record of a document is as it should be.
fn check_record(record: &SruRecord, (name, is_sound, _): &(&str, bool, Vec<u8>), place: &str) {
    let data = String::from_utf8_lossy(&record.data);
    if *is_sound {
        assert_eq!(record.diagnostic, None, "{name}: {place}");
        assert_eq!(record.schema, "info:srw/schema/1/marcxml-v1.1", "{place}");
        assert!(data.starts_with("<record"), "{name}: {place}: {data}");
        assert!(data.contains(MARK), "{name}: {place}: {data}");
    } else {
        assert!(record.diagnostic.is_some(), "{name}: {place}: {data}");
        assert_eq!(record.schema, SruRecord::DIAGNOSTIC_SCHEMA, "{place}");
        assert!(
            !format!("{record:?}").contains(MARK),
            "{name}: {place}: {record:?}"
        );
    }
}

#[test]
fn audit_r_x1_odd_records_of_a_backend_forge_nothing() {
    let server = odd(false);
    let documents = documents();
    let mut answers = Answers::new();
    for (parameters, packing) in forms() {
        for schema in ["marcxml", "opac"] {
            let path =
                format!("/cat?{parameters}&query=shared&recordSchema={schema}&maximumRecords=100");
            let found = answer(&server, &path, packing, &mut answers);
            assert_eq!(found.records.len(), documents.len(), "{path}");
            for (record, document) in found.records.iter().zip(&documents) {
                if schema == "marcxml" {
                    check_record(record, document, &path);
                } else {
                    assert_eq!(record.diagnostic.is_none(), document.1, "{}", document.0);
                }
            }
        }
        // What is named as Dublin Core is Dublin Core.
        let path = format!("/cat?{parameters}&query=odd-44&recordSchema=dc");
        let body = String::from_utf8_lossy(&get(&server, &path, "*/*")).into_owned();
        assert!(body.contains("info:srw/diagnostic/1/66"), "{body}");
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for syntax in [XML, OPAC] {
        runtime.block_on(async {
            let target = format!("{}/cat", server.addr());
            let connection = Client::new().connect(target).await.expect("a session");
            let connection = connection.with_form(RecordForm::new(Some(syntax), None));
            let hits = connection
                .search(Query::title("shared"))
                .await
                .expect("hits");
            for (number, (name, is_sound, _)) in (1..).zip(&documents) {
                let record = hits.record(number).await;
                assert_eq!(record.is_ok(), *is_sound, "{name}: {record:?}");
                let Ok(record) = record else { continue };
                let inside = record.bibliographic().unwrap_or(record);
                answers.add(&inside.octets());
                assert!(inside.octets().starts_with(b"<record"), "{name}");
            }
        });
    }
    answers.check();
}

#[test]
fn audit_r_x1_a_hostile_target_is_a_diagnostic_among_the_records_of_others() {
    let hostile = odd(true);
    let documents = documents();
    let (server, _good) = union(format!("{}/cat", hostile.addr()), false);
    let mut answers = Answers::new();
    for (parameters, packing) in forms() {
        let path = format!("/union?{parameters}&query=shared&maximumRecords=200");
        let found = answer(&server, &path, packing, &mut answers);
        assert_eq!(found.records.len(), 3 * documents.len(), "{path}");
        for (at, three) in found.records.chunks(3).enumerate() {
            let [before, odd, after] = three else {
                panic!("{path}: {three:?}");
            };
            for (name, record) in [("a", before), ("b", after)] {
                let data = String::from_utf8_lossy(&record.data);
                assert!(
                    data.contains(&format!("Shared {name}{at}.")),
                    "{path}: {data}"
                );
                assert!(!data.contains(MARK), "{path}: {data}");
            }
            check_record(odd, &documents[at], &path);
        }
        let explain = format!("/union?{}", parameters.replace("searchRetrieve", "explain"));
        let body = get(&server, &explain, "*/*");
        answers.add(&body);
        let read = Response::from_xml(body, &SruLimits::default());
        assert!(matches!(read, Ok(Response::Explain(_))), "{read:?}");
    }
    answers.check();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for syntax in [XML, USMARC, OPAC] {
        runtime.block_on(async {
            let target = format!("{}/union", server.addr());
            let connection = Client::new().connect(target).await.expect("a session");
            let connection = connection.with_form(RecordForm::new(Some(syntax), None));
            let hits = connection
                .search(Query::title("shared"))
                .await
                .expect("hits");
            for (at, (name, is_sound, _)) in documents.iter().enumerate() {
                let first = 3 * at as u64 + 1;
                for (name, position) in [("a", first), ("b", first + 2)] {
                    let record = hits.record(position).await.expect("a record");
                    let title = record.title().unwrap_or_default();
                    assert!(title.contains(&format!("Shared {name}{at}")), "{title}");
                }
                let odd = hits.record(first + 1).await;
                assert_eq!(odd.is_ok(), *is_sound, "{name} in {syntax}: {odd:?}");
                if let Err(error) = odd {
                    let words = format!("{error} {error:?}");
                    assert!(!words.contains(MARK), "{name}: {words}");
                }
            }
        });
    }
    check_page(&server, &documents);
}

/// The page and the gateway show the records of the others, and no word of those that are refused.
fn check_page(server: &TestServer, documents: &[(&str, bool, Vec<u8>)]) {
    for (at, (name, is_sound, _)) in documents.iter().enumerate() {
        let path = format!("/search?q=shared&target=union&at={}", 3 * at + 2);
        let page = String::from_utf8_lossy(&get(server, &path, "text/html")).into_owned();
        assert_eq!(page.contains(MARK), *is_sound, "{name}: {page}");
        assert!(!page.contains("<script"), "{name}: {page}");
        let path = format!("/search?q=odd-{at}&target=union");
        let page = String::from_utf8_lossy(&get(server, &path, "text/html")).into_owned();
        assert_eq!(page.contains(MARK), *is_sound, "{name}: {page}");
        for accept in [
            "text/html",
            "application/xml",
            "application/marcxml+xml",
            "application/json",
        ] {
            let syntax = if accept == "application/xml" {
                ";rs=xml"
            } else {
                ""
            };
            let url = format!("z39.50r://{}/union?odd-{at}{syntax}", server.addr());
            let got = get(server, &format!("/get?url={url}"), accept);
            let got = String::from_utf8_lossy(&got).into_owned();
            assert_eq!(got.contains(MARK), *is_sound, "{name} as {accept}: {got}");
        }
    }
    let page = get(server, "/search?q=shared&target=union", "text/html");
    let page = String::from_utf8_lossy(&page).into_owned();
    for title in ["Shared a0", "Shared b0", "Shared a3", "Shared b2"] {
        assert!(page.contains(title), "{title}: {page}");
    }
}

#[test]
fn audit_r_x1_odd_records_are_merged_with_none() {
    let hostile = odd(true);
    let documents = documents();
    for target in [
        format!("{}/cat", hostile.addr()),
        format!("http://{}/cat", hostile.addr()),
    ] {
        let is_sru = target.starts_with("http:");
        let (server, _good) = union(target, true);
        let mut answers = Answers::new();
        for (parameters, packing) in forms() {
            let path = format!("/union?{parameters}&query=shared&maximumRecords=200");
            let found = answer(&server, &path, packing, &mut answers);
            let texts = found
                .records
                .iter()
                .map(|record| String::from_utf8_lossy(&record.data));
            let texts: Vec<_> = texts.collect();
            let count = |part: &str| texts.iter().filter(|text| text.contains(part)).count();
            assert_eq!(count("Shared a"), documents.len(), "{path}");
            assert_eq!(count("Shared b"), documents.len(), "{path}");
            let sound = documents
                .iter()
                .filter(|(_, is_sound, _)| *is_sound)
                .count();
            // Those of SRU come in one document, which cannot be read.
            assert!(is_sru || count(MARK) <= sound, "{path}: {}", count(MARK));
            let both = texts.iter().filter(|text| text.contains(MARK));
            assert_eq!(both.filter(|text| text.contains("Shared a")).count(), 0);
        }
        answers.check();
    }
}
