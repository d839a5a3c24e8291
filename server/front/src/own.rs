//! The server itself, asked through sessions in the name of a client of HTTP.

use z3950::service::init;
use z3950::transport::{BoxStream, Connect, Connecting, Routes};
use z3950::url::Host;
use z3950::{Client, ClientOptions, Timeouts};
use z3950_server::web::WebClient;

/// A client whose connections all lead to the server itself, with the rights, limits and login of this client of HTTP.
pub(crate) fn own_client(asker: &WebClient, mut options: ClientOptions) -> Client {
    options.plan.init.id_authentication = asker
        .login()
        .map(|login| init::id_pass(Some(&login.user), None, Some(&login.password)));
    let routes = Routes::fixed(OwnServer(asker.clone()));
    Client::with_routes(options, routes)
}

struct OwnServer(WebClient);

impl Connect for OwnServer {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move { Ok(Box::new(self.0.connect().await) as BoxStream) })
    }
}
