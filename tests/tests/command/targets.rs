//! Tests of `z3950 targets`, which lists, shows, adds, removes and checks profiles.

use serde_json::Value;
use z3950_asn1::apdu::{Apdu, Query};
use z3950_server::testing::TestServer;
use z3950_tests::program::{Daemon, z3950};

#[test]
fn profiles_are_added_and_used_by_name() {
    let daemon = Daemon::start(["--demo"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("new/targets.toml");
    let file = file.to_str().expect("text");
    let targets =
        |arguments: &[&str]| z3950(["--targets", file, "targets"].iter().chain(arguments));
    assert_eq!(targets(&["path"]).stdout, format!("{file}\n"));
    let place = format!("{}/books", daemon.address());
    let ran = targets(&[
        "add",
        "mine",
        &place,
        "--title",
        "A \"library\"",
        "--syntax",
        "sutrs",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = targets(&["add", "other", "ssl:lib.example/a+b", "--docid", "1=12"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = targets(&[
        "add",
        "closed",
        "lib.example/x",
        "--user",
        "me",
        "--password-env",
        "SECRET",
        "--chunk",
        "5",
        "--pause",
        "0.5",
        "--sessions",
        "2",
        "--pipelined",
        "64",
        "--note",
        "by day only",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = targets(&["show", "closed", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(
        [
            &shown["credentials"],
            &shown["chunk"],
            &shown["pause"],
            &shown["sessions"],
            &shown["pipelined"],
            &shown["note"]
        ],
        [
            &Value::from(true),
            &5.into(),
            &0.5.into(),
            &2.into(),
            &64.into(),
            &"by day only".into()
        ]
    );
    let refused = targets(&["add", "many", "lib.example", "--pipelined", "65"]);
    assert!(
        refused.code == Some(2) && refused.stderr.contains("from 1 to 64"),
        "{refused:?}"
    );
    let replacing = targets(&["add", "loc", "lib.example"]);
    assert!(
        replacing
            .stderr
            .contains("it replaces the built-in target loc (lx2.loc.gov:210)"),
        "{replacing:?}"
    );
    assert!(!ran.stderr.contains("replaces"), "{ran:?}");
    let text = std::fs::read_to_string(file).expect("read");
    assert!(
        text.contains("[targets.closed.credentials]\npassword_env = \"SECRET\""),
        "{text}"
    );
    // The password is needed only when a session is opened.
    let ran = targets(&["check", "closed"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("SECRET"),
        "{ran:?}"
    );
    for (arguments, words) in [
        (&["add", "mine", "lib.example"][..], "already"),
        (&["add", "a b", "lib.example"], "letters"),
        (
            &["add", "bad", "lib.example", "--syntax", "klingon"],
            "klingon",
        ),
        (
            &["add", "bad", "lib.example", "--attribute", "foo"],
            "error: foo is not an attribute: ",
        ),
        (&["add", "bad", "unix:/run/z"], "socket"),
    ] {
        let ran = targets(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
    let ran = targets(&["list"]);
    assert!(
        ran.stdout.contains("mine *") && ran.stdout.contains("loc "),
        "{ran:?}"
    );
    let ran = targets(&["show", "mine", "--json"]);
    let shown: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(shown["title"], "A \"library\"");
    assert_eq!(shown["databases"], serde_json::json!(["books"]));
    let ran = targets(&["show", "other"]);
    assert!(ran.stdout.starts_with("name "), "{ran:?}");
    assert!(ran.stdout.contains("docid           1=12\n"), "{ran:?}");
    let ran = targets(&["check", "mine"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(": ok, version 3"), "{ran:?}");
    let ran = z3950(["--targets", file, "search", "mine", "ti:pride"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("Title: Pride"), "{ran:?}");
    // The message names both the profile and the server, or only the server if the target was given as an address.
    let (host, named) = (
        daemon.address(),
        format!("note: mine ({}): ", daemon.address()),
    );
    assert!(ran.stderr.starts_with(&named), "{ran:?}");
    let ran = z3950(["--targets", file, "search", &place, "ti:pride"]);
    assert!(
        ran.stderr.starts_with(&format!("note: {host}/books: ")),
        "{ran:?}"
    );
}

#[test]
fn an_unknown_target_is_reported() {
    let ran = z3950(["targets", "check", "127.0.0.1:1"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.stderr.contains("cannot connect"), "{ran:?}");
    assert_eq!(z3950(["targets", "show", "nosuch.example"]).code, Some(3));
}

/// Several targets are checked at the same time, but reported in the given order.
#[test]
fn several_targets_are_checked() {
    let slow = Daemon::start(["--demo", "--fault", "on init: delay 500ms"]);
    let quick = Daemon::start(["--demo"]);
    let (slow, quick) = (slow.address().to_string(), quick.address().to_string());
    let ran = z3950(["targets", "check", &slow, "127.0.0.1:1", "bad host", &quick]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let names: Vec<&str> = ran
        .stdout
        .lines()
        .map(|line| line.split(": ").next().unwrap_or_default())
        .collect();
    assert_eq!(names, [&slow, &quick], "{ran:?}");
    assert!(
        ran.stderr
            .ends_with("note: 4 targets: 2 ok, 1 not sent, 1 unavailable\n"),
        "{ran:?}"
    );
    let ran = z3950(["targets", "check", &quick]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
}

#[test]
fn a_check_searches_the_databases() {
    for (fault, database, code, words) in [
        ("", "books", 0, ""),
        (
            "",
            "nosuch",
            5,
            "235 (there is no database of this name): nosuch",
        ),
        ("", "books+nosuch", 5, "nosuch"),
        // In YAZ's notation, the empty name stands for the default database.
        ("", "", 0, ""),
        ("on search: fail 109 books", "books", 5, "109 "),
        (
            "on search: fail 1",
            "books",
            5,
            "1 (the server has a permanent error",
        ),
        // These servers refuse the query but not the database, so the check succeeds.
        ("on search: fail 114 4", "books", 0, ""),
        ("on search: fail 3", "books", 0, ""),
        ("on search: fail 1056 x", "books", 0, ""),
        ("on search: count -1", "books", 0, ""),
        ("on search: cut 0", "books", 6, "connection closed"),
    ] {
        let fault = match fault {
            "" => vec![],
            fault => vec!["--fault", fault],
        };
        let daemon = Daemon::start(["--demo"].into_iter().chain(fault.iter().copied()));
        let target = format!("{}/{database}", daemon.address());
        let ran = z3950(["targets", "check", &target]);
        assert_eq!(ran.code, Some(code), "{fault:?} {database}: {ran:?}");
        assert!(ran.stderr.contains(words), "{fault:?} {database}: {ran:?}");
        assert_eq!(ran.stdout.contains(": ok, version 3"), code == 0, "{ran:?}");
    }
    let daemon = Daemon::start(["--demo"]);
    let target = format!("{}/nosuch", daemon.address());
    let ran = z3950(["targets", "check", &target, "--json"]);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(answer["outcome"], "search refused");
    assert_eq!(answer["diagnostic"]["code"], 235);
}

#[test]
fn r_f15_profiles_are_removed_and_the_rest_of_the_file_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("targets.toml");
    let before = "# ours\n\n[targets.one]\nhost = \"one.example\"\n\n# the old one\n[targets.loc]\nhost = \"loc.example\" # till May\n\n\
                  # kept\n[targets.two]\nhost = \"two.example\"\n";
    std::fs::write(&file, before).expect("written");
    let named = file.to_str().expect("text");
    let remove = |names: &[&str]| {
        z3950(
            ["--targets", named, "targets", "remove"]
                .iter()
                .chain(names),
        )
    };
    for (names, code, words) in [
        (
            &["bnf"][..],
            2,
            "bnf is built in and cannot be removed; a profile of the same name in ",
        ),
        (&["twoo"], 3, "; did you mean two?"),
        // If one of the targets cannot be removed, none of them is removed.
        (&["one", "nosuch"], 3, "nosuch is not in "),
        (&["one", "bnf"], 2, "bnf is built in"),
        (&[], 2, "<NAME>"),
    ] {
        let ran = remove(names);
        assert_eq!(ran.code, Some(code), "{names:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{names:?}: {ran:?}");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), before);
    }
    let ran = remove(&["LOC", "one", "one"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(
        ran.stderr.contains("loc is no longer in ")
            && ran
                .stderr
                .contains("; the built-in target loc (lx2.loc.gov:210) is used again\n")
            && ran.stderr.matches("one is no longer in ").count() == 1,
        "{ran:?}"
    );
    let after = "# ours\n\n# kept\n[targets.two]\nhost = \"two.example\"\n";
    assert_eq!(std::fs::read_to_string(&file).expect("read"), after);
    let ran = remove(&["one"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");

    // A profile within an inline table has to be edited by hand.
    let inline = "targets = { a = { host = \"a.example\" }, b = { host = \"b.example\" } }\n";
    std::fs::write(&file, inline).expect("written");
    let ran = remove(&["b"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("in an editor"),
        "{ran:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).expect("read"), inline);
    std::fs::write(&file, "targets = [").expect("written");
    assert_eq!(remove(&["b"]).code, Some(2));
    std::fs::write(&file, "").expect("written");
    assert_eq!(remove(&["b"]).code, Some(3));
    std::fs::remove_file(&file).expect("removed");
    assert_eq!(remove(&["b"]).code, Some(3));
    assert_eq!(remove(&["loc"]).code, Some(2));
    assert!(!file.exists(), "nothing is created");
}

#[test]
fn r_f15_the_list_is_of_profiles_that_have_the_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("targets.toml");
    let text = "[targets.mine]\nhost = \"lib.example\"\ntitle = \"Stadtbücherei Ölde\"\ndatabases = [\"Maps\"]\nnote = \"closed on Sundays\"\n";
    std::fs::write(&file, text).expect("written");
    let named = file.to_str().expect("text");
    let list = |words: &[&str]| z3950(["--targets", named, "targets", "list"].iter().chain(words));
    for words in [
        &["mine"][..],
        &["MIN", "lib.EXAMPLE"],
        &["ölde"],
        &["maps"],
        &["sundays"],
        &["bücherei ö"],
    ] {
        let ran = list(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{words:?}: {ran:?}");
        assert!(ran.stdout.starts_with("mine * "), "{words:?}: {ran:?}");
    }
    let all = list(&[]).stdout.lines().count();
    let some = list(&["congress"]).stdout;
    assert!(
        (1..all).contains(&some.lines().count()) && some.contains("lx2.loc.gov"),
        "{some}"
    );
    let ran = list(&["mine", "congress"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{ran:?}");
    assert!(
        ran.stderr.contains("no target has \"mine congress\""),
        "{ran:?}"
    );
    let ran = list(&["sundays", "--json"]);
    let shown: Value = serde_json::from_str(&ran.stdout).expect("one object");
    assert_eq!(shown["name"], "mine");
}

#[test]
fn r_f15_a_target_is_tried_before_it_is_added() {
    let daemon = Daemon::start(["--demo"]);
    let place = format!("{}/books", daemon.address());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("targets.toml");
    let named = file.to_str().expect("text");
    let add = |arguments: &[&str]| {
        z3950(
            ["--targets", named, "targets", "add", "--check"]
                .iter()
                .chain(arguments),
        )
    };
    let nosuch = format!("{}/nosuch", daemon.address());
    let by_http = format!("http://{}/nosuch", daemon.address());
    for (arguments, code, words) in [
        (&["x", "127.0.0.1:1/books"][..], 6, "cannot connect"),
        (&["x", &nosuch], 5, "235 "),
        (&["x", &by_http], 5, "235 "),
        (&["x", &place, "--syntax", "klingon"], 2, "klingon"),
    ] {
        let ran = add(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
        assert!(
            code == 2 || ran.stderr.ends_with("note: x is not added\n"),
            "{ran:?}"
        );
        assert!(!file.exists(), "{arguments:?}");
    }
    let ran = add(&["x", &place, "--title", "Ours"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(": ok, version 3, z3950d "), "{ran:?}");
    let by_http = format!("http://{}/books", daemon.address());
    let ran = add(&["y", "--from", &by_http]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(&file).expect("read");
    assert!(
        text.contains("[targets.x]") && text.contains("[targets.y.sru"),
        "{text}"
    );
    // A name that is already used is refused before anything is sent.
    let ran = add(&["x", "127.0.0.1:1/books"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("already"),
        "{ran:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).expect("read"), text);
}

/// Returns the queries of the searches that a server received, in PQF.
fn queries(server: &TestServer) -> Vec<String> {
    let sent = server.transcript().into_iter();
    let sent = sent.filter_map(|entry| match entry.apdu? {
        Apdu::SearchRequest(search) => match search.query {
            Query::Type1(query) => Some(query.to_string()),
            _ => None,
        },
        _ => None,
    });
    sent.collect()
}

#[test]
fn audit_r_b10_a_profile_is_added_with_its_indexes() {
    let server = TestServer::demo();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("targets.toml");
    let file = file.to_str().expect("text");
    let place = format!("{}/books", server.addr());
    let add = |name: &str, more: &[&str]| {
        let own = ["--targets", file, "targets", "add", name];
        z3950(own.iter().chain(more))
    };
    let index = ["--index", "isbn=1=7 5=1", "--index", "oclc=1=12,4=2"];
    let ran = add("mine", &[&[&*place][..], &index].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(file).expect("read");
    let table = "[targets.mine.indexes]\nisbn = \"1=7 5=1\"\noclc = \"1=12,4=2\"\n";
    assert!(text.contains(table), "{text}");
    let shown = z3950(["--targets", file, "targets", "show", "mine", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(
        shown["indexes"],
        serde_json::json!({ "7": "1=7,5=1", "1211": "1=12,4=2" })
    );
    // Searches use these indexes, even if the query consists of plain words.
    let searched = |arguments: &[&str]| {
        let before = queries(&server).len();
        let ran = z3950(["--targets", file].iter().chain(arguments));
        assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
        queries(&server)[before..].concat()
    };
    for (arguments, expected) in [
        (
            &["lookup", "mine", "isbn:0306406152"][..],
            &["@attr 1=7", "@attr 5=1"][..],
        ),
        (
            &["search", "mine", "isbn:0306406152"],
            &["@attr 1=7", "@attr 5=1"],
        ),
        (
            &["lookup", "mine", "oclc:12345"],
            &["@attr 1=12", "@attr 4=2"],
        ),
    ] {
        let query = searched(arguments);
        assert!(
            expected.iter().all(|part| query.contains(part)),
            "{arguments:?}: {query}"
        );
    }
    // For an SRU server, an index is given by its name in CQL.
    let sru = format!("http://{place}");
    let ran = add("web", &[&sru, "--index", "isbn=bath.isbn"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(file).expect("read");
    assert!(
        text.contains("[targets.web.sru.indexes]\nisbn = \"bath.isbn\"\n"),
        "{text}"
    );
    // The indexes given by the user take precedence over the indexes that the server describes, which are added too.
    let ran = add("described", &["--from", &sru, "--index", "isbn=num.isbn"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = z3950(["--targets", file, "targets", "show", "described", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let indexes = &shown["sru"]["indexes"];
    assert_eq!(indexes["7"], "num.isbn", "{indexes}");
    assert!(
        indexes.as_object().expect("a table").len() > 10 && indexes["4"] == "dc.title",
        "{indexes}"
    );
    let ran = add("wrong", &[&sru, "--index", "isbn=1=7"]);
    let words = "--index isbn=1=7: a server of SRU has names for its indexes";
    assert!(ran.code == Some(2) && ran.stderr.contains(words), "{ran:?}");
    for (given, words) in [
        ("isbn", "attributes, such as isbn='1=7 5=1'"),
        ("=1=7", "attributes, such as isbn='1=7 5=1'"),
        ("nosuch=1=7", "nosuch is not the name of an index"),
        ("isbn=seven", "write attributes such as 1=7 5=1"),
    ] {
        let ran = add("wrong", &[&place, "--index", given]);
        assert_eq!(ran.code, Some(2), "{given}: {ran:?}");
        assert!(ran.stderr.contains(words), "{given}: {ran:?}");
    }
}

/// Tests the profiles in the documentation on targets with a local server. For each library system, the requests for a number
/// must agree with the description on the page.
#[test]
fn audit_r_b10_library_systems_are_asked_as_they_want() {
    let page = include_str!("../../../client/docs/targets.md");
    let server = TestServer::demo();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("targets.toml");
    let file = file.to_str().expect("text");
    let mut added = Vec::new();
    for line in page.lines() {
        let Some(rest) = line.strip_prefix("$ z3950 --targets mine.toml targets add ") else {
            continue;
        };
        let mut words = rest.splitn(3, ' ');
        let [name, _, options] =
            [(); 3].map(|()| words.next().expect("a name, a place and options"));
        let options = options
            .split(" --")
            .map(|option| option.trim_start_matches("--"));
        let options = options.flat_map(|option| {
            let (option, value) = option.split_once(' ').expect("a value");
            [format!("--{option}"), value.trim_matches('\'').to_owned()]
        });
        let place = format!("{}/books", server.addr());
        let own = ["--targets", file, "targets", "add", name, &place].map(str::to_owned);
        let ran = z3950(own.into_iter().chain(options));
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        added.push(name);
        // The lookup names the profile, because all of these profiles have the same server and database.
        let asked = |identifier: &str| {
            let before = queries(&server).len();
            z3950(["--targets", file, "lookup", name, identifier]);
            queries(&server)[before..].to_vec()
        };
        let (isbn, docid) = (asked("isbn:0306406152"), asked("docid:7"));
        let (uses, truncation, first) = match name {
            "koha" => ("@attr 1=7", false, "@attr 1=12 7"),
            "folio" => ("@attr 1=7", true, "@attr 1=12 7"),
            _ => ("@attr 1=1016", false, "@attr 4=104 @attr 1=1032 7"),
        };
        assert!(isbn[0].contains(uses), "{name}: {isbn:?}");
        assert_eq!(
            isbn[0].contains("@attr 5=1 "),
            truncation,
            "{name}: {isbn:?}"
        );
        assert_eq!(docid[0], first, "{name}: {docid:?}");
        if name == "koha" {
            assert_eq!(asked("local:7")[0], "@attr 1=9001 7");
        }
    }
    assert_eq!(added, ["koha", "folio", "evergreen"]);
}
