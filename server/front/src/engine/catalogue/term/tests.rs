//! Tests of the meaning of terms with Koha's map, and of the diagnostics for unsupported terms. Words are shown
//! unchanged, with `*`, `.` and `?` for masks, and `^` and `$` for the edges of a value.

use std::ops::Bound;

use z3950_asn1::query::parse_pqf;

use super::*;
use crate::engine::catalogue::leaf::{Part, Phrase};
use crate::engine::catalogue::map::CatalogueMap;
use crate::engine::clause::translate;

fn offer(text: &str) -> Offer {
    let map = CatalogueMap::parse(text).unwrap_or_else(|error| panic!("{error}"));
    Offer::new(&map, None).0
}

fn koha() -> Offer {
    offer(CatalogueMap::shipped("koha").expect("a map"))
}

/// Returns a description of the clause for a query, or its diagnostic.
fn read(offer: &Offer, pqf: &str) -> String {
    let query = parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
    let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
    match translate(offer, &query, &none, false) {
        Ok(found) => shown(&found.clause),
        Err(why) => format!("{} {}", why.condition, why.addinfo.to_string_lossy()),
    }
}

fn shown(clause: &Clause) -> String {
    let each = |clauses: &[Clause]| clauses.iter().map(shown).collect::<Vec<_>>();
    match clause {
        Clause::Everything => "everything".to_owned(),
        Clause::Nothing => "nothing".to_owned(),
        Clause::All { all, without } => {
            format!("all{:?} without{:?}", each(all), each(without)).replace(['"', '\\'], "")
        }
        Clause::Any(any) => format!("any{:?}", each(any)).replace(['"', '\\'], ""),
        Clause::Leaf(leaf) => format!("{} {}", leaf.point.name, wanted(&leaf.wanted)),
    }
}

fn wanted(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Exists => "exists".to_owned(),
        Wanted::Sortable => "sortable".to_owned(),
        Wanted::Identifiers(ids) => format!("ids {}", ids.join(" ")),
        Wanted::Words { words: list, all } => {
            format!("{} {}", if *all { "all" } else { "some" }, words(list))
        }
        Wanted::Spans(spans) => spans_shown(spans),
        Wanted::Keys(keys) => format!("keys {}", keys.join("|")),
        Wanted::OpenKeys(list) => format!("open {}", words(list)),
        Wanted::Range(bounds) => format!("range {}", range(bounds)),
        Wanted::Date { digits, text } => format!("date {digits} {text}"),
        Wanted::Dates(bounds) => format!("dates {}", range(bounds)),
    }
}

fn range((from, to): &(Bound<String>, Bound<String>)) -> String {
    let from = match from {
        Bound::Included(text) => format!(">={text}"),
        Bound::Excluded(text) => format!(">{text}"),
        Bound::Unbounded => String::new(),
    };
    let to = match to {
        Bound::Included(text) => format!("<={text}"),
        Bound::Excluded(text) => format!("<{text}"),
        Bound::Unbounded => String::new(),
    };
    from + &to
}

fn words(words: &[Word]) -> String {
    let word = |word: &Word| {
        let parts = word.0.iter().map(|part| match part {
            WordPart::Text(text) => text.as_str(),
            WordPart::Any => "*",
            WordPart::One => ".",
            WordPart::AtMostOne => "?",
        });
        parts.collect::<String>()
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn phrases(phrases: &[Phrase]) -> String {
    let part = |part: &Part| match part {
        Part::Gap(words) => format!("({words})"),
        Part::Words(placed) => {
            let edge = |is_there: bool, edge: &'static str| if is_there { edge } else { "" };
            let (first, last) = (edge(placed.first, "^"), edge(placed.last, "$"));
            format!("{first}{}{last}", words(&placed.words))
        }
    };
    let phrase = |phrase: &Phrase| phrase.iter().map(part).collect::<Vec<_>>().join(" ");
    phrases.iter().map(phrase).collect::<Vec<_>>().join("|")
}

fn spans_shown(spans: &Spans) -> String {
    match spans {
        Spans::Phrases(list) => format!("<{}>", phrases(list)),
        Spans::Near {
            left,
            right,
            most,
            ordered,
        } => {
            let sign = if *ordered { "before" } else { "near" };
            format!("<{}> {sign} {most} <{}>", phrases(left), phrases(right))
        }
    }
}

/// The text is kept unchanged, and each attribute has its effect.
#[test]
fn terms_keep_their_text_and_their_attributes() {
    let offer = koha();
    for (pqf, expected) in [
        ("@attr 1=4 {Łódź & O'Neill}", "title all Łódź & O'Neill"),
        ("@attr 1=4 Łódź", "title <Łódź>"),
        ("war", "any <war>"),
        ("@attr 1=1036 {War Tolstoy}", "any all War Tolstoy"),
        ("@attr 1=4 @attr 4=1 {War and}", "title <War and>"),
        ("@attr 1=4 @attr 4=106 {War and}", "title some War and"),
        ("@attr 1=4 @attr 5=1 {War Pea}", "title all War* Pea*"),
        (
            "@attr 1=4 @attr 5=1 @attr 4=1 {War Pea}",
            "title <War Pea*>",
        ),
        ("@attr 1=4 @attr 5=2 AR", "title <*AR>"),
        ("@attr 1=4 @attr 5=3 A", "title <*A*>"),
        ("@attr 1=4 @attr 5=101 {Wom#n, #x}", "title all Wom*n *x"),
        ("@attr 1=4 @attr 5=104 {c#l?1r}", "title <c.l?r>"),
        (
            "@attr 1=4 @attr 6=3 {War : peace /}",
            "title <^War : peace /$>",
        ),
        ("@attr 1=4 @attr 4=3 {War}", "title <^War$>"),
        ("@attr 1=4 @attr 4=108 {War}", "title <^War$>"),
        ("@attr 1=4 @attr 3=1 {War and}", "title <^War and>"),
        ("@attr 1=4 @attr 3=1 @attr 5=1 {War an}", "title <^War an*>"),
        ("@attr 1=4 @attr 6=3 @attr 5=1 {War an}", "title <^War an*>"),
        ("@attr 1=4 @attr 6=3 @attr 5=2 {ar an}", "title <*ar an$>"),
        ("@attr 1=4 @attr 6=2 @attr 5=104 {w#r}", "title <^w.r$>"),
        ("@attr 1=4 @attr 2=103 x", "title exists"),
        ("@attr 1=1016 @attr 2=103 x", "everything"),
        (
            "@attr 1=4 @attr 2=6 war",
            "all[title exists] without[title <war>]",
        ),
        ("@attr 1=4 @attr 2=4 {War /}", "title range >=War /"),
        ("@attr 1=12 5", "docid ids 5"),
        ("@attr 1=1032 {a b}", "docid ids a b"),
        ("@attr 1=12 {}", "nothing"),
        (
            "@attr 1=7 {0-306-40615-2}",
            "isbn keys 9780306406157|0306406152",
        ),
        (
            "@attr 1=7 {978 0306406157}",
            "isbn keys 9780306406157|0306406152",
        ),
        (
            "@attr 1=7 {0131487876 (pbk.)}",
            "isbn keys 9780131487871|0131487876",
        ),
        ("@attr 1=7 none", "nothing"),
        (
            "@attr 1=7 @attr 5=1 {0-306-4}",
            "isbn open 03064* 9780 3064*",
        ),
        ("@attr 1=31 1990", "publicationdate date 1990 1990"),
        ("@attr 1=31 @attr 2=4 1990", "publicationdate dates >=1990"),
        (
            "@attr 1=32 @attr 2=2 {2005-12-31}",
            "acquisitiondate dates <=20051231",
        ),
        ("@attr 1=1031 BK", "itemtype keys BK"),
        ("@attr 1=1031 @attr 5=1 B", "itemtype open B*"),
    ] {
        let expected = expected.replace("9780 3064", "97803064");
        assert_eq!(read(&offer, pqf), expected, "{pqf}");
    }
}

/// If the fields do not support an attribute, the search is refused with the diagnostic for that attribute.
#[test]
fn unsupported_attributes_are_refused_with_their_diagnostics() {
    let offer = koha();
    for (pqf, expected) in [
        ("@attr 1=9999 war", "114 9999"),
        ("@attr 1=1033 @attr 2=1 5", "117 1"),
        ("@attr 1=4 @attr 5=102 w.r", "120 102"),
        ("@attr 1=12 @attr 5=1 5", "120 1"),
        ("@attr 1=7 @attr 2=1 0306406152", "117 1"),
        ("@attr 1=1011 @attr 2=4 990101", "117 4"),
        ("@attr 1=63 @attr 2=4 a", "117 4"),
        ("@attr 1=63 @attr 3=1 a", "119 1"),
        ("@attr 1=63 @attr 6=3 a", "122 3"),
        ("@attr 1=63 @attr 4=3 a", "118 3"),
        ("@attr 1=4 @attr 4=106 @attr 3=1 {a b}", "123 4"),
        ("@attr 1=4 @attr 2=4 @attr 5=1 a", "123 2"),
        ("@attr 1=4 @attr 2=4 @attr 4=2 a", "117 4"),
        ("@attr 1=4 @attr 2=100 a", "117 100"),
        ("@attr 1=4 {!! /}", "125 !! /"),
        ("@attr 1=4 @attr 5=101 {a #}", "125 a #"),
        ("@attr 1=31 @attr 4=4 90", "126 90"),
        ("@attr 1=31 {no date}", "126 no date"),
    ] {
        assert_eq!(read(&offer, pqf), expected, "{pqf}");
    }
}

#[test]
fn distances_are_those_of_words_in_one_value() {
    let offer = koha();
    for (pqf, expected) in [
        (
            "@prox 0 3 1 2 k 2 @attr 1=4 War @attr 1=4 Peace",
            "title <War> before 3 <Peace>",
        ),
        (
            "@prox 0 3 0 1 k 2 @attr 1=4 @attr 4=1 {War and} @attr 1=4 @attr 5=1 Pea",
            "title <War and> near 2 <Pea*>",
        ),
        (
            "@prox 0 2 1 3 k 2 @attr 1=4 a @attr 1=4 b",
            "title <a (1) b>",
        ),
        (
            "@prox 1 3 1 2 k 2 @attr 1=4 a @attr 1=4 b",
            "all[title <a>, title <b>] without[title <a> before 3 <b>]",
        ),
        ("@prox 0 101 1 2 k 2 @attr 1=4 a @attr 1=4 b", "202 101"),
        ("@prox 0 3 1 2 k 3 @attr 1=4 a @attr 1=4 b", "132 3"),
        ("@prox 0 3 1 5 k 2 @attr 1=4 a @attr 1=4 b", "131 5"),
        (
            "@prox 0 3 1 2 k 2 @attr 1=4 a @attr 1=21 b",
            "201 operands of different indexes",
        ),
        (
            "@prox 0 3 1 2 k 2 @attr 1=4 @attr 3=1 a @attr 1=4 b",
            "201 operands with position or completeness",
        ),
        ("@prox 0 3 1 2 k 2 @attr 1=4 {a b} @attr 1=4 b", "129 "),
    ] {
        assert_eq!(read(&offer, pqf), expected, "{pqf}");
    }
}

const SMALL: &str =
    "engine = \"koha\"\n[record]\nidentifier = \"_id\"\norder = \"o\"\nfield = \"r\"\n";

/// Codes that users enter are converted to the values in the engine.
#[test]
fn codes_have_a_table() {
    let offer = offer(&format!(
        "{SMALL}[[index]]\nname = \"language\"\nuse = [54]\nkind = \"code\"\nkeys = [\"l\"]\ntable = \"languages\"\n\
         [table.languages]\neng = \"English\""
    ));
    for (pqf, expected) in [
        ("@attr 1=54 eng", "language keys English"),
        ("@attr 1=54 ENG", "language keys English"),
        ("@attr 1=54 fre", "language keys fre"),
        ("@attr 1=54 @attr 5=1 en", "120 1"),
    ] {
        assert_eq!(read(&offer, pqf), expected, "{pqf}");
    }
}

/// A query is refused if it becomes larger than the engine allows because words are searched in several fields.
#[test]
fn words_count_for_each_of_their_fields() {
    let offer = koha();
    let fields = offer
        .point(IndexId::ANY)
        .expect("an index")
        .fields(Role::Words)
        .len();
    let of = |words: usize| format!("@attr 1=1016 {{{}}}", vec!["w"; words].join(" "));
    let most = crate::engine::clause::MOST_LEAVES / fields;
    assert!(read(&offer, &of(most)).starts_with("any all w w"));
    assert!(read(&offer, &of(most + 1)).starts_with("31 "));
}

/// Queries in the search forms and connection files of well-known clients are answered.
#[test]
fn queries_of_known_clients_are_answered() {
    let offer = koha();
    for pqf in [
        // These queries come from the import forms of library systems.
        "@attr 1=7 0306406152",
        "@attr 1=8 1234-5679",
        "@attr 1=9 {  67012345 }",
        "@and @attr 1=4 {war and peace} @attr 1=1003 tolstoy",
        "@attr 1=1016 {war peace}",
        "@attr 1=12 5",
        "@attr 1=13 891.73",
        "@attr 1=1007 9780306406157",
        "@attr 1=21 @attr 4=1 {russian literature}",
        "@or @attr 1=1 @attr 4=1 {tolstoy, leo} @attr 1=2 {academy of sciences}",
        "@attr 1=7 @attr 4=2 0306406152",
        "@attr 1=1003 @attr 4=6 {tolstoy leo}",
        // Connection files of reference managers send all six attributes.
        "@attr 1=1003 @attr 2=3 @attr 3=3 @attr 4=2 @attr 5=1 @attr 6=1 tolst",
        "@attr 1=4 @attr 2=3 @attr 3=1 @attr 4=1 @attr 5=1 @attr 6=1 {war and}",
        "@attr 1=4 @attr 2=3 @attr 3=3 @attr 4=1 @attr 5=100 @attr 6=1 {war and peace}",
        "@attr 1=31 @attr 2=3 @attr 3=3 @attr 4=4 @attr 5=100 @attr 6=1 1990",
        "@attr 1=7 @attr 2=3 @attr 3=1 @attr 4=2 @attr 5=100 @attr 6=1 0306406152",
        "@attr 1=1016 @attr 2=3 @attr 3=3 @attr 4=6 @attr 5=1 @attr 6=1 {war peac}",
        "@and @attr 1=1003 austen @not @attr 1=4 emma @attr 1=31 @attr 2=4 1990",
        // These queries follow the Bath profile (levels 0 and 1).
        "@attr 1=1003 @attr 2=3 @attr 3=3 @attr 4=2 @attr 5=100 @attr 6=1 austen",
        "@attr 1=1003 @attr 2=3 @attr 3=1 @attr 4=1 @attr 5=100 @attr 6=1 {austen, jane}",
        "@attr 1=4 @attr 2=3 @attr 3=1 @attr 4=1 @attr 5=100 @attr 6=3 {emma}",
        "@attr 1=21 @attr 2=3 @attr 3=1 @attr 4=1 @attr 5=1 @attr 6=1 {england soc}",
        "@attr 1=1031 @attr 2=3 @attr 3=1 @attr 4=2 @attr 5=100 @attr 6=1 BK",
        "@attr 1=54 @attr 2=3 @attr 3=3 @attr 4=2 @attr 5=100 @attr 6=1 eng",
        "@attr 1=1012 @attr 2=4 @attr 4=5 20050101",
        // These queries are translated from CQL.
        "@attr 1=4 @attr 4=108 {war and peace}",
        "@attr 1=1003 @attr 4=6 @attr 5=104 {tolst?}",
        "@attr 1=1032 @attr 4=108 5",
    ] {
        let read = read(&offer, pqf);
        let is_refused = read
            .split(' ')
            .next()
            .is_some_and(|word| word.parse::<i64>().is_ok());
        assert!(!is_refused && read != "nothing", "{pqf}: {read}");
    }
}
