//! Tests of changes to an index while it is served: records are deleted, the index is rebuilt, or fields are renamed.

use serde_json::json;
use z3950_tests::koha::{Edition, KohaIndex, made_up, shared_node};
use z3950_tests::opensearch::{Cluster, own_index};
use z3950_tests::program::{Daemon, Ran, z3950};

use super::brute::shown;
use super::served::Home;
use super::{all_records, hits, number, opened, page, without_fields};

/// Gives an alias to an index. The index that had the alias before is deleted.
fn name(cluster: &Cluster, alias: &str, old: Option<&KohaIndex<'_>>, new: &KohaIndex<'_>) {
    let old = old.map(|old| json!({ "remove_index": { "index": old.name } }));
    let new = json!({ "add": { "index": new.name, "alias": alias } });
    let actions: Vec<_> = old.into_iter().chain([new]).collect();
    let body = json!({ "actions": actions }).to_string();
    let (status, answer) = cluster.ask("POST", "/_aliases", &body);
    assert_eq!(status, 200, "{answer}");
}

/// Returns the index to which an alias points.
fn behind<'c>(cluster: &'c Cluster, alias: &str) -> KohaIndex<'c> {
    KohaIndex {
        cluster,
        name: alias.to_owned(),
        documents: Vec::new(),
    }
}

/// If a record is deleted after records were presented, it is replaced with a diagnostic, and the other records keep their
/// positions.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_gone_is_a_diagnostic_in_its_place() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "gone", Edition::Current, &made_up(30));
    let engine = opened(&index);
    let all = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    let before = all_records(&engine, &all).await;
    let again = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    // After a Present beyond the first page, the record numbers of the result set have been read, so it keeps its records even if
    // the index changes.
    page(&engine, &again, 10, 2).await.expect("records");
    let late = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    index.delete(&[number(&before[20])]);
    assert_eq!(page(&engine, &late, 10, 2).await.err(), Some(27));
    let records = page(&engine, &again, 0, again.len())
        .await
        .expect("records");
    for (at, (record, expected)) in records.iter().zip(&before).enumerate() {
        if at == 20 {
            assert!(record.is_err(), "{record:?}");
        } else {
            assert_eq!(record.as_ref().map(number), Ok(number(expected)), "{at}");
        }
    }
}

/// If a rebuilt index replaces the old one while result sets exist, their records come from the new index.
#[tokio::test(flavor = "multi_thread")]
async fn an_alias_may_move_to_an_index_that_is_built_anew() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let old = KohaIndex::filled(cluster, "old", Edition::Current, &made_up(30));
    let new = KohaIndex::filled(cluster, "new", Edition::Current, &made_up(30));
    let alias = own_index("alias");
    name(cluster, &alias, None, &old);
    let named = behind(cluster, &alias);
    let engine = opened(&named);
    let all = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    name(cluster, &alias, Some(&old), &new);
    let records = all_records(&engine, &all).await;
    let numbers: Vec<usize> = records.iter().map(number).collect();
    let expected: Vec<usize> = shown(&new).map(|document| document.number).collect();
    assert_eq!(numbers, expected);
    // When the alias points to an index with different records, a result set cannot return records at positions whose record
    // numbers have not been read.
    let known = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    page(&engine, &known, 10, 2).await.expect("records");
    let late = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    let fewer = KohaIndex::filled(cluster, "fewer", Edition::Current, &made_up(20));
    name(cluster, &alias, Some(&new), &fewer);
    assert_eq!(page(&engine, &late, 10, 2).await.err(), Some(27));
    let records = page(&engine, &known, 0, known.len())
        .await
        .expect("records");
    let outcomes: Vec<_> = { records.iter() }
        .map(|record| record.as_ref().map(number).map_err(|condition| *condition))
        .collect();
    let is_left = |number: usize| if number <= 20 { Ok(number) } else { Err(14) };
    let left: Vec<_> = expected.into_iter().map(is_left).collect();
    assert_eq!(outcomes, left);
}

/// A missing field must not be treated as a field in which nothing is found.
#[test]
fn fields_may_be_renamed_while_the_server_runs() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let old = KohaIndex::filled(cluster, "named", Edition::Current, &made_up(60));
    let new = without_fields(&old, &["subject", "publisher"]);
    let alias = own_index("renamed");
    name(cluster, &alias, None, &old);
    let home = Home::new(&behind(cluster, &alias), "catalogue = \"koha\"");
    let log = home.folder.path().join("log");
    let settings = home.folder.path().join("z3950d.toml");
    let daemon = Daemon::logging(["--config", settings.to_str().expect("text")], &log);
    let target = format!("{}/town", daemon.address());
    let search = |query: &str| z3950(["search", &*target, query, "--count", "0"]);
    let scan = |query: &str| z3950(["scan", &*target, query]);
    let war = search("@attr 1=4 war").stdout;
    for query in ["@attr 1=21 war", "@or @attr 1=4 war @attr 1=1018 press"] {
        assert!(!search(query).stdout.starts_with("0 "), "{query}");
    }
    assert_eq!(scan("@attr 1=21 @attr 4=1 a").code, Some(0));
    name(cluster, &alias, Some(&old), &new);
    let refused = |ran: &Ran| ran.code != Some(0) && ran.stderr.contains("114");
    for query in [
        // This query would find records if the missing field were ignored, so the server has to detect that the alias now points
        // to a different index.
        "@or @attr 1=4 war @attr 1=1018 press",
        "@attr 1=21 war",
        "@attr 1=1018 @attr 4=1 press",
    ] {
        let ran = search(query);
        assert!(refused(&ran), "{query}: {ran:?}");
    }
    let ran = scan("@attr 1=21 @attr 4=1 a");
    assert!(refused(&ran), "{ran:?}");
    assert_eq!(search("@attr 1=4 war").stdout, war);
    let log = std::fs::read_to_string(&log).expect("a log");
    for words in [
        "the index has changed",
        "there is no field subject for words of subject, so subject is not offered",
        "so publisher is not offered",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
}
