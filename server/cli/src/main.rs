#![forbid(unsafe_code)]
//! The program `z3950d`: reads its arguments, runs a server until a signal stops it, and returns an exit code. Standard output is
//! for data, standard error for messages.

// Nothing that a peer sends may end the program; `.clippy.toml` makes an exception for tests.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod access_log;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod allocator;
mod args;
mod available;
mod catalogue;
mod config;
mod engine;
mod failure;
mod files;
mod fold;
mod judge;
mod load;
mod logging;
mod logs;
mod manual;
mod notify;
mod password;
mod recorder;
mod reload;
mod remotes;
mod serve;
mod settings;
mod signals;
mod status;
mod web;
mod words;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use z3950_server::Summary;

use crate::args::Arguments;
use crate::config::Config;
use crate::engine::UncheckedIndex;
use crate::failure::{Exit, Failure, complain};
use crate::manual::PROGRAM;
use crate::settings::SettingOrigin;

fn main() -> ExitCode {
    if PROGRAM.is_asked_for_completions() {
        PROGRAM.complete(std::env::args_os());
        return ExitCode::SUCCESS;
    }
    let arguments = manual::read(std::env::args_os())
        .and_then(Arguments::checked)
        .unwrap_or_else(|error| error.exit());
    if arguments.hashes_password() {
        return password::hash()
            .map_or_else(reported, |hash| print(hash.as_bytes()))
            .into();
    }
    if arguments.asks_for_text() {
        return manual::text(&arguments)
            .map_or_else(reported, |text| print(&text))
            .into();
    }
    let messages = &arguments.messages;
    logging::install(messages.verbose, messages.color);
    if messages.quiet {
        failure::be_quiet();
    }
    // Without this call, a write beyond the file size limit would kill the program.
    let _ = z3950_files::survive_size_limit();
    if let Some(asked) = arguments.catalogue() {
        let outcome = runtime()
            .map_err(Failure::unexpected)
            .and_then(|runtime| catalogue::look(asked, &runtime));
        return outcome.unwrap_or_else(reported).into();
    }
    if let Some(command) = arguments.engine() {
        let outcome = runtime()
            .map_err(Failure::unexpected)
            .and_then(|runtime| engine::run(command, &runtime));
        return outcome.unwrap_or_else(reported).into();
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if !arguments.check {
        allocator::return_freed_memory();
    }
    let (check, fold) = (arguments.check, arguments.fold.clone());
    let origin = SettingOrigin::of(&arguments);
    let outcome = match fold {
        Some(file) => fold::file(&file),
        None => {
            let (config, wrong) = settings::settings(arguments.clone());
            wrong.iter().for_each(|words| complain(words));
            match (config, check) {
                (None, _) => Ok(Exit::Usage),
                (Some(config), true) => checked(&config, &origin).map(|exit| match &*wrong {
                    [] => exit,
                    _ => exit.and(Exit::Usage),
                }),
                (Some(config), false) => {
                    if usable(&config, &origin) && wrong.is_empty() {
                        served(arguments, config)
                    } else {
                        Ok(Exit::Usage)
                    }
                }
            }
        }
    };
    outcome.unwrap_or_else(reported).into()
}

/// Reports a failure, and returns its exit code.
fn reported(failure: Failure) -> Exit {
    complain(&failure.words);
    failure.exit
}

/// Checks that everything named in the settings can be used, apart from the records in the databases. Reports errors, and returns
/// whether there were none.
fn usable(config: &Config, origin: &SettingOrigin) -> bool {
    let wrong = settings::check(config, origin);
    let remotes = remotes::open(config, &[])
        .err()
        .map(|failure| failure.words);
    let engines = engine::open(config, &[]).err().map(|failure| failure.words);
    let catalogues = catalogue::open(config, &[])
        .err()
        .map(|failure| failure.words);
    let recorded = recorder::open(config).err().map(|failure| failure.words);
    let judged = judge::ClientReports::open(config)
        .err()
        .map(|failure| failure.words);
    let wrong: Vec<String> = wrong
        .into_iter()
        .chain(remotes)
        .chain(engines)
        .chain(catalogues)
        .chain(recorded)
        .chain(judged)
        .collect();
    wrong.iter().for_each(|words| complain(words));
    wrong.is_empty()
}

/// Reports all errors in the settings, including errors in the databases' records.
fn checked(config: &Config, origin: &SettingOrigin) -> Result<Exit, Failure> {
    let mut is_usable = usable(config, origin);
    remotes::tell(config);
    engine::tell(config);
    catalogue::tell(config);
    if is_usable && !(config.clusters.is_empty() && config.catalogues.is_empty()) {
        let runtime = runtime().map_err(Failure::unexpected)?;
        let checked = runtime.block_on(engine::check(origin.file(), config, None));
        let is_sound = |unchecked: Vec<_>| !unchecked.iter().any(UncheckedIndex::is_outage);
        is_usable &= checked.map_err(reported).is_ok_and(is_sound);
        let catalogues = catalogue::open(config, &[])?;
        let checked = catalogue::check(origin.file(), config, &catalogues, &[]);
        let checked = runtime.block_on(checked).map_err(reported);
        is_usable &= checked.unwrap_or(false);
    }
    let recording = settings::check_recording(config, origin);
    recording.iter().for_each(|words| complain(words));
    let exit = if is_usable && recording.is_empty() {
        Exit::Stopped
    } else {
        Exit::Usage
    };
    match load::check(config, origin) {
        Ok(found) => Ok(exit.and(found)),
        // The reader of the output may stop early, which is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit),
        Err(error) => Err(Failure::unexpected(error)),
    }
}

/// Loads the databases and serves them.
fn served(arguments: Arguments, config: Config) -> Result<Exit, Failure> {
    // A server that only imitates another server or replays a transcript does not load databases.
    let own = config.demo || !config.databases.is_empty();
    let backend = own.then(|| load::databases(&config)).transpose()?;
    let runtime = runtime().map_err(Failure::unexpected)?;
    let summary = runtime.block_on(serve::serve(arguments, config, backend.clone()));
    // Ending the tasks drops the databases, which releases the locks on the files that they are saved to.
    runtime.shutdown_timeout(LAST_WORDS);
    let exit = match summary? {
        Summary { panics: 0, .. } => Exit::Stopped,
        _ => Exit::Unexpected,
    };
    Ok(backend.map_or(exit, |backend| exit.and(fold::at_the_end(&backend))))
}

/// The maximum time that the program waits for background tasks when it ends.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Creates a runtime with one thread per processor; on a single processor, it only uses the current thread.
fn runtime() -> io::Result<Runtime> {
    let builder = match std::thread::available_parallelism() {
        Ok(one) if one.get() == 1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    { builder }.enable_all().build()
}

/// Writes to standard output; it is not an error if the reader closes the pipe early.
fn print(text: &[u8]) -> Exit {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format_args!("cannot write to standard output: {error}"));
            Exit::Unexpected
        }
        _ => Exit::Stopped,
    }
}
