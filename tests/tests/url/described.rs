//! Formats the result lines of `rfc1738.tsv` and `rfc1630.tsv`: scheme, host, port, user, the parts that are specific to the
//! scheme, and finally fragment, cautions and scope. Escapes are decoded in text within quotation marks, and preserved everywhere
//! else.

use std::fmt::Write as _;

use z3950::url::{Caution, Locator, NewsUrl, Octets, Scope, UriKind, Url, WaisTarget};

use crate::url::table::quoted;

/// Formats the result line of a locator. Three parts are included only if `expected` contains them: the request of an http URL,
/// the canonical form, and the text with its secrets.
pub(crate) fn described(locator: &Locator, expected: &str) -> String {
    let mut line = format!("Ok {}", locator.scheme());
    if let Some(host) = locator.host() {
        write!(line, " host={host}").unwrap();
    }
    if let Some(port) = locator.port() {
        write!(line, " port={port}").unwrap();
    }
    if let Some(userinfo) = locator.userinfo() {
        write!(line, " user={}", quoted(userinfo.user())).unwrap();
        if let Some(password) = userinfo.password() {
            write!(line, " password={}", quoted(password)).unwrap();
        }
    }
    line += &parts(locator, expected);
    if let Some(fragment) = locator.fragment() {
        write!(line, " fragment={}", quoted(fragment)).unwrap();
    }
    if !locator.cautions().is_empty() {
        let cautions = locator.cautions();
        let cautions = cautions.iter().map(Caution::code);
        write!(line, " warn=[{}]", cautions.collect::<Vec<_>>().join(",")).unwrap();
    }
    if locator.scope() != Scope::Global {
        write!(line, " scope={}", locator.scope()).unwrap();
    }
    if let (Url::Http(url), true) = (locator.url(), expected.contains(" request=")) {
        write!(line, " request={}", url.request_path()).unwrap();
    }
    if expected.contains(" canon=") {
        write!(line, " canon={}", locator.canonical()).unwrap();
    }
    if expected.contains(" secret=") {
        write!(line, " secret={}", locator.to_string_with_secrets()).unwrap();
    }
    line
}

/// Formats the parts that are specific to the scheme.
fn parts(locator: &Locator, expected: &str) -> String {
    match locator.url() {
        Url::Z3950(url) => format!(" databases={}", list(url.databases())),
        Url::Gopher(url) => {
            format!(
                " type={} selector={}",
                url.item_type(),
                quoted(url.selector())
            )
        }
        Url::Ftp(url) => match &url.path {
            None => " path=none".to_owned(),
            Some(path) => {
                let code = path
                    .type_code
                    .map(|code| format!(" type={}", code.letter()));
                let directories = list(&path.directories);
                let code = code.unwrap_or_default();
                format!(" dirs={directories} name={}{code}", quoted(&path.name))
            }
        },
        Url::Http(url) => {
            let mut line = format!(" path={}", url.path());
            if let Some(search) = url.search() {
                write!(line, " search={search}").unwrap();
            }
            if expected.contains(" segments=") {
                let segments: Vec<Octets> = url.segments().collect();
                write!(line, " segments={}", list(&segments)).unwrap();
            }
            if expected.contains(" words=") {
                let words = url.words().expect("a search");
                write!(line, " words={}", list(&words)).unwrap();
            }
            line
        }
        Url::Https(url) => format!(" path={}", url.path()),
        Url::Mailto(url) => format!(" address={}", quoted(url.address())),
        Url::News(url) => match url {
            NewsUrl::All => " all".to_owned(),
            NewsUrl::Group(group) => format!(" group={group}"),
            NewsUrl::Article(article) => {
                format!(" article={}", quoted(&article.octets()))
            }
        },
        Url::Nntp(url) => {
            let number = url.number.map(|number| format!(" number={number}"));
            format!(" group={}{}", url.group, number.unwrap_or_default())
        }
        Url::Telnet(_) | Url::Rlogin(_) | Url::Tn3270(_) => String::new(),
        Url::Wais(url) => {
            let mut line = format!(" database={}", quoted(url.database()));
            match url.target() {
                WaisTarget::Database => {}
                WaisTarget::Search(search) => write!(line, " search={search}").unwrap(),
                WaisTarget::Document { wtype, wpath } => {
                    write!(line, " wtype={} wpath={}", quoted(wtype), quoted(wpath)).unwrap();
                }
            }
            if expected.contains(" words=") {
                let words = url.words().expect("a search");
                write!(line, " words={}", list(&words)).unwrap();
            }
            if expected.contains(" fields=") {
                let fields = url.fields().map(|fields| {
                    let fields = fields.iter();
                    let each = fields.map(|(number, value)| format!("{number}={}", quoted(value)));
                    format!("[{}]", each.collect::<Vec<_>>().join(","))
                });
                write!(line, " fields={}", fields.as_deref().unwrap_or("none")).unwrap();
            }
            line
        }
        Url::File(url) => {
            let local = match url.host() {
                None => " host=local",
                Some(_) => "",
            };
            format!("{local} segments={}", list(url.segments()))
        }
        Url::Prospero(url) => {
            let mut line = format!(" hsoname={}", quoted(&url.hsoname()));
            if let Some(version) = url.version() {
                write!(line, " version={}", quoted(version)).unwrap();
            }
            if !url.fields().is_empty() {
                let fields = url.fields().iter();
                let each =
                    fields.map(|field| format!("{}={}", field.name(), quoted(field.value())));
                write!(line, " fields=[{}]", each.collect::<Vec<_>>().join(",")).unwrap();
            }
            line
        }
        Url::MessageId(id) | Url::ContentId(id) => format!(" id={}", quoted(&id.octets())),
        Url::Name(name) => {
            assert_eq!(locator.kind(), UriKind::Name);
            format!(" name part={}", name.part())
        }
        Url::Other(other) => {
            let mut line = format!(" part={}", other.part());
            if other.is_experimental() {
                line += " experimental";
            }
            if other.is_reserved_name() {
                line += " reserved-name";
            }
            line
        }
        other => panic!("no line for {other:?}"),
    }
}

fn list(items: &[Octets]) -> String {
    let items: Vec<String> = items.iter().map(quoted).collect();
    format!("[{}]", items.join(","))
}
