//! Unusual XML documents, and servers whose records are these documents.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use z3950_asn1::apdu::{DatabaseName, External, ExternalValue as _};
use z3950_asn1::oid::{OPAC, Oid, USMARC, XML};
use z3950_asn1::record::opac::OpacRecord;
use z3950_asn1::sru::Packing;
use z3950_server::backend::{
    Answer, Backend, DatabaseInfo, Found, Hits, RecordId, Retrieve, Retrieved, Search, ready,
};
use z3950_server::testing::TestServer;

/// A word that occurs in every document. If a document is refused, the word must not appear anywhere.
pub(super) const MARK: &str = "FORGED";

/// Returns a MARCXML record with `title` in its title field, and with `rest` after its fields.
fn marcxml(title: &str, rest: &str) -> String {
    format!(
        "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>00000nam a2200000   4500</leader>\
         <controlfield tag=\"001\">odd</controlfield><datafield tag=\"245\" ind1=\"1\" ind2=\"0\">\
         <subfield code=\"a\">Shared {MARK}{title}</subfield></datafield>{rest}</record>"
    )
}

/// A document: a description of what is unusual about it, whether it may be returned as a record, and its octets.
pub(super) type Document = (&'static str, bool, Vec<u8>);

/// Returns the unusual documents.
pub(super) fn documents() -> Vec<Document> {
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
    let blanks = "<x xmlns:a='urn:a b' xmlns:b='urn:a\tb' a:c='1' b:c='2'/>";
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
        text(
            "attributes of xml",
            true,
            marcxml("", "<x xml:lang='en' xml:space='preserve' xml:base='a'/>"),
        ),
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
        text(
            "a section with tags",
            true,
            title("<![CDATA[</zs:recordData></record>&nbsp;]]>"),
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
        text(
            "a namespace with the mark after which Python has the name",
            false,
            marcxml("", "<x xmlns='urn:}a'/>"),
        ),
        text(
            "an attribute twice by blanks in its namespace",
            false,
            marcxml("", blanks),
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
            "a comment with tags",
            true,
            marcxml("", "<!-- </zs:recordData></zs:record> &nbsp; -->"),
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
    /// Whether the backend claims that its records are trusted. No backend should claim this, but a hostile server may.
    is_trusted: bool,
}

impl Odd {
    fn octets(number: i64) -> Vec<u8> {
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
            digits.collect::<String>().parse::<i64>().expect("a number")
        });
        let count = i64::try_from(documents().len()).expect("few");
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

/// Starts a server that serves these documents over Z39.50 and SRU.
pub(super) fn odd(is_trusted: bool) -> TestServer {
    let builder = TestServer::builder().backend(Arc::new(Odd { is_trusted }));
    builder.limit(|limits| limits.sru_records = 200).start()
}

/// Starts an HTTP server that answers each request with the octets that `answer` returns for its first line.
pub(crate) fn serve_http(answer: impl Fn(&str) -> Vec<u8> + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut octets = vec![0; 16 << 10];
                let length = stream.read(&mut octets).unwrap_or_default();
                let request = String::from_utf8_lossy(&octets[..length]).into_owned();
                // A client may open a connection and close it without a request.
                let Some(line) = request.lines().next() else {
                    return;
                };
                // The client may be gone, so errors are ignored.
                let _ = stream.write_all(&answer(line));
            });
        }
    });
    address
}

/// Returns an HTTP response with this body. The connection ends after the response.
pub(crate) fn http_answer(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Returns the number after these words in the first line of a request.
fn number(line: &str, words: &str) -> Option<usize> {
    let (_, rest) = line.split_once(words)?;
    let mut parts = rest.split(|character: char| !character.is_ascii_digit());
    parts.next()?.parse().ok()
}

/// Starts an SRU server whose responses contain these documents unchanged. If records are packed as XML, each response contains
/// one record, so that a document cannot damage other records.
pub(super) fn odd_sru(packing: Packing) -> SocketAddr {
    serve_http(move |line| http_answer(&odd_answer(line, packing)))
}

fn odd_answer(line: &str, packing: Packing) -> Vec<u8> {
    let all = documents();
    let one = number(line, "odd-");
    let hits: Vec<usize> = match one {
        Some(one) => vec![one],
        None => (0..all.len()).collect(),
    };
    let start = number(line, "startRecord=").unwrap_or(1);
    let most = match packing {
        Packing::Xml => 1,
        Packing::String => usize::MAX,
    };
    let most = number(line, "maximumRecords=").unwrap_or(10).min(most);
    let mut answer = format!(
        "<zs:searchRetrieveResponse xmlns:zs='http://www.loc.gov/zing/srw/'><zs:version>1.1</zs:version>\
         <zs:numberOfRecords>{}</zs:numberOfRecords><zs:records>",
        hits.len()
    )
    .into_bytes();
    for (position, hit) in (1..).zip(&hits).skip(start - 1).take(most) {
        let head = format!(
            "<zs:record><zs:recordSchema>info:srw/schema/1/marcxml-v1.1</zs:recordSchema><zs:recordPacking>{}</zs:recordPacking>\
             <zs:recordData>",
            packing.as_str()
        );
        answer.extend(head.into_bytes());
        for octet in &all[*hit].2 {
            match (packing, octet) {
                (Packing::String, b'&') => answer.extend(b"&amp;"),
                (Packing::String, b'<') => answer.extend(b"&lt;"),
                _ => answer.push(*octet),
            }
        }
        let tail = format!(
            "</zs:recordData><zs:recordPosition>{position}</zs:recordPosition></zs:record>"
        );
        answer.extend(tail.into_bytes());
    }
    answer.extend(b"</zs:records></zs:searchRetrieveResponse>");
    answer
}
