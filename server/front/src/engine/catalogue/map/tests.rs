//! Tests of parsing maps, and of the errors for faulty lines.

use super::*;

const RECORD: &str =
    "engine = \"koha\"\n[record]\nidentifier = \"_id\"\norder = \"o\"\nfield = \"r\"\n";

#[test]
fn shipped_maps_are_read() {
    for name in CatalogueMap::names() {
        let text = CatalogueMap::shipped(name).expect("a text");
        let map = CatalogueMap::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(map.indexes.len() > 10, "{name}");
        let has = |value: i64| map.indexes.iter().any(|index| index.uses.contains(&value));
        for value in [4, 7, 12, 21, 1003, 1016, 1032] {
            assert!(has(value), "{name} {value}");
        }
    }
    assert_eq!(CatalogueMap::shipped("nosuch"), None);
}

/// The map has every Use attribute in Koha's own table of attributes.
#[test]
fn koha_map_has_the_use_attributes_of_koha() {
    let text = CatalogueMap::shipped("koha").expect("a text");
    let map = CatalogueMap::parse(text).expect("a map");
    for value in [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 21, 30, 31, 32, 33, 36, 41, 42, 43,
        48, 52, 53, 54, 57, 58, 59, 62, 63, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1009,
        1011, 1012, 1016, 1017, 1018, 1019, 1020, 1021, 1022, 1027, 1028, 1031, 1033, 1035, 1036,
        1045,
    ] {
        let mut indexes = map.indexes.iter();
        assert!(indexes.any(|index| index.uses.contains(&value)), "{value}");
    }
}

#[test]
fn suffixes_make_the_fields_of_an_index() {
    let map = format!(
        "{RECORD}[suffixes]\nwords = \"\"\nkeys = \".ci_raw|.raw\"\nfacet = \"__f\"\n[[index]]\nname = \"t\"\nfields = [\"a\", \"b\"]\nsort = [\"s\"]"
    );
    let map = CatalogueMap::parse(&map).expect("a map");
    let [index] = &*map.indexes else {
        panic!("{map:?}");
    };
    let names = |role: Role| {
        let fields = index.fields.get(&role).into_iter().flatten();
        fields.map(Field::to_string).collect::<Vec<_>>()
    };
    assert_eq!(names(Role::Words), ["a", "b"]);
    assert_eq!(
        names(Role::Keys),
        ["a.ci_raw or a.raw", "b.ci_raw or b.raw"]
    );
    assert_eq!(names(Role::Sort), ["s"]);
    assert_eq!(names(Role::Facet), ["a__f"]);
    assert_eq!(names(Role::Scan), Vec::<String>::new());
}

#[test]
fn wrong_lines_are_named() {
    let index = |lines: &str| format!("{RECORD}[[index]]\nname = \"t\"\n{lines}");
    for (text, line, words) in [
        (String::new(), 1, "missing field `engine`"),
        ("engine = \"sphinx\"".to_owned(), 1, "unknown variant"),
        (index("wrods = [\"a\"]"), 8, "unknown field `wrods`"),
        (index("words = [\"a\", 5]"), 8, "invalid type"),
        (
            index("words = [\"a\",\n\"b c\"]"),
            9,
            "\"b c\" is not the name of a field",
        ),
        (
            index("words = [\"a|\"]"),
            8,
            "\"\" is not the name of a field",
        ),
        (
            index("words = [\"a\"]\nkind = \"x\""),
            9,
            "x is not a kind of index",
        ),
        (
            index("words = [\"a\"]\nkind = \"docid\""),
            9,
            "docid is not a kind of index",
        ),
        (
            index("words = [\"a\"]\ntable = \"x\""),
            9,
            "there is no [table.x]",
        ),
        (index(""), 7, "the index t has no field"),
        (
            index("words = [\"a\"]\n[[index]]\nname = \"t\"\nwords = [\"a\"]"),
            9,
            "the index t is there twice",
        ),
        (
            index(
                "words = [\"a\"]\nuse = [4]\n[[index]]\nname = \"u\"\nuse = [4]\nwords = [\"a\"]",
            ),
            10,
            "the index t has the Use value 4 too",
        ),
        (
            index("words = [\"a\"]\n[[index]]\nname = \"T x\"\nwords = [\"a\"]"),
            10,
            "a name of small letters",
        ),
        (
            format!("{RECORD}[suffixes]\nword = \"\"\n[[index]]\nname = \"t\"\nwords = [\"a\"]"),
            7,
            "word is no use of a field",
        ),
        (
            format!(
                "{RECORD}[[hidden]]\nfield = \"a*\"\nvalue = \"1\"\n[[index]]\nname = \"t\"\nwords = [\"a\"]"
            ),
            7,
            "\"a*\" is not",
        ),
    ] {
        let error = CatalogueMap::parse(&text).expect_err(words);
        assert!(error.words.contains(words), "{words}: {error}");
        assert_eq!(error.line, line, "{error}");
    }
}
