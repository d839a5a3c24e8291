//! Tests of scans of several targets whose terms differ in form and order, or that fail.

use z3950::service::scan::ScanOptions;
use z3950_asn1::apdu::{DiagRec, ScanStatus, Term};
use z3950_server::backend::{Scan, ScanTerm, Scanned, ready};

use super::*;

/// An index whose terms are listed in the order of the slice. A term is `war`, `war=War` with a display form, or `war:3` with a count.
struct ListedTerms(&'static [&'static str]);

fn folded(term: &ScanTerm) -> String {
    let Term::General(octets) = &term.term else {
        panic!("{term:?}");
    };
    String::from_utf8_lossy(octets.as_bytes()).to_lowercase()
}

impl Backend for ListedTerms {
    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        let terms = self.0.iter().map(|written| {
            let (written, count) = match written.split_once(':') {
                Some((written, count)) => (written, count.parse().ok()),
                None => (*written, None),
            };
            let (term, display) = match written.split_once('=') {
                Some((term, display)) => (term, Some(display.to_owned())),
                None => (written, None),
            };
            let mut one = ScanTerm::new(Term::General(term.as_bytes().into()));
            one.display = display;
            one.records = count;
            one
        });
        let terms: Vec<ScanTerm> = terms.collect();
        let start = folded(&ScanTerm::new(scan.start.term.clone()));
        // If no term has a space, the index is a list of words.
        let is_of_words = self.0.iter().all(|term| !term.contains(' '));
        let start = match start.split_once(' ') {
            Some((word, _)) if is_of_words => word.to_owned(),
            _ => start,
        };
        let place = terms.iter().position(|term| folded(term) >= start);
        let (before, after) = terms.split_at(place.unwrap_or(terms.len()));
        let mut scanned = Scanned::default();
        scanned.before = before[before.len().saturating_sub(scan.before)..].to_vec();
        scanned.after = after[..scan.after.min(after.len())].to_vec();
        ready(Ok(scanned))
    }
}

fn listed(terms: &'static [&'static str]) -> TestServerBuilder {
    TestServer::builder().backend(Arc::new(ListedTerms(terms)))
}

/// Returns the answer to a scan: the terms, the position of the start, and the failures.
async fn scanned(
    front: &TestServer,
    start: &str,
    number: u64,
    position: u64,
    step: u64,
) -> (String, Option<i64>, ScanStatus, Vec<String>) {
    let connection = connected(front, "union").await;
    let mut options = ScanOptions::default();
    options.number_of_terms = number;
    options.preferred_position = Some(position);
    options.step_size = Some(step);
    let start = Query::attributes([(1, 4)], start);
    let set = connection.scan_with(start, options).await.expect("terms");
    let shown = set.terms().iter().map(|term| {
        let display = term.display.as_ref();
        let display = display.map_or_else(String::new, |display| format!("={display}"));
        let count = term.count;
        let count = count.map_or_else(String::new, |count| format!(":{count}"));
        format!("{}{display}{count}", term.term)
    });
    let result = set.result();
    let failures = result.diagnostics.0.iter().map(|one| match one {
        DiagRec::DefaultFormat(one) => {
            format!("{} {}", one.condition, one.addinfo.to_string_lossy())
        }
        DiagRec::ExternallyDefined(_) => panic!("{one:?}"),
    });
    (
        shown.collect::<Vec<_>>().join(" "),
        result.position_of_term,
        result.status,
        failures.collect(),
    )
}

#[tokio::test]
async fn the_terms_of_all_targets_are_one_list() {
    const A: &[&str] = &["art:1", "peace:2", "war:3", "world:1"];
    const B: &[&str] = &["emma:4", "war:5", "zoo:1"];
    for (lists, (start, number, position, step), terms, place) in [
        (
            &[A, B][..],
            ("", 9, 1, 0),
            "art:1 emma:4 peace:2 war:8 world:1 zoo:1",
            1,
        ),
        (&[A, B], ("war", 2, 1, 0), "war:8 world:1", 1),
        (&[A, B], ("war", 2, 2, 0), "peace:2 war:8", 2),
        (&[A, B], ("war", 4, 3, 0), "emma:4 peace:2 war:8 world:1", 3),
        (&[A, B], ("vienna", 2, 2, 0), "peace:2 war:8", 2),
        (&[A, B], ("war", 9, 9, 0), "art:1 emma:4 peace:2 war:8", 4),
        // These lists end before the starting term, or begin after it.
        (&[A, B], ("war", 2, 0, 0), "world:1 zoo:1", 0),
        (&[A, B], ("war", 2, 3, 0), "emma:4 peace:2", 3),
        (&[A, B], ("zz", 2, 1, 0), "", 1),
        (&[A, B], ("zz", 2, 2, 0), "zoo:1", 2),
        // These lists have every second term, on both sides of the starting term.
        (&[A, B], ("", 3, 1, 1), "art:1 peace:2 world:1", 1),
        (&[A, B], ("war", 3, 2, 1), "emma:4 war:8 zoo:1", 2),
        // Different forms of a term are merged into one term, which has the first form and the first display form.
        (
            &[&["War:3", "World"], &["war=WAR:2", "world:1"]],
            ("war", 5, 1, 0),
            "War=WAR:5 World",
            1,
        ),
        (
            &[&["misérables:1"], &["Miserables:2", "MISERABLES:3"]],
            ("m", 5, 1, 0),
            "misérables:6",
            1,
        ),
        // A target may order its terms in its own way without disturbing the merged list.
        (
            &[
                &["Bach:1", "Zoo:1", "apple:1", "étude:1"],
                &["apple:1", "cat:1", "zoo:1"],
            ],
            ("", 9, 1, 0),
            "apple:2 Bach:1 cat:1 étude:1 Zoo:2",
            1,
        ),
        // A target may have other forms of a term after the last term that it sent, so the count of `c` is unknown.
        (
            &[&["a:1", "A:1", "b:1", "c:1"], &["a:1", "b:1", "c:1"]],
            ("a", 3, 1, 0),
            "a:3 b:2 c",
            1,
        ),
        // The first target lists individual words; the second lists whole entries.
        (
            &[&["peace:1", "war:2"], &["war and peace:1"]],
            ("War and Peace", 5, 1, 0),
            "war:2 war and peace:1",
            1,
        ),
        (&[&[], &["a:1"]], ("a", 2, 1, 0), "a:1", 1),
        (
            &[&["a:9223372036854775807"], &["a:9223372036854775807"]],
            ("a", 2, 1, 0),
            "a:9223372036854775807",
            1,
        ),
    ] {
        let servers: Vec<_> = lists.iter().map(|list| listed(list).start()).collect();
        let front = front(servers.iter().map(target));
        let (found, at, status, failures) = scanned(&front, start, number, position, step).await;
        let words = format!("{lists:?} {start} {number} {position} {step}");
        assert_eq!((&*found, at), (terms, Some(place)), "{words}");
        let is_full = found.split(' ').count() as u64 == number;
        assert_eq!(status == ScanStatus::SUCCESS, is_full, "{words}");
        assert_eq!(failures, [] as [String; 0], "{words}");
    }
}

#[tokio::test]
async fn a_target_that_does_not_scan_costs_its_own_terms() {
    let good = listed(&["a:1", "b:1"]).start();
    for (rule, words) in [
        ("on scan: silence", "no answer"),
        ("on scan: fail 232 1=4", "232 union@TARGET: 1=4"),
        ("on scan: garbage", "109 union@TARGET: "),
        ("on scan: cut 10", "109 union@TARGET: "),
        ("on init: reject", "109 union@TARGET: "),
        ("on init: silence", "109 union@TARGET: "),
        ("on init: options search present", "1025 union@TARGET: "),
    ] {
        let bad = listed(&["a:1"]).rule(rule).start();
        let front = front_with([target(&bad), target(&good)], |options| {
            options.target_time = TARGET_TIME;
        });
        let (found, at, _, failures) = scanned(&front, "a", 3, 1, 0).await;
        assert_eq!((&*found, at), ("a:1 b:1", Some(1)), "{rule}");
        let words = words.replace("TARGET", &target(&bad));
        assert_eq!(failures.len(), 1, "{rule}: {failures:?}");
        assert!(failures[0].contains(&words), "{rule}: {failures:?}");
        let sru = hostile::http(&front, "/union?operation=scan&version=1.2&scanClause=a").await;
        for part in [
            "<zs:value>b</zs:value>",
            &*format!("union@{}", target(&bad)),
        ] {
            assert!(sru.contains(part), "{rule} {part}: {sru}");
        }
    }
}

#[tokio::test]
async fn searches_that_no_target_can_answer_are_refused() {
    let one = listed(&["a:1"]).rule("on scan: fail 232 1=4").start();
    let union = front([target(&one), target(&one)]);
    let scan = |database: String, number, step| {
        let union = &union;
        async move {
            let connection = connected(union, &database).await;
            let mut options = ScanOptions::default();
            options.number_of_terms = number;
            options.step_size = Some(step);
            let start = Query::title("a");
            let refused = connection
                .scan_with(start, options)
                .await
                .expect_err("no terms");
            match &refused.diagnostics()[0] {
                DiagRec::DefaultFormat(one) => one.condition,
                DiagRec::ExternallyDefined(_) => panic!("{refused:?}"),
            }
        }
    };
    assert_eq!(scan("union".to_owned(), 5, 0).await, 232);
    assert_eq!(scan("union@elsewhere".to_owned(), 5, 0).await, 235);
    // With a step of 1, one term is skipped before each of the last 999 terms. With a step of 2, two terms are skipped before
    // each, so the scan needs too many terms.
    assert_eq!(scan("union".to_owned(), 1000, 1).await, 232);
    assert_eq!(scan("union".to_owned(), 1000, 2).await, 206);
    let connection = connected(&union, "union").await;
    let hits = connection.search(Query::title("a")).await;
    assert!(hits.is_err(), "the test server has nothing to search");
}

#[tokio::test]
async fn one_target_is_scanned_alone_and_over_sru() {
    let (one, two) = (catalogue("a", 1).start(), catalogue("b", 2).start());
    let front = front([target(&one), format!("http://{}/cat", two.addr())]);
    assert_eq!(
        scanned(&front, "", 9, 1, 0).await.0,
        "a1:1 b1:1 b2:1 shared:3"
    );
    let alone = format!("union%40{}", target(&one).replace('/', "%2F"));
    let sru = hostile::http(
        &front,
        &format!("/{alone}?operation=scan&version=1.2&scanClause=title%3D%22%22"),
    )
    .await;
    assert_eq!(sru.matches("<zs:value>").count(), 2, "{sru}");
    let explained = hostile::http(&front, "/union?operation=explain").await;
    for service in ["scan=\"true\"", "sort=\"true\""] {
        assert!(explained.contains(service), "{service}: {explained}");
    }
}

#[tokio::test]
async fn a_result_set_is_not_scanned() {
    let one = catalogue("a", 1).start();
    let front = front([target(&one)]);
    let connection = connected(&front, "union").await;
    let hits = connection
        .search(Query::title("shared"))
        .await
        .expect("hits");
    assert_eq!(hits.count(), 1);
    let options = ScanOptions::default().in_result_set("1");
    let refused = connection.scan_with(Query::title("a"), options).await;
    let words = refused.expect_err("refused").to_string();
    assert!(words.contains("228"), "{words}");
}

/// Scan and Sort are in the description of a database unless one of its targets has refused them.
#[tokio::test]
async fn audit_explain_offers_the_services_that_all_targets_grant() {
    for (granted, expected) in [
        ("search present scan sort namedResultSets", (true, true)),
        ("search present scan namedResultSets", (true, false)),
        ("search present sort namedResultSets", (false, true)),
        ("search present namedResultSets", (false, false)),
    ] {
        let one = catalogue("a", 1).start();
        let rule = format!("on init: options {granted}");
        let two = catalogue("b", 1).rule(&rule).start();
        let options = RemoteOptions::new("union", [target(&one), target(&two)]);
        let database = RemoteDatabase::new(&Client::new(), options).expect("targets");
        let offered = || {
            let database = database.databases().swap_remove(0);
            (database.scan, database.sort)
        };
        assert_eq!(
            offered(),
            (true, true),
            "{granted}: before the first search"
        );
        let names = ["union".into()];
        let query = Query::title("shared");
        let search = Search::new(&names, query.as_rpn());
        database.search(search).await.expect("hits");
        assert_eq!(offered(), expected, "{granted}");
    }
}
