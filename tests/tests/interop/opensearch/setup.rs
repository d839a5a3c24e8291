//! Tests of the nodes themselves: which versions run here, and that one can be killed, stopped and restarted.

use z3950_tests::opensearch::{Cluster, NodeProgram};

#[test]
fn versions_2_and_3_answer() {
    let major = |cluster: &Cluster| {
        let (_, about) = cluster.ask("GET", "/", "");
        let version = about["version"]["number"].as_str().expect("a version");
        version.split('.').next().map(str::to_owned)
    };
    if let Some(cluster) = Cluster::shared() {
        assert_eq!(major(cluster).as_deref(), Some("2"));
    }
    if let Some(program) = NodeProgram::of_three() {
        assert_eq!(major(&Cluster::start(&program, 1)).as_deref(), Some("3"));
    }
}

#[test]
fn a_node_is_killed_stopped_and_restarted() {
    let Some(mut cluster) = Cluster::to_damage() else {
        return;
    };
    cluster.kill(1);
    cluster.restart(1);
    cluster.signal(2, "STOP");
    cluster.signal(2, "CONT");
    cluster.wait_for_green();
}
