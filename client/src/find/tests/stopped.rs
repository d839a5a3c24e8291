//! Tests of readers of events that stop, drop the events or panic after any event, while another search needs the only session.

use std::future::ready;

use futures_util::FutureExt;
use z3950_marc::{Field, MarcRecord};

use super::*;
use crate::client::ClientOptions;
use crate::lookup::Publication;
use crate::plan::Fallback;
use crate::query::Query as TypedQuery;
use crate::retrieve::OutcomeName;
use crate::transport::{Connect, Connecting, Routes, Timeouts};
use crate::url::{Host, Mode, Z3950Url};

/// The number of records that match a query.
const HITS: usize = 45;

/// A server that refuses the first search, or the first searches for an identifier, because of an attribute or the element set.
#[derive(Clone, Default)]
struct Refusing {
    /// Whether the responses to searches include records.
    sends_records: bool,
    /// Whether concurrent searches share one session.
    is_concurrent: bool,
    /// The names of the requests received.
    requests: Arc<Mutex<Vec<&'static str>>>,
}

impl Refusing {
    fn client(&self) -> Client {
        let mut options = ClientOptions::default();
        options.plan.fallback = Fallback::ALL;
        options.max_sessions = Some(1);
        options.keep_open = true;
        Client::with_routes(options, Routes::fixed(Arc::new(self.clone())))
    }

    /// Records a request, and returns the number of requests with this name so far.
    fn note(&self, name: &'static str) -> usize {
        self.requests.lock().expect("no panic").push(name);
        self.count(name)
    }

    fn count(&self, name: &str) -> usize {
        let requests = self.requests.lock().expect("no panic");
        requests.iter().filter(|known| **known == name).count()
    }

    fn answer(&self, request: &Apdu) -> Apdu {
        let number = self.note(request.name());
        match request {
            Apdu::InitializeRequest(_) => {
                let mut response = init_response(true, ProtocolVersion::UP_TO_3);
                if self.is_concurrent {
                    response.options = response.options | Options::CONCURRENT_OPERATIONS;
                }
                response.into()
            }
            Apdu::SearchRequest(search) => {
                let Query::Type1(query) = &search.query else {
                    panic!("{search:?}");
                };
                let query = query.to_string();
                let condition = match &query {
                    query if query.contains("4=1 ") => 118,
                    query if query.contains("id7") => 114,
                    _ => 25,
                };
                // An identifier is looked up in two indexes, and both of these searches are refused.
                let refused = if query.ends_with(" 7") { 2 } else { 1 };
                if number <= refused {
                    return search_failed(diagnostic(condition, "")).into();
                }
                let hits = if query.contains("id7") { 1 } else { HITS };
                let count = usize::try_from(search.medium_set_present_number).expect("a number");
                let count = if self.sends_records {
                    count.min(hits)
                } else {
                    0
                };
                let hits = i64::try_from(hits).expect("a number");
                found(hits, vec![marc(); count]).into()
            }
            Apdu::PresentRequest(present) => {
                let count = usize::try_from(present.number_of_records_requested).expect("few");
                let records = Records::ResponseRecords(vec![marc(); count]);
                presented(PresentStatus::SUCCESS, Some(records)).into()
            }
            _ => Close::new(CloseReason::FINISHED, None).into(),
        }
    }
}

impl Connect for Refusing {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        let server = self.clone();
        let stream = answering(move |request| Some(vec![server.answer(&request)]));
        Box::pin(ready(Ok(Box::new(stream) as _)))
    }
}

/// The subjects of a search, each of which leads to different events.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Query,
    Identifier,
    Publication,
    Url,
}

const KINDS: [Kind; 4] = [Kind::Query, Kind::Identifier, Kind::Publication, Kind::Url];

fn query() -> Wanted {
    let key: crate::SortKey = "title".parse().expect("a key");
    let query = TypedQuery::attributes([(1, 4), (4, 1)], "emma");
    Wanted::query(query.sorted_by([key])).count(50)
}

async fn begin(client: &Client, kind: Kind) -> Events {
    let mut wanted = match kind {
        Kind::Query => query(),
        Kind::Identifier => local("7").count(3),
        Kind::Publication => {
            let field = Field::data(b"245", "10", [("a", "Emma")]);
            let mut record = MarcRecord::default();
            record.fields.push(field);
            Wanted::publication(Publication::of(&record).expect("a title"))
        }
        Kind::Url => {
            let url = Z3950Url::parse("z39.50r://lib.example/cat?id7;rs=usmarc", Mode::Strict);
            let plan = client.plan(&url.expect("a URL")).await.expect("a plan");
            return client.find_planned(plan);
        }
    };
    wanted.form.element_set = Some("F".into());
    let target = client.target("lib.example/cat").expect("a target");
    client.find([target], wanted.fallback(Fallback::ALL))
}

/// Describes an event. Returns `None` for the event that announces a search, because a search whose session was given
/// up is sent again.
fn told(event: &Event) -> Option<String> {
    Some(match event {
        Event::Asked { .. } => return None,
        Event::Again { .. } => "again".to_owned(),
        Event::Unlike { .. } => "unlike".to_owned(),
        Event::Unsorted { .. } => "unsorted".to_owned(),
        Event::Found(found) => format!("found {}", found.result.hits),
        Event::Record { position, .. } => format!("record {position}"),
        Event::Done { delivered, .. } => format!("done {delivered}"),
        Event::Best(_) => "best".to_owned(),
        Event::Ended(ending) => ending.outcome.to_string(),
    })
}

async fn rest(mut events: Events) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(event) = events.next().await {
        lines.extend(told(&event));
    }
    lines
}

/// Performs another search on the same server with the same client.
async fn search_meanwhile(client: &Client, case: &str) {
    let target = client.target("lib.example/cat").expect("a target");
    let wanted = Wanted::query(TypedQuery::title("persuasion")).count(1);
    let mut events = client.find([target], wanted);
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    let Some(Event::Ended(ending)) = last else {
        panic!("{case}: {last:?}");
    };
    assert_eq!(ending.outcome, OutcomeName::Delivered, "{case}: {ending:?}");
}

/// Returns the number of events of a search, and descriptions of those that are always the same.
async fn undisturbed(kind: Kind) -> (usize, Vec<String>) {
    let mut events = begin(&Refusing::default().client(), kind).await;
    let (mut count, mut lines) = (0, Vec::new());
    while let Some(event) = events.next().await {
        count += 1;
        lines.extend(told(&event));
    }
    (count, lines)
}

#[tokio::test(start_paused = true)]
async fn issue_44_the_searches_have_events_of_all_kinds() {
    let (_, query) = undisturbed(Kind::Query).await;
    assert_eq!(query[..4], ["again", "unsorted", "found 45", "record 1"]);
    assert_eq!(query[47..], ["record 45", "done 45", "delivered"]);
    let (_, identifier) = undisturbed(Kind::Identifier).await;
    assert_eq!(identifier[..3], ["again", "found 45", "record 1"]);
    let (_, publication) = undisturbed(Kind::Publication).await;
    assert!(
        publication.iter().any(|line| line == "unlike"),
        "{publication:?}"
    );
    let (_, url) = undisturbed(Kind::Url).await;
    let expected = ["again", "found 1", "record 1", "done 1", "delivered"];
    assert_eq!(url, expected);
}

/// Checks that no event is missing or changed if a reader stops after any event, or while it waits for the next one,
/// and continues later.
#[tokio::test(start_paused = true)]
async fn issue_44_a_reader_that_stops_keeps_no_session() {
    for kind in KINDS {
        let (count, expected) = undisturbed(kind).await;
        for (read, waits) in (1..=count).flat_map(|read| [(read, false), (read, true)]) {
            let client = Refusing::default().client();
            let mut events = begin(&client, kind).await;
            let mut lines = Vec::new();
            for _ in 0..read {
                lines.extend(told(&events.next().await.expect("an event")));
            }
            if waits && let Some(Some(event)) = events.next().now_or_never() {
                lines.extend(told(&event));
            }
            search_meanwhile(&client, &format!("{kind:?} after {read}: {lines:?}")).await;
            lines.extend(rest(events).await);
            assert_eq!(lines, expected, "{kind:?} after {read}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn issue_44_a_reader_that_goes_leaves_the_session_free() {
    for kind in KINDS {
        let (count, _) = undisturbed(kind).await;
        for (read, panics) in (1..=count).flat_map(|read| [(read, false), (read, true)]) {
            let client = Refusing::default().client();
            let mut events = begin(&client, kind).await;
            let reader = tokio::spawn(async move {
                for _ in 0..read {
                    events.next().await.expect("an event");
                }
                assert!(!panics, "the reader panics");
            });
            assert_eq!(reader.await.is_err(), panics);
            search_meanwhile(&client, &format!("{kind:?} after {read}")).await;
        }
    }
}

/// Checks that two readers that keep up, and therefore both need the only session all the time, cause no additional
/// requests.
#[tokio::test(start_paused = true)]
async fn issue_44_readers_that_keep_up_cause_no_further_requests() {
    let server = Refusing::default();
    let client = server.client();
    let (one, other) = (
        begin(&client, Kind::Query).await,
        begin(&client, Kind::Query).await,
    );
    let (one, other) = tokio::join!(rest(one), rest(other));
    assert_eq!([one.len(), other.len()], [50, 49]);
    // Each reader's search was sent once. The first search was refused, so it was sent again.
    let requests = ["initRequest", "searchRequest", "presentRequest"];
    assert_eq!(requests.map(|name| server.count(name)), [1, 3, 6]);
}

/// Checks that a reader occupies no session if the response to its search contains all wanted records, and that these
/// are not requested again.
#[tokio::test(start_paused = true)]
async fn issue_44_records_with_the_answer_hold_no_session() {
    let server = Refusing {
        sends_records: true,
        ..Refusing::default()
    };
    let client = server.client();
    let target = client.target("lib.example/cat").expect("a target");
    let wanted = Wanted::query(TypedQuery::title("emma"));
    let mut events = client.find([target], wanted);
    // The server refuses only the first search. Count one now, so that the search of this test is not refused.
    server.note("searchRequest");
    while !matches!(events.next().await, Some(Event::Found(_))) {}
    assert_eq!(client.pool_status().in_use, 0);
    let lines = rest(events).await;
    assert_eq!(lines.len(), 12, "{lines:?}");
    assert_eq!(server.count("presentRequest"), 0);
}

/// Checks that a reader can give its session up after the session was given to another user.
#[tokio::test(start_paused = true)]
async fn issue_44_a_session_is_given_up_late() {
    let client = Refusing::default().client();
    let mut events = begin(&client, Kind::Query).await;
    while !matches!(events.next().await, Some(Event::Found(_))) {}
    search_meanwhile(&client, "after the result").await;
    events.let_go(0);
    let lines = rest(events).await;
    assert_eq!(lines[..3], ["unsorted", "found 45", "record 1"]);
}

/// Checks that two readers that have stopped and share a session give it up if a third user needs it exclusively.
#[tokio::test(start_paused = true)]
async fn issue_44_readers_that_share_a_session_give_it_up_together() {
    let server = Refusing {
        is_concurrent: true,
        ..Refusing::default()
    };
    let client = server.client();
    let mut events = Vec::new();
    for _ in 0..2 {
        let mut begun = begin(&client, Kind::Query).await;
        while !matches!(begun.next().await, Some(Event::Found(_))) {}
        events.push(begun);
    }
    assert_eq!(server.count("initRequest"), 1);
    let connection = client.connect("lib.example/cat").await;
    drop(connection.expect("a session"));
    for events in events {
        assert_eq!(rest(events).await.len(), 47);
    }
}

#[tokio::test(start_paused = true)]
async fn issue_44_dropped_events_return_the_session_at_once() {
    let client = Refusing::default().client();
    let mut events = begin(&client, Kind::Query).await;
    while !matches!(events.next().await, Some(Event::Found(_))) {}
    assert_eq!(client.pool_status().in_use, 1);
    drop(events);
    assert_eq!(client.pool_status().in_use, 0);
}

#[test]
fn issue_44_events_that_outlive_their_runtime_keep_no_session() {
    let client = Refusing::default().client();
    let of_one = tokio::runtime::Runtime::new().expect("a runtime");
    let events = of_one.block_on(async {
        let mut events = begin(&client, Kind::Query).await;
        while !matches!(events.next().await, Some(Event::Found(_))) {}
        events
    });
    drop(of_one);
    assert_eq!(client.pool_status().in_use, 0);
    drop(events);
}
