//! Tests of queries that are translated from one language to another, with the cases from YAZ's tests that translate RPN to CQL
//! and CQL to CCL. If our result differs, the last column contains the reason.

use z3950_asn1::query::cql::{self, Properties};
use z3950_asn1::query::{ccl, parse_pqf};

/// The properties that the cases need. The attributes are those in YAZ's tests.
const PROPERTIES: &str = "\
    set.cql = info:srw/cql-context-set/1/cql-v1.2\n\
    set.dc = info:srw/cql-context-set/1/dc-v1.1\n\
    set = info:srw/cql-context-set/1/dc-v1.1\n\
    index.cql.serverChoice = 1=1016\n\
    index.cql.allRecords = 1=_ALLRECORDS 2=103\n\
    index.dc.title = 1=4\n\
    index.dc.date = 1=30\n\
    relation.< = 2=1\nrelation.le = 2=2\nrelation.eq = 2=3\nrelation.exact = 2=3\n\
    relation.ge = 2=4\nrelation.> = 2=5\nrelation.<> = 2=6\n\
    relationModifier.regexp = 5=102\n\
    position.first = 3=1 6=1\nposition.any = 3=3 6=1\nposition.last = 3=4 6=1\n\
    position.firstAndLast = 3=3 6=3\n\
    structure.exact = 4=108\nstructure.* = 4=1\n\
    truncation.right = 5=1\ntruncation.left = 5=2\ntruncation.both = 5=3\n\
    truncation.none = 5=100\ntruncation.z3958 = 5=104\n\
    always = 6=1\n";

const LITERAL: &str = "without masks, a backslash is literal";

/// The cases: a query in PQF, our translation to CQL (or `!` and an error), and the reason why YAZ's CQL differs.
const RPN_TO_CQL: &[(&str, &str, &str)] = &[
    ("abc", "abc", ""),
    ("\"a b c\"", "\"a b c\"", ""),
    ("@and a b", "a and b", ""),
    ("@or a @and b c", "a or (b and c)", ""),
    (
        "@or @and a b @and c d",
        "a and b or (c and d)",
        "from left to right, operators bind alike",
    ),
    (
        "@or @or a b @or c d",
        "a or b or (c or d)",
        "from left to right, operators bind alike",
    ),
    (
        "@and @and a b @and c d",
        "a and b and (c and d)",
        "from left to right, operators bind alike",
    ),
    ("@attr 1=field abc", "field = abc", ""),
    ("@attr bib1 1=field abc", "field = abc", ""),
    (
        "@attr 1=title abc",
        "!the properties have no CQL for @attr 1=title abc",
        "title is another index here",
    ),
    ("@attr 1=4 abc", "dc.title = abc", ""),
    (
        "@attr 1=4 @attr 4=108 abc",
        "dc.title exact abc",
        "a relation; YAZ writes a modifier without =",
    ),
    (
        "@attr 1=4 @attr 3=1 @attr 6=1 abc",
        "dc.title = ^abc",
        "the position is kept",
    ),
    ("@attr 1=4 @attr 4=1 @attr 6=1 abc", "dc.title = abc", ""),
    ("@attr 1=1016 abc", "abc", ""),
    ("@attr 1=30 @attr 2=1 1980", "dc.date < 1980", ""),
    ("@attr 1=30 @attr 2=2 1980", "dc.date <= 1980", ""),
    ("@attr 1=30 @attr 2=3 1980", "dc.date = 1980", ""),
    ("@attr 1=30 @attr 2=4 1980", "dc.date >= 1980", ""),
    ("@attr 1=30 @attr 2=5 1980", "dc.date > 1980", ""),
    (
        "@and @attr 1=30 @attr 2=4 234 @attr 1=30 @attr 2=2 1990",
        "dc.date >= 234 and dc.date <= 1990",
        "",
    ),
    ("@attr 5=1 water", "water*", ""),
    ("@attr 5=2 water", "*water", ""),
    ("@attr 5=3 water", "*water*", ""),
    ("@attr 5=100 water", "water", ""),
    ("@attr 5=102 water", "water", ""),
    ("@attr 5=104 water", "water", ""),
    ("@attr 5=102 wat.*er", "wat*er", ""),
    ("@attr 5=104 wat?er", "wat*er", ""),
    ("@attr 5=102 wat.er", "wat?er", ""),
    ("@attr 5=104 wat#er", "wat?er", ""),
    (
        "@attr 5=102 wat?er",
        "cql.serverChoice =/regexp wat\\?er",
        "an expression in which t may be missing",
    ),
    (
        "@attr 5=102 wat[ae]r",
        "cql.serverChoice =/regexp wat[ae]r",
        "no mask can express it",
    ),
    (
        "@attr 5=104 wat?2er",
        "!the properties have no CQL for @attr 5=104 wat?2er",
        "a mask with a count",
    ),
    ("@attr 5=104 wat*er", "wat\\*er", ""),
    ("@attr 5=102 wat#er", "wat#er", ""),
    ("@attr 5=102 wat\\.er", "wat?er", ""),
    ("@attr 5=102 wat\\\\?er", "wat\\?er", ""),
    ("@attr 5=104 wat\\\\?er", "wat\\?er", ""),
    ("@attr 5=102 wat\\\\*er", "wat\\*er", ""),
    ("@attr 5=104 wat\\\\*er", "wat\\*er", ""),
    ("wat\\\\#er", "wat\\\\#er", LITERAL),
    ("@attr 5=100 wat\\\\#er", "wat\\\\#er", LITERAL),
    ("@attr 5=102 wat\\\\#er", "wat#er", ""),
    ("@attr 5=104 wat\\\\#er", "wat#er", ""),
    ("@attr 5=102 wat\\\\.er", "wat.er", ""),
    ("@attr 5=104 wat\\\\.er", "wat.er", ""),
    ("@attr 5=100 \"\"", "\"\"", ""),
    ("@attr 5=1 \"\"", "*", "a mask needs no quotes"),
    ("@attr 5=2 \"\"", "*", "a mask needs no quotes"),
    ("@attr 5=3 \"\"", "**", "a mask needs no quotes"),
    ("@attr 5=102 \"\"", "\"\"", ""),
    ("@attr 5=104 \"\"", "\"\"", ""),
    ("@attr 5=1 \"water basket\"", "\"water basket*\"", ""),
    ("@attr 5=2 \"water basket\"", "\"*water basket\"", ""),
    ("@attr 5=3 \"water basket\"", "\"*water basket*\"", ""),
    (
        "@attr 2=103 @attr 1=_ALLRECORDS 1",
        "cql.allRecords = 1",
        "",
    ),
    (
        "@attr 1=500 abc",
        "!the properties have no CQL for @attr 1=500 abc",
        "",
    ),
    (
        "@attr 5=99 x",
        "!the properties have no CQL for @attr 5=99 x",
        "",
    ),
];

#[test]
fn audit_c7_rpn_becomes_cql() {
    let properties = Properties::parse(PROPERTIES).expect("properties");
    for (pqf, expected, _) in RPN_TO_CQL {
        let query = parse_pqf(pqf).expect(pqf);
        let said = cql::from_rpn(&query, &properties);
        let shown = said
            .as_ref()
            .map_or_else(|error| format!("!{error}"), ToString::to_string);
        assert_eq!(shown, *expected, "{pqf}");
        if let Ok(said) = said {
            assert_eq!(cql::parse(expected).as_ref(), Ok(&said), "{pqf}");
        }
    }
}

/// The cases: a query in CQL and its translation to CCL. YAZ translates only the text, whereas our translation also preserves the
/// attributes as qualifiers. `WHERE` represents the qualifiers that most clauses have, and `WORD` represents the qualifiers of
/// `all` and `any`.
const CQL_TO_CCL: &[(&str, &str)] = &[
    ("\"\"", "term,WHERE,exact=\"\""),
    ("x", "term,WHERE,exact=x"),
    ("\"xy\"", "term,WHERE,exact=xy"),
    ("?", "mask,term,WHERE=#"),
    ("?a?", "mask,term,WHERE=#a#"),
    ("?a", "mask,term,WHERE=#a"),
    ("a?", "mask,term,WHERE=a#"),
    ("\"?\"", "mask,term,WHERE=#"),
    ("\\?", "term,WHERE,exact=\"?\""),
    ("*", "term,WHERE=?\"\""),
    ("*a*", "term,WHERE=?a?"),
    ("*a", "term,WHERE=?a"),
    ("a*", "term,WHERE=a?"),
    ("a*b?", "mask,term,WHERE=a?b#"),
    ("\\*", "term,WHERE,exact=*"),
    ("ab bc", "term,WHERE,exact=ab and term,WHERE,exact=bc"),
    ("\\\\", "term,WHERE,exact=\"\\\\\""),
    ("\\\"", "term,WHERE,exact=\"\\\"\""),
    ("\\x", "term,WHERE,exact=x"),
    ("\\#", "term,WHERE,exact=\"#\""),
    ("title=x", "ti,WHERE,exact=x"),
    (
        "title=x or author=y",
        "ti,WHERE,exact=x or au,WHERE,exact=y",
    ),
    ("title all x y", "ti,WORD,exact=x and ti,WORD,exact=y"),
    ("title all \"x y\"", "ti,WORD,exact=x and ti,WORD,exact=y"),
    ("title any \"x y\"", "ti,WORD,exact=x or ti,WORD,exact=y"),
    ("title = \"x y\"", "ti,WHERE,exact=\"x y\""),
    (
        "title=a prox b",
        "(ti,WHERE,exact=a) % (term,WHERE,exact=b)",
    ),
    (
        "title=a prox/distance<=3 b",
        "(ti,WHERE,exact=a) %3 (term,WHERE,exact=b)",
    ),
    (
        "title=a prox/distance<3 b",
        "(ti,WHERE,exact=a) %2 (term,WHERE,exact=b)",
    ),
    (
        "title=a prox/distance=3 b",
        "!CCL has no notation for @prox 0 3 0 3 known 2",
    ),
    (
        "title=a prox/distance>3 b",
        "!CCL has no notation for @prox 0 3 0 5 known 2",
    ),
    (
        "title=a prox/distance>=3 b",
        "!CCL has no notation for @prox 0 3 0 4 known 2",
    ),
    (
        "title=a prox/unit=sentence b",
        "!CCL has no notation for @prox 0 0 0 2 known 3",
    ),
    ("a sortby title", "term,WHERE,exact=a"),
];

#[test]
fn audit_c7_cql_becomes_ccl() {
    let (properties, bib) = (Properties::default(), ccl::Bib::default());
    for (text, expected) in CQL_TO_CCL {
        let expected = expected
            .replace("WHERE", "infield,phrase,equal,part")
            .replace("WORD", "infield,word,equal,part");
        let query = cql::parse(text).and_then(|query| cql::to_rpn(&query, &properties));
        let query = query.expect(text);
        let said = ccl::print(&query, &bib);
        let shown = said.unwrap_or_else(|error| format!("!{error}"));
        assert_eq!(shown, expected, "{text}");
    }
}

#[test]
fn audit_c7_masks_of_ccl_become_those_of_cql() {
    let (properties, bib) = (Properties::default(), ccl::Bib::default());
    for (text, expected) in [
        ("wat?", "wat*"),
        ("?wat?", "*wat*"),
        ("ti=\"wat\"?", "dc.title = wat*"),
        ("mask,ti=wat?er", "dc.title = wat*er"),
        ("mask,ti=wat#er?", "dc.title = wat?er*"),
        ("mask,ti=\"a*b\"?", "dc.title = a\\*b*"),
        ("regex,ti=wat?er", "dc.title = wat*er"),
        ("regex,ti=w#t\\.er", "dc.title = w?t.er"),
        ("regex,ti=\"wat\"", "dc.title = wat"),
    ] {
        let query = ccl::parse(text, &bib).expect(text);
        let said = cql::from_rpn(&query, &properties);
        let shown = said.map_or_else(|error| format!("!{error}"), |said| said.to_string());
        assert_eq!(shown, expected, "{text}: {query}");
    }
}
