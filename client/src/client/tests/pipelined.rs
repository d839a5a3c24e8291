//! Tests of retrievals that share a session, with a server that answers requests in order.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use z3950_asn1::apdu::Record;

use super::*;
use crate::find::{Event, SearchTarget, Subject, Wanted};
use crate::lookup::{Identifier, matched};
use crate::protocol::service::ResultRecord;
use crate::target::profile::Profiles;
use crate::transport::{Connect, Connecting};

/// What the server observed in one session: the number of requests that it received in each second, and the names of
/// the result sets.
type Seen = (Vec<usize>, Vec<String>);

/// A server that takes a second for each response. Requests that arrive during this second are answered afterwards or,
/// if `loses` is set, lost.
struct Slow {
    loses: bool,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Connect for Slow {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let seen = Arc::clone(&self.seen);
        let number = {
            let mut seen = seen.lock().expect("no panic");
            seen.push(Default::default());
            seen.len() - 1
        };
        tokio::spawn(serve_slowly(Peer::on(theirs), self.loses, seen, number));
        Box::pin(std::future::ready(Ok(Box::new(ours) as _)))
    }
}

async fn serve_slowly(mut peer: Peer, loses: bool, seen: Arc<Mutex<Vec<Seen>>>, number: usize) {
    while let Some(request) = peer.next().await {
        let mut requests = vec![request];
        if matches!(requests[0], Apdu::InitializeRequest(_)) {
            peer.send(init_response(true, ProtocolVersion::UP_TO_3))
                .await;
            continue;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        while let Ok(Some(request)) = timeout(Duration::ZERO, peer.next()).await {
            requests.push(request);
        }
        {
            let mut seen = seen.lock().expect("no panic");
            let (counts, sets) = &mut seen[number];
            counts.push(requests.len());
            for request in &requests {
                if let Apdu::SearchRequest(search) = request {
                    sets.push(search.result_set_name.to_string_lossy().into_owned());
                }
            }
        }
        if loses {
            requests.truncate(1);
        }
        for request in requests {
            let mut answer: Apdu = match request {
                Apdu::Close(_) => return,
                _ => found(1, vec![marc()]).into(),
            };
            answer.set_reference_id(request.reference_id().cloned());
            peer.send(answer).await;
        }
    }
}

/// Makes six retrievals at the same time in one session. Returns what each server observed.
async fn retrieve(pipelined: &str, loses: bool) -> Vec<Seen> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("targets.toml");
    let text = format!("[targets.lib]\nhost = 'lib.example'\nsessions = 1\n{pipelined}\n");
    std::fs::write(&path, text).expect("written");
    let profiles = Profiles::default().with_file(&path).expect("targets");
    let mut keep = options(|_| ());
    keep.keep_open = true;
    let seen = Arc::default();
    let slow = Slow {
        loses,
        seen: Arc::clone(&seen),
    };
    let client = Client::with_routes(keep, Routes::fixed(Arc::new(slow))).with_profiles(profiles);
    let url = url(ID7);
    let retrievals = join_all((0..6).map(|_| client.retrieve(&url))).await;
    for retrieval in retrievals {
        let outcome = retrieval.expect("a plan").outcome;
        assert_eq!(say(&outcome), "Delivered usmarc", "{pipelined}");
    }
    let seen = seen.lock().expect("no panic");
    seen.clone()
}

#[tokio::test(start_paused = true)]
async fn retrievals_are_pipelined_if_the_profile_says_so() {
    let alone = retrieve("", false).await;
    assert_eq!(alone, [(vec![1; 6], vec!["default".to_owned(); 6])]);
    let pipelined = retrieve("pipelined = 3", false).await;
    let [(counts, sets)] = pipelined.as_slice() else {
        panic!("{pipelined:?}");
    };
    assert!(
        counts.len() < 6 && counts.iter().all(|count| *count <= 3),
        "{counts:?}"
    );
    assert_eq!(counts.iter().sum::<usize>(), 6);
    let mut names = sets.clone();
    names.sort();
    names.dedup();
    assert_eq!(names, ["1", "2", "default"]);
}

/// Checks that after a server has lost requests for the first time, the client sends it one request at a time.
#[tokio::test(start_paused = true)]
async fn a_server_that_loses_requests_is_asked_one_at_a_time() {
    let seen = retrieve("pipelined = 3", true).await;
    let [(first, _), others @ ..] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert!(first.iter().any(|count| *count > 1), "{seen:?}");
    let mut later = others.iter().flat_map(|(counts, _)| counts);
    assert!(later.all(|count| *count == 1), "{seen:?}");
}

/// The error made by a server that performs operations concurrently.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Confusion {
    /// The server exchanges the referenceIds of the responses to two searches.
    Swaps,
    /// The server returns no referenceIds, and sends the last response first.
    Forgets,
    /// Once, the server answers the last of several searches with a Present response.
    Errs,
}

struct Confused {
    habit: Confusion,
    sessions: Arc<Mutex<usize>>,
}

impl Connect for Confused {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let is_first = {
            let mut sessions = self.sessions.lock().expect("no panic");
            *sessions += 1;
            *sessions == 1
        };
        let habit = Some(self.habit).filter(|habit| is_first || *habit != Confusion::Errs);
        tokio::spawn(serve_confused(Peer::on(theirs), habit));
        Box::pin(std::future::ready(Ok(Box::new(ours) as _)))
    }
}

async fn serve_confused(mut peer: Peer, habit: Option<Confusion>) {
    while let Some(request) = peer.next().await {
        let mut requests = vec![request];
        if matches!(requests[0], Apdu::InitializeRequest(_)) {
            let mut response = init_response(true, ProtocolVersion::UP_TO_3);
            response.options = response.options | Options::CONCURRENT_OPERATIONS;
            peer.send(response).await;
            continue;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let most = if habit == Some(Confusion::Errs) { 4 } else { 2 };
        while requests.len() < most
            && let Ok(Some(request)) = timeout(Duration::ZERO, peer.next()).await
        {
            requests.push(request);
        }
        let mut ids: Vec<_> = requests
            .iter()
            .map(|one| one.reference_id().cloned())
            .collect();
        match habit {
            Some(Confusion::Swaps) => ids.reverse(),
            Some(Confusion::Forgets) => {
                ids.fill(None);
                requests.reverse();
            }
            Some(Confusion::Errs) if ids.len() > 1 => {
                let wrong = PresentResponse {
                    reference_id: ids.pop().flatten(),
                    ..presented(PresentStatus::SUCCESS, None)
                };
                peer.send(wrong).await;
                continue;
            }
            _ => {}
        }
        for (request, id) in requests.into_iter().zip(ids) {
            let Apdu::SearchRequest(search) = request else {
                return;
            };
            let mut answer: Apdu = found(1, vec![with_number_of(&search.query)]).into();
            answer.set_reference_id(id);
            peer.send(answer).await;
        }
    }
}

/// Builds a record with the number for which the query searches.
fn with_number_of(query: &Query) -> NamePlusRecord {
    let text = match query {
        Query::Type1(query) => query.to_string(),
        other => panic!("{other:?}"),
    };
    let number = NUMBERS.into_iter().find(|number| text.contains(number));
    let number = number.expect("a known number");
    let mrk = format!("=LDR  00000nam a2200000 a 4500\n=001  {number}\n=020  \\\\$a{number}\n");
    let record = z3950_marc::mrk::parse_all(&mrk)
        .expect("a record")
        .remove(0);
    let octets = z3950_marc::iso2709::encode(&record).expect("fits");
    NamePlusRecord {
        name: None,
        record: Record::RetrievalRecord(External::octet_aligned(oid::USMARC, octets)),
    }
}

const NUMBERS: [&str; 4] = [
    "9780306406157",
    "9780140449136",
    "9780199535569",
    "9780141439600",
];

/// Checks that each lookup returns the record with its own number, even if a server confuses answers.
#[tokio::test(start_paused = true)]
async fn no_record_comes_under_the_identifier_of_another_lookup() {
    for habit in [Confusion::Swaps, Confusion::Forgets, Confusion::Errs] {
        for kind in ["isbn", "local", "docid"] {
            let sessions = Arc::default();
            let confused = Confused {
                habit,
                sessions: Arc::clone(&sessions),
            };
            let routes = Routes::fixed(Arc::new(confused));
            let client = Client::with_routes(options(|_| ()), routes);
            let mut target = Profiles::default()
                .resolve("lib.example/cat")
                .expect("a target");
            target.profile.sessions = Some(1);
            let lookups = NUMBERS.map(|number| {
                let (client, target) = (&client, &target);
                async move {
                    let identifier: Identifier =
                        format!("{kind}:{number}").parse().expect("a number");
                    let wanted = Wanted {
                        count: 1,
                        ..Wanted::new(Subject::Identifiers(vec![identifier]))
                    };
                    let init = client.options().plan.init.clone();
                    let target = SearchTarget::new("lib", target.clone(), init);
                    let mut events = client.find([target], wanted);
                    let mut records = Vec::new();
                    while let Some(event) = events.next().await {
                        if let Event::Record { record, .. } = event {
                            records.push(record);
                        }
                    }
                    match &records[..] {
                        [ResultRecord::Record { external, .. }] => {
                            let isbn = format!("isbn:{number}").parse().expect("an ISBN");
                            let found = matched(&isbn, external);
                            assert!(found.is_some(), "{habit:?} {kind}:{number}");
                        }
                        other => panic!("{other:?}"),
                    }
                }
            });
            join_all(lookups).await;
            let opened = *sessions.lock().expect("no panic");
            let expected = if habit == Confusion::Swaps { 1 } else { 2 };
            assert_eq!(opened, expected, "{habit:?} {kind}");
        }
    }
}

/// Checks that each retrieval in a shared session returns the record with its own docid.
#[tokio::test(start_paused = true)]
async fn no_record_comes_under_the_url_of_another_retrieval() {
    for habit in [Confusion::Swaps, Confusion::Forgets, Confusion::Errs] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("targets.toml");
        let text = "[targets.lib]\nhost = 'lib.example'\nsessions = 1\n";
        std::fs::write(&path, text).expect("written");
        let profiles = Profiles::default().with_file(&path).expect("targets");
        let mut keep = options(|_| ());
        keep.keep_open = true;
        let sessions = Arc::default();
        let confused = Confused { habit, sessions };
        let routes = Routes::fixed(Arc::new(confused));
        let client = Client::with_routes(keep, routes).with_profiles(profiles);
        let urls = NUMBERS.map(|number| url(&format!("z39.50r://lib.example/cat?{number}")));
        let retrievals = join_all(urls.iter().map(|url| client.retrieve(url))).await;
        for (retrieval, number) in retrievals.into_iter().zip(NUMBERS) {
            let record = retrieval.expect("a plan").into_record().expect("a record");
            let isbn = format!("isbn:{number}").parse().expect("an ISBN");
            let found = matched(&isbn, record.external());
            assert!(found.is_some(), "{habit:?} {number}");
        }
    }
}
