//! Tests of the findings of the RFC audit. Their names begin with the IDs of the findings. Further tests are the rows in
//! `fixtures/urls` with these IDs.

use z3950::url::{
    Caution, GopherUrl, Locator, Mode, OpaqueUri, PlusWire, ResolveMode, Url, Z3950Url, generic,
    resolve,
};

fn read(text: &str) -> Locator {
    Locator::parse(text, Mode::Lenient).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// RFC 1736 §4.5, RFC 1738 §3.1: a locator must still work when it is passed on, and its printed form must distinguish an empty
/// password from a missing one.
#[test]
fn audit_b4_locators_keep_their_passwords() {
    let check = |text: &str, canonical: &str, redacted: &str, has_password: bool| {
        let locator = read(text);
        assert_eq!(locator.canonical_with_secrets(), canonical);
        assert_eq!(locator.canonical(), redacted);
        assert_eq!(locator.has_password(), has_password, "{text}");
        assert!(
            !format!("{locator} {locator:?}").contains("sesame"),
            "{text}"
        );
        let back = read(canonical);
        assert_eq!(back.canonical_with_secrets(), canonical);
        assert_eq!(
            back.userinfo()
                .map(|userinfo| userinfo.password().is_some()),
            locator
                .userinfo()
                .map(|userinfo| userinfo.password().is_some())
        );
    };
    check(
        "FTP://u:sesame@h.example",
        "ftp://u:sesame@h.example",
        "ftp://u:***@h.example",
        true,
    );
    check(
        "ftp://foo:@host.com/",
        "ftp://foo:@host.com/",
        "ftp://foo:***@host.com/",
        true,
    );
    check(
        "ftp://foo@host.com/",
        "ftp://foo@host.com/",
        "ftp://foo@host.com/",
        false,
    );
    check(
        "ftp://@host.com/",
        "ftp://@host.com/",
        "ftp://@host.com/",
        false,
    );
    check(
        "telnet://u:sesame%2d@h.example",
        "telnet://u:sesame-@h.example/",
        "telnet://u:***@h.example/",
        true,
    );
    check(
        "x-foo://u:sesame@h.example/%2f",
        "x-foo://u:sesame@h.example/%2F",
        "x-foo://u:***@h.example/%2F",
        true,
    );
    check(
        "Z39.50R://me:sesame@Lib.example:210/cat?x",
        "z39.50r://me:sesame@lib.example/cat?x",
        "z39.50r://lib.example/cat?x",
        true,
    );
    check(
        "z39.50s://me:@lib.example/",
        "z39.50s://me:@lib.example/",
        "z39.50s://lib.example/",
        true,
    );
    check(
        "z39.50s://me@lib.example/",
        "z39.50s://me@lib.example/",
        "z39.50s://lib.example/",
        false,
    );
}

#[test]
fn audit_b4_texts_are_redacted_whatever_their_scheme() {
    let check = |text: &str, redacted: &str| assert_eq!(generic::redact(text), redacted);
    check("x-a://u:p@h/b:c@d", "x-a://u:***@h/b:c@d");
    check("ftp://u:p?q@h/", "ftp://u:***@h/");
    check("ftp://u:@h/", "ftp://u:***@h/");
    check("http://u:p@h", "http://u:***@h");
    check("//u:p@h/", "//u:***@h/");
    check("http://h:80?a@b", "http://h:80?a@b");
    check("ftp://u@h/", "ftp://u@h/");
    check("mailto:a:b@h", "mailto:a:b@h");
    check("a/b//u:p@h", "a/b//u:p@h");
}

/// RFC 1738 §6: an escaped line end could end a command when it is decoded, so every scheme that accepts it must return a
/// caution.
#[test]
fn audit_b6_escaped_controls_are_cautioned_against() {
    for text in [
        "ftp://h.example/a%0D%0ADELE%20x",
        "ftp://h.example/a%0ab/c",
        "http://h.example/a%0D%0AX",
        "https://h.example/?a%00",
        "wais://h.example/db/TEXT/a%0a",
        "x-foo://h.example/a%0D",
        "gopher://h.example/0a%00b",
        "gopher://h.example/7a%09b%1b",
    ] {
        assert!(
            read(text).cautions().contains(&Caution::EscapedControl),
            "{text}"
        );
    }
    for text in [
        "ftp://h.example/a%20%C2%80",
        "http://h.example/a%250D",
        "z39.50r://h.example/d?a%0D%0A",
        "prospero://h.example/a%003",
        "gopher://h.example/0form%09%09+%091%0D%0A+-1%0D%0Ax%0D%0A.%0D%0A",
    ] {
        assert!(
            !read(text).cautions().contains(&Caution::EscapedControl),
            "{text}"
        );
    }
}

/// RFC 1630: before URIs are compared, only escapes of unreserved characters are decoded. A URI is passed on unchanged.
#[test]
fn audit_b8_opaque_uris_are_compared_at_one_encoding_level() {
    let uri = |part: &str| OpaqueUri::new("x-foo", part).unwrap();
    for (one, other, same) in [
        ("%2f", "%2F", true),
        ("%2D", "-", true),
        ("%41", "A", true),
        ("%2F", "/", false),
        ("%2B", "+", false),
        ("%25", "%2525", false),
    ] {
        assert_eq!(uri(one) == uri(other), same, "{one} {other}");
        assert_eq!((uri(one).part(), uri(other).part()), (one, other));
    }
    let locator = read("X-Foo:%2f%2D");
    assert_eq!(locator.to_string_with_secrets(), "x-foo:%2f%2D");
    assert_eq!(locator.canonical(), "x-foo:%2F-");
}

/// RFC 1738 §4: the syntax of a reserved scheme is not defined yet, and an unknown scheme may be a typing error.
#[test]
fn audit_b13_reserved_and_misspelt_schemes_are_reported() {
    let check = |text: &str, code: &str, words: &str| {
        let cautions = read(text).cautions();
        let said = cautions
            .iter()
            .map(|caution| (caution.code(), caution.to_string()));
        let expected = (!code.is_empty()).then(|| (code.to_owned(), words.to_owned()));
        assert_eq!(said.collect::<Vec<_>>(), Vec::from_iter(expected), "{text}");
    };
    let z3950 = "the scheme z39.50 is reserved but not in use: z39.50s opens a session, z39.50r retrieves a record";
    check("z39.50://h.example/", "ReservedScheme:z39.50", z3950);
    check(
        "afs:x",
        "ReservedScheme:afs",
        "the scheme afs is reserved but has no syntax",
    );
    for (text, scheme) in [
        ("htp://h.example/", "http"),
        ("hhtps://h.example/", "https"),
        ("gopehr://h.example/", "gopher"),
        ("fpt://h.example/", "ftp"),
        ("z3950r://h.example/d?x", "z39.50r"),
        ("malito:a@h.example", "mailto"),
    ] {
        let words = format!("the scheme is not known; did you mean {scheme}?");
        check(text, &format!("SimilarScheme:{scheme}"), &words);
    }
    for text in [
        "sftp://h.example/",
        "did:x:y",
        "x-ftp:a",
        "ldap://h.example/",
        "http://h.example/",
    ] {
        check(text, "", "");
    }
}

/// RFC 1630: rlogin and tn3270 have the syntax of telnet, and the same caution about a password.
#[test]
fn audit_b14_interactive_services_have_host_user_and_port() {
    for (text, port) in [
        ("telnet://u:sesame@h.example/", 23),
        ("rlogin://u:sesame@h.example/", 513),
        ("tn3270://u:sesame@h.example/", 23),
    ] {
        let locator = Locator::parse(text, Mode::Strict).unwrap();
        let plan = match locator.url() {
            Url::Telnet(url) => url.plan(),
            Url::Rlogin(url) => url.plan(),
            Url::Tn3270(url) => url.plan(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (plan.host.to_string().as_str(), plan.port, plan.has_password),
            ("h.example", port, true),
            "{text}"
        );
        assert_eq!(plan.advised_user, Some("u".into()));
        assert_eq!(locator.cautions(), [Caution::CredentialsInUrl], "{text}");
        assert_eq!(locator.to_string_with_secrets(), text);
        assert!(
            !format!("{locator} {locator:?} {plan:?}").contains("sesame"),
            "{text}"
        );
    }
}

/// RFC 1738 §5: in a URL without a path, a slash must precede the query.
#[test]
fn audit_b15_a_query_after_a_bare_host_gets_its_slash() {
    for profile in [ResolveMode::Rfc1630Examples, ResolveMode::Rfc1630Prose] {
        let resolved = resolve("http://h.example", "?q", profile).unwrap();
        assert_eq!(resolved, "http://h.example/?q");
        assert!(Locator::parse(&resolved, Mode::Strict).is_ok());
    }
}

/// RFC 1738 §3.3: in the path of an http URL, only `/`, `;` and `?` are reserved. In the search part, all reserved characters may
/// be reserved.
#[test]
fn audit_b16_http_paths_reserve_three_characters() {
    for (one, other, same) in [
        ("/a:b", "/a%3Ab", true),
        ("/@&=", "/%40%26%3D", true),
        ("/a;b", "/a%3Bb", false),
        ("/a/b", "/a%2Fb", false),
        ("/a?b", "/a%3Fb", false),
        ("/?a:b", "/?a%3Ab", false),
    ] {
        for scheme in ["http", "https"] {
            let [one, other] =
                [one, other].map(|tail| read(&format!("{scheme}://h.example{tail}")));
            assert_eq!(one == other, same, "{one} {other}");
        }
    }
}

/// Gopher URL draft §2.1: a selector may contain any octet except tab, CR and LF. A NUL octet is sent in the request, but
/// reported as a caution.
#[test]
fn audit_b19_an_octet_0_is_in_the_request_in_both_modes() {
    for mode in [Mode::Strict, Mode::Lenient] {
        let url = GopherUrl::parse("gopher://gopher.example/0a%00b", mode).unwrap();
        assert_eq!(url.request(PlusWire::Draft), b"a\0b\r\n");
        assert_eq!(
            Locator::from(Url::Gopher(url)).cautions(),
            [Caution::EscapedControl]
        );
    }
}

/// RFC 1738 §5: the type of a Gopher item is an `xchar`, which may be an escape.
#[test]
fn audit_r_e3_a_gopher_type_may_be_escaped() {
    let url = |path: &str, mode| GopherUrl::parse(format!("gopher://h.example/{path}"), mode);
    for (escaped, literal) in [
        ("%30x", "0x"),
        ("%49/p", "I/p"),
        ("%2B/x", "+/x"),
        ("%37find%09cat", "7find%09cat"),
        ("%31", ""),
    ] {
        let strict = url(escaped, Mode::Strict).unwrap();
        assert_eq!(
            Ok(&strict),
            url(literal, Mode::Strict).as_ref(),
            "{escaped}"
        );
        assert_eq!(
            Ok(&strict),
            url(escaped, Mode::Lenient).as_ref(),
            "{escaped}"
        );
    }
    assert!(url("%68x", Mode::Strict).is_err());
    assert_eq!(url("%68x", Mode::Lenient), url("hx", Mode::Lenient));
}

/// RFC 1630: in a search, a plus sign separates words, so a search with an escaped plus sign is a different search.
#[test]
fn audit_r_e4_a_plus_separates_the_words_of_a_wais_search() {
    let searches = [
        ("a+b", &["a", "b"][..]),
        ("a%2Bb", &["a+b"]),
        ("a%20b", &["a b"]),
        ("a;b", &["a;b"]),
        ("a%3Bb", &["a;b"]),
        ("", &[""]),
    ];
    for (index, (search, words)) in searches.iter().enumerate() {
        let locator = read(&format!("wais://h.example/db?{search}"));
        let Url::Wais(url) = locator.url() else {
            panic!("{locator}");
        };
        let found: Vec<String> = url
            .words()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, *words, "{search}");
        assert_eq!(locator.canonical(), format!("wais://h.example/db?{search}"));
        for (other, _) in &searches[..index] {
            assert!(!locator.same_locator(&read(&format!("wais://h.example/db?{other}"))));
        }
    }
}

/// RFC 2056 §5, RFC 1736 §4.9: the meaning of a plus sign in an unknown parameter is unknown too, so it is preserved.
#[test]
fn audit_r_e5_a_plus_in_an_unknown_parameter_is_kept() {
    let url = |value: &str| {
        let text = format!("z39.50r://h.example/db?x;foo={value}");
        Z3950Url::parse(text, Mode::Strict).unwrap()
    };
    for (value, canonical, decoded) in [
        ("a+b", "a+b", "a+b"),
        ("a%2Bb", "a%2Bb", "a+b"),
        ("a%2bb+%63", "a%2Bb+c", "a+b+c"),
        ("+", "+", "+"),
        ("", "", ""),
    ] {
        let read = url(value);
        assert!(
            read.canonical().ends_with(&format!(";foo={canonical}")),
            "{read}"
        );
        let extension = &read.extensions()[0];
        assert_eq!(extension.encoded().as_str(), canonical);
        assert_eq!(extension.value().to_string(), decoded);
        assert_eq!(url(canonical), read);
    }
    assert_ne!(url("a+b"), url("a%2Bb"));
    // The builder takes decoded text, in which a plus stands for itself.
    let built = url("")
        .to_builder()
        .without_extensions()
        .extension("foo", "a+b");
    assert_eq!(built.build(), Ok(url("a%2Bb")));
}
