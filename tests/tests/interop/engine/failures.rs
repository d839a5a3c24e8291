//! Tests of distributors and nodes that are down or hang: other servers must take over, or the answer must say what is missing.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use z3950::Query;
use z3950_marc::mrk;
use z3950_tests::ports::pairs_of_ports;
use z3950_tests::program::{self, Daemon, Ran, run};
use z3950_tests::searchd::Engine;
use z3950_tests::surroundings::command;
use z3950_tests::{pause, peer};

use super::made_up::records;
use super::sets::{all_of, connected, everything, id};
use super::{BOOKS, EVERYTHING, Served, found, served, start, write, yaz_client};

/// Repeats a search with three hits so that each replica has its turn; returns the results.
fn counts(place: &str) -> Vec<String> {
    found(place, &vec!["@attr 1=4 war".to_owned(); 4])
}

#[test]
fn replicas_take_over() {
    let records = mrk::parse_all(BOOKS).expect("records");
    let Some(Served { mut engine, daemon }) = served(&records, "") else {
        return;
    };
    drop(daemon);
    let replica = engine.add_replica();
    let settings = engine.folder().join("replicas.toml");
    let text = format!(
        "[[database]]\nname = \"books\"\nengine = [{:?}, {replica:?}]\nanswer-time = \"3s\"\n",
        engine.url()
    );
    std::fs::write(&settings, text).expect("written");
    let daemon = Daemon::start(["--config", settings.to_str().expect("text")]);
    let place = format!("{}/books", daemon.address());
    assert_eq!(counts(&place), ["3"; 4]);
    for server in ["distributor", "replica"] {
        engine.kill(server);
        assert_eq!(counts(&place), ["3"; 4], "without {server}");
        engine.restart(server);
        // A search waits for a server that hangs until the time limit of its answer.
        engine.signal(server, "STOP");
        assert_eq!(counts(&place)[..2], ["3"; 2], "{server} hangs");
        engine.signal(server, "CONT");
    }
    engine.kill("distributor");
    engine.kill("replica");
    assert_eq!(counts(&place), ["[109]"; 4]);
    engine.restart("replica");
    assert_eq!(counts(&place), ["3"; 4]);
}

/// The page must have a line with the name of the missing node; with `--strict`, a diagnostic must name it.
#[test]
fn the_page_names_a_node_that_is_gone() {
    let records = mrk::parse_all(BOOKS).expect("records");
    let Some(Served { mut engine, daemon }) = served(&records, "") else {
        return;
    };
    let Some(curl) = peer::find("curl") else {
        return;
    };
    engine.kill("node-1");
    let url = format!("http://{}/search?db=books&q=war", daemon.address());
    let page = run(command(curl).args(["-s", &url]), "").stdout;
    assert!(page.contains(&engine.nodes()[0]), "{page}");
    drop(daemon);
    let settings = engine.folder().join("z3950d.toml");
    let settings = settings.to_str().expect("text");
    let strict = Daemon::start(["--strict", "--config", settings]);
    let place = format!("{}/books", strict.address());
    assert_eq!(counts(&place), ["[109]"; 4]);
}

/// `/metrics` must report the servers that answer.
#[test]
fn nodes_that_do_not_answer_are_counted() {
    let records = mrk::parse_all(BOOKS).expect("records");
    let Some(Served { mut engine, daemon }) = served(&records, "") else {
        return;
    };
    let Some(curl) = peer::find("curl") else {
        return;
    };
    drop(daemon);
    let settings = engine.folder().join("z3950d.toml");
    let settings = settings.to_str().expect("text");
    let status = format!("127.0.0.1:{}", pairs_of_ports(1)[0]);
    let daemon = Daemon::start(["--status", &status, "--config", settings]);
    let place = format!("{}/books", daemon.address());
    let down = || {
        counts(&place);
        let url = format!("http://{status}/metrics");
        let page = run(command(&curl).args(["-s", &url]), "").stdout;
        let lines = page.lines().filter_map(|line| {
            let sample =
                line.strip_prefix("z3950d_engine_up{database=\"books\",role=\"node\",server=\"")?;
            sample.strip_suffix("\"} 0").map(str::to_owned)
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(down(), Vec::<String>::new());
    engine.kill("node-1");
    assert_eq!(down(), engine.nodes()[..1]);
    engine.restart("node-1");
    assert_eq!(down(), Vec::<String>::new());
}

/// If the order of the nodes differed from that of the load, updates would go to nodes that do not have the records. If the
/// distributor did not query a node, its records would be missing.
#[test]
fn other_nodes_than_those_of_the_engine_are_refused() {
    let records = mrk::parse_all(BOOKS).expect("records");
    let Some(Served { engine, daemon }) = served(&records, "") else {
        return;
    };
    drop(daemon);
    let (settings, nodes) = (engine.folder().join("z3950d.toml"), engine.nodes());
    let text = std::fs::read_to_string(&settings).expect("settings");
    // First, a node takes the place of the distributor; then the settings list one node more than the distributor knows.
    let alone = text.replace(&engine.url(), &format!("sphinxql://{}/books", nodes[0]));
    std::fs::write(&settings, alone).expect("written");
    let checked = check(&settings);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    let words = "searches 1 node, but nodes lists 3";
    assert!(checked.stderr.contains(words), "{checked:?}");
    let last = format!("{:?}]", nodes[2]);
    let more = format!("{:?}, \"127.0.0.1:1\"]", nodes[2]);
    std::fs::write(&settings, text.replace(&last, &more)).expect("written");
    let checked = check(&settings);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    let words = "searches 3 nodes, but nodes lists 4";
    assert!(checked.stderr.contains(words), "{checked:?}");
    let text = text
        .replace(&nodes[0], "first")
        .replace(&nodes[1], &nodes[0]);
    std::fs::write(&settings, text.replace("first", &nodes[1])).expect("written");
    let expected = "has records that belong to another node";
    let checked = check(&settings);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    // The message names the line of `nodes`.
    let words = "z3950d.toml:4: database books: ";
    assert!(
        checked.stderr.contains(words) && checked.stderr.contains(expected),
        "{checked:?}"
    );
    let loaded = load_again(&engine, &settings);
    assert_eq!(loaded.code, Some(2), "{loaded:?}");
    assert!(loaded.stderr.contains(expected), "{loaded:?}");
}

/// Runs `z3950d --check`.
fn check(settings: &Path) -> Ran {
    let mut command = command(program::path("z3950d"));
    run(command.args(["--check", "--config"]).arg(settings), "")
}

/// Loads the records of the engine again, with other settings.
fn load_again(engine: &Engine, settings: &Path) -> Ran {
    let mut command = command(program::path("z3950d"));
    let file = engine.folder().join("records.mrc");
    command.args(["load", "--config"]).arg(settings).arg(file);
    run(&mut command, "")
}

/// With other indexes or another docid field, searches would not find the loaded records.
#[test]
fn settings_other_than_those_of_the_load_are_refused() {
    let records = mrk::parse_all(BOOKS).expect("records");
    let Some(Served { engine, daemon }) = served(&records, "") else {
        return;
    };
    drop(daemon);
    let settings = engine.folder().join("other.toml");
    let index = "[[index]]\nname = \"subject\"\nmarc21 = \"650$x\"";
    for (lines, is_same) in [
        ("answer-time = \"5s\"", true),
        ("docid = \"035$a\"", false),
        ("facets = [\"author\"]", false),
        ("scan = [\"author\"]", false),
        (index, false),
    ] {
        let text = engine.settings(lines);
        let without_nodes = text.lines().filter(|line| !line.starts_with("nodes"));
        let without_nodes: Vec<&str> = without_nodes.collect();
        for text in [&text, &without_nodes.join("\n")] {
            std::fs::write(&settings, text).expect("written");
            let checked = check(&settings);
            let words = "other.toml:3: database books: ";
            let is_refused = checked.code == Some(2)
                && checked.stderr.contains(words)
                && checked.stderr.contains("were loaded with other settings");
            assert_eq!(!is_refused, is_same, "{text}: {checked:?}");
            assert_eq!(checked.code == Some(0), is_same, "{text}: {checked:?}");
        }
        std::fs::write(&settings, text).expect("written");
        let loaded = load_again(&engine, &settings);
        let expected = if is_same { 0 } else { 2 };
        assert_eq!(loaded.code, Some(expected), "{lines}: {loaded:?}");
    }
}

/// An engine that is down at the start must be checked as soon as it answers.
#[test]
fn an_engine_that_comes_up_with_other_records_is_refused() {
    let records = mrk::parse_all(BOOKS).expect("records");
    let Some(Served { mut engine, daemon }) = served(&records, "") else {
        return;
    };
    drop(daemon);
    let servers = ["node-1", "node-2", "node-3", "distributor"];
    servers.iter().for_each(|server| engine.kill(server));
    let started = |name: &str, lines: &str| {
        let settings = engine.folder().join(name);
        std::fs::write(&settings, engine.settings(lines)).expect("written");
        Daemon::start(["--config", settings.to_str().expect("text")])
    };
    let other = started("other.toml", "docid = \"035$a\"");
    let same = started("same.toml", "");
    servers.iter().for_each(|server| engine.restart(server));
    let place = format!("{}/books", other.address());
    let deadline = Instant::now() + Duration::from_secs(60);
    let said = || yaz_client(&place, "find @attr 1=4 war");
    while !said().contains("does not fit the settings") {
        assert!(Instant::now() < deadline, "{}", said());
        pause();
    }
    assert_eq!(counts(&place), ["[109]"; 4]);
    assert_eq!(counts(&format!("{}/books", same.address())), ["3"; 4]);
    // The engine is used as soon as it fits the settings.
    for node in ["node-1", "node-2", "node-3"] {
        engine.kill(node);
        let folder = engine.folder().join(node);
        std::fs::remove_dir_all(&folder).expect("removed");
        std::fs::create_dir(&folder).expect("a folder");
        engine.restart(node);
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while counts(&place) != ["0"; 4] {
        assert!(Instant::now() < deadline, "{}", said());
        pause();
    }
}

/// If a node hangs, its records are missing, and the answer takes as long as the distributor waits for the node.
#[test]
fn answers_come_without_a_node_that_hangs() {
    if peer::find("yaz-client").is_none() {
        return;
    }
    // A node that hangs accepts a connection, but not the handshake.
    let impatient = |text: String| {
        text.replace(
            "agent_connect_timeout = 10000",
            "agent_connect_timeout = 3000",
        )
        .replace("agent_query_timeout = 7500", "agent_query_timeout = 3000")
    };
    let Some(engine) = Engine::start_changed(2, impatient) else {
        return;
    };
    let all = records(20);
    let file = write(engine.folder(), "all.mrc", &all);
    let loaded = engine.load(&[], &[&file]);
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    let daemon = start(&engine, &all, "");
    let place = format!("{}/books", daemon.address());
    let count = || found(&place, &[EVERYTHING.to_owned()]).concat();
    // On a busy machine, a node may answer too late, so the search is repeated.
    assert!((0..20).any(|_| count() == "20"));
    let mut left = 0;
    for node in ["node-1", "node-2"] {
        engine.signal(node, "STOP");
        left += count().parse::<usize>().expect("a part");
        engine.signal(node, "CONT");
        assert!((0..20).any(|_| count() == "20"), "{node} is back");
    }
    assert_eq!(left, 20);
    engine.signal("node-1", "STOP");
    engine.signal("node-2", "STOP");
    assert_eq!(count(), "[109]");
    engine.signal("node-1", "CONT");
    engine.signal("node-2", "CONT");
    assert!((0..20).any(|_| count() == "20"));
}

/// If a node fails after a search and comes back, all other records must keep their positions.
#[tokio::test]
async fn positions_stay_without_a_node() {
    let all = records(1800);
    let Some(Served { mut engine, daemon }) = served(&all, "") else {
        return;
    };
    let connection = connected(daemon.address(), "books").await;
    let some = format!("@and {EVERYTHING} @attr 1=4 war");
    let some = Query::pqf(&some).expect("a query");
    let small = connection.search(some).await.expect("hits");
    let large = connection.search(everything()).await.expect("hits");
    assert!((100..=1000).contains(&small.count()), "{}", small.count());
    let ids: Vec<String> = all_of(&small).await.iter().map(id).collect();
    engine.kill("node-1");
    let mut missing = 0;
    for (position, known) in (1..=100).zip(&ids) {
        match small.record(position).await {
            Ok(record) => assert_eq!(id(&record.marc().expect("MARC")), *known),
            Err(error) => {
                assert!(error.to_string().contains("does not answer"), "{error}");
                missing += 1;
            }
        }
    }
    assert!((1..90).contains(&missing), "{missing}");
    let error = large.record(50).await.expect_err("other positions");
    assert!(error.to_string().contains("search again"), "{error}");
    let part = connection.search(everything()).await.expect("hits");
    // Even without one node, the set is large.
    assert!((1001..1800).contains(&part.count()), "{}", part.count());
    assert!(part.record(50).await.is_ok());
    engine.restart("node-1");
    assert!(large.record(50).await.is_ok());
    let error = part.record(70).await.expect_err("other positions");
    assert!(error.to_string().contains("search again"), "{error}");
    for (position, known) in (1..=100).zip(&ids) {
        let record = small.record(position).await.expect("a record");
        assert_eq!(id(&record.marc().expect("MARC")), *known);
    }
}

/// Each search must use all nodes, however many searches run at once, even if a node has just been restarted.
#[tokio::test]
async fn many_searches_at_once_use_a_node_that_comes_back() {
    let all = records(60);
    let Some(Served { mut engine, daemon }) = served(&all, "strict = true") else {
        return;
    };
    let mut clients = Vec::new();
    for _ in 0..40 {
        clients.push(connected(daemon.address(), "books").await);
    }
    for round in 0..10 {
        let mut searches = JoinSet::new();
        for client in &clients {
            let client = client.clone();
            searches.spawn(async move { client.search(everything()).await });
        }
        for hits in searches.join_all().await {
            assert_eq!(hits.expect("all nodes").count(), 60, "round {round}");
        }
        if round == 4 {
            engine.restart("node-2");
        }
    }
}
