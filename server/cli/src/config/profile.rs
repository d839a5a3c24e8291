//! The `[profile]` and `[[index]]` tables, which describe the supported attributes and the indexes.

use toml::de::DeValue;
use z3950_asn1::bib1::attributes::{COMPLETENESS, POSITION, RELATION, STRUCTURE, TRUNCATION, USE};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::memory::{AccessPoint, AccessPoints, Kind, Profile, UnsupportedPolicy};

use super::Config;
use super::section::{Value, number, string, text};
use super::setting::{parse, settings};

settings! {
    /// The attributes that are accepted and refused. With these settings, the server can behave like another vendor's server.
    PROFILE "[profile]": Profile = Profile::default() => {
        /// The profile to start from: bib-1 (everything the server can do), zebra or yaz-ztest.
        ///base = "bib-1"
        "base": Other(|profile, value| {
            value.set("bib-1, zebra or yaz-ztest", |name| Profile::by_name(string(name)?), profile);
        });
        /// Refuse terms without a Use attribute, with diagnostic 116.
        "use-required": Flag(|profile| &mut profile.use_required);
        /// Accept proximity, and result sets as operands.
        "proximity": Flag(|profile| &mut profile.proximity);
        "result-sets": Flag(|profile| &mut profile.result_sets);
        /// The minimum number of characters in a truncated word. Shorter words are refused with diagnostic 9.
        "shortest-truncated": Number(Count, 0, |profile| &mut profile.shortest_truncated);
        /// The condition with which a term is refused if its index cannot compare terms of its type.
        ///term-type = 229
        "term-type": Other(|profile, value| {
            value.set("the number of a condition", |code| number(code).map(Condition), &mut profile.term_type);
        });
        ///
        /// For each type of attribute: the values that are accepted (only, or all-but), what happens to other values ("ignore",
        /// or the Bib-1 condition to refuse them with), and the value that is assumed if a term has none.
        ///[profile.use]
        ///only = [4, 1003, 1016, 1032]
        ///others = 114
        ///suppose = 1016
        "use": Other(|profile, value| of_type(value, profile, USE));
        ///
        ///[profile.relation]
        ///all-but = [100, 101]
        "relation": Other(|profile, value| of_type(value, profile, RELATION));
        ///
        ///[profile.position]
        ///others = "ignore"
        "position": Other(|profile, value| of_type(value, profile, POSITION));
        ///
        ///[profile.structure]
        ///suppose = 1
        "structure": Other(|profile, value| of_type(value, profile, STRUCTURE));
        ///
        ///[profile.truncation]
        ///all-but = [102]
        ///others = "ignore"
        "truncation": Other(|profile, value| of_type(value, profile, TRUNCATION));
        ///
        ///[profile.completeness]
        ///only = [1]
        "completeness": Other(|profile, value| of_type(value, profile, COMPLETENESS));
    }

    TYPE "[profile.use]": TypeRules = TypeRules::default() => {
        "only": Other(|rules, value| rules.only = value.list("a number", number));
        "all-but": Other(|rules, value| rules.all_but = value.list("a number", number));
        "others": Other(|rules, value| {
            value.set("\"ignore\", or the number of a condition", treatment, &mut rules.others);
        });
        "suppose": Other(|rules, value| value.set("a number", number::<i64>, &mut rules.suppose));
    }

    /// A further index, or a replacement for the existing index of the same name.
    INDEX "[[index]]": AccessPoint = AccessPoint::new("", Kind::Text) => {
        ///name = "shelf"
        "name": Required(|index, value| value.set("a text", |name| Some(text(name)?.to_lowercase()), &mut index.name));
        /// The Use attributes that select the index.
        ///use = [20, 53]
        "use": Other(|index, value| index.uses = value.list("a number", number));
        /// The kind of index: text, isbn, issn, lccn, oclc, standard, number, code, language, date or octets.
        ///kind = "number"
        "kind": Other(|index, value| {
            value.set("a kind of index", |name| Kind::by_name(string(name)?), &mut index.kind);
        });
        /// The fields that are indexed, in MARC 21 and in UNIMARC.
        ///marc21 = "852$hi"
        "marc21": Parsed(|index, text| parse(text).map(|sources| index.marc21 = sources));
        ///unimarc = "930$a"
        "unimarc": Parsed(|index, text| parse(text).map(|sources| index.unimarc = sources));
    }
}

/// The rules for attributes of one type.
#[derive(Default)]
pub(super) struct TypeRules {
    only: Vec<i64>,
    all_but: Vec<i64>,
    others: Option<UnsupportedPolicy>,
    suppose: Option<i64>,
}

fn treatment(value: &DeValue<'_>) -> Option<UnsupportedPolicy> {
    match string(value) {
        Some("ignore") => Some(UnsupportedPolicy::Ignore),
        Some(_) => None,
        None => number(value).map(|code| UnsupportedPolicy::Refuse(Condition(code))),
    }
}

/// Applies the rules for one type of attribute to a profile.
fn of_type(value: &Value<'_>, profile: &mut Profile, attribute_type: i64) {
    value.table(|section| {
        let mut rules = TypeRules::default();
        section.fill(&[&TYPE], &mut rules);
        let mut changed = profile.clone();
        match (section.has("only"), section.has("all-but")) {
            (true, true) => section.note("only and all-but cannot both be given"),
            (true, false) => changed = changed.only(attribute_type, rules.only),
            (false, true) => changed = changed.all_but(attribute_type, rules.all_but),
            (false, false) => {}
        }
        if let Some(others) = rules.others {
            changed = changed.others(attribute_type, others);
        }
        if let Some(value) = rules.suppose {
            changed = changed.suppose(attribute_type, value);
        }
        *profile = changed;
    });
}

/// Sets the profile to the predefined profile with this name.
pub(super) fn choose(config: &mut Config, name: &str) -> Result<(), String> {
    let known = || format!("known profiles: {}", Profile::NAMES.join(", "));
    config.profile = Profile::by_name(name).ok_or_else(known)?;
    Ok(())
}

/// Adds the `[[index]]` tables to the default indexes. A table with the name of an existing index replaces this index.
pub(super) fn indexes(value: &Value<'_>, points: &mut AccessPoints) {
    value.tables(|section| {
        let mut index = (INDEX.default)();
        section.fill(&[&INDEX], &mut index);
        if !section.has("marc21") && !section.has("unimarc") {
            section.note("an index that no field feeds: give marc21 or unimarc");
        }
        if let Err(error) = points.set(index) {
            section.note(error.to_string());
        }
    });
}
