//! Tests of several databases at one server that together need more sessions than it allows.

use z3950::profile::Profiles;

use super::*;

/// Creates a server for each of these databases, whose records are at `at`. The profiles of all databases together allow only one
/// session with `at`.
fn crowded(at: &TestServer, databases: &[(&str, &str, Duration)]) -> Vec<TestServer> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("targets.toml");
    let profiles = databases.iter().map(|(name, database, _)| {
        format!(
            "[targets.{name}]\nhost = \"127.0.0.1\"\nport = {}\ndatabases = [\"{database}\"]\nsessions = 1\n",
            at.addr().port()
        )
    });
    std::fs::write(&path, profiles.collect::<String>()).expect("written");
    let profiles = Profiles::default().with_file(&path).expect("profiles");
    let client = Client::new().with_profiles(profiles);
    let servers = databases.iter().map(|(name, _, time)| {
        let mut options = RemoteOptions::new("union", [*name]);
        options.target_time = *time;
        let database = RemoteDatabase::new(&client, options).expect("targets");
        TestServer::builder().backend(Arc::new(database)).start()
    });
    servers.collect()
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn idle_sessions_give_way_to_other_databases() {
    let one = catalogue("a", 12).start();
    let databases = [
        ("one", "cat", LONG),
        ("two", "cat", LONG),
        ("three", "cat", LONG),
    ];
    let mut kept = Vec::new();
    let fronts = crowded(&one, &databases);
    for (front, (name, ..)) in fronts.iter().zip(databases) {
        let connection = connected(front, "union").await;
        let search = connection.search(Query::title("shared"));
        let hits = tokio::time::timeout(LONG / 3, search).await.expect(name);
        let hits = hits.expect(name);
        assert_eq!(hits.count(), 12, "{name}");
        kept.push(hits);
    }
    // Record 12 is not cached, and the databases share a single session, so each read has to repeat the search in that session.
    for hits in kept.iter().chain(&kept) {
        let record = tokio::time::timeout(LONG / 3, hits.record(12)).await;
        let record = record.expect("in time").expect("a record");
        assert_eq!(record.title().as_deref(), Some("Shared a12"));
    }
}

#[tokio::test]
async fn a_busy_server_is_not_blamed_for_requests_that_were_not_sent() {
    let catalogues = TestServer::builder()
        .database("slow", records("s", 1))
        .database("cat", records("a", 1))
        .rule("on search db=slow: silence");
    let one = catalogues.start();
    let short = Duration::from_millis(300);
    let fronts = crowded(&one, &[("slow", "slow", LONG), ("quick", "cat", short)]);
    let slow = connected(&fronts[0], "union").await;
    let asking = tokio::spawn(async move { slow.search(Query::title("shared")).await.map(drop) });
    while searches(&one) == 0 {
        tokio::task::yield_now().await;
    }
    let quick = connected(&fronts[1], "union").await;
    let failed = quick.search(Query::title("shared")).await;
    let words = failed.map(drop).expect_err("no session").to_string();
    assert!(words.contains("not asked: all sessions"), "{words}");
    assert_eq!(searches(&one), 1);
    asking.abort();
}
