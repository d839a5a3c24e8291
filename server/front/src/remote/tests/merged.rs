//! Tests of databases with `merge`, in which records of one edition at several targets are one hit.

use z3950_asn1::oid::OPAC;
use z3950_marc::Field;

use super::*;

/// Creates a book of 1815 with a location; `notes` makes the record longer.
pub(super) fn book(docid: &str, title: &str, notes: usize) -> MarcRecord {
    let mut book = record(docid, title);
    let published = Field::data(b"260", "  ", [("b", "Murray"), ("c", "1815")]);
    let author = Field::data(b"100", "1 ", [("a", "Austen, Jane")]);
    let location = Field::data(b"852", "  ", [("b", docid.to_owned())]);
    book.fields.extend([author, published, location]);
    let note = || Field::data(b"500", "  ", [("a", "Note")]);
    book.fields.extend((0..notes).map(|_| note()));
    book
}

fn library(records: impl IntoIterator<Item = MarcRecord>) -> TestServerBuilder {
    TestServer::builder().database("cat", records)
}

fn merging(targets: impl IntoIterator<Item = String>) -> TestServer {
    front_with(targets, |options| options.merge = true)
}

/// Returns two libraries that both have *Shared Emma*. Each of them also has one book that the other does not have.
fn two_libraries() -> (TestServerBuilder, TestServerBuilder) {
    (
        library([book("a1", "Shared Emma", 0), book("a2", "Shared Sense", 0)]),
        library([book("b1", "Shared Abbey", 0), book("b2", "Shared EMMA.", 3)]),
    )
}

#[tokio::test]
async fn an_edition_at_two_targets_is_one_hit_with_all_holdings() {
    let (one, two) = two_libraries();
    let (one, two) = (one.start(), two.start());
    let front = merging([target(&one), target(&two)]);
    let (count, shown) = found(&front, "shared").await;
    assert_eq!(count, 3);
    assert_eq!(shown, ["Shared EMMA", "Shared Abbey", "Shared Sense"]);

    let connection = connected(&front, "union").await;
    let hits = connection.search(Query::title("emma")).await.expect("hits");
    assert_eq!((hits.count(), hits.is_estimate()), (1, false));
    let merged = hits.record(1).await.expect("a record");
    let names = [&one, &two].map(|server| format!("union@{}", target(server)));
    assert_eq!(merged.database(), Some(&*names[1]));
    let marc = merged.marc().expect("MARC");
    assert_eq!(marc.control_number(), Some(&b"b2"[..]));
    let further = marc.fields_by_tag("856").next().expect("the other source");
    assert_eq!(further.subfield("3"), Some(names[0].as_bytes()));
    assert_eq!(further.subfield("w"), Some(&b"a1"[..]));

    let form = z3950::RecordForm::new(Some(OPAC), None);
    let connection = connection.with_form(form);
    let hits = connection.search(Query::title("emma")).await.expect("hits");
    let record = hits.record(1).await.expect("a record");
    assert_eq!(record.holdings().len(), 2);
    let octets = record.octets();
    let text = String::from_utf8_lossy(&octets);
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
}

#[tokio::test]
async fn the_hits_of_each_target_stay_as_counted() {
    let (one, two) = two_libraries();
    let (one, two) = (one.start(), two.start());
    let front = merging([target(&one), target(&two)]);
    let connection = connected(&front, "union").await;
    let hits = connection.search(Query::title("shared")).await;
    let hits = hits.expect("hits");
    let report = hits.found().report().expect("a report");
    let by_target = report.0.first().and_then(|all| all.results_by_db.as_ref());
    let counts = by_target.into_iter().flatten().map(|one| one.count);
    assert_eq!(counts.collect::<Vec<_>>(), [Some(2), Some(2)]);
    // Records from the same target are not merged with each other.
    let twice = library([book("a1", "Shared Emma", 0), book("a2", "Shared Emma", 0)]).start();
    assert_eq!(found(&merging([target(&twice)]), "shared").await.0, 2);
}

#[tokio::test]
async fn records_after_the_first_follow_unchanged() {
    let books = |prefix: &'static str| {
        (1..=5).map(move |at| book(&format!("{prefix}{at}"), &format!("Shared {at}"), 0))
    };
    let (one, two) = (library(books("a")).start(), library(books("b")).start());
    let targets = [target(&one), target(&two)];
    let front = front_with(targets, |options| {
        options.merge = true;
        options.merge_records = 3;
    });
    let connection = connected(&front, "union").await;
    let hits = connection.search(Query::title("shared")).await;
    let hits = hits.expect("hits");
    assert_eq!((hits.count(), hits.is_estimate()), (7, true));
    let shown = found(&front, "shared").await.1;
    let expected = [1, 2, 3, 4, 4, 5, 5].map(|at| format!("Shared {at}"));
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn a_source_that_died_is_left_out() {
    // The first five records from each target come with its search response and are kept with the result set.
    let others = |prefix: &str| {
        let each = 1..=5;
        each.map(|at| book(&format!("{prefix}{at}"), &format!("Emma {prefix}{at}"), 0))
            .collect::<Vec<_>>()
    };
    let one = others("a")
        .into_iter()
        .chain([book("a6", "Shared Emma", 0)]);
    let two = others("b")
        .into_iter()
        .chain([book("b6", "Shared EMMA.", 3)]);
    let (one, two) = (library(one).start(), library(two).start());
    let front = front_with([target(&one), target(&two)], |options| {
        options.merge = true;
        // The cache is off, so records are not kept from one request to the next.
        options.cache_octets = 0;
    });
    let connection = connected(&front, "union").await;
    let hits = connection.search(Query::title("emma")).await.expect("hits");
    assert_eq!(hits.count(), 11);
    drop(two);
    let record = hits.record(11).await.expect("a record");
    assert_eq!(record.title().as_deref(), Some("Shared Emma"));
    drop(one);
    assert!(
        connection.search(Query::title("emma")).await.is_ok(),
        "fresh"
    );
    let again = connected(&front, "union").await;
    let hits = again.search(Query::title("emma")).await.expect("fresh");
    hits.record(11).await.expect_err("both are gone");
}
