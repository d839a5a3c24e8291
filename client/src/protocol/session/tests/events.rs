//! Tests that each APDU is logged as an event of `tracing`.

use std::sync::{Arc, Mutex};

use tracing::{field, span};

use super::*;

/// Records the fields of each event at debug level and above.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Events {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("z3950") && *metadata.level() <= tracing::Level::DEBUG
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        self.0
            .lock()
            .expect("no panic")
            .push(format!("span {}", span.metadata().name()));
        span::Id::from_u64(1)
    }

    fn event(&self, event: &tracing::Event<'_>) {
        struct Fields(Vec<String>);
        impl field::Visit for Fields {
            fn record_debug(&mut self, field: &field::Field, value: &dyn std::fmt::Debug) {
                let value = if field.name() == "octets" {
                    &"n"
                } else {
                    value
                };
                self.0.push(format!("{}={value:?}", field.name()));
            }
        }
        let mut fields = Fields(Vec::new());
        event.record(&mut fields);
        if fields.0.iter().any(|field| field.starts_with("apdu")) {
            self.0.lock().expect("no panic").push(fields.0.join(" "));
        }
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn each_apdu_is_one_event() {
    let events = Events::default();
    // Without a second subscriber, the threads of other tests could disable the events that this test expects.
    let _other = tracing::Dispatch::new(Events::default());
    let guard = tracing::subscriber::set_default(events.clone());
    let (session, _) = open([accepted(), send(found(0, vec![]))]).await;
    hits(&session).await.expect("an answer");
    session.close().await.expect("was open");
    drop(guard);
    let line = |message: &str, apdu: &str| format!("message={message} apdu={apdu:?} octets=\"n\"");
    let expected = [
        "span connection".to_owned(),
        line("sent", "initRequest"),
        line("received", "initResponse"),
        line("sent", "searchRequest"),
        line("received", "searchResponse"),
        line("sent", "close"),
        line("received", "close"),
    ];
    assert_eq!(*events.0.lock().expect("no panic"), expected);
}
