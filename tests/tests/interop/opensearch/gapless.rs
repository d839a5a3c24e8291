//! Tests of searches during a reload of all records. Every answer contains either only old or only new records.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::runtime::Runtime;
use z3950::{Client, Connection, Query, ResultSet};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::query::parse_pqf;
use z3950_server::backend::{
    Backend, Composition, DatabaseName, Hits, Retrieve, RetrieveMany, Search,
};
use z3950_tests::opensearch::Cluster;
use z3950_tests::program::Daemon;

use super::served::opened;
use super::{Home, assert_ran};

/// The word and the number of records in each state of the database. The server keeps the identifiers of all records in a result
/// set only up to 1,000 records, so it keeps them in the first state and not in the second.
const STATES: [(&str, usize); 2] = [("war", 300), ("peace", 1300)];
const CLIENTS: usize = 10;

/// Runs a search, retrieves records at several positions, and checks that they all belong to one state. Returns the index of this
/// state in [`STATES`].
async fn look(connection: &Connection) -> Result<usize, z3950::Error> {
    let hits = connection.search(Query::title("common")).await?;
    let mut states = STATES.iter();
    let state = states.position(|(_, records)| u64::try_from(*records) == Ok(hits.count()));
    let state = state.unwrap_or_else(|| panic!("{} records", hits.count()));
    let (word, records) = STATES[state];
    for start in [0, 8, 120, records - 10] {
        for title in titles(&hits, start).await? {
            assert!(title.contains(word), "{title} in {word} at {start}");
        }
    }
    Ok(state)
}

async fn titles(hits: &ResultSet, start: usize) -> Result<Vec<String>, z3950::Error> {
    // Positions are counted from 1.
    let first = u64::try_from(start).expect("small") + 1;
    let records = hits.range(first..first + 10).collect().await?;
    let titles = records
        .iter()
        .map(|record| record.title().expect("a title"));
    Ok(titles.map(|title| title.to_string()).collect())
}

#[test]
fn audit_r_l1_clients_notice_nothing_of_a_reload() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "gapless");
    home.set("answer-time = 4");
    for (word, records) in STATES {
        home.write(
            &format!("{word}.mrc"),
            &format!("common {word}"),
            1..=records,
        );
    }
    assert_ran(&home.run(&["load", "war.mrc"]), 0, &["300 records loaded"]);
    let settings = home.settings();
    let daemon = Daemon::start(["--config", settings.to_str().expect("text")]);
    let target = format!("{}/books", daemon.address());
    let runtime = Runtime::new().expect("a runtime");
    let is_done = Arc::new(AtomicBool::new(false));
    let seen: Arc<[AtomicUsize; 2]> = Arc::default();
    let clients = (0..CLIENTS).map(|_| {
        let (target, is_done, seen) = (target.clone(), Arc::clone(&is_done), Arc::clone(&seen));
        runtime.spawn(async move {
            let connection = Client::new().connect(&target).await.expect("a session");
            while !is_done.load(Ordering::Relaxed) {
                let state = look(&connection).await.expect("no error");
                seen[state].fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    for file in ["peace.mrc", "war.mrc", "peace.mrc"] {
        let reloaded = home.run(&["load", "--reload", file]);
        assert_ran(&reloaded, 0, &["takes its place", "is deleted in 4 s"]);
    }
    is_done.store(true, Ordering::Relaxed);
    for client in clients {
        runtime.block_on(client).expect("no panic");
    }
    let seen = seen.each_ref().map(|seen| seen.load(Ordering::Relaxed));
    println!("{CLIENTS} clients: {seen:?} searches before and after reloads");
    assert!(seen.iter().all(|seen| *seen >= CLIENTS), "{seen:?}");
    assert_eq!(home.indexes(), [home.state().0]);
}

/// Presents records from a result set. Returns the condition of the first diagnostic, if there is one.
async fn present(backend: &dyn Backend, hits: &Hits, start: usize) -> Result<(), i64> {
    let composition = Composition::full(None);
    let ids = hits.ids(start..start + 5);
    if let Some(prepared) = backend.prepare(RetrieveMany::new(hits, &ids, &composition)) {
        prepared.await.map_err(|why| why.condition)?;
    }
    for id in ids {
        let retrieved = backend.record(Retrieve::new(hits, id, &composition)).await;
        let retrieved = retrieved.map_err(|why| why.condition)?;
        retrieved.record.map_err(|why| why.condition)?;
    }
    Ok(())
}

/// A result set whose records were replaced is reported as deleted. The records that were returned with the search remain
/// available, and the result set can still be used as an operand.
#[test]
fn audit_r_l1_a_set_from_before_a_reload_is_reported_as_deleted() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let runtime = Runtime::new().expect("a runtime");
    for (word, records) in STATES {
        let home = Home::new(cluster, "before");
        home.set("answer-time = 3");
        home.write("all.mrc", word, 1..=records);
        assert_ran(&home.run(&["load", "all.mrc"]), 0, &[]);
        let database = opened(&home, false);
        let names = [DatabaseName::from("books")];
        let search = |pqf: &str, set: Option<&Hits>| {
            let query = parse_pqf(pqf).expect("a query");
            let of_set = |_: &[u8]| set.cloned();
            let mut search = Search::new(&names, &query);
            search.result_set = &of_set;
            runtime
                .block_on(database.search(search))
                .expect("found")
                .hits
        };
        let title = format!("@attr 1=4 {word}");
        let [asked, untouched] = [search(&title, None), search(&title, None)];
        let present = |hits: &Hits, start| runtime.block_on(present(&database, hits, start));
        assert_eq!(present(&asked, 100), Ok(()));
        // The same records are loaded again, so that only the index differs.
        assert_ran(&home.run(&["load", "--reload", "all.mrc"]), 0, &[]);
        for hits in [&asked, &untouched] {
            assert_eq!(present(hits, 0), Ok(()));
            assert_eq!(present(hits, 200), Err(Condition::RESULT_SET_DELETED.0));
            let again = search("@set 1", Some(hits));
            assert_eq!((again.len(), present(&again, 200)), (records, Ok(())));
        }
    }
}
