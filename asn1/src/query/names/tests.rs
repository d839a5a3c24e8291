//! Tests for words with index names, ranges of years, and truncated words.

use super::*;
use crate::bib1::attributes::use_name;
use crate::query::MAX_QUERY_LENGTH;

#[test]
fn words_with_names() {
    for (text, query) in [
        ("war", "@attr 1=1016 war"),
        ("ti:war", "@attr 1=4 war"),
        ("TI:War", "@attr 1=4 War"),
        ("ti:libr*", "@attr 5=1 @attr 1=4 libr"),
        ("*ology", "@attr 5=2 @attr 1=1016 ology"),
        ("*port*", "@attr 5=3 @attr 1=1016 port"),
        ("\"libr*\"", "@attr 1=1016 libr*"),
        (
            "* a*b a**",
            "@and @and @attr 1=1016 * @attr 1=1016 a*b @attr 1=1016 a**",
        ),
        ("docid:a*", "@attr 4=104 @attr 1=1032 a*"),
        (
            "ti:\"pride and prejudice\" au:austen",
            "@and @attr 1=4 \"pride and prejudice\" @attr 1=1003 austen",
        ),
        (
            "war and peace",
            "@and @and @attr 1=1016 war @attr 1=1016 and @attr 1=1016 peace",
        ),
        ("war OR peace", "@or @attr 1=1016 war @attr 1=1016 peace"),
        ("war NOT ti:peace", "@not @attr 1=1016 war @attr 1=4 peace"),
        (
            "ti:(war OR peace) x",
            "@and @or @attr 1=4 war @attr 1=4 peace @attr 1=1016 x",
        ),
        (
            "a (b c)",
            "@and @attr 1=1016 a @and @attr 1=1016 b @attr 1=1016 c",
        ),
        ("a(b)", "@and @attr 1=1016 a @attr 1=1016 b"),
        ("docid:x", "@attr 4=104 @attr 1=1032 x"),
        (
            "year:1850-1860 ti:war",
            "@and @and @attr 2=4 @attr 1=31 1850 @attr 2=2 @attr 1=31 1860 @attr 1=4 war",
        ),
        ("date:1850-", "@attr 2=4 @attr 1=31 1850"),
        ("yr:-1860", "@attr 2=2 @attr 1=31 1860"),
        (
            "year:1850–1860",
            "@and @attr 2=4 @attr 1=31 1850 @attr 2=2 @attr 1=31 1860",
        ),
        (
            "year:1850..1860",
            "@and @attr 2=4 @attr 1=31 1850 @attr 2=2 @attr 1=31 1860",
        ),
        ("date:1850..", "@attr 2=4 @attr 1=31 1850"),
        (
            "year:18??",
            "@and @attr 2=4 @attr 1=31 1800 @attr 2=2 @attr 1=31 1899",
        ),
        (
            "year:185?",
            "@and @attr 2=4 @attr 1=31 1850 @attr 2=2 @attr 1=31 1859",
        ),
        ("date:1850-05-01", "@attr 1=31 1850-05-01"),
        ("date:1850-05", "@attr 1=31 1850-05"),
        (
            "year:(1850- OR 1700)",
            "@or @attr 2=4 @attr 1=31 1850 @attr 1=31 1700",
        ),
        ("year:1850-06", "@attr 1=31 1850-06"),
        ("year:\"1850-1860\"", "@attr 1=31 1850-1860"),
        ("year:-", "@attr 1=31 -"),
        ("ti:1850-1860", "@attr 1=4 1850-1860"),
        (
            "year:1850-60",
            "!\"1850-60\" is not a range of years, which is written 1850-1860, 1850-, -1860, >1850 or 18?? (a term in \
             quotes is sent as it is) at octet 5 of the query",
        ),
        (
            "year:1860-1850",
            "!the years \"1860-1850\" end before they begin at octet 5 of the query",
        ),
        (
            "ti: war",
            "!a word to search for is missing at octet 3 of the query",
        ),
        ("12:30", "@attr 1=1016 12:30"),
        (":x", "@attr 1=1016 :x"),
        ("\"ti:war\"", "@attr 1=1016 ti:war"),
        ("\"a\\\"b\\c\"", "@attr 1=1016 a\\\"b\\\\c"),
        ("ti:\"\"", "@attr 1=4 \"\""),
        (
            "ti:\"war and peace\" -au:x",
            "@not @attr 1=4 \"war and peace\" @attr 1=1003 x",
        ),
        (
            "a -\"b c\" d",
            "@and @not @attr 1=1016 a @attr 1=1016 \"b c\" @attr 1=1016 d",
        ),
        (
            "ti:(a -(b OR c))",
            "@not @attr 1=4 a @or @attr 1=4 b @attr 1=4 c",
        ),
        ("well-known", "@attr 1=1016 well-known"),
        ("a \"-b\"", "@and @attr 1=1016 a @attr 1=1016 -b"),
        ("ti:-1", "@attr 1=4 -1"),
        (
            "-a",
            "!an exclusion with no word before it (to search for the -, put it in quotes) at octet 0 of the query",
        ),
        (
            "a OR -b",
            "!an exclusion with no word before it (to search for the -, put it in quotes) at octet 5 of the query",
        ),
        (
            "a - b",
            "!a word to exclude is missing at octet 3 of the query",
        ),
        (
            "a -",
            "!a word to exclude is missing at octet 3 of the query",
        ),
        ("ORwell", "@attr 1=1016 ORwell"),
        (
            "",
            "!a word to search for is missing at octet 0 of the query",
        ),
        (
            "a OR",
            "!a word to search for is missing at octet 4 of the query",
        ),
        (
            "OR a",
            "!\"OR\" is not allowed here at octet 0 of the query",
        ),
        (
            "a AND NOT b",
            "!\"NOT\" is not allowed here at octet 6 of the query",
        ),
        (
            "(a",
            "!a closing parenthesis is missing at octet 0 of the query",
        ),
        ("a)", "!\")\" is not allowed here at octet 1 of the query"),
        (
            "()",
            "!a word to search for is missing at octet 1 of the query",
        ),
        ("a \"b", "!a quote is not closed at octet 2 of the query"),
        (
            "x titel:war",
            "!index \"titel\" is not known at octet 2 of the query; did you mean \"title\"?",
        ),
        (
            "xyzzy:war",
            "!index \"xyzzy\" is not known at octet 0 of the query",
        ),
    ] {
        match parse(text) {
            Ok(found) => assert_eq!(found.to_string(), query, "{text}"),
            Err(error) => assert_eq!(format!("!{error}"), query, "{text}"),
        }
    }
}

#[test]
fn r_f2_years_and_other_terms_are_compared() {
    for (text, query) in [
        ("year:>1900", "@attr 2=5 @attr 1=31 1900"),
        ("year:>=1900", "@attr 2=4 @attr 1=31 1900"),
        ("yr:<1900", "@attr 2=1 @attr 1=31 1900"),
        ("date:<=1900", "@attr 2=2 @attr 1=31 1900"),
        ("date:<>1900", "@attr 2=6 @attr 1=31 1900"),
        ("date:≥1900", "@attr 2=4 @attr 1=31 1900"),
        ("date:=1900", "@attr 1=31 1900"),
        (
            "year: >1900",
            "!a word to search for is missing at octet 5 of the query",
        ),
        ("year:> 1900", "@attr 2=5 @attr 1=31 1900"),
        ("year>1900", "@attr 2=5 @attr 1=31 1900"),
        ("YEAR<=1900", "@attr 2=2 @attr 1=31 1900"),
        ("year≤1900", "@attr 2=2 @attr 1=31 1900"),
        ("year > 1900", "@attr 2=5 @attr 1=31 1900"),
        ("date:>1900-05-01", "@attr 2=5 @attr 1=31 1900-05-01"),
        (
            "ti:war year>=1850 year<1860",
            "@and @and @attr 1=4 war @attr 2=4 @attr 1=31 1850 @attr 2=1 @attr 1=31 1860",
        ),
        (
            "year:(>1850 <1860) OR x",
            "@or @and @attr 2=5 @attr 1=31 1850 @attr 2=1 @attr 1=31 1860 @attr 1=1016 x",
        ),
        (
            "war -year>1900",
            "@not @attr 1=1016 war @attr 2=5 @attr 1=31 1900",
        ),
        ("ddc:>=800", "@attr 2=4 @attr 1=13 800"),
        ("ddc<800", "@attr 2=1 @attr 1=13 800"),
        (
            "modified:>\"2020 01\"",
            "@attr 2=5 @attr 1=1012 \"2020 01\"",
        ),
        // Text that is not a comparison, or that is in quotation marks, remains a term.
        ("year:\">1900\"", "@attr 1=31 >1900"),
        (
            "a text < b",
            "@and @and @and @attr 1=1016 a @attr 1=1016 text @attr 1=1016 < @attr 1=1016 b",
        ),
        ("a>b", "@attr 1=1016 a>b"),
        (">1900", "@attr 1=1016 >1900"),
        ("docid:>x", "@attr 4=104 @attr 1=1032 >x"),
        ("e=mc2", "@attr 1=1016 e=mc2"),
        (
            "year:>",
            "!a word to search for is missing at octet 6 of the query",
        ),
        (
            "year:>19xx",
            "!\">19xx\" is not a range of years, which is written 1850-1860, 1850-, -1860, >1850 or 18?? (a term in \
             quotes is sent as it is) at octet 5 of the query",
        ),
        (
            "year:>1900-1950",
            "!\">1900-1950\" is not a range of years, which is written 1850-1860, 1850-, -1860, >1850 or 18?? (a term \
             in quotes is sent as it is) at octet 5 of the query",
        ),
    ] {
        match parse(text) {
            Ok(found) => assert_eq!(found.to_string(), query, "{text}"),
            Err(error) => assert_eq!(format!("!{error}"), query, "{text}"),
        }
    }
}

#[test]
fn r_f8_every_index_has_an_example() {
    for index in TABLE {
        let query = parse(index.example).expect(index.example).to_string();
        let attribute = format!("@attr 1={} ", index.use_value);
        assert!(query.contains(&attribute), "{index:?}: {query}");
    }
}

#[test]
fn r_f8_the_full_name_is_suggested() {
    for (name, similar) in [
        ("pub", Some("publisher")),
        ("publ", Some("publisher")),
        ("auther", Some("author")),
        ("titl", Some("title")),
        ("yer", Some("date")),
        ("xyzzy", None),
    ] {
        let found = Names::default().attributes(name);
        assert_eq!(found, Err(similar.map(str::to_owned)), "{name}");
    }
}

#[test]
fn a_profile_overrides_names() {
    let names = Names::default().with("Shelf", 53).with("ti", 33);
    let query = names.parse("shelf:a ti:b title:c").expect("a query");
    let expected = "@and @and @attr 1=53 a @attr 1=33 b @attr 1=4 c";
    assert_eq!(query.to_string(), expected);
    assert_eq!(names.attributes("shelv"), Err(Some("shelf".to_owned())));
}

#[test]
fn names_are_unique_and_their_use_values_known() {
    let mut known = std::collections::BTreeSet::new();
    for index in TABLE {
        assert!(use_name(index.use_value).is_some(), "{index:?}");
        for name in std::iter::once(&index.name).chain(index.aliases) {
            assert!(known.insert(*name), "{name}");
            assert_eq!(*name, name.to_lowercase());
        }
    }
}

#[test]
fn at_the_limit_and_one_past_it() {
    assert!(parse(&"x ".repeat(MAX_RPN_DEPTH + 1)).is_ok());
    assert!(parse(&"x ".repeat(MAX_RPN_DEPTH + 2)).is_err());
    let nested = |depth: usize| format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(MAX_RPN_DEPTH)).is_ok());
    assert!(parse(&nested(MAX_RPN_DEPTH + 1)).is_err());
    assert!(parse(&"x".repeat(MAX_QUERY_LENGTH)).is_ok());
    assert!(parse(&"x".repeat(MAX_QUERY_LENGTH + 1)).is_err());
}
