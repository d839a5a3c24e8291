//! Tests of records at high positions.

use super::*;

#[tokio::test]
async fn a_large_set_has_pages_as_far_as_the_engine_allows() {
    let total = WINDOW + 500;
    let node = FakeNode::start(move |request| held(request, total)).await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    assert_eq!(found.hits.len(), total);
    let window = i64::try_from(WINDOW).expect("small");
    let far = presented(&database, &found.hits, &[window]).await;
    assert_eq!(far, Err(Condition::OUT_OF_RANGE.0));
    let last = presented(&database, &found.hits, &[window - 2, window - 1]).await;
    assert_eq!(last, Ok(vec![Ok(WINDOW - 2), Ok(WINDOW - 1)]));
    // Records that follow a page can be reached from that page.
    let next = presented(&database, &found.hits, &[window, window + 100]).await;
    assert_eq!(next, Ok(vec![Ok(WINDOW), Ok(WINDOW + 100)]));
}

/// Returns the number of the record at a position. Some numbers are missing, and there is a large gap.
fn number_at(place: usize) -> usize {
    place * 3 + place / 7_000 * 5_000_000
}

/// Answers like an index whose records have the numbers that [`number_at`] returns.
fn numbered(request: &FakeRequest, total: usize) -> FakeAnswer {
    if request.path.ends_with("/_mapping") {
        let mut mapping = mapping(&["title"]);
        mapping["koha_1"]["mappings"]["properties"]["local-number"] = json!({ "type": "integer" });
        return FakeAnswer::Json(200, mapping);
    }
    let body = body(request);
    let at = |pointer: &str| super::number(&body, pointer);
    let number = |side: &str| at(&format!("/query/bool/filter/1/range/local-number/{side}"));
    let before = |number: usize| {
        (0..total)
            .take_while(|place| number_at(*place) < number)
            .count()
    };
    let (skip, rows) = (at("/from").unwrap_or(0), at("/size").expect("size"));
    assert!(skip + rows <= WINDOW, "{body}");
    if body.pointer("/sort/0/local-number").is_some() {
        let mut answer = answer(total, [total - 1]);
        answer["hits"]["hits"][0]["sort"] = json!([number_at(total - 1), "key"]);
        return FakeAnswer::Json(200, answer);
    }
    if let Some(number) = number("lt") {
        return FakeAnswer::Json(200, answer(before(number), []));
    }
    let start = number("gte").map_or(0, before);
    let places = (start..total).skip(skip).take(rows);
    FakeAnswer::Json(200, answer(total - start, places))
}

/// If the records are ordered by numbers, any record can be retrieved with a few requests for numbers.
#[tokio::test]
async fn any_page_is_found_by_numbers() {
    for total in [WINDOW + 500, 100_000] {
        let node = FakeNode::start(move |request| numbered(request, total)).await;
        let database = database(&node, false);
        for start in [WINDOW - 1, WINDOW + 1, total / 2 + WINDOW / 2, total - 2] {
            let found = searched(&database, "@attr 1=4 war").await.expect("found");
            let before = node.asked().len();
            let at = |place: usize| i64::try_from(place).expect("small");
            let page = presented(&database, &found.hits, &[at(start), at(start + 1)]).await;
            assert_eq!(
                page,
                Ok(vec![Ok(start), Ok(start + 1)]),
                "{start} of {total}"
            );
            let asked = node.asked().len() - before;
            assert!(asked < 16, "{asked} requests for {start} of {total}");
        }
    }
}
