//! The names of character sets, as librarians and programs write them (WHATWG Encoding Standard §4.2; common use).
//! Case, spaces, hyphens and underscores do not matter.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, IBM866, ISO_2022_JP, ISO_8859_2, ISO_8859_3,
    ISO_8859_4, ISO_8859_5, ISO_8859_6, ISO_8859_7, ISO_8859_8, ISO_8859_8_I, ISO_8859_10,
    ISO_8859_13, ISO_8859_14, ISO_8859_15, ISO_8859_16, KOI8_R, KOI8_U, MACINTOSH, SHIFT_JIS,
    WINDOWS_874, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254,
    WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258, X_MAC_CYRILLIC,
};

use super::Charset;

/// The sets from the Encoding Standard that are available as [`Charset::Other`].
static OTHERS: [&Encoding; 35] = [
    WINDOWS_1250,
    WINDOWS_1251,
    WINDOWS_1252,
    WINDOWS_1253,
    WINDOWS_1254,
    WINDOWS_1255,
    WINDOWS_1256,
    WINDOWS_1257,
    WINDOWS_1258,
    WINDOWS_874,
    ISO_8859_2,
    ISO_8859_3,
    ISO_8859_4,
    ISO_8859_5,
    ISO_8859_6,
    ISO_8859_7,
    ISO_8859_8,
    ISO_8859_8_I,
    ISO_8859_10,
    ISO_8859_13,
    ISO_8859_14,
    ISO_8859_15,
    ISO_8859_16,
    KOI8_R,
    KOI8_U,
    IBM866,
    MACINTOSH,
    X_MAC_CYRILLIC,
    GBK,
    GB18030,
    BIG5,
    EUC_JP,
    ISO_2022_JP,
    SHIFT_JIS,
    EUC_KR,
];

/// Additional names, in the form returned by `squeeze`: those of the sets that are implemented here, and short names that the Encoding
/// Standard lacks.
static NAMES: &[(&str, Charset)] = &[
    ("utf8", Charset::Utf8),
    ("unicode", Charset::Utf8),
    ("iso10646", Charset::Utf8),
    ("marc8", Charset::Marc8),
    ("marc", Charset::Marc8),
    ("usmarc", Charset::Marc8),
    ("ansel", Charset::Marc8),
    ("iso5426", Charset::Iso5426),
    ("mab2", Charset::Iso5426),
    ("danmarc", Charset::Danmarc),
    ("danmarc2", Charset::Danmarc2),
    ("iso88591", Charset::Latin1),
    ("latin1", Charset::Latin1),
    ("l1", Charset::Latin1),
    ("isoir100", Charset::Latin1),
    ("gb2312", Charset::Other(GBK)),
    ("euccn", Charset::Other(GBK)),
    ("cp936", Charset::Other(GBK)),
    ("cp932", Charset::Other(SHIFT_JIS)),
    ("cp949", Charset::Other(EUC_KR)),
    ("cp950", Charset::Other(BIG5)),
    ("cp874", Charset::Other(WINDOWS_874)),
    ("latin2", Charset::Other(ISO_8859_2)),
    ("latin9", Charset::Other(ISO_8859_15)),
    ("koi8", Charset::Other(KOI8_R)),
];

impl Charset {
    /// Returns the set with this name: `marc8`, `ANSEL`, `iso-5426`, `latin1`, `cp1250`, `KOI8-R`, `gb18030`, `Shift_JIS` …
    ///
    /// ISO 8859-1 is taken in the strict sense; all other names follow the Encoding Standard, where `gb2312` is GBK and
    /// `iso-8859-9` is windows-1254. Returns `None` for an unknown name, and for UTF-16.
    pub fn by_name(name: &str) -> Option<Charset> {
        let squeezed = squeeze(name);
        if let Some((_, charset)) = NAMES.iter().find(|(known, _)| *known == squeezed) {
            return Some(*charset);
        }
        let mut others = OTHERS.iter().copied();
        let other = others
            .find(|encoding| squeeze(encoding.name()) == squeezed)
            .or_else(|| Encoding::for_label(name.trim().as_bytes()))
            .or_else(|| Encoding::for_label(squeezed.as_bytes()))
            .filter(|encoding| OTHERS.contains(encoding));
        other.map(Charset::Other)
    }

    /// Returns the usual name of the set, which [`Charset::by_name`] accepts.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8 => "UTF-8",
            Charset::Marc8 => "MARC-8",
            Charset::Iso5426 => super::iso5426::NAME,
            Charset::Danmarc => "danMARC",
            Charset::Danmarc2 => "danMARC2",
            Charset::Latin1 => "ISO-8859-1",
            Charset::Other(encoding) => encoding.name(),
        }
    }

    /// Returns every set, with the library sets first, for lists and completion.
    pub fn all() -> impl Iterator<Item = Charset> {
        let own = [
            Charset::Utf8,
            Charset::Marc8,
            Charset::Iso5426,
            Charset::Danmarc,
            Charset::Danmarc2,
            Charset::Latin1,
        ];
        own.into_iter()
            .chain(OTHERS.iter().copied().map(Charset::Other))
    }
}

/// Returns the ASCII letters and digits of a name, in lower case.
fn squeeze(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|character| character.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], canonical: Option<&str>) {
        for name in names {
            let found = Charset::by_name(name);
            assert_eq!(found.map(Charset::name), canonical, "{name}");
        }
    }

    #[test]
    fn names() {
        check(&["utf-8", "UTF8", " utf_8 "], Some("UTF-8"));
        check(
            &["marc8", "MARC-8", "marc_8", "ansel", "USMARC"],
            Some("MARC-8"),
        );
        check(
            &["iso5426", "ISO-5426", "iso 5426", "MAB2"],
            Some("ISO 5426"),
        );
        check(
            &["iso-8859-1", "ISO8859-1", "latin1", "Latin-1", "iso_8859_1"],
            Some("ISO-8859-1"),
        );
        check(
            &["windows-1252", "cp1252", "CP-1252", "x-cp1252"],
            Some("windows-1252"),
        );
        check(&["cp1250", "windows_1250"], Some("windows-1250"));
        check(&["koi8-r", "KOI8R", "koi8_r"], Some("KOI8-R"));
        check(&["gb18030", "GB-18030"], Some("gb18030"));
        check(&["gbk", "gb2312", "cp936"], Some("GBK"));
        check(&["big5", "Big-5", "cp950"], Some("Big5"));
        check(&["euc-kr", "euckr", "ks_c_5601-1987"], Some("EUC-KR"));
        check(&["euc-jp", "eucjp"], Some("EUC-JP"));
        check(&["shift_jis", "sjis", "Shift-JIS"], Some("Shift_JIS"));
        check(&["iso-8859-9", "latin5"], Some("windows-1254"));
        check(&["utf-16", "utf-16le", "replacement", "ebcdic", ""], None);
    }

    #[test]
    fn every_name_reads_back() {
        for charset in Charset::all() {
            assert_eq!(Charset::by_name(charset.name()), Some(charset));
        }
    }
}
