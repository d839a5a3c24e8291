//! The data shared by a result set and the streams of its records: the connection, the name of the set, and the pager
//! (Z39.50-2003 §3.1.6).

use std::sync::{self, Arc, PoisonError};

use tokio::sync::{Mutex, MutexGuard};
use z3950_asn1::types::InternationalString;

use crate::connection::inner::{Inner, Name, NameGuard};
use crate::error::Error;
use crate::protocol::pager::{Pager, PagerOptions};
use crate::protocol::service::search::SearchResult;
use crate::record::Record;

/// A result set, which exists as long as anything uses it.
pub(super) struct SharedSet {
    pub(super) found: SearchResult,
    /// The pager, which has a handle to the session. It is dropped before the connection, which returns the session
    /// to the pool.
    pager: Mutex<Pager>,
    /// The form to request from now on, or `None` if it has not changed.
    form: sync::Mutex<Option<PagerOptions>>,
    name: Name,
    pub(super) connection: Arc<Inner>,
}

impl SharedSet {
    pub(super) fn new(connection: Arc<Inner>, name: Name, pager: Pager) -> Self {
        Self {
            found: pager.found().clone(),
            pager: Mutex::new(pager),
            form: sync::Mutex::default(),
            name,
            connection,
        }
    }

    /// Returns the name of the set on the server.
    pub(super) fn name(&self) -> InternationalString {
        self.name.name()
    }

    /// Sets the form in which records are requested from now on.
    pub(super) fn set_form(&self, options: PagerOptions) {
        *self.form.lock().unwrap_or_else(PoisonError::into_inner) = Some(options);
    }

    /// Waits for the right to use the set, and repeats its search if another set has replaced it on the server. The set
    /// can be used until both returned values are dropped.
    ///
    /// # Errors
    /// The errors of [`Pager::search_again`].
    pub(super) async fn lock(&self) -> Result<(MutexGuard<'_, Pager>, NameGuard), Error> {
        let mut pager = self.pager.lock().await;
        let form = self
            .form
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(form) = form {
            pager.set_form(form);
        }
        let mut guard = self.name.lock().await;
        if guard.is_taken() {
            pager.search_again().await?;
            guard.take();
        }
        Ok((pager, guard))
    }

    /// Returns the record at a 1-based position.
    pub(super) async fn record(&self, position: u64) -> Result<Record, Error> {
        let record = self.connection.until_closed(async {
            let (mut pager, _guard) = self.lock().await?;
            pager.record(position).await
        });
        self.connection.record(record.await?, position)
    }
}
