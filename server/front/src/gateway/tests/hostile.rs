//! Tests of hostile records, and of mutated URLs.

use z3950_server::web::http::Uri;

use super::Site;
use crate::gateway::locator;

#[tokio::test(flavor = "multi_thread")]
async fn text_of_records_is_escaped_on_pages() {
    let site = Site::new(|_| {});
    let target = format!("/{}", site.url("books?evil"));
    let (head, body) = site.ask(&target, "Accept: text/html\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(!body.contains("<script"), "{body}");
    assert!(
        body.contains("&#60;script") || body.contains("&lt;script"),
        "{body}"
    );
    let target = "/get?url=%3Cscript%3Ealert(1)%3C/script%3E";
    let (head, body) = site.ask(target, "Accept: text/html\r\n").await;
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    assert!(!body.contains("<script"), "{body}");
}

/// A generator of xorshift random numbers, which are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).expect("a small number")).expect("small")
    }
}

#[test]
fn mutated_requests_are_read_or_refused() {
    const SEEDS: [&str; 6] = [
        "/get?url=z39.50r%3A%2F%2Flib.example%2Fa%2Bb%3Fid7%3Brs%3Dmarc&format=json",
        "/z39.50r://lib.example:2100/a%2Fb?id%207;esn=f;rs=marc+xml",
        "/gopher:/lib.example:70/1/a%09b",
        "z39.50s://[2001:db8::1]:210/a+b?id",
        "z39.50r://127.0.0.1/books?pg1342",
        "/Z39.50S://user:pass@h/",
    ];
    const OCTETS: &[u8] = b"%/:?#&=+;@[]. 0aZ\x00\x7f\xff";
    let mut numbers = Numbers(0x5eed_2056);
    let (mut read, mut refused) = (0, 0);
    for round in 0..20_000 {
        let mut octets = SEEDS[round % SEEDS.len()].as_bytes().to_vec();
        for _ in 0..=numbers.below(4) {
            let at = numbers.below(octets.len());
            let octet = OCTETS[numbers.below(OCTETS.len())];
            match numbers.below(3) {
                0 => octets[at] = octet,
                1 => octets.insert(at, octet),
                _ => drop(octets.remove(at)),
            }
        }
        let Ok(target) = Uri::try_from(octets) else {
            continue;
        };
        if !locator::is_for_gateway(&target) {
            continue;
        }
        match locator::read(&target) {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(read > 1_000 && refused > 1_000, "{read} {refused}");
}
