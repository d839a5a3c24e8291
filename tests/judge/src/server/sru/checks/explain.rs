//! Checks of explain, which compare the server's description of itself with its behaviour (ZeeRex 2.0).

use z3950_asn1::sru::zeerex::ZeeRex;
use z3950_asn1::sru::{ExplainResponse, Version};

use super::super::MAX_REQUESTS;
use super::super::answer::{JudgedReply, data_of};
use super::super::model::ZEEREX;
use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Verdict, counted, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "explain.record" Shall all explain "record":
        "The answer to an explain has a record."
        => record;
    "explain.record.schema" Shall all explain "recordSchema":
        "The recordSchema in the answer to an explain is that of ZeeRex 2.0."
        => schema;
    "explain.record.root" Shall any explain "explain":
        "The record of an explain is an element explain in the namespace of ZeeRex 2.0."
        => root;
    "explain.record.string" Should any explain "recordPacking":
        "The record of an explain comes as a string if that is asked for."
        => as_string;
    "explain.server" Shall any explain "serverInfo":
        "The description of the server has a host, a port and a database."
        => server;
    "explain.server.database" Should any explain "database":
        "The database of the description is the path of the URL."
        => database;
    "explain.server.version" Shall any explain "serverInfo/@version":
        "The version in the description is one in which the server answers."
        => server_version;
    "explain.title" Should any explain "databaseInfo":
        "The description has a title of the database."
        => title;
    "explain.indexes" Should any explain "indexInfo":
        "The description lists indexes, and each has a name in CQL."
        => has_indexes;
    "explain.indexes.sets" Shall any explain "set":
        "The description lists the context sets of its indexes, each with an identifier."
        => context_sets;
    "explain.indexes.searched" Shall any explain "index/@search":
        "Each index that the description lists is searched."
        => searched;
    "explain.indexes.scanned" Shall any explain "index/@scan":
        "Each index that the description lists as one to scan is scanned."
        => scanned;
    "explain.indexes.sorted" Shall any explain "index/@sort":
        "Each index that the description lists as one to sort by sorts."
        => sorted;
    "explain.schemas" Shall any explain "schemaInfo":
        "The description lists a schema, with a name and an identifier."
        => has_schemas;
    "explain.schemas.retrieved" Shall any explain "schema/@retrieve":
        "Records come in each schema that the description lists, by its name."
        => retrieved(false);
    "explain.schemas.identifiers" Should any explain "schema/@identifier":
        "Records come in each schema that the description lists by its identifier, and say that they are in that schema."
        => retrieved(true);
    "explain.default.records" Shall any explain "default":
        "Without maximumRecords no more records come than the description says."
        => default_records;
    "explain.setting.records" Shall any explain "setting":
        "No answer has more records than the description says."
        => maximum_records;
    "explain.relations" Shall any explain "supports":
        "Each relation that the description lists as supported is, in one of the indexes at least."
        => relations;
    "explain.query-types" Shall new explain "supports":
        "Each type of query that the description lists as supported is."
        => query_types;
    "explain.unknown-parameter" Should any diagnostic "8":
        "A parameter that explain does not have is refused with 8."
        => unknown_parameter;
};

async fn explained(trial: &mut SruTrial, version: Version) -> Checked<JudgedReply> {
    let explain = trial.explain(version);
    let reply = trial.ask(&explain).await?;
    reply.not_offered_if(&[4, 100, 101, 102])
}

fn description(trial: &SruTrial) -> Checked<ZeeRex> {
    let found = trial.offer.description.clone();
    found.ok_or_else(|| Verdict::not_offered("there is no description"))
}

async fn record(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = explained(trial, version).await?;
    want(reply.root().child("record").is_some(), "a record", || {
        reply.summary()
    })
}

async fn schema(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = explained(trial, version).await?;
    let found = reply
        .root()
        .child("record")
        .and_then(|record| record.text_of("recordSchema"));
    let found = found.ok_or_else(|| Verdict::not_judged("there is no record with a schema"))?;
    // In practice, the identifier is also used without its last slash.
    let holds = found.trim_end_matches('/') == ExplainResponse::SCHEMA.trim_end_matches('/');
    want(holds, ExplainResponse::SCHEMA, || {
        format!("recordSchema {found:?}")
    })
}

async fn root(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = explained(trial, version).await?;
    let record = reply.root().child("record");
    let record = record.ok_or_else(|| Verdict::not_judged("there is no record"))?;
    let found = record.list("recordData").first();
    let came = || match found {
        Some(node) => format!("{} in {:?}", node.name, node.namespace),
        None => "no element".to_owned(),
    };
    let holds = found.is_some_and(|node| node.name == "explain" && node.namespace == ZEEREX);
    want(holds, format!("explain in {ZEEREX}"), came)
}

async fn as_string(trial: &mut SruTrial, version: Version) -> Checked {
    let name = match version {
        Version::V2_0 => "recordXMLEscaping",
        Version::V1_1 | Version::V1_2 => "recordPacking",
    };
    let explain = trial.explain(version).with(name, "string");
    let reply = trial.ask(&explain).await?.not_offered_if(&[71, 4, 8])?;
    let record = reply.root().child("record").and_then(data_of);
    let holds = record.is_some_and(|node| node.name == "explain");
    want(holds, "explain as escaped text", || reply.summary())
}

async fn server(trial: &mut SruTrial, _: Version) -> Checked {
    let server = description(trial)?.server;
    let holds = !server.host.is_empty() && server.port.is_some() && !server.database.is_empty();
    want(holds, "host, port and database", || {
        format!(
            "host {:?}, port {}, database {:?}",
            server.host,
            server.port.unwrap_or_default(),
            server.database
        )
    })
}

async fn database(trial: &mut SruTrial, _: Version) -> Checked {
    let named = description(trial)?.server.database;
    let path = trial.base();
    let holds = path
        .trim_matches('/')
        .eq_ignore_ascii_case(named.trim_matches('/'));
    want(
        holds,
        format!("database {}", path.trim_matches('/')),
        || format!("database {named}"),
    )
}

async fn server_version(trial: &mut SruTrial, _: Version) -> Checked {
    let named = description(trial)?.server.version;
    if named.is_empty() {
        return Err(Verdict::not_offered("serverInfo has no version"));
    }
    let mut versions = trial.offer.versions.iter();
    let holds = versions.any(|version| version.as_str() == named);
    want(holds, "a version of the server", || {
        format!("version {named}")
    })
}

async fn title(trial: &mut SruTrial, _: Version) -> Checked {
    let title = description(trial)?.database.title;
    want(!title.is_empty(), "a title", || "none".to_owned())
}

async fn has_indexes(trial: &mut SruTrial, _: Version) -> Checked {
    let all = description(trial)?.indexes.len();
    let named = trial.offer.indexes(|_| true).len();
    want(all > 0 && named == all, "indexes with names", || {
        format!("{all} indexes, {named} with names")
    })
}

async fn context_sets(trial: &mut SruTrial, _: Version) -> Checked {
    let description = description(trial)?;
    for name in trial.offer.indexes(|_| true) {
        let Some((prefix, _)) = name.split_once('.') else {
            continue;
        };
        let mut sets = description.sets.iter();
        let holds = sets.any(|set| set.name == prefix && !set.identifier.is_empty());
        want(
            holds,
            format!("the set {prefix:?} with its identifier"),
            || name,
        )?;
    }
    Ok(())
}

/// The maximum number of indexes for which a check sends requests.
const MAX_INDEXES: usize = MAX_REQUESTS as usize - 20;

/// Sends a request for each name. Fails if any of the requests is refused.
async fn refused(
    trial: &mut SruTrial,
    names: Vec<String>,
    ask: impl Fn(&SruTrial, &str) -> super::super::parameters::SruParameters,
    is_allowed: &[u16],
) -> Checked {
    if names.is_empty() {
        return Err(Verdict::not_offered("the description lists none"));
    }
    let mut faults = Vec::new();
    for name in names.iter().take(MAX_INDEXES) {
        let reply = trial.ask(&ask(trial, name)).await?;
        let is_answer = reply.is("searchRetrieveResponse") || reply.is("scanResponse");
        let is_refused = !reply.diagnostics().is_empty() && !reply.has_diagnostic(is_allowed);
        if !is_answer || is_refused {
            faults.push(format!("{name}: {}", reply.summary()));
        }
    }
    let wanted = format!("answers for all of {}", names.len().min(MAX_INDEXES));
    want(faults.is_empty(), wanted, || {
        format!(
            "{} refused: {}",
            faults.len(),
            faults.first().cloned().unwrap_or_default()
        )
    })
}

/// The diagnostics that concern the term or the relation `=`, and not the index. The index may require a number, a date, or a
/// word that is not a stop word, or may not support the relation.
const OF_TERM: [u16; 6] = [24, 35, 36, 19, 22, 31];

async fn searched(trial: &mut SruTrial, version: Version) -> Checked {
    description(trial)?;
    let names = trial.offer.indexes(|index| index.search != Some(false));
    let ask = |trial: &SruTrial, name: &str| {
        trial
            .search_for(version, &format!("{name}=1234"))
            .with("maximumRecords", "0")
    };
    refused(trial, names, ask, &OF_TERM).await
}

async fn scanned(trial: &mut SruTrial, version: Version) -> Checked {
    description(trial)?;
    let names = trial.offer.indexes(|index| index.scan == Some(true));
    let names_version = trial.offer.names_version;
    let ask = |_: &SruTrial, name: &str| {
        let clause = format!("{name}=1234");
        super::super::parameters::SruParameters::scan(version, names_version, &clause)
    };
    refused(trial, names, ask, &OF_TERM).await
}

async fn sorted(trial: &mut SruTrial, version: Version) -> Checked {
    description(trial)?;
    let query = trial.query(1)?;
    let names = trial.offer.indexes(|index| index.sort == Some(true));
    let ask =
        |trial: &SruTrial, name: &str| trial.search_for(version, &format!("{query} sortby {name}"));
    refused(trial, names, ask, &[]).await
}

async fn has_schemas(trial: &mut SruTrial, _: Version) -> Checked {
    let schemas = description(trial)?.schemas;
    let mut all = schemas.iter();
    let holds = all.len() > 0 && all.all(|one| !one.name.is_empty() && !one.identifier.is_empty());
    want(holds, "schemas with names and identifiers", || {
        counted(schemas.len(), "schema")
    })
}

async fn retrieved(trial: &mut SruTrial, version: Version, by_identifier: bool) -> Checked {
    let schemas = description(trial)?.schemas;
    let schemas: Vec<_> = schemas
        .into_iter()
        .filter(|one| one.retrieve != Some(false))
        .collect();
    if schemas.is_empty() {
        return Err(Verdict::not_offered("the description lists no schema"));
    }
    for schema in schemas.iter().take(50) {
        let asked = if by_identifier {
            &schema.identifier
        } else {
            &schema.name
        };
        let search = trial.search(version)?.with("recordSchema", asked.clone());
        let reply = trial.ask(&search).await?;
        let record = reply.records().first();
        let said = record
            .and_then(|record| record.text_of("recordSchema"))
            .unwrap_or_default();
        let is_named = said == schema.identifier || (!by_identifier && said == schema.name);
        let wanted = format!("a record in {}", schema.identifier);
        want(record.is_some() && is_named, wanted, || {
            format!("{}, recordSchema {said:?}", reply.summary())
        })?;
    }
    Ok(())
}

async fn default_records(trial: &mut SruTrial, version: Version) -> Checked {
    let config = description(trial)?.config;
    let said = config
        .default_of("numberOfRecords")
        .and_then(|text| text.parse().ok());
    let said: usize = said.ok_or_else(|| Verdict::not_offered("no default is given"))?;
    let search = trial.search(version)?.without("maximumRecords");
    let reply = trial.ask(&search).await?.accepted()?;
    let hits = usize::try_from(reply.counted()?).unwrap_or(usize::MAX);
    let wanted = said.min(hits);
    want(
        reply.records().len() == wanted,
        counted(wanted, "record"),
        || reply.summary(),
    )
}

async fn maximum_records(trial: &mut SruTrial, version: Version) -> Checked {
    let config = description(trial)?.config;
    let said = config
        .setting("maximumRecords")
        .and_then(|text| text.parse().ok());
    let said: usize = said.ok_or_else(|| Verdict::not_offered("no setting is given"))?;
    let search = trial.search(version)?;
    let search = search.with("maximumRecords", said.saturating_add(1).to_string());
    let reply = trial.ask(&search).await?;
    want(
        reply.records().len() <= said,
        format!("{} at most", counted(said, "record")),
        || reply.summary(),
    )
}

/// Returns the values of this kind that the description lists as supported.
fn supported(description: &ZeeRex, kind: &str) -> Vec<String> {
    let pairs = description.config.supports.iter();
    let values = pairs.filter(|(name, value)| name == kind && !value.is_empty());
    values.map(|(_, value)| value.clone()).collect()
}

async fn relations(trial: &mut SruTrial, version: Version) -> Checked {
    let description = description(trial)?;
    let relations = supported(&description, "relation");
    if relations.is_empty() {
        return Err(Verdict::not_offered("the description lists no relations"));
    }
    let indexes = trial.offer.indexes(|index| index.search != Some(false));
    for relation in relations.iter().take(20) {
        let mut came = "no index is listed".to_owned();
        let mut is_supported = false;
        for index in indexes.iter().take(12) {
            let query = format!("{index} {relation} \"1990 1991\"");
            let search = trial
                .search_for(version, &query)
                .with("maximumRecords", "0");
            let reply = trial.ask(&search).await?;
            let is_refused = reply.has_diagnostic(&[19, 22, 10, 15, 16]);
            if reply.is("searchRetrieveResponse") && !is_refused {
                is_supported = true;
                break;
            }
            came = reply.summary();
        }
        want(is_supported, format!("an answer for {relation}"), || came)?;
    }
    Ok(())
}

async fn query_types(trial: &mut SruTrial, version: Version) -> Checked {
    let types = supported(&description(trial)?, "queryType");
    if types.is_empty() {
        return Err(Verdict::not_offered(
            "the description lists no types of queries",
        ));
    }
    for name in types.iter().take(10) {
        let search = trial.search(version)?.with("queryType", name.clone());
        let reply = trial.ask(&search).await?;
        let is_refused = reply.has_diagnostic(&[11, 6, 8]);
        let holds = reply.is("searchRetrieveResponse") && !is_refused;
        want(holds, format!("queryType {name} understood"), || {
            reply.summary()
        })?;
    }
    Ok(())
}

async fn unknown_parameter(trial: &mut SruTrial, version: Version) -> Checked {
    let explain = trial.explain(version).with("z3950Conformance", "1");
    let reply = trial.ask(&explain).await?.not_offered_if(&[4])?;
    reply.refused_with(&[8])
}
