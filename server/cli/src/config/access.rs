//! The `[offer]` table, with the settings for Init, and the `[access]` table, with the settings for users.

use toml::de::DeValue;
use z3950_asn1::apdu::{Options, ProtocolVersion};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::Offer;
use z3950_server::access::{Challenge, User};
use z3950_server::passwords::PasswordHash;

use super::section::{Value, any_text, flag, number, string, text};
use super::setting::settings;
use super::{Config, LISTENERS};

/// Returns the default offer of the program, which is more lenient with clients than the default offer of the library.
pub(super) fn offer() -> Offer {
    let mut offer = Offer::default();
    offer.strict_element_sets = false;
    offer
}

settings! {
    /// What Init grants.
    OFFER "[offer]": Offer = offer() => {
        /// The highest protocol version: 1, 2 or 3.
        ///versions = 3
        "versions": Other(|offer, value| value.set("1, 2 or 3", version, &mut offer.versions));
        /// The options that may be granted; by default, all options that the server supports.
        ///options = ["search", "present", "delSet", "scan", "sort", "namedResultSets"]
        "options": Other(|offer, value| {
            let options = value.list("the name of an option", |value| Options::by_name(string(value)?));
            offer.options = options.into_iter().fold(Options::default(), Options::union);
        });
        ///implementation-id = "81"
        "implementation-id": Other(|offer, value| text_or_none(value, &mut offer.implementation_id));
        ///implementation-name = "z3950d"
        "implementation-name": Other(|offer, value| text_or_none(value, &mut offer.implementation_name));
        ///implementation-version = "1.0"
        "implementation-version": Other(|offer, value| text_or_none(value, &mut offer.implementation_version));
        /// The message languages that clients may choose from (ISO 639-2).
        ///languages = ["eng"]
        "languages": Other(|offer, value| {
            let codes = value.list("a code of three letters", |value| text(value).filter(|code| code.len() == 3));
            if !codes.is_empty() {
                offer.languages = codes;
            }
        });
        /// Ask the client whether to continue before answering a search that has more hits than this.
        ///ask-above = 10000
        "ask-above": Number(Count, 0, |offer| &mut offer.ask_above);
        /// Whether the database IR-Explain-1 exists.
        "explain": Flag(|offer| &mut offer.explain);
        /// Refuse an element set that a database does not have with diagnostic 25. Otherwise, the records are sent in full, and
        /// the log says so. Some clients, such as those of Evergreen, request an element set of their own from every server.
        "strict-element-sets": Flag(|offer| &mut offer.strict_element_sets);
    }

    /// Who may open a session. Without users, anybody may.
    ACCESS "[access]": Config = Config::default() => {
        /// Admit clients without credentials even if users are listed.
        "anonymous": Flag(|config| &mut config.access.anonymous);
        /// Let clients on any host update the databases. Without this setting, only clients on this host (over loopback addresses
        /// and Unix sockets) and users with `update = true` in the settings file may do so. A proxy on this host makes its
        /// clients look like clients on this host.
        "anyone-may-update": Flag(|config| &mut config.access.anyone_may_update), option("anyone-may-update", "", LISTENERS);
        /// Client addresses that are refused.
        ///blocked = ["192.0.2.7"]
        "blocked": Other(|config, value| {
            config.access.blocked = value.list("an IP address", |value| string(value)?.parse().ok());
        });
        /// Ask clients that sent no credentials with Init for credentials: "prompts", or the text of a simple challenge.
        ///challenge = "prompts"
        "challenge": Other(|config, value| {
            value.set("\"prompts\", or words to ask with", challenge, &mut config.access.challenge);
        });
        "user": Tables(&[&USER, &HASHED_USER, &REFUSED_USER], |config, value| {
            config.access.users = value.tables(|section| {
                let mut user = User::default();
                section.fill(&[&USER, &HASHED_USER, &REFUSED_USER], &mut user);
                if user.password.is_some() && user.password_hash.is_some() {
                    section.note("password and password-hash exclude each other");
                }
                user
            });
        });
    }

    USER "[[access.user]]": User = User::default() => {
        ///name = "ann"
        "name": Required(|user, value| value.set("a text", text, &mut user.name));
        ///group = "staff"
        "group": Other(|user, value| value.set("a text", any_text, &mut user.group));
        ///password = "secret"
        "password": Other(|user, value| value.set("a text", any_text, &mut user.password));
        /// Databases this user may search; all of them by default.
        ///databases = ["books"]
        "databases": Other(|user, value| user.databases = Some(value.list("the name of a database", text)));
        /// Whether this user may update databases, from any host. If this is not set, the user may update them like a client
        /// without a user name.
        ///update = true
        "update": Other(|user, value| value.set("true or false", flag, &mut user.update));
        /// The maximum number of sessions that this user may have at once.
        ///sessions = 4
        "sessions": Number(Count, 0, |user| &mut user.sessions);
    }

    /// A user for whom the file contains only a hash of the password, which `z3950d hash-password` prints: Argon2id in the PHC
    /// string format.
    HASHED_USER "[[access.user]]": User = User::default() => {
        ///name = "eve"
        "name": Other(|_, _| ());
        ///password-hash = "$argon2id$v=19$m=19456,t=2,p=1$fVPQRZXrqLzv7LwAbxvfew$XVoY32r3sMEw2IJMuL47z3x5E2T4rI/YBRJZJ1YvV2g"
        "password-hash": Other(|user, value| user.password_hash = value.parse(password_hash));
    }

    /// A user who is always refused, with the given Bib-1 condition.
    REFUSED_USER "[[access.user]]": User = User::default() => {
        ///name = "bob"
        "name": Other(|_, _| ());
        ///refusal = 1017
        "refusal": Other(|user, value| {
            value.set("the number of a condition", |value| number(value).map(Condition), &mut user.refusal);
        });
    }
}

fn password_hash(text: &str) -> Result<PasswordHash, String> {
    PasswordHash::parse(text).map_err(|error| format!("{error}; z3950d hash-password makes one"))
}

fn version(value: &DeValue<'_>) -> Option<ProtocolVersion> {
    match number(value)? {
        1 => Some(ProtocolVersion::ONLY_1),
        2 => Some(ProtocolVersion::UP_TO_2),
        3 => Some(ProtocolVersion::UP_TO_3),
        _ => None,
    }
}

fn challenge(value: &DeValue<'_>) -> Option<Challenge> {
    let words = text(value)?;
    let is_prompts = words == "prompts";
    Some(if is_prompts {
        Challenge::Prompts
    } else {
        Challenge::Simple(words)
    })
}

/// Sets a field to a string, or to `None` if the string is empty.
fn text_or_none(value: &Value<'_>, field: &mut Option<String>) {
    value.set("a text", |value| any_text(value).map(Some), field);
    *field = field.take().filter(|text| !text.is_empty());
}
