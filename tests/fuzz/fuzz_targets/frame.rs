//! Fuzzes the splitting of a stream of octets into APDUs.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use tokio_util::codec::Decoder;
use z3950_asn1::codec::frame::ApduCodec;

fuzz_target!(|octets: &[u8]| {
    let mut codec = ApduCodec::new(65_536);
    let mut input = BytesMut::from(octets);
    while let Ok(Some(apdu)) = codec.decode_eof(&mut input) {
        assert!(!apdu.is_empty());
    }
});
