//! Commands that print a password, as named in `targets.toml`.

use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, copy, sink};
use tokio::process::Command;
use tokio::time::timeout;

/// If a password command is still running after this time, a warning is logged.
const QUIET: Duration = Duration::from_millis(500);
/// The maximum number of octets that are read from the output of a password command.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Runs a command to its end and returns the beginning of its output. Further output is read and discarded, because
/// closing the pipe could make the command fail. The command stays in the foreground of the terminal, so that it can
/// prompt.
pub(super) async fn run(command: &str) -> io::Result<(Vec<u8>, ExitStatus)> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()?;
    let mut ended = pin!(async {
        let mut printed = Vec::new();
        if let Some(mut stdout) = child.stdout.take() {
            let mut beginning = (&mut stdout).take(MAX_OUTPUT);
            beginning.read_to_end(&mut printed).await?;
            copy(&mut stdout, &mut sink()).await?;
        }
        Ok((printed, child.wait().await?))
    });
    if let Ok(ended) = timeout(QUIET, &mut ended).await {
        return ended;
    }
    tracing::warn!("waiting for the password command");
    ended.await
}
