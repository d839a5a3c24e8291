//! Tests of records that are, or are not, of the same edition.

use z3950_marc::{Field, Leader, MarcRecord};

use super::*;

/// Creates a book from lines such as `020 a9780141439518`: a tag, then subfields separated by `$`.
fn book(lines: &[&str]) -> MarcRecord {
    let fields = lines.iter().map(|line| {
        let (tag, body) = line.split_once(' ').expect("a tag");
        let tag: [u8; 3] = tag.as_bytes().try_into().expect("three octets");
        if tag.starts_with(b"00") {
            return Field::control(&tag, body.to_owned());
        }
        let subfields = body.split('$').map(|one| one.split_at(1));
        Field::data(&tag, "10", subfields)
    });
    MarcRecord {
        leader: Leader::default(),
        fields: fields.collect(),
    }
}

fn edition(lines: &[&str]) -> Edition {
    Edition::of(&book(lines)).expect("a title")
}

const EMMA: [&str; 5] = [
    "020 a0141439580",
    "100 aAusten, Jane,$d1775-1817.",
    "245 aEmma :$ba novel /$cJane Austen.",
    "250 aSecond edition.",
    "260 aLondon :$bPenguin Books,$c2003.",
];

/// Returns the lines of a book with some lines replaced, by tag; a replacement without subfields removes the line.
fn changed(changes: &[&'static str]) -> Vec<&'static str> {
    let tags: Vec<&str> = changes.iter().map(|line| &line[..3]).collect();
    let kept = EMMA.into_iter().filter(|line| !tags.contains(&&line[..3]));
    let added = changes.iter().copied().filter(|line| line.len() > 3);
    kept.chain(added).collect()
}

#[test]
fn records_of_one_edition_are_recognized() {
    let emma = edition(&EMMA);
    for changes in [
        &["020 a978-0-14-143958-7 (pbk.)"][..],
        &["020"],
        &["250"],
        &["020", "250 a2nd ed."],
        &["020", "245 aEmmas"],
        &["020", "100 aJane Austen"],
        &["020", "100 aAusten, J."],
        &["020", "245 aEMMA"],
        &["020", "260 aLondon$bPenguin$c[2003]"],
        &["245 aEma : a novel"],
        &["020 z9780306406157"],
        &["022 a0317-8471"],
        &["856 uhttps://emma.example/"],
    ] {
        let other = edition(&changed(changes));
        assert!(
            emma.is_same(&other) && other.is_same(&emma),
            "{changes:?}: {other:?}"
        );
    }
}

#[test]
fn other_editions_are_not_the_same() {
    let emma = edition(&EMMA);
    for changes in [
        &["020 a9780306406157"][..],
        &["250 a3rd ed."],
        &["020", "250"],
        &["020", "260 aLondon$bPenguin Books$c2004"],
        &["260 aLondon$bPenguin Books$c2005"],
        &["020", "260 aOxford$bClarendon$c2003"],
        &["020", "100 aBrown, Jane"],
        &["020", "100"],
        &["245 aEmma$n2"],
        &["245 aEmma$h[electronic resource]"],
        &["245 aPersuasion"],
        &["020", "245 aEmma$ba study guide"],
        &["007 cr"],
        &["020", "245 aEmmies"],
        &["020", "260"],
    ] {
        let other = edition(&changed(changes));
        assert!(
            !emma.is_same(&other) && !other.is_same(&emma),
            "{changes:?}: {other:?}"
        );
    }
    let mut sound = book(&EMMA);
    sound.leader.0[6] = b'i';
    assert!(!emma.is_same(&Edition::of(&sound).expect("a title")));
}

#[test]
fn accents_and_articles_do_not_count() {
    let written = |title: &'static str| edition(&[title, "100 aVerne, Jules", "260 bHetzel$c1870"]);
    let one = written("245 aThe \u{e9}toile & moi");
    assert!(one.is_same(&written("245 aE\u{301}TOILE, and moi /")));
}

#[test]
fn unimarc_and_marc_21_are_compared() {
    let unimarc = edition(&[
        "200 aEmma$ea novel$fJane Austen",
        "205 a2nd ed",
        "210 aLondon$cPenguin$d2003",
        "700 aAusten$bJane",
    ]);
    assert!(edition(&EMMA).is_same(&unimarc));
}

#[test]
fn serials_are_known_by_issn_and_monographs_are_not() {
    let of = |level: u8, title: &'static str, issn: &'static str| {
        let mut record = book(&[title, issn, "260 bX$c1901"]);
        record.leader.0[7] = level;
        Edition::of(&record).expect("a title")
    };
    let (one, other) = ("245 aNature and life", "245 aNature and the life");
    let issn = "022 a0317-8471";
    assert!(of(b's', one, issn).is_same(&of(b's', other, issn)));
    assert!(!of(b'm', one, issn).is_same(&of(b'm', other, issn)));
    assert!(!of(b's', one, issn).is_same(&of(b's', one, "022 a0378-5955")));
}

#[test]
fn clusters_hold_no_contradictions() {
    let first = edition(&EMMA);
    let without = edition(&changed(&["020"]));
    let other = edition(&changed(&["020 a9780306406157"]));
    let editions = [Some(first), None, Some(without), Some(other), None];
    assert_eq!(clusters(&editions), [vec![0, 2], vec![1], vec![3], vec![4]]);
}

#[test]
fn clusters_are_limited() {
    let editions = vec![Some(edition(&EMMA)); MAX_MEMBERS + 1];
    let sizes: Vec<usize> = clusters(&editions).iter().map(Vec::len).collect();
    assert_eq!(sizes, [MAX_MEMBERS, 1]);
}

#[test]
fn long_and_numerous_values_are_bounded() {
    let title = "x".repeat(1 << 20);
    let mut record = book(&["245 aA"]);
    record.fields[0] = Field::data(b"245", "10", [("a", title)]);
    let isbn = || Field::data(b"020", "  ", [("a", "9780306406157")]);
    record.fields.extend((0..10_000).map(|_| isbn()));
    let edition = Edition::of(&record).expect("a title");
    assert!(edition.keys().map(str::len).sum::<usize>() < 1000);
    assert_eq!(Edition::of(&MarcRecord::default()), None);
}
