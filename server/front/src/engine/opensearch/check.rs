//! Checks whether the cluster and the index match the settings.

use serde_json::{Value, json};

use super::index::{ClusterIndex, IndexError, IndexState};
use crate::engine::layout::EngineLayout;
use crate::engine::link::{Draft, Failure, shortened};

/// The maximum number of octets in a short answer.
const MOST: usize = 1 << 20;

/// A description of an index that matches the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexReport {
    /// The product and version of a node, such as `OpenSearch 3.0.0`.
    pub engine: String,
    /// The real name of the index, not that of the alias.
    pub index: String,
    /// The number of records in the index.
    pub records: u64,
    /// The number of shards of the index.
    pub shards: u64,
    /// The number of copies that each shard should have in addition to the primary.
    pub replicas: u64,
    /// The number of copies of shards that are missing; `None` if this client is not permitted to read this number. If a shard is
    /// missing completely, the check fails instead.
    pub missing: Option<u64>,
}

impl ClusterIndex {
    /// Checks that all addresses belong to one cluster of a supported version, that the index has the fields and the fingerprint
    /// of the layout, and that all its shards are available.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn check(&self) -> Result<IndexReport, IndexError> {
        let engine = self.check_cluster().await?;
        let state = self
            .state()
            .await?
            .ok_or_else(|| IndexError::Absent(self.name.clone()))?;
        self.check_layout(&state)?;
        self.check_settings().await?;
        if state.is_unfinished() {
            return Err(IndexError::Unfinished(state.index));
        }
        if let Some(filling) = self.filling().await? {
            return Err(IndexError::Reloading {
                index: state.index,
                filling: filling.index,
            });
        }
        state.check_open()?;
        if let Some(replaced) = self.replaced().await? {
            return Err(IndexError::Left(replaced.index));
        }
        self.has_write_alias(&state.index).await?;
        let missing = self.missing_copies().await?;
        let number = |setting| state.setting(setting).and_then(|text| text.parse().ok());
        Ok(IndexReport {
            engine,
            records: self.count(&state.index).await?,
            shards: number("/number_of_shards").unwrap_or_default(),
            replicas: number("/number_of_replicas").unwrap_or_default(),
            missing,
            index: state.index,
        })
    }

    /// Checks the products and versions of the nodes, and whether all nodes belong to one cluster. Nodes that do not answer are
    /// ignored if others answer. Returns the product and version of the first node that answers.
    pub(super) async fn check_cluster(&self) -> Result<String, IndexError> {
        let mut known: Option<(String, String, String)> = None;
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
            let product = check_product(place, &about)?;
            let cluster = about
                .get("cluster_uuid")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            match &known {
                Some((other, known, _)) if *known != cluster => {
                    return Err(IndexError::Clusters(other.clone(), place.to_owned()));
                }
                Some(_) => {}
                None => known = Some((place.to_owned(), cluster, product)),
            }
        }
        let nobody = || IndexError::Unreachable("no address".to_owned());
        match known {
            Some((.., product)) => Ok(product),
            None => Err(failure.unwrap_or_else(nobody)),
        }
    }

    /// Checks that this program created the index with this layout, and that the index has not been changed.
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
        if state.is_filtered {
            return Err(changed(format!("the filter of the alias {}", self.name)));
        }
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

    /// Checks that masks are allowed. If this client is not permitted to read the setting, only a search shows
    /// whether they are.
    async fn check_settings(&self) -> Result<(), IndexError> {
        let path =
            "/_cluster/settings?include_defaults=true&filter_path=*.search.allow_expensive_queries";
        let Some(settings) = self.allowed(path.to_owned()).await? else {
            return Ok(());
        };
        let levels = ["transient", "persistent", "defaults"].iter();
        let mut values = levels.filter_map(|level| {
            let search = settings.get(*level)?.get("search")?;
            search.get("allow_expensive_queries")
        });
        let value = values.next().unwrap_or(&Value::Null);
        if *value == json!("false") || *value == json!(false) {
            return Err(IndexError::Expensive);
        }
        Ok(())
    }

    /// Checks that all shards are available. Returns the number of missing copies; `None` if this client is not permitted to read
    /// this number.
    async fn missing_copies(&self) -> Result<Option<u64>, IndexError> {
        let path = format!("/_cluster/health/{}", self.name);
        let health = self.allowed(path).await?.unwrap_or_default();
        let number = |name| health.get(name).and_then(Value::as_u64).unwrap_or_default();
        match health.get("status").and_then(Value::as_str) {
            Some("red") => Err(IndexError::Incomplete(self.name.clone())),
            Some("green") => Ok(Some(0)),
            Some(_) => Ok(Some(
                number("unassigned_shards") + number("initializing_shards"),
            )),
            None => Ok(None),
        }
    }

    /// Returns the answer to a request; `None` if this client is not permitted to send it.
    async fn allowed(&self, path: String) -> Result<Option<Value>, IndexError> {
        match self.link.ask(&Draft::read(path, MOST)).await {
            Err(Failure::Refused { status: 403, .. }) => Ok(None),
            answer => Ok(Some(answer?)),
        }
    }
}

/// Checks the product and version that a node reports, and returns them.
fn check_product(place: &str, about: &Value) -> Result<String, IndexError> {
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
    let product = shortened(&format!("{product} {number}"));
    if is_known {
        return Ok(product);
    }
    let place = place.to_owned();
    Err(IndexError::Product { place, product })
}

/// Returns the relevant parts of a field's description, with the engine's defaults.
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

/// Returns how a field differs from its expected description.
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

/// Returns settings as the engine shows them: every value is a string.
fn as_settings(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), as_settings(value)));
            Value::Object(fields.collect())
        }
        Value::Array(values) => values.iter().map(as_settings).collect(),
        Value::String(text) => Value::String(text.clone()),
        other => Value::String(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use z3950_server::memory::{AccessPoints, DocidField, Profile};

    use super::*;
    use crate::engine::IndexUses;
    use crate::engine::link::fake::{FakeAnswer, FakeNode, FakeRequest};
    use crate::engine::opensearch::ClusterOptions;

    fn layout() -> Arc<EngineLayout> {
        let (points, uses) = (AccessPoints::default(), IndexUses::default());
        let made = EngineLayout::new(points, Profile::default(), DocidField::default(), &uses);
        Arc::new(made.expect("indexes"))
    }

    fn about(number: &str, distribution: Option<&str>, cluster: &str) -> Value {
        let mut version = json!({ "number": number, "lucene_version": "9.12.3" });
        if let Some(distribution) = distribution {
            version["distribution"] = json!(distribution);
        }
        json!({ "name": "n1", "cluster_name": "c", "cluster_uuid": cluster, "version": version })
    }

    fn absent() -> Value {
        json!({ "error": { "type": "index_not_found_exception" } })
    }

    fn health(status: &str) -> Value {
        json!({ "status": status, "unassigned_shards": 2, "initializing_shards": 1 })
    }

    /// Returns the report on a valid index.
    fn report() -> IndexReport {
        IndexReport {
            engine: "OpenSearch 2.19.6".to_owned(),
            index: "books-1".to_owned(),
            records: 7,
            shards: 3,
            replicas: 1,
            missing: Some(3),
        }
    }

    /// Returns a node's answers for a valid index, some of which are replaced by `others`.
    fn answering(
        others: &[(&'static str, u16, Value)],
    ) -> impl Fn(&FakeRequest) -> FakeAnswer + Send + Sync + 'static {
        let index = json!({ "books-1": {
            "aliases": { "books": {} },
            "mappings": layout().mapping(),
            "settings": { "index": {
                "refresh_interval": "1s",
                "uuid": "u",
                "number_of_shards": "3",
                "number_of_replicas": "1",
                "analysis": as_settings(&EngineLayout::analysis()),
            } },
        } });
        let settings = json!({ "defaults": { "search": { "allow_expensive_queries": "true" } } });
        let mut answers = vec![
            ("/_cluster/settings", 200, settings),
            ("/_cluster/health", 200, health("yellow")),
            ("/books-1-write", 404, absent()),
            ("/books-1/_count", 200, json!({ "count": 7 })),
            ("/books-filling", 404, absent()),
            ("/books-replaced", 404, absent()),
            ("/books", 200, index),
            ("/", 200, about("2.19.6", Some("opensearch"), "a")),
        ];
        answers.splice(0..0, others.iter().cloned());
        move |request| {
            let mut answers = answers.iter();
            let is_asked = |path: &str| {
                let rest = request.path.strip_prefix(path);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
            };
            let found = answers.find(|(path, ..)| is_asked(path));
            let (_, status, body) = found.expect("known paths");
            FakeAnswer::Json(*status, body.clone())
        }
    }

    async fn checked(nodes: &[&FakeNode]) -> Result<IndexReport, IndexError> {
        let addresses = nodes.iter().map(|node| node.address()).collect();
        let mut options = ClusterOptions::new("books", addresses);
        options.answer_time = Duration::from_secs(60);
        ClusterIndex::new(&options, layout())
            .expect("an index")
            .check()
            .await
    }

    #[tokio::test]
    async fn products_and_versions_are_distinguished() {
        for (number, distribution, is_known) in [
            ("2.0.0", Some("opensearch"), true),
            ("3.9.0", Some("opensearch"), true),
            ("1.3.20", Some("opensearch"), false),
            ("7.10.0", None, true),
            ("7.9.3", None, false),
            ("8.17.1", None, true),
            ("9.2.0", None, true),
            ("10.0.0", None, false),
            ("2.4.6", None, false),
            ("6\u{1b}[31m", None, false),
            ("2.0.0", Some("other"), false),
        ] {
            let about = about(number, distribution, "a");
            let node = FakeNode::start(answering(&[("/", 200, about)])).await;
            let checked = checked(&[&node]).await;
            assert_eq!(checked.is_ok(), is_known, "{number} {checked:?}");
            if let Err(error) = checked {
                let words = error.to_string();
                assert!(
                    words.contains("is needed") && !words.contains('\u{1b}'),
                    "{words}"
                );
            }
        }
    }

    #[tokio::test]
    async fn what_is_wrong_is_named() {
        let mapping = |change: fn(&mut Value)| {
            let mut mapping = layout().mapping();
            change(&mut mapping);
            let analysis = as_settings(&EngineLayout::analysis());
            let settings = json!({ "index": { "analysis": analysis } });
            json!({ "books-1": { "mappings": mapping, "settings": settings } })
        };
        let books = |change| ("/books", 200, mapping(change));
        let expensive =
            json!({ "transient": { "search": { "allow_expensive_queries": "false" } } });
        let with = |setting: &str, value: Value| {
            let mut index = json!({ "analysis": as_settings(&EngineLayout::analysis()) });
            index[setting] = value;
            let settings = json!({ "index": index });
            json!({ "books-1": { "mappings": layout().mapping(), "settings": settings } })
        };
        let mut filtered = mapping(|_| ());
        filtered["books-1"]["aliases"] =
            json!({ "books": { "filter": { "term": { "k_docid": "x" } } } });
        let unfinished = with("refresh_interval", json!("-1"));
        let full = with("blocks", json!({ "read_only_allow_delete": "true" }));
        let refused =
            |kind: &str| json!({ "error": { "type": kind, "reason": "no" }, "status": 400 });
        for (answer, is_mismatch, expected) in [
            (
                ("/", 401, refused("security_exception")),
                true,
                "denies access",
            ),
            (
                ("/books", 403, refused("security_exception")),
                true,
                "denies access",
            ),
            (
                ("/books", 404, refused("index_not_found_exception")),
                true,
                "there is no index books",
            ),
            (("/books", 200, json!({})), true, "names no index"),
            (
                ("/books", 200, json!({ "a": {}, "b": {} })),
                true,
                "several indexes: a, b",
            ),
            (
                ("/books", 200, json!({ "a": {} })),
                true,
                "did not make the index a",
            ),
            (
                ("/books", 200, json!({ "a": { "mappings": [] } })),
                true,
                "did not make the index a",
            ),
            (
                ("/books", 503, refused("master_not_discovered_exception")),
                false,
                "too busy (503)",
            ),
            (
                books(|mapping| mapping["_meta"] = json!(1)),
                true,
                "did not make",
            ),
            (
                books(|mapping| mapping["_meta"]["z3950d"]["version"] = json!(1)),
                true,
                "indexes differently",
            ),
            (
                books(|mapping| mapping["properties"]["number"] = json!({ "type": "date" })),
                true,
                "the field number has type",
            ),
            (
                books(|mapping| mapping["properties"]["t_title"]["analyzer"] = json!("x")),
                true,
                "the field t_title has analyzer",
            ),
            (
                books(|mapping| mapping["properties"]["s_title"] = json!(null)),
                true,
                "the field s_title has type null",
            ),
            (
                books(|mapping| mapping["_source"] = json!({ "enabled": false })),
                true,
                "_source of the mapping",
            ),
            (
                ("/books", 200, filtered),
                true,
                "changed by hand: the filter of the alias books",
            ),
            (
                ("/_cluster/settings", 200, expensive),
                true,
                "allow_expensive_queries is false",
            ),
            (
                ("/_cluster/health", 200, json!({ "status": "red" })),
                false,
                "lacks shards",
            ),
            (
                ("/books", 200, unfinished),
                false,
                "run it again to complete it",
            ),
            (
                ("/books", 200, full),
                false,
                "takes no changes: index.blocks.read_only_allow_delete",
            ),
            (
                ("/books-1-write", 200, json!({ "books-1": {}, "a": {} })),
                false,
                "books-1-write must be an alias of books-1 alone",
            ),
            (
                ("/books-1-write", 200, json!({ "a": {} })),
                false,
                "but stands for a",
            ),
            (
                ("/books-filling", 200, json!({ "books-2": {} })),
                false,
                "books-2 is being filled to replace books-1",
            ),
            (
                ("/books-replaced", 200, json!({ "books-0": {} })),
                false,
                "books-0 was replaced",
            ),
            // The name belongs to an index that was not created by a reload.
            (
                ("/books-replaced", 200, json!({ "books-replaced": {} })),
                true,
                "did not make the index books-replaced",
            ),
        ] {
            let node = FakeNode::start(answering(std::slice::from_ref(&answer))).await;
            let error = checked(&[&node]).await.expect_err(expected);
            assert!(error.to_string().contains(expected), "{expected}: {error}");
            assert_eq!(error.is_mismatch(), is_mismatch, "{error}");
        }
        let html = |_: &FakeRequest| FakeAnswer::of("text/html", "<html>");
        let node = FakeNode::start(html).await;
        let error = checked(&[&node]).await.expect_err("no engine");
        assert!(matches!(error, IndexError::Malformed(_)), "{error}");
        // A client without permission to read settings and health can still check the index.
        let denied = ["/_cluster/settings", "/_cluster/health"];
        let denied = denied.map(|path| (path, 403, refused("security_exception")));
        let node = FakeNode::start(answering(&denied)).await;
        let unknown = IndexReport {
            missing: None,
            ..report()
        };
        assert_eq!(checked(&[&node]).await, Ok(unknown));
        let green = ("/_cluster/health", 200, health("green"));
        let node = FakeNode::start(answering(&[green])).await;
        let green = IndexReport {
            missing: Some(0),
            ..report()
        };
        assert_eq!(checked(&[&node]).await, Ok(green));
    }

    #[tokio::test]
    async fn all_addresses_are_of_one_cluster() {
        let one = FakeNode::start(answering(&[])).await;
        let same = FakeNode::start(answering(&[])).await;
        let about = about("2.19.6", Some("opensearch"), "b");
        let other = FakeNode::start(answering(&[("/", 200, about)])).await;
        assert_eq!(checked(&[&one, &same]).await, Ok(report()));
        let error = checked(&[&one, &same, &other])
            .await
            .expect_err("two clusters");
        assert!(matches!(error, IndexError::Clusters(..)), "{error}");
        // A server that does not answer is not an error, because it may belong to the cluster.
        let gone = FakeNode::start(answering(&[])).await;
        let addresses = vec![gone.address(), one.address()];
        drop(gone);
        let options = ClusterOptions::new("books", addresses);
        let index = ClusterIndex::new(&options, layout()).expect("an index");
        while index.link.ask_each(&Draft::read("/", MOST)).await[0]
            .1
            .is_ok()
        {
            tokio::task::yield_now().await;
        }
        assert_eq!(index.check().await, Ok(report()));
    }
}
