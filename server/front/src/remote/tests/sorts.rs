//! Tests of sorted result sets of several targets, some of which refuse to sort or claim an order that their records do not have.

use z3950::{ResultSet, SortKey};
use z3950_asn1::apdu::DiagRec;
use z3950_marc::Field;
use z3950_server::backend::{HitList, RecordId, Sort, ready};

use super::*;

fn titled(titles: &[&str]) -> TestServerBuilder {
    TestServer::builder().database("cat", titles_of(titles))
}

fn titles_of(titles: &[&str]) -> Vec<MarcRecord> {
    let numbered = titles.iter().enumerate();
    numbered
        .map(|(at, title)| record(&format!("{at:03}"), title))
        .collect()
}

async fn search(front: &TestServer, database: &str) -> ResultSet {
    let connection = connected(front, database).await;
    let all = Query::attributes([(1, 1016)], "shared");
    connection.search(all).await.expect("hits")
}

fn keys(text: &str) -> Vec<SortKey> {
    text.split(' ').map(|key| key.parse().expect(key)).collect()
}

/// Returns the titles from a position onwards; for a record that is a diagnostic, its condition.
async fn titles(hits: &ResultSet, from: u64) -> String {
    let mut shown = Vec::new();
    let mut records = hits.range(from..);
    while let Some(record) = records.next().await {
        shown.push(match record {
            Ok(record) => {
                let title = record.title().unwrap_or_default();
                title.replace("shared ", "")
            }
            Err(error) => format!("[{}]", conditions(&error)),
        });
    }
    shown.join(" ")
}

fn conditions(error: &Error) -> String {
    let conditions = error.diagnostics().iter().map(|one| match one {
        DiagRec::DefaultFormat(one) => {
            format!("{} {}", one.condition, one.addinfo.to_string_lossy())
        }
        DiagRec::ExternallyDefined(_) => panic!("{error:?}"),
    });
    conditions.collect::<Vec<_>>().join(", ")
}

fn sorts(server: &TestServer) -> usize {
    let names = server.names();
    names.iter().filter(|name| **name == "sortRequest").count()
}

#[tokio::test]
async fn sets_of_all_targets_are_sorted() {
    let one = titled(&["shared pear", "shared apple", "shared fig"]).start();
    let two = titled(&["shared Quince", "shared banana"]).start();
    let front = front([target(&one), format!("http://{}/cat", two.addr())]);
    for (by, expected) in [
        ("title", "apple banana fig pear Quince"),
        ("title:desc", "Quince pear fig banana apple"),
        // None of the records has a date, so the titles decide.
        ("date title", "apple banana fig pear Quince"),
    ] {
        let mut hits = search(&front, "union").await;
        hits.sort(&keys(by)).await.expect(by);
        assert_eq!(titles(&hits, 1).await, expected, "{by}");
        assert_eq!(
            titles(&hits, 4).await,
            expected.splitn(4, ' ').nth(3).expect("five"),
            "{by}"
        );
        let record = hits.record(2).await.expect("a record");
        let from = [&one, &two].map(|server| server.addr().to_string());
        assert!(
            from.iter()
                .any(|name| record.database().is_some_and(|of| of.contains(name)))
        );
    }
    // A sorted set can be sorted again, and a query can refer to it.
    let mut hits = search(&front, "union").await;
    for by in ["title", "title:desc"] {
        hits.sort(&keys(by)).await.expect(by);
    }
    assert_eq!(titles(&hits, 5).await, "apple");
    let sru = |query: &str| {
        let path = format!("/union?query={query}&recordSchema=dc");
        let front = &front;
        async move {
            let answer = hostile::http(front, &path).await;
            let titles = answer.split("<dc:title>shared ").skip(1);
            let titles = titles.filter_map(|rest| rest.split('<').next());
            titles.map(str::to_owned).collect::<Vec<_>>().join(" ")
        }
    };
    assert_eq!(
        sru("shared%20sortby%20title").await,
        "apple banana fig pear Quince"
    );
    assert_eq!(
        sru("shared&version=1.1&sortKeys=title,,0").await,
        "Quince pear fig banana apple"
    );
}

#[tokio::test]
async fn one_target_sorts_alone() {
    let one = titled(&["shared pear", "shared apple"]).start();
    let none = titled(&["other"]).rule("on sort: fail 207 x").start();
    let front = front([target(&one), target(&none)]);
    let mut hits = search(&front, "union").await;
    hits.sort(&keys("title")).await.expect("sorted");
    assert_eq!(titles(&hits, 1).await, "apple pear");
    // The front server does not know this sort key, so it passes the key on to the target, which refuses it.
    let own = z3950::service::sort::key_by_field("cat", z3950_asn1::apdu::SortRelation(0));
    let alone = format!("union@{}", target(&one));
    let mut hits = search(&front, &alone).await;
    let refused = hits.sort(&[own.into()]).await.expect_err("no such key");
    assert!(conditions(&refused).contains("207 union@"), "{refused}");
    assert_eq!((sorts(&one), sorts(&none)), (2, 0));
}

#[tokio::test]
async fn a_target_that_cannot_sort_is_named() {
    let good = titled(&["shared pear", "shared apple"]).start();
    for (rule, words) in [
        ("on sort: fail 207 title", "207 union@TARGET: title"),
        ("on init: options search present", "1025 union@TARGET: "),
        ("on sort: silence", "109 union@TARGET: no answer"),
        ("on sort: garbage", "109 union@TARGET: "),
        (
            "on search nth-of-all=2: count 3",
            "14 union@TARGET: the result has changed",
        ),
    ] {
        let bad = titled(&["shared fig", "shared cherry"]).rule(rule).start();
        let front = front_with([target(&bad), target(&good)], |options| {
            options.target_time = TARGET_TIME;
        });
        let mut hits = search(&front, "union").await;
        let refused = hits.sort(&keys("title")).await.expect_err(rule);
        let words = words.replace("TARGET", &target(&bad));
        assert!(conditions(&refused).contains(&words), "{rule}: {refused}");
        // A refused sort leaves the set unchanged.
        assert_eq!(titles(&hits, 1).await, "fig pear cherry apple", "{rule}");
        // A single record is always in order, so its target need not sort.
        let bad = titled(&["shared fig"])
            .rule("on sort: fail 207 title")
            .start();
        let front = front_with([target(&bad), target(&good)], |_| {});
        let mut hits = search(&front, "union").await;
        hits.sort(&keys("title")).await.expect(rule);
        assert_eq!(titles(&hits, 1).await, "apple fig pear");
    }
}

/// A catalogue that claims to sort but does not change the order.
struct Unsorting(MemoryBackend);

impl Backend for Unsorting {
    fn databases(&self) -> Vec<DatabaseInfo> {
        self.0.databases()
    }
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        self.0.search(search)
    }
    fn has_syntax(&self, syntax: &Oid) -> bool {
        self.0.has_syntax(syntax)
    }
    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        self.0.record(wanted)
    }
    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        ready(Ok(sort.inputs[0].clone()))
    }
}

fn unsorting(titles: &[&str]) -> TestServerBuilder {
    let backend = MemoryBackend::builder().add_records("cat", titles_of(titles));
    TestServer::builder().backend(Arc::new(Unsorting(backend.expect("short records").build())))
}

#[tokio::test]
async fn records_that_do_not_come_in_order_are_not_taken_for_sorted() {
    let good = titled(&["shared pear", "shared apple"]).start();
    let words = ["m", "c", "k", "a", "l", "f", "b", "h", "d", "j", "e", "g"];
    let words = words.map(|word| format!("shared {word}"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let bad = unsorting(&words).start();
    let union = front([target(&good), target(&bad)]);
    let mut hits = search(&union, "union").await;
    let refused = hits.sort(&keys("title")).await.expect_err("no order");
    let expected = format!(
        "207 union@{}: the records do not come in this order",
        target(&bad)
    );
    assert_eq!(conditions(&refused), expected);
    // One misplaced record ("zoo") is tolerated; a target may, for example, file a title under its initial article.
    let other = unsorting(&["shared cherry", "shared zoo", "shared date", "shared elder"]).start();
    let union = front_with([target(&good), target(&other)], |_| {});
    let mut hits = search(&union, "union").await;
    hits.sort(&keys("title")).await.expect("sorted");
    assert_eq!(titles(&hits, 1).await, "apple cherry zoo date elder pear");
}

#[tokio::test]
async fn the_first_records_are_in_order_and_others_refused() {
    let numbered = |prefix: &str| -> Vec<String> {
        { 1..=30 }
            .map(|at| format!("shared {at:02}{prefix}"))
            .collect()
    };
    let (a, b) = (numbered("a"), numbered("b"));
    let [a, b] = [&a, &b].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
    let (one, two) = (titled(&a).start(), titled(&b).start());
    let union = front_with([target(&one), target(&two)], |options| {
        options.sorted_records = 50
    });
    let mut hits = search(&union, "union").await;
    hits.sort(&keys("title")).await.expect("sorted");
    assert_eq!(hits.count(), 60);
    // Records far into the list can be read before the first records.
    assert_eq!(
        titles(&hits, 49).await.split(" [").collect::<Vec<_>>()[..2],
        ["25a 25b", "230 the first 50 records are put in order]"]
    );
    let first = { 1..=25 }.flat_map(|at| ["a", "b"].map(|of| format!("{at:02}{of}")));
    let first: Vec<String> = first.collect();
    let found = titles(&hits, 1).await;
    assert!(
        found.starts_with(&format!("{} [230", first.join(" "))),
        "{found}"
    );
    assert_eq!(found.matches("[230").count(), 10);
}

#[tokio::test]
async fn a_target_that_dies_later_comes_last() {
    let numbered = |prefix: &str| -> Vec<String> {
        { 1..=60 }
            .map(|at| format!("shared {at:02}{prefix}"))
            .collect()
    };
    let (a, b) = (numbered("a"), numbered("b"));
    let [a, b] = [&a, &b].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
    let (one, two) = (titled(&a).start(), titled(&b).start());
    let front = front([target(&one), target(&two)]);
    let mut hits = search(&front, "union").await;
    hits.sort(&keys("title")).await.expect("sorted");
    drop(two);
    let found = titles(&hits, 1).await;
    let found: Vec<&str> = found.split(" [").collect();
    // Twenty records from each target were read with the sort, before one target was shut down.
    let order = { 1..=60 }.flat_map(|at| {
        let both = if at <= 20 { &["a", "b"][..] } else { &["a"] };
        both.iter().map(move |of| format!("{at:02}{of}"))
    });
    assert_eq!(found[0], order.collect::<Vec<_>>().join(" "));
    assert_eq!(found.len(), 41);
    assert!(found[1].starts_with("109 "), "{found:?}");
}

#[tokio::test]
async fn a_set_that_the_target_lost_is_sorted_again() {
    // The target loses its set before or after the records for the sort are read.
    for rule in ["on present nth=1: fail 27", "on present nth=2: fail 27"] {
        let one = titled(&["shared pear", "shared apple"]).rule(rule).start();
        let two = titled(&["shared fig", "shared cherry"]).start();
        for (targets, expected) in [
            (vec![target(&one)], "apple pear"),
            (vec![target(&one), target(&two)], "apple cherry fig pear"),
        ] {
            let front = front_with(targets, |options| options.cache_octets = 0);
            let mut hits = search(&front, "union").await;
            hits.sort(&keys("title")).await.expect("sorted");
            assert_eq!(titles(&hits, 1).await, expected, "{rule}");
        }
        assert!(sorts(&one) >= 3, "{rule}: {:?}", one.names());
    }
}

#[tokio::test]
async fn sorted_records_of_one_edition_are_one_hit() {
    let library = |titles: &[&str]| {
        let mut books = titles_of(titles);
        for book in &mut books {
            let author = Field::data(b"100", "1 ", [("a", "Austen, Jane")]);
            let published = Field::data(b"260", "  ", [("b", "Murray"), ("c", "1815")]);
            book.fields.extend([author, published]);
        }
        TestServer::builder().database("cat", books)
    };
    let one = library(&["shared pear", "shared apple"]).start();
    let two = library(&["shared fig", "shared pear", "shared quince"]).start();
    for (by, merge_records, expected) in [
        ("title:desc", 100, "quince pear fig apple"),
        ("title", 100, "apple fig pear quince"),
        // Only the first record from each target is merged.
        ("title", 1, "apple fig pear pear quince"),
    ] {
        let front = front_with([target(&one), target(&two)], |options| {
            options.merge = true;
            options.merge_records = merge_records;
        });
        let mut hits = search(&front, "union").await;
        hits.sort(&keys(by)).await.expect(by);
        assert_eq!(titles(&hits, 1).await, expected, "{by} {merge_records}");
    }
}

#[tokio::test]
async fn several_sets_become_one() {
    let one = titled(&["shared pear", "shared apple", "shared fig"]).start();
    let two = titled(&["shared quince", "shared banana"]).start();
    let database = RemoteDatabase::new(
        &Client::new(),
        RemoteOptions::new("union", [target(&one), target(&two)]),
    );
    let database = database.expect("targets");
    let found = |pqf: &'static str| {
        let database = &database;
        async move {
            let query = Query::pqf(pqf).expect(pqf).into();
            let databases = ["union".into()];
            let found = database.search(Search::new(&databases, &query)).await;
            found.expect(pqf).hits
        }
    };
    let inputs = [
        found("@or @attr 1=4 pear @attr 1=4 banana").await,
        found("@or @attr 1=4 pear @attr 1=4 apple").await,
        found("nothing").await,
    ];
    let key = keys("title")[0].as_spec().clone();
    let keys = [key];
    let database = &database;
    let keys = &keys;
    let sorted = async |inputs: &[Hits]| database.sorted(Sort::new(inputs, keys)).await;
    assert_eq!(sorted(&inputs).await.expect("sorted").len(), 3);
    assert_eq!(sorted(&inputs[2..]).await.expect("sorted").len(), 0);
    /// A list of hits that belongs to another database.
    struct Foreign;
    impl HitList for Foreign {
        fn len(&self) -> usize {
            1
        }
        fn ids(&self, _: std::ops::Range<usize>) -> Vec<RecordId> {
            Vec::new()
        }
    }
    let foreign = sorted(&[Hits::new(Foreign)]).await.expect_err("foreign");
    assert_eq!(foreign.condition, 30);
}
