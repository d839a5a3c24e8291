//! Tests of the index entries that records create.

use z3950_marc::{Field, MarcRecord};

use super::{Fields, SUBFIELD_MARK};

fn entries(record: &MarcRecord, index: &str) -> String {
    let fields = Fields::default();
    let (index, _) = fields.points.by_name(index).expect("an index");
    let mut found = Vec::new();
    fields.entries(record, &mut |_, fed, text| {
        if fed.contains(index) {
            found.push(text.replace(SUBFIELD_MARK, "+"));
        }
    });
    found.join("|")
}

fn check(fields: Vec<Field>, expected: &[(&str, &str)]) {
    let record = MarcRecord {
        fields,
        ..MarcRecord::default()
    };
    for (index, text) in expected {
        assert_eq!(entries(&record, index), *text, "{index} of {record:?}");
    }
}

fn data(tag: &[u8; 3], subfields: &[(&str, &str)]) -> Vec<Field> {
    vec![Field::data(tag, " 0", subfields.iter().copied())]
}

#[test]
fn fields_feed_their_indexes() {
    for (fields, expected) in [
        (
            data(b"245", &[("a", "War /"), ("c", "Tolstoy")]),
            &[("title", "War /"), ("author", ""), ("any", "War /+Tolstoy")][..],
        ),
        (
            data(b"100", &[("a", "Tolstoy"), ("d", "1828"), ("t", "War")]),
            &[
                ("title", "War"),
                ("author", "Tolstoy+1828"),
                ("any", "Tolstoy+1828+War"),
                ("personalname", "Tolstoy+1828"),
            ],
        ),
        (
            data(b"600", &[("a", "Homer"), ("t", "Iliad")]),
            &[
                ("title", "Iliad"),
                ("author", ""),
                ("any", "Homer+Iliad"),
                ("titlesubject", "Iliad"),
            ],
        ),
        (
            data(b"880", &[("6", "245-01/(N"), ("a", "Война")]),
            &[("title", "Война"), ("any", "Война")],
        ),
        (
            data(b"880", &[("a", "unlinked")]),
            &[("title", ""), ("any", "unlinked")],
        ),
        (
            data(b"650", &[("a", "War"), ("2", "lcsh")]),
            &[
                ("any", "War"),
                ("subject", "War"),
                ("lcsh", "War"),
                ("mesh", ""),
            ],
        ),
        (
            data(b"650", &[("a", "War"), ("2", "RAM")]),
            &[("rameau", "War")],
        ),
        (
            data(b"040", &[("a", "DLC")]),
            &[("any", ""), ("institution", "dlc")],
        ),
        (
            data(b"020", &[("a", "0-306-40615-2"), ("z", "x")]),
            &[("isbn", "9780306406157"), ("any", "0-306-40615-2+x")],
        ),
        (
            vec![Field::control(b"001", "pg1")],
            &[("any", "pg1"), ("docid", "")],
        ),
        (
            vec![Field::control(
                b"008",
                "990131s1869    ru            000 1 rusx ",
            )],
            &[
                ("any", ""),
                ("date", "1869"),
                ("language", "rus"),
                ("country", "ru"),
                ("added", "19990131"),
                ("ending", ""),
            ],
        ),
        (
            [
                data(b"130", &[("a", "Bible")]),
                data(b"245", &[("a", "Psalms")]),
            ]
            .concat(),
            &[("title", "Psalms|Bible")],
        ),
        (
            vec![],
            &[("recordtype", "a"), ("biblevel", "m"), ("any", "")],
        ),
    ] {
        check(fields, expected);
    }
}

#[test]
fn unimarc_has_its_own_fields() {
    let general = "20200101d1869    m  y0rusy50      ba";
    let fields = [
        data(b"100", &[("a", general)]),
        data(b"200", &[("a", "Voyna"), ("f", "Tolstoy")]),
        data(b"700", &[("a", "Tolstoy"), ("b", "Lev")]),
    ];
    check(
        fields.concat(),
        &[
            ("title", "Voyna"),
            ("author", "Tolstoy+Lev"),
            ("date", "1869"),
            ("added", "20200101"),
        ],
    );
}

#[test]
fn entries_are_in_unicode() {
    let mut record = MarcRecord {
        fields: vec![Field::data(
            b"245",
            "00",
            [(&b"a"[..], &b"Mis\xe2erables"[..])],
        )],
        ..MarcRecord::default()
    };
    record.leader.0[9] = b' ';
    assert_eq!(entries(&record, "title"), "Mis\u{e9}rables");
    let ascii_with_escapes = Field::data(b"245", "00", [(&b"a"[..], &b"\x1b(NWOJNA\x1b(B"[..])]);
    record.fields = vec![ascii_with_escapes];
    assert_eq!(entries(&record, "title"), "война");
}
