//! Mutexes that ignore poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Locks a mutex, even if a holder has panicked: the value is valid, because a panic cannot leave it partly changed.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex as [`lock`] does, unless it is already locked.
pub(crate) fn try_lock<T>(shared: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match shared.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
