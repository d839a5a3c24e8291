//! Tests of access to other servers: for which clients they are contacted, and which credentials are sent to them.

use std::sync::Arc;
use std::time::Duration;

use z3950::profile::Profiles;
use z3950_server::access::{Access, Challenge, User};
use z3950_server::testing::{TestServer, record};

use super::Site;
use crate::gateway::{Gateway, GatewayOptions};

const ANN: &str = "Authorization: Basic YW5uOnNlY3JldA==\r\n";
const ANN_WITH_ANOTHER_PASSWORD: &str = "Authorization: Basic YW5uOndyb25n\r\n";

/// Creates a server with the user `ann`, whose access settings `change` adjusts. Its gateway reaches `other` under two names:
/// `open`, and `members`, for which it logs in.
fn site(other: &TestServer, change: impl FnOnce(&mut Access)) -> Site {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("targets.toml");
    let port = other.addr().port();
    let text = format!(
        "[targets.members]\nhost = \"127.0.0.1\"\nport = {port}\ncredentials = {{ user = \"lib\" }}\n"
    );
    std::fs::write(&path, text).expect("written");
    let profiles = Profiles::default().with_file(&path).expect("profiles");
    let mut options = GatewayOptions::default();
    for target in ["members", &format!("localhost:{port}")] {
        let allowed = options.targets.allow(target, &profiles);
        allowed.expect("a target");
    }
    let mut user = User::default();
    user.name = "ann".to_owned();
    user.password = Some("secret".to_owned());
    let mut access = Access::default();
    access.users.push(user);
    change(&mut access);
    let gateway = Arc::new(Gateway::new(options, profiles));
    let server = TestServer::builder()
        .database("books", [record("id7", "Emma")])
        .access(access)
        .limit(|limits| limits.refusal_delay = Duration::ZERO)
        .web(gateway.clone())
        .start();
    gateway.set_listeners(vec![server.addr()]);
    Site { server }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_servers_are_asked_on_behalf_of_clients_that_may_use_this_one() {
    let other = TestServer::builder()
        .database("cat", [record("id9", "Persuasion")])
        .start();
    let port = other.addr().port();
    let members = format!("/z39.50r://127.0.0.1:{port}/cat?id9");
    let open = format!("/z39.50r://localhost:{port}/cat?id9");
    let closed: fn(&mut Access) = |_| {};
    let searches = || {
        let names = other.names();
        let searches = names.iter().filter(|name| **name == "searchRequest");
        searches.count()
    };
    for (change, login, of_open, of_members) in [
        (closed, "", "401", "401"),
        (closed, ANN_WITH_ANOTHER_PASSWORD, "401", "401"),
        (closed, ANN, "200", "200"),
        (
            |access| access.challenge = Some(Challenge::Prompts),
            "",
            "401",
            "401",
        ),
        // Anonymous clients cannot use the credentials of the target, which are only for users.
        (|access| access.anonymous = true, "", "200", "401"),
        (
            |access| access.anonymous = true,
            ANN_WITH_ANOTHER_PASSWORD,
            "401",
            "401",
        ),
        (|access| access.anonymous = true, ANN, "200", "200"),
        (|access| access.users.clear(), "", "200", "401"),
        (|access| access.users.clear(), ANN, "200", "403"),
    ] {
        let site = site(&other, change);
        for (target, expected) in [(&open, of_open), (&members, of_members)] {
            let before = searches();
            let (head, body) = site.ask(target, login).await;
            let status = head.split(' ').nth(1).unwrap_or_default();
            assert_eq!(status, expected, "{target} {login}: {body}");
            let is_asked = searches() > before;
            assert_eq!(is_asked, expected == "200", "{target} {login}");
            let is_challenge = head
                .to_ascii_lowercase()
                .contains("www-authenticate: basic");
            assert_eq!(is_challenge, expected == "401", "{head}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gopher_items_are_fetched_for_clients_that_may_use_this_server() {
    let other = TestServer::builder().start();
    let site = site(&other, |_| {});
    let port = other.addr().port();
    let target = format!("/gopher://localhost:{port}/0/a");
    let found = site.status(&target).await;
    assert!(found.starts_with("401"), "{found}");
    let (head, _) = site.ask(&target, ANN).await;
    assert!(!head.starts_with("HTTP/1.1 401"), "{head}");
}
