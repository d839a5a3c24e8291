//! Parses thousands of malformed replies. The parser must not panic, make the reply larger, or return URLs that cannot
//! be parsed.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::super::*;
use crate::url::{Locator, Mode};

/// The parts from which the replies are assembled.
const PIECES: [&str; 20] = [
    "+",
    "-",
    "-1\r\n",
    "-2\r\n",
    "7\r\n",
    "\t",
    "\r\n",
    ".\r\n",
    "..",
    "0A\t/a\th.example\t70",
    "\t+",
    "\t?",
    "3No\t\t\t1\r\n",
    "hX\tURL:",
    "+INFO: ",
    "+VIEWS:\r\n",
    " text/plain De:<1k>",
    "+ASK:\r\n Choose: ",
    "i",
    "URL:x:",
];

/// Parses replies that are assembled from these parts in any order, with any octets between them. The parser must not
/// panic or make the reply larger, and each URL in a menu must be valid.
#[test]
fn any_octets_are_read_or_refused() {
    let piece = prop_oneof![
        3 => select(PIECES.as_slice()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..6),
    ];
    let plans = [
        "0a",
        "1a",
        "9a",
        "0a%09%09+",
        "1a%09%09$",
        "1a%09%09+",
        "0a%09%09+image/gif",
    ]
    .map(|path| {
        let url = format!("gopher://gopher.example/{path}");
        let url = GopherUrl::parse(url, Mode::Strict).expect("a URL");
        plan(&url, &GopherOptions::default()).expect("a plan")
    });
    let config = Config {
        cases: 20_000,
        failure_persistence: None,
        ..Config::default()
    };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[0x70; 32]);
    let result = TestRunner::new_with_rng(config, random).run(&vec(piece, 0..12), |pieces| {
        let octets = pieces.concat();
        let both = plans.iter().flat_map(|plan| [(plan, false), (plan, true)]);
        for (plan, is_open) in both {
            match reply::read(plan, octets.clone().into(), is_open).map(|reply| reply.body) {
                Ok(Body::Text(body) | Body::Binary(body)) => {
                    prop_assert!(body.len() <= octets.len())
                }
                Ok(Body::Menu(items)) => {
                    for url in items.iter().filter_map(|item| item.url.as_ref()) {
                        let read = Locator::parse(url, Mode::Lenient);
                        prop_assert!(read.is_ok() || !GopherUrl::has_scheme(url), "{}", url);
                    }
                }
                Ok(Body::Attributes(items)) => {
                    for item in &items {
                        prop_assert!(!item.blocks.is_empty());
                        let _ = (
                            item.item(),
                            item.views(),
                            item.questions(),
                            item.abstract_text(),
                        );
                    }
                }
                Err(_) => {}
            }
        }
        Ok(())
    });
    if let Err(fault) = result {
        panic!("{fault}");
    }
}
