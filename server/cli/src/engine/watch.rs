//! Watches engines that did not answer completely at their first check. They are checked again until all their nodes answer.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::sleep;
use z3950_front::engine::{EngineCheckError, EngineDatabase};

use super::refused;

/// The first and the longest wait before an engine is checked again; each wait is twice as long as the previous one.
const WAITS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(30)];

/// Starts checking these engines again. A node that does not match the settings is not used until it does.
pub(crate) fn watch(unchecked: &[Arc<EngineDatabase>]) {
    for engine in unchecked {
        tokio::spawn(check_again(Arc::downgrade(engine)));
    }
}

async fn check_again(engine: Weak<EngineDatabase>) {
    let [mut wait, longest] = WAITS;
    let mut told = String::new();
    loop {
        sleep(wait).await;
        wait = longest.min(2 * wait);
        // A reload may have dropped the engine, which ends the check.
        let Some(engine) = engine.upgrade() else {
            return;
        };
        let database = &*engine.options().name;
        match engine.check_again().await {
            Err(error) if error.is_mismatch() => {
                let words = refused(&error).words;
                if words != told {
                    tracing::error!(database, "not used until it matches the settings: {words}");
                    told = words;
                }
            }
            Err(EngineCheckError::Unreachable(_)) => {}
            Err(error) => {
                tracing::warn!(database, "{error}");
                return;
            }
            Ok(()) => {
                tracing::warn!(database, "the engine was checked: it matches the settings");
                return;
            }
        }
    }
}
