//! The page for people: a search form, the hits of each database as they come, records with their holdings, and downloads. It uses no
//! script, and searches the server through sessions in the name of the client.

mod answer;
mod asked;
mod download;
mod own;
mod parameters;
mod record;
mod search;
mod text;

use askama::Template;
use z3950::Error;
use z3950_server::web::http::request::Parts;
use z3950_server::web::http::{Method, StatusCode};
use z3950_server::web::{Web, WebAnswering, WebClient, WebRequest, is_sru};

use self::answer::{PageAnswer, html, style, style_path};
use self::parameters::Parameters;
use self::text::described;

/// Names that no database may have where the page is served.
pub const RESERVED_NAMES: [&str; 3] = ["search", "get", "targets"];

/// The page, for [`Server::with_web`](z3950_server::Server::with_web). It answers `/`, `/search` and `/targets`; requests of SRU
/// for `/` stay SRU's.
pub struct CataloguePage {
    style_path: String,
    gateway: Option<Box<dyn Web>>,
}

impl CataloguePage {
    /// The page of the server that it is given to.
    pub fn new() -> Self {
        Self {
            style_path: style_path(),
            gateway: None,
        }
    }

    /// Gives this gateway the requests that are its own, and leads URLs that are typed to it, at `/get`.
    #[must_use]
    pub fn with_gateway(self, gateway: impl Web + 'static) -> Self {
        Self {
            gateway: Some(Box::new(gateway)),
            ..self
        }
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
        if path == self.style_path {
            return style();
        }
        let query = head.uri.query().unwrap_or_default();
        let parameters = match Parameters::read(query) {
            Ok(parameters) => parameters,
            Err(words) => return self.failure(StatusCode::BAD_REQUEST, &words),
        };
        if let Err(error) = own::admitted(&client).await {
            let status = match error {
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
        html(StatusCode::OK, &Start { page: self, form })
    }

    fn targets(&self, client: &WebClient) -> PageAnswer {
        let databases = databases(client);
        html(
            StatusCode::OK,
            &Targets {
                page: self,
                databases,
            },
        )
    }

    fn failure(&self, status: StatusCode, words: &str) -> PageAnswer {
        let title = status.canonical_reason().unwrap_or("Error");
        html(
            status,
            &Failed {
                page: self,
                title,
                words,
            },
        )
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
            path => path == "/search" || path == "/targets" || path == self.style_path,
        }
    }

    fn answer(&self, request: WebRequest) -> WebAnswering<'_> {
        match self.gateway(&request.head) {
            Some(gateway) => gateway.answer(request),
            None => Box::pin(self.response(request)),
        }
    }
}

/// A database as it is shown.
struct ShownDatabase {
    name: String,
    title: String,
    description: String,
    records: String,
    is_chosen: bool,
}

/// The databases of the server.
fn databases(client: &WebClient) -> Vec<ShownDatabase> {
    let databases = client.databases().into_iter();
    let shown = databases.map(|database| ShownDatabase {
        title: text::clean(database.title.as_deref().unwrap_or(&database.name)),
        description: text::clean(database.description.as_deref().unwrap_or_default()),
        records: match database.records {
            Some(1) => "1 record".to_owned(),
            Some(count) => format!("{count} records"),
            None => String::new(),
        },
        is_chosen: false,
        name: database.name,
    });
    shown.collect()
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
            let is_named = |name: &String| name.eq_ignore_ascii_case(&database.name);
            database.is_chosen =
                parameters.targets.is_empty() || parameters.targets.iter().any(is_named);
        }
        Self {
            query: parameters.query.clone(),
            databases,
        }
    }
}

#[derive(Template)]
#[template(path = "start.html")]
struct Start<'a> {
    page: &'a CataloguePage,
    form: SearchForm,
}

#[derive(Template)]
#[template(path = "targets.html")]
struct Targets<'a> {
    page: &'a CataloguePage,
    databases: Vec<ShownDatabase>,
}

#[derive(Template)]
#[template(path = "failed.html")]
struct Failed<'a> {
    page: &'a CataloguePage,
    title: &'a str,
    words: &'a str,
}

#[cfg(test)]
mod tests;
