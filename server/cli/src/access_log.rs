//! Writes the access log as text or JSON, with one line for each session, which is written when the session ends.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use z3950_marc::text::escape_unprintable;
use z3950_server::metrics::OperationKind;
use z3950_server::transcript::format_time;
use z3950_server::{Observer, SessionTotals};

use crate::config::LogFormat;
use crate::failure::{complain, note};

/// The observer that writes the access log.
pub(crate) struct AccessLog(Mutex<LogFile>);

struct LogFile {
    to: Box<dyn Write + Send>,
    format: LogFormat,
    /// Whether the last attempt to write a line failed.
    is_broken: bool,
}

/// The file name that means standard error.
pub(crate) const STDERR: &str = "-";

impl AccessLog {
    /// Opens the file for appending, creating it if necessary; `-` opens standard error.
    pub(crate) fn open(path: &Path, format: LogFormat) -> io::Result<Self> {
        let to: Box<dyn Write + Send> = if path == Path::new(STDERR) {
            Box::new(io::stderr())
        } else {
            Box::new(File::options().append(true).create(true).open(path)?)
        };
        Ok(Self::new(to, format))
    }

    fn new(to: Box<dyn Write + Send>, format: LogFormat) -> Self {
        Self(Mutex::new(LogFile {
            to,
            format,
            is_broken: false,
        }))
    }

    /// Continues writing to the file that `other` has opened.
    pub(crate) fn replace(&self, other: Self) {
        let other = other.0.into_inner();
        *self.file() = other.unwrap_or_else(PoisonError::into_inner);
    }

    fn file(&self) -> MutexGuard<'_, LogFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for AccessLog {
    fn wants_totals(&self) -> bool {
        true
    }

    /// Writes a line for a session. If writing fails, the failure is reported once, and later lines are still attempted.
    fn ended(&self, totals: &SessionTotals) {
        let mut file = self.file();
        let line = match file.format {
            LogFormat::Text => text(totals),
            LogFormat::Json => format!("{}\n", object(totals)),
        };
        let line = escape_unprintable(&line, |one| one == '\n');
        // Each line is written with one call, so that lines that several programs write to the same file do not interleave.
        let written = file.to.write_all(line.as_bytes());
        match (written.and_then(|()| file.to.flush()), file.is_broken) {
            (Err(error), false) => complain(&format_args!(
                "the access log cannot be written, and lines are lost: {error}"
            )),
            (Ok(()), true) => note(&"the access log is written again"),
            (written, is_broken) => {
                debug_assert_eq!(written.is_err(), is_broken);
                return;
            }
        }
        file.is_broken = !file.is_broken;
    }
}

/// Returns each kind of operation that was answered in a session, with the number of such operations.
fn operations(totals: &SessionTotals) -> impl Iterator<Item = (&'static str, u64)> {
    let kinds = OperationKind::ALL.iter();
    let counts = kinds.map(|kind| (kind.name(), totals.operations(*kind)));
    counts.filter(|(_, count)| *count > 0)
}

/// Returns the line for a session: the time, followed by words of the form `KEY=VALUE`. Text from the client is quoted and
/// escaped.
fn text(totals: &SessionTotals) -> String {
    let mut line = format_time(totals.started);
    let seconds = totals.duration.as_secs_f64();
    // Writing to a String cannot fail.
    let _ = write!(line, " session={} peer={}", totals.session, totals.peer);
    if let Some(user) = &totals.user {
        let _ = write!(line, " user={user:?}");
    }
    let _ = write!(line, " seconds={seconds:.3}");
    for (kind, count) in operations(totals) {
        let _ = write!(line, " {kind}={count}");
    }
    if totals.failed > 0 {
        let _ = write!(line, " failed={}", totals.failed);
    }
    let _ = write!(
        line,
        " records={} octets-in={} octets-out={} end={}",
        totals.records,
        totals.octets_received,
        totals.octets_sent,
        totals.end.name()
    );
    if let Some(error) = &totals.last_error {
        let _ = write!(line, " error={error:?}");
    }
    line.push('\n');
    line
}

/// Returns the line for a session as a JSON object, with the same values as the text form.
fn object(totals: &SessionTotals) -> Value {
    let operations: Map<_, _> = operations(totals)
        .map(|(kind, count)| (kind.to_owned(), count.into()))
        .collect();
    json!({
        "time": format_time(totals.started),
        "session": totals.session,
        "peer": totals.peer.to_string(),
        "user": totals.user,
        "seconds": totals.duration.as_micros() as f64 / 1e6,
        "operations": operations,
        "failed": totals.failed,
        "records": totals.records,
        "octets-in": totals.octets_received,
        "octets-out": totals.octets_sent,
        "end": totals.end.name(),
        "error": totals.last_error,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, UNIX_EPOCH};

    use z3950_server::Peer;
    use z3950_server::metrics::SessionEnd;

    use super::*;

    /// A writer that fails while its flag is set.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<(Vec<u8>, bool)>>);

    impl Write for Shared {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let (written, fails) = &mut *self.0.lock().expect("no panic");
            if *fails {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                written.write(octets)
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Shared {
        fn text(&self) -> String {
            let written = self.0.lock().expect("no panic").0.clone();
            String::from_utf8(written).expect("UTF-8")
        }
    }

    fn totals() -> SessionTotals {
        let peer = Peer::Ip("192.0.2.7:4711".parse().expect("an address"));
        let mut totals = SessionTotals::new(12, peer, UNIX_EPOCH + Duration::from_millis(1500));
        totals.duration = Duration::from_micros(12_345_678);
        totals.user = Some("ann \"\n\u{1b}[2J\u{202e}é".to_owned());
        totals.count(OperationKind::Init);
        totals.count(OperationKind::Search);
        totals.count(OperationKind::Search);
        totals.failed = 1;
        totals.records = 20;
        totals.octets_received = 345;
        totals.octets_sent = 6789;
        totals.end = SessionEnd::ProtocolError;
        totals.fail(&"search: diagnostic 114 (unsupported): 9\u{85}9");
        totals
    }

    #[test]
    fn a_line_is_text_or_json() {
        let line = text(&totals());
        assert_eq!(
            line,
            "1970-01-01T00:00:01.500000Z session=12 peer=192.0.2.7:4711 \
             user=\"ann \\\"\\n\\u{1b}[2J\\u{202e}é\" seconds=12.346 init=1 search=2 failed=1 records=20 \
             octets-in=345 octets-out=6789 end=protocol-error \
             error=\"search: diagnostic 114 (unsupported): 9\\u{85}9\"\n"
        );
        let quiet = SessionTotals::new(1, Peer::Unix, UNIX_EPOCH);
        assert_eq!(
            text(&quiet),
            "1970-01-01T00:00:00.000000Z session=1 peer=unix seconds=0.000 records=0 octets-in=0 \
             octets-out=0 end=left\n"
        );
        let line = object(&totals());
        assert_eq!(line["operations"], json!({"init": 1, "search": 2}));
        assert_eq!(line["failed"], json!(1));
        assert_eq!(line["seconds"], json!(12.345678));
        assert_eq!(line["user"], json!("ann \"\n\u{1b}[2J\u{202e}é"));
        assert!(!line.to_string().contains('\n'), "{line}");
        assert_eq!(object(&quiet)["error"], Value::Null);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_tried_again() {
        let to = Shared::default();
        let log = AccessLog::new(Box::new(to.clone()), LogFormat::Text);
        let set = |fails| to.0.lock().expect("no panic").1 = fails;
        log.ended(&totals());
        for fails in [true, true, false, false] {
            set(fails);
            log.ended(&totals());
            assert_eq!(log.file().is_broken, fails);
        }
        assert_eq!(to.text(), text(&totals()).repeat(3));
    }

    #[test]
    fn a_replaced_log_continues_elsewhere() {
        let (first, second) = (Shared::default(), Shared::default());
        let log = AccessLog::new(Box::new(first.clone()), LogFormat::Text);
        log.ended(&totals());
        log.replace(AccessLog::new(Box::new(second.clone()), LogFormat::Json));
        log.ended(&totals());
        assert_eq!(first.text(), text(&totals()));
        assert!(second.text().starts_with("{\"time\":"), "{}", second.text());
    }
}
