//! Supported attributes and indexes: `[profile]` and `[[index]]`.

use z3950_asn1::bib1::attributes::{COMPLETENESS, POSITION, RELATION, STRUCTURE, TRUNCATION, USE};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::memory::{AccessPoint, AccessPoints, Kind, Profile, Sources, Treatment};

use super::section::{Section, number, string, word};

pub(super) fn read(section: &Section<'_>) -> Profile {
    let base = section.read("base", "bib-1, zebra or yaz-ztest", |value| {
        Profile::by_name(string(value)?)
    });
    let mut profile = base.unwrap_or_default();
    for (key, attribute_type) in [
        ("use", USE),
        ("relation", RELATION),
        ("position", POSITION),
        ("structure", STRUCTURE),
        ("truncation", TRUNCATION),
        ("completeness", COMPLETENESS),
    ] {
        let before = profile.clone();
        let changed = section.section(key, |section| of_type(section, before, attribute_type));
        profile = changed.unwrap_or(profile);
    }
    let flag = |key, field: &mut bool| *field = section.flag(key).unwrap_or(*field);
    flag("use-required", &mut profile.use_required);
    flag("proximity", &mut profile.proximity);
    flag("result-sets", &mut profile.result_sets);
    let shortest = &mut profile.shortest_truncated;
    section.set("shortest-truncated", "a number", number, shortest);
    let term_type = section.read("term-type", "the number of a condition", number);
    profile.term_type = term_type.map_or(profile.term_type, Condition);
    profile
}

/// The rules for one type of attribute.
fn of_type(section: &Section<'_>, profile: Profile, attribute_type: i64) -> Profile {
    let mut profile = profile;
    let only = section.list("only", "a number", number::<i64>);
    let all_but = section.list("all-but", "a number", number::<i64>);
    match (section.has("only"), section.has("all-but")) {
        (true, true) => section.note_whole("only and all-but cannot both be given"),
        (true, false) => profile = profile.only(attribute_type, only),
        (false, true) => profile = profile.all_but(attribute_type, all_but),
        (false, false) => {}
    }
    let others = section.read(
        "others",
        "\"ignore\", or the number of a condition",
        |value| match string(value) {
            Some("ignore") => Some(Treatment::Ignore),
            Some(_) => None,
            None => number(value).map(|code| Treatment::Refuse(Condition(code))),
        },
    );
    if let Some(others) = others {
        profile = profile.others(attribute_type, others);
    }
    if let Some(value) = section.read("suppose", "a number", number) {
        profile = profile.suppose(attribute_type, value);
    }
    profile
}

/// Adds rows to the default table, or replaces rows.
pub(super) fn indexes(top: &Section<'_>, points: &mut AccessPoints) {
    top.sections("index", |section| {
        let kind = section.read("kind", "a kind of index", |value| {
            Kind::by_name(string(value)?)
        });
        let sources = |key| section.parse(key, str::parse::<Sources>);
        let name = section.need("name", "a text", word).unwrap_or_default();
        let mut row = AccessPoint::new(name.to_lowercase(), kind.unwrap_or(Kind::Text));
        row.uses = section.list("use", "a number", number);
        row.marc21 = sources("marc21").unwrap_or_default();
        row.unimarc = sources("unimarc").unwrap_or_default();
        if !section.has("marc21") && !section.has("unimarc") {
            section.note_whole("an index that no field feeds: give marc21 or unimarc");
        }
        if let Err(error) = points.set(row) {
            section.note_whole(error.to_string());
        }
    });
}
