//! Fuzzes SRU requests. The first octet selects URL parameters or SOAP. A request that can be read is written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use z3950_asn1::sru::{Request, SoapRequestError, SruLimits, parse_sort_keys, scan_clause};

fuzz_target!(|octets: &[u8]| {
    let Some((first, octets)) = octets.split_first() else { return };
    let limits = SruLimits::default();
    let read = match first % 2 {
        0 => Request::from_parameters(octets, &limits).ok(),
        _ => Request::from_soap(octets.to_vec(), &limits).ok(),
    };
    if let Ok(text) = std::str::from_utf8(octets) {
        let _ = parse_sort_keys(text);
        let _ = scan_clause(text);
    }
    let Some(request) = read else { return };
    if first % 2 == 0 {
        let again = Request::from_parameters(request.to_parameters().as_bytes(), &limits);
        assert_eq!(again, Ok(request.clone()));
    }
    let again = Request::from_soap(request.to_soap(), &limits);
    assert!(!matches!(again, Err(SoapRequestError::Xml(_))));
});
