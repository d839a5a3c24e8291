//! Tests of `z3950d` in front of Solr: other programs as clients, the requests that Solr receives, and the command that a
//! librarian runs first.

use z3950_tests::peer;
use z3950_tests::program::run;
use z3950_tests::solr::{SolrNodes, SolrShape};
use z3950_tests::surroundings::command;

use super::Filled;
use super::home::{Home, Served, check};
use crate::interop::sru::installed;

/// The fields of a schema that the tests use: the title fields, and the index that is listed.
struct Expected {
    shape: SolrShape,
    titles: &'static [&'static str],
    /// The index that is listed, given by its Use value, its field, and its name in CQL.
    listed: (i64, &'static str, &'static str),
}

const SHAPES: [Expected; 2] = [
    Expected {
        shape: SolrShape::VuFind,
        titles: &["title_full", "title_alt", "title_new", "title_old"],
        listed: (1003, "author_facet", "dc.creator"),
    },
    Expected {
        shape: SolrShape::Blacklight,
        titles: &["title_tsim", "title_addl_tsim"],
        listed: (21, "subject_ssim", "dc.subject"),
    },
];

#[test]
fn clients_search_show_scan_and_sort() {
    for expected in SHAPES {
        let Some(filled) = Filled::new(expected.shape, "served", 120) else {
            return;
        };
        let lines = format!("catalogue = \"{}\"", expected.shape.name());
        let home = Home::new(&filled.nodes.urls(&filled.collection), &lines);
        let served = home.serve();
        let peace = filled.naive.phrase(expected.titles, "peace").len();
        assert!(peace > 10);
        yaz_client_is_answered(&served, &filled, &expected, peace);
        zoomsh_is_answered(&served);
        sru_clients_are_answered(&served, &expected, peace);
        the_page_shows_records(&served, peace);
        assert_eq!(served.count("ti:peace"), peace);
    }
}

fn yaz_client_is_answered(served: &Served, filled: &Filled, expected: &Expected, peace: usize) {
    let (use_value, field, _) = expected.listed;
    let terms: Vec<(String, usize)> = filled.naive.terms(field).into_iter().collect();
    let [before, start, after] = &terms[1..4] else {
        panic!("{terms:?}")
    };
    let commands = format!(
        "find @attr 1=4 peace\nformat usmarc\nshow 1+2\nformat xml\nshow 1\nformat sutrs\nshow 1\nformat grs-1\nshow 1\n\
         format opac\nshow 1\nformat usmarc\nshow 11+3\nsort 1=4 <\nshow 1\nscanpos 2\nscansize 3\nscan @attr 1={use_value} @attr 4=1 {{{}}}\n\
         find @attr 1=12 id7\nshow 1\nfind @attr 1=9999 x",
        start.0
    );
    let Some(printed) = served.yaz(&commands) else {
        return;
    };
    let hits = format!("Number of hits: {peace},");
    let line = |(term, count): &(String, usize)| format!("{term} ({count})");
    let (before, start, after) = (line(before), line(start), line(after));
    let expected = [
        &*hits,
        "Records: 2",
        "245 ",
        "245 ",
        "Record type: XML",
        "<datafield tag=\"245\"",
        "Record type: SUTRS",
        "Record type: GRS-1",
        "Record type: OPAC",
        "Records: 3",
        "status=success",
        "245 ",
        &before,
        &start,
        &after,
        "Number of hits: 1,",
        "001 id7",
        "[114]",
    ];
    check(&printed, &expected);
}

fn zoomsh_is_answered(served: &Served) {
    let Some(client) = peer::find("zoomsh") else {
        return;
    };
    let mut zoomsh = command(client);
    zoomsh.arg("-e").arg(format!("connect {}", served.target()));
    zoomsh.args([
        "set preferredRecordSyntax usmarc",
        "search @attr 1=4 @attr 5=1 pea",
        "show 0 1",
        "quit",
    ]);
    check(&run(&mut zoomsh, "").stdout, &["hits", "245 "]);
}

/// A Python program that prints the number of records found and the number of records read.
pub(in crate::interop) const SRUTHI: &str = "
import sys, sruthi
found = sruthi.Client(sys.argv[1], maximum_records=10).searchretrieve('title = peace')
print(found.count, len(list(found)))
";

fn sru_clients_are_answered(served: &Served, expected: &Expected, peace: usize) {
    if let Some(python) = installed("Z3950_SRU_PYTHON", "bin/python") {
        let ran = run(command(python).args(["-c", SRUTHI, &served.url()]), "");
        assert_eq!(ran.stdout, format!("{peace} {peace}\n"), "{}", ran.stderr);
    }
    let (_, _, index) = expected.listed;
    let facets = format!("facetLimit=3:{index}");
    let Some(found) = served.sru("title=peace sortby title", &["maximumRecords=2", &facets]) else {
        return;
    };
    let hits = format!("numberOfRecords>{peace}<");
    check(&found, &[&hits, "tag=\"245\"", "facetedResults", "count>"]);
    let scanned = served.http(
        "town",
        &[
            "version=2.0",
            "operation=scan",
            "scanClause=dc.language exact E",
        ],
    );
    check(&scanned.unwrap_or_default(), &["English"]);
}

fn the_page_shows_records(served: &Served, peace: usize) {
    let Some(page) = served.http("search", &["q=ti:peace", "target=town"]) else {
        return;
    };
    check(&page, &[&format!("{peace} records"), "Narrow the search"]);
}

/// A client's request never changes anything in a collection, and Solr never parses a client's text as a query.
#[test]
fn solr_gets_requests_that_only_read() {
    const HOSTILE: [&str; 6] = [
        "{!lucene}*:*",
        "_query_:\"*:*\"",
        "war OR title_full:*",
        "${solr.home} $z0",
        "/.*/ [* TO *] war~9",
        "&fq=id:id1&qt=/update",
    ];
    let Some(filled) = Filled::new(SolrShape::VuFind, "watched", 40) else {
        return;
    };
    let (nodes, collection) = (filled.nodes, &*filled.collection);
    let loaded = nodes.log(collection);
    assert!(loaded.iter().any(|line| line.contains("path=/update")));
    let home = Home::new(&nodes.urls(collection), "catalogue = \"vufind\"");
    let checked = home.check();
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let served = home.serve();
    let commands = HOSTILE.map(|text| {
        let term = text.replace('\\', "\\\\").replace('"', "\\\"");
        [
            "1=4",
            "1=4 @attr 4=6",
            "1=1016 @attr 5=1",
            "1=12",
            "1=54",
            "1=7",
            "1=31",
        ]
        .map(|attributes| format!("find @attr {attributes} \"{term}\"\n"))
        .concat()
            + &format!("scan @attr 1=1003 @attr 4=1 \"{term}\"\n")
    });
    let scans = "sort 1=4 <\nscanpos 5\nscan @attr 1=4 @attr 4=1 war\n";
    let printed = served.yaz(&format!(
        "{}find @attr 1=4 war\nshow 1+15\n{scans}",
        commands.concat()
    ));
    if printed.is_none() {
        return;
    }
    home.write(
        "one.mrk",
        "=LDR  00000nam a2200000 a 4500\n=001  new\n=245  10$anew\n\n",
    );
    let updated = served.yaz("update insert new <one.mrk");
    assert!(updated.is_some_and(|printed| !printed.contains("status=done")));
    let sent = nodes.log(collection).split_off(loaded.len());
    assert!(sent.len() > HOSTILE.len() * 5, "{sent:#?}");
    let reads = ["/select", "/terms", "/analysis/field", "/admin/luke"];
    for line in &sent {
        let is_read = reads
            .iter()
            .any(|path| line.contains(&format!(" path={path} ")));
        assert!(
            line.starts_with("INFO ") && is_read && line.contains(" status=0 "),
            "{line}"
        );
        // The parsed part of the query contains only names of parameters. The texts of the parameters are in another part of the
        // body.
        let query = line
            .split("\"query\":")
            .skip(1)
            .map(|part| part.split('}').next());
        for parsed in query.flatten() {
            assert!(
                !HOSTILE.iter().any(|text| parsed.contains(text)),
                "{parsed} in {line}"
            );
        }
    }
}

#[test]
fn a_core_is_looked_at() {
    for (shape, answered) in [
        (
            SolrShape::VuFind,
            &["author: words, masks, keys, scan, facet, sort"][..],
        ),
        (
            SolrShape::Blacklight,
            &["subject: words, masks, keys, scan, facet"],
        ),
    ] {
        let Some(filled) = Filled::new(shape, "seen", 30) else {
            return;
        };
        let url = &filled.nodes.urls(&filled.collection)[0];
        let home = Home::new(std::slice::from_ref(url), "catalogue = \"nothing\"");
        let seen = home.run(&["try-catalogue", url]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        let fits = format!("catalogue = \"{}\" fits", shape.name());
        check(
            &seen.stdout,
            &["Solr, index solr/", &fits, "30 records can be found"],
        );
        check(&seen.stdout, answered);
        home.set(
            std::slice::from_ref(url),
            &format!("catalogue = \"{}\"", shape.name()),
        );
        assert_eq!(home.check().code, Some(0));
    }
    let Some(nodes) = SolrNodes::shared() else {
        return;
    };
    let other = nodes.create_of("other", "strange");
    let url = &nodes.urls(&other)[0];
    let home = Home::new(std::slice::from_ref(url), "catalogue = \"vufind\"");
    let seen = home.run(&["try-catalogue", url]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    check(
        &seen.stdout,
        &[
            "No map fits:",
            "vufind: it has no records",
            "blacklight: it has no records",
        ],
    );
    let checked = home.check();
    assert_eq!(checked.code, Some(2), "{checked:?}");
    check(
        &checked.stderr,
        &["z3950d.toml:3: database town: ", "it has no records"],
    );
    let absent = url.replace(&other, "absent");
    home.set(std::slice::from_ref(&absent), "catalogue = \"vufind\"");
    for arguments in [
        &["try-catalogue", &*absent][..],
        &["--config", "z3950d.toml", "--check"],
    ] {
        let seen = home.run(arguments);
        assert_eq!(seen.code, Some(2), "{seen:?}");
        check(&seen.stderr, &["there is no index solr/absent"]);
    }
}

#[test]
fn the_maps_are_printed_with_the_meanings_of_their_keys() {
    let home = Home::new(&[], "");
    for (name, lines) in [
        (
            "vufind",
            &[
                "engine = \"solr\"",
                "[record]",
                "field = \"fullrecord\"",
                "words = [\"title_full\"",
            ][..],
        ),
        (
            "blacklight",
            &[
                "engine = \"solr\"",
                "[record]",
                "field = \"marc_ss\"",
                "words = [\"title_tsim\"",
            ],
        ),
    ] {
        let printed = home.run(&["--print-map", name]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        check(&printed.stdout, lines);
    }
}
