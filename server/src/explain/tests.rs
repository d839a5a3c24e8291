//! Tests of IR-Explain-1: the records in each category, and their forms.

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::codec::decode_value;
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::query::parse_pqf;
use z3950_asn1::record::explain::{
    AttributeCombinations, AttributeOccurrence, ExplainRecord, OccurrenceValues,
};

use super::EXPLAIN_DATABASE;
use crate::backend::{AttributeInfo, Backend, DatabaseInfo, DatabasePart};
use crate::extended::UPDATES;
use crate::limits::Limits;
use crate::requests::{elements, init, now, only, search_request, shown};
use crate::session::Session;
use crate::target::Target;

/// A database with a title and four indexes, one of which cannot be scanned and one of which cannot be used for sorting.
struct Books;

impl Backend for Books {
    fn databases(&self) -> Vec<DatabaseInfo> {
        let attribute = |value, name| AttributeInfo::new(oid::BIB_1, 1, value, name);
        let subject = AttributeInfo {
            scan: false,
            ..attribute(21, "subject")
        };
        let isbn = AttributeInfo {
            sort: false,
            ..attribute(7, "isbn")
        };
        vec![DatabaseInfo {
            name: "books".to_owned(),
            title: Some("Books & more".to_owned()),
            description: Some("Paper".to_owned()),
            records: Some(7),
            parts: ["books@one", "books@two:210/b"]
                .map(DatabasePart::new)
                .into(),
            syntaxes: vec![oid::USMARC, oid::XML],
            attributes: vec![
                attribute(4, "title"),
                attribute(1003, "author"),
                subject,
                isbn,
            ],
            scan: true,
            sort: true,
            ..DatabaseInfo::default()
        }]
    }
}

fn search(pqf: &str, syntax: Option<Oid>, element_set: &str) -> SearchResponse {
    let mut session = Session::new(Arc::new(Target::new(Arc::new(Books), Limits::default())));
    only(now(session.answer(&init())));
    let request = SearchRequest {
        database_names: vec![DatabaseName::from(EXPLAIN_DATABASE)],
        query: Query::Type1(parse_pqf(pqf).expect("a query")),
        small_set_upper_bound: 100,
        large_set_lower_bound: 101,
        small_set_element_set_names: Some(elements(element_set)),
        preferred_record_syntax: syntax,
        ..search_request("x")
    };
    match only(now(session.answer(&request.into()))) {
        Apdu::SearchResponse(response) => *response,
        other => panic!("{other:?}"),
    }
}

fn records(response: SearchResponse) -> Vec<External> {
    let Some(Records::ResponseRecords(records)) = response.records.0 else {
        panic!("{}", shown(&response.records))
    };
    let records = records.into_iter().map(|record| match record.record {
        Record::RetrievalRecord(external) => external,
        other => panic!("{other:?}"),
    });
    records.collect()
}

fn explain(pqf: &str, element_set: &str) -> Vec<ExplainRecord> {
    let found = records(search(pqf, Some(oid::EXPLAIN), element_set));
    let records = found.iter().map(|external| match &external.encoding {
        ExternalEncoding::SingleAsn1Type(value) => {
            decode_value(value.as_bytes()).expect("a record")
        }
        other => panic!("{other:?}"),
    });
    records.collect()
}

#[test]
fn records_of_each_category() {
    for (pqf, count) in [
        ("@attrset exp-1 @attr 1=1 CategoryList", 1),
        (
            "@attrset exp-1 @attr 1=1 @attr 2=3 @attr 3=3 @attr 4=3 @attr 5=100 @attr 6=3 TARGETINFO",
            1,
        ),
        ("@attrset exp-1 @attr 1=1 DatabaseInfo", 3),
        (
            "@attrset exp-1 @and @attr 1=1 DatabaseInfo @attr 1=3 books",
            1,
        ),
        ("@attrset exp-1 @attr 1=1 RecordSyntaxInfo", 5),
        (
            "@attrset exp-1 @and @attr 1=1 RecordSyntaxInfo @attr 1=6 1.2.840.10003.5.10",
            1,
        ),
        ("@attrset exp-1 @attr 1=1 AttributeSetInfo", 3),
        (
            "@attrset exp-1 @and @attr 1=1 AttributeSetInfo @attr 1=5 1.2.840.10003.3.1",
            1,
        ),
        ("@attrset exp-1 @attr 1=1 AttributeDetails", 3),
        (
            "@attrset exp-1 @and @attr 1=1 AttributeDetails @attr 1=3 books",
            1,
        ),
        ("@attrset exp-1 @attr 1=1 ExtendedServicesInfo", 7),
        (
            "@attrset exp-1 @and @attr 1=1 ExtendedServicesInfo @attr 1=8 1.2.840.10003.9.4",
            1,
        ),
        ("@attrset exp-1 @attr 1=1 TermListInfo", 1),
        (
            "@attrset exp-1 @and @attr 1=1 TermListInfo @attr 1=3 books",
            1,
        ),
        ("@attrset exp-1 @attr 1=1 TermListDetails", 3),
        (
            "@attrset exp-1 @and @attr 1=1 TermListDetails @attr 1=15 subject",
            0,
        ),
        (
            "@attrset exp-1 @and @attr 1=1 TermListDetails @attr 1=15 author",
            1,
        ),
        ("@attrset exp-1 @attr 1=1 SortDetails", 1),
        (
            "@attrset exp-1 @and @attr 1=1 SortDetails @attr 1=3 books",
            1,
        ),
        ("@attrset exp-1 @attr 1=1 UnitInfo", 0),
        (
            "@attrset exp-1 @and @attr 1=1 TargetInfo @attr 1=4 z3950d",
            1,
        ),
        ("@attrset exp-1 @and @attr 1=1 TargetInfo @attr 1=2 eng", 1),
    ] {
        assert_eq!(search(pqf, None, "F").result_count, count, "{pqf}");
    }
    let all = search("@attrset exp-1 @attr 1=1 @attr 2=103 x", None, "F");
    assert_eq!(
        all.number_of_records_returned,
        1 + 1 + 3 + 5 + 3 + 3 + 1 + 3 + 1 + 7
    );
}

/// Returns a combination of attributes that requires a Use value.
fn means(value: i64) -> AttributeCombinations {
    let occurrence = AttributeOccurrence {
        attribute_set: None,
        attribute_type: 1,
        must_be_supplied: Some(()),
        attribute_values: OccurrenceValues::Specific(vec![StringOrNumeric::Numeric(value)]),
    };
    AttributeCombinations {
        default_attribute_set: oid::BIB_1,
        legal_combinations: vec![vec![occurrence]],
    }
}

#[test]
fn records_describe_the_server_and_its_databases() {
    let one = |pqf: &str| explain(pqf, "F").swap_remove(0);
    let ExplainRecord::TargetInfo(target) = one("@attrset exp-1 @attr 1=1 TargetInfo") else {
        panic!("TargetInfo")
    };
    assert_eq!(
        (target.named_result_sets, target.multiple_d_bsearch),
        (true, true)
    );
    assert_eq!(target.timeout_interval.map(|time| time.value), Some(900));
    let books = "@attrset exp-1 @and @attr 1=1 DatabaseInfo @attr 1=3 books";
    let ExplainRecord::DatabaseInfo(database) = one(books) else {
        panic!("DatabaseInfo")
    };
    assert_eq!(
        (database.explain_database, database.title_string),
        (None, Some("Books & more".into()))
    );
    let description = "Paper\nConsists of: books@one, books@two:210/b";
    assert_eq!(database.description, Some(description.into()));
    let access = database.access_info.expect("access");
    assert_eq!(access.record_syntaxes, Some(vec![oid::USMARC, oid::XML]));
    assert_eq!(access.attribute_set_ids, Some(vec![oid::BIB_1]));
    let details = "@attrset exp-1 @and @attr 1=1 AttributeDetails @attr 1=3 books";
    let values = |element_set| match explain(details, element_set).swap_remove(0) {
        ExplainRecord::AttributeDetails(details) => details.attributes_by_set.map(|mut sets| {
            let types = sets.swap_remove(0).attributes_by_type.swap_remove(0);
            let values = types.attribute_values.into_iter().flatten();
            values.map(|value| value.value).collect::<Vec<_>>()
        }),
        other => panic!("{other:?}"),
    };
    let numeric = StringOrNumeric::Numeric;
    let ExplainRecord::TermListInfo(lists) = one("@attrset exp-1 @attr 1=1 TermListInfo") else {
        panic!("TermListInfo")
    };
    let names: Vec<_> = lists.term_lists.into_iter().map(|list| list.name).collect();
    assert_eq!(names, ["author", "isbn", "title"].map(Into::into));
    let ExplainRecord::TermListDetails(list) = one("@attrset exp-1 @attr 1=15 title") else {
        panic!("TermListDetails")
    };
    assert_eq!(list.attributes, Some(means(4)));
    let ExplainRecord::SortDetails(sort) = one("@attrset exp-1 @attr 1=1 SortDetails") else {
        panic!("SortDetails")
    };
    let keys = sort.sort_keys.into_iter().flatten();
    let keys: Vec<_> = keys.map(|key| key.attribute_specifications).collect();
    assert_eq!(keys, [1003, 21, 4].map(|value| Some(means(value))));
    assert_eq!(values("F"), Some([4, 7, 21, 1003].map(numeric).into()));
    assert_eq!(values("B"), None);
    let services = explain("@attrset exp-1 @attr 1=1 ExtendedServicesInfo", "F");
    for service in services {
        let ExplainRecord::ExtendedServicesInfo(info) = service else {
            panic!("{service:?}")
        };
        // Clients on other hosts may not update, so only the update services have restrictions.
        let is_restricted = UPDATES.contains(&info.r#type);
        assert_eq!(info.restrictions_apply, is_restricted, "{}", info.r#type);
        assert_eq!(info.description.is_some(), is_restricted);
    }
}

#[test]
fn records_are_available_as_text_and_xml() {
    let pqf = "@attrset exp-1 @and @attr 1=1 DatabaseInfo @attr 1=3 books";
    let xml = records(search(pqf, Some(oid::XML), "F")).swap_remove(0);
    let ExternalEncoding::OctetAligned(xml) = xml.encoding else {
        panic!("octets")
    };
    let xml = String::from_utf8_lossy(&xml).into_owned();
    assert!(
        xml.contains("<titleString>") && xml.contains("Books &amp; more"),
        "{xml}"
    );
    let text = records(search(pqf, Some(oid::SUTRS), "F")).swap_remove(0);
    assert!(format!("{text:?}").contains("Books"), "{text:?}");
    assert_eq!(
        shown(&search(pqf, Some(oid::USMARC), "F").records),
        "239 1.2.840.10003.5.10"
    );
    assert_eq!(shown(&search("@attr 1=4 x", None, "F").records), "114 4");
}

#[test]
fn it_cannot_be_searched_together_with_others() {
    let mut session = Session::new(Arc::new(Target::new(Arc::new(Books), Limits::default())));
    only(now(session.answer(&init())));
    let request = SearchRequest {
        database_names: vec![
            DatabaseName::from(EXPLAIN_DATABASE),
            DatabaseName::from("books"),
        ],
        ..search_request("x")
    };
    let Apdu::SearchResponse(response) = only(now(session.answer(&request.into()))) else {
        panic!("a SearchResponse")
    };
    assert!(!response.search_status);
}
