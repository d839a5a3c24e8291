//! Fuzzes URLs of all schemes. Errors must be positioned within the text, lenient mode must accept everything that strict mode
//! accepts, and the canonical form must be parsed to the same URL.
#![no_main]

use libfuzzer_sys::fuzz_target;
use z3950::url::{Locator, Mode, generic};

fuzz_target!(|text: &[u8]| {
    let [strict, lenient] = [Mode::Strict, Mode::Lenient].map(|mode| Locator::parse(text, mode));
    for refusal in [&strict, &lenient].into_iter().filter_map(|read| read.as_ref().err()) {
        assert!(refusal.offset() <= text.len(), "{refusal}");
    }
    if let Ok(locator) = &strict {
        assert_eq!(Ok(locator), lenient.as_ref());
    }
    if let Ok(locator) = &lenient {
        let canonical = locator.to_string_with_secrets();
        let again = Locator::parse(&canonical, Mode::Lenient);
        assert_eq!(again.as_ref(), Ok(locator), "{canonical}");
        assert_eq!(again.map(|again| again.to_string_with_secrets()), Ok(canonical));
    }
    if let Ok(canonical) = generic::canonical(text) {
        assert_eq!(generic::canonical(&canonical).as_ref(), Ok(&canonical));
    }
});
