//! Tests of `z3950 explain` over Z39.50 (Z39.50-2003 §3.2.10), and of the lists of databases.

use serde_json::Value;
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{Ran, z3950, z3950_fed};

fn demo(arguments: &[&str]) -> Ran {
    z3950(["--demo", "explain"].iter().chain(arguments))
}

#[test]
fn r_f4_explain_reads_the_explain_database() {
    let ran = demo(&["localhost/books"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    for line in [
        "title: Demo catalogue: books",
        "protocol: Z39.50 3",
        "records: 281",
        "index title 1=4: Title (search)",
        "index date 1=31: Date of publication (search)",
        "element sets: F, B, marcxml, dc, mods",
    ] {
        assert!(
            ran.stdout.lines().any(|one| one == line),
            "{line}: {}",
            ran.stdout
        );
    }
    assert!(
        ran.stdout.contains("record syntaxes: usmarc, "),
        "{}",
        ran.stdout
    );
    let ran = demo(&["localhost/books", "--json"]);
    let object: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(object["outcome"], "ok");
    assert_eq!(object["description"]["protocol"], "Z39.50");
    assert_eq!(object["description"]["records"], 281);
    let ran = demo(&["localhost/books", "--xml"]);
    assert!(
        ran.stdout.contains("<explain") && ran.stdout.contains("Demo catalogue"),
        "{ran:?}"
    );
    let ran = demo(&["localhost/nosuch"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("does not describe the database nosuch"),
        "{ran:?}"
    );
    let ran = z3950_fed(["--demo", "open", "localhost/books"], "explain\n");
    assert!(
        ran.stdout.contains("index title 1=4: Title (search)"),
        "{ran:?}"
    );
}

#[test]
fn r_f4_a_host_alone_lists_its_databases() {
    let ran = demo(&["localhost"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert!(lines[0].starts_with("program: z3950d "), "{ran:?}");
    assert_eq!(
        lines[1],
        "database books: Demo catalogue: books (281 records)"
    );
    assert!(lines[2].starts_with("database serials: "), "{ran:?}");
    let ran = demo(&["localhost", "--json"]);
    let object: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(object["description"]["databases"][0]["name"], "books");
    assert_eq!(object["description"]["databases"][0]["records"], 281);
    let ran = demo(&["http://localhost/"]);
    let databases: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("database "))
        .collect();
    assert_eq!(
        databases,
        [
            "database http://localhost/books",
            "database http://localhost/serials"
        ],
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("index "), "{ran:?}");
}

#[test]
fn r_f4_a_server_without_explain_is_distinguished_from_one_with() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .rule("on search: fail 235")
        .start();
    for target in [
        format!("{}", server.addr()),
        format!("{}/cat", server.addr()),
    ] {
        let ran = z3950(["explain", &target]);
        assert!(
            ran.stderr.contains(
                "does not offer descriptions of databases (it has no database IR-Explain-1)"
            ),
            "{ran:?}"
        );
        assert_ne!(ran.code, Some(0), "{ran:?}");
    }
}
