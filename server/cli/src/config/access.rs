//! The offer and the users: `[offer]` and `[access]`.

use std::net::IpAddr;
use std::str::FromStr;

use z3950_asn1::apdu::{Options, ProtocolVersion};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::Offer;
use z3950_server::access::{Access, Challenge, User};

use super::section::{Section, number, string, word};

pub(super) fn offer(section: &Section<'_>, offer: &mut Offer) {
    let version = |value| match number(value)? {
        1 => Some(ProtocolVersion::ONLY_1),
        2 => Some(ProtocolVersion::UP_TO_2),
        3 => Some(ProtocolVersion::UP_TO_3),
        _ => None,
    };
    section.set("versions", "1, 2 or 3", version, &mut offer.versions);
    let options = section.list("options", "the name of an option", |value| {
        string(value).and_then(Options::by_name)
    });
    if section.has("options") {
        offer.options = options.into_iter().fold(Options::default(), Options::union);
    }
    let text = |key, field: &mut Option<String>| {
        let given =
            |value| Some(word(value).map(str::to_owned)).filter(|_| string(value).is_some());
        section.set(key, "a text", given, field);
    };
    text("implementation-id", &mut offer.implementation_id);
    text("implementation-name", &mut offer.implementation_name);
    text("implementation-version", &mut offer.implementation_version);
    let languages = section.list("languages", "a code of three letters", |value| {
        let code = word(value).filter(|code| code.len() == 3);
        code.map(str::to_owned)
    });
    if !languages.is_empty() {
        offer.languages = languages;
    }
    offer.ask_above = section.read("ask-above", "a number", number);
    offer.explain = section.flag("explain").unwrap_or(offer.explain);
}

pub(super) fn read(section: &Section<'_>, access: &mut Access) {
    access.users = section.sections("user", user);
    access.anonymous = section.flag("anonymous").unwrap_or(false);
    access.anyone_may_update = section.flag("anyone-may-update").unwrap_or(false);
    access.blocked = section.list("blocked", "an IP address", |value| {
        IpAddr::from_str(string(value)?).ok()
    });
    access.challenge = section.read("challenge", "\"prompts\", or words to ask with", |value| {
        Some(match word(value)? {
            "prompts" => Challenge::Prompts,
            words => Challenge::Simple(words.to_owned()),
        })
    });
}

fn user(section: &Section<'_>) -> User {
    let text = |key| section.read(key, "a text", string).map(str::to_owned);
    let databases = section.list("databases", "the name of a database", |value| {
        word(value).map(str::to_owned)
    });
    let name = section.need("name", "a text", word);
    let mut user = User::default();
    user.name = name.unwrap_or_default().to_owned();
    user.group = text("group");
    user.password = text("password");
    user.databases = section.has("databases").then_some(databases);
    user.update = section.flag("update");
    user.sessions = section.read("sessions", "a number", number);
    let refusal = section.read("refusal", "the number of a condition", number);
    user.refusal = refusal.map(Condition);
    user
}
