//! Tests properties of URLs of all schemes. Built URLs are parsed again, canonical forms are stable, and 200,000 mutated URLs are
//! accepted, or refused with an offset in the text. `properties.rs` and `gopher.rs` test 50,000 further mutations each.
//! `Z3950_MUTATIONS=N` multiplies these numbers.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use z3950::url::{
    Encoded, FtpPath, FtpUrl, Host, HostPort, HttpUrl, Locator, Login, MailtoUrl, MessageId, Mode,
    NewsUrl, Newsgroup, OpaqueUri, ProsperoField, ProsperoUrl, ResolveMode, TypeCode, Url,
    UrlErrorKind, Userinfo, WaisTarget, WaisUrl, generic, resolve, uri_kind,
};
use z3950_tests::random::{Random, mutations};

use crate::url::locators::{RFC_1630, RFC_1738};
use crate::url::properties::{holds, host};
use crate::url::table::{octets, rows};
use crate::url::{PARSE, gopher};

#[test]
fn built_urls_are_read_back() {
    holds(10_000, url(), |url| assert_canonical(&url.into()));
}

/// A parser must neither panic nor report an offset outside the text. The same number of mutations is tested for each scheme.
#[test]
fn mutated_urls_are_read_or_refused_within_the_text() {
    let mut schemes: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    for [_, _, text, _] in [RFC_1738, RFC_1630, gopher::PARSE, PARSE]
        .into_iter()
        .flat_map(rows)
    {
        let text = octets(text);
        let scheme = text.split(|&octet| octet == b':').next();
        let scheme = scheme.unwrap_or_default().to_ascii_lowercase();
        schemes.entry(scheme).or_default().push(text);
    }
    // A prefix that occurs in only one or two rows is a faulty scheme, and is left out.
    let samples: Vec<Vec<Vec<u8>>> = schemes
        .into_values()
        .filter(|rows| rows.len() > 2)
        .collect();
    assert!(samples.len() > 13, "every scheme is there");
    let all = samples.concat();
    let mut random = Random::new("locators");
    for _ in 0..mutations(200_000) {
        let of_scheme = random.pick(&samples).clone();
        let mut text = random.pick(&of_scheme).clone();
        for _ in 0..=random.below(3) {
            mutate(&mut text, &all, &mut random);
        }
        if let Err(fault) = assert_sound(&text) {
            panic!("{}: {fault}", text.escape_ascii());
        }
    }
}

/// Dots and slashes in a partial form must not lead to a different host.
#[test]
fn partial_forms_stay_with_their_host() {
    let piece = prop_oneof![
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just(String::new()),
        "[a-z%?]{1,3}"
    ];
    let path = || vec(piece.clone(), 0..6).prop_map(|pieces| pieces.join("/"));
    holds(20_000, (path(), path()), |(base, reference)| {
        let base = format!("magic://a/{base}");
        for profile in [ResolveMode::Rfc1630Examples, ResolveMode::Rfc1630Prose] {
            match resolve(&base, &reference, profile) {
                Ok(uri) if reference.starts_with("//") => {
                    prop_assert!(uri.starts_with("magic:/"), "{}", uri);
                }
                Ok(uri) => {
                    let inside = uri == "magic://a" || uri.starts_with("magic://a/");
                    prop_assert!(inside, "{} {} {}", base, reference, uri);
                }
                Err(error) => {
                    let kind = error.refusal().kind();
                    prop_assert_eq!(kind, UrlErrorKind::NoMatchingSlashRun);
                }
            }
        }
        Ok(())
    });
}

/// Checks properties of every text. Errors are positioned within the text, both modes give the same result for text that strict
/// mode accepts, and values survive a round trip.
fn assert_sound(text: &[u8]) -> Result<(), TestCaseError> {
    let [strict, lenient] = [Mode::Strict, Mode::Lenient].map(|mode| Locator::parse(text, mode));
    for refusal in [&strict, &lenient]
        .into_iter()
        .filter_map(|parsed| parsed.as_ref().err())
    {
        prop_assert!(refusal.offset() <= text.len(), "{}", refusal);
        prop_assert!(refusal.to_string().is_ascii());
    }
    if let Ok(locator) = &strict {
        prop_assert_eq!(Ok(locator), lenient.as_ref());
        prop_assert_eq!(locator.cautions(), lenient.as_ref().unwrap().cautions());
    }
    if let Ok(locator) = &lenient {
        assert_canonical(locator)?;
        if let Url::Ftp(url) = locator.url() {
            for line in url
                .plan(None)
                .into_iter()
                .flatten()
                .filter_map(|step| step.line())
            {
                let argument = line.strip_suffix(b"\r\n").expect("a complete line");
                prop_assert!(!argument.iter().any(|octet| b"\r\n\0".contains(octet)));
            }
        }
        if let Url::File(url) = locator.url() {
            let _ = url.to_local_path();
        }
    }
    if let Ok(canonical) = generic::canonical(text) {
        let again = generic::canonical(&canonical);
        prop_assert_eq!(again.as_ref(), Ok(&canonical));
        let softened = generic::soften(&canonical);
        prop_assert!(generic::same_uri(&canonical, &softened), "{}", softened);
        let hardened = generic::harden(&canonical, b"aeiou!.,-");
        prop_assert!(generic::same_uri(&canonical, &hardened), "{}", hardened);
        let _ = resolve(&canonical, &softened, ResolveMode::Rfc1630Prose);
        let _ = resolve(
            "magic://a/b/c//d/e/f",
            &canonical,
            ResolveMode::Rfc1630Examples,
        );
    }
    let _ = uri_kind(text);
    Ok(())
}

/// Checks that the canonical form is parsed as the same locator with the same canonical form, and does not contain unsafe
/// characters (RFC 1736 §4.5). The same must be true of the form in which the password is hidden.
pub(crate) fn assert_canonical(locator: &Locator) -> Result<(), TestCaseError> {
    let text = locator.to_string_with_secrets();
    let back = Locator::parse(&text, Mode::Lenient);
    prop_assert_eq!(back.as_ref(), Ok(locator), "{}", text);
    prop_assert_eq!(
        back.map(|back| back.to_string_with_secrets()),
        Ok(text.clone())
    );
    let strict = Locator::parse(&text, Mode::Strict);
    prop_assert_eq!(strict.is_ok(), is_strict(locator), "{}", text);
    prop_assert!(
        strict.is_err() || strict.as_ref() == Ok(locator),
        "{}",
        text
    );
    let shown = locator.canonical();
    let back = Locator::parse(&shown, Mode::Lenient).map(|back| back.canonical());
    prop_assert_eq!(back, Ok(shown.clone()));
    // IPv6 addresses are the only part that cannot be written in the safe characters of RFC 1738.
    let address = locator.host().map(ToString::to_string).unwrap_or_default();
    let safe = |text: &str| {
        text.replacen(&address, "", 1)
            .bytes()
            .all(|octet| octet.is_ascii_graphic() && !b"<>\"#{}|\\^~[]`".contains(&octet))
    };
    prop_assert!(safe(&text) && safe(&shown), "{}", text);
    Ok(())
}

/// Returns whether the canonical form conforms to RFC 1738, which means that it contains nothing that only lenient mode allows
/// and that cannot be escaped.
fn is_strict(locator: &Locator) -> bool {
    let is_strict_domain = |id: &MessageId| Host::parse(id.domain(), Mode::Strict).is_ok();
    let is_strict_part = match locator.url() {
        Url::Gopher(url) => url.item_type().is_listed(),
        Url::Nntp(url) => url.hostport.is_some(),
        Url::Prospero(url) => url.version().is_none(),
        Url::News(NewsUrl::Article(id)) | Url::MessageId(id) | Url::ContentId(id) => {
            is_strict_domain(id)
        }
        Url::Z3950(url) => url.userinfo().is_none(),
        _ => true,
    };
    is_strict_part && locator.host().is_none_or(Host::is_strict)
}

/// Generates URLs from random parts, for the schemes that allow any octets.
pub(crate) fn url() -> impl Strategy<Value = Url> {
    let data = || vec(any::<u8>(), 0..12);
    let string = || {
        let octet = prop_oneof![0x20..=0x7E_u8, 0x80..=0xFF_u8];
        vec(octet, 1..12)
    };
    let code = prop_oneof![
        Just(TypeCode::Ascii),
        Just(TypeCode::Image),
        Just(TypeCode::Directory)
    ];
    let path = (vec(data(), 0..4), data(), option::of(code));
    let userinfo = option::of((string(), option::of(string())));
    let ftp = (host(), userinfo, option::of(path)).prop_map(|(host, userinfo, path)| {
        let userinfo = userinfo.map(|(user, password)| {
            Userinfo::new(user, password.map(Into::into)).expect("no controls")
        });
        let hostport = HostPort::new(host);
        let login = Login { userinfo, hostport };
        let path = path.map(|(directories, name, type_code)| FtpPath {
            directories: directories.into_iter().map(Into::into).collect(),
            name: name.into(),
            type_code,
        });
        Url::Ftp(FtpUrl { login, path })
    });
    let words = option::of(vec(data(), 0..4));
    let http = (host(), vec(data(), 0..4), words).prop_map(|(host, segments, words)| {
        let url = HttpUrl::new(HostPort::new(host), segments);
        Url::Http(match words {
            Some(words) => url.with_words(words),
            None => url,
        })
    });
    let mailto = string().prop_map(|address| Url::Mailto(MailtoUrl::new(address).expect("fine")));
    let target = prop_oneof![
        Just(WaisTarget::Database),
        vec(data(), 0..4).prop_map(|words| WaisTarget::Search(Encoded::of_words(words))),
        (string(), data()).prop_map(|(wtype, wpath)| WaisTarget::Document {
            wtype: wtype.into(),
            wpath: wpath.into(),
        }),
    ];
    let wais = (host(), string(), target).prop_map(|(host, database, target)| {
        Url::Wais(WaisUrl::new(HostPort::new(host), database, target).expect("no controls"))
    });
    let fields = vec((string(), string()), 0..3);
    let prospero = (host(), string(), fields).prop_map(|(host, hsoname, fields)| {
        let field = |(name, value)| ProsperoField::new(name, value).expect("no controls");
        let fields = fields.into_iter().map(field);
        Url::Prospero(ProsperoUrl::new(HostPort::new(host), hsoname, fields).expect("fine"))
    });
    let news = "[a-zA-Z][a-zA-Z0-9.+_-]{0,9}"
        .prop_map(|name| Url::News(NewsUrl::Group(Newsgroup::new(name).expect("a name"))));
    let opaque = ("x-[a-z0-9.+-]{0,5}", "[a-z0-9/?:@;&=+!]{1,12}")
        .prop_map(|(scheme, part)| Url::Other(OpaqueUri::new(scheme, part).expect("a URI")));
    prop_oneof![ftp, http, mailto, wais, prospero, news, opaque]
}

fn mutate(text: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    const SPECIAL: &[u8] = b"/?;:@&=+#%[]<>\"~_-.0aA \t\n\0\x7F\x80\xFF";
    let at = random.below(text.len() + 1);
    let octet = *random.pick(SPECIAL);
    match random.below(6) {
        0 => text.insert(at, octet),
        1 => text.truncate(at),
        2 if at < text.len() => drop(text.remove(at)),
        3 => {
            let other = random.pick(others);
            let from = random.below(other.len() + 1);
            text.truncate(at);
            text.extend_from_slice(&other[from..]);
        }
        4 => {
            text.splice(at..at, *b"%0D%0A");
        }
        _ => {
            if let Some(place) = text.get_mut(at) {
                *place = octet;
            }
        }
    }
}
