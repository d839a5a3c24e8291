//! A client for this server itself, which acts on behalf of an HTTP client.

use z3950::asn1::apdu::DiagRec;
use z3950::asn1::bib1::diagnostics::Condition;
use z3950::service::init;
use z3950::transport::{BoxStream, Connect, Connecting, Routes};
use z3950::url::Host;
use z3950::{Client, ClientOptions, Error, Timeouts};
use z3950_server::web::http::StatusCode;
use z3950_server::web::{Standing, WebClient};

use crate::text::described;

/// The URL of this server for [`own_client`].
pub(crate) const OWN: &str = "z39.50s://localhost";

/// Returns a client whose connections all lead to this server, with the rights, limits and login of the given HTTP client.
pub(crate) fn own_client(asker: &WebClient, mut options: ClientOptions) -> Client {
    options.plan.init.id_authentication = asker
        .login()
        .map(|login| init::id_pass(Some(&login.user), None, Some(&login.password)));
    let routes = Routes::fixed(OwnServer(asker.clone()));
    Client::with_routes(options, routes)
}

/// Checks whether this server admits the client.
///
/// # Errors
/// The HTTP status of the refusal, and its reason in words.
pub(crate) async fn admitted(client: &WebClient) -> Result<(), (StatusCode, String)> {
    let own = own_client(client, ClientOptions::default());
    if let Err(error) = own.connect(OWN).await {
        let status = match &error {
            Error::InitRejected(_) if is_guessing(error.diagnostics()) => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Error::InitRejected(_) | Error::AccessRefused { .. } => StatusCode::UNAUTHORIZED,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        return Err((status, described(&error)));
    }
    match client.standing() {
        Standing::User | Standing::Guest => Ok(()),
        Standing::Stranger => {
            let words = "this server wants a user and password";
            Err((StatusCode::UNAUTHORIZED, words.to_owned()))
        }
    }
}

/// Returns whether a login was refused without checking the password, because of too many wrong passwords from the same address.
pub(crate) fn is_guessing(diagnostics: &[DiagRec]) -> bool {
    let waits = Condition::TEMPORARILY_OUT_OF_RESOURCES;
    diagnostics.iter().any(|one| match one {
        DiagRec::DefaultFormat(one) => one.condition == waits.0,
        DiagRec::ExternallyDefined(_) => false,
    })
}

struct OwnServer(WebClient);

impl Connect for OwnServer {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move { Ok(Box::new(self.0.connect().await) as BoxStream) })
    }
}
