//! What the program does: a file for each command, with its arguments and its work.

pub(crate) mod batch;
pub(crate) mod connection;
pub(crate) mod convert;
pub(crate) mod decode;
pub(crate) mod demo;
pub(crate) mod facets;
pub(crate) mod fallback;
pub(crate) mod get;
pub(crate) mod gopher;
pub(crate) mod lookup;
pub(crate) mod manual;
pub(crate) mod open;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod probe;
pub(crate) mod query;
pub(crate) mod register;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod target;
pub(crate) mod targets;
pub(crate) mod task;
pub(crate) mod update;
pub(crate) mod url;

use tokio::time::Instant;
use z3950::client::{Client, ClientOptions};
use z3950::plan::PlanOptions;
use z3950::service::init::InitOptions;
use z3950::transport::{Tcp, Timeouts};

use crate::args::{Execution, Network};
use crate::console::output::Failure;

/// The client that the options describe, against the built-in catalogue if `--demo` is given.
pub(crate) async fn client(network: &Network, options: ClientOptions) -> Result<Client, Failure> {
    let routes = connection::routes(network)?;
    Ok(match network.demo {
        // Whatever is named, in whatever way, is this server.
        true => Client::with_connector(options, Tcp::new(demo::start().await?)),
        false => Client::with_routes(options, routes),
    })
}

pub(crate) fn timeouts(network: &Network) -> Timeouts {
    Timeouts {
        connect: network.connect_timeout.0,
        answer: network.timeout.0,
        deadline: network.deadline.0.map(|wait| Instant::now() + wait),
        ..Timeouts::default()
    }
}

pub(crate) fn plan_options(execution: &Execution, init: InitOptions) -> PlanOptions {
    PlanOptions {
        init,
        strict: execution.strict,
        strategy: execution.strategy,
        hints: execution.hints,
        auto_present: !execution.no_auto_present,
        allow_reserved_port: execution.allow_reserved_port,
        allow_url_credentials: execution.allow_url_credentials,
        fallback: execution.fallbacks.allowed(),
        ..PlanOptions::default()
    }
}
