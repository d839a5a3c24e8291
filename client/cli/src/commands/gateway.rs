//! `--gateway`: the gateway that retrieves URLs in place of the servers that they name (RFC 1630; RFC 1738 §3).

use clap::Args;
use z3950::Gateway;
use z3950::plan::Fallback;

use crate::commands::connection::{ConnectionOptions, Execution, credentials};
use crate::console::output::Failure;

#[derive(Debug, Args)]
pub(crate) struct GatewayOption {
    /// Have this gateway carry out the URLs: an http:// or https:// URL, or none. The default is the environment variable
    /// Z3950_GATEWAY.
    #[arg(
        long,
        value_name = "URL",
        env = "Z3950_GATEWAY",
        hide_env = true,
        value_parser = chosen,
        hide_short_help = true
    )]
    gateway: Option<GatewayChoice>,
}

/// The gateway to use; `None` if the client contacts the servers directly.
#[derive(Clone, Debug)]
struct GatewayChoice(Option<Gateway>);

fn chosen(text: &str) -> Result<GatewayChoice, z3950::GatewayAddressError> {
    Ok(GatewayChoice(match text {
        "none" | "" => None,
        text => Some(text.parse()?),
    }))
}

impl GatewayOption {
    /// Returns the gateway to use; `None` to contact the servers directly, as with `--demo`.
    ///
    /// # Errors
    /// Fails if options are given that only apply to a direct connection.
    pub(crate) fn chosen(
        &self,
        connection: &ConnectionOptions,
        execution: &Execution,
    ) -> Result<Option<&Gateway>, Failure> {
        let choice = self.gateway.as_ref().filter(|_| !connection.network.demo);
        let Some(gateway) = choice.and_then(|choice| choice.0.as_ref()) else {
            return Ok(None);
        };
        let refused = [
            ("credentials", credentials(&connection.identity)?.is_some()),
            (
                "--allow-url-credentials",
                connection.identity.allow_url_credentials,
            ),
            (
                "--fallback",
                execution.fallbacks.allowed() != Fallback::default(),
            ),
        ];
        match refused.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => {
                let of_gateway = match *name {
                    "--fallback" => "",
                    _ => {
                        "; a user and password for the gateway itself are part of its address, http://user:password@host/"
                    }
                };
                Err(Failure::Usage(format!(
                    "{name} cannot be used with the gateway {gateway}, which carries out the URL as it is; --gateway none asks the server itself{of_gateway}"
                )))
            }
            None => Ok(Some(gateway)),
        }
    }
}
