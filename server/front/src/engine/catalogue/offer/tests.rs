//! Tests that compare maps with fields.

use super::*;

const MAP: &str = r#"engine = "koha"
[record]
identifier = "_id"
order = "number"
field = "marc"
format = "format"
[[hidden]]
field = "suppress"
value = "true"
[[index]]
name = "title"
use = [4]
words = ["title"]
keys = ["title.ci_raw|title.raw"]
sort = ["title__sort"]
[[index]]
name = "isbn"
use = [7]
kind = "isbn"
words = ["isbn"]
[[index]]
name = "any"
use = [1016]
words = ["title", "isbn"]
"#;

fn compared(names: &[(&str, Abilities)]) -> (Offer, Vec<String>) {
    let map = CatalogueMap::parse(MAP).expect("a map");
    let names = names.iter().chain(&[("_id", KEYS)]);
    let found = names.map(|(name, has)| ((*name).to_owned(), *has));
    let (offer, missing) = Offer::new(&map, Some(&found.collect()));
    (offer, missing.iter().map(MissingField::to_string).collect())
}

const WORDS: Abilities = Abilities {
    words: true,
    keys: false,
    compares: false,
    stored: true,
    lists: false,
    sorts: false,
    counts: false,
};
const KEYS: Abilities = Abilities {
    words: false,
    keys: true,
    compares: true,
    stored: true,
    lists: true,
    sorts: true,
    counts: false,
};

#[test]
fn missing_fields_are_named_and_not_offered() {
    let (offer, missing) = compared(&[
        ("number", KEYS),
        (
            "marc",
            Abilities {
                stored: true,
                ..Abilities::default()
            },
        ),
        ("title", WORDS),
        ("title.raw", KEYS),
        ("title__sort", WORDS),
    ]);
    assert_eq!(
        missing,
        [
            "line 6: there is no field format for format",
            "line 8: there is no field suppress for hidden",
            "line 24: there is no field isbn for words of any",
            "line 15: the type of the field title__sort does not allow sort of title",
            "line 20: there is no field isbn for words of isbn, so isbn is not offered",
        ]
    );
    let unhidden =
        "line 8: there is no field suppress for hidden, so hidden records would be found";
    assert_eq!(offer.usable(), Err(unhidden.to_owned()));
    assert_eq!(offer.indexes.by_name("isbn"), None);
    let title = offer
        .indexes
        .by_name("title")
        .and_then(|index| offer.point(index));
    let title = title.expect("an index");
    assert_eq!(title.fields(Role::Keys), ["title.raw"]);
    assert!(title.has(Role::Words) && !title.has(Role::Sort));
    let uses = offer.attributes();
    let uses = uses.iter().filter(|info| info.attribute_type == 1);
    let uses: Vec<i64> = uses.map(|info| info.value).collect();
    assert_eq!(uses, [4, 1016]);
}

#[test]
fn an_index_of_another_program_is_not_usable() {
    for (names, expected) in [
        (&[][..], "it has no records"),
        (
            &[("marc", WORDS), ("title", WORDS)],
            "there is no field for the order of records",
        ),
        (
            &[("marc", WORDS), ("number", KEYS)],
            "it has no field of the map",
        ),
    ] {
        let (offer, _) = compared(names);
        assert_eq!(offer.usable(), Err(expected.to_owned()));
    }
}

#[test]
fn audit_attributes_say_which_indexes_are_scanned_and_sorted_by() {
    let map = MAP.replace("kind = \"isbn\"", "kind = \"isbn\"\nscan = [\"isbn\"]");
    let map = CatalogueMap::parse(&map).expect("a map");
    let (offer, _) = Offer::new(&map, None);
    for (value, expected) in [
        (4, (false, true)),
        (7, (true, false)),
        (1016, (false, false)),
    ] {
        let attributes = offer.attributes();
        let mut uses = attributes.iter().filter(|one| one.attribute_type == 1);
        let found = uses.find(|one| one.value == value).expect("an index");
        assert_eq!((found.scan, found.sort), expected, "{}", found.name);
    }
}

/// Explain lists only supported attributes.
#[test]
fn attributes_are_those_of_the_fields() {
    let title = [("number", KEYS), ("marc", WORDS), ("title", WORDS)];
    let (offer, _) = compared(&title);
    let has = |offer: &Offer, attribute_type: i64, value: i64| {
        let infos = offer.attributes();
        infos
            .iter()
            .any(|info| (info.attribute_type, info.value) == (attribute_type, value))
    };
    for (attribute_type, value, expected) in [
        (RELATION, 3, true),
        (RELATION, 1, false),
        (POSITION, 1, false),
        (COMPLETENESS, 3, false),
        (TRUNCATION, 1, false),
        (TRUNCATION, 100, true),
        (TRUNCATION, 102, false),
        (STRUCTURE, 1, true),
    ] {
        assert_eq!(
            has(&offer, attribute_type, value),
            expected,
            "{attribute_type}={value}"
        );
    }
    let (offer, _) = compared(&[title.as_slice(), &[("title.ci_raw", KEYS)]].concat());
    assert!(has(&offer, TRUNCATION, 1) && has(&offer, COMPLETENESS, 3));
}
