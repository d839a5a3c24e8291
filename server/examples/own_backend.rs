//! A custom backend for records that are not in memory. In this example, every search finds the complete list of titles.

use std::sync::Arc;

use z3950::{Client, Query};
use z3950_server::asn1::apdu::External;
use z3950_server::asn1::oid::{Oid, USMARC};
use z3950_server::backend::{Answer, Backend, Found, Hits, RecordId, Retrieve, Retrieved};
use z3950_server::backend::{Search, check_databases, ready};
use z3950_server::marc::iso2709;
use z3950_server::testing::{TestServer, record};

const TITLES: [&str; 2] = ["Emma", "Persuasion"];

struct Titles;

impl Backend for Titles {
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        let is_known = check_databases(search.databases, &["titles"]);
        let hits: Hits = (0..2).map(RecordId).collect();
        ready(is_known.map(|()| hits.into()))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        *syntax == USMARC
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let title = TITLES[wanted.record.0 as usize];
        let octets = iso2709::encode(&record("1", title)).expect("it is short");
        let record = External::octet_aligned(USMARC, octets);
        ready(Ok(Retrieved::new("titles".into(), Ok(record))))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), z3950::Error> {
    let server = TestServer::builder().backend(Arc::new(Titles)).start();
    let target = format!("{}/titles", server.addr());
    let titles = Client::new().connect(target).await?;
    let hits = titles.search(Query::any("novels")).await?;
    let second = hits.record(2).await?.title();
    println!("{} found; the second is {second:?}", hits.count());
    Ok(())
}
