//! Names for the result sets of a connection: one each where the server keeps several by name; else all have the name `default`
//! in turn (Z39.50-2003 §3.2.2.1.4).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use z3950_asn1::apdu::Options;
use z3950_asn1::types::InternationalString;

use crate::service::init::ServerInfo;
use crate::service::search::DEFAULT_RESULT_SET;

/// The names of a connection.
#[derive(Debug)]
pub(crate) struct Names {
    /// Whether the server keeps result sets by name.
    is_named: bool,
    numbers: Mutex<Numbers>,
    /// The search that made the set `default`, where that is the only one.
    holder: Arc<tokio::sync::Mutex<Option<u64>>>,
}

#[derive(Debug, Default)]
struct Numbers {
    /// Given back, to be used again: a set of the same name takes the place of the old one.
    free: Vec<u64>,
    next: u64,
}

/// The name of one result set, free for another when it is dropped.
#[derive(Debug)]
pub(crate) struct Name {
    names: Arc<Names>,
    number: u64,
}

/// The right to work with a result set, of which the server may have one alone.
#[derive(Debug)]
pub(crate) struct Turn {
    number: u64,
    /// Held where all sets share a name.
    holder: Option<tokio::sync::OwnedMutexGuard<Option<u64>>>,
}

impl Names {
    /// Names for a session with this server.
    pub(crate) fn new(server: &ServerInfo) -> Self {
        Self {
            is_named: server.options.contains(Options::NAMED_RESULT_SETS),
            numbers: Mutex::default(),
            holder: Arc::default(),
        }
    }

    /// A name that no other result set has.
    pub(crate) fn take(self: &Arc<Self>) -> Name {
        let mut numbers = self.numbers();
        // Where all share a name, the number tells whose turn it was last.
        let free = match self.is_named {
            true => numbers.free.pop(),
            false => None,
        };
        let number = free.unwrap_or_else(|| {
            numbers.next += 1;
            numbers.next
        });
        Name {
            names: Arc::clone(self),
            number,
        }
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Name {
    /// As it is sent.
    pub(crate) fn name(&self) -> InternationalString {
        match self.names.is_named {
            true => self.number.to_string().as_str().into(),
            false => DEFAULT_RESULT_SET.into(),
        }
    }

    /// Waits until no other result set is worked with that has the same name.
    pub(crate) async fn turn(&self) -> Turn {
        Turn {
            number: self.number,
            holder: match self.names.is_named {
                true => None,
                false => Some(Arc::clone(&self.names.holder).lock_owned().await),
            },
        }
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        if self.names.is_named {
            self.names.numbers().free.push(self.number);
        }
    }
}

impl Turn {
    /// Whether another search has taken the place of this set since, so that it must be searched for again.
    pub(crate) fn is_taken(&self) -> bool {
        let holder = self.holder.as_deref();
        holder.is_some_and(|holder| *holder != Some(self.number))
    }

    /// This set is the one that the server has now.
    pub(crate) fn take(&mut self) {
        if let Some(holder) = self.holder.as_deref_mut() {
            *holder = Some(self.number);
        }
    }
}
