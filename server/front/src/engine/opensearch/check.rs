//! Whether the cluster and the index are what the settings say.

use serde_json::{Value, json};

use super::index::{ClusterIndex, IndexError, IndexState};
use super::link::{Draft, Failure, shortened};
use crate::engine::layout::EngineLayout;

/// The most octets of a short answer.
const MOST: usize = 1 << 20;

impl ClusterIndex {
    /// Checks that all addresses are of one cluster of a known version, that the index has the fields and the fingerprint of the
    /// layout, and that all its shards are there.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn check(&self) -> Result<(), IndexError> {
        self.check_cluster().await?;
        let state = self.state().await?;
        let state = state.ok_or_else(|| IndexError::Absent(self.name.clone()))?;
        self.check_layout(&state)?;
        self.check_settings().await?;
        if state.is_unfinished() {
            return Err(IndexError::Unfinished(state.index));
        }
        if let Some(filling) = self.filling().await?.filter(|_| state.is_blocked()) {
            return Err(IndexError::Reloading {
                index: state.index,
                filling: filling.index,
            });
        }
        self.check_health().await
    }

    /// Checks the nodes: product, version, and that they belong together. Those that do not answer are left out if others do.
    pub(super) async fn check_cluster(&self) -> Result<(), IndexError> {
        let mut known: Option<(String, String)> = None;
        let mut failure = None;
        for (place, answer) in self.link.ask_each(&Draft::read("/", MOST)).await {
            let about = match answer {
                Ok(about) => about,
                Err(failed) => {
                    let failed = IndexError::from(failed);
                    if failed.is_mismatch() {
                        return Err(failed);
                    }
                    failure.get_or_insert(failed);
                    continue;
                }
            };
            check_product(place, &about)?;
            let cluster = about.get("cluster_uuid").and_then(Value::as_str);
            let cluster = cluster.unwrap_or_default().to_owned();
            match &known {
                Some((other, known)) if *known != cluster => {
                    return Err(IndexError::Clusters(other.clone(), place.to_owned()));
                }
                Some(_) => {}
                None => known = Some((place.to_owned(), cluster)),
            }
        }
        let nobody = || IndexError::Unreachable("no address".to_owned());
        match known {
            Some(_) => Ok(()),
            None => Err(failure.unwrap_or_else(nobody)),
        }
    }

    /// Checks that an index is made by this program with this layout, and has not changed.
    pub(super) fn check_layout(&self, state: &IndexState) -> Result<(), IndexError> {
        let index = || state.index.clone();
        let expected = self.layout.mapping();
        let mark = |mapping: &Value| mapping.pointer("/_meta/z3950d").cloned();
        let found = mark(&state.mapping).ok_or_else(|| IndexError::Foreign(index()))?;
        if Some(found) != mark(&expected) {
            return Err(IndexError::Outdated(index()));
        }
        let changed = |what: String| IndexError::Changed {
            index: index(),
            what,
        };
        let fields = |mapping: &Value| mapping.get("properties").cloned().unwrap_or_default();
        let (expected_fields, found) = (fields(&expected), fields(&state.mapping));
        for (name, field) in expected_fields.as_object().into_iter().flatten() {
            let found = found.get(name).cloned().unwrap_or_default();
            if let Some(what) = difference(field, &found) {
                return Err(changed(format!("the field {name} has {what}")));
            }
        }
        for part in ["dynamic", "_source"] {
            if expected.get(part) != state.mapping.get(part) {
                return Err(changed(format!("{part} of the mapping")));
            }
        }
        let analysis = state.settings.pointer("/index/analysis");
        if analysis != Some(&as_settings(&EngineLayout::analysis())) {
            return Err(changed("its analysis of words".to_owned()));
        }
        Ok(())
    }

    /// Checks that masks are allowed. A client without the right to ask learns it from searches.
    async fn check_settings(&self) -> Result<(), IndexError> {
        let name = "search.allow_expensive_queries";
        let path = format!(
            "/_cluster/settings?include_defaults=true&flat_settings=true&filter_path=*.{name}"
        );
        let Some(settings) = self.allowed(path).await? else {
            return Ok(());
        };
        let levels = ["transient", "persistent", "defaults"].iter();
        let mut values = levels.filter_map(|level| settings.get(*level)?.get(name));
        let value = values.next().unwrap_or(&Value::Null);
        if *value == json!("false") || *value == json!(false) {
            return Err(IndexError::Expensive);
        }
        Ok(())
    }

    /// Checks that all shards are there.
    async fn check_health(&self) -> Result<(), IndexError> {
        let path = format!("/_cluster/health/{}", self.name);
        let health = self.allowed(path).await?.unwrap_or_default();
        if health.get("status") == Some(&json!("red")) {
            return Err(IndexError::Incomplete(self.name.clone()));
        }
        Ok(())
    }

    /// Returns the answer to a request that this client may not be allowed to make.
    async fn allowed(&self, path: String) -> Result<Option<Value>, IndexError> {
        match self.link.ask(&Draft::read(path, MOST)).await {
            Err(Failure::Refused { status: 403, .. }) => Ok(None),
            answer => Ok(Some(answer?)),
        }
    }
}

/// Checks the product and version that a node says it is.
fn check_product(place: &str, about: &Value) -> Result<(), IndexError> {
    let version = about.get("version").cloned().unwrap_or_default();
    let text = |name: &str| version.get(name).and_then(Value::as_str);
    let number = text("number").unwrap_or("of no version");
    let mut parts = number.split('.').map(|part| part.parse::<u32>().ok());
    let mut next = || parts.next().flatten().unwrap_or_default();
    let (major, minor) = (next(), next());
    let (product, is_known) = match text("distribution") {
        Some("opensearch") => ("OpenSearch", major >= 2),
        Some(other) => (other, false),
        None => ("Elasticsearch", (7, 10) <= (major, minor) && major <= 9),
    };
    if is_known {
        return Ok(());
    }
    Err(IndexError::Product {
        place: place.to_owned(),
        product: shortened(&format!("{product} {number}")),
    })
}

/// The parts of a field's description that matter, with the engine's defaults.
fn parts(kind: &str) -> [(&'static str, Value); 6] {
    let is_text = kind == "text";
    [
        ("type", Value::Null),
        ("analyzer", Value::Null),
        ("search_analyzer", Value::Null),
        ("position_increment_gap", json!(100)),
        ("doc_values", json!(!is_text)),
        ("index", json!(true)),
    ]
}

/// Returns in what a field differs from what it should be.
fn difference(expected: &Value, found: &Value) -> Option<String> {
    let kind = expected
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut parts = parts(kind).into_iter();
    parts.find_map(|(part, default)| {
        let of = |field: &Value| field.get(part).unwrap_or(&default).clone();
        let (expected, found) = (of(expected), of(found));
        (expected != found).then(|| shortened(&format!("{part} {found} instead of {expected}")))
    })
}

/// Returns settings as the engine shows them: every value is a text.
fn as_settings(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| (name.clone(), as_settings(value)));
            Value::Object(fields.collect())
        }
        Value::Array(values) => values.iter().map(as_settings).collect(),
        Value::String(text) => Value::String(text.clone()),
        other => Value::String(other.to_string()),
    }
}
