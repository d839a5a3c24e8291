//! Tests with identifiers as written by people and catalogues.

use super::*;

#[test]
fn prefixes_and_shapes_determine_the_kind() {
    for (text, shown) in [
        ("isbn:0306406152", "isbn:0306406152"),
        ("ISBN: 0-306-40615-3", "isbn:0-306-40615-3"),
        ("0-306-40615-2", "isbn:0-306-40615-2"),
        ("9791090636071", "isbn:9791090636071"),
        ("0306406153", "lccn:0306406153"),
        ("0378-5955", "issn:0378-5955"),
        ("03785955", "lccn:03785955"),
        ("n78-890351", "lccn:n78-890351"),
        ("(OCoLC)ocm00012345", "oclc:(OCoLC)ocm00012345"),
        ("pg1342", "docid:pg1342"),
        ("local:12345678", "local:12345678"),
        ("docid:0306406152", "docid:0306406152"),
        ("urn:isbn:0306406152", "isbn:0306406152"),
        ("URN:ISSN:0378-5955", "issn:0378-5955"),
        ("urn:nbn:de:101", "docid:urn:nbn:de:101"),
        ("(electronic bk.) 9780306406157", "isbn:9780306406157"),
        ("isbn:(electronic bk.) 9780306406157", "isbn:9780306406157"),
        ("ISBN 0141439513", "isbn:0141439513"),
        ("0306406152 (pbk.) : $9.95", "isbn:0306406152"),
        ("\"0306406152\"", "isbn:0306406152"),
        ("9780306406157.", "isbn:9780306406157"),
        ("0378-5955 ;", "issn:0378-5955"),
        ("pg1342 (text)", "docid:pg1342 (text)"),
        ("issn  0378-5955", "issn:0378-5955"),
        ("ISBN: 0836932721 : $25.00", "isbn:0836932721"),
        ("9780141439518 : $25.00", "isbn:9780141439518"),
        ("ISBN-13: 978-0-14-143951-8", "isbn:978-0-14-143951-8"),
        ("ISBN-10 0141439513.", "isbn:0141439513"),
        ("ISBN 13 9780141439518", "isbn:9780141439518"),
        ("ISBN 1306406153 pbk.", "isbn:1306406153"),
        ("ISBN0141439513", "isbn:0141439513"),
        ("#0262062461", "isbn:0262062461"),
        ("isbn:262062461", "isbn:0262062461"),
        ("262062461", "docid:262062461"),
        ("ISSN 0378-5955 = Title", "issn:0378-5955"),
        ("isbn and barcode", "docid:isbn and barcode"),
        ("isbn-x1", "docid:isbn-x1"),
        ("local 12", "docid:local 12"),
        ("isbn:", "nothing follows isbn:"),
        (" ", "the identifier is empty"),
    ] {
        let found = text.parse::<Identifier>().map_or_else(
            |error| error.to_string(),
            |identifier| identifier.to_string(),
        );
        assert_eq!(found, shown, "{text}");
    }
}

#[test]
fn a_kind_that_is_given_is_that_of_texts_without_a_prefix() {
    for (kind, text, shown) in [
        (Kind::Isbn, "262062461", "isbn:0262062461"),
        (Kind::Isbn, "306406153", "isbn:306406153"),
        (Kind::Isbn, "oclc:12", "oclc:12"),
        (Kind::Issn, "3785955", "issn:03785955"),
        (Kind::Issn, "03785955", "issn:03785955"),
        (Kind::Oclc, "12345", "oclc:12345"),
        (Kind::Docid, "0306406152", "docid:0306406152"),
        (Kind::Isbn, "", "the identifier is empty"),
    ] {
        let found = Identifier::read(text, Some(kind));
        let found = found.map_or_else(|error| error.to_string(), |one| one.to_string());
        assert_eq!(found, shown, "{text}");
    }
}

#[test]
fn an_unknown_prefix_is_named() {
    let known = ": is not a prefix: the prefixes are isbn:, issn:, lccn:, oclc:, local:, docid:";
    for (text, prefix) in [
        ("foo:bar", "foo"),
        ("ti:war", "ti"),
        ("docid:foo:bar", ""),
        ("pg1342", ""),
        ("12:34", ""),
    ] {
        let identifier: Identifier = text.parse().expect("an identifier");
        let hint = identifier.hint().unwrap_or_default();
        assert_eq!(
            hint.strip_suffix(known).unwrap_or_default(),
            prefix,
            "{text}"
        );
    }
}

#[test]
fn eight_digits_may_be_an_issn() {
    for (text, hint) in [
        ("03785955", "if it is an ISSN, write issn:03785955"),
        ("03785954", ""),
        ("lccn:03785955", ""),
        ("0378-5955", ""),
    ] {
        let identifier: Identifier = text.parse().expect("an identifier");
        assert_eq!(identifier.hint().unwrap_or_default(), hint, "{text}");
    }
}

#[test]
fn audit_d5_numbers_with_a_wrong_check_digit_are_doubted() {
    for (text, doubt) in [
        (
            "0306406153",
            "0306406153 looks like an ISBN with a wrong check digit (2 expected)",
        ),
        (
            "0-14-143951-2",
            "0-14-143951-2 looks like an ISBN with a wrong check digit (3 expected)",
        ),
        (
            "9780306406158",
            "9780306406158 looks like an ISBN with a wrong check digit (7 expected)",
        ),
        (
            "0378-5954",
            "0378-5954 looks like an ISSN with a wrong check digit (5 expected)",
        ),
        (
            "isbn:0306406153",
            "the ISBN 0306406153 has a wrong check digit (2 expected)",
        ),
        (
            "isbn:123",
            "123 is not an ISBN: it has 3 digits, an ISBN has 10 or 13",
        ),
        (
            "issn:0378-595",
            "0378-595 is not an ISSN: it has 7 digits, an ISSN has 8",
        ),
        (
            "isbn:abc",
            "abc is not an ISBN: an ISBN has 10 or 13 digits",
        ),
        (
            "isbn:1234567890123",
            "1234567890123 is not an ISBN: an ISBN of 13 digits begins with 978 or 979",
        ),
        (
            "issn:03785954",
            "the ISSN 03785954 has a wrong check digit (5 expected)",
        ),
        (
            "9.78026E+12",
            "9.78026E+12 is a number that a spreadsheet program has rounded: format its column as text there, and save it again",
        ),
        (
            "262062461",
            "262062461 looks like the ISBN 0262062461 without its leading zero; if it is, write isbn:262062461",
        ),
        (
            "0306406153 (pbk.)",
            "0306406153 looks like an ISBN with a wrong check digit (2 expected)",
        ),
        ("0306406152", ""),
        ("00280836", ""),
        ("9E+X", ""),
        ("2001000003", ""),
        ("03785954", ""),
        ("78-890351", ""),
        ("docid:0306406153", ""),
        ("pg1342", ""),
    ] {
        let identifier: Identifier = text.parse().expect("an identifier");
        assert_eq!(identifier.doubt().unwrap_or_default(), doubt, "{text}");
    }
}

#[test]
fn audit_r_b6_several_numbers_are_each_read() {
    for (kind, text, shown) in [
        (
            None,
            "0306406152 | 0141439513",
            "isbn:0306406152 isbn:0141439513",
        ),
        (
            None,
            "0306406152 (hbk.) ; 0141439513 (pbk.)",
            "isbn:0306406152 isbn:0141439513",
        ),
        (
            None,
            "0306406152 (hbk.) 0141439513 (pbk.)",
            "isbn:0306406152 isbn:0141439513",
        ),
        (
            None,
            "0306406152 0141439513",
            "isbn:0306406152 isbn:0141439513",
        ),
        (
            None,
            "isbn:0306406152 OR isbn:0141439513",
            "isbn:0306406152 isbn:0141439513",
        ),
        (
            None,
            "isbn:0306406152 | 0141439513",
            "isbn:0306406152 isbn:0141439513",
        ),
        (
            None,
            "isbn:0306406152 | issn:0378-5955",
            "isbn:0306406152 issn:0378-5955",
        ),
        (None, "0306406152 ; 9780306406157", "isbn:0306406152"),
        (
            None,
            "(OCoLC)12345;(OCoLC)ocm00012346",
            "oclc:12345 oclc:12346",
        ),
        (
            Some(Kind::Isbn),
            "9780141439518 (hbk.), 0306406152 (pbk.)",
            "isbn:9780141439518 isbn:0306406152",
        ),
        (Some(Kind::Oclc), "12345 | 12346", "oclc:12345 oclc:12346"),
        (Some(Kind::Lccn), "85-2 ; 86-3", "lccn:85-2 lccn:86-3"),
        // Text of a kind without a fixed form is not split, because a separator may be part of the identifier.
        (None, "a | b", "docid:a | b"),
        (None, "12345678 ; 12345679", "docid:12345678 ; 12345679"),
        (
            Some(Kind::Docid),
            "0306406152 | 0141439513",
            "docid:0306406152 | 0141439513",
        ),
        (None, "Emma | 0141439513", "docid:Emma | 0141439513"),
        (Some(Kind::Isbn), "978-01414", "isbn:978-01414"),
        (None, "", "the identifier is empty"),
    ] {
        let found = Identifier::read_all(text, kind);
        let found = found.map_or_else(
            |error| error.to_string(),
            |all| {
                all.iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(" ")
            },
        );
        assert_eq!(found, shown, "{text}");
    }
    let many: String = (1..1000)
        .map(|number| format!("oclc:{number} | "))
        .collect();
    let found = Identifier::read_all(&many, None).expect("numbers");
    assert_eq!(found.len(), MAX_IDENTIFIERS);
}
