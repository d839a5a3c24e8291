//! Tests of nodes that are killed while records are loaded.

use std::process::Stdio;

use z3950_tests::opensearch::Cluster;

use super::{Home, assert_ran};

#[test]
fn a_load_outlives_a_node() {
    let Some(mut cluster) = Cluster::to_damage() else {
        return;
    };
    let (index, mut load, folder) = {
        let home = Home::new(&cluster, "outlived");
        home.write("all.mrc", "war", 1..=20_000);
        assert_ran(&home.run(&["engine-create"]), 0, &["created"]);
        let mut command = home.command(&["load", "all.mrc"]);
        let load = command.stderr(Stdio::null()).spawn().expect("starts");
        (home.index, load, home.folder)
    };
    // An index has no replicas during its first load, so the shards of the node are missing until it runs again.
    cluster.kill(1);
    cluster.restart(1);
    let ended = load.wait().expect("ended");
    assert!(ended.success(), "{ended}");
    let home = Home {
        cluster: &cluster,
        index,
        folder,
    };
    assert_eq!(home.count("*:*"), 20_000);
    cluster.wait_for_green();
}
