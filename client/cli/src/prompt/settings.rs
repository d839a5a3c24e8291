//! The settings of the prompt.

use std::collections::BTreeMap;

use z3950::error::Error;
use z3950::plan::SessionDefaults;
use z3950::profile::{Attributes, SruMethod};
use z3950::service::init;
use z3950::session::Repeat;
use z3950_asn1::apdu::{
    AttributeList, IdAuthentication, InfoCategory, Information, InitializeRequest, Options,
    OtherInformation, OtherInformationUnit, ProtocolVersion, ReferenceId, Schema,
};
use z3950_asn1::error::EncodeError;
use z3950_asn1::format::charset_negotiation::OriginProposal;
use z3950_asn1::format::facets::{FacetField, FacetList};
use z3950_asn1::oid::Oid;
use z3950_asn1::sru::Version as SruVersion;
use z3950_asn1::types::InternationalString;
use z3950_marc::charset::Charset;
use z3950_marc::table::Columns;

use super::command::Refusal;
use super::query::QueryType;
use crate::commands::facets::{field, field_name};
use crate::render::{Format, Style};

/// The conditions under which a search or a scan reconnects after the server has closed the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Reconnects {
    Never,
    /// If the session was closed while it was idle.
    #[default]
    WhenIdle,
    /// If the session was closed while it was idle, or instead of a response.
    Always,
}

impl Reconnects {
    /// Parses the argument of `set_auto_reconnect`.
    pub(super) fn by_name(name: &str) -> Result<Self, Refusal> {
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

    /// Returns whether to repeat a request that failed with this error in a new session.
    pub(super) fn allows(self, error: &Error) -> bool {
        match self {
            Self::Never => false,
            Self::WhenIdle => Repeat::IfUnsent.allows(error),
            Self::Always => Repeat::IfLost.allows(error),
        }
    }
}

/// The settings of the prompt, which apply to all sessions.
#[derive(Default)]
pub(super) struct Settings {
    /// The method and the version to use in requests to SRU servers. They override those in profiles. If no version is
    /// set here, the profile's version is used.
    pub(super) sru: Option<(SruMethod, Option<SruVersion>)>,
    /// The format in which records are shown.
    pub(super) output: Format,
    /// The columns of tables; `None` for the default columns.
    pub(super) columns: Option<Columns>,
    /// Whether a table has a row for each copy.
    pub(super) has_row_per_copy: bool,
    pub(super) marc_charset: Option<Charset>,
    pub(super) query_charset: Option<Charset>,
    pub(super) proposed_charsets: Vec<String>,
    pub(super) records_too: bool,
    pub(super) language: Option<String>,
    pub(super) query_type: QueryType,
    /// The record syntaxes to request, most preferred first. If there are several, the request offers the server a
    /// choice of them.
    pub(super) record_syntaxes: Vec<Oid>,
    pub(super) element_set: Option<InternationalString>,
    pub(super) schema: Option<Schema>,
    /// Whether `find` lists the first titles on a terminal.
    pub(super) lists_titles: bool,
    /// Whether to use named result sets; with `None`, they are used if the server supports them.
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
    /// OIDs registered by the user, keyed by their names in lower case.
    pub(super) oids: BTreeMap<String, Oid>,
    pub(super) proxy: Option<String>,
    pub(super) reconnects: Reconnects,
    /// Whether a command waits for the responses to its requests before the next command is read.
    pub(super) auto_wait: bool,
    /// The character set of the output.
    pub(super) display_charset: Option<Charset>,
    pub(super) package_name: Option<InternationalString>,
}

impl Settings {
    pub(super) fn new() -> Self {
        Self {
            large_set_lower_bound: 1,
            scan_size: 20,
            scan_position: Some(1),
            version: 3,
            auto_wait: true,
            lists_titles: true,
            ..Self::default()
        }
    }

    /// Returns the style for records in this format. Tables have the columns in the settings.
    pub(super) fn style_in(&self, format: Format) -> Style {
        let style = Style::new(format, self.columns.as_ref());
        style.with_row_per_copy(self.has_row_per_copy)
    }

    /// Returns whether the bounds for the number of records that a search returns have their default values.
    pub(super) fn has_default_bounds(&self) -> bool {
        let bounds = |set: &Self| {
            let (small, large) = (set.small_set_upper_bound, set.large_set_lower_bound);
            (small, large, set.medium_set_present_number)
        };
        bounds(self) == bounds(&Self::new())
    }

    /// Takes the defaults for later searches from a URL.
    pub(super) fn follow(&mut self, defaults: &SessionDefaults) {
        if let Some(name) = &defaults.element_set {
            self.element_set = Some(InternationalString::from(name.as_bytes()));
        }
        if let Some(syntax) = defaults.record_syntax {
            self.record_syntaxes = vec![syntax];
        }
    }

    /// Returns the Init request with these settings.
    pub(super) fn init(
        &self,
        mut init: InitializeRequest,
    ) -> Result<InitializeRequest, EncodeError> {
        init.protocol_version = match self.version {
            1 => ProtocolVersion::ONLY_1,
            2 => ProtocolVersion::UP_TO_2,
            _ => init.protocol_version,
        };
        init.options = self.offered.unwrap_or(init.options);
        init.id_authentication = self.authentication.clone().or(init.id_authentication);
        init.other_info = self.other_info().or(init.other_info);
        if self.proposed_charsets.is_empty() && self.language.is_none() {
            return Ok(init);
        }
        let sets: Vec<&str> = self.proposed_charsets.iter().map(String::as_str).collect();
        let languages: Vec<&str> = self.language.as_deref().into_iter().collect();
        let proposal = OriginProposal::named(&sets, &languages, self.records_too);
        init::negotiating(init, proposal)
    }

    /// Returns the OtherInformation to send with every request.
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

/// The maximum number of fields in a request for facets.
const MAX_FACETS: usize = 100;

/// Parses facet fields such as `author subject:5`, or the attributes of each field, separated by commas as in
/// yaz-client: `@attr 1=author @attr 3=5, @attr 1=subject`.
pub(super) fn facet_list(text: &str) -> Result<FacetList, Refusal> {
    let fields: Result<Vec<FacetField>, Refusal> = if text.starts_with('@') {
        text.split(',').map(by_attributes).collect()
    } else {
        let words = text.split_whitespace();
        words
            .map(|word| field(word).map_err(Refusal::wrong))
            .collect()
    };
    let fields = fields?;
    match fields.len() {
        0..=MAX_FACETS => Ok(FacetList(fields)),
        _ => Err(Refusal::wrong(format!(
            "at most {MAX_FACETS} facets can be requested"
        ))),
    }
}

fn by_attributes(field: &str) -> Result<FacetField, Refusal> {
    let attributes = field.split("@attr").map(str::trim).collect::<Vec<_>>();
    let Some(("", attributes)) = attributes.split_first().map(|(first, rest)| (*first, rest))
    else {
        return Err(Refusal::Usage);
    };
    let read: Attributes = attributes.join(",").parse().map_err(Refusal::caused)?;
    let field = FacetField {
        attributes: AttributeList(read.0),
        terms: None,
    };
    match field.field() {
        Some(_) => Ok(field),
        None => Err(Refusal::wrong(
            "a facet needs a field, such as @attr 1=author",
        )),
    }
}

/// Returns a facet field in the notation that the command accepts, such as `author:5`.
pub(super) fn shown_as(field: &FacetField) -> String {
    match field.limit() {
        Some(limit) => format!("{}:{limit}", field_name(field)),
        None => field_name(field),
    }
}

/// Parses `on` or `off`, or their synonyms `1`, `yes`, `0` and `no`.
pub(super) fn flag(text: &str) -> Result<bool, Refusal> {
    match text.trim() {
        "on" | "1" | "yes" => Ok(true),
        "off" | "0" | "no" => Ok(false),
        _ => Err(Refusal::Usage),
    }
}

pub(super) fn on_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_names_or_attributes() {
        for (text, expected) in [
            ("author", Some("author 10")),
            ("author subject:5", Some("author 10, subject 5")),
            ("@attr 1=author @attr 3=5", Some("author 5")),
            (
                "@attr 1=4 , @attr 1=subject @attr 3=2",
                Some("4 -, subject 2"),
            ),
            (":5", None),
            ("author:x", None),
            ("@attr 3=5", None),
            ("@attr x", None),
            ("@ 1=4", None),
        ] {
            let found = facet_list(text).ok().map(|list| {
                let fields = list.0.iter().map(|field| {
                    let limit = field.limit().map(|limit| limit.to_string());
                    format!("{} {}", field_name(field), limit.unwrap_or("-".into()))
                });
                fields.collect::<Vec<_>>().join(", ")
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn init_follows_the_settings() {
        let mut settings = Settings::new();
        assert_eq!(
            settings.init(init::offer()).expect("encodes"),
            init::offer()
        );
        settings.version = 2;
        settings.offered = Some(Options::SEARCH | Options::PRESENT);
        settings.proposed_charsets = vec!["utf-8".into()];
        settings.authentication = Some(IdAuthentication::Anonymous);
        let init = settings.init(init::offer()).expect("encodes");
        assert_eq!(init.protocol_version, ProtocolVersion::UP_TO_2);
        assert_eq!(
            init.options,
            Options::SEARCH | Options::PRESENT | Options::NEGOTIATION_MODEL
        );
        assert!(init.other_info.is_some());
        assert_eq!(init.id_authentication, Some(IdAuthentication::Anonymous));
    }
}
