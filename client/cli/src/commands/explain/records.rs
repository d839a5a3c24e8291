//! Reads the description of a Z39.50 server from its database IR-Explain-1 (Z39.50-2003 §3.2.10, Appendix REC.1), and
//! converts it to the form that SRU servers use.

use z3950::error::Error;
use z3950::retrieve::OutcomeName;
use z3950::service::explain::{ExplainOptions, ExplainUse};
use z3950::session::Session;
use z3950_asn1::apdu::StringOrNumeric;
use z3950_asn1::bib1::attributes::{USE, use_name};
use z3950_asn1::oid::BIB_1;
use z3950_asn1::query::names::TABLE;
use z3950_asn1::record::explain::{
    AttributeDetails, DatabaseInfo, ExplainRecord, HumanString, RecordCount,
};
use z3950_asn1::sru::zeerex::{ZeeRex, ZeeRexImplementation, ZeeRexIndex, ZeeRexMap};

use super::{DatabaseSummary, Description};
use crate::answer::Answer;
use crate::commands::target::{NamedTarget, TargetClient, Unanswered};
use crate::render::{shown, text_of};

/// The maximum number of databases that are listed.
const MAX_DATABASES: u64 = 10_000;

/// The prefix of names of databases in which a server describes itself.
const OWN: &str = "IR-";

/// The message if the server has no Explain database.
const UNDESCRIBED: &str =
    "the server does not offer descriptions of databases (it has no database IR-Explain-1)";

/// Requests the description of a target's database, or a list of the server's databases if the target names none.
pub(super) async fn describe(
    reach: &TargetClient,
    place: &NamedTarget,
) -> Result<Description, Box<Answer>> {
    let session = reach.session(place).await?;
    let described = describe_in(&session, place).await;
    reach.leave(session).await;
    described
}

async fn describe_in(session: &Session, place: &NamedTarget) -> Result<Description, Box<Answer>> {
    let names = place.databases();
    let name = names.first().filter(|_| place.names_databases);
    let infos = databases(session, name.map(String::as_str)).await?;
    let found = name.and_then(|name| {
        infos
            .iter()
            .find(|info| shown(info.name.0.as_bytes()).eq_ignore_ascii_case(name))
    });
    let Some(info) = found else {
        let Some(name) = name else {
            return Ok(all(session, &infos));
        };
        let words = format!(
            "the server does not describe the database {name}; z3950 explain with the host alone lists those it describes"
        );
        let answer = Answer::default().ended(OutcomeName::NoMatch);
        return Err(Box::new(answer.saying(words)));
    };
    let described = info.name.0.to_string_lossy();
    let details = explained(session, "AttributeDetails", Some(&described)).await?;
    let details = details.into_iter().find_map(|record| match record {
        ExplainRecord::AttributeDetails(details) => Some(details),
        _ => None,
    });
    let mut zeerex = about(session);
    zeerex.server.records = record_count(info);
    zeerex.server.database = shown(info.name.0.as_bytes());
    zeerex.database.title = human(info.title_string.as_ref());
    zeerex.database.description = human(info.description.as_ref());
    if let Some(contact) = &info.supplier_contact_info {
        zeerex.database.contact = contact.name.as_ref().map(text_of).unwrap_or_default();
    }
    if let Some(access) = &info.access_info {
        let syntaxes = access
            .record_syntaxes
            .iter()
            .flatten()
            .map(|oid| oid.name().map_or(oid.to_string(), str::to_owned));
        put(&mut zeerex, "record syntaxes", syntaxes.collect());
        let element_sets = access
            .element_set_names
            .iter()
            .flatten()
            .map(|name| shown(name.0.as_bytes()));
        put(&mut zeerex, "element sets", element_sets.collect());
    }
    zeerex.indexes = details.as_deref().map(indexes).unwrap_or_default();
    Ok(Description {
        xml: zeerex.to_xml(),
        zeerex,
        databases: Vec::new(),
    })
}

/// Returns the list of the server's databases, except those in which it describes itself.
fn all(session: &Session, infos: &[DatabaseInfo]) -> Description {
    let of_users = infos.iter().filter(|info| {
        info.explain_database.is_none() && !shown(info.name.0.as_bytes()).starts_with(OWN)
    });
    let summaries = of_users.map(|info| DatabaseSummary {
        name: shown(info.name.0.as_bytes()),
        title: human(info.title_string.as_ref()),
        description: human(info.description.as_ref()),
        records: record_count(info),
    });
    let zeerex = about(session);
    Description {
        xml: zeerex.to_xml(),
        databases: summaries.collect(),
        zeerex,
    }
}

/// Returns the description of the server that its Init response contains.
fn about(session: &Session) -> ZeeRex {
    let server = session.server_info();
    let text = |text: &Option<_>| text.as_ref().map(text_of).unwrap_or_default();
    let mut zeerex = ZeeRex::default();
    zeerex.server.protocol = "Z39.50".to_owned();
    zeerex.server.version = server.version.to_string();
    zeerex.server.transport = String::new();
    zeerex.server.method = String::new();
    zeerex.database.implementation = Some(ZeeRexImplementation {
        identifier: text(&server.response.implementation_id),
        version: text(&server.response.implementation_version),
        title: text(&server.response.implementation_name),
    });
    zeerex
}

fn put(zeerex: &mut ZeeRex, name: &str, values: Vec<String>) {
    if !values.is_empty() {
        let setting = (name.to_owned(), values.join(", "));
        zeerex.config.settings.push(setting);
    }
}

/// Requests information about one database, or about all databases.
async fn databases(
    session: &Session,
    name: Option<&str>,
) -> Result<Vec<DatabaseInfo>, Box<Answer>> {
    let records = explained(session, "DatabaseInfo", name).await?;
    let infos = records.into_iter().filter_map(|record| match record {
        ExplainRecord::DatabaseInfo(info) => Some(*info),
        _ => None,
    });
    Ok(infos.collect())
}

/// Requests the records of a category, about one database or about all databases.
async fn explained(
    session: &Session,
    category: &str,
    database: Option<&str>,
) -> Result<Vec<ExplainRecord>, Box<Answer>> {
    let mut options = ExplainOptions::default();
    options.category = category.to_owned();
    options.max_records = MAX_DATABASES;
    let term = database.map(|name| (ExplainUse::DatabaseName, name.to_owned()));
    options.terms = term.into_iter().collect();
    match session.explain(&options).await {
        Ok(result) => Ok(result.records),
        Err(error @ Error::Refused { .. }) => {
            let answer = Unanswered::from(error).answer();
            Err(Box::new(
                answer.ended(OutcomeName::NotGranted).saying(UNDESCRIBED),
            ))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the indexes that are searched with Use attributes. Each index is returned with its attribute, and with its
/// name in queries if it has one.
fn indexes(details: &AttributeDetails) -> Vec<ZeeRexIndex> {
    let mut indexes = Vec::new();
    for set in details.attributes_by_set.iter().flatten() {
        let is_bib1 = set.attribute_set == BIB_1;
        let prefix = if is_bib1 {
            String::new()
        } else {
            let name = set.attribute_set.name();
            format!(
                "{} ",
                name.map_or(set.attribute_set.to_string(), str::to_owned)
            )
        };
        let uses = set
            .attributes_by_type
            .iter()
            .filter(|of_type| of_type.attribute_type == USE);
        for value in uses.flat_map(|of_type| of_type.attribute_values.iter().flatten()) {
            let (number, text) = match &value.value {
                StringOrNumeric::Numeric(number) => (Some(*number), number.to_string()),
                StringOrNumeric::String(name) => (None, text_of(name)),
            };
            let number = number.filter(|_| is_bib1);
            let known = TABLE.iter().find(|index| Some(index.use_value) == number);
            let named = known.map(|index| index.name.to_owned());
            let names = named.into_iter().chain([format!("{prefix}{USE}={text}")]);
            let maps = names.map(|name| ZeeRexMap::Name {
                set: String::new(),
                name,
            });
            let title = match human(value.description.as_ref()) {
                title if title.is_empty() => number.and_then(use_name).unwrap_or_default().into(),
                title => title,
            };
            indexes.push(ZeeRexIndex::new(title, maps.collect()));
        }
    }
    indexes
}

fn record_count(info: &DatabaseInfo) -> Option<u64> {
    let (RecordCount::ActualNumber(count) | RecordCount::ApproxNumber(count)) =
        info.record_count.as_ref()?;
    u64::try_from(*count).ok()
}

/// Returns the first text, which is in the language that the server prefers.
fn human(text: Option<&HumanString>) -> String {
    let first = text.and_then(|text| text.0.first());
    first.map(|first| text_of(&first.text)).unwrap_or_default()
}
