//! Tests of typed text: URLs, hints, and forms that keep the text.

use super::*;

/// A page with a gateway to two catalogues at other servers: one server uses Z39.50, and the other uses SRU.
struct Site {
    server: TestServer,
    catalogue: TestServer,
    sru: TestServer,
}

impl Site {
    fn new() -> Self {
        let catalogue = || TestServer::builder().database("cat", [record("a", "War")]);
        let (catalogue, sru) = (catalogue().start(), catalogue().start());
        let target = format!("{}/cat", catalogue.addr());
        let targets = [target.clone(), sru.http_url("cat")];
        let union = RemoteDatabase::new(&Client::new(), RemoteOptions::new("union", targets));
        let union = Arc::new(union.expect("targets"));
        let mut options = GatewayOptions {
            has_page: true,
            ..GatewayOptions::default()
        };
        let allowed = options.targets.allow(&target, &Profiles::default());
        allowed.expect("a target");
        let gateway = Gateway::new(options, Profiles::default());
        let page = Arc::new(CataloguePage::new().with_gateway(gateway));
        Self {
            server: TestServer::builder().backend(union).web(page).start(),
            catalogue,
            sru,
        }
    }
}

fn location(head: &str) -> &str {
    let mut lines = head.lines();
    let line = lines.find_map(|line| line.strip_prefix("location: "));
    line.unwrap_or_else(|| panic!("{head}"))
}

#[test]
fn urls_of_known_databases_lead_to_their_form() {
    let site = Site::new();
    let session = format!("z39.50s://{}/cat", site.catalogue.addr());
    let own = "http://lib.example:2100/union".to_owned();
    for (url, chosen) in [
        (&session, "/search?target=union%40"),
        (&site.sru.http_url("cat"), "/search?target=union%40"),
        (&own, "/search?target=union"),
    ] {
        let (head, _) = get(&site.server, &format!("/search?q={}", text::encoded(url)));
        assert!(head.starts_with("HTTP/1.1 303 "), "{url}: {head}");
        let place = location(&head);
        assert!(place.starts_with(chosen), "{url}: {place}");
        let (_, form) = get(&site.server, place);
        assert!(form.contains("<h1><bdi>Search union"), "{form}");
        let ticked = form.matches(" checked>").count();
        assert_eq!(ticked, if url == &own { 2 } else { 1 }, "{url}: {form}");
    }
    let (head, _) = get(&site.server, &format!("/get?url={session}"));
    let place = location(&head);
    assert!(place.starts_with("/search?target=union%40"), "{place}");
}

#[test]
fn failures_keep_the_typed_text() {
    let site = Site::new();
    let missing = format!("z39.50r://{}/cat?none", site.catalogue.addr());
    for (url, status, words) in [
        (
            "http://lib.example/page",
            400,
            "not the address of a database",
        ),
        ("z39.50r://lib.example/cat?id7", 403, "not a target"),
        ("z39.50s://lib.example/cat", 403, "not a target"),
        (&missing, 404, "no record matches"),
    ] {
        let request = |path: &str| {
            format!("GET {path} HTTP/1.1\r\nHost: lib.example\r\nAccept: text/html\r\n")
        };
        let typed = format!("/search?q={}", text::encoded(url));
        let (mut head, mut body) = asked(&site.server, &request(&typed));
        if head.starts_with("HTTP/1.1 303 ") {
            (head, body) = asked(&site.server, &request(location(&head)));
        }
        let status = format!("HTTP/1.1 {status} ");
        assert!(head.starts_with(&status), "{url}: {head}");
        assert!(body.contains(words), "{url}: {body}");
        let kept = format!("value=\"{url}\"");
        assert!(body.contains(&kept), "{url}: {body}");
    }
}

#[test]
fn hints_are_given_if_nothing_is_found() {
    let server = demo();
    let (_, nothing) = get(&server, "/search?q=emma+or+zyxwvut");
    let (_, found) = get(
        &server,
        &link_of(&nothing, "search for <bdi>emma OR zyxwvut"),
    );
    assert!(
        found.contains("Interpreted as <bdi>records where "),
        "{found}"
    );
    assert!(found.contains("<li><a"), "{found}");
    let (_, nothing) = get(&server, "/search?q=978-0-14-143958-9");
    assert!(nothing.contains("wrong check digit"), "{nothing}");
    let (_, found) = get(&server, "/search?q=emma+austen");
    assert!(!found.contains("class=\"hint\""), "{found}");
}
