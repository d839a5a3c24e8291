//! A client for this server itself, which acts on behalf of an HTTP client.

use z3950::service::init;
use z3950::transport::{BoxStream, Connect, Connecting, Routes};
use z3950::url::Host;
use z3950::{Client, ClientOptions, Error, Timeouts};
use z3950_asn1::apdu::DiagRec;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::web::http::StatusCode;
use z3950_server::web::{LoginStatus, WebClient};

use crate::text::described;

/// The URL of this server for [`own_client`].
pub(crate) const OWN: &str = "z39.50s://localhost";

/// Returns a client whose connections all lead to this server, with the rights, limits and login of the HTTP client `asker`.
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
/// Fails with the HTTP status and the reason for the refusal.
pub(crate) async fn admitted(client: &WebClient) -> Result<(), (StatusCode, String)> {
    let own = own_client(client, ClientOptions::default());
    if let Err(error) = own.connect(OWN).await {
        let status = match &error {
            Error::InitRejected(_) => refusal_status(error.diagnostics()),
            Error::AccessRefused { .. } => StatusCode::UNAUTHORIZED,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        return Err((status, described(&error)));
    }
    match client.login_status() {
        LoginStatus::User | LoginStatus::Guest => Ok(()),
        LoginStatus::Stranger => {
            let words = "this server wants a user and password";
            Err((StatusCode::UNAUTHORIZED, words.to_owned()))
        }
    }
}

/// Returns the HTTP status for a session that this server refused. It is 401, which makes browsers ask for a user and a password,
/// unless these would not help. They do not help if the client's address is blocked, if too many wrong passwords came from it, or
/// if the user already has the maximum number of sessions.
pub(crate) fn refusal_status(diagnostics: &[DiagRec]) -> StatusCode {
    let of_condition = |one: &DiagRec| match one {
        DiagRec::DefaultFormat(one) => match Condition(one.condition) {
            Condition::ADDRESS_BLOCKED => Some(StatusCode::FORBIDDEN),
            Condition::TEMPORARILY_OUT_OF_RESOURCES => Some(StatusCode::TOO_MANY_REQUESTS),
            Condition::TOO_MANY_SESSIONS => Some(StatusCode::SERVICE_UNAVAILABLE),
            _ => None,
        },
        DiagRec::ExternallyDefined(_) => None,
    };
    let status = diagnostics.iter().find_map(of_condition);
    status.unwrap_or(StatusCode::UNAUTHORIZED)
}

struct OwnServer(WebClient);

impl Connect for OwnServer {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move { Ok(Box::new(self.0.connect().await) as BoxStream) })
    }
}
