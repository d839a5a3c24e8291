//! Queries as the engine gets them, in a readable form: `‹` and `›` for the edges of a subfield, `k7:` for a key of index 7 and `h7` for
//! its presence, `^2` for a digit that is no part of a word.

use z3950_server::asn1::bib1::attributes::{TRUNCATION, USE};
use z3950_server::asn1::query::parse_pqf;
use z3950_server::memory::{AccessPoints, DocidField, Profile};

use super::*;
use crate::engine::IndexUses;

fn layout() -> EngineLayout {
    EngineLayout::new(
        AccessPoints::default(),
        Profile::default(),
        DocidField::default(),
        &IndexUses::default(),
    )
    .expect("indexes")
}

fn readable(text: &str) -> String {
    let text = text
        .replace(token::SUBFIELD_BEGIN, "‹")
        .replace(token::SUBFIELD_END, "›");
    let mut shown = String::new();
    for character in text.chars() {
        match u32::from(character) {
            octet @ 0xe000..=0xe0ff => shown.push_str(&format!("<{:02x}>", octet - 0xe000)),
            index @ 0xe100..=0xe17f => shown.push_str(&format!("h{}", index - 0xe100)),
            index @ 0xe200..=0xe27f => shown.push_str(&format!("k{}:", index - 0xe200)),
            0xf700 => shown.push('…'),
            0xf701 => shown.push('∅'),
            digit @ 0xf710..=0xf71f => shown.push_str(&format!("^{:x}", digit - 0xf710)),
            _ => shown.push(character),
        }
    }
    shown
}

/// The expression of a query, or its diagnostic.
fn translated(layout: &EngineLayout, query: &str) -> String {
    let query = parse_pqf(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let of_set = |name: &[u8]| match name {
        b"old" => Ok("(@t_title old)".to_owned()),
        b"long" => Ok("a".repeat(MOST_OCTETS / 8)),
        _ => Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name)),
    };
    match translate(layout, &query, &of_set) {
        Ok(query) => readable(&query.text),
        Err(why) => format!("{} {}", why.condition, why.addinfo.to_string_lossy()),
    }
}

#[test]
fn queries_are_translated() {
    let layout = layout();
    let key = |name: &str| {
        let index = layout.map().by_name(name).expect("an index").number();
        (format!("k{index}:"), format!("h{index}"))
    };
    let ((date, _), (isbn, _)) = (key("publicationdate"), key("isbn"));
    for (query, expected) in [
        ("@attr 1=4 War", "(@t_title war)".to_owned()),
        (
            "@attr 1=4 {War & peace}",
            "(@t_title (war peace))".to_owned(),
        ),
        (
            "@attr 1=4 @attr 4=106 {War peace}",
            "(@t_title (war | peace))".to_owned(),
        ),
        (
            "@attr 1=4 @attr 4=1 {on war}",
            "(@t_title \"on war\")".to_owned(),
        ),
        ("@attr 1=4 @attr 3=1 war", "(@t_title \"_ war\")".to_owned()),
        (
            "@attr 1=4 @attr 3=1 @attr 5=2 ar",
            "(@t_title \"_ %*ar\")".to_owned(),
        ),
        (
            "@attr 1=4 @attr 3=1 @attr 5=104 {?1ar}",
            "(@t_title \"_ %ar\")".to_owned(),
        ),
        (
            "@attr 1=4 @attr 3=2 {the war}",
            "(@t_title \"‹the war\")".to_owned(),
        ),
        ("@attr 1=4 @attr 6=2 war", "(@t_title ‹war›)".to_owned()),
        (
            "@attr 1=4 @attr 6=3 {on war}",
            "(@t_title \"_ on war _\")".to_owned(),
        ),
        (
            "@attr 1=4 @attr 6=3 @attr 5=1 {on war}",
            "(@t_title \"_ on war*\")".to_owned(),
        ),
        ("@attr 1=4 @attr 5=1 war", "(@t_title war*)".to_owned()),
        ("@attr 1=4 @attr 5=1 ж", "(@t_title ж*)".to_owned()),
        (
            "@attr 1=4 @attr 3=2 @attr 5=1 w",
            "(@t_title ‹w*)".to_owned(),
        ),
        ("@attr 1=4 @attr 5=2 war", "(@t_title *war)".to_owned()),
        (
            "@attr 1=4 @attr 5=3 {war pea}",
            "(@t_title (*war* *pea*))".to_owned(),
        ),
        (
            "@attr 1=4 @attr 5=104 {co#l?1r}",
            "(@t_title co?l%r)".to_owned(),
        ),
        (
            "@attr 1=4 @attr 5=101 {col#r}",
            "(@t_title col*r)".to_owned(),
        ),
        (
            "@attr 1=4 @attr 4=1 @attr 5=101 {on #ar}",
            "(@t_title \"on %*ar\")".to_owned(),
        ),
        (
            "@attr 1=4 @attr 2=6 war",
            "((@t_title _) !((@t_title war)))".to_owned(),
        ),
        ("@attr 1=4 @attr 2=103 x", "(@t_title _)".to_owned()),
        ("@attr 1=1016 @attr 2=103 x", "(@keys h1)".to_owned()),
        ("@attr 1=1032 {a-1}", "(@keys k0:a<2d>1)".to_owned()),
        (
            "@attr 1=1032 {A\"'|}",
            "(@keys k0:<41><22><27><7c>)".to_owned(),
        ),
        (
            "@attr 1=7 0-306-40615-2",
            format!("(@keys {isbn}9780306406157)"),
        ),
        ("@attr 1=31 1999", format!("(@keys {date}1999*)")),
        (
            "@attr 1=31 @attr 2=4 1998",
            format!(
                "(@keys ({date}1998* | {date}1999* | {date}2* | {date}3* | {date}4* | {date}5* | {date}6* | {date}7* | {date}8* | {date}9*))"
            ),
        ),
        ("@attr 1=31 @attr 2=1 0", "126 0".to_owned()),
        (
            "@or @attr 1=4 a @or @attr 1=4 b @and @attr 1=4 c @attr 1=4 d",
            "((@t_title b) | ((@t_title c) (@t_title d)) | (@t_title a))".to_owned(),
        ),
        (
            "@not @attr 1=4 a @set old",
            "((@t_title a) !((@t_title old)))".to_owned(),
        ),
        ("@set other", "30 other".to_owned()),
        (
            "@prox 0 2 1 2 k 2 @attr 1=4 a @attr 1=4 b",
            "(@t_title (\"a b\" | \"a * b\"))".to_owned(),
        ),
        (
            "@prox 0 2 0 3 k 2 @attr 1=4 a @attr 1=4 @attr 4=1 {b c}",
            "(@t_title (\"a * b c\" | \"b c * a\"))".to_owned(),
        ),
        (
            "@prox 1 1 1 2 k 2 @attr 1=4 a @attr 1=4 b",
            "(((@t_title a) (@t_title b)) !((@t_title \"a b\")))".to_owned(),
        ),
        (
            "@prox 0 50 0 2 k 2 @attr 1=4 a @attr 1=4 @attr 4=1 {b c}",
            "(@t_title (a NEAR/50 \"b c\"))".to_owned(),
        ),
        (
            "@prox 0 2 1 3 k 2 @prox 0 1 1 2 k 2 @attr 1=4 a @attr 1=4 b @attr 1=4 c",
            "(@t_title \"a b * c\")".to_owned(),
        ),
        // Words of operators are words.
        (
            "@attr 1=4 {NEAR MAYBE @x}",
            "(@t_title (near maybe x))".to_owned(),
        ),
        (
            "@attr 1=4 @attr 5=3 𠀀",
            "(@t_title *\u{f702}^2^0^0^0^0*)".to_owned(),
        ),
    ] {
        assert_eq!(translated(&layout, query), expected, "{query}");
    }
}

#[test]
fn what_the_engine_cannot_say_is_refused() {
    let layout = layout();
    let long = "a".repeat(21);
    for (query, expected) in [
        ("@attr 1=9999 x", "114 9999"),
        ("@attr 1=4 @attr 2=2 x", "117 an order of texts"),
        ("@attr 1=52 @attr 2=2 x", "117 an order of codes"),
        ("@attr 1=4 @attr 5=102 wa.*", "120 102"),
        ("@attr 1=4 @attr 5=3 a", "9 2"),
        ("@attr 1=4 @attr 5=2 a", "9 2"),
        ("@attr 1=4 @attr 5=3 ж", "9 2"),
        ("@attr 1=4 @attr 3=1 @attr 5=2 ж", "9 2"),
        ("@attr 1=4 @attr 5=104 {#ж}", "9 2"),
        (
            &format!("@attr 1=4 @attr 5=1 {long}"),
            &format!("11 {long}"),
        ),
        (
            "@attr 1=4 @attr 5=104 {war###}",
            "120 a mask for a number of characters at the edge of a word",
        ),
        (
            "@attr 1=4 @attr 5=104 {war#?}",
            "120 a mask for a number of characters at the edge of a word",
        ),
        ("@attr 1=4 @attr 5=104 {#a}", "9 2"),
        ("@attr 1=4 @attr 5=104 {c#lor}", "9 2"),
        ("@attr 1=4 @attr 5=1 w", "9 2"),
        ("@attr 1=4 @attr 5=1 @attr 4=1 {war w}", "9 2"),
        ("@prox 0 2 1 5 k 2 @attr 1=4 a @attr 1=4 b", "131 5"),
        ("@prox 0 2 1 2 k 3 @attr 1=4 a @attr 1=4 b", "132 3"),
        ("@prox 0 100 0 2 k 2 @attr 1=4 a @attr 1=4 b", "202 100"),
        (
            "@prox 0 2 1 2 k 2 @attr 1=4 a @attr 1=1003 b",
            "201 operands of different indexes",
        ),
        (
            "@prox 0 2 1 2 k 2 @attr 1=4 a @and @attr 1=4 b @attr 1=4 c",
            "129 ",
        ),
        ("@attr 1=4 {'\"|}", "125 '\"|"),
    ] {
        assert_eq!(translated(&layout, query), expected, "{query}");
    }
}

/// Every listed value can be used in some index, so that Explain promises nothing that is refused.
#[test]
fn explain_lists_what_queries_may_use() {
    let layout = layout();
    let attributes = layout.attributes();
    let of = |wanted| {
        attributes
            .iter()
            .filter(move |info| info.attribute_type == wanted)
    };
    assert!(of(USE).count() > 80);
    for info in &attributes {
        let (kind, value) = (info.attribute_type, info.value);
        let uses = of(USE).map(|info| info.value).collect::<Vec<_>>();
        let is_used = uses.into_iter().any(|index| {
            let own = match kind {
                USE => String::new(),
                kind => format!("@attr {kind}={value} "),
            };
            let index = if kind == USE { value } else { index };
            ["1999", "ab", "0378-5955"].into_iter().any(|term| {
                let query = translated(&layout, &format!("@attr 1={index} {own}{term}"));
                query.starts_with('(')
            })
        });
        assert!(is_used, "{kind}={value}");
    }
    let lists = |wanted| of(TRUNCATION).any(|info| info.value == wanted);
    assert!(lists(1) && !lists(REGULAR_EXPRESSION));
}

#[test]
fn no_character_of_a_term_gets_into_the_syntax() {
    let layout = layout();
    let syntax = "\\()|-!@~\"&/^$=<>*?%[]{}'`;#:,.+\u{0}\u{1}\n\t\u{f800}\u{e200}";
    for character in syntax.chars() {
        for (attributes, own) in [("1=4", "t_title"), ("1=1032", "keys"), ("1=54", "keys")] {
            let term = format!("ab{character}cd");
            let mut query = parse_pqf(&format!("@attr {attributes} x")).expect("a query");
            for operand in query.rpn.terms_mut() {
                operand.term =
                    z3950_server::asn1::apdu::Term::General(term.clone().into_bytes().into());
            }
            let unknown = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
            let text = translate(&layout, &query, &unknown).expect("a query").text;
            let words = text.strip_prefix(&format!("(@{own} ")).expect("a field");
            let words = words.strip_suffix(')').expect("parentheses");
            let words = words
                .strip_prefix('(')
                .map_or(words, |words| words.trim_end_matches(')'));
            let is_plain =
                |c: char| c.is_alphanumeric() || c == ' ' || ('\u{e000}'..'\u{e280}').contains(&c);
            assert!(
                words.chars().all(is_plain),
                "{character:?} in {attributes}: {words}"
            );
        }
    }
}

#[test]
fn expressions_are_limited() {
    let layout = layout();
    let of_size = |terms: usize| {
        let leaf = format!("@attr 1=4 {}", "a".repeat(36));
        let mut query = leaf.clone();
        for _ in 1..terms {
            query = format!("@or {query} {leaf}");
        }
        let query = parse_pqf(&query).expect("a query");
        let unknown = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
        translate(&layout, &query, &unknown).map(|query| query.text.len())
    };
    assert!(of_size(500).is_ok_and(|octets| octets < MOST_OCTETS));
    assert!(within_limit(MOST_OCTETS).is_ok());
    let refused = within_limit(MOST_OCTETS + 1).expect_err("too long");
    assert_eq!(Condition(refused.condition), Condition::RESOURCES_EXHAUSTED);
}

/// Keys and words are kept whole up to a length in the engine's characters, of which other characters take several.
#[test]
fn lengths_are_those_of_tokens() {
    let layout = layout();
    let dots = |number| "·".repeat(number);
    let far = |number| "𠀀".repeat(number);
    for (attributes, term, expected) in [
        ("1=54 @attr 5=1", dots(10), None),
        ("1=54 @attr 5=1", dots(11), Some(format!("11 {}", dots(11)))),
        ("1=54 @attr 5=104", far(3) + "#a", None),
        ("1=54 @attr 5=104", far(4) + "#a", Some("11 ".to_owned())),
        ("1=9 @attr 2=2", "0".repeat(20), None),
        (
            "1=9 @attr 2=2",
            "0".repeat(21),
            Some(format!("11 {}", "0".repeat(21))),
        ),
    ] {
        let query = translated(&layout, &format!("@attr {attributes} {term}"));
        match expected {
            None => assert!(query.starts_with('('), "{term}: {query}"),
            Some(expected) => assert_eq!(query, expected),
        }
    }
}

/// The parts of such a range would fill the memory of any machine.
#[test]
fn ranges_of_long_keys_are_refused_before_they_are_covered() {
    let layout = layout();
    let index = layout.map().by_name("lccn").expect("an index");
    let long = "0".repeat(1 << 22);
    for bound in [Bound::Included(long.clone()), Bound::Excluded(long)] {
        let range = Pattern::Range {
            from: bound,
            to: Bound::Unbounded,
        };
        let refused = key(index, Kind::Lccn, &range).expect_err("too long");
        assert_eq!(Condition(refused.condition), Condition::TOO_MANY_CHARACTERS);
    }
}

#[test]
fn distances_are_limited_by_the_number_of_phrases() {
    let layout = layout();
    let operands = "@attr 1=4 a @attr 1=4 b";
    let alike = "@attr 1=4 a @attr 1=4 @attr 4=1 {b a}";
    let open = "@attr 1=4 a @attr 1=4 @attr 5=1 ab";
    let phrases = |query: &str| {
        let query = translated(&layout, query);
        if query.starts_with('(') {
            Ok(query.matches('"').count() / 2)
        } else {
            Err(query)
        }
    };
    for (query, expected) in [
        (format!("@prox 0 99 0 2 k 2 {alike}"), Ok(198)),
        (format!("@prox 0 99 0 2 k 2 {open}"), Ok(198)),
        (format!("@prox 0 99 1 2 k 2 {operands}"), Ok(99)),
        (format!("@prox 0 99 1 3 k 2 {operands}"), Ok(1)),
        (
            format!("@prox 0 16 1 2 k 2 @prox 0 16 1 2 k 2 {operands} @attr 1=4 c"),
            Ok(MOST_PHRASES),
        ),
        (
            format!("@prox 0 17 1 2 k 2 @prox 0 16 1 2 k 2 {operands} @attr 1=4 c"),
            Err("202 17".to_owned()),
        ),
        (
            format!("@prox 0 100 1 3 k 2 {operands}"),
            Err("202 100".to_owned()),
        ),
    ] {
        assert_eq!(phrases(&query), expected, "{query}");
    }
}

/// A query is refused while its operands are read, not when all of them are there.
#[test]
fn operands_are_limited_together() {
    let layout = layout();
    let range = "@attr 1=9 @attr 2=4 0000000000";
    let near = "@prox 0 99 0 2 k 2 @attr 1=4 a @attr 1=4 a";
    for (operand, number) in [(range, 100), (near, 20), ("@set long", 9)] {
        let last = "@attr 1=9999 x";
        let query = |number| format!("@or {operand} ").repeat(number) + last;
        assert_eq!(translated(&layout, &query(5)), "114 9999", "{operand}");
        let refused = translated(&layout, &query(number));
        assert!(refused.starts_with("31 "), "{operand}: {refused}");
    }
}
