//! Passes 600,000 random mutations of real APDUs through framing, decoding and the server's session. None of them may cause a
//! panic, use more and more memory, or confuse the boundaries of APDUs. The client crate has the same test for its session.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use tokio_util::codec::Decoder;
use z3950_asn1::apdu::{Apdu, Query, RpnQuery};
use z3950_asn1::codec::frame::{ApduCodec, StreamError};
use z3950_asn1::codec::{decode, dump, encode};
use z3950_server::{Limits, MemoryBackend, Session, Target};
use z3950_tests::hex;
use z3950_tests::random::{Random, mutations};

const MAX_APDU_SIZE: usize = 65_536;

/// Returns the APDUs of the fixtures, both unchanged and with all lengths in the definite form.
fn samples() -> Vec<Vec<u8>> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/wire");
    let mut samples = Vec::new();
    for file in std::fs::read_dir(directory)
        .expect("the fixtures exist")
        .flatten()
    {
        let octets = hex::octets(&std::fs::read_to_string(file.path()).expect("text"));
        samples.push(encode(&decode(&octets).expect("a fixture decodes")).expect("and encodes"));
        samples.push(octets);
    }
    samples.sort();
    assert!(samples.len() >= 60);
    samples
}

/// Reads APDUs from a stream that arrives in pieces of random size. Returns the APDUs, and an error if the stream ends with one.
fn frames(octets: &[u8], random: &mut Random) -> (Vec<Bytes>, Result<(), StreamError>) {
    let mut codec = ApduCodec::new(MAX_APDU_SIZE);
    let mut buffer = BytesMut::new();
    let mut found = Vec::new();
    let mut rest = octets;
    loop {
        let (piece, after) = rest.split_at(random.below(40).min(rest.len()));
        buffer.extend_from_slice(piece);
        rest = after;
        let ended = rest.is_empty();
        loop {
            let frame = if ended {
                codec.decode_eof(&mut buffer)
            } else {
                codec.decode(&mut buffer)
            };
            match frame {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) if ended => return (found, Ok(())),
                Ok(None) => break,
                Err(error) => return (found, Err(error)),
            }
        }
    }
}

#[test]
fn framing_and_decoding() {
    let samples = samples();
    let mut random = Random::new("framing and decoding");
    let (mut decoded, mut framed) = (0, 0);
    for _ in 0..mutations(500_000) {
        let mutant = random.pick(&samples).clone();
        let mutant = random.mutate(&mutant, &samples);
        let (found, _) = frames(&mutant, &mut random);
        let taken: usize = found.iter().map(Bytes::len).sum();
        assert!(
            taken <= mutant.len() && mutant.starts_with(&found.concat()),
            "{}",
            hex::digits(&mutant)
        );
        for frame in found {
            framed += 1;
            match decode(&frame) {
                Ok(apdu) => {
                    decoded += 1;
                    check_value(&apdu);
                }
                Err(error) => assert!(
                    error.offset <= frame.len(),
                    "{error}: {}",
                    hex::digits(&frame)
                ),
            }
        }
        if random.below(16) == 0 {
            dump::dump(&mutant);
        }
    }
    // If too few mutants pass framing and decoding, the mutations change too much.
    assert!(
        framed > 10_000 && decoded > 5_000,
        "{framed} framed, {decoded} decoded"
    );
}

/// Checks that a decoded value can be encoded and decoded again, and that a query in it can be printed as PQF and parsed again.
fn check_value(apdu: &Apdu) {
    let encoded = encode(apdu).expect("decoded values can be encoded");
    assert_eq!(
        decode(&encoded).as_ref(),
        Ok(apdu),
        "{}",
        hex::digits(&encoded)
    );
    if let Apdu::SearchRequest(search) = apdu
        && let Query::Type1(query) | Query::Type101(query) = &search.query
    {
        // PQF cannot represent every query, for example a query with the same attribute twice. If the PQF can be parsed, however,
        // printing the result and parsing it again must give the same query.
        if let Ok(read) = query.to_string().parse::<RpnQuery>() {
            assert_eq!(read.to_string().parse().as_ref(), Ok(&read), "{query}");
        }
    }
}

/// Returns the output of a future that is ready immediately.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("databases in memory wait for nothing"),
    }
}

#[test]
fn the_session_of_the_server() {
    let samples = samples();
    let init = samples
        .iter()
        .find(|sample| sample.first() == Some(&0xb4))
        .expect("an Init")
        .clone();
    let limits = Limits::default();
    let target = Target::new(Arc::new(MemoryBackend::demo()), limits.clone());
    let target = Arc::new(target);
    let mut random = Random::new("the session of the server");
    let mut session = Session::new(target.clone());
    let mut answered = 0;
    for _ in 0..mutations(100_000) {
        if !session.is_open() {
            session = Session::new(target.clone());
            if random.below(8) > 0 {
                assert!(!now(session.receive(&init)).hang_up, "Init is granted");
            }
        }
        let mutant = random.pick(&samples).clone();
        let mutant = if random.below(8) > 0 {
            random.mutate(&mutant, &samples)
        } else {
            mutant
        };
        let reply = now(session.receive(&mutant));
        for apdu in &reply.apdus {
            answered += 1;
            assert!(
                encode(apdu).expect("an answer encodes").len()
                    <= 2 * limits.exceptional_record_size
            );
        }
    }
    assert!(answered > 20_000, "{answered} answers");
}
