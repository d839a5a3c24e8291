//! Judges real servers. `tests/PEERS.md` lists the rules that each of them violates.

use z3950_tests::peer;
use z3950_tests::program::z3950;

use super::Findings;

/// Asserts that a real server violates exactly these rules. The violations were verified by hand; see `tests/PEERS.md`.
fn assert_violations(server: Option<peer::Server>, wanted: &[&str]) {
    assert_violations_of("", server, wanted);
}

/// Asserts that a real server violates exactly these rules over SRU.
fn assert_violations_of_sru(server: Option<peer::Server>, wanted: &[&str]) {
    assert_violations_of("http://", server, wanted);
}

fn assert_violations_of(scheme: &str, server: Option<peer::Server>, wanted: &[&str]) {
    let Some(server) = server else {
        return;
    };
    let target = format!("{scheme}127.0.0.1:{}/Default", server.port);
    let ran = z3950(["probe", "--conformance", "--json", &target]);
    let findings = Findings::of(&ran);
    assert_eq!(findings.violations(), wanted, "{ran:?}");
    assert_eq!(ran.code, Some(8));
}

#[test]
fn yaz_ztest_is_judged() {
    assert_violations(
        peer::yaz_ztest(),
        &[
            "init.unknown-element",
            "search.zero-hits",
            "query.result-set.alone",
            "present.ranges",
            "sort.unknown-set",
            "delete.list",
            "delete.list.several",
            "delete.list.unknown",
            "delete.all",
            "delete.then-search",
            "extended.unknown-type",
            "extended.delete.unknown",
            "extended.modify.unknown",
        ],
    );
}

#[test]
fn zebrasrv_is_judged() {
    assert_violations(
        peer::zebrasrv(&catalogue()),
        &[
            "init.unknown-element",
            "set.replace.off",
            "present.ranges",
            "extended.unknown-type",
            "extended.delete.unknown",
            "extended.modify.unknown",
        ],
    );
}

#[test]
fn simple_server_is_judged() {
    assert_violations(
        peer::simple_server(&catalogue()),
        &[
            "init.unknown-element",
            "set.replace.off",
            "present.across-end",
            "present.ranges",
        ],
    );
}

#[test]
fn zebrasrv_is_judged_over_sru() {
    assert_violations_of_sru(
        peer::zebra_sru(&catalogue()),
        &[
            "failure.order.1-1",
            "failure.order.1-2",
            "packing.unknown.1-1",
            "packing.unknown.1-2",
            "packing.unknown.2-0",
            "failure.count.1-1",
            "failure.count.1-2",
            "query.syntax.quote",
        ],
    );
}

/// Returns records that have a word in common.
fn catalogue() -> Vec<bytes::Bytes> {
    let record = |number: usize| {
        let text = format!(
            "=LDR  00000nam a2200000 a 4500\n=001  j{number}\n=008  030101s2003    xx            000 0 eng d\n\
             =245  10$aHistory of water {number}\n=650  \\0$aWater\n"
        );
        let record = z3950_marc::mrk::parse_all(&text)
            .expect("a record")
            .remove(0);
        bytes::Bytes::from(z3950_marc::iso2709::encode(&record).expect("fits"))
    };
    (1..=5).map(record).collect()
}
