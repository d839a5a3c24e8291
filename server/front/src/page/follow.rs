//! Follows URLs typed into the search form: URLs of databases on this server lead to the form, and all other URLs lead to the gateway.

use z3950::target::Target;
use z3950_server::web::WebClient;
use z3950_server::web::http::StatusCode;

use super::parameters::Parameters;
use super::{CataloguePage, PageAnswer};
use crate::choices::Catalogues;
use crate::layout::redirect;
use crate::text::encoded;

impl CataloguePage {
    /// Redirects the client to the form if the URL is that of a database on this server, and otherwise to the gateway, which
    /// follows the URL.
    pub(super) fn follow(&self, client: &WebClient, parameters: &Parameters) -> PageAnswer {
        let url = &parameters.query;
        let catalogues = Catalogues::of(client);
        let lower = url.to_ascii_lowercase();
        let is_of_web = lower.starts_with("http");
        let is_of_record = lower.starts_with("z39.50r:");
        let database = if is_of_record {
            None
        } else {
            catalogues.at(url).or_else(|| own(url, client, &catalogues))
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
        redirect(StatusCode::SEE_OTHER, &place).unwrap_or_else(|| {
            let words = "The URL cannot be followed.";
            self.problem(StatusCode::BAD_REQUEST, words, client, parameters)
        })
    }
}

/// Returns the database on this server that an SRU address names, if the host of the address is the one by which the client
/// reached the server.
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
