//! Runs the examples of the libraries, and compares their output with that documented.

use std::path::Path;

use z3950_server::testing::TestServer;
use z3950_tests::program;
use z3950_tests::surroundings::command;

#[test]
fn examples_run() {
    let folder = program::examples();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let server = TestServer::demo();
    let catalogue = format!("{}/books", server.addr());
    for (library, name, said) in [
        (
            "asn1/marc",
            "edit_record",
            "=100  1\\$aAusten, Jane,$d1775-1817.$eécrivaine\n=245  10$aEmma : a novel /",
        ),
        ("asn1/marc", "build_record", "octets: Emma & co. $a1"),
        (
            "asn1/marc",
            "convert_file",
            "=245  10$aEmma /$cJane Austen.",
        ),
        (
            "asn1/marc",
            "repair_records",
            "10\u{1f}aGrün /\u{1f}cAnna Ott.",
        ),
        ("asn1/marc", "crosswalk", "<dc:title>Emma</dc:title>"),
        ("client", "first_search", "War and peace"),
        ("client", "retrieve_url", "Pride and prejudice"),
        ("client", "stream_large_set", "236 of 236 records written"),
        ("client", "stream", "5. "),
        ("client", "blocking", "1 found by ISBN"),
        ("client", "two_runtimes", "emma: "),
        ("client", "find_best", "pg2600 (127.0.0.1"),
        ("client", "many_lookups", "local:pg11: Alice"),
        ("client", "login", "1 found"),
        ("client", "test_against_server", "2 of 3 records came"),
        ("server", "serve_files", "1 found"),
        ("server", "first_test", "searchRequest"),
        ("server", "misbehave", "no answer to Search in time"),
        ("server", "replay", "same answer"),
        (
            "server",
            "own_backend",
            "2 found; the second is Some(\"Persuasion\")",
        ),
        (
            "server",
            "sqlite",
            "2 found; the last is Some(\"Persuasion\")",
        ),
        (
            "server",
            "http",
            "2 found; the last is Some(\"Persuasion\")",
        ),
    ] {
        let text = std::fs::read_to_string(root.join(format!("{library}/examples/{name}.rs")));
        let lines = text.expect(name).lines().count();
        let most = match name {
            "sqlite" | "http" => 180,
            "find_best" => 25,
            _ => 50,
        };
        assert!(lines <= most, "{name} has {lines} lines");
        let mut example = command(folder.join(name));
        if name == "find_best" {
            example.args([&catalogue, &catalogue]);
        }
        let ran = program::run(&mut example, "");
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
        assert!(ran.stdout.contains(said), "{name}: {}", ran.stdout);
    }
}

/// The code on the page is the same as in the example, word for word.
#[test]
fn audit_r_l10_the_page_on_own_data_shows_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect(path);
    let (page, example) = (
        read("server/docs/own-data.md"),
        read("server/examples/sqlite.rs"),
    );
    let blocks: Vec<&str> = page.split("```rust,no_run\n").skip(1).collect();
    assert!(blocks.len() >= 3, "{} blocks", blocks.len());
    for block in blocks {
        let (block, _) = block.split_once("```").expect("an end");
        assert!(example.contains(block), "not in the example:\n{block}");
    }
}
