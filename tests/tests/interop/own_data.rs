//! Tests that yaz-client can search, scan and present records in SQLite, which the example backend serves.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use z3950_tests::peer;
use z3950_tests::program::{self, run};
use z3950_tests::surroundings::command;

#[test]
fn audit_r_l10_yaz_client_searches_in_sqlite() {
    let Some(yaz_client) = peer::find("yaz-client") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = command(program::example("sqlite"))
        .arg(folder.path().join("books.db"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the example runs");
    let mut line = String::new();
    let said = server.stdout.take().expect("piped");
    BufReader::new(said).read_line(&mut line).expect("a line");
    let address = line
        .trim()
        .strip_prefix("listening on ")
        .expect("an address");
    let commands = format!(
        "open {address}/books\nformat usmarc\nfind @attr 1=1003 austen\nshow 2\nfind @and @attr 1=4 emma @attr 1=1 jane\nshow 1\n\
         find @not austen @attr 1=4 emma\nfind @attr 1=7 1\nscan @attr 1=4 f\nformat xml\nfind tolstoy\nshow 1\nquit\n"
    );
    let ran = run(&mut command(yaz_client), &commands);
    server.kill().expect("it runs");
    server.wait().expect("it ended");
    let mut rest = &*ran.stdout;
    for expected in [
        "Number of hits: 2",
        "001 5000000001",
        "245 10 $a Persuasion",
        "Number of hits: 1",
        "001 158",
        "Number of hits: 1",
        "[114] Unsupported Use attribute -- v2 addinfo '7'",
        "* Persuasion (1)",
        "War and peace (1)",
        "Number of hits: 1",
        "<subfield code=\"a\">War and peace</subfield>",
    ] {
        let place = rest.find(expected);
        let place = place.unwrap_or_else(|| panic!("no {expected:?} in {rest}"));
        rest = &rest[place + expected.len()..];
    }
}
