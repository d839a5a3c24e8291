//! `z3950 plan`: shows the requests that would be sent for a URL, without connecting (RFC 2056 §3, §4).

mod identity;

use std::ffi::OsString;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use z3950::client::{Client, ClientOptions};
use z3950::error::chain;
use z3950::plan::{Caution, Plan, Strategy, Warning};
use z3950::transport::Timeouts;
use z3950::url::{Kind, Octets, Z3950Url};
use z3950_asn1::apdu::{Apdu, ElementSetNames, Query, RecordComposition, SearchRequest};
use z3950_asn1::codec::{dump, encode};
use z3950_asn1::oid::Oid;
use z3950_files::hex;

use self::identity::PlannedIdentity;
use crate::answer::Envelope;
use crate::commands::connection::{self, Execution, Identity, TargetsFile};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{self, listed, named, shown};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A session or retrieval URL.
    #[arg(value_name = "URL")]
    pub(crate) url: OsString,

    #[command(flatten)]
    pub(crate) execution: Execution,

    /// Also list the octets of each APDU.
    #[arg(long, conflicts_with = "json")]
    pub(crate) octets: bool,

    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) known: TargetsFile,

    #[command(flatten)]
    pub(crate) identity: Identity,
}

pub(crate) async fn run(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let text = arguments.url.as_encoded_bytes();
    let url = match Z3950Url::parse(text, arguments.execution.mode()) {
        Ok(url) => url,
        Err(error) => {
            let offset = Some(error.offset());
            return refuse(arguments, &named(text), offset, &error, output);
        }
    };
    let init = connection::init(&arguments.identity, Timeouts::default()).await?;
    let mut options = ClientOptions::default();
    options.plan = arguments.execution.plan_options(init, &arguments.identity);
    let profiles = Arc::new(connection::profiles(&arguments.known)?);
    let client = Client::with(options).with_profiles(Arc::clone(&profiles));
    let plan = match client.plan(&url).await {
        Ok(plan) => plan,
        Err(error) => return refuse(arguments, &url.to_string(), None, &error, output),
    };
    let exit = match plan.refused_port() {
        Some(_) => Exit::PortRefused,
        None => Exit::Delivered,
    };
    let identity = PlannedIdentity::of(&plan, &url, &arguments.identity, &profiles)?;
    if arguments.json {
        object(&url.to_string(), Some(&plan), identity)?.write(output)?;
        return Ok(exit);
    }
    plan.warnings
        .iter()
        .for_each(|warning| output.warning(&warning.to_string()));
    plan.cautions
        .iter()
        .for_each(|caution| output.warning(&caution.to_string()));
    let mut listing = Listing {
        octets: arguments.octets,
        output,
    };
    listing.step("connect", &[plan.endpoint().to_string()])?;
    if let Some(identity) = identity {
        listing.step("identify", &identity.words())?;
    }
    listing.plan(&plan)?;
    Ok(exit)
}

/// Reports a URL that is malformed or cannot be retrieved: as an object if `--json` is given, and otherwise as a
/// message.
fn refuse(
    arguments: &Arguments,
    url: &str,
    offset: Option<usize>,
    error: &dyn std::error::Error,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let words = chain(error);
    let message = format!("{url}: {words}");
    let answer = object(url, None, None)?
        .with("offset", offset)
        .with("message", words);
    answer.or_error(arguments.json, &message, output)?;
    Ok(Exit::Usage)
}

struct Listing<'a> {
    octets: bool,
    output: &'a mut Output,
}

impl Listing<'_> {
    fn plan(&mut self, plan: &Plan) -> Result<(), Failure> {
        let init = plan.init_request();
        let versions = init.protocol_version.highest().unwrap_or_default();
        let options: Vec<&str> = init.options.names().collect();
        self.step(
            "Init",
            &[
                format!("versions 1 to {versions}"),
                format!("options {}", options.join(" ")),
            ],
        )?;
        self.apdu(init.into())?;
        if let Some(search) = plan.search_request() {
            self.step("Search", &described(&search))?;
            self.apdu(search.into())?;
            let others = plan.searches();
            if others.len() > 1 {
                let others = others.iter().skip(1).map(String::as_str);
                let words = others.collect::<Vec<_>>().join(", then ");
                let words = format!("if it is refused or finds nothing: {words}");
                self.step("(or)", &[words])?;
            }
            if plan.kind == Kind::Retrieval || plan.options.auto_present {
                self.present(plan)?;
            }
        }
        match plan.kind {
            Kind::Retrieval => self.step("Close", &["if the server speaks version 3".into()]),
            Kind::Session => self.step("(open)", &[defaults(plan)]),
        }
    }

    fn present(&mut self, plan: &Plan) -> Result<(), Failure> {
        let present = plan.present_request(1);
        let mut words = vec!["record 1".to_owned()];
        if let Some(RecordComposition::Simple(names)) = &*present.record_composition {
            words.push(element_set(names));
        }
        words.extend(present.preferred_record_syntax.map(syntax));
        words.push(match plan.options.strategy {
            Strategy::Piggyback => {
                "if there is one hit and its record did not come with the search".into()
            }
            Strategy::PresentOnly => "if there is one hit".into(),
        });
        self.step("Present", &words)?;
        self.apdu(present.into())
    }

    fn step(&mut self, name: &str, words: &[String]) -> Result<(), Failure> {
        self.output.line(&format!("{name:<8} {}", words.join(", ")))
    }

    /// Lists the octets and values of an APDU, if `--octets` is given.
    fn apdu(&mut self, apdu: Apdu) -> Result<(), Failure> {
        if !self.octets {
            return Ok(());
        }
        let octets =
            encode(&apdu).map_err(|error| Failure::machine("encode the request", &error))?;
        for line in dump::dump(&octets).lines() {
            self.output.line(&format!("  {line}"))?;
        }
        Ok(())
    }
}

fn described(search: &SearchRequest) -> Vec<String> {
    let databases: Vec<String> = search
        .database_names
        .iter()
        .map(|name| shown(name.0.as_bytes()))
        .collect();
    let mut words = vec![listed(&databases)];
    if let Query::Type1(query) = &search.query {
        words.push(format!("query {query}"));
    }
    words.extend(search.small_set_element_set_names.as_ref().map(element_set));
    words.extend(search.preferred_record_syntax.map(syntax));
    words.push(match search.small_set_upper_bound {
        0 => "no record with the answer".into(),
        _ => "the record with the answer if there is one hit".into(),
    });
    words
}

fn element_set(names: &ElementSetNames) -> String {
    match names {
        ElementSetNames::GenericElementSetName(name) => {
            format!("element set {}", shown(name.as_bytes()))
        }
        ElementSetNames::DatabaseSpecific(_) => "an element set for each database".into(),
    }
}

fn syntax(syntax: Oid) -> String {
    format!("record syntax {syntax:?}")
}

/// Returns the names of the databases in a plan.
pub(crate) fn databases(plan: &Plan) -> Vec<String> {
    let names = plan.defaults.databases.iter();
    names.map(|name| shown(name.as_bytes())).collect()
}

fn defaults(plan: &Plan) -> String {
    match databases(plan) {
        names if names.is_empty() => "the session stays open".into(),
        names => format!("the session stays open with {}", listed(&names)),
    }
}

/// Returns the object for a URL. If there is a plan, it contains the requests that would be sent.
fn object(
    url: &str,
    plan: Option<&Plan>,
    identity: Option<PlannedIdentity>,
) -> Result<Envelope, Failure> {
    let text = |octets: &Octets| shown(octets.as_bytes());
    let query = plan.and_then(|plan| match plan.search_request()?.query {
        Query::Type1(query) => Some(query.to_string()),
        _ => None,
    });
    let defaults = plan.map(|plan| &plan.defaults);
    let strategy = plan.map(|plan| match plan.options.strategy {
        Strategy::Piggyback => "piggyback",
        Strategy::PresentOnly => "present-only",
    });
    let notices = plan.map(|plan| {
        let cautions = plan.cautions.iter().map(Caution::code);
        let warnings = plan.warnings.iter().map(Warning::code);
        warnings.chain(cautions).collect::<Value>()
    });
    let object = json!({
        "url": url,
        "kind": plan.map(|plan| plan.kind.to_string()),
        "host": plan.map(|plan| plan.host.to_string()),
        "port": plan.map(|plan| plan.port),
        "identity": identity,
        "databases": plan.map(databases),
        "docid": plan.and_then(|plan| plan.docid.as_ref()).map(text),
        "element_set": defaults.and_then(|all| all.element_set.as_ref()).map(text),
        "record_syntax": render::syntax(defaults.and_then(|all| all.record_syntax)),
        "strategy": strategy,
        "query": query,
        "searches": plan.map(Plan::searches),
        "requests": plan.map(requests).transpose()?,
        "warnings": notices,
        "refused_port": plan.and_then(Plan::refused_port),
        "offset": null,
        "message": null,
    });
    Ok(object.into())
}

/// Returns the requests in a plan. The octets of an Init request with credentials are omitted.
fn requests(plan: &Plan) -> Result<Vec<Value>, Failure> {
    let init = plan.init_request();
    let has_secrets = init.id_authentication.is_some();
    let mut init = request(init.into())?;
    if has_secrets && let Some(octets) = init.get_mut("octets") {
        *octets = Value::Null;
    }
    let mut requests = vec![init];
    if let Some(search) = plan.search_request() {
        requests.push(request(search.into())?);
        if plan.kind == Kind::Retrieval || plan.options.auto_present {
            requests.push(request(plan.present_request(1).into())?);
        }
    }
    Ok(requests)
}

/// Returns the name of an APDU, and its octets in hexadecimal.
fn request(apdu: Apdu) -> Result<Value, Failure> {
    let octets = encode(&apdu).map_err(|error| Failure::machine("encode the request", &error))?;
    Ok(json!({ "apdu": apdu.name(), "octets": hex::digits(&octets) }))
}
