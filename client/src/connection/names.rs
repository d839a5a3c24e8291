//! Names for the result sets of a connection (Z39.50-2003 §3.2.2.1.4): one each at servers with named result sets; otherwise all
//! share the name `default` and take turns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use z3950_asn1::apdu::Options;
use z3950_asn1::types::InternationalString;

use crate::protocol::service::DEFAULT_RESULT_SET;
use crate::protocol::service::init::ServerInfo;

/// The names of a connection.
#[derive(Debug)]
pub(crate) struct Names {
    /// Whether the server supports named result sets.
    is_named: bool,
    numbers: Mutex<Numbers>,
    /// The number of the set that is now `default`, if that is the only name.
    holder: Arc<tokio::sync::Mutex<Option<u64>>>,
}

#[derive(Debug, Default)]
struct Numbers {
    /// Returned for reuse: a new set replaces the old one of the same name.
    free: Vec<u64>,
    next: u64,
}

/// The name of one result set, returned for reuse when dropped.
#[derive(Debug)]
pub(crate) struct Name {
    names: Arc<Names>,
    number: u64,
}

/// The right to use a result set, while no other uses a shared name.
#[derive(Debug)]
pub(crate) struct Turn {
    number: u64,
    /// The lock of a shared name.
    holder: Option<tokio::sync::OwnedMutexGuard<Option<u64>>>,
}

impl Names {
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
        // The number of a set with a shared name is unique, since it identifies the set.
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
    /// The name to send.
    pub(crate) fn name(&self) -> InternationalString {
        match self.names.is_named {
            true => self.number.to_string().as_str().into(),
            false => DEFAULT_RESULT_SET.into(),
        }
    }

    /// Waits until no other result set with the same name is in use.
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
    /// Whether another set has replaced this one, so that its search must be repeated.
    pub(crate) fn is_taken(&self) -> bool {
        let holder = self.holder.as_deref();
        holder.is_some_and(|holder| *holder != Some(self.number))
    }

    /// Marks this set as the one that the server has now.
    pub(crate) fn take(&mut self) {
        if let Some(holder) = self.holder.as_deref_mut() {
            *holder = Some(self.number);
        }
    }
}
