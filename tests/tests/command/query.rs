//! Tests of `z3950 query`, and of the query languages of `find` at the prompt.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use z3950_asn1::bib1::attributes::use_name;
use z3950_asn1::query::names::TABLE;
use z3950_tests::program::{z3950, z3950_fed};

/// Checks that `z3950 query` with the arguments prints exactly these lines.
fn check(arguments: &[&str], lines: &[&str]) {
    let ran = z3950(["query"].iter().chain(arguments));
    assert_eq!(ran.stdout, lines.join("\n") + "\n", "{arguments:?}");
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{arguments:?}");
}

/// Checks that `z3950 query` with the arguments fails and prints only these lines.
fn refused(arguments: &[&str], lines: &[&str]) {
    let ran = z3950(["query"].iter().chain(arguments));
    assert_eq!(ran.stderr, lines.join("\n") + "\n", "{arguments:?}");
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{arguments:?}");
}

#[test]
fn r_f2_years_are_compared() {
    let count = |query: &str| {
        let ran = z3950(["--demo", "search", "localhost/books", "--count", "0", query]);
        let count = ran
            .stdout
            .split(' ')
            .next()
            .and_then(|count| count.parse::<u64>().ok());
        count.unwrap_or_else(|| panic!("{query}: {ran:?}"))
    };
    let (after, from) = (count("year:>1900"), count("year:>=1900"));
    assert!(0 < after && after < from, "{after}, {from}");
    for (query, expected) in [
        ("year>1900", after),
        ("year > 1900", after),
        ("year:1901-", after),
        ("ccl: year>1900", after),
        ("year:>=1900", count("year:1900-")),
        ("year:<=1900", count("year:-1900")),
        ("year:<1900", count("year:-1899")),
    ] {
        assert_eq!(count(query), expected, "{query}");
    }
    let ran = z3950(["query", "to-pqf", "year:>nineteen"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("which is written 1850-1860, 1850-"),
        "{ran:?}"
    );
}

/// Tests that a comparison in the syntax of another query language leads to a message with the syntax of the language in use.
#[test]
fn r_f2_a_comparison_of_another_language_is_shown_in_this_one() {
    for (query, words) in [
        ("year:=>1900", "a comparison is written year:>=1900\n"),
        ("ccl:year=>1900", "a comparison is written year>=1900\n"),
        ("cql:year:>1900", "a comparison is written year > 1900\n"),
        ("cql:date=>1900", "a comparison is written date >= 1900\n"),
        (
            ">1900",
            "note: >1900 is searched for as a word; a comparison is written year:>1900\n",
        ),
        ("year=>1900", "year:>=1900 searches the index year"),
        (
            "@attr 1=31 >1900",
            "a comparison is written @attr 1=31 @attr 2=5 1900 in PQF\n",
        ),
        (
            "cql:date=1900-1950",
            "a range is written date within \"1900 1950\" in CQL\n",
        ),
    ] {
        let ran = z3950(["query", "explain", query]);
        assert!(ran.stderr.contains(words), "{query}: {ran:?}");
        let ran = z3950_fed(
            ["--demo", "open", "localhost/books"],
            format!("find {query}\n"),
        );
        assert!(ran.stderr.contains(words), "{query}: {ran:?}");
    }
    let ran = z3950(["query", "explain", "year:>1900"]);
    assert_eq!(ran.stderr, "", "{ran:?}");
}

#[test]
fn r_f7_cql_is_guessed_everywhere_and_reported() {
    let told =
        "note: interpreted as a CQL query; the prefix names: makes it words with index names\n";
    for (query, pqf, words) in [
        ("dc.title=war", "@attr 1=4 war", told),
        (
            "dc.title = war and dc.creator=tolstoy",
            "@attr 1=1003 tolstoy",
            told,
        ),
        ("ti=war", "@attr 1=4 war", told),
        ("cql:dc.title=war", "@attr 1=4 war", ""),
        ("e=mc2", "@attr 1=1016 e=mc2", ""),
        ("ti:war", "@attr 1=4 war", ""),
    ] {
        let ran = z3950(["query", "to-pqf", query]);
        assert!(
            ran.stdout
                .contains(pqf.split(' ').next_back().expect("a term")),
            "{ran:?}"
        );
        assert!(
            ran.stdout.contains(pqf.split(' ').nth(1).expect("a Use")),
            "{ran:?}"
        );
        assert_eq!(ran.stderr, words, "{query}");
        let commands = format!("find {query}\n");
        let ran = z3950_fed(["--demo", "open", "localhost/books"], &commands);
        assert_eq!(
            ran.stderr.contains(told),
            !words.is_empty(),
            "{query}: {ran:?}"
        );
    }
    let ran = z3950([
        "--demo",
        "search",
        "localhost/books",
        "dc.title=war",
        "--count",
        "0",
    ]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), told), "{ran:?}");
    let ran = z3950(["query", "to-pqf", "names:dc.title=war"]);
    assert!(ran.stdout.contains("dc.title=war"), "{ran:?}");
    assert!(ran.stderr.contains("is searched for as a word"), "{ran:?}");
}

#[test]
fn r_f8_the_index_names_are_listed() {
    let ran = z3950(["query", "indexes"]);
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../client/docs/queries.md"
    ));
    let page = page.expect("the page on queries");
    let manual = z3950(["query", "indexes", "--help"]).stdout;
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    assert_eq!(rows.len(), TABLE.len(), "rows of client/docs/queries.md");
    let objects = z3950(["query", "indexes", "--json"]).stdout;
    assert_eq!(objects.lines().count(), TABLE.len());
    for ((index, row), object) in TABLE.iter().zip(rows).zip(objects.lines()) {
        let names: Vec<&str> = std::iter::once(index.name)
            .chain(index.aliases.iter().copied())
            .collect();
        let meaning = use_name(index.use_value).expect("a name");
        let line = ran
            .stdout
            .lines()
            .find(|line| line.starts_with(&names.join(", ")));
        let line = line.unwrap_or_else(|| panic!("{index:?}: {}", ran.stdout));
        for part in [&*index.use_value.to_string(), meaning, index.example] {
            assert!(line.contains(part), "{line}");
        }
        assert!(manual.contains(line.trim_end()), "{line}: {manual}");
        let marked: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let marked = marked.join(", ");
        let (number, example) = (index.use_value, index.example);
        assert_eq!(
            row,
            format!("| {marked} | {number} | {meaning} | `{example}` |")
        );
        let object: serde_json::Value = serde_json::from_str(object).expect("JSON");
        assert_eq!(object["name"], index.name);
        assert_eq!(object["use"], index.use_value);
    }
    assert!(
        ran.stdout
            .lines()
            .any(|line| line.contains("year") && line.contains("  31  "))
    );
    for (query, words) in [
        ("pub:penguin", "did you mean \"publisher\"?"),
        ("xyzzy:a", "z3950 query indexes lists the names"),
    ] {
        let ran = z3950(["query", "to-pqf", query]);
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn a_query_is_explained() {
    check(
        &["explain", "@and @attr 1=4 war @attr 1=1003 tolstoy"],
        &[
            "Records where title has \"war\" and author has \"tolstoy\".",
            "",
            "and",
            "  \"war\"  Use=4 title",
            "  \"tolstoy\"  Use=1003 author",
        ],
    );
    check(
        &["parse", "@attr 4=104 @attr 1=1032 pg1342"],
        &["\"pg1342\"  Use=1032 doc-id  Structure=104 urx"],
    );
    check(
        &["parse", "--lang", "ccl", "ti=war"],
        &["\"war\"  Use=4 title"],
    );
}

#[test]
fn a_query_is_translated_into_other_languages() {
    let pqf = "@and @attr 1=4 war @attr 1=1003 tolstoy";
    check(&["to-pqf", pqf], &[pqf]);
    check(&["to-ccl", pqf], &["ti=war and au=tolstoy"]);
    for (language, text) in [
        ("ccl", "ti=war and au=tolstoy"),
        ("names", "ti:war au:tolstoy"),
    ] {
        check(&["to-pqf", "--lang", language, text], &[pqf]);
    }
    let cql = z3950(["query", "to-cql", pqf]).stdout;
    check(
        &["to-cql", "--lang", "cql", cql.trim_end()],
        &[cql.trim_end()],
    );
    let read = z3950(["query", "to-pqf", "--lang", "cql", cql.trim_end()]).stdout;
    for part in ["@and ", "@attr 1=4 war", "@attr 1=1003 tolstoy"] {
        assert!(read.contains(part), "{read}");
    }
}

#[test]
fn queries_that_a_language_cannot_express_are_refused() {
    for command in ["to-ccl", "to-cql"] {
        let ran = z3950(["query", command, "@attr 1=4 @term null x"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{command}");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
}

#[test]
fn faults_are_pointed_out() {
    refused(
        &["to-pqf", "@and ü @attr 1 x"],
        &[
            "error: attribute set \"1\" is not known at character 14 of the query",
            "  @and ü @attr 1 x",
            "               ^",
        ],
    );
    refused(
        &["parse", "@attr gisl 1=4 x"],
        &[
            "error: attribute set \"gisl\" is not known at character 7 of the query; did you mean GILS?",
            "  @attr gisl 1=4 x",
            "        ^",
        ],
    );
    for (language, text) in [
        ("ccl", "ti=(war"),
        ("cql", "title = "),
        ("names", "ti:\"war"),
    ] {
        let ran = z3950(["query", "parse", "--lang", language, text]);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{text}");
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert!(lines[0].contains(" at character "), "{lines:?}");
        assert_eq!(lines[1].trim(), text.trim_end());
        assert_eq!(lines[2].trim_start(), "^");
    }
}

#[test]
fn odd_octets_are_data_or_refused() {
    for (text, pqf) in [
        ("a\tb", "a\\x09b"),
        ("a\u{1b}[2J", "a\\x1B[2J"),
        ("{a\"b}", "a\\\"b"),
        ("-5", "-5"),
        ("M\\xFCller", "M\\xFCller"),
    ] {
        check(&["to-pqf", "--lang", "pqf", text], &[pqf]);
    }
    let not_text = OsString::from_vec(b"caf\xe9".to_vec());
    let ran = z3950(["query".into(), "to-pqf".into(), not_text]);
    assert_eq!(ran.stderr, "error: octet 4 of the query is not UTF-8\n");
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
}

#[test]
fn names_are_defined_by_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("the file is written");
        path.to_str().expect("a path of letters").to_owned()
    };
    let bib = file("my.bib", b"colour u=4711\nterm t=x\n");
    check(
        &["to-pqf", "--lang", "ccl", "--bib", &bib, "colour=red"],
        &["@attr 1=4711 red"],
    );
    let properties = file(
        "my.properties",
        b"set.my = info:my\nset = info:my\nindex.my.colour = 1=4711\nrelation.eq = 2=3\nstructure.* = 4=1\nposition.any = 3=3\ntruncation.none = 5=100\n",
    );
    let arguments = ["to-pqf", "--lang", "cql", "--properties", &properties];
    let ran = z3950(["query"].iter().chain(&arguments).chain(&["colour=red"]));
    assert!(ran.stdout.contains("@attr 1=4711"), "{}", ran.stderr);
    let broken = file("broken.bib", b"ti u=4\nau u=\xff\n");
    let missing = directory.path().join("missing");
    let missing = missing.to_str().expect("a path of letters");
    for path in [broken.as_str(), missing] {
        let ran = z3950(["query", "to-pqf", "--lang", "ccl", "--bib", path, "x"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{path}");
        assert!(ran.stderr.contains(path), "{}", ran.stderr);
    }
}

#[test]
fn the_properties_of_yaz_are_read() {
    const PROPERTIES: &str = "/usr/share/yaz/etc/pqf.properties";
    if !Path::new(PROPERTIES).exists() {
        eprintln!("skipped: {PROPERTIES} not found");
        return;
    }
    let ran = z3950([
        "query",
        "to-pqf",
        "--lang",
        "cql",
        "--properties",
        PROPERTIES,
        "dc.title=war",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("@attr 1=4 "), "{}", ran.stdout);
}

/// Runs these commands at a prompt for the built-in catalogue. Returns the exit code, standard output and standard error.
fn found(commands: &str) -> (Option<i32>, String, String) {
    let ran = z3950_fed(
        [
            "--demo",
            "open",
            "z39.50s://localhost/books",
            "--stop-on-error",
        ],
        commands,
    );
    (ran.code, ran.stdout, ran.stderr)
}

#[test]
fn the_prompt_takes_every_language() {
    for commands in [
        "find @and @attr 1=4 pride @attr 1=1003 austen",
        "find pqf: @and @attr 1=4 pride @attr 1=1003 austen",
        "find ti:pride au:austen",
        "find ti:prejudice au:austen",
        "find ccl: ti=pride and au=austen",
        "find cql: dc.title=pride and dc.creator=austen",
        "querytype ccl\nfind ti=pride and au=austen",
        "querytype ccl2rpn\nfind ti=pride and au=austen",
        "querytype cclrpn\nfind ti=pride and au=austen",
        "querytype cql\nfind dc.title=pride and dc.creator=austen",
        "querytype cql2rpn\nfind dc.title=pride and dc.creator=austen",
        "querytype cqlrpn\nfind dc.title=pride and dc.creator=austen",
        "querytype names\nfind ti:pride au:austen",
        "querytype cql\nquerytype auto\nfind ti:pride au:austen",
    ] {
        let (code, stdout, stderr) = found(commands);
        assert_eq!(
            (code, &*stdout),
            (Some(0), "1 hit\n"),
            "{commands}: {stderr}"
        );
    }
    let (_, stdout, _) = found("querytype\nquerytype cqlrpn\nquerytype");
    assert_eq!(stdout, "auto\ncql2rpn\n");
}

#[test]
fn the_prompt_refuses_invalid_queries() {
    for (commands, exit, words) in [
        ("querytype sql", 2, "sql is not a query type"),
        (
            "find @and a",
            2,
            "an operand is missing at character 7 of the query\n  @and a\n        ^",
        ),
        ("find pqf: @and a", 2, "\n  @and a\n        ^"),
        (
            "querytype prefix\nfind war peace",
            2,
            "after the end of the query",
        ),
        ("find ccl: (", 2, " at character "),
        ("querytype ccl\nfind (", 5, "108"),
        ("querytype cql\nfind title=", 5, "108"),
    ] {
        let (code, stdout, stderr) = found(commands);
        assert_eq!((code, &*stdout), (Some(exit), ""), "{commands}: {stderr}");
        assert!(stderr.contains(words), "{commands}: {stderr}");
    }
}

#[test]
fn a_minus_before_a_word_excludes_it_or_is_refused() {
    let ran = z3950(["query", "to-pqf", "ti:\"war and peace\" -au:x"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "@not @attr 1=4 \"war and peace\" @attr 1=1003 x\n"),
        "{ran:?}"
    );
    let ran = z3950(["--demo", "search", "localhost/books", "war - peace"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("a word to exclude is missing"),
        "{ran:?}"
    );
    let ran = z3950_fed(
        ["--demo", "open", "z39.50s://localhost/books"],
        "find -war\n",
    );
    assert!(
        ran.stderr.contains("an exclusion with no word before it"),
        "{ran:?}"
    );
}
