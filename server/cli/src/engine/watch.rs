//! Engines that did not answer when they were to be checked: they are checked when they do.

use std::sync::{Arc, Weak};
use std::time::Duration;

use z3950_front::engine::{EngineCheckError, EngineDatabase};

/// How often an engine that does not answer is asked again.
const INTERVAL: Duration = Duration::from_secs(3);

/// Checks these engines as soon as they answer. A database whose engine is not as the settings say is refused until it is.
pub(crate) fn watch(unchecked: &[Arc<EngineDatabase>]) {
    for engine in unchecked {
        tokio::spawn(check_later(Arc::downgrade(engine)));
    }
}

async fn check_later(engine: Weak<EngineDatabase>) {
    let mut refused: Option<String> = None;
    loop {
        tokio::time::sleep(INTERVAL).await;
        // It may have been dropped by a reload.
        let Some(engine) = engine.upgrade() else {
            return;
        };
        let database = &*engine.options().name;
        let outcome = engine.check_again().await;
        match outcome {
            Err(error) if error.is_mismatch() => {
                let words = Some(error.to_string());
                if refused != words {
                    tracing::error!(database, %error, "the database is not served");
                    engine.refuse(words.clone());
                    refused = words;
                }
                continue;
            }
            Err(EngineCheckError::Unreachable(_)) => continue,
            Err(error) => tracing::warn!(database, %error, "the engine was checked"),
            Ok(()) => {}
        }
        if refused.is_some() {
            engine.refuse(None);
            tracing::warn!(database, "the database is served again");
        }
        return;
    }
}
