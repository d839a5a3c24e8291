//! `z3950 explain`: shows a server's description of its database, with indexes, schemas and limits (ZeeRex 2.0, or
//! Z39.50 Explain), or lists the server's databases.

mod records;

use clap::Args;
use serde_json::{Value, json};
use z3950::retrieve::OutcomeName;
use z3950::sru::SruDescription;
use z3950_asn1::sru::zeerex::{ZeeRex, ZeeRexMap};

use crate::answer::Envelope;
use crate::commands::target::{NamedTarget, Service, TargetClient, Unanswered};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{counted, shown};

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The database to describe, as the path of its URL, instead of the target's.
    #[arg(long = "database", value_name = "PATH")]
    databases: Vec<String>,

    /// Print the description in XML, as an SRU server sends it.
    #[arg(long, conflicts_with = "json")]
    xml: bool,

    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

impl Service for Arguments {
    const NAME: &'static str = "explain";
    const SUMMARY: &'static str = "show what a server says about its database, by SRU or Explain: indexes, schemas, limits; --xml in XML";

    fn databases(&self) -> &[String] {
        &self.databases
    }

    async fn perform(
        &self,
        reach: &TargetClient,
        place: &NamedTarget,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let envelope = Envelope::of(place, &["description"]);
        let described = if place.resolved.endpoint.is_sru() {
            let described = described(reach, place).await;
            described.map(Description::from).map_err(Box::from)
        } else {
            records::describe(reach, place).await
        };
        let description = match described {
            Ok(description) => description,
            Err(answer) => return answer.report(self.json, envelope, place, output),
        };
        if self.json {
            let outcome = OutcomeName::Ok.as_str();
            let envelope = envelope
                .with("outcome", outcome)
                .with("description", description.object());
            envelope.write(output)?;
        } else if self.xml {
            output.line(String::from_utf8_lossy(&description.xml).trim_end())?;
        } else {
            let lists = !place.names_databases && !description.databases.is_empty();
            let lines = if lists {
                description.list()
            } else {
                lines(&description.zeerex)
            };
            for line in lines {
                output.line(&shown(line.as_bytes()))?;
            }
        }
        Ok(Exit::Delivered)
    }
}

/// A server's description of itself.
struct Description {
    zeerex: ZeeRex,
    /// The description in XML.
    xml: Vec<u8>,
    /// The databases that the server names.
    databases: Vec<DatabaseSummary>,
}

/// A database in the list of a server's databases.
struct DatabaseSummary {
    /// The name of the database, or its URL.
    name: String,
    title: String,
    description: String,
    records: Option<u64>,
}

impl From<SruDescription> for Description {
    /// Converts the description. The server's databases are its links of the type `sru`.
    fn from(SruDescription { zeerex, xml, .. }: SruDescription) -> Self {
        let links = zeerex
            .database
            .links
            .iter()
            .filter(|(kind, _)| kind.eq_ignore_ascii_case("sru"));
        let databases = links.map(|(_, url)| DatabaseSummary {
            name: url.clone(),
            title: String::new(),
            description: String::new(),
            records: None,
        });
        Self {
            databases: databases.collect(),
            xml: xml.into(),
            zeerex,
        }
    }
}

impl Description {
    /// Returns a line for each database on the server.
    fn list(&self) -> Vec<String> {
        let program = self
            .zeerex
            .database
            .implementation
            .iter()
            .map(|one| format!("program: {} {}", one.title, one.version));
        let databases = self.databases.iter().map(|database| {
            let mut line = format!("database {}", database.name);
            if !database.title.is_empty() {
                line.push_str(&format!(": {}", database.title));
            }
            if let Some(count) = database.records {
                let count = counted(count, "record");
                line.push_str(&format!(" ({count})"));
            }
            line
        });
        on_one_line(program.chain(databases))
    }

    fn object(&self) -> Value {
        let databases = self.databases.iter().map(|database| {
            json!({
                "name": database.name,
                "title": database.title,
                "description": database.description,
                "records": database.records,
            })
        });
        let mut object = object(&self.zeerex);
        if let Value::Object(members) = &mut object {
            members.insert("databases".to_owned(), databases.collect());
        }
        object
    }
}

/// Requests a target's description of its database over SRU.
pub(crate) async fn described(
    reach: &TargetClient,
    place: &NamedTarget,
) -> Result<SruDescription, Unanswered> {
    let session = reach.session(place).await?;
    let databases = place.databases();
    let database = databases.first().map(String::as_str).unwrap_or_default();
    let description = session.describe(database).await?;
    reach.leave(session).await;
    Ok(description)
}

/// Returns the CQL names of an index.
fn names(maps: &[ZeeRexMap]) -> Vec<String> {
    let names = maps.iter().filter_map(|map| match map {
        ZeeRexMap::Name { set, name } if set.is_empty() => Some(name.clone()),
        ZeeRexMap::Name { set, name } => Some(format!("{set}.{name}")),
        ZeeRexMap::Attributes(_) => None,
    });
    names.collect()
}

/// Returns the facts in a description, each on one line, even if the server's text has several lines.
fn lines(description: &ZeeRex) -> Vec<String> {
    let ZeeRex {
        server, database, ..
    } = description;
    let mut lines = Vec::new();
    let mut put = |name: &str, value: &str| {
        if !value.trim().is_empty() {
            lines.push(format!("{name}: {value}"));
        }
    };
    put("title", &database.title);
    put("description", &database.description);
    put("contact", &database.contact);
    if let Some(implementation) = &database.implementation {
        let words = [&*implementation.title, &*implementation.version];
        put("program", &words.join(" "));
    }
    put(
        "protocol",
        &format!("{} {}", server.protocol, server.version),
    );
    put("methods", &server.method);
    let records = server.records.map(|count| count.to_string());
    put("records", &records.unwrap_or_default());
    for (kind, url) in &database.links {
        put(&format!("link ({kind})"), url);
    }
    for (name, value) in &description.config.defaults {
        put(&format!("default {name}"), value);
    }
    for (name, value) in &description.config.settings {
        put(name, value);
    }
    let supports: Vec<String> = description
        .config
        .supports
        .iter()
        .map(|(name, value)| {
            if value.is_empty() {
                name.clone()
            } else {
                format!("{name} {value}")
            }
        })
        .collect();
    put("supports", &supports.join(", "));
    for schema in &description.schemas {
        let words = [&*schema.identifier, &*schema.title];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        lines.push(format!("schema {}: {}", schema.name, words.join(", ")));
    }
    for index in &description.indexes {
        let uses = [
            ("search", index.search),
            ("scan", index.scan),
            ("sort", index.sort),
        ];
        let uses: Vec<&str> = uses
            .iter()
            .filter(|(_, is)| *is == Some(true))
            .map(|(name, _)| *name)
            .collect();
        let mut line = format!("index {}", names(&index.maps).join(" "));
        if !index.title.is_empty() {
            line.push_str(&format!(": {}", index.title));
        }
        if !uses.is_empty() {
            line.push_str(&format!(" ({})", uses.join(", ")));
        }
        lines.push(line);
    }
    on_one_line(lines.into_iter())
}

/// Puts each line's text on one line, because the server's text may contain line ends.
fn on_one_line(lines: impl Iterator<Item = String>) -> Vec<String> {
    lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn object(description: &ZeeRex) -> Value {
    let ZeeRex {
        server,
        database,
        config,
        ..
    } = description;
    let pairs = |pairs: &[(String, String)]| -> Value {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| json!({ "type": name, "value": value }))
            .collect()
    };
    let indexes = description.indexes.iter().map(|index| {
        json!({
            "title": index.title,
            "names": names(&index.maps),
            "search": index.search,
            "scan": index.scan,
            "sort": index.sort,
        })
    });
    let schemas = description.schemas.iter().map(|schema| {
        json!({
            "name": schema.name,
            "identifier": schema.identifier,
            "title": schema.title,
            "retrieve": schema.retrieve,
        })
    });
    json!({
        "title": database.title,
        "description": database.description,
        "protocol": server.protocol,
        "version": server.version,
        "methods": server.method,
        "records": server.records,
        "indexes": indexes.collect::<Value>(),
        "schemas": schemas.collect::<Value>(),
        "defaults": pairs(&config.defaults),
        "settings": pairs(&config.settings),
        "supports": pairs(&config.supports),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::sru::SruLimits;

    fn check(xml: &str, expected: &[&str]) {
        let description = ZeeRex::from_xml(xml.to_owned(), &SruLimits::default());
        assert_eq!(lines(&description.expect("ZeeRex")), expected);
    }

    #[test]
    fn each_fact_has_a_line() {
        check("<explain/>", &[]);
        check(
            "<explain><serverInfo protocol=\"SRU\"/><databaseInfo><title>Books</title><description>All\n  books</description>\
             </databaseInfo><indexInfo><index search=\"true\"><title>A\ntitle</title><map><name set=\"dc\">title</name></map></index>\
             </indexInfo></explain>",
            &[
                "title: Books",
                "description: All books",
                "protocol: SRU",
                "index dc.title: A title (search)",
            ],
        );
    }
}
