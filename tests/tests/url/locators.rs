//! Tests of URLs of every scheme (RFC 1738 §3), first with the tables `rfc1738*.tsv` and `rfc1630.tsv`, and then with URLs built
//! from parts.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU16;

use z3950::url::{
    Encoded, FileUrl, FtpPath, FtpStep, FtpUrl, Host, HostPort, HttpUrl, LocalPathError, Locator,
    Login, MAX_URL_LENGTH, MailtoUrl, MessageId, Mode, NewsUrl, Newsgroup, NntpUrl, OpaqueUri,
    ProsperoField, ProsperoUrl, TelnetUrl, TypeCode, Url, UrlError, UrlErrorKind, Userinfo,
    WaisTarget, WaisUrl, Z3950Url,
};

use crate::url::described::described;
use crate::url::locator_properties::assert_canonical;
use crate::url::table::{mode_named, octets, rows};

pub(crate) const RFC_1738: &str = include_str!("../../fixtures/urls/rfc1738.tsv");
pub(crate) const RFC_1630: &str = include_str!("../../fixtures/urls/rfc1630.tsv");
const EQUAL: &str = include_str!("../../fixtures/urls/rfc1738_equal.tsv");
const PLAN: &str = include_str!("../../fixtures/urls/rfc1738_plan.tsv");

#[test]
fn texts_give_the_result_of_the_table() {
    let check = |row: &str, mode: Mode, text: &[u8], expected: &str| {
        let line = match Locator::parse(text, mode) {
            Ok(locator) => {
                assert_canonical(&locator).unwrap();
                described(&locator, expected)
            }
            Err(refusal) => refused(&refusal),
        };
        assert_eq!(line, expected, "{row} {mode:?} {}", text.escape_ascii());
    };
    let mut both: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
    for [row, mode, text, expected] in rows(RFC_1738).chain(rows(RFC_1630)) {
        let [strict, lenient] = both.entry(text).or_default();
        *strict |= mode != "lenient";
        *lenient |= mode != "strict" || expected.starts_with("Ok");
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
    for (text, modes) in both {
        assert_eq!(modes, [true, true], "{text} has a result in each mode");
    }
}

/// An octet that is escaped in the user or the password must be read back unchanged from the canonical form.
#[test]
fn userinfo_of_any_octets_is_read_back() {
    for scheme in ["z39.50s", "ftp", "telnet", "rlogin", "tn3270"] {
        for octet in 0x20..=0xFF_u8 {
            let text = format!("{scheme}://u%{octet:02X}:p%{octet:02X}@h.example/");
            let locator = match Locator::parse(&text, Mode::Lenient) {
                Ok(locator) => locator,
                Err(refusal) if octet == 0x7F => {
                    assert_eq!(refusal.kind(), UrlErrorKind::ForbiddenControl);
                    continue;
                }
                Err(refusal) => panic!("{text}: {refusal}"),
            };
            let canonical = locator.to_string_with_secrets();
            let again = Locator::parse(&canonical, Mode::Lenient);
            let again = again.unwrap_or_else(|refusal| panic!("{canonical}: {refusal}"));
            let userinfo = again.userinfo().unwrap();
            let password = userinfo.password().unwrap();
            assert_eq!(userinfo.user().as_bytes(), [b'u', octet], "{canonical}");
            assert_eq!(password.as_bytes(), [b'p', octet], "{canonical}");
        }
    }
}

#[test]
fn same_and_different_locators() {
    let check = |row: &str, left: &str, relation: &str, right: &str| {
        let [a, b] = [left, right].map(|text| Locator::parse(octets(text), Mode::Lenient).unwrap());
        let same = relation == "=";
        assert_eq!(a.same_locator(&b), same, "{row} {left} {relation} {right}");
        assert_eq!(
            a.canonical_with_secrets() == b.canonical_with_secrets(),
            same,
            "{row} {left} {relation} {right}"
        );
        let state = RandomState::new();
        assert_eq!(
            state.hash_one(&a) == state.hash_one(&b),
            same,
            "{row} {left}"
        );
    };
    for [row, left, relation, right] in rows(EQUAL) {
        check(row, left, relation, right);
    }
}

/// U-4.1–U-4.7, I-6.1: the lines sent to an FTP server must not contain line breaks.
#[test]
fn ftp_urls_become_commands() {
    let check = |row: &str, mail: Option<&str>, text: &str, expected: &str| {
        let locator = Locator::parse(text, Mode::Strict).unwrap();
        let Url::Ftp(url) = locator.url() else {
            panic!("{text} is no FTP URL");
        };
        let line = match url.plan(mail) {
            Ok(steps) => steps.iter().map(step).collect::<Vec<_>>().join("; "),
            Err(refusal) => refused(&refusal),
        };
        assert_eq!(line, expected, "{row} {text}");
        let shown = format!("{:?}", url.plan(mail));
        assert!(!shown.contains("PASS p"), "{shown}");
    };
    fn step(step: &FtpStep) -> String {
        match step.line() {
            None => step.to_string(),
            Some(line) => {
                let line = String::from_utf8(line).unwrap();
                let line = line.strip_suffix("\r\n").expect("a complete line");
                assert!(!line.contains(['\r', '\n', '\0']), "{line}");
                line.to_owned()
            }
        }
    }
    for [row, mail, text, expected] in rows(PLAN) {
        let mail = String::from_utf8(octets(mail)).unwrap();
        check(row, (mail != "-").then_some(mail.as_str()), text, expected);
    }
}

/// U-2.4, U-4.5, U-6.2 and similar rows: URLs built from parts must be canonical, or the parts must be refused.
#[test]
fn parts_give_a_url_or_a_refusal() {
    fn check(url: Result<Url, UrlError>, expected: &str) {
        let line = match url {
            Ok(url) => {
                let locator = Locator::from(url);
                assert_canonical(&locator).unwrap();
                locator.to_string_with_secrets()
            }
            Err(refusal) => refused(&refusal),
        };
        assert_eq!(line, expected);
    }
    let name = || Host::parse("h.example", Mode::Strict).unwrap();
    let ftp = |path: Option<FtpPath>, userinfo: Option<Userinfo>| {
        let hostport = HostPort::new(name());
        let login = Login { userinfo, hostport };
        Ok(Url::Ftp(FtpUrl { login, path }))
    };
    let path = |directories: &[&str], name: &str, type_code| {
        Some(FtpPath {
            directories: directories.iter().map(|&name| name.into()).collect(),
            name: name.into(),
            type_code,
        })
    };
    check(ftp(None, None), "ftp://h.example");
    check(
        ftp(path(&[], "a;b/c", None), None),
        "ftp://h.example/a%3Bb%2Fc",
    );
    check(
        ftp(path(&["/", ""], "\r\n", Some(TypeCode::Directory)), None),
        "ftp://h.example/%2F//%0D%0A;type=d",
    );
    let userinfo = Userinfo::new("a@b", Some("c:d/".into())).unwrap();
    check(ftp(None, Some(userinfo)), "ftp://a%40b:c%3Ad%2F@h.example");
    check(
        Userinfo::new("a", Some("b\n".into())).map(|_| unreachable!()),
        "Err ForbiddenControl@1",
    );

    let web = || HostPort::new(name());
    let nothing: [&str; 0] = [];
    check(
        Ok(Url::Http(HttpUrl::new(web(), nothing))),
        "http://h.example/",
    );
    check(
        Ok(Url::Http(HttpUrl::new(
            web(),
            [" <>\"#%{}|\\^~[]`", "a/b;c+"],
        ))),
        "http://h.example/%20%3C%3E%22%23%25%7B%7D%7C%5C%5E%7E%5B%5D%60/a%2Fb%3Bc+",
    );
    check(
        Ok(Url::Http(
            HttpUrl::new(web(), ["x"]).with_words(["c++", "a b"]),
        )),
        "http://h.example/x?c%2B%2B+a%20b",
    );
    let port = NonZeroU16::new(8080).unwrap();
    check(
        Ok(Url::Https(HttpUrl::new(
            HostPort::new(name()).with_port(port),
            ["x"],
        ))),
        "https://h.example:8080/x",
    );
    assert_eq!(Encoded::of_data("a/b").as_str(), "a%2Fb");

    let mailto = |address: &str| MailtoUrl::new(address).map(Url::Mailto);
    check(
        mailto("user%gate@h.example"),
        "mailto:user%25gate@h.example",
    );
    check(mailto("a b?c@h.example"), "mailto:a%20b?c@h.example");
    check(mailto(""), "Err EmptyPart@0");
    check(mailto("a\r\nBcc: b"), "Err ForbiddenControl@1");

    let article = |local: &str, domain: &str| {
        MessageId::new(local, domain).map(|id| Url::News(NewsUrl::Article(id)))
    };
    check(article("a@<b>", "H.example"), "news:a%40%3Cb%3E@H.example");
    check(article("", "h.example"), "Err EmptyPart@0");
    check(article("a", "h example"), "Err InvalidCharacter@1");
    check(article("a\0", "h"), "Err ForbiddenControl@1");
    check(MessageId::new("a", "h").map(Url::ContentId), "cid:a@h");
    let group = |text: &str| Newsgroup::new(text);
    check(
        group("alt.c++").map(|group| Url::News(NewsUrl::Group(group))),
        "news:alt.c++",
    );
    check(
        group("comp.*").map(|_| unreachable!()),
        "Err InvalidCharacter@5",
    );
    let nntp = |number| NntpUrl {
        hostport: Some(HostPort::new(name())),
        group: group("a").unwrap(),
        number,
    };
    check(Ok(Url::Nntp(nntp(Some(7)))), "nntp://h.example/a/7");
    check(Ok(Url::Nntp(nntp(None))), "nntp://h.example/a");

    let wais = |database: &str, target| {
        WaisUrl::new(HostPort::new(name()), database, target).map(Url::Wais)
    };
    check(wais("d/b", WaisTarget::Database), "wais://h.example/d%2Fb");
    check(
        wais("d", WaisTarget::Search(Encoded::of_words(["a?b;", "c+"]))),
        "wais://h.example/d?a%3Fb%3B+c%2B",
    );
    let document = |wtype: &str| WaisTarget::Document {
        wtype: wtype.into(),
        wpath: b"1=\0\xFF;".into(),
    };
    check(
        wais("d", document("TEXT")),
        "wais://h.example/d/TEXT/1%3D%00%FF%3B",
    );
    check(wais("d", document("T\n")), "Err ForbiddenControl@1");
    check(wais("\n", WaisTarget::Database), "Err ForbiddenControl@0");

    let nowhere: [&str; 0] = [];
    check(Ok(Url::File(FileUrl::new(None, nowhere))), "file:///");
    let localhost = Host::parse("LocalHost", Mode::Strict).unwrap();
    check(
        Ok(Url::File(FileUrl::new(Some(localhost), ["a;b", "c?"]))),
        "file:///a%3Bb/c?",
    );
    let field = |name: &str, value: &str| ProsperoField::new(name, value);
    let prospero = |hsoname: &str, fields: Vec<ProsperoField>| {
        ProsperoUrl::new(HostPort::new(name()), hsoname, fields).map(Url::Prospero)
    };
    check(
        prospero("/pros/na;me", vec![field("a=b", "c;d").unwrap()]),
        "prospero://h.example//pros/na%3Bme;a%3Db=c%3Bd",
    );
    check(prospero("a\0", Vec::new()), "Err ForbiddenControl@1");
    check(
        field("a", "\t").map(|_| unreachable!()),
        "Err ForbiddenControl@0",
    );
    let opaque = |scheme: &str, part: &str| OpaqueUri::new(scheme, part).map(Url::Other);
    check(opaque("X-Zcat", "//h/1"), "x-zcat://h/1");
    check(opaque("a_b", ""), "Err InvalidScheme@1");
    check(opaque("x", "a b"), "Err InvalidCharacter@3");
    check(opaque("x", "a#b"), "Err InvalidCharacter@3");
    check(opaque("", "a"), "Err MissingScheme@0");
}

/// U-8.2: a telnet URL only says which host to connect to, because its user name and password are advisory.
#[test]
fn telnet_urls_log_nobody_in() {
    let locator = Locator::parse("telnet://u:p@h.example/", Mode::Strict).unwrap();
    let Url::Telnet(telnet) = locator.url() else {
        panic!("{locator}");
    };
    let plan = TelnetUrl::plan(telnet);
    assert_eq!(
        (plan.host.to_string().as_str(), plan.port),
        ("h.example", 23)
    );
    assert_eq!(plan.advised_user, Some("u".into()));
    assert!(plan.has_password && !format!("{plan:?}").contains("\"p\""));
}

/// U-9.2: a WAIS URL must not become a Z39.50 URL, although the two protocols have a common port and a common ancestor.
#[test]
fn only_z3950_urls_become_z3950_urls() {
    let check = |text: &str, expected: Result<&str, &str>| {
        let url = Z3950Url::try_from(Locator::parse(text, Mode::Strict).unwrap());
        let found = url.map(|url| url.canonical()).map_err(|error| error.scheme);
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
    };
    check("z39.50s://h.example/db", Ok("z39.50s://h.example/db"));
    check("wais://h.example/db", Err("wais"));
    check("z39.50://h.example/db", Err("z39.50"));
}

/// U-10.1, U-10.2: a file URL may only open the file that it names, and only on this machine.
#[test]
fn file_urls_give_local_paths() {
    let check = |text: &str, expected: Result<&str, LocalPathError>| {
        let locator = Locator::parse(text, Mode::Strict).unwrap();
        let Url::File(file) = locator.url() else {
            panic!("{text} is no file URL");
        };
        let expected = expected.map(std::path::PathBuf::from);
        assert_eq!(file.to_local_path(), expected, "{text}");
    };
    check("file:///etc/motd", Ok("/etc/motd"));
    check("file://localhost/a%20b/", Ok("/a b/"));
    check("file:///a/.../.x", Ok("/a/.../.x"));
    check(
        "file://vms.host.edu/disk$user/my/notes/note12345.txt",
        Err(LocalPathError::RemoteHost),
    );
    check("file:///a%2Fb/c", Err(LocalPathError::SlashInSegment));
    check("file:///../x", Err(LocalPathError::ParentSegment));
    check("file:///a/%2E%2E/x", Err(LocalPathError::ParentSegment));
    check("file:///a%00", Err(LocalPathError::ZeroOctet));
}

/// U-13.3: the printed forms of a locator, its parts and its errors must not contain a password.
#[test]
fn passwords_never_show() {
    let check = |text: &str| {
        let shown = match Locator::parse(text, Mode::Lenient) {
            Ok(locator) => {
                let canonical = locator.canonical();
                assert!(canonical.contains(":***@"), "{canonical}");
                assert!(locator.to_string_with_secrets().contains("sesame"));
                format!("{locator} {locator:?} {canonical} {:?}", locator.userinfo())
            }
            Err(refusal) => format!("{refusal} {refusal:?}"),
        };
        assert!(!shown.contains("sesame"), "{shown}");
        if let Err(refusal) = Locator::parse(text, Mode::Strict) {
            let shown = format!("{refusal} {refusal:?}");
            assert!(!shown.contains("sesame"), "{shown}");
        }
    };
    check("ftp://u:sesame@h.example/");
    check("ftp://u:sesame?;@h.example/x;type=q");
    check("ftp://u:%73esam%65@h.example/x;type=a");
    check("telnet://u:sesame@h.example");
    check("x-foo://u:sesame@h.example/a:b@c");
    check("http://u:sesame@h.example/");
    check("gopher://u:sesame@h.example/");
    check("ftp://u:sesame@h_-.example/");
    check("foo://u:sesame<@h.example/");
    let opaque = OpaqueUri::new("x-foo", "//u:sesame@h.example").unwrap();
    assert_eq!(
        format!("{opaque} {opaque:?}"),
        "x-foo://u:***@h.example x-foo://u:***@h.example"
    );
}

/// Tests the limit [`MAX_URL_LENGTH`] and one octet more, before and after escaping.
#[test]
fn length_is_bounded() {
    let check = |head: &str, octet: &str, count: usize, expected: Result<usize, usize>| {
        let text = head.to_owned() + &octet.repeat(count);
        let length = Locator::parse(&text, Mode::Lenient)
            .map(|locator| locator.to_string_with_secrets().len())
            .map_err(|refusal| (refusal.kind(), refusal.offset()));
        let expected = expected.map_err(|offset| (UrlErrorKind::TooLong, offset));
        assert_eq!(length, expected, "{head}{octet} {count}");
    };
    for head in ["ftp://h/", "mailto:", "x-foo:", "urn:", "gopher://h/0"] {
        let room = MAX_URL_LENGTH - head.len();
        check(head, "x", room, Ok(MAX_URL_LENGTH));
        check(head, "x", room + 1, Err(MAX_URL_LENGTH));
        let most = room / 3;
        check(head, "~", most, Ok(head.len() + 3 * most));
        check(head, "~", most + 1, Err(head.len() + most + 1));
    }
}

fn refused(refusal: &UrlError) -> String {
    assert_eq!(refusal.kind().name(), format!("{:?}", refusal.kind()));
    format!("Err {}@{}", refusal.kind().name(), refusal.offset())
}
