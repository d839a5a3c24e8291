//! Tests of a server that is killed during updates. The file of `--save` and its journal must contain only complete updates,
//! including all updates that were confirmed, and the next server must continue from there. `tests/benches/durability.rs` repeats
//! this 500 times.

use std::path::Path;

use z3950_asn1::apdu::Apdu;
use z3950_marc::MarcRecord;
use z3950_marc::iso2709;
use z3950_server::testing::record;
use z3950_tests::program::{path, run};
use z3950_tests::random::Random;
use z3950_tests::surroundings::command;

use super::partner::{Partner, Process, TITLE, insert};

/// The number of records that one update inserts. After the server has been killed, the file must contain all or none of them.
const TOGETHER: usize = 3;

/// Folds the journal into the file, and returns the number of complete updates in the file. Panics unless the file contains the
/// records of the first updates in order.
fn steps(file: &Path) -> usize {
    let ran = run(command(path("z3950d")).arg("--fold").arg(file), "");
    assert!(ran.code == Some(0) || !file.exists(), "{ran:?}");
    let octets = std::fs::read(file).unwrap_or_default();
    let mut rest = &octets[..];
    let mut count = 0;
    while !rest.is_empty() {
        let digits = rest
            .get(..5)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let length: usize = digits
            .and_then(|digits| digits.parse().ok())
            .unwrap_or_else(|| panic!("record {count} has no length"));
        assert!(length >= 24, "record {count} is {length} octets long");
        let (one, after) = rest
            .split_at_checked(length)
            .unwrap_or_else(|| panic!("record {count} is cut short"));
        assert_eq!(read(one.to_vec()), kept(count), "record {count}");
        (rest, count) = (after, count + 1);
    }
    assert_eq!(count % TOGETHER, 0, "an update was half done");
    count / TOGETHER
}

/// Returns the record with this number in the form in which it is read back from the file.
fn kept(number: usize) -> MarcRecord {
    let record = record(&format!("id{number}"), &TITLE.repeat(50));
    read(iso2709::encode(&record).expect("fits"))
}

fn read(octets: Vec<u8>) -> MarcRecord {
    iso2709::parse_strict(&octets.into())
        .unwrap_or_else(|error| panic!("not a whole record: {error}"))
}

#[test]
fn a_killed_server_loses_nothing_that_it_confirmed() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("books.mrc");
    let save = format!("books={}", file.display());
    let mut random = Random::new("killed while updating");
    let mut done = 0;
    for round in 0..12 {
        let mut server = Process::start(&["--save", &save]);
        let mut partner = Partner::open(server.address).expect("a session");
        let (sent, awaited) = (6, random.below(6));
        for step in done..done + sent {
            partner
                .send(&insert(step * TOGETHER, TOGETHER))
                .expect("taken");
        }
        for _ in 0..awaited {
            match partner.next().expect("an answer") {
                Some(Apdu::ExtendedServicesResponse(response)) => {
                    assert_eq!(
                        response.operation_status.to_string(),
                        "done",
                        "round {round}"
                    );
                }
                other => panic!("round {round}: {other:?}"),
            }
        }
        for _ in 0..random.below(200_000) {
            std::hint::spin_loop();
        }
        server.kill();
        let there = steps(&file);
        assert!(
            (done + awaited..=done + sent).contains(&there),
            "round {round}: {done} before, {awaited} of {sent} confirmed, {there} in the file"
        );
        done = there;
    }
    assert!(done > 0, "something was kept");
    let _server = Process::start(&["--save", &save]);
    let left = std::fs::read_dir(folder.path()).expect("a directory");
    let mut left: Vec<_> = left.map(|entry| entry.expect("an entry").path()).collect();
    left.sort();
    // The server is running and holds the lock, so the lock file exists.
    let lock = folder.path().join(".books.mrc.lock");
    assert_eq!(left, [lock, file], "no drafts are left");
}
