//! Tests of `z3950d` in front of Sphinx Search with three nodes: yaz-client, zoomsh and SRU clients search in it, and a node is
//! killed and restarted.

mod compared;
mod failures;
mod limits;
mod load;
mod lost;
mod made_up;
mod scans;
mod sets;
mod setup;
mod terms;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use z3950_marc::{MarcRecord, iso2709, mrk};
use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, run};
use z3950_tests::searchd::Engine;
use z3950_tests::surroundings::command;

use self::made_up::records;

fn octets(records: &[MarcRecord]) -> Vec<Bytes> {
    let encoded = records.iter().map(iso2709::encode);
    encoded.map(|octets| octets.expect("fits").into()).collect()
}

fn yaz_client(place: &str, commands: &str) -> String {
    let program = peer::find("yaz-client").expect("yaz-client");
    let input = format!("open {place}\n{commands}\nquit\n");
    let Ran { stdout, .. } = run(&mut command(program), &input);
    stdout
}

/// Searches with zoomsh; returns what it prints for the first record, or `None` if it is not installed.
fn zoomsh(place: &str, query: &str) -> Option<String> {
    let mut command = command(peer::find("zoomsh")?);
    command.args([
        "-e",
        &format!("connect {place}"),
        "set preferredRecordSyntax usmarc",
        &format!("search {query}"),
        "show 0 1",
        "quit",
    ]);
    Some(run(&mut command, "").stdout)
}

/// Returns the result of each query: the number of hits or the diagnostic.
fn found(place: &str, queries: &[String]) -> Vec<String> {
    let commands: Vec<String> = queries
        .iter()
        .map(|query| format!("find {query}"))
        .collect();
    let printed = yaz_client(place, &commands.join("\n"));
    let answers = printed.split("Sent searchRequest.").skip(1);
    answers
        .map(|answer| {
            let after = |start: &str, end: char| {
                let (_, rest) = answer.split_once(start)?;
                rest.split_once(end).map(|(text, _)| text.to_owned())
            };
            let hits = after("Number of hits: ", ',').filter(|_| answer.contains("success"));
            hits.or_else(|| after("[", ']').map(|code| format!("[{code}]")))
                .unwrap_or_else(|| answer.to_owned())
        })
        .collect()
}

/// A query for all records.
const EVERYTHING: &str = "@attr 1=1016 @attr 2=103 x";

/// An engine, and a `z3950d` that has the same records in memory, as the database `memory`.
struct Served {
    engine: Engine,
    daemon: Daemon,
}

impl Served {
    fn place(&self, database: &str) -> String {
        format!("{}/{database}", self.daemon.address())
    }
}

/// Serves records from three nodes; `None` if a program is missing.
fn served(records: &[MarcRecord], lines: &str) -> Option<Served> {
    peer::find("yaz-client")?;
    let engine = Engine::start(3)?;
    let file = write(engine.folder(), "records.mrc", records);
    let loaded = engine.load(&[], &[&file]);
    let expected = format!("{} records loaded", records.len());
    assert!(loaded.stderr.contains(&expected), "{loaded:?}");
    let daemon = start(&engine, records, lines);
    Some(Served { engine, daemon })
}

/// Starts `z3950d` in front of the engine, with the same records in memory.
fn start(engine: &Engine, records: &[MarcRecord], lines: &str) -> Daemon {
    write(engine.folder(), "memory.mrc", records);
    let settings = engine.folder().join("z3950d.toml");
    let memory = "[[database]]\nname = \"memory\"\nfiles = [\"memory.mrc\"]\n";
    std::fs::write(&settings, engine.settings(lines) + memory).expect("written");
    Daemon::start(["--config", settings.to_str().expect("text")])
}

/// Writes records to a file.
fn write(folder: &Path, name: &str, records: &[MarcRecord]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, octets(records).concat()).expect("written");
    path
}

/// Checks that each query has the same number of hits in the engine as in memory.
fn assert_same(daemon: &Daemon, queries: &[String]) {
    let of = |database: &str| found(&format!("{}/{database}", daemon.address()), queries);
    let (engine, memory) = (of("books"), of("memory"));
    assert_eq!(engine.len(), queries.len());
    for (query, (engine, memory)) in queries.iter().zip(engine.iter().zip(&memory)) {
        assert_eq!(engine, memory, "{query}");
    }
}

/// Checks that the texts appear in the output in this order.
fn stand_in_order(printed: &str, texts: &[&str]) {
    let mut rest = printed;
    for text in texts {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} is not in\n{rest}\nof\n{printed}")
        };
        rest = after;
    }
}

/// Returns the answer to a search by SRU.
fn sru(place: &str, query: &str) -> String {
    let curl = peer::find("curl").expect("curl");
    let url = format!(
        "http://{place}?operation=searchRetrieve&version=1.2&maximumRecords=5&query={query}"
    );
    run(command(&curl).args(["-s", &url]), "").stdout
}

/// Kills each node in turn; checks that the records of the other nodes are found, and that the answer names the node. Returns the
/// sum of the hits.
fn found_without_each_node(engine: &mut Engine, place: &str) -> usize {
    let mut sum = 0;
    for (number, name) in (1..).zip(engine.nodes()) {
        let node = format!("node-{number}");
        engine.kill(&node);
        let printed = yaz_client(place, &format!("find {EVERYTHING}\nshow 1"));
        stand_in_order(&printed, &["Search was a success", "Number of hits: "]);
        let answer = sru(place, "cql.allRecords=1");
        let count = answer.split("<zs:numberOfRecords>").nth(1);
        let count: usize = count
            .and_then(|rest| rest.split('<').next()?.parse().ok())
            .expect("a count");
        sum += count;
        let agent = name
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse::<u16>().ok())
            .expect("a port")
            + 1;
        assert!(answer.contains(&format!("127.0.0.1:{agent}")), "{answer}");
        engine.restart(&node);
    }
    sum
}

/// Three books whose order by title differs from their order by number.
const BOOKS: &str = "\
=LDR  00000nam a2200000 a 4500
=001  id1
=100  1\\$aTolstoy, Leo
=245  10$aWar and peace
=650  \\0$aHistory

=LDR  00000nam a2200000 a 4500
=001  id2
=100  1\\$aWells, H. G.
=245  14$aThe war of the worlds
=650  \\0$aHistory

=LDR  00000nam a2200000 a 4500
=001  id3
=100  1\\$aHasek, Jaroslav
=245  10$aAt war with a good soldier
=650  \\0$aSoldiers

";

const NEW: &str = "<record xmlns='http://www.loc.gov/MARC21/slim'><leader>00000nam a2200000 a 4500</leader>\
<controlfield tag='001'>id4</controlfield><datafield tag='245' ind1='1' ind2='0'>\
<subfield code='a'>Newcomer</subfield></datafield></record>";

#[test]
fn clients_hold_the_conversation_and_go_on_without_a_node() {
    let records = mrk::parse_all(BOOKS).expect("records");
    let Some(Served { mut engine, daemon }) = served(&records, "") else {
        return;
    };
    let place = format!("{}/books", daemon.address());
    let commands = format!(
        "ssub 1\nlslb 2\nfind @attr 1=1032 id1\nssub 0\nlslb 1\nfind @attr 1=4 war\nsort 1=4 <\nshow 1+3\n\
         scan @attr 1=4 war\nfind @and @set 2 @attr 1=4 soldier\nupdate insert id4 \"{NEW}\"\nfind @attr 1=1032 id4\nshow 1\n\
         delete 2\nclose\n"
    );
    stand_in_order(
        &yaz_client(&place, &commands),
        &[
            "Number of hits: 1, setno 1",
            "001 id1",
            "Number of hits: 3, setno 2",
            "Received SortResponse: status=success",
            "001 id3",
            "001 id1",
            "001 id2",
            "* war (3)",
            "Number of hits: 1, setno 3",
            "Status: done",
            "Number of hits: 1, setno 4",
            "Newcomer",
            "deleteResultSetResponse status=0",
            "Target has closed the association",
        ],
    );
    let shown = zoomsh(&place, "@attr 1=4 @attr 5=1 wor");
    assert!(shown.is_none_or(|shown| shown.contains("The war of the worlds")));
    let answer = sru(&place, "title=war");
    assert!(
        answer.contains("<zs:numberOfRecords>3</zs:numberOfRecords>"),
        "{answer}"
    );
    assert!(answer.contains("At war with a good soldier"), "{answer}");
    // Each of the four records is missing without its own node, and found without either of the other two nodes.
    assert_eq!(found_without_each_node(&mut engine, &place), 2 * 4);
    let answer = sru(&place, "title=war");
    assert!(
        answer.contains("<zs:numberOfRecords>3</zs:numberOfRecords>"),
        "{answer}"
    );
    assert!(!answer.contains("diagnostics"), "{answer}");
}

#[test]
fn a_strict_database_refuses_what_is_not_whole() {
    let records = mrk::parse_all(BOOKS).expect("records");
    let Some(Served { mut engine, daemon }) = served(&records, "strict = true") else {
        return;
    };
    let place = format!("{}/books", daemon.address());
    assert_eq!(found(&place, &["@attr 1=4 war".to_owned()]), ["3"]);
    engine.kill("node-1");
    assert_eq!(found(&place, &["@attr 1=4 war".to_owned()]), ["[109]"]);
}

#[test]
fn an_engine_with_another_configuration_is_refused_with_the_line() {
    let index = "[[index]]\nname = \"shelf\"\nuse = [9000]\nkind = \"text\"\nmarc21 = \"900$a\"\n";
    let characters = "other characters";
    // The columns are a setting of the engine, its replacement, settings of the server, and the expected message.
    for (known, other, lines, expected) in [
        ("", "", index, "t_shelf"),
        ("rt_attr_string = record\n", "", "\n\n\n\n\n", "record"),
        ("rt_attr_bigint = r\n", "", "\n\n\n\n\n", "books_terms"),
        (
            "U+F900..U+1FFFF",
            "U+F900..U+FFFF",
            "\n\n\n\n\n",
            characters,
        ),
        ("blend_chars", "ignore_chars", "\n\n\n\n\n", characters),
        (
            "min_infix_len = 2",
            "min_infix_len = 0",
            "\n\n\n\n\n",
            characters,
        ),
    ] {
        let Some(engine) = Engine::start_changed(1, |text| text.replace(known, other)) else {
            return;
        };
        let settings = engine.folder().join("z3950d.toml");
        std::fs::write(&settings, lines.to_owned() + &engine.settings("")).expect("written");
        let mut command = command(z3950_tests::program::path("z3950d"));
        command
            .args(["--listen", "127.0.0.1:0", "--config"])
            .arg(&settings);
        let ran = run(&mut command, "");
        assert_eq!(ran.code, Some(2), "{other}: {ran:?}");
        assert!(
            ran.stderr.contains("z3950d.toml:8: database books: "),
            "{ran:?}"
        );
        assert!(ran.stderr.contains(expected), "{other}: {ran:?}");
    }
}

#[test]
fn a_reload_asks_the_engine_as_well() {
    let Some(engine) = Engine::start(1) else {
        return;
    };
    let settings = engine.folder().join("z3950d.toml");
    let index = "[[index]]\nname = \"shelf\"\nuse = [9000]\nkind = \"text\"\nmarc21 = \"900$a\"\n";
    std::fs::write(&settings, engine.settings("")).expect("written");
    let log = engine.folder().join("z3950d.log");
    let errors = std::fs::File::create(&log).expect("a log");
    let mut command = command(z3950_tests::program::path("z3950d"));
    command.args(["--listen", "127.0.0.1:0", "--config"]);
    let command = command.arg(&settings).stdout(Stdio::null()).stderr(errors);
    let mut daemon = command.spawn().expect("starts");
    let said = |words: &str| {
        let begun = Instant::now();
        loop {
            let text = std::fs::read_to_string(&log).expect("the log");
            if text.contains(words) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{words}: {text}");
            z3950_tests::pause();
        }
    };
    let reload = || {
        let id = daemon.id().to_string();
        let status = z3950_tests::surroundings::command("kill")
            .args(["-s", "HUP", &id])
            .status();
        assert!(status.expect("kill starts").success());
    };
    said("SRU at");
    std::fs::write(&settings, index.to_owned() + &engine.settings("")).expect("written");
    reload();
    said("z3950d.toml:8: database books: ");
    said("nothing has changed");
    std::fs::write(&settings, engine.settings("strict = true")).expect("written");
    reload();
    said("settings of new sessions: database");
    daemon.kill().expect("killed");
    daemon.wait().expect("ended");
}
