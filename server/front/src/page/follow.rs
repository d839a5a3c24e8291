//! URLs that are typed: those of databases of this server lead to the form, all others to the gateway.

use z3950::target::Target;
use z3950_server::web::WebClient;
use z3950_server::web::http::StatusCode;
use z3950_server::web::http::header::{HeaderValue, LOCATION};

use super::CataloguePage;
use super::answer::PageAnswer;
use super::parameters::Parameters;
use crate::choices::Catalogues;
use crate::layout::with_type;
use crate::text::encoded;

impl CataloguePage {
    /// Sends the client to where a URL is followed.
    pub(super) fn follow(&self, client: &WebClient, parameters: &Parameters) -> PageAnswer {
        let url = &parameters.query;
        let catalogues = Catalogues::of(client);
        let lower = url.to_ascii_lowercase();
        let is_of_web = lower.starts_with("http");
        let is_of_record = lower.starts_with("z39.50r:");
        let database = match is_of_record {
            true => None,
            false => catalogues.at(url).or_else(|| own(url, client, &catalogues)),
        };
        let place = match (database, &self.gateway) {
            (Some(name), _) => format!("/search?target={}", encoded(name)),
            (None, _) if is_of_web => {
                let words = "This URL is not the address of a database of this server. Here, z39.50r, z39.50s and gopher URLs are \
                             followed; put quotation marks around the text to search for its words.";
                return self.problem(StatusCode::BAD_REQUEST, words, client, parameters);
            }
            (None, Some(_)) => format!("/get?url={}", encoded(url)),
            (None, None) => {
                let words = "This server does not follow URLs: it has no gateway. Type words or an identifier.";
                return self.problem(StatusCode::NOT_FOUND, words, client, parameters);
            }
        };
        let Ok(place) = HeaderValue::try_from(place) else {
            let words = "The URL cannot be followed.";
            return self.problem(StatusCode::BAD_REQUEST, words, client, parameters);
        };
        let mut answer = with_type(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
        answer.headers_mut().insert(LOCATION, place);
        answer
    }
}

/// The database of this server at an address of SRU under which the client knows the server.
fn own(url: &str, client: &WebClient, catalogues: &Catalogues) -> Option<String> {
    let target: Target = url.parse().ok()?;
    let (host, port) = client.authority();
    let default = if client.is_encrypted() { 443 } else { 80 };
    let is_own = target
        .endpoint
        .host()
        .to_string()
        .eq_ignore_ascii_case(host)
        && target.endpoint.port() == port.unwrap_or(default);
    let [database] = &*target.databases else {
        return None;
    };
    let name = database.0.to_string_lossy();
    (is_own && catalogues.has(&name)).then(|| name.into_owned())
}
