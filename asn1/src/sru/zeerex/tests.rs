//! Tests for writing and reading descriptions.

use super::*;
use crate::sru::SruLimits;
use crate::sru::xml::XmlError;

fn description() -> ZeeRex {
    let mut title = ZeeRexIndex::new(
        "Title",
        vec![
            ZeeRexMap::Name {
                set: "dc".into(),
                name: "title".into(),
            },
            ZeeRexMap::Attributes(vec![ZeeRexAttribute {
                set: "bib-1".into(),
                attribute_type: 1,
                value: "4".into(),
            }]),
        ],
    );
    title.scan = Some(true);
    title.sort = Some(false);
    title.supports = vec![("relation".into(), "<".into())];
    ZeeRex {
        server: ZeeRexServer {
            host: "lib.example".into(),
            port: Some(210),
            database: "books".into(),
            records: Some(281),
            ..ZeeRexServer::default()
        },
        database: ZeeRexDatabase {
            title: "Books & more".into(),
            description: "All".into(),
            contact: "info@lib.example".into(),
            implementation: Some(ZeeRexImplementation {
                identifier: "z3950d".into(),
                version: "1".into(),
                title: "z3950d".into(),
            }),
            links: vec![("z39.50".into(), "z39.50s://lib.example:210/books".into())],
        },
        meta: ZeeRexMeta {
            date_modified: Some("2026-11-22 02:00:00".into()),
            aggregated_from: Some("z39.50r://lib.example:210/IR-Explain-1?1".into()),
            date_aggregated: None,
        },
        sets: vec![ContextSet {
            name: "dc".into(),
            identifier: "info:srw/cql-context-set/1/dc-v1.1".into(),
            title: String::new(),
        }],
        indexes: vec![title],
        schemas: vec![ZeeRexSchema::new(
            "marcxml",
            "info:srw/schema/1/marcxml-v1.1",
            "MARCXML",
        )],
        config: ZeeRexConfig {
            defaults: vec![("numberOfRecords".into(), "10".into())],
            settings: vec![("maximumRecords".into(), "50".into())],
            supports: vec![("scan".into(), String::new())],
        },
    }
}

const WRITTEN: &str = "<explain xmlns=\"http://explain.z3950.org/dtd/2.0/\"><serverInfo protocol=\"SRU\" version=\"2.0\" \
    transport=\"http\" method=\"GET POST SOAP\"><host>lib.example</host><port>210</port><database numRecs=\"281\">books</database>\
    </serverInfo><databaseInfo><title lang=\"en\" primary=\"true\">Books &amp; more</title><description lang=\"en\" \
    primary=\"true\">All</description><contact>info@lib.example</contact><implementation identifier=\"z3950d\" version=\"1\">\
    <title>z3950d</title></implementation><links><link type=\"z39.50\">z39.50s://lib.example:210/books</link></links>\
    </databaseInfo><metaInfo><dateModified>2026-11-22 02:00:00</dateModified>\
    <aggregatedFrom>z39.50r://lib.example:210/IR-Explain-1?1</aggregatedFrom></metaInfo><indexInfo><set name=\"dc\" \
    identifier=\"info:srw/cql-context-set/1/dc-v1.1\"></set><index search=\"true\" scan=\"true\" sort=\"false\">\
    <title>Title</title><map><name set=\"dc\">title</name></map><map><attr type=\"1\" set=\"bib-1\">4</attr></map>\
    <configInfo><supports type=\"relation\">&lt;</supports></configInfo></index></indexInfo><schemaInfo>\
    <schema name=\"marcxml\" identifier=\"info:srw/schema/1/marcxml-v1.1\" sort=\"false\" retrieve=\"true\">\
    <title>MARCXML</title></schema></schemaInfo><configInfo><default type=\"numberOfRecords\">10</default>\
    <setting type=\"maximumRecords\">50</setting><supports type=\"scan\"></supports></configInfo></explain>";

#[test]
fn descriptions_are_written_and_read() {
    let written = String::from_utf8(description().to_xml()).expect("UTF-8");
    assert_eq!(written, WRITTEN);
    let read = ZeeRex::from_xml(written.into_bytes(), &SruLimits::default());
    assert_eq!(read, Ok(description()));
}

#[test]
fn descriptions_of_servers_are_read() {
    let text = "<?xml version=\"1.0\"?><zr:explain xmlns:zr=\"http://explain.z3950.org/dtd/2.1/\" authoritative=\"true\">\
        <!-- none --><zr:serverInfo wsdl=\"x\"><zr:host> lib.example </zr:host><zr:port>none</zr:port>\
        <zr:authentication><zr:open/></zr:authentication></zr:serverInfo><zr:databaseInfo><title lang=\"de\">Bücher</title>\
        <title lang=\"en\" primary=\"1\">Books</title><title>Livres</title></zr:databaseInfo><zr:indexInfo>\
        <zr:index id=\"a\"><zr:map primary=\"true\"><zr:name>any</zr:name></zr:map><zr:map><zr:attr type=\"1\">1016</zr:attr>\
        <zr:attr type=\"x\" set=\"y\">z</zr:attr></zr:map><zr:configInfo><zr:supports type=\"maskingCharacter\">*</zr:supports>\
        </zr:configInfo></zr:index><zr:sortKeyword>a</zr:sortKeyword></zr:indexInfo><zr:schemaInfo><zr:schema \
        identifier=\"http://www.loc.gov/MARC21/slim\" location=\"x\" name=\"MARC21-xml\" sort=\"0\"/></zr:schemaInfo>\
        <zr:configInfo><zr:supports type=\"proximity\"><zr:configInfo/></zr:supports></zr:configInfo></zr:explain>";
    let read = ZeeRex::from_xml(text.as_bytes().to_vec(), &SruLimits::default()).expect("right");
    assert_eq!(read.server.host, "lib.example");
    assert_eq!((read.server.port, read.server.records), (None, None));
    assert_eq!(read.database.title, "Books");
    let [index] = &read.indexes[..] else {
        panic!("{:?}", read.indexes)
    };
    assert_eq!((index.search, index.maps.len()), (None, 2));
    assert_eq!(index.supports, [("maskingCharacter".into(), "*".into())]);
    assert_eq!(read.schemas[0].name, "MARC21-xml");
    assert_eq!(
        (read.schemas[0].sort, read.schemas[0].retrieve),
        (Some(false), None)
    );
    assert!(read.config.supports("proximity"));
    assert!(!read.config.supports("scan"));
    assert_eq!(read.config.setting("maximumRecords"), None);
    assert_eq!(
        ZeeRex::from_xml("<a/>", &SruLimits::default()),
        Err(XmlError::Element { name: "a".into() })
    );
}

#[test]
fn audit_r_y5_empty_maps_are_left_out() {
    let attribute = |value: &str| ZeeRexAttribute {
        set: "bib-1".into(),
        attribute_type: 1,
        value: value.into(),
    };
    let name = |name: &str| ZeeRexMap::Name {
        set: "dc".into(),
        name: name.into(),
    };
    let empty = [
        name(""),
        ZeeRexMap::Attributes(Vec::new()),
        ZeeRexMap::Attributes(vec![attribute("")]),
    ];
    let half = ZeeRexMap::Attributes(vec![attribute(""), attribute("4")]);
    let maps = empty.into_iter().chain([name("title"), half]).collect();
    let description = ZeeRex {
        indexes: vec![ZeeRexIndex::new("Title", maps)],
        ..ZeeRex::default()
    };
    let written = String::from_utf8(description.to_xml()).expect("UTF-8");
    let (_, maps) = written.split_once("</title>").expect("a title");
    let expected = "<map><name set=\"dc\">title</name></map><map><attr type=\"1\" set=\"bib-1\">4</attr></map></index>";
    assert!(maps.contains(expected), "{written}");
    assert_eq!(maps.matches("<map>").count(), 2, "{written}");
    // Incomplete maps, as other servers send them, do not become indexes.
    let empty = "<map><attr type=\"1\" set=\"bib-1\"></attr></map><map><name set=\"dc\"/></map><map/><map><attr/></map></index>";
    let others = written.replace("</index>", empty);
    let read = ZeeRex::from_xml(others.into_bytes(), &SruLimits::default()).expect("right");
    let maps = [name("title"), ZeeRexMap::Attributes(vec![attribute("4")])];
    assert_eq!(read.indexes[0].maps, maps);
}

#[test]
fn settings_are_found_by_name() {
    let config = description().config;
    assert_eq!(config.default_of("numberOfRecords"), Some("10"));
    assert_eq!(config.setting("maximumRecords"), Some("50"));
    assert!(config.supports("scan"));
}
