//! Fuzzes SRU responses. A response that can be read is written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use z3950_asn1::sru::zeerex::ZeeRex;
use z3950_asn1::sru::{Response, SruLimits};

fuzz_target!(|octets: &[u8]| {
    let limits = SruLimits::default();
    let _ = ZeeRex::from_xml(octets.to_vec(), &limits);
    let Ok(response) = Response::from_xml(octets.to_vec(), &limits) else { return };
    // An explain record that was read without a response around it is written inside a response. This adds three levels of
    // elements, so the limits are higher here.
    let deeper = {
        let mut limits = SruLimits::default();
        limits.depth += 8;
        limits.elements += 16;
        limits
    };
    let again = Response::from_xml(response.to_xml(None), &deeper).expect("written by us");
    let in_soap = Response::from_xml(response.to_soap(), &deeper).expect("written by us");
    assert_eq!(again, in_soap);
});
