//! A reload fills a new index while the old one still answers, and then moves the alias from the old to the new index in one
//! request. Until then, the old index refuses changes, because they would be lost, and the new index has a different alias, which
//! shows that it is being filled.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::index::{ClusterIndex, IndexError, IndexState, REFRESH, filling_name};
use super::load::{IndexLoad, Leftover, LoadWork};
use crate::engine::link::Draft;

/// The time to wait for the copies of a new index before the alias is moved without them.
const COPY_TIME: Duration = Duration::from_secs(60);

impl ClusterIndex {
    /// Returns the index that a reload is filling, or was filling when it was killed.
    pub(super) async fn filling(&self) -> Result<Option<IndexState>, IndexError> {
        self.own_state(&filling_name(&self.name)).await
    }

    /// Returns the alias that a replaced index has until it is deleted.
    fn replaced_name(&self) -> String {
        format!("{}-replaced", self.name)
    }

    /// Returns the index that a reload has replaced but not deleted yet.
    pub(super) async fn replaced(&self) -> Result<Option<IndexState>, IndexError> {
        self.own_state(&self.replaced_name()).await
    }

    /// Deletes the index that a reload has replaced. Returns its name; `None` if there is none.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn delete_replaced(&self) -> Result<Option<String>, IndexError> {
        let Some(replaced) = self.replaced().await? else {
            return Ok(None);
        };
        match self.delete(&replaced.index).await {
            // Another load replaced the index first.
            Err(error) => match self.replaced().await? {
                Some(_) => Err(error),
                None => Ok(None),
            },
            Ok(()) => Ok(Some(replaced.index)),
        }
    }

    /// Begins a reload, or continues an earlier one.
    pub(super) async fn begin_reload(&self, leftover: Leftover) -> Result<IndexLoad, IndexError> {
        let replaced = self.state().await?;
        if let Some(replaced) = &replaced {
            let mark = replaced.mapping.pointer("/_meta/z3950d");
            mark.ok_or_else(|| IndexError::Foreign(replaced.index.clone()))?;
            // An index filled by a reload belongs to the database for which it was filled.
            let is_of = |alias: &String| {
                let rest = replaced.index.strip_prefix(alias.as_str());
                let number = rest.and_then(|rest| rest.strip_prefix('-'));
                number.is_some_and(|number| number.parse::<u64>().is_ok())
            };
            let is_own = if replaced.index == self.name {
                !replaced.aliases.iter().any(is_of)
            } else {
                self.number(&replaced.index).is_some()
            };
            if !is_own {
                return Err(IndexError::Irreplaceable {
                    name: self.name.clone(),
                    index: replaced.index.clone(),
                });
            }
        }
        // The number is determined before the index of another reload is looked for: if two reloads begin at once, one of them
        // either finds the index of the other, or finds that its name is taken.
        let index = self.next_index().await?;
        let left = self.filling().await?;
        let is_kept = match (&left, leftover) {
            (Some(left), Leftover::ReplaceIfEmpty) => {
                self.refresh(&left.index).await?;
                !self.is_empty(&left.index).await?
            }
            (left, Leftover::Refuse) => left.is_some(),
            _ => false,
        };
        let (state, is_new) = match left {
            Some(left) if leftover == Leftover::Continue => {
                self.check_layout(&left)?;
                (left, false)
            }
            Some(left) if is_kept => {
                let index = replaced.map_or_else(|| self.name.clone(), |replaced| replaced.index);
                return Err(IndexError::Reloading {
                    index,
                    filling: left.index,
                });
            }
            left => (self.create_filling(&index, left).await?, true),
        };
        if let Err(error) = self.close(&state, replaced.as_ref()).await {
            if is_new {
                self.delete(&state.index).await?;
            }
            return Err(error);
        }
        let mut load = self.load_of(&state, LoadWork::Reload(leftover));
        load.is_new = is_new;
        load.restored = json!({ "refresh_interval": REFRESH, "number_of_replicas": self.replicas });
        load.replaced = replaced;
        Ok(load)
    }

    /// Checks that no other index has the write alias of the new index, and makes the index that is being replaced refuse
    /// changes.
    async fn close(
        &self,
        new: &IndexState,
        replaced: Option<&IndexState>,
    ) -> Result<(), IndexError> {
        self.has_write_alias(&new.index).await?;
        match replaced {
            Some(replaced) => {
                let closed = json!({ "blocks.write": true });
                self.set(&replaced.index, &closed).await
            }
            None => Ok(()),
        }
    }

    /// Creates the index to fill, and removes one that an earlier reload has left behind.
    async fn create_filling(
        &self,
        index: &str,
        left: Option<IndexState>,
    ) -> Result<IndexState, IndexError> {
        if let Some(left) = left {
            self.delete(&left.index).await?;
        }
        self.create_as(index, &filling_name(&self.name)).await?;
        self.make_quick(index).await?;
        let state = self.filling().await?;
        state.ok_or_else(|| IndexError::Absent(index.to_owned()))
    }

    async fn delete(&self, index: &str) -> Result<(), IndexError> {
        self.change(Method::DELETE, format!("/{index}"), &Value::Null)
            .await
    }
}

/// The index that was searched before a reload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplacedIndex {
    /// The name of the index, if it still exists.
    pub index: Option<String>,
    /// The time for which searches in progress may still use the index.
    pub searched_for: Duration,
}

impl IndexLoad {
    /// Ends a complete reload: the new index replaces the old one. The old index is kept until [`ClusterIndex::delete_replaced`],
    /// for the searches in progress and for their result sets.
    ///
    /// # Errors
    /// See [`IndexError`]; the old index still answers.
    pub async fn replace(&self) -> Result<ReplacedIndex, IndexError> {
        self.end().await?;
        self.wait_for_copies().await;
        let home = &self.home;
        let new = &self.index;
        let mut actions = vec![
            json!({ "add": { "index": new, "alias": home.name } }),
            json!({ "remove": { "index": new, "alias": filling_name(&home.name) } }),
        ];
        let mut kept = None;
        if let Some(old) = &self.replaced {
            let old_index = &old.index;
            // The new index takes over the other aliases of the old index.
            let others = { old.aliases.iter() }.filter(|alias| **alias != old.write_name());
            for alias in others {
                actions.push(json!({ "add": { "index": new, "alias": alias } }));
                actions.push(json!({ "remove": { "index": old_index, "alias": alias } }));
            }
            if *old_index == home.name {
                // An alias cannot have the name of an existing index, so that index is removed.
                actions.push(json!({ "remove_index": { "index": old_index } }));
            } else {
                let replaced = home.replaced_name();
                actions.push(json!({ "remove": { "index": old_index, "alias": home.name } }));
                actions.push(json!({ "add": { "index": old_index, "alias": replaced } }));
                kept = Some(old_index.clone());
            }
        }
        let body = json!({ "actions": actions });
        home.change(Method::POST, "/_aliases".to_owned(), &body)
            .await?;
        Ok(ReplacedIndex {
            index: kept,
            searched_for: home.answer_time,
        })
    }

    /// Cancels a reload: the old index accepts changes again, and the new one is deleted.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn give_up(self) -> Result<(), IndexError> {
        let home = &self.home;
        home.delete(&self.index).await?;
        match &self.replaced {
            Some(old) => home.set(&old.index, &json!({ "blocks.write": null })).await,
            None => Ok(()),
        }
    }

    /// Returns whether this load has created the index that it fills.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Returns the number of records in the index that is filled, as searches would find them.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn count(&self) -> Result<u64, IndexError> {
        self.end().await?;
        self.home.count(&self.index).await
    }

    /// Waits until each shard has its copies, unless this takes too long or is not possible; the primaries can answer
    /// without copies.
    async fn wait_for_copies(&self) {
        let path = format!(
            "/_cluster/health/{}?wait_for_status=green&timeout={}s",
            self.index,
            COPY_TIME.as_secs()
        );
        let mut draft = Draft::read(path, 1 << 20);
        draft.time = Some(2 * COPY_TIME);
        if let Err(error) = self.home.link.ask(&draft).await {
            tracing::debug!(%error, "the copies of the new index are not complete yet");
        }
    }
}
