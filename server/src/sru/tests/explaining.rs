//! explain.

use z3950_asn1::sru::zeerex::{ZeeRex, ZeeRexMap};

use super::*;

#[tokio::test]
async fn every_index_of_the_description_can_be_searched_and_scanned() {
    let session = &mut session();
    let Response::Explain(response) = reply_of(session, "books", "").await.response else {
        panic!("no explainResponse");
    };
    let record = response.record.expect("a description");
    let description = ZeeRex::from_xml(record.data, &SruLimits::default()).expect("ZeeRex");
    assert_eq!(description.server.database, "books");
    assert_eq!(description.server.records, Some(281));
    let schemas: Vec<&str> = description
        .schemas
        .iter()
        .map(|schema| &*schema.name)
        .collect();
    assert_eq!(schemas, ["marcxml", "dc", "oai_dc", "opac"]);
    assert_eq!(description.config.default_of("numberOfRecords"), Some("10"));
    assert_eq!(description.config.setting("maximumRecords"), Some("1000"));
    assert!(description.indexes.len() > 100);
    for (kind, name) in &description.config.supports {
        // One of these indexes supports it.
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
            ] {
                let reply = reply_of(session, "books", &parameters).await;
                let found = shown(reply.response.diagnostics());
                // Some indexes have numbers of a certain form only.
                assert!(["", "36 1234"].contains(&&*found), "{parameters}: {found}");
            }
        }
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
                "<link type=\"sru\">http://lib.example:210/books</link><link type=\"z39.50\">z39.50s://lib.example:210/books</link>",
            ],
        ),
        (
            ("lib.example", None),
            true,
            [
                "transport=\"https\"",
                "<host>lib.example</host><port>443</port>",
                "<links><link type=\"sru\">https://lib.example/books</link></links>",
            ],
        ),
    ] {
        let request = Request::from_parameters(b"", &SruLimits::default());
        let mut asked = SruAsked::new("Books", request);
        asked.authority = (authority.0.to_owned(), authority.1);
        asked.secure = secure;
        let reply = session().answer(asked).await;
        let xml = String::from_utf8(reply.response.to_xml(None)).expect("UTF-8");
        for part in expected {
            assert!(xml.contains(part), "{part}: {xml}");
        }
    }
}
