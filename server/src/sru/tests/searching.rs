//! Tests of searchRetrieve.

use super::*;

/// Checks the number of hits, the positions of the records, the next position, and the diagnostics.
async fn check(
    session: &mut SruSession,
    parameters: &str,
    expected: (Option<u64>, &str, Option<u64>, &str),
) {
    let response = search_of(session, parameters).await;
    let records = response.records.iter();
    let positions = records.map(|record| record.position.unwrap_or(0).to_string());
    let positions = positions.collect::<Vec<_>>().join(" ");
    let found = (
        response.number_of_records,
        &*positions,
        response.next_record_position,
        &*shown(&response.diagnostics),
    );
    assert_eq!(found, expected, "{parameters}");
}

#[tokio::test]
async fn records_are_those_from_the_start_on() {
    let session = &mut session();
    for (parameters, expected) in [
        ("query=nothingness", (Some(0), "", None, "")),
        (
            "query=title@war&maximumRecords=2",
            (Some(9), "1 2", Some(3), ""),
        ),
        ("query=title@war&maximumRecords=0", (Some(9), "", None, "")),
        (
            "query=title@war&startRecord=8&maximumRecords=1",
            (Some(9), "8", Some(9), ""),
        ),
        ("query=title@war&startRecord=8", (Some(9), "8 9", None, "")),
        ("query=title@war&startRecord=9", (Some(9), "9", None, "")),
        (
            "query=title@war&startRecord=10",
            (Some(9), "", None, "61 10"),
        ),
        (
            "query=title@war&startRecord=18446744073709551615",
            (Some(9), "", None, "61 18446744073709551615"),
        ),
        (
            "query=title@war&startRecord=18446744073709551616",
            (None, "", None, "6 startRecord"),
        ),
        (
            "query=nothingness&startRecord=2",
            (Some(0), "", None, "61 2"),
        ),
        (
            "query=the&startRecord=5",
            (Some(236), "5 6 7 8 9 10 11 12 13 14", Some(15), ""),
        ),
        (
            "query=the",
            (Some(236), "1 2 3 4 5 6 7 8 9 10", Some(11), ""),
        ),
    ] {
        check(session, parameters, expected).await;
    }
}

#[tokio::test]
async fn the_number_of_records_has_a_limit() {
    let limits = Limits {
        records_per_response: 3,
        sru_records: 2,
        ..Limits::default()
    };
    let target = Target::new(Arc::new(MemoryBackend::demo()), limits);
    let session = &mut session_of(target);
    for (parameters, expected) in [
        ("query=title@war", (Some(9), "1 2", Some(3), "")),
        (
            "query=title@war&maximumRecords=3",
            (Some(9), "1 2 3", Some(4), ""),
        ),
        (
            "query=title@war&maximumRecords=4",
            (Some(9), "1 2 3", Some(4), ""),
        ),
        (
            "query=title@war&startRecord=5&maximumRecords=4",
            (Some(9), "5 6 7", Some(8), ""),
        ),
    ] {
        check(session, parameters, expected).await;
    }
}

#[tokio::test]
async fn what_is_wrong_is_a_diagnostic() {
    let session = &mut session();
    let deep = format!("query={}emma{}", "(".repeat(10_000), ")".repeat(10_000));
    let long = format!("query={}", "a".repeat(65_537));
    let many = format!("query=a{}", " and a".repeat(1001));
    for (parameters, expected) in [
        ("query=a and", "10"),
        ("query=(a", "10"),
        ("query=\"a", "14"),
        ("query=colour@red", "16 colour"),
        ("query=dc.colour@red", "16 dc.colour"),
        ("query=no.title@red", "15 no"),
        ("query=title @/blue red", "20 blue"),
        ("query=title any/relevant war", "20 relevant"),
        ("query=war or (title @/rel.phonetic war)", "20 rel.phonetic"),
        ("query=%40attr 2@102 war&queryType=pqf", "19 102"),
        ("query=a prox/unit@mile b", "20 unit"),
        ("query=a sortby colour", "16 colour"),
        ("query=a sortby title/sort.blue", "20 sort.blue"),
        ("query=a&sortKeys=colour", "88 colour"),
        ("query=a&sortKeys=title,,7", "90 7"),
        ("query=a sortby title/sort.missingOmit", "92 missingomit"),
        ("query=a&sortKeys=title,,1,0,omit", "92 missingomit"),
        ("query=a&sortKeys=title,,0,0,highValue", "92 missinghigh"),
        ("query=the sortby issn/sort.missingFail", "92 abort"),
        ("query=a&recordSchema=ead", "66 ead"),
        ("query=a&queryType=xquery", "11 xquery"),
        ("query=a&version=1.1&recordXPath=/a", "72 /a"),
        ("query=@attr 1@4&queryType=pqf", "10"),
        ("query=cql.resultSetId@none", "51 none"),
        (&deep, "38 1000"),
        (&many, "38 1000"),
        (&long, "12 query"),
    ] {
        let response = search_of(session, parameters).await;
        let request = parameters.get(..40).unwrap_or(parameters);
        assert_eq!(shown(&response.diagnostics), expected, "{request}");
        assert_eq!(response.number_of_records, None, "{request}");
        assert!(response.echo.is_some(), "{request}");
    }
}

#[tokio::test]
async fn queries_in_pqf_are_those_of_yaz() {
    let session = &mut session();
    for parameters in [
        "query=%40attr+1@4+war&queryType=pqf&maximumRecords=0",
        "x-pquery=%40attr+1@4+war&version=1.1&maximumRecords=0",
    ] {
        check(session, parameters, (Some(9), "", None, "")).await;
    }
}

#[tokio::test]
async fn records_have_the_form_of_their_schema() {
    let session = &mut session();
    for (schema, identifier, begin) in [
        (
            "",
            "info:srw/schema/1/marcxml-v1.1",
            "<record xmlns=\"http://www.loc.gov/MARC21/slim\">",
        ),
        (
            "marcxml",
            "info:srw/schema/1/marcxml-v1.1",
            "<record xmlns=\"http://www.loc.gov/MARC21/slim\">",
        ),
        (
            "http://www.loc.gov/MARC21/slim",
            "info:srw/schema/1/marcxml-v1.1",
            "<record xmlns",
        ),
        (
            "info:srw/schema/1/marcxml-1.1",
            "info:srw/schema/1/marcxml-v1.1",
            "<record xmlns",
        ),
        (
            "dc",
            "info:srw/schema/1/dc-v1.1",
            "<srw_dc:dc xmlns:srw_dc=\"info:srw/schema/1/dc-schema\"",
        ),
        (
            "oai_dc",
            "http://www.openarchives.org/OAI/2.0/oai_dc/",
            "<oai_dc:dc xmlns:oai_dc",
        ),
        (
            "mods",
            "info:srw/schema/1/mods-v3.7",
            "<mods xmlns=\"http://www.loc.gov/mods/v3\" version=\"3.7\">",
        ),
        (
            "http://www.loc.gov/mods/v3",
            "info:srw/schema/1/mods-v3.7",
            "<mods xmlns",
        ),
        ("opac", "urn:oid:1.2.840.10003.5.102", "<opacRecord>"),
        ("OP", "urn:oid:1.2.840.10003.5.102", "<opacRecord>"),
    ] {
        for (version, packing) in [("1.1", "recordPacking"), ("2.0", "recordXMLEscaping")] {
            let parameters =
                format!("query=emma&version={version}&recordSchema={schema}&{packing}=string");
            let response = search_of(session, &parameters).await;
            assert_eq!(shown(&response.diagnostics), "", "{parameters}");
            for record in &response.records {
                assert_eq!(record.schema, identifier, "{parameters}");
                let data = String::from_utf8_lossy(&record.data);
                assert!(data.starts_with(begin), "{parameters}: {data}");
            }
            let xml = String::from_utf8(Response::from(response).to_xml(None)).expect("UTF-8");
            assert!(xml.contains("<zs:recordData>&lt;"), "{xml}");
        }
    }
}

#[tokio::test]
async fn results_are_sorted_by_the_keys_of_either_kind() {
    let session = &mut session();
    let unsorted = identifiers(session, "query=title@war").await;
    let ascending = identifiers(session, "query=title@war sortby title").await;
    assert_ne!(unsorted, ascending);
    let descending: Vec<String> = ascending.iter().rev().cloned().collect();
    for (parameters, expected) in [
        (
            "query=title@war sortby dc.title/sort.descending",
            &descending,
        ),
        ("query=title@war&version=1.1&sortKeys=title", &ascending),
        ("query=title@war&version=1.1&sortKeys=title,,0", &descending),
        ("query=title@war&sortKeys=dc.title", &ascending),
    ] {
        let found = identifiers(session, parameters).await;
        assert_eq!(found, *expected, "{parameters}");
        let parameters = format!("{parameters}&startRecord=9");
        let last = identifiers(session, &parameters).await;
        assert_eq!(last.as_slice(), expected.get(8..).unwrap_or_default());
    }
}

/// Returns the identifiers of the records, in their order.
async fn identifiers(session: &mut SruSession, parameters: &str) -> Vec<String> {
    let response = search_of(session, parameters).await;
    let records = response.records.iter().map(|record| {
        let data = String::from_utf8_lossy(&record.data).into_owned();
        let rest = data.split("tag=\"001\">").nth(1).unwrap_or_default();
        rest.split('<').next().unwrap_or_default().to_owned()
    });
    records.collect()
}

#[tokio::test]
async fn records_without_the_sort_key_are_last_unless_the_key_says_otherwise() {
    let session = &mut session();
    // Only some of these records have an ISBN, so some records lack the sort key.
    for (key, is_first) in [
        ("isbn", true),
        ("isbn/sort.descending", true),
        ("isbn/sort.missingHigh", true),
        ("isbn/sort.missingLow", false),
        ("isbn/sort.descending/sort.missingLow", true),
        ("isbn/sort.missingValue@0", false),
    ] {
        let parameters = format!("query=title@the sortby {key}&maximumRecords=1");
        let response = search_of(session, &parameters).await;
        assert_eq!(shown(&response.diagnostics), "", "{parameters}");
        let record = response.records.first().expect("a record");
        let has_key = String::from_utf8_lossy(&record.data).contains("tag=\"020\"");
        assert_eq!(has_key, is_first, "{parameters}");
    }
}

#[tokio::test]
async fn audit_r_c6_indexes_of_other_context_sets_are_known() {
    let session = &mut session();
    let all = search_of(session, "query=cql.allRecords@1&maximumRecords=0").await;
    let all = all.number_of_records.expect("a number");
    for query in [
        "*",
        "cql.serverChoice=*",
        "cql.anywhere = \"*\"",
        "(*)",
        "* and *",
    ] {
        let parameters = format!("query={}&maximumRecords=0", query.replace('=', "@"));
        let found = search_of(session, &parameters).await;
        assert_eq!(found.number_of_records, Some(all), "{query}");
    }
    let count = async |session: &mut SruSession, query: &str| {
        let parameters = format!("query={query}&maximumRecords=0");
        let found = search_of(session, &parameters).await;
        assert_eq!(shown(&found.diagnostics), "", "{query}");
        found.number_of_records.expect("a number")
    };
    let without = count(session, "* not dc.title@war").await;
    assert_eq!(without + count(session, "dc.title@war").await, all);
    for (index, same) in [
        ("bath.title", "dc.title"),
        ("bath.author", "dc.creator"),
        ("bath.subject", "dc.subject"),
        ("bath.any", "cql.anyIndexes"),
        ("bib.name", "bath.name"),
        ("bib.namePersonal", "bath.personalName"),
        ("bib.titleUniform", "bath.uniformTitle"),
        ("bib.dateIssued", "year"),
        ("bib.genre", "bath.genreForm"),
        ("bib.originPlace", "place"),
        ("bib.titleSeries", "series"),
    ] {
        let of_date = index == "bib.dateIssued";
        let terms = ["1867", "war", "tolstoy", "austen", "fiction"];
        for term in terms.iter().take(if of_date { 1 } else { 5 }) {
            let found = count(session, &format!("{index}@{term}")).await;
            assert_eq!(
                found,
                count(session, &format!("{same}@{term}")).await,
                "{index} {term}"
            );
        }
    }
}
