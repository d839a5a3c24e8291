//! Tests of loads: updates, deletions, and loads that are killed, run at the same time, or find the disk full. Afterwards, the
//! contents of the engine are compared with memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use z3950_marc::{MarcRecord, mrk};
use z3950_tests::peer;
use z3950_tests::program::Ran;
use z3950_tests::random::Random;
use z3950_tests::searchd::Engine;
use z3950_tests::surroundings::command;

use super::made_up::{number, queries, records, records_of};
use super::{assert_same, start, write};

/// The number of records in tests for which it does not matter.
const FEWER: usize = 4000;

/// Checks the output of a load that succeeded.
fn assert_loaded(ran: &Ran, expected: &str) {
    assert!(
        ran.code == Some(0) && ran.stderr.contains(expected),
        "{ran:?}"
    );
}

/// Replaces every `every`th record by one with the same identifier.
fn replaced(records: Vec<MarcRecord>, by: &[MarcRecord], every: usize) -> Vec<MarcRecord> {
    let mut others = by.iter().cloned();
    let records = records.into_iter().enumerate();
    let records = records.map(|(at, record)| match (at + 1) % every {
        0 => others.next().expect("another one"),
        _ => record,
    });
    records.collect()
}

/// Every second record is replaced, and every fifth is deleted. One node has so little memory that it writes its index in many
/// parts.
#[test]
fn updates_and_deletions_leave_what_memory_has() {
    if peer::find("yaz-client").is_none() {
        return;
    }
    let small = |text: String| {
        if text.contains("node-1/") {
            text.replace("rt_mem_limit = 256M", "rt_mem_limit = 1M")
        } else {
            text
        }
    };
    let Some(engine) = Engine::start_changed(2, small) else {
        return;
    };
    let number = number();
    let all = records(number);
    let file = |name: &str, records: &[MarcRecord]| write(engine.folder(), name, records);
    let loaded = engine.load(&[], &[&file("all.mrc", &all)]);
    assert_loaded(&loaded, &format!("{number} records loaded"));
    // Each changed record occurs twice in the file, and its last version applies.
    let changed = records_of("changed", (2..=number).step_by(2));
    let twice = [records_of("lost", (2..=number).step_by(2)), changed.clone()].concat();
    let mut nameless =
        mrk::parse_all("=LDR  00000nam a2200000 a 4500\n=245  10$aWar\n\n").expect("a record");
    nameless.extend(twice);
    let updated = engine.load(&["--update"], &[&file("changed.mrc", &nameless)]);
    assert_eq!(updated.code, Some(8), "{updated:?}");
    let expected = format!("{} records loaded", number / 2 * 2);
    assert!(updated.stderr.contains(&expected), "{updated:?}");
    for words in [
        "changed.mrc: record 1 at octet 0 left out: it has no identifier in 001",
        "1 record left out",
    ] {
        assert!(updated.stderr.contains(words), "{words}: {updated:?}");
    }
    let withdrawn = records_of("withdrawn", (5..=number).step_by(5));
    let deleted = engine.load(&["--delete"], &[&file("withdrawn.mrc", &withdrawn)]);
    assert_loaded(&deleted, &format!("{} records deleted", number / 5));
    assert!(!deleted.stderr.contains("not in the engine"), "{deleted:?}");
    let again = engine.load(&["--delete"], &[&file("withdrawn.mrc", &withdrawn)]);
    assert_loaded(&again, "0 records deleted");
    assert_loaded(&again, &format!("{} records not in the engine", number / 5));
    let left = replaced(all, &changed, 2).into_iter().enumerate();
    let left = left.filter(|(at, _)| (at + 1) % 5 != 0);
    let left: Vec<MarcRecord> = left.map(|(_, record)| record).collect();
    assert_same(&start(&engine, &left, ""), &queries(number));
}

/// Waits until a load has saved that a file is complete.
fn wait_for_note(state: &Path, load: &mut Child) {
    let begun = Instant::now();
    while !fs::read_to_string(state).is_ok_and(|text| text.contains("\nall ")) {
        let ended = load.try_wait().expect("asked");
        assert!(
            ended.is_none() && begun.elapsed() < Duration::from_secs(120),
            "{ended:?}"
        );
        z3950_tests::pause();
    }
}

#[test]
fn a_load_that_is_killed_goes_on_where_it_was() {
    if peer::find("yaz-client").is_none() {
        return;
    }
    let Some(engine) = Engine::start(3) else {
        return;
    };
    let number = number().min(FEWER);
    let all = records(number);
    let parts = all.chunks(number.div_ceil(8)).zip(1..);
    let files: Vec<_> = parts
        .map(|(records, part)| write(engine.folder(), &format!("{part}.mrc"), records))
        .collect();
    let files: Vec<&Path> = files.iter().map(|file| &**file).collect();
    let state = engine.folder().join("state");
    let options = ["--resume", state.to_str().expect("text")];
    let mut command = engine.loading(&options, &files);
    let mut load = command.stderr(Stdio::null()).spawn().expect("starts");
    wait_for_note(&state, &mut load);
    engine.signal("node-1", "STOP");
    // While this load runs, no other load continues from its notes.
    let second = engine.load(&options, &files);
    let is_refused =
        second.code == Some(2) && second.stderr.contains("being written by another run");
    assert!(
        is_refused || load.try_wait().expect("asked").is_some(),
        "{second:?}"
    );
    load.kill().expect("killed");
    load.wait().expect("ended");
    engine.signal("node-1", "CONT");
    let other = engine.load(&options, &files[1..]);
    assert!(
        other.code == Some(2) && other.stderr.contains("begin anew"),
        "{other:?}"
    );
    let rest = engine.load(&options, &files);
    let loaded = count_of(&rest);
    assert!(
        rest.code == Some(0) && loaded.is_some_and(|count| count < number),
        "{rest:?}"
    );
    let nothing = engine.load(&options, &files);
    assert_loaded(&nothing, "0 records loaded");
    assert_loaded(&nothing, "notes all of this as done");
    assert_same(&start(&engine, &all, ""), &queries(number));
    // A load with other settings does not continue from these notes.
    let settings = engine.folder().join("other.toml");
    fs::write(&settings, engine.settings("sort = [\"title\"]")).expect("written");
    let other = ["--config", settings.to_str().expect("text")];
    let other = engine.load(&[&options[..], &other].concat(), &files);
    let words = "its indexes have changed since";
    assert!(
        other.code == Some(2) && other.stderr.contains(words),
        "{other:?}"
    );
    write(engine.folder(), "1.mrc", &all);
    let other = engine.load(&options, &files);
    assert!(
        other.code == Some(2) && other.stderr.contains("1.mrc\" has changed since"),
        "{other:?}"
    );
}

/// Returns the number of records that a load reports.
fn count_of(ran: &Ran) -> Option<usize> {
    let (before, _) = ran.stderr.split_once(" records loaded")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// The signal is sent after the load has begun, while its node is stopped.
#[tokio::test]
async fn a_load_that_is_interrupted_goes_on_where_it_was() {
    let Some(engine) = Engine::start(1) else {
        return;
    };
    // There are more records than the load reads ahead, which is 250 for each processor and some more.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let number = FEWER + 300 * processors;
    let file = write(engine.folder(), "all.mrc", &records(number));
    let state = engine.folder().join("state");
    let options = ["--resume", state.to_str().expect("text")];
    engine.signal("node-1", "STOP");
    let mut command = engine.loading(&options, &[&file]);
    let mut load = command.stderr(Stdio::piped()).spawn().expect("starts");
    let begun = Instant::now();
    while !state.exists() {
        let ended = load.try_wait().expect("asked");
        assert!(
            ended.is_none() && begun.elapsed() < Duration::from_secs(120),
            "{ended:?}"
        );
        z3950_tests::pause();
    }
    let sent = z3950_tests::surroundings::command("kill")
        .args(["-s", "INT", &load.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
    let mut said = BufReader::new(load.stderr.take().expect("a pipe")).lines();
    let is_noted = said.by_ref().any(|line| {
        let line = line.expect("text");
        line.contains("stopping as soon as the nodes have what was read")
    });
    assert!(is_noted, "the signal is noted");
    engine.signal("node-1", "CONT");
    let said: Result<Vec<String>, _> = said.collect();
    let mut first = Ran::from(load.wait_with_output().expect("ended"));
    first.stderr = said.expect("text").join("\n");
    assert_eq!(first.code, Some(130), "{first:?}");
    for words in [
        "the load is interrupted",
        "state notes: run the same command again to go on",
    ] {
        assert!(first.stderr.contains(words), "{words}: {first:?}");
    }
    let rest = engine.load(&options, &[&file]);
    assert_eq!(rest.code, Some(0), "{rest:?}");
    let counts = [count_of(&first), count_of(&rest)].map(Option::unwrap_or_default);
    assert_eq!(counts.iter().sum::<usize>(), number, "{first:?} {rest:?}");
    let stored = engine
        .ask("node-1", "SELECT COUNT(*) AS n FROM books")
        .await;
    assert_eq!(stored, [number.to_string()]);
}

#[test]
fn records_that_are_left_out_are_named() {
    let Some(engine) = Engine::start(1) else {
        return;
    };
    let long = "long ".repeat(2000);
    let record = |id: &str, title: &str| {
        format!("=LDR  00000nam a2200000 a 4500\n=001  {id}\n=245  10$a{title}\n\n")
    };
    let text = [
        record("one", "War"),
        record("two", &long),
        "nothing\n\n".to_owned(),
        record("four", "Peace"),
    ];
    let file = engine.folder().join("odd.mrk");
    fs::write(&file, text.concat()).expect("written");
    let empty = engine.folder().join("empty.mrc");
    fs::write(&empty, "").expect("written");
    let loaded = engine.load(&[], &[&file, &empty]);
    assert_eq!(loaded.code, Some(8), "{loaded:?}");
    for words in [
        "empty.mrc has no records",
        "odd.mrk: record 2 at octet 56 left out: field 245 has 10005 octets",
        "odd.mrk: record 3 at octet 10109 left out: ",
        "2 records loaded",
        "2 records left out",
    ] {
        assert!(loaded.stderr.contains(words), "{words}: {loaded:?}");
    }
}

/// Without a terminal, lines of text report the progress of the load.
#[test]
fn a_long_load_counts_its_records() {
    let Some(engine) = Engine::start(1) else {
        return;
    };
    const NUMBER: usize = 110_000;
    let record = |number| format!("=LDR  00000nam a2200000 a 4500\n=001  id{number}\n\n");
    let text: String = (0..NUMBER).map(record).collect();
    let file = engine.folder().join("many.mrk");
    fs::write(&file, text).expect("written");
    let ran = engine.load(&["--delete"], &[&file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // Messages about a slow node are skipped.
    let lines = ran.stderr.lines().filter(|line| line.contains("record"));
    let lines: Vec<&str> = lines.collect();
    let expected = [
        "z3950d: 50000 records so far",
        "z3950d: 100000 records so far",
        "z3950d: 0 records deleted",
        "z3950d: 110000 records not in the engine",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_first_hundred_repaired_records_are_named() {
    let Some(engine) = Engine::start(1) else {
        return;
    };
    for (number, told) in [
        (100, "z3950d: 100 records repaired"),
        (101, "z3950d: 101 records repaired, 100 of them named"),
    ] {
        let path = write(engine.folder(), "damaged.mrc", &records(number));
        let mut octets = fs::read(&path).expect("records");
        let ends = octets.iter().zip(1..).filter(|(octet, _)| **octet == 0x1d);
        let starts: Vec<usize> = [0].into_iter().chain(ends.map(|(_, end)| end)).collect();
        for start in &starts[..number] {
            octets[*start..start + 5].copy_from_slice(b"00099");
        }
        fs::write(&path, octets).expect("written");
        let ran = engine.load(&[], &[&path]);
        assert_loaded(&ran, &format!("{number} records loaded"));
        let named = ran
            .stderr
            .lines()
            .filter(|line| line.contains(" repaired: "));
        assert_eq!(named.count(), 100);
        assert!(ran.stderr.lines().any(|line| line == told), "{ran:?}");
    }
}

/// A record that is cut off in the file must not replace the one in the engine; records that only needed repairs are loaded.
#[tokio::test]
async fn no_record_is_replaced_by_a_part_of_it() {
    let Some(engine) = Engine::start(1) else {
        return;
    };
    let all = write(engine.folder(), "all.mrc", &records(3));
    assert_loaded(&engine.load(&[], &[&all]), "3 records loaded");
    const STORED: &str = "SELECT record FROM books ORDER BY id ASC";
    let before = engine.ask("node-1", STORED).await;
    let mut octets = fs::read(&all).expect("records");
    let ends = octets.iter().zip(1..).filter(|(octet, _)| **octet == 0x1d);
    let ends: Vec<usize> = ends.map(|(_, end)| end).collect();
    octets[ends[0]..ends[0] + 5].copy_from_slice(b"00099");
    octets.truncate(ends[2] - 10);
    let cut = engine.folder().join("cut.mrc");
    fs::write(&cut, octets).expect("written");
    for (options, done, left) in [
        (&[][..], "2 records loaded", 3),
        (&["--update"], "2 records loaded", 3),
        (&["--delete"], "2 records deleted", 1),
    ] {
        let ran = engine.load(options, &[&cut]);
        assert_eq!(ran.code, Some(8), "{ran:?}");
        let repaired = format!("record 2 at octet {} repaired: record length 99", ends[0]);
        let left_out = format!("record 3 at octet {} left out: incomplete: ", ends[1]);
        for words in [
            done,
            &repaired,
            "1 record repaired",
            &left_out,
            "no record terminator",
            "1 record left out",
        ] {
            assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        }
        let after = engine.ask("node-1", STORED).await;
        assert_eq!(after.len(), left, "{options:?}");
        assert!(
            after.iter().all(|record| before.contains(record)),
            "{options:?}"
        );
    }
}

/// The two loads have a third of their records in common.
#[test]
fn loads_at_once_leave_what_memory_has() {
    if peer::find("yaz-client").is_none() {
        return;
    }
    let Some(engine) = Engine::start(2) else {
        return;
    };
    let number = number().min(FEWER);
    let all = records(number);
    let (one, other) = (&all[..number * 2 / 3], &all[number / 3..]);
    let loads = [("one.mrc", one), ("other.mrc", other)].map(|(name, records)| {
        let file = write(engine.folder(), name, records);
        let mut command = engine.loading(&[], &[&file]);
        command.stderr(Stdio::null()).spawn().expect("starts")
    });
    for mut load in loads {
        assert!(load.wait().expect("ended").success());
    }
    assert_same(&start(&engine, &all, ""), &queries(number));
}

/// After a crash, Sphinx may treat old parts of its index as newer than parts written later, and lose words of replaced records,
/// unless its configuration has the indexes in the right order.
#[tokio::test]
async fn records_are_replaced_after_a_crash() {
    let Some(mut engine) = Engine::start(1) else {
        return;
    };
    const NODE: &str = "node-1";
    const RECORDS: usize = 3000;
    const PARTS: usize = 100;
    let mut random = Random::new("crash");
    // Each statement becomes a part of the index. Sphinx merges parts from time to time.
    let mut replace = |numbers: &[usize]| {
        let rows = numbers.iter().map(|number| {
            let words = (0..8).map(|_| format!("w{}", random.below(60)));
            let words: Vec<String> = words.collect();
            format!("({number},'r','{{}}','all {}')", words.join(" "))
        });
        let rows: Vec<String> = rows.collect();
        format!(
            "REPLACE INTO books (id,record,facets,keys) VALUES {}",
            rows.join(",")
        )
    };
    let terms = "REPLACE INTO books_terms (id,t,p,term) VALUES (1,'q',1,'q')";
    engine.ask(NODE, terms).await;
    engine.ask(NODE, "FLUSH RTINDEX books_terms").await;
    let numbers: Vec<usize> = (1..=RECORDS).collect();
    for part in numbers.chunks(RECORDS / PARTS) {
        engine.ask(NODE, &replace(part)).await;
    }
    engine.ask(NODE, "FLUSH RTINDEX books").await;
    engine.restart(NODE);
    // Each statement replaces records of several parts, so that none of these parts becomes empty.
    for part in 0..PARTS {
        let part: Vec<usize> = numbers.iter().copied().skip(part).step_by(PARTS).collect();
        engine.ask(NODE, &replace(&part)).await;
    }
    for query in ["", " WHERE MATCH('@keys all')"] {
        let count = format!("SELECT COUNT(*) AS n FROM books{query}");
        assert_eq!(
            engine.ask(NODE, &count).await,
            [RECORDS.to_string()],
            "{query}"
        );
    }
}

/// A node that cannot write any more ends, and its last data cannot be trusted, so it starts again from the beginning. The load
/// must name the node.
#[test]
fn a_full_disk_ends_a_load_until_there_is_room() {
    if peer::find("yaz-client").is_none() {
        return;
    }
    let small = |text: String| text.replace("rt_mem_limit = 256M", "rt_mem_limit = 1M");
    let Some(mut engine) = Engine::start_changed(2, small) else {
        return;
    };
    let all = records(FEWER);
    let file = write(engine.folder(), "all.mrc", &all);
    let state = engine.folder().join("state");
    let options = ["--resume", state.to_str().expect("text")];
    // The limit is in blocks of 512 octets.
    engine.restart_after("node-2", "ulimit -f 1000;");
    let failed = engine.load(&options, &[&file]);
    let node = &engine.nodes()[1];
    assert!(
        failed.code == Some(1) && failed.stderr.contains(&format!("the node {node} fails")),
        "{failed:?}"
    );
    for words in [
        "nothing is known to be done, which",
        "run the same command again to go on",
    ] {
        assert!(failed.stderr.contains(words), "{words}: {failed:?}");
    }
    assert!(state.exists(), "it notes where to begin");
    engine.kill("node-2");
    let folder = engine.folder().join("node-2");
    fs::remove_dir_all(&folder).expect("removed");
    fs::create_dir(&folder).expect("made");
    engine.restart("node-2");
    assert_loaded(&engine.load(&[], &[&file]), "4000 records loaded");
    assert_same(&start(&engine, &all, ""), &queries(all.len()));
    // With a limit of 0, the notes cannot be written either.
    let mut command = command("sh");
    let full = format!(
        "ulimit -f 0; exec {:?} load --engine {} --nodes {} --resume {:?} {:?}",
        z3950_tests::program::path("z3950d"),
        engine.url(),
        engine.nodes().join(","),
        engine.folder().join("other"),
        file
    );
    let ran = z3950_tests::program::run(command.args(["-c", &full]), "");
    assert!(
        ran.code == Some(2) && ran.stderr.contains("cannot write"),
        "{ran:?}"
    );
}
