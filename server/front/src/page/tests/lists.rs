//! Tests of the list of results: the sections of the databases, sorting, downloads, and suggestions.

use std::collections::BTreeSet;

use z3950_marc::MarcRecord;

use super::*;

/// Returns a record with an author and a year.
fn book(docid: &str, title: &str, author: &str, year: &str) -> MarcRecord {
    let mut book = record(docid, title);
    let author = Field::data(b"100", "1 ", [("a", author)]);
    let published = Field::data(b"260", "  ", [("b", "Katkov"), ("c", year)]);
    book.fields.extend([author, published]);
    book
}

/// Returns the positions of these strings in a page.
fn places<const N: usize>(page: &str, texts: [&str; N]) -> [usize; N] {
    texts.map(|text| page.find(text).unwrap_or_else(|| panic!("{text}: {page}")))
}

#[test]
fn r_g_databases_have_their_places_from_the_start() {
    let faults = ["on search db=one: delay 200ms", "on search db=two: fail 2"];
    let faults = faults.map(|rule| rule.parse().expect("a rule"));
    let server = builder()
        .database("one", [record("a", "War"), record("b", "War")])
        .database("two", [record("c", "War")])
        .database("three", [record("d", "War")])
        .faults(faults.into_iter().fold(Faults::new(), Faults::with))
        .start();
    let (_, list) = get(&server, "/search?q=war");
    // The slots for the databases come first, in the order of the settings. The answers follow in the order in which they arrive.
    let order = places(
        &list,
        [
            "Waiting for 3 databases.",
            "<slot name=\"to-1\">",
            "<slot name=\"to-2\">",
            "<slot name=\"to-3\">",
            "<slot name=\"in-1\"><h2><bdi>one</bdi></h2><p class=\"note\">No answer yet.</p></slot>",
            "<slot name=\"in-2\"><h2><bdi>two</bdi></h2>",
            "<slot name=\"in-3\"><h2><bdi>three</bdi></h2>",
            "</template>",
            "aria-label=\"three\" slot=\"in-3\">",
            "aria-label=\"one\" slot=\"in-1\">",
            "<p slot=\"total\">In all <strong>3 records in 2 databases</strong>; one database has not answered.</p>",
        ],
    );
    assert!(order.is_sorted(), "{order:?}: {list}");
    for link in [
        "<a slot=\"to-1\" href=\"#in-1\"><bdi>one</bdi><span class=\"note\">2</span></a>",
        "<a slot=\"to-2\" href=\"#in-2\"><bdi>two</bdi><span class=\"note\">no answer</span></a>",
        "<a slot=\"to-3\" href=\"#in-3\"><bdi>three</bdi><span class=\"note\">1</span></a>",
    ] {
        assert!(list.contains(link), "{link}: {list}");
    }
    let (_, alone) = get(&server, "/search?q=war&target=one");
    assert!(!alone.contains("Waiting for"), "{alone}");
    let (_, nothing) = get(&server, "/search?q=zyxwvut&target=one&target=three");
    let told = "<p slot=\"total\">Nothing was found.</p>";
    assert!(nothing.contains(told), "{nothing}");
}

#[test]
fn r_g_lists_are_sorted_on_request() {
    let books = || {
        [
            book("a", "War and peace", "Tolstoy, Leo", "1869"),
            book("b", "Art of war", "Sunzi", "1910"),
            book("c", "On war", "Clausewitz, Carl", "1832"),
        ]
    };
    let server = builder().database("cat", books()).start();
    for (sort, order) in [
        ("", "abc"),
        ("&sort=", "abc"),
        ("&sort=title", "bca"),
        ("&sort=author", "cba"),
        ("&sort=newest", "bac"),
        ("&sort=oldest", "cab"),
    ] {
        let path = format!("/search?q=war{sort}");
        let (_, list) = get(&server, &path);
        let titles = [">War and peace<", ">Art of war<", ">On war<"];
        let places = places(&list, titles);
        let mut letters: Vec<_> = places.into_iter().zip(["a", "b", "c"]).collect();
        letters.sort_unstable();
        let found: String = letters.into_iter().map(|(_, letter)| letter).collect();
        assert_eq!(found, order, "{path}: {list}");
        let (_, file) = get(&server, &format!("{path}&format=csv&all=1"));
        let rows = file.lines().skip(1).filter_map(|row| row.get(..1));
        assert_eq!(rows.collect::<String>(), order, "{path}: {file}");
        let (_, first) = get(&server, &format!("{path}&at=1"));
        let docid = format!("/cat?{}\"", &order[..1]);
        assert!(first.contains(&docid), "{path}: {first}");
        let kept = sort.trim_start_matches("&sort=");
        let kept = format!("<input type=\"hidden\" name=\"sort\" value=\"{kept}\">");
        assert_eq!(list.contains(&kept), sort.len() > "&sort=".len(), "{list}");
    }
    let (_, list) = get(&server, "/search?q=war&sort=title");
    assert!(list.contains("<strong>title</strong>"), "{list}");
    let newest = link_of(&list, "newest first</a>");
    assert_eq!(newest, "/search?q=war&sort=newest");
    assert_eq!(link_of(&list, "database order</a>"), "/search?q=war");
    let (head, _) = get(&server, "/search?q=war&sort=shelf");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}

#[test]
fn r_g_a_database_that_cannot_sort_keeps_its_own_order() {
    let books = [record("a", "War and peace"), record("b", "On war")];
    let faults = Faults::new().with("on sort: fail 207".parse().expect("a rule"));
    let server = builder().database("cat", books).faults(faults).start();
    let (_, list) = get(&server, "/search?q=war&sort=title");
    let order = places(&list, ["not sorted: ", ">War and peace<", ">On war<"]);
    assert!(order.is_sorted(), "{list}");
    assert!(!list.contains("class=\"failure\""), "{list}");
    let (_, file) = get(&server, "/search?q=war&sort=title&format=csv&all=1");
    assert_eq!(file.lines().count(), 3, "{file}");
}

#[test]
fn r_g_identifiers_are_sorted_too() {
    let book = |docid: &str, title: &str| {
        let mut book = record(docid, title);
        let isbn = Field::data(b"020", "  ", [("a", "9780141439587")]);
        book.fields.push(isbn);
        book
    };
    let books = [book("a", "War"), book("b", "Peace")];
    let server = builder().database("cat", books).start();
    let path = "/search?q=9780141439587&sort=title";
    let (_, list) = get(&server, path);
    let order = places(&list, [">Peace<", ">War<"]);
    assert!(order.is_sorted(), "{list}");
    let (_, second) = get(&server, &format!("{path}&at=2"));
    assert!(second.contains("<h1 dir=\"auto\">War"), "{second}");
}

#[test]
fn r_g_downloads_are_one_menu_for_each_list() {
    let many = (0..12).map(|number| record(&format!("id{number}"), "War"));
    let server = builder()
        .database("many", many)
        .database("one", [record("a", "War")])
        .start();
    let (_, list) = get(&server, "/search?q=war");
    let sections: Vec<_> = list.split("<section ").skip(1).collect();
    for section in sections {
        let (section, rest) = section.split_once("</section>").expect("its end");
        let is_many = section.contains("aria-label=\"many\"");
        let menus: Vec<_> = section.split("<details class=\"downloads\">").collect();
        let [before, menu] = &*menus else {
            panic!("{section}")
        };
        assert!(!before.contains("format="), "{before}");
        let lists = if is_many {
            &["These 10 records: ", "All 12 records: "][..]
        } else {
            &["This record: "]
        };
        for words in lists {
            assert!(menu.contains(words), "{words}: {menu}");
        }
        for format in ["MARC<", "JSON array<", "JSON lines<", "Spreadsheet<"] {
            assert_eq!(
                menu.matches(format).count(),
                lists.len(),
                "{format}: {menu}"
            );
        }
        assert!(!rest.contains("</section><details"), "{rest}");
    }
    assert!(list.contains("All 13 records: "), "{list}");
    let (head, lines) = get(&server, "/search?q=war&all=1&format=json-lines");
    assert!(head.contains("filename=\"records.jsonl\""), "{head}");
    let objects = lines.lines().map(serde_json::from_str::<serde_json::Value>);
    let objects: Vec<_> = objects.collect::<Result<_, _>>().expect("JSON");
    assert!(objects.len() == 13 && objects.iter().all(serde_json::Value::is_object));
    let (_, array) = get(&server, "/search?q=war&all=1&format=json");
    let array: serde_json::Value = serde_json::from_str(&array).expect("JSON");
    assert_eq!(array.as_array(), Some(&objects));
    // For one record, the format JSON is always a single object.
    let (_, shown) = get(&server, "/search?q=war&target=one&at=1");
    assert!(
        shown.contains(">JSON</a>") && !shown.contains("JSON lines"),
        "{shown}"
    );
}

#[test]
fn r_g_the_label_of_the_field_lists_the_kinds_of_input() {
    let (_, form) = get(&demo(), "/");
    let label = "<label for=\"q\">Title, author, ISBN, URL or query</label>";
    assert!(form.contains(label), "{form}");
}

#[test]
fn r_g_authors_and_subjects_lead_to_a_search_that_finds_their_record() {
    let server = demo();
    let mut links = BTreeSet::new();
    for (path, count) in [
        ("q=@attr+1=54+eng&target=books", 80),
        ("q=su:periodicals&target=serials", 4),
    ] {
        for at in (1..=count).step_by(5) {
            let (head, shown) = get(&server, &format!("/search?{path}&at={at}"));
            if head.starts_with("HTTP/1.1 404 ") {
                continue;
            }
            let docid = shown
                .split("<dt>Identifier</dt><dd dir=\"auto\">")
                .nth(1)
                .expect("a docid");
            let docid = docid.split('<').next().expect("its end").to_owned();
            let found = shown.split("<dd dir=\"auto\"><a href=\"/search?").skip(1);
            let found =
                found.filter_map(|link| Some(link.split_once('"')?.0.replace("&#38;", "&")));
            links.extend(found.map(|link| (link, docid.clone())));
        }
    }
    assert!(links.len() > 40, "{links:?}");
    for (link, docid) in links {
        assert!(
            link.starts_with("q=au%3A%22") || link.starts_with("q=su%3A%22"),
            "{link}"
        );
        assert!(
            link.ends_with("&target=books") || link.ends_with("&target=serials"),
            "{link}"
        );
        let (_, file) = get(&server, &format!("/search?{link}&format=csv&all=1"));
        let mut rows = file.lines();
        assert!(
            rows.any(|row| row.split(',').next() == Some(&docid)),
            "{docid} {link}: {file}"
        );
    }
}

#[test]
fn r_g_names_with_quotes_are_searched_unchanged() {
    let mut odd = record("a", "War");
    let author = Field::data(
        b"100",
        "1 ",
        [
            ("6", "880-01"),
            ("a", "O\"Brien \\ <b>,"),
            ("d", "1800-"),
            ("e", "author."),
        ],
    );
    let subject = Field::data(
        b"650",
        " 0",
        [("a", "War"), ("x", "\"Quoted\"."), ("2", "lc")],
    );
    odd.fields.extend([author, subject]);
    let server = builder().database("cat", [odd]).start();
    let (_, shown) = get(&server, "/search?q=war&at=1");
    for (value, query) in [
        (
            "O&#34;Brien \\ &#60;b&#62;, 1800-",
            "value=\"au:&#34;O\\&#34;Brien \\\\ &#60;b&#62; 1800-&#34;\"",
        ),
        (
            "War – &#34;Quoted&#34;.",
            "value=\"su:&#34;War \\&#34;Quoted\\&#34;&#34;\"",
        ),
    ] {
        let (_, list) = get(&server, &link_of(&shown, &format!("{value}</a>")));
        assert!(list.contains(query), "{query}: {list}");
        assert!(list.contains("1 record<"), "{list}");
    }
}

#[test]
fn r_g_a_misspelt_word_gets_a_suggestion() {
    let server = |time| {
        let page = CataloguePage::new().with_suggestion_time(time);
        TestServer::builder().demo().web(Arc::new(page)).start()
    };
    let hurried = server(Duration::ZERO);
    let (_, list) = get(&hurried, "/search?q=emmma");
    assert!(
        list.contains("Nothing was found") && !list.contains("Did you mean"),
        "{list}"
    );
    let server = server(Duration::from_secs(60));
    for (typed, meant) in [
        ("emmma", Some("emma")),
        ("asuten", Some("austen")),
        ("Emmma AND austen", Some("emma AND austen")),
        ("ti:emmma au:asuten", Some("ti:emma au:austen")),
        (
            "ti:\"pride and prejudise\"",
            Some("ti:\"pride and prejudice\""),
        ),
        ("dc.title=emmma", Some("dc.title=emma")),
        ("@attr 1=4 emmma", Some("@attr 1=4 emma")),
        ("tolsttoyy", Some("tolstoy")),
        ("zyxwvut", None),
        ("xyz", None),
        ("978-0-14-143958-9", None),
        // Each word occurs, but no record has both, so there is no spelling to suggest.
        ("emma whale", None),
        ("emma", None),
    ] {
        let (_, list) = get(&server, &format!("/search?q={}", text::encoded(typed)));
        let words = "slot=\"hints\">Did you mean <a";
        let Some(meant) = meant else {
            assert!(!list.contains("Did you mean"), "{typed}: {list}");
            continue;
        };
        assert_eq!(list.matches(words).count(), 1, "{typed}: {list}");
        let shown = meant.replace('"', "&#34;");
        let (_, found) = get(
            &server,
            &link_of(&list, &format!("<bdi>{shown}</bdi></a>?")),
        );
        assert!(found.contains("<li><a"), "{meant}: {found}");
    }
}

#[test]
fn r_g_only_databases_of_this_server_are_read_for_suggestions() {
    let elsewhere = TestServer::builder()
        .database("cat", [record("a", "Emma")])
        .start();
    let targets = [format!("{}/cat", elsewhere.addr())];
    let union = RemoteDatabase::new(&Client::new(), RemoteOptions::new("union", targets));
    let union = Arc::new(union.expect("targets"));
    let server = builder().backend(union).start();
    let (_, list) = get(&server, "/search?q=emmma");
    assert!(!list.contains("Did you mean"), "{list}");
    // Narrowing terms remain in force, so a suggestion must find something together with them.
    let page = CataloguePage::new().with_suggestion_time(Duration::from_secs(60));
    let server = TestServer::builder().demo().web(Arc::new(page)).start();
    for (year, is_found) in [("1816", true), ("1950", false)] {
        let path = format!("/search?q=emmma&target=books&narrow=date:{year}");
        let (_, list) = get(&server, &path);
        assert_eq!(list.contains("Did you mean"), is_found, "{path}: {list}");
    }
}
