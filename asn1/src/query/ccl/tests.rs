//! Tests for bib files, faults, limits and printing. The RPN of queries is tested in `tests/tests/query`, with a table.

use super::*;
use crate::apdu::{MAX_RPN_DEPTH, RpnQuery};
use crate::query::{MAX_QUERY_LENGTH, QueryErrorKind, names};

fn bib(text: &str) -> Bib {
    Bib::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn read(text: &str, bib: &Bib) -> RpnQuery {
    parse(text, bib).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn lines_of_a_bib_file() {
    for (line, query, rpn) in [
        ("ti u=4", "ti=x", "@attr 1=4 x"),
        ("\t ti\tU = 4 # title", "ti=x", "@attr 1=4 x"),
        ("ti 1=4\r\n\r\nti s=1", "ti=x", "@attr 4=1 @attr 1=4 x"),
        ("ti u=4,5", "ti=x", "@or @attr 1=4 x @attr 1=5 x"),
        ("ti u=0", "ti=x", "x"),
        ("ti", "ti=x", "x"),
        ("ti 12=3 7=name", "ti=x", "@attr 7=name @attr 12=3 x"),
        ("ti 4=pw", "ti=x", "@attr 4=pw x"),
        ("ti s=ab t=q", "ti=x", "@attr 5=q @attr 4=ab x"),
        ("ti s=PW", "ti=x", "@attr 4=2 x"),
        ("n gils,u=5", "n=x", "@attr GILS 1=5 x"),
        ("n 1.2.3 , 1=5", "n=x", "@attr 1.2.3 1=5 x"),
        ("n gils,1=5 4=1", "n=x", "@attr 4=1 @attr GILS 1=5 x"),
        ("n exp1,1=1", "n=x", "@attr Exp-1 1=1 x"),
        (
            "b ti au\nti u=4\nau u=1",
            "b=x",
            "@or @attr 1=4 x @attr 1=1 x",
        ),
        ("# x y z=\n   # more\n@and og\n", "a og and", "@and a and"),
        ("@not\n@or", "a not or", "\"a not or\""),
        ("@mask #", "a#b", "a#b"),
        ("@case 0", "a AND b", "@and a b"),
        ("@stop.ti the of", "the", "the"),
    ] {
        assert_eq!(read(query, &bib(line)).to_string(), rpn, "{line}");
    }
}

#[test]
fn errors_of_a_bib_file_name_the_line() {
    for (text, message) in [
        (
            "ti=4",
            "line 1 of the bib file: \"ti=4\" cannot be the name of a qualifier",
        ),
        (
            "\n\nti x=4",
            "line 3 of the bib file: \"x\" is not an attribute type: a number, or one of u r p s t c",
        ),
        (
            "ti 0=4",
            "line 1 of the bib file: \"0\" is not an attribute type: a number, or one of u r p s t c",
        ),
        (
            "ti u=4a",
            "line 1 of the bib file: \"4a\" is not an attribute value",
        ),
        (
            "ti u=99999999999999999999",
            "line 1 of the bib file: \"99999999999999999999\" is not an attribute value",
        ),
        (
            "ti u=",
            "line 1 of the bib file: \"u=\" is not an attribute of the form type=value",
        ),
        (
            "ti u=4,",
            "line 1 of the bib file: \"u=\" is not an attribute of the form type=value",
        ),
        (
            "ti gils,u",
            "line 1 of the bib file: \"gils,u\" is not an attribute of the form type=value",
        ),
        (
            "ti =4",
            "line 1 of the bib file: \"=4\" is not an attribute of the form type=value",
        ),
        (
            "ti u=4 au",
            "line 1 of the bib file: \"au\" is not an attribute of the form type=value",
        ),
        (
            "ti au u=4",
            "line 1 of the bib file: \"au\" is not an attribute of the form type=value",
        ),
        (
            "ti u=\"4\"",
            "line 1 of the bib file: a quote before \"4\\\"\"",
        ),
        (
            "a u=1\nti a\nti u=4",
            "line 3 of the bib file: qualifier \"ti\" is defined twice",
        ),
        (
            "a u=1\na b",
            "line 2 of the bib file: qualifier \"a\" is defined twice",
        ),
        (
            "x\ntiau ti au",
            "line 2 of the bib file: an alias of \"ti\", which is not defined",
        ),
        (
            "a b\nb c\nc u=1",
            "line 1 of the bib file: an alias of \"b\", which is an alias itself",
        ),
        (
            "a a",
            "line 1 of the bib file: an alias of \"a\", which is an alias itself",
        ),
        (
            "@xor x",
            "line 1 of the bib file: @xor is not a directive: and, or, not, set, truncation, mask, case, field or stop.NAME",
        ),
        (
            "@case",
            "line 1 of the bib file: \"\" is not a value of this directive",
        ),
        (
            "@case yes",
            "line 1 of the bib file: \"yes\" is not a value of this directive",
        ),
        (
            "@field both",
            "line 1 of the bib file: \"both\" is not a value of this directive",
        ),
    ] {
        let error = Bib::parse(text).expect_err(text);
        assert_eq!(error.to_string(), message);
    }
    assert!(Bib::parse(&" ".repeat(MAX_BIB_LENGTH)).is_ok());
    let error = Bib::parse(&" ".repeat(MAX_BIB_LENGTH + 1)).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "line 1 of the bib file: a bib file of more than 1048576 octets"
    );
}

#[test]
fn the_default_file_has_the_names_of_the_other_languages() {
    let bib = Bib::parse(include_str!("default.bib")).expect("the default file");
    assert_eq!(bib, Bib::default());
    let names = names::TABLE.iter().flat_map(|index| {
        [index.name]
            .into_iter()
            .chain(index.aliases.iter().copied())
    });
    for name in names {
        let query = read(&format!("{name}=x"), &bib);
        let by_name = names::parse(&format!("{name}:x")).expect(name);
        assert_eq!(query.to_string(), by_name.to_string(), "{name}");
    }
}

#[test]
fn error_messages_of_queries() {
    for (text, message) in [
        ("", "a term is missing at octet 0 of the query"),
        ("ti=war and", "a term is missing at octet 10 of the query"),
        (
            "titel=war",
            "index \"titel\" is not known at octet 0 of the query; did you mean \"title\"?",
        ),
        (
            "ti,autor=x",
            "index \"autor\" is not known at octet 3 of the query; did you mean \"author\"?",
        ),
        (
            "ti>war",
            "relation \">\" cannot be used with this qualifier at octet 2 of the query",
        ),
        (
            "date==1",
            "relation \"==\" cannot be used with this qualifier at octet 4 of the query",
        ),
        (
            "date>(set=1)",
            "relation \">\" cannot be used with this qualifier at octet 4 of the query",
        ),
        (
            "ti=w?r",
            "truncation inside a term cannot be used with this qualifier at octet 4 of the query",
        ),
        (
            "exact,ti=w?",
            "truncation on the right cannot be used with this qualifier at octet 10 of the query",
        ),
        (
            "ti=ü w#r",
            "a mask cannot be used with this qualifier at octet 7 of the query",
        ),
        (
            "(ti=war",
            "a closing parenthesis is missing at octet 7 of the query",
        ),
        (
            "ti=war)",
            "\")\" is not allowed here at octet 6 of the query",
        ),
        (
            "set=1 x",
            "\"x\" is not allowed here at octet 6 of the query",
        ),
        (
            "set=",
            "the name of a result set is missing at octet 4 of the query",
        ),
        ("ti=\"war", "a quote is not closed at octet 3 of the query"),
    ] {
        let error = parse(text, &Bib::default()).expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn a_relation_applies_to_all_terms_after_it() {
    for (text, rpn) in [
        (
            "date>1980 % 1990",
            "@prox 0 1 0 2 known 2 @attr 2=5 @attr 1=31 1980 @attr 2=5 @attr 1=31 1990",
        ),
        (
            "date>(1980 and date<1990)",
            "@and @attr 2=5 @attr 1=31 1980 @attr 2=5 @attr 1=31 1990",
        ),
        ("date=(1980 or 1990)", "@or @attr 1=31 1980 @attr 1=31 1990"),
    ] {
        assert_eq!(read(text, &Bib::default()).to_string(), rpn);
    }
}

#[test]
fn at_the_limit_and_one_past_it() {
    let bib = bib("term s=al\nti u=4\nb ti au\nau u=1");
    let kind = |text: &str| parse(text, &bib).err().map(|error| error.kind);
    let deep = Some(QueryErrorKind::TooDeep(MAX_RPN_DEPTH));
    let parentheses = |depth| format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(kind(&parentheses(MAX_RPN_DEPTH)), None);
    assert_eq!(kind(&parentheses(MAX_RPN_DEPTH + 1)), deep);
    let qualified = |depth| format!("{}x{}", "ti=(".repeat(depth), ")".repeat(depth));
    assert_eq!(kind(&qualified(MAX_RPN_DEPTH)), None);
    for repeated in ["x ", "x and ", "x or x not ", "x % "] {
        let count = MAX_RPN_DEPTH / repeated.matches('x').count();
        assert_eq!(kind(&format!("{}x", repeated.repeat(count))), None);
        assert_eq!(kind(&format!("{}x", repeated.repeat(count + 1))), deep);
    }
    let nested = |depth| format!("{}x{}", "x and (".repeat(depth), ")".repeat(depth));
    assert_eq!(kind(&nested(MAX_RPN_DEPTH)), None);
    assert_eq!(kind(&nested(MAX_RPN_DEPTH + 1)), deep);
    let doubled = format!("{}x{}", "b=(".repeat(40), ")".repeat(40));
    assert!(matches!(
        kind(&doubled),
        Some(QueryErrorKind::TooMany(MAX_WRITTEN_OUT, _))
    ));
    let lists = format!(
        "{}x{}",
        format!("{}ti=(", "ti,".repeat(300)).repeat(900),
        ")".repeat(900)
    );
    assert!(matches!(
        kind(&lists),
        Some(QueryErrorKind::TooMany(MAX_WRITTEN_OUT, _))
    ));
    assert_eq!(kind(&"x".repeat(MAX_QUERY_LENGTH)), None);
    assert_eq!(
        kind(&"x".repeat(MAX_QUERY_LENGTH + 1)),
        Some(QueryErrorKind::TooLong(MAX_QUERY_LENGTH))
    );
}

#[test]
fn queries_are_printed() {
    for (rpn, text) in [
        (
            "@and @attr 1=4 war @attr 1=1003 tolstoy",
            "ti=war and au=tolstoy",
        ),
        ("@attr 1=1016 war", "war"),
        ("@attr 1=1016 \"war and peace\"", "\"war and peace\""),
        ("@attr 1=1016 and", "\"and\""),
        ("war", "bare=war"),
        ("\"\"", "bare=\"\""),
        ("@attr 1=4 \"war and peace\"", "ti=\"war and peace\""),
        ("@attr 1=4 @attr 4=1 war", "phrase,ti=war"),
        ("@attr 4=1 @attr 1=4 war", "ti,phrase=war"),
        ("@attr 4=104 @attr 1=1032 pg1342", "docid=pg1342"),
        ("@attr 1=1032 pg1342", "recordid=pg1342"),
        ("@attr 5=1 @attr 1=4 war", "ti=war?"),
        ("@attr 5=2 @attr 1=4 \"a b\"", "ti=?\"a b\""),
        ("@attr 5=3 @attr 1=4 war", "ti=?war?"),
        ("@attr 5=100 @attr 1=4 war", "ti,exact=war"),
        ("@attr 5=102 @attr 1=4 w.*r.", "regex,ti=w?r#"),
        ("@attr 5=104 @attr 1=4 w?r\\\\#", "mask,ti=w?r\\#"),
        ("@attr 1=4 what?", "ti=\"what?\""),
        (
            "@attr 1=4 \"a \\\"b\\\" \\\\c\\\\\"",
            "ti=\"a \\\"b\\\" \\\\c\\\\\"",
        ),
        ("@attr 2=5 @attr 1=31 1980", "date>1980"),
        ("@attr 1=31 1980-1990", "date=\"1980-1990\""),
        (
            "@attr 6=3 @attr 3=1 @attr 4=1 @attr 1=4 war",
            "ti,phrase,first,field=war",
        ),
        ("@set 1", "set=1"),
        ("@set \"my set\"", "set=\"my set\""),
        (
            "@or @and a b @not c d",
            "bare=a and bare=b or (bare=c not bare=d)",
        ),
        (
            "@prox 0 1 1 2 known 2 a @or b c",
            "(bare=a) ! (bare=b or bare=c)",
        ),
        (
            "@and x @prox 0 3 0 2 known 2 a b",
            "bare=x and (bare=a) %3 (bare=b)",
        ),
        (
            "@prox 0 3 0 2 known 2 @prox 0 1 0 2 known 2 a b c",
            "((bare=a) % (bare=b)) %3 (bare=c)",
        ),
        ("@attr 1=4 日本", "ti=日本"),
    ] {
        let query: RpnQuery = rpn.parse().expect(rpn);
        let printed =
            print(&query, &Bib::default()).unwrap_or_else(|error| panic!("{rpn}: {error}"));
        assert_eq!(printed, text, "{rpn}");
        assert!(read(text, &Bib::default()) == query, "{text}");
    }
}

#[test]
fn queries_that_cannot_be_expressed() {
    for (rpn, message) in [
        ("@attrset gils x", "CCL cannot name the attribute set GILS"),
        (
            "@and a @attr 1=64 x",
            "the bib file has no qualifiers for @attr 1=64 x",
        ),
        (
            "@attr 1=dc.title x",
            "the bib file has no qualifiers for @attr 1=dc.title x",
        ),
        (
            "@term numeric 5",
            "CCL cannot write the term of @term numeric 5",
        ),
        ("a\\x0Ab", "CCL cannot write the term of a\\x0Ab"),
        (
            "@prox 1 1 0 2 known 2 a b",
            "CCL has no notation for @prox 1 1 0 2 known 2",
        ),
        (
            "@prox 0 1 0 2 known 3 a b",
            "CCL has no notation for @prox 0 1 0 2 known 3",
        ),
        (
            "@set \"a\\x09b\"",
            "CCL cannot name the result set of @set a\\x09b",
        ),
    ] {
        let query: RpnQuery = rpn.parse().expect(rpn);
        let error = print(&query, &Bib::default()).expect_err(rpn);
        assert_eq!(error.to_string(), message);
    }
    let query: RpnQuery = "@or a b".parse().expect("a query");
    let error = print(&query, &bib("@or")).expect_err("no operator");
    assert_eq!(error.to_string(), "the bib file has no operator for \"or\"");
}
