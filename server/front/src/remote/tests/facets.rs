//! Tests of facets that are summed over all targets, and of targets that do not support facets, refuse, or lie.

use z3950_asn1::apdu::Term;
use z3950_asn1::format::facets::{FacetField, FacetList};
use z3950_marc::Field;
use z3950_server::backend::{Facet, Hits, RecordId, ready};

use super::*;

/// Starts a catalogue of books by these authors.
fn by(prefix: &str, authors: &[&str]) -> TestServerBuilder {
    let books = (1..).zip(authors).map(|(at, author)| {
        let mut book = record(&format!("{prefix}{at}"), &format!("Shared {prefix}{at}"));
        let author = Field::data(b"100", "1 ", [("a", (*author).to_owned())]);
        book.fields.push(author);
        book
    });
    TestServer::builder().database("cat", books.collect::<Vec<_>>())
}

/// Searches; returns the authors of the records found with their counts, and the remarks on targets in the answer.
async fn authors(front: &TestServer, field: FacetField) -> (Vec<(String, i64)>, Vec<String>) {
    let connection = connected(front, "union").await;
    let connection = connection.with_facets(FacetList(vec![field]));
    let hits = connection.search(Query::title("shared")).await;
    let hits = hits.expect("hits");
    let facets = hits.found().facets().unwrap_or_default().0.into_iter();
    let terms = facets.flat_map(|field| field.terms.unwrap_or_default());
    let terms = terms.map(|one| match one.term {
        Term::General(octets) => (String::from_utf8_lossy(&octets).into_owned(), one.count),
        other => panic!("{other:?}"),
    });
    let information = hits.found().additional_search_info.as_ref();
    let told = information.and_then(OtherInformation::value::<DiagnosticFormat>);
    let units = told.into_iter().flat_map(|told| told.0);
    let words = units.filter_map(|unit| unit.message);
    let words = words.map(|text| text.to_string_lossy().into_owned());
    (terms.collect(), words.collect())
}

fn counts(all: &[(&str, i64)]) -> Vec<(String, i64)> {
    let all = all.iter();
    all.map(|(term, count)| ((*term).to_owned(), *count))
        .collect()
}

#[tokio::test]
async fn counts_are_summed_over_targets_of_both_protocols() {
    let one = by("a", &["Zola", "Austen", "Zola"]).start();
    let two = by("b", &["Zola", "Bronte"]).start();
    let none = holdings::library(records("c", 2), holdings::copy("North")).start();
    let targets = [
        target(&one),
        format!("http://{}/cat", two.addr()),
        target(&none),
    ];
    let front = front(targets.clone());
    let wanted = FacetField::request("author", 10);
    let (found, told) = authors(&front, wanted.clone()).await;
    assert_eq!(found, counts(&[("Zola", 3), ("Austen", 1), ("Bronte", 1)]));
    let lacking = format!(
        "union@{}: its records are not counted in facets",
        targets[2]
    );
    assert_eq!(told, std::slice::from_ref(&lacking));
    // Fields that a target has counted or refused are not requested from it again.
    let before = [&one, &none].map(searches);
    assert_eq!(authors(&front, wanted).await.0, found);
    assert_eq!([&one, &none].map(searches), before);
    assert_eq!(before, [2, 2]);
    let by_term = FacetField::of_use(1003, 2, 2, true);
    let (found, _) = authors(&front, by_term).await;
    assert_eq!(found, counts(&[("Bronte", 1), ("Zola", 3)]));
    assert_eq!(searches(&none), 2);
    let sru = "/union?query=shared&version=2.0&facetLimit=2:dc.creator&maximumRecords=0";
    let sru = hostile::http(&front, sru).await;
    for part in [">Zola<", ">3<", &lacking] {
        assert!(sru.contains(part), "{part}: {sru}");
    }
}

#[tokio::test]
async fn targets_without_facets_keep_their_hits() {
    let one = by("a", &["Zola"]).start();
    let refusing = by("b", &["Zola"]).rule("on search nth=2: fail 3").start();
    let silent = by("c", &["Zola"]).rule("on search nth=2: silence").start();
    let dying = by("d", &["Zola"]).rule("on search nth=2: cut 9").start();
    let targets = [&one, &refusing, &silent, &dying].map(target);
    let front = front_with(targets, |options| {
        options.target_time = TARGET_TIME;
        options.sessions = 1;
    });
    let wanted = FacetField::request("author", 10);
    let (found, told) = authors(&front, wanted).await;
    // A target whose session was lost is asked again.
    assert_eq!(found, counts(&[("Zola", 2)]));
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(self::found(&front, "shared").await.0, 4);
}

/// A catalogue of two records that reports arbitrary counts.
struct Liar(Vec<(Term, usize)>);

impl Backend for Liar {
    fn databases(&self) -> Vec<DatabaseInfo> {
        let backend = MemoryBackend::builder().describe("cat", "cat", "");
        backend.build().databases()
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        let mut found = Found::from([RecordId(0), RecordId(1)].into_iter().collect::<Hits>());
        let facets = search.facets.iter().map(|wanted| Facet {
            attributes: wanted.attributes.clone(),
            terms: self.0.clone(),
        });
        found.facets = facets.collect();
        ready(Ok(found))
    }
}

#[tokio::test]
async fn counts_that_cannot_be_true_are_cut() {
    let term = |text: &str| Term::General(text.as_bytes().to_vec().into());
    let mut lies = vec![
        (term("Zola"), 4_000_000_000),
        (term(&"x".repeat(1 << 20)), 1),
        (term("<script>alert(1)</script>"), 2),
        (term(""), 2),
    ];
    lies.extend((0..2000).map(|number| (term(&format!("t{number}")), 1)));
    let liar = TestServer::builder().backend(Arc::new(Liar(lies))).start();
    let one = by("a", &["Zola"]).start();
    let front = front([target(&liar), target(&one)]);
    let wanted = FacetField::request("author", 2);
    let (found, told) = authors(&front, wanted).await;
    assert_eq!(
        found,
        counts(&[("Zola", 3), ("<script>alert(1)</script>", 2)])
    );
    assert_eq!(told, [] as [&str; 0]);
}
