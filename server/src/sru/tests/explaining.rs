//! Tests of explain.

use z3950_asn1::oid::BIB_1;
use z3950_asn1::sru::zeerex::{ZeeRex, ZeeRexMap};

use super::*;
use crate::backend::{AttributeInfo, DatabaseInfo};

#[tokio::test]
async fn every_index_of_the_description_can_be_searched_scanned_and_sorted_by() {
    let session = &mut session();
    let Response::Explain(response) = reply_of(session, "books", "").await.response else {
        panic!("no explainResponse");
    };
    let record = response.record.expect("a description");
    // Clients such as sru-queryer fail on a `map` without a `name`.
    let written = String::from_utf8_lossy(&record.data).into_owned();
    let maps = written.matches("<map>").count();
    assert!(maps > 200 && maps == written.matches("<map><name set=").count());
    let description = ZeeRex::from_xml(record.data, &SruLimits::default()).expect("ZeeRex");
    assert_eq!(description.server.database, "books");
    assert_eq!(description.server.records, Some(281));
    let schemas: Vec<&str> = description
        .schemas
        .iter()
        .map(|schema| &*schema.name)
        .collect();
    assert_eq!(schemas, ["marcxml", "dc", "oai_dc", "mods", "opac"]);
    assert_eq!(description.config.default_of("numberOfRecords"), Some("10"));
    assert_eq!(description.config.setting("maximumRecords"), Some("1000"));
    assert!(description.indexes.len() > 100);
    let supports = &description.config.supports;
    for (kind, value) in [
        ("facets", ""),
        ("update", ""),
        ("queryType", "cql"),
        ("queryType", "pqf"),
    ] {
        let pair = (kind.to_owned(), value.to_owned());
        assert!(supports.contains(&pair), "{kind} {value}");
    }
    for (kind, name) in &description.config.supports {
        // At least one of these queries must be supported, because not every index supports each relation or modifier.
        let queries: Vec<String> = match &**kind {
            "relation" => vec![format!("title {name} war")],
            "relationModifier" => ["title", "docid", "date"]
                .map(|index| format!("{index} @/{name} 1990"))
                .to_vec(),
            "maskingCharacter" => vec![format!("title @ wa{name}"), format!("title @ w{name}r")],
            "anchoring" => vec![format!("title @ \"{name}war\"")],
            _ => continue,
        };
        let mut found = Vec::new();
        for query in queries {
            let response = search_of(session, &format!("query={query}")).await;
            found.push(shown(&response.diagnostics));
        }
        assert!(
            found.iter().any(String::is_empty),
            "{kind} {name}: {found:?}"
        );
    }
    for index in &description.indexes {
        assert_eq!((index.scan, index.sort), (Some(true), Some(true)));
        for map in &index.maps {
            let ZeeRexMap::Name { set, name } = map else {
                continue;
            };
            assert!(
                description.sets.iter().any(|known| known.name == *set),
                "{set}"
            );
            for parameters in [
                format!("query={set}.{name} @ 1234&maximumRecords=0"),
                format!("scanClause={set}.{name} @ 1234"),
                format!("query=emma sortBy {set}.{name}"),
            ] {
                let reply = reply_of(session, "books", &parameters).await;
                let found = shown(reply.response.diagnostics());
                // Some indexes accept only numbers of a certain form, so diagnostic 36 is allowed too.
                assert!(["", "36 1234"].contains(&&*found), "{parameters}: {found}");
            }
        }
    }
}

/// A database whose indexes do not all support the same services.
struct Partial {
    scan: bool,
    sort: bool,
}

impl Backend for Partial {
    fn databases(&self) -> Vec<DatabaseInfo> {
        let index = |value, name, scan, sort| AttributeInfo {
            scan,
            sort,
            ..AttributeInfo::new(BIB_1, 1, value, name)
        };
        vec![DatabaseInfo {
            name: "books".to_owned(),
            attributes: vec![
                index(4, "Title", true, true),
                index(7, "ISBN", true, false),
                index(31, "Date", false, true),
                index(63, "Note", false, false),
            ],
            scan: self.scan,
            sort: self.sort,
            ..DatabaseInfo::default()
        }]
    }
}

#[tokio::test]
async fn audit_explain_lists_the_uses_of_each_index() {
    for (scan, sort, expected) in [
        (true, true, ["ts", "t-", "-s", "--"]),
        (true, false, ["t-", "t-", "--", "--"]),
        (false, true, ["-s", "--", "-s", "--"]),
        (false, false, ["--", "--", "--", "--"]),
    ] {
        let backend = Arc::new(Partial { scan, sort });
        let mut session = session_of(Target::new(backend, Limits::default()));
        let reply = reply_of(&mut session, "books", "").await;
        let Response::Explain(response) = reply.response else {
            panic!("no explainResponse");
        };
        let record = response.record.expect("a description");
        let description = ZeeRex::from_xml(record.data, &SruLimits::default()).expect("ZeeRex");
        let found = description.indexes.iter().map(|index| {
            assert_eq!(index.search, Some(true), "{}", index.title);
            let mark = |is, mark| if is == Some(true) { mark } else { "-" };
            [mark(index.scan, "t"), mark(index.sort, "s")].concat()
        });
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let supports = |name| {
            description
                .config
                .supports
                .iter()
                .any(|(kind, _)| kind == name)
        };
        assert_eq!((supports("scan"), supports("sort")), (scan, sort));
    }
}

#[tokio::test]
async fn a_description_says_where_the_database_is() {
    for (authority, secure, expected) in [
        (
            ("lib.example", Some(210)),
            false,
            [
                "transport=\"http\"",
                "<host>lib.example</host><port>210</port>",
                "<link type=\"sru\">http://lib.example:210/books</link><link type=\"z39.50\">z39.50s://lib.example:210/books</link><link type=\"sru\">http://lib.example:210/serials</link>",
            ],
        ),
        (
            ("lib.example", None),
            true,
            [
                "transport=\"https\"",
                "<host>lib.example</host><port>443</port>",
                "<links><link type=\"sru\">https://lib.example/books</link><link type=\"sru\">https://lib.example/serials</link></links>",
            ],
        ),
    ] {
        let request = Request::from_parameters(b"", &SruLimits::default());
        let mut asked = SruRequest::new("Books", request);
        asked.authority = (authority.0.to_owned(), authority.1);
        asked.secure = secure;
        let reply = session().answer(asked).await;
        let xml = String::from_utf8(reply.response.to_xml(None)).expect("UTF-8");
        for part in expected {
            assert!(xml.contains(part), "{part}: {xml}");
        }
    }
}

#[tokio::test]
async fn a_description_names_the_other_databases_that_the_user_may_have() {
    let user = |name: &str, databases: &[&str]| User {
        name: name.to_owned(),
        databases: Some(databases.iter().map(|&name| name.to_owned()).collect()),
        ..User::default()
    };
    let access = Access {
        users: vec![user("ann", &["books"]), user("bob", &["books", "serials"])],
        ..Access::default()
    };
    for (name, expected) in [("ann", false), ("bob", true)] {
        let mut session = session_of(target().with_access(access.clone()));
        let parameters = format!("x-username={name}&x-password=x");
        let reply = reply_of(&mut session, "", &parameters).await;
        let xml = String::from_utf8(reply.response.to_xml(None)).expect("UTF-8");
        assert!(xml.contains("http://localhost/books</link>"), "{xml}");
        let found = xml.contains("http://localhost/serials</link>");
        assert_eq!(found, expected, "{name}: {xml}");
    }
}
