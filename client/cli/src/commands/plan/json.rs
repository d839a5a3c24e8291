//! The object of `plan --json`.

use serde_json::{Value, json};
use z3950::plan::{Caution, Plan, Strategy, Warning};
use z3950::url::{Kind, Octets, Z3950Url};
use z3950_asn1::apdu::{Apdu, Query};
use z3950_asn1::codec::encode;
use z3950_asn1::hex;

use super::identity::PlannedIdentity;
use crate::answer::writing::object as answer;
use crate::console::output::Failure;
use crate::render::{shown, syntax};

/// The keys after `url`.
const KEYS: [&str; 15] = [
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
];

/// What would be sent for a URL.
pub(super) fn object(
    url: &Z3950Url,
    plan: &Plan,
    identity: Option<&PlannedIdentity>,
) -> Result<Value, Failure> {
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
    if has_search && (plan.kind == Kind::Retrieval || plan.options.auto_present) {
        requests.push(request(plan.present_request(1).into())?);
    }
    let warnings = plan.warnings.iter().map(Warning::code);
    let cautions = plan.cautions.iter().map(Caution::code);
    let strategy = match plan.options.strategy {
        Strategy::Piggyback => "piggyback",
        Strategy::PresentOnly => "present-only",
    };
    let values: [Value; KEYS.len()] = [
        plan.kind.to_string().into(),
        plan.host.to_string().into(),
        plan.port.into(),
        identity.map(PlannedIdentity::object).into(),
        plan.defaults.databases.iter().map(text).collect(),
        plan.docid.as_ref().map(text).into(),
        plan.defaults.element_set.as_ref().map(text).into(),
        syntax(plan.defaults.record_syntax),
        strategy.into(),
        query.into(),
        plan.searches().into(),
        requests.into(),
        warnings.chain(cautions).collect(),
        plan.refused_port().into(),
        Value::Null,
    ];
    Ok(with(&url.to_string(), values, Value::Null))
}

/// Why nothing would be sent.
pub(super) fn refusal(url: &str, offset: Option<usize>, words: &str) -> Value {
    let mut values = [const { Value::Null }; KEYS.len()];
    if let Some(last) = values.last_mut() {
        *last = offset.into();
    }
    with(url, values, words.into())
}

fn with(url: &str, values: [Value; KEYS.len()], message: Value) -> Value {
    let keys = KEYS.into_iter().zip(values);
    let keys = std::iter::once(("url", url.into())).chain(keys);
    answer(keys.chain([("message", message)]))
}

/// The name of an APDU and its octets in hexadecimal.
fn request(apdu: Apdu) -> Result<Value, Failure> {
    let octets = encode(&apdu).map_err(|error| Failure::machine("encode the request", &error))?;
    Ok(json!({ "apdu": apdu.name(), "octets": hex::digits(&octets) }))
}
