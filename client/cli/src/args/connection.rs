//! How to get to servers and who to be there: options of the commands that connect, and of those that need a part of it.

use std::path::PathBuf;

use clap::Args;

use super::{Wait, seconds};

/// Options of every command that asks targets for something.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    #[command(flatten)]
    pub(crate) network: Network,

    #[command(flatten)]
    pub(crate) known: Known,

    #[command(flatten)]
    pub(crate) identity: Identity,
}

/// The way to a server, and how long it may take.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for the connection")]
pub(crate) struct Network {
    /// Answer from a built-in catalogue instead of connecting, whatever the host and port.
    #[arg(long)]
    pub(crate) demo: bool,

    /// Longest wait for each response from the server; 0 for no limit.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Wait,

    /// Longest wait for a connection; 0 for no limit.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, hide_short_help = true)]
    pub(crate) connect_timeout: Wait,

    /// Longest time for the whole command; 0 for no limit.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds, hide_short_help = true)]
    pub(crate) deadline: Wait,

    /// Do not verify the certificates of TLS servers. The connection is encrypted, but the server may not be the one
    /// you meant.
    #[arg(long, hide_short_help = true)]
    pub(crate) insecure: bool,

    /// Trust the CA certificates in this PEM file, in addition to those of the system.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) ca_file: Option<PathBuf>,

    /// A PEM file with the client certificate and its chain, for TLS servers that ask for one.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cert: Option<PathBuf>,

    /// A PEM file with the private key of --cert, if it is in a separate file.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) key: Option<PathBuf>,

    /// Use this proxy for all connections: [http://|socks5://][user:password@]host[:port], or none. The default is
    /// the environment variable ALL_PROXY or HTTPS_PROXY; NO_PROXY lists the hosts to connect to directly.
    #[arg(long, value_name = "PROXY", hide_short_help = true)]
    pub(crate) proxy: Option<String>,
}

/// Which targets are known by name.
#[derive(Debug, Args)]
pub(crate) struct Known {
    /// Read target profiles from this file instead of your own (see `z3950 targets path`).
    #[arg(long = "targets", value_name = "FILE", hide_short_help = true)]
    pub(crate) targets_file: Option<PathBuf>,
}

/// Who to be at the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for credentials")]
pub(crate) struct Identity {
    /// Authenticate as this user.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) user: Option<String>,

    /// Authenticate as a member of this group.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) group: Option<String>,

    /// Read the password from this environment variable.
    #[arg(long, value_name = "VARIABLE", hide_short_help = true)]
    pub(crate) password_env: Option<String>,

    /// Run this shell command and use the first line of its output as the password.
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    pub(crate) password_command: Option<String>,

    /// Send the credentials as a single string, user/password, as some servers expect.
    #[arg(long, hide_short_help = true)]
    pub(crate) open_auth: bool,

    /// Authenticate anonymously, even if the profile has credentials.
    #[arg(long, hide_short_help = true)]
    pub(crate) anonymous: bool,
}
