//! Tests of the end-to-end scenarios S-01 to S-26, and of the rows Z-6.3 and Z-7.1 to Z-7.8. The client connects to a
//! `TestServer`, and the APDUs and outcomes are checked.

mod fallback;
mod names;
mod refusals;
mod retrieval;
mod rows;
mod session;

use z3950::url::{Mode, Z3950Url};
use z3950::{Client, ClientOptions};
use z3950_server::testing::{TestServer, TestServerBuilder, record};

/// Returns a server with the database `cat`. It contains one record with the docid `id7`, one with `id8`, and two with `dup`.
fn library() -> TestServerBuilder {
    let records = [
        ("id7", "Seven"),
        ("id8", "Eight"),
        ("dup", "One"),
        ("dup", "Two"),
    ];
    TestServer::builder().database("cat", records.map(|(docid, title)| record(docid, title)))
}

/// Returns the client options for all scenarios.
fn options() -> ClientOptions {
    let mut options = ClientOptions::default();
    let names = ["usmarc", "sutrs", "xml", "grs-1"];
    options.plan.record_syntaxes = names
        .into_iter()
        .filter_map(|name| z3950_asn1::oid::Oid::record_syntax_by_name(name.as_bytes()))
        .collect();
    options
}

fn client(server: &TestServer, change: impl FnOnce(&mut ClientOptions)) -> Client {
    let mut options = options();
    change(&mut options);
    // Every host in a URL is resolved to this server.
    Client::with_resolver(options, server.addr())
}

fn url(text: &str) -> Z3950Url {
    Z3950Url::parse(text, Mode::Strict).unwrap_or_else(|error| panic!("{text}: {error}"))
}
