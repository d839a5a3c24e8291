//! The page for people: a search form, the hits of each database as they come, records with their holdings, and downloads. It uses no
//! script, and searches the server through sessions in the name of the client.

mod answer;
mod asked;
mod download;
mod facets;
mod parameters;
mod record;
mod search;
mod session;

use std::net::SocketAddr;

use askama::Template;
use z3950::Error;
use z3950_server::web::http::header::{HeaderValue, LOCATION, RETRY_AFTER};
use z3950_server::web::http::request::Parts;
use z3950_server::web::http::{Method, StatusCode};
use z3950_server::web::{Web, WebAnswering, WebClient, WebRequest, is_sru};

use self::answer::{PageAnswer, html};
use self::parameters::Parameters;
use crate::gateway::{Gateway, is_guessing};
use crate::layout::{PageLayout, style, with_type};
use crate::text::{self, described};

/// How long who guesses passwords is asked to wait, in seconds.
const RETRY_SECONDS: u16 = 5;
/// Paths of the page, and of its gateway.
const RESERVED_NAMES: [&str; 3] = ["search", "get", "targets"];
/// What browsers ask every site for. There is none here.
const ICON: &str = "favicon.ico";

/// The page, for [`Server::with_web`](z3950_server::Server::with_web). It answers `/`, `/search` and `/targets`; requests of SRU
/// for `/` stay SRU's.
pub struct CataloguePage {
    layout: PageLayout,
    gateway: Option<Box<dyn Web>>,
    /// The listeners without TLS.
    plain: Vec<SocketAddr>,
}

impl CataloguePage {
    /// The page of the server that it is given to.
    pub fn new() -> Self {
        Self {
            layout: PageLayout::new(true),
            gateway: None,
            plain: Vec::new(),
        }
    }

    /// Whether no database may have this name where the page is served: its URLs over HTTP would be the page's or its gateway's.
    pub fn reserves(name: &str) -> bool {
        let mut paths = RESERVED_NAMES.iter();
        paths.any(|path| name.eq_ignore_ascii_case(path)) || Gateway::reserves(name)
    }

    /// Gives this gateway the requests that are its own, and leads URLs that are typed to it, at `/get`.
    #[must_use]
    pub fn with_gateway(self, gateway: impl Web + 'static) -> Self {
        Self {
            gateway: Some(Box::new(gateway)),
            ..self
        }
    }

    /// Sets the addresses on which the server listens without TLS, so that people who read the page over TLS see `z39.50r` URLs of
    /// records: these have no form for TLS (RFC 2056 §4).
    #[must_use]
    pub fn with_plain_listeners(self, plain: Vec<SocketAddr>) -> Self {
        Self { plain, ..self }
    }

    /// The gateway, if the request with this head is for it.
    fn gateway(&self, head: &Parts) -> Option<&dyn Web> {
        let gateway = self.gateway.as_deref()?;
        gateway.takes(head).then_some(gateway)
    }

    async fn response(&self, request: WebRequest) -> PageAnswer {
        let WebRequest { head, client, .. } = request;
        if ![Method::GET, Method::HEAD].contains(&head.method) {
            let words = "This page answers GET only.";
            return self.failure(StatusCode::METHOD_NOT_ALLOWED, words);
        }
        let path = head.uri.path();
        if path == self.layout.style_path {
            return style();
        }
        let query = head.uri.query().unwrap_or_default();
        match page_at(path) {
            PagePath::Page => {}
            PagePath::Alias(page) => return self.moved(page, query),
            PagePath::Nothing | PagePath::Elsewhere => {
                return self.failure(StatusCode::NOT_FOUND, "There is no such page.");
            }
        }
        let parameters = match Parameters::read(query) {
            Ok(parameters) => parameters,
            Err(words) => return self.failure(StatusCode::BAD_REQUEST, &words),
        };
        if let Err(error) = session::admitted(&client).await {
            let status = match error {
                Error::InitRejected(_) if is_guessing(error.diagnostics()) => {
                    StatusCode::TOO_MANY_REQUESTS
                }
                Error::InitRejected(_) | Error::AccessRefused { .. } => StatusCode::UNAUTHORIZED,
                _ => StatusCode::SERVICE_UNAVAILABLE,
            };
            return self.failure(status, &described(&error));
        }
        match path {
            "/" => self.start(&client),
            "/targets" => self.targets(&client),
            "/search" => self.search(parameters, client).await,
            _ => self.failure(StatusCode::NOT_FOUND, "There is no such page."),
        }
    }

    fn start(&self, client: &WebClient) -> PageAnswer {
        let form = SearchForm::new(client, &Parameters::default());
        html(
            StatusCode::OK,
            &Start {
                layout: &self.layout,
                form,
            },
        )
    }

    fn targets(&self, client: &WebClient) -> PageAnswer {
        let databases = databases(client);
        html(
            StatusCode::OK,
            &Targets {
                layout: &self.layout,
                databases,
            },
        )
    }

    /// Leads to a page under its own path.
    fn moved(&self, page: &str, query: &str) -> PageAnswer {
        let mark = if query.is_empty() { "" } else { "?" };
        let Ok(page) = HeaderValue::try_from(format!("/{page}{mark}{query}")) else {
            return self.failure(StatusCode::NOT_FOUND, "There is no such page.");
        };
        let mut answer = with_type(
            StatusCode::PERMANENT_REDIRECT,
            "text/plain; charset=utf-8",
            "",
        );
        answer.headers_mut().insert(LOCATION, page);
        answer
    }

    fn failure(&self, status: StatusCode, words: &str) -> PageAnswer {
        let title = status.canonical_reason().unwrap_or("Error");
        let page = Failed {
            layout: &self.layout,
            title,
            words,
            form: None,
        };
        let mut answer = html(status, &page);
        if status == StatusCode::TOO_MANY_REQUESTS {
            answer
                .headers_mut()
                .insert(RETRY_AFTER, RETRY_SECONDS.into());
        }
        answer
    }
}

impl Default for CataloguePage {
    fn default() -> Self {
        Self::new()
    }
}

impl Web for CataloguePage {
    fn takes(&self, head: &Parts) -> bool {
        if self.gateway(head).is_some() {
            return true;
        }
        let query = head.uri.query().unwrap_or_default();
        match head.uri.path() {
            "/" => head.method != Method::POST && !is_sru(query),
            path => match page_at(path) {
                PagePath::Page | PagePath::Alias(_) => true,
                PagePath::Nothing => path == self.layout.style_path || !is_sru(query),
                PagePath::Elsewhere => false,
            },
        }
    }

    fn answer(&self, request: WebRequest) -> WebAnswering<'_> {
        match self.gateway(&request.head) {
            Some(gateway) => gateway.answer(request),
            None => Box::pin(self.response(request)),
        }
    }
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PagePath {
    Page,
    /// A page, whose path is written otherwise: in capitals, with percent signs, with a slash at the end.
    Alias(&'static str),
    /// Nothing; but no database can be there.
    Nothing,
    /// What is not the page's.
    Elsewhere,
}

/// What is at a path other than that of the style sheet.
fn page_at(path: &str) -> PagePath {
    let Some(path) = path.strip_prefix('/') else {
        return PagePath::Elsewhere;
    };
    if path.is_empty() {
        return PagePath::Page;
    }
    let (first, rest) = match path.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    let first = text::decoded(first).unwrap_or_default();
    let known = RESERVED_NAMES.iter();
    let known = known.filter(|name| first.eq_ignore_ascii_case(name));
    match (known.copied().next(), rest) {
        (None, _) => match path == ICON {
            true => PagePath::Nothing,
            false => PagePath::Elsewhere,
        },
        // Without a gateway.
        (Some("get"), None) if path == "get" => PagePath::Nothing,
        (Some(name), None) if path == name => PagePath::Page,
        (Some(name), None | Some("")) => PagePath::Alias(name),
        (Some(_), Some(_)) => PagePath::Nothing,
    }
}

/// A database as it is shown: one that has parts is shown as these.
struct ShownDatabase {
    name: String,
    /// The database that it is a part of.
    whole: Option<String>,
    title: String,
    description: String,
    records: String,
    is_chosen: bool,
}

/// The databases of the server.
fn databases(client: &WebClient) -> Vec<ShownDatabase> {
    let mut shown = Vec::new();
    for database in client.databases() {
        let title = text::clean(database.title.as_deref().unwrap_or(&database.name));
        let description = text::clean(database.description.as_deref().unwrap_or_default());
        let records = match database.records {
            Some(1) => "1 record".to_owned(),
            Some(count) => format!("{count} records"),
            None => String::new(),
        };
        for part in &database.parts {
            let (_, target) = part.split_once('@').unwrap_or(("", part));
            shown.push(ShownDatabase {
                name: part.clone(),
                whole: Some(database.name.clone()),
                title: format!("{title}: {}", text::clean(target)),
                description: description.clone(),
                records: String::new(),
                is_chosen: false,
            });
        }
        if database.parts.is_empty() {
            shown.push(ShownDatabase {
                name: database.name,
                whole: None,
                title,
                description,
                records,
                is_chosen: false,
            });
        }
    }
    shown
}

impl ShownDatabase {
    /// Whether this is its name, or that of the database that it is a part of.
    fn is_named(&self, name: &str) -> bool {
        let whole = self.whole.as_deref();
        whole
            .into_iter()
            .chain([&*self.name])
            .any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// The form for a search.
struct SearchForm {
    query: String,
    databases: Vec<ShownDatabase>,
}

impl SearchForm {
    /// The form with what was chosen; with all databases chosen if there was nothing.
    fn new(client: &WebClient, parameters: &Parameters) -> Self {
        let mut databases = databases(client);
        for database in &mut databases {
            let mut named = parameters.targets.iter();
            let is_named = named.any(|name| database.is_named(name));
            database.is_chosen = is_named || parameters.targets.is_empty();
        }
        Self {
            query: parameters.query.clone(),
            databases,
        }
    }

    /// What to search: the databases that are chosen, and those that the request names but the server does not have.
    fn targets(&self, parameters: &Parameters) -> Vec<String> {
        let chosen = self.databases.iter().filter(|database| database.is_chosen);
        let chosen = chosen.map(|database| database.name.clone());
        let is_unknown = |name: &&String| {
            let mut databases = self.databases.iter();
            !databases.any(|database| database.is_named(name))
        };
        let unknown = parameters.targets.iter().filter(is_unknown).cloned();
        chosen.chain(unknown).collect()
    }
}

#[derive(Template)]
#[template(path = "start.html")]
struct Start<'a> {
    layout: &'a PageLayout,
    form: SearchForm,
}

#[derive(Template)]
#[template(path = "targets.html")]
struct Targets<'a> {
    layout: &'a PageLayout,
    databases: Vec<ShownDatabase>,
}

#[derive(Template)]
#[template(path = "failed.html")]
struct Failed<'a> {
    layout: &'a PageLayout,
    title: &'a str,
    words: &'a str,
    /// The form with what was typed, to be mended.
    form: Option<SearchForm>,
}

#[cfg(test)]
mod tests;
