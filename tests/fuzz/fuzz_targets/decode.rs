//! Fuzzes the decoder: a decoded value must be encodable, and the encoding must be decoded to the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use z3950_asn1::codec::{decode, dump, encode};

fuzz_target!(|octets: &[u8]| {
    dump::dump(octets);
    if let Ok(apdu) = decode(octets) {
        let encoded = encode(&apdu).expect("decoded values can be encoded");
        assert!(decode(&encoded).as_ref() == Ok(&apdu));
    }
});
