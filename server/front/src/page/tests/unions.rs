//! Tests of databases made of several catalogues: how they are chosen, searched and downloaded.

use z3950_marc::MarcRecord;

use super::*;

#[test]
fn the_targets_of_a_remote_database_are_chosen_and_answer_one_by_one() {
    let catalogue = |title| TestServer::builder().database("cat", [record("a", title)]);
    let quick = catalogue("War").start();
    let silent = catalogue("War").rule("on search: silence").start();
    let targets = [&silent, &quick].map(|server| format!("{}/cat", server.addr()));
    let mut options = RemoteOptions::new("union", targets.clone());
    options.title = Some("All".to_owned());
    options.target_time = Duration::from_secs(1);
    let union = RemoteDatabase::new(&Client::new(), options).expect("targets");
    let server = builder().backend(Arc::new(union)).start();
    let (_, form) = get(&server, "/");
    for target in &targets {
        let choice = format!("value=\"union@{target}\" checked> <bdi>{target}<");
        assert!(form.contains(&choice), "{form}");
    }
    for chosen in ["", "&target=union"] {
        let (_, list) = get(&server, &format!("/search?q=war{chosen}"));
        let sections: Vec<_> = list.split("<section").skip(1).collect();
        assert_eq!(sections.len(), 2, "{list}");
        assert!(sections[0].contains("<li><a"), "{list}");
        assert!(sections[1].contains("class=\"failure\""), "{list}");
    }
    let (_, list) = get(
        &server,
        &format!("/search?q=war&target=union@{}", targets[1]),
    );
    assert_eq!(list.matches("<section").count(), 1, "{list}");
    assert_eq!(list.matches(" checked>").count(), 1, "{list}");
    let link = list.split("<li><a href=\"").nth(1).expect("a record");
    let link = link.split('"').next().expect("a link");
    let (_, shown) = get(&server, &link.replace("&#38;", "&"));
    let url = format!(
        "/union%40{}?a\"",
        targets[1].replace(':', "%3A").replace('/', "%2F")
    );
    assert!(shown.contains(&url), "{url}: {shown}");
}

/// Returns a book of 1868 with one copy that has this circulation status.
fn copy(docid: &str, title: &str, state: &str) -> MarcRecord {
    let mut book = record(docid, title);
    let author = Field::data(b"100", "1 ", [("a", "Tolstoy, Leo")]);
    let published = Field::data(b"260", "  ", [("b", "Katkov"), ("c", "1868")]);
    let location = Field::data(b"852", "  ", [("b", format!("Room {docid}"))]);
    let item = Field::data(b"876", "  ", [("p", docid), ("j", state)]);
    book.fields.extend([author, published, location, item]);
    book
}

#[test]
fn a_merged_database_is_searched_as_one_and_names_its_sources() {
    let catalogue = |books: &[MarcRecord]| TestServer::builder().database("cat", books.to_vec());
    let one = catalogue(&[
        copy("a1", "Peace", "Available"),
        copy("a2", "War", "Available"),
    ]);
    let two = catalogue(&[copy("b1", "War", "On loan")]);
    let (one, two) = (one.start(), two.start());
    let dead = catalogue(&[copy("c1", "War", "Available")]).start();
    let targets = [&one, &two, &dead].map(|server| format!("{}/cat", server.addr()));
    drop(dead);
    let mut options = RemoteOptions::new("union", targets.clone());
    options.title = Some("All".to_owned());
    options.merge = true;
    let union = RemoteDatabase::new(&Client::new(), options).expect("targets");
    let server = builder().backend(Arc::new(union)).start();
    let (_, form) = get(&server, "/");
    let whole = "name=\"target\" value=\"union\" checked> <bdi>All</bdi>";
    assert!(form.contains(whole), "{form}");
    assert!(
        form.contains("<details class=\"parts\"><summary>Single"),
        "{form}"
    );
    assert_eq!(form.matches(" checked>").count(), 1, "{form}");
    let (_, list) = get(&server, "/search?q=au:tolstoy");
    assert!(list.contains("<h2><bdi>All</bdi>"), "{list}");
    assert_eq!(list.matches("<section").count(), 1, "{list}");
    for part in [
        "2 records</span>".to_owned(),
        format!("<bdi>{}</bdi></a>: 2 records</li>", targets[0]),
        format!("<bdi>{}</bdi></a>: 1 record</li>", targets[1]),
        "1 of 2 copies available".to_owned(),
        "<bdi>1868</bdi></a> <span class=\"note\">3</span>".to_owned(),
    ] {
        assert!(list.contains(&part), "{part}: {list}");
    }
    let failed = list.split("<li class=\"failure\">").nth(1);
    let failed = failed.expect("a failure").split("</li>").next();
    let failed = failed.expect("its end");
    let is_told = failed.contains(&targets[2]) && failed.contains("connection refused");
    assert!(is_told, "{failed}");
    // The link leads to the merged record, which names its sources.
    let (_, merged) = get(&server, &link_of(&list, "<bdi>War"));
    assert!(merged.contains("id=\"sources\">in: "), "{merged}");
    // The sources have this record under different numbers, so each source has its own URL.
    let label = format!("URL of this record in <bdi>{}</bdi>", targets[1]);
    assert!(merged.contains(&label), "{merged}");
    for (target, id, state) in [
        (&targets[0], "a2", "available"),
        (&targets[1], "b1", "not available"),
    ] {
        let copy = format!(
            "<h3>in <bdi>{target}</bdi></h3>\n<ul class=\"list\">\n<li><bdi>Room {id}</bdi>"
        );
        assert!(merged.contains(&copy), "{copy}: {merged}");
        let link = link_of(&merged, &format!("<bdi>{target}</bdi></a>"));
        let (_, alone) = get(&server, &link);
        let name = format!("union@{target}").replace('@', "%40");
        let name = name.replace(':', "%3A").replace('/', "%2F");
        let url = format!("value=\"z39.50r://lib.example:2100/{name}?{id}\"");
        for part in [&url, &format!("<bdi>{state}"), &format!("Room {id}")] {
            assert!(alone.contains(part), "{part}: {alone}");
        }
        assert!(!alone.contains("id=\"sources\""), "{alone}");
    }
    // A facet narrows the search in all targets of the union.
    let (_, narrowed) = get(&server, &link_of(&list, "<bdi>1868</bdi></a>"));
    assert!(narrowed.contains("2 records</span>"), "{narrowed}");
    // A search can be limited to one part of the union.
    let (_, alone) = get(
        &server,
        &format!("/search?q=war&target=union@{}", targets[1]),
    );
    assert!(alone.contains("<details class=\"parts\" open>"), "{alone}");
    assert!(alone.contains("1 record</span>"), "{alone}");
}

/// Starts a catalogue with these records; returns the server and the lines of a profile for it.
fn catalogue(records: &[(&str, &str)]) -> (TestServer, String) {
    let records = records.iter().map(|(id, title)| {
        let mut book = record(id, title);
        let author = Field::data(b"100", "1 ", [("a", "Tolstoy, Leo")]);
        let published = Field::data(b"260", "  ", [("b", "Murray"), ("c", "1869")]);
        let location = Field::data(b"852", "  ", [("b", "Shelf")]);
        let link = Field::data(b"856", "40", [("u", "https://lib.example/a?b&c")]);
        book.fields.extend([author, published, location, link]);
        book
    });
    let server = TestServer::builder().database("cat", records).start();
    let port = server.addr().port();
    let profile = format!("host = \"127.0.0.1\"\nport = {port}\ndatabases = [\"cat\"]\n");
    (server, profile)
}

#[test]
fn a_merged_database_is_one_choice() {
    let (_one, first) = catalogue(&[("a", "War and peace"), ("b", "War")]);
    let (_two, second) = catalogue(&[("a", "War and peace")]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("targets.toml");
    let profiles = format!(
        "[targets.t0]\ntitle = \"Town\"\n{first}[targets.t1]\ntitle = \"County\"\n{second}"
    );
    std::fs::write(&path, profiles).expect("written");
    let profiles = Profiles::default().with_file(&path).expect("profiles");
    let mut options = RemoteOptions::new("merged", ["t0", "t1"]);
    options.title = Some("All".to_owned());
    options.merge = true;
    let client = Client::new().with_profiles(profiles);
    let merged = RemoteDatabase::new(&client, options).expect("targets");
    let server = builder().backend(Arc::new(merged)).start();
    let (_, form) = get(&server, "/");
    assert_eq!(form.matches(" checked>").count(), 1, "{form}");
    assert!(
        form.contains("value=\"merged\" checked> <bdi>All<"),
        "{form}"
    );
    assert!(form.contains("value=\"merged@t0\"> <bdi>Town<"), "{form}");
    let (_, list) = get(&server, "/search?q=war");
    assert_eq!(list.matches("<section").count(), 1, "{list}");
    assert!(list.contains("2 records"), "{list}");
    assert!(list.contains("in: <a href="), "{list}");
    let (_, shown) = get(&server, &link_of(&list, "<bdi>War and peace"));
    assert!(shown.contains("id=\"sources\">in: "), "{shown}");
    assert!(shown.contains("/merged?a\""), "{shown}");
    for part in [
        "<summary>MARC</summary>",
        "<h3>in <bdi>County</bdi></h3>",
        "<a href=\"https://lib.example/a?b&#38;c\" rel=\"noreferrer nofollow\">",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (_, shown) = get(&server, &link_of(&list, "<bdi>War</bdi>"));
    assert!(shown.contains("/merged%40t0?b\""), "{shown}");
    let (_, targets) = get(&server, "/targets");
    let part = "<a href=\"/search?target=merged%40t1\"><bdi>County";
    assert!(targets.contains(part), "{targets}");
    let (_, one) = get(&server, "/search?q=war&target=merged%40t1");
    assert!(
        one.contains("<section id=\"in-1\" aria-label=\"All: County\""),
        "{one}"
    );
}

#[test]
fn choices_are_kept_and_files_are_of_all_of_them() {
    let server = builder()
        .database("one", [record("a", "War"), record("b", "War")])
        .database("two", [record("c", "War")])
        .database("three", [record("d", "War")])
        .start();
    let both = "/search?q=war&target=one&target=two";
    let (_, list) = get(&server, both);
    let total = "In all <strong>3 records in 2 databases";
    assert!(list.contains(total), "{list}");
    let (_, shown) = get(&server, &format!("{both}&in=one&at=2"));
    assert_eq!(link_of(&shown, "Back to the results"), both);
    for (path, rows) in [
        (format!("{both}&format=csv"), 3),
        (format!("{both}&format=csv&all=1"), 3),
        (format!("{both}&in=one&format=csv"), 2),
        ("/search?q=war&format=csv".to_owned(), 4),
    ] {
        let (head, file) = get(&server, &path);
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
        assert_eq!(file.lines().count(), 1 + rows, "{path}: {file}");
        assert!(file.contains(",one\r\n"), "{path}: {file}");
    }
    for (path, status, words) in [
        ("&target=two&at=1", 400, "in=NAME says which"),
        ("&target=two&at=1&format=csv", 400, "in=NAME says which"),
        ("&target=two&start=9", 200, "no record 9: it has 2 records."),
        ("&target=", 200, "2 records<"),
        ("&tick=none", 200, "value=\"one\"> "),
        ("&tick=all", 200, "value=\"two\" checked> "),
    ] {
        let path = format!("/search?q=war&target=one{path}");
        let (head, body) = get(&server, &path);
        let status = format!("HTTP/1.1 {status} ");
        assert!(head.starts_with(&status), "{path}: {head}");
        assert!(body.contains(words), "{path}: {body}");
    }
    let (_, beyond) = get(&server, &format!("{both}&in=one&start=9"));
    let (_, first) = get(&server, &link_of(&beyond, "Show the first records"));
    assert_eq!(first.matches("<section").count(), 1, "{first}");
    let (_, whole) = get(&server, &link_of(&first, "Back to all databases"));
    assert_eq!(whole.matches("<section").count(), 2, "{whole}");
}

#[test]
fn a_file_of_all_records_is_bounded_and_says_so() {
    for (count, words, lines) in [
        (1000, "All 1000 records: ", 1001),
        (1001, "The first 1000 of 1001 records: ", 1001),
    ] {
        let many = (0..count).map(|number| record(&format!("id{number}"), "War"));
        let server = builder().database("many", many).start();
        let (_, list) = get(&server, "/search?q=war&target=many");
        assert!(list.contains(words), "{list}");
        let (_, file) = get(&server, "/search?q=war&target=many&format=csv&all=1");
        assert_eq!(file.lines().count(), lines, "{count}");
    }
}

#[test]
fn failures_are_counted() {
    let faults = Faults::new().with("on search db=one: fail 2".parse().expect("a rule"));
    let server = builder()
        .database("one", [record("a", "War")])
        .database("two", [record("b", "War")])
        .database("three", [record("b", "War")])
        .faults(faults)
        .start();
    let (_, list) = get(&server, "/search?q=war");
    let failed = "; one database has not answered";
    assert!(list.contains(failed), "{list}");
    let (head, body) = get(&server, "/search?q=war&format=csv");
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    assert!(body.contains("<li><bdi>one</bdi>"), "{body}");
}
