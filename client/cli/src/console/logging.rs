//! Logs to standard error. `-v` logs the steps of a command, `-vv` also each APDU with its time, and `-vvv` also the
//! contents of APDUs.

use std::io::{self, Write};

use std::time::Instant;

use clap::ColorChoice;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{self};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

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
        .with_writer(|| Events(io::stderr()))
        .with_ansi(is_colored(color))
        // If standard error cannot be written, reporting that would panic.
        .log_internal_errors(false)
        .with_target(false);
    let shown = Targets::new()
        .with_target("z3950", level)
        // The name of the server's crate begins with that of the client's crate.
        .with_target("z3950_server", LevelFilter::OFF);
    let registry = tracing_subscriber::registry().with(shown);
    match verbose {
        0 | 1 => registry.with(layer.without_time()).init(),
        _ => registry
            .with(layer.with_timer(Elapsed(Instant::now())))
            .init(),
    }
}

/// The timer for log events, which shows the seconds since the start of the program.
struct Elapsed(Instant);

impl FormatTime for Elapsed {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{:7.3}", self.0.elapsed().as_secs_f64())
    }
}

/// Returns whether APDUs are logged, which is the case from `-vv` on.
pub(crate) fn shows_apdus() -> bool {
    tracing::enabled!(tracing::Level::DEBUG)
}

/// A writer of log events, which writes each event at once. A field may contain text from a server, so lines of an
/// event after the first are indented, and cannot be mistaken for another event or a message.
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
    use super::*;

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
