//! Tests with servers that send less than requested, refuse, disconnect or miscount: each record must be returned once,
//! in order.

mod ahead;
mod forms;

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use z3950_asn1::apdu::*;
use z3950_asn1::oid;

use super::*;
use crate::protocol::session::SessionOptions;
use crate::testing::*;
use crate::transport::BoxFuture;

/// How a server with the records 1 to `hits` answers a Present.
#[derive(Debug, Clone, Copy)]
enum Habit {
    Honest,
    /// Sends at most this many records in an answer.
    Short(i64),
    /// Sends no records if more than this many are requested.
    Empty(i64),
    /// Refuses requests for more records than the second number. The condition of the diagnostic is the first number.
    Refuses(i64, i64),
    /// Has only this many records, although it counts more.
    Overcounts(i64),
    /// Refuses any request for record 5 with this condition.
    Spoilt(i64),
    /// Sends a surrogate diagnostic with this condition for record 5. The `bool` says whether the record is available
    /// alone.
    Surrogate(i64, bool),
    /// Record 5 is too large in every element set except this one.
    Large(&'static str),
    /// Record 5 is empty in every element set except this one.
    Blank(&'static str),
    /// Disconnects if more than this many records are requested.
    Fragile(i64),
    /// Disconnects at every Present.
    Broken,
    /// Disconnects at the first Present, and finds an additional record in the next session.
    Changing,
}

/// A server, which records the requests that it receives in all its sessions.
#[derive(Clone)]
struct Server {
    habit: Habit,
    hits: i64,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn stream(&self) -> tokio::io::DuplexStream {
        let server = self.clone();
        answering(move |request| server.answer(request))
    }

    async fn open(&self) -> Result<Session, Error> {
        Session::over(self.stream(), &SessionOptions::default()).await
    }

    fn answer(&self, request: Apdu) -> Option<Vec<Apdu>> {
        match request {
            Apdu::InitializeRequest(_) => {
                Some(vec![init_response(true, ProtocolVersion::UP_TO_3).into()])
            }
            Apdu::SearchRequest(search) => {
                let searches = self.note("search".into());
                let more = matches!(self.habit, Habit::Changing) && searches > 1;
                let hits = self.hits + i64::from(more);
                let pushed = search.medium_set_present_number.min(hits);
                let records = (1..=pushed).map(numbered).collect();
                Some(vec![found(hits, records).into()])
            }
            Apdu::PresentRequest(present) => {
                let start = present.result_set_start_point;
                let count = present.number_of_records_requested;
                let element_set = element_set(&present);
                self.note(format!("{start}+{count}{element_set}"));
                Some(vec![self.present(start, count, &element_set)?.into()])
            }
            _ => Some(vec![Close::new(CloseReason::FINISHED, None).into()]),
        }
    }

    fn note(&self, word: String) -> usize {
        let mut asked = self.asked.lock().expect("no panic");
        asked.push(word);
        asked.iter().filter(|word| *word == "search").count()
    }

    fn present(&self, start: i64, count: i64, element_set: &str) -> Option<PresentResponse> {
        let refused =
            |condition| Some(presented(PresentStatus::FAILURE, diagnostic(condition, "")));
        let has_five = (start..start + count).contains(&5);
        let mut given = count;
        match self.habit {
            _ if start + count - 1 > self.hits => return refused(13),
            Habit::Overcounts(real) if start + count - 1 > real => return refused(13),
            Habit::Short(most) => given = given.min(most),
            Habit::Empty(most) if count > most => given = 0,
            Habit::Refuses(condition, most) if count > most => return refused(condition),
            Habit::Spoilt(condition) if has_five => return refused(condition),
            Habit::Fragile(most) if count > most => return None,
            Habit::Broken | Habit::Changing => return None,
            _ => {}
        }
        let record = |position| match self.habit {
            Habit::Surrogate(condition, helps) if position == 5 && !(helps && count == 1) => {
                surrogate(condition)
            }
            Habit::Large(name) if position == 5 && element_set != name => surrogate(17),
            Habit::Blank(name) if position == 5 && element_set != name => text(""),
            _ => numbered(position),
        };
        let records = (start..start + given).map(record).collect();
        Some(presented(
            PresentStatus::SUCCESS,
            Some(Records::ResponseRecords(records)),
        ))
    }
}

fn numbered(position: i64) -> NamePlusRecord {
    text(&position.to_string())
}

fn text(text: &str) -> NamePlusRecord {
    NamePlusRecord {
        name: None,
        record: Record::RetrievalRecord(External::octet_aligned(oid::SUTRS, text)),
    }
}

/// Returns the requested element set, or an empty string if there is none.
fn element_set(present: &PresentRequest) -> String {
    match &*present.record_composition {
        Some(RecordComposition::Simple(ElementSetNames::GenericElementSetName(name))) => {
            name.to_string_lossy().into_owned()
        }
        _ => String::new(),
    }
}

fn words(record: &ResultRecord) -> String {
    match record {
        ResultRecord::Record { external, .. } => {
            let octets = z3950_asn1::record::RetrievedRecord::octets_of(external);
            String::from_utf8_lossy(&octets).into_owned()
        }
        ResultRecord::Diagnostic { diagnostic, .. } => match diagnostic {
            DiagRec::DefaultFormat(diagnostic) => format!("!{}", diagnostic.condition),
            DiagRec::ExternallyDefined(_) => "!".into(),
        },
    }
}

impl Reconnect for Server {
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>> {
        Box::pin(self.open())
    }
}

async fn result_set(server: &Server, pushed: u64, reconnects: bool) -> Pager {
    let options = PagerOptions {
        chunk_size: 4,
        reconnect: reconnects.then(|| Arc::new(server.clone()) as Arc<dyn Reconnect>),
        ..PagerOptions::default()
    };
    let search = SearchOptions::default().with_records(pushed);
    let session = server.open().await.expect("a session");
    session
        .pager(query(), &search, options)
        .await
        .expect("found")
}

/// Checks the records that the stream returns (`given`), and the requests that the server receives (`asked`).
async fn check(habit: Habit, hits: i64, pushed: u64, reconnects: bool, given: &str, asked: &str) {
    let server = Server {
        habit,
        hits,
        asked: Arc::default(),
    };
    let mut set = result_set(&server, pushed, reconnects).await;
    assert_eq!(set.count(), u64::try_from(hits).expect("positive"));
    let mut seen = Vec::new();
    let mut stream = set.stream_range(1, u64::MAX);
    while let Some(record) = stream.next().await {
        seen.push(match &record {
            Ok(record) => words(record),
            Err(error) => error.to_string(),
        });
    }
    assert_eq!(seen.join(" "), given, "{habit:?}");
    let seen = server.asked.lock().expect("no panic").join(" ");
    assert_eq!(seen, asked, "{habit:?}");
}

#[tokio::test(start_paused = true)]
async fn each_position_comes_once_and_in_order() {
    let ten = "1 2 3 4 5 6 7 8 9 10";
    check(Habit::Honest, 0, 0, false, "", "search").await;
    check(Habit::Honest, 10, 0, false, ten, "search 1+4 5+4 9+2").await;
    check(Habit::Honest, 10, 3, false, ten, "search 4+4 8+3").await;
    check(Habit::Honest, 2, 9, false, "1 2", "search").await;
    let short = "search 1+4 4+3 7+3 10+1";
    check(Habit::Short(3), 10, 0, false, ten, short).await;
    let empty = "search 1+4 1+2 3+2 5+2 7+2 9+2";
    check(Habit::Empty(2), 10, 0, false, ten, empty).await;
    check(Habit::Refuses(31, 2), 10, 0, false, ten, empty).await;
    let one = "search 1+4 1+2 1+1 2+1";
    check(
        Habit::Refuses(32, 1),
        2,
        0,
        false,
        "1 2",
        "search 1+2 1+1 2+1",
    )
    .await;
    check(
        Habit::Refuses(33, 1),
        4,
        0,
        false,
        "1 2 3 4",
        &format!("{one} 3+1 4+1"),
    )
    .await;
    let out_of_range =
        "1 2 3 4 5 6 7 Present failed: diagnostic 13 (the result has no record at this position)";
    check(
        Habit::Overcounts(7),
        10,
        0,
        false,
        out_of_range,
        "search 1+4 5+4 5+2 7+2 7+1 8+1",
    )
    .await;
    let spoilt = "1 2 3 4 !14 6 7 8 9 10";
    let alone = "search 1+4 5+4 5+2 5+1 6+1 7+1 8+1 9+1 10+1";
    check(Habit::Spoilt(14), 10, 0, false, spoilt, alone).await;
    let refused = "Present failed: diagnostic 239 (the server does not offer this record syntax)";
    check(Habit::Refuses(239, 0), 10, 0, false, refused, "search 1+4").await;
    check(
        Habit::Surrogate(14, false),
        10,
        0,
        false,
        spoilt,
        "search 1+4 5+4 9+2",
    )
    .await;
    check(
        Habit::Surrogate(16, true),
        10,
        0,
        false,
        ten,
        "search 1+4 5+4 5+1 6+4 10+1",
    )
    .await;
    let later = "search 2+4 5+4 5+1 6+4 10+1";
    check(Habit::Surrogate(16, true), 10, 1, false, ten, later).await;
    let too_large = "1 2 3 4 !17 6 7 8 9 10";
    check(
        Habit::Surrogate(17, false),
        10,
        0,
        false,
        too_large,
        "search 1+4 5+4 5+1 6+4 10+1",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_opened_again_once() {
    let lost = "closed during Present";
    check(Habit::Broken, 10, 0, false, lost, "search 1+4").await;
    check(
        Habit::Broken,
        10,
        2,
        true,
        "1 2 closed during Present",
        "search 3+4 search 3+2",
    )
    .await;
    let fragile = "search 1+4 search 1+2 3+2 5+2 7+2 9+2";
    check(
        Habit::Fragile(2),
        10,
        0,
        true,
        "1 2 3 4 5 6 7 8 9 10",
        fragile,
    )
    .await;
    let changed = "protocol error during Search";
    check(Habit::Changing, 10, 0, true, changed, "search 1+4 search").await;
}

#[tokio::test(start_paused = true)]
async fn ranges_and_single_records_are_fetched() {
    let server = Server {
        habit: Habit::Short(3),
        hits: 10,
        asked: Arc::default(),
    };
    let mut set = result_set(&server, 2, false).await;
    for (start, count, expected) in [
        (1, 1, "1"),
        (2, 3, "2 3 4"),
        (0, 2, "1 2"),
        (9, 9, "9 10"),
        (11, 1, ""),
        (5, 0, ""),
        (u64::MAX, u64::MAX, ""),
    ] {
        let records = set.range(start, count).await.expect("records");
        let records: Vec<_> = records.iter().map(words).collect();
        assert_eq!(records.join(" "), expected, "{start}+{count}");
    }
    assert_eq!(words(&set.record(7).await.expect("a record")), "7");
    let error = set.record(11).await.expect_err("out of range");
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    let all = set.stream_range(1, u64::MAX).collect::<Vec<_>>().await;
    assert_eq!(all.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn an_estimated_set_ends_with_its_last_record() {
    let (session, mut peer) = Peer::granting(SessionOptions::default(), Options::default()).await;
    let server = tokio::spawn(async move {
        peer.request().await;
        let guess = SearchResponse {
            result_set_status: Some(ResultSetStatus::ESTIMATE),
            ..found(1000, vec![])
        };
        peer.send(guess).await;
        peer.request().await;
        let records = Records::ResponseRecords(vec![numbered(1), numbered(2)]);
        peer.send(presented(PresentStatus::PARTIAL_1, Some(records)))
            .await;
        // Refuse the Present for records 3 and 4, and then the Present for record 3 alone.
        for _ in 0..2 {
            peer.request().await;
            peer.send(presented(PresentStatus::FAILURE, diagnostic(13, "3")))
                .await;
        }
        assert!(peer.hears_nothing().await);
    });
    let (search, options) = (SearchOptions::default(), PagerOptions::default());
    let set = session.pager(query(), &search, options).await;
    let mut set = set.expect("found");
    assert!(set.found().is_estimate());
    let records = set.stream_range(1, u64::MAX).collect::<Vec<_>>().await;
    assert!(records.len() == 2 && records.iter().all(Result::is_ok));
    server.await.expect("no panic");
}
