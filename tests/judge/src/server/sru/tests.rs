//! Tests of the SRU judge with a server in the same process. A proxy between the judge and the server breaks one rule at a time,
//! to show that each check can fail.

mod rules;

use self::rules::{NEVER, SEARCHING, SERVICES};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use z3950_server::testing::TestServer;

use super::checks::all;
use crate::server::{Judge, JudgeOptions, MissingPrerequisite, Verdict};
use z3950::transport::Tcp;
use z3950::url::{Host, Mode};

/// The changes that the proxy makes to requests or answers.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// Changes nothing.
    Faithful,
    /// Replaces text in each request.
    Asked(&'static str, &'static str),
    /// Replaces text in each answer.
    Answered(&'static str, &'static str),
    /// Replaces text in each answer to a request that contains a given text.
    AnsweredTo(&'static str, &'static str, &'static str),
    /// Closes the connection when a request contains a given text, and accepts no requests after that.
    Dies(&'static str),
    /// Sends octets endlessly.
    Floods,
    /// Does not send anything.
    Hangs,
}

/// A proxy between the judge and a server.
struct Peer {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Peer {
    async fn before(server: SocketAddr, rule: Rule) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let is_dead = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let is_dead = Arc::clone(&is_dead);
                tokio::spawn(async move { pass(stream, server, rule, &is_dead).await });
            }
        });
        Self { address, task }
    }
}

/// Passes requests and answers on until one side closes the connection.
async fn pass(
    mut client: TcpStream,
    server: SocketAddr,
    rule: Rule,
    is_dead: &std::sync::atomic::AtomicBool,
) -> Option<()> {
    use std::sync::atomic::Ordering;
    let mut upstream = TcpStream::connect(server).await.ok()?;
    while let Some(message) = message(&mut client, false).await {
        if is_dead.load(Ordering::Relaxed) {
            return None;
        }
        let octets = match rule {
            Rule::Asked(from, to) => changed(&message, from, to),
            Rule::Dies(when) if holds(&message, when) => {
                is_dead.store(true, Ordering::Relaxed);
                return None;
            }
            Rule::Floods => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\n<a>";
                client.write_all(head.as_bytes()).await.ok()?;
                loop {
                    client.write_all(&[b'a'; 4096]).await.ok()?;
                }
            }
            Rule::Hangs => return std::future::pending().await,
            _ => message.clone(),
        };
        upstream.write_all(&octets).await.ok()?;
        let answer = self::message(&mut upstream, holds(&octets, "HEAD /")).await?;
        let answer = match rule {
            Rule::Answered(from, to) => changed(&answer, from, to),
            Rule::AnsweredTo(when, from, to) if holds(&message, when) => changed(&answer, from, to),
            _ => answer,
        };
        client.write_all(&answer).await.ok()?;
    }
    Some(())
}

fn holds(message: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(message).contains(text)
}

/// Replaces text in an HTTP message and corrects its length. `¤` becomes an octet that is not UTF-8.
fn changed(message: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(message).replace(from, to);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let lines = head.split("\r\n").map(|line| {
        if line.to_ascii_lowercase().starts_with("content-length:") {
            format!("content-length: {}", body.len())
        } else {
            line.to_owned()
        }
    });
    let head = lines.collect::<Vec<_>>().join("\r\n");
    let octets = format!("{head}\r\n\r\n{body}").into_bytes();
    let mut parts = octets.split(|octet| *octet == 0xC2).peekable();
    let mut made = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        match part.strip_prefix(b"\xA4") {
            // Two octets are replaced with two others, so the length does not change.
            Some(rest) => made.extend([b"\xFF ", rest].concat()),
            None => made.extend([b"\xC2", part].concat()),
        }
    }
    made
}

/// Reads the next HTTP message: a head, followed by a body of the length given in the head unless the message is `bare`.
async fn message(stream: &mut TcpStream, bare: bool) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    let end = loop {
        if let Some(end) = octets.windows(4).position(|part| part == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut octets).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&octets[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = length.filter(|_| !bare);
    let length: usize = length.map_or(0, |length| length.trim().parse().expect("a length"));
    while octets.len() < end + length {
        if stream.read_buf(&mut octets).await.ok()? == 0 {
            return None;
        }
    }
    Some(octets)
}

fn judge(address: SocketAddr, change: impl FnOnce(&mut JudgeOptions)) -> Judge {
    let mut options = JudgeOptions {
        databases: vec!["books".into()],
        cql: Some("dc.title=war".to_owned()),
        pause: Duration::ZERO,
        ..JudgeOptions::default()
    };
    change(&mut options);
    let host = Host::parse("127.0.0.1", Mode::Lenient).expect("a host");
    Judge::of_sru(Arc::new(Tcp::new(address)), host, address.port(), options)
}

/// Runs the judge and returns the verdicts of its checks.
async fn verdicts(judge: &mut Judge) -> Vec<(&'static str, Verdict)> {
    judge.learn().await;
    let mut found = Vec::new();
    while let Some(finding) = judge.next().await {
        found.push((finding.requirement.name, finding.verdict.clone()));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_of_this_project_passes_all() {
    let server = TestServer::demo();
    let peer = Peer::before(server.addr(), Rule::Faithful).await;
    let mut judge = judge(peer.address, |options| options.is_hostile = true);
    let found = verdicts(&mut judge).await;
    assert!(found.len() > 400, "{}", found.len());
    let others: Vec<_> = found
        .iter()
        .filter(|(_, verdict)| *verdict != Verdict::Pass)
        .collect();
    match &*others {
        [("version.missing", Verdict::NotJudged { .. })] => {}
        others => panic!("{others:#?}"),
    }
}

/// Returns the full names of the checks that a row of the tables stands for: the check in one version if the row names a version,
/// otherwise the checks in all versions.
fn named(name: &str) -> BTreeSet<&'static str> {
    let all = all().map(|(_, check)| check.requirement.name);
    let found: BTreeSet<_> = all
        .filter(|check| {
            let version = check.strip_prefix(name);
            version.is_some_and(|version| ["", ".1-1", ".1-2", ".2-0"].contains(&version))
        })
        .collect();
    assert!(!found.is_empty(), "{name} is a check");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn each_check_fails_at_the_server_that_it_is_about() {
    let server = TestServer::demo();
    let mut failing = BTreeSet::new();
    let mut faults = Vec::new();
    for (rule, names) in SEARCHING.iter().chain(SERVICES) {
        let wanted: BTreeSet<_> = names.iter().flat_map(|name| named(name)).collect();
        let peer = Peer::before(server.addr(), *rule).await;
        let mut judge = judge(peer.address, |options| {
            options.is_hostile = true;
            options.timeouts.answer = Some(Duration::from_secs(5));
            options.only = wanted.iter().map(|name| (*name).to_owned()).collect();
        });
        for (name, verdict) in verdicts(&mut judge).await {
            match verdict {
                _ if !wanted.contains(name) => {}
                Verdict::Fail { .. } => drop(failing.insert(name)),
                other => faults.push(format!("{rule:?}: {name}: {other:?}")),
            }
        }
    }
    let never: BTreeSet<_> = NEVER.iter().flat_map(|name| named(name)).collect();
    let left = all().map(|(_, check)| check.requirement.name);
    let left: Vec<_> = left
        .filter(|name| !failing.contains(name) && !never.contains(name))
        .collect();
    assert!(
        faults.is_empty() && left.is_empty(),
        "{faults:#?} {left:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_hang_flood_or_are_gone_cost_their_limits() {
    let server = TestServer::demo();
    for (rule, words) in [
        (Rule::Hangs, "no answer within 0.2 s"),
        (Rule::Floods, "more than 65536 octets"),
    ] {
        let peer = Peer::before(server.addr(), rule).await;
        let mut judge = judge(peer.address, |options| {
            options.timeouts.answer = Some(Duration::from_millis(200));
            options.limits.check_octets = 64 << 10;
            options.only = vec!["http.status".to_owned()];
        });
        let offered = judge.learn().await;
        let notes = offered.notes().join(" ");
        assert!(!offered.has_answered() && notes.contains(words), "{notes}");
        while let Some(finding) = judge.next().await {
            assert!(matches!(finding.verdict, Verdict::NotJudged { .. }));
        }
        assert_eq!(judge.report("here").to_json()["count"]["errors"], 1);
    }
    let peer = Peer::before(server.addr(), Rule::Faithful).await;
    let address = peer.address;
    drop(peer);
    let mut judge = judge(address, |options| options.only = vec!["search.".to_owned()]);
    let found = verdicts(&mut judge).await;
    assert!(found.len() > 20);
    assert!(
        found
            .iter()
            .all(|(_, verdict)| matches!(verdict, Verdict::NotJudged { .. }))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_in_no_report_on_sru() {
    use z3950_asn1::apdu::{IdAuthentication, IdPass};
    let server = TestServer::demo();
    for in_url in [false, true] {
        // The server sends the credentials back, as some servers do.
        let echo = "<!-- sesame, open; YW5uOnNlc2FtZSwgb3Blbg== sesame%2c%20open http://ann:sesame%2C%20open@h/ -->\
                    </zs:searchRetrieveResponse>";
        let rule = Rule::Answered("</zs:searchRetrieveResponse>", echo);
        let peer = Peer::before(server.addr(), rule).await;
        let mut judge = judge(peer.address, |options| {
            options.only = vec!["echo.".to_owned(), "search.order".to_owned()];
            options.sru.login_in_url = in_url;
            options.init.id_authentication = Some(IdAuthentication::IdPass(IdPass {
                group_id: None,
                user_id: Some("ann".into()),
                password: Some("sesame, open".into()),
            }));
        });
        verdicts(&mut judge).await;
        let report = judge.report("here").to_json().to_string();
        let secrets = [
            "sesame, open",
            "sesame%2C%20open",
            "sesame%2c%20open",
            "YW5uOnNlc2FtZSwgb3Blbg==",
            "ann:",
        ];
        for secret in secrets {
            let digits = z3950_files::hex::digits(secret.as_bytes());
            assert!(
                !report.contains(secret) && !report.contains(&digits),
                "{secret}"
            );
        }
        let header = z3950_files::hex::digits(b"authorization: Basic *");
        assert_eq!(report.contains(&header), !in_url);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_an_error_in_the_report() {
    let server = TestServer::demo();
    // With several sessions, more checks begin before the judge notices that the server has ended.
    for (sessions, most) in [(1, 6), (16, 30)] {
        let peer = Peer::before(server.addr(), Rule::Dies("startRecord=-1")).await;
        let mut judge = judge(peer.address, |options| {
            options.only = vec!["search.".to_owned()];
            options.sessions = sessions;
        });
        let found = verdicts(&mut judge).await;
        let is_left = |verdict: &Verdict| matches!(verdict, Verdict::NotJudged { reason } if reason == "no search is answered any more");
        let (_, last) = found.last().expect("findings");
        assert!(is_left(last), "{sessions}: {last:?}");
        let tried = found.iter().filter(|(_, verdict)| !is_left(verdict));
        let failed = tried.filter(|(_, verdict)| *verdict != Verdict::Pass);
        assert!(failed.count() <= most, "{sessions}: {found:?}");
        let report = judge.report("here");
        let errors = report.count().errors;
        assert!((1..=most).contains(&errors), "{sessions}: {errors}");
        assert_eq!(report.to_junit().matches("<error ").count(), errors);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_requested_features_are_reported() {
    let server = TestServer::demo();
    for (database, query, missing) in [
        ("books", "dc.title=war", &[][..]),
        ("nodb", "dc.title=war", &[MissingPrerequisite::Database]),
        ("books", "dc.title=zqxjkv", &[MissingPrerequisite::Hits]),
        ("books", "dc.nothing=war", &[MissingPrerequisite::Query]),
    ] {
        let mut judge = judge(server.addr(), |options| {
            options.databases = vec![database.into()];
            options.cql = Some(query.to_owned());
            options.only = vec![
                "search.zero.2-0".to_owned(),
                "search.start.first.2-0".to_owned(),
            ];
        });
        assert_eq!(judge.learn().await.missing(), missing, "{query}");
        let Some(zero) = judge.next().await else {
            panic!("a check");
        };
        let is_judged = matches!(missing, [] | [MissingPrerequisite::Hits]);
        assert_eq!(
            zero.verdict == Verdict::Pass,
            is_judged,
            "{query}: {zero:?}"
        );
        let first = judge.next().await.expect("a check");
        assert_eq!(
            first.verdict == Verdict::Pass,
            missing.is_empty(),
            "{query}: {first:?}"
        );
        assert!(matches!(
            first.verdict,
            Verdict::Pass | Verdict::NotJudged { .. }
        ));
    }
}
