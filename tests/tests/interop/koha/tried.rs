//! Tests of the output and the exit codes of the command that examines an index for the first time.

use serde_json::json;
use z3950_tests::koha::{Edition, KohaIndex, made_up, shared_node};
use z3950_tests::opensearch::own_index;
use z3950_tests::ports::free_port;
use z3950_tests::program::Ran;
use z3950_tests::solr::{SolrNodes, SolrShape};

use super::served::{Home, check};

/// Checks the exit code, and that these texts are printed in this order.
fn told(ran: &Ran, code: i32, expected: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let printed = if code == 2 { &ran.stderr } else { &ran.stdout };
    check(printed, expected);
}

#[test]
fn an_index_of_koha_is_described() {
    let Some(cluster) = shared_node() else {
        return;
    };
    for (edition, expected) in [
        (
            Edition::Current,
            &[
                "Answered:\n",
                "  title: words, masks, whole, keys, ranges, scan, sort\n",
            ][..],
        ),
        (
            Edition::Older,
            &[
                "Answered:\n",
                "  isbn: words",
                "the type of the field local-number does not allow number",
            ],
        ),
    ] {
        let index = KohaIndex::filled(cluster, "seen", edition, &made_up(10));
        let home = Home::new(&index, "catalogue = \"koha\"");
        let found = super::brute::shown(&index).count();
        let seen = home.run(&["try-catalogue", &index.address()]);
        let first = format!(", index {}\n", index.name);
        let fits =
            format!("catalogue = \"koha\" fits: 52 of 52 indexes, {found} records can be found\n");
        told(
            &seen,
            0,
            &[&["OpenSearch 2.", &*first, &*fits][..], expected].concat(),
        );
        let checked = home.run(&["--config", "z3950d.toml", "--check"]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
    }
}

#[test]
fn other_indexes_are_distinguished_from_those_of_koha() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "one", Edition::Current, &made_up(10));
    let second = KohaIndex::filled(cluster, "two", Edition::Current, &made_up(10));
    let at = |name: &str| KohaIndex {
        cluster,
        name: name.to_owned(),
        documents: Vec::new(),
    };
    let put = |path: &str, body: &serde_json::Value| {
        let (status, answer) = cluster.ask("PUT", path, &body.to_string());
        assert_eq!(status, 200, "{answer}");
    };
    // This index does not belong to a library.
    let other = own_index("other");
    let body = json!({ "mappings": { "properties": { "name": { "type": "text" } } } });
    put(&format!("/{other}"), &body);
    // This alias points to the indexes of two libraries.
    let alias = own_index("both");
    for index in [&index, &second] {
        put(&format!("/{}/_alias/{alias}", index.name), &json!({}));
    }
    // z3950d created this index for its own records.
    let own = own_index("own");
    let home = Home::new(&at(&own), "");
    let created = home.run(&["engine-create", "--config", "z3950d.toml"]);
    assert_eq!(created.code, Some(0), "{created:?}");
    for (name, code, expected, checked) in [
        (
            &other,
            1,
            &[
                "No map fits:\n",
                "  koha: it has no records\n",
                "  vufind: ",
            ][..],
            "is not one of Koha's: it has no records",
        ),
        (
            &own,
            1,
            &["This is an index of z3950d's own: it is served without catalogue\n"],
            "is not one of Koha's: ",
        ),
        (
            &alias,
            2,
            &[
                "cannot look at ",
                " is an alias of 2 indexes; name one of them\n",
            ],
            "is an alias of 2 indexes; name one of them",
        ),
        (
            &"absent".to_owned(),
            2,
            &["cannot look at ", "there is no index absent\n"],
            "there is no index absent",
        ),
    ] {
        let index = at(name);
        let home = Home::new(&index, "catalogue = \"koha\"");
        told(
            &home.run(&["try-catalogue", &index.address()]),
            code,
            expected,
        );
        let refused = home.run(&["--config", "z3950d.toml", "--check"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        check(
            &refused.stderr,
            &["z3950d.toml:3: database town: ", checked],
        );
    }
    // Nothing listens at this address.
    let nowhere = format!("http://127.0.0.1:{}/koha_library_biblios", free_port());
    told(
        &home.run(&["try-catalogue", &nowhere]),
        2,
        &["cannot look at ", "refused"],
    );
}

#[test]
fn an_index_of_vufind_is_not_taken_for_one_of_koha() {
    let (Some(cluster), Some(nodes)) = (shared_node(), SolrNodes::shared()) else {
        return;
    };
    let collection = nodes.create(SolrShape::VuFind, "tried");
    let index = KohaIndex {
        cluster,
        name: "unused".to_owned(),
        documents: Vec::new(),
    };
    let home = Home::new(&index, "catalogue = \"koha\"");
    let seen = home.run(&["try-catalogue", &nodes.urls(&collection)[0]]);
    told(
        &seen,
        0,
        &["Solr, index solr/", "catalogue = \"vufind\" fits: "],
    );
    // The settings name the wrong map.
    let url = nodes.urls(&collection).swap_remove(0);
    let text = format!("[[database]]\nname = \"town\"\nengine = \"{url}\"\ncatalogue = \"koha\"\n");
    std::fs::write(home.folder.path().join("z3950d.toml"), text).expect("written");
    let refused = home.run(&["--config", "z3950d.toml", "--check"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    check(
        &refused.stderr,
        &["z3950d.toml:3: database town: there is no index "],
    );
}
