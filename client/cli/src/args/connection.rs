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
    /// Answer for every URL and target from a built-in catalogue, whatever its host and port.
    #[arg(long)]
    pub(crate) demo: bool,

    /// Longest wait for each answer of the server; 0 waits for ever.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Wait,

    /// Longest wait for the connection; 0 waits for ever.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, hide_short_help = true)]
    pub(crate) connect_timeout: Wait,

    /// Longest time for the whole command; 0 sets no limit.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds, hide_short_help = true)]
    pub(crate) deadline: Wait,

    /// Take any certificate of a TLS server: the connection is secret, but nobody knows with whom.
    #[arg(long, hide_short_help = true)]
    pub(crate) insecure: bool,

    /// Trust the certificates of this PEM file too, beside the system's.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) ca_file: Option<PathBuf>,

    /// A PEM file with the certificate to show to TLS servers that ask for one, and those that vouch for it.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cert: Option<PathBuf>,

    /// A PEM file with the private key of --cert, if it is not in the same file.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) key: Option<PathBuf>,

    /// Connect through a proxy, to every server: [http://|socks5://][user:password@]host[:port], or none. Without this,
    /// ALL_PROXY or HTTPS_PROXY in the environment names the proxy, and NO_PROXY the hosts to reach without it.
    #[arg(long, value_name = "PROXY", hide_short_help = true)]
    pub(crate) proxy: Option<String>,
}

/// Which targets are known by name.
#[derive(Debug, Args)]
pub(crate) struct Known {
    /// A file of target profiles, in the place of your own (see: z3950 targets path).
    #[arg(long = "targets", value_name = "FILE", hide_short_help = true)]
    pub(crate) targets_file: Option<PathBuf>,
}

/// Who to be at the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for credentials")]
pub(crate) struct Identity {
    /// The user to be at the server.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) user: Option<String>,

    /// The group to belong to at the server.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) group: Option<String>,

    /// The environment variable that holds the password.
    #[arg(long, value_name = "VARIABLE", hide_short_help = true)]
    pub(crate) password_env: Option<String>,

    /// A command of the shell whose first line is the password.
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    pub(crate) password_command: Option<String>,

    /// Send user and password as one text, user/password, as some servers want them.
    #[arg(long, hide_short_help = true)]
    pub(crate) open_auth: bool,

    /// Be nobody, and say so.
    #[arg(long, hide_short_help = true)]
    pub(crate) anonymous: bool,
}
