//! Chooses the best of several records for copy cataloguing: by encoding level (leader position 17), and by the source,
//! language and rules of its cataloguing (MARC 21 field 040, UNIMARC field 801).

use std::cmp::{Ordering, Reverse};

use z3950_asn1::apdu::External;
use z3950_asn1::oid::UNIMARC;
use z3950_marc::MarcRecord;
use z3950_marc::crosswalk::is_unimarc;

use super::matched::{marc, matched_in, texts};
use crate::identifier::Identifier;

/// A library's preferences for choosing among several records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preferences {
    /// The codes of cataloguing agencies (040 `$a`), most preferred first. The default is [`SOURCES`].
    pub sources: Vec<String>,
    /// The preferred language of cataloguing (040 `$b`), such as `eng`. It is compared before the encoding level. By
    /// default, no language is preferred.
    pub language: Option<String>,
    /// The preferred language of cataloguing that is compared after the source. By default, no language is preferred.
    pub usual_language: Option<String>,
}

/// The cataloguing agencies that are preferred by default. These are national libraries, listed by their codes in MARC,
/// OCLC and ISIL.
pub const SOURCES: [&str; 11] = [
    "DLC",
    "DNLM",
    "DNAL",
    "Uk",
    "UKM",
    "CaOONL",
    "NLC",
    "AuCNL",
    "DE-101",
    "FrPBN",
    "FR-751131015",
];

/// The quality of a record for copy cataloguing. A better record compares as less, and the first field in which two
/// records differ decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Merit {
    /// Whether the record contains the identifier as a valid number, as a cancelled number, or not at all.
    number: Number,
    /// Whether the language of cataloguing differs from the requested language.
    is_foreign: bool,
    /// The rank and name of the encoding level.
    level: (usize, &'static str),
    /// The rank and code of the cataloguing source.
    source: (usize, String),
    /// Whether the language of cataloguing differs from the usual language, and the code of the language.
    language: (bool, String),
    /// The rank and code of the cataloguing rules. RDA ranks first, unknown rules last.
    rules: (u8, String),
    /// The number of fields. Of two otherwise equal records, the one with more fields is better.
    fields: Reverse<usize>,
    /// The control number of the record.
    control_number: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Number {
    Valid,
    Cancelled,
    Absent,
}

/// The encoding levels of MARC 21 and OCLC, best first.
const LEVELS: [(u8, &str); 14] = [
    (b' ', "full"),
    (b'I', "full (OCLC)"),
    (b'1', "full, material not examined"),
    (b'L', "full (batch)"),
    (b'4', "core"),
    (b'2', "less than full"),
    (b'7', "minimal"),
    (b'K', "minimal (OCLC)"),
    (b'M', "minimal (batch)"),
    (b'5', "preliminary"),
    (b'3', "abbreviated"),
    (b'8', "prepublication"),
    (b'u', "unknown"),
    (b'z', "not applicable"),
];

/// The encoding levels of UNIMARC, best first.
const UNIMARC_LEVELS: [(u8, &str); 4] = [
    (b' ', "full"),
    (b'1', "full, material not examined"),
    (b'3', "abbreviated"),
    (b'2', "prepublication"),
];

impl Merit {
    /// Returns the merit of a record that was found by `identifier`, or by its title if `identifier` is `None`. A
    /// record that is not MARC has the least merit.
    pub(crate) fn of(
        record: &External,
        identifier: Option<&Identifier>,
        preferences: &Preferences,
    ) -> Self {
        let Some((marc, syntax)) = marc(record) else {
            return Self {
                number: Number::Absent,
                is_foreign: true,
                level: (usize::MAX, "no MARC"),
                source: (usize::MAX, String::new()),
                language: (true, String::new()),
                rules: (u8::MAX, String::new()),
                fields: Reverse(0),
                control_number: String::new(),
            };
        };
        let is_unimarc = syntax == Some(UNIMARC) || is_unimarc(&marc);
        let place = identifier.map(|identifier| matched_in(identifier, &marc, is_unimarc));
        let number = match place {
            Some(Some(place)) if place.is_cancelled => Number::Cancelled,
            Some(Some(_)) => Number::Valid,
            Some(None) | None => Number::Absent,
        };
        let (source, language, rules) = if is_unimarc {
            (
                first(&marc, "801", "b"),
                language_of_unimarc(&marc),
                first(&marc, "801", "g"),
            )
        } else {
            (
                first(&marc, "040", "a"),
                first(&marc, "040", "b"),
                rules(&marc),
            )
        };
        let is_other = |wanted: &Option<String>| {
            let wanted = wanted.as_ref();
            wanted.is_some_and(|wanted| !wanted.eq_ignore_ascii_case(&language))
        };
        let number_of = marc.control_number().unwrap_or_default();
        Self {
            number,
            is_foreign: is_other(&preferences.language),
            level: level(marc.leader.octet(17), is_unimarc),
            source: (rank(&source, preferences), source),
            language: (is_other(&preferences.usual_language), language),
            rules: (
                match rules.as_str() {
                    "rda" => 0,
                    "" => 2,
                    _ => 1,
                },
                rules,
            ),
            fields: Reverse(marc.fields.len()),
            control_number: String::from_utf8_lossy(number_of).into_owned(),
        }
    }

    /// Returns the control number of the record (001), or `None` if it has none.
    pub(crate) fn control_number(&self) -> Option<&str> {
        Some(self.control_number.as_str()).filter(|number| !number.is_empty())
    }

    /// Returns the reason why this record is better than another record, which is called `name`. The reason is text
    /// such as `its encoding level is full, that of b2 is minimal`.
    pub(crate) fn reason(&self, other: &Self, name: &str) -> String {
        let known = |code: &str| match code {
            "" => "unknown".to_owned(),
            code => code.to_owned(),
        };
        let told = |what: &str, one: &str, other: &str| {
            format!(
                "its {what} is {}, that of {name} is {}",
                known(one),
                known(other)
            )
        };
        match self.criterion(other) {
            Some(Criterion::Number) => match (self.number, other.number) {
                (_, Number::Absent) => format!("{name} lacks the number"),
                _ => format!("the number is valid in it and cancelled in {name}"),
            },
            Some(Criterion::Level) => told("encoding level", self.level.1, other.level.1),
            Some(Criterion::Source) => told("cataloguing source", &self.source.1, &other.source.1),
            Some(Criterion::Language) => told(
                "language of cataloguing",
                &self.language.1,
                &other.language.1,
            ),
            Some(Criterion::Rules) => format!(
                "its cataloguing rules are {}, those of {name} are {}",
                known(&self.rules.1),
                known(&other.rules.1)
            ),
            Some(Criterion::Fields) => {
                let (Reverse(one), Reverse(other)) = (self.fields, other.fields);
                format!("it has {one} fields, {name} has {other}")
            }
            None => format!("it came before {name}, which is as good"),
        }
    }

    /// Returns the comparison for each criterion, in the order of the criteria.
    fn comparisons(&self, other: &Self) -> [(Criterion, Ordering); 7] {
        [
            (Criterion::Number, self.number.cmp(&other.number)),
            (Criterion::Language, self.is_foreign.cmp(&other.is_foreign)),
            (Criterion::Level, self.level.0.cmp(&other.level.0)),
            (Criterion::Source, self.source.0.cmp(&other.source.0)),
            (Criterion::Language, self.language.0.cmp(&other.language.0)),
            (Criterion::Rules, self.rules.0.cmp(&other.rules.0)),
            (Criterion::Fields, self.fields.cmp(&other.fields)),
        ]
    }

    fn criterion(&self, other: &Self) -> Option<Criterion> {
        let mut comparisons = self.comparisons(other).into_iter();
        let differs =
            |(criterion, ordering): (Criterion, Ordering)| ordering.is_ne().then_some(criterion);
        comparisons.find_map(differs)
    }

    /// Compares two records. The better record compares as less.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let comparisons = self.comparisons(other).into_iter();
        comparisons.fold(Ordering::Equal, |so_far, (_, next)| so_far.then(next))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Criterion {
    Number,
    Level,
    Source,
    Language,
    Rules,
    Fields,
}

/// Returns a record's language of cataloguing: 040 `$b`, or 100 `$a` in UNIMARC.
pub fn cataloguing_language(record: &MarcRecord) -> Option<String> {
    let language = if is_unimarc(record) {
        language_of_unimarc(record)
    } else {
        first(record, "040", "b")
    };
    (!language.is_empty()).then_some(language)
}

/// Returns the rank and name of an encoding level.
fn level(octet: u8, is_unimarc: bool) -> (usize, &'static str) {
    let octet = match octet {
        b'#' | b'|' => b' ',
        octet => octet,
    };
    let of_unimarc = UNIMARC_LEVELS.iter().filter(|_| is_unimarc);
    let name = of_unimarc.chain(&LEVELS).find(|(known, _)| *known == octet);
    let name = name.map_or("unknown", |(_, name)| *name);
    let rank = LEVELS.iter().position(|(_, known)| *known == name);
    (rank.unwrap_or(LEVELS.len()), name)
}

/// Returns the rank of a cataloguing source. All sources that are not preferred have the last rank.
fn rank(source: &str, preferences: &Preferences) -> usize {
    let is_it = |known: &str| known.eq_ignore_ascii_case(source);
    let known = match preferences.sources.as_slice() {
        [] => SOURCES.iter().position(|known| is_it(known)).map(|_| 0),
        own => own.iter().position(|known| is_it(known)),
    };
    known.unwrap_or(usize::MAX)
}

/// Returns the cataloguing rules: 040 `$e`, or those given by leader position 18 if there is no 040 `$e`.
fn rules(record: &MarcRecord) -> String {
    match (first(record, "040", "e"), record.leader.octet(18)) {
        (code, b'a') if code.is_empty() => "aacr".to_owned(),
        (code, b'i') if code.is_empty() => "isbd".to_owned(),
        (code, _) => code,
    }
}

/// Returns the language code in positions 22 to 24 of 100 `$a`.
fn language_of_unimarc(record: &MarcRecord) -> String {
    let general = first(record, "100", "a");
    general.get(22..25).unwrap_or_default().trim().to_owned()
}

/// Returns the text of the first subfield with this tag and code, or an empty string.
fn first(record: &MarcRecord, tag: &str, code: &str) -> String {
    let mut found = record
        .fields_by_tag(tag)
        .flat_map(|field| texts(field, Some(code)));
    found.next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::ExternalValue;
    use z3950_asn1::oid::USMARC;
    use z3950_asn1::record::opac::OpacRecord;
    use z3950_marc::{iso2709, mrk};

    use super::*;

    fn external(level: &str, lines: &str) -> External {
        let text = format!("=LDR  00000nam a2200000{level}a 4500\n{lines}\n");
        let records = mrk::parse_all(&text).expect("a record");
        let record = records.first().expect("a record");
        External::octet_aligned(USMARC, iso2709::encode(record).expect("fits"))
    }

    #[test]
    fn the_first_difference_decides() {
        let preferences = Preferences {
            sources: vec!["NLC".to_owned(), "DLC".to_owned()],
            usual_language: Some("eng".to_owned()),
            ..Preferences::default()
        };
        for (one, other, reason) in [
            (
                (" ", "=020  \\\\$a0306406152"),
                (" ", "=020  \\\\$z0306406152\n=245  00$aA"),
                "the number is valid in it and cancelled in b2",
            ),
            (
                (" ", "=020  \\\\$a0306406152"),
                ("7", "=020  \\\\$a0306406152\n=245  00$aA"),
                "its encoding level is full, that of b2 is minimal",
            ),
            (
                ("8", "=020  \\\\$a0306406152"),
                ("q", "=020  \\\\$a0306406152"),
                "its encoding level is prepublication, that of b2 is unknown",
            ),
            (
                (" ", "=020  \\\\$a0306406152\n=040  \\\\$aNLC"),
                (" ", "=020  \\\\$a0306406152\n=040  \\\\$aDLC"),
                "its cataloguing source is NLC, that of b2 is DLC",
            ),
            (
                (" ", "=020  \\\\$a0306406152\n=040  \\\\$aX$beng"),
                (" ", "=020  \\\\$a0306406152\n=040  \\\\$aX"),
                "its language of cataloguing is eng, that of b2 is unknown",
            ),
            (
                (" ", "=020  \\\\$a0306406152\n=040  \\\\$aX$beng$erda"),
                (" ", "=020  \\\\$a0306406152\n=040  \\\\$aX$beng"),
                "its cataloguing rules are rda, those of b2 are aacr",
            ),
            (
                (" ", "=020  \\\\$a0306406152\n=245  00$aA"),
                (" ", "=020  \\\\$a0306406152"),
                "it has 2 fields, b2 has 1",
            ),
            (
                (" ", "=020  \\\\$a0306406152"),
                (" ", "=020  \\\\$a0306406152"),
                "it came before b2, which is as good",
            ),
        ] {
            let identifier = "isbn:9780306406157".parse().expect("an identifier");
            let merit = |(level, lines)| {
                Merit::of(&external(level, lines), Some(&identifier), &preferences)
            };
            let (better, worse) = (merit(one), merit(other));
            assert_eq!(better.reason(&worse, "b2"), reason);
            let expected = match reason {
                "it came before b2, which is as good" => Ordering::Equal,
                _ => Ordering::Less,
            };
            assert_eq!(better.compare(&worse), expected, "{reason}");
            assert_eq!(worse.compare(&better), expected.reverse(), "{reason}");
        }
    }

    #[test]
    fn a_requested_language_takes_precedence_over_level_and_source() {
        let identifier = "isbn:9780306406157".parse().expect("an identifier");
        let french = external(
            "7",
            "=001  f\n=020  \\\\$a0306406152\n=040  \\\\$aFrPBN$bfre",
        );
        let english = external(" ", "=001  e\n=020  \\\\$a0306406152\n=040  \\\\$aDLC$beng");
        let cancelled = external(" ", "=020  \\\\$z0306406152\n=040  \\\\$bfre");
        for (language, usual_language, expected) in [
            (None, None, Ordering::Greater),
            (Some("fre"), None, Ordering::Less),
            (None, Some("fre"), Ordering::Greater),
            (Some("eng"), Some("fre"), Ordering::Greater),
        ] {
            let preferences = Preferences {
                language: language.map(str::to_owned),
                usual_language: usual_language.map(str::to_owned),
                ..Preferences::default()
            };
            let of = |record: &External| Merit::of(record, Some(&identifier), &preferences);
            let (french, english) = (of(&french), of(&english));
            assert_eq!(french.compare(&english), expected, "{language:?}");
            assert_eq!(french.compare(&of(&cancelled)), Ordering::Less);
            assert_eq!(french.control_number(), Some("f"));
        }
    }

    #[test]
    fn the_default_sources_are_equal_and_other_syntaxes_come_last() {
        let identifier = "isbn:9780306406157".parse().expect("an identifier");
        let preferences = Preferences::default();
        let of = |record: &External| Merit::of(record, Some(&identifier), &preferences);
        let by = |code: &str| external(" ", &format!("=020  \\\\$a0306406152\n=040  \\\\$a{code}"));
        assert_eq!(of(&by("DLC")).compare(&of(&by("uk"))), Ordering::Equal);
        assert_eq!(of(&by("DLC")).compare(&of(&by("XYZ"))), Ordering::Less);
        // The comparison does not consider holdings.
        let with_holdings = OpacRecord::of_marc(by("DLC"), &MarcRecord::default());
        let with_holdings = with_holdings.to_external().expect("encodes");
        assert_eq!(of(&with_holdings).compare(&of(&by("uk"))), Ordering::Equal);
        assert_eq!(of(&with_holdings).compare(&of(&by("XYZ"))), Ordering::Less);
        let text = External::octet_aligned(z3950_asn1::oid::SUTRS, "a text");
        assert_eq!(of(&by("XYZ")).compare(&of(&text)), Ordering::Less);
    }
}
