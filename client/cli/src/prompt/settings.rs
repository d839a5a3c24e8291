//! What stays as it is until it is changed: the settings of the prompt, and how they are shown.

use std::collections::BTreeMap;

use z3950::error::Error;
use z3950::plan::SessionDefaults;
use z3950::service::init::InitOptions;
use z3950::session::Repeat;
use z3950::target::redacted;
use z3950_asn1::apdu::{
    IdAuthentication, InfoCategory, Information, Options, OtherInformation, OtherInformationUnit,
    ProtocolVersion, ReferenceId, Schema,
};
use z3950_asn1::error::EncodeError;
use z3950_asn1::format::charset_negotiation::OriginProposal;
use z3950_asn1::format::facets::FacetList;
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;
use z3950_marc::charset::Charset;

use super::command::{Answer, Run, Stop, entry};
use super::facets::shown_as;
use super::query::QueryType;
use super::setters::flag;
use super::state::State;
use crate::console::exit::Exit;
use crate::console::output::Output;
use crate::render::Format;

/// When a search or a scan opens anew the session that the server has dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Reconnects {
    Never,
    /// If it was dropped before, while nobody used it.
    #[default]
    WhenIdle,
    /// Also if it was dropped instead of an answer.
    Always,
}

impl Reconnects {
    /// That of a name, as `set_auto_reconnect` takes it.
    pub(super) fn by_name(name: &str) -> Result<Self, Stop> {
        match name {
            "idle" => Ok(Self::WhenIdle),
            name => flag(name).map(|is_on| if is_on { Self::Always } else { Self::Never }),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Never => "off",
            Self::WhenIdle => "idle",
            Self::Always => "on",
        }
    }

    /// Whether a request that failed so is made once more on another session.
    pub(super) fn allows(self, error: &Error) -> bool {
        match self {
            Self::Never => false,
            Self::WhenIdle => Repeat::IfUnsent.allows(error),
            Self::Always => Repeat::IfLost.allows(error),
        }
    }
}

/// The settings of the prompt, which all its sessions share.
pub(super) struct Settings {
    /// How records are written.
    pub(super) output: Format,
    pub(super) marc_charset: Option<Charset>,
    pub(super) query_charset: Option<Charset>,
    pub(super) proposed_charsets: Vec<String>,
    pub(super) records_too: bool,
    pub(super) language: Option<String>,
    pub(super) query_type: QueryType,
    /// Best first; several are sent as a choice.
    pub(super) record_syntaxes: Vec<Oid>,
    pub(super) element_set: Option<InternationalString>,
    pub(super) schema: Option<Schema>,
    /// `None`: as the server allows.
    pub(super) named_sets: Option<bool>,
    pub(super) small_set_upper_bound: i64,
    pub(super) large_set_lower_bound: i64,
    pub(super) medium_set_present_number: i64,
    pub(super) facets: Option<FacetList>,
    pub(super) scan_size: u64,
    pub(super) scan_step: Option<u64>,
    pub(super) scan_position: Option<u64>,
    pub(super) reference_id: Option<ReferenceId>,
    pub(super) authentication: Option<IdAuthentication>,
    pub(super) offered: Option<Options>,
    pub(super) version: u8,
    pub(super) other: BTreeMap<u8, (Oid, String)>,
    /// By names in small letters.
    pub(super) oids: BTreeMap<String, Oid>,
    pub(super) proxy: Option<String>,
    pub(super) reconnects: Reconnects,
    /// Whether a command waits for the answer to its request.
    pub(super) auto_wait: bool,
    /// What is written is in this character set.
    pub(super) display_charset: Option<Charset>,
    pub(super) package_name: Option<InternationalString>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            output: Format::default(),
            marc_charset: None,
            query_charset: None,
            proposed_charsets: Vec::new(),
            records_too: false,
            language: None,
            query_type: QueryType::default(),
            record_syntaxes: Vec::new(),
            element_set: None,
            schema: None,
            named_sets: None,
            small_set_upper_bound: 0,
            large_set_lower_bound: 1,
            medium_set_present_number: 0,
            facets: None,
            scan_size: 20,
            scan_step: None,
            scan_position: Some(1),
            reference_id: None,
            authentication: None,
            offered: None,
            version: 3,
            other: BTreeMap::new(),
            oids: BTreeMap::new(),
            proxy: None,
            reconnects: Reconnects::default(),
            auto_wait: true,
            display_charset: None,
            package_name: None,
        }
    }
}

/// The settings that `set` changes and `settings` shows, by the commands of their names.
pub(super) const NAMES: &[&str] = &[
    "base",
    "querytype",
    "format",
    "elements",
    "schema",
    "setnames",
    "lslb",
    "ssub",
    "mspn",
    "facets",
    "scansize",
    "scanstep",
    "scanpos",
    "refid",
    "authentication",
    "options",
    "zversion",
    "negcharset",
    "displaycharset",
    "marccharset",
    "querycharset",
    "lang",
    "proxy",
    "set_auto_reconnect",
    "set_auto_wait",
    "packagename",
    "set_marcdump",
];

impl Settings {
    /// What a URL says about searches to come.
    pub(super) fn follow(&mut self, defaults: &SessionDefaults) {
        if let Some(name) = &defaults.element_set {
            self.element_set = Some(InternationalString::from(name.as_bytes()));
        }
        if let Some(syntax) = defaults.record_syntax {
            self.record_syntaxes = vec![syntax];
        }
    }

    /// What Init is to say.
    pub(super) fn init(&self, mut init: InitOptions) -> Result<InitOptions, EncodeError> {
        init.versions = match self.version {
            1 => ProtocolVersion::ONLY_1,
            2 => ProtocolVersion::UP_TO_2,
            _ => init.versions,
        };
        init.options = self.offered.unwrap_or(init.options);
        init.authentication = self.authentication.clone().or(init.authentication);
        init.other_info = self.other_info().or(init.other_info);
        if self.proposed_charsets.is_empty() && self.language.is_none() {
            return Ok(init);
        }
        let sets: Vec<&str> = self.proposed_charsets.iter().map(String::as_str).collect();
        let languages: Vec<&str> = self.language.as_deref().into_iter().collect();
        init.negotiating(OriginProposal::named(&sets, &languages, self.records_too))
    }

    /// What every request says beside itself.
    pub(super) fn other_info(&self) -> Option<OtherInformation> {
        let units = self.other.values().map(|(oid, text)| OtherInformationUnit {
            category: Some(InfoCategory {
                category_type_id: Some(*oid),
                category_value: 1,
            }),
            information: Information::CharacterInfo(text.as_str().into()),
        });
        (!self.other.is_empty()).then(|| OtherInformation(units.collect()))
    }
}

impl State {
    /// Shows all settings, or carries out the command of the one that is named.
    pub(super) fn list_all(&mut self, text: &str, output: &mut Output) -> Answer {
        if let Some(name) = text.split_whitespace().next() {
            let found = entry(name).filter(|entry| NAMES.contains(&entry.name));
            let Some(Run::Here(run)) = found.map(|entry| &entry.run) else {
                return Err(Stop::wrong(format!(
                    "{name} is not a setting; settings lists them"
                )));
            };
            let value = text.get(name.len()..).unwrap_or_default().trim();
            return run(self, value, output);
        }
        for name in NAMES {
            let value = self.shown(name);
            output.line(&format!("{name:<20} {value}"))?;
        }
        Ok(Exit::Delivered)
    }

    /// The value of a setting; credentials are never shown.
    pub(super) fn shown(&self, name: &str) -> String {
        let settings = &self.settings;
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".into());
        let string = |text: &Option<InternationalString>| {
            or_none(
                text.as_ref()
                    .map(|text| text.to_string_lossy().into_owned()),
            )
        };
        let charset =
            |charset: Option<Charset>| charset.map_or("auto", |charset| charset.name()).into();
        match name {
            "base" => {
                let names = self.searched();
                let names: Vec<_> = names.iter().map(|name| name.0.to_string_lossy()).collect();
                names.join(" ")
            }
            "querytype" => settings.query_type.name().into(),
            "format" => {
                let names = settings.record_syntaxes.iter();
                let names: Vec<String> = names.map(|oid| format!("{oid:?}")).collect();
                or_none((!names.is_empty()).then(|| names.join(" ")))
            }
            "elements" => string(&settings.element_set),
            "schema" => or_none(settings.schema.as_ref().map(|schema| match schema {
                Schema::Oid(oid) => format!("{oid:?}"),
                Schema::Uri(uri) => uri.to_string_lossy().into_owned(),
            })),
            "setnames" => match settings.named_sets {
                None => "as the server allows".into(),
                Some(is_on) => on_off(is_on).into(),
            },
            "lslb" => settings.large_set_lower_bound.to_string(),
            "ssub" => settings.small_set_upper_bound.to_string(),
            "mspn" => settings.medium_set_present_number.to_string(),
            "facets" => or_none(settings.facets.as_ref().map(|list| {
                let fields: Vec<String> = list.0.iter().map(shown_as).collect();
                fields.join(" ")
            })),
            "scansize" => settings.scan_size.to_string(),
            "scanstep" => or_none(settings.scan_step.map(|step| step.to_string())),
            "scanpos" => or_none(settings.scan_position.map(|position| position.to_string())),
            "refid" => or_none(
                settings
                    .reference_id
                    .as_ref()
                    .map(|id| crate::render::shown(id.0.as_bytes())),
            ),
            "authentication" => match settings.authentication {
                None => "none".into(),
                Some(IdAuthentication::Anonymous) => "anonymous".into(),
                Some(_) => "<redacted>".into(),
            },
            "options" => match settings.offered {
                None => "default".into(),
                Some(options) => options.names().collect::<Vec<_>>().join(" "),
            },
            "zversion" => settings.version.to_string(),
            "negcharset" => {
                let names = &settings.proposed_charsets;
                or_none((!names.is_empty()).then(|| names.join(",")))
            }
            "displaycharset" => settings
                .display_charset
                .map_or("utf-8", |charset| charset.name())
                .into(),
            "marccharset" => charset(settings.marc_charset),
            "querycharset" => settings
                .query_charset
                .map_or("utf-8", |charset| charset.name())
                .into(),
            "lang" => or_none(settings.language.clone()),
            "proxy" => or_none(settings.proxy.as_deref().map(redacted)),
            "set_auto_reconnect" => settings.reconnects.name().into(),
            "set_auto_wait" => on_off(settings.auto_wait).into(),
            "packagename" => string(&settings.package_name),
            "set_marcdump" => or_none(self.seen.dump()),
            _ => String::new(),
        }
    }

    /// Shows a setting that was named alone.
    pub(super) fn say(&self, name: &str, output: &mut Output) -> Answer {
        output.line(&self.shown(name))?;
        Ok(Exit::Delivered)
    }
}

pub(super) fn on_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950::service::init::authenticate;

    #[test]
    fn every_setting_is_a_command_that_is_carried_out_here() {
        for name in NAMES {
            let found = entry(name).expect(name);
            assert_eq!(found.name, *name);
            assert!(matches!(found.run, Run::Here(_)), "{name}");
        }
    }

    #[test]
    fn init_says_what_is_set() {
        let mut settings = Settings::default();
        assert_eq!(
            settings.init(InitOptions::default()).expect("encodes"),
            InitOptions::default()
        );
        settings.version = 2;
        settings.offered = Some(Options::SEARCH | Options::PRESENT);
        settings.proposed_charsets = vec!["utf-8".into()];
        settings.authentication = Some(authenticate::anonymous());
        let init = settings.init(InitOptions::default()).expect("encodes");
        assert_eq!(init.versions, ProtocolVersion::UP_TO_2);
        assert_eq!(
            init.options,
            Options::SEARCH | Options::PRESENT | Options::NEGOTIATION_MODEL
        );
        assert!(init.other_info.is_some());
        assert_eq!(init.authentication, Some(IdAuthentication::Anonymous));
    }
}
