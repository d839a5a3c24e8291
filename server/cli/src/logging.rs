//! Writes log events to standard error, either in the form of the program's messages or, with `-v`, as lines with time and level.

use std::fmt;
use std::io::{self, IsTerminal};

use clap::ColorChoice;
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use z3950_marc::text::escape_unprintable;

/// Installs the subscriber that writes log events to standard error.
pub(crate) fn install(verbose: u8, color: ColorChoice) {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let ansi = match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => io::stderr().is_terminal() && !plain,
    };
    let lines = tracing_subscriber::fmt()
        .fmt_fields(EscapedFields)
        .with_max_level(level)
        .with_ansi(ansi)
        .with_writer(io::stderr)
        // Otherwise a failure to write to standard error would be reported on standard error too, and this report would panic.
        .log_internal_errors(false);
    match verbose {
        0 => lines.event_format(Message).init(),
        _ => lines.init(),
    }
}

/// Formats the fields of events and spans. These may contain text from a client or a target, so control characters are escaped.
/// The text then stays on its line and cannot affect the terminal.
struct EscapedFields;

impl<'w> FormatFields<'w> for EscapedFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut text = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut text), fields)?;
        writer.write_str(&escape_unprintable(&text, |_| false))
    }
}

/// Writes events in the form of the program's other messages: `z3950d: Init is refused peer=192.0.2.7`.
struct Message;

impl<S, N> FormatEvent<S, N> for Message
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        line.write_str("z3950d: ")?;
        context.format_fields(line.by_ref(), event)?;
        line.write_char('\n')
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use z3950_marc::text::is_unprintable;

    use super::*;

    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("free").write(octets)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn audit_r_x2_words_of_peers_stay_on_their_line() {
        for is_verbose in [false, true] {
            let octets = Arc::new(Mutex::new(Vec::new()));
            let to = Arc::clone(&octets);
            let lines = tracing_subscriber::fmt()
                .fmt_fields(EscapedFields)
                .with_ansi(false)
                .with_writer(move || Shared(Arc::clone(&to)));
            let words = "a\u{1b}[31m\u{7}\u{9b}2J\u{202e}b\u{2066}\r\nz3950d: c\rd\u{2028}e";
            let log = || {
                let span = tracing::info_span!("session", peer = words);
                let _entered = span.enter();
                tracing::info!(said = %words, debug = ?words, "{words}");
                let error = io::Error::other(words);
                tracing::warn!(error = &error as &dyn std::error::Error, "failed");
            };
            if is_verbose {
                tracing::subscriber::with_default(lines.finish(), log);
            } else {
                tracing::subscriber::with_default(lines.event_format(Message).finish(), log);
            }
            let log = String::from_utf8(std::mem::take(&mut *octets.lock().expect("free")));
            let log = log.expect("UTF-8");
            assert_eq!(log.lines().count(), 2, "{log}");
            assert!(
                !log.contains(|one| is_unprintable(one) && one != '\n'),
                "{log:?}"
            );
            assert!(
                log.contains("\\u202eb\\u2066\\r\\nz3950d: c\\rd\\u2028e"),
                "{log}"
            );
        }
    }
}
