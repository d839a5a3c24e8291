//! A relay to a node, which records the requests that `z3950d` sends.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};

/// A request as sent by `z3950d`: the path and the body.
pub(crate) type Request = (String, Vec<u8>);

/// Parts of paths that identify searches.
const SEARCHES: [&str; 2] = ["_search", "/select"];

/// A relay to a node that records the requests.
pub(crate) struct Relay {
    pub(crate) port: u16,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Relay {
    pub(crate) async fn to(node: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let sent = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let kept = Arc::clone(&sent);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let node = TcpStream::connect((Ipv4Addr::LOCALHOST, node)).await;
                let node = node.expect("a node");
                let connection = {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push(Vec::new());
                    kept.len() - 1
                };
                tokio::spawn(relay(client, node, Arc::clone(&kept), connection));
            }
        });
        Self { port, sent }
    }

    /// Clears the recorded requests.
    pub(crate) fn forget(&self) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.iter_mut().for_each(Vec::clear);
    }

    /// Returns the recorded searches, those of each connection in order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = sent.iter().flat_map(|octets| requests(octets));
        requests
            .filter(|(path, _)| SEARCHES.iter().any(|word| path.contains(word)))
            .collect()
    }
}

async fn relay(
    client: TcpStream,
    node: TcpStream,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
    connection: usize,
) {
    for stream in [&client, &node] {
        stream.set_nodelay(true).expect("a socket");
    }
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_node, mut to_node) = node.into_split();
    tokio::spawn(async move { copy(&mut from_node, &mut to_client).await });
    let mut octets = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from_client.read(&mut octets).await {
        {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept[connection].extend_from_slice(&octets[..read]);
        }
        if to_node.write_all(&octets[..read]).await.is_err() {
            break;
        }
    }
}

/// Parses HTTP/1.1 requests whose bodies have a Content-Length.
fn requests(octets: &[u8]) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut rest = octets;
    while let Some(end) = rest.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().expect("a number"))
        });
        let body = end + 4..end + 4 + length.unwrap_or_default();
        requests.push((path, rest[body.clone()].to_vec()));
        rest = &rest[body.end..];
    }
    requests
}
