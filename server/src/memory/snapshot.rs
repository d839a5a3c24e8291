//! The catalogues that result sets were found in. The catalogues are kept until the databases have been reloaded twice, so that
//! sessions which stay open do not keep the records of all reloads.

use std::mem::{replace, take};
use std::sync::{Arc, Mutex, Weak};

use super::catalogue::Catalogue;
use crate::lock::lock;

/// A catalogue, until it is given up.
#[derive(Debug)]
pub(super) struct Snapshot(Mutex<Option<Arc<Catalogue>>>);

impl Snapshot {
    /// Returns the catalogue, unless it has been given up.
    pub(super) fn catalogue(&self) -> Option<Arc<Catalogue>> {
        lock(&self.0).clone()
    }
}

/// A catalogue in use, and the snapshot by which result sets keep it.
#[derive(Clone)]
pub(super) struct View {
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) snapshot: Arc<Snapshot>,
}

impl View {
    fn new(catalogue: Arc<Catalogue>) -> Self {
        let kept = Mutex::new(Some(Arc::clone(&catalogue)));
        Self {
            catalogue,
            snapshot: Arc::new(Snapshot(kept)),
        }
    }
}

/// The current catalogue, and the catalogues that result sets keep.
pub(super) struct Snapshots {
    current: View,
    /// The snapshots since the last reload, and those between the last reload and the one before.
    recent: [Vec<Weak<Snapshot>>; 2],
}

impl Snapshots {
    pub(super) fn new(catalogue: Catalogue) -> Self {
        let current = View::new(Arc::new(catalogue));
        Self {
            recent: [vec![Arc::downgrade(&current.snapshot)], Vec::new()],
            current,
        }
    }

    pub(super) fn current(&self) -> &View {
        &self.current
    }

    /// Makes another catalogue the current one. Returns the snapshots that are given up, to be dropped without holding a lock.
    pub(super) fn replace(&mut self, catalogue: Arc<Catalogue>) -> Vec<Arc<Catalogue>> {
        let is_reload = !catalogue.index.is_akin(&self.current.catalogue.index);
        self.current = View::new(catalogue);
        let [recent, earlier] = &mut self.recent;
        let given_up = if is_reload {
            replace(earlier, take(recent))
        } else {
            Vec::new()
        };
        recent.retain(|snapshot| snapshot.strong_count() > 0);
        recent.push(Arc::downgrade(&self.current.snapshot));
        let given_up = given_up.iter().filter_map(Weak::upgrade);
        given_up
            .filter_map(|snapshot| lock(&snapshot.0).take())
            .collect()
    }
}
