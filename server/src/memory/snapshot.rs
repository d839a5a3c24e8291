//! The catalogues in which result sets were found. They are kept until the databases have been reloaded twice, so that long
//! sessions do not keep the records of all reloads in memory.

use std::mem::{replace, take};
use std::sync::{Arc, Mutex, Weak};

use super::catalogue::Catalogue;
use crate::lock::lock;

/// The catalogue in which result sets were found; it is dropped after two reloads.
#[derive(Debug)]
pub(super) struct Snapshot(Mutex<Option<Arc<Catalogue>>>);

impl Snapshot {
    /// Returns the catalogue; `None` if it has been dropped.
    pub(super) fn catalogue(&self) -> Option<Arc<Catalogue>> {
        lock(&self.0).clone()
    }
}

/// A catalogue, and its snapshot, to which result sets refer.
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

/// The current catalogue, and the snapshots to which result sets refer.
pub(super) struct Snapshots {
    current: View,
    /// The snapshots made since the last reload, and those made between the last two reloads.
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

    /// Replaces the current catalogue. Returns the catalogues that are no longer kept. The caller should drop these without
    /// holding a lock.
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
