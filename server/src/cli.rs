//! The command line of `z3950d`: arguments in, a server until a signal comes, an exit code out. Data on standard output,
//! words on standard error.

use std::error::Error;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgAction, ColorChoice, CommandFactory, Parser};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tracing_subscriber::filter::LevelFilter;
use z3950_server::memory::{DocidField, Loaded, Note, load};
use z3950_server::{Limits, MemoryBackend, Server, Summary};

/// Serve MARC records over Z39.50
#[derive(Debug, Parser)]
#[command(name = "z3950d", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    /// Serve the built-in catalogue: databases books and serials
    #[arg(long)]
    demo: bool,

    /// Serve a file as a database; ISO 2709, or MARCMaker text if it ends in .mrk. Files of one name are searched together
    #[arg(long = "database", value_name = "NAME=FILE")]
    databases: Vec<DatabaseFile>,

    /// The field that holds the docid of a record: 001, 035$a …
    #[arg(long, value_name = "TAG[$c]", default_value_t)]
    docid: DocidField,

    /// An address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:2100", help = LISTEN)]
    listen: Vec<String>,

    /// End a session after so long without a request; 0 never does
    #[arg(long, value_name = "SECONDS", default_value = "900")]
    idle_timeout: Seconds,

    /// Serve so many sessions at once; further clients wait
    #[arg(long, value_name = "N", default_value_t = Limits::default().sessions)]
    max_sessions: usize,

    /// When told to stop, wait so long for answers in progress
    #[arg(long, value_name = "SECONDS", default_value = "0.5")]
    drain: Seconds,

    /// Tell of sessions on standard error; -vv of each APDU, -vvv of what is in it
    #[arg(short, action = ArgAction::Count)]
    verbose: u8,

    /// Colour what is told
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

const LISTEN: &str = "Listen on an address, such as 127.0.0.1:2100, [::1]:2100 or 0.0.0.0:210; \
                      port 0 picks a free one";

const EXAMPLES: &str = "\
Examples:
  z3950d --demo
  z3950d --database cat=records.mrc --listen 0.0.0.0:210
  z3950d --database books=a.mrc --database books=b.mrc --database maps=maps.mrk --docid '035$a'

The first line on standard output for each address is `listening on ADDR`.
The first SIGINT or SIGTERM stops the server in good order, a second one at once.

Exit codes:
  0    stopped by a signal
  1    something unexpected went wrong
  2    wrong usage, a file that cannot be read, an address that cannot be listened on
  130  stopped at once by a second signal";

impl Arguments {
    /// Refuses to serve nothing.
    fn checked(self) -> Result<Self, clap::Error> {
        if self.demo || !self.databases.is_empty() {
            return Ok(self);
        }
        let words = "nothing to serve: give --demo for the built-in catalogue, \
                     or --database NAME=FILE for a file of records";
        Err(Self::command().error(ErrorKind::MissingRequiredArgument, words))
    }
}

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Stopped = 0,
    Unexpected = 1,
    Usage = 2,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    let arguments = Arguments::parse()
        .checked()
        .unwrap_or_else(|error| error.exit());
    trace(arguments.verbose, arguments.color);
    let exit = backend(&arguments).and_then(|backend| {
        let runtime = Runtime::new().map_err(|error| Failure::new(Exit::Unexpected, error))?;
        let summary = runtime.block_on(serve(&arguments, backend));
        runtime.shutdown_background();
        summary
    });
    match exit {
        Ok(Summary { panics: 0, .. }) => Exit::Stopped.into(),
        Ok(_) => Exit::Unexpected.into(),
        Err(failure) => {
            complain(&failure);
            failure.exit.into()
        }
    }
}

/// Sends what the libraries tell to standard error.
fn trace(verbose: u8, color: ColorChoice) {
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
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(ansi)
        .with_writer(io::stderr)
        .init();
}

fn backend(arguments: &Arguments) -> Result<MemoryBackend, Failure> {
    let mut builder = MemoryBackend::builder().docid(arguments.docid);
    if arguments.demo {
        builder = builder.add_demo();
    }
    for DatabaseFile { name, path } in &arguments.databases {
        let Loaded { records, notes } =
            load(path).map_err(|error| Failure::new(Exit::Usage, error))?;
        tell_notes(path, &notes);
        tracing::info!(database = name, records = records.len(), file = %path.display(), "loaded");
        builder = builder.add(name, records);
    }
    Ok(builder.build())
}

/// Most notes told of one file; a file full of damage is told of in one more line.
const MAX_NOTES: usize = 20;

fn tell_notes(path: &Path, notes: &[Note]) {
    for note in notes.iter().take(MAX_NOTES) {
        complain(&format_args!("{}: {note}", path.display()));
    }
    if let Some(more) = notes.len().checked_sub(MAX_NOTES).filter(|more| *more > 0) {
        complain(&format_args!(
            "{}: {more} more damaged records",
            path.display()
        ));
    }
}

/// A line on standard error.
fn complain(words: &dyn fmt::Display) {
    // Where even this fails, there is nobody to tell.
    let _ = writeln!(io::stderr(), "z3950d: {words}");
}

async fn serve(arguments: &Arguments, backend: MemoryBackend) -> Result<Summary, Failure> {
    let idle_time = arguments.idle_timeout.0;
    let limits = Limits {
        sessions: arguments.max_sessions.max(1),
        idle_time: (!idle_time.is_zero()).then_some(idle_time),
        drain_time: arguments.drain.0,
        ..Limits::default()
    };
    let stop = stop_signal().map_err(|error| Failure::new(Exit::Unexpected, error))?;
    let server = bind(&arguments.listen, backend, limits).await?;
    for address in server.local_addrs() {
        let mut stdout = io::stdout().lock();
        // Nobody need read it.
        let _ = writeln!(stdout, "listening on {address}").and_then(|()| stdout.flush());
    }
    Ok(server.run(async { drop(stop.await) }).await)
}

async fn bind(
    addresses: &[String],
    backend: MemoryBackend,
    limits: Limits,
) -> Result<Server, Failure> {
    let refused = |address: &String| {
        let address = address.clone();
        move |source| Failure::new(Exit::Usage, BindError { address, source })
    };
    let (first, others) = addresses.split_first().ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            io::Error::from(io::ErrorKind::AddrNotAvailable),
        )
    })?;
    let server = Server::bind(first, Arc::new(backend), limits).await;
    let mut server = server.map_err(refused(first))?;
    for address in others {
        server = server.and_bind(address).await.map_err(refused(address))?;
    }
    Ok(server)
}

/// Ready with the first signal to stop; the second one ends the program.
fn stop_signal() -> io::Result<oneshot::Receiver<()>> {
    let mut signals = Signals::new()?;
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(async move {
        signals.next().await;
        drop(stop);
        signals.next().await;
        std::process::exit(Exit::Interrupted as i32);
    });
    Ok(stopped)
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

/// `NAME=FILE`
#[derive(Clone, Debug, PartialEq, Eq)]
struct DatabaseFile {
    name: String,
    path: PathBuf,
}

impl FromStr for DatabaseFile {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok(Self {
                name: name.to_owned(),
                path: path.into(),
            }),
            _ => Err("a database name and a file, NAME=FILE, are expected"),
        }
    }
}

/// A time in seconds, with decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seconds(Duration);

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds = text.parse().ok();
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.map(Self)
            .ok_or("a number of seconds, such as 0.5, is expected")
    }
}

/// Why the program ends, and with which code.
#[derive(Debug)]
struct Failure {
    exit: Exit,
    cause: Box<dyn Error>,
}

impl Failure {
    fn new(exit: Exit, cause: impl Error + 'static) -> Self {
        Self {
            exit,
            cause: Box::new(cause),
        }
    }
}

impl fmt::Display for Failure {
    /// The whole chain of causes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)?;
        let mut cause = self.cause.source();
        while let Some(deeper) = cause {
            write!(f, ": {deeper}")?;
            cause = deeper.source();
        }
        Ok(())
    }
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
struct BindError {
    address: String,
    source: io::Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn arguments_are_read_or_refused() {
        let check = |arguments: &str, accepted: bool| {
            let words = std::iter::once("z3950d").chain(arguments.split_whitespace());
            let parsed = Arguments::try_parse_from(words).and_then(Arguments::checked);
            assert_eq!(parsed.is_ok(), accepted, "{arguments}: {parsed:?}");
            if let Err(error) = parsed {
                assert_eq!(error.exit_code(), Exit::Usage as i32);
            }
        };
        check("--demo", true);
        check(
            "--demo --listen 127.0.0.1:0 --listen [::1]:0 --drain 0 -vv --color never",
            true,
        );
        check(
            "--database a=b.mrc --database c=d=e.mrk --docid 035$a",
            true,
        );
        check("", false);
        check("--demo --database a=b.mrc", true);
        check("--database a", false);
        check("--database =b", false);
        check("--database a=", false);
        check("--database a=b --docid 035", false);
        check("--demo --drain -1", false);
        check("--demo --drain 1e400", false);
        check("--demo --idle-timeout soon", false);
    }

    #[test]
    fn a_database_name_ends_at_the_first_equals_sign() {
        let expected = DatabaseFile {
            name: "c".to_owned(),
            path: "d=e.mrk".into(),
        };
        assert_eq!("c=d=e.mrk".parse(), Ok(expected));
    }
}
