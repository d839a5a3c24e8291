//! How to get to servers and who to be there: options of the commands that connect, and of those that need a part of it.

use std::path::PathBuf;

use clap::Args;

use super::{Wait, seconds};

/// Options of every command that asks targets for something.
#[derive(Debug, Args)]
pub(in crate::cli) struct Connection {
    #[command(flatten)]
    pub(in crate::cli) network: Network,

    #[command(flatten)]
    pub(in crate::cli) known: Known,

    #[command(flatten)]
    pub(in crate::cli) identity: Identity,
}

/// The way to a server, and how long it may take.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for the connection")]
pub(in crate::cli) struct Network {
    /// Answer for every URL and target from a built-in catalogue, whatever its host and port.
    #[arg(long)]
    pub(in crate::cli) demo: bool,

    /// Longest wait for each answer of the server; 0 waits for ever.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(in crate::cli) timeout: Wait,

    /// Longest wait for the connection; 0 waits for ever.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, hide_short_help = true)]
    pub(in crate::cli) connect_timeout: Wait,

    /// Longest time for the whole command; 0 sets no limit.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds, hide_short_help = true)]
    pub(in crate::cli) deadline: Wait,

    /// Take any certificate of a TLS server: the connection is secret, but nobody knows with whom.
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) insecure: bool,

    /// Trust the certificates of this PEM file too, beside the system's.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(in crate::cli) ca_file: Option<PathBuf>,

    /// A PEM file with the certificate to show to TLS servers that ask for one, and those that vouch for it.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(in crate::cli) cert: Option<PathBuf>,

    /// A PEM file with the private key of --cert, if it is not in the same file.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(in crate::cli) key: Option<PathBuf>,

    /// Connect through a proxy, to every server: [http://|socks5://][user:password@]host[:port], or none. Without this,
    /// ALL_PROXY or HTTPS_PROXY in the environment names the proxy, and NO_PROXY the hosts to reach without it.
    #[arg(long, value_name = "PROXY", hide_short_help = true)]
    pub(in crate::cli) proxy: Option<String>,
}

/// Which targets are known by name.
#[derive(Debug, Args)]
pub(in crate::cli) struct Known {
    /// A file of target profiles, in the place of your own (see: z3950 targets path).
    #[arg(long = "targets", value_name = "FILE", hide_short_help = true)]
    pub(in crate::cli) targets_file: Option<PathBuf>,
}

/// Who to be at the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for credentials")]
pub(in crate::cli) struct Identity {
    /// The user to be at the server.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(in crate::cli) user: Option<String>,

    /// The group to belong to at the server.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(in crate::cli) group: Option<String>,

    /// The environment variable that holds the password.
    #[arg(long, value_name = "VARIABLE", hide_short_help = true)]
    pub(in crate::cli) password_env: Option<String>,

    /// A command of the shell whose first line is the password.
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    pub(in crate::cli) password_command: Option<String>,

    /// Send user and password as one text, user/password, as some servers want them.
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) open_auth: bool,

    /// Be nobody, and say so.
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) anonymous: bool,
}
