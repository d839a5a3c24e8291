//! Tests for every character set: the options, borrowing, and the sets from `encoding_rs`.

use std::borrow::Cow;

use super::*;

fn check(name: &str, octets: &[u8], text: &str) {
    let charset = Charset::by_name(name).expect("a known name");
    let decoded = charset.decode(octets);
    assert_eq!(
        (&*decoded.text, &decoded.problems[..]),
        (text, &[][..]),
        "{name}"
    );
    assert_eq!(charset.encode(text).as_deref(), Ok(octets), "{name}");
}

#[test]
fn both_ways() {
    check("utf-8", "Ждать – 紅樓夢".as_bytes(), "Ждать – 紅樓夢");
    check("latin1", b"caf\xE9 \x80", "café \u{80}");
    check("windows-1252", b"caf\xE9 \x80", "café €");
    check("cp1250", b"\x9Alu\x9D", "šluť");
    check("windows-1251", b"\xCC\xE8\xF0", "Мир");
    check("koi8-r", b"\xED\xC9\xD2", "Мир");
    check("iso-8859-7", b"\xC1\xE8\xDE\xED\xE1", "Αθήνα");
    check("gb18030", b"\xBA\xEC\xC2\xA5\xC3\xCE", "红楼梦");
    check("gbk", b"\xBA\xEC\xC2\xA5\xC3\xCE", "红楼梦");
    check("big5", b"\xAC\xF5\xBC\xD3\xB9\xDA", "紅樓夢");
    check("euc-kr", b"\xC7\xD1\xB1\xB9", "한국");
    check("euc-jp", b"\xC6\xFC\xCB\xDC", "日本");
    check("shift_jis", b"\x93\xFA\x96{", "日本");
    check("iso-2022-jp", b"\x1B$BF|K\\\x1B(B", "日本");
}

#[test]
fn faults_have_their_place() {
    let check = |name: &str, octets: &[u8], text: &str, offsets: &[usize]| {
        let decoded = Charset::by_name(name).expect("a known name").decode(octets);
        assert_eq!(decoded.text, text, "{name}");
        let found: Vec<_> = decoded
            .problems
            .iter()
            .map(|problem| problem.offset)
            .collect();
        assert_eq!(found, offsets, "{name}");
    };
    check("utf-8", b"a\xE2\x82b\xFF", "a\u{FFFD}b\u{FFFD}", &[1, 4]);
    check("shift_jis", b"a\x93", "a\u{FFFD}", &[1]);
    check("gb18030", b"a\xFFb\xFFc", "a\u{FFFD}b\u{FFFD}c", &[1, 3]);
    check("windows-1253", b"ab\xAA", "ab\u{FFFD}", &[2]);
}

#[test]
fn characters_a_set_lacks() {
    let check = |name: &str, text: &str, octets: &[u8], offset: usize| {
        let charset = Charset::by_name(name).expect("a known name");
        let encoded = charset.encode_with(text, Unencodable::QuestionMark);
        assert_eq!(&encoded.octets[..], octets, "{name}");
        let offsets: Vec<_> = encoded
            .problems
            .iter()
            .map(|problem| problem.offset)
            .collect();
        assert_eq!(offsets, [offset], "{name}");
        assert!(charset.encode(text).is_err(), "{name}");
    };
    check("latin1", "é–e\u{301}", b"\xE9?\xE9", 2);
    check("windows-1252", "é–ж", b"\xE9\x96?", 5);
    check("iso-5426", "é–é", b"\xC2e?\xC2e", 2);
    check("iso-5426", "жx", b"?x", 0);
    check("marc-8", "é–é", b"\xE2e?\xE2e", 2);
    check("marc-8", "a\u{1B}b", b"a?b", 1);
    check("marc-8", "a\u{A0}b", b"a?b", 1);
    check("marc-8", "a\u{A0}", b"a?", 1);
    check("marc-8", "a\u{30D}", b"a?", 0);
    check("iso-5426", "a\u{20DD}b", b"a?b", 1);
    check(
        "iso-5426",
        "е\u{300}".nfc().collect::<String>().as_str(),
        b"?",
        0,
    );
}

#[test]
fn options() {
    let decode = |charset: Charset, octets: &[u8], form, non_sorting| {
        let options = Options {
            form,
            non_sorting,
            ..Options::default()
        };
        charset.decode_with(octets, &options).text.into_owned()
    };
    let decomposed = "e\u{301}";
    assert_eq!(
        decode(Charset::Utf8, decomposed.as_bytes(), None, NonSorting::Keep),
        decomposed
    );
    assert_eq!(
        decode(
            Charset::Utf8,
            decomposed.as_bytes(),
            Some(NormalForm::Nfc),
            NonSorting::Keep
        ),
        "é"
    );
    assert_eq!(
        decode(Charset::Marc8, b"\xE2e", None, NonSorting::Keep),
        "é"
    );
    assert_eq!(
        decode(
            Charset::Marc8,
            b"\xE2e",
            Some(NormalForm::Nfd),
            NonSorting::Keep
        ),
        decomposed
    );
    assert_eq!(
        decode(
            Charset::Latin1,
            b"\xE9",
            Some(NormalForm::Nfd),
            NonSorting::Keep
        ),
        decomposed
    );
    assert_eq!(
        decode(Charset::Iso5426, b"\x88La \x89vie", None, NonSorting::Strip),
        "La vie"
    );
    assert_eq!(
        decode(
            Charset::Utf8,
            "\u{98}La \u{9C}vie".as_bytes(),
            None,
            NonSorting::Strip
        ),
        "La vie"
    );
}

#[test]
fn unchanged_text_is_borrowed() {
    for charset in [
        Charset::Utf8,
        Charset::Marc8,
        Charset::Iso5426,
        Charset::Latin1,
    ] {
        assert!(
            matches!(charset.decode(b"plain").text, Cow::Borrowed("plain")),
            "{charset}"
        );
        let encoded = charset.encode_with("plain", Unencodable::default());
        assert!(
            matches!(encoded.octets, Cow::Borrowed(b"plain")),
            "{charset}"
        );
    }
}
