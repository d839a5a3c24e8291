//! What the options of every command that connects mean: the way to servers, who to be there, and which targets are
//! known by name.

use std::env;

use tokio::time::Instant;
use z3950::client::{Client, ClientOptions};
use z3950::plan::PlanOptions;
use z3950::profile::{Credentials, Profiles};
use z3950::service::init::InitOptions;
use z3950::transport::{
    ClientCertificate, NoProxy, Proxy, Routes, Tcp, Timeouts, TlsError, TlsOptions,
};

use crate::args::{Connection, Execution, Identity, Known, Network};
use crate::commands::demo;
use crate::console::output::Failure;

/// What a command needs to connect.
pub(crate) struct Setup {
    pub(crate) timeouts: Timeouts,
    pub(crate) routes: Routes,
    pub(crate) profiles: Profiles,
    /// What is said at Init, except for what profiles add.
    pub(crate) init: InitOptions,
}

impl Setup {
    /// Reads the options and the files they name. The command that gives the password runs last, once nothing else can be
    /// wrong with the options.
    pub(crate) async fn read(options: &Connection) -> Result<Self, Failure> {
        let timeouts = timeouts(&options.network);
        Ok(Self {
            timeouts,
            routes: routes(&options.network).await?,
            profiles: profiles(&options.known)?,
            init: init(&options.identity, timeouts).await?,
        })
    }
}

/// How long to wait for servers.
pub(crate) fn timeouts(options: &Network) -> Timeouts {
    Timeouts::default()
        .with_connect(options.connect_timeout.0)
        .with_answer(options.timeout.0)
        .with_deadline(options.deadline.0.map(|wait| Instant::now() + wait))
}

/// How a URL is carried out.
pub(crate) fn plan_options(execution: &Execution, init: InitOptions) -> PlanOptions {
    let mut options = PlanOptions::default();
    options.init = init;
    options.strict = execution.strict;
    options.strategy = execution.strategy;
    options.hints = execution.hints;
    options.auto_present = !execution.no_auto_present;
    options.allow_reserved_port = execution.allow_reserved_port;
    options.allow_url_credentials = execution.allow_url_credentials;
    options.fallback = execution.fallbacks.allowed();
    options
}

/// The ways to servers. Files of certificates are read now, so that a bad one is known before anything is sent.
pub(crate) async fn routes(options: &Network) -> Result<Routes, Failure> {
    let mut tls = TlsOptions::default();
    tls.roots = options.ca_file.clone();
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
    Ok(match options.demo {
        // Every name leads to this server.
        true => Routes::fixed(Tcp::new(demo::start().await?)),
        false => routes,
    })
}

/// The options given by which TLS is expected, and which do nothing without it.
pub(super) fn of_tls(options: &Network) -> Vec<&'static str> {
    let given = [
        ("--ca-file", options.ca_file.is_some()),
        ("--cert", options.cert.is_some()),
    ];
    let given = given
        .into_iter()
        .filter(|(_, is_given)| *is_given && !options.demo);
    given.map(|(name, _)| name).collect()
}

/// What is wrong with the files that the options name, and which option mends it.
fn unusable(options: &Network, error: &TlsError) -> Failure {
    let words = crate::console::report::chain(error);
    Failure::Usage(match error {
        TlsError::Missing { what, .. } if *what == "private key" && options.key.is_none() => {
            format!("{words}; --key names the file of the key")
        }
        _ => words,
    })
}

fn certificate(options: &Network) -> Result<Option<ClientCertificate>, Failure> {
    match (&options.cert, &options.key) {
        (Some(chain), key) => Ok(Some(ClientCertificate {
            chain: chain.clone(),
            key: key.as_ref().unwrap_or(chain).clone(),
        })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::Usage("--key needs --cert".into())),
    }
}

/// The proxy that the option names, for every server; else that of the environment, which also says for which servers there
/// is none.
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

/// What to say at Init: who the user is, if the options tell. The command that gives the password, if there is one, is run
/// now, and killed at the deadline.
pub(crate) async fn init(options: &Identity, timeouts: Timeouts) -> Result<InitOptions, Failure> {
    let mut init = InitOptions::default();
    if let Some(credentials) = credentials(options)? {
        let client = Client::with(ClientOptions::default().with_timeouts(timeouts));
        let authentication = client.authentication(&credentials).await;
        init.authentication = Some(authentication.map_err(|error| usage(&error))?);
    }
    Ok(init)
}

/// Who one is, and where the password comes from; `None` if the options tell nothing.
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
        let words = "--anonymous cannot be with --user, --group or a password";
        return Err(Failure::Usage(words.into()));
    }
    if credentials.open && !is_somebody {
        return Err(Failure::Usage("--open-auth needs --user".into()));
    }
    Ok((is_somebody || credentials.anonymous).then_some(credentials))
}

/// The targets that come with the program, and over them those of `--targets` or of the user's own file.
pub(crate) fn profiles(options: &Known) -> Result<Profiles, Failure> {
    let built_in = Profiles::built_in();
    let own = || Profiles::user_file().filter(|path| path.exists());
    match options.targets_file.clone().or_else(own) {
        Some(path) => built_in.with_file(&path).map_err(|error| usage(&error)),
        None => Ok(built_in),
    }
}

/// An option that cannot be followed, with all that is behind it.
pub(crate) fn usage(error: &dyn std::error::Error) -> Failure {
    Failure::Usage(crate::console::report::chain(error))
}
