//! Tests of `z3950 search` with years, masks and sort orders in queries.

use z3950_server::testing::{TestServer, record};
use z3950_tests::program::z3950;
use z3950_tests::surroundings::command;

use super::demo;

#[test]
fn sortby_of_cql_is_carried_out() {
    let search = |options: &[&str], query: &str| {
        let line = [
            "search",
            "localhost/books",
            "--format",
            "brief",
            "--count",
            "5",
        ];
        demo(&[&line[..], options, &[query]].concat())
    };
    let by_option = |key| search(&["--sort", key], "cql:title = war");
    let (ascending, descending) = (by_option("date"), by_option("date:desc"));
    assert_ne!(ascending.stdout, descending.stdout);
    for (query, options, expected) in [
        ("cql:title = war sortby date", &[][..], &ascending),
        (
            "cql:title = war sortby date/sort.descending",
            &[],
            &descending,
        ),
        (
            "cql:title = war sortby date",
            &["--sort", "date:desc"],
            &descending,
        ),
    ] {
        let ran = search(options, query);
        assert_eq!(ran.code, Some(0), "{query}: {ran:?}");
        assert_eq!(ran.stdout, expected.stdout, "{query}");
        assert!(!ran.stderr.contains("sortby"), "{ran:?}");
    }
    let ran = search(&[], "cql:title = war sortby dat");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("index \"dat\" is not known"), "{ran:?}");
}

#[test]
fn words_are_truncated_with_an_asterisk() {
    let count = |query: &str| demo(&["search", "localhost/books", "--count", "0", query]);
    for (words, pqf) in [
        ("ti:prid*", "@attr 5=1 @attr 1=4 prid"),
        ("ti:*ride", "@attr 5=2 @attr 1=4 ride"),
        ("ti:*rid*", "@attr 5=3 @attr 1=4 rid"),
    ] {
        let ran = count(words);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.stdout, count(pqf).stdout, "{words}");
    }
    assert_eq!(count("ti:\"prid*\"").code, Some(3));
}

#[test]
fn years_have_ranges() {
    let count = |query: &str| {
        let ran = demo(&["search", "localhost/books", "--count", "0", query]);
        let hits = ran.stdout.split(' ').next().unwrap_or_default();
        hits.parse::<u64>()
            .unwrap_or_else(|_| panic!("{query}: {ran:?}"))
    };
    let (all, between) = (count("year:1000-2100"), count("year:1850-1860"));
    for part in [between, count("year:-1849"), count("year:1861-")] {
        assert!((1..all).contains(&part), "{part} of {all}");
    }
    for query in [
        "ccl:year=1850-1860",
        "cql:year within \"1850 1860\"",
        "@and @attr 2=4 @attr 1=31 1850 @attr 2=2 @attr 1=31 1860",
    ] {
        assert_eq!(count(query), between, "{query}");
    }
}

#[test]
fn a_server_without_sort_gives_its_records_unsorted() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven"), record("id8", "Eight")])
        .rule("on init: options search present namedResultSets")
        .start();
    let target = format!("{}/cat", server.addr());
    let query = "cql:title=seven or title=eight sortby title";
    for arguments in [
        &["search", &target, query][..],
        &["search", &target, "--sort", "title", "ti:seven OR ti:eight"],
    ] {
        let ran = z3950(arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.stdout.matches("245 ").count(), 2, "{ran:?}");
        let words = "warning: ";
        let (_, after) = ran.stderr.split_once(words).expect("a warning");
        assert!(
            after.contains("does not offer sort: the records are in its own order"),
            "{ran:?}"
        );
    }
    let mut open = command(z3950_tests::program::path("z3950"));
    let script = format!("find {query}\nshow 2\n");
    let ran = z3950_tests::program::run(open.args(["open", &target]), &script);
    assert!(ran.stdout.starts_with("2 hits\n"), "{ran:?}");
    assert!(
        ran.stderr.contains("does not offer sort: the records"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("245 "), "{ran:?}");
}
