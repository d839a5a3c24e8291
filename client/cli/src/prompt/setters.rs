//! The commands that change settings. A setting that is named without a value is shown.

use z3950::service::init::authenticate;
use z3950_asn1::apdu::{DatabaseName, Options, ReferenceId, Schema};
use z3950_asn1::oid::Oid;
use z3950_asn1::query::ccl::Bib;
use z3950_asn1::query::cql::Properties;
use z3950_asn1::query::{Language, tree};
use z3950_asn1::types::Bits;

use super::command::{Answer, Stop, words};
use super::query::QueryType;
use super::settings::{Reconnects, on_off};
use super::state::State;
use super::tape::appended;
use crate::console::exit::Exit;
use crate::console::output::Output;
use crate::render::Format;

/// How many texts `set_otherinfo` has room for.
const OTHER_INFO: u8 = 10;

impl State {
    pub(super) fn base(&mut self, names: &str, output: &mut Output) -> Answer {
        if names.is_empty() {
            return self.say("base", output);
        }
        let names = words(names);
        let names = names.iter().map(|name| name.replace('+', " "));
        self.databases = names
            .map(|name| DatabaseName::from(name.as_str()))
            .collect();
        let databases = self.databases.clone();
        if let Some(place) = self.place_mut() {
            place.databases = databases;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn record_syntax(&mut self, names: &str, output: &mut Output) -> Answer {
        match names {
            "" => return self.say("format", output),
            "none" => self.settings.record_syntaxes.clear(),
            names => {
                let syntaxes = names.split_whitespace().map(|name| {
                    let known = Oid::record_syntax_by_name(name.as_bytes());
                    known.or_else(|| self.registered(name)).ok_or_else(|| {
                        let hint = match Format::by_name(name) {
                            Some(format) => format!(
                                "; z3950 open --format {} prints records that way",
                                format.name()
                            ),
                            None => String::new(),
                        };
                        Stop::wrong(format!(
                            "{name} is not a known record syntax: use a name such as usmarc, unimarc, xml, sutrs, opac or \
                             grs-1, or an object identifier{hint}"
                        ))
                    })
                });
                self.settings.record_syntaxes = syntaxes.collect::<Result<_, _>>()?;
            }
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn schema(&mut self, name: &str, output: &mut Output) -> Answer {
        self.settings.schema = match name {
            "" => return self.say("schema", output),
            "none" => None,
            name => Some(match self.registered(name).or_else(|| oid(name)) {
                Some(oid) => Schema::Oid(oid),
                None => Schema::Uri(name.into()),
            }),
        };
        Ok(Exit::Delivered)
    }

    pub(super) fn elements(&mut self, name: &str, output: &mut Output) -> Answer {
        self.settings.element_set = match name {
            "" => return self.say("elements", output),
            "none" => None,
            name if name.contains(char::is_whitespace) => return Err(Stop::Usage),
            name => Some(name.into()),
        };
        Ok(Exit::Delivered)
    }

    pub(super) fn querytype(&mut self, name: &str, output: &mut Output) -> Answer {
        if name.is_empty() {
            return self.say("querytype", output);
        }
        self.settings.query_type = QueryType::by_name(name).ok_or_else(|| {
            Stop::wrong(format!(
                "{name} is not a query type: {}",
                QueryType::names()
            ))
        })?;
        Ok(Exit::Delivered)
    }

    pub(super) fn large_set_lower_bound(&mut self, text: &str, output: &mut Output) -> Answer {
        match text {
            "" => return self.say("lslb", output),
            text => self.settings.large_set_lower_bound = bound(text)?,
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn small_set_upper_bound(&mut self, text: &str, output: &mut Output) -> Answer {
        match text {
            "" => return self.say("ssub", output),
            text => self.settings.small_set_upper_bound = bound(text)?,
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn medium_set_present_number(&mut self, text: &str, output: &mut Output) -> Answer {
        match text {
            "" => return self.say("mspn", output),
            text => self.settings.medium_set_present_number = bound(text)?,
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn status(&mut self, _: &str, output: &mut Output) -> Answer {
        for name in ["ssub", "lslb", "mspn"] {
            output.line(&format!("{name} {}", self.shown(name)))?;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn set_names(&mut self, text: &str, output: &mut Output) -> Answer {
        let is_on = self.settings.named_sets.unwrap_or(true);
        // yaz-client turns it over where nothing is said.
        let is_on = if text.is_empty() { !is_on } else { flag(text)? };
        self.settings.named_sets = Some(is_on);
        output.note(&format!("result sets have names: {}", on_off(is_on)));
        Ok(Exit::Delivered)
    }

    pub(super) fn reference_id(&mut self, text: &str, _: &mut Output) -> Answer {
        self.settings.reference_id = (!text.is_empty()).then(|| ReferenceId(text.into()));
        Ok(Exit::Delivered)
    }

    pub(super) fn authentication(&mut self, text: &str, _: &mut Output) -> Answer {
        let words = words(text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.settings.authentication = match words.as_slice() {
            [] => None,
            ["-"] => Some(authenticate::anonymous()),
            [open] => Some(authenticate::open(open)),
            [user, password] => Some(authenticate::id_pass(Some(user), None, Some(password))),
            [user, group, password] => Some(authenticate::id_pass(
                Some(user),
                Some(group),
                Some(password),
            )),
            _ => return Err(Stop::Usage),
        };
        Ok(Exit::Delivered)
    }

    pub(super) fn proxy(&mut self, text: &str, _: &mut Output) -> Answer {
        self.settings.proxy = match text {
            "" | "none" => None,
            text => {
                super::opening::parse(text)?;
                Some(text.to_owned())
            }
        };
        Ok(Exit::Delivered)
    }

    /// The class says what it is an identifier of, which nobody here needs to know.
    pub(super) fn register_oid(&mut self, text: &str, _: &mut Output) -> Answer {
        match words(text).as_slice() {
            [name, _, identifier] => {
                let identifier = identifier.parse().map_err(|_| Stop::Usage)?;
                self.settings.oids.insert(name.to_lowercase(), identifier);
                Ok(Exit::Delivered)
            }
            _ => Err(Stop::Usage),
        }
    }

    fn registered(&self, name: &str) -> Option<Oid> {
        self.settings.oids.get(&name.to_lowercase()).copied()
    }

    pub(super) fn set_auto_reconnect(&mut self, text: &str, output: &mut Output) -> Answer {
        match text {
            "" => return self.say("set_auto_reconnect", output),
            text => self.settings.reconnects = Reconnects::by_name(text)?,
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn set_auto_wait(&mut self, text: &str, output: &mut Output) -> Answer {
        match text {
            "" => return self.say("set_auto_wait", output),
            text => self.settings.auto_wait = flag(text)?,
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn set_otherinfo(&mut self, text: &str, _: &mut Output) -> Answer {
        let mut parts = text.splitn(3, char::is_whitespace);
        let (Some(index), Some(oid), Some(value)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(Stop::Usage);
        };
        let index = place(index)?;
        let oid = oid.parse().map_err(|_| Stop::Usage)?;
        self.settings
            .other
            .insert(index, (oid, value.trim().to_owned()));
        Ok(Exit::Delivered)
    }

    pub(super) fn list_otherinfo(&mut self, text: &str, output: &mut Output) -> Answer {
        let only = match text {
            "" => None,
            index => Some(place(index)?),
        };
        for (index, (oid, text)) in &self.settings.other {
            if only.is_none_or(|only| only == *index) {
                output.line(&format!("{index} {oid} {text}"))?;
            }
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn clear_otherinfo(&mut self, text: &str, _: &mut Output) -> Answer {
        match text {
            "" => self.settings.other.clear(),
            index => {
                self.settings.other.remove(&place(index)?);
            }
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn options(&mut self, text: &str, output: &mut Output) -> Answer {
        match text {
            "" => {
                output.line(&format!("offered: {}", self.shown("options")))?;
                if let Some(place) = self.place() {
                    let granted = place.session.server_info().options.names();
                    let granted = granted.collect::<Vec<_>>().join(" ");
                    output.line(&format!("in force: {granted}"))?;
                }
            }
            "default" => self.settings.offered = None,
            names => {
                let options = names.split_whitespace().map(|name| {
                    option(name)
                        .ok_or_else(|| Stop::wrong(format!("{name} is not an option of Init")))
                });
                let options = options.collect::<Result<Vec<Options>, Stop>>()?;
                let options = options.into_iter().fold(Options::default(), Options::union);
                self.settings.offered = Some(options);
            }
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn version(&mut self, text: &str, output: &mut Output) -> Answer {
        self.settings.version = match text {
            "" => return self.say("zversion", output),
            "1" => 1,
            "2" => 2,
            "3" => 3,
            _ => return Err(Stop::Usage),
        };
        Ok(Exit::Delivered)
    }

    pub(super) fn set_marcdump(&mut self, path: &str, _: &mut Output) -> Answer {
        // The one before is given up first: it may be the same.
        self.seen.dump_to(None);
        if !path.is_empty() {
            self.seen.dump_to(Some((path.to_owned(), appended(path)?)));
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn set_cclfile(&mut self, path: &str, _: &mut Output) -> Answer {
        let text = super::script::text_of(path)?;
        let bib = Bib::parse(&text).map_err(|error| Stop::file(path, &error))?;
        self.dialects.bib = Some(bib);
        Ok(Exit::Delivered)
    }

    pub(super) fn set_cqlfile(&mut self, path: &str, _: &mut Output) -> Answer {
        let text = super::script::text_of(path)?;
        let properties = Properties::parse(&text).map_err(|error| Stop::file(path, &error))?;
        self.dialects.properties = Some(properties);
        Ok(Exit::Delivered)
    }

    pub(super) fn ccl_parse(&mut self, text: &str, output: &mut Output) -> Answer {
        let query = self
            .dialects
            .read(Language::Ccl, text)
            .map_err(|error| Stop::wrong(format!("{error}\n{}", error.pointed_out(text))))?;
        output.line(tree(&query).trim_end())?;
        Ok(Exit::Delivered)
    }
}

/// `on` or `off`, or the numbers that yaz-client takes.
pub(super) fn flag(text: &str) -> Result<bool, Stop> {
    match text.trim() {
        "on" | "1" | "yes" => Ok(true),
        "off" | "0" | "no" => Ok(false),
        _ => Err(Stop::Usage),
    }
}

fn oid(text: &str) -> Option<Oid> {
    text.parse().ok().or_else(|| Oid::by_name(text))
}

/// A bound of piggyback: not negative.
fn bound(text: &str) -> Result<i64, Stop> {
    let number: u32 = text.parse().map_err(|_| Stop::Usage)?;
    Ok(number.into())
}

/// One of the ten places of `set_otherinfo`.
fn place(text: &str) -> Result<u8, Stop> {
    let index: u8 = text.parse().map_err(|_| Stop::Usage)?;
    (index < OTHER_INFO).then_some(index).ok_or(Stop::Usage)
}

/// An option of Init by its name, in any case.
fn option(name: &str) -> Option<Options> {
    (0..Bits::MAX)
        .map(|bit| Options(Bits::default().with(bit)))
        .find(|option| option.names().any(|known| known.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_names() {
        assert_eq!(option("search"), Some(Options::SEARCH));
        assert_eq!(option("NAMEDRESULTSETS"), Some(Options::NAMED_RESULT_SETS));
        assert_eq!(option("nonsense"), None);
    }
}
