//! Tests of URLs, from text to value and back, first with the tables in `fixtures/urls`, and then with properties and mutations.
//! This file tests RFC 2056; the submodules test every scheme. The IDs of rows are those of `tests/CONFORMANCE.md`. Offsets count
//! octets from 0.

mod audit;
mod described;
mod extract;
mod gopher;
mod locator_properties;
mod locators;
mod properties;
mod references;
mod requirements;
mod table;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;

use z3950::url::{
    Host, Kind, MAX_URL_LENGTH, Mode, Octets, UrlErrorKind, Z3950Url, Z3950UrlBuilder, classify,
};

use properties::assert_canonical;
use table::{accepted, mode_named, octets, rows};

const PARSE: &str = include_str!("../fixtures/urls/z3950.tsv");
const CANON: &str = include_str!("../fixtures/urls/z3950_canon.tsv");
const EQUAL: &str = include_str!("../fixtures/urls/z3950_equal.tsv");
const CLASSIFY: &str = include_str!("../fixtures/urls/z3950_classify.tsv");

#[test]
fn texts_give_the_result_of_the_table() {
    let check = |row: &str, mode: Mode, text: &[u8], expected: &str| {
        let parsed = Z3950Url::parse(text, mode);
        let mut line = match &parsed {
            Ok(url) => accepted(url),
            Err(refusal) => {
                assert_eq!(refusal.kind().name(), format!("{:?}", refusal.kind()));
                format!("Err {}@{}", refusal.kind().name(), refusal.offset())
            }
        };
        if let Ok(url) = &parsed
            && expected.contains(" canon=")
        {
            write!(line, " canon={}", url.canonical()).unwrap();
        }
        assert_eq!(line, expected, "{row} {mode:?} {}", text.escape_ascii());
    };
    for [row, mode, text, expected] in rows(PARSE) {
        let text = octets(text);
        let modes = match mode {
            "both" => &[Mode::Strict, Mode::Lenient][..],
            "strict" if expected.starts_with("Ok") => &[Mode::Strict, Mode::Lenient],
            _ => &[mode_named(mode)],
        };
        for &mode in modes {
            check(row, mode, &text, expected);
        }
    }
}

#[test]
fn the_table_has_every_kind_of_refusal() {
    let seen: BTreeSet<&str> = rows(PARSE)
        .filter_map(|[_, _, _, expected]| expected.strip_prefix("Err ")?.split('@').next())
        .collect();
    let all = "EmptyInput MissingScheme InvalidScheme UnsupportedScheme MissingDoubleSlash MissingHost \
               InvalidHost UserinfoNotAllowed EmptyPort InvalidPort PortOutOfRange UnexpectedCharacter \
               InvalidCharacter ReservedCharacter BadPercentEscape ForbiddenControl EmptyDatabase \
               DocidWithoutDatabase EmptyDocid MalformedParameter DuplicateParameter ParameterOrder \
               EmptyElementSet EmptyRecordSyntax FragmentNotAllowed MissingDatabase";
    assert_eq!(seen, all.split(' ').collect());
}

#[test]
fn canonical_forms() {
    for [row, mode, text, expected] in rows(CANON) {
        let url = Z3950Url::parse(octets(text), mode_named(mode)).unwrap();
        assert_eq!(url.canonical(), expected, "{row} {text}");
        assert_canonical(&url).unwrap();
    }
}

#[test]
fn equal_and_different_urls() {
    for [row, left, relation, right] in rows(EQUAL) {
        let [a, b] =
            [left, right].map(|text| Z3950Url::parse(octets(text), Mode::Lenient).unwrap());
        let equal = relation == "=";
        assert_eq!(a == b, equal, "{row} {left} {relation} {right}");
        assert_eq!(
            a.canonical() == b.canonical(),
            equal,
            "{row} {left} {relation} {right}"
        );
        let state = RandomState::new();
        assert_eq!(
            state.hash_one(&a) == state.hash_one(&b),
            equal,
            "{row} {left} {relation} {right}"
        );
    }
}

#[test]
fn the_scheme_alone_determines_the_kind() {
    for [row, text, expected] in rows(CLASSIFY) {
        let kind = classify(octets(text)).map_or("unknown".to_owned(), |kind| kind.to_string());
        assert_eq!(kind, expected, "{row} {text}");
    }
}

/// Row Z-5.26: the URL that the builder creates from parts, or the name of its error.
#[test]
fn parts_give_a_url_or_a_refusal() {
    let start = |kind| Z3950Url::builder(kind, Host::parse("lib.example", Mode::Strict).unwrap());
    let session = || start(Kind::Session);
    let retrieval = || start(Kind::Retrieval);
    let check = |builder: Z3950UrlBuilder, expected: &str| {
        let result = match builder.clone().build() {
            Ok(url) => {
                assert_eq!(url.to_builder().build().as_ref(), Ok(&url));
                assert_canonical(&url).unwrap();
                url.canonical()
            }
            Err(refusal) => refusal.name().to_owned(),
        };
        assert_eq!(result, expected, "{builder:?}");
    };
    let full = || {
        retrieval()
            .port(210)
            .databases(["a+b", "c/d"])
            .docid(b";?#% \xE9")
            .element_set("f")
            .record_syntax("grs-1")
    };
    check(
        full(),
        "z39.50r://lib.example/a%2Bb+c%2Fd?%3B%3F%23%25%20%E9;esn=f;rs=grs-1",
    );
    check(
        full()
            .kind(Kind::Session)
            .port(7090)
            .without_docid()
            .without_element_set(),
        "z39.50s://lib.example:7090/a%2Bb+c%2Fd;rs=grs-1",
    );
    check(
        full()
            .record_syntaxes(["marc", "sutrs"])
            .host(Host::Ipv4(Ipv4Addr::LOCALHOST)),
        "z39.50r://127.0.0.1/a%2Bb+c%2Fd?%3B%3F%23%25%20%E9;esn=f;rs=marc+sutrs",
    );
    check(session(), "z39.50s://lib.example/");
    check(
        session()
            .element_set("a+b")
            .extension("Lang", "")
            .extension("x", "\u{e9}"),
        "z39.50s://lib.example/;esn=a%2Bb;lang=;x=%C3%A9",
    );
    check(
        session().extension("x", "1").without_extensions(),
        "z39.50s://lib.example/",
    );
    check(
        retrieval().database("cat").docid(b"\0\x7F"),
        "z39.50r://lib.example/cat?%00%7F",
    );
    check(retrieval().database("cat"), "z39.50r://lib.example/cat");
    check(retrieval(), "MissingDatabase");
    check(retrieval().docid("x"), "DocidWithoutDatabase");
    check(session().docid("x"), "DocidWithoutDatabase");
    check(session().database(""), "EmptyDatabase");
    check(session().database("a").database(""), "EmptyDatabase");
    check(session().database("a").docid(""), "EmptyDocid");
    check(session().element_set(""), "EmptyElementSet");
    check(session().record_syntaxes(["a", ""]), "EmptyRecordSyntax");
    check(session().database("a\0"), "ForbiddenControl");
    check(session().element_set("a\x1F"), "ForbiddenControl");
    check(session().record_syntax("a\x7F"), "ForbiddenControl");
    check(session().extension("x", "\n"), "ForbiddenControl");
    check(session().extension("", "v"), "InvalidKeyword");
    check(session().extension("9a", "v"), "InvalidKeyword");
    check(session().extension("a b", "v"), "InvalidKeyword");
    check(session().extension("ESN", "v"), "ReservedKeyword");
    check(session().extension("rs", "v"), "ReservedKeyword");
    check(session().port(0), "PortOutOfRange");
}

/// Tests the limit [`MAX_URL_LENGTH`] and one octet more, for texts, canonical forms and built URLs.
#[test]
fn length_is_bounded() {
    let head = "z39.50r://lib.example/cat?";
    let room = MAX_URL_LENGTH - head.len();
    let check = |docid: &str, expected: Result<usize, usize>| {
        let parsed = Z3950Url::parse(format!("{head}{docid}"), Mode::Lenient);
        let length = parsed.map(|url| url.canonical().len());
        match (length, expected) {
            (Ok(length), Ok(expected)) => assert_eq!(length, expected),
            (Err(refusal), Err(offset)) => {
                assert_eq!(
                    (refusal.kind(), refusal.offset()),
                    (UrlErrorKind::TooLong, offset)
                );
            }
            (length, expected) => panic!("{length:?}, not {expected:?}"),
        }
    };
    check(&"x".repeat(room), Ok(MAX_URL_LENGTH));
    check(&"x".repeat(room + 1), Err(MAX_URL_LENGTH));
    check(&"\0".repeat(room + 1), Err(MAX_URL_LENGTH));
    let tildes = room / 3;
    check(&"~".repeat(tildes), Ok(head.len() + 3 * tildes));
    check(&"~".repeat(tildes + 1), Err(head.len() + tildes + 1));

    let start = || {
        Z3950Url::parse(format!("{head}x"), Mode::Strict)
            .unwrap()
            .to_builder()
    };
    assert!(start().docid(vec![b'x'; room]).build().is_ok());
    assert_eq!(
        start()
            .docid(vec![b'x'; room + 1])
            .build()
            .unwrap_err()
            .name(),
        "TooLong"
    );
}

/// the printed forms of a URL, its parts and its errors must not contain a password.
#[test]
fn passwords_never_show() {
    let check = |text: &str| {
        let shown = match Z3950Url::parse(text, Mode::Lenient) {
            Ok(url) => {
                let userinfo = url.userinfo().expect("a userinfo");
                assert_eq!(userinfo.user().as_bytes(), b"sesame");
                assert_eq!(
                    userinfo.password().map(Octets::as_bytes),
                    Some(&b"sesame"[..])
                );
                assert_eq!(
                    url.to_builder().build().as_ref().map(Z3950Url::userinfo),
                    Ok(None)
                );
                format!(
                    "{url} {url:?} {} {userinfo} {:?}",
                    url.canonical(),
                    url.to_builder()
                )
            }
            Err(refusal) => format!("{refusal} {refusal:?}"),
        };
        assert!(!shown.contains("sesame"), "{shown}");
        let strict = Z3950Url::parse(text, Mode::Strict).unwrap_err();
        assert!(
            !format!("{strict} {strict:?}").contains("sesame"),
            "{strict}"
        );
    };
    check("z39.50s://sesame:sesame@lib.example/cat");
    check("z39.50s://%73esame:sesam%65@lib.example/cat?id7");
    check("z39.50s://sesame:ses%ame@lib.example/cat");
    check("z39.50s://sesame:sesame@@lib.example/cat");
    check("z39.50s://sesame:sesame?@lib.example/cat");
    check("z39.50s://sesame:sesame#@lib.example/cat");
    check("z39.50s://sesame:sesame@lib_-.example/cat");
}
