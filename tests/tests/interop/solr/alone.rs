//! Tests of `z3950d` in front of a Solr server that does not belong to a cluster and requires passwords, with and without TLS.

use z3950_tests::opensearch::gate::{Gate, Passage, certified};
use z3950_tests::program::z3950;
use z3950_tests::solr::{READER, RecordForm, STRANGER, SolrNodes, SolrShape, vufind_document};

use super::home::{Home, check};
use super::records;

/// Creates a core with artificial records, and returns its name.
fn core(nodes: &SolrNodes, name: &str, number: usize) -> String {
    let core = nodes.create(SolrShape::VuFind, name);
    let records = records(number);
    let documents = records
        .iter()
        .map(|one| vufind_document(one, RecordForm::Iso2709));
    nodes.load(&core, &documents.collect::<Vec<_>>());
    core
}

#[test]
fn a_server_without_a_cluster_answers_as_one_with_it() {
    let (Some(alone), Some(cluster)) = (SolrNodes::alone(), SolrNodes::shared()) else {
        return;
    };
    let number = 80;
    let core = core(alone, "alone", number);
    let filled = super::Filled::new(SolrShape::VuFind, "beside", number).expect("nodes");
    let lines = "catalogue = \"vufind\"";
    let own = Home::new(
        &alone.urls(&core),
        &format!("{lines}\ncredentials = \"password\""),
    );
    own.write("password", READER);
    let other = Home::new(&cluster.urls(&filled.collection), lines);
    let looked = own.run(&[
        "try-catalogue",
        &alone.urls(&core)[0],
        "--credentials",
        "password",
    ]);
    check(
        &looked.stdout,
        &[
            "Solr, index solr/",
            "\"vufind\" fits",
            "80 records can be found",
        ],
    );
    assert_eq!(own.check().code, Some(0));
    let (own, other) = (own.serve(), other.serve());
    for query in [
        "ti:war",
        "au:tolstoy",
        "@attr 1=4 @attr 5=1 pea",
        "@attr 1=31 @attr 2=2 1930",
        "@prox 0 3 0 2 k 2 @attr 1=1016 war @attr 1=1016 peace",
    ] {
        let (found, expected) = (own.count(query), other.count(query));
        assert_eq!(found, expected, "{query}");
        assert!(found > 0, "{query}");
    }
    let commands = "find @attr 1=4 war\nformat usmarc\nshow 1+12\nsort 1=4 <\nshow 3+2\nscanpos 3\nscansize 5\nscan @attr 1=4 @attr 4=1 history\n\
         scan @attr 1=1003 @attr 4=1 {Müller, Herta}\nscan @attr 1=31 @attr 4=1 1930";
    let shown = |printed: Option<String>| {
        let lines = printed.unwrap_or_default();
        let lines = lines.lines().filter(|line| !line.starts_with("Elapsed"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (found, expected) = (shown(own.yaz(commands)), shown(other.yaz(commands)));
    assert_eq!(found, expected);
    if !found.is_empty() {
        assert!(
            found.iter().filter(|line| line.starts_with("245 ")).count() >= 14,
            "{found:#?}"
        );
        assert!(
            found.iter().filter(|line| line.starts_with('*')).count() >= 1,
            "{found:#?}"
        );
    }
    if let Some(page) = own.http("search", &["q=ti:war", "target=town"]) {
        check(&page, &[&format!("{} records", other.count("ti:war"))]);
    }
}

/// Only one user is permitted to read from Solr. The password is in a file, and is never printed.
#[test]
fn passwords_and_certificates_are_used_and_reported() {
    let Some(nodes) = SolrNodes::alone() else {
        return;
    };
    let core = core(nodes, "guarded", 20);
    let (tls, ca) = certified("127.0.0.1", 4000);
    let gate = Gate::open_tls(nodes.ports()[0], tls, |_| Passage::Through);
    let plain = nodes.urls(&core);
    let secure = vec![format!("https://127.0.0.1:{}/solr/{core}", gate.port)];
    let lines = "catalogue = \"vufind\"";
    for (urls, lines) in [
        (&plain, lines.to_owned()),
        (&secure, format!("{lines}\nca = \"ca.pem\"")),
    ] {
        let home = Home::new(urls, &format!("{lines}\ncredentials = \"password\""));
        home.write("ca.pem", &ca);
        home.write("password", READER);
        assert_eq!(home.check().code, Some(0));
        let served = home.serve();
        assert_eq!(served.count("@attr 1=1016 @attr 2=103 x"), 20);
        for wrong in ["reader:secret word", STRANGER] {
            home.write("password", wrong);
            let refused = home.check();
            assert_eq!(refused.code, Some(2), "{wrong}: {refused:?}");
            check(
                &refused.stderr,
                &["z3950d.toml:3: ", "the search engine denies access"],
            );
            let secrets = ["secret word", "SolrRocks", "Basic ", "<html"];
            assert!(
                !secrets.iter().any(|secret| refused.stderr.contains(secret)),
                "{refused:?}"
            );
        }
        home.set(urls, &lines);
        check(&home.check().stderr, &["the search engine denies access"]);
    }
    // The server's certificate was not signed by this authority.
    let (_, other) = certified("127.0.0.1", 4000);
    let home = Home::new(&secure, &format!("{lines}\nca = \"ca.pem\""));
    home.write("ca.pem", &other);
    check(&home.check().stderr, &["not signed by an authority"]);
    let served = home.serve();
    let refused = z3950(["search", &served.target(), "ti:war"]);
    check(&refused.stderr, &["109"]);
}
