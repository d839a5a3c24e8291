//! Connections to the server that the page belongs to, in the name of the client.

use z3950::{ClientOptions, Connection, Error};
use z3950_server::web::WebClient;

use crate::own::own_client;
use crate::text::encoded;

/// A connection to a database of the server. It has a session of its own, which ends when the connection is dropped.
pub(super) async fn connection(client: &WebClient, database: &str) -> Result<Connection, Error> {
    let own = own_client(client, ClientOptions::default());
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
