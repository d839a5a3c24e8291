//! The options for every command that connects to a server, and what they set: the routes to servers, the user's
//! identity, the known targets, and how URLs are treated.

use std::env;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use tokio::time::Instant;
use z3950::client::{Client, ClientOptions};
use z3950::error::chain;
use z3950::plan::{Hints, PlanOptions, Strategy};
use z3950::profile::{Credentials, Profile, Profiles};
use z3950::service::init;
use z3950::transport::{
    ClientCertificate, NoProxy, Proxy, Routes, Tcp, Timeouts, TlsError, TlsOptions,
};
use z3950::url::Mode;
use z3950_server::{Limits, MemoryBackend, Server};

use crate::commands::fallback::Fallbacks;
use crate::commands::options::{Wait, choices, seconds};
use crate::console::output::{Failure, Output};
use crate::console::password;
use z3950_asn1::apdu::{IdAuthentication, InitializeRequest};

/// Options for every command that sends requests to targets.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConnectionOptions {
    #[command(flatten)]
    pub(crate) network: Network,

    #[command(flatten)]
    pub(crate) known: TargetsFile,

    #[command(flatten)]
    pub(crate) identity: Identity,
}

/// How to reach a server, and time limits.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options for the connection")]
pub(crate) struct Network {
    /// Use the built-in catalogue instead of connecting, whatever the host.
    #[arg(long)]
    pub(crate) demo: bool,

    /// Longest wait for each response from the server, and between its parts; a whole response may take ten times as long; 0 for no limit.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, hide_short_help = true)]
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

    /// Trust the CA certificates in this PEM file, in addition to the system's.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) ca_file: Option<PathBuf>,

    /// A PEM file with the client certificate and its chain, for TLS servers that ask for one.
    #[arg(long, alias = "cert", value_name = "FILE", hide_short_help = true)]
    pub(crate) certificate: Option<PathBuf>,

    /// A PEM file with the private key for --certificate, if it is in a separate file.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) key: Option<PathBuf>,

    /// Use this proxy for all connections: [http://|socks5://][user:password@]host[:port], or none. The default is
    /// the environment variable ALL_PROXY or HTTPS_PROXY; NO_PROXY lists the hosts to connect to directly.
    #[arg(long, value_name = "PROXY", hide_short_help = true)]
    pub(crate) proxy: Option<String>,
}

/// The file of target profiles.
#[derive(Clone, Debug, Args)]
pub(crate) struct TargetsFile {
    /// Read target profiles from this file instead of your own (see `z3950 targets path`).
    #[arg(long = "targets", value_name = "FILE", hide_short_help = true)]
    pub(crate) targets_file: Option<PathBuf>,
}

/// The user's identity, serialized in the same form as in the targets file.
#[derive(Clone, Debug, Args, Serialize)]
#[command(next_help_heading = "Options for credentials")]
pub(crate) struct Identity {
    /// Authenticate as this user. On a terminal, the password is asked for unless another option gives it.
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
    #[serde(rename = "open", skip_serializing_if = "is_off")]
    pub(crate) open_auth: bool,

    /// Authenticate anonymously, even if the profile has credentials.
    #[arg(long, hide_short_help = true)]
    #[serde(skip_serializing_if = "is_off")]
    pub(crate) anonymous: bool,

    /// Send the user and password given in a URL to the server.
    #[arg(long, hide_short_help = true)]
    #[serde(skip)]
    pub(crate) allow_url_credentials: bool,
}

/// The message for a URL whose credentials are not sent.
pub(crate) const NOT_SENT: &str =
    "the user and password in the URL are not sent; --allow-url-credentials sends them";

fn is_off(flag: &bool) -> bool {
    !flag
}

/// Which request returns the record for a URL.
#[derive(Debug, Args)]
pub(crate) struct RecordStrategy {
    /// When to request the record: with the search, or always in a separate Present.
    #[arg(long, default_value = "piggyback", hide_short_help = true, value_parser = choices(&[
        ("piggyback", Strategy::Piggyback, "With the search, for exactly one hit; by Present if it did not come"),
        ("present-only", Strategy::PresentOnly, "By Present alone"),
    ]))]
    pub(crate) strategy: Strategy,
}

/// How a URL is carried out.
#[derive(Debug, Args)]
pub(crate) struct Execution {
    /// Accept only what RFC 2056 and RFC 1738 strictly allow.
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) request: RecordStrategy,

    /// How to treat the element set and record syntaxes given in a URL.
    #[arg(long, default_value = "prefer", hide_short_help = true, value_parser = choices(&[
        ("prefer", Hints::Prefer, "Followed where this client can"),
        ("require", Hints::Require, "Followed, or the URL is refused"),
        ("ignore", Hints::Ignore, "As if they were not there"),
    ]))]
    pub(crate) hints: Hints,

    /// If a session URL has exactly one hit, do not retrieve its record until `show`.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_auto_present: bool,

    /// Keep sessions open to the end, so that URLs with the same host and port share one; `open` always does.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_open: bool,

    /// Allow connections to ports below 1024 other than 210.
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_reserved_port: bool,

    #[command(flatten)]
    pub(crate) fallbacks: Fallbacks,
}

impl Execution {
    pub(crate) fn mode(&self) -> Mode {
        mode(self.strict)
    }

    pub(crate) fn plan_options(&self, init: InitializeRequest, identity: &Identity) -> PlanOptions {
        let mut options = PlanOptions::default();
        options.init = init;
        options.strict = self.strict;
        options.strategy = self.request.strategy;
        options.hints = self.hints;
        options.auto_present = !self.no_auto_present;
        options.allow_reserved_port = self.allow_reserved_port;
        options.allow_url_credentials = identity.allow_url_credentials;
        options.fallback = self.fallbacks.allowed();
        options
    }
}

/// Returns the parsing mode for URLs, which is strict or lenient.
pub(crate) fn mode(strict: bool) -> Mode {
    if strict { Mode::Strict } else { Mode::Lenient }
}

/// The settings that a command needs in order to connect.
pub(crate) struct Setup {
    pub(crate) timeouts: Timeouts,
    pub(crate) routes: Routes,
    pub(crate) profiles: Profiles,
    /// The Init request, to which profiles may add credentials and other elements.
    pub(crate) init: InitializeRequest,
}

impl Setup {
    /// Evaluates the options and reads the files that they name. A password command runs last, after all other options
    /// have been found valid.
    pub(crate) async fn read(options: &ConnectionOptions) -> Result<Self, Failure> {
        let timeouts = timeouts(&options.network);
        let mut setup = Self {
            timeouts,
            routes: routes(&options.network).await?,
            profiles: profiles(&options.known)?,
            init: init(&options.identity, timeouts).await?,
        };
        ask_password(&options.identity, &mut setup.init)?;
        Ok(setup)
    }
}

pub(crate) fn timeouts(options: &Network) -> Timeouts {
    let mut timeouts = Timeouts::default().with_answer(options.timeout.0);
    timeouts.connect = options.connect_timeout.0;
    // The jobs of a batch wait for each other's sessions, so this wait has no timeout.
    timeouts.session = None;
    timeouts.deadline = options.deadline.0.map(|wait| Instant::now() + wait);
    timeouts
}

/// Returns the routes to servers. Certificate files are read immediately, so that errors in them are reported before
/// anything is sent.
pub(crate) async fn routes(options: &Network) -> Result<Routes, Failure> {
    let mut tls = TlsOptions::default();
    tls.roots = options.ca_file.clone().map(Into::into);
    tls.insecure = options.insecure;
    tls.certificate = certificate(options)?;
    let names_files = tls.roots.is_some() || tls.certificate.is_some();
    let routes = Routes::default().tls(tls);
    if names_files {
        routes
            .read_certificates()
            .map_err(|error| unusable(options, &error))?;
    }
    let routes = match proxy(options)? {
        (Some(proxy), exempt) => routes.proxy(proxy, exempt),
        (None, _) => routes,
    };
    Ok(if options.demo {
        // With `--demo`, every host name leads to the built-in server.
        Routes::fixed(Tcp::new(demo().await?))
    } else {
        routes
    })
}

/// Returns the given options that only apply to TLS.
pub(super) fn of_tls(options: &Network) -> Vec<&'static str> {
    let given = [
        ("--ca-file", options.ca_file.is_some()),
        ("--certificate", options.certificate.is_some()),
    ];
    let given = given
        .into_iter()
        .filter(|(_, is_given)| *is_given && !options.demo);
    given.map(|(name, _)| name).collect()
}

/// Returns the error for certificate files that cannot be used. If the private key is missing, the message names the
/// option for it.
fn unusable(options: &Network, error: &TlsError) -> Failure {
    let words = chain(error);
    Failure::Usage(match error {
        TlsError::Missing { what, .. } if *what == "private key" && options.key.is_none() => {
            format!("{words}; --key names the file of the key")
        }
        _ => words,
    })
}

fn certificate(options: &Network) -> Result<Option<ClientCertificate>, Failure> {
    match (&options.certificate, &options.key) {
        (Some(chain), key) => Ok(Some(ClientCertificate {
            chain: chain.clone().into(),
            key: key.as_ref().unwrap_or(chain).clone().into(),
        })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::Usage("--key needs --certificate".into())),
    }
}

/// Returns the proxy. If the option is given, its proxy is used for every server; otherwise, the environment determines
/// the proxy and the hosts that are reached without it.
fn proxy(options: &Network) -> Result<(Option<Proxy>, NoProxy), Failure> {
    let variable = |name: &str| env::var(name).ok();
    match options.proxy.as_deref() {
        None => Proxy::from_environment(variable).map_err(|error| usage(&error)),
        Some("none" | "") => Ok((None, NoProxy::none())),
        Some(text) => {
            let named = text.parse().map_err(|error| usage(&error))?;
            Ok((Some(named), NoProxy::none()))
        }
    }
}

/// Returns the Init request, with the user's identity if the options contain one. A password command runs immediately,
/// and is killed at the deadline.
pub(crate) async fn init(
    options: &Identity,
    timeouts: Timeouts,
) -> Result<InitializeRequest, Failure> {
    let mut init = init::offer();
    if let Some(credentials) = credentials(options)? {
        let client = Client::with(ClientOptions::default().with_timeouts(timeouts));
        let authentication = client.authentication(&credentials).await;
        init.id_authentication = Some(authentication.map_err(|error| usage(&error))?);
    }
    Ok(init)
}

/// Prompts for the user's password at a terminal, if the options name a user but not where to get the password.
fn ask_password(options: &Identity, init: &mut InitializeRequest) -> Result<(), Failure> {
    let has_password = options.password_env.is_some() || options.password_command.is_some();
    let Some(user) = options.user.as_deref().filter(|_| !has_password) else {
        return Ok(());
    };
    let password = password::ask(user)
        .map_err(|error| Failure::machine("read the password from the terminal", &error))?;
    let Some(password) = password else {
        return Ok(());
    };
    match &mut init.id_authentication {
        Some(IdAuthentication::IdPass(id)) => id.password = Some(password.into()),
        Some(IdAuthentication::Open(text)) => *text = format!("{user}/{password}").into(),
        _ => {}
    }
    Ok(())
}

/// Returns whether a profile has a password command, which may prompt on the terminal.
pub(crate) fn may_prompt(profile: &Profile) -> bool {
    let credentials = profile.credentials.as_ref();
    credentials.is_some_and(|credentials| credentials.password_command.is_some())
}

/// Hides the waiting line for the rest of the run if the profile has a password command, because the command may prompt
/// on the terminal.
pub(crate) fn hide_waiting_line(profile: &Profile, output: &Output) {
    if may_prompt(profile) {
        output.waiting().give_up();
    }
}

/// Returns the user's identity and the source of the password; `None` if the options contain no identity.
pub(crate) fn credentials(options: &Identity) -> Result<Option<Credentials>, Failure> {
    let mut credentials = Credentials::default();
    credentials.user = options.user.clone();
    credentials.group = options.group.clone();
    credentials.password_env = options.password_env.clone();
    credentials.password_command = options.password_command.clone();
    credentials.open = options.open_auth;
    credentials.anonymous = options.anonymous;
    let has_password = credentials.password_env.is_some() || credentials.password_command.is_some();
    let is_somebody = credentials.user.is_some() || credentials.group.is_some() || has_password;
    if credentials.anonymous && is_somebody {
        let words = "--anonymous cannot be combined with --user, --group or a password";
        return Err(Failure::Usage(words.into()));
    }
    if credentials.open && !is_somebody {
        return Err(Failure::Usage("--open-auth needs --user".into()));
    }
    Ok((is_somebody || credentials.anonymous).then_some(credentials))
}

/// Returns the built-in profiles, overridden by the profiles from `--targets` or from the user's own file.
pub(crate) fn profiles(options: &TargetsFile) -> Result<Profiles, Failure> {
    let built_in = Profiles::built_in();
    let own = || Profiles::user_file().filter(|path| path.exists());
    match options.targets_file.clone().or_else(own) {
        Some(path) => built_in.with_file(&path).map_err(|error| usage(&error)),
        None => Ok(built_in),
    }
}

/// Returns the failure for an option that cannot be applied, with all causes of the error.
pub(crate) fn usage(error: &dyn std::error::Error) -> Failure {
    Failure::Usage(chain(error))
}

/// Starts the demo server on a free loopback port, and returns its address. The server ends with the process.
pub(crate) async fn demo() -> Result<SocketAddr, Failure> {
    let backend = Arc::new(MemoryBackend::demo());
    let server = Server::bind((Ipv4Addr::LOCALHOST, 0), backend, Limits::default())
        .await
        .map_err(|error| Failure::machine("start the demo server", &error))?;
    let address = server.local_addrs().first().copied();
    tokio::spawn(server.run(std::future::pending()));
    address.ok_or_else(|| Failure::machine("start the demo server", &"it has no address"))
}
