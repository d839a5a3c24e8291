//! Sends requests to an engine without z3950d, for comparison.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// The pause before a request that an overloaded node refused is sent again.
const PAUSE: Duration = Duration::from_millis(50);

/// A connection to a node.
pub(crate) struct Direct(BufReader<TcpStream>);

impl Direct {
    pub(crate) async fn connect(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
        let stream = stream.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        Self(BufReader::new(stream))
    }

    /// Sends a request, and repeats it while the node is overloaded; returns the body of the answer.
    pub(crate) async fn ask(&mut self, path: &str, body: &[u8]) -> Vec<u8> {
        loop {
            let (status, answer) = self.send(path, body).await;
            if !status.contains(" 429 ") {
                assert!(status.contains(" 200 "), "{status}");
                return answer;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends a request; returns the line with the status, and the body of the answer.
    async fn send(&mut self, path: &str, body: &[u8]) -> (String, Vec<u8>) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let request = [head.as_bytes(), body].concat();
        self.0.write_all(&request).await.expect("sent");
        let mut status = String::new();
        self.0.read_line(&mut status).await.expect("a status");
        let mut length = None;
        loop {
            let header = self.line().await;
            if header.is_empty() {
                break;
            }
            let lower = header.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = Some(value.trim().parse().expect("a number"));
            }
        }
        (status, self.body(length).await)
    }

    /// Receives a body of this length, or a chunked body if the length is `None`.
    async fn body(&mut self, length: Option<usize>) -> Vec<u8> {
        if let Some(length) = length {
            let mut body = vec![0; length];
            self.0.read_exact(&mut body).await.expect("a body");
            return body;
        }
        let mut body = Vec::new();
        loop {
            let size = self.line().await;
            let size = usize::from_str_radix(&size, 16).expect("the size of a chunk");
            let end = body.len() + size;
            body.resize(end, 0);
            self.0
                .read_exact(&mut body[end - size..])
                .await
                .expect("a chunk");
            self.line().await;
            if size == 0 {
                return body;
            }
        }
    }

    /// Receives a line; returns it without its end.
    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).await.expect("a line");
        line.trim_end().to_owned()
    }
}

/// Returns the median of the times, and the 99th percentile.
pub(crate) fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    (at(50), at(99))
}

pub(crate) fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}
