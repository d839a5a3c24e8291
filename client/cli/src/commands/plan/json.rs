//! The object of `plan --json`.

use serde_json::{Value, json};
use z3950::plan::{Caution, Plan, Strategy, Warning};
use z3950::url::{Kind, Octets, Z3950Url};
use z3950_asn1::apdu::{Apdu, Query};
use z3950_asn1::codec::encode;
use z3950_asn1::hex;

use crate::answer::Envelope;
use crate::console::output::Failure;
use crate::render::{shown, syntax};

/// The object of a URL; without a plan, nothing would be sent.
pub(super) fn object(url: &str) -> Envelope {
    Envelope::blank(&[
        "url",
        "kind",
        "host",
        "port",
        "identity",
        "databases",
        "docid",
        "element_set",
        "record_syntax",
        "strategy",
        "query",
        "searches",
        "requests",
        "warnings",
        "refused_port",
        "offset",
        "message",
    ])
    .with("url", url)
}

/// What would be sent for a URL.
pub(super) fn planned(
    url: &Z3950Url,
    plan: &Plan,
    identity: Option<Value>,
) -> Result<Envelope, Failure> {
    let text = |octets: &Octets| shown(octets.as_bytes());
    let search = plan.search_request();
    let query = search.as_ref().and_then(|search| match &search.query {
        Query::Type1(query) => Some(query.to_string()),
        _ => None,
    });
    let init = plan.init_request();
    let has_secrets = init.id_authentication.is_some();
    let mut init = request(init.into())?;
    if has_secrets && let Some(octets) = init.get_mut("octets") {
        *octets = Value::Null;
    }
    let mut requests = vec![init];
    let has_search = search.is_some();
    requests.extend(search.map(|search| request(search.into())).transpose()?);
    if has_search && (plan.kind() == Kind::Retrieval || plan.auto_present()) {
        requests.push(request(plan.present_request(1).into())?);
    }
    let warnings = plan.warnings().iter().map(Warning::code);
    let cautions = plan.cautions().iter().map(Caution::code);
    let strategy = match plan.strategy() {
        Strategy::Piggyback => "piggyback",
        Strategy::PresentOnly => "present-only",
    };
    Ok(object(&url.to_string())
        .with("kind", plan.kind().to_string())
        .with("host", plan.host().to_string())
        .with("port", plan.port())
        .with("identity", identity)
        .with(
            "databases",
            plan.databases().iter().map(text).collect::<Value>(),
        )
        .with("docid", plan.docid().map(text))
        .with("element_set", plan.element_set().map(text))
        .with("record_syntax", syntax(plan.record_syntax()))
        .with("strategy", strategy)
        .with("query", query)
        .with("searches", plan.searches())
        .with("requests", requests)
        .with("warnings", warnings.chain(cautions).collect::<Value>())
        .with("refused_port", plan.refused_port()))
}

/// The name of an APDU and its octets in hexadecimal.
fn request(apdu: Apdu) -> Result<Value, Failure> {
    let octets = encode(&apdu).map_err(|error| Failure::machine("encode the request", &error))?;
    Ok(json!({ "apdu": apdu.name(), "octets": hex::digits(&octets) }))
}
