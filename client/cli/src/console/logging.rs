//! Logs to standard error. `-v` logs the steps of a command, `-vv` also logs each APDU with its time, and `-vvv` also
//! logs the contents of APDUs.

use std::io::{self, Write};

use std::time::Instant;

use clap::ColorChoice;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{self, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use z3950_marc::text::escape_unprintable;

use crate::console::output::is_colored;

/// Installs the subscriber for log events. The server of `--demo` is not logged.
pub(crate) fn install(verbose: u8, color: ColorChoice) {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let layer = fmt::layer()
        .fmt_fields(EscapedFields)
        .with_writer(|| Events(io::stderr()))
        .with_ansi(is_colored(color))
        // tracing would report a failed write to standard error on standard error itself, and panic.
        .log_internal_errors(false)
        .with_target(false);
    let shown = Targets::new()
        .with_target("z3950", level)
        // The prefix `z3950` also matches the server's crate, whose events are not shown.
        .with_target("z3950_server", LevelFilter::OFF);
    let registry = tracing_subscriber::registry().with(shown);
    match verbose {
        0 | 1 => registry.with(layer.without_time()).init(),
        _ => registry
            .with(layer.with_timer(Elapsed(Instant::now())))
            .init(),
    }
}

/// Formats the fields of events and spans. Text from a server in a field is escaped, so that it cannot affect the
/// terminal.
struct EscapedFields;

impl<'w> FormatFields<'w> for EscapedFields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'w>,
        fields: R,
    ) -> std::fmt::Result {
        let mut text = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut text), fields)?;
        let text = text.replace("\r\n", "\n");
        // Newlines are kept, because `Events` indents continuation lines.
        writer.write_str(&escape_unprintable(&text, |one| matches!(one, '\n' | '\t')))
    }
}

/// Writes the seconds since the start of the program as the time of an event.
struct Elapsed(Instant);

impl FormatTime for Elapsed {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{:7.3}", self.0.elapsed().as_secs_f64())
    }
}

/// Returns whether the steps of a command are logged, as with `-v`.
pub(crate) fn shows_steps() -> bool {
    tracing::enabled!(tracing::Level::INFO)
}

/// Returns whether APDUs are logged, as with `-vv`.
pub(crate) fn shows_apdus() -> bool {
    tracing::enabled!(tracing::Level::DEBUG)
}

/// A writer of log events, which writes each event in a single call. Because a field may contain text from a server,
/// all lines of an event except the first are indented, and cannot be mistaken for another event or a message.
struct Events<W>(W);

impl<W: Write> Write for Events<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let (lines, end) = match event {
            [lines @ .., b'\n'] => (lines, "\n"),
            lines => (lines, ""),
        };
        let lines = String::from_utf8_lossy(lines).replace("\r\n", "\n");
        let lines = lines.replace('\r', "\\x0d").replace('\n', "\n  ");
        self.0.write_all(format!("{lines}{end}").as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use z3950_marc::text::is_unprintable;

    use super::*;

    #[test]
    fn audit_r_x2_fields_change_nothing_around_them() {
        let octets = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&octets);
        let layer = fmt::layer()
            .fmt_fields(EscapedFields)
            .without_time()
            .with_ansi(true)
            .with_writer(move || Events(Shared(Arc::clone(&to))));
        let log = tracing_subscriber::registry().with(layer);
        let words = "a\u{1b}[31m\u{7}\u{9b}2J\u{202e}b\u{2066}\r\nnote: c\rd\u{2028}";
        tracing::subscriber::with_default(log, || {
            let span = tracing::info_span!("session", peer = words);
            let _entered = span.enter();
            tracing::info!(said = %words, debug = ?words, "{words}");
            let error = io::Error::other(words);
            tracing::warn!(error = &error as &dyn std::error::Error, "failed");
        });
        let log = String::from_utf8(std::mem::take(&mut *octets.lock().expect("free")));
        let log = log.expect("UTF-8");
        for line in log.lines() {
            let is_own = line.starts_with('\u{1b}') || line.starts_with("  ");
            assert!(is_own, "{line:?} in {log}");
        }
        let colors = log.matches("\u{1b}[").count();
        assert_eq!(log.matches('\u{1b}').count(), colors, "{log:?}");
        assert!(!log.contains("\u{1b}[31m\\u0007"), "{log:?}");
        let is_bad = |one: char| is_unprintable(one) && !matches!(one, '\n' | '\u{1b}');
        assert!(!log.contains(is_bad), "{log:?}");
    }

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
    fn audit_d19_a_field_starts_no_line_of_a_log() {
        for (event, written) in [
            ("INFO a\n", "INFO a\n"),
            ("INFO a\r\nnote: b\n", "INFO a\n  note: b\n"),
            ("INFO a\rb\n", "INFO a\\x0db\n"),
        ] {
            let mut octets = Vec::new();
            let count = Events(&mut octets).write(event.as_bytes());
            assert_eq!(count.expect("written"), event.len());
            assert_eq!(String::from_utf8_lossy(&octets), written);
        }
    }
}
