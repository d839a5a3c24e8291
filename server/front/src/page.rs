//! The search page for people: a search form, the hits of each database as soon as they arrive, records with their holdings, and
//! downloads. The page does not use scripts. Its searches run in sessions with its own server, on behalf of the client.

mod asked;
mod download;
mod facets;
mod follow;
mod hits;
mod order;
mod parameters;
mod record;
mod search;
mod section;
mod similar;
mod sources;
mod suggestion;

use std::net::SocketAddr;
use std::time::Duration;

use askama::Template;
use z3950_server::web::http::header::{ACCEPT, HeaderValue, RETRY_AFTER, VARY};
use z3950_server::web::http::request::Parts;
use z3950_server::web::http::{Method, Response, StatusCode};
use z3950_server::web::{Web, WebAnswering, WebBody, WebClient, WebRequest, is_sru};

use self::order::ListOrder;
use self::parameters::Parameters;
use crate::choices::{Catalogues, SearchForm, ShownDatabase};
use crate::gateway::{Accept, Gateway};
use crate::layout::{PageLayout, heading, html, redirect, style};
use crate::own::admitted;
use crate::text;

/// The value of Retry-After, in seconds, for a client that guesses passwords.
const RETRY_SECONDS: u16 = 5;
/// The names that a database cannot have, because they are paths of the page or of the gateway.
const RESERVED_NAMES: [&str; 3] = ["search", "get", "targets"];
/// The path of an icon that browsers request from every site. This server has no such icon.
const ICON: &str = "favicon.ico";

/// The maximum number of records in a list on the page.
const PAGE: u64 = 10;
/// The maximum number of records in a file of all records found.
const MAX_FILE: u64 = 1000;

/// The page's answer to an HTTP request.
type PageAnswer = Response<WebBody>;

/// The search page, which is passed to [`Server::with_web`](z3950_server::Server::with_web). It answers `/`, `/search` and
/// `/targets`; SRU requests to `/` are not affected.
pub struct CataloguePage {
    layout: PageLayout,
    gateway: Option<Box<dyn Web>>,
    /// The addresses of the listeners without TLS.
    plain: Vec<SocketAddr>,
    suggestion_time: Duration,
}

/// The default maximum time for suggesting another spelling.
const SUGGESTION_TIME: Duration = Duration::from_secs(2);

impl CataloguePage {
    /// Creates the page for a server.
    pub fn new() -> Self {
        Self {
            layout: PageLayout::new(true),
            gateway: None,
            plain: Vec::new(),
            suggestion_time: SUGGESTION_TIME,
        }
    }

    /// Returns whether the name is reserved for the page or its gateway. A database cannot have such a name, because the path of
    /// its SRU URL would belong to the page.
    pub fn reserves(name: &str) -> bool {
        let mut paths = RESERVED_NAMES.iter();
        paths.any(|path| name.eq_ignore_ascii_case(path)) || Gateway::reserves(name)
    }

    /// Adds a gateway. It answers the requests for its own paths; URLs typed into the search form are redirected to its `/get`.
    #[must_use]
    pub fn with_gateway(self, gateway: impl Web + 'static) -> Self {
        Self {
            gateway: Some(Box::new(gateway)),
            ..self
        }
    }

    /// Sets the addresses of the listeners without TLS. They are needed to show `z39.50r` URLs of records to people who read the
    /// page over TLS, because these URLs cannot express TLS (RFC 2056 §4).
    #[must_use]
    pub fn with_plain_listeners(self, plain: Vec<SocketAddr>) -> Self {
        Self { plain, ..self }
    }

    /// Sets the maximum time for suggesting another spelling when a search has found nothing; by default, two seconds. With zero,
    /// nothing is suggested.
    #[must_use]
    pub fn with_suggestion_time(self, suggestion_time: Duration) -> Self {
        Self {
            suggestion_time,
            ..self
        }
    }

    /// Returns the gateway if the request is for it.
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
        if let Err((status, words)) = admitted(&client).await {
            let words = match status {
                StatusCode::UNAUTHORIZED => asks_for_login(&client),
                _ => words,
            };
            return self.failure(status, &words);
        }
        match path {
            "/" => self.start(&client, &Parameters::default()),
            "/targets" => self.targets(&client),
            "/search" => self.search(parameters, client).await,
            _ => self.failure(StatusCode::NOT_FOUND, "There is no such page."),
        }
    }

    fn start(&self, client: &WebClient, parameters: &Parameters) -> PageAnswer {
        let form = self.form(client, parameters);
        let heading = match &*parameters.targets {
            [only] => format!("Search {}", form.catalogues.title(only)),
            _ => "Search the catalogue".to_owned(),
        };
        html(
            StatusCode::OK,
            &Start {
                layout: &self.layout,
                heading,
                form,
            },
        )
    }

    fn form(&self, client: &WebClient, parameters: &Parameters) -> SearchForm {
        let Parameters { query, targets, .. } = parameters;
        SearchForm {
            has_fallback: parameters.has_fallback,
            has_best: parameters.has_best,
            sort: parameters.sort.map_or("", ListOrder::name),
            ..SearchForm::new(client, query, targets, parameters.ticks)
        }
    }

    fn targets(&self, client: &WebClient) -> PageAnswer {
        let databases = Catalogues::of(client).0;
        html(
            StatusCode::OK,
            &Targets {
                layout: &self.layout,
                databases,
            },
        )
    }

    /// Redirects to the canonical path of a page.
    fn moved(&self, page: &str, query: &str) -> PageAnswer {
        let mark = if query.is_empty() { "" } else { "?" };
        let place = format!("/{page}{mark}{query}");
        redirect(StatusCode::PERMANENT_REDIRECT, &place)
            .unwrap_or_else(|| self.failure(StatusCode::NOT_FOUND, "There is no such page."))
    }

    fn failure(&self, status: StatusCode, words: &str) -> PageAnswer {
        let page = Failed {
            layout: &self.layout,
            title: heading(status),
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

    /// Returns a page for a failure, with the form, so that the input can be corrected.
    fn problem(
        &self,
        status: StatusCode,
        words: &str,
        client: &WebClient,
        parameters: &Parameters,
    ) -> PageAnswer {
        let page = Failed {
            layout: &self.layout,
            title: heading(status),
            words,
            form: Some(self.form(client, parameters)),
        };
        html(status, &page)
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
        let is_web = ["http", "https"].contains(&head.uri.scheme_str().unwrap_or("http"));
        if !is_web {
            return false;
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

    /// Answers browsers with a page. Returns `None` for other clients and for requests with SRU parameters, which get an SRU
    /// diagnostic.
    fn missing(&self, head: &Parts) -> Option<PageAnswer> {
        let accepted = head.headers.get_all(ACCEPT).iter();
        let accepted = Accept::read(accepted.filter_map(|value| value.to_str().ok()));
        if !accepted.names_html() || is_sru(head.uri.query().unwrap_or_default()) {
            return None;
        }
        let words = "There is no page at this address, and no database of this name.";
        let mut answer = self.failure(StatusCode::NOT_FOUND, words);
        let vary = HeaderValue::from_static("Accept");
        answer.headers_mut().insert(VARY, vary);
        Some(answer)
    }
}

/// The meaning of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PagePath {
    Page,
    /// Another spelling of a page's path: in capitals, percent-encoded, or with a slash at the end.
    Alias(&'static str),
    /// A reserved path without a page.
    Nothing,
    /// A path that does not belong to the page.
    Elsewhere,
}

/// Returns the meaning of a path, other than the path of the style sheet, which has already been handled.
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
    let known = RESERVED_NAMES
        .iter()
        .filter(|name| first.eq_ignore_ascii_case(name));
    match (known.copied().next(), rest) {
        (None, _) if path == ICON => PagePath::Nothing,
        (None, _) => PagePath::Elsewhere,
        // A gateway would have answered this path, so the request only comes here if there is no gateway.
        (Some("get"), None) if path == "get" => PagePath::Nothing,
        (Some(name), None) if path == name => PagePath::Page,
        (Some(name), None | Some("")) => PagePath::Alias(name),
        (Some(_), Some(_)) => PagePath::Nothing,
    }
}

#[derive(Template)]
#[template(path = "start.html")]
struct Start<'a> {
    layout: &'a PageLayout,
    heading: String,
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
    /// The form with the previous input, so that it can be corrected.
    form: Option<SearchForm>,
}

/// Returns the message for a client that has not sent a valid user name and password.
fn asks_for_login(client: &WebClient) -> String {
    let known = match client.login() {
        Some(_) => "This server does not know the user, or the password is wrong.",
        None => "This server can only be searched with a user and a password.",
    };
    format!(
        "{known} It is the user that the operator of this server has set up, not one of a catalogue elsewhere. Load the page \
         again to type them."
    )
}

#[cfg(test)]
mod tests;
