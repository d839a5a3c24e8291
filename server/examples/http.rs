//! Serves the records of another program that answers searches with JSON over HTTP. That program carries out the
//! searches, and each record is fetched from it when a client presents the record.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::{Value, from_slice, json};
use tokio::{net::TcpStream, time::timeout};
use z3950_server::backend::*;
use z3950_server::forms;
use z3950_server::testing::{TestServer, record};

struct Catalogue(SocketAddr);

/// Requests a path from the catalogue's server, and parses the JSON that it returns.
async fn get(server: SocketAddr, path: String) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let stream = TokioIo::new(TcpStream::connect(server).await?);
    let (mut sender, connection) = http1::handshake(stream).await?;
    tokio::spawn(connection);
    let request = Request::get(path).header("Host", server.to_string());
    let request = request.body(Empty::<Bytes>::new())?;
    let body = sender.send_request(request).await?.into_body();
    Ok(from_slice(&body.collect().await?.to_bytes())?)
}

impl Catalogue {
    async fn ask(&self, path: String) -> Result<Value, Diagnostic> {
        let failed = |why: String| diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, why);
        match timeout(Duration::from_secs(10), get(self.0, path)).await {
            Ok(answer) => answer.map_err(|error| failed(error.to_string())),
            Err(late) => Err(failed(late.to_string())),
        }
    }
}

impl Backend for Catalogue {
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        Box::pin(async move {
            check_databases(search.databases, &["books"])?;
            let mut terms = search.query.rpn.terms().map(Clause::of);
            let (Some(term), None) = (terms.next(), terms.next()) else {
                return Err(diagnostic(
                    Condition::UNSUPPORTED_SEARCH,
                    "one term, please",
                ));
            };
            let word: String = term?
                .text
                .bytes()
                .map(|octet| format!("%{octet:02X}"))
                .collect();
            let found = self.ask(format!("/search?q={word}")).await?;
            let ids = found["ids"].as_array().into_iter().flatten();
            let hits: Hits = ids.filter_map(Value::as_i64).map(RecordId).collect();
            Ok(hits.into())
        })
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        forms::has_syntax(syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        Box::pin(async move {
            let RecordId(id) = wanted.record;
            let found = self.ask(format!("/books/{id}")).await?;
            let title = found["title"].as_str().unwrap_or("(without a title)");
            let (book, form) = (record(&id.to_string(), title), wanted.composition);
            let syntax = form.syntax.unwrap_or(oid::USMARC);
            let book = forms::of_marc(&book, &syntax, form.element_set("books"));
            Ok(Retrieved::new("books".into(), book).written_here())
        })
    }
}

/// Simulates the other program's server, which finds the same two books for every word.
fn serve_somebody(listener: &TcpListener) {
    for mut stream in listener.incoming().flatten() {
        let mut request = [0; 1024];
        let length = stream.read(&mut request).unwrap_or_default();
        let request = String::from_utf8_lossy(&request[..length]).into_owned();
        let answer = match request.split(' ').nth(1) {
            Some("/books/158") => json!({"title": "Emma"}),
            Some("/books/5000000001") => json!({"title": "Persuasion"}),
            _ => json!({"ids": [158, 5_000_000_001_i64]}),
        };
        let answer = answer.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        let _ = stream.write_all((head + &answer).as_bytes());
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let backend = Arc::new(Catalogue(listener.local_addr()?));
    std::thread::spawn(move || serve_somebody(&listener));

    let server = TestServer::builder().backend(backend).start();
    let target = format!("{}/books", server.addr());
    let books = z3950::Client::new().connect(target).await?;
    let hits = books.search(z3950::Query::any("austen")).await?;
    let last = hits.record(2).await?.title();
    println!("{} found; the last is {last:?}", hits.count());
    Ok(())
}
