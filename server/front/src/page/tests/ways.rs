//! Tests of alternative searches, of the best record, and of identifiers with many records.

use z3950_marc::MarcRecord;

use super::*;

/// Returns a book with this ISBN, cataloged by this agency.
fn book(docid: &str, agency: &str) -> MarcRecord {
    let mut book = record(docid, &format!("War {docid}"));
    let isbn = Field::data(b"020", "  ", [("a", "9780141439587")]);
    let source = Field::data(b"040", "  ", [("a", agency)]);
    let published = Field::data(b"260", "  ", [("b", "Katkov"), ("c", "1868")]);
    book.fields.extend([isbn, source, published]);
    book
}

#[test]
fn other_ways_are_taken_on_request_and_told() {
    let server = demo();
    let path = "/search?q=%40attr+1%3D1003+%40attr+6%3D3+austen&target=books";
    let (_, nothing) = get(&server, path);
    assert!(nothing.contains("nothing found"), "{nothing}");
    let (_, list) = get(&server, &format!("{path}&fallback=1"));
    for part in [
        "name=\"fallback\" value=\"1\" checked>",
        "no record matches; searched again: @attr 1=1003 austen",
        "<nav class=\"facets\"",
        "<li><a",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let (_, record) = get(&server, &link_of(&list, "<bdi>Emma"));
    assert!(record.contains("<h1 dir=\"auto\">Emma"), "{record}");
    let back = link_of(&record, "Back to the results");
    assert!(back.contains("fallback=1"), "{back}");
    let (_, file) = get(&server, &link_of(&list, "CSV<"));
    assert!(file.contains("Austen"), "{file}");
}

/// Alternative searches are not made for the terms that narrow a search, so a facet link must find as many records as it
/// announces.
#[test]
fn results_of_alternative_searches_are_narrowed_exactly() {
    let server = demo();
    let (_, list) = get(&server, "/search?q=su:gutenberg&target=books&fallback=1");
    assert!(list.contains("searched again: @attr 1=1016"), "{list}");
    let place = "<bdi>London (England) Fiction.</bdi></a> <span class=\"note\">";
    let (_, number) = list.split_once(place).expect("a facet");
    let (number, _) = number.split_once('<').expect("a number");
    let (_, narrowed) = get(&server, &link_of(&list, place));
    assert!(
        narrowed.contains(&format!("{number} records")),
        "{narrowed}"
    );
    // If fallbacks are off, the search finds nothing, so there is nothing to narrow.
    let off = link_of(&list, place).replace("fallback=1", "fallback=0");
    let (_, nothing) = get(&server, &off);
    assert!(nothing.contains("nothing found"), "{nothing}");
}

#[test]
fn an_identifier_that_is_found_in_another_index_says_so() {
    let server = demo();
    let (_, list) = get(&server, "/search?q=issn:9780141439518&fallback=1");
    assert!(list.contains("found by standard identifier"), "{list}");
    let (_, list) = get(&server, "/search?q=isbn:9780141439518&fallback=1");
    assert!(list.contains("found by ISBN"), "{list}");
    let (_, list) = get(&server, "/search?q=isbn:9780141439518");
    assert!(!list.contains("found by"), "{list}");
}

#[test]
fn the_best_record_of_all_databases_is_shown_alone() {
    let server = builder()
        .database("one", [book("a", "Xyz"), book("b", "Xyz")])
        .database("two", [book("c", "DLC")])
        .database("three", [record("d", "War")])
        .start();
    let path = "/search?q=9780141439587&best=1";
    let (_, list) = get(&server, path);
    for part in [
        "name=\"best\" value=\"1\" checked>",
        "c (two) is the best of 3 records: ",
        "2 records</span>",
        "nothing found",
        "<bdi>War c</bdi>",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    assert_eq!(list.matches("<li><a").count(), 1, "{list}");
    let (_, shown) = get(&server, &link_of(&list, "<bdi>War c"));
    assert!(shown.contains("<h1 dir=\"auto\">War c"), "{shown}");
    assert_eq!(link_of(&shown, "Back to the results"), path);
    for file in [link_of(&list, "CSV<"), format!("{path}&format=csv")] {
        let (_, file) = get(&server, &file);
        assert_eq!(file.lines().count(), 2, "{file}");
        assert!(file.contains("War c"), "{file}");
    }
    let (_, words) = get(&server, "/search?q=war&best=1");
    assert!(words.contains("for identifiers only."), "{words}");
    assert!(words.contains("4 records in 3 databases"), "{words}");
}

#[test]
fn the_records_of_an_identifier_are_listed_and_narrowed_like_others() {
    let many = (0..12).map(|number| book(&format!("id{number}"), "DLC"));
    let server = builder().database("many", many).start();
    let (_, list) = get(&server, "/search?q=9780141439587");
    assert_eq!(
        list.matches("<li><a href=\"/search?q=978").count(),
        11,
        "{list}"
    );
    let (_, rest) = get(&server, &link_of(&list, "Further records"));
    assert!(
        rest.contains("<ol class=\"list digits-2\" start=\"11\">"),
        "{rest}"
    );
    let (_, last) = get(&server, &link_of(&rest, "<bdi>War id11"));
    assert!(last.contains("12 of 12"), "{last}");
    let (_, narrowed) = get(&server, &link_of(&list, "<bdi>1868</bdi></a>"));
    assert!(narrowed.contains("12 records"), "{narrowed}");
    let (_, other) = get(&server, "/search?q=9780141439587&narrow=date:1869");
    assert!(other.contains("nothing found"), "{other}");
    let (_, file) = get(&server, "/search?q=9780141439587&format=csv&all=1");
    assert_eq!(file.lines().count(), 13, "{file}");
}

#[test]
fn databases_take_turns_in_the_sessions_of_a_request() {
    let server = builder()
        .database("one", [record("a", "War"), record("b", "War")])
        .database("two", [record("c", "War")])
        .database("three", [record("d", "War")])
        .limit(|limits| limits.sessions_per_request = 1)
        .start();
    let (_, list) = get(&server, "/search?q=war");
    assert_eq!(list.matches("<section").count(), 3, "{list}");
    assert_eq!(list.matches("class=\"failure\"").count(), 0, "{list}");
    assert!(list.contains("4 records in 3 databases"), "{list}");
}
