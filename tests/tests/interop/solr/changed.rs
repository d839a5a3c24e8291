//! Tests of indexes that change while clients use them, and of records that other programs may have stored, such as long, damaged
//! and unsuitable ones.

use serde_json::{Value, json};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_marc::{MarcRecord, mrk};
use z3950_server::backend::{AttributeList, Backend, FacetRequest, Search};
use z3950_tests::solr::{RecordForm, SolrNodes, SolrShape, vufind_document};

use super::Filled;
use super::catalogue::{SolrCatalogue, operand, query};
use super::home::{Home, check};

const ALL: &str = "@attr 1=1016 @attr 2=103 x";

/// Returns records that have this word in the title. Their identifiers are numbered.
fn titled(word: &str, numbers: std::ops::Range<usize>) -> Vec<MarcRecord> {
    let texts = numbers.map(|number| {
        format!("=LDR  00000nam a2200000 a 4500\n=001  r{number:03}\n=245  10$a{word} {number}\n\n")
    });
    mrk::parse_all(&texts.collect::<String>()).expect("records")
}

fn documents(records: &[MarcRecord]) -> Vec<Value> {
    let documents = records.iter();
    documents
        .map(|record| vufind_document(record, RecordForm::Xml))
        .collect()
}

/// If records are deleted after they were found, they are replaced with diagnostics, and the other records keep their positions.
#[test]
fn records_that_are_deleted_leave_their_places() {
    let Some(nodes) = SolrNodes::shared() else {
        return;
    };
    let collection = nodes.create(SolrShape::VuFind, "deleted");
    nodes.load(&collection, &documents(&titled("war", 0..30)));
    let home = Home::new(&nodes.urls(&collection), "catalogue = \"vufind\"");
    let served = home.serve();
    let url = &nodes.urls(&collection)[0];
    let path = url
        .split_once("/solr")
        .map(|(_, path)| format!("/solr{path}"));
    let path = path.expect("a path") + "/update?commit=true";
    let delete = format!("http://127.0.0.1:{}{path}", nodes.ports()[0]);
    let body = json!({ "delete": ["r003", "r022"] });
    // After a Present beyond the first page, the server remembers the positions of the hits, even if records are deleted.
    let commands = format!(
        "find @attr 1=4 war\nformat usmarc\nshow 12\n! curl --silent --output /dev/null --header Content-Type:application/json --data '{body}' '{delete}'\n\
         show 22+3\nfind @attr 1=4 war"
    );
    let Some(printed) = served.yaz(&commands) else {
        return;
    };
    let expected = [
        "Number of hits: 30,",
        "001 r011",
        "001 r021",
        "[14]",
        "the record no longer exists",
        "001 r023",
        "Number of hits: 28,",
    ];
    check(&printed, &expected);
}

/// A new collection is filled, and the alias of the old collection is then moved to it.
#[test]
fn an_alias_moves_under_result_sets() {
    let Some(nodes) = SolrNodes::shared() else {
        return;
    };
    let old = nodes.create(SolrShape::VuFind, "old");
    nodes.load(&old, &documents(&titled("war", 0..40)));
    let new = nodes.create(SolrShape::VuFind, "new");
    nodes.load(&new, &documents(&titled("war peace", 5..60)));
    let alias = format!("alias-of-{old}");
    nodes.set_alias(&alias, &old);
    let home = Home::new(&nodes.urls(&alias), "catalogue = \"vufind\"");
    let served = home.serve();
    let moving = format!(
        "http://127.0.0.1:{}/solr/admin/collections?action=CREATEALIAS&name={alias}&collections={new}",
        nodes.ports()[0]
    );
    let commands = format!(
        "find @attr 1=4 war\nformat usmarc\nshow 30\n! curl --silent --output /dev/null '{moving}'\nshow 1\nshow 12+2\nfind @attr 1=4 war\nshow 1\nscan @attr 1=4 @attr 4=1 war"
    );
    let Some(printed) = served.yaz(&commands) else {
        return;
    };
    let expected = [
        "Number of hits: 40,",
        "001 r029",
        // The first records were returned with the search response, so the server presents them unchanged.
        "001 r000",
        "$a war 0",
        "001 r011",
        "$a war peace 11",
        "001 r012",
        "Number of hits: 55,",
        "001 r005",
        "war peace 10 (1)",
    ];
    check(&printed, &expected);
}

/// Fields are missing because the alias was moved to a collection with a different schema. One search is refused, and the next
/// one reports the reason.
#[tokio::test(flavor = "multi_thread")]
async fn fields_that_are_gone_are_refused() {
    let Some(nodes) = SolrNodes::shared() else {
        return;
    };
    let old = nodes.create(SolrShape::VuFind, "fields");
    nodes.load(&old, &documents(&titled("war", 0..5)));
    let other = nodes.create_of("other", "fields");
    let alias = format!("alias-of-{old}");
    nodes.set_alias(&alias, &old);
    let mut filled = Filled::of_titles("gone", &["war"]).expect("nodes");
    filled.collection = alias.clone();
    let catalogue = SolrCatalogue::open(&filled, SolrShape::VuFind);
    let count = async |pqf| catalogue.search(pqf).await.map(|found| found.hits.len());
    assert_eq!(count("@attr 1=4 war").await, Ok(5));
    nodes.set_alias(&alias, &other);
    let refused = count("@attr 1=4 war").await.expect_err("no such field");
    assert_eq!(refused.0, Condition::DATABASE_UNAVAILABLE.0, "{refused:?}");
    assert!(!refused.1.contains("title_full"), "{refused:?}");
    let told = count("@attr 1=4 war").await.expect_err("another index");
    assert_eq!(told.1, "the index does not fit the settings of the server");
    nodes.set_alias(&alias, &old);
    assert_eq!(count("@attr 1=4 war").await, Ok(5));
}

/// Tests a record of a megabyte, a record that is not MARC, a document without a record, and a record whose text was not UTF-8
/// when it was indexed.
#[test]
fn records_of_every_length_and_kind_are_returned_or_reported() {
    let Some(nodes) = SolrNodes::shared() else {
        return;
    };
    let collection = nodes.create(SolrShape::VuFind, "strange");
    let mut records = titled("war", 0..7);
    let long = "n".repeat(9_000);
    let notes = (0..120).map(|_| z3950_marc::Field::data(b"500", b"  ", [(b"a", &*long)]));
    records[1].fields.extend(notes);
    let mut documents = documents(&records);
    documents[2]["fullrecord"] = json!("<html>not MARC</html>");
    documents[3]["fullrecord"] = json!("{\"type\":\"lido\"}");
    documents[3]["record_format"] = json!("lido");
    documents[4]
        .as_object_mut()
        .expect("a document")
        .remove("fullrecord");
    // If text was decoded with the wrong encoding, some of its characters are now U+FFFD.
    documents[5]["fullrecord"] = json!(
        RecordForm::Iso2709
            .written(&records[5])
            .replace("war", "w\u{fffd}r")
    );
    documents[6]["fullrecord"] = json!(RecordForm::Escaped.written(&records[6]));
    nodes.load(&collection, &documents);
    let home = Home::new(&nodes.urls(&collection), "catalogue = \"vufind\"");
    let served = home.serve();
    let commands = "find @attr 1=4 war\nformat usmarc\nshow 1+7\nformat xml\nshow 2";
    if let Some(printed) = served.yaz(commands) {
        let expected = [
            "Number of hits: 7,",
            "001 r000",
            "[14]",
            "[14]",
            "[14]",
            "the record is not MARC",
            "[14]",
            "there is no record in the index",
            "001 r006",
            "Record type: XML",
            "<controlfield tag=\"001\">r001</controlfield>",
        ];
        check(&printed, &expected);
    }
    // A response can contain either one record of this length or several of the other records.
    for (start, number, expected) in [
        (2, 1, &["numberOfRecords>7<", ">r001<"][..]),
        (
            3,
            5,
            &[
                "diagnostic/1/63",
                "diagnostic/1/63",
                "diagnostic/1/63",
                ">r006<",
            ],
        ),
    ] {
        let page = [
            format!("startRecord={start}"),
            format!("maximumRecords={number}"),
        ];
        let Some(found) = served.sru("title=war", &page.each_ref().map(|one| &**one)) else {
            return;
        };
        check(&found, expected);
        assert_eq!(found.len() > 1_000_000, start == 2, "{}", found.len());
    }
}

/// Tests as many facets as a request may have, each with many terms, and at high positions in their lists.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_deep_facets_are_counted() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "facets", 150) else {
        return;
    };
    let catalogue = SolrCatalogue::open(&filled, shape);
    let fields = [
        (1003, "author_facet"),
        (21, "topic_facet"),
        (1079, "topic_facet"),
        (31, "publishDate"),
        (54, "language"),
    ];
    let counts = fields.map(|(_, field)| filled.naive.terms(field).len());
    let attributes = |use_value: i64| {
        let asked = query(&format!("@attr 1={use_value} x"));
        AttributeList(operand(&asked).attributes.clone())
    };
    let facets: Vec<FacetRequest> = (0..50)
        .map(|place| FacetRequest::new(attributes(fields[place % 5].0), place / 5 * 3, 900, true))
        .collect();
    let asked = query(ALL);
    let mut search = Search::new(&catalogue.names, &asked);
    search.facets = &facets;
    let found = catalogue.database.search(search).await.expect("found");
    assert_eq!(found.facets.len(), 50);
    for (place, facet) in found.facets.iter().enumerate() {
        let all = counts[place % 5];
        assert_eq!(
            facet.terms.len(),
            all.saturating_sub(place / 5 * 3),
            "{place}"
        );
    }
}
