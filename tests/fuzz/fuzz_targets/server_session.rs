//! Fuzzes the server's session with an Init that is accepted, followed by arbitrary frames.
#![no_main]

use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use tokio_util::codec::Decoder;
use z3950_asn1::codec::encode;
use z3950_asn1::codec::frame::ApduCodec;
use z3950_server::{Limits, MemoryBackend, Session, Target};

static TARGET: LazyLock<Arc<Target>> = LazyLock::new(|| {
    let backend = Arc::new(MemoryBackend::demo());
    Arc::new(Target::new(backend, Limits::default()))
});

/// The Init that yaz-client sends, without the implementation name.
const INIT: [u8; 23] = [
    0xb4, 0x15, 0x83, 2, 0, 0xe0, 0x84, 3, 0, 0xe9, 0xa2, 0x85, 4, 4, 0, 0, 0, 0x86, 4, 4, 0, 0, 0,
];

/// Returns the output of a future that is ready immediately.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("databases in memory wait for nothing"),
    }
}

fuzz_target!(|octets: &[u8]| {
    let mut session = Session::new(TARGET.clone());
    assert!(!now(session.receive(&INIT)).hang_up);
    let mut codec = ApduCodec::new(session.max_apdu_size());
    let mut input = BytesMut::from(octets);
    while let Ok(Some(request)) = codec.decode_eof(&mut input) {
        let reply = now(session.receive(&request));
        for apdu in &reply.apdus {
            encode(apdu).expect("an answer encodes");
        }
        if reply.hang_up {
            return;
        }
    }
});
