//! Fuzzes queries in every language. Errors must be positioned within the text, and a printed query must be parsed to the same
//! query.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use z3950_asn1::query::{Dialects, Language};

static DIALECTS: LazyLock<Dialects> = LazyLock::new(Dialects::built_in);

fuzz_target!(|text: &str| {
    for language in Language::ALL {
        let query = match DIALECTS.read(language, text) {
            Ok(query) => query,
            Err(error) => {
                assert!(error.offset <= text.len(), "{error}");
                continue;
            }
        };
        let printed = query.to_string();
        assert_eq!(DIALECTS.read(Language::Pqf, &printed).as_ref(), Ok(&query), "{printed}");
        if let Ok(printed) = DIALECTS.to_ccl(&query) {
            // CCL does not preserve the order of attributes, so the CCL texts are compared instead of the queries.
            let again = DIALECTS.read(Language::Ccl, &printed).expect("written by us");
            assert_eq!(DIALECTS.to_ccl(&again).as_ref(), Ok(&printed));
        }
        if let Ok(printed) = DIALECTS.to_cql(&query) {
            assert!(DIALECTS.read(Language::Cql, &printed).is_ok(), "{printed}");
        }
    }
});
