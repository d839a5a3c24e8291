//! Tests of mutated requests: the server must answer or end the connection, and neither panic nor hang. The random numbers are
//! seeded, so that a failure can be repeated; `Z3950_MUTATIONS=N` multiplies the number of mutations.

use super::*;

/// An xorshift64 random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit.max(1)
    }
}

/// Parts of requests that are significant to parsers.
const PARTS: [&str; 16] = [
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\0",
    ":",
    " ",
    "%",
    "Content-Length: 18446744073709551615\r\n",
    "Content-Length: 0\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "Expect: 100-continue\r\n",
    "ffffffffffffffff\r\n",
    "0\r\n\r\n",
    "HTTP/1.0",
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
];

#[tokio::test(start_paused = true)]
async fn mutated_requests_do_no_harm() {
    let seeds = [
        get(&format!("/cat?{WAR}")),
        post("/cat", FORM, WAR),
        post("/cat", "text/xml", SOAP),
        format!(
            "POST /cat HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nquery\r\n4\r\n=war\r\n0\r\n\r\n"
        ),
    ];
    let times = std::env::var("Z3950_MUTATIONS");
    let times = times.map_or(1, |times| times.parse().unwrap_or(1));
    let mut random = Random(0x5eed_cafe_f00d);
    let target = Target::new(catalogue(), Limits::default());
    let shared = context(target, Faults::new());
    let mut answered = 0;
    for _ in 0..20_000 * times {
        let mut octets = seeds[random.below(seeds.len())].clone().into_bytes();
        for _ in 0..=random.below(4) {
            let at = random.below(octets.len());
            match random.below(4) {
                0 => octets[at] = u8::try_from(random.below(256)).unwrap_or_default(),
                1 => drop(octets.splice(at..at, PARTS[random.below(PARTS.len())].bytes())),
                2 if octets.len() > 1 => drop(octets.remove(at)),
                _ => octets.truncate(at.max(1)),
            }
        }
        let mut caller = Caller::within(Arc::clone(&shared), None);
        let _ = caller.stream.write_all(&octets).await;
        let _ = caller.stream.shutdown().await;
        let mut answer = Vec::new();
        let read = caller.stream.read_to_end(&mut answer).await;
        read.expect("an end");
        let shown = || String::from_utf8_lossy(&octets).into_owned();
        assert!(
            !caller.task.await.is_err_and(|error| error.is_panic()),
            "{}",
            shown()
        );
        if !answer.is_empty() {
            answered += 1;
            assert!(answer.starts_with(b"HTTP/1."), "{}", shown());
        }
    }
    assert!(answered > 1_000, "{answered}");
}
