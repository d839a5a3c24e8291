//! Tests of gopher URLs, first with the tables `gopher*.tsv`, and then with properties and 50,000 mutations. `Z3950_MUTATIONS=N`
//! multiplies the number of mutations.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use z3950::gopher::{GopherOptions, plan};
use z3950::url::{
    GopherPlus, GopherType, GopherUrl, GopherUrlBuilder, Host, Locator, Mode, Octets, PlusWire,
    ResolveMode, Url, resolve,
};
use z3950_tests::random::{Random, mutations};

use crate::url::properties::{holds, host};
use crate::url::table::{mode_named, octets, quoted, rows};

pub(crate) const PARSE: &str = include_str!("../../fixtures/urls/gopher.tsv");
const CANON: &str = include_str!("../../fixtures/urls/gopher_canon.tsv");
const PLAN: &str = include_str!("../../fixtures/urls/gopher_plan.tsv");
const RESOLVE: &str = include_str!("../../fixtures/urls/gopher_resolve.tsv");
const BUILD: &str = include_str!("../../fixtures/urls/gopher_build.tsv");

#[test]
fn texts_give_the_result_of_the_table() {
    let check = |row: &str, mode: Mode, text: &[u8], expected: &str| {
        let found = match GopherUrl::parse(text, mode) {
            Ok(url) => accepted(&url),
            Err(refusal) => format!("Err {}@{}", refusal.kind().name(), refusal.offset()),
        };
        assert_eq!(found, expected, "{row} {mode:?} {}", text.escape_ascii());
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

fn accepted(url: &GopherUrl) -> String {
    let mut line = format!(
        "Ok host={} port={} type={} selector={}",
        url.host(),
        url.port(),
        url.item_type(),
        quoted(url.selector())
    );
    if let Some(search) = url.search() {
        line += &format!(" search={}", quoted(search));
    }
    if let Some(plus) = url.plus() {
        line += &format!(" gplus={}", quoted(plus.octets()));
    }
    line + &format!(" wire={}", quoted(&url.request(PlusWire::Draft).into()))
}

/// G-2.2, A-28: as the type of an item, strict mode accepts the types of the draft, and lenient mode accepts every character that
/// a URL may contain. The type may be escaped or not.
#[test]
fn g_2_2_every_character_is_a_type_or_refused() {
    const LISTED: &[u8] = b"0123456789+IgT";
    for octet in 0..=u8::MAX {
        let is_of_url = octet.is_ascii_alphanumeric() || b"$-_.+!*'(),;/?:@&=".contains(&octet);
        let literal = [&b"gopher://gopher.example/"[..], &[octet], b"s%09q"].concat();
        let [upper, lower] = [format!("{octet:02X}"), format!("{octet:02x}")]
            .map(|digits| format!("gopher://gopher.example/%{digits}s%09q").into_bytes());
        for text in [literal, upper, lower] {
            for (mode, is_type) in [
                (Mode::Strict, LISTED.contains(&octet)),
                (Mode::Lenient, is_of_url),
            ] {
                let case = format!("{mode:?} {}", text.escape_ascii());
                match GopherUrl::parse(&text, mode) {
                    Ok(url) => {
                        assert!(is_type, "{case}");
                        assert_eq!(url.item_type().as_char(), char::from(octet), "{case}");
                        assert_eq!(url.selector().as_bytes(), b"s", "{case}");
                    }
                    Err(refusal) => {
                        assert!(!is_type, "{case}");
                        assert_eq!(refusal.offset(), 24, "{case}");
                    }
                }
            }
        }
    }
}

#[test]
fn canonical_forms() {
    for [row, mode, text, expected] in rows(CANON) {
        let url = GopherUrl::parse(octets(text), mode_named(mode)).unwrap();
        assert_eq!(url.canonical(), expected, "{row} {text}");
        assert_canonical(&url).unwrap();
    }
}

#[test]
fn plans() {
    for [row, wire, text, expected] in rows(PLAN) {
        let mut options = GopherOptions::default();
        options.wire = match wire {
            "draft" => PlusWire::Draft,
            _ => PlusWire::Protocol,
        };
        let url = GopherUrl::parse(text, Mode::Lenient).unwrap();
        let found = match plan(&url, &options) {
            Ok(plan) => format!("{} {:?}", quoted(&plan.request.into()), plan.reading),
            Err(refusal) => format!("{refusal:?}"),
        };
        assert_eq!(found, expected, "{row} {text}");
    }
    let url = GopherUrl::parse("gopher://gopher.example/7/find", Mode::Strict).unwrap();
    let url = url.to_builder().search("x").build().unwrap();
    assert_eq!(url.request(PlusWire::Draft), b"/find\tx\r\n", "G-3.4");
}

#[test]
fn references() {
    for [row, base, reference, meaning, expected] in rows(RESOLVE) {
        let resolved = resolve(base, reference, ResolveMode::default()).unwrap();
        assert_eq!(resolved, meaning, "{row} {base} {reference}");
        let found = match GopherUrl::parse(&resolved, Mode::Strict) {
            Ok(url) => url.item_type().to_string(),
            Err(refusal) => format!("{}@{}", refusal.kind().name(), refusal.offset()),
        };
        assert_eq!(found, expected, "{row} {resolved}");
    }
}

#[test]
fn parts_give_a_url_or_a_refusal() {
    for [row, item_type, selector, search, answers, allowed, expected] in rows(BUILD) {
        let item_type = GopherType::new(item_type.as_bytes()[0]).unwrap();
        let mut builder = start(Host::parse("gopher.example", Mode::Strict).unwrap())
            .item_type(item_type)
            .selector(octets(selector))
            .ask_forms(allowed == "yes");
        if search != "-" {
            builder = builder.search(octets(search));
        }
        let built = match answers {
            "-" => builder.build(),
            answers => {
                let answers: Vec<Vec<u8>> = answers.split('|').map(octets).collect();
                builder.answers(&answers).and_then(GopherUrlBuilder::build)
            }
        };
        let found = match built {
            Ok(url) => {
                assert_canonical(&url).unwrap();
                url.canonical()
            }
            Err(refusal) => refusal.name().to_owned(),
        };
        assert_eq!(found, expected, "{row} {selector:?}");
    }
}

fn start(host: Host) -> GopherUrlBuilder {
    GopherUrl::builder(host)
}

/// G-9.3: a selector may contain any octets except tab, CR and LF.
#[test]
fn built_urls_are_read_back() {
    let octet = || any::<u8>().prop_filter("ends a field", |octet| !b"\t\r\n".contains(octet));
    let field = move || vec(octet(), 0..16);
    let plus = prop_oneof![
        field().prop_map(|text| GopherPlus::new(text).expect("a line")),
        vec(field(), 0..4).prop_filter_map("a lone dot", |answers| GopherPlus::answers(&answers)),
    ];
    let item_type = any::<u8>().prop_filter_map("no type", GopherType::new);
    let port = any::<std::num::NonZeroU16>();
    let parts = (
        host(),
        port,
        item_type,
        field(),
        option::of(field()),
        option::of(plus),
    );
    holds(
        10_000,
        parts,
        |(host, port, item_type, selector, search, plus)| {
            let mut builder = start(host)
                .port(port)
                .item_type(item_type)
                .selector(selector.clone());
            if let Some(search) = search {
                builder = builder.search(search);
            }
            if let Some(plus) = plus {
                builder = builder.plus(plus);
            }
            let url = builder
                .ask_forms(true)
                .build()
                .expect("generated parts are fine");
            prop_assert_eq!(url.selector(), &Octets::from(selector));
            assert_canonical(&url)
        },
    );
}

#[test]
fn mutated_urls_are_read_or_refused_within_the_text() {
    const SPECIAL: &[u8] = b"/?;:@&=+#%%%%09dDaA<>\"~\t\r\n .!$\0\x7F\x80\xFF1";
    let samples: Vec<Vec<u8>> = rows(PARSE).map(|[_, _, text, _]| octets(text)).collect();
    let mut random = Random::new("gopher");
    for _ in 0..mutations(50_000) {
        let mut text = random.pick(&samples).clone();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len() + 1);
            let octet = *random.pick(SPECIAL);
            match random.below(4) {
                0 => text.insert(at, octet),
                1 if at < text.len() => drop(text.remove(at)),
                2 => {
                    let other = random.pick(&samples).clone();
                    let from = random.below(other.len() + 1);
                    text.truncate(at);
                    text.extend_from_slice(&other[from..]);
                }
                _ if at < text.len() => text[at] = octet,
                _ => {}
            }
        }
        if let Err(fault) = assert_sound(&text) {
            panic!("{}: {fault}", text.escape_ascii());
        }
    }
}

/// Checks that errors are positioned within the text, that both modes give the same result for text that strict mode accepts,
/// that a request is one line, and that [`Locator`] gives the same result.
fn assert_sound(text: &[u8]) -> Result<(), TestCaseError> {
    let [strict, lenient] = [Mode::Strict, Mode::Lenient].map(|mode| GopherUrl::parse(text, mode));
    for refusal in [&strict, &lenient]
        .into_iter()
        .filter_map(|read| read.as_ref().err())
    {
        prop_assert!(refusal.offset() <= text.len(), "{}", refusal);
    }
    if let Ok(url) = &strict {
        prop_assert_eq!(Ok(url), lenient.as_ref());
    }
    let Ok(url) = lenient else {
        return Ok(());
    };
    let request = url.request(PlusWire::Draft);
    if !url.plus().is_some_and(GopherPlus::is_filled_form) {
        let line = request.strip_suffix(b"\r\n").expect("a line end");
        prop_assert!(!line.iter().any(|octet| b"\r\n".contains(octet)));
    }
    let locator = Locator::parse(text, Mode::Lenient).map(Locator::into_url);
    prop_assert_eq!(locator, Ok(Url::Gopher(url.clone())));
    assert_canonical(&url)
}

/// Checks that the canonical form is parsed as an equal URL with the same canonical form.
fn assert_canonical(url: &GopherUrl) -> Result<(), TestCaseError> {
    let canonical = url.canonical();
    let lenient = GopherUrl::parse(&canonical, Mode::Lenient);
    prop_assert_eq!(lenient.as_ref(), Ok(url), "{}", canonical);
    prop_assert_eq!(lenient.map(|url| url.canonical()), Ok(canonical.clone()));
    let strict = GopherUrl::parse(&canonical, Mode::Strict);
    let is_strict = url.host().is_strict() && url.item_type().is_listed();
    prop_assert_eq!(strict.is_ok(), is_strict, "{}", canonical);
    Ok(())
}
