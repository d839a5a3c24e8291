//! Tests of URIs as text (RFC 1630 and RFC 1736) with the tables `rfc1630_generic.tsv`, `rfc1630_resolve.tsv` and `rfc1736.tsv`.

use z3950::url::{Locator, Mode, ResolveError, ResolveMode, generic, resolve, spell, uri_kind};

use crate::url::table::{octets, rows};

const GENERIC: &str = include_str!("../../fixtures/urls/rfc1630_generic.tsv");
const REQUIREMENTS: &str = include_str!("../../fixtures/urls/rfc1736.tsv");
const RESOLVE: &str = include_str!("../../fixtures/urls/rfc1630_resolve.tsv");

#[test]
fn texts_give_the_answer_of_the_table() {
    let check = |row: &str, asked: &str, text: &[u8], expected: &str| {
        let string = std::str::from_utf8(text).unwrap_or_default();
        let answer = match asked {
            "split" => match generic::split(string) {
                Some((scheme, rest)) => format!("{scheme} {rest}"),
                None => "partial".to_owned(),
            },
            "absolute" => generic::is_absolute(string).to_string(),
            "kind" => uri_kind(text).to_string(),
            "canonical" => match generic::canonical(text) {
                Ok(canonical) => {
                    assert_eq!(generic::canonical(&canonical).as_ref(), Ok(&canonical));
                    assert!(generic::same_uri(text, &canonical));
                    canonical
                }
                Err(refusal) => format!("Err {}@{}", refusal.kind().name(), refusal.offset()),
            },
            "fragment" => {
                let (uri, fragment) = generic::split_fragment(string);
                format!("{uri} {}", fragment.unwrap_or("none"))
            }
            "prefix" => generic::strip_prefix(string).to_owned(),
            "soften" => generic::soften(string),
            "spell" => spell(string),
            "scope" => {
                let locator = Locator::parse(text, Mode::Lenient).unwrap();
                let cautions = locator.cautions();
                let cautions = cautions
                    .iter()
                    .map(|caution| format!(" {}", caution.code()));
                format!("{}{}", locator.scope(), cautions.collect::<String>())
            }
            _ => {
                let escape = asked.strip_prefix("harden:").expect("a question");
                let hardened = generic::harden(string, escape.as_bytes());
                assert!(generic::same_uri(string, &hardened), "{hardened}");
                hardened
            }
        };
        assert_eq!(answer, expected, "{row} {asked} {}", text.escape_ascii());
    };
    for [row, asked, text, expected] in rows(GENERIC).chain(rows(REQUIREMENTS)) {
        check(row, asked, &octets(text), expected);
    }
    assert!(!generic::same_uri("http://h/a%3Fb", "http://h/a?b"));
    assert!(!generic::same_uri("http://h/%", "http://h/%"));
}

#[test]
fn partial_forms_give_the_uri_of_the_table() {
    let check = |row: &str, profile: ResolveMode, base: &str, reference: &str, expected: &str| {
        let refused = |place: &str, error: ResolveError| {
            let refusal = error.refusal();
            format!("Err {place}{}@{}", refusal.kind().name(), refusal.offset())
        };
        let found = match resolve(base, reference, profile) {
            Ok(uri) => uri,
            Err(error @ ResolveError::Base(_)) => refused("base ", error),
            Err(error) => refused("", error),
        };
        assert_eq!(found, expected, "{row} {profile:?} {base} {reference}");
    };
    for [row, profile, base, reference, expected] in rows(RESOLVE) {
        let profiles = match profile {
            "examples" => &[ResolveMode::Rfc1630Examples][..],
            "prose" => &[ResolveMode::Rfc1630Prose],
            _ => &[ResolveMode::Rfc1630Examples, ResolveMode::Rfc1630Prose],
        };
        for &profile in profiles {
            check(row, profile, base, reference, expected);
        }
    }
}
