//! Tests of SRU requests that are given as URL parameters, and of the answers from the demo catalogue. In these requests, `@`
//! stands for the equals sign of a query.

mod explaining;
mod scanning;
mod searching;
mod sharing;
mod updating;

use futures_util::FutureExt;
use tokio::time::Instant;
use z3950_asn1::oid::Oid;
use z3950_asn1::sru::SruLimits;

use super::*;
use crate::access::{Access, Challenge, User};
use crate::backend::{Answer, Backend, Found, Search};
use crate::limits::Limits;
use crate::memory::MemoryBackend;
use crate::requests::ann;

fn target() -> Target {
    Target::new(Arc::new(MemoryBackend::demo()), Limits::default())
}

fn session_of(target: Target) -> SruSession {
    SruSession::new(Arc::new(target))
}

fn session() -> SruSession {
    session_of(target())
}

async fn reply_of(session: &mut SruSession, database: &str, parameters: &str) -> SruReply {
    let parameters = parameters.replace('@', "%3D").replace(' ', "+");
    let request = Request::from_parameters(parameters.as_bytes(), &SruLimits::default());
    session.answer(SruRequest::new(database, request)).await
}

async fn search_of(session: &mut SruSession, parameters: &str) -> SearchRetrieveResponse {
    match reply_of(session, "", parameters).await.response {
        Response::SearchRetrieve(response) => response,
        other => panic!("{parameters}: {other:?}"),
    }
}

/// Returns the diagnostics as `16 dc.colour`, separated by commas.
fn shown(diagnostics: &[SruDiagnostic]) -> String {
    let shown = diagnostics.iter().map(|one| {
        let number = one.uri.rsplit('/').next().unwrap_or_default();
        format!("{number} {}", one.details).trim_end().to_owned()
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn a_request_that_was_refused_is_not_carried_out() {
    let mut session = session();
    for (parameters, expected) in [
        ("query=emma&version=3.0", "5 2.0"),
        ("query=emma&startRecord=0", "6 startRecord"),
        ("query=emma&colour=red", "8 colour"),
        ("operation=searchRetrieve", "7 query"),
        ("operation=destroy", "4 destroy"),
        ("query=emma&recordXMLEscaping=zip", "71 zip"),
    ] {
        let reply = reply_of(&mut session, "", parameters).await;
        let found = shown(reply.response.diagnostics());
        assert_eq!(found, expected, "{parameters}");
        assert!(!session.session.is_open(), "{parameters}");
    }
}

#[tokio::test]
async fn stylesheets_are_for_the_client() {
    let mut session = session();
    for (parameters, expected) in [
        ("stylesheet=/a.xsl", Ok("/a.xsl")),
        (
            "stylesheet=https://lib.example/a.xsl",
            Ok("https://lib.example/a.xsl"),
        ),
        ("stylesheet=/a.xsl&renderedBy=client", Ok("/a.xsl")),
        ("stylesheet=/a.xsl&renderedBy=server", Err("110 renderedBy")),
        ("stylesheet=javascript:a", Err("111 javascript:a")),
    ] {
        let reply = reply_of(&mut session, "", &format!("query=emma&{parameters}")).await;
        let found = shown(reply.response.diagnostics());
        assert_eq!(found, expected.err().unwrap_or_default(), "{parameters}");
        assert_eq!(reply.stylesheet.as_deref(), expected.ok(), "{parameters}");
    }
}

#[tokio::test]
async fn databases_are_those_of_the_path() {
    for (path, status, expected) in [
        ("", SruStatus::Answered, ""),
        ("books", SruStatus::Answered, ""),
        ("BOOKS", SruStatus::Answered, ""),
        ("nothing", SruStatus::UnknownDatabase, "235 nothing"),
    ] {
        for parameters in ["query=emma", "", "scanClause=emma"] {
            let reply = reply_of(&mut session(), path, parameters).await;
            let found = shown(reply.response.diagnostics());
            assert_eq!(
                (reply.status, &*found),
                (status, expected),
                "{path}?{parameters}"
            );
        }
    }
}

#[tokio::test]
async fn users_prove_who_they_are() {
    let ann = User {
        databases: Some(vec!["books".to_owned()]),
        ..ann()
    };
    let access = Access {
        users: vec![ann],
        ..Access::default()
    };
    let nobody = Some("give a user and a password");
    let wrong = Some("the server does not accept the user or the password");
    for (parameters, status, expected, words) in [
        ("query=emma", SruStatus::Unauthorized, "3", nobody),
        ("", SruStatus::Unauthorized, "3", nobody),
        (
            "query=emma&x-username=ann&x-password=wrong",
            SruStatus::Unauthorized,
            "3 ann",
            wrong,
        ),
        (
            "query=emma&x-username=ann&x-password=secret",
            SruStatus::Answered,
            "",
            None,
        ),
        (
            "x-username=ann&x-password=secret",
            SruStatus::Answered,
            "",
            None,
        ),
    ] {
        let mut session = session_of(target().with_access(access.clone()));
        let reply = reply_of(&mut session, "books", parameters).await;
        let found = shown(reply.response.diagnostics());
        assert_eq!((reply.status, &*found), (status, expected), "{parameters}");
        let mut diagnostics = reply.response.diagnostics().iter();
        let found = diagnostics.next().map(SruDiagnostic::words);
        assert_eq!(found, words, "{parameters}");
        let is_user = expected.is_empty();
        assert_eq!(session.user(), is_user.then_some("ann"), "{parameters}");
        let echo = String::from_utf8(reply.response.to_xml(None)).expect("UTF-8");
        assert!(
            !echo.contains("secret") && !echo.contains("wrong"),
            "{echo}"
        );
    }
    // SRU cannot transport a challenge, so a client that would be challenged is refused.
    let asking = Access {
        challenge: Some(Challenge::Prompts),
        ..access.clone()
    };
    for parameters in ["query=emma", "", "scanClause=emma"] {
        let mut session = session_of(target().with_access(asking.clone()));
        let reply = reply_of(&mut session, "books", parameters).await;
        assert_eq!(reply.status, SruStatus::Unauthorized, "{parameters}");
        assert_eq!(shown(reply.response.diagnostics()), "3", "{parameters}");
    }
    let mut session = session_of(target().with_access(access));
    let wrong = "query=emma&x-username=ann&x-password=wrong";
    for refusals in 1..=5 {
        let reply = reply_of(&mut session, "books", wrong).await;
        assert_eq!(reply.hang_up, refusals == 5);
    }
    let reply = reply_of(&mut session, "books", "query=emma").await;
    assert_eq!(shown(reply.response.diagnostics()), "2");
}

/// A backend whose searches never end.
struct Endless;

impl Backend for Endless {
    fn search<'a>(&'a self, _: Search<'a>) -> Answer<'a, Found> {
        Box::pin(std::future::pending())
    }

    fn has_syntax(&self, _: &Oid) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_takes_too_long_is_stopped() {
    let target = Target::new(Arc::new(Endless), Limits::default());
    let mut session = session_of(target);
    let begun = Instant::now();
    let reply = reply_of(&mut session, "books", "query=emma").await;
    assert_eq!(shown(reply.response.diagnostics()), "2");
    assert_eq!(begun.elapsed().as_secs(), 30);
    // A request whose future is dropped leaves nothing behind.
    let dropped = reply_of(&mut session, "books", "query=emma").now_or_never();
    assert!(dropped.is_none());
    let scanned = reply_of(&mut session, "books", "scanClause=emma").await;
    assert_eq!(shown(scanned.response.diagnostics()), "4 scan");
}

/// The documentation page about SRU.
const PAGE: &str = include_str!("../../docs/sru.md");

#[tokio::test]
async fn the_requests_of_the_page_are_answered() {
    let mut session = session();
    let lines = PAGE.lines().filter(|line| line.starts_with("/books"));
    let mut count = 0;
    for line in lines {
        let (path, _) = line.split_once("  ").expect("an explanation");
        let (_, parameters) = path.split_once('?').unwrap_or((path, ""));
        let values = parameters
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) => {
                    format!("{name}={}", value.replace('@', "%40").replace('=', "@"))
                }
                None => String::new(),
            });
        let parameters = values.collect::<Vec<_>>().join("&");
        let reply = reply_of(&mut session, "books", &parameters).await;
        assert_eq!(shown(reply.response.diagnostics()), "", "{line}");
        let is_empty = match &reply.response {
            Response::SearchRetrieve(found) => found.records.is_empty(),
            Response::Scan(found) => found.terms.is_empty(),
            Response::Explain(found) => found.record.is_none(),
            Response::Update(_) => true,
        };
        assert!(!is_empty, "{line}");
        count += 1;
    }
    assert!(count >= 12, "{count}");
    for schema in schema::SCHEMAS {
        let row = format!("| `{}` | `{}` |", schema.name, schema.identifier);
        assert!(PAGE.contains(&row), "{row}");
    }
}
