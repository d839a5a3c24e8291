//! Reads the state of a database's index, and creates the index. The name in the settings is an alias of an index whose name
//! ends with a number, so that another index can replace it.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde_json::{Map, Value, json};
use z3950::transport::TlsError;

use super::ClusterOptions;
use crate::engine::layout::EngineLayout;
use crate::engine::link::{BLOCK, Draft, Failure, Link};

/// The maximum number of octets in a description of an index, which includes its complete mapping.
const MOST_STATE: usize = 16 << 20;

/// The index of a database, for all operations other than searches.
#[derive(Clone, Debug)]
pub struct ClusterIndex {
    pub(super) link: Arc<Link>,
    pub(super) layout: Arc<EngineLayout>,
    /// The name in the settings.
    pub(super) name: String,
    shards: u32,
    pub(super) replicas: u32,
    /// The maximum time to wait for the answer to a search.
    pub(super) answer_time: Duration,
}

/// The reason why an index cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// No node answers, or the cluster temporarily refuses requests.
    #[error("{0}")]
    Unreachable(String),
    /// The cluster refuses this client.
    #[error("the search engine denies access: {0}")]
    Denied(String),
    /// The cluster refuses a request, for this reason.
    #[error("the search engine refuses: {0}")]
    Refused(String),
    /// An index, or the whole cluster, refuses changes.
    #[error("the search engine takes no changes: {0}")]
    Closed(String),
    /// The answer is not from a search engine.
    #[error("the answers of the search engine cannot be understood: {0}")]
    Malformed(String),
    /// The product or version is not supported.
    #[error(
        "{place} is {product}, but OpenSearch 2 or later, or Elasticsearch 7.10 to 9, is needed"
    )]
    Product {
        /// The address of the node.
        place: String,
        /// The product and version of the node.
        product: String,
    },
    /// The addresses belong to several clusters.
    #[error("{0} and {1} are nodes of different clusters")]
    Clusters(String, String),
    /// There is no index with this name.
    #[error("there is no index {0}")]
    Absent(String),
    /// The name is an alias for several indexes.
    #[error("{0} stands for several indexes: {1}")]
    Several(String, String),
    /// Another program created the index.
    #[error("z3950d did not make the index {0}")]
    Foreign(String),
    /// No reload can replace the index, because the settings name the index itself or another alias of it, and not the alias
    /// from which the name of the index is derived.
    #[error(
        "{name} stands for the index {index}, which no reload can replace: those of {name} are {name}-1, {name}-2 and so on"
    )]
    Irreplaceable {
        /// The name in the settings.
        name: String,
        /// The name of the index.
        index: String,
    },
    /// The records were loaded with settings that differ from the current settings.
    #[error(
        "the index {0} was made with other settings of docid, sort, facets, scan or [[index]], or by a version of z3950d that indexes differently"
    )]
    Outdated(String),
    /// The index has been changed since it was created.
    #[error("the index {index} was changed by hand: {what}")]
    Changed {
        /// The name of the index.
        index: String,
        /// A description of the difference.
        what: String,
    },
    /// Masks and regular expressions are disabled.
    #[error(
        "the cluster setting search.allow_expensive_queries is false, so truncation is refused"
    )]
    Expensive,
    /// Shards are missing.
    #[error("the index {0} lacks shards: some records cannot be found")]
    Incomplete(String),
    /// A first load is in progress, or was killed.
    #[error(
        "the index {0} is being loaded for the first time, or that load was killed: run it again to complete it"
    )]
    Unfinished(String),
    /// The index refuses changes.
    #[error("the index {index} takes no changes: {setting} is set")]
    Blocked {
        /// The name of the index.
        index: String,
        /// The setting of the index that causes this.
        setting: &'static str,
    },
    /// The alias for changes does not belong to this index alone, so changes would be made in other indexes or be
    /// refused.
    #[error(
        "{alias} must be an alias of {index} alone, which is changed by it, but stands for {found}"
    )]
    Astray {
        /// The name of the alias.
        alias: String,
        /// The name of the index.
        index: String,
        /// The indexes that have the alias.
        found: String,
    },
    /// An index that was replaced has not been deleted.
    #[error("{0} was replaced by a reload, and is about to be deleted or was left behind")]
    Left(String),
    /// A reload is in progress, or was interrupted.
    #[error(
        "{filling} is being filled to replace {index}, or that was interrupted: until it is done, changes of {index} are refused or lost"
    )]
    Reloading {
        /// The name of the index that is searched.
        index: String,
        /// The name of the index that is being filled.
        filling: String,
    },
}

impl IndexError {
    /// Returns `true` if the index does not match the settings, and `false` if the cluster does not answer or records
    /// are missing.
    pub fn is_mismatch(&self) -> bool {
        !matches!(
            self,
            Self::Unreachable(_)
                | Self::Incomplete(_)
                | Self::Unfinished(_)
                | Self::Blocked { .. }
                | Self::Closed(_)
                | Self::Astray { .. }
                | Self::Left(_)
                | Self::Reloading { .. }
        )
    }

    /// Returns whether searches fail or lack records.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Incomplete(_))
    }

    /// Returns whether the cluster has refused a request, which was therefore not carried out.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Denied(_) | Self::Refused(_) | Self::Closed(_))
    }
}

impl From<Failure> for IndexError {
    fn from(failure: Failure) -> Self {
        let words = failure.to_string();
        match failure {
            Failure::Refused { kind, .. } if kind == BLOCK => Self::Closed(words),
            Failure::Refused { status, .. } | Failure::NotJson { status, .. }
                if [401, 403].contains(&status) =>
            {
                Self::Denied(words)
            }
            Failure::Refused { .. } => Self::Refused(words),
            Failure::NotJson { .. } | Failure::TooLarge { .. } => Self::Malformed(words),
            _ => Self::Unreachable(words),
        }
    }
}

/// The settings that make an index refuse changes. The engine sets the second one if the disk of a node is nearly
/// full.
const BLOCKS: [(&str, &str); 3] = [
    ("/blocks/write", "index.blocks.write"),
    (
        "/blocks/read_only_allow_delete",
        "index.blocks.read_only_allow_delete",
    ),
    ("/blocks/read_only", "index.blocks.read_only"),
];

/// Returns the alias that is used to change an index. No other index ever has this alias, so no change can be made by mistake in
/// an index that has replaced this one. Because a change requires the alias to exist, the engine does not create an index with
/// the name of the alias.
pub(super) fn write_name(index: &str) -> String {
    format!("{index}-write")
}

/// Returns the alias of an index that a reload is filling to replace the index with this name.
pub(super) fn filling_name(name: &str) -> String {
    format!("{name}-filling")
}

/// The state of an index.
#[derive(Clone, Debug)]
pub(super) struct IndexState {
    /// The real name of the index, not that of the alias.
    pub(super) index: String,
    /// The other aliases of the index, without the one in the settings.
    pub(super) aliases: Vec<String>,
    /// Whether a filter restricts the alias in the settings to some of the records.
    pub(super) is_filtered: bool,
    pub(super) mapping: Value,
    pub(super) settings: Value,
}

impl IndexState {
    fn new(name: &str, index: String, description: &Value) -> Self {
        let part = |name: &str| description.get(name).cloned().unwrap_or_default();
        let aliases = part("aliases");
        let limits = ["filter", "search_routing"].iter();
        let own = aliases.get(name).unwrap_or(&Value::Null);
        let is_filtered = limits.into_iter().any(|limit| own.get(*limit).is_some());
        let aliases = aliases.as_object().into_iter().flat_map(Map::keys);
        Self {
            index,
            aliases: aliases.cloned().collect(),
            is_filtered,
            mapping: part("mappings"),
            settings: part("settings"),
        }
    }

    /// Returns a setting below `index`, as text.
    pub(super) fn setting(&self, pointer: &str) -> Option<&str> {
        self.settings
            .pointer("/index")
            .and_then(|index| index.pointer(pointer))
            .and_then(Value::as_str)
    }

    /// Returns the name of the index, with a part that is unique to this index.
    pub(super) fn identity(&self) -> String {
        let uuid = self.setting("/uuid").unwrap_or_default();
        format!("{} {uuid}", self.index)
    }

    /// Returns whether a first load has not ended.
    pub(super) fn is_unfinished(&self) -> bool {
        self.setting("/refresh_interval") == Some("-1")
    }

    /// Returns whether the index refuses changes, as during a reload.
    pub(super) fn is_blocked(&self) -> bool {
        self.setting("/blocks/write") == Some("true")
    }

    /// Checks that the index accepts changes.
    ///
    /// # Errors
    /// [`IndexError::Blocked`] with the setting that makes the index refuse changes.
    pub(super) fn check_open(&self) -> Result<(), IndexError> {
        let mut blocks = BLOCKS.iter();
        let found = blocks.find(|(pointer, _)| self.setting(pointer) == Some("true"));
        match found {
            Some((_, setting)) => Err(IndexError::Blocked {
                index: self.index.clone(),
                setting,
            }),
            None => Ok(()),
        }
    }

    pub(super) fn write_name(&self) -> String {
        write_name(&self.index)
    }
}

impl ClusterIndex {
    /// Creates the handle of an index without sending a request.
    ///
    /// # Errors
    /// Fails if the certificates to trust cannot be used.
    pub fn new(options: &ClusterOptions, layout: Arc<EngineLayout>) -> Result<Self, TlsError> {
        let link = Link::with_access(
            &options.addresses,
            &options.access,
            options.connections,
            options.answer_time,
        )?;
        Ok(Self {
            link: Arc::new(link),
            layout,
            name: options.index().to_owned(),
            shards: options.shards,
            replicas: options.replicas,
            answer_time: options.answer_time,
        })
    }

    /// Returns the description of a new index, as sent to the engine.
    pub fn description(&self) -> Value {
        json!({
            "settings": { "index": {
                "number_of_shards": self.shards,
                "number_of_replicas": self.replicas,
                "codec": "best_compression",
                // Without this setting, the first search after 30 seconds without searches would wait for a refresh.
                "refresh_interval": REFRESH,
                "analysis": EngineLayout::analysis(),
            } },
            "mappings": self.layout.mapping(),
        })
    }

    /// Creates the index and its alias, unless it exists. Returns its name, and whether it is new.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn create(&self) -> Result<(String, bool), IndexError> {
        // The number is determined before the state: if another program creates the index in between, either the state shows its
        // alias, or the name is taken.
        let index = self.next_index().await?;
        if let Some(state) = self.state().await? {
            return Ok((state.index, false));
        }
        match self.create_as(&index, &self.name).await {
            Ok(()) => Ok((index, true)),
            // Another program created the index first.
            Err(error) => match self.state().await? {
                Some(state) => Ok((state.index, false)),
                None => Err(error),
            },
        }
    }

    /// Creates an index with an alias.
    pub(super) async fn create_as(&self, index: &str, alias: &str) -> Result<(), IndexError> {
        let mut description = self.description();
        if let Some(fields) = description.as_object_mut() {
            let aliases = json!({ alias: {}, write_name(index): {} });
            fields.insert("aliases".to_owned(), aliases);
        }
        self.change(Method::PUT, format!("/{index}"), &description)
            .await
    }

    /// Returns the state of the index; `None` if there is none.
    ///
    /// # Errors
    /// See [`IndexError`]; it is also an error if the name is an alias for several indexes.
    pub(super) async fn state(&self) -> Result<Option<IndexState>, IndexError> {
        self.state_of(&self.name).await
    }

    /// Returns the state of the index with this name or alias; `None` if there is none.
    pub(super) async fn state_of(&self, name: &str) -> Result<Option<IndexState>, IndexError> {
        let asked = self
            .link
            .ask(&Draft::read(format!("/{name}"), MOST_STATE))
            .await;
        let found = match asked {
            Err(Failure::Refused { status: 404, .. }) => return Ok(None),
            asked => asked?,
        };
        let mut found = found.as_object().into_iter().flatten();
        let malformed = || IndexError::Malformed(format!("that about {name} names no index"));
        let (index, description) = found.next().ok_or_else(malformed)?;
        let others: Vec<&str> = found.map(|(index, _)| &**index).collect();
        if others.is_empty() {
            let mut state = IndexState::new(name, index.clone(), description);
            state.aliases.retain(|alias| alias != name);
            Ok(Some(state))
        } else {
            let names = [&[&**index], &*others].concat().join(", ");
            Err(IndexError::Several(name.to_owned(), names))
        }
    }

    /// Returns whether an index has the alias that is used to change it.
    ///
    /// # Errors
    /// See [`IndexError`]; it is also an error if anything else has the alias.
    pub(super) async fn has_write_alias(&self, index: &str) -> Result<bool, IndexError> {
        let alias = write_name(index);
        let found = match self.state_of(&alias).await {
            Ok(None) => return Ok(false),
            Ok(Some(state)) if state.index == index => return Ok(true),
            Ok(Some(state)) => state.index,
            Err(IndexError::Several(_, indexes)) => indexes,
            Err(error) => return Err(error),
        };
        let index = index.to_owned();
        Err(IndexError::Astray {
            alias,
            index,
            found,
        })
    }

    /// Returns the name for a new index: the alias, followed by the next number.
    pub(super) async fn next_index(&self) -> Result<String, IndexError> {
        let path = format!(
            "/{}-*?expand_wildcards=all&filter_path=*.settings.index.uuid",
            self.name
        );
        let found = self.link.ask(&Draft::read(path, MOST_STATE)).await?;
        let found = found.as_object().into_iter().flat_map(Map::keys);
        let numbers = found.filter_map(|index| self.number(index));
        let last = numbers.max().unwrap_or_default();
        Ok(format!("{}-{}", self.name, last + 1))
    }

    /// Returns the state of the index that has an alias which only this program assigns; `None` if there is none.
    ///
    /// # Errors
    /// See [`IndexError`]; it is also an error if something else has this name.
    pub(super) async fn own_state(&self, alias: &str) -> Result<Option<IndexState>, IndexError> {
        match self.state_of(alias).await? {
            Some(state) if self.number(&state.index).is_none() => {
                Err(IndexError::Foreign(state.index))
            }
            state => Ok(state),
        }
    }

    /// Returns the name and identity of the index that is searched, like [`IndexLoad::identity`](super::IndexLoad::identity);
    /// `None` if there is none.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn identity(&self) -> Result<Option<String>, IndexError> {
        let state = self.state().await?;
        Ok(state.map(|state| state.identity()))
    }

    /// Returns the number after the alias in the name of an index.
    pub(super) fn number(&self, index: &str) -> Option<u32> {
        index
            .strip_prefix(&*self.name)?
            .strip_prefix('-')?
            .parse()
            .ok()
    }

    /// Changes settings of an index.
    pub(super) async fn set(&self, index: &str, settings: &Value) -> Result<(), IndexError> {
        let path = format!("/{index}/_settings");
        self.change(Method::PUT, path, &json!({ "index": settings }))
            .await
    }

    /// Sends a request that changes the cluster, and checks that the change was acknowledged.
    pub(super) async fn change(
        &self,
        method: Method,
        path: String,
        body: &Value,
    ) -> Result<(), IndexError> {
        let answer = self.link.ask(&Draft::change(method, path, body)).await?;
        match answer.get("acknowledged") {
            Some(Value::Bool(false)) => {
                let words = "the nodes did not learn of a change in time".to_owned();
                Err(IndexError::Unreachable(words))
            }
            _ => Ok(()),
        }
    }
}

/// The time after which searches find a change.
pub(super) const REFRESH: &str = "1s";
