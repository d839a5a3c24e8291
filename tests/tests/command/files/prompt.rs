//! Tests of output files written at the prompt.

use std::fs;

use z3950_server::testing::TestServer;
use z3950_tests::program::{Ran, z3950, z3950_fed};

use super::{catalogue, folder, names, records, text};

/// Runs the prompt with these commands as its input.
pub(super) fn prompt(server: &TestServer, commands: &str) -> Ran {
    let url = format!("z39.50s://{}/books", server.addr());
    z3950_fed(["open", &url], commands)
}

#[test]
fn audit_d2_save_at_the_prompt_knows_the_names_of_the_command_line() {
    let server = catalogue(3).start();
    let (_guard, folder) = folder();
    let path = |name: &str| text(&folder.join(name));
    for name in ["a.xlsx", "a", "a.mrc.gz"] {
        let ran = prompt(&server, &format!("find war\nsave {} all\n", path(name)));
        let words = "its name does not say which format to write; end it in .mrc, .xml, .json, .jsonl, .csv, .tsv, .mrk or .txt";
        assert!(ran.stderr.contains(words), "{ran:?}");
        let output = path(name);
        let place = format!("{}/books", server.addr());
        let ran = z3950(["search", &place, "war", "--output", &output]);
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    assert_eq!(names(&folder), [""; 0]);
    for name in ["a.mrc", "b.MRC"] {
        let ran = prompt(&server, &format!("find war\nsave {} all\n", path(name)));
        assert!(ran.stderr.contains("3 records in "), "{ran:?}");
        assert_eq!(records(&folder.join(name)), 3);
    }
    let mut seen = Vec::new();
    for end in ["mrc", "xml", "jsonl", "csv", "tsv", "mrk", "txt"] {
        let (saved, written) = (format!("saved.{end}"), format!("written.{end}"));
        let ran = prompt(&server, &format!("find war\nsave {} all\n", path(&saved)));
        assert!(ran.stderr.contains("3 records in "), "{end}: {ran:?}");
        // JSON and tables name the target as it was given.
        let place = format!("z39.50s://{}/books", server.addr());
        let ran = z3950(["search", &place, "war", "--output", &path(&written)]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let [saved, written] = [saved, written].map(|name| fs::read(path(&name)).expect("read"));
        assert!(
            saved == written,
            "{end}: {}",
            String::from_utf8_lossy(&saved)
        );
        assert!(!seen.contains(&saved), "{end} is a form of its own");
        seen.push(saved);
    }
}

#[test]
fn audit_a1_save_at_the_prompt_replaces_nothing_unasked() {
    let server = catalogue(3).start();
    let (_guard, folder) = folder();
    let path = folder.join("a.mrc");
    fs::write(&path, "precious").expect("written");
    let saving = |option: &str| {
        let path = path.display();
        prompt(&server, &format!("find war\nsave {option}{path} all\n"))
    };
    let ran = saving("");
    let words = "a.mrc already exists: save --overwrite FILE replaces it";
    assert!(ran.stderr.contains(words), "{ran:?}");
    assert_eq!(fs::read_to_string(&path).expect("read"), "precious");
    let ran = saving("--overwrite ");
    assert!(ran.stderr.contains("3 records in "), "{ran:?}");
    assert_eq!(records(&path), 3);
    assert_eq!(names(&folder), ["a.mrc"]);
}
