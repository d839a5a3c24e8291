//! Tests of indexes in `z3950 open`, and of result sets that are named, sorted, saved and deleted.

use z3950_server::testing::{TestServer, record};
use z3950_tests::program::z3950_fed;

use super::demo;

#[test]
fn sets_are_named_sorted_saved_and_deleted() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("saved.mrc");
    let commands = format!(
        "find @attr 1=1032 pg1342\nfind @attr 1=1032 pg2600\nshow 1+1+1\nshow 1\nfind @or @set 1 @set 2\nsave {} all\nmakeurl 1\ndelete 1\ndelete 9\nshow 1+1+1\n",
        path.display()
    );
    let ran = demo("z39.50s://localhost/books", &commands, &[]);
    let first = ran.stdout.find("001 pg1342").expect("record of set 1");
    let second = ran.stdout.find("001 pg2600").expect("record of set 2");
    assert!(first < second, "{ran:?}");
    assert!(ran.stdout.contains("2 hits\n"), "{ran:?}");
    assert!(
        ran.stdout.contains("z39.50r://localhost/books?pg"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("\ndeleted\n"), "{ran:?}");
    assert!(
        ran.stdout.contains("  1: deleted\n")
            && ran
                .stdout
                .contains("  9: not deleted: no such result set\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("diagnostic 30"), "{ran:?}");
    let saved = std::fs::read(&path).expect("the file exists");
    assert_eq!(saved.iter().filter(|&&octet| octet == 0x1d).count(), 2);
}

#[test]
fn sets_are_sorted_and_indexes_scanned() {
    use z3950_tests::peer;
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let commands = "find 15\nsort 1=4 a\nsort title >s!\nscansize 3\nscan @attr 1=4 a\nscan a\nsetscan 1 @attr 1=4 a\nupdate insert id7 \"<a/>\"\nlast 2\n";
    let ran = z3950_fed(
        [
            "open",
            &format!("127.0.0.1:{}/Default", server.port),
            "--stop-on-error",
        ],
        commands,
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines.get(..9),
        Some(
            &[
                "15 hits",
                "sorted",
                "sorted",
                "*       3  war",
                "        2  peace",
                "*       3  war",
                "        2  peace",
                "*       3  war",
                "        2  peace",
            ][..]
        ),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("task: done"), "{ran:?}");
    assert!(
        ran.stdout.contains("sent extendedServicesRequest")
            && ran
                .stdout
                .contains("received extendedServicesResponse: done"),
        "{ran:?}"
    );
}

#[test]
fn the_hits_of_parts_of_a_query_are_shown() {
    let ran = demo(
        "z39.50s://localhost/books",
        "find @and @attr 1=4 pride @attr 1=4 prejudice\nfacets @attr 1=author @attr 3=2\nfacets\nfind @attr 1=4 war\nfacets none\nfacets\n",
        &["--stop-on-error"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("1 hit\nauthor:2\n"), "{ran:?}");
    for words in ["parts of the query: pride (", "no facets requested"] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
}

#[test]
fn audit_r_f_find_asks_again_for_what_its_answer_lacks() {
    for (rule, commands, expected) in [
        ("on search: surrogate 17", "ssub 5", "Emma"),
        ("on search: surrogate 238", "ssub 5", "Emma"),
        (
            "on search: surrogate 14",
            "ssub 5",
            "record 1: diagnostic 14",
        ),
        ("on search nth=1: fail 239", "ssub 5", "Emma"),
        (
            "on search nth=1: fail 239",
            "format usmarc",
            "diagnostic 239",
        ),
    ] {
        let server = TestServer::builder().database("cat", [record("id7", "Emma")]);
        let server = server.rule(rule).start();
        let target = format!("{}/cat", server.addr());
        let ran = z3950_fed(["open", &target], format!("{commands}\nfind ti:emma\n"));
        let all = format!("{}{}", ran.stdout, ran.stderr);
        let is_found = !expected.contains("239");
        assert_eq!(ran.stdout.contains("1 hit\n"), is_found, "{rule}: {all}");
        assert!(all.contains(expected), "{rule}, {commands}: {all}");
    }
}

#[test]
fn audit_r_f_additional_information_goes_with_every_sort() {
    use z3950_asn1::apdu::Apdu;
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven"), record("id8", "Eight")])
        .start();
    let commands = "set_otherinfo 0 1.2.840.10003.10.1000.81.3 192.0.2.1\n\
        find cql: dc.title=seven or dc.title=eight sortby dc.title\nsort title\n";
    let ran = z3950_fed(["open", &format!("{}/cat", server.addr())], commands);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let apdus = server.wait_for_end().into_iter();
    let informed = apdus.filter_map(|entry| match entry.apdu {
        Some(Apdu::SortRequest(request)) => Some(request.other_info.is_some()),
        _ => None,
    });
    assert_eq!(informed.collect::<Vec<_>>(), [true, true], "{ran:?}");
}
