//! Tests properties of all URLs and all texts with generated parts, spellings, octets and mutations. The seeds are fixed.
//! `Z3950_MUTATIONS=N` multiplies the number of mutations.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use z3950::url::{Host, Kind, Mode, Z3950Url, Z3950UrlBuilder, classify};

use crate::url::PARSE;
use crate::url::table::{octets, rows};

#[test]
fn built_urls_are_read_back() {
    holds(10_000, parts(), |builder| {
        let built = builder.build().expect("generated parts are fine");
        assert_canonical(&built)
    });
}

#[test]
fn every_spelling_has_the_same_canonical_form() {
    holds(10_000, (parts(), any::<u64>()), |(builder, seed)| {
        let url = builder.build().expect("generated parts are fine");
        let spelling = respelled(&url.canonical(), &mut Random(seed));
        let read = Z3950Url::parse(&spelling, Mode::Lenient);
        prop_assert_eq!(
            read.as_ref().map(Z3950Url::canonical),
            Ok(url.canonical()),
            "{}",
            spelling
        );
        assert_canonical(&read.expect("just compared"))
    });
}

#[test]
fn any_octets_are_read_or_refused_within_the_text() {
    holds(20_000, vec(any::<u8>(), 0..60), |text| assert_sound(&text));
}

/// Tests 50,000 mutations of the URLs in the table; `Z3950_MUTATIONS=N` multiplies this number.
#[test]
fn mutated_urls_are_read_or_refused_within_the_text() {
    let factor = std::env::var("Z3950_MUTATIONS")
        .ok()
        .and_then(|text| text.parse().ok());
    let seeds: Vec<Vec<u8>> = rows(PARSE).map(|[_, _, text, _]| octets(text)).collect();
    let mut random = Random(0x7A33_3935_3075_726C);
    for _ in 0..50_000 * factor.unwrap_or(1_u64) {
        let mut text = random.of(&seeds).clone();
        for _ in 0..=random.below(3) {
            mutate(&mut text, &seeds, &mut random);
        }
        if let Err(fault) = assert_sound(&text) {
            panic!("{}: {fault}", text.escape_ascii());
        }
    }
}

/// Checks properties of every text. Errors are positioned within the text, both modes give the same result for text that strict
/// mode accepts, and values survive a round trip.
fn assert_sound(text: &[u8]) -> Result<(), TestCaseError> {
    let [strict, lenient] = [Mode::Strict, Mode::Lenient].map(|mode| Z3950Url::parse(text, mode));
    for refusal in [&strict, &lenient]
        .into_iter()
        .filter_map(|parsed| parsed.as_ref().err())
    {
        prop_assert!(refusal.offset() <= text.len(), "{}", refusal);
    }
    if let Ok(url) = &strict {
        prop_assert_eq!(Ok(url), lenient.as_ref());
        prop_assert_eq!(Some(url.kind()), classify(text));
    }
    lenient.map_or(Ok(()), |url| assert_canonical(&url))
}

/// Z-CANON.2: checks that the canonical form is parsed as an equal URL with the same canonical form.
pub(crate) fn assert_canonical(url: &Z3950Url) -> Result<(), TestCaseError> {
    let canonical = url.canonical();
    let lenient = Z3950Url::parse(&canonical, Mode::Lenient);
    prop_assert_eq!(lenient.as_ref(), Ok(url), "{}", canonical);
    prop_assert_eq!(lenient.map(|url| url.canonical()), Ok(canonical.clone()));
    let strict = Z3950Url::parse(&canonical, Mode::Strict);
    prop_assert_eq!(strict.is_ok(), url.host().is_strict(), "{}", canonical);
    prop_assert!(
        strict.is_err() || strict.as_ref() == Ok(url),
        "{}",
        canonical
    );
    Ok(())
}

/// Checks a property with generated values, which are the same in each run.
pub(crate) fn holds<S: Strategy>(
    cases: u32,
    values: S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[0x56; 32]);
    if let Err(fault) = TestRunner::new_with_rng(config, random).run(&values, property) {
        panic!("{fault}");
    }
}

/// Generates random parts of a URL.
fn parts() -> impl Strategy<Value = Z3950UrlBuilder> {
    let octet = || prop_oneof![Just(b'+'), Just(b'%'), 0x20..=0x7E_u8, 0x80..=0xFF_u8];
    let string = move || vec(octet(), 1..12);
    let extension = ("[A-Za-z][A-Za-z0-9._-]{3,6}", vec(octet(), 0..8));
    let kind = prop_oneof![Just(Kind::Session), Just(Kind::Retrieval)];
    let target = (kind, host(), prop_oneof![Just(210), 1..=u16::MAX]);
    let docid = option::of(vec(any::<u8>(), 1..24));
    let data = (vec(string(), 0..4), docid, option::of(string()));
    let lists = (vec(string(), 0..3), vec(extension, 0..3));
    (target, data, lists).prop_map(|((kind, host, port), data, (syntaxes, extensions))| {
        let (databases, docid, element_set) = data;
        let needs_database = kind == Kind::Retrieval || docid.is_some();
        let mut builder = Z3950Url::builder(kind, host)
            .port(port)
            .record_syntaxes(syntaxes);
        builder = if databases.is_empty() && needs_database {
            builder.database("cat")
        } else {
            builder.databases(databases)
        };
        if let Some(docid) = docid {
            builder = builder.docid(docid);
        }
        if let Some(element_set) = element_set {
            builder = builder.element_set(element_set);
        }
        extensions
            .into_iter()
            .fold(builder, |builder, (keyword, value)| {
                builder.extension(keyword, value)
            })
    })
}

pub(crate) fn host() -> impl Strategy<Value = Host> {
    let named = |name: String| Host::parse(name, Mode::Lenient).expect("a generated name");
    prop_oneof![
        4 => "([a-z0-9]{1,5}(-[a-z0-9]{1,3})?\\.){0,2}[a-z][a-z0-9]{0,6}".prop_map(named),
        1 => "[a-z_]{1,8}\\.[a-z]{2,6}".prop_map(named),
        1 => any::<u32>().prop_map(|bits| Host::Ipv4(Ipv4Addr::from_bits(bits))),
        1 => any::<[u16; 8]>().prop_map(|groups| Host::Ipv6(Ipv6Addr::from(groups))),
        1 => any::<u16>().prop_map(|group| Host::Ipv6(Ipv6Addr::from(u128::from(group)))),
    ]
}

/// Returns a different spelling of a canonical URL, with a prefix, different case, an explicit port, or more escapes in the
/// docid.
fn respelled(canonical: &str, random: &mut Random) -> String {
    let slash = canonical
        .match_indices('/')
        .nth(2)
        .map_or(canonical.len(), |(index, _)| index);
    let (authority, path) = canonical.split_at(slash);
    let (names, tail) = path.split_at(path.find('?').unwrap_or(path.len()));
    let (docid, parameters) = tail.split_at(tail.find(';').unwrap_or(tail.len()));
    let mut spelling = String::from(random.word(&["", "URL:", "\n url:"]));
    for letter in authority.chars() {
        spelling.push(if random.below(2) == 0 {
            letter.to_ascii_uppercase()
        } else {
            letter
        });
    }
    let url = Z3950Url::parse(canonical, Mode::Lenient).expect("a canonical URL");
    if url.port() == 210 {
        spelling.push_str(random.word(&["", ":", ":210", ":00210"]));
    }
    spelling.push_str(names);
    for (index, octet) in url
        .docid()
        .iter()
        .flat_map(|docid| docid.as_bytes())
        .enumerate()
    {
        spelling.push_str(if index == 0 { "?" } else { "" });
        match octet {
            b'!'..=b'~' if !b"%;\"<>#".contains(octet) && random.below(2) == 0 => {
                spelling.push(char::from(*octet));
            }
            _ if random.below(2) == 0 => write!(spelling, "%{octet:02x}").unwrap(),
            _ => write!(spelling, "%{octet:02X}").unwrap(),
        }
    }
    assert_eq!(docid.is_empty(), url.docid().is_none());
    spelling + parameters + random.word(&["", "#", "#fragment", "\r\n"])
}

fn mutate(text: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    const SPECIAL: &[u8] = b"/?;:@&=+#%[]<>\"~_-.0aA \t\n\0\x7F\x80\xFF";
    let at = random.below(text.len() + 1);
    let octet = if random.below(4) == 0 {
        random.below(256) as u8
    } else {
        *random.of(SPECIAL)
    };
    match random.below(5) {
        0 => text.insert(at, octet),
        1 => text.truncate(at),
        2 if at < text.len() => drop(text.remove(at)),
        3 => {
            let other = random.of(others);
            let from = random.below(other.len() + 1);
            text.truncate(at);
            text.extend_from_slice(&other[from..]);
        }
        _ => {
            if let Some(place) = text.get_mut(at) {
                *place = octet;
            }
        }
    }
}

/// A SplitMix64 random number generator, which gives the same numbers for a seed on all machines.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which must not be 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn word<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}
