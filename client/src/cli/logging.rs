//! What `-v` shows, on standard error: `-v` what is done, `-vv` each APDU, `-vvv` its contents.

use clap::ColorChoice;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::output::is_colored;

/// Installs the program's subscriber; libraries only emit. The server of `--demo` keeps silent.
pub(super) fn install(verbose: u8, color: ColorChoice) {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let words = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(is_colored(color))
        .with_target(false)
        .without_time();
    tracing_subscriber::registry()
        .with(words)
        .with(Targets::new().with_target("z3950_client", level))
        .init();
}
