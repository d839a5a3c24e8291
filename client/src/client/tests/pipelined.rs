//! Retrievals that share a session, at a server that answers requests in turn.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use z3950_asn1::apdu::Record;

use super::*;
use crate::lookup::{Identifier, LookupOptions, attempts, lookup_shared, matched};
use crate::protocol::pager::PagerOptions;
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchOptions;
use crate::target::profile::Profiles;
use crate::transport::{Connect, Connecting};

/// Of a session: how many requests it received in each second, and the names of the result sets.
type Seen = (Vec<usize>, Vec<String>);

/// A server that answers after a second; what it received in the meantime it answers then, or loses.
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

/// Six retrievals at once in one session; returns how many requests each session received in each second, and the names of
/// the result sets.
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

/// After the first request that it loses, requests are made one at a time.
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

/// A server that carries out operations side by side and answers pairs of searches with each other's referenceIds.
struct Swapping;

impl Connect for Swapping {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        tokio::spawn(serve_swapped(Peer::on(theirs)));
        Box::pin(std::future::ready(Ok(Box::new(ours) as _)))
    }
}

async fn serve_swapped(mut peer: Peer) {
    while let Some(request) = peer.next().await {
        let mut requests = vec![request];
        if matches!(requests[0], Apdu::InitializeRequest(_)) {
            let mut response = init_response(true, ProtocolVersion::UP_TO_3);
            response.options = response.options | Options::CONCURRENT_OPERATIONS;
            peer.send(response).await;
            continue;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        while requests.len() < 2
            && let Ok(Some(request)) = timeout(Duration::ZERO, peer.next()).await
        {
            requests.push(request);
        }
        let mut ids: Vec<_> = requests
            .iter()
            .map(|one| one.reference_id().cloned())
            .collect();
        ids.reverse();
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

/// A record with the ISBN that is searched for.
fn with_number_of(query: &Query) -> NamePlusRecord {
    let text = match query {
        Query::Type1(query) => query.to_string(),
        other => panic!("{other:?}"),
    };
    let number = NUMBERS.into_iter().find(|number| text.contains(number));
    let mrk = format!(
        "=LDR  00000nam a2200000 a 4500\n=020  \\\\$a{}\n",
        number.expect("a known number")
    );
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

/// Even with swapped referenceIds, each lookup has the record with its own number.
#[tokio::test(start_paused = true)]
async fn no_record_comes_under_the_identifier_of_another_lookup() {
    let routes = Routes::fixed(Arc::new(Swapping));
    let client = Client::with_routes(options(|_| ()), routes);
    let mut target = Profiles::default()
        .resolve("lib.example/cat")
        .expect("a target");
    target.profile.sessions = Some(1);
    let lookups = NUMBERS.map(|number| {
        let (client, target) = (&client, &target);
        async move {
            let identifier: Identifier = format!("isbn:{number}").parse().expect("an ISBN");
            let attempts = attempts(&identifier);
            let init = client.options().plan.init.clone();
            let lease = client.share(target, init).await.expect("a place");
            let search = SearchOptions {
                databases: vec!["cat".into()],
                result_set: lease.result_set().clone(),
                ..SearchOptions::default()
            };
            let options = LookupOptions {
                search,
                records: PagerOptions::default(),
                count: 1,
            };
            let hits = lookup_shared(&lease, &identifier, &attempts, &options).await;
            let hits = hits.expect("an answer").expect("a record");
            match &hits.records[..] {
                [ResultRecord::Record { external, .. }] => {
                    assert!(matched(&identifier, external).is_some(), "{number}");
                }
                other => panic!("{other:?}"),
            }
        }
    });
    join_all(lookups).await;
}
