//! Tests of the requirements of RFC 1736: one test for each requirement in §4, and for §2.3 and §5.

use std::sync::Arc;

use proptest::prelude::*;
use z3950::plan::{PlanOptions, plan};
use z3950::url::extract::{extract, wrap};
use z3950::url::{
    Caution, Host, Locator, Mode, Octets, OpaqueUri, RegisterError, Registry, SchemeUrl, UriKind,
    Url, UrlError, UrlErrorKind, Z3950Url, spell, uri_kind,
};
use z3950::{Client, ClientOptions, Error, Outcome, Phase};
use z3950_server::testing::{TestServer, record};
use z3950_tests::peer::Unheard;

use crate::url::locator_properties::url;
use crate::url::locators::{RFC_1630, RFC_1738};
use crate::url::properties::holds;
use crate::url::table::{octets, rows};

fn read(text: &str) -> Locator {
    Locator::parse(text, Mode::Lenient).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns all locators that the tables accept in lenient mode.
fn samples() -> impl Iterator<Item = Locator> {
    rows(RFC_1738)
        .chain(rows(RFC_1630))
        .filter_map(|[_, _, text, _]| Locator::parse(octets(text), Mode::Lenient).ok())
}

/// L-4.1: a locator's resource may no longer exist. "Malformed", "not found" and "unreachable" must be three different outcomes,
/// and each retrieval must request the record from the server again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requirement_4_1_locators_are_transient() {
    let malformed = Z3950Url::parse("z39.50r://lib.example/cat?%", Mode::Lenient).unwrap_err();
    assert_eq!(malformed.kind(), UrlErrorKind::BadPercentEscape);

    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let client = Client::with_resolver(ClientOptions::default(), server.addr());
    let outcome = async |client: &Client, text: &str| {
        let url = Z3950Url::parse(text, Mode::Strict).unwrap();
        client.retrieve(&url).await.unwrap().outcome
    };
    let gone = outcome(&client, "z39.50r://lib.example/cat?id8").await;
    assert!(matches!(gone, Outcome::Failed(Error::NoMatch)), "{gone:?}");
    let moved = outcome(&client, "z39.50r://lib.example/maps?id7").await;
    assert!(
        matches!(
            moved,
            Outcome::Failed(Error::Refused {
                phase: Phase::Search,
                ..
            })
        ),
        "{moved:?}"
    );
    for _ in 0..2 {
        let there = outcome(&client, "z39.50r://lib.example/cat?id7").await;
        assert!(matches!(there, Outcome::Delivered(_)), "{there:?}");
    }
    server.wait_for_end();
    let searches = server.names().into_iter();
    assert_eq!(searches.filter(|name| *name == "searchRequest").count(), 4);

    let unheard = Unheard::bind();
    let client = Client::with_resolver(ClientOptions::default(), unheard.address());
    let away = outcome(&client, "z39.50r://lib.example/cat?id7").await;
    assert!(
        matches!(away, Outcome::Failed(Error::Unavailable { .. })),
        "{away:?}"
    );
}

/// L-4.2: the meaning of a locator must not depend on where it is read. The few exceptions are in `rfc1736.tsv`.
#[test]
fn requirement_4_2_locators_have_global_scope() {
    // The same text always gives the same locator.
    for locator in samples() {
        assert_eq!(read(&locator.to_string_with_secrets()), locator);
    }
}

/// L-4.3, L-4.3.3: a locator can be parsed into parts that suffice for access, and a reader needs to understand only the parts
/// that concern it.
#[test]
fn requirement_4_3_locators_are_parsable() {
    for locator in samples() {
        assert!(!locator.scheme().is_empty());
        if let Url::Http(_) | Url::Ftp(_) | Url::Gopher(_) | Url::Z3950(_) = locator.url() {
            assert!(
                locator.host().is_some() && locator.port().is_some(),
                "{locator}"
            );
        }
    }
    // An unknown service is not an error, and an unreadable part does not hide the service.
    assert!(matches!(read("x-shelf:QA/76?b").url(), Url::Other(_)));
    assert_eq!(uri_kind("z39.50r://%%%"), UriKind::Locator);
    // RFC 1736 §2.2.1: a parser of the scheme does not interpret the docid, and a docid is never changed.
    let text = "z39.50r://lib.example/cat?%41%2F%00";
    let (scheme, part) = text.split_once(':').unwrap();
    assert_eq!(OpaqueUri::new(scheme, part).unwrap().part(), part);
    let url = Z3950Url::try_from(read(text)).unwrap();
    assert_eq!(url.docid().map(Octets::as_bytes), Some(&b"A/\0"[..]));
}

/// L-4.4: locators can be distinguished from names and other text without accessing them.
#[test]
fn requirement_4_4_locators_are_distinguished_from_names() {
    let check = |text: &str, expected: UriKind| {
        assert_eq!(uri_kind(text), expected, "{text}");
        if let Ok(locator) = Locator::parse(text, Mode::Lenient) {
            assert_eq!(locator.kind(), expected, "{text}");
        }
    };
    check("urn:foo:a", UriKind::Name);
    check("URN:foo:a", UriKind::Name);
    check("URL:z39.50s://h.example/", UriKind::Locator);
    check("0-306-40615-2", UriKind::Neither);
    check("../x:y", UriKind::Neither);
    assert!(read("urn:foo:a").host().is_none());
}

/// L-4.5: canonical forms survive mail and print. They contain only safe characters, and lines that were broken within a wrapper
/// are joined again.
#[test]
fn requirement_4_5_locators_are_transport_friendly() {
    holds(2_000, (url(), 20..=76_usize), |(url, width)| {
        let text = Locator::from(url).to_string_with_secrets();
        let wrapped = wrap(&text, width);
        let fits = |line: &str| line.len() <= width;
        prop_assert!(
            wrapped
                .lines()
                .all(|line| fits(line) && !line.ends_with('-'))
        );
        let found = extract(wrapped.as_bytes()).urls;
        prop_assert_eq!(found.len(), 1, "{}", &wrapped);
        prop_assert_eq!(&found[0].url, &text, "{}", wrapped);
        Ok(())
    });
}

/// L-4.6: people can copy a locator, because all its characters are on keyboards and have names, and the case of escapes does not
/// matter.
#[test]
fn requirement_4_6_locators_are_transcribable() {
    for locator in samples() {
        let text = locator.to_string_with_secrets();
        assert!(text.bytes().all(|octet| octet.is_ascii_graphic()), "{text}");
        assert!(!spell(&text).contains("U+"), "{text}");
        let opaque = matches!(locator.url(), Url::Other(_) | Url::Name(_));
        for (index, _) in text.match_indices('%').filter(|_| !opaque) {
            let digits = text[index + 1..index + 3].bytes();
            assert!(
                digits.into_iter().all(|digit| !digit.is_ascii_lowercase()),
                "{text}"
            );
        }
    }
    assert_eq!(spell("a/%2F"), "a slash percent two F");
}

/// L-4.7: a locator consists of a service and opaque parameters, which other services do not interpret.
#[test]
fn requirement_4_7_locators_are_service_and_opaque_parameters() {
    let check = |part: &str| {
        let [one, other] = ["x-one", "x-two"].map(|scheme| OpaqueUri::new(scheme, part).unwrap());
        assert_eq!((one.part(), other.part()), (part, part));
        assert_ne!(one, other);
    };
    check("//h.example/a%2fb");
    check("%41");
    check("");
}

/// A URL of the demo scheme `x-demo`, which is written `x-demo:host/number`.
#[derive(Debug)]
struct Demo {
    host: Host,
    number: u32,
}

impl Demo {
    fn parse(part: &str, mode: Mode) -> Result<Arc<dyn SchemeUrl>, UrlError> {
        let Some((host, number)) = part.split_once('/') else {
            return Err(UrlError::at(UrlErrorKind::MissingPart, part.len()));
        };
        let at = host.len() + 1;
        let number = number
            .parse()
            .map_err(|_| UrlError::at(UrlErrorKind::InvalidNumber, at))?;
        Ok(Arc::new(Demo {
            host: Host::parse(host, mode)?,
            number,
        }))
    }
}

impl SchemeUrl for Demo {
    fn part(&self) -> String {
        format!("{}/{}", self.host, self.number)
    }

    fn host(&self) -> Option<&Host> {
        Some(&self.host)
    }

    fn port(&self) -> Option<(u16, u16)> {
        Some((25, 7))
    }

    fn plan(&self) -> Vec<Octets> {
        vec![format!("FETCH {}\r\n", self.number).into()]
    }
}

/// L-4.8: new services can be registered at run time. Until a service is registered, its locators are preserved unchanged.
#[test]
fn requirement_4_8_the_set_of_services_is_extensible() {
    let text = "X-Demo:H.example/007";
    let unknown = Registry::new().parse(text, Mode::Strict).unwrap();
    assert_eq!(unknown.canonical(), "x-demo:H.example/007");
    assert!(matches!(unknown.url(), Url::Other(_)));

    let mut registry = Registry::new();
    registry.register("x-Demo", Demo::parse).unwrap();
    let known = registry.parse(text, Mode::Strict).unwrap();
    assert_eq!(
        (known.scheme(), known.canonical().as_str()),
        ("x-demo", "x-demo:h.example/7")
    );
    assert_eq!(
        known.host().map(ToString::to_string).as_deref(),
        Some("h.example")
    );
    assert_eq!(known.cautions(), [Caution::ReservedPort(25)]);
    let Url::Registered(url) = known.url() else {
        panic!("{known:?}");
    };
    assert_eq!(url.url().plan(), [Octets::from("FETCH 7\r\n")]);
    assert!(known.same_locator(&registry.parse("x-demo:h.example/7", Mode::Strict).unwrap()));
    assert!(!known.same_locator(&unknown));

    let check = |text: &str, mode: Mode, kind: UrlErrorKind, offset: usize| {
        let refusal = registry.parse(text, mode).unwrap_err();
        assert_eq!((refusal.kind(), refusal.offset()), (kind, offset), "{text}");
    };
    check(
        "x-demo:h.example",
        Mode::Strict,
        UrlErrorKind::MissingPart,
        16,
    );
    check(
        " URL:x-demo:h/x",
        Mode::Lenient,
        UrlErrorKind::InvalidNumber,
        14,
    );
    check("x-demo:-/1", Mode::Lenient, UrlErrorKind::InvalidHost, 7);
    check(
        "x-demo:h/1#a",
        Mode::Strict,
        UrlErrorKind::FragmentNotAllowed,
        10,
    );

    let mut refused = |name: &str| registry.register(name, Demo::parse).unwrap_err();
    assert_eq!(refused("X-DEMO"), RegisterError::Taken("x-demo".to_owned()));
    for taken in ["ftp", "Z39.50r", "urn", "url", "mid", "gopher"] {
        assert!(matches!(refused(taken), RegisterError::Taken(_)), "{taken}");
    }
    for invalid in ["", "1a", "a_b", "a:b"] {
        assert!(
            matches!(refused(invalid), RegisterError::InvalidScheme(_)),
            "{invalid}"
        );
    }
}

/// L-4.9: a locator contains what is needed for access, but nothing about the resource. Unknown parameters are preserved.
#[test]
fn requirement_4_9_locators_say_nothing_but_access() {
    let read = |text: &str| Z3950Url::parse(text, Mode::Strict).unwrap();
    let plain = read("z39.50r://lib.example/cat?id7;esn=f;rs=marc");
    let text =
        "z39.50r://lib.example/cat?id7;size=12;esn=f;date=1996+07;rs=marc;type=text%2Fplain%2B";
    let described = read(text);
    // Parameters that describe the resource are not treated as access information, and do not change what is sent.
    assert_eq!(described.databases(), plain.databases());
    assert_eq!(described.docid(), plain.docid());
    assert_eq!(described.element_set(), plain.element_set());
    assert_eq!(described.record_syntaxes(), plain.record_syntaxes());
    let sent = |url: &Z3950Url| {
        let plan = plan(url, &PlanOptions::default()).unwrap();
        (
            plan.init_request(),
            plan.search_request(),
            plan.present_request(1),
        )
    };
    assert_eq!(sent(&described), sent(&plain));
    // The extensions are preserved, in their order and with their escapes, and are part of the locator.
    let kept = described.extensions().iter();
    let kept: Vec<String> = kept
        .map(|each| format!("{}={}", each.keyword(), each.encoded()))
        .collect();
    assert_eq!(kept, ["size=12", "date=1996+07", "type=text%2Fplain%2B"]);
    let canonical =
        "z39.50r://lib.example/cat?id7;esn=f;rs=marc;size=12;date=1996+07;type=text%2Fplain%2B";
    assert_eq!(described.canonical(), canonical);
    assert_eq!(described.to_builder().build().as_ref(), Ok(&described));
    assert_ne!(described, plain);
    assert_eq!(
        described.to_builder().without_extensions().build(),
        Ok(plain)
    );
}

/// L-2.3: two different locators for the same record are not equal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn section_2_3_sameness_is_of_locators_not_of_resources() {
    let one = read("z39.50r://lib.example/cat?id7");
    assert!(one.same_locator(&read("Z39.50R://LIB.example:210/c%61t?id7#part")));
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .database("maps", [record("id7", "Seven")])
        .start();
    let client = Client::with_resolver(ClientOptions::default(), server.addr());
    let mut records = Vec::new();
    for text in [
        "z39.50r://lib.example/cat?id7",
        "z39.50r://lib.example/maps?id7",
        "z39.50r://lib.example/cat?id7;esn=F",
        "z39.50r://other.example/cat?id7",
    ] {
        let url = Z3950Url::parse(text, Mode::Strict).unwrap();
        let outcome = client.retrieve(&url).await.unwrap().outcome;
        let Outcome::Delivered(delivered) = outcome else {
            panic!("{text}: {outcome:?}");
        };
        assert_eq!(one.same_locator(&read(text)), records.is_empty(), "{text}");
        records.push(delivered.record);
    }
    assert!(
        records.iter().all(|record| *record == records[0]),
        "{records:?}"
    );
}

/// L-5.1, L-5.2: a server must not use part of a URL as a file name, and a client must limit the length of the URLs that it
/// reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn section_5_inputs_are_restricted() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let client = Client::with_resolver(ClientOptions::default(), server.addr());
    let text = "z39.50r://lib.example/..%2F..%2Fetc%2Fpasswd?id7";
    let url = Z3950Url::parse(text, Mode::Strict).unwrap();
    match client.retrieve(&url).await.unwrap().outcome {
        Outcome::Failed(Error::Refused {
            phase: Phase::Search,
            diagnostics,
            ..
        }) => assert_eq!(diagnostics.condition(), Some(235)),
        outcome => panic!("{outcome:?}"),
    }
    for scheme in [
        "z39.50r://h/d?",
        "ftp://h/",
        "gopher://h/0",
        "x-a:",
        "mailto:",
    ] {
        let text = format!("{scheme}{}", "x".repeat(10_000_000));
        let refusal = Locator::parse(text, Mode::Lenient).unwrap_err();
        assert_eq!(refusal.kind(), UrlErrorKind::TooLong, "{scheme}");
    }
}
