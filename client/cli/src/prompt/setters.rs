//! The commands that change settings. Without a value, each of them shows the current value.

use clap::ValueEnum;
use z3950::service::init::id_pass;
use z3950::target::redacted;
use z3950_asn1::apdu::{DatabaseName, IdAuthentication, Options, Schema};
use z3950_asn1::oid::Oid;
use z3950_asn1::query::{Language, nearest, tree};
use z3950_asn1::types::InternationalString;
use z3950_marc::charset::Charset;
use z3950_marc::table::{Columns, DEFAULT_COLUMNS};

use super::command::{CommandResult, Refusal, number, words};
use super::query::QueryType;
use super::settings::{Settings, facet_list, flag, on_off, shown_as};
use super::state::Prompt;
use crate::commands::query::pointed_out;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{Format, shown};

/// The number of texts that can be set by `set_otherinfo`.
const OTHER_INFO: u8 = 10;

impl Prompt {
    pub(super) fn base(&mut self, names: &str) -> Result<(), Refusal> {
        let names = words(names);
        let names = names.iter().map(|name| name.replace('+', " "));
        self.databases = names
            .map(|name| DatabaseName::from(name.as_str()))
            .collect();
        let databases = self.databases.clone();
        if let Some(opened) = self.opened_mut() {
            opened.way.select(databases);
        }
        Ok(())
    }

    /// Sets the record syntaxes to request, the format in which records are shown, or both, as in `usmarc`, `brief` and
    /// `mrk xml usmarc`, respectively.
    pub(super) fn format(&mut self, names: &str, output: &mut Output) -> CommandResult {
        if names.is_empty() {
            return self.say("format", output);
        }
        let mut display = None;
        let mut syntaxes = (names == "none").then(Vec::new);
        for name in names.split_whitespace().filter(|_| names != "none") {
            let syntax = Oid::record_syntax_by_name(name.as_bytes());
            match (
                syntax.or_else(|| self.registered(name)),
                Format::by_name(name),
            ) {
                (Some(syntax), _) => syntaxes.get_or_insert_default().push(syntax),
                (None, Some(format)) if display.is_none() => display = Some(format),
                (None, Some(_)) => {
                    let words = format!("{name}: records are shown in one format at a time");
                    return Err(Refusal::wrong(words));
                }
                (None, None) => return Err(Refusal::wrong(no_format(name))),
            }
        }
        if let Some(syntaxes) = syntaxes {
            self.settings.record_syntaxes = syntaxes;
        }
        if let Some(format) = display {
            self.write_as(format, output)?;
        } else if Format::by_name(names).is_some() && self.context.asker.is_some() {
            output.note(&format!(
                "{names} is taken as a record syntax to request; records are shown as {}",
                self.settings.output.name()
            ));
        }
        Ok(Exit::Delivered)
    }

    /// Sets the format in which records are shown. In a script whose output is not a terminal, the records from all
    /// commands are written as one document, unless the format is meant for people to read.
    pub(super) fn write_as(&mut self, format: Format, output: &mut Output) -> Result<(), Failure> {
        let before = std::mem::replace(&mut self.settings.output, format);
        if before == format || self.context.asker.is_some() {
            return Ok(());
        }
        output.finish()?;
        if !format.is_to_read() {
            output.gather(self.settings.style_in(format));
        }
        Ok(())
    }

    pub(super) fn facets(&mut self, text: &str, output: &mut Output) -> CommandResult {
        match text {
            "" => {
                if self.settings.facets.is_none() {
                    output.note("no facets requested");
                }
                for field in self.settings.facets.iter().flat_map(|list| &list.0) {
                    output.line(&shown_as(field))?;
                }
            }
            "none" => self.settings.facets = None,
            text => self.settings.facets = Some(facet_list(text)?),
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn schema(&mut self, name: &str) -> Result<(), Refusal> {
        self.settings.schema = match name {
            "none" => None,
            name => Some(match self.registered(name).or_else(|| oid(name)) {
                Some(oid) => Schema::Oid(oid),
                None => Schema::Uri(name.into()),
            }),
        };
        Ok(())
    }

    pub(super) fn status(&mut self, _: &str, output: &mut Output) -> CommandResult {
        for name in ["ssub", "lslb", "mspn"] {
            output.line(&format!("{name} {}", self.shown(name)))?;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn set_names(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let is_on = self.settings.named_sets.unwrap_or(true);
        // Without an argument, the setting is toggled, as in yaz-client.
        let is_on = if text.is_empty() { !is_on } else { flag(text)? };
        self.settings.named_sets = Some(is_on);
        output.note(&format!("result sets have names: {}", on_off(is_on)));
        Ok(Exit::Delivered)
    }

    pub(super) fn authentication(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let words = words(text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.settings.authentication = match words.as_slice() {
            [] => None,
            ["-"] => Some(IdAuthentication::Anonymous),
            [open] => {
                if self.context.asker.is_none() && !open.contains('/') {
                    output.note(
                        "no password given: a script gives it as authentication USER PASSWORD; the user alone is sent as an \
                         open string",
                    );
                }
                Some(IdAuthentication::Open((*open).into()))
            }
            [user, password] => Some(id_pass(Some(user), None, Some(password))),
            [user, group, password] => Some(id_pass(Some(user), Some(group), Some(password))),
            _ => return Err(Refusal::Usage),
        };
        Ok(Exit::Delivered)
    }

    pub(super) fn proxy(&mut self, text: &str) -> Result<(), Refusal> {
        self.settings.proxy = match text {
            "" | "none" => None,
            text => {
                super::opening::parse(text)?;
                Some(text.to_owned())
            }
        };
        Ok(())
    }

    /// Registers a name for an OID. The class in the arguments is ignored.
    pub(super) fn register_oid(&mut self, text: &str) -> Result<(), Refusal> {
        match words(text).as_slice() {
            [name, _, identifier] => {
                let identifier = identifier.parse().map_err(|_| Refusal::Usage)?;
                self.settings.oids.insert(name.to_lowercase(), identifier);
                Ok(())
            }
            _ => Err(Refusal::Usage),
        }
    }

    fn registered(&self, name: &str) -> Option<Oid> {
        self.settings.oids.get(&name.to_lowercase()).copied()
    }

    pub(super) fn set_otherinfo(&mut self, text: &str) -> Result<(), Refusal> {
        let mut parts = text.splitn(3, char::is_whitespace);
        let (Some(index), Some(oid), Some(value)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(Refusal::Usage);
        };
        let index = index_of(index)?;
        let oid = oid.parse().map_err(|_| Refusal::Usage)?;
        self.settings
            .other
            .insert(index, (oid, value.trim().to_owned()));
        Ok(())
    }

    pub(super) fn list_otherinfo(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let only = match text {
            "" => None,
            index => Some(index_of(index)?),
        };
        for (index, (oid, text)) in &self.settings.other {
            if only.is_none_or(|only| only == *index) {
                output.line(&format!("{index} {oid} {text}"))?;
            }
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn clear_otherinfo(&mut self, text: &str) -> Result<(), Refusal> {
        match text {
            "" => self.settings.other.clear(),
            index => {
                self.settings.other.remove(&index_of(index)?);
            }
        }
        Ok(())
    }

    pub(super) fn options(&mut self, text: &str, output: &mut Output) -> CommandResult {
        match text {
            "" => {
                output.line(&format!("offered: {}", self.shown("options")))?;
                if let Some(opened) = self.opened() {
                    let granted = opened.session.server_info().options.names();
                    let granted = granted.collect::<Vec<_>>().join(" ");
                    output.line(&format!("in force: {granted}"))?;
                }
            }
            "default" => self.settings.offered = None,
            names => {
                let options = names.split_whitespace().map(|name| {
                    Options::by_name(name)
                        .ok_or_else(|| Refusal::wrong(format!("{name} is not an option of Init")))
                });
                let options = options.collect::<Result<Vec<Options>, Refusal>>()?;
                let options = options.into_iter().fold(Options::default(), Options::union);
                self.settings.offered = Some(options);
            }
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn ccl_parse(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let query = self
            .dialects
            .read(Language::Ccl, text)
            .map_err(|error| Refusal::wrong(pointed_out(&error, text)))?;
        output.line(tree(&query).trim_end())?;
        Ok(Exit::Delivered)
    }

    pub(super) fn charset(&mut self, names: &str, output: &mut Output) -> CommandResult {
        let names: Vec<&str> = names.split_whitespace().collect();
        let (negotiated, others) = names.split_first().ok_or(Refusal::Usage)?;
        self.negotiated_charset(negotiated)?;
        if others.len() > 3 {
            return Err(Refusal::Usage);
        }
        if let Some(name) = others.first() {
            self.display_charset(name, output)?;
        }
        let settings = &mut self.settings;
        let of_records = [&mut settings.marc_charset, &mut settings.query_charset];
        for (name, setting) in others.iter().skip(1).zip(of_records) {
            *setting = charset(name)?;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn negotiated_charset(&mut self, text: &str) -> Result<(), Refusal> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (proposed, records_too) = match words.as_slice() {
            ["-" | "none"] => (Vec::new(), false),
            // The version at the end is accepted but ignored, as in yaz-client.
            [names, rest @ ..] if matches!(rest, [] | [_] | [_, "2" | "3"]) => (
                names.split(',').map(str::to_owned).collect(),
                rest.first().map_or(Ok(false), |records| flag(records))?,
            ),
            _ => return Err(Refusal::Usage),
        };
        self.settings.proposed_charsets = proposed;
        self.settings.records_too = records_too;
        Ok(())
    }

    /// Sets the character set in which data is written. Messages are always in UTF-8.
    pub(super) fn display_charset(&mut self, name: &str, output: &mut Output) -> CommandResult {
        if name.is_empty() {
            return self.say("displaycharset", output);
        }
        self.settings.display_charset = charset(name)?;
        output.write_in(self.settings.display_charset);
        Ok(Exit::Delivered)
    }
}

fn oid(text: &str) -> Option<Oid> {
    text.parse().ok().or_else(|| Oid::by_name(text))
}

/// Returns the name of a record syntax, or its identifier if it has no name.
fn syntax_name(syntax: Oid) -> String {
    let mut known = Oid::record_syntaxes();
    let found = known.find(|(_, oid)| *oid == syntax);
    found.map_or_else(|| syntax.to_string(), |(name, _)| name.to_owned())
}

/// Returns the message for a name that is neither a record syntax nor a format, with a suggestion.
fn no_format(name: &str) -> String {
    let syntaxes = Oid::record_syntax_names().map(|(name, _)| name);
    let formats = Format::value_variants().iter().map(|format| format.name());
    let hint = match nearest(name, formats.chain(syntaxes)) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "name a record syntax such as usmarc, unimarc, xml, sutrs, opac or grs-1, its object identifier, or a format \
                 such as text, brief, mrk or json"
            .to_owned(),
    };
    format!("{name} is neither a record syntax nor a format; {hint}")
}

/// Changes a setting to a parsed value, or returns the refusal if the value is invalid.
pub(super) fn put<T>(setting: &mut T, value: Result<T, Refusal>) -> Result<(), Refusal> {
    *setting = value?;
    Ok(())
}

/// Parses a value. Returns `None` for the text `none`.
pub(super) fn unless_none<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, Refusal>,
) -> Result<Option<T>, Refusal> {
    match text {
        "none" => Ok(None),
        text => read(text).map(Some),
    }
}

/// Parses a bound for the number of records that a search returns. It must not be negative.
pub(super) fn bound(text: &str) -> Result<i64, Refusal> {
    number::<u32>(text).map(i64::from)
}

pub(super) fn element_set(name: &str) -> Result<InternationalString, Refusal> {
    if name.contains(char::is_whitespace) {
        Err(Refusal::Usage)
    } else {
        Ok(name.into())
    }
}

pub(super) fn columns(text: &str) -> Result<Columns, Refusal> {
    text.parse().map_err(Refusal::wrong)
}

pub(super) fn query_type(name: &str) -> Result<QueryType, Refusal> {
    let names = || format!("{name} is not a query type: {}", QueryType::names());
    QueryType::by_name(name).ok_or_else(|| Refusal::wrong(names()))
}

pub(super) fn version(text: &str) -> Result<u8, Refusal> {
    let known = number(text)
        .ok()
        .filter(|version| (1..=3).contains(version));
    known.ok_or(Refusal::Usage)
}

pub(super) fn charset(name: &str) -> Result<Option<Charset>, Refusal> {
    match name {
        "auto" | "-" => Ok(None),
        name => Charset::by_name(name)
            .map(Some)
            .ok_or_else(|| Refusal::wrong(format!("{name} is not a known character set"))),
    }
}

/// Parses the index in an argument of `set_otherinfo`.
fn index_of(text: &str) -> Result<u8, Refusal> {
    let index: u8 = number(text)?;
    (index < OTHER_INFO).then_some(index).ok_or(Refusal::Usage)
}

/// The name of a setting, and the function that returns its value.
type Setting = (&'static str, fn(&Settings, &Prompt) -> String);

/// The settings that `set` changes and `settings` shows. A setting has the same name as its command. Credentials are
/// never shown.
pub(super) const SETTINGS: &[Setting] = &[
    ("base", |_, state| {
        joined(state.searched().iter().map(|name| name.0.to_string_lossy()))
    }),
    ("querytype", |set, _| set.query_type.name().into()),
    ("format", |set, state| {
        let known = state.record_syntaxes();
        let syntaxes = joined(known.into_iter().map(syntax_name));
        let or_other = if set.record_syntaxes.is_empty() {
            ", else what the server has"
        } else {
            ""
        };
        format!("{}; record syntax {syntaxes}{or_other}", set.output.name())
    }),
    ("elements", |set, _| {
        or_none(set.element_set.as_ref().map(|name| name.to_string_lossy()))
    }),
    ("fields", |set, _| {
        let columns = set.columns.as_ref();
        columns.map_or_else(|| DEFAULT_COLUMNS.to_owned(), ToString::to_string)
    }),
    ("schema", |set, _| {
        or_none(set.schema.as_ref().map(|schema| match schema {
            Schema::Oid(oid) => format!("{oid:?}"),
            Schema::Uri(uri) => uri.to_string_lossy().into_owned(),
        }))
    }),
    ("setnames", |set, _| {
        set.named_sets.map_or("as the server allows", on_off).into()
    }),
    ("set_titles", |set, _| on_off(set.lists_titles).into()),
    ("lslb", |set, _| set.large_set_lower_bound.to_string()),
    ("ssub", |set, _| set.small_set_upper_bound.to_string()),
    ("mspn", |set, _| set.medium_set_present_number.to_string()),
    ("facets", |set, _| {
        joined(set.facets.iter().flat_map(|list| &list.0).map(shown_as))
    }),
    ("scansize", |set, _| set.scan_size.to_string()),
    ("scanstep", |set, _| or_none(set.scan_step)),
    ("scanpos", |set, _| or_none(set.scan_position)),
    ("refid", |set, _| {
        or_none(set.reference_id.as_ref().map(|id| shown(id.0.as_bytes())))
    }),
    ("authentication", |set, _| match set.authentication {
        None => "none".into(),
        Some(IdAuthentication::Anonymous) => "anonymous".into(),
        Some(_) => "<redacted>".into(),
    }),
    ("options", |set, _| match set.offered {
        None => "default".into(),
        Some(options) => options.names().collect::<Vec<_>>().join(" "),
    }),
    ("zversion", |set, _| set.version.to_string()),
    ("negcharset", |set, _| {
        or_none(Some(set.proposed_charsets.join(",")).filter(|names| !names.is_empty()))
    }),
    ("displaycharset", |set, _| {
        set.display_charset.map_or("utf-8", Charset::name).into()
    }),
    ("marccharset", |set, _| {
        set.marc_charset.map_or("auto", Charset::name).into()
    }),
    ("querycharset", |set, _| {
        set.query_charset.map_or("utf-8", Charset::name).into()
    }),
    ("lang", |set, _| or_none(set.language.as_ref())),
    ("proxy", |set, _| {
        or_none(set.proxy.as_deref().map(redacted))
    }),
    ("set_auto_reconnect", |set, _| set.reconnects.name().into()),
    ("set_auto_wait", |set, _| on_off(set.auto_wait).into()),
    ("packagename", |set, _| {
        or_none(set.package_name.as_ref().map(|name| name.to_string_lossy()))
    }),
    ("set_marcdump", |_, state| or_none(state.seen.dump())),
];

fn or_none(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

fn joined(values: impl Iterator<Item = impl ToString>) -> String {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    or_none((!values.is_empty()).then(|| values.join(" ")))
}

impl Prompt {
    /// Returns the value of the setting with this name, as text.
    pub(super) fn shown(&self, name: &str) -> String {
        let found = SETTINGS.iter().find(|(known, _)| *known == name);
        found.map_or_else(String::new, |(_, value)| value(&self.settings, self))
    }

    /// Shows the value of a setting.
    pub(super) fn say(&self, name: &str, output: &mut Output) -> CommandResult {
        output.line(&self.shown(name))?;
        Ok(Exit::Delivered)
    }
}
