//! Connections to the server that the page belongs to, in the name of the client.

use z3950::asn1::apdu::{IdAuthentication, IdPass};
use z3950::transport::{BoxStream, Connect, Connecting, Routes};
use z3950::url::Host;
use z3950::{Client, ClientOptions, Connection, Error, Timeouts};
use z3950_server::web::WebClient;

use super::text::encoded;

/// Connects to the server itself.
struct Own(WebClient);

impl Connect for Own {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async {
            let stream: BoxStream = Box::new(self.0.connect().await);
            Ok(stream)
        })
    }
}

/// A connection to a database of the server. It has a session of its own, which ends when the connection is dropped.
pub(super) async fn connection(client: &WebClient, database: &str) -> Result<Connection, Error> {
    let mut options = ClientOptions::default();
    options.plan.init.id_authentication = client.login().map(|login| {
        IdAuthentication::IdPass(IdPass {
            group_id: None,
            user_id: Some(login.user.as_str().into()),
            password: Some(login.password.as_str().into()),
        })
    });
    let routes = Routes::fixed(Own(client.clone()));
    let own = Client::with_routes(options, routes);
    own.connect(format!("z39.50s://localhost/{}", encoded(database)))
        .await
}

/// Whether the server admits the client.
///
/// # Errors
/// Why it does not.
pub(super) async fn admitted(client: &WebClient) -> Result<(), Error> {
    connection(client, "Default").await.map(drop)
}
