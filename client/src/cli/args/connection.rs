//! How to get to servers and who to be there: options of every command that connects.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command that connects")]
pub(in crate::cli) struct Connection {
    /// Take any certificate of a TLS server: the connection is secret, but nobody knows with whom.
    #[arg(long, global = true)]
    pub(in crate::cli) insecure: bool,

    /// Trust the certificates of this PEM file too, beside the system's.
    #[arg(long, global = true, value_name = "FILE")]
    pub(in crate::cli) ca_file: Option<PathBuf>,

    /// A PEM file with the certificate to show to TLS servers that ask for one, and those that vouch for it.
    #[arg(long, global = true, value_name = "FILE")]
    pub(in crate::cli) cert: Option<PathBuf>,

    /// A PEM file with the private key of --cert, if it is not in the same file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(in crate::cli) key: Option<PathBuf>,

    /// Connect through a proxy: [http://|socks5://][user:password@]host[:port], or none. Without this, ALL_PROXY or
    /// HTTPS_PROXY in the environment names it. NO_PROXY lists the hosts to reach without it.
    #[arg(long, global = true, value_name = "PROXY")]
    pub(in crate::cli) proxy: Option<String>,

    /// A file of target profiles, in the place of your own (see: z3950 targets path).
    #[arg(long = "targets", global = true, value_name = "FILE")]
    pub(in crate::cli) targets_file: Option<PathBuf>,

    /// The user to be at the server.
    #[arg(long, global = true, value_name = "NAME")]
    pub(in crate::cli) user: Option<String>,

    /// The group to belong to at the server.
    #[arg(long, global = true, value_name = "NAME")]
    pub(in crate::cli) group: Option<String>,

    /// The environment variable that holds the password.
    #[arg(long, global = true, value_name = "VARIABLE")]
    pub(in crate::cli) password_env: Option<String>,

    /// A command of the shell whose first line is the password.
    #[arg(long, global = true, value_name = "COMMAND")]
    pub(in crate::cli) password_command: Option<String>,

    /// Send user and password as one text, user/password, as some servers want them.
    #[arg(long, global = true)]
    pub(in crate::cli) open_auth: bool,

    /// Be nobody, and say so.
    #[arg(long, global = true)]
    pub(in crate::cli) anonymous: bool,
}
