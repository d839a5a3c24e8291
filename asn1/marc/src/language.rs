//! Language codes in MARC 21 (MARC Code List for Languages) and UNIMARC, which are the bibliographic codes from ISO
//! 639-2.

/// The codes in alphabetical order with their names, from the MARC Code List for Languages.
const NAMES: &str = include_str!("language/names.txt");

/// Names and additional codes of frequently catalogued languages, each with the MARC code. The additional codes are
/// those of ISO 639-1 and the terminological codes of ISO 639-2.
const OTHERS: [(&str, &str); 61] = [
    ("ar", "ara"),
    ("arabic", "ara"),
    ("ca", "cat"),
    ("catalan", "cat"),
    ("ces", "cze"),
    ("chinese", "chi"),
    ("cs", "cze"),
    ("czech", "cze"),
    ("cy", "wel"),
    ("cym", "wel"),
    ("da", "dan"),
    ("danish", "dan"),
    ("de", "ger"),
    ("deu", "ger"),
    ("deutsch", "ger"),
    ("dutch", "dut"),
    ("el", "gre"),
    ("ell", "gre"),
    ("en", "eng"),
    ("english", "eng"),
    ("es", "spa"),
    ("espanol", "spa"),
    ("eus", "baq"),
    ("fas", "per"),
    ("fi", "fin"),
    ("finnish", "fin"),
    ("fr", "fre"),
    ("fra", "fre"),
    ("francais", "fre"),
    ("french", "fre"),
    ("german", "ger"),
    ("greek", "gre"),
    ("he", "heb"),
    ("hebrew", "heb"),
    ("hu", "hun"),
    ("hungarian", "hun"),
    ("isl", "ice"),
    ("it", "ita"),
    ("italian", "ita"),
    ("ja", "jpn"),
    ("japanese", "jpn"),
    ("latin", "lat"),
    ("nederlands", "dut"),
    ("nl", "dut"),
    ("nld", "dut"),
    ("no", "nor"),
    ("norwegian", "nor"),
    ("pl", "pol"),
    ("polish", "pol"),
    ("portuguese", "por"),
    ("pt", "por"),
    ("ro", "rum"),
    ("ron", "rum"),
    ("ru", "rus"),
    ("russian", "rus"),
    ("slk", "slo"),
    ("spanish", "spa"),
    ("sv", "swe"),
    ("swedish", "swe"),
    ("zh", "chi"),
    ("zho", "chi"),
];

/// Returns whether text is a language code; case is ignored.
pub fn is_code(text: &str) -> bool {
    name_of(text).is_some()
}

/// Returns the name of a language in English: `English` for `eng`; case is ignored. Returns `None` if the text is not a
/// code.
pub fn name_of(code: &str) -> Option<&'static str> {
    let mut languages = NAMES.lines().filter_map(|line| line.split_once(' '));
    let found = languages.find(|(known, _)| known.eq_ignore_ascii_case(code));
    found.map(|(_, name)| name)
}

/// Returns the MARC code for another language code or for the name of a language: `fre` for `fr`, `fra` and `french`.
pub fn code_of(text: &str) -> Option<&'static str> {
    let mut others = OTHERS.iter();
    let found = others.find(|(other, _)| other.eq_ignore_ascii_case(text));
    found.map(|(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names() {
        let languages: Vec<_> = NAMES
            .lines()
            .map(|line| line.split_once(' '))
            .map(|one| one.expect("a code and a name"))
            .collect();
        let codes: Vec<&str> = languages.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes.len(), 485);
        assert!(codes.is_sorted(), "in alphabetical order");
        assert!(codes.iter().all(|code| code.len() == 3));
        let is_name = |name: &str| name.starts_with(char::is_uppercase) && name.trim() == name;
        assert!(languages.iter().all(|(_, name)| is_name(name)));
        for (text, is_one, code) in [
            ("fre", true, None),
            ("FRE", true, None),
            ("fra", false, Some("fre")),
            ("French", false, Some("fre")),
            ("xxx", false, None),
            ("", false, None),
            ("fre ger", false, None),
        ] {
            assert_eq!((is_code(text), code_of(text)), (is_one, code), "{text}");
        }
        for (other, code) in OTHERS {
            assert!(is_code(code), "{other}");
        }
    }

    #[test]
    fn r_g_codes_have_their_english_names() {
        for (code, name) in [
            ("eng", Some("English")),
            ("GRE", Some("Greek, Modern (1453-)")),
            ("nob", Some("Norwegian (Bokmål)")),
            ("zxx", Some("No linguistic content")),
            ("fra", None),
            ("eng fre", None),
            ("", None),
        ] {
            assert_eq!(name_of(code), name, "{code}");
        }
    }
}
